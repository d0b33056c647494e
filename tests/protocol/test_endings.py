"""The edits by which a claim ends, passes on or is reconciled, and what each outcome leaves behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from git_claims.protocol.claim import Claim
from git_claims.protocol.issue import Comment, Edit, Issue, PullState
from git_claims.protocol.marker import live_markers
from git_claims.protocol.signals import (
    Release,
    merged,
    on_adopt,
    on_hold,
    on_orphan,
    on_reclaim,
    on_release,
    on_step,
    opened_at,
    outcome_of,
)
from git_claims.protocol.text import stamp
from tests.protocol.shown import (
    BARE,
    CLAIMED,
    FORTY_TWO,
    HANDED,
    HELD,
    HOUSE,
    LOCKED,
    OLDER,
    OURS,
    STEP,
    TAKEN,
    THEIR_PAGE,
    THEIRS,
    after,
    applied,
    live,
    lock,
    page,
    pull,
    release,
    said,
    spelled,
    take,
)


def shown(issue: Issue, edit: Edit) -> tuple[set[str], tuple[str, ...], bool]:
    """Labels, assignees and whether it is open, after the edit."""
    then = applied(issue, edit)
    return set(then.labels), then.assignees, then.is_open


# Release: the asymmetry of the outcomes


OUTCOMES = [
    (Release.MERGED, {"afk"}, ("ada", "octocat"), False),
    (Release.ABANDONED, {"afk", "ready"}, ("ada",), True),
    (Release.BLOCKED, {"afk", "blocked"}, ("ada", "octocat"), True),
    (Release.CI_MONITORING, {"afk", "ci-monitoring"}, ("ada", "octocat"), True),
    (Release.PLAIN, {"afk", "ready"}, ("ada",), True),
]


@pytest.mark.parametrize(("outcome", "labels", "assignees", "is_open"), OUTCOMES, ids=[case[0] for case in OUTCOMES])
def test_each_outcome_leaves_what_it_should(
    outcome: Release, labels: set[str], assignees: tuple[str, ...], is_open: bool
) -> None:
    issue = replace(HELD, assignees=("ada", "octocat"))
    edit = release(issue, outcome)
    assert shown(issue, edit) == (labels, assignees, is_open)
    assert edit.comment and live(applied(issue, edit)) == []


AFTER_CLOSING = [
    (Release.MERGED, "-in-progress comment"),
    (Release.ABANDONED, "-in-progress -octocat comment"),
    (Release.BLOCKED, "+blocked -in-progress comment"),
    (Release.CI_MONITORING, "+ci-monitoring -in-progress comment"),
    (Release.PLAIN, "-in-progress comment"),
]


@pytest.mark.parametrize(("outcome", "wanted"), AFTER_CLOSING, ids=[case[0] for case in AFTER_CLOSING])
def test_issue_that_was_closed_meanwhile_is_not_closed_again_and_not_ready_again(outcome: Release, wanted: str) -> None:
    assert spelled(release(replace(HELD, is_open=False), outcome)) == wanted


def test_release_touches_only_the_assignment_of_the_claims_operator() -> None:
    issue = replace(HELD, assignees=("ada", "OctoCat"))
    assert release(issue, Release.ABANDONED).remove_assignees == {"OctoCat"}
    assert not release(replace(HELD, assignees=("ada",)), Release.ABANDONED).remove_assignees
    assert not release(issue, Release.ABANDONED, replace(OURS, operator=None)).remove_assignees


@pytest.mark.parametrize("base", ["<x>", "@claude-bot", "a-->b"])
def test_branch_that_cannot_be_told_is_left_out_of_a_release(base: str) -> None:
    edit = on_release(HELD, FORTY_TWO, OURS, HOUSE, Release.MERGED, pull=5, base=base)
    assert (edit.comment or "").startswith("Resolved by PR #5.\n")


@pytest.mark.parametrize("outcome", Release)
def test_switched_off_labels_stay_out_of_a_release(outcome: Release) -> None:
    edit = on_release(HELD, FORTY_TWO, OURS, BARE, outcome, pull=5)
    assert not edit.add_labels and not edit.remove_labels


def test_claims_after_one_another_are_each_released_with_a_comment_of_their_own() -> None:
    first = applied(HELD, release(HELD, Release.BLOCKED))
    second = replace(OURS, nonce="beef", claimed_at=stamp(after(60)))
    taken = applied(first, take(first, second), 60)
    assert live(taken) == ["octocat"] and release(taken, Release.BLOCKED, second).comment


def test_claim_whose_release_died_before_its_ref_was_gone_is_locked_and_released_again() -> None:
    issue = HELD
    for _ in range(2):
        issue = applied(issue, release(issue, Release.ABANDONED))
        assert live(issue) == [] and release(issue, Release.ABANDONED).is_empty
        issue = applied(issue, take(issue, OURS, fresh=False))
        assert live(issue) == ["octocat"] and take(issue, OURS, fresh=False).is_empty
    signs = [
        comment.body.rpartition("nonce=")[2].partition(" ")[0] for comment in issue.comments if "nonce=" in comment.body
    ]
    assert len(signs) == len(set(signs)) == 5


# Hand-off, reclaim, orphan, hold


def test_step_of_a_chained_run_changes_nothing_but_the_comments() -> None:
    assert spelled(on_step(HELD, FORTY_TWO, HANDED, HOUSE, "Lock handed off.")) == "comment"
    assert live(page(LOCKED, STEP)) == ["octocat"]


def test_step_that_is_taken_again_is_told_once_whatever_was_renewed_in_between() -> None:
    issue = page(LOCKED, STEP)
    renewed = replace(HANDED, nonce="fe11")
    assert spelled(on_step(issue, FORTY_TWO, renewed, HOUSE, "Lock handed off.")) == "comment"
    assert on_step(issue, FORTY_TWO, renewed, HOUSE, "Lock handed off.", again=True).is_empty
    assert spelled(on_step(issue, FORTY_TWO, renewed, HOUSE, "Another step.", again=True)) == "comment"


def test_claim_that_the_same_login_adopts_stays_as_it_is_shown() -> None:
    assert spelled(on_adopt(HELD, FORTY_TWO, HANDED, OURS, HOUSE, "Taking over.")) == "comment"
    assert spelled(on_adopt(HELD, FORTY_TWO, replace(HANDED, operator=None), OURS, HOUSE, "Taking over.")) == "comment"


def test_claim_that_another_login_adopts_is_shown_as_its_own() -> None:
    edit = on_adopt(THEIR_PAGE, FORTY_TWO, TAKEN, THEIRS, HOUSE, "Taking over.")
    then = applied(THEIR_PAGE, edit)
    assert (then.assignees, live(then), set(then.labels)) == (("ada", "octocat"), ["octocat"], {"in-progress"})
    assert "It was the lock of `hubot`, claimed at `2026-11-29T08:00:00Z`." in (edit.comment or "")
    assert on_adopt(then, FORTY_TWO, TAKEN, THEIRS, HOUSE, "Taking over.").is_empty


@pytest.mark.parametrize(
    ("issue", "claim", "since"),
    [
        (HELD, OURS, CLAIMED),
        (page(LOCKED, STEP), HANDED, CLAIMED),
        (page(LOCKED), HANDED, after(294)),
        (page(OLDER), OURS, CLAIMED),
        (page(), replace(OURS, claimed_at=None), None),
    ],
    ids=["locked", "handed off", "locked by an earlier claim", "an older lock", "no time"],
)
def test_work_goes_on_since_its_lock(issue: Issue, claim: Claim, since: datetime | None) -> None:
    assert opened_at(issue, claim, HOUSE) == since


def test_reclaim_puts_the_item_back_and_names_whose_it_was() -> None:
    edit = on_reclaim(THEIR_PAGE, FORTY_TWO, THEIRS, HOUSE, "octocat")
    assert shown(THEIR_PAGE, edit) == ({"ready"}, ("ada",), True)
    assert "`hubot`, claimed at `2026-11-29T08:00:00Z`, freed by octocat" in (edit.comment or "")
    assert live(applied(THEIR_PAGE, edit)) == []
    assert not on_reclaim(replace(THEIR_PAGE, is_open=False), FORTY_TWO, THEIRS, HOUSE, None).add_labels


@pytest.mark.parametrize(
    "comment",
    [LOCKED, lock("octocat"), said("<!-- claude-lock: operator=octocat nonce=<x>@claude-bot -->")],
    ids=["ours", "by hand", "hostile"],
)
def test_orphan_is_taken_down_and_the_item_put_back(comment: Comment) -> None:
    issue = replace(HELD, comments=(comment,), assignees=("ada", "octocat"))
    (marker,) = live_markers("claude-lock", issue.comments)
    edit = on_orphan(issue, FORTY_TWO, marker, HOUSE)
    then = applied(issue, edit)
    assert (set(then.labels), then.assignees, live(then)) == ({"afk", "ready"}, ("ada",), [])
    assert on_orphan(then, FORTY_TWO, marker, HOUSE).is_empty


@pytest.mark.parametrize(
    ("labels", "hold", "wanted"),
    [
        (("ready",), True, "+hold comment"),
        (("ready", "Hold"), True, ""),
        (("ready",), False, ""),
        (("ready", "Hold"), False, "-Hold comment"),
    ],
    ids=["hold", "held already", "not held", "unhold"],
)
def test_hold_changes_what_is_not_so_yet(labels: tuple[str, ...], hold: bool, wanted: str) -> None:
    issue = page(labels=labels)
    edit = on_hold(issue, FORTY_TWO, HOUSE, hold=hold, who="octocat", why="legal")
    assert spelled(edit) == wanted
    assert on_hold(applied(issue, edit), FORTY_TWO, HOUSE, hold=hold, who="octocat", why="legal").is_empty


def test_hold_of_an_item_ends_the_claim_of_whoever_holds_it_in_one_edit() -> None:
    def held(issue: Issue) -> Edit:
        return on_hold(issue, FORTY_TWO, HOUSE, hold=True, who="octocat", why="legal", claim=OURS)

    then = applied(HELD, held(HELD))
    assert (set(then.labels), then.assignees, live(then)) == ({"afk", "hold", "ready"}, (), [])
    assert "Held by octocat: legal\n" in then.comments[-1].body and "Lock released." in then.comments[-1].body
    assert held(then).is_empty
    by_somebody = replace(HELD, labels=HELD.labels | {"Hold"})
    assert live(applied(by_somebody, held(by_somebody))) == []
    said_before = replace(applied(HELD, hold(HELD)), labels=HELD.labels)
    assert live(applied(said_before, held(said_before))) == []


def hold(issue: Issue, *, on: bool = True, why: str | None = "legal") -> Edit:
    return on_hold(issue, FORTY_TWO, HOUSE, hold=on, who="octocat", why=why)


def test_hold_that_comes_back_is_told_again() -> None:
    held = applied(page(), hold(page()))
    free = applied(held, hold(held, on=False, why=None))
    again = hold(free)
    assert again.comment and again.comment_nonce and again.comment_nonce not in "".join(c.body for c in free.comments)


def test_hold_whose_label_did_not_land_is_not_told_twice() -> None:
    half = applied(page(), replace(hold(page()), add_labels=frozenset()))
    assert spelled(hold(half)) == "+hold"
    assert spelled(hold(half, why="another reason")) == "+hold comment"


def test_words_of_a_stranger_do_not_stand_for_a_hold() -> None:
    forged = said(hold(page()).comment or "", author="eve", may_write=False)
    assert spelled(hold(page(forged))) == "+hold comment"


def test_without_a_hold_label_nothing_is_held() -> None:
    assert on_hold(page(), FORTY_TWO, BARE, hold=True, who=None, why="legal").is_empty


PULLS = [
    ("failed", False, (PullState.MERGED,), "abandoned None"),
    ("no pull request", True, (), "released None"),
    ("a closed one", True, (PullState.CLOSED,), "released None"),
    ("a merged one", True, (PullState.MERGED,), "merged 1"),
    ("an open one", True, (PullState.OPEN,), "ci-monitoring 1"),
    ("an open one after a merged one", True, (PullState.MERGED, PullState.OPEN), "ci-monitoring 2"),
    ("an open one before a merged one", True, (PullState.OPEN, PullState.MERGED), "ci-monitoring 1"),
    ("two merged ones: the newest", True, (PullState.MERGED, PullState.MERGED, PullState.CLOSED), "merged 2"),
]


@pytest.mark.parametrize(
    ("succeeded", "states", "ended"), [case[1:] for case in PULLS], ids=[case[0] for case in PULLS]
)
def test_pull_requests_say_how_work_ended(succeeded: bool, states: tuple[PullState, ...], ended: str) -> None:
    pulls = tuple(pull(number, state) for number, state in enumerate(states, 1))
    for listed in (pulls, pulls[::-1]):
        outcome, found = outcome_of(page(pulls=listed), succeeded=succeeded)
        assert f"{outcome} {found and found.number}" == ended


def test_pull_request_of_earlier_work_says_nothing_of_this_lock() -> None:
    earlier = replace(pull(1, PullState.MERGED), updated_at=after(-600))
    later = replace(pull(2, PullState.MERGED), updated_at=after(600))
    issue = page(pulls=(earlier,))
    assert outcome_of(issue, succeeded=True, since=after(0)) == (Release.PLAIN, None)
    assert outcome_of(issue, succeeded=True, since=after(-900)) == (Release.MERGED, earlier)
    assert outcome_of(page(pulls=(later, earlier)), succeeded=True, since=after(0)) == (Release.MERGED, later)
    assert outcome_of(issue, succeeded=True) == (Release.MERGED, earlier)


def test_edits_that_change_nothing_are_not_written() -> None:
    assert merged([take(HELD), take(page()), Edit(FORTY_TWO)]) == [take(page())]
    assert merged([Edit(FORTY_TWO, close=True)])
