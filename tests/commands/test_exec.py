"""`git claim exec`: a command that runs for as long as its claim holds, and nothing of it for longer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents import Answer
from tests.commands.lane import lane_of, start
from tests.commands.telling import block, holders, plant
from tests.forked import ForkedAgent, Running
from tests.places import ABSENT, Server
from tests.proxy import black_hole
from tests.scenarios.fencing import wait_for

FORTY_TWO = "refs/claims/issue-42"
WATCHFUL = ("--check-every", "0s")
# Waits for a signal the way a shell can, its traps run between short sleeps; and ends when a test has failed.
FOREVER = "n=0; while [ $((n += 1)) -lt 1000 ]; do sleep 0.05; done"


def sh(script: str) -> tuple[str, ...]:
    return "--", "sh", "-c", script


def running(agent: ForkedAgent, ready: Path, script: str, *options: str) -> Running:
    """Starts the command and waits until it says that it is there; `$ready` is where it says so."""
    process = agent.fork("exec", "42", *options, *sh(f"ready='{ready}'\n{script}"))
    wait_for(ready)
    return process


def runs(pid: str) -> bool:
    """Says whether the process is there, and more than an entry that nobody has collected."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid.strip()], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")


# A claim around a command


def test_claim_is_held_while_the_command_runs_and_released_after_it(agent: ForkedAgent, server: Server) -> None:
    script = f"echo $GIT_CLAIM_CHAIN $GIT_CLAIM_ITEM; git --git-dir='{server.path}' show {FORTY_TWO}:claim"
    answer = agent.claim("exec", "42", *sh(script))
    first, *record = answer.stdout.splitlines()
    assert first == "chain-agent-1 42"
    assert "chain=chain-agent-1" in record
    assert (server.refs(), len(server.chain_of(FORTY_TWO))) == ({}, 2)
    assert (answer.status, answer.stderr) == (0, "released server#42 (done)\n")


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -INT $$", 130),
    ],
)
def test_exit_status_of_the_command_is_passed_on(agent: ForkedAgent, server: Server, script: str, status: int) -> None:
    answer = agent.claim("exec", "42", *sh(script))
    assert (answer.status, server.refs()) == (status, {})
    assert answer.stderr == f"released server#42 ({'abandoned' if status else 'done'})\n"


def test_output_is_the_commands_own(agent: ForkedAgent) -> None:
    answer = agent.claim("exec", "42", "--quiet", *sh("echo out; echo err >&2"))
    assert answer == Answer(0, "out\n", "err\n")


