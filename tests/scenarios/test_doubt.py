"""Pushes of which nobody can say at first whether they landed: the server's ref settles it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.agents import Answer
from tests.forked import ForkedAgent, race_forked
from tests.places import ABSENT, CLAIMS, Server, make_clone
from tests.proxy import Weather, black_hole, proxy
from tests.scenarios.conftest import MakeForked
from tests.scenarios.oracle import history, holders, is_thorough, told
from tests.transports import TRANSPORTS, Transport, serve

TAKE = ("take", "42", "--json")


def killed_then_lost(server: Server) -> None:
    server.killed_before()
    server.reply_lost()


WRONGED: dict[str, Callable[[Server], None]] = {
    "reply lost": lambda server: server.reply_lost(),
    "reply torn": lambda server: server.reply_torn(),
    "killed before": lambda server: server.killed_before(),
    "killed before and reply lost": killed_then_lost,
}


@pytest.mark.parametrize("wrong", WRONGED)
@pytest.mark.parametrize("name", TRANSPORTS)
def test_take_is_a_win_whatever_the_connection_did(
    server: Server, make_forked: MakeForked, name: str, wrong: str
) -> None:
    with serve(name, server) as transport:
        agent = make_forked(transport)
        WRONGED[wrong](server)
        answer = agent.claim(*TAKE)
    assert (answer.status, told(answer)) == (0, {"issue-42": "claimed"}), answer
    assert history(server, "issue-42") == [told(answer, "claim", "oid")["issue-42"]]


def test_release_whose_reply_is_lost_is_a_release(server: Server, runner: ForkedAgent) -> None:
    runner.claim("take", "42", check=0)
    server.reply_lost()
    answer = runner.claim("release", "42", "--json")
    assert (answer.status, told(answer)) == (0, {"issue-42": "released"}), answer
    assert history(server, "issue-42")[-1] == ABSENT


def test_claims_of_one_push_that_lost_its_reply_are_all_settled(server: Server, runner: ForkedAgent) -> None:
    # The refs of a push that is not atomic land one by one: the first had landed, the rest had not.
    server.reply_lost()
    answer = runner.claim("take", "42", "43", "44", "--json")
    assert (answer.status, set(told(answer).values())) == (0, {"claimed"}), answer
    assert {CLAIMS + name: oid for name, oid in told(answer, "claim", "oid").items()} == server.refs()


def test_server_that_always_dies_first_is_a_refusal_that_changed_nothing(server: Server, runner: ForkedAgent) -> None:
    server.killed_before(times=20)
    answer = runner.claim(*TAKE)
    assert (answer.status, told(answer)) == (128, {"issue-42": "refused"}), answer
    assert server.refs() == {}
    server.calm()
    assert told(runner.claim(*TAKE, check=0)) == {"issue-42": "claimed"}


def test_racers_that_all_lose_their_replies_agree_on_the_winner(server: Server, make_forked: MakeForked) -> None:
    server.reply_lost(times=4)
    answers = race_forked([(make_forked(), TAKE) for _ in range(4)])
    (oid,) = history(server, "issue-42")
    assert sorted(str(told(answer)["issue-42"]) for answer in answers) == ["claimed", "held", "held", "held"]
    assert {str(told(answer, "rival", "oid")["issue-42"]) for answer in answers if answer.status} == {oid}


# Over 3 s: a network that loses nearly half of all connections costs many tries.
def test_one_wins_each_round_behind_a_network_that_loses_requests_and_replies(
    server: Server, make_forked: MakeForked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.proxy.SILENCE_SECONDS", 0.3)
    weather = Weather(request_lost=0.2, reply_lost=0.25, turn=2, seed=7)
    items = [f"issue-{number}" for number in range(1, 1 + (20 if is_thorough() else 5))]
    with serve("git", server) as transport:
        port = int(transport.url.split(":")[2].partition("/")[0])
        with proxy("127.0.0.1", port, weather) as network:
            behind = Transport("proxy", f"git://127.0.0.1:{network.port}/{server.path.name}")
            agents = [make_forked(behind) for _ in range(3)]
            for item in items:
                assert_one_wins(server, item, agents)
    assert len(set(network.faults)) == 3, "both faults and none must have happened"


def assert_one_wins(server: Server, item: str, agents: list[ForkedAgent]) -> None:
    """Whoever could not tell asks again, which is what the answer says."""
    answers = race_forked([(agent, ("take", item, "--json")) for agent in agents])
    final = [ask_until_told(agent, item, answer) for agent, answer in zip(agents, answers, strict=True)]
    (oid,) = history(server, item)
    winners = [agent.chain for agent, answer in zip(agents, final, strict=True) if answer.status == 0]
    assert winners == [holders(server)[item]], final
    assert {told(answer, "claim" if answer.status == 0 else "rival", "oid")[item] for answer in final} == {oid}


def ask_until_told(agent: ForkedAgent, item: str, answer: Answer) -> Answer:
    for _ in range(20):
        if answer.status != 3:
            return answer
        assert told(answer) in ({item: "unknown"}, {}), answer
        answer = agent.claim("take", item, "--json")
    raise AssertionError(f"never told: {answer}")


@pytest.mark.parametrize("scheme", ["git", "http"])
def test_silence_is_never_shown_as_free_or_lost(server: Server, make_forked: MakeForked, scheme: str) -> None:
    held = server.plant_claim("issue-43", "chain-rival")
    with black_hole() as port:
        agent = make_forked(Transport("hole", f"{scheme}://127.0.0.1:{port}/server.git"))
        agent.clone.config("claim.timeout", "1s")
        words = [TAKE, ("release", "42"), ("renew", "42"), ("ls",), ("check", "43"), ("show", "43")]
        answers = race_forked([(agent, command) for command in words])
    assert [answer.status for answer in answers] == [3] * len(words), answers
    assert told(answers[0]) == {"issue-42": "unknown"}
    assert not any("not claimed" in answer.stderr for answer in answers)
    assert server.refs() == {f"{CLAIMS}issue-43": held}


def test_outcome_that_nobody_could_tell_is_found_again(server: Server, make_forked: MakeForked) -> None:
    # The push lands, then the server is gone: neither the reply nor the question after it gets through.
    door = server.path.with_name("door.git")
    door.symlink_to(server.path)
    agent = make_forked(Transport("door", str(door)))
    server.reply_lost(closing=door)
    assert told(agent.claim(*TAKE, check=3)) == {"issue-42": "unknown"}
    door.symlink_to(server.path)
    again = agent.claim(*TAKE, check=0)
    assert told(again) == {"issue-42": "already-yours"}
    assert history(server, "issue-42") == [told(again, "claim", "oid")["issue-42"]]


def test_claim_of_a_lost_clone_is_found_again_by_its_chain(server: Server, runner: ForkedAgent) -> None:
    runner.claim("take", "42", check=0)
    clone = make_clone(server, runner.clone.path.parent, "new-clone")
    heir = ForkedAgent(clone, runner.chain)
    assert told(heir.claim(*TAKE, check=0)) == {"issue-42": "already-yours"}
    assert told(heir.claim("release", "--all", "--json", check=0)) == {"issue-42": "released"}
