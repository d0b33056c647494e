"""What a repository wants shown of its claims, and how: names of labels, name of the marker, how much of a path."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Labels:
    """The names of the labels; an empty name switches that label's rule off."""

    claim: str = "in-progress"
    ready: str = "ready"
    afk: str = "afk"
    hitl: str = "hitl"
    hold: str = "hold"
    blocked: str = "blocked"
    ci_monitoring: str = "ci-monitoring"

    @staticmethod
    def none() -> "Labels":
        """No label rule at all."""
        return Labels("", "", "", "", "", "", "")


class PathStyle(StrEnum):
    """How much of a worktree's path a public comment shows."""

    ABSOLUTE = "absolute"
    NAME = "name"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class House:
    """What a repository wants shown, and how. `pull_window` is the window of claims on pull requests."""

    labels: Labels
    marker: str
    path_style: PathStyle
    window: timedelta
    bot_trigger: str = ""
    pull_window: timedelta = timedelta(hours=1)


def definitions(labels: Labels) -> list[tuple[str, str, str]]:
    """Returns (name, colour, description) of each label whose rule is on: the one table of them."""
    table = (
        (labels.claim, "fbca04", "claimed; 'git claim show' says by whom"),
        (labels.ready, "0e8a16", "described well enough to be worked on"),
        (labels.afk, "1d76db", "can be done without a human"),
        (labels.hitl, "d93f0b", "waits for a human"),
        (labels.hold, "b60205", "nobody works on it for now"),
        (labels.blocked, "e99695", "cannot go on; the newest comment says why"),
        (labels.ci_monitoring, "c5def5", "the work is done, CI still runs"),
    )
    return [row for row in table if row[0]]
