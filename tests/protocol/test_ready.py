"""Whether an issue is ready, and all that speaks against one that is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.bars import bars
from git_claims.protocol.claim import Oid, Seen
from git_claims.protocol.house import Labels
from git_claims.protocol.issue import Blocker, Issue
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.obstacles import Because, Cause
from git_claims.protocol.ready import Candidate, queue
from git_claims.protocol.served import Place
from tests.protocol.queued import HOME, alone, done, held, issue, number, open_, ranked, reasons, served, waiting
from tests.protocol.shown import FORTY_TWO, HOUSE, lock, unlock

NOT_PLANNED = (Blocker(HOME, 7, False, False),)

PAGES = [
    ("ready, for agents", issue(42), []),
    ("in other letters", issue(42, labels=("Ready", "AFK")), []),
    ("waits for what is done", issue(42, blockers=done(HOME, 7) + done("acme/other", 1)), []),
    ("assigned", issue(42, assignees=("ada", "bo")), ["assigned: ada, bo"]),
    ("assigned to the login that asks", issue(42, assignees=("octocat",)), ["assigned: octocat"]),
    ("blocked", issue(42, 7), ["blocked-open: #7"]),
    ("blocked by several, told in any order", issue(42, 9, 7, 9, 8), [f"blocked-open: #{n}" for n in (7, 8, 9)]),
    ("blocked by what was dropped", issue(42, blockers=NOT_PLANNED), ["blocked-not-planned: #7"]),
    ("blocked elsewhere", issue(42, blockers=open_("acme/other", 1)), ["blocked-elsewhere: acme/other#1"]),
    ("blocked at home, in other letters", issue(42, blockers=open_("Acme/Ledger", 7)), ["blocked-open: #7"]),
    (
        "blocked by what was dropped elsewhere",
        issue(42, blockers=(Blocker("acme/other", 1, False, False),)),
        ["blocked-not-planned: acme/other#1"],
    ),
    ("blocked by what cannot be seen", issue(42, blockers=(Blocker("", 0, False, False),)), ["blocker-unreadable"]),
    ("more blockers", replace(issue(42, 7), blockers_complete=False), ["blocked-open: #7", "blockers-truncated: 1"]),
    ("waits for a human", issue(42, labels=("ready", "hitl")), ["waiting-for-human: hitl"]),
    ("both labels", issue(42, labels=("ready", "afk", "HITL")), ["waiting-for-human: hitl"]),
    ("on hold", issue(42, labels=("ready", "afk", "hold")), ["hold: hold"]),
    ("blocked, says a label", issue(42, labels=("ready", "afk", "blocked")), ["blocked-label: blocked"]),
    ("CI still runs", issue(42, labels=("ready", "afk", "ci-monitoring")), ["ci-monitoring: ci-monitoring"]),
    ("not said to be ready", issue(42, labels=("afk",)), ["no-ready-label: ready"]),
    ("not said for whom", issue(42, labels=("ready",)), ["half-triaged: neither afk nor hitl"]),
    ("no label at all", issue(42, labels=()), ["no-ready-label: ready", "half-triaged: neither afk nor hitl"]),
    ("a lock by hand", issue(42, comments=(lock("ada"),)), ["foreign-marker: ada"]),
    ("a lock that ended", issue(42, comments=(lock("ada"), unlock("ada", 1))), []),
    ("our own lock", issue(42, comments=(lock("OctoCat"),)), []),
    ("the claim label alone", issue(42, labels=("ready", "afk", "in-progress")), ["foreign-label: in-progress"]),
    (
        "the claim label, and our lock",
        issue(42, labels=("ready", "afk", "in-progress"), comments=(lock("octocat"),)),
        [],
    ),
    (
        "the claim label, and we are assigned",
        issue(42, labels=("ready", "afk", "in-progress"), assignees=("OctoCat",)),
        ["assigned: OctoCat"],
    ),
    ("partly read", replace(issue(42), complete=False), ["partly-read"]),
    ("waits for itself", issue(42, 42), ["blocked-open: #42", "dependency-cycle: #42"]),
]


@pytest.mark.parametrize(("page", "answer"), [case[1:] for case in PAGES], ids=[case[0] for case in PAGES])
def test_issue_is_ready_or_waits_for_a_reason(page: Issue, answer: list[str]) -> None:
    assert alone(page) == answer


def test_all_reasons_are_given_in_one_order() -> None:
    page = issue(
        42,
        42,
        labels=("hitl", "hold", "blocked", "ci-monitoring"),
        assignees=("ada",),
        comments=(lock("ada"),),
        blockers=(Blocker("", 0, False, False), *open_("acme/other", 1), *NOT_PLANNED),
    )
    page = replace(page, blockers_complete=False, complete=False)
    answer = queue([served(page, claims={42: held("chain-1")})])
    told = [reason.cause for reason in waiting(answer).reasons]
    left_out = {Cause.NO_READY_LABEL, Cause.HALF_TRIAGED, Cause.FOREIGN_LABEL}
    assert told == [cause for cause in Cause if cause not in left_out]


def test_what_follows_from_a_claim_is_no_reason_of_its_own() -> None:
    page = issue(42, labels=("afk", "in-progress"), assignees=("octocat",), comments=(lock("octocat"),))
    assert alone(page, operator="hubot", held_by=held("chain-1", "OctoCat")) == ["claimed: chain-1"]


def test_somebody_else_beside_a_claim_is_named() -> None:
    page = issue(42, labels=("afk",), assignees=("octocat", "ada"), comments=(lock("ada"),))
    assert alone(page, held_by=held("chain-1")) == ["claimed: chain-1", "assigned: ada", "foreign-marker: ada"]


def test_claim_that_cannot_be_read_holds_and_names_nobody() -> None:
    answer = queue([served(issue(42), claims={42: Seen(Oid("1" * 40), None, "it is not UTF-8")})])
    assert [reason.words for reason in waiting(answer).reasons] == ["claimed by somebody whose record cannot be read"]


def test_claim_on_a_pull_request_of_the_same_number_is_another_item() -> None:
    claims = {Item(Kind.PULL, "42"): held("chain-1")}
    assert ranked(queue([replace(served(issue(42)), claims=claims)])) == ["acme/ledger#42"]


@pytest.mark.parametrize(
    ("labels", "page", "answer"),
    [
        (replace(Labels(), ready=""), issue(42, labels=("afk",)), []),
        (replace(Labels(), ready=""), issue(42, labels=()), ["half-triaged: neither afk nor hitl"]),
        (replace(Labels(), afk=""), issue(42, labels=("ready",)), []),
        (replace(Labels(), afk=""), issue(42, labels=("ready", "hitl")), ["waiting-for-human: hitl"]),
        (replace(Labels(), hitl=""), issue(42, labels=("ready", "hitl")), ["half-triaged: not afk"]),
        (replace(Labels(), hitl=""), issue(42, labels=("ready", "afk", "hitl")), []),
        (Labels.none(), issue(42, labels=("hold", "hitl", "blocked", "in-progress", "")), []),
        (Labels.none(), issue(42, 7, assignees=("ada",)), ["assigned: ada", "blocked-open: #7"]),
    ],
)
def test_empty_name_switches_the_rule_of_a_label_off(labels: Labels, page: Issue, answer: list[str]) -> None:
    assert alone(page, house=replace(HOUSE, labels=labels)) == answer


def test_blocker_that_is_open_here_is_open_whatever_was_told_of_it() -> None:
    late = issue(42, blockers=(*done(HOME, 7), Blocker("ACME/ledger", 7, False, False)))
    assert reasons(queue([served(late, issue(7))])) == ["blocked-open: #7"]


def test_blockers_that_are_served_are_told_by_number_too() -> None:
    answer = queue([served(issue(1000, 900, 64, 8, 65), *map(issue, (8, 64, 65, 900)))])
    assert reasons(answer, 1000) == [f"blocked-open: #{each}" for each in (8, 64, 65, 900)]


def test_blocker_that_is_not_among_the_open_issues_is_what_was_told_of_it() -> None:
    closed = replace(issue(7), is_open=False, completed=True)
    answer = queue([served(issue(42, 7), closed)])
    assert reasons(answer) == ["blocked-open: #7"]
    assert [entry.place.spelling for entry in answer.entries] == ["acme/ledger#42"]


def test_blocker_in_another_repository_that_is_served_is_judged_from_there() -> None:
    here, there = issue(42, blockers=done("Acme/Other", 42)), issue(42)
    answer = queue([served(here), served(there, slug="acme/other")])
    assert ranked(answer) == ["acme/other#42"]
    assert reasons(answer) == ["blocked-elsewhere: acme/other#42"]
    assert answer.ready[0].unblocks == 1


def test_two_issues_may_be_told_different_things_of_one_blocker() -> None:
    answer = queue([served(issue(1, 7), issue(2, blockers=NOT_PLANNED))])
    assert [reasons(answer, each) for each in (1, 2)] == [["blocked-open: #7"], ["blocked-not-planned: #7"]]


def test_pull_request_is_no_item_of_the_queue_and_blocks_nothing() -> None:
    pull = replace(issue(7), item=Item(Kind.PULL, "7"))
    answer = queue([served(pull, issue(42, blockers=done(HOME, 7)))])
    assert [entry.place.spelling for entry in answer.entries] == ["acme/ledger#42"]
    assert ranked(answer) == ["acme/ledger#42"]


def test_issue_of_a_keyed_tracker_is_in_the_queue() -> None:
    answer = queue(
        [served(issue("proj-12"), issue("proj-3"), issue("proj-7", labels=()), claims={"proj-3": held("c")})]
    )
    assert ranked(answer) == ["acme/ledger#PROJ-12"]
    assert [entry.place.item.key for entry in answer.waiting] == ["proj-3", "proj-7"]


def test_what_a_read_by_number_may_find_ready_is_listed() -> None:
    unsure = [replace(issue(1), complete=False), replace(issue(2), blockers_complete=False)]
    sure = [replace(issue(3, labels=("ready", "hitl")), complete=False), issue(4)]
    answer = queue([served(*unsure, *sure)])
    assert [place.spelling for place in answer.unsure] == ["acme/ledger#1", "acme/ledger#2"]
    assert ranked(answer) == ["acme/ledger#4"]


@pytest.mark.parametrize("cause", Cause)
def test_every_reason_has_words(cause: Cause) -> None:
    words = Because(cause, "x").words
    assert words
    assert "{" not in words
    assert ("x" in words.replace("next", "")) is (cause not in {Cause.BLOCKER_UNREADABLE, Cause.PARTLY_READ})


pages = st.builds(
    issue,
    st.just(42),
    labels=st.sets(st.sampled_from(["ready", "afk", "hitl", "hold", "In-Progress", "blocked", "ci-monitoring"])),
    assignees=st.sampled_from([(), ("octocat",), ("ada",), ("ada", "OCTOCAT")]),
    comments=st.lists(
        st.builds(
            lambda make, who, at: make(who, at),
            st.sampled_from([lock, unlock]),
            st.sampled_from(["ada", "octocat"]),
            st.integers(0, 3),
        ),
        max_size=4,
    ).map(tuple),
)


@given(pages, st.sampled_from(["octocat", "ada", None]))
def test_ready_issue_may_be_taken(page: Issue, operator: str | None) -> None:
    assert alone(page, operator=operator) or bars(page, FORTY_TWO, operator, HOUSE, even_hitl=False) is None


def test_candidate_says_what_it_is() -> None:
    page, place = issue(42), Place(HOME, FORTY_TWO)
    assert queue([served(page)]).find(place) == Candidate(place, page, 0)
    assert queue([served(page)]).find(Place(HOME, number(43))) is None
