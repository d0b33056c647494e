"""`git claim take`, and `git claim 42`, which is the same: what is won, what is lost, and what is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents import normalise
from tests.commands.telling import block, field, holders, plant, shown
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked
from tests.places import Clone, Server, make_server

FORTY_TWO = "refs/claims/issue-42"


def test_free_item_is_claimed_by_its_number_alone(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("42")
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        claimed server#42 for chain-agent-1
        --- stderr
        """)


def test_held_item_is_lost_and_its_holder_named(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    answer = agent.claim("take", "42")
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: 'git claim 42 --wait' waits for it; 'git claim ls' shows all
        """)


def test_own_item_is_claimed_again_without_a_push(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42", "chain-agent-1")
    answer = agent.claim("42")
    assert server.chain_of(FORTY_TWO) == [planted]
    assert shown(answer) == block("""
        exit 0
        --- stdout
        server#42 is already yours since <time> (<age>)
        --- stderr
        """)


def test_several_items_are_each_claimed_on_their_own_merit(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-43")
    answer = agent.claim("42", "43", "pr-7", "PROJ-1")
    assert holders(server) == {
        "issue-42": "chain-agent-1",
        "issue-43": "chain-rival",
        "issue-proj-1": "chain-agent-1",
        "pr-7": "chain-agent-1",
    }
    assert shown(answer) == block("""
        exit 1
        --- stdout
        claimed server#42 for chain-agent-1
        claimed server#pr-7 for chain-agent-1
        claimed server#PROJ-1 for chain-agent-1
        --- stderr
        error: issue 'server#43' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: 'git claim 43 --wait' waits for it; 'git claim ls' shows all
        """)


def test_one_item_in_many_spellings_is_one_claim(make_agent: MakeAgent, tmp_path: Path) -> None:
    server = make_server(tmp_path, "acme/ledger.git")
    agent = forked(make_agent(server=server))
    url = "https://example.com/acme/ledger/issues/42#issuecomment-1"
    answer = agent.claim("#42", "42", "issue-42", "Issue-042", "ledger#42", "acme/ledger#42", url)
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        claimed ledger#42 for chain-agent-1
        --- stderr
        """)


