"""GitHub read through the real gh: one request for what can be one, nothing taken for absent that was not read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from git_claims.errors import TrackerError, Trouble
from git_claims.protocol.item import Item, Kind
from git_claims.tracker.github import GitHub as Tracker
from git_claims.tracker.model import Blocker, Checks, LabelDefinition, PullState
from tests.edges.github_house import ITEM, House, apply_one, issue_item, pull_item, read_one, taking
from tests.github_double import GitHub
from tests.places import make_clone


def test_one_read_answers_everything_about_an_issue(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(41)
    github.add_issue(42, "Fix the totals", labels=["ready"], assignees=["ada"], blocked_by=[41], body="## Parent")
    github.add_pull(17, head="42-fix", closes=42, checks="SUCCESS")
    github.merge(17)
    github.comment(42, "bob", "I saw this too")
    issue = read_one(tracker)
    assert (issue.item, issue.title, issue.body) == (ITEM, "Fix the totals", "## Parent")
    assert issue.labels == {"ready"} and issue.assignees == ("ada",)
    assert [(comment.author, comment.body) for comment in issue.comments] == [("bob", "I saw this too")]
    assert issue.blockers == (Blocker("acme/ledger", 41, is_open=True, completed=False),)
    assert [(pull.number, pull.state, pull.head, pull.base, pull.checks) for pull in issue.pulls] == [
        (17, PullState.MERGED, "42-fix", "main", Checks.PASSING)
    ]
    assert (issue.is_open, issue.completed) == (False, True)
    assert issue.complete and issue.blockers_complete
    assert len(github.requests) == 1 and github.requests[0].points == 1


def test_a_comment_counts_by_what_its_author_may_do(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    for association in ("OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "NONE"):
        github.comment(42, "ada", association, association=association)
    github.issue(42).comments[0].author = None
    comments = read_one(tracker).comments
    assert [comment.may_write for comment in comments] == [True, True, True, False, False]
    assert [comment.author for comment in comments] == [None, "ada", "ada", "ada", "ada"]


def test_label_changes_and_assignments_are_activity_of_who_made_them(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    github.label(42, "ready", by="ada")
    github.assign(42, "octo", by="bob")
    assert [activity.actor for activity in read_one(tracker).activity] == ["ada", "bob"]


def test_the_newest_commit_of_a_branch_comes_with_the_same_read(
    tracker: Tracker, github: GitHub, tmp_path: Path
) -> None:
    github.add_issue(42)
    github.add_issue(43)
    made = {"GIT_COMMITTER_DATE": "2026-05-04T03:02:01Z"}
    clone = make_clone(github.server, tmp_path)
    clone.git("commit", "--quiet", "--allow-empty", "-m", "work", environment=made)
    clone.git("push", "--quiet", "origin", 'HEAD:refs/heads/42-"fix', environment=github.environment("octo"))
    found = tracker.read([ITEM, issue_item(43)], {ITEM: '42-"fix', issue_item(43): "43-gone"})
    commits = [issue.newest_commit for issue in found.values() if issue]
    assert [commit and commit.isoformat() for commit in commits] == ["2026-05-04T03:02:01+00:00", None]
    assert len(github.requests) == 1


def test_a_number_shows_what_it_truly_is(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    github.add_pull(17, "Add totals", head="add-totals", labels=["ready"], checks="FAILURE")
    asked = [pull_item(42), issue_item(17), pull_item(17)]
    found = [issue for issue in tracker.read(asked).values() if issue]
    assert [issue.item for issue in found] == [ITEM, pull_item(17), pull_item(17)]
    assert [(pull.number, pull.state, pull.checks) for pull in found[2].pulls] == [(17, PullState.OPEN, Checks.FAILING)]
    assert found[2].newest_commit is not None and found[2].blockers_complete


def test_what_is_not_there_is_none_and_a_key_is_never_asked_for(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    key = Item(Kind.ISSUE, "proj-7")
    assert tracker.read([key]) == {key: None} and not github.requests
    found = tracker.read([ITEM, issue_item(7)])
    assert found[ITEM] is not None and found[issue_item(7)] is None


def test_fifty_items_are_one_request(tracker: Tracker, github: GitHub) -> None:
    for number in range(1, 102):
        github.add_issue(number)
    found = tracker.read([issue_item(number) for number in range(1, 102)])
    assert all(issue and issue.complete for issue in found.values()) and len(found) == 101
    assert len(github.requests) == 3


def test_all_comments_are_read_a_hundred_at_a_time(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    for number in range(250):
        github.comment(42, "ada", f"comment {number}")
    issue = read_one(tracker)
    assert [comment.body for comment in issue.comments] == [f"comment {number}" for number in range(250)]
    assert issue.complete and len(github.requests) == 3


def test_an_issue_with_more_than_is_read_proves_nothing_by_absence(tracker: Tracker, github: GitHub) -> None:
    for number in range(1, 56):
        github.add_issue(number)
    github.add_issue(100, blocked_by=list(range(1, 56)))
    github.add_issue(101)
    for number in range(601):
        github.comment(101, "ada", str(number))
    many_blockers, many_comments = (read_one(tracker, issue_item(number)) for number in (100, 101))
    assert (many_blockers.blockers_complete, many_blockers.complete) == (False, True)
    assert (many_comments.blockers_complete, many_comments.complete) == (True, False)


@pytest.mark.parametrize(
    ("reason", "completed"), [("COMPLETED", True), (None, True), ("NOT_PLANNED", False), ("DUPLICATE", False)]
)
def test_only_what_was_closed_as_done_is_done(
    tracker: Tracker, github: GitHub, reason: str | None, completed: bool
) -> None:
    github.add_issue(42)
    github.add_repository("acme/dashboard")
    github.add_issue(3, repo="acme/dashboard")
    github.add_issue(43, blocked_by=["acme/dashboard#3"])
    for number, repo in ((42, "acme/ledger"), (3, "acme/dashboard")):
        github.close(number, repo=repo)
        github.issue(number, repo=repo).state_reason = reason  # type: ignore[assignment]
    assert (read_one(tracker).is_open, read_one(tracker).completed) == (False, completed)
    assert read_one(tracker, issue_item(43)).blockers == (Blocker("acme/dashboard", 3, False, completed),)


def test_all_open_issues_are_one_request_a_hundred(tracker: Tracker, github: GitHub) -> None:
    for number in range(1, 252):
        github.add_issue(number)
    github.close(100)
    github.add_pull(300, head="x")
    issues = tracker.read_open()
    assert [int(issue.item.key) for issue in issues] == [number for number in range(1, 252) if number != 100]
    assert len(github.requests) == 3
    assert all(request.points <= 6 and request.nodes <= 13_000 for request in github.requests)


def test_an_issue_in_a_list_says_when_it_has_earlier_comments(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    github.add_issue(43)
    for number in range(31):
        github.comment(42, "ada", str(number))
    crowded, quiet = tracker.read_open()
    assert (crowded.complete, quiet.complete) == (False, True)
    assert [comment.body for comment in crowded.comments] == [str(number) for number in range(1, 31)]


def test_a_repository_that_nobody_sees_is_an_error_and_not_an_empty_one(house: House) -> None:
    for ask in (lambda: house.tracker(repo="nowhere").read([ITEM]), lambda: house.tracker(repo="nowhere").read_open()):
        with pytest.raises(TrackerError) as raised:
            ask()
        assert raised.value.trouble is Trouble.NOT_FOUND
        assert "'acme/nowhere'" in raised.value.message


def test_a_server_without_blockers_is_read_without_and_said_once(house: House, github: GitHub) -> None:
    github.add_issue(42)
    github.mood("no-blockers")
    tracker = house.tracker()
    assert not read_one(tracker).blockers_complete
    assert not tracker.read_open()[0].blockers_complete
    assert apply_one(tracker, taking()).failed == {}
    assert house.told == ["'github.com' has no 'blockedBy': what that would tell is taken as unknown"]
    assert len(github.requests) == 4


def test_a_read_is_asked_again_when_the_server_stumbles(house: House, github: GitHub) -> None:
    github.add_issue(42)
    github.mood("down", times=1)
    github.mood("hung-up", times=1, skip=1)
    assert read_one(house.tracker()).item == ITEM
    assert house.clock.slept == [1, 3]


def test_a_server_that_stays_down_is_an_error(house: House, github: GitHub) -> None:
    github.mood("down")
    with pytest.raises(TrackerError) as raised:
        house.tracker().read([ITEM])
    assert raised.value.trouble is Trouble.SERVER and not raised.value.maybe_applied
    assert len(github.requests) == 3


def test_who_is_logged_in_is_told_by_any_answer(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    tracker.read([ITEM])
    assert tracker.operator() == "octo" and len(github.requests) == 1


def test_who_is_logged_in_can_be_asked_alone(house: House, github: GitHub) -> None:
    tracker = house.tracker("ada")
    assert (tracker.operator(), tracker.operator()) == ("ada", "ada")
    assert len(github.requests) == 1


def definitions(*names: str) -> Sequence[LabelDefinition]:
    return [LabelDefinition(name, "0e8a16", f"What {name} means") for name in names]


def test_missing_labels_are_made_and_the_others_left_alone(tracker: Tracker, github: GitHub) -> None:
    assert tracker.ensure_labels(definitions("Ready", "new", "newer")) == ["new", "newer"]
    label = github.repository().labels["new"]
    assert (label.colour, label.description) == ("0e8a16", "What new means")
    assert github.repository().labels["ready"].colour == "ededed"
    github.forget_requests()
    assert tracker.ensure_labels(definitions("new", "newer")) == []
    assert len(github.requests) == 1


def test_labels_are_found_on_every_page(tracker: Tracker, github: GitHub) -> None:
    for number in range(120):
        github.add_label(f"area-{number}")
    assert tracker.ensure_labels(definitions("area-119")) == []
    assert not github.writes


def test_a_label_that_somebody_else_makes_meanwhile_is_as_good(tracker: Tracker, github: GitHub) -> None:
    github.mood("answer-lost", only="writes", times=1)
    assert tracker.ensure_labels(definitions("new")) == []
    assert "new" in github.repository().labels


def test_who_may_not_make_labels_is_told(house: House, github: GitHub) -> None:
    github.add_user("reader", permission="READ", association="CONTRIBUTOR")
    with pytest.raises(TrackerError) as raised:
        house.tracker("reader").ensure_labels(definitions("new"))
    assert raised.value.trouble is Trouble.FORBIDDEN


def test_the_standing_of_a_login_is_one_request(tracker: Tracker, github: GitHub) -> None:
    standing = tracker.standing()
    assert (standing.login, standing.repository, standing.may_write) == ("octo", "acme/ledger", True)
    assert standing.issues_enabled and standing.labels and "ready" in standing.labels
    assert standing.remaining == 5000 and standing.program and not standing.missing
    assert len(github.requests) == 1


def test_what_keeps_us_from_github_is_told_and_never_raised(house: House, github: GitHub) -> None:
    nobody = house.tracker(None).standing()
    assert nobody.program and nobody.login is None and nobody.missing == ("gh has no login for 'github.com'",)
    nowhere = house.tracker(repo="nowhere").standing()
    assert nowhere.login == "octo" and nowhere.repository is None and "nowhere" in nowhere.missing[0]
    github.mood("no-blockers")
    assert house.tracker().standing().missing == ("'github.com' has no field 'blockedBy'",)
    github.add_user("reader", permission="READ")
    assert house.tracker("reader").standing().may_write is False


def test_ages_are_githubs(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    written = github.comment(42, "ada", "then").created_at
    github.age(timedelta(days=3))
    [comment] = read_one(tracker).comments
    assert comment.created_at == (written - timedelta(days=3)).replace(microsecond=0)
