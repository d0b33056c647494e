"""`git claim release`, by the holder, and `git claim reclaim`, by a person."""

from __future__ import annotations

import pytest

from tests.agents import Agent, at_terminal
from tests.commands.telling import block, holders, plant, shown
from tests.forked import ForkedAgent
from tests.places import ABSENT, Server

FORTY_TWO = "refs/claims/issue-42"


# Release


def test_holder_releases_what_it_names(agent: ForkedAgent, server: Server) -> None:
    for name in ("issue-42", "issue-43", "issue-44"):
        plant(server, name, "chain-agent-1")
    answer = agent.claim("release", "42", "44")
    assert holders(server) == {"issue-43": "chain-agent-1"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        released server#42
        released server#44
        --- stderr
        """)


def test_release_of_all_leaves_what_others_hold(agent: ForkedAgent, server: Server) -> None:
    for name, chain in (("issue-42", "chain-agent-1"), ("issue-43", "chain-rival"), ("pr-7", "chain-agent-1")):
        plant(server, name, chain)
    answer = agent.claim("release", "--all")
    assert holders(server) == {"issue-43": "chain-rival"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        released server#pr-7
        released server#42
        --- stderr
        """)


def test_release_of_all_where_there_is_nothing_is_done_already(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    answer = agent.claim("release", "--all")
    assert holders(server) == {"issue-42": "chain-rival"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        chain-agent-1 holds nothing, nothing to release
        --- stderr
        """)


def test_release_of_what_is_gone_is_done_already(agent: ForkedAgent) -> None:
    assert shown(agent.claim("release", "42")) == block("""
        exit 0
        --- stdout
        server#42 is not claimed, nothing to release
        --- stderr
        """)


def test_release_of_what_another_holds_is_refused(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    planted = plant(server, "issue-43")
    answer = agent.claim("release", "42", "43")
    assert server.refs() == {"refs/claims/issue-43": planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        released server#42
        --- stderr
        error: issue 'server#43' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: only its holder can do that; 'git claim ls --mine' shows what this chain holds
        """)


def test_release_of_a_claim_taken_over_meanwhile_is_refused(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    server.rival_in_the_gap("issue-42", "chain-rival")
    answer = agent.claim("release", "42")
    assert holders(server) == {"issue-42": "chain-rival"}
    assert ABSENT not in server.chain_of(FORTY_TWO)
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-rival' on elsewhere since <time> (<age>)
        hint: only its holder can do that; 'git claim ls --mine' shows what this chain holds
        """)


def test_lead_takes_its_bundle_along(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    for name in ("issue-43", "issue-44"):
        plant(server, name, "chain-agent-1", lead="42")
    plant(server, "issue-45", "chain-rival", lead="42")
    answer = agent.claim("release", "42")
    assert holders(server) == {"issue-45": "chain-rival"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        released server#42
        released server#43
        released server#44
        --- stderr
        """)


def test_sibling_goes_without_its_lead(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    plant(server, "issue-43", "chain-agent-1", lead="42")
    agent.claim("release", "43", check=0)
    assert holders(server) == {"issue-42": "chain-agent-1"}


def test_lane_knows_its_items_and_forgets_them(agent: ForkedAgent, server: Server) -> None:
    lane = ForkedAgent(agent.clone.worktree("lane"))
    lane.claim("42", "43", check=0)
    first, again = lane.claim("release"), lane.claim("release")
    assert holders(server) == {}
    assert shown(first) == block("""
        exit 0
        --- stdout
        released server#42
        released server#43
        --- stderr
        """)
    assert shown(again) == block("""
        exit 0
        --- stdout
        server#42 is not claimed, nothing to release
        server#43 is not claimed, nothing to release
        --- stderr
        """)


@pytest.mark.parametrize("command", ["release", "renew", "show", "check"])
def test_item_that_is_left_out_outside_a_lane_is_asked_for(agent: ForkedAgent, server: Server, command: str) -> None:
    plant(server, "issue-42", "chain-agent-1")
    answer = agent.claim(command)
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert shown(answer) == block(f"""
        exit 2
        --- stdout
        --- stderr
        error: which item? Only a lane, a linked worktree with a claim, knows its own
        hint: name it, as in 'git claim {command} 42'
        """)


def test_nobody_releases_nothing_and_learns_how_to_say_who_it_is(nobody: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    answer = nobody.claim("release", "42", "43")
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: no chain is in force here; issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>); \
issue 'server#43' is not claimed
        hint: say which chain asks with --chain CHAIN or GIT_CLAIM_CHAIN
        """)


def test_all_goes_without_items(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    answer = agent.claim("release", "--all", "42")
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert shown(answer) == block("""
        exit 2
        --- stdout
        --- stderr
        error: --all goes without items
        hint: 'git claim release -h' shows how it is used
        """)


def test_server_that_denies_deletes_is_not_taken_for_a_rival(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42", "chain-agent-1")
    server.deny_deletes_hook()
    answer = agent.claim("release", "42")
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 128
        --- stdout
        --- stderr
        fatal: the remote refused to change the claim of issue 'server#42': [remote rejected] (hook declined); \
remote: deletes are refused here; remote: error: hook declined to update refs/claims/issue-42
        hint: 'git claim doctor' looks for the rule or lock behind it
        """)


# Reclaim

RECORD = """\
issue       42
repo        acme/ledger
chain       chain-rival
host        blade
claimed_at  <time>
nonce       <nonce>
age         <age>
id          <oid>
"""


def test_person_who_types_the_item_frees_it(nobody: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    answer = at_terminal(nobody, "reclaim", "42", answers="42\n")
    assert holders(server) == {}
    assert shown(answer) == (
        "exit 0\n--- stdout\nreclaimed server#42 from 'chain-rival' on blade since <time> (<age>)\n"
        f"--- stderr\n{RECORD}Type 42 to free it: "
    )


@pytest.mark.parametrize("typed", ["43\n", "yes\n", "\n", "issue-42\n"])
def test_person_who_types_something_else_frees_nothing(nobody: ForkedAgent, server: Server, typed: str) -> None:
    planted = plant(server, "issue-42")
    answer = at_terminal(nobody, "reclaim", "42", answers=typed)
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == (
        f"exit 1\n--- stdout\n--- stderr\n{RECORD}Type 42 to free it: error: not confirmed, nothing was changed\n"
        "hint: 'git claim ls' shows all claims\n"
    )


@pytest.mark.parametrize("typed", [None, "42\n"])
def test_reclaim_without_a_terminal_refuses_whatever_is_piped_in(agent: Agent, server: Server, typed: str) -> None:
    planted = plant(server, "issue-42")
    answer = Agent(agent.clone, agent.chain).claim("reclaim", "42", stdin=typed)
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: reclaim needs a person at a terminal, and there is none
        hint: 'git claim show 42' shows the claim; ask a person to look at it
        """)


@pytest.mark.parametrize("flag", ["--force", "--yes", "-y", "--chain=chain-rival"])
def test_no_flag_talks_reclaim_out_of_asking(agent: ForkedAgent, server: Server, flag: str) -> None:
    planted = plant(server, "issue-42")
    assert agent.claim("reclaim", "42", flag).status == 2
    assert server.refs() == {FORTY_TWO: planted}


def test_setting_of_a_person_lets_its_own_scripts_reclaim(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    agent.clone.config("claim.allowReclaimWithoutTerminal", "true")
    answer = agent.claim("reclaim", "42")
    assert holders(server) == {}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        reclaimed server#42 from 'chain-rival' on blade since <time> (<age>)
        --- stderr
        """)


def test_committed_setting_lets_nobody_reclaim(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    (agent.clone.path / ".claims.toml").write_text("allowReclaimWithoutTerminal = true\n")
    assert agent.claim("reclaim", "42").status == 1
    assert server.refs() == {FORTY_TWO: planted}


def test_reclaimed_lead_is_shown_with_its_bundle_and_takes_it_along(nobody: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    plant(server, "issue-43", lead="42")
    answer = at_terminal(nobody, "reclaim", "42", answers="42\n")
    assert holders(server) == {}
    assert "\nits bundle goes with it: server#43\nType 42 to free it: " in answer.stderr


def test_reclaim_frees_a_claim_that_cannot_be_read(nobody: ForkedAgent, server: Server) -> None:
    server.plant_bytes("issue-proj-1", b"nonsense\n")
    answer = at_terminal(nobody, "reclaim", "PROJ-1", answers="proj-1\n")
    assert holders(server) == {}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        reclaimed server#PROJ-1 from somebody whose record cannot be read: a line of it is not key=value
        --- stderr
        item        server#PROJ-1
        unreadable  a line of it is not key=value
        id          <oid>
        Type PROJ-1 to free it: """)


def test_reclaim_leaves_a_claim_that_came_after_the_one_shown(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    agent.clone.config("claim.allowReclaimWithoutTerminal", "true")
    server.rival_in_the_gap("issue-42", "chain-newcomer")
    answer = agent.claim("reclaim", "42")
    assert holders(server) == {"issue-42": "chain-newcomer"}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: changed meanwhile: issue 'server#42' is claimed by 'chain-newcomer' on elsewhere since <time> (<age>)
        hint: 'git claim show 42' shows the claim as it is now
        """)


def test_reclaim_of_what_is_free_asks_nothing(nobody: ForkedAgent) -> None:
    assert shown(at_terminal(nobody, "reclaim", "42", answers="")) == block("""
        exit 0
        --- stdout
        server#42 is not claimed, nothing to release
        --- stderr
        """)
