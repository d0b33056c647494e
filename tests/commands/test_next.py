"""`git claim next`: what to work on next, chosen or pinned, begun without anybody getting in the way of another."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.agents import Answer
from tests.commands.telling import block, holders, plant, shown
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import Clone
from tests.scenarios.holding_back import between_look_and_claim

QUEUED = ("ready", "afk")


def requests(github: GitHub) -> tuple[int, int]:
    """How often lists and items were read since the last look."""
    lists = sum("issues(first: 100" in request.document for request in github.requests)
    reads = sum(not request.is_write for request in github.requests)
    github.forget_requests()
    return lists, reads - lists


def taken(answer: Answer) -> object:
    assert answer.status == 0, answer
    return answer.at("items", 0, "item")


# Chosen


def test_next_names_the_one_that_frees_most_and_changes_nothing(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    assert shown(octo.claim("next")) == block("""
        exit 0
        --- stdout
        acme/ledger#2
        --- stderr
        Draw the schema, unblocks 1
        """)
    assert (holders(github.server), github.writes) == ({}, [])


def test_document_of_next_is_that_of_ready(octo: ForkedAgent, queue: None) -> None:
    assert octo.claim("next", "--json", check=0).json == octo.claim("ready", "--json", check=0).json


def test_take_claims_and_shows_it_after_a_read_by_its_number(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    answer = octo.claim("next", "--take", check=0)
    assert answer.stdout == "claimed acme/ledger#2 for chain-octo\n"
    assert (holders(github.server), github.issue(2).assignees) == ({"issue-2": "chain-octo"}, ["octo"])
    assert (len(github.writes), requests(github)) == (1, (1, 1))


def test_takes_go_by_what_is_freed_and_then_by_number(octo: ForkedAgent, queue: None) -> None:
    answers = [octo.claim("next", "--take", "--another", "--json") for _ in range(3)]
    assert [taken(answer) for answer in answers] == ["issue-2", "issue-1", "issue-5"]
    assert octo.claim("next", "--take", "--another", "--json").at("state") == "all-blocked"


def test_start_opens_the_lane_and_prints_its_path_alone(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    answer = octo.claim("next", "--start", check=0)
    lane = octo.clone.path / ".worktrees/2-draw-the-schema"
    assert answer.stdout == f"{lane}\n" and "branch 2-draw-the-schema" in answer.stderr
    assert holders(github.server) == {"issue-2": "chain-octo"}
    inside = ForkedAgent(Clone(lane, octo.clone.server, linked=True), None, octo.environment)
    assert inside.claim("check", check=0).stdout.startswith("acme/ledger#2 is yours")


def test_chain_that_is_made_is_said_and_can_follow_with_it(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    octo.chain = None
    answer = octo.claim("next", "--take", "--json", check=0)
    [chain] = holders(github.server).values()
    assert f"chain {chain} (new; keep it with: export GIT_CLAIM_CHAIN={chain})\n" in answer.stderr
    assert f"git claim release 2 --chain {chain}" in str(answer.at("next"))


@pytest.mark.parametrize("words", ["--take", "--start", "--take --pin 5", "--start --wait=1s"])
def test_nothing_new_is_begun_while_the_chain_holds_something(
    words: str, github: GitHub, octo: ForkedAgent, queue: None
) -> None:
    octo.claim("1", check=0)
    github.forget_requests()
    answer = octo.claim("next", *words.split())
    assert answer.status == 1 and answer.stderr == (
        "error: this chain still holds acme/ledger#1\n"
        "hint: 'git claim mine' says what comes next; --another takes one more\n"
    )
    assert (holders(github.server), github.writes) == ({"issue-1": "chain-octo"}, [])


def test_another_is_taken_where_that_is_asked_for(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    octo.claim("1", check=0)
    octo.claim("next", "--take", "--another", check=0)
    assert set(holders(github.server)) == {"issue-1", "issue-2"}


def test_what_other_chains_hold_keeps_nobody_from_taking(
    github: GitHub, octo: ForkedAgent, ada: ForkedAgent, queue: None
) -> None:
    ada.claim("next", "--take", check=0)
    assert taken(octo.claim("next", "--take", "--json")) == "issue-1"


def test_nothing_ready_is_a_no_with_the_state_and_the_list(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(4, "Choose a name", labels=["ready", "hitl"])
    answer = octo.claim("next", "--take")
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: nothing is ready: hitl-only
        hint: what is left waits for people; 'git claim ready' lists it
        ITEM           NOT READY                         TITLE
        acme/ledger#4  waiting for a human (label hitl)  Choose a name
        """)
    found = octo.claim("next", "--take", "--json")
    assert (found.status, found.at("ok"), found.at("state")) == (1, False, "hitl-only")


