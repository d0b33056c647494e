"""Standard output is data, standard error is talk; and what happens where nobody listens to either."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.agents import PROGRAM, Agent, Answer
from tests.commands.telling import block, holders, plant, shown
from tests.forked import ForkedAgent
from tests.places import Server


def in_shell(agent: Agent, redirection: str, *words: str) -> Answer:
    ended = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *PROGRAM, *words],
        cwd=agent.clone.path,
        env=agent.full_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Answer(ended.returncode, ended.stdout, ended.stderr)


# Quiet


@pytest.mark.parametrize(
    "words", ["42", "42 --phase x", "release 42", "renew 42", "hand-off 42 --to chain-agent-1", "check 42", "init"]
)
def test_quiet_says_nothing_of_what_went_well(agent: ForkedAgent, server: Server, words: str) -> None:
    plant(server, "issue-42", "chain-agent-1")
    assert shown(agent.claim(*words.split(), "--quiet")) == "exit 0\n--- stdout\n--- stderr\n"


def test_quiet_still_says_what_went_wrong(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    assert agent.claim("-q", "42").transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        """)


@pytest.mark.parametrize("words", ["ls", "show 42", "whoami"])
def test_quiet_still_gives_what_was_asked_for(agent: ForkedAgent, server: Server, words: str) -> None:
    plant(server, "issue-42", "chain-agent-1")
    loud, quiet = agent.claim(*words.split()), agent.claim(*words.split(), "-q")
    assert (quiet.stdout, quiet.stderr) == (loud.stdout, "")
    assert quiet.stdout


# Nobody listens


def unheard(agent: Agent, *words: str) -> Answer:
    """Runs the product into a pipe whose reader has gone away."""
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [*PROGRAM, *words],
        cwd=agent.clone.path,
        env=agent.full_environment(),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(writer)
    return Answer(ended.returncode, "", ended.stderr)


@pytest.mark.parametrize("words", ["ls", "show 42", "42", "-h", "take -h", "completion bash", "doctor", "ls --json"])
def test_reader_that_went_away_is_no_trouble(agent: Agent, server: Server, words: str) -> None:
    plant(server, "issue-42", "chain-agent-1")
    answer = unheard(agent, *words.split())
    assert answer.status == 0
    assert [line for line in answer.stderr.splitlines() if not line.startswith("next: ")] == []


def test_reader_that_went_away_does_not_turn_a_no_into_a_yes(agent: Agent, server: Server) -> None:
    plant(server, "issue-43")
    answer = unheard(agent, "42", "43", "44")
    assert holders(server) == {"issue-42": "chain-agent-1", "issue-43": "chain-rival", "issue-44": "chain-agent-1"}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#43' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: 'git claim 43 --wait' waits for it; 'git claim ls' shows all
        """)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_trouble(agent: Agent, server: Server, closed: str) -> None:
    answer = in_shell(agent, closed, "42")
    assert (answer.status, answer.stderr) == (0, "")
    assert answer.stdout == ("" if ">&-" in closed.replace("2>&-", "") else "claimed server#42 for chain-agent-1\n")
    assert holders(server) == {"issue-42": "chain-agent-1"}


@pytest.mark.parametrize("words", ["42", "ls", "ls --json", "show 42"])
def test_full_disk_is_told_from_a_no(agent: Agent, server: Server, words: str) -> None:
    plant(server, "issue-42", "chain-agent-1")
    answer = in_shell(agent, ">/dev/full", *words.split())
    assert [line for line in shown(answer).splitlines() if not line.startswith("next: ")] == [
        "exit 128",
        "--- stdout",
        "--- stderr",
        "fatal: cannot write to standard output: No space left on device",
        "hint: what the command did stands; repeating it is safe",
    ]


def test_full_disk_under_a_failure_keeps_the_failure(agent: Agent) -> None:
    answer = in_shell(agent, ">/dev/full", "ls", "--nonsense", "--json")
    assert answer.status == 128
    assert shown(answer).splitlines()[3] == "error: no such option '--nonsense'"


# What the streams can show


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_character_that_a_terminal_lacks_is_no_crash(agent: ForkedAgent, server: Server, encoding: str) -> None:
    plant(server, "issue-42", branch="42-größer-数")
    answer = Agent(agent.clone, agent.chain, {"PYTHONIOENCODING": encoding}).claim("ls")
    assert answer.status == 0
    assert "42-gr" in answer.stdout


def test_output_is_the_same_at_a_terminal(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", branch="42-" + "x" * 150)
    piped = agent.claim("ls")
    keyboard, terminal = pty.openpty()
    command: Sequence[str] = [*PROGRAM, "ls"]
    environment = agent.full_environment() | {"COLUMNS": "40", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR")
    subprocess.run(command, cwd=agent.clone.path, env=environment, stdout=terminal, check=True, timeout=60)
    os.close(terminal)
    assert read_all(keyboard).replace("\r\n", "\n") == piped.stdout


def read_all(source: int) -> str:
    heard = b""
    with open(source, "rb", buffering=0) as terminal:
        try:
            while piece := terminal.read(65536):
                heard += piece
        except OSError:
            # The last one to hold the terminal has let go.
            pass
    return heard.decode()


def test_talk_goes_to_standard_error_alone(agent: ForkedAgent, server: Server, tmp_path: Path) -> None:
    plant(server, "issue-42")
    agent.claim("ls", check=0)
    for words in ("ls --cached", "show 42 --cached", "42 --wait=0", "check 42"):
        lines = agent.claim(*words.split()).stdout.splitlines()
        assert not [line for line in lines if line.startswith(("next: ", "hint: ", "error: ", "from ", "waiting: "))]
