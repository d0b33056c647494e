"""What happened between two looks at claims and queue: who took what, gave it up, fell silent, what became ready."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from git_claims.protocol.claim import ChainId
from git_claims.protocol.served import Place


class Event(StrEnum):
    """What happened to an item; codes are added, never renamed."""

    TOOK = "took"
    PASSED_ON = "passed-on"
    RELEASED = "released"
    WENT_STALE = "went-stale"
    CAME_BACK = "came-back"
    READY = "ready"
    NOT_READY = "not-ready"


@dataclass(frozen=True, slots=True)
class Happened:
    """One event; `chain` is whose claim it is about, None for one that cannot be read and for events of the queue."""

    event: Event
    place: Place
    chain: ChainId | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One look: who holds what (None: a record that cannot be read), whose holder looks gone, what is ready.

    `known` are the repositories that could be read; of any other, nothing is known and nothing happened.
    """

    holders: Mapping[Place, ChainId | None] = field(default_factory=dict)
    stale: frozenset[Place] = frozenset()
    ready: frozenset[Place] = frozenset()
    known: frozenset[str] = frozenset()


def happened(before: Snapshot, after: Snapshot) -> list[Happened]:
    """Returns the events between two looks, by repository and number."""
    both = before.known & after.known
    found = [each for each in _events(before, after) if each.place.slug in both]
    order = list(Event)
    return sorted(found, key=lambda each: (each.place.slug, each.place.item.order, order.index(each.event)))


def kept(before: Snapshot, after: Snapshot) -> Snapshot:
    """Returns the newer look, with what was known before of repositories that could not be read this time."""
    lost = before.known - after.known
    return Snapshot(
        {**{place: chain for place, chain in before.holders.items() if place.slug in lost}, **after.holders},
        after.stale | {place for place in before.stale if place.slug in lost},
        after.ready | {place for place in before.ready if place.slug in lost},
        after.known | lost,
    )


def _events(before: Snapshot, after: Snapshot) -> Iterator[Happened]:
    for place, chain in after.holders.items():
        if place not in before.holders:
            yield Happened(Event.TOOK, place, chain)
        elif before.holders[place] != chain:
            yield Happened(Event.PASSED_ON, place, chain)
    for place, chain in before.holders.items():
        if place not in after.holders:
            yield Happened(Event.RELEASED, place, chain)
    for place in after.stale - before.stale:
        yield Happened(Event.WENT_STALE, place, after.holders.get(place))
    for place in before.stale - after.stale:
        if place in after.holders:
            yield Happened(Event.CAME_BACK, place, after.holders[place])
    for place in after.ready - before.ready:
        yield Happened(Event.READY, place)
    for place in before.ready - after.ready:
        if place not in after.holders:
            yield Happened(Event.NOT_READY, place)
