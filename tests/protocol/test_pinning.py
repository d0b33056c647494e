"""What a pin means: a name, then the words of a title; ties are listed and never guessed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.issue import Blocker
from git_claims.protocol.obstacles import Cause
from git_claims.protocol.pinning import Ambiguous, Match, NoMatch, Pinned, Unfit, resolve, to_confirm
from git_claims.protocol.ready import queue
from git_claims.protocol.served import Place, Served
from tests.protocol.queued import HOME, held, issue, number, served

LEDGER = served(
    issue(42, title="Fix the auth of the gateway"),
    issue(43, title="Fix auth"),
    issue(7, title="Write the manual"),
    issue(11, title="lead"),
    issue(8, title="Keep UTF-8 in names"),
    replace(issue(9, title="Old things"), is_open=False),
    issue("proj-3", title="Report 42 faults"),
    directory="books",
)
OTHER = served(issue(42, title="Write the Manual "), issue(5, title="Publish nightly builds"), slug="acme/other")
BOTH = [LEDGER, OTHER]


def said(pin: str, repositories: list[Served]) -> str:
    match resolve(pin, repositories):
        case Pinned(place, found, how):
            return f"{place.spelling} by {how}" + ("" if found else ", unread")
        case Ambiguous(candidates):
            return "one of " + ", ".join(each.place.spelling for each in candidates)
        case NoMatch(why):
            return str(why)


ONE = [
    ("42", "acme/ledger#42 by name"),
    (" #42 ", "acme/ledger#42 by name"),
    ("issue-42", "acme/ledger#42 by name"),
    ("acme/ledger#42", "acme/ledger#42 by name"),
    ("Acme/Ledger#42", "acme/ledger#42 by name"),
    ("books#42", "acme/ledger#42 by name"),
    ("ledger#42", "acme/ledger#42 by name"),
    ("https://github.com/acme/ledger/issues/42", "acme/ledger#42 by name"),
    ("PROJ-3", "acme/ledger#PROJ-3 by name"),
    ("9", "acme/ledger#9 by name, unread"),
    ("acme/ledger#9", "acme/ledger#9 by name, unread"),
    ("acme/ledger#PROJ-9", "acme/ledger#PROJ-9 by name, unread"),
    ("acme/absent#42", "not-served"),
    ("pr-17", "pull-request"),
    ("https://github.com/acme/ledger/pull/17", "pull-request"),
    ("Fix auth", "acme/ledger#43 by title"),
    ("  FIX   auth ", "acme/ledger#43 by title"),
    ("manual", "acme/ledger#7 by words"),
    ("gateway AUTH", "acme/ledger#42 by words"),
    ("auth", "one of acme/ledger#42, acme/ledger#43"),
    ("utf-8", "acme/ledger#8 by words"),
    ("write teh manuel", "acme/ledger#7 by alike"),
    ("closed", "no-title"),
    ("old things", "no-title"),
    ("nothing like it at all", "no-title"),
    ("", "no-title"),
    ("!?", "no-title"),
]

SEVERAL = [
    ("42", "one of acme/ledger#42, acme/other#42"),
    ("7", "acme/ledger#7 by name"),
    ("5", "acme/other#5 by name"),
    ("77", "no-such-issue"),
    ("acme/other#42", "acme/other#42 by name"),
    ("acme/other#77", "acme/other#77 by name, unread"),
    ("write the manual", "one of acme/ledger#7, acme/other#42"),
    ("Write the manual", "acme/ledger#7 by title"),
    ("wriet the manual", "one of acme/ledger#7, acme/other#42"),
    ("nightly", "acme/other#5 by words"),
]


@pytest.mark.parametrize(("pin", "meant"), ONE)
def test_pin_in_one_repository(pin: str, meant: str) -> None:
    assert said(pin, [LEDGER]) == meant


@pytest.mark.parametrize(("pin", "meant"), SEVERAL)
def test_pin_in_several_repositories(pin: str, meant: str) -> None:
    assert said(pin, BOTH) == meant


def test_name_of_a_directory_that_two_repositories_end_with_is_asked_back() -> None:
    forks = [served(issue(42), slug="a/ledger"), served(issue(42), slug="b/ledger")]
    assert said("ledger#42", forks) == "one of a/ledger#42, b/ledger#42"
    assert said("ledger#42", [*forks, served(issue(42), slug="c/x", directory="ledger")]) == "c/x#42 by name"


def test_repository_that_is_served_twice_is_no_tie() -> None:
    assert said("42", [LEDGER, replace(LEDGER, slug="ACME/ledger")]) == "acme/ledger#42 by name"


def test_titles_nearly_as_good_as_the_best_are_a_tie() -> None:
    near = served(issue(1, title="Rename module a1"), issue(2, title="Rename modules b1"))
    assert said("rename modul c1", [near]) == "one of acme/ledger#1, acme/ledger#2"


@given(st.lists(st.text("abc ", min_size=1, max_size=8), min_size=1, max_size=6), st.text("abc ", max_size=8))
def test_answer_by_title_never_hides_another_that_fits_as_well(titles: list[str], pin: str) -> None:
    found = resolve(pin, [served(*(issue(at + 1, title=title) for at, title in enumerate(titles)))])
    same = [at + 1 for at, title in enumerate(titles) if title == pin and pin.strip()]
    if len(same) == 1:
        assert found == Pinned(Place(HOME, number(same[0])), issue(same[0], title=pin), Match.TITLE)
    if isinstance(found, Pinned) and found.match is Match.WORDS:
        assert [title for title in titles if set(pin.split()) <= set(title.split())] == [
            titles[int(found.place.item.key) - 1]
        ]
    if isinstance(found, NoMatch):
        assert found == NoMatch(Unfit.NO_TITLE)
        assert not same


def test_open_blockers_and_work_for_a_human_need_a_yes_and_nothing_else_can_get_one() -> None:
    page = issue(42, 7, labels=("hitl", "hold"), assignees=("ada",), blockers=(Blocker("far/away", 1, False, False),))
    answer = queue([served(page, issue(1), issue(2), claims={2: held("chain-2")})])
    confirm = {str(entry.place.item.key): [reason.cause for reason in to_confirm(entry)] for entry in answer.entries}
    assert confirm == {
        "42": [Cause.BLOCKED_OPEN, Cause.BLOCKED_NOT_PLANNED, Cause.WAITING_FOR_HUMAN],
        "1": [],
        "2": [],
    }
