"""Waiting for held items: a budget, longer and longer pauses, each holder named once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from git_claims.errors import CannotTell
from git_claims.flows.change import Answer
from git_claims.flows.release import release
from git_claims.flows.take import Patience, Wanted, take_waiting
from git_claims.protocol.claim import ChainId, Seen
from git_claims.protocol.item import Item
from git_claims.protocol.transition import Outcome, Reason
from tests.protocol.memory import Memory, asker, item, planted, removed, seen, world

ME, OTHER = ChainId("chain-me"), ChainId("chain-other")
Event = Callable[[dict[Item, Seen]], object]


class Time:
    """A clock that only sleeping moves; `events` happen at their second."""

    def __init__(self, memory: Memory, events: dict[float, Event] | None = None) -> None:
        self.now, self.memory, self.events = 0.0, memory, dict(events or {})
        self.notices: list[str] = []

    def sleep(self, seconds: float) -> None:
        assert seconds > 0, "waiting without a pause is a storm"
        self.now += seconds
        for moment in [each for each in self.events if each <= self.now]:
            self.events.pop(moment)(self.memory.claims)

    def patience(self, budget_seconds: float) -> Patience:
        return Patience(budget_seconds, lambda: self.now, self.sleep, lambda: 0.5, self.notice)

    def notice(self, answer: Answer) -> None:
        assert answer.rival and answer.rival.claim
        self.notices.append(answer.rival.claim.chain)


def test_waiting_takes_the_item_soon_after_it_is_free_and_names_the_holder_once() -> None:
    memory = Memory(world(("41", OTHER)))
    time = Time(memory, {100.0: removed("41")})
    (answer,) = take_waiting(memory.store, Wanted((item("41"),)), asker(), time.patience(3600))
    assert (answer.outcome, memory.chains()) == (Outcome.CLAIMED, {"issue-41": ME})
    assert (time.notices, 100 <= time.now < 160) == ([OTHER], True)


def test_waiting_names_every_new_holder_once() -> None:
    memory = Memory(world(("41", OTHER)))
    time = Time(memory, {50.0: planted(issue_41=seen("41", "chain-third")), 200.0: removed("41")})
    take_waiting(memory.store, Wanted((item("41"),)), asker(), time.patience(3600))
    assert time.notices == [OTHER, "chain-third"]


def test_waiting_ends_with_its_budget_and_a_reason_of_its_own() -> None:
    memory = Memory(world(("41", OTHER)))
    time = Time(memory)
    (answer,) = take_waiting(memory.store, Wanted((item("41"),)), asker(), time.patience(600))
    assert (answer.outcome, answer.reason) == (Outcome.HELD, Reason.GAVE_UP_WAITING)
    assert (time.now, memory.chains()) == (600.0, {"issue-41": OTHER})


def test_waiting_pauses_longer_and_longer_and_at_most_half_a_minute() -> None:
    memory = Memory(world(("41", OTHER)))
    take_waiting(memory.store, Wanted((item("41"),)), asker(), Time(memory).patience(600))
    assert 600 / 30 < len(memory.reads) < 40


def test_waiting_claims_what_is_free_at_once_and_waits_for_the_rest() -> None:
    memory = Memory(world(("41", OTHER)))
    time = Time(memory, {10.0: removed("41")})
    answers = take_waiting(memory.store, Wanted((item("40"), item("41"))), asker(), time.patience(600))
    assert [answer.outcome for answer in answers] == [Outcome.CLAIMED, Outcome.CLAIMED]
    assert memory.pushes[0] == [item("40"), item("41")]


def test_waiting_for_all_or_nothing_takes_nothing_until_all_are_free() -> None:
    memory = Memory(world(("41", OTHER), ("42", OTHER)))
    time = Time(memory, {10.0: removed("41"), 300.0: removed("42")})
    wanted = Wanted((item("40"), item("41"), item("42")), together=True)
    answers = take_waiting(memory.store, wanted, asker(), time.patience(3600))
    assert [answer.outcome for answer in answers] == [Outcome.CLAIMED] * 3
    assert time.now >= 300
    assert len({id(state) for state in memory.claims.values()}) == 3


def test_waiting_outlasts_a_network_that_is_away_for_a_while() -> None:
    memory = Memory(world(("41", OTHER)))
    time = Time(memory, {10.0: memory.falls_silent, 50.0: removed("41"), 60.0: memory.speaks})
    (answer,) = take_waiting(memory.store, Wanted((item("41"),)), asker(), time.patience(600))
    assert answer.outcome is Outcome.CLAIMED


def test_first_look_at_a_silent_remote_is_no_waiting() -> None:
    memory = Memory(silent=True)
    (answer,) = take_waiting(memory.store, Wanted((item("41"),)), asker(), Time(memory).patience(600))
    assert answer.outcome is Outcome.UNKNOWN
    with pytest.raises(CannotTell):
        release(memory.store, None, ME)
