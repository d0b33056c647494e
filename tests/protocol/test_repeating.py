"""Of any page and any record: an edit that landed is not made again, and harms nobody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.bars import bars
from git_claims.protocol.claim import Claim
from git_claims.protocol.comments import postable
from git_claims.protocol.issue import Edit, Issue
from git_claims.protocol.signals import (
    Release,
    on_reclaim,
    on_step,
)
from tests.protocol.shown import (
    FORTY_TWO,
    HANDED,
    HOUSE,
    LOCKED,
    OLDER,
    OURS,
    RENEWED,
    STEP,
    TAKEN,
    THEIR_LOCK,
    THEIRS,
    applied,
    live,
    lock,
    page,
    release,
    said,
    take,
)

# Of any page


names = st.sets(st.sampled_from(["in-progress", "Ready", "ready", "hold", "blocked", "ci-monitoring", "afk"]))
people = st.lists(st.sampled_from(["octocat", "hubot", "ada"]), unique=True)
told = st.lists(st.sampled_from([LOCKED, OLDER, THEIR_LOCK, STEP, lock("ada"), said("hello", 5, "ada")]), unique=True)
pages = st.builds(
    lambda comments, labels, assignees, is_open: page(
        *comments, labels=tuple(labels), assignees=tuple(assignees), is_open=is_open
    ),
    told,
    names,
    people,
    st.booleans(),
)
dangerous = st.sampled_from(
    [None, "-->", "<x>", "a nonce=1", "@claude-bot", "\x1b", "\n", "", "9f1c", "hubot", "OCTOCAT"]
)
claims = st.builds(
    lambda base, operator, branch, nonce, at: replace(
        base, operator=operator, branch=branch, nonce=nonce, claimed_at=at
    ),
    st.sampled_from([OURS, RENEWED, HANDED, TAKEN, THEIRS]),
    dangerous,
    dangerous,
    dangerous,
    st.sampled_from([None, "soon", "-->", OURS.claimed_at, HANDED.claimed_at]),
)


def is_postable(claim: Claim) -> bool:
    """What a claim that was won just now always is: anything else is refused before the push."""
    return bool(claim.nonce) and postable(claim, HOUSE) == claim


EDITS: dict[str, Callable[[Issue, Claim], Edit]] = {
    "take": lambda issue, claim: take(issue, claim, fresh=is_postable(claim)),
    "entered again": lambda issue, claim: take(issue, claim, fresh=False),
    "take-over": lambda issue, claim: take(issue, claim, fresh=is_postable(claim), previous=THEIRS),
    "step": lambda issue, claim: on_step(issue, FORTY_TWO, claim, HOUSE, "Lock handed off."),
    "reclaim": lambda issue, claim: on_reclaim(issue, FORTY_TWO, claim, HOUSE, "ada"),
} | {outcome.value: lambda issue, claim, outcome=outcome: release(issue, outcome, claim) for outcome in Release}


@pytest.mark.parametrize("edit_of", EDITS.values(), ids=EDITS)
@given(issue=pages, claim=st.one_of(st.sampled_from([OURS, RENEWED, HANDED, TAKEN]), claims))
def test_edit_that_landed_is_not_made_again_and_harms_nobody(
    edit_of: Callable[[Issue, Claim], Edit], issue: Issue, claim: Claim
) -> None:
    edit = edit_of(issue, claim)
    then = applied(issue, edit, 600, claim.operator or "octocat")
    assert edit_of(then, claim).is_empty
    assert "ada" in then.assignees or "ada" not in issue.assignees
    assert "@claude-bot" not in (edit.comment or "").lower()
    assert not {"hold", "afk"} & (edit.add_labels | edit.remove_labels) and "" not in edit.add_labels
    assert not edit.add_labels & issue.labels and edit.remove_labels <= issue.labels
    assert not edit.add_assignees & set(issue.assignees) and edit.remove_assignees <= set(issue.assignees)


@given(issue=pages)
def test_claim_that_is_given_back_at_once_leaves_the_item_free_for_others(issue: Issue) -> None:
    if bars(issue, FORTY_TWO, "octocat", HOUSE, even_hitl=False) is None:
        taken = applied(issue, take(issue), 600)
        back = applied(taken, release(taken, Release.ABANDONED), 601)
        assert "octocat" not in back.assignees and "octocat" not in live(back)
        assert "in-progress" not in back.labels and {"ready", "Ready"} & back.labels
