"""The walk through what is ready: whom it asks for, what it reads again after a loss, and where it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from git_claims.flows.board import Board, Looked
from git_claims.flows.change import Answer
from git_claims.flows.select import Seat, Walked, walk
from git_claims.protocol.issue import Issue
from git_claims.protocol.item import Item
from git_claims.protocol.ready import Candidate, State
from git_claims.protocol.served import Served
from git_claims.protocol.transition import Outcome, Reason
from git_claims.tracker.model import Tracker
from tests.protocol.memory import Memory, world
from tests.protocol.queued import issue, number, served
from tests.protocol.shown import HOUSE


@dataclass
class Pages:
    """A tracker that shows pages by number and remembers whom it was asked for."""

    pages: dict[Item, Issue]
    reads: list[str] = field(default_factory=list)

    def read(self, items: Iterable[Item], branches: Mapping[Item, str] | None = None) -> dict[Item, Issue | None]:
        wanted = list(items)
        self.reads += [each.name for each in wanted]
        return {each: self.pages.get(each) for each in wanted}


@dataclass
class Street:
    """One repository as a list showed it, as its pages are now, and what becomes of claims."""

    listed: Served
    becomes: Mapping[str, Outcome] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    asked: list[str] = field(default_factory=list)
    happening: Callable[[Item], object] = lambda _: None

    def __post_init__(self) -> None:
        self.tracker = Pages({page.item: page for page in self.listed.issues})

    def claim(self, seat: Seat, candidate: Candidate, looked: Looked) -> Answer:
        wanted = candidate.place.item
        self.asked.append(wanted.name)
        assert looked.issues == {wanted: self.tracker.pages[wanted]}
        self.happening(wanted)
        return Answer(wanted, self.becomes.get(wanted.name, Outcome.HELD), Reason.HELD)

    def walk(self) -> Walked:
        board = Board(cast(Tracker, self.tracker), HOUSE)
        return walk([Seat(self.listed.slug, "", self.memory.store, board)], [self.listed], [], self.claim)


def street(*issues: Issue, **becomes: Outcome) -> Street:
    outcomes = {name.replace("_", "-"): outcome for name, outcome in becomes.items()}
    return Street(served(*issues), outcomes)


def claims_read(it: Street) -> int:
    """How often all claims were read."""
    return it.memory.reads.count([])


def test_first_is_read_again_and_claimed() -> None:
    it = street(issue(1), issue(2), issue_1=Outcome.CLAIMED)
    walked = it.walk()
    assert walked.candidate is not None and walked.candidate.place.spelling == "acme/ledger#1"
    assert (it.asked, it.tracker.reads, it.memory.reads) == (["issue-1"], ["issue-1"], [])


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.REFUSED, Outcome.ALREADY_YOURS])
def test_answer_that_is_about_us_ends_the_walk(outcome: Outcome) -> None:
    it = street(issue(1), issue(2), issue_1=outcome)
    walked = it.walk()
    assert walked.answer is not None and (walked.answer.outcome, it.asked) == (outcome, ["issue-1"])


def test_after_a_lost_race_claims_are_read_and_the_next_one_is_asked_for() -> None:
    it = street(issue(1), issue(2), issue(3), issue_3=Outcome.CLAIMED)
    it.happening = lambda wanted: it.memory.claims.update(world((wanted.key, "chain-rival")))
    assert it.walk().answer is not None
    assert (it.asked, claims_read(it)) == (["issue-1", "issue-2", "issue-3"], 2)


def test_one_that_a_rival_took_in_the_same_moment_is_not_asked_for() -> None:
    it = street(issue(1), issue(2), issue(3), issue_3=Outcome.CLAIMED)
    it.happening = lambda _: it.memory.claims.update(world(("1", "chain-rival"), ("2", "chain-rival")))
    assert it.walk().answer is not None
    assert (it.asked, it.tracker.reads) == (["issue-1", "issue-3"], ["issue-1", "issue-3"])


def test_loser_is_asked_for_once_even_where_its_rival_gave_it_up_again() -> None:
    it = street(issue(1))
    walked = it.walk()
    assert (walked.candidate, it.asked) == (None, ["issue-1"])
    assert [each.place.spelling for each in walked.queue.ready] == ["acme/ledger#1"]


def test_one_whose_page_says_no_is_not_asked_for() -> None:
    it = street(issue(1), issue(2), issue_2=Outcome.CLAIMED)
    it.tracker.pages[number(1)] = issue(1, assignees=("ada",))
    assert it.walk().answer is not None
    assert it.asked == ["issue-2"]


def test_one_that_is_gone_is_not_asked_for_and_frees_nobody() -> None:
    it = street(issue(1), issue(2, 1), issue(3), issue_3=Outcome.CLAIMED)
    del it.tracker.pages[number(1)]
    walked = it.walk()
    assert it.asked == ["issue-3"] and walked.candidate is not None


def test_one_that_turned_out_not_to_be_free_is_read_again_for_the_state() -> None:
    it = street(issue(1), issue_1=Outcome.NOT_FREE)
    page = it.tracker.pages[number(1)]
    it.happening = lambda wanted: it.tracker.pages.update({wanted: replace(page, labels=page.labels | {"hold"})})
    walked = it.walk()
    assert (walked.queue.state, it.tracker.reads) == (State.ALL_BLOCKED, ["issue-1", "issue-1"])


def test_walk_is_bounded() -> None:
    it = street(*(issue(each) for each in range(1, 101)))
    assert it.walk().candidate is None
    assert len(it.asked) == len(set(it.asked)) == 16


def test_nothing_ready_asks_for_nobody() -> None:
    it = street(issue(1, labels=("ready", "hitl")))
    walked = it.walk()
    assert (walked.queue.state, it.asked, it.tracker.reads) == (State.HITL_ONLY, [], [])
