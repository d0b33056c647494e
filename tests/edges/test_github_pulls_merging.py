"""Merging through the real gh: what was checked is what is merged, and only what is in the base is merged."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_claims.errors import TrackerError, Trouble
from git_claims.protocol.pull import (
    Hindrance,
    MergeState,
    Method,
    Outcome,
    Review,
    hindrance_of,
    methods_of,
)
from git_claims.tracker.github import GitHub as Tracker
from tests.edges.github_house import House
from tests.edges.github_lane import BRANCH, Lane, make_lane, merge, read_landing
from tests.github_double import GitHub
from tests.github_double.moods import MoodName
from tests.github_double.records import Protection

REQUIRED = Protection(required=frozenset({"test"}))
QUEUE = Protection(has_queue=True)


@pytest.fixture
def lane(github: GitHub, tmp_path: Path) -> Lane:
    return make_lane(github, tmp_path)


def test_a_squash_puts_one_commit_into_the_base_and_closes_what_the_text_names(
    tracker: Tracker, github: GitHub, lane: Lane
) -> None:
    lane.push("more")
    merging = merge(tracker)
    assert merging.outcome is Outcome.MERGED and merging.hindrance is None
    assert merging.landing is not None and merging.landing.is_merged
    assert merging.landing.merge_commit == github.server.refs("refs/heads/main")["refs/heads/main"]
    assert github.server.git("log", "--format=%s", "main").stdout == "Fix the totals (#17)\nfirst\n"
    assert (github.issue(42).state, github.issue(42).state_reason) == ("CLOSED", "COMPLETED")


def test_where_squash_is_forbidden_a_merge_commit_is_what_remains(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.protect(Protection(methods=frozenset({"MERGE", "REBASE"})))
    assert methods_of(read_landing(tracker)) == [Method.MERGE, Method.REBASE]
    refused = merge(tracker, Method.SQUASH)
    assert (refused.outcome, refused.hindrance) == (Outcome.REFUSED, Hindrance.METHOD_FORBIDDEN)
    assert refused.said == "GitHub says: Squash merges are not allowed on this repository."
    assert merge(tracker, Method.MERGE).outcome is Outcome.MERGED
    assert len(github.server.git("rev-list", "--parents", "-1", "main").stdout.split()) == 3


def test_a_repository_that_only_rebases_is_asked_to(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head=BRANCH)
    github.protect(Protection(methods=frozenset({"REBASE"})))
    [method] = methods_of(read_landing(tracker))
    assert merge(tracker, method).outcome is Outcome.MERGED


def test_a_head_that_moved_since_it_was_read_is_not_merged(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    before = read_landing(tracker)
    oid = lane.push("unchecked")
    merging = tracker.merge(before, Method.SQUASH)
    assert (merging.outcome, merging.hindrance) == (Outcome.REFUSED, Hindrance.HEAD_MOVED)
    assert merging.landing is not None and merging.landing.pull.head_oid == oid
    assert github.pull(17).state == "OPEN"


def test_what_is_merged_already_is_merged(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    before = read_landing(tracker)
    github.merge(17)
    assert tracker.merge(before, Method.SQUASH).outcome is Outcome.MERGED
    assert hindrance_of(read_landing(tracker)) is None


def test_what_was_closed_meanwhile_is_refused(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    before = read_landing(tracker)
    github.close(17)
    merging = tracker.merge(before, Method.SQUASH)
    assert (merging.outcome, merging.hindrance) == (Outcome.REFUSED, Hindrance.CLOSED)


# What stands in the way is shown before it is tried, and refused when it is


def both(tracker: Tracker) -> tuple[MergeState, Hindrance | None, Outcome, Hindrance | None]:
    """What a read shows to be in the way, and what an attempt says."""
    landing = read_landing(tracker)
    merging = tracker.merge(landing, Method.SQUASH)
    return landing.merge_state, hindrance_of(landing), merging.outcome, merging.hindrance


def refused(state: MergeState, why: Hindrance) -> tuple[MergeState, Hindrance | None, Outcome, Hindrance | None]:
    return state, why, Outcome.REFUSED, why


def test_a_draft_is_not_merged(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.pull(17).is_draft = True
    assert both(tracker) == refused(MergeState.DRAFT, Hindrance.DRAFT)


def test_a_conflict_is_not_merged(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    lane.push("ours", {"README": "ours"})
    lane.advance_main({"README": "theirs"})
    assert both(tracker) == refused(MergeState.CONFLICTING, Hindrance.CONFLICTING)


def test_a_branch_that_is_behind_is_not_merged_where_that_matters(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    lane.advance_main({"other.txt": "theirs"})
    github.protect(Protection(up_to_date=True))
    assert both(tracker) == refused(MergeState.BEHIND, Hindrance.BEHIND)
    github.protect(Protection())
    assert both(tracker) == (MergeState.CLEAN, None, Outcome.MERGED, None)


def test_a_review_that_is_required_is_waited_for(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.protect(Protection(approvals=1))
    assert both(tracker) == refused(MergeState.BLOCKED, Hindrance.REVIEW_REQUIRED)
    github.pull(17).changes_requested = True
    assert both(tracker) == refused(MergeState.BLOCKED, Hindrance.CHANGES_REQUESTED)
    github.approve(17)
    assert read_landing(tracker).review is Review.APPROVED
    assert both(tracker) == (MergeState.CLEAN, None, Outcome.MERGED, None)


# Over 3 s: ten reads and writes through gh, and git works out each time whether there is a conflict.
def test_a_check_that_is_required_must_have_passed(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.protect(REQUIRED)
    for conclusion in (None, "FAILURE"):
        assert both(tracker) == refused(MergeState.BLOCKED, Hindrance.CHECKS_REQUIRED)
        github.check(17, "other", "SUCCESS")
        github.check(17, "test", conclusion)
        assert both(tracker) == refused(MergeState.BLOCKED, Hindrance.CHECKS_REQUIRED)
    github.check(17, "test", "SUCCESS")
    assert both(tracker) == (MergeState.CLEAN, None, Outcome.MERGED, None)


def test_a_check_that_nobody_requires_is_for_whoever_merges_to_judge(
    tracker: Tracker, github: GitHub, lane: Lane
) -> None:
    github.check(17, "optional", "FAILURE")
    assert both(tracker) == (MergeState.UNSTABLE, None, Outcome.MERGED, None)


def test_a_rule_that_nobody_was_told_of_is_told_in_its_words(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.protect(Protection(rule="Repository rule violations found\n\nCommits must have verified signatures."))
    merging = merge(tracker)
    assert (merging.outcome, merging.hindrance) == (Outcome.REFUSED, Hindrance.PROTECTED)
    assert merging.said == "GitHub says: Repository rule violations found Commits must have verified signatures."


def test_who_may_not_write_may_not_merge(house: House, github: GitHub, lane: Lane) -> None:
    github.add_user("reader", permission="READ", association="CONTRIBUTOR")
    assert both(house.tracker("reader")) == refused(MergeState.CLEAN, Hindrance.NOT_PERMITTED)


def test_a_token_that_may_not_merge_is_told_apart_from_a_rule(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.mood("forbidden", only="writes")
    merging = merge(tracker)
    assert (merging.outcome, merging.hindrance) == (Outcome.REFUSED, Hindrance.NOT_PERMITTED)


def test_what_github_has_not_worked_out_yet_is_unsettled(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.mood("unsettled", times=1)
    assert hindrance_of(read_landing(tracker)) is Hindrance.UNSETTLED
    assert hindrance_of(read_landing(tracker)) is None


def test_a_merge_that_met_another_is_unsettled(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.protect(Protection(rule="Base branch was modified. Review and try the merge again."))
    merging = merge(tracker)
    assert (merging.outcome, merging.hindrance) == (Outcome.REFUSED, Hindrance.UNSETTLED)


# Queue and auto-merge


def test_a_base_with_a_queue_is_reached_through_it(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.protect(QUEUE)
    assert read_landing(tracker).has_queue
    merging = merge(tracker)
    assert merging.outcome is Outcome.QUEUED and github.pull(17).state == "OPEN"
    assert merge(tracker).outcome is Outcome.QUEUED
    github.run_queue()
    assert read_landing(tracker).is_merged
    assert merge(tracker).outcome is Outcome.MERGED


def test_a_queue_that_the_server_does_not_show_is_found_out(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.protect(QUEUE)
    github.mood("no-merge-queue")
    assert not read_landing(tracker).has_queue
    merging = merge(tracker)
    assert github.pull(17).is_queued
    assert merging.outcome is Outcome.UNKNOWN


def test_a_queue_takes_only_the_head_that_was_read(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.protect(QUEUE)
    before = read_landing(tracker)
    lane.push("unchecked")
    merging = tracker.merge(before, Method.SQUASH)
    assert (merging.outcome, merging.hindrance) == (Outcome.REFUSED, Hindrance.HEAD_MOVED)
    assert not github.pull(17).is_queued


def test_auto_merge_leaves_the_rest_to_github(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.protect(REQUIRED)
    github.check(17, "test")
    merging = merge(tracker, when_ready=True)
    assert merging.outcome is Outcome.AUTO_MERGE and github.pull(17).state == "OPEN"
    assert read_landing(tracker).auto_merge
    github.check(17, "test", "SUCCESS")
    assert read_landing(tracker).is_merged and github.issue(42).state == "CLOSED"


def test_auto_merge_of_what_may_be_merged_at_once_merges_it(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    assert merge(tracker, when_ready=True).outcome is Outcome.MERGED


def test_auto_merge_where_it_is_off_is_refused(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.protect(Protection(required=frozenset({"test"}), auto_merge=False))
    assert not read_landing(tracker).auto_merge_allowed
    merging = merge(tracker, when_ready=True)
    assert (merging.outcome, merging.hindrance) == (Outcome.REFUSED, Hindrance.METHOD_FORBIDDEN)


def test_a_server_without_auto_merge_merges_all_the_same(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.mood("no-auto-merge")
    assert not read_landing(tracker).auto_merge_allowed
    assert merge(tracker).outcome is Outcome.MERGED


# Answers that do not come


def test_a_merge_whose_answer_was_lost_is_seen_in_the_next_read(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.mood("answer-lost", only="writes", times=1)
    assert merge(tracker).outcome is Outcome.MERGED
    assert len(github.writes) == 1


@pytest.mark.parametrize("mood", ["hung-up", "down", "timed-out", "garbage"])
def test_a_merge_of_which_nobody_knows_is_not_believed(
    tracker: Tracker, github: GitHub, lane: Lane, mood: MoodName
) -> None:
    github.mood(mood, only="writes", times=1)
    merging = merge(tracker)
    assert merging.outcome is Outcome.UNKNOWN and merging.said
    assert merging.landing is not None and not merging.landing.is_merged
    assert merge(tracker).outcome is Outcome.MERGED


def test_a_merge_that_nobody_can_look_after_is_unknown(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    before = read_landing(tracker)
    github.mood("answer-lost", only="writes", times=1)
    github.mood("down", only="reads")
    merging = tracker.merge(before, Method.SQUASH)
    assert (merging.outcome, merging.landing) == (Outcome.UNKNOWN, None)
    github.calm()
    assert read_landing(tracker).is_merged


def test_a_merge_that_came_too_soon_is_made_later(house: House, github: GitHub, lane: Lane) -> None:
    github.mood("too-quickly", only="writes", times=1, fields=("mergePullRequest",))
    assert merge(house.tracker()).outcome is Outcome.MERGED
    assert house.clock.slept == [60]


def test_a_merge_that_cannot_have_happened_is_an_error(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    before = read_landing(tracker)
    github.mood("bad-credentials", only="writes")
    with pytest.raises(TrackerError) as raised:
        tracker.merge(before, Method.SQUASH)
    assert raised.value.trouble is Trouble.NO_LOGIN


def test_what_a_landing_costs(tracker: Tracker, github: GitHub, lane: Lane) -> None:
    github.check(17, "test", "SUCCESS")
    merge(tracker)
    assert [(request.is_write, request.points) for request in github.requests] == [(False, 1), (True, 1)]
    landing = read_landing(tracker)
    assert [(each.repo, each.number, each.completed) for each in landing.closes] == [("acme/ledger", 42, True)]
