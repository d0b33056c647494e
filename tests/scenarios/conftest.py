"""Agents for scenarios: their commands are processes, forked so that hundreds of them cost seconds."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Protocol

import pytest

from tests.agents import PROGRAM
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked
from tests.transports import Transport


class MakeForked(Protocol):
    def __call__(self, transport: Transport | None = None) -> ForkedAgent: ...


@pytest.fixture
def make_forked(make_agent: MakeAgent) -> MakeForked:
    """Makes agents with a clone and a chain of their own, by a path or by the transport given."""

    def make(transport: Transport | None = None) -> ForkedAgent:
        if transport is None:
            return forked(make_agent())
        agent = forked(make_agent(url=transport.url))
        agent.environment |= transport.environment
        return agent

    return make


@pytest.fixture
def runner(make_forked: MakeForked) -> ForkedAgent:
    return make_forked()


@pytest.fixture
def named(runner: ForkedAgent, tmp_path: Path) -> ForkedAgent:
    """An agent that has `git claim` on PATH, as hooks need it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git-claim").write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    (programs / "git-claim").chmod(0o755)
    runner.environment |= {"PATH": f"{programs}:{os.environ['PATH']}"}
    return runner


@pytest.fixture
def gated(named: ForkedAgent) -> ForkedAgent:
    """An agent whose clone has the pre-push hook, and `git claim` for it on PATH."""
    named.claim("hook", "install", check=0)
    return named
