"""A bounded run: what lets it go on, and what stops it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from git_claims.flows.guard import Cut
from git_claims.flows.run import PEACEFUL, Delivered, Ran, Stop, Turn, Worked, run
from git_claims.protocol.claim import ChainId
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.report import read
from git_claims.protocol.served import Place


def turn(number: int, iteration: int = 1, slug: str = "acme/ledger") -> Turn:
    place = Place(slug, Item(Kind.ISSUE, str(number)))
    return Turn(place, Path("/lane"), f"{number}-work", ChainId("chain-a"), iteration, 3)


def ran(
    output: str,
    status: int = 0,
    *,
    cut: Cut | None = None,
    is_held: bool = False,
    against: str | None = None,
    budget: int = 1,
) -> tuple[Ran, list[int]]:
    """Runs pieces 42, 43 … whose worker says that, and returns how it ended and what was told."""
    told: list[int] = []

    def begin(iteration: int) -> Turn:
        return turn(41 + iteration, iteration)

    def work(turn: Turn) -> Worked:
        return Worked(status, read(output.format(item=turn.place.item.spelling)), cut, is_held)

    ended = run(budget, begin, work, lambda turn, pull: against, lambda each: told.append(each.pull))
    return ended, told


def test_what_is_merged_lets_it_go_on_until_the_budget_is_used_up() -> None:
    ended, told = ran("noise\nRESULT: merged issue={item} pr=57\n", budget=3)
    assert (ended.stop, told) == (Stop.BUDGET, [57, 57, 57])
    assert [each.turn.place.item.key for each in ended.delivered] == ["42", "43", "44"]


@pytest.mark.parametrize("issue", ["{item}", "#{item}", "ledger#{item}", "acme/ledger#{item}", "ACME/Ledger#{item}"])
def test_worker_may_name_its_issue_as_people_do(issue: str) -> None:
    assert ran(f"RESULT: merged issue={issue} pr=57")[0].stop is Stop.BUDGET


STOPS = [
    ("halts", "RESULT: halted issue={item} reason=a key is missing", 0, Stop.HALTED, "a key is missing"),
    ("halts and fails", "RESULT: halted issue={item} reason=a key is missing", 1, Stop.HALTED, "a key is missing"),
    ("says nothing", "", 0, Stop.AMBIGUOUS, "it said nothing"),
    ("says something else", "done!", 0, Stop.AMBIGUOUS, "its last line was 'done!'"),
    ("dies", "done!", 137, Stop.AMBIGUOUS, "the worker ended with status 137"),
    ("reports and fails", "RESULT: merged issue={item} pr=57", 1, Stop.AMBIGUOUS, "exit status 1"),
    ("reports another", "RESULT: merged issue=7 pr=57", 0, Stop.AMBIGUOUS, "issue=7"),
    ("reports another's", "RESULT: merged issue=acme/web#{item} pr=57", 0, Stop.AMBIGUOUS, "acme/web"),
    ("halts another", "RESULT: halted issue=7 reason=x", 0, Stop.AMBIGUOUS, "issue=7"),
    ("says more after it", "RESULT: merged issue={item} pr=57\nbye", 0, Stop.AMBIGUOUS, "'bye'"),
    ("finds nothing", "RESULT: drained", 0, Stop.DRAINED, "RESULT: drained"),
    ("finds people's only", "RESULT: hitl-only", 0, Stop.HITL_ONLY, "RESULT: hitl-only"),
    ("fails with nothing", "RESULT: drained", 1, Stop.AMBIGUOUS, "status 1"),
]


@pytest.mark.parametrize(
    ("output", "status", "stop", "observed"), [case[1:] for case in STOPS], ids=[case[0] for case in STOPS]
)
def test_anything_else_stops_it_and_says_what_was_seen(output: str, status: int, stop: Stop, observed: str) -> None:
    ended, told = ran(output, status, budget=3)
    assert (ended.stop, told, ended.delivered) == (stop, [], ())
    assert observed in ended.observed and ended.turn == turn(42)


def test_report_is_not_believed_before_the_tracker_says_so() -> None:
    ended, told = ran("RESULT: merged issue={item} pr=57", against="#57 is open, not merged", budget=3)
    assert (ended.stop, ended.observed, told) == (Stop.NOT_VERIFIED, "#57 is open, not merged", [])


@pytest.mark.parametrize(
    ("cut", "stop"),
    [(Cut.LOST, Stop.LOST), (Cut.UNCONFIRMED, Stop.UNCONFIRMED), (Cut.TIMED_OUT, Stop.TIMED_OUT)],
)
def test_why_the_worker_was_stopped_outweighs_what_it_says(cut: Cut, stop: Stop) -> None:
    ended = ran("RESULT: merged issue={item} pr=57", 1, cut=cut)[0]
    assert ended.stop is stop and ("lost" in ended.observed) == (cut is Cut.LOST)


@pytest.mark.parametrize("report", ["drained", "hitl-only"])
def test_worker_that_finds_nothing_and_keeps_its_claim_is_not_believed(report: str) -> None:
    ended = ran(f"RESULT: {report}", is_held=True, budget=3)[0]
    assert (ended.stop, ended.observed) == (Stop.AMBIGUOUS, f"'RESULT: {report}', and its claim is still held")


@pytest.mark.parametrize("stop", [Stop.DRAINED, Stop.HITL_ONLY, Stop.NOTHING_READY])
def test_empty_queue_ends_it_without_a_worker(stop: Stop) -> None:
    def work(turn: Turn) -> Worked:
        raise AssertionError("nothing to work on")

    ended = run(3, lambda _: stop, work, lambda *_: None, lambda _: None)
    assert (ended.stop, ended.turn, stop in PEACEFUL) == (stop, None, stop is not Stop.NOTHING_READY)


def test_piece_that_only_had_to_be_finished_counts_and_needs_no_worker() -> None:
    begun: Iterator[Delivered | Stop] = iter((Delivered(turn(42), 57), Stop.DRAINED))
    ended = run(3, lambda _: next(begun), lambda _: Worked(1, read("")), lambda *_: None, lambda _: None)
    assert (ended.stop, [each.pull for each in ended.delivered]) == (Stop.DRAINED, [57])
