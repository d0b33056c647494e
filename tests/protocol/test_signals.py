"""The edits that show a claim: only what is missing, nobody else touched, and each claim told once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from git_claims.protocol.claim import Claim
from git_claims.protocol.issue import Edit, Issue
from git_claims.protocol.signals import (
    Release,
    lock_comment,
    on_step,
    on_take,
)
from git_claims.protocol.text import stamp
from tests.protocol.shown import (
    BARE,
    FORTY_TWO,
    HANDED,
    HELD,
    HOUSE,
    LOCKED,
    OLDER,
    OURS,
    RENEWED,
    STEP,
    TAKEN,
    THEIR_LOCK,
    THEIR_PAGE,
    THEIRS,
    after,
    applied,
    live,
    lock,
    page,
    release,
    said,
    spelled,
    take,
)


def shown(issue: Issue, edit: Edit) -> tuple[set[str], tuple[str, ...], bool]:
    """Labels, assignees and whether it is open, after the edit."""
    then = applied(issue, edit)
    return set(then.labels), then.assignees, then.is_open


# Take


def test_fresh_claim_is_shown_by_label_assignee_and_comment_in_one_edit() -> None:
    assert take(page()) == Edit(
        FORTY_TWO,
        add_labels=frozenset({"in-progress"}),
        remove_labels=frozenset({"ready"}),
        add_assignees=frozenset({"octocat"}),
        comment=lock_comment(OURS, HOUSE),
        comment_nonce="nonce=9f1c -->",
    )


MISSING = [
    ("nothing", HELD, ""),
    ("the label", replace(HELD, labels=frozenset()), "+in-progress"),
    ("the label, but for its letters", replace(HELD, labels=frozenset({"In-Progress"})), ""),
    ("the assignee", replace(HELD, assignees=()), "+octocat"),
    ("the assignee, but for its letters", replace(HELD, assignees=("OctoCat",)), ""),
    ("the assignee, beside somebody", replace(HELD, assignees=("ada",)), "+octocat"),
    ("that the ready label goes", replace(HELD, labels=frozenset({"in-progress", "Ready"})), "-Ready"),
    ("that it waits no more", replace(HELD, labels=frozenset({"in-progress", "blocked"})), "-blocked"),
    (
        "that CI is waited for no more",
        replace(HELD, labels=frozenset({"in-progress", "ci-monitoring"})),
        "-ci-monitoring",
    ),
    ("the comment", replace(HELD, comments=()), "comment"),
    ("all", page(), "+in-progress -ready +octocat comment"),
]


@pytest.mark.parametrize(("issue", "wanted"), [case[1:] for case in MISSING], ids=[case[0] for case in MISSING])
@pytest.mark.parametrize("fresh", [True, False], ids=["won just now", "entered again"])
def test_claim_adds_only_what_is_missing(issue: Issue, wanted: str, fresh: bool) -> None:
    assert spelled(take(issue, fresh=fresh)) == wanted


def test_switched_off_labels_are_neither_added_nor_removed() -> None:
    edit = on_take(page(), FORTY_TWO, OURS, BARE, fresh=True)
    assert spelled(edit) == "+octocat comment"


def test_claim_without_a_login_is_shown_by_its_label_alone() -> None:
    edit = take(page(), replace(OURS, operator=None))
    assert spelled(edit) == "+in-progress -ready"


YOUNGER = said(lock_comment(replace(OURS, nonce="0ld0", claimed_at="2026-11-30T13:05:00Z"), HOUSE), -1)
ADAS_STEP = replace(STEP, body=STEP.body.replace("operator=octocat", "operator=ada"))
TOLD = [
    ("won, nothing told", OURS, page(), True, True),
    ("won, an older lock of this login was never released", OURS, page(OLDER), True, True),
    ("won, told already", OURS, page(LOCKED), True, False),
    ("entered again, told", OURS, page(LOCKED), False, False),
    ("entered again, not told", OURS, page(), False, True),
    ("entered again, only an older lock of this login is told", OURS, page(OLDER), False, True),
    ("entered again, only a lock of another chain a minute ago", OURS, page(YOUNGER), False, True),
    ("renewed, told", RENEWED, page(LOCKED), False, False),
    ("renewed, not told", RENEWED, page(), False, True),
    ("renewed, only an older lock of this login is told", RENEWED, page(OLDER), False, True),
    ("renewed, only somebody else's lock is told", RENEWED, page(lock("ada")), False, True),
    (
        "renewed, told by a clock far away",
        replace(RENEWED),
        page(replace(LOCKED, created_at=after(-600))),
        False,
        False,
    ),
    ("renewed, released half way before", RENEWED, applied(HELD, release(HELD, Release.PLAIN)), False, True),
    ("handed off, told", HANDED, page(LOCKED, STEP), False, False),
    ("handed off and renewed", replace(HANDED, nonce="bee5"), page(LOCKED, STEP), False, False),
    ("handed off, the step was not told", replace(HANDED, nonce="bee5"), page(LOCKED), False, True),
    (
        "handed off, the step of a stranger",
        HANDED,
        page(LOCKED, replace(STEP, author="eve", may_write=False)),
        False,
        True,
    ),
    ("locked by hand at about that time", OURS, page(lock("octocat", 1)), False, False),
    ("locked by hand long before", OURS, page(lock("octocat", -60)), False, True),
    ("a nonce that begins the same", replace(OURS, nonce="9f"), page(LOCKED, OLDER), True, True),
    ("no nonce, entered again", replace(OURS, nonce=None), page(LOCKED), False, False),
    ("no time", replace(OURS, nonce=None, claimed_at=None), page(lock("octocat")), False, False),
    ("perhaps among comments that were not read", RENEWED, replace(page(said("x", 9)), complete=False), False, False),
    ("all comments were read", RENEWED, page(said("x", 9)), False, True),
    ("handed off, the step of another login", HANDED, page(LOCKED, ADAS_STEP), False, True),
    ("not read, but older than the claim", RENEWED, replace(page(said("x", -9)), complete=False), False, True),
    ("not read, but won just now", OURS, replace(page(said("x", 9)), complete=False), True, True),
]


@pytest.mark.parametrize(
    ("claim", "issue", "fresh", "comments"), [case[1:] for case in TOLD], ids=[case[0] for case in TOLD]
)
def test_each_claim_is_told_once(claim: Claim, issue: Issue, fresh: bool, comments: bool) -> None:
    edit = take(issue, claim, fresh=fresh)
    assert (edit.comment is not None) == comments
    again = take(applied(issue, edit), claim, fresh=False)
    assert again.is_empty


def test_comment_is_found_again_by_its_whole_sign() -> None:
    for edit in (take(page()), release(HELD, Release.PLAIN), on_step(HELD, FORTY_TWO, HANDED, HOUSE, "x")):
        assert edit.comment_nonce and edit.comment_nonce in (edit.comment or "")
    told = release(HELD, Release.PLAIN).comment or ""
    assert (take(page()).comment_nonce or "x") not in told


def test_sibling_gets_the_short_comment_and_the_same_label_and_assignee() -> None:
    edit = take(page(), replace(OURS, issue="43", lead="41"))
    assert spelled(edit) == "+in-progress -ready +octocat comment"
    assert "bundled_with=#41" in (edit.comment or "") and "Agent session lock" not in (edit.comment or "")


# Take over


def test_take_over_removes_the_prior_operator_alone_and_says_whom_and_why() -> None:
    edit = take(THEIR_PAGE, TAKEN, previous=THEIRS)
    assert shown(THEIR_PAGE, edit) == ({"in-progress"}, ("ada", "octocat"), True)
    assert "`hubot`, claimed at `2026-11-29T08:00:00Z`: it was silent" in (edit.comment or "")
    assert live(applied(THEIR_PAGE, edit)) == ["octocat"]


def test_take_over_from_the_same_login_removes_nobody() -> None:
    issue = replace(HELD, assignees=("octocat", "ada"))
    edit = take(issue, replace(TAKEN, nonce="cafe", claimed_at=stamp(after(60))), previous=OURS)
    assert not edit.remove_assignees and edit.comment
    assert live(applied(issue, edit)) == ["octocat"]


def test_take_over_of_a_claim_without_a_login_removes_nobody() -> None:
    edit = take(THEIR_PAGE, TAKEN, previous=replace(THEIRS, operator=None))
    assert not edit.remove_assignees and "`chain-forge-2`" in (edit.comment or "")


def test_take_over_of_a_sibling_names_whom_all_the_same() -> None:
    assert "`hubot`" in (take(THEIR_PAGE, replace(TAKEN, lead="41"), previous=THEIRS).comment or "")


def test_take_over_that_died_before_it_was_shown_is_shown_by_the_next_run() -> None:
    edit = take(THEIR_PAGE, TAKEN, fresh=False)
    assert shown(THEIR_PAGE, edit) == ({"in-progress"}, ("ada", "octocat"), True)
    assert "`hubot`" in (edit.comment or "") and live(applied(THEIR_PAGE, edit)) == ["octocat"]


ADAS_LOCK = said(lock_comment(replace(THEIRS, operator="ada"), HOUSE), -9, "ada")


@pytest.mark.parametrize(
    ("claim", "issue"),
    [
        (OURS, THEIR_PAGE),
        (RENEWED, THEIR_PAGE),
        (TAKEN, page(THEIR_LOCK, replace(ADAS_LOCK, created_at=after(-9)), assignees=("hubot", "ada"))),
        (TAKEN, page(replace(THEIR_LOCK, created_at=after(9)), assignees=("hubot",))),
        (TAKEN, page(replace(THEIR_LOCK, author="eve", may_write=False), assignees=("hubot",))),
        (TAKEN, page(lock("ada", -9), assignees=("ada",))),
        (TAKEN, applied(THEIR_PAGE, take(THEIR_PAGE, TAKEN, previous=THEIRS))),
    ],
    ids=[
        "took nothing over",
        "renewed",
        "of two it is not clear whom",
        "locked later",
        "a stranger's word",
        "locked by hand",
        "told",
    ],
)
def test_entering_again_removes_nobody_where_it_is_not_clear_whom(claim: Claim, issue: Issue) -> None:
    assert not take(issue, claim, fresh=False).remove_assignees
