"""Many processes ask for one item at the same moment: one winner, and every loser is told who that is."""

from __future__ import annotations

import pytest

from tests.agents import Answer, race
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked, race_forked
from tests.places import CLAIMS, Server
from tests.scenarios.oracle import chain_in, history, holders, is_thorough, told
from tests.transports import TRANSPORTS, Transport, serve

RACERS = 8
ROUNDS = 20
# A round over ssh is eight handshakes, two seconds of work.
QUICK_ROUNDS = {"path": 20, "git": 5, "http": 5, "ssh": 3}


def racers(make_agent: MakeAgent, transport: Transport, number: int = RACERS) -> list[ForkedAgent]:
    made = [forked(make_agent(url=transport.url)) for _ in range(number)]
    for agent in made:
        agent.environment |= transport.environment
    return made


def assert_one_winner(server: Server, name: str, answers: list[Answer]) -> None:
    """One claimed, with the id that the server has; the others name its chain and that id."""
    oid, chain = server.refs(CLAIMS + name)[CLAIMS + name], chain_in(server.claim_text(name))
    won = [answer for answer in answers if answer.status == 0]
    lost = [answer for answer in answers if answer.status != 0]
    assert [(told(answer), told(answer, "claim", "oid")) for answer in won] == [({name: "claimed"}, {name: oid})], name
    assert won[0].at("items", 0, "claim", "chain") == chain
    for answer in lost:
        assert (answer.status, told(answer)) == (1, {name: "held"}), answer
        assert (told(answer, "rival", "oid"), told(answer, "rival", "chain")) == ({name: oid}, {name: chain}), answer


# Over 3 s: 160 processes, or over a network as many as the time allows; all of them in CI and under the deep profile.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TRANSPORTS)
def test_one_of_eight_wins_every_round(server: Server, make_agent: MakeAgent, name: str) -> None:
    items = [f"issue-{number}" for number in range(1, 1 + (ROUNDS if is_thorough() else QUICK_ROUNDS[name]))]
    with serve(name, server) as transport:
        agents = racers(make_agent, transport)
        for item in items:
            assert_one_winner(server, item, race_forked([(agent, ("take", item, "--json")) for agent in agents]))
    moves = [move for move in server.transcript() if move.ref.startswith(CLAIMS)]
    assert [move.ref for move in moves] == [CLAIMS + item for item in items]


def test_one_of_eight_whole_programs_wins(server: Server, make_agent: MakeAgent) -> None:
    # Nothing forked: eight interpreters, as eight shells would start them.
    assert_one_winner(server, "issue-7", race([make_agent() for _ in range(RACERS)], "7", "--json"))
    assert len(history(server, "issue-7")) == 1


def test_items_of_a_race_are_won_one_by_one(server: Server, make_agent: MakeAgent) -> None:
    agents = [forked(make_agent()) for _ in range(4)]
    orders = (("1", "2", "3"), ("3", "2", "1"), ("2", "3", "1"), ("1", "3", "2"))
    answers = race_forked([(agent, ("take", *order, "--json")) for agent, order in zip(agents, orders, strict=True)])
    won = [(item, chain) for answer in answers for item, chain in told(answer, "claim", "chain").items() if chain]
    assert dict(won) == holders(server)
    assert len(won) == 3


def test_bundles_of_a_race_are_won_whole(server: Server, make_agent: MakeAgent) -> None:
    # Any two of these bundles share an item, so that of all of them exactly one can be had.
    agents = [forked(make_agent()) for _ in range(3)]
    bundles = (("1", "2"), ("2", "3"), ("3", "1"))
    words = [("take", lead, "--bundle", sibling, "--json") for lead, sibling in bundles]
    answers = race_forked(list(zip(agents, words, strict=True)))
    (winner,) = [answer for answer in answers if answer.status == 0]
    assert told(winner, "claim", "chain") == holders(server)
    assert [len(history(server, name)) for name in holders(server)] == [1, 1]


def test_same_chain_twice_at_once_claims_once(server: Server, make_agent: MakeAgent) -> None:
    # In one clone, where only the nonce tells what they push apart.
    twin = forked(make_agent())
    answers = race_forked([(twin, ("take", "42", "--json"))] * 4)
    (oid,) = history(server, "issue-42")
    assert sorted(str(told(answer)["issue-42"]) for answer in answers) == ["already-yours"] * 3 + ["claimed"]
    assert {told(answer, "claim", "oid")["issue-42"] for answer in answers} == {oid}


def test_takers_never_get_in_while_others_take_over(server: Server, make_agent: MakeAgent) -> None:
    server.plant_claim("issue-42", "chain-gone")
    agents = [forked(make_agent()) for _ in range(8)]
    for agent in agents:
        (agent.clone.path / ".claims.toml").write_text('take.force = "allow"\n')
    force = ("take", "42", "--force", "--reason", "gone", "--json")
    answers = race_forked(
        [(agent, force if place % 2 else ("take", "42", "--json")) for place, agent in enumerate(agents)]
    )
    taken_over = [answer for answer in answers if told(answer) == {"issue-42": "taken-over"}]
    assert all(told(answer) == {"issue-42": "held"} for answer in answers if answer not in taken_over)
    # Each replaced exactly the claim that it had seen, so the moves are as many as those who were told yes.
    assert len(taken_over) >= 1
    assert len(history(server, "issue-42")) == 1 + len(taken_over)
