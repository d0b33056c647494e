"""Claims that change hands between processes: hand-off, adoption, take-over, reclaim."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.agents import at_terminal
from tests.forked import ForkedAgent, race_forked
from tests.places import ABSENT, Server
from tests.scenarios.conftest import MakeForked
from tests.scenarios.oracle import history, holders, told

FORCE = ("--force", "--reason", "gone home", "--json")


@pytest.fixture
def other(make_forked: MakeForked) -> ForkedAgent:
    """A second agent that may break claims without a person."""
    agent = make_forked()
    (agent.clone.path / ".claims.toml").write_text('take.force = "allow"\n')
    agent.clone.config("claim.allowReclaimWithoutTerminal", "true")
    return agent


def test_hand_off_makes_the_successor_holder_at_once(server: Server, runner: ForkedAgent, other: ForkedAgent) -> None:
    runner.claim("take", "42", "--branch", "42-fix", check=0)
    runner.claim("hand-off", "42", "--to", other.chain or "", "--phase", "review", check=0)
    assert other.claim("check", "42").status == 0
    assert runner.claim("release", "42").status == 1
    assert {"branch=42-fix", "phase=review"} <= set(server.claim_text("issue-42").splitlines())
    other.claim("release", "42", check=0)
    assert history(server, "issue-42")[2:] == [ABSENT]


def test_chain_of_three_steps_never_frees_the_item(server: Server, make_forked: MakeForked) -> None:
    steps = [make_forked() for _ in range(3)]
    steps[0].claim("take", "42", "--phase", "plan", check=0)
    for phase, (step, following) in {"build": steps[:2], "review": steps[1:]}.items():
        step.claim("hand-off", "42", "--to", following.chain or "", check=0)
        assert told(following.claim("take", "42", "--phase", phase, "--json", check=0)) == {"issue-42": "renewed"}
    assert len(history(server, "issue-42")) == 5


def test_successor_that_names_the_predecessor_adopts_branch_and_phase(server: Server, other: ForkedAgent) -> None:
    gone = server.plant_claim("issue-42", "chain-gone", branch="42-fix", phase="build")
    assert other.claim("adopt", "42", "--from", "chain-else").status == 1
    assert told(other.claim("adopt", "42", "--from", "chain-gone", "--json", check=0)) == {"issue-42": "adopted"}
    record = set(server.claim_text("issue-42").splitlines())
    assert {f"chain={other.chain}", "branch=42-fix", "phase=build", f"previous={gone}"} <= record


def test_one_of_several_adopters_of_a_dead_claim_gets_it(server: Server, make_forked: MakeForked) -> None:
    server.plant_claim("issue-42", "chain-gone")
    agents = [make_forked() for _ in range(4)]
    answers = race_forked([(agent, ("adopt", "42", "--from", "chain-gone", "--json")) for agent in agents])
    (winner,) = [agent.chain for agent, answer in zip(agents, answers, strict=True) if answer.status == 0]
    assert holders(server) == {"issue-42": winner}
    assert {told(answer, "rival", "chain")["issue-42"] for answer in answers if answer.status} == {winner}
    assert len(history(server, "issue-42")) == 2


def test_release_of_a_claim_taken_over_meanwhile_is_refused(
    server: Server, runner: ForkedAgent, other: ForkedAgent
) -> None:
    runner.claim("take", "42", check=0)
    assert told(other.claim("take", "42", *FORCE, check=0)) == {"issue-42": "taken-over"}
    for command in (("release", "42"), ("release", "--all"), ("renew", "42"), ("hand-off", "42", "--to", "chain-x")):
        runner.claim(*command)
    answer = runner.claim("release", "42", "--json")
    assert (answer.status, told(answer)) == (1, {"issue-42": "not-yours"}), answer
    assert "gone home" in server.claim_text("issue-42")
    assert len(history(server, "issue-42")) == 2


def test_release_and_take_over_at_once_leave_one_answer(
    server: Server, make_forked: MakeForked, other: ForkedAgent
) -> None:
    holder = make_forked()
    holder.claim("take", "42", check=0)
    released, taken = race_forked([(holder, ("release", "42", "--json")), (other, ("take", "42", *FORCE))])
    # Whoever was first, the other was told: either the item was freed and then claimed, or the release came late.
    assert told(taken)["issue-42"] in ("taken-over", "claimed")
    assert told(released)["issue-42"] == ("not-yours" if told(taken) == {"issue-42": "taken-over"} else "released")
    assert holders(server) == {"issue-42": other.chain}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["renew first", "take-over first"])
def test_renewal_and_take_over_at_once_never_lose_the_claim(
    server: Server, make_forked: MakeForked, other: ForkedAgent, order: Sequence[int]
) -> None:
    holder = make_forked()
    holder.claim("take", "42", check=0)
    runs = [(holder, ("renew", "42", "--json")), (other, ("take", "42", *FORCE))]
    answers = dict(zip(order, race_forked([runs[place] for place in order]), strict=True))
    renewed, taken = answers[0].status == 0, answers[1].status == 0
    # A take-over is of the claim that was seen: a renewal in between makes it another one.
    assert renewed or taken
    assert holders(server) == {"issue-42": other.chain if taken else holder.chain}
    assert len(history(server, "issue-42")) == 1 + renewed + taken


def test_two_reclaimers_free_the_claim_they_saw_and_no_other(server: Server, make_forked: MakeForked) -> None:
    seen = server.plant_claim("issue-42", "chain-gone")
    people = [make_forked() for _ in range(2)]
    for person in people:
        person.clone.config("claim.allowReclaimWithoutTerminal", "true")
    taker = make_forked()
    runs = [*((person, ("reclaim", "42", "--json")) for person in people), (taker, ("take", "42", "--json"))]
    *reclaimed, taken = race_forked(runs)
    # Both may say that it is freed, for a delete has no mark of who made it. The taker, if it was quick enough to
    # get the item in between, keeps it.
    outcomes = {told(answer)["issue-42"] for answer in reclaimed}
    assert "reclaimed" in outcomes and outcomes <= {"reclaimed", "gone", "held"}
    after = list(server.refs().values())
    assert server.chain_of("refs/claims/issue-42") == [seen, ABSENT, *after]
    assert holders(server) == ({"issue-42": taker.chain} if taken.status == 0 else {})


def test_late_reclaimer_leaves_the_claim_of_a_newcomer(server: Server, other: ForkedAgent) -> None:
    server.plant_claim("issue-42", "chain-gone")
    server.rival_in_the_gap("issue-42", "chain-newcomer")
    answer = other.claim("reclaim", "42", "--json")
    assert (answer.status, told(answer, "reason")) == (1, {"issue-42": "changed-meanwhile"}), answer
    assert holders(server) == {"issue-42": "chain-newcomer"}


def test_person_reclaims_at_a_terminal_what_is_typed_back(server: Server, runner: ForkedAgent) -> None:
    server.plant_claim("issue-42", "chain-gone")
    assert runner.claim("reclaim", "42").status == 1
    assert at_terminal(runner, "reclaim", "42", answers="43\n").status == 1
    assert holders(server) == {"issue-42": "chain-gone"}
    assert at_terminal(runner, "reclaim", "42", answers="42\n").status == 0
    assert history(server, "issue-42")[1:] == [ABSENT]
