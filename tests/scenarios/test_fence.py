"""The fence: work lands together with a renewal of the claim it rests on, or not at all, whatever the server does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents import MODES, Crasher, crash
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked
from tests.places import CLAIMS, Clone, Server, make_server, run_git
from tests.proxy import Fault, Weather, proxy
from tests.scenarios.fencing import (
    BRANCH,
    CLAIM,
    RIVAL,
    THEFTS,
    Lane,
    Theft,
    assert_nothing_landed,
    open_lane,
    push,
    rival_of,
    served,
    transactions,
)
from tests.scenarios.oracle import chain_in, holders, is_thorough
from tests.transports import TRANSPORTS, serve


@pytest.fixture
def lane(make_agent: MakeAgent) -> Lane:
    return open_lane(forked(make_agent()))


@pytest.mark.parametrize("name", TRANSPORTS)
def test_branch_and_claim_land_in_one_transaction(server: Server, lane: Lane, name: str) -> None:
    held = server.refs()[CLAIM]
    with served(name, server, lane.agent):
        answer = push(lane.agent)
    assert (answer.status, answer.at("landed")) == (0, True), answer
    assert server.refs(BRANCH) == {BRANCH: lane.head}
    assert transactions(server)[-1] == {BRANCH, CLAIM}
    assert server.refs()[CLAIM] != held
    assert f"previous={held}\n" in server.claim_text("issue-42")
    assert answer.at("items", 0, "claim", "oid") == server.refs()[CLAIM]


# Over 3 s over ssh: every exchange is a handshake.
@pytest.mark.parametrize("name", TRANSPORTS)
@pytest.mark.parametrize("theft", THEFTS, ids=lambda theft: theft.__name__.replace("_", " "))
def test_nothing_lands_once_the_claim_has_moved(server: Server, lane: Lane, theft: Theft, name: str) -> None:
    with served(name, server, lane.agent):
        answer = theft(server, lane.agent)
    rival = server.refs().get(CLAIM)
    assert rival is None or chain_in(server.claim_text("issue-42")) == RIVAL
    assert_nothing_landed(server, lane, answer, rival)
    # The work is where it was, to be handed on or thrown away by whoever did it.
    assert lane.agent.clone.git("status", "--porcelain").stdout == ""
    assert lane.head != lane.pushed


def test_new_branch_does_not_land_either(server: Server, make_agent: MakeAgent) -> None:
    agent = forked(make_agent())
    path = agent.claim("start", "42", check=0).stdout.strip()
    server.rival_in_the_gap("issue-42", RIVAL)
    answer = ForkedAgent(Clone(Path(path), server, linked=True), None).claim("push", "--json")
    assert (answer.status, server.refs(BRANCH), holders(server)) == (1, {}, {"issue-42": RIVAL})


def test_stolen_sibling_stops_a_bundle_as_a_whole(server: Server, lane: Lane) -> None:
    lane.agent.claim("42", "--bundle", "43", check=0)
    held = server.refs()[CLAIM]
    server.rival_in_the_gap("issue-43", RIVAL)
    answer = push(lane.agent)
    assert server.refs(BRANCH) == {BRANCH: lane.pushed}
    assert (server.refs()[CLAIM], holders(server)["issue-43"]) == (held, RIVAL)
    assert (answer.status, answer.at("landed")) == (1, False)
    assert [answer.at("items", place, "outcome") for place in (0, 1)] == ["not-renewed", "not-yours"]


def test_bundle_lands_in_one_transaction(server: Server, lane: Lane) -> None:
    lane.agent.claim("42", "--bundle", "43", check=0)
    assert push(lane.agent).status == 0
    assert transactions(server)[-1] == {BRANCH, CLAIM, f"{CLAIMS}issue-43"}


def test_claim_renewed_by_its_own_chain_in_the_gap_is_no_theft(server: Server, lane: Lane) -> None:
    chain = chain_in(server.claim_text("issue-42"))
    server.rival_in_the_gap("issue-42", chain)
    answer = push(lane.agent)
    assert (answer.status, server.refs(BRANCH)) == (0, {BRANCH: lane.head}), answer
    assert transactions(server)[-1] == {BRANCH, CLAIM}


def test_claim_that_keeps_moving_lands_nothing(server: Server, lane: Lane) -> None:
    chain = chain_in(server.claim_text("issue-42"))
    server.rival_in_the_gap("issue-42", chain, times=9)
    answer = push(lane.agent)
    assert (answer.status, server.refs(BRANCH)) == (1, {BRANCH: lane.pushed}), answer
    assert holders(server) == {"issue-42": chain}


def test_sha256_repository_is_fenced_as_well(tmp_path: Path) -> None:
    path = tmp_path / "sha256.git"
    run_git(tmp_path, "init", "--quiet", "--bare", "--object-format=sha256", "--initial-branch=main", str(path))
    run_git(tmp_path, "init", "--quiet", "--object-format=sha256", "--initial-branch=main", "sha256-clone")
    agent = ForkedAgent(Clone(tmp_path / "sha256-clone", Server(path, str(path))), "chain-me")
    agent.clone.git("remote", "add", "origin", str(path))
    agent.clone.commit("first")
    agent.clone.git("push", "--quiet", "origin", "main")
    lane = open_lane(agent)
    assert len(lane.pushed) == 64
    agent.clone.server.plant(CLAIM, rival_of(agent.clone.server))
    answer = push(lane.agent)
    assert (answer.status, agent.clone.server.refs(BRANCH)) == (1, {BRANCH: lane.pushed})


# Replies that are lost


@pytest.mark.parametrize("name", TRANSPORTS)
def test_push_whose_reply_is_lost_is_found_to_have_landed(server: Server, lane: Lane, name: str) -> None:
    with served(name, server, lane.agent):
        server.reply_lost()
        answer = push(lane.agent)
    assert (answer.status, answer.at("landed"), answer.at("items", 0, "outcome")) == (0, True, "renewed"), answer
    assert server.refs(BRANCH) == {BRANCH: lane.head}
    assert len([move for move in server.transcript() if move.ref == CLAIM]) == 3


def test_push_whose_reply_is_torn_is_found_to_have_landed(server: Server, lane: Lane) -> None:
    server.reply_torn()
    answer = push(lane.agent)
    assert (answer.status, answer.at("landed"), server.refs(BRANCH)) == (0, True, {BRANCH: lane.head}), answer


@pytest.mark.parametrize("name", TRANSPORTS)
def test_push_of_which_nothing_is_heard_is_neither_landed_nor_lost(server: Server, lane: Lane, name: str) -> None:
    with served(name, server, lane.agent):
        server.killed_before()
        answer = push(lane.agent)
        assert (answer.status, answer.at("landed"), answer.at("items", 0, "outcome")) == (3, None, "unknown"), answer
        assert "cannot tell whether it was pushed" in answer.stderr
        assert server.refs(BRANCH) == {BRANCH: lane.pushed}
        again = push(lane.agent)
    assert (again.status, server.refs(BRANCH)) == (0, {BRANCH: lane.head}), again


def test_claim_taken_after_a_push_whose_reply_was_lost_leaves_open_what_landed(server: Server, lane: Lane) -> None:
    rival, landed = rival_of(server), lane.head
    (server.path / "armed").touch()
    committed = server.path / "hooks/reference-transaction"
    theft = f'if [ "$1" = committed ] && rm armed 2>/dev/null; then git update-ref {CLAIM} {rival}; kill -9 $PPID; fi\n'
    committed.write_text(committed.read_text() + theft)
    answer = push(lane.agent)
    assert (server.refs(BRANCH), holders(server)) == ({BRANCH: landed}, {"issue-42": RIVAL})
    assert (answer.status, answer.at("landed"), answer.at("items", 0, "outcome")) == (1, None, "not-yours"), answer
    assert f"cannot tell whether it was pushed: issue 'server#42' is claimed by '{RIVAL}'" in answer.stderr


@pytest.mark.parametrize(("fault", "lands"), [(Fault.REPLY_LOST, True), (Fault.REQUEST_LOST, False)])
@pytest.mark.parametrize("name", ["git", "http"])
def test_network_that_loses_words_does_not_lose_the_truth(
    server: Server, lane: Lane, name: str, fault: Fault, lands: bool
) -> None:
    # Over HTTP the list of refs is a connection of its own.
    plan, turn = ([fault], 2) if name == "git" else ([Fault.NONE, fault], 1)
    with serve(name, server) as transport:
        port = transport.url.split(":")[2].partition("/")[0]
        with proxy("127.0.0.1", int(port), Weather(plan=plan, turn=turn)) as network:
            lane.agent.clone.config("remote.origin.url", transport.url.replace(port, str(network.port)))
            # The claim's copy is known by its URL; without it the first connection would be a read.
            lane.agent.claim("ls", check=0)
            network.faults.clear()
            answer = push(lane.agent)
    assert server.refs(BRANCH) == {BRANCH: lane.head if lands else lane.pushed}, answer
    assert (answer.status, answer.at("landed")) == ((0, True) if lands else (3, None)), answer


# A client that dies


# Over 3 s: every child from the push on is a crash three times over, in CI every child of the command.
def test_push_killed_anywhere_lands_as_a_whole_or_not_at_all_and_may_be_repeated(
    tmp_path: Path, crasher: Crasher, make_agent: MakeAgent
) -> None:
    server = make_server(tmp_path, "crashes.git")
    lane = open_lane(forked(make_agent(server=server)))
    crash(crasher, lane.agent, 0, "before", "push", "--json")
    children = crasher.arguments()
    first = 1 if is_thorough() else next(place for place, words in enumerate(children, start=1) if "push" in words)
    for number in range(first, len(children) + 1):
        for mode in MODES:
            before = server.refs("refs/")
            head = lane.commit(f"{number}-{mode}")
            died = crash(crasher, lane.agent, number, mode, "push", "--json")
            after = server.refs("refs/")
            assert (after[BRANCH] == head) == (after[CLAIM] != before[CLAIM]), died
            assert died.answer.status in ((-9,) if mode != "lost" else (0, 3, 128)), died
            if mode == "lost" and died.answer.status == 0:
                assert after[BRANCH] == head, died
            again = push(lane.agent)
            assert (again.status, server.refs(BRANCH)) == (0, {BRANCH: head}), again
    assert chain_in(server.claim_text("issue-42")) == "chain-agent-1"
    assert lane.agent.clone.refs() == server.refs()
