"""What the program needs of any tracker: to read issues as they stand, and to edit what they show of claims.

A tracker shows claims to people. It reports who holds an item; it never decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

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

if TYPE_CHECKING:
    from git_claims.protocol.pull import Check, Family, Landing, Merging, Method, NewPull, Opened, Pull

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
    """What became of an edit: the state that its answer showed (None: unknown), and the steps that did not land.

    `passing` are those of them that may land when they are asked for again.
    """

    issue: Issue | None
    failed: Mapping[Step, str] = field(default_factory=dict)
    passing: frozenset[Step] = frozenset()


@dataclass(frozen=True, slots=True)
class LabelDefinition:
    """A label as `init --labels` makes it; `colour` is six hex digits."""

    name: str
    colour: str
    description: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What `doctor` asks of a tracker: program version, login, rights, limits. None: could not be found out.

    `is_unusable`: there is none to talk to at all, so that claims stand without it.
    """

    program: str | None
    login: str | None
    repository: str | None
    may_write: bool | None
    issues_enabled: bool | None
    labels: frozenset[str] | None
    remaining: int | None
    missing: tuple[str, ...] = ()
    is_unusable: bool = False


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

    def find_pulls(self, branch: str) -> tuple[Pull, ...]:
        """Finds the pull requests of a branch of this repository: the open ones first, the newest of each in front."""
        ...

    def open_pull(self, new: NewPull) -> Opened:
        """Opens a pull request and assigns it beside whoever is assigned; one that is open is answered, not doubled.

        Raises Refused where the tracker will have none, in its words.
        """
        ...

    def read_landing(self, number: int) -> Landing | None:
        """Reads all that decides about merging a pull request; None where there is no such."""
        ...

    def merge(self, landing: Landing, method: Method, *, when_ready: bool = False) -> Merging:
        """Merges exactly the head that was read, or has it queued where the base has a queue.

        `when_ready` leaves it to the tracker to merge once it may. Raises only where nothing can have happened.
        """
        ...

    def log_of(self, check: Check) -> str:
        """Reads the last lines of why a check failed, safe to show; empty where nothing tells. Never raises."""
        ...

    def read_families(self, items: Iterable[Item]) -> dict[Item, Family | None]:
        """Reads parents and children of issues in one request for each fifty; None where none was told."""
        ...

    def read_open_bodies(self) -> dict[Item, str]:
        """Reads the text of every open issue, one request for each hundred, oldest first."""
        ...

    def ensure_labels(self, labels: Sequence[LabelDefinition]) -> list[str]:
        """Creates the labels that are missing and returns their names."""
        ...

    def standing(self) -> Standing:
        """Finds out what the login may do here; never raises."""
        ...
