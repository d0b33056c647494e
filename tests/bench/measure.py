"""Whole processes measured from outside, and several ways to do one thing measured in turn.

In turn, because a machine is never quiet for as long as a benchmark lasts: what slows one way slows the next one
as well, and a ratio is taken within one round only.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# A process of its own, small and without site: what the kernel reports as the peak of a child begins with the
# size of the process that started it.
LAUNCHER = """
import os, sys, time
report = os.dup(1)
os.dup2(2, 1)
began = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
seconds = time.perf_counter() - began
words = os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss
os.write(report, " ".join(map(str, words)).encode())
"""


@dataclass(frozen=True, slots=True)
class Command:
    """One process to run. `status` is the exit status without which its time means nothing."""

    words: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    status: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What one way cost once. The peak is that of the largest process of the tree."""

    seconds: float
    cpu_seconds: float
    peak_mib: float

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            max(self.peak_mib, other.peak_mib),
        )


@dataclass(frozen=True, slots=True)
class Way:
    """One way to do the thing. Only the commands are measured, not how they are prepared nor what comes after."""

    name: str
    prepare: Callable[[], Sequence[Command]]
    after: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Figures:
    """Median and range of some numbers."""

    median: float
    low: float
    high: float


def figures(numbers: Sequence[float]) -> Figures:
    return Figures(statistics.median(numbers), min(numbers), max(numbers))


def ratio(spent: Sequence[Spent], other: Sequence[Spent]) -> Figures:
    """How many times the other, round by round."""
    return figures([each.seconds / base.seconds for each, base in zip(spent, other, strict=True)])


def added_milliseconds(spent: Sequence[Spent], other: Sequence[Spent]) -> Figures:
    """How much more than the other, round by round."""
    return figures([(each.seconds - base.seconds) * 1000 for each, base in zip(spent, other, strict=True)])


def run(command: Command) -> Spent:
    """Runs one process to its end; another exit status than the command's is an error of the benchmark."""
    with tempfile.TemporaryFile() as said:
        launched = subprocess.run(
            [sys.executable, "-I", "-S", "-c", LAUNCHER, *command.words],
            cwd=command.directory,
            env={**os.environ, **command.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            timeout=600,
        )
        status, *words = launched.stdout.decode().split() or ["nothing was launched"]
        said.seek(0)
        if status != str(command.status):
            raise AssertionError(f"{' '.join(command.words)}: {status}\n{said.read().decode(errors='replace')}")
    seconds, cpu_seconds, peak_kib = map(float, words)
    return Spent(seconds, cpu_seconds, peak_kib / 1024)


def in_turn(ways: Sequence[Way], rounds: int) -> dict[str, list[Spent]]:
    """Measures every way once a round, each round beginning with another; the first round only warms up."""
    spent: dict[str, list[Spent]] = {way.name: [] for way in ways}
    for number in range(rounds + 1):
        turn = number % len(ways)
        for way in [*ways[turn:], *ways[:turn]]:
            cost = _total([run(command) for command in way.prepare()])
            way.after()
            if number:
                spent[way.name].append(cost)
    return spent


def _total(costs: Sequence[Spent]) -> Spent:
    return sum(costs, Spent(0, 0, 0))
