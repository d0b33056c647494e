"""Branches and pull requests for the tests of trackers: real commits, pushed by real git."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from git_claims.protocol.pull import Landing, Merging, Method, NewPull
from git_claims.tracker.github import GitHub as Tracker
from tests.github_double import GitHub
from tests.places import Clone, make_clone

BRANCH = "42-fix"
NEW = NewPull(BRANCH, "main", "Fix the totals", "Closes #42", assignees=frozenset({"octo"}))


@dataclass(frozen=True, slots=True)
class Lane:
    """A clone on a branch of its own, and the pull request of that branch."""

    github: GitHub
    clone: Clone

    def push(self, subject: str, files: Mapping[str, str] | None = None, branch: str = BRANCH) -> str:
        """Commits and pushes; returns the id of the commit."""
        for name, text in (files or {f"{branch}.txt": subject}).items():
            (self.clone.path / name).write_text(text)
        self.clone.git("add", ".")
        oid = self.clone.commit(subject)
        self.clone.git("push", "--quiet", "origin", f"HEAD:{branch}", environment=self.github.environment("octo"))
        return oid

    def advance_main(self, files: Mapping[str, str]) -> str:
        """Somebody else gets something into the base meanwhile."""
        self.clone.git("switch", "--quiet", "main")
        oid = self.push("meanwhile", files, branch="main")
        self.clone.git("switch", "--quiet", BRANCH)
        return oid


def make_lane(github: GitHub, root: Path, *, closes: int = 42) -> Lane:
    """A branch with a commit on the server, and pull request 17 of it that closes an issue."""
    lane = Lane(github, make_clone(github.server, root))
    lane.clone.git("switch", "--quiet", "-c", BRANCH)
    lane.push("fix")
    github.add_issue(closes)
    github.add_pull(17, "Fix the totals", head=BRANCH, closes=closes)
    return lane


def read_landing(tracker: Tracker, number: int = 17) -> Landing:
    landing = tracker.read_landing(number)
    assert landing is not None
    return landing


def merge(tracker: Tracker, method: Method = Method.SQUASH, *, when_ready: bool = False) -> Merging:
    return tracker.merge(read_landing(tracker), method, when_ready=when_ready)
