"""Eight agents of three logins take and release twenty issues at once; then every issue tells one story.

What the refs went through is the server's transcript, what people saw is GitHub's records: both must agree.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tests.agents import Answer
from tests.forked import ForkedAgent, race_forked
from tests.github_double import GitHub
from tests.places import ABSENT, CLAIMS, make_clone
from tests.scenarios.holding_back import between_look_and_claim
from tests.scenarios.oracle import chain_in, is_thorough, told

LOGINS = ("octo", "ada", "bob")
AGENTS, ISSUES, AT_ONCE = 8, 20, 5
HUMAN = "cleo"


@dataclass(slots=True)
class Worker:
    """An agent, and the issues that it was told it holds."""

    agent: ForkedAgent
    held: list[str] = field(default_factory=list)

    def hear(self, answer: Answer) -> None:
        outcomes = told(answer)
        self.held = [item for item in self.held if outcomes.get(item) != "released"]
        self.held += [item for item, outcome in outcomes.items() if outcome == "claimed"]


@pytest.fixture
def workers(github: GitHub, tmp_path: Path) -> list[Worker]:
    github.add_user(HUMAN)
    for number in range(1, ISSUES + 1):
        github.add_issue(number, labels=["afk", "ready"])
    return [Worker(_agent(github, tmp_path, place)) for place in range(AGENTS)]


def _agent(github: GitHub, tmp_path: Path, place: int) -> ForkedAgent:
    clone = make_clone(github.server, tmp_path, f"agent-{place}")
    return ForkedAgent(clone, f"chain-{place}", github.environment(LOGINS[place % len(LOGINS)]))


# Over 3 s: thirty processes and more, each of which talks to a GitHub through gh; three times as many in CI.
def test_agents_of_three_logins_leave_every_issue_as_people_want_it(github: GitHub, workers: list[Worker]) -> None:
    assigned = {at_once(github, workers, number) for number in range(9 if is_thorough() else 3)}
    let_go(workers)
    assert github.server.refs() == {}
    for number in range(1, ISSUES + 1):
        history, issue = claims_of(github, number), github.issue(number)
        assert history or number in assigned
        assert issue.assignees == ([HUMAN] if number in assigned else []), issue
        assert set(issue.labels) | {"ready"} == {"afk", "ready"}, issue
        assert story(github, number) == [sign for _, nonce in history for sign in (f"lock {nonce}", f"end {nonce}")]


def at_once(github: GitHub, workers: list[Worker], number: int) -> int:
    """Those that hold issues give them up while the others take; meanwhile a person assigns herself to an issue."""
    gate, opener = os.pipe()
    orders = [words(worker, place, number) for place, worker in enumerate(workers)]
    running = [worker.agent.fork(*order, gate=gate) for worker, order in zip(workers, orders, strict=True)]
    os.close(gate)
    os.close(opener)
    issue = 1 + (number * 7 + 3) % ISSUES
    github.assign(issue, HUMAN, by=HUMAN)
    for worker, process in zip(workers, running, strict=True):
        answer = process.finish()
        assert answer.status in {0, 1}, answer
        worker.hear(answer)
    return issue


def words(worker: Worker, place: int, number: int) -> tuple[str, ...]:
    if worker.held:
        return ("release", *worker.held, "--abandoned", "--json")
    first = place * 3 + number * 5
    return ("take", *(f"issue-{1 + (first + step) % ISSUES}" for step in range(AT_ONCE)), "--json")


def let_go(workers: list[Worker]) -> None:
    """Whoever still holds something gives it up, all at the same moment."""
    holding = [worker for worker in workers if worker.held]
    for answer in race_forked([(worker.agent, ("release", *worker.held, "--abandoned")) for worker in holding]):
        assert answer.status == 0, answer


def claims_of(github: GitHub, number: int) -> list[tuple[str, str]]:
    """Chain and nonce of every claim that the issue has had; asserts that each was given up before the next."""
    ids = github.server.chain_of(f"{CLAIMS}issue-{number}")
    assert all((oid == ABSENT) == bool(place % 2) for place, oid in enumerate(ids)), ids
    records = [github.server.git("cat-file", "blob", f"{oid}:claim").stdout for oid in ids[::2]]
    return [(chain_in(record), re.findall(r"(?m)^nonce=(.*)$", record)[0]) for record in records]


def story(github: GitHub, number: int) -> list[str]:
    """What the comments declare, in their order: the nonce of the claim that is locked or ends."""
    signs = []
    for body in github.issue(number).bodies:
        for name, nonce in re.findall(r"<!-- claude-lock(-released)?: .*nonce=([0-9a-f]{32})\S* -->", body):
            signs.append(f"{'end' if name else 'lock'} {nonce}")
    return signs


# A release of the same login is no bar to the next of its runs, and what that one has read is old by then.
def test_claim_that_was_read_while_another_run_of_its_login_gave_it_up_is_shown_whole(
    github: GitHub, tmp_path: Path
) -> None:
    first, second = (_agent(github, tmp_path, place) for place in (0, len(LOGINS)))
    issue = github.add_issue(42, labels=["afk", "ready"])
    first.claim("42", check=0)
    give_up = partial(first.claim, "release", "42", "--abandoned", check=0)
    answer = between_look_and_claim(second, tmp_path, give_up, "42")
    assert answer.status == 0, answer
    assert chain_in(github.server.claim_text("issue-42")) == second.chain
    assert (sorted(issue.labels), issue.assignees) == (["afk", "in-progress"], ["octo"])


def test_claim_that_has_to_be_given_back_leaves_the_item_where_it_was_in_the_queue(
    github: GitHub, tmp_path: Path
) -> None:
    agent = _agent(github, tmp_path, 0)
    issue = github.add_issue(42, labels=["afk", "ready"])
    answer = between_look_and_claim(agent, tmp_path, partial(github.label, 42, "hold"), "42", "--json")
    assert answer.status == 1 and answer.at("items", 0, "reason") == "hold", answer
    assert (sorted(issue.labels), issue.assignees, github.server.refs()) == (["afk", "hold", "ready"], [], {})
