"""The tracker that shows nothing: claims stand on git alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from git_claims.protocol.item import Item
from git_claims.tracker.model import Edit, Edited, Issue, LabelDefinition, Standing


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

    def ensure_labels(self, labels: Sequence[LabelDefinition]) -> list[str]:
        """No labels."""
        return []

    def standing(self) -> Standing:
        """Nothing to find out."""
        return Standing(None, None, None, None, None, None, None)