def test_repository_without_queue_labels_is_named(github: GitHub, octo: ForkedAgent) -> None:
    for label in ("ready", "afk", "hitl"):
        github.drop_label(label)
    answer = octo.claim("next")
    assert answer.status == 1 and "acme/ledger was skipped: it has no queue labels" in answer.stderr


@pytest.mark.parametrize(
    "words", ["--take --start", "--even-if-blocked", "--even-hitl --take", "--pin 1 --wait", "--wait=soon"]
)
def test_options_that_do_not_go_together_are_a_wrong_command_line(
    words: str, github: GitHub, octo: ForkedAgent
) -> None:
    assert octo.claim("next", *words.split()).status == 2
    assert github.requests == []


# Races, and lists that are late


def test_lost_race_goes_on_to_the_next_without_another_list(
    github: GitHub, octo: ForkedAgent, ada: ForkedAgent, tmp_path: Path, queue: None
) -> None:
    rival = partial(plant, github.server, "issue-2", "chain-ada")
    answer = between_look_and_claim(octo, tmp_path, rival, "next", "--take", "--json")
    assert taken(answer) == "issue-1"
    assert holders(github.server) == {"issue-1": "chain-octo", "issue-2": "chain-ada"}
    assert requests(github) == (1, 2)


def test_chain_that_was_made_stays_the_same_over_lost_races(
    github: GitHub, octo: ForkedAgent, tmp_path: Path, queue: None
) -> None:
    octo.chain = None
    rival = partial(plant, github.server, "issue-2", "chain-ada")
    answer = between_look_and_claim(octo, tmp_path, rival, "next", "--take")
    assert answer.status == 0 and answer.stderr.count("(new; keep it with") == 1, answer
    assert f"export GIT_CLAIM_CHAIN={holders(github.server)['issue-1']})" in answer.stderr


def test_lost_race_for_the_only_one_is_a_no(github: GitHub, octo: ForkedAgent, tmp_path: Path) -> None:
    github.add_issue(2, labels=QUEUED)
    rival = partial(plant, github.server, "issue-2", "chain-ada")
    answer = between_look_and_claim(octo, tmp_path, rival, "next", "--take")
    assert answer.status == 1 and "error: nothing is ready: all-claimed\n" in answer.stderr, answer
    assert holders(github.server) == {"issue-2": "chain-ada"}


def test_issue_that_is_held_while_we_claim_it_is_given_back_and_the_next_one_taken(
    github: GitHub, octo: ForkedAgent, tmp_path: Path, queue: None
) -> None:
    answer = between_look_and_claim(octo, tmp_path, partial(github.label, 2, "hold"), "next", "--take", "--json")
    assert taken(answer) == "issue-1"
    assert holders(github.server) == {"issue-1": "chain-octo"}
    assert (github.issue(2).assignees, sorted(github.issue(2).labels)) == ([], ["afk", "hold", "ready"])


def test_server_that_refuses_claims_is_told_once(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    github.server.policy_refuses()
    answer = octo.claim("next", "--take", "--json")
    assert (answer.status, answer.at("items", 0, "outcome"), github.writes) == (128, "refused", []), answer
    assert requests(github) == (1, 1)


def test_each_candidate_is_read_again_by_its_number(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    github.mood("listing-lag")
    github.close(2)
    github.assign(1, "ada")
    answer = octo.claim("next", "--take", "--json")
    # That the second is done frees the third, which the list does not know yet.
    assert taken(answer) == "issue-3"
    assert holders(github.server) == {"issue-3": "chain-octo"}
    assert requests(github) == (1, 3)


def test_nobody_is_asked_for_whose_page_says_no(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(2, labels=QUEUED)
    github.mood("listing-lag")
    github.assign(2, "ada")
    answer = octo.claim("next", "--take", "--json")
    assert (answer.status, answer.at("state"), holders(github.server)) == (1, "all-claimed", {})
    assert [move.ref for move in github.server.transcript()] == ["refs/heads/main"]
