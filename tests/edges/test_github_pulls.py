"""Pull requests through the real gh: opened once and found again, their checks and the logs of what failed."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from git_claims.errors import NoTrackerHere, Refused, TrackerError, Trouble
from git_claims.protocol.issue import Checks, PullState
from git_claims.protocol.pull import Check, CheckState, Method, NewPull, failing, verdict_of
from git_claims.tracker.github import GitHub as Tracker
from git_claims.tracker.github_pull_answers import checks_page_of
from git_claims.tracker.none import NoTracker
from git_claims.tracker.tree import Tree
from tests.edges.github_house import ITEM, House
from tests.edges.github_lane import BRANCH, NEW, Lane, make_lane, read_landing
from tests.github_double import GitHub
from tests.github_double.moods import MoodName
from tests.github_double.records import Conclusion, Protection, Status


@pytest.fixture
def pushed(github: GitHub, tmp_path: Path) -> Lane:
    """A branch with a commit on the server, of which there is no pull request."""
    lane = make_lane(github, tmp_path)
    del github.repository().tickets[17]
    return lane


# Opened and found


def test_a_pull_request_is_opened_with_all_that_was_asked_for(tracker: Tracker, github: GitHub, pushed: Lane) -> None:
    opened = tracker.open_pull(NEW)
    [pull] = github.repository().pulls()
    assert (pull.title, pull.body, pull.head, pull.base, pull.author) == (
        "Fix the totals",
        "Closes #42",
        BRANCH,
        "main",
        "octo",
    )
    assert pull.assignees == ["octo"] and not pull.is_draft
    assert opened.is_new and opened.unassigned is None
    assert (opened.pull.number, opened.pull.id, opened.pull.url) == (pull.number, pull.id, pull.url)
    assert (
        opened.pull.assignees == ("octo",)
        and opened.pull.head_oid == github.server.refs("refs/heads/42-fix")["refs/heads/42-fix"]
    )


def test_a_draft_stays_a_draft(tracker: Tracker, github: GitHub, pushed: Lane) -> None:
    opened = tracker.open_pull(NewPull(BRANCH, "main", "Fix", "", is_draft=True))
    assert opened.pull.is_draft and github.pull(opened.pull.number).is_draft


def test_one_that_is_open_is_answered_and_not_doubled(tracker: Tracker, github: GitHub, tmp_path: Path) -> None:
    make_lane(github, tmp_path)
    github.assign(17, "ada")
    opened = tracker.open_pull(NEW)
    assert (opened.pull.number, opened.is_new, opened.pull.title) == (17, False, "Fix the totals")
    assert [pull.number for pull in github.repository().pulls()] == [17]
    assert github.pull(17).assignees == ["ada", "octo"]


def test_one_that_has_its_assignee_already_is_not_written_to(tracker: Tracker, github: GitHub, tmp_path: Path) -> None:
    make_lane(github, tmp_path)
    github.assign(17, "octo")
    tracker.open_pull(NEW)
    assert not github.writes


def test_one_that_somebody_closed_is_no_reason_not_to_open_another(
    tracker: Tracker, github: GitHub, tmp_path: Path
) -> None:
    make_lane(github, tmp_path)
    github.close(17)
    opened = tracker.open_pull(NEW)
    assert opened.is_new and github.pull(opened.pull.number).state == "OPEN" and opened.pull.number != 17


def test_an_answer_that_was_lost_does_not_open_two(tracker: Tracker, github: GitHub, pushed: Lane) -> None:
    tracker.operator()
    github.mood("answer-lost", only="writes", times=1)
    opened = tracker.open_pull(NEW)
    assert opened.is_new and opened.pull.number == 43
    assert [pull.assignees for pull in github.repository().pulls()] == [["octo"]]
    assert sum("createPullRequest" in request.document for request in github.writes) == 1


@pytest.mark.parametrize("mood", ["hung-up", "down", "timed-out", "garbage", "secondary-limit", "graphql-limit"])
def test_one_that_was_not_opened_is_asked_for_again(
    tracker: Tracker, github: GitHub, pushed: Lane, mood: MoodName
) -> None:
    github.mood(mood, only="writes", times=1)
    assert tracker.open_pull(NEW).is_new
    assert len(github.repository().pulls()) == 1


def test_too_many_at_once_are_waited_out(house: House, github: GitHub, pushed: Lane) -> None:
    github.mood("too-quickly", times=2, only="writes", fields=("createPullRequest",))
    assert house.tracker().open_pull(NewPull(BRANCH, "main", "Fix", "")).is_new
    assert house.clock.slept == [60, 60]


def test_a_server_that_answers_no_write_is_an_error_in_the_end(tracker: Tracker, github: GitHub, pushed: Lane) -> None:
    github.mood("down", only="writes")
    with pytest.raises(TrackerError) as raised:
        tracker.open_pull(NEW)
    assert raised.value.trouble is Trouble.SERVER and raised.value.maybe_applied
    assert len(github.writes) == 3


def test_one_that_a_lagging_list_does_not_show_is_not_doubled(tracker: Tracker, github: GitHub, pushed: Lane) -> None:
    github.mood("listing-lag", times=2)
    github.add_pull(17, head=BRANCH)
    tracker.operator()
    opened = tracker.open_pull(NEW)
    assert (opened.pull.number, opened.is_new) == (17, False)
    assert len(github.repository().pulls()) == 1


@pytest.mark.parametrize(("head", "words"), [("main", "No commits between"), ("43-gone", "Head ref must be a branch")])
def test_what_github_will_have_no_pull_request_of_is_refused_in_its_words(
    tracker: Tracker, github: GitHub, head: str, words: str
) -> None:
    with pytest.raises(Refused, match=words):
        tracker.open_pull(NewPull(head, "main", "Nothing", ""))


def test_who_may_not_open_one_is_told(house: House, github: GitHub, pushed: Lane) -> None:
    github.add_user("reader", permission="READ", association="CONTRIBUTOR")
    with pytest.raises(TrackerError) as raised:
        house.tracker("reader").open_pull(NEW)
    assert raised.value.trouble is Trouble.FORBIDDEN


def test_an_operator_who_cannot_be_assigned_is_told_and_no_error(
    tracker: Tracker, github: GitHub, pushed: Lane
) -> None:
    github.add_user("passer-by", permission="READ", association="NONE")
    opened = tracker.open_pull(NewPull(BRANCH, "main", "Fix", "", assignees=frozenset({"passer-by"})))
    assert opened.is_new and opened.unassigned == "GitHub does not let 'passer-by' be assigned here"
    assert opened.pull.assignees == ()


def test_the_pull_requests_of_a_branch_are_found_open_ones_first(tracker: Tracker, github: GitHub) -> None:
    for number, head in ((14, BRANCH), (15, BRANCH), (16, BRANCH), (17, "43-other"), (18, BRANCH), (19, BRANCH)):
        github.add_pull(number, head=head)
    github.merge(14)
    github.close(16)
    github.close(18)
    github.pull(19).is_from_fork = True
    found = tracker.find_pulls(BRANCH)
    assert [(pull.number, pull.state) for pull in found] == [
        (15, PullState.OPEN),
        (18, PullState.CLOSED),
        (16, PullState.CLOSED),
        (14, PullState.MERGED),
    ]
    assert tracker.find_pulls("nothing") == ()
    assert len(github.requests) == 2 and github.requests[0].points == 1


def test_the_pull_requests_of_a_repository_that_nobody_sees_are_an_error(house: House) -> None:
    with pytest.raises(TrackerError) as raised:
        house.tracker(repo="nowhere").find_pulls(BRANCH)
    assert raised.value.trouble is Trouble.NOT_FOUND


# Checks


def test_no_check_yet_is_not_success(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head=BRANCH)
    landing = read_landing(tracker)
    assert landing.checks == () and landing.checks_complete
    assert verdict_of(landing) is Checks.NONE


CONCLUSIONS: list[tuple[Conclusion | None, CheckState, Checks]] = [
    (None, CheckState.PENDING, Checks.PENDING),
    ("SUCCESS", CheckState.PASSED, Checks.PASSING),
    ("NEUTRAL", CheckState.SKIPPED, Checks.PASSING),
    ("SKIPPED", CheckState.SKIPPED, Checks.PASSING),
    ("STALE", CheckState.PENDING, Checks.PENDING),
    ("FAILURE", CheckState.FAILED, Checks.FAILING),
    ("CANCELLED", CheckState.FAILED, Checks.FAILING),
    ("TIMED_OUT", CheckState.FAILED, Checks.FAILING),
    ("ACTION_REQUIRED", CheckState.FAILED, Checks.FAILING),
    ("STARTUP_FAILURE", CheckState.FAILED, Checks.FAILING),
]


@pytest.mark.parametrize(("conclusion", "state", "verdict"), CONCLUSIONS, ids=[str(row[0]) for row in CONCLUSIONS])
def test_a_check_run_says_one_of_four_things(
    tracker: Tracker, github: GitHub, conclusion: Conclusion | None, state: CheckState, verdict: Checks
) -> None:
    github.add_pull(17, head=BRANCH)
    run = github.check(17, "test", conclusion)
    github.protect(Protection(required=frozenset({"test"})))
    landing = read_landing(tracker)
    [check] = landing.checks
    assert (check.name, check.state, check.word) == ("test", state, (conclusion or "IN_PROGRESS").lower())
    assert (check.is_required, check.job, check.id) == (True, run.number, run.id)
    assert verdict_of(landing) is verdict


def test_statuses_of_the_older_interface_are_checks_as_well(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head=BRANCH)
    github.status(17, "ci/a", "SUCCESS")
    github.status(17, "ci/b", "EXPECTED")
    github.status(17, "ci/c", "ERROR", "the builder is gone")
    landing = read_landing(tracker)
    assert [(check.name, check.state, check.job) for check in landing.checks] == [
        ("ci/a", CheckState.PASSED, None),
        ("ci/b", CheckState.PENDING, None),
        ("ci/c", CheckState.FAILED, None),
    ]
    assert [check.name for check in failing(landing)] == ["ci/c"]
    assert tracker.log_of(failing(landing)[0]) == "the builder is gone"


def test_of_a_check_that_was_run_again_only_the_new_run_counts(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head=BRANCH)
    github.check(17, "test", "FAILURE").started_at -= timedelta(minutes=5)
    assert verdict_of(read_landing(tracker)) is Checks.FAILING
    github.check(17, "test")
    assert verdict_of(read_landing(tracker)) is Checks.PENDING
    github.check(17, "test", "SUCCESS")
    assert [check.word for check in read_landing(tracker).checks] == ["success"]


def test_checks_of_the_same_name_in_two_workflows_are_two(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head=BRANCH)
    github.check(17, "test", "FAILURE").workflow = "nightly"
    github.check(17, "test", "SUCCESS")
    assert [check.word for check in read_landing(tracker).checks] == ["failure", "success"]


def add_checks(github: GitHub, count: int) -> None:
    """A pull request with so many checks, all of them green."""
    tip = github.add_pull(17, head=BRANCH).tip[0]
    github.repository().checks[tip] = [Status(f"check-{number}", "SUCCESS") for number in range(count)]


def test_all_pages_of_checks_are_read(tracker: Tracker, github: GitHub) -> None:
    add_checks(github, 250)
    github.check(17, "last", "FAILURE")
    landing = read_landing(tracker)
    assert len(landing.checks) == 251 and verdict_of(landing) is Checks.FAILING
    assert len(github.requests) == 3 and sum(request.points for request in github.requests) == 3


def test_more_checks_than_are_read_are_never_green(tracker: Tracker, github: GitHub) -> None:
    add_checks(github, 1001)
    landing = read_landing(tracker)
    assert not landing.checks_complete and verdict_of(landing) is Checks.PENDING


def test_the_checks_of_a_commit_that_is_not_the_head_any_more_do_not_count(
    tracker: Tracker, github: GitHub, tmp_path: Path
) -> None:
    lane = make_lane(github, tmp_path)
    github.check(17, "test", "SUCCESS")
    assert verdict_of(read_landing(tracker)) is Checks.PASSING
    oid = lane.push("more")
    landing = read_landing(tracker)
    assert (landing.pull.head_oid, landing.checks, verdict_of(landing)) == (oid, (), Checks.NONE)


def test_a_page_of_checks_says_nothing_once_the_head_has_moved_on() -> None:
    rollup = {"contexts": {"pageInfo": {"hasNextPage": False}, "nodes": []}}

    def page(head: str, commit: str) -> bool:
        commits = {"nodes": [{"commit": {"oid": commit, "statusCheckRollup": rollup}}]}
        return checks_page_of(Tree({"headRefOid": head, "commits": commits}), head_oid="1").is_known

    assert page("1", "1") and not page("2", "2") and not page("2", "1") and not page("1", "2")


def test_a_pull_request_that_is_not_there_is_none_and_an_issue_is_none(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    assert tracker.read_landing(7) is None and tracker.read_landing(42) is None


# Logs


def log_of(tracker: Tracker) -> str:
    [check] = failing(read_landing(tracker))
    return tracker.log_of(check)


def test_the_log_of_a_job_is_read_to_its_last_error_and_is_safe_to_show(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head=BRANCH)
    lines = [f"line {number}" for number in range(300)]
    noise = ["\x1b[31mred\x1b[0m \x1b]0;title\x07end\u202e", "##[error]Process completed with exit code 1."]
    github.check(17, "test", "FAILURE").log = "\n".join([*lines, *noise, "Post job cleanup", ""])
    log = log_of(tracker).splitlines()
    assert log[-2:] == ["red end", "##[error]Process completed with exit code 1."]
    assert len(log) == 200 and log[0] == "line 102"


def test_an_older_gh_reads_logs_as_well(
    house: House, github: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.add_pull(17, head=BRANCH)
    github.check(17, "test", "FAILURE").log = "plain words"
    refuses = (
        'case "$*" in *--allow-escape-sequences*) echo "unknown flag: --allow-escape-sequences" >&2; exit 1 ;; esac'
    )
    (tmp_path / "old").mkdir()
    (tmp_path / "old/gh").write_text(f'#!/bin/sh\n{refuses}\nexec {shutil.which("gh")} "$@"\n')
    (tmp_path / "old/gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'old'}:{os.environ['PATH']}")
    assert log_of(house.tracker()) == "plain words"


def test_where_there_is_no_log_the_check_speaks_for_itself(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head=BRANCH)
    run = github.check(17, "lint", "FAILURE")
    run.title, run.summary = "3 problems", "ledger.py:4: unused\x1b[1m"
    assert log_of(tracker) == "3 problems\n\nledger.py:4: unused"
    run.workflow = None
    assert log_of(tracker) == "3 problems\n\nledger.py:4: unused"


def test_a_log_that_cannot_be_read_is_no_error(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head=BRANCH)
    github.check(17, "test", "FAILURE").log = "never seen"
    [check] = failing(read_landing(tracker))
    github.mood("forbidden")
    assert tracker.log_of(check) == ""


def test_a_job_of_another_app_has_no_log_here(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head=BRANCH)
    github.check(17, "test", "FAILURE").workflow = None
    assert [check.job for check in read_landing(tracker).checks] == [None]
    assert log_of(tracker) == ""


# Nobody


def test_where_there_is_no_tracker_there_is_nothing_to_open_or_merge(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head=BRANCH)
    landing, nobody = read_landing(tracker), NoTracker()
    assert nobody.find_pulls(BRANCH) == () and nobody.read_landing(17) is None
    assert nobody.read_families([ITEM]) == {ITEM: None} and nobody.read_open_bodies() == {}
    assert nobody.log_of(Check("test", CheckState.FAILED, "failure", None)) == ""
    with pytest.raises(NoTrackerHere, match="no tracker here to open a pull request on"):
        nobody.open_pull(NEW)
    with pytest.raises(NoTrackerHere, match="gh has no login"):
        NoTracker("gh has no login").merge(landing, Method.SQUASH)
