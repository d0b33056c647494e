"""`git claim ls`, `show` and `check`: what is asked of the server, and what of the local copy."""

from __future__ import annotations

import pytest

from tests.commands.telling import block, holders, plant, shown
from tests.forked import ForkedAgent
from tests.places import Server

# ls


def test_listing_shows_every_claim_with_bundles_together(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-7", "chain-agent-1", branch="7-fix-auth")
    plant(server, "issue-42", operator="octocat", branch="42-report")
    plant(server, "issue-43", lead="7")
    plant(server, "issue-9", lead="42")
    plant(server, "pr-7", host="")
    plant(server, "issue-proj-1", "chain-agent-1", claimed_at="soon")
    assert shown(agent.claim("ls")) == block("""
        exit 0
        --- stdout
        ITEM    CHAIN          OPERATOR  HOST   BRANCH      AGE  NOTES
        7       chain-agent-1  -         blade  7-fix-auth  <age>  mine
        43      chain-rival    -         blade  -           <age>  bundled with 7
        pr-7    chain-rival    -         -      -           <age>
        42      chain-rival    octocat   blade  42-report   <age>
        9       chain-rival    -         blade  -           <age>  bundled with 42
        PROJ-1  chain-agent-1  -         blade  -           ?    mine
        --- stderr
        """)


def test_listing_of_mine_shows_no_other(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-7", "chain-agent-1")
    plant(server, "issue-42")
    assert shown(agent.claim("ls", "--mine")) == block("""
        exit 0
        --- stdout
        ITEM  CHAIN          OPERATOR  HOST   BRANCH  AGE  NOTES
        7     chain-agent-1  -         blade  -       <age>  mine
        --- stderr
        """)


def test_listing_of_nothing_has_no_data(agent: ForkedAgent, server: Server) -> None:
    assert shown(agent.claim("ls")) == "exit 0\n--- stdout\n--- stderr\nno claims\n"
    plant(server, "issue-42")
    assert shown(agent.claim("ls", "--mine")) == "exit 0\n--- stdout\n--- stderr\nno claims of this chain\n"


def test_listing_of_mine_without_a_chain_is_refused(nobody: ForkedAgent) -> None:
    assert shown(nobody.claim("ls", "--mine")) == block("""
        exit 1
        --- stdout
        --- stderr
        error: no chain is in force here, so no claim can be yours
        hint: say it with --chain or GIT_CLAIM_CHAIN
        """)


def test_copy_is_listed_without_network_and_says_how_old_it_is(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    agent.claim("ls", check=0)
    plant(server, "issue-43")
    agent.clone.config("remote.origin.url", "/nowhere")
    agent.clone.config("remote.origin.pushurl", "/nowhere")
    answer = ForkedAgent(agent.clone, agent.chain).claim("ls", "--cached")
    # Another remote has no copy; the right one is 43 short.
    assert (answer.status, answer.stdout) == (3, "")
    agent.clone.git("config", "--unset", "remote.origin.pushurl")
    agent.clone.config("remote.origin.url", server.url)
    server.path.rename(server.path.with_name("away"))
    assert shown(agent.claim("ls", "--cached")).replace("just now", "<age> ago") == block("""
        exit 0
        --- stdout
        ITEM  CHAIN        OPERATOR  HOST   BRANCH  AGE  NOTES
        42    chain-rival  -         blade  -       <age>
        --- stderr
        from the local copy, last listed <age> ago
        """)


def test_copy_that_was_never_filled_is_not_shown_as_no_claims(agent: ForkedAgent) -> None:
    assert shown(agent.claim("ls", "--cached")) == block("""
        exit 3
        --- stdout
        --- stderr
        error: the local copy knows nothing of this remote
        hint: 'git claim ls' reads the remote and fills it
        """)


def test_copy_that_has_only_what_was_won_here_says_so(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    agent.claim("43", check=0)
    answer = agent.claim("ls", "--cached")
    assert [line.split()[0] for line in answer.stdout.splitlines()] == ["ITEM", "43"]
    assert answer.stderr == "from the local copy, never listed as a whole\n"


def test_refs_that_name_no_item_are_mentioned_and_not_listed(agent: ForkedAgent, server: Server) -> None:
    oid = plant(server, "issue-42")
    for name in ("Issue-43", "issue-044", "notes/issue-45", "issue-", "issue-0"):
        server.plant(f"refs/claims/{name}", oid)
    assert shown(agent.claim("ls")) == block("""
        exit 0
        --- stdout
        ITEM  CHAIN        OPERATOR  HOST   BRANCH  AGE  NOTES
        42    chain-rival  -         blade  -       <age>
        --- stderr
        warning: refs that name no item stand among the claims (5): refs/claims/Issue-43, refs/claims/issue-, \
refs/claims/issue-0
        """)


def test_sudden_loss_of_all_claims_is_an_incident(agent: ForkedAgent, server: Server) -> None:
    for number in (1, 2, 3):
        plant(server, f"issue-{number}")
    agent.claim("ls", check=0)
    for ref in server.refs():
        server.plant(ref, None)
    first, second = agent.claim("ls"), agent.claim("ls")
    assert shown(first) == block("""
        exit 0
        --- stdout
        --- stderr
        no claims
        warning: all 3 claims of the last listing are gone from the server; if nobody released them, \
a mirror push may have removed them
        """)
    assert "warning" not in second.stderr


# show


def test_record_is_shown_whole_with_what_its_holder_can_do(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1", branch="42-fix", phase="review", lead="41", mood="calm")
    assert shown(agent.claim("show", "42")) == block("""
        exit 0
        --- stdout
        issue       42
        repo        acme/ledger
        chain       chain-agent-1
        host        blade
        claimed_at  <time>
        nonce       <nonce>
        branch      42-fix
        lead        41
        phase       review
        mood        calm
        age         <age>
        id          <oid>
        --- stderr
        next: git claim renew 42
        next: git claim hand-off 42 --to CHAIN
        next: git claim release 42
        """)


def test_record_of_another_offers_to_wait(agent: ForkedAgent, server: Server) -> None:
    oid = plant(server, "pr-7")
    answer = agent.claim("show", "pr-7")
    assert answer.stdout.endswith(f"\nid          {oid}\n")
    assert answer.stderr == "next: git claim pr-7 --wait\n"


def test_show_of_a_free_item_says_that_it_is_free(agent: ForkedAgent) -> None:
    assert shown(agent.claim("show", "42")) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is not claimed
        hint: 'git claim 42' asks for it
        """)


def test_show_of_a_free_item_in_the_copy_says_how_old_that_is(agent: ForkedAgent) -> None:
    agent.claim("ls", check=0)
    assert shown(agent.claim("show", "42", "--cached")).replace("just now", "<age> ago") == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is not claimed (local copy, last listed <age> ago)
        hint: 'git claim 42' asks for it
        """)


@pytest.mark.parametrize("command", ["show", "check"])
def test_item_that_the_copy_never_saw_is_unknown(agent: ForkedAgent, command: str) -> None:
    assert shown(agent.claim(command, "42", "--cached")) == block("""
        exit 3
        --- stdout
        --- stderr
        error: the local copy knows nothing of issue '42'
        hint: 'git claim ls' reads the remote and fills the copy
        """)


@pytest.mark.parametrize("command", ["show", "check", "hand-off --to chain-agent-2"])
def test_lane_with_several_items_asks_which(agent: ForkedAgent, command: str) -> None:
    lane = ForkedAgent(agent.clone.worktree("lane"))
    lane.claim("42", "43", check=0)
    name, *options = command.split()
    assert shown(lane.claim(name, *options)) == block(f"""
        exit 2
        --- stdout
        --- stderr
        error: this lane has several items: 42, 43
        hint: name one, as in 'git claim {name} 42'
        """)


# check


@pytest.mark.parametrize("asked", ["42", "#42", "42-fix-auth", "refs/heads/42-fix-auth"])
def test_check_of_an_own_claim_is_a_yes(agent: ForkedAgent, server: Server, asked: str) -> None:
    plant(server, "issue-42", "chain-agent-1")
    assert shown(agent.claim("check", asked)) == block("""
        exit 0
        --- stdout
        server#42 is yours since <time> (<age>)
        --- stderr
        """)


def test_check_of_anothers_claim_names_the_holder(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    assert shown(agent.claim("check", "42-fix-auth")) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: 'git claim ls' shows all claims
        """)


def test_check_without_a_chain_names_the_holder_too(nobody: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    assert shown(nobody.claim("check", "42")) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: no chain is in force here; if it is yours, say so with --chain or GIT_CLAIM_CHAIN
        """)


def test_check_for_the_chain_that_is_named(nobody: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    assert nobody.claim("check", "42", "--chain", "chain-rival").status == 0
    assert nobody.claim("check", "42", "--chain=chain-other").status == 1


def test_check_of_a_free_item_is_a_no(agent: ForkedAgent) -> None:
    assert shown(agent.claim("check", "42")) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is not claimed
        hint: 'git claim 42' asks for it
        """)


def test_check_of_the_copy_needs_no_server(agent: ForkedAgent, server: Server) -> None:
    agent.claim("42", check=0)
    server.path.rename(server.path.with_name("away"))
    assert shown(agent.claim("check", "42", "--cached")) == block("""
        exit 0
        --- stdout
        server#42 is yours since <time> (<age>)
        --- stderr
        """)


@pytest.mark.parametrize("branch", ["main", "feature/42-x", "fix_42", "release-2-notes", "x/../42-fix"])
def test_branch_that_names_no_item_is_a_wrong_command_line(agent: ForkedAgent, branch: str) -> None:
    assert shown(agent.claim("check", branch)) == block(f"""
        exit 2
        --- stdout
        --- stderr
        error: '{branch}' is neither an item nor a branch that names one
        hint: branches that name an item look like '{{number}}-{{slug}}'
        """)


def test_check_in_a_lane_needs_no_item(agent: ForkedAgent, server: Server) -> None:
    lane = ForkedAgent(agent.clone.worktree("lane"))
    lane.claim("42", check=0)
    assert len(holders(server)) == 1
    assert lane.claim("check").stdout.startswith("server#42 is yours since ")
