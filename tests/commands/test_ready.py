"""`git claim ready`: what is ready, best first, and what speaks against each of the others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import pytest

from tests.commands.telling import block, plant, shown
from tests.forked import ForkedAgent
from tests.github_double import GitHub

QUEUED = ("ready", "afk")
HOME, WEB = "acme/ledger", "acme/web"


def codes(octo: ForkedAgent, number: int = 42) -> list[object]:
    """The reason codes of an issue."""
    answer = octo.claim("ready", "--json")
    waiting = answer.json["waiting"]
    assert isinstance(waiting, list)
    place = [entry["item"] for entry in waiting].index(f"issue-{number}")
    return [reason["code"] for reason in waiting[place]["reasons"]]


def numbers(answer_ready: object) -> list[str]:
    assert isinstance(answer_ready, list)
    return [entry["item"] for entry in answer_ready]


@pytest.fixture
def busy(github: GitHub) -> None:
    """Five issues for agents in which one holds two back, one for people, one claimed."""
    github.add_issue(1, "Round the totals", labels=QUEUED)
    github.add_issue(2, "Draw the schema", labels=QUEUED)
    github.add_issue(3, "Load the schema", labels=QUEUED, blocked_by=[2])
    github.add_issue(4, "Check the schema", labels=QUEUED, blocked_by=[3])
    github.add_issue(5, "Choose a name", labels=["ready", "hitl"])
    github.add_issue(6, "Fix the login", labels=["afk", "in-progress"], assignees=["ada"])
    plant(github.server, "issue-6", "chain-ada", operator="ada", branch="6-login")


def test_ready_lists_what_frees_most_first_then_why_the_rest_is_not(octo: ForkedAgent, busy: None) -> None:
    assert shown(octo.claim("ready")) == block("""
        exit 0
        --- stdout
        READY          UNBLOCKS  TITLE
        acme/ledger#2  2         Draw the schema
        acme/ledger#1  0         Round the totals
        ITEM           NOT READY                         TITLE
        acme/ledger#3  blocked by #2, which is open      Load the schema
        acme/ledger#4  blocked by #3, which is open      Check the schema
        acme/ledger#5  waiting for a human (label hitl)  Choose a name
        acme/ledger#6  claimed by chain-ada              Fix the login
        --- stderr
        acme/ledger: 2 ready, 1 at work, looks gone: 6, for a human now: 5
        """)


def test_document_of_ready_says_the_same(octo: ForkedAgent, busy: None) -> None:
    answer = octo.claim("ready", "--json", check=0)
    assert set(answer.json) == {
        *("ok", "state", "ready", "waiting", "repositories", "cycles", "skipped", "left_out", "next")
    }
    assert (answer.at("ok"), answer.at("state"), answer.at("next")) == (True, "ready", ["git claim next --take"])
    first = answer.at("ready", 0)
    assert isinstance(first, dict) and first.pop("url").endswith("/acme/ledger/issues/2")
    assert first == {"item": "issue-2", "repo": HOME, "title": "Draw the schema", "unblocks": 2}
    waiting = answer.at("waiting", 0)
    assert isinstance(waiting, dict) and set(waiting) == {"item", "repo", "title", "url", "reasons"}
    assert waiting["reasons"] == [{"code": "blocked-open", "detail": "#2"}]
    assert answer.at("repositories") == [
        {"repo": HOME, "ready": 2, "agents": 1, "zombies": ["issue-6"], "for_people": ["issue-5"]}
    ]


@pytest.mark.parametrize(
    ("arrange", "code", "words"),
    [
        (lambda it: it.assign(42, "ada"), "assigned", "assigned to ada"),
        (lambda it: it.assign(42, "octo"), "assigned", "assigned to octo"),
        (lambda it: it.label(42, "hold"), "hold", "held (label hold)"),
        (lambda it: it.label(42, "hitl"), "waiting-for-human", "waiting for a human (label hitl)"),
        (lambda it: it.label(42, "blocked"), "blocked-label", "blocked (label blocked)"),
        (lambda it: it.label(42, "ci-monitoring"), "ci-monitoring", "done, CI still runs (label ci-monitoring)"),
        (lambda it: it.label(42, "in-progress"), "foreign-label", "has the label in-progress without a claim"),
        (lambda it: it.issue(42).labels.remove("ready"), "no-ready-label", "has no label ready"),
        (lambda it: it.issue(42).labels.remove("afk"), "half-triaged", "half-triaged: neither afk nor hitl"),
        (
            lambda it: it.comment(42, "bob", "<!-- claude-lock: operator=bob worktree=/w at=now -->"),
            "foreign-marker",
            "locked in a comment by bob",
        ),
        (lambda it: blocked(it, 7), "blocked-open", "blocked by #7, which is open"),
        (
            lambda it: blocked(it, 7, closed="NOT_PLANNED"),
            "blocked-not-planned",
            "blocked by #7, which was closed but not as completed",
        ),
        (
            lambda it: blocked_elsewhere(it),
            "blocked-elsewhere",
            "blocked by acme/web#3, which is open in another repository",
        ),
        (lambda it: plant(it.server, "issue-42", "chain-bob"), "claimed", "claimed by chain-bob"),
        (
            lambda it: it.server.plant_bytes("issue-42", b"nonsense"),
            "claimed",
            "claimed by somebody whose record cannot be read",
        ),
    ],
)
def test_every_reason_is_given_with_its_code_and_whom_it_names(
    arrange: Callable[[GitHub], object], code: str, words: str, github: GitHub, octo: ForkedAgent
) -> None:
    github.add_issue(42, "Fix the totals", labels=QUEUED)
    arrange(github)
    assert codes(octo) == [code]
    answer = octo.claim("ready")
    assert answer.status == 1 and re.search(rf"acme/ledger#42  {re.escape(words)} +Fix the totals\n", answer.stdout)


def blocked(github: GitHub, number: int, closed: Literal["NOT_PLANNED"] | None = None) -> None:
    github.add_issue(number)
    github.issue(42).blockers = [(HOME, number)]
    if closed:
        github.close(number, closed)


def blocked_elsewhere(github: GitHub) -> None:
    github.add_repository(WEB)
    github.add_issue(3, repo=WEB)
    github.issue(42).blockers = [(WEB, 3)]


def test_all_reasons_of_an_issue_stand_in_one_line(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, "Fix the totals", labels=["hold", "hitl", "ready"], assignees=["ada"])
    assert codes(octo) == ["assigned", "waiting-for-human", "hold"]
    assert "assigned to ada; waiting for a human (label hitl); held (label hold)" in octo.claim("ready").stdout


def test_cycle_is_named_in_every_member(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(1, labels=QUEUED, blocked_by=[2])
    github.add_issue(2, labels=QUEUED, blocked_by=[1])
    answer = octo.claim("ready", "--json")
    assert (answer.status, answer.at("state")) == (1, "all-blocked")
    assert answer.at("cycles") == [["acme/ledger#1", "acme/ledger#2"]]
    assert "in a dependency cycle with #1, #2" in octo.claim("ready").stdout


def test_issue_of_which_the_list_shows_too_little_is_read_by_its_number(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, labels=QUEUED, blocked_by=range(100, 130))
    for number in range(100, 130):
        github.add_issue(number)
        github.close(number)
    github.forget_requests()
    assert numbers(octo.claim("ready", "--json", check=0).json["ready"]) == ["issue-42"]
    assert len(github.requests) == 2


# States


@pytest.mark.parametrize("words", ["ready", "next", "next --take"])
def test_server_that_tells_no_blockers_is_no_reason_to_wait(words: str, github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(1, labels=["ready", "afk"])
    github.mood("no-blockers")
    answer = octo.claim(*words.split())
    assert answer.status == 1 and "its blockers cannot be read here" in answer.stdout + answer.stderr, answer
    assert "hint: waiting does not help: " in answer.stderr and "--wait" not in answer.stderr, answer


@pytest.mark.parametrize(
    ("arrange", "state"),
    [
        (lambda it: None, "drained"),
        (lambda it: it.add_issue(1, labels=["ready", "hitl"]), "hitl-only"),
        (lambda it: it.add_issue(1, labels=["ready", "afk"], assignees=["ada"]), "all-claimed"),
        (lambda it: it.add_issue(1, labels=["ready", "afk", "hold"]), "all-blocked"),
    ],
    ids=["drained", "hitl-only", "all-claimed", "all-blocked"],
)
def test_nothing_ready_is_no_error_but_a_no_with_its_state(
    arrange: Callable[[GitHub], object], state: str, github: GitHub, octo: ForkedAgent
) -> None:
    arrange(github)
    answer = octo.claim("ready")
    assert answer.status == 1 and f"error: nothing is ready: {state}\nhint: " in answer.stderr, answer
    found = octo.claim("ready", "--json")
    assert (found.status, found.at("ok"), found.at("state"), found.at("next")) == (1, False, state, [])


def test_repository_without_queue_labels_says_how_to_make_them(github: GitHub, octo: ForkedAgent) -> None:
    for label in ("ready", "afk", "hitl"):
        github.drop_label(label)
    github.add_issue(1, labels=[])
    answer = octo.claim("ready")
    assert answer.status == 1 and "nothing is ready: drained" in answer.stderr
    assert "acme/ledger was skipped: it has no queue labels; 'git claim init --labels' makes them\n" in answer.stderr
    octo.claim("init", "--labels", check=0)
    assert "was skipped" not in octo.claim("ready").stderr


@pytest.mark.parametrize("words", ["ready", "next --take", "next --wait=1s"])
def test_repository_without_a_tracker_has_no_queue(words: str, github: GitHub, octo: ForkedAgent) -> None:
    (octo.clone.path / ".claims.toml").write_text('tracker = "none"\n')
    answer = octo.claim(*words.split(), "--json")
    assert (answer.status, answer.at("reason")) == (128, "no-tracker")
    assert answer.at("error") == "there is no tracker here, so there is no queue"
    assert github.requests == []


def test_tracker_that_is_down_is_not_an_empty_queue(github: GitHub, octo: ForkedAgent) -> None:
    github.mood("down")
    answer = octo.claim("ready", "--json")
    assert (answer.status, answer.at("reason")) == (3, "tracker-server")


# The graph


def test_graph_alone_is_mermaid_with_ready_and_claimed_marked(octo: ForkedAgent, busy: None) -> None:
    assert octo.claim("ready", "--graph", check=0).stdout == block("""
        flowchart LR
            n0["#35;1 Round the totals"]:::ready
            n1["#35;2 Draw the schema"]:::ready
            n2["#35;3 Load the schema"]
            n3["#35;4 Check the schema"]
            n4["#35;6 Fix the login"]:::claimed
            n1 --> n2
            n2 --> n3
            classDef ready fill:#d4f7d4,stroke:#1a7f37,color:#000000
            classDef claimed fill:#fff3c4,stroke:#9a6700,color:#000000
        """)


def test_graph_for_graphviz(octo: ForkedAgent, busy: None) -> None:
    lines = octo.claim("ready", "--graph=dot", check=0).stdout.splitlines()
    assert (lines[0], lines[-1]) == ("digraph queue {", "}")
    assert "    n1 -> n2;" in lines
    assert any(line.startswith('    n1 [label="#2 Draw the schema", class="ready"') for line in lines)


def test_graph_of_an_unknown_kind_is_a_wrong_command_line(octo: ForkedAgent) -> None:
    assert octo.claim("ready", "--graph=png").status == 2
