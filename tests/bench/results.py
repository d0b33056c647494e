"""What a benchmark found out, as values: times, races, counts, and how far from what was aimed at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.bench.measure import Figures, Spent, added_milliseconds, figures, ratio


@dataclass(frozen=True, slots=True)
class Timing:
    """One way to do a thing at one place, perhaps beside another that was measured in the same rounds."""

    row: str
    place: str
    way: str
    spent: Sequence[Spent]
    against: str | None = None
    other: Sequence[Spent] = ()

    @property
    def milliseconds(self) -> Figures:
        return figures([each.seconds * 1000 for each in self.spent])

    @property
    def cpu_milliseconds(self) -> Figures:
        return figures([each.cpu_seconds * 1000 for each in self.spent])

    @property
    def peak_mib(self) -> float:
        return max(each.peak_mib for each in self.spent)

    @property
    def ratio(self) -> Figures | None:
        """How many times the other, round by round."""
        return ratio(self.spent, self.other) if self.other else None

    @property
    def added(self) -> Figures | None:
        """How many milliseconds more than the other, round by round."""
        return added_milliseconds(self.spent, self.other) if self.other else None


@dataclass(frozen=True, slots=True)
class Round:
    """One race. `missed` items had no winner, `doubled` ones two, or one of whom the server knows nothing.

    `unsure` is how many racers were told neither that they won nor that they lost.
    """

    seconds: float
    missed: int
    doubled: int
    unsure: int


@dataclass(frozen=True, slots=True)
class Race:
    """Races of so many racers for so many items."""

    place: str
    racers: int
    items: int
    start: str
    rounds: Sequence[Round]

    @property
    def claims_per_second(self) -> Figures:
        return figures([self.items / each.seconds for each in self.rounds])

    @property
    def fair(self) -> bool:
        return not any(each.missed or each.doubled for each in self.rounds)


@dataclass(frozen=True, slots=True)
class Count:
    """What one command starts, and how often it asks the server."""

    command: str
    status: int
    exchanges: int
    git_children: int
    children: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of GitHub and of the git server to do one thing once."""

    way: str
    gh_processes: int
    requests: int
    pushes: int


@dataclass(frozen=True, slots=True)
class Aim:
    """What was hoped for beside what was measured. Missing it is news, not a failure."""

    sentence: str
    bound: float
    measured: float
    unit: str

    @property
    def met(self) -> bool:
        return self.measured <= self.bound


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row that could not be measured here."""

    row: str
    why: str


Result = Timing | Race | Count | Asked | Aim | Skipped


def timings(row: str, place: str, spent: Mapping[str, Sequence[Spent]], *pairs: tuple[str, str]) -> list[Timing]:
    """A line for each pair (a way, and which other it stands beside), after one for each way that is in none."""
    alone = [way for way in spent if way not in {first for first, _ in pairs}]
    return [
        *(Timing(row, place, way, spent[way]) for way in alone),
        *(Timing(row, place, way, spent[way], other, spent[other]) for way, other in pairs),
    ]