def test_options_behind_the_dashes_are_the_commands(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("exec", "42", "--", "git", "-C", str(server.path), "rev-parse", "--verify", "-q", FORTY_TWO)
    assert answer.stdout.strip() == server.chain_of(FORTY_TWO)[0]


def test_held_item_runs_nothing(agent: ForkedAgent, server: Server, tmp_path: Path) -> None:
    planted = plant(server, "issue-42")
    answer = agent.claim("exec", "42", *sh(f"touch '{tmp_path}/ran'"))
    assert (server.refs(), (tmp_path / "ran").exists()) == ({FORTY_TWO: planted}, False)
    assert answer.transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: 'git claim 42 --wait' waits for it; 'git claim ls' shows all
        """)


def test_claim_that_was_held_before_is_kept(agent: ForkedAgent, server: Server) -> None:
    agent.claim("42", check=0)
    answer = agent.claim("exec", "42", *sh("exit 7"))
    assert (answer, holders(server)) == (Answer(7, "", ""), {"issue-42": "chain-agent-1"})
    assert len(server.chain_of(FORTY_TWO)) == 1


def test_lane_runs_under_its_own_chain_in_its_own_directory(agent: ForkedAgent, server: Server) -> None:
    lane = start(agent, "42")
    answer = lane.claim("exec", "42", *sh("pwd; echo $GIT_CLAIM_CHAIN"))
    assert answer == Answer(0, f"{lane.clone.path}\nchain-agent-1\n", "")
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert lane_of(lane.clone.path)["items"] == ["issue-42"]


def test_chain_that_was_made_for_what_is_held_need_not_be_kept(nobody: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    assert "holds nothing and need not be kept" in nobody.claim("exec", "42", "--", "true").stderr
    assert "need not be kept" not in nobody.claim("exec", "43", "--", "true").stderr


def test_chain_is_minted_and_said_where_none_is_in_force(nobody: ForkedAgent, server: Server) -> None:
    answer = nobody.claim("exec", "42", *sh("echo $GIT_CLAIM_CHAIN"))
    assert answer.stderr.startswith(f"chain {answer.stdout.strip()} (new;")
    assert server.refs() == {}


@pytest.mark.parametrize(
    ("command", "error"),
    [("no-such-program", "No such file or directory"), ("/", "Permission denied")],
)
def test_command_that_cannot_be_run_gives_the_claim_back(
    agent: ForkedAgent, server: Server, command: str, error: str
) -> None:
    answer = agent.claim("exec", "42", "--", command)
    assert (server.refs(), len(server.chain_of(FORTY_TWO))) == ({}, 2)
    assert (answer.status, answer.stdout) == (2, "")
    assert answer.stderr.splitlines()[:2] == [
        "released server#42 (abandoned)",
        f"error: cannot run '{command}': {error}",
    ]


def test_command_line_without_a_command_claims_nothing(agent: ForkedAgent, server: Server) -> None:
    for words in (("exec", "42"), ("exec", "42", "--"), ("exec", "--", "true")):
        assert agent.claim(*words).status == 2, words
    assert server.transcript()[1:] == []


# A claim that is lost


def lost(server: Server) -> None:
    plant(server, "issue-42")


def freed(server: Server) -> None:
    server.plant(FORTY_TWO, None)


def unreadable(server: Server) -> None:
    server.plant_bytes("issue-42", b"\xff")


@pytest.mark.parametrize("loss", [lost, freed, unreadable], ids=lambda loss: loss.__name__)
def test_command_is_told_to_end_when_its_claim_is_lost(
    agent: ForkedAgent, server: Server, ready: Path, loss: Callable[[Server], None]
) -> None:
    script = f"trap 'echo told; exit 0' TERM; echo >$ready; {FOREVER}"
    process = running(agent, ready, script, *WATCHFUL)
    loss(server)
    after = server.refs()
    answer = process.finish()
    assert (answer.status, answer.stdout) == (1, "told\n")
    assert answer.stderr.startswith("error: the claim is lost; the command is stopped\n")
    assert server.refs() == after


def test_loss_is_told_with_the_holder_and_nothing_is_released(agent: ForkedAgent, server: Server, ready: Path) -> None:
    process = running(agent, ready, "echo >$ready; exec sleep 60", *WATCHFUL)
    lost(server)
    assert process.finish().transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        error: the claim is lost; the command is stopped
        warning: not released: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: only its holder can do that; 'git claim ls --mine' shows what this chain holds
        """)


# One second over: the grace that the command is given.
def test_command_that_does_not_listen_is_killed_after_the_grace(
    agent: ForkedAgent, server: Server, ready: Path
) -> None:
    script = f"trap 'echo told' TERM; echo $$; echo >$ready; {FOREVER}"
    process = running(agent, ready, script, *WATCHFUL, "--grace", "1s")
    lost(server)
    answer = process.finish()
    pid, told = answer.stdout.splitlines()
    assert (answer.status, told, runs(pid)) == (1, "told", False)


def test_everything_the_command_has_started_ends_with_it(agent: ForkedAgent, server: Server, ready: Path) -> None:
    grandchild = f"(trap '' TERM; echo >$ready; {FOREVER}) & echo $!; sh -c 'sleep 60' & echo $!; {FOREVER}"
    process = running(agent, ready, grandchild, *WATCHFUL, "--grace", "1s")
    lost(server)
    answer = process.finish()
    assert answer.status == 1
    assert [runs(pid) for pid in answer.stdout.split()] == [False, False]