def test_item_of_another_repository_is_refused(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("acme/other#42")
    assert server.refs() == {}
    assert shown(answer) == block("""
        exit 2
        --- stdout
        --- stderr
        error: 'acme/other' is not the repository served here, which is 'server'
        hint: run the command in a clone of that repository
        """)


def test_all_or_nothing_takes_nothing_where_one_item_is_held(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-43")
    answer = agent.claim("42", "43", "--all-or-nothing")
    assert holders(server) == {"issue-43": "chain-rival"}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is free and was not taken: all or nothing
        error: issue 'server#43' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: 'git claim 43 --wait' waits for it; 'git claim ls' shows all
        """)


def test_all_or_nothing_takes_all_where_all_are_free(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("42", "43", "--all-or-nothing")
    assert holders(server) == {"issue-42": "chain-agent-1", "issue-43": "chain-agent-1"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        claimed server#42 for chain-agent-1
        claimed server#43 for chain-agent-1
        --- stderr
        """)


def test_bundle_is_claimed_with_its_lead(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("42", "--bundle", "43", "--bundle", "#44")
    assert {name: field(server, name, "lead") for name in holders(server)} == {
        "issue-42": None,
        "issue-43": "42",
        "issue-44": "42",
    }
    assert shown(answer) == block("""
        exit 0
        --- stdout
        claimed server#42 for chain-agent-1
        claimed server#43 for chain-agent-1
        claimed server#44 for chain-agent-1
        --- stderr
        """)


def test_bundle_with_a_held_sibling_is_not_claimed(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-44")
    answer = agent.claim("42", "--bundle", "43", "--bundle", "44")
    assert holders(server) == {"issue-44": "chain-rival"}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is free and was not taken: all or nothing
        error: issue 'server#43' is free and was not taken: all or nothing
        error: issue 'server#44' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: 'git claim 44 --wait' waits for it; 'git claim ls' shows all
        """)


def test_branch_and_phase_stand_in_the_record(agent: ForkedAgent, server: Server) -> None:
    agent.claim("42", "--branch", "42-fix-auth", "--phase", "plan", check=0)
    first = server.refs()[FORTY_TWO]
    answer = agent.claim("42", "--phase", "review")
    record = normalise(server.claim_text("issue-42"), first=first, clone=str(agent.clone.path))
    assert [line for line in record.splitlines() if not line.startswith("host=")] == [
        "issue=42",
        "repo=server",
        "chain=chain-agent-1",
        "claimed_at=<time>",
        "nonce=<nonce>",
        "branch=42-fix-auth",
        "worktree=<clone>",
        "renewed_at=<time>",
        "phase=review",
        "previous=<first>",
    ]
    assert shown(answer) == block("""
        exit 0
        --- stdout
        renewed server#42
        --- stderr
        """)


def test_chain_is_minted_where_none_is_in_force_and_said_before_the_claim(nobody: ForkedAgent, server: Server) -> None:
    answer = nobody.claim("42")
    chain = holders(server)["issue-42"]
    assert answer.stdout == f"claimed server#42 for {chain}\n"
    assert shown(answer) == block("""
        exit 0
        --- stdout
        claimed server#42 for <chain>
        --- stderr
        chain <chain> (new; keep it with: export GIT_CLAIM_CHAIN=<chain>)
        """)


def test_minted_chain_is_said_also_where_silence_was_asked_for(nobody: ForkedAgent, server: Server) -> None:
    answer = nobody.claim("42", "--quiet")
    # Whoever is not told it can never renew or release the claim.
    assert answer.stderr.startswith(f"chain {holders(server)['issue-42']} (new")


def test_second_take_without_a_chain_says_how_to_be_the_first(nobody: ForkedAgent, server: Server) -> None:
    nobody.claim("42", check=0)
    answer = nobody.claim("42")
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        chain <chain> (new; keep it with: export GIT_CLAIM_CHAIN=<chain>)
        error: issue 'server#42' is claimed by '<chain>' on <host> since <time> (<age>)
        hint: 'git claim 42 --wait' waits for it; 'git claim ls' shows all
        chain <chain> holds nothing and need not be kept
        hint: no chain was in force here; if it is yours, say so with --chain or GIT_CLAIM_CHAIN
        """)


def test_host_that_refuses_is_not_taken_for_a_rival(agent: ForkedAgent, server: Server) -> None:
    server.policy_refuses()
    answer = agent.claim("42")
    assert server.refs() == {}
    assert shown(answer) == block("""
        exit 128
        --- stdout
        --- stderr
        fatal: the remote refused to change the claim of issue 'server#42': [remote rejected] (hook declined); \
remote: refused by policy; remote: error: hook declined to update refs/claims/issue-42
        hint: 'git claim doctor' looks for the rule or lock behind it
        """)


def test_reply_that_was_lost_is_found_out(agent: ForkedAgent, server: Server) -> None:
    server.reply_lost()
    answer = agent.claim("42")
    assert len(server.chain_of(FORTY_TWO)) == 1
    assert shown(answer) == block("""
        exit 0
        --- stdout
        claimed server#42 for chain-agent-1
        --- stderr
        """)


def test_rival_that_came_in_the_gap_is_the_holder(agent: ForkedAgent, server: Server) -> None:
    server.rival_in_the_gap("issue-42", "chain-rival")
    answer = agent.claim("42")
    assert holders(server) == {"issue-42": "chain-rival"}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-rival' on elsewhere since <time> (<age>)
        hint: 'git claim 42 --wait' waits for it; 'git claim ls' shows all
        """)


def test_server_without_atomic_pushes_refuses_a_bundle_and_takes_single_items(
    agent: ForkedAgent, server: Server
) -> None:
    server.no_atomic()
    answer = agent.claim("42", "--bundle", "43")
    assert server.refs() == {}
    assert agent.claim("42", "43").status == 0
    assert shown(answer) == block("""
        exit 128
        --- stdout
        --- stderr
        fatal: the remote cannot change several refs as one, so issue 'server#42' was left as it was
        fatal: the remote cannot change several refs as one, so issue 'server#43' was left as it was
        hint: claim the items one by one
        """)


def test_remote_with_two_push_urls_is_refused(agent: ForkedAgent, server: Server, clone: Clone) -> None:
    agent.clone.config("remote.origin.url", str(server.path))
    agent.clone.git("config", "--add", "remote.origin.pushurl", str(server.path))
    agent.clone.git("config", "--add", "remote.origin.pushurl", str(clone.path))
    answer = agent.claim("42")
    assert server.refs() == {}
    assert shown(answer) == block("""
        exit 128
        --- stdout
        --- stderr
        fatal: remote 'origin' has 2 push URLs; claims need exactly one server to decide
        hint: keep a remote with one URL for claims and name it with 'git config claim.remote NAME'
        """)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("42", "43", "--bundle", "44"), "--bundle goes with one item, the lead"),
        (("42", "--bundle", "42"), "an item cannot be bundled with itself"),
        (("42", "--force", "--reason", "x", "--wait=1s"), "--force goes without --bundle and --wait"),
        (("42", "--force"), "--force needs --reason TEXT, which is kept in the record"),
        (("42", "--force", "--reason", " "), "--force needs --reason TEXT, which is kept in the record"),
        (("42", "--reason", "because"), "--reason is one line and goes with --force"),
        (("42", "--force", "--reason", "a\nb"), "--reason is one line and goes with --force"),
    ],
    ids=lambda case: case if isinstance(case, str) else " ".join(case),
)
def test_options_that_do_not_fit_together_change_nothing(
    agent: ForkedAgent, server: Server, words: tuple[str, ...], error: str
) -> None:
    answer = agent.claim(*words)
    assert server.refs() == {}
    assert shown(answer) == block(f"""
        exit 2
        --- stdout
        --- stderr
        error: {error}
        hint: 'git claim take -h' shows how it is used
        """)
