"""What the program needs of any tracker: an issue as it stands, an edit of it, and what became of the edit.

A tracker shows claims to people. It reports who holds an item; it never decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

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


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of an item's signals, written as one document. Everything in it is additive or subtractive.

    `comment_nonce` is text of the comment by which it is found again before it is ever posted a second time.
    """

    item: Item
    add_labels: frozenset[str] = frozenset()
    remove_labels: frozenset[str] = frozenset()
    add_assignees: frozenset[str] = frozenset()
    remove_assignees: frozenset[str] = frozenset()
    comment: str | None = None
    comment_nonce: str | None = None
    close: bool = False

    @property
    def is_empty(self) -> bool:
        """Says whether there is nothing to write."""
        names = self.add_labels | self.remove_labels | self.add_assignees | self.remove_assignees
        return not names and self.comment is None and not self.close


class Step(StrEnum):
    """A part of an edit, by which a partial failure is told."""

    ADD_LABELS = "add-labels"
    REMOVE_LABELS = "remove-labels"
    ADD_ASSIGNEES = "add-assignees"
    REMOVE_ASSIGNEES = "remove-assignees"
    COMMENT = "comment"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Edited:
    """What became of an edit: the state that its answer showed (None: unknown), and the steps that did not land."""

    issue: Issue | None
    failed: Mapping[Step, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabelDefinition:
    """A label as `init --labels` makes it; `colour` is six hex digits."""

    name: str
    colour: str
    description: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What `doctor` asks of a tracker: program version, login, rights, limits. None: could not be found out."""

    program: str | None
    login: str | None
    repository: str | None
    may_write: bool | None
    issues_enabled: bool | None
    labels: frozenset[str] | None
    remaining: int | None
    missing: tuple[str, ...] = ()


class Tracker(Protocol):
    """One repository of a tracker, as the login in force sees it. Every call raises TrackerError of its kind."""

    @property
    def shows(self) -> bool:
        """Says whether there is a tracker at all; False for the one that shows nothing."""
        ...

    def operator(self) -> str | None:
        """Returns the login in force, which the record names beside the chain; None where there is none."""
        ...

    def read(self, items: Iterable[Item], branches: Mapping[Item, str] | None = None) -> dict[Item, Issue | None]:
        """Reads items in one request (one more for each fifty); None where the tracker has no such number."""
        ...

    def read_open(self) -> list[Issue]:
        """Reads every open issue, one request for each hundred, oldest first."""
        ...

    def apply(self, edits: Sequence[Edit]) -> dict[Item, Edited]:
        """Writes edits, as few requests as the tracker's limits allow; never posts a comment that is there already."""
        ...

    def ensure_labels(self, labels: Sequence[LabelDefinition]) -> list[str]:
        """Creates the labels that are missing and returns their names."""
        ...

    def standing(self) -> Standing:
        """Finds out what the login may do here; never raises."""
        ...
