"""An issue or pull request as a tracker shows it, and an edit of that. Plain records; nothing is decided here."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from git_claims.protocol.item import Item


class PullState(StrEnum):
    """Where a pull request stands."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class Checks(StrEnum):
    """What the checks of a pull request say, in a word. NONE: no check reported yet, which is not "passing"."""

    NONE = "none"
    PENDING = "pending"
    PASSING = "passing"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment. `may_write`: its author may write to the repository, so that a marker in it counts."""

    id: str
    author: str | None
    may_write: bool
    created_at: datetime
    body: str


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request linked to an issue, also a closed or merged one; `updated_at` is its newest activity."""

    number: int
    state: PullState
    head: str
    base: str
    updated_at: datetime
    checks: Checks


@dataclass(frozen=True, slots=True)
class Blocker:
    """An issue that has to be done first. `completed`: closed as completed; closed otherwise is not done."""

    repo: str
    number: int
    is_open: bool
    completed: bool


@dataclass(frozen=True, slots=True)
class Activity:
    """Something that `actor` did to the item at a time: a label change, an assignment, a push to its branch."""

    actor: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue or pull request as one read showed it. `item` has the kind that the tracker says it is.

    `complete` is False where part of the answer is missing (truncated lists, errors beside data): then absence of
    evidence in it proves nothing. `newest_commit` is that of the item's branch, where a branch was asked about.
    """

    item: Item
    id: str
    url: str
    title: str
    is_open: bool
    completed: bool
    labels: frozenset[str]
    assignees: tuple[str, ...]
    comments: tuple[Comment, ...]
    pulls: tuple[PullRequest, ...]
    blockers: tuple[Blocker, ...]
    blockers_complete: bool
    activity: tuple[Activity, ...]
    complete: bool
    body: str = ""
    newest_commit: datetime | None = None

    def present(self, *names: str) -> frozenset[str]:
        """Returns the labels of those names as the issue spells them; upper and lower case are one label."""
        wanted = {name.casefold() for name in names if name}
        return frozenset(label for label in self.labels if label.casefold() in wanted)

    def assigned(self, login: str | None) -> frozenset[str]:
        """Returns that login as the issue spells it, if it is assigned."""
        return frozenset(each for each in self.assignees if login is not None and each.casefold() == login.casefold())


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of an item's signals, written as one document. Everything in it is additive or subtractive.

    `comment_nonce` is text of the comment by which it is found again before it is ever posted a second time.
    `is_owed`: nothing else tells what this edit tells, so a claim is not given up before it has landed.
    """

    item: Item
    add_labels: frozenset[str] = frozenset()
    remove_labels: frozenset[str] = frozenset()
    add_assignees: frozenset[str] = frozenset()
    remove_assignees: frozenset[str] = frozenset()
    comment: str | None = None
    comment_nonce: str | None = None
    close: bool = False
    is_owed: bool = False

    @property
    def is_empty(self) -> bool:
        """Says whether there is nothing to write."""
        names = self.add_labels | self.remove_labels | self.add_assignees | self.remove_assignees
        return not names and self.comment is None and not self.close
