"""`git claim next --wait`: sparing reads until something is ready, shared by all who wait here with one login."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from git_claims.cli.polling import next_pause
from tests.agents import Answer
from tests.commands.telling import block, holders
from tests.forked import ForkedAgent, Running
from tests.github_double import GitHub
from tests.github_double.server import HOURLY_POINTS
from tests.places import make_clone

QUEUED = ("ready", "afk")


@pytest.fixture
def blocked(github: GitHub) -> None:
    """Somebody works on what two others wait for."""
    github.add_issue(1, "Draw the schema", labels=["afk"], assignees=["ada"])
    github.add_issue(2, "Load the schema", labels=QUEUED, blocked_by=[1])
    github.add_issue(3, "Check the schema", labels=QUEUED, blocked_by=[1])


@dataclass
class Waiting:
    """A command that waits, and what it has said so far."""

    running: Running
    said: str = ""

    def says(self, text: str) -> None:
        """Waits for words on standard error."""
        deadline = time.monotonic() + 30
        while text not in self.said:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.running.stderr], [], [], left)[0], f"no {text!r} in:\n{self.said}"
            piece = os.read(self.running.stderr, 65536).decode()
            assert piece, f"no {text!r} in:\n{self.said}"
            self.said += piece

    def finish(self) -> Answer:
        """Waits for the end; all that was said is in the answer."""
        answer = self.running.finish()
        return replace(answer, stderr=self.said + answer.stderr)


@pytest.fixture
def waits(request: pytest.FixtureRequest) -> Callable[..., Waiting]:
    """Starts a command that waits; one that still does so when the test ends is interrupted."""

    def start(agent: ForkedAgent, *words: str, poll: str = "1") -> Waiting:
        agent.clone.config("claim.poll", poll)
        waiting = Waiting(agent.fork(*words))
        request.addfinalizer(lambda: _interrupt(waiting.running.pid))
        waiting.says("waiting: ")
        return waiting

    return start


def _interrupt(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def lists(github: GitHub) -> int:
    """How many pages of open issues were read."""
    return sum("issues(first: 100" in request.document for request in github.requests)


def test_waits_until_a_blocker_is_closed_and_says_once_whom_it_waits_for(
    github: GitHub, octo: ForkedAgent, waits: Callable[..., Waiting], blocked: None
) -> None:
    waiting = waits(octo, "next", "--take", "--wait")
    waiting.says("Check the schema\n")
    github.close(1)
    answer = waiting.finish()
    assert (answer.status, answer.stdout) == (0, "claimed acme/ledger#2 for chain-octo\n"), answer
    assert answer.stderr == block("""
        waiting: nothing is ready (all-blocked)
        ITEM           NOT READY                            TITLE
        acme/ledger#1  assigned to ada; has no label ready  Draw the schema
        acme/ledger#2  blocked by #1, which is open         Load the schema
        acme/ledger#3  blocked by #1, which is open         Check the schema
        """)
    assert holders(github.server) == {"issue-2": "chain-octo"}


def test_plain_next_waits_too(github: GitHub, octo: ForkedAgent, waits: Callable[..., Waiting], blocked: None) -> None:
    waiting = waits(octo, "next", "--wait")
    github.close(1)
    assert waiting.finish().stdout == "acme/ledger#2\n"
    assert holders(github.server) == {}


def test_time_that_is_over_ends_with_the_state(github: GitHub, octo: ForkedAgent, blocked: None) -> None:
    octo.clone.config("claim.poll", "1")
    answer = octo.claim("next", "--take", "--wait=2s", "--json")
    assert (answer.status, answer.at("ok"), answer.at("state")) == (1, False, "all-blocked"), answer
    assert answer.stderr.count("waiting: ") == 1 and "error: nothing is ready: all-blocked\n" in answer.stderr
    assert lists(github) > 1


def test_time_is_over_also_where_the_list_keeps_promising_what_is_taken(github: GitHub, octo: ForkedAgent) -> None:
    octo.clone.config("claim.poll", "1")
    github.add_issue(2, labels=QUEUED)
    github.mood("listing-lag")
    github.assign(2, "ada")
    answer = octo.claim("next", "--take", "--wait=2s", timeout=20)
    assert (answer.status, answer.stderr.count("waiting: ")) == (1, 1), answer
    assert holders(github.server) == {}


def test_poll_of_250_open_issues_is_three_requests(github: GitHub, octo: ForkedAgent) -> None:
    octo.clone.config("claim.poll", "1")
    for number in range(1, 251):
        github.add_issue(number, labels=["ready", "hitl"])
    octo.claim("next", check=1)
    assert (len(github.requests), lists(github)) == (3, 3)
    github.forget_requests()
    octo.claim("next", "--wait=2s", check=1)
    polls, rest = divmod(len(github.requests), 3)
    assert (polls > 1, rest) == (True, 0)


def test_sixteen_who_wait_all_day_for_250_issues_leave_most_of_the_limit(github: GitHub, octo: ForkedAgent) -> None:
    for number in range(1, 251):
        github.add_issue(number, labels=["ready", "hitl"])
    octo.claim("next", check=1)
    points = sum(request.points for request in github.requests)
    # However many wait, a look serves all of them for half a pause. A busy hour has pauses of a minute throughout.
    longest = next_pause(300, 60, changed=False)
    busy, quiet = points * 3600 / (60 / 2), points * 3600 / (longest / 2)
    assert (busy < HOURLY_POINTS / 2, quiet < HOURLY_POINTS / 10) == (True, True), (points, busy, quiet)


# Over 3 s: how long it is until the two look again is what is shared.
def test_those_who_wait_on_one_machine_share_what_one_of_them_reads(
    github: GitHub, octo: ForkedAgent, tmp_path: Path, waits: Callable[..., Waiting], blocked: None
) -> None:
    second = ForkedAgent(make_clone(github.server, tmp_path, "second"), "chain-second", octo.environment)
    # Each looks again after one to three seconds, and the first of them is at it until both have.
    both = [waits(agent, "next", "--take", "--wait", poll="2") for agent in (octo, second)]
    github.mood("slow", only="reads", times=1, seconds=2.5)
    github.close(1)
    github.forget_requests()
    assert [waiting.finish().status for waiting in both] == [0, 0]
    assert sorted(holders(github.server).values()) == ["chain-octo", "chain-second"]
    # One look for both, then each reads the list that it takes from.
    assert lists(github) == 3


def test_other_login_reads_for_itself(
    github: GitHub, octo: ForkedAgent, ada: ForkedAgent, waits: Callable[..., Waiting]
) -> None:
    github.add_issue(1, labels=["ready", "hitl"])
    both = [waits(agent, "next", "--wait=2s") for agent in (octo, ada)]
    assert [waiting.finish().status for waiting in both] == [1, 1]
    polls = Path(os.environ["XDG_CACHE_HOME"]) / "git-claim/polls"
    assert len(list(polls.glob("*.json"))) == 2


# Over 3 s: a look that fails, and one more a second and a half later.
def test_github_that_is_down_for_a_while_is_waited_for(
    github: GitHub, octo: ForkedAgent, waits: Callable[..., Waiting], blocked: None
) -> None:
    waiting = waits(octo, "next", "--take", "--wait")
    github.mood("down")
    waiting.says("waiting on: ")
    github.close(1)
    github.calm()
    answer = waiting.finish()
    assert (answer.status, answer.stderr.count("waiting on: ")) == (0, 1), answer