def test_what_a_finished_command_left_behind_is_ended_too(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("exec", "42", *sh("sleep 60 & echo $!; exit 7"), timeout=20)
    assert (answer.status, runs(answer.stdout), server.refs()) == (7, False, {})


def test_claim_of_the_same_chain_that_was_renewed_elsewhere_is_no_loss(
    agent: ForkedAgent, server: Server, ready: Path, go: Path
) -> None:
    process = running(agent, ready, f"echo >$ready; read -r _ <'{go}'; exit 5", *WATCHFUL)
    agent.claim("renew", "42", check=0)
    go.write_text("go on\n")
    assert (process.finish().status, server.refs()) == (5, {})


# A remote that is silent


def answering(server: Server, when: str) -> str:
    """A program that answers reads only when the shell says so, by the count of how often it was asked."""
    program = server.path / "upload-pack"
    program.write_text(
        f"#!/bin/sh\necho asked >>'{server.path}/asked'\ncount=$(wc -l <'{server.path}/asked')\n"
        f'{when} || exit 1\nexec git-upload-pack "$@"\n'
    )
    program.chmod(0o755)
    return str(program)


def asked(server: Server, times: int) -> str:
    """A command that ends once the server has been asked so often."""
    count = f"cat '{server.path}/asked' 2>/dev/null | wc -l"
    return f'until [ "$({count})" -ge {times} ]; do sleep 0.05; done'


def test_claim_that_cannot_be_confirmed_in_time_stops_the_command(
    agent: ForkedAgent, server: Server, ready: Path, tmp_path: Path
) -> None:
    process = running(agent, ready, f"echo >$ready; {FOREVER}", *WATCHFUL, "--confirm-within", "1s")
    server.path.rename(tmp_path / "gone.git")
    answer = process.finish()
    assert (answer.status, answer.stdout) == (3, "")
    first, last = answer.stderr.splitlines()
    assert first.startswith("error: the claim can no longer be confirmed (cannot read the claims of remote 'origin': ")
    assert first.endswith("); the command is stopped")
    assert last.startswith("error: the claim could not be released: cannot read the claims of remote 'origin': ")


def test_remote_that_swallows_every_word_cannot_hold_the_command(
    agent: ForkedAgent, server: Server, ready: Path
) -> None:
    with black_hole() as port:
        script = f"git config remote.origin.url git://127.0.0.1:{port}/x.git; echo >$ready; {FOREVER}"
        answer = running(agent, ready, script, *WATCHFUL, "--confirm-within", "1s").finish(timeout=25)
    assert answer.status == 3, answer
    assert "error: the claim can no longer be confirmed (" in answer.stderr


def test_remote_that_comes_back_in_time_stops_nothing(agent: ForkedAgent, server: Server) -> None:
    agent.clone.config("remote.origin.uploadpack", answering(server, "[ $count -gt 4 ]"))
    answer = agent.claim("exec", "42", *WATCHFUL, *sh(f"{asked(server, 6)}; exit 5"))
    assert (answer.status, server.refs()) == (5, {}), answer


# Renewals


def test_claim_is_renewed_while_the_command_runs(agent: ForkedAgent, server: Server) -> None:
    agent.clone.config("remote.origin.uploadpack", answering(server, "true"))
    answer = agent.claim("exec", "42", *WATCHFUL, "--renew-every", "0s", *sh(asked(server, 4)))
    *ids, gone = server.chain_of(FORTY_TWO)
    assert (answer.status, gone, len(set(ids)) >= 3) == (0, ABSENT, True)


def test_short_command_renews_nothing(agent: ForkedAgent, server: Server) -> None:
    # Reading is cheap and happens all the time; each renewal leaves objects on the server.
    agent.clone.config("remote.origin.uploadpack", answering(server, "true"))
    assert agent.claim("exec", "42", *WATCHFUL, *sh(asked(server, 3))).status == 0
    assert len(server.chain_of(FORTY_TWO)) == 2


def test_claim_that_is_lost_in_a_renewal_stops_the_command(agent: ForkedAgent, server: Server, ready: Path) -> None:
    process = running(agent, ready, f"echo >$ready; {FOREVER}", *WATCHFUL, "--renew-every", "0s")
    server.rival_in_the_gap("issue-42", "chain-rival")
    answer = process.finish()
    assert (answer.status, holders(server)) == (1, {"issue-42": "chain-rival"})
