"""Pull requests in tests of the command line: a lane on GitHub, and what everybody sees of it afterwards.

The lane is laid out by hand: each write of the program waits a second for the one before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.agents import Answer
from tests.commands.lane import LANE_FILE, inside, work
from tests.commands.telling import shown
from tests.forked import ForkedAgent, Running
from tests.github_double import GitHub
from tests.github_double.records import Issue, Pull
from tests.places import CLAIMS

CHAIN, BRANCH = "chain-octo", "42-fix-the-totals"


def claimed(github: GitHub, number: int = 42, title: str = "Fix the totals", **fields: str) -> Issue:
    """An issue that the chain holds, as GitHub and the server show it."""
    issue = github.add_issue(number, title, labels=["in-progress", "afk"], assignees=["octo"])
    github.server.plant_claim(f"issue-{number}", CHAIN, **{"operator": "octo", "branch": BRANCH, **fields})
    return issue


def make_lane(octo: ForkedAgent, items: Sequence[int] = (42,), branch: str = BRANCH) -> ForkedAgent:
    """The worktree of a lane with one commit in it, as `start` leaves it; the agent in it."""
    path = octo.clone.path / ".worktrees" / branch
    octo.clone.git("worktree", "add", "--quiet", "--no-track", "-b", branch, str(path), "main")
    lane = inside(octo, path, octo.chain)
    names = ", ".join(f'"issue-{number}"' for number in items)
    file = octo.clone.path / ".git/worktrees" / path.name / LANE_FILE
    file.write_text(f'chain = "{CHAIN}"\nitems = [{names}]\nreleased = []\n')
    work(lane)
    return lane


@dataclass(frozen=True, slots=True)
class Proposed:
    """A lane whose pull request is open. `octo` stands in the main worktree."""

    github: GitHub
    octo: ForkedAgent
    lane: ForkedAgent
    pull: Pull

    @property
    def issue(self) -> Issue:
        return self.github.issue(42)

    @property
    def path(self) -> Path:
        return self.lane.clone.path

    @property
    def remote_branch(self) -> str | None:
        return self.github.server.refs(f"refs/heads/{BRANCH}").get(f"refs/heads/{BRANCH}")

    @property
    def local_branch(self) -> str | None:
        return self.octo.clone.refs(f"refs/heads/{BRANCH}").get(f"refs/heads/{BRANCH}")

    @property
    def is_claimed(self) -> bool:
        return f"{CLAIMS}issue-42" in self.github.server.refs()

    def push(self, subject: str) -> str:
        """Another commit of the lane, on the server too."""
        oid = work(self.lane, subject)
        self.lane.clone.git("push", "--quiet", "origin", BRANCH, environment=self.octo.environment)
        return oid

    def assert_delivered(self) -> None:
        """The issue is closed with credit, told once, and given up; the branch is gone from the server."""
        assert (self.pull.state, self.issue.state, self.issue.state_reason) == ("MERGED", "CLOSED", "COMPLETED")
        assert (self.issue.labels, self.issue.assignees) == (["afk"], ["octo"])
        assert [body.partition(" (")[0] for body in self.issue.bodies] == [f"Resolved by PR #{self.pull.number}"]
        assert self.github.server.refs() == {}
        assert self.remote_branch is None

    def assert_cleared_away(self) -> None:
        """Nothing of the lane is left in the clone either."""
        self.assert_delivered()
        assert self.local_branch is None
        assert not self.path.exists()
        assert self.octo.clone.refs("refs/git-claim/landed") == {}
        assert not list((self.octo.clone.path / ".git/git-claim").glob("attempts/*"))

    def assert_untouched(self) -> None:
        """Nothing was merged, and nothing of the claim is gone."""
        assert (self.issue.state, self.issue.labels, self.issue.assignees) == ("OPEN", ["in-progress", "afk"], ["octo"])
        assert self.issue.bodies == [] and self.pull.state != "MERGED"
        assert self.is_claimed and self.path.exists()
        assert self.remote_branch is not None and self.local_branch is not None


def propose(github: GitHub, octo: ForkedAgent) -> Proposed:
    """Issue 42, its lane with a commit, and pull request 17 of it; looked at every second instead of every ten."""
    octo.clone.config("claim.poll", "1s")
    claimed(github)
    lane = make_lane(octo)
    lane.clone.git("push", "--quiet", "origin", BRANCH, environment=octo.environment)
    return Proposed(github, octo, lane, github.add_pull(17, "Fix the totals", head=BRANCH, closes=42, author="octo"))


def land(proposed: Proposed, *words: str, status: int = 0) -> Answer:
    """Lands 42 from the main worktree; the answer is well spoken whatever it is."""
    answer = proposed.octo.claim("land", "42", *words, check=status)
    shown(answer)
    return answer


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def watching(proposed: Proposed, *words: str) -> Running:
    """A land under way, which has read the pull request and waits for what comes."""
    running = proposed.octo.fork("land", "42", *words)
    wait_until(lambda: any("statusCheckRollup" in each.document for each in proposed.github.requests))
    return running
