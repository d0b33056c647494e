"""`git claim lanes`, `prune-lanes` and `release --remove-worktree`: what a clone works on, and what may go."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.agents import Answer
from tests.commands.lane import everything, lane_path, start, work
from tests.commands.telling import block, plant
from tests.forked import ForkedAgent
from tests.places import Server


def told(agent: ForkedAgent, answer: Answer) -> str:
    """The answer with the directory of lanes named, where the order of what stands in it counts."""
    return answer.transcript(lanes=str(lane_path(agent).parent))


def every_kind(agent: ForkedAgent, server: Server) -> None:
    """A lane in every state, one after the other."""
    mine, lost, released, freed, dirty, unpushed, gone = (start(agent, str(number)) for number in range(42, 49))
    work(mine)
    mine.claim("push", check=0)
    plant(server, "issue-43")
    released.claim("release", check=0)
    server.plant("refs/claims/issue-45", None)
    (dirty.clone.path / "README").write_text("changed\n")
    work(unpushed, "one")
    work(unpushed, "two")
    shutil.rmtree(gone.clone.path)
    assert (lost.clone.path, freed.clone.path) == (lane_path(agent, "43-work"), lane_path(agent, "45-work"))


# Over 3 s, as is each test with every kind of lane: seven of them are opened.
def test_lanes_are_listed_with_claim_and_what_is_unsaved(agent: ForkedAgent, server: Server) -> None:
    every_kind(agent, server)
    before = everything(agent.clone)
    answer = agent.claim("lanes")
    assert everything(agent.clone) == before
    assert told(agent, answer) == block("""
        exit 0
        --- stdout
        ITEM  CLAIM                                                        BRANCH   UNSAVED                        PATH
        42    mine                                                         42-work  -                              <lanes>/42-work
        43    lost to 'chain-rival' on blade since <time> (<age>)  43-work  -                              <lanes>/43-work
        44    released                                                     44-work  -                              <lanes>/44-work
        45    no claim                                                     45-work  -                              <lanes>/45-work
        46    mine                                                         46-work  uncommitted changes            <lanes>/46-work
        47    mine                                                         47-work  2 commits on no remote branch  <lanes>/47-work
        48    mine                                                         48-work  -                              <lanes>/48-work (gone)
        --- stderr
        """)  # noqa: E501 - a table is as wide as it is
    document = agent.claim("lanes", "--json")
    states = ["mine", "lost", "released", "no-claim", "mine", "mine", "mine"]
    assert [document.at("lanes", place, "state") for place in range(7)] == states
    assert [document.at("lanes", place, "gone") for place in range(7)] == [False] * 6 + [True]
    assert document.at("lanes", 1, "rival", "chain") == "chain-rival"
    assert document.at("lanes", 0) == {
        "items": ["issue-42"],
        "repo": "server",
        "path": str(lane_path(agent)),
        "branch": "42-work",
        "chain": "chain-agent-1",
        "state": "mine",
        "rival": None,
        "unsaved": None,
        "gone": False,
    }


def test_clone_without_lanes_says_so(agent: ForkedAgent) -> None:
    agent.clone.worktree("by-hand", "wip")
    for command in ("lanes", "prune-lanes"):
        answer = agent.claim(command)
        assert answer == Answer(0, "", "no lanes in this clone\n")
    assert agent.claim("lanes", "--json").json == {"lanes": [], "left_out": []}


def test_lane_is_mine_whoever_asks(nobody: ForkedAgent) -> None:
    # The lane's chain holds it; which chain asks for the list does not matter.
    start(nobody, "42")
    assert nobody.claim("lanes", "--json").at("lanes", 0, "state") == "mine"
    assert ForkedAgent(nobody.clone, "chain-x").claim("lanes", "--json").at("lanes", 0, "state") == "mine"


def test_worktree_made_by_hand_is_judged_by_the_chain_in_force(agent: ForkedAgent, nobody: ForkedAgent) -> None:
    agent.claim("42", check=0)
    agent.clone.worktree("by-hand", "42-by-hand")
    row = agent.claim("lanes", "--json")
    assert (row.at("lanes", 0, "state"), row.at("lanes", 0, "chain")) == ("mine", None)
    assert nobody.claim("lanes", "--json").at("lanes", 0, "rival", "chain") == "chain-agent-1"


def test_bundle_in_a_lane_is_one_row_and_as_lost_as_its_worst_item(agent: ForkedAgent, server: Server) -> None:
    lane = start(agent, "42")
    lane.claim("42", "--bundle", "43", check=0)
    assert agent.claim("lanes", "--json").at("lanes", 0, "items") == ["issue-42", "issue-43"]
    assert agent.claim("lanes", "--json").at("lanes", 0, "state") == "mine"
    plant(server, "issue-43")
    assert agent.claim("lanes", "--json").at("lanes", 0, "state") == "lost"


def test_silent_remote_is_not_taken_for_lanes_without_claims(agent: ForkedAgent, tmp_path: Path) -> None:
    start(agent, "42").claim("release", check=0)
    agent.clone.config("remote.origin.url", str(tmp_path / "gone.git"))
    before = everything(agent.clone)
    for command in ("lanes", "prune-lanes"):
        answer = agent.claim(command)
        assert (answer.status, answer.stdout) == (3, ""), answer
    assert everything(agent.clone) == before


# prune-lanes
