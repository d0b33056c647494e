"""`git claim 42 --wait`, which is patient, and `git claim 42 --force`, which asks a person."""

from __future__ import annotations

import pytest

from tests.agents import Answer, at_terminal, finish
from tests.commands.telling import block, field, holders, plant, shown
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent
from tests.places import Server

FORTY_TWO = "refs/claims/issue-42"
FORCE = ("42", "--force", "--reason", "the machine is gone")


# Waiting


# Over a second: the shortest budget that lets the holder be asked for again.
def test_wait_names_the_holder_once_and_gives_up(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    answer = agent.claim("42", "--wait=2")
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        waiting: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        error: gave up waiting: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: 'git claim ls' shows all claims
        """)


def test_wait_takes_what_becomes_free(make_agent: MakeAgent, server: Server) -> None:
    plant(server, "issue-42")
    process = make_agent().start("42", "43", "--wait=30s")
    assert process.stderr is not None
    said = process.stderr.readline()
    server.plant(FORTY_TWO, None)
    ended = finish(process)
    assert holders(server) == {"issue-42": "chain-agent-1", "issue-43": "chain-agent-1"}
    assert shown(Answer(ended.status, ended.stdout, said + ended.stderr)) == block("""
        exit 0
        --- stdout
        claimed server#42 for chain-agent-1
        claimed server#43 for chain-agent-1
        --- stderr
        waiting: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        """)


def test_wait_alone_does_not_take_the_next_word_for_its_duration(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("--wait", "42")
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        claimed server#42 for chain-agent-1
        --- stderr
        """)


@pytest.mark.parametrize("words", ["42 --wait 60", "42 43 --wait 5m", "take 42 --wait 43 --json"])
def test_time_that_would_be_read_as_another_item_is_asked_about(agent: ForkedAgent, server: Server, words: str) -> None:
    answer = agent.claim(*words.split())
    word = words.partition("--wait ")[2].split()[0]
    assert server.refs() == {}
    assert (answer.status, answer.stderr) == (
        2,
        f"error: '--wait {word}' may mean a time or an item: write '--wait={word}', or all items first\n"
        "hint: 'git claim take -h' shows how it is used\n",
    )


@pytest.mark.parametrize(
    "words", ["--wait 42 43", "42 43 --wait", "42 --wait -- 43", "42 --wait=1m 43", "42 --wait #43"]
)
def test_items_around_a_wait_that_cannot_be_misread_are_all_items(
    agent: ForkedAgent, server: Server, words: str
) -> None:
    agent.claim(*words.split(), check=0)
    assert holders(server) == {"issue-42": "chain-agent-1", "issue-43": "chain-agent-1"}


def test_wait_of_no_length_asks_once(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    answer = agent.claim("42", "--wait=0")
    assert answer.stderr.startswith("waiting: issue 'server#42' is claimed by 'chain-rival'")
    assert answer.status == 1


@pytest.mark.parametrize("duration", ["soon", "-1", "1.5m", "", "99999999999s", "5 m"])
def test_wait_for_what_is_no_duration_is_a_wrong_command_line(
    agent: ForkedAgent, server: Server, duration: str
) -> None:
    answer = agent.claim("42", f"--wait={duration}")
    assert server.refs() == {}
    assert shown(answer) == block(f"""
        exit 2
        --- stdout
        --- stderr
        error: invalid value for '--wait': '{duration}' is not a duration such as 90s, 5m, 2h or 1d
        hint: 'git claim take -h' shows how it is used
        """)


# Forcing


def test_person_who_says_yes_takes_over_by_one_replace(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42", branch="42-fix")
    answer = at_terminal(agent, *FORCE, answers="yes\n")
    assert server.chain_of(FORTY_TWO) == [planted, server.refs()[FORTY_TWO]]
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert field(server, "issue-42", "previous") == planted
    assert field(server, "issue-42", "reason") == "the machine is gone"
    assert shown(answer) == block("""
        exit 0
        --- stdout
        took over server#42 for chain-agent-1 from 'chain-rival' on blade since <time> (<age>)
        --- stderr
        issue       42
        repo        acme/ledger
        chain       chain-rival
        host        blade
        claimed_at  <time>
        nonce       <nonce>
        branch      42-fix
        age         <age>
        id          <oid>
        Take over server#42? Type yes: """)


@pytest.mark.parametrize("typed", ["no\n", "\n", "42\n"])
def test_person_who_says_anything_else_changes_nothing(agent: ForkedAgent, server: Server, typed: str) -> None:
    planted = plant(server, "issue-42")
    answer = at_terminal(agent, *FORCE, answers=typed)
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer).partition("Take over ")[2] == block("""
        server#42? Type yes: error: not confirmed, nothing was changed
        hint: 'git claim ls' shows all claims
        """)


def test_person_who_ends_the_input_changes_nothing(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    answer = at_terminal(agent, *FORCE, answers="\x04")
    assert (answer.status, server.refs()) == (130, {FORTY_TWO: planted})


def test_force_without_a_terminal_refuses(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    answer = agent.claim(*FORCE)
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: --force asks a person at a terminal, and there is none (take.force = terminal)
        hint: ask a person, or wait with --wait
        """)


def test_typed_yes_that_comes_from_a_pipe_is_no_person(make_agent: MakeAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    answer = make_agent().claim(*FORCE, stdin="yes\n")
    assert (answer.status, server.refs()) == (1, {FORTY_TWO: planted})


def test_force_is_nobodys_where_the_repository_says_never(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    (agent.clone.path / ".claims.toml").write_text('take.force = "never"\n')
    answer = at_terminal(agent, *FORCE, answers="yes\n")
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: this repository does not allow --force (take.force = never)
        hint: 'git claim ls' shows all
        """)


def test_force_asks_nobody_where_the_repository_allows_it(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    (agent.clone.path / ".claims.toml").write_text('take.force = "allow"\n')
    answer = agent.claim(*FORCE)
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        took over server#42 for chain-agent-1 from 'chain-rival' on blade since <time> (<age>)
        --- stderr
        """)


def test_force_replaces_only_the_claim_that_was_seen(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    (agent.clone.path / ".claims.toml").write_text('take.force = "allow"\n')
    server.rival_in_the_gap("issue-42", "chain-newcomer")
    answer = agent.claim(*FORCE)
    assert holders(server) == {"issue-42": "chain-newcomer"}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: changed meanwhile: issue 'server#42' is claimed by 'chain-newcomer' on elsewhere since <time> (<age>)
        hint: 'git claim show 42' shows the claim as it is now
        """)


def test_force_on_a_free_item_and_on_an_own_one_takes_from_nobody(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-43", "chain-agent-1")
    answer = at_terminal(agent, "43", *FORCE, answers="")
    assert field(server, "issue-42", "reason") is None
    assert shown(answer) == block("""
        exit 0
        --- stdout
        server#43 is already yours since <time> (<age>)
        claimed server#42 for chain-agent-1
        --- stderr
        """)


def test_force_takes_over_a_claim_that_cannot_be_read(agent: ForkedAgent, server: Server) -> None:
    server.plant_bytes("issue-42", b"nonsense\n")
    answer = at_terminal(agent, *FORCE, answers="yes\n")
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        took over server#42 for chain-agent-1 from somebody whose record cannot be read: a line of it is not key=value
        --- stderr
        item        server#42
        unreadable  a line of it is not key=value
        id          <oid>
        Take over server#42? Type yes: """)
