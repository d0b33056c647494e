"""What comes next for a pull request that somebody lands, and what an attempt to merge it came to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.issue import Checks, PullState
from git_claims.protocol.landing import (
    Move,
    Step,
    Waits,
    counted,
    names_of_failing,
    next_step,
    progress_of,
    said_of,
    said_of_waiting,
    step_after,
)
from git_claims.protocol.pull import (
    CheckState,
    Hindrance,
    Landing,
    MergeState,
    Merging,
    Method,
    Outcome,
    Review,
    verdict_of,
)
from tests.protocol.test_pull import FAILED, LANDING, PASSED, PENDING, PULL, SKIPPED, check, checked

GREEN = replace(LANDING, checks=checked(PASSED))
BLOCKED = replace(GREEN, merge_state=MergeState.BLOCKED)
MERGED = replace(LANDING, pull=replace(PULL, state=PullState.MERGED))
CLOSED = replace(GREEN, pull=replace(PULL, state=PullState.CLOSED))
BEHIND = replace(GREEN, merge_state=MergeState.BEHIND)


def waits(what: Waits) -> Step:
    return Step(Move.WAIT, waits=what)


def stops(why: Hindrance) -> Step:
    return Step(Move.STOP, hindrance=why)


MERGE, FINISH, RED = Step(Move.MERGE), Step(Move.FINISH), Step(Move.RED)
STEPS = [
    ("merged", MERGED, FINISH),
    ("merged with a red check", replace(MERGED, checks=checked(FAILED)), FINISH),
    ("closed", CLOSED, stops(Hindrance.CLOSED)),
    ("green", GREEN, MERGE),
    ("only skipped", replace(GREEN, checks=checked(SKIPPED)), MERGE),
    ("no check yet", LANDING, waits(Waits.FIRST_CHECK)),
    ("one runs", replace(GREEN, checks=checked(PASSED, PENDING)), waits(Waits.CHECKS)),
    ("not all was read", replace(GREEN, checks_complete=False), waits(Waits.CHECKS)),
    ("one failed", replace(GREEN, checks=checked(PASSED, FAILED)), RED),
    ("one failed while another runs", replace(GREEN, checks=checked(PENDING, FAILED)), RED),
    ("one that nobody requires failed", replace(GREEN, checks=checked(FAILED, required=PASSED)), RED),
    ("a draft", replace(GREEN, merge_state=MergeState.DRAFT), stops(Hindrance.DRAFT)),
    (
        "a draft whose checks run",
        replace(LANDING, merge_state=MergeState.DRAFT, checks=checked(PENDING)),
        stops(Hindrance.DRAFT),
    ),
    (
        "a conflict that keeps checks from starting",
        replace(LANDING, merge_state=MergeState.CONFLICTING),
        stops(Hindrance.CONFLICTING),
    ),
    ("behind", BEHIND, stops(Hindrance.BEHIND)),
    ("behind a queue", replace(BEHIND, has_queue=True), MERGE),
    ("a review is required", replace(BLOCKED, review=Review.REQUIRED), stops(Hindrance.REVIEW_REQUIRED)),
    ("changes are asked for", replace(BLOCKED, review=Review.CHANGES_REQUESTED), stops(Hindrance.CHANGES_REQUESTED)),
    ("a rule that nothing shows", BLOCKED, MERGE),
    ("may not merge", replace(GREEN, may_merge=False), stops(Hindrance.NOT_PERMITTED)),
    ("no way to merge", replace(GREEN, methods=frozenset()), stops(Hindrance.METHOD_FORBIDDEN)),
    ("not worked out", replace(GREEN, merge_state=MergeState.UNKNOWN), waits(Waits.SETTLING)),
    ("in the queue", replace(GREEN, is_queued=True, has_queue=True), waits(Waits.QUEUE)),
    ("in the queue, whose checks run", replace(GREEN, is_queued=True, checks=checked(PENDING)), waits(Waits.QUEUE)),
    ("told to merge when it may", replace(BLOCKED, auto_merge=True), waits(Waits.AUTO_MERGE)),
    ("told to, and behind", replace(BEHIND, auto_merge=True), stops(Hindrance.BEHIND)),
    ("told to, and red", replace(BLOCKED, auto_merge=True, checks=checked(FAILED)), RED),
]


@pytest.mark.parametrize(("landing", "step"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS])
def test_what_was_read_decides_what_comes_next(landing: Landing, step: Step) -> None:
    assert next_step(landing, without_checks=False) == step


WITHOUT = [
    ("no check", LANDING, MERGE),
    ("one that runs all the same", replace(LANDING, checks=checked(PENDING)), waits(Waits.CHECKS)),
    ("one that failed all the same", replace(LANDING, checks=checked(FAILED)), RED),
    (
        "a base that requires some",
        replace(LANDING, merge_state=MergeState.BLOCKED),
        stops(Hindrance.CHECKS_REQUIRED),
    ),
]


@pytest.mark.parametrize(("landing", "step"), [row[1:] for row in WITHOUT], ids=[row[0] for row in WITHOUT])
def test_repository_without_checks_waits_for_none_but_believes_those_that_are(landing: Landing, step: Step) -> None:
    assert next_step(landing, without_checks=True) == step


def refused(why: Hindrance | None, landing: Landing | None = GREEN) -> Merging:
    return Merging(Outcome.REFUSED, landing, why)


ATTEMPTS = [
    ("merged", Merging(Outcome.MERGED, MERGED), True, FINISH),
    ("refused, and merged meanwhile", refused(Hindrance.CLOSED, MERGED), True, FINISH),
    ("said to be merged, and not seen so", Merging(Outcome.MERGED, GREEN), True, waits(Waits.SETTLING)),
    ("queued", Merging(Outcome.QUEUED, GREEN), True, waits(Waits.QUEUE)),
    ("left to the tracker", Merging(Outcome.AUTO_MERGE, GREEN), True, waits(Waits.AUTO_MERGE)),
    ("unknown", Merging(Outcome.UNKNOWN, None), True, waits(Waits.SETTLING)),
    ("the head moved", refused(Hindrance.HEAD_MOVED), True, waits(Waits.SETTLING)),
    ("the head moves and moves", refused(Hindrance.HEAD_MOVED), False, stops(Hindrance.HEAD_MOVED)),
    ("unsettled", refused(Hindrance.UNSETTLED), True, waits(Waits.SETTLING)),
    ("unsettled for ever", refused(Hindrance.UNSETTLED), False, stops(Hindrance.UNSETTLED)),
    ("a check that has not reported", refused(Hindrance.CHECKS_REQUIRED), False, waits(Waits.REQUIRED_CHECK)),
    ("a rule", refused(Hindrance.PROTECTED), True, stops(Hindrance.PROTECTED)),
    ("no reason", refused(None), True, stops(Hindrance.PROTECTED)),
    ("closed meanwhile", refused(Hindrance.CLOSED), True, stops(Hindrance.CLOSED)),
]


@pytest.mark.parametrize(
    ("merging", "may_repeat", "step"), [row[1:] for row in ATTEMPTS], ids=[row[0] for row in ATTEMPTS]
)
def test_attempt_to_merge_decides_what_comes_next(merging: Merging, may_repeat: bool, step: Step) -> None:
    assert step_after(merging, may_repeat=may_repeat, without_checks=False) == step


def test_required_check_is_not_waited_for_where_there_are_said_to_be_none() -> None:
    step = step_after(refused(Hindrance.CHECKS_REQUIRED), may_repeat=True, without_checks=True)
    assert step == stops(Hindrance.CHECKS_REQUIRED)


LANDINGS = st.builds(
    Landing,
    pull=st.builds(replace, st.just(PULL), state=st.sampled_from(PullState), is_draft=st.booleans()),
    merge_state=st.sampled_from(MergeState),
    review=st.none() | st.sampled_from(Review),
    checks=st.lists(st.builds(check, st.text(), st.sampled_from(CheckState), is_required=st.booleans())).map(tuple),
    checks_complete=st.booleans(),
    methods=st.frozensets(st.sampled_from(Method)),
    may_merge=st.booleans(),
    has_queue=st.booleans(),
    is_queued=st.booleans(),
    auto_merge=st.booleans(),
)


@given(LANDINGS, st.booleans())
def test_only_what_is_open_and_green_is_merged_and_every_stop_has_a_reason(
    landing: Landing, without_checks: bool
) -> None:
    step = next_step(landing, without_checks=without_checks)
    assert (step.waits is not None) == (step.move is Move.WAIT)
    assert (step.hindrance is not None) == (step.move is Move.STOP)
    assert (step.move is Move.FINISH) == landing.is_merged
    if step.move is Move.MERGE:
        assert landing.pull.state is PullState.OPEN and not landing.pull.is_draft and landing.may_merge
        assert verdict_of(landing) is Checks.PASSING or (without_checks and not landing.checks)


def test_every_reason_has_words_and_advice_of_its_own() -> None:
    said = [said_of(each) for each in Hindrance]
    assert len({why for why, _ in said}) == len(said) and all(hint for _, hint in said)
    assert len({said_of_waiting(each) for each in Waits}) == len(Waits)


def test_line_of_progress_says_what_is_waited_for_and_how_far_it_is() -> None:
    landing = replace(LANDING, checks=checked(PASSED, PASSED, SKIPPED, PENDING, FAILED))
    assert counted(landing) == "2 passed, 1 skipped, 1 running, 1 failed"
    assert progress_of(landing, waits(Waits.CHECKS)) == f"checks are running; {counted(landing)}"
    assert progress_of(LANDING, MERGE) == "merging; no checks"
    assert progress_of(LANDING, waits(Waits.SETTLING), "no answer") == (
        "the tracker is still working it out (no answer); no checks"
    )
    assert progress_of(LANDING, waits(Waits.QUEUE), "queued") == "it is in the merge queue; no checks"
    assert [progress_of(landing, step) for step in (FINISH, RED, stops(Hindrance.DRAFT))] == [None, None, None]


def test_failed_checks_are_named_the_required_ones_first() -> None:
    checks = (check("lint", FAILED), check("unit", PASSED), check("test", FAILED, is_required=True))
    assert names_of_failing(replace(LANDING, checks=checks)) == "test, lint"
