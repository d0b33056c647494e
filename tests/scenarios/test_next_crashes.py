"""`next --start`, killed at every call that another party sees: what it took is found by its chain and finished."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents import MODES, Crasher, crash
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import Clone, make_clone
from tests.scenarios.github_matrix import CLAIMED, QUEUED, End
from tests.scenarios.oracle import is_thorough
from tests.scenarios.test_github_crashes import assert_told_once, seen, telling


@pytest.fixture
def octo(github: GitHub, tmp_path: Path) -> ForkedAgent:
    return ForkedAgent(make_clone(github.server, tmp_path), None, github.environment("octo"))


# Over 3 s: each crash is two or three processes that talk to a GitHub through gh.
def test_next_that_is_killed_leaves_what_its_chain_can_start_and_never_takes_two(
    github: GitHub, octo: ForkedAgent, tmp_path: Path
) -> None:
    crasher, numbers = Crasher(tmp_path / "crashes", ("git", "gh")), itertools.count(101)

    def ready() -> tuple[int, ForkedAgent]:
        """One more issue, which is the only ready one, and a chain that holds nothing."""
        github.add_issue(number := next(numbers), "Work", labels=sorted(QUEUED))
        return number, replace(octo, chain=f"chain-{number}")

    number, agent = ready()
    github.forget_requests()
    crash(crasher, agent, 0, "before", "next", "--start")
    writes = [request.is_write for request in github.requests]
    resumed = 0
    for child in telling(crasher.commands(), writes):
        for mode in MODES if is_thorough() else ("after", "lost"):
            number, agent = ready()
            each = crash(crasher, agent, child, mode, "next", "--start")
            answer = agent.claim("next", "--start")
            if answer.status == 1:
                # Who holds something finishes that first.
                assert f"this chain still holds acme/ledger#{number}" in answer.stderr, f"{each}\n{answer}"
                answer, resumed = agent.claim("start", str(number)), resumed + 1
            assert answer.status == 0, f"{each}\n{answer}"
            assert seen(github, agent, number) == End(f"chain-{number}", CLAIMED), f"{each}\n{answer}"
            assert_told_once(github, number)
            lane = Clone(Path(answer.stdout.removesuffix("\n")), octo.clone.server, linked=True)
            assert lane.git("symbolic-ref", "--short", "HEAD").stdout == f"{number}-work\n", each
            # The lane knows its chain.
            assert ForkedAgent(lane, None, octo.environment).claim("check").status == 0, each
    assert resumed, "no crash came after the win"
