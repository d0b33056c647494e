"""The tracker that shows nothing: claims stand on git alone."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NoTracker:
    """Answers every question of the Tracker protocol for nobody."""

    def operator(self) -> str | None:
        """Nobody is logged in where there is nothing to log in to."""
        return None
