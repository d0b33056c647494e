"""What happened between two looks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.claim import ChainId
from git_claims.protocol.events import Event, Snapshot, happened, kept
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.served import Place

A, B = ChainId("chain-a"), ChainId("chain-b")
LEDGER, WEB = "acme/ledger", "acme/web"


def place(number: int, slug: str = LEDGER) -> Place:
    return Place(slug, Item(Kind.ISSUE, str(number)))


def look(
    holders: dict[int, ChainId | None] | None = None, stale: Iterable[int] = (), ready: Iterable[int] = ()
) -> Snapshot:
    return Snapshot(
        {place(number): chain for number, chain in (holders or {}).items()},
        frozenset(map(place, stale)),
        frozenset(map(place, ready)),
        frozenset({LEDGER}),
    )


CASES = [
    ("nothing", look({1: A}, ready={2}), look({1: A}, ready={2}), []),
    ("taken", look(ready={1}), look({1: A}), [(Event.TOOK, 1, A)]),
    ("given up", look({1: A}), look(ready={1}), [(Event.RELEASED, 1, A), (Event.READY, 1, None)]),
    ("passed on", look({1: A}), look({1: B}), [(Event.PASSED_ON, 1, B)]),
    ("became unreadable", look({1: A}), look({1: None}), [(Event.PASSED_ON, 1, None)]),
    ("silent", look({1: A}), look({1: A}, {1}), [(Event.WENT_STALE, 1, A)]),
    ("back", look({1: A}, {1}), look({1: A}), [(Event.CAME_BACK, 1, A)]),
    ("gone while silent", look({1: A}, {1}), look(), [(Event.RELEASED, 1, A)]),
    ("blocked again", look(ready={1}), look(), [(Event.NOT_READY, 1, None)]),
    ("two, by number", look(), look({10: A, 9: B}), [(Event.TOOK, 9, B), (Event.TOOK, 10, A)]),
]


@pytest.mark.parametrize(("before", "after", "events"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_difference_of_two_looks_is_what_happened(
    before: Snapshot, after: Snapshot, events: list[tuple[Event, int, ChainId | None]]
) -> None:
    assert [(each.event, int(each.place.item.key), each.chain) for each in happened(before, after)] == events


def test_first_look_is_no_event() -> None:
    assert happened(Snapshot(), look({1: A}, {1}, {2})) == []


def test_repository_that_is_away_for_a_while_loses_nothing() -> None:
    away = Snapshot(known=frozenset())
    before = look({1: A}, ready={2})
    assert happened(before, away) == []
    assert kept(before, away) == before
    assert [each.event for each in happened(kept(before, away), look({1: B}, ready={2}))] == [Event.PASSED_ON]


chains = st.sampled_from([A, B, None])
holders = st.dictionaries(st.integers(1, 5), chains)
looks = st.builds(look, holders, st.sets(st.integers(1, 5)), st.sets(st.integers(1, 5)))


@given(looks)
def test_nothing_happens_to_what_stays(same: Snapshot) -> None:
    assert happened(same, same) == []


@given(looks, looks)
def test_events_lead_from_one_look_to_the_other(before: Snapshot, after: Snapshot) -> None:
    held = dict(before.holders)
    for each in happened(before, after):
        if each.event in {Event.TOOK, Event.PASSED_ON}:
            held[each.place] = each.chain
        elif each.event is Event.RELEASED:
            del held[each.place]
    assert held == after.holders
