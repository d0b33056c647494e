"""GitHub through the real gh: one read, one write, nothing lost and nothing said twice, whatever mood it is in."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from git_claims.errors import TrackerError, Trouble
from git_claims.protocol.item import Item, Kind
from git_claims.tracker.gh import Gh, gh_environment
from git_claims.tracker.github import GitHub as Tracker
from git_claims.tracker.location import Location, locate
from git_claims.tracker.model import Blocker, Checks, Edit, Edited, Issue, LabelDefinition, PullState, Step
from tests.github_double import GitHub
from tests.github_double.moods import MoodName
from tests.places import make_clone


def issue_item(number: int) -> Item:
    return Item(Kind.ISSUE, str(number))


def pull_item(number: int) -> Item:
    return Item(Kind.PULL, str(number))


ITEM = issue_item(42)


@dataclass
class Clock:
    """Time that passes only when somebody sleeps."""

    now: float = field(default_factory=time.time)
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class House:
    """What a tracker is made of in these tests: where it stands, its clock, what it has told."""

    github: GitHub
    directory: Path
    clock: Clock = field(default_factory=Clock)
    told: list[str] = field(default_factory=list)
    deadline_seconds: float = 20

    def tracker(self, login: str | None = "octo", *, repo: str = "ledger", cache: str = "cache") -> Tracker:
        """A new process's tracker, of the same cache."""
        environment = gh_environment({**os.environ, **self.github.environment(login)})
        gh = Gh(self.directory, environment, self.deadline_seconds, self.clock)
        cache_dir = self.directory / cache
        return Tracker(gh, "github.com", "acme", repo, cache_dir, self.clock, self.clock.sleep, self.told.append)


@pytest.fixture
def house(github: GitHub, tmp_path: Path) -> House:
    return House(github, tmp_path)


@pytest.fixture
def tracker(house: House) -> Tracker:
    return house.tracker()


def read_one(tracker: Tracker, item: Item = ITEM) -> Issue:
    issue = tracker.read([item])[item]
    assert issue is not None
    return issue


def taking(item: Item = ITEM, login: str = "octo", nonce: str = "nonce=1f") -> Edit:
    """What a take shows: label on, queue label off, operator assigned, comment."""
    return Edit(
        item,
        add_labels=frozenset({"in-progress"}),
        remove_labels=frozenset({"ready"}),
        add_assignees=frozenset({login}),
        comment=f"**Agent session lock** `x` $HOME\n\n<!-- claude-lock: operator={login} {nonce} -->",
        comment_nonce=nonce,
    )


def apply_one(tracker: Tracker, edit: Edit) -> Edited:
    return tracker.apply([edit])[edit.item]


# Reading


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


# Writing


def test_a_take_is_one_read_and_one_write_and_the_answer_is_the_state(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42, labels=["ready", "afk"])
    read_one(tracker)
    edited = apply_one(tracker, taking())
    issue = github.issue(42)
    assert (set(issue.labels), issue.assignees, issue.bodies) == ({"afk", "in-progress"}, ["octo"], [taking().comment])
    assert edited.failed == {} and edited.issue is not None
    assert edited.issue.labels == {"afk", "in-progress"} and edited.issue.assignees == ("octo",)
    assert [comment.body for comment in edited.issue.comments] == issue.bodies
    assert (len(github.requests), len(github.writes)) == (2, 1)


def test_of_a_write_alone_the_item_is_read_first(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42, labels=["ready"])
    assert apply_one(tracker, taking()).failed == {}
    assert [request.is_write for request in github.requests] == [False, False, True]


def test_ids_are_remembered_from_one_process_to_the_next(house: House, github: GitHub) -> None:
    github.add_issue(42, labels=["ready"])
    github.add_issue(43, labels=["ready"])
    read_one(house.tracker())
    later = house.tracker()
    read_one(later, issue_item(43))
    assert apply_one(later, taking(issue_item(43))).failed == {}
    assert len(github.requests) == 3
    assert github.requests[0].nodes == github.requests[1].nodes + 100


