"""GitHub written through the real gh: one document a change, nothing lost and nothing said twice, in every mood."""

from __future__ import annotations

from dataclasses import replace

from git_claims.tracker.github import GitHub as Tracker
from git_claims.tracker.model import Edit, Edited, Step
from tests.edges.github_house import ITEM, House, apply_one, issue_item, pull_item, read_one, taking
from tests.github_double import GitHub


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


def test_a_label_that_has_another_name_by_now_is_said(house: House, github: GitHub) -> None:
    github.add_issue(42)
    read_one(house.tracker())
    github.rename_label("in-progress", "doing")
    edited = apply_one(house.tracker(), taking())
    assert edited.failed == {Step.ADD_LABELS: "the repository has no label 'in-progress' any more"}
    github.add_label("in-progress")
    assert apply_one(house.tracker(), taking()).failed == {}
    assert set(github.issue(42).labels) == {"doing", "in-progress"}


def test_an_item_that_went_away_since_it_was_read_fails_at_once(tracker: Tracker, github: GitHub) -> None:
    github.add_issue(42)
    read_one(tracker)
    del github.repository().tickets[42]
    edited = apply_one(tracker, taking())
    assert len(edited.failed) == 4 and edited.issue is None
    assert all("Could not resolve to a node" in why for why in edited.failed.values())
    assert len(github.writes) == 1


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
