"""What the program needs of any tracker: to read issues as they stand, and to edit what they show of claims.

A tracker shows claims to people. It reports who holds an item; it never decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from git_claims.protocol.issue import (
    Activity,
    Blocker,
    Checks,
    Comment,
    Edit,
    Issue,
    PullRequest,
    PullState,
)
from git_claims.protocol.item import Item

__all__ = [
    "Activity",
    "Blocker",
    "Checks",
    "Comment",
    "Edit",
    "Edited",
    "Issue",
    "LabelDefinition",
    "PullRequest",
    "PullState",
    "Standing",
    "Step",
    "Tracker",
]


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
    """One repository of a tracker, as the login in force sees it. What reads raises TrackerError of its kind."""

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
        """Writes edits, as few requests as the tracker's limits allow; never posts a comment that is there already.

        What does not land is told step by step and raises nothing: the claim behind it stands already.
        """
        ...

    def ensure_labels(self, labels: Sequence[LabelDefinition]) -> list[str]:
        """Creates the labels that are missing and returns their names."""
        ...

    def standing(self) -> Standing:
        """Finds out what the login may do here; never raises."""
        ...
