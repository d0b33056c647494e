"""The tracker that shows nothing: claims stand on git alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_claims.errors import NoTrackerHere
from git_claims.protocol.item import Item
from git_claims.tracker.model import Edit, Edited, Issue, LabelDefinition, Standing

if TYPE_CHECKING:
    from git_claims.protocol.pull import Check, Family, Landing, Merging, Method, NewPull, Opened, Pull


@dataclass(frozen=True, slots=True)
class NoTracker:
    """Answers every question of the Tracker protocol for nobody. `why` says why there is none, where that matters."""

    why: str | None = None

    @property
    def shows(self) -> bool:
        """There is nothing to show claims on."""
        return False

    def operator(self) -> str | None:
        """Nobody is logged in where there is nothing to log in to."""
        return None

    def read(self, items: Iterable[Item], branches: Mapping[Item, str] | None = None) -> dict[Item, Issue | None]:
        """There is no item that anybody could have written anything on."""
        return dict.fromkeys(items)

    def read_open(self) -> list[Issue]:
        """There is no list."""
        return []

    def apply(self, edits: Sequence[Edit]) -> dict[Item, Edited]:
        """Nothing to write to, so nothing fails."""
        return {edit.item: Edited(None) for edit in edits}

    def find_pulls(self, branch: str) -> tuple[Pull, ...]:
        """No pull requests."""
        return ()

    def open_pull(self, new: NewPull) -> Opened:
        """Raises NoTrackerHere: whoever asks for a pull request must have one."""
        raise self._nowhere("open a pull request")

    def read_landing(self, number: int) -> Landing | None:
        """There is no such pull request."""
        return None

    def merge(self, landing: Landing, method: Method, *, when_ready: bool = False) -> Merging:
        """Raises NoTrackerHere: there is nobody to merge it."""
        raise self._nowhere("merge a pull request")

    def _nowhere(self, what: str) -> NoTrackerHere:
        hint = "tracker = github in .claims.toml, and 'gh auth login'"
        return NoTrackerHere(self.why or f"there is no tracker here to {what} on", hint)

    def log_of(self, check: Check) -> str:
        """No log."""
        return ""

    def read_families(self, items: Iterable[Item]) -> dict[Item, Family | None]:
        """There is no issue that anybody could have linked."""
        return dict.fromkeys(items)

    def read_open_bodies(self) -> dict[Item, str]:
        """There is no list."""
        return {}

    def ensure_labels(self, labels: Sequence[LabelDefinition]) -> list[str]:
        """No labels."""
        return []

    def standing(self) -> Standing:
        """Nothing to find out."""
        return Standing(None, None, None, None, None, None, None)
