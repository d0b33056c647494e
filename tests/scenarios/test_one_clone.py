"""Many agents in one clone: linked worktrees with lanes of their own, and several in the one main worktree."""

from __future__ import annotations

from tests.agents import Answer
from tests.forked import ForkedAgent, race_forked
from tests.places import Clone, Server
from tests.scenarios.oracle import holders

STEPS = (
    "take {own}",
    "ls",
    "take 99",
    "renew {own}",
    "check {own}",
    "take {own} 7",
    "ls --mine",
    "release --all",
    "ls",
)
CONTESTED = ("take 99", "take {own} 7")


def crowd(clone: Clone) -> list[ForkedAgent]:
    """Three in linked worktrees, whose chains are minted, and three in the main worktree, who bring theirs."""
    linked = [ForkedAgent(clone.worktree(f"lane-{number}"), None) for number in range(3)]
    return [*linked, *(ForkedAgent(clone, f"chain-{number}") for number in range(3))]


def test_six_agents_in_one_clone_never_get_into_each_others_way(server: Server, clone: Clone) -> None:
    # Over 3 s: more than fifty processes. Each agent begins a step later than the one before, so that steps mix.
    agents = crowd(clone)
    for turn in range(len(STEPS) + len(agents) - 1):
        busy = [place for place in range(len(agents)) if 0 <= turn - place < len(STEPS)]
        steps = [STEPS[turn - place] for place in busy]
        runs = [(agents[place], words(step, place)) for place, step in zip(busy, steps, strict=True)]
        for step, answer in zip(steps, race_forked(runs), strict=True):
            assert answer.status in ((0, 1) if step in CONTESTED else (0,)), f"{step}: {answer}"
    assert (holders(server), clone.refs()) == ({}, {})
    # Claimed, renewed, given up: nobody else touched it.
    assert [len(server.chain_of(f"refs/claims/issue-{10 + place}")) for place in range(6)] == [3] * 6


def test_agents_of_one_clone_race_like_any_others(server: Server, clone: Clone) -> None:
    agents = crowd(clone)
    answers = race_forked([(agent, ("take", "42", "--json")) for agent in agents])
    (winner,) = [answer for answer in answers if answer.status == 0]
    assert holders(server) == {"issue-42": winner.at("items", 0, "claim", "chain")}
    assert [answer.status for answer in answers].count(1) == 5
    assert clone.refs() == server.refs()


def test_listings_of_one_clone_at_once_all_see_everything(server: Server, clone: Clone) -> None:
    agents = crowd(clone)
    for number in range(1, 21):
        server.plant_claim(f"issue-{number}", "chain-elsewhere")
    answers = race_forked([(agent, ("ls", "--json")) for agent in agents])
    assert [len(listed(answer)) for answer in answers] == [20] * 6


def listed(answer: Answer) -> list[object]:
    claims = answer.json["claims"]
    assert isinstance(claims, list), answer
    return claims


def words(step: str, place: int) -> list[str]:
    return step.format(own=str(10 + place)).split()
