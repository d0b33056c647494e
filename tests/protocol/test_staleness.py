"""Whether a holder looks gone: age AND pull requests AND activity, and never for want of evidence."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from git_claims.protocol.claim import Claim
from git_claims.protocol.issue import Activity, Issue, PullState
from git_claims.protocol.staleness import Evidence, Judgement, Verdict, evidence, judge, open_pulls
from git_claims.protocol.text import stamp
from tests.protocol.shown import CLAIMED, FORTY_TWO, OURS, PAGE, SEVENTEEN, after, page, pull, said

WINDOW = timedelta(hours=24)
DAY = 24 * 60


def judged(claim: Claim | None, issue: Issue | None, minutes: float = 3 * DAY, window: timedelta = WINDOW) -> Judgement:
    return judge(evidence(claim, issue), window, after(minutes))


def active(actor: str | None, minutes: float) -> Issue:
    return replace(PAGE, activity=(Activity(actor, after(minutes)),))


def renewed(minutes: float) -> Claim:
    return replace(OURS, renewed_at=stamp(after(minutes)))


OPEN, MERGED, CLOSED = (pull(5, state) for state in PullState)
THREE_DAYS_LATER = [
    ("nothing happened since", OURS, PAGE, "stale"),
    ("an open pull request", OURS, page(pulls=(OPEN,)), "active"),
    ("a merged pull request", OURS, page(pulls=(MERGED,)), "stale"),
    ("a closed pull request", OURS, page(pulls=(CLOSED,)), "stale"),
    ("a closed and an open pull request", OURS, page(pulls=(CLOSED, OPEN)), "active"),
    ("renewed an hour ago", renewed(3 * DAY - 60), PAGE, "active"),
    ("renewed two days ago", renewed(DAY), PAGE, "stale"),
    ("a commit an hour ago", OURS, replace(PAGE, newest_commit=after(3 * DAY - 60)), "active"),
    ("a commit two days ago", OURS, replace(PAGE, newest_commit=after(DAY)), "stale"),
    ("the holder wrote an hour ago", OURS, page(said("on it", 3 * DAY - 60)), "active"),
    ("the holder wrote, in other letters", OURS, page(said("on it", 3 * DAY - 60, "OctoCat")), "active"),
    ("the holder wrote two days ago", OURS, page(said("on it", DAY)), "stale"),
    ("somebody else wrote an hour ago", OURS, page(said("any news?", 3 * DAY - 60, "ada")), "stale"),
    ("the holder set a label an hour ago", OURS, active("octocat", 3 * DAY - 60), "active"),
    ("somebody else set a label an hour ago", OURS, active("ada", 3 * DAY - 60), "stale"),
    ("a push of nobody known an hour ago", OURS, active(None, 3 * DAY - 60), "active"),
    ("no login in the record, somebody wrote", replace(OURS, operator=None), page(said("x", 3 * DAY, "ada")), "active"),
    ("no login in the record, somebody acted", replace(OURS, operator=None), active("ada", 3 * DAY), "active"),
    ("no login in the record, nothing happened", replace(OURS, operator=None), PAGE, "stale"),
    ("claimed in the future", replace(OURS, claimed_at="2027-01-01T00:00:00Z"), PAGE, "active"),
    ("renewed in the future", replace(OURS, renewed_at="2027-01-01T00:00:00Z"), PAGE, "active"),
    ("a commit in the future", OURS, replace(PAGE, newest_commit=after(9 * DAY)), "active"),
    ("the record cannot be read", None, PAGE, "unknown"),
    ("the tracker cannot be read", OURS, None, "unknown"),
    ("neither can be read", None, None, "unknown"),
    ("half of the tracker's answer", OURS, replace(PAGE, complete=False), "unknown"),
    ("half of the tracker's answer, with life", renewed(3 * DAY), replace(PAGE, complete=False), "active"),
    ("no time of the claim", replace(OURS, claimed_at=None), PAGE, "unknown"),
    ("a time that means nothing", replace(OURS, claimed_at="yesterday"), PAGE, "unknown"),
    ("the same, and an old comment", replace(OURS, claimed_at="?"), page(said("on it", DAY)), "unknown"),
    ("the same, and a new comment", replace(OURS, claimed_at="?"), page(said("on it", 3 * DAY)), "active"),
    ("a renewal that means nothing", replace(OURS, renewed_at="soon"), PAGE, "unknown"),
]


@pytest.mark.parametrize(
    ("claim", "issue", "verdict"), [case[1:] for case in THREE_DAYS_LATER], ids=[case[0] for case in THREE_DAYS_LATER]
)
def test_claim_of_three_days_ago(claim: Claim | None, issue: Issue | None, verdict: str) -> None:
    found = judged(claim, issue)
    assert found.verdict == verdict
    assert found.reasons and all(reason and reason.isprintable() for reason in found.reasons)


@pytest.mark.parametrize(
    ("minutes", "verdict"),
    [(0, "active"), (-0.5, "active"), (-DAY, "active"), (60, "active"), (DAY, "active"), (DAY + 1, "stale")],
    ids=["now", "of a clock a little ahead", "of a clock far ahead", "young", "at the window", "past the window"],
)
def test_silent_holder_is_active_until_the_window_has_passed(minutes: float, verdict: str) -> None:
    assert judged(OURS, PAGE, minutes).verdict == verdict


REASONS = [
    ("stale", OURS, PAGE, ("claimed 3 d ago was the last sign of life", "no pull request of it is open")),
    ("open", OURS, page(pulls=(pull(9, PullState.OPEN), OPEN)), ("open pull request #5, #9",)),
    ("alive", renewed(3 * DAY - 5), PAGE, ("renewed 5 min ago",)),
    ("just now", renewed(3 * DAY), PAGE, ("renewed just now",)),
    ("future", renewed(4 * DAY), PAGE, ("renewed lies in the future, so a clock is wrong",)),
    ("no tracker", OURS, None, ("the tracker could not be read",)),
    ("no record", None, PAGE, ("the record could not be read",)),
    ("no time", replace(OURS, claimed_at="?"), PAGE, ("when it was claimed could not be read",)),
]


@pytest.mark.parametrize(
    ("claim", "issue", "reasons"), [case[1:] for case in REASONS], ids=[case[0] for case in REASONS]
)
def test_verdict_comes_with_its_reasons(claim: Claim | None, issue: Issue | None, reasons: tuple[str, ...]) -> None:
    assert judged(claim, issue).reasons == reasons


def test_nothing_at_all_is_no_evidence() -> None:
    assert judge(Evidence((), (), ()), WINDOW, CLAIMED) == Judgement(Verdict.UNKNOWN, ("no time is known",))


def test_claim_on_a_pull_request_is_not_active_because_that_is_open() -> None:
    itself = replace(page(pulls=(pull(17, PullState.OPEN),)), item=SEVENTEEN)
    assert judged(OURS, itself, 120, timedelta(hours=1)).verdict is Verdict.STALE
    assert judged(OURS, itself, 30, timedelta(hours=1)).verdict is Verdict.ACTIVE
    another = replace(itself, pulls=(*itself.pulls, OPEN))
    assert judged(OURS, another, 120, timedelta(hours=1)).verdict is Verdict.ACTIVE


def test_issue_with_the_number_of_a_pull_request_is_not_that() -> None:
    assert judged(OURS, replace(page(pulls=(pull(42, PullState.OPEN),)), item=FORTY_TWO)).verdict is Verdict.ACTIVE


def test_open_pull_requests_are_told_in_order() -> None:
    issue = page(pulls=(pull(9, PullState.OPEN), MERGED, pull(7, PullState.OPEN), pull(8, PullState.CLOSED)))
    assert open_pulls(OURS, issue) == (7, 9)


# Of any evidence


moments = st.datetimes(datetime(2026, 11, 20), datetime(2026, 12, 20)).map(
    lambda time: time.replace(tzinfo=after(0).tzinfo)
)
times = st.tuples(st.sampled_from(["claimed", "renewed", "a comment"]), moments)
evidences = st.builds(
    lambda times, pulls, missing: Evidence(tuple(times), tuple(pulls), tuple(missing)),
    st.lists(times, max_size=4),
    st.lists(st.integers(1, 9), max_size=2),
    st.lists(st.just("the tracker"), max_size=1),
)
windows = st.timedeltas(timedelta(minutes=1), timedelta(days=9))


@given(evidences, times, st.lists(st.integers(1, 9), max_size=1), windows, moments)
def test_more_life_never_makes_a_holder_stale(
    found: Evidence, more: tuple[str, datetime], pulls: list[int], window: timedelta, now: datetime
) -> None:
    before = judge(found, window, now).verdict
    after_all = judge(replace(found, times=(*found.times, more), open_pulls=(*found.open_pulls, *pulls)), window, now)
    assert before is not Verdict.ACTIVE or after_all.verdict is Verdict.ACTIVE


@given(evidences, windows, moments)
def test_missing_evidence_never_makes_a_holder_stale(found: Evidence, window: timedelta, now: datetime) -> None:
    before = judge(found, window, now).verdict
    missing = judge(replace(found, missing=(*found.missing, "the branch")), window, now).verdict
    assert missing is (Verdict.UNKNOWN if before is Verdict.STALE else before)


@given(evidences, windows, moments)
@example(Evidence((("claimed", CLAIMED),), (), ()), WINDOW, after(2 * DAY))
def test_stale_means_old_and_no_open_work_and_nothing_unread(found: Evidence, window: timedelta, now: datetime) -> None:
    verdict = judge(found, window, now).verdict
    old = bool(found.times) and all(now - time > window for _, time in found.times)
    assert (verdict is Verdict.STALE) == (old and not found.open_pulls and not found.missing)


@given(evidences, windows, moments, st.timedeltas(timedelta(0), timedelta(days=9)))
def test_time_alone_never_makes_a_stale_holder_active_again(
    found: Evidence, window: timedelta, now: datetime, later: timedelta
) -> None:
    if judge(found, window, now).verdict is Verdict.STALE:
        assert judge(found, window, now + later).verdict is Verdict.STALE


@given(evidences, windows, moments)
def test_every_verdict_has_reasons(found: Evidence, window: timedelta, now: datetime) -> None:
    reasons = judge(found, window, now).reasons
    assert reasons and all(reasons)
