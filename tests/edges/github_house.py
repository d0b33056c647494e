"""Trackers of a GitHub for the tests of them: a clock that moves when somebody sleeps, edits as flows make them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from git_claims.protocol.item import Item, Kind
from git_claims.tracker.gh import Gh, gh_environment
from git_claims.tracker.github import GitHub as Tracker
from git_claims.tracker.model import Edit, Edited, Issue
from tests.github_double import GitHub


def issue_item(number: int) -> Item:
    return Item(Kind.ISSUE, str(number))


def pull_item(number: int) -> Item:
    return Item(Kind.PULL, str(number))


ITEM = issue_item(42)


@dataclass
class Clock:
    """Time that passes only when somebody sleeps."""

    now: float = field(default_factory=time.time)
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class House:
    """What a tracker is made of in these tests: where it stands, its clock, what it has told."""

    github: GitHub
    directory: Path
    clock: Clock = field(default_factory=Clock)
    told: list[str] = field(default_factory=list)
    deadline_seconds: float = 20

    def tracker(self, login: str | None = "octo", *, repo: str = "ledger", cache: str = "cache") -> Tracker:
        """A new process's tracker, of the same cache."""
        environment = gh_environment({**os.environ, **self.github.environment(login)})
        gh = Gh(self.directory, environment, self.deadline_seconds, self.clock)
        cache_dir = self.directory / cache
        return Tracker(gh, "github.com", "acme", repo, cache_dir, self.clock, self.clock.sleep, self.told.append)


def read_one(tracker: Tracker, item: Item = ITEM) -> Issue:
    issue = tracker.read([item])[item]
    assert issue is not None
    return issue


def taking(item: Item = ITEM, login: str = "octo", nonce: str = "nonce=1f") -> Edit:
    """What a take shows: label on, queue label off, operator assigned, comment."""
    return Edit(
        item,
        add_labels=frozenset({"in-progress"}),
        remove_labels=frozenset({"ready"}),
        add_assignees=frozenset({login}),
        comment=f"**Agent session lock** `x` $HOME\n\n<!-- claude-lock: operator={login} {nonce} -->",
        comment_nonce=nonce,
    )


def apply_one(tracker: Tracker, edit: Edit) -> Edited:
    return tracker.apply([edit])[edit.item]
