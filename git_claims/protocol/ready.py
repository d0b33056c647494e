"""The queue: which open issues are ready, in which order, and what speaks against each of the others. Pure.

Why an issue is not ready is decided in `obstacles`; here they are ranked and counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count

from git_claims.protocol.blocking import Blocking
from git_claims.protocol.claim import ChainId
from git_claims.protocol.issue import Blocker, Issue
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.obstacles import (
    BLOCKED,
    RANKS,
    TAKEN,
    UNREAD,
    Because,
    Cause,
    Labelled,
    Turn,
    against,
    of_blocker,
    of_cycle,
    of_labels,
)
from git_claims.protocol.served import Place, Served, Skipped, without_doubles

# Beside somebody's being at it these change nothing: whoever takes an issue takes its ready label away.
_BESIDE_TAKEN = TAKEN | {Cause.NO_READY_LABEL}


class State(StrEnum):
    """The queue in a word. Outside READY nothing is ready, and one of the others holds, the first that fits:

    DRAINED: no issue is in the queue. An issue is in it that has the afk label (where no label means afk: the ready
    label; where neither does: any issue), or waits for people, or is claimed.
    HITL_ONLY: all of the queue waits for people, which is a hitl label, or a ready label with neither afk nor hitl.
    CANNOT_TELL: one of these two, but a repository was not read that may have more.
    ALL_CLAIMED: somebody is at everything that agents may do: by a claim; or, where nothing else is in the way, by
    an assignment, a lock in a comment, a claim label, or work whose CI still runs.
    ALL_BLOCKED: the rest; at least one issue for agents is nobody's, and each such issue has something in its way.
    """

    READY = "ready"
    DRAINED = "drained"
    HITL_ONLY = "hitl-only"
    CANNOT_TELL = "cannot-tell"
    ALL_CLAIMED = "all-claimed"
    ALL_BLOCKED = "all-blocked"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A ready issue. `unblocks`: how many open issues wait for it, directly or not, in all that is served."""

    place: Place
    issue: Issue
    unblocks: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """An open issue that is not ready, why (never empty), and the blockers that are not done, as they are now."""

    place: Place
    issue: Issue
    reasons: tuple[Because, ...]
    blockers: tuple[Blocker, ...]
    turn: Turn

    @property
    def causes(self) -> frozenset[Cause]:
        """The codes of its reasons."""
        return frozenset(reason.cause for reason in self.reasons)

    @property
    def is_claimed(self) -> bool:
        """Says whether a claim is among the reasons."""
        return Cause.CLAIMED in self.causes

    @property
    def is_unsure(self) -> bool:
        """Says whether only what was not read speaks against it: a read of it alone may find it ready."""
        return self.causes <= UNREAD


@dataclass(frozen=True, slots=True)
class Width:
    """One repository in numbers. No two ready issues need each other, so `ready` agents could work side by side.

    `chains` hold claims there; `unreadable` claims have holders that nobody knows. `for_people` have the hitl label,
    nobody's claim, and no blocker that is not done.
    """

    slug: str
    ready: int
    chains: frozenset[ChainId]
    unreadable: int
    zombies: tuple[Item, ...]
    for_people: tuple[Item, ...]

    @property
    def agents(self) -> int:
        """How many are at work, each unknown holder counted as one."""
        return len(self.chains) + self.unreadable


@dataclass(frozen=True, slots=True)
class Queue:
    """The answer. `ready` is ranked; `waiting` goes by repository and number; `cycles` are named member by member."""

    state: State
    ready: tuple[Candidate, ...]
    waiting: tuple[Waiting, ...]
    widths: tuple[Width, ...]
    cycles: tuple[tuple[Place, ...], ...]
    skipped: tuple[Skipped, ...]

    @property
    def entries(self) -> tuple[Candidate | Waiting, ...]:
        """All open issues, the ready ones first."""
        return (*self.ready, *self.waiting)

    @property
    def is_blind(self) -> bool:
        """Says whether all that agents may do and nobody does waits for blockers that cannot be read at all."""
        for_agents = [entry for entry in self.waiting if entry.turn is Turn.AGENTS and not _is_taken(entry)]
        blind = [any(reason.is_blind for reason in entry.reasons) for entry in for_agents]
        return not self.ready and bool(blind) and all(blind)

    @property
    def unsure(self) -> tuple[Place, ...]:
        """What a read by number may find ready; until then it is not."""
        return tuple(entry.place for entry in self.waiting if entry.is_unsure)

    def find(self, place: Place) -> Candidate | Waiting | None:
        """Returns the entry of a place; None where no open issue is there."""
        return next((entry for entry in self.entries if entry.place == place), None)


