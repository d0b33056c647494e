"""The crash matrix on GitHub: every command, killed at every gh call and push, or hearing nothing of it, then repeated.

The rows are in `github_matrix`. What only git does in between is the matter of the other matrix.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents import MODES, Agent, Crash, Crasher, Mode, crash
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import CLAIMS, make_clone
from tests.scenarios.github_matrix import MATRIX, ME, End, Row
from tests.scenarios.oracle import chain_in, is_thorough

QUICK: tuple[Mode, ...] = ("after", "lost")


@pytest.fixture
def me(github: GitHub, tmp_path: Path) -> ForkedAgent:
    agent = ForkedAgent(make_clone(github.server, tmp_path), ME, github.environment("octo"))
    (agent.clone.path / ".claims.toml").write_text('take.force = "allow"\n')
    agent.clone.config("claim.allowReclaimWithoutTerminal", "true")
    return agent


# Over 3 s: each crash is two processes that talk to a GitHub through gh, and there are up to nine a row.
@pytest.mark.parametrize("row", MATRIX, ids=str)
def test_command_killed_at_any_call_ends_right_when_repeated(
    row: Row, me: ForkedAgent, github: GitHub, tmp_path: Path
) -> None:
    crasher = Crasher(tmp_path / "crashes", ("git", "gh"))
    numbers = itertools.count(101)
    for each, number in crashes(crasher, me, github, row, numbers):
        answer = me.claim(*row.words(number))
        assert answer.status == 0, f"{each}\n{answer}"
        assert seen(github, me, number) == row.end, f"{each}\n{answer}"
        if row.also is not None:
            row.also(github, me, number)
        assert_told_once(github, number)


def crashes(
    crasher: Crasher, me: ForkedAgent, github: GitHub, row: Row, numbers: Iterator[int]
) -> Iterator[tuple[Crash, int]]:
    """Every way the command can die at a call that another party sees. A quick run leaves out the harmless ways."""
    row.arrange(github, me, number := next(numbers))
    github.forget_requests()
    crash(crasher, me, 0, "before", *row.words(number))
    children = crasher.commands()
    for child in telling(children, [request.is_write for request in github.requests]):
        # A quick run loses the answer of every other call, and kills behind the rest.
        for mode in MODES if is_thorough() else (QUICK[child % 2],):
            row.arrange(github, me, number := next(numbers))
            yield crash(crasher, me, child, mode, *row.words(number)), number


def telling(children: list[list[str]], writes: list[bool]) -> list[int]:
    """The children by number that another party sees; in a quick run only those that change something."""
    asked = [child for child, words in enumerate(children, start=1) if words[0] == "gh"]
    assert len(asked) == len(writes) > 0, "each gh is one request, and this command must speak to GitHub"
    pushes = [child for child, words in enumerate(children, start=1) if words[0] != "gh" and "push" in words]
    changing = [child for child, is_write in zip(asked, writes, strict=True) if is_write]
    return sorted(pushes + (asked if is_thorough() else changing))


def seen(github: GitHub, me: Agent, number: int) -> End:
    """What everybody sees of an issue."""
    issue = github.issue(number)
    holder = None
    if f"{CLAIMS}issue-{number}" in me.clone.server.refs():
        holder = chain_in(me.clone.server.claim_text(f"issue-{number}"))
    return End(
        holder, frozenset(issue.labels), tuple(sorted(issue.assignees)), issue.state == "OPEN", len(issue.comments)
    )


def assert_told_once(github: GitHub, number: int) -> None:
    bodies = [comment.body for comment in github.issue(number).comments]
    # A take-over ends one lock and begins another in one comment, under one nonce.
    nonces = [nonce for body in bodies for nonce in set(re.findall(r"nonce=(\S+)", body))]
    assert len(nonces) == len(set(nonces)), f"told twice: {bodies}"
