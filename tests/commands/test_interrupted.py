"""Ctrl-C and SIGTERM in the middle: afterwards there is a claim that `ls --mine` shows, or nothing."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Literal

import pytest

from tests.agents import Agent, Answer, finish
from tests.commands.telling import block, holders, plant, shown
from tests.forked import ForkedAgent
from tests.places import Server

# What was ignored when the tests were started, as nohup does it, is ignored by what they start.
HEARD = [
    each for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is not signal.SIG_IGN
]
SIGNALS = pytest.mark.parametrize("number", HEARD, ids=lambda each: each.name)
MOMENTS = pytest.mark.parametrize("when", ["before", "after"])
SAID = block("""
    exit 130
    --- stdout
    --- stderr
    error: interrupted
    hint: 'git claim ls' shows who holds what; repeating is safe
    """)


def interrupted(agent: Agent, server: Server, when: Literal["before", "after"], number: int, *words: str) -> Answer:
    """Runs a command that is told to end while the server stands still."""
    reached = server.stops(when)
    process = agent.start(*words)
    assert reached.read_text() == "reached\n"
    process.send_signal(number)
    answer = finish(process)
    server.calm()
    return answer


@SIGNALS
@MOMENTS
def test_take_leaves_a_claim_that_is_found_or_nothing(
    agent: ForkedAgent, server: Server, when: Literal["before", "after"], number: signal.Signals
) -> None:
    answer = interrupted(Agent(agent.clone, agent.chain), server, when, number, "42")
    assert shown(answer) == SAID
    assert holders(server) == ({} if when == "before" else {"issue-42": "chain-agent-1"})
    listed = agent.claim("ls", "--mine", check=0)
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == (["42"] if when == "after" else [])
    again = agent.claim("42")
    assert again.stdout.startswith("claimed server#42" if when == "before" else "server#42 is already yours")
    assert len(server.chain_of("refs/claims/issue-42")) == 1


@MOMENTS
def test_release_leaves_the_claim_or_nothing(
    agent: ForkedAgent, server: Server, when: Literal["before", "after"]
) -> None:
    plant(server, "issue-42", "chain-agent-1")
    answer = interrupted(Agent(agent.clone, agent.chain), server, when, signal.SIGTERM, "release", "42")
    assert answer.status == 130
    assert holders(server) == ({"issue-42": "chain-agent-1"} if when == "before" else {})
    assert agent.claim("release", "42").status == 0
    assert holders(server) == {}


@MOMENTS
def test_minted_chain_of_a_take_that_ended_early_is_known(
    agent: Agent, server: Server, when: Literal["before", "after"]
) -> None:
    answer = interrupted(Agent(agent.clone), server, when, signal.SIGTERM, "42")
    said = answer.stderr.splitlines()[0]
    chain = said.split()[1]
    assert said == f"chain {chain} (new; keep it with: export GIT_CLAIM_CHAIN={chain})"
    assert holders(server) == ({} if when == "before" else {"issue-42": chain})
    assert ForkedAgent(agent.clone, chain).claim("42").status == 0


@MOMENTS
def test_lane_of_a_take_that_ended_early_finds_its_claim(
    agent: Agent, server: Server, when: Literal["before", "after"]
) -> None:
    lane = agent.clone.worktree("lane")
    interrupted(Agent(lane), server, when, signal.SIGTERM, "42")
    again = ForkedAgent(lane)
    assert again.claim("check").status == (1 if when == "before" else 0)
    assert again.claim("release").status == 0
    assert holders(server) == {}


def test_document_says_that_it_was_interrupted(agent: Agent, server: Server) -> None:
    answer = interrupted(agent, server, "before", signal.SIGTERM, "42", "--json")
    assert (answer.status, answer.at("reason"), answer.at("ok"), answer.at("next")) == (130, "interrupted", False, [])


def test_wait_ends_at_once(agent: Agent, server: Server) -> None:
    plant(server, "issue-42")
    process = agent.start("42", "--wait=10m")
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    assert shown(finish(process, timeout=5)) == SAID


def test_no_git_is_left_running(agent: Agent, server: Server, tmp_path: Path) -> None:
    interrupted(agent, server, "before", signal.SIGTERM, "42")
    assert processes_in(tmp_path) == []


def processes_in(directory: Path) -> list[str]:
    """What runs in a directory below this one, or would have to be looked for elsewhere than on Linux."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(directory):
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found
