"""How many gh processes a command starts, how often it pushes, and how many requests that makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.agents import Crasher
from tests.bench.ground import fill
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import CLAIMS, make_clone

CHAIN, LOGIN, AT = "chain-octo", "octo", "2026-11-30T13:06:00Z"
RECORD = f"issue={{n}}\nchain={CHAIN}\nhost=here\nclaimed_at={AT}\nnonce={{n:032x}}\noperator={LOGIN}\n"
LOCK = f"<!-- claude-lock: operator={LOGIN} at={AT} nonce={{n:032x}} -->"


@dataclass(frozen=True, slots=True)
class Counted:
    """What one command asked for."""

    gh_processes: int
    requests: int
    pushes: int


@pytest.fixture
def octo(github: GitHub, tmp_path: Path) -> ForkedAgent:
    return ForkedAgent(make_clone(github.server, tmp_path), CHAIN, github.environment(LOGIN))


@pytest.fixture
def counting(tmp_path: Path) -> Crasher:
    return Crasher(tmp_path / "counting", ("git", "gh"))


def counted(crasher: Crasher, github: GitHub, agent: ForkedAgent, *words: str) -> Counted:
    github.forget_requests()
    watched = replace(agent, environment=agent.environment | crasher.environment())
    answer = watched.claim(*words)
    assert answer.status == 0, answer
    children = crasher.commands()
    pushes = sum(child[0] == "git" and "push" in child for child in children)
    return Counted(sum(child[0] == "gh" for child in children), len(github.requests), pushes)


def test_take_is_one_question_one_push_and_one_write(github: GitHub, octo: ForkedAgent, counting: Crasher) -> None:
    github.add_issue(42, labels=["ready"])
    assert counted(counting, github, octo, "take", "42") == Counted(2, 2, 1)


@pytest.mark.parametrize("ending", ["--merged --pr 57", "--abandoned", "--blocked --reason api", "--ci-monitoring"])
def test_release_is_one_question_one_write_and_one_push(
    ending: str, github: GitHub, octo: ForkedAgent, counting: Crasher
) -> None:
    github.add_issue(42, labels=["ready"])
    github.add_pull(57, head="42-totals")
    github.merge(57)
    octo.claim("take", "42", check=0)
    assert counted(counting, github, octo, "release", "42", *ending.split()) == Counted(2, 2, 1)


def test_ls_of_a_hundred_claims_among_250_open_issues_is_three_questions(
    github: GitHub, octo: ForkedAgent, counting: Crasher
) -> None:
    claim_hundred(github)
    for number in range(101, 251):
        github.add_issue(number, labels=["ready"])
    assert counted(counting, github, octo, "ls") == Counted(3, 3, 0)


def test_sync_of_a_hundred_clean_claims_is_one_question(github: GitHub, octo: ForkedAgent, counting: Crasher) -> None:
    claim_hundred(github)
    found = counted(counting, github, octo, "sync")
    assert github.writes == []
    assert found == Counted(1, 1, 0)


def claim_hundred(github: GitHub) -> None:
    """Claims and their signals, as a hundred takes would have left them."""
    numbers = range(1, 101)
    fill(github.server, {f"{CLAIMS}issue-{n}": RECORD.format(n=n) for n in numbers})
    for n in numbers:
        github.add_issue(n, labels=["in-progress"], assignees=[LOGIN])
        github.comment(n, LOGIN, LOCK.format(n=n))
