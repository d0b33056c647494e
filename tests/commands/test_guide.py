"""`git claim guide` is followed to the letter, and the question that CI asks is answered."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.agents import PROGRAM, Agent, Answer
from tests.commands.lane import lane_path, start
from tests.commands.telling import block, holders, plant
from tests.forked import ForkedAgent
from tests.places import Server

WORK = "echo done >work.txt && git add work.txt && git commit --quiet --message work"


def test_guide_is_printed_alone_and_anywhere(agent: ForkedAgent, tmp_path: Path) -> None:
    (tmp_path / "nowhere").mkdir()
    answer = ForkedAgent(agent.clone, None).claim("-C", str(tmp_path / "nowhere"), "guide")
    assert (answer.status, answer.stderr) == (0, "")
    assert answer.stdout.startswith("git claim: ")


def test_loop_of_the_guide_works_as_it_is_written(
    agent: ForkedAgent, server: Server, installed: dict[str, str]
) -> None:
    loop = agent.claim("guide").stdout.partition("THE LOOP\n")[2].partition("\n\n")[0].splitlines()
    commands = [re.split(r" {3,}", line.strip())[0] for line in loop]
    assert len(commands) == 4
    lines = [WORK if command.startswith("...") else command for command in commands]
    environment = {**agent.full_environment(), **installed}
    del environment["GIT_CLAIM_CHAIN"]
    script = " && ".join([*lines[:3], f"git --git-dir='{server.path}' for-each-ref --format='%(refname)'", lines[3]])
    done = subprocess.run(["sh", "-c", script], cwd=agent.clone.path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done
    assert done.stdout.splitlines() == [
        "pushed 42-work; claim of server#42 holds",
        "refs/claims/issue-42",
        "refs/heads/42-work",
        "refs/heads/main",
        "released server#42",
    ]
    assert (server.refs(), server.git("log", "-1", "--format=%s", "42-work").stdout) == ({}, "work\n")


def refusals(agent: ForkedAgent, server: Server) -> list[Answer]:
    """What an agent meets that does as it should: another's claim, a lost one, a silent remote, a broken record."""
    plant(server, "issue-43")
    lane = start(agent, "42")
    held = agent.claim("43")
    server.plant_bytes("issue-44", b"\xff")
    broken = agent.claim("44")
    alone = Agent(agent.clone, agent.chain).claim("reclaim", "43")
    plant(server, "issue-42")
    lost = lane.claim("push")
    server.path.rename(server.path.with_name("gone.git"))
    return [held, lost, lane.claim("push"), broken, alone]


def test_refusals_are_said_in_the_words_that_the_guide_explains(agent: ForkedAgent, server: Server) -> None:
    explained = agent.claim("guide").stdout.partition("WHAT A REFUSAL MEANS\n")[2].partition("\n\n")[0]
    words = [re.findall(r'"(.+?)(?:-)?(?:\.\.\.)?\'?"', line) for line in explained.splitlines()]
    met = refusals(agent, server)
    assert len(words) == len(met)
    for said, answer in zip(words, met, strict=True):
        assert any(word.rstrip(" :") in answer.stderr for word in said), (said, answer)


# CI


def ask(agent: ForkedAgent, branch: str, *words: str) -> Answer:
    return agent.claim("check", "--branch", branch, "--any-chain", *words)


@pytest.mark.parametrize("name", ["42-work", "refs/heads/42-work"])
def test_branch_that_a_claim_names_is_claimed_whoever_asks(agent: ForkedAgent, nobody: ForkedAgent, name: str) -> None:
    lane = start(agent, "42")
    assert lane.clone.path == lane_path(agent)
    answer = ask(nobody, name)
    assert (answer.status, answer.stderr) == (0, "")
    assert answer.stdout.startswith("branch '42-work' is claimed: issue 'server#42' is claimed by 'chain-agent-1' on ")
    document = ask(nobody, name, "--json")
    assert (document.at("ok"), document.at("branch"), document.at("item")) == (True, "42-work", "issue-42")


def test_branch_made_by_hand_is_named_after_a_fenced_push(agent: ForkedAgent, nobody: ForkedAgent) -> None:
    agent.claim("42", check=0)
    agent.clone.git("switch", "--quiet", "-c", "42-by-hand")
    assert ask(nobody, "42-by-hand").status == 1
    agent.claim("push", check=0)
    assert ask(nobody, "42-by-hand").status == 0


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (None, "issue 'server#42' is not claimed"),
        ({}, "issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>), which names no branch"),
        (
            {"branch": "42-other"},
            "issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>), for branch '42-other'",
        ),
    ],
    ids=["free", "no branch", "another branch"],
)
def test_branch_that_no_claim_names_is_refused_with_the_reason(
    nobody: ForkedAgent, server: Server, fields: dict[str, str] | None, error: str
) -> None:
    if fields is not None:
        plant(server, "issue-42", **fields)
    assert ask(nobody, "42-work").transcript() == block(f"""
        exit 1
        --- stdout
        --- stderr
        error: branch '42-work' is not claimed: {error}
        hint: 'git claim push' keeps the branch in the claim
        """)


def test_unreadable_claim_claims_no_branch(nobody: ForkedAgent, server: Server) -> None:
    server.plant_bytes("issue-42", b"\xff")
    answer = ask(nobody, "42-work", "--json")
    assert (answer.status, answer.at("reason")) == (1, "unreadable")


def test_branch_without_an_item_is_a_question_that_cannot_be_asked(nobody: ForkedAgent) -> None:
    answer = ask(nobody, "main")
    assert (answer.status, "'main' is neither an item nor a branch that names one" in answer.stderr) == (2, True)
    assert ask(nobody, "").status == 2


def test_silent_remote_is_neither_yes_nor_no(nobody: ForkedAgent, tmp_path: Path) -> None:
    nobody.clone.config("remote.origin.url", str(tmp_path / "gone.git"))
    assert ask(nobody, "42-work").status == 3


def test_fresh_clone_of_ci_may_ask(nobody: ForkedAgent, server: Server, tmp_path: Path) -> None:
    # As a CI service clones: shallow, one commit, no branch.
    plant(server, "issue-42", branch="42-work")
    clone = nobody.clone
    clone.git("clone", "--quiet", "--depth=1", f"file://{server.path}", str(tmp_path / "ci"))
    clone.git("-C", str(tmp_path / "ci"), "switch", "--quiet", "--detach")
    done = subprocess.run(
        [*PROGRAM, "check", "--any-chain", "--branch", "42-work"],
        cwd=tmp_path / "ci",
        env=nobody.full_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done
    assert holders(server) == {"issue-42": "chain-rival"}
