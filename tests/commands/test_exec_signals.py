"""`git claim exec`: a command that runs for as long as its claim holds, and nothing of it for longer."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from tests.agents import PROGRAM
from tests.commands.keyboard import at_keyboard
from tests.commands.telling import holders
from tests.commands.test_exec import FOREVER, WATCHFUL, lost, running, runs, sh
from tests.forked import ForkedAgent
from tests.places import Server
from tests.scenarios.fencing import wait_for

# Signals


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1], ids=lambda each: each.name
)
def test_signal_reaches_the_command_which_decides_how_it_ends(
    agent: ForkedAgent, server: Server, ready: Path, number: signal.Signals
) -> None:
    name = number.name.removeprefix("SIG")
    process = running(agent, ready, f"trap 'echo caught {name}; exit 9' {name}; echo >$ready; {FOREVER}")
    process.send(number)
    answer = process.finish()
    assert (answer.status, answer.stdout, server.refs()) == (9, f"caught {name}\n", {})
    # In between some shells say that their own child was ended too.
    assert answer.stderr.endswith("released server#42 (abandoned)\n")


def test_command_that_a_signal_ends_ends_with_its_status(agent: ForkedAgent, server: Server, ready: Path) -> None:
    process = running(agent, ready, "echo >$ready; exec sleep 60")
    process.send(signal.SIGTERM)
    assert (process.finish().status, server.refs()) == (143, {})


def test_command_that_a_signal_does_not_end_goes_on(agent: ForkedAgent, server: Server, ready: Path) -> None:
    process = running(agent, ready, "trap 'said=1' USR1; echo >$ready; until [ $said ]; do sleep 0.05; done; exit 4")
    process.send(signal.SIGUSR1)
    assert process.finish().status == 4


def test_second_signal_while_the_command_is_being_stopped_leaves_nothing_behind(
    agent: ForkedAgent, server: Server, ready: Path
) -> None:
    script = f"trap 'echo >$ready' TERM; echo $$; echo >$ready; {FOREVER}"
    process = running(agent, ready, script, *WATCHFUL, "--grace", "60s")
    lost(server)
    wait_for(ready)
    process.send(signal.SIGTERM)
    answer = process.finish(timeout=20)
    assert (answer.status, runs(answer.stdout)) == (130, False), answer


def test_hang_up_that_was_ignored_at_the_start_reaches_nobody(
    agent: ForkedAgent, server: Server, ready: Path, go: Path
) -> None:
    script = f"echo >'{ready}'; read -r _ <'{go}'; exit 6"
    process = subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *PROGRAM, "exec", "42", *sh(script)],
        cwd=agent.clone.path,
        env=agent.full_environment(),
        stdin=subprocess.DEVNULL,
    )
    with process:
        wait_for(ready)
        process.send_signal(signal.SIGHUP)
        go.write_text("go on\n")
        assert process.wait(20) == 6
    assert server.refs() == {}


# At a terminal


def test_ctrl_c_reaches_the_command_and_the_claim_is_released(agent: ForkedAgent, server: Server) -> None:
    script = f"trap 'echo caught; exit 9' INT; echo here; {FOREVER}"
    with at_keyboard(agent, [*PROGRAM, "exec", "42", *sh(script)]) as keyboard:
        keyboard.sees("here\n")
        assert holders(server) == {"issue-42": "chain-agent-1"}
        keyboard.types("\x03")
        status = keyboard.finish()
    assert (status, server.refs()) == (9, {}), keyboard.screen
    assert keyboard.screen == "here\ncaught\nreleased server#42 (abandoned)\n"


def test_command_reads_from_the_terminal_and_the_caller_after_it(agent: ForkedAgent, server: Server) -> None:
    inside = shlex.join([*PROGRAM, "exec", "42", *sh('read -r line; echo "inside: $line"; exit 3')])
    with at_keyboard(agent, ["sh", "-c", f'{inside}; echo "ended $?"; read -r line; echo "after: $line"']) as keyboard:
        keyboard.types("one\n")
        keyboard.sees("ended 3\n")
        keyboard.types("two\n")
        assert keyboard.finish() == 0
    assert keyboard.screen == "inside: one\nreleased server#42 (abandoned)\nended 3\nafter: two\n"
    assert server.refs() == {}


def test_ctrl_z_stops_both_and_both_go_on(agent: ForkedAgent, server: Server) -> None:
    script = 'echo here; while read -r line; do echo "got $line"; done'
    with at_keyboard(agent, [*PROGRAM, "exec", "42", *sh(script)]) as keyboard:
        # What it reads shows that the terminal is the command's by now.
        keyboard.types("first\n")
        keyboard.sees("got first\n")
        keyboard.types("\x1a")
        assert keyboard.stops(), keyboard.screen
        assert holders(server) == {"issue-42": "chain-agent-1"}
        os.killpg(keyboard.process.pid, signal.SIGCONT)
        keyboard.types("line\n")
        keyboard.sees("got line\n")
        keyboard.types("\x04")
        assert keyboard.finish() == 0
    assert server.refs() == {}
