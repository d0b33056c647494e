"""What the checks and the state of a pull request come to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.issue import Checks, PullState
from git_claims.protocol.pull import (
    Check,
    CheckState,
    Hindrance,
    Landing,
    MergeState,
    Method,
    Pull,
    Review,
    failing,
    hindrance_of,
    methods_of,
    verdict_of,
)

PULL = Pull(
    number=17,
    id="PR_17",
    url="https://github.com/acme/ledger/pull/17",
    title="Fix the totals",
    body="Closes #42",
    state=PullState.OPEN,
    head="42-fix",
    head_oid="1" * 40,
    base="main",
    is_draft=False,
    assignees=(),
)
LANDING = Landing(
    pull=PULL,
    merge_state=MergeState.CLEAN,
    review=None,
    checks=(),
    checks_complete=True,
    methods=frozenset(Method),
    may_merge=True,
)


def check(name: str, state: CheckState, *, is_required: bool = False) -> Check:
    return Check(name, state, state.value, None, is_required=is_required)


def checked(*states: CheckState, required: CheckState | None = None) -> tuple[Check, ...]:
    """Checks in those states, and perhaps one that is required."""
    named = tuple(check(f"check-{at}", state) for at, state in enumerate(states))
    return named if required is None else (*named, check("required", required, is_required=True))


PENDING, PASSED, SKIPPED, FAILED = CheckState
VERDICTS = [
    ("none yet", (), True, Checks.NONE),
    ("none yet, of a list that was not read to its end", (), False, Checks.PENDING),
    ("all passed", (PASSED, SKIPPED), True, Checks.PASSING),
    ("all passed, of a list that was not read to its end", (PASSED,), False, Checks.PENDING),
    ("one is under way", (PASSED, PENDING), True, Checks.PENDING),
    ("one failed while another is under way", (PENDING, FAILED), True, Checks.FAILING),
    ("one failed, of a list that was not read to its end", (FAILED,), False, Checks.FAILING),
]


@pytest.mark.parametrize(
    ("states", "complete", "verdict"), [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS]
)
def test_checks_come_to_one_word(states: tuple[CheckState, ...], complete: bool, verdict: Checks) -> None:
    assert verdict_of(replace(LANDING, checks=checked(*states), checks_complete=complete)) is verdict


@given(st.lists(st.sampled_from(CheckState)), st.booleans())
def test_nothing_is_green_that_did_not_say_so(states: list[CheckState], complete: bool) -> None:
    landing = replace(LANDING, checks=checked(*states), checks_complete=complete)
    green = verdict_of(landing) is Checks.PASSING
    assert green == (complete and bool(states) and set(states) <= {PASSED, SKIPPED})
    assert (verdict_of(landing) is Checks.FAILING) == bool(failing(landing))


def test_failed_checks_are_told_the_required_ones_first() -> None:
    checks = (check("a", FAILED), check("b", PASSED), check("c", FAILED, is_required=True))
    assert [each.name for each in failing(replace(LANDING, checks=checks))] == ["c", "a"]


def test_squash_is_tried_before_a_merge_commit() -> None:
    assert methods_of(LANDING) == [Method.SQUASH, Method.MERGE, Method.REBASE]
    assert methods_of(replace(LANDING, methods=frozenset({Method.REBASE, Method.MERGE}))) == [
        Method.MERGE,
        Method.REBASE,
    ]


BLOCKED = replace(LANDING, merge_state=MergeState.BLOCKED, checks=checked(PASSED, required=PASSED))
HINDRANCES: list[tuple[str, Landing, Hindrance | None]] = [
    ("nothing", LANDING, None),
    ("a check that nobody requires", replace(LANDING, merge_state=MergeState.UNSTABLE), None),
    ("merged", replace(BLOCKED, pull=replace(PULL, state=PullState.MERGED)), None),
    ("closed", replace(LANDING, pull=replace(PULL, state=PullState.CLOSED)), Hindrance.CLOSED),
    ("a draft", replace(LANDING, pull=replace(PULL, is_draft=True)), Hindrance.DRAFT),
    ("a conflict", replace(LANDING, merge_state=MergeState.CONFLICTING), Hindrance.CONFLICTING),
    ("no right to write", replace(LANDING, may_merge=False), Hindrance.NOT_PERMITTED),
    ("behind", replace(LANDING, merge_state=MergeState.BEHIND), Hindrance.BEHIND),
    ("behind, before a queue", replace(LANDING, merge_state=MergeState.BEHIND, has_queue=True), None),
    ("not worked out", replace(LANDING, merge_state=MergeState.UNKNOWN), Hindrance.UNSETTLED),
    ("no method at all", replace(LANDING, methods=frozenset()), Hindrance.METHOD_FORBIDDEN),
    ("a review is required", replace(BLOCKED, review=Review.REQUIRED), Hindrance.REVIEW_REQUIRED),
    ("changes were asked for", replace(BLOCKED, review=Review.CHANGES_REQUESTED), Hindrance.CHANGES_REQUESTED),
    ("a review before a queue", replace(BLOCKED, review=Review.REQUIRED, has_queue=True), Hindrance.REVIEW_REQUIRED),
    ("no check yet", replace(BLOCKED, checks=()), Hindrance.CHECKS_REQUIRED),
    ("a required check", replace(BLOCKED, checks=checked(PASSED, required=FAILED)), Hindrance.CHECKS_REQUIRED),
    ("a check under way", replace(BLOCKED, checks=checked(PENDING, required=PASSED)), Hindrance.CHECKS_REQUIRED),
    (
        "a rule beside a failure",
        replace(BLOCKED, checks=checked(FAILED, required=PASSED)),
        Hindrance.PROTECTED,
    ),
    ("a rule", BLOCKED, Hindrance.PROTECTED),
    ("only the queue", replace(BLOCKED, has_queue=True), None),
]


@pytest.mark.parametrize(("landing", "why"), [row[1:] for row in HINDRANCES], ids=[row[0] for row in HINDRANCES])
def test_one_reason_stands_in_the_way(landing: Landing, why: Hindrance | None) -> None:
    assert hindrance_of(landing) is why
