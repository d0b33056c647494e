"""A bounded run through the queue: one piece of work after the other, each verified before the next is begun.

Control comes back between two pieces. Whatever is not clear stops the run and leaves the claim as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from git_claims.flows.guard import Cut
from git_claims.protocol.report import Drained, Halted, HitlOnly, Merged, Observed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from git_claims.protocol.claim import ChainId
    from git_claims.protocol.item import Named
    from git_claims.protocol.served import Place


class Stop(StrEnum):
    """Why a run ended. The first three are ends that nobody has to look at."""

    BUDGET = "budget"
    DRAINED = "drained"
    HITL_ONLY = "hitl-only"
    NOTHING_READY = "nothing-ready"
    HALTED = "halted"
    AMBIGUOUS = "ambiguous"
    NOT_VERIFIED = "not-verified"
    LOST = "lost"
    UNCONFIRMED = "unconfirmed"
    TIMED_OUT = "timed-out"


PEACEFUL = frozenset({Stop.BUDGET, Stop.DRAINED, Stop.HITL_ONLY})
_CUTS = {
    Cut.LOST: (Stop.LOST, "the claim was lost while the worker ran"),
    Cut.UNCONFIRMED: (Stop.UNCONFIRMED, "the claim could not be confirmed while the worker ran"),
    Cut.TIMED_OUT: (Stop.TIMED_OUT, "the worker took too long and was stopped"),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One piece of work: an item that is ours, its lane, and which of how many it is (counted from 1)."""

    place: Place
    path: Path
    branch: str
    chain: ChainId
    iteration: int
    budget: int


@dataclass(frozen=True, slots=True)
class Worked:
    """How a worker ended: its exit status, the end of its output, why it was stopped, whether its claim stands."""

    status: int
    observed: Observed
    cut: Cut | None = None
    is_held: bool = True


@dataclass(frozen=True, slots=True)
class Delivered:
    """A piece that was verified as merged."""

    turn: Turn
    pull: int


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run came to. `turn` is the piece that it stopped at, `observed` what was seen of it."""

    stop: Stop
    observed: str
    delivered: tuple[Delivered, ...] = field(default=())
    turn: Turn | None = None


def run(
    budget: int,
    begin: Callable[[int], Turn | Delivered | Stop],
    work: Callable[[Turn], Worked],
    verify: Callable[[Turn, int], str | None],
    tell: Callable[[Delivered], None],
) -> Ran:
    """Works at most `budget` pieces. `begin` resumes or takes the next one, or says why there is none; it may also
    find one that only had to be finished. `verify` returns what speaks against a pull request's being merged.
    """
    delivered: list[Delivered] = []
    for iteration in range(1, budget + 1):
        begun = begin(iteration)
        if isinstance(begun, Stop):
            return Ran(begun, str(begun), tuple(delivered))
        if isinstance(begun, Turn):
            judged = _worked(begun, work(begun), verify)
            if isinstance(judged, Ran):
                return Ran(judged.stop, judged.observed, tuple(delivered), begun)
            begun = judged
        delivered.append(begun)
        tell(begun)
    return Ran(Stop.BUDGET, f"{budget} delivered", tuple(delivered))


def _worked(turn: Turn, worked: Worked, verify: Callable[[Turn, int], str | None]) -> Delivered | Ran:
    """Judges one worker: only what it reports as merged, and what is merged, lets the run go on."""
    line = worked.observed.line
    if worked.cut is not None:
        return Ran(*_CUTS[worked.cut])
    match worked.observed.report:
        case Halted(issue, reason) if _is_of(turn, issue):
            return Ran(Stop.HALTED, reason)
        case Drained() | HitlOnly() if worked.status == 0 and worked.is_held:
            # Who found nothing to do would have given back what was taken for it.
            return Ran(Stop.AMBIGUOUS, f"'{line}', and its claim is still held")
        case Drained() | HitlOnly() as empty if worked.status == 0:
            return Ran(Stop.DRAINED if isinstance(empty, Drained) else Stop.HITL_ONLY, line)
        case Merged(issue, pull) if worked.status == 0 and _is_of(turn, issue):
            against = verify(turn, pull)
            return Delivered(turn, pull) if against is None else Ran(Stop.NOT_VERIFIED, against)
        case Merged() | Halted():
            return Ran(Stop.AMBIGUOUS, f"exit status {worked.status} and '{line}'")
    said = f"its last line was '{line}'" if line else "it said nothing"
    return Ran(Stop.AMBIGUOUS, f"the worker ended with status {worked.status}, and {said}")


def _is_of(turn: Turn, named: Named) -> bool:
    """Says whether a report is about the piece that was worked."""
    if named.item != turn.place.item:
        return False
    slug = turn.place.slug.casefold()
    return named.repository is None or named.repository.casefold() in {slug, slug.rpartition("/")[2]}
