"""The command line over a real bare repository: agents whose commands are forked, and `git claim` on PATH."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from tests.agents import PROGRAM, ROOT, Agent
from tests.commands.lane import start, work
from tests.commands.pulling import Proposed, propose
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked
from tests.github_double import GitHub
from tests.places import make_clone


@pytest.fixture
def agent(agent: Agent) -> ForkedAgent:
    return forked(agent)


@pytest.fixture
def other(make_agent: MakeAgent) -> ForkedAgent:
    """A second agent, in a clone of its own."""
    return forked(make_agent())


@pytest.fixture
def nobody(agent: ForkedAgent) -> ForkedAgent:
    """The same clone with no chain in force."""
    return ForkedAgent(agent.clone, None)


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """What to add to an environment so that `git-claim` is on PATH, and so `git claim` is a command of git."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git-claim").write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    (programs / "git-claim").chmod(0o755)
    return {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """A pipe by which the command says that it runs."""
    pipe = tmp_path / "ready"
    os.mkfifo(pipe)
    return pipe


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """A pipe by which the command is told to go on."""
    pipe = tmp_path / "go"
    os.mkfifo(pipe)
    return pipe


@pytest.fixture
def lane(agent: ForkedAgent) -> ForkedAgent:
    """A lane for issue 42 with one commit in it."""
    opened = start(agent, "42")
    work(opened)
    return opened


@pytest.fixture
def octo(github: GitHub, tmp_path: Path) -> ForkedAgent:
    """An agent of the login octo in a clone of acme/ledger on GitHub."""
    return ForkedAgent(make_clone(github.server, tmp_path), "chain-octo", github.environment("octo"))


@pytest.fixture
def ada(github: GitHub, tmp_path: Path) -> ForkedAgent:
    """An agent of the login ada in another clone of it."""
    return ForkedAgent(make_clone(github.server, tmp_path, "adas"), "chain-ada", github.environment("ada"))


@pytest.fixture
def queue(github: GitHub) -> None:
    """Three ready issues, of which the second frees most; one that waits for it, one for people."""
    github.add_issue(1, "Round the totals", labels=["ready", "afk"])
    github.add_issue(2, "Draw the schema", labels=["ready", "afk"])
    github.add_issue(3, "Load the schema", labels=["ready", "afk"], blocked_by=[2])
    github.add_issue(4, "Choose a name", labels=["ready", "hitl"])
    github.add_issue(5, "Fix the login", labels=["ready", "afk"])


@pytest.fixture
def proposed(github: GitHub, octo: ForkedAgent) -> Proposed:
    """The lane of octo's issue 42, and pull request 17 of it."""
    return propose(github, octo)


@pytest.fixture
def green(proposed: Proposed) -> Proposed:
    """The same when its checks have passed."""
    proposed.github.check(17, "test", "SUCCESS")
    return proposed
