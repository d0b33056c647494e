"""Watching: what there is first, then one event a line; a table on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents import PROGRAM, Agent
from tests.commands.keyboard import at_keyboard
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import Clone, Server, make_clone


@pytest.fixture
def octo(github: GitHub, tmp_path: Path) -> ForkedAgent:
    return ForkedAgent(make_clone(github.server, tmp_path), "chain-octo", github.environment("octo"))


@contextmanager
def watching(agent: Agent, *words: str) -> Iterator[Iterator[str]]:
    """Yields the lines of a watch as they come; the watch is ended with the block."""
    person = Agent(agent.clone, None, agent.environment)
    process = person.start("watch", "--every", "1s", *words)
    try:
        assert process.stdout is not None and process.stderr is not None
        assert process.stderr.readline().startswith("watching: ")
        yield process.stdout
    finally:
        process.terminate()
        process.communicate(timeout=30)


def told(lines: Iterator[str]) -> str:
    """The next event, without its time."""
    return next(lines).rstrip("\n").partition(" ")[2]


def test_events_are_told_one_a_line_as_they_happen(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(41, labels=["ready", "afk"])
    github.add_issue(42, labels=["ready", "afk"], blocked_by=[41])
    with watching(octo) as lines:
        octo.claim("41", check=0)
        assert told(lines) == "took acme/ledger#41 chain-octo"
        octo.claim("hand-off", "41", "--to", "chain-next", check=0)
        assert told(lines) == "passed-on acme/ledger#41 chain-next"
        github.close(41)
        replace(octo, chain="chain-next").claim("release", "41", check=0)
        assert sorted([told(lines), told(lines)]) == ["ready acme/ledger#42", "released acme/ledger#41 chain-next"]


def test_holder_that_falls_silent_is_told(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(41, labels=["in-progress"])
    with watching(octo) as lines:
        github.server.plant_claim("issue-41", "chain-ada", operator="ada", claimed_at="2026-01-02T03:04:05Z")
        assert [told(lines), told(lines)] == ["took acme/ledger#41 chain-ada", "went-stale acme/ledger#41 chain-ada"]


def test_in_json_each_line_is_a_document_and_the_first_says_what_there_is(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(41, labels=["ready", "afk"])
    github.add_issue(42, labels=["ready", "afk"])
    octo.claim("41", check=0)
    with watching(octo, "--json") as lines:
        first = json.loads(next(lines))
        octo.claim("release", "41", "--abandoned", check=0)
        second = json.loads(next(lines))
    assert first.keys() == {"at", "event", "claims", "ready"} and first["event"] == "state"
    assert first["claims"] == [{"item": "issue-41", "repo": "acme/ledger", "chain": "chain-octo"}]
    assert first["ready"] == [{"item": "issue-42", "repo": "acme/ledger"}]
    del second["at"]
    assert second == {"event": "released", "item": "issue-41", "repo": "acme/ledger", "chain": "chain-octo"}


def test_without_a_tracker_claims_alone_are_watched(agent: ForkedAgent, server: Server) -> None:
    with watching(agent) as lines:
        agent.claim("42", check=0)
        assert told(lines) == "took server#42 chain-agent-1"


def test_it_ends_by_itself_where_it_was_told_how_long(octo: ForkedAgent) -> None:
    answer = octo.claim("watch", "--every", "1s", "--for", "1s")
    assert (answer.status, answer.stdout, answer.stderr) == (0, "", "watching: 0 claimed, 0 ready\n")


def test_remote_that_is_away_is_named_once_and_nothing_is_taken_for_released(github: GitHub, octo: ForkedAgent) -> None:
    for number in (41, 42):
        github.add_issue(number)
    octo.clone.server.plant_claim("issue-41", "chain-ada", operator="ada")
    away = github.server.path.with_name("away.git")
    outside = octo.clone.path.parent
    (outside / ".agent-repos").write_text("clone\n")
    person = Agent(Clone(outside, octo.clone.server), None, octo.environment)
    process = person.start("watch", "--every", "1s")
    assert process.stdout is not None and process.stderr is not None
    try:
        assert process.stderr.readline() == "watching: 1 claimed, 0 ready\n"
        github.server.path.rename(away)
        assert process.stderr.readline().startswith("warning: clone is left out: ")
        away.rename(github.server.path)
        octo.claim("42", check=0)
        assert told(iter(process.stdout)) == "took acme/ledger#42 chain-octo"
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_on_a_terminal_it_is_a_table_that_says_what_happened_last(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(41, "Fix the totals", labels=["ready", "afk"])
    command = [*PROGRAM, "watch", "--every", "1s"]
    with at_keyboard(Agent(octo.clone, None, octo.environment), command) as person:
        person.sees("0 claimed, 1 ready, 0 not; Ctrl-C ends")
        person.sees("Fix the totals")
        octo.claim("41", check=0)
        person.sees("1 claimed, 0 ready")
        person.sees("took acme/ledger#41")
        person.types("\x03")
        assert person.finish() == 130
    assert "error" not in person.screen