def test_nobody_elses_assignee_is_lost(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    read_one(tracker)
    github.assign(42, "ada")
    edited = apply_one(tracker, taking())
    assert github.issue(42).assignees == ["ada", "octo"]
    assert edited.issue is not None and edited.issue.assignees == ("ada", "octo")


def test_what_happened_meanwhile_is_in_the_answer(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    read_one(tracker)
    github.close(42)
    edited = apply_one(tracker, taking())
    assert edited.issue is not None and not edited.issue.is_open


def test_a_release_comments_and_closes_as_done(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42, labels=["in-progress"], assignees=["octo"])
    gone = Edit(ITEM, remove_labels=frozenset({"in-progress"}), comment="Resolved by PR #17", close=True)
    edited = apply_one(tracker, gone)
    issue = github.issue(42)
    assert (issue.state, issue.state_reason, issue.labels) == ("CLOSED", "COMPLETED", [])
    assert (issue.assignees, issue.bodies) == (["octo"], ["Resolved by PR #17"])
    assert edited.issue is not None and edited.issue.completed


def test_a_pull_request_is_shown_and_closed_the_same_way(tracker: Tracker, github: GitHub) -> None:
    github.add_pull(17, head="x", labels=["ready"])
    edited = apply_one(tracker, replace(taking(pull_item(17)), close=True))
    pull = github.pull(17)
    assert (pull.state, pull.labels, pull.assignees) == ("CLOSED", ["in-progress"], ["octo"])
    assert edited.failed == {} and edited.issue is not None and edited.issue.item == pull_item(17)


def test_people_who_are_not_there_need_not_be_removed(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42, assignees=["ada", "bob"])
    read_one(tracker)
    edit = Edit(ITEM, remove_assignees=frozenset({"Ada", "stranger"}), remove_labels=frozenset({"no-such-label"}))
    assert apply_one(tracker, edit).failed == {}
    assert github.issue(42).assignees == ["bob"] and len(github.requests) == 2


def test_names_are_found_in_any_case(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    edit = Edit(ITEM, add_labels=frozenset({"In-Progress"}), add_assignees=frozenset({"OCTO"}))
    assert apply_one(tracker, edit).failed == {}
    assert (github.issue(42).labels, github.issue(42).assignees) == (["in-progress"], ["octo"])


def test_an_item_that_does_not_exist_fails_by_itself(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    edited = tracker.apply([taking(), taking(issue_item(7))])
    assert edited[ITEM].failed == {} and github.issue(42).assignees == ["octo"]
    assert set(edited[issue_item(7)].failed.values()) == {"GitHub has no such item"}


def test_nothing_to_write_asks_nothing(tracker: Tracker, github: GitHub) -> None:
    assert tracker.apply([Edit(ITEM)]) == {ITEM: Edited(None)}
    assert tracker.apply([]) == {} and not github.requests


# Part of a write


def test_a_label_that_the_repository_lacks_is_said_and_the_rest_lands(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42, labels=["ready"])
    github.drop_label("in-progress")
    edited = apply_one(tracker, taking())
    assert edited.failed == {Step.ADD_LABELS: "the repository has no label 'in-progress'"}
    assert (github.issue(42).labels, github.issue(42).assignees) == ([], ["octo"])


def test_a_label_that_was_made_again_is_found_again(house: House, github: GitHub) -> None:
    github.add_issue(42)
    read_one(house.tracker())
    github.add_label("in-progress")
    edited = apply_one(house.tracker(), taking())
    assert edited.failed == {} and edited.issue is not None and edited.issue.labels == {"in-progress"}
    assert github.issue(42).bodies == [taking().comment]


def test_a_token_that_may_not_label_still_assigns_and_comments(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42, labels=["ready"])
    github.mood("may-not-label")
    edited = apply_one(tracker, taking())
    assert edited.failed == dict.fromkeys(
        (Step.ADD_LABELS, Step.REMOVE_LABELS), "GitHub says: Resource not accessible by personal access token"
    )
    assert (github.issue(42).labels, github.issue(42).assignees) == (["ready"], ["octo"])
    assert edited.issue is not None and edited.issue.labels == {"ready"}


def test_somebody_who_cannot_be_assigned_is_said(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    github.add_user("passer-by", permission="READ", association="NONE")
    edited = apply_one(tracker, Edit(ITEM, add_assignees=frozenset({"passer-by", "octo", "nobody"})))
    assert edited.failed == {Step.ADD_ASSIGNEES: "GitHub knows nobody called 'nobody'"}
    edited = apply_one(tracker, Edit(ITEM, add_assignees=frozenset({"passer-by", "octo"})))
    assert edited.failed == {Step.ADD_ASSIGNEES: "GitHub does not let 'passer-by' be assigned here"}
    assert github.issue(42).assignees == ["octo"]


def test_a_step_that_failed_is_told_by_its_name_and_the_state_is_read(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42, labels=["ready"])
    github.mood("half-applied", fields=("addComment",))
    edited = apply_one(tracker, taking())
    assert edited.failed == {Step.COMMENT: "GitHub says: Something did not work out"}
    assert edited.issue is not None and edited.issue.labels == {"in-progress"}
    assert github.issue(42).bodies == []


# The answer did not come


def test_a_write_whose_answer_was_lost_is_not_made_twice(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42, labels=["ready"])
    read_one(tracker)
    github.mood("answer-lost", only="writes", times=1)
    edited = apply_one(tracker, taking())
    assert edited.failed == {} and edited.issue is not None and edited.issue.assignees == ("octo",)
    assert github.issue(42).bodies == [taking().comment]
    assert [request.is_write for request in github.requests] == [False, True, False]


@pytest.mark.parametrize("mood", ["hung-up", "down", "timed-out", "garbage"])
def test_a_write_that_did_not_happen_is_made_again(tracker: Tracker, github: GitHub, mood: MoodName) -> None:
    github.add_issue(42, labels=["ready"])
    read_one(tracker)
    github.mood(mood, only="writes", times=1)
    assert apply_one(tracker, taking()).failed == {}
    assert github.issue(42).bodies == [taking().comment] and github.issue(42).labels == ["in-progress"]
    assert len(github.writes) == 2


def test_half_of_a_lost_write_is_completed(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42, labels=["ready"])
    read_one(tracker)
    github.mood("half-applied", only="writes", times=1, fields=("addAssigneesToAssignable",))
    github.mood("answer-lost", only="writes", times=1)
    assert apply_one(tracker, taking()).failed == {}
    issue = github.issue(42)
    assert (issue.labels, issue.assignees, len(issue.comments)) == (["in-progress"], ["octo"], 1)
    assert "addComment" not in github.writes[1].document


def test_a_write_that_nobody_can_look_after_may_have_landed(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    read_one(tracker)
    github.mood("answer-lost", only="writes", times=1)
    github.mood("down", skip=1)
    edited = apply_one(tracker, taking())
    assert edited.issue is None
    assert set(edited.failed) == {Step.ADD_LABELS, Step.REMOVE_LABELS, Step.ADD_ASSIGNEES, Step.COMMENT}
    assert all(why.endswith("; it may have landed") for why in edited.failed.values())


def test_a_silent_github_is_asked_no_second_time_for_a_comment(house: House, github: GitHub) -> None:
    # Takes two seconds: that is the deadline of gh.
    github.add_issue(42)
    house.deadline_seconds = 2
    tracker = house.tracker()
    read_one(tracker)
    github.mood("slow", only="writes", times=1, seconds=30)
    assert apply_one(tracker, taking()).failed == {}
    assert github.issue(42).bodies == [taking().comment]


def test_a_comment_that_an_earlier_process_posted_is_not_posted_again(house: House, github: GitHub) -> None:
    github.add_issue(42, labels=["ready"])
    apply_one(house.tracker(), taking())
    later = house.tracker()
    edited = apply_one(later, replace(taking(), comment="**Another wording**\n\n<!-- claude-lock: nonce=1f -->"))
    assert edited.failed == {} and edited.issue is not None and len(edited.issue.comments) == 1
    assert github.issue(42).bodies == [taking().comment]


def test_a_github_that_is_down_fails_every_step_and_stops_at_once(house: House, github: GitHub) -> None:
    for number in range(1, 31):
        github.add_issue(number)
    tracker = house.tracker()
    edits = [taking(issue_item(number)) for number in range(1, 31)]
    tracker.read([edit.item for edit in edits])
    github.mood("forbidden", only="writes")
    edited = tracker.apply(edits)
    assert all(len(each.failed) == 4 and each.issue is None for each in edited.values()) and len(edited) == 30
    assert set(edited[issue_item(30)].failed.values()) == {
        "GitHub says: Resource not accessible by personal access token"
    }
    assert len(github.writes) == 1


# Limits


@pytest.mark.parametrize("mood", ["secondary-limit", "primary-limit", "graphql-limit"])
def test_a_limit_is_waited_out_and_said(house: House, github: GitHub, mood: MoodName) -> None:
    github.add_issue(42)
    tracker = house.tracker()
    read_one(tracker)
    github.mood(mood, only="writes", times=1, seconds=30)
    assert apply_one(tracker, taking()).failed == {}
    assert 29 <= sum(house.clock.slept) <= 60
    assert len(house.told) == 1 and "limit" in house.told[0] and "; waiting " in house.told[0]
    assert github.issue(42).bodies == [taking().comment]


def test_a_limit_for_longer_than_we_wait_is_an_error_that_says_how_long(house: House, github: GitHub) -> None:
    github.mood("primary-limit", seconds=1800)
    with pytest.raises(TrackerError) as raised:
        house.tracker().read([ITEM])
    assert raised.value.trouble is Trouble.RATE_LIMITED
    assert raised.value.hint == "repeating is safe; it will be in vain for another 30 min"
    assert not house.clock.slept


def test_what_came_too_quickly_is_sent_again_alone(house: House, github: GitHub) -> None:
    github.add_issue(42, labels=["ready"])
    tracker = house.tracker()
    read_one(tracker)
    github.mood("too-quickly", only="writes", times=1, fields=("addComment",))
    edited = apply_one(tracker, taking())
    assert edited.failed == {} and edited.issue is not None and len(edited.issue.comments) == 1
    assert sum(house.clock.slept) == 60
    assert [event.kind for event in github.issue(42).events].count("AssignedEvent") == 1


def test_who_was_told_to_wait_tells_the_other_processes_of_the_login(house: House, github: GitHub) -> None:
    github.add_issue(42)
    github.mood("secondary-limit", only="writes", seconds=300)
    assert "rate limit" in apply_one(house.tracker(), taking()).failed[Step.COMMENT]
    github.calm()
    house.clock.now += 280
    assert apply_one(house.tracker("ada"), taking(login="ada", nonce="nonce=2")).failed == {}
    assert not house.clock.slept
    assert apply_one(house.tracker(), taking()).failed == {}
    assert 19 <= house.clock.slept[0] <= 21
    assert house.told == ["GitHub has limited the requests of 'octo'; waiting 20 s"]


def test_many_edits_are_few_documents_a_second_apart(house: House, github: GitHub) -> None:
    for number in range(1, 26):
        github.add_issue(number, labels=["ready"])
    tracker = house.tracker()
    edits = [taking(issue_item(number), nonce=f"nonce={number:04}") for number in range(1, 26)]
    tracker.read([edit.item for edit in edits])
    edited = tracker.apply(edits)
    assert all(not each.failed and each.issue for each in edited.values()) and len(edited) == 25
    assert all(len(github.issue(number).comments) == 1 for number in range(1, 26))
    assert len(github.writes) == 3
    assert house.clock.slept == [1, 1]


def test_two_edits_of_one_item_are_written_in_their_order(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    first, second = (Edit(ITEM, comment=body) for body in ("first", "second"))
    issue = tracker.apply([first, second])[ITEM].issue
    assert github.issue(42).bodies == ["first", "second"]
    assert issue is not None and [comment.body for comment in issue.comments] == ["first", "second"]


def test_one_process_of_a_login_writes_at_a_time(house: House, github: GitHub) -> None:
    github.add_issue(42)
    apply_one(house.tracker(), Edit(ITEM, comment="first"))
    lock = os.open(house.directory / "cache" / "github.com-octo.lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    refused = apply_one(house.tracker(), taking())
    assert set(refused.failed.values()) == {"another process has been writing as 'octo' for 2 min"}
    assert apply_one(house.tracker("ada"), Edit(ITEM, comment="other")).failed == {}
    os.close(lock)
    assert apply_one(house.tracker(), taking()).failed == {}


def test_a_cache_that_cannot_be_kept_or_read_stops_nothing(house: House, github: GitHub) -> None:
    github.add_issue(42)
    github.add_issue(43)
    (house.directory / "file").write_text("")
    assert apply_one(house.tracker(cache="file"), taking()).failed == {}
    kept = house.directory / "cache/github.com/acme/ledger.json"
    for content in ("", "[]", '{"labels": 3}', '{"labels": {"in-progress": 7}}', '{"labels": {"in-progress": "LA_0"}}'):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(content)
        assert apply_one(house.tracker(), taking(issue_item(43))).failed == {}


# Setting up


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


LEDGER = Location("github.com", "acme", "ledger")
ENTERPRISE = Location("ghe.example.com", "acme", "ledger")


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("https://github.com/acme/ledger", LEDGER),
        ("https://github.com/acme/ledger.git", LEDGER),
        ("https://github.com/acme/ledger/", LEDGER),
        ("https://octo:secret@github.com/acme/ledger.git", LEDGER),
        ("https://www.github.com/acme/ledger", LEDGER),
        ("https://github.com:443/acme/ledger.git", LEDGER),
        ("HTTPS://GitHub.com/acme/ledger", LEDGER),
        ("http://github.com/acme/ledger", LEDGER),
        ("git://github.com/acme/ledger.git", LEDGER),
        ("git@github.com:acme/ledger.git", LEDGER),
        ("git@github.com:/acme/ledger", LEDGER),
        ("github.com:acme/ledger", LEDGER),
        ("org-1234567@github.com:acme/ledger.git", LEDGER),
        ("ssh://git@github.com/acme/ledger.git", LEDGER),
        ("ssh://git@github.com:22/acme/ledger.git", LEDGER),
        ("ssh://git@ssh.github.com:443/acme/ledger.git", LEDGER),
        ("git+ssh://git@github.com/acme/ledger", LEDGER),
        ("https://github.com/acme/ledger.js.git", Location("github.com", "acme", "ledger.js")),
        ("https://ghe.example.com/acme/ledger", ENTERPRISE),
        ("git@ghe.example.com:acme/ledger.git", ENTERPRISE),
        ("ssh://git@ghe.example.com:7999/acme/ledger.git", ENTERPRISE),
        ("https://ghe.example.com:8443/acme/ledger", Location("ghe.example.com:8443", "acme", "ledger")),
        ("https://acme.ghe.com/acme/ledger", Location("acme.ghe.com", "acme", "ledger")),
        ("", None),
        ("/srv/git/ledger.git", None),
        ("../ledger", None),
        ("./a:b/c", None),
        ("file:///srv/acme/ledger.git", None),
        ("C:/acme/ledger", None),
        ("C:acme/ledger", None),
        ("https://github.com/acme", None),
        ("https://gitlab.com/group/sub/ledger", None),
        ("https://github.com/acme/..", None),
        ("https://github.com/acme/led ger", None),
        ("https:///acme/ledger", None),
        ("https://github.com:port/acme/ledger", None),
        ("https://[::1/acme/ledger", None),
        ("ext::ssh git@github.com acme/ledger", None),
        ("-oProxyCommand=x:acme/ledger", None),
    ],
)
def test_a_url_tells_host_owner_and_repository(url: str, location: Location | None) -> None:
    assert locate(url) == location
