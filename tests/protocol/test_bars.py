"""The look before a claim: what of a tracker's page speaks against an item that no ref claims, and what never does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.bars import Barred, bars
from git_claims.protocol.claim import Claim
from git_claims.protocol.house import House, Labels
from git_claims.protocol.issue import Comment, Issue, PullState
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.marker import live_markers
from git_claims.protocol.signals import foreign_markers, on_take
from git_claims.protocol.transition import Reason
from tests.protocol.shown import FORTY_TWO, HOUSE, OURS, PAGE, SEVENTEEN, applied, lock, page, pull, said, unlock

BARE = replace(HOUSE, labels=Labels.none())


def asked(issue: Issue, operator: str | None = "octocat", house: House = HOUSE, *, even_hitl: bool = False) -> str:
    bar = bars(issue, FORTY_TWO, operator, house, even_hitl=even_hitl)
    return f"{bar.reason}: {bar.who}" if bar else "free"


PAGES = [
    ("nothing", page(), "free"),
    ("no label at all", page(labels=()), "free"),
    ("closed", page(is_open=False), f"closed: {PAGE.url}"),
    ("on hold", page(labels=("ready", "hold")), "hold: hold"),
    ("on hold, in other letters", page(labels=("Hold",)), "hold: hold"),
    ("waits for a human", page(labels=("hitl",)), "waiting-for-human: hitl"),
    ("assigned to us", page(assignees=("octocat",)), "free"),
    ("assigned to us, in other letters", page(assignees=("OctoCat",)), "free"),
    ("assigned to somebody else", page(assignees=("ada",)), "assigned: ada"),
    ("assigned to us and others", page(assignees=("octocat", "ada", "bo")), "assigned: ada, bo"),
    ("a lock by hand of somebody else", page(lock("ada")), "foreign-marker: ada"),
    ("a lock by hand of ours", page(lock("octocat")), "free"),
    ("a lock that was released", page(lock("ada"), unlock("ada", 1)), "free"),
    ("a lock, released, and locked again", page(lock("ada"), unlock("ada", 1), lock("ada", 2)), "foreign-marker: ada"),
    ("rivals: the earliest", page(lock("bo", 2), lock("ada", 1)), "foreign-marker: ada"),
    ("rivals: we came later", page(lock("ada", 1), lock("octocat", 2)), "foreign-marker: ada"),
    ("rivals: we were the earliest", page(lock("octocat", 1), lock("ada", 2)), "free"),
    (
        "rivals: our older lock is released",
        page(lock("octocat"), unlock("octocat"), lock("ada")),
        "foreign-marker: ada",
    ),
    ("a stranger's lock for somebody", page(lock("ada", author="eve", may_write=False)), "free"),
    ("a stranger's release", page(lock("ada"), unlock("ada", 1, author="eve", may_write=False)), "foreign-marker: ada"),
    ("a stranger's own lock", page(lock("eve", may_write=False)), "foreign-marker: eve"),
    ("talk about locks", page(said("who has the claude-lock? operator=ada", author="ada")), "free"),
    ("the label alone", page(labels=("in-progress",)), "foreign-label: in-progress"),
    ("the label, in other letters", page(labels=("In-Progress",)), "foreign-label: in-progress"),
    ("the label, and we are assigned", page(labels=("in-progress",), assignees=("octocat",)), "free"),
    ("the label, and our lock", page(lock("octocat"), labels=("in-progress",)), "free"),
    ("the label, and a lock that ended", page(lock("ada"), unlock("ada"), labels=("in-progress",)), "foreign-label"),
    ("CI still runs", page(labels=("ci-monitoring",)), "free"),
    ("blocked once", page(labels=("blocked",)), "free"),
    ("an open pull request", page(pulls=(pull(5, PullState.OPEN),)), "free"),
]


@pytest.mark.parametrize(("issue", "answer"), [case[1:] for case in PAGES], ids=[case[0] for case in PAGES])
def test_page_says_whether_an_item_is_free(issue: Issue, answer: str) -> None:
    assert asked(issue).startswith(answer)


@pytest.mark.parametrize(
    ("issue", "answer"),
    [
        (page(labels=("hitl",)), "free"),
        (page(labels=("hitl", "hold")), "hold: hold"),
        (page(labels=("hitl",), assignees=("ada",)), "assigned: ada"),
    ],
    ids=["waits for a human", "on hold too", "assigned too"],
)
def test_human_may_take_what_waits_for_one_and_nothing_more(issue: Issue, answer: str) -> None:
    assert asked(issue, even_hitl=True) == answer


@pytest.mark.parametrize(
    ("issue", "answer"),
    [
        (page(assignees=("octocat",)), "assigned: octocat"),
        (page(lock("octocat")), "foreign-marker: octocat"),
        (page(labels=("in-progress",)), "foreign-label: in-progress"),
        (page(), "free"),
    ],
    ids=["assigned", "locked", "labelled", "nothing"],
)
def test_without_a_login_everybody_is_somebody_else(issue: Issue, answer: str) -> None:
    assert asked(issue, operator=None) == answer


@pytest.mark.parametrize("label", ["in-progress", "ready", "hitl", "hold", "blocked", "ci-monitoring", ""])
def test_empty_name_switches_the_rule_of_a_label_off(label: str) -> None:
    assert asked(page(labels=(label,)), house=BARE) == "free"


def test_switched_off_labels_leave_assignees_and_locks_in_force() -> None:
    assert asked(page(assignees=("ada",)), house=BARE) == "assigned: ada"
    assert asked(page(lock("ada")), house=BARE) == "foreign-marker: ada"


def test_marker_of_another_name_is_no_lock_here() -> None:
    assert asked(page(lock("ada")), house=replace(HOUSE, marker="team-lock")) == "free"


@pytest.mark.parametrize(("wanted", "found"), [(FORTY_TWO, SEVENTEEN), (SEVENTEEN, FORTY_TWO)])
def test_number_of_another_kind_of_item_is_said(wanted: Item, found: Item) -> None:
    bar = bars(replace(PAGE, item=found), wanted, "octocat", HOUSE, even_hitl=False)
    assert bar == Barred(Reason.OTHER_KIND, found.name)


def test_pull_request_is_barred_by_the_same_rules() -> None:
    held = replace(page(labels=("hold",)), item=SEVENTEEN)
    bar = bars(held, Item(Kind.PULL, "17"), "octocat", HOUSE, even_hitl=False)
    assert bar == Barred(Reason.HOLD, "hold")


def test_earliest_of_foreign_locks_comes_first() -> None:
    issue = page(lock("bo", 3), lock("octocat", 2), lock("ada", 1))
    assert [marker.operator for marker in foreign_markers(issue, "octocat", HOUSE)] == ["ada", "bo"]


# The look after our own write: our signals stand there too


def after_take(*comments: Comment, claim: Claim = OURS) -> Issue:
    issue = page(*comments)
    return applied(issue, on_take(issue, FORTY_TWO, claim, HOUSE, fresh=True), minutes=1)


def test_our_own_signals_do_not_bar_us() -> None:
    assert asked(after_take()) == "free"


def test_lock_by_hand_that_came_before_ours_bars_us_and_a_later_one_does_not() -> None:
    assert asked(after_take(lock("ada", 0))) == "foreign-marker: ada"
    assert asked(after_take(lock("ada", 2))) == "free"


names = st.sampled_from(["in-progress", "ready", "hitl", "hold", "blocked", "ci-monitoring", "bug"])
logins = st.sampled_from(["octocat", "ada", "bo"])
comments = st.lists(
    st.builds(lambda make, login, at: make(login, at), st.sampled_from([lock, unlock]), logins, st.integers(0, 3)),
    max_size=4,
)
pages = st.builds(
    lambda labels, assignees, comments, is_open: page(
        *comments, labels=tuple(labels), assignees=tuple(assignees), is_open=is_open
    ),
    st.sets(names),
    st.lists(logins, unique=True, max_size=2),
    comments,
    st.booleans(),
)


@given(pages)
def test_what_is_free_shows_nobody_else_at_work(issue: Issue) -> None:
    if asked(issue) == "free":
        assert issue.is_open and not {"hold", "hitl"} & issue.labels
        assert set(issue.assignees) <= {"octocat"}
        live = live_markers("claude-lock", issue.comments)
        assert not live or live[0].operator == "octocat"


@given(pages, names.filter(lambda name: name in {"ci-monitoring", "blocked", "ready", "bug"}))
def test_label_without_a_rule_here_never_changes_the_answer(issue: Issue, label: str) -> None:
    assert asked(replace(issue, labels=issue.labels | {label})) == asked(issue)
