"""`git claim renew`, `hand-off` and `adopt`: a claim that goes on, here or with another chain."""

from __future__ import annotations

import pytest

from tests.commands.telling import block, field, holders, plant, shown
from tests.forked import ForkedAgent
from tests.places import ABSENT, Server

FORTY_TWO = "refs/claims/issue-42"


# Renew


def test_renewal_keeps_the_record_and_dates_it(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42", "chain-agent-1", branch="42-fix", phase="plan", other="kept")
    claimed_at = field(server, "issue-42", "claimed_at")
    answer = agent.claim("renew", "42")
    assert {key: field(server, "issue-42", key) for key in ("previous", "branch", "phase", "other", "claimed_at")} == {
        "previous": planted,
        "branch": "42-fix",
        "phase": "plan",
        "other": "kept",
        "claimed_at": claimed_at,
    }
    assert field(server, "issue-42", "renewed_at")
    assert shown(answer) == block("""
        exit 0
        --- stdout
        renewed server#42
        --- stderr
        """)


def test_renewal_changes_branch_and_phase_where_they_are_named(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1", branch="42-fix", phase="plan")
    agent.claim("renew", "42", "--phase", "review", "--branch", "42-better", check=0)
    assert [field(server, "issue-42", key) for key in ("branch", "phase")] == ["42-better", "review"]


def test_renewal_of_several_is_each_on_its_own_merit(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    rival = plant(server, "issue-43")
    answer = agent.claim("renew", "42", "43", "44")
    assert server.refs()["refs/claims/issue-43"] == rival
    assert shown(answer) == block("""
        exit 1
        --- stdout
        renewed server#42
        --- stderr
        error: issue 'server#43' is claimed by 'chain-rival' on blade since <time> (<age>)
        error: issue 'server#44' is not claimed
        hint: only its holder can do that; 'git claim ls --mine' shows what this chain holds
        hint: 'git claim 44' asks for it
        """)


def test_renewal_in_a_lane_needs_no_item(agent: ForkedAgent, server: Server) -> None:
    lane = ForkedAgent(agent.clone.worktree("lane"))
    lane.claim("42", check=0)
    assert shown(lane.claim("renew")) == block("""
        exit 0
        --- stdout
        renewed server#42
        --- stderr
        """)
    assert len(server.chain_of(FORTY_TWO)) == 2


# Hand-off


def test_named_chain_is_the_holder_at_once(agent: ForkedAgent, other: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1", branch="42-fix", worktree="/somewhere")
    answer = agent.claim("hand-off", "42", "--to", "chain-agent-2", "--phase", "review")
    assert ABSENT not in server.chain_of(FORTY_TWO)
    assert holders(server) == {"issue-42": "chain-agent-2"}
    assert [field(server, "issue-42", key) for key in ("branch", "phase", "worktree")] == ["42-fix", "review", None]
    assert shown(answer) == block("""
        exit 0
        --- stdout
        handed server#42 to chain-agent-2
        --- stderr
        """)
    assert other.claim("check", "42").status == 0


def test_hand_off_takes_the_bundle_along(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    plant(server, "issue-43", "chain-agent-1", lead="42")
    agent.claim("hand-off", "42", "--to", "chain-agent-2", check=0)
    assert holders(server) == {"issue-42": "chain-agent-2", "issue-43": "chain-agent-2"}
    assert field(server, "issue-43", "lead") == "42"


def test_hand_off_again_says_what_is_so_already(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42", "chain-agent-2")
    answer = agent.claim("hand-off", "42", "--to", "chain-agent-2")
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        handed server#42 to chain-agent-2
        --- stderr
        """)


def test_hand_off_of_what_another_holds_is_refused(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    answer = agent.claim("hand-off", "42", "--to", "chain-agent-2")
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: only its holder can do that; 'git claim ls --mine' shows what this chain holds
        """)


def test_hand_off_of_what_is_free_is_refused(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("hand-off", "42", "--to", "chain-agent-2")
    assert server.refs() == {}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is not claimed
        hint: 'git claim 42' asks for it
        """)


def test_hand_off_to_nobody_is_a_wrong_command_line(agent: ForkedAgent) -> None:
    assert shown(agent.claim("hand-off", "42")) == block("""
        exit 2
        --- stdout
        --- stderr
        error: missing option '--to'
        hint: 'git claim hand-off -h' shows how it is used
        """)


# Adopt


def test_successor_that_names_the_chain_continues_the_claim(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42", branch="42-fix", phase="plan", worktree="/gone")
    answer = agent.claim("adopt", "42", "--from", "chain-rival")
    assert server.chain_of(FORTY_TWO) == [planted, server.refs()[FORTY_TWO]]
    assert {key: field(server, "issue-42", key) for key in ("chain", "branch", "phase", "worktree", "previous")} == {
        "chain": "chain-agent-1",
        "branch": "42-fix",
        "phase": "plan",
        "worktree": str(agent.clone.path),
        "previous": planted,
    }
    assert shown(answer) == block("""
        exit 0
        --- stdout
        adopted server#42 from 'chain-rival' on blade since <time> (<age>)
        --- stderr
        """)


def test_adoption_takes_the_bundle_along(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    plant(server, "issue-43", lead="42")
    agent.claim("adopt", "42", "--from", "chain-rival", "--phase", "review", check=0)
    assert holders(server) == {"issue-42": "chain-agent-1", "issue-43": "chain-agent-1"}
    assert field(server, "issue-43", "phase") == "review"


@pytest.mark.parametrize("named", ["chain-rivals", "chain-riva", "Chain-Rival", "chain-agent-2", "blade"])
def test_adoption_from_a_chain_that_is_not_the_holder_is_refused(
    agent: ForkedAgent, server: Server, named: str
) -> None:
    planted = plant(server, "issue-42")
    answer = agent.claim("adopt", "42", "--from", named)
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>), not by the chain named
        hint: only a successor of its holder may adopt it; 'git claim show 42' shows the record
        """)


def test_adoption_again_is_done_already(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42", "chain-agent-1")
    answer = agent.claim("adopt", "42", "--from", "chain-rival")
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        server#42 is already yours since <time> (<age>)
        --- stderr
        """)


def test_adoption_of_what_is_free_is_refused(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("adopt", "42", "--from", "chain-rival")
    assert server.refs() == {}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is not claimed
        hint: 'git claim 42' asks for it
        """)


def test_adoption_of_a_claim_that_moved_meanwhile_is_refused(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    server.rival_in_the_gap("issue-42", "chain-newcomer")
    answer = agent.claim("adopt", "42", "--from", "chain-rival")
    assert holders(server) == {"issue-42": "chain-newcomer"}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-newcomer' on elsewhere since <time> (<age>), \
not by the chain named
        hint: only a successor of its holder may adopt it; 'git claim show 42' shows the record
        """)


@pytest.mark.parametrize("command", ["renew 42", "hand-off 42 --to chain-agent-2", "adopt 42 --from chain-rival"])
def test_command_of_a_holder_without_a_chain_changes_nothing(nobody: ForkedAgent, server: Server, command: str) -> None:
    planted = plant(server, "issue-42")
    answer = nobody.claim(*command.split())
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: no chain is in force here; issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: say which chain asks with --chain CHAIN or GIT_CLAIM_CHAIN
        """)
