"""GitHub when it does not answer, answers half or wants us to wait: what is sent again, and what never is."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace
from pathlib import Path

import pytest

from git_claims.errors import TrackerError, Trouble
from git_claims.tracker.github import GitHub as Tracker
from git_claims.tracker.ids import Ids
from git_claims.tracker.model import Edit, Step
from tests.edges.github_house import ITEM, House, apply_one, issue_item, read_one, taking
from tests.github_double import GitHub
from tests.github_double.moods import MoodName


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
    assert github.issue(42).bodies == ["first", "second"] and len(github.writes) == 2
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


def test_a_cache_that_cannot_be_kept_stops_nothing(house: House, github: GitHub) -> None:
    github.add_issue(42)
    (house.directory / "file").write_text("")
    assert apply_one(house.tracker(cache="file"), taking()).failed == {}


@pytest.mark.parametrize("content", ["", "[]", '{"labels": 3}', '{"labels": {"in-progress": 7}, "logins": []}'])
def test_a_cache_that_means_nothing_is_as_good_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "ledger.json").write_text(content)
    ids = Ids(tmp_path / "ledger.json")
    assert not ids.knows_labels and ids.label("in-progress") is None
    ids.learn({"In-Progress": "LA_1"}, {"Octo": "U_1"})
    kept = Ids(tmp_path / "ledger.json")
    assert (kept.label("in-progress"), kept.login("OCTO")) == ("LA_1", "U_1")


def test_what_two_processes_learn_is_kept_together(tmp_path: Path) -> None:
    one, other = Ids(tmp_path / "ledger.json"), Ids(tmp_path / "ledger.json")
    one.learn({"ready": "LA_1"}, {})
    other.learn({"afk": "LA_2"}, {"octo": "U_1"})
    kept = Ids(tmp_path / "ledger.json")
    assert (kept.label("ready"), kept.label("afk"), kept.login("octo")) == ("LA_1", "LA_2", "U_1")