def queue(served: Sequence[Served], skipped: Sequence[Skipped] = ()) -> Queue:
    """Sorts the open issues of all repositories into ready and waiting; `served` stands in the order of preference.

    Ranked first by how many open issues of all repositories wait for an issue, directly or through others (each
    counted once, whatever else it waits for), then by repository, then by number. The order is total, and the same
    for any order in which issues were read. Pull requests and closed issues do not appear.
    """
    repositories = without_doubles(served)
    blocking = Blocking(repositories)
    entries = list(_entries(repositories, blocking))
    ready = [each for each in entries if isinstance(each, Candidate)]
    waiting = tuple(each for each in entries if isinstance(each, Waiting))
    # By repository and number they stand already, and sorting keeps what is equal in order.
    ready.sort(key=lambda each: -each.unblocks)
    widths = tuple(_width(each, ready, waiting) for each in repositories)
    state = State.READY if ready else _state(waiting, skipped)
    return Queue(state, tuple(ready), waiting, widths, blocking.cycles, tuple(skipped))


def _entries(served: Sequence[Served], blocking: Blocking) -> Iterator[Candidate | Waiting]:
    """Yields what becomes of each open issue, in the order of repository and number."""
    judges = {each.slug: _Judge(each, blocking.cycles) for each in served}
    for place, issue, barring, unblocks, at in zip(
        blocking.places, blocking.issues, blocking.barring, blocking.unblocks, count(), strict=False
    ):
        judge = judges[place.slug]
        reasons = judge.reasons(issue, barring, blocking.ring_of.get(at))
        yield (
            Waiting(place, issue, reasons, barring, judge.turn(issue)) if reasons else Candidate(place, issue, unblocks)
        )


class _Judge:
    """Judges the issues of one repository; what many of them share, labels, blockers and cycles, only once."""

    def __init__(self, served: Served, rings: Sequence[Sequence[Place]]) -> None:
        self.served, self.rings = served, rings
        self.claims = {item.key: seen for item, seen in served.claims.items() if item.kind is Kind.ISSUE}
        self.labelled: dict[frozenset[str], Labelled] = {}
        self.blockers: dict[tuple[str, int, bool], Because] = {}
        self.cycles: dict[int, Because] = {}

    def reasons(self, issue: Issue, barring: Sequence[Blocker], ring: int | None) -> tuple[Because, ...]:
        """Returns all that speaks against an issue."""
        return against(
            issue,
            self.claims.get(issue.item.key),
            self.served.house,
            self.served.operator,
            labelled=self._labelled(issue.labels),
            blocked=self._blocked(barring) if barring else (),
            ring=None if ring is None else self._cycle(ring),
        )

    def turn(self, issue: Issue) -> Turn:
        """Says whose turn it is; what is claimed is in the queue, whatever its labels say."""
        turn = self._labelled(issue.labels).turn
        return Turn.AGENTS if turn is Turn.NOBODY and issue.item.key in self.claims else turn

    def _labelled(self, labels: frozenset[str]) -> Labelled:
        known = self.labelled.get(labels)
        if known is None:
            known = self.labelled[labels] = of_labels(labels, self.served.house.labels)
        return known

    def _blocked(self, barring: Sequence[Blocker]) -> list[Because]:
        known = self.blockers
        found = [
            known.get((blocker.repo, blocker.number, blocker.is_open)) or self._blocker(blocker) for blocker in barring
        ]
        # Nearly always all of one kind, and of one kind they stand in order.
        for because in found:
            if because.cause is not found[0].cause:
                return sorted(found, key=lambda each: RANKS[each.cause])
        return found

    def _blocker(self, blocker: Blocker) -> Because:
        because = of_blocker(blocker, self.served.slug)
        self.blockers[blocker.repo, blocker.number, blocker.is_open] = because
        return because

    def _cycle(self, ring: int) -> Because:
        if ring not in self.cycles:
            self.cycles[ring] = of_cycle(self.rings[ring], self.served.slug)
        return self.cycles[ring]


def _state(waiting: Sequence[Waiting], skipped: Sequence[Skipped]) -> State:
    """The state where nothing is ready."""
    for_agents = [entry for entry in waiting if entry.turn is Turn.AGENTS]
    if for_agents:
        return State.ALL_CLAIMED if all(map(_is_taken, for_agents)) else State.ALL_BLOCKED
    if not all(each.is_empty for each in skipped):
        return State.CANNOT_TELL
    return State.HITL_ONLY if any(entry.turn is Turn.PEOPLE for entry in waiting) else State.DRAINED


def _is_taken(entry: Waiting) -> bool:
    return entry.is_claimed or (bool(entry.causes & TAKEN) and entry.causes <= _BESIDE_TAKEN)


def _width(served: Served, ready: Sequence[Candidate], waiting: Sequence[Waiting]) -> Width:
    claims = list(served.claims.values())
    return Width(
        slug=served.slug,
        ready=sum(each.place.slug == served.slug for each in ready),
        chains=frozenset(seen.claim.chain for seen in claims if seen.claim is not None),
        unreadable=sum(seen.claim is None for seen in claims),
        zombies=tuple(sorted(served.stale & served.claims.keys(), key=lambda item: item.order)),
        for_people=tuple(
            entry.place.item for entry in waiting if entry.place.slug == served.slug and _is_for_people(entry)
        ),
    )


def _is_for_people(entry: Waiting) -> bool:
    if entry.turn is not Turn.PEOPLE:
        return False
    return Cause.WAITING_FOR_HUMAN in entry.causes and entry.causes.isdisjoint(BLOCKED | {Cause.CLAIMED})
