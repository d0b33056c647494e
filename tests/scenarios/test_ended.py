"""Commands that are told to end: no git of theirs is left behind, however young it was."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.agents import PROGRAM, finish
from tests.forked import ForkedAgent
from tests.proxy import black_hole

# Each git is looked for in every one of these first, which makes the moment long in which it is neither here nor there.
MANY_PLACES = ":".join(["/x"] * 15_000)
# Stands for a git that talks to a server that says nothing.
SILENT = "#!/bin/sh\nexec sleep 300\n"
PATIENCE_SECONDS = 20


@pytest.fixture
def silent_git(tmp_path: Path) -> dict[str, str]:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(SILENT)
    (programs / "git").chmod(0o755)
    return {"PATH": f"{MANY_PLACES}:{programs}:{os.environ['PATH']}"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_git_that_was_just_being_started_is_ended_too(
    runner: ForkedAgent, silent_git: dict[str, str], number: signal.Signals
) -> None:
    runner.environment |= silent_git
    running = runner.fork("take", "42")
    git = first_child(running.pid)
    running.send(number)
    answer = running.finish(PATIENCE_SECONDS)
    left = Path(f"/proc/{git}/cwd").exists()
    if left:
        os.kill(git, signal.SIGKILL)
    assert (answer.status, left) == (130, False), answer


def test_command_under_nohup_outlives_the_terminal(runner: ForkedAgent) -> None:
    with black_hole() as port:
        runner.clone.config("remote.origin.url", f"git://127.0.0.1:{port}/server.git")
        runner.clone.config("claim.timeout", "1s")
        process = subprocess.Popen(
            ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *PROGRAM, "check", "42"],
            cwd=runner.clone.path,
            env=runner.full_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        first_child(process.pid)
        process.send_signal(signal.SIGHUP)
        answer = finish(process)
    assert answer.status == 3, answer


def first_child(pid: int) -> int:
    """The id of the first process that this one starts, at once."""
    children, deadline = Path(f"/proc/{pid}/task/{pid}/children"), time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if found := children.read_text().split():
            return int(found[0])
    raise AssertionError("it started nothing")
