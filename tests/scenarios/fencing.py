"""The places of fence tests: a lane on any transport, and the ways in which its claim is stolen on the server."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.agents import Answer
from tests.forked import ForkedAgent
from tests.places import ABSENT, CLAIMS, Clone, Server, run_git
from tests.transports import Transport, serve

ITEM = "issue-42"
CLAIM = CLAIMS + ITEM
BRANCH = "refs/heads/42-work"
RIVAL = "chain-rival"
PATIENCE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane of issue 42 whose first commit is pushed and whose second is not."""

    agent: ForkedAgent
    pushed: str

    @property
    def head(self) -> str:
        return run_git(self.agent.clone.path, "rev-parse", "HEAD").stdout.strip()

    def commit(self, subject: str) -> str:
        (self.agent.clone.path / f"{subject}.txt").write_text(subject)
        self.agent.clone.git("add", "--all")
        return self.agent.clone.commit(subject)


def open_lane(agent: ForkedAgent) -> Lane:
    path = agent.claim("start", "42", check=0).stdout.strip()
    lane = Lane(ForkedAgent(Clone(Path(path), agent.clone.server, linked=True), None, agent.environment), "")
    pushed = lane.commit("first")
    lane.agent.claim("push", check=0)
    lane.commit("second")
    return Lane(lane.agent, pushed)


@contextmanager
def served(name: str, server: Server, agent: ForkedAgent) -> Iterator[Transport]:
    """The agent reaches its server by this transport."""
    with serve(name, server) as transport:
        agent.clone.config("remote.origin.url", transport.url)
        agent.environment |= transport.environment
        yield transport


def transactions(server: Server) -> list[set[str]]:
    """Which refs moved together, transaction by transaction, as the server's hook has written them down."""
    lines = [line.split(" ") for line in (server.path / "transcript").read_text().splitlines()]
    return [set(words[4::3]) for words in lines if words[0] == "prepared"]


def rival_of(server: Server, name: str = ITEM) -> str:
    """A claim of another chain, ready on the server; the ref is as before."""
    ours = server.refs()[CLAIMS + name]
    rival = server.plant_claim(name, RIVAL)
    server.plant(CLAIMS + name, ours)
    return rival


Theft = Callable[[Server, ForkedAgent], Answer]
"""Pushes from the lane while the claim moves; returns what the push said."""


def before_the_push(server: Server, lane: ForkedAgent) -> Answer:
    server.plant(CLAIM, rival_of(server))
    return push(lane)


def deleted_before_the_push(server: Server, lane: ForkedAgent) -> Answer:
    server.plant(CLAIM, None)
    return push(lane)


def after_the_advertisement(server: Server, lane: ForkedAgent) -> Answer:
    server.rival_in_the_gap(ITEM, RIVAL)
    return push(lane)


def deleted_after_the_advertisement(server: Server, lane: ForkedAgent) -> Answer:
    hook(server, "pre-receive", f"unset GIT_QUARANTINE_PATH; git update-ref -d {CLAIM}")
    return push(lane)


def during_a_slow_hook(server: Server, lane: ForkedAgent) -> Answer:
    return stolen_while_it_waits(server, lane, rival_of(server))


def freed_during_a_slow_hook(server: Server, lane: ForkedAgent) -> Answer:
    return stolen_while_it_waits(server, lane, None)


def between_the_updates(server: Server, lane: ForkedAgent) -> Answer:
    """After every hook that judges the push as a whole, when the server looks at ref after ref."""
    hook(server, "update", f'[ "$1" = {BRANCH} ] || exit 0; git update-ref {CLAIM} {rival_of(server)}')
    return push(lane)


THEFTS: tuple[Theft, ...] = (
    before_the_push,
    deleted_before_the_push,
    after_the_advertisement,
    deleted_after_the_advertisement,
    during_a_slow_hook,
    freed_during_a_slow_hook,
    between_the_updates,
)


def push(lane: ForkedAgent) -> Answer:
    return lane.claim("push", "--json")


def stolen_while_it_waits(server: Server, lane: ForkedAgent, rival: str | None) -> Answer:
    """The server's hook takes its time; meanwhile the claim changes hands."""
    reached, go_on = pipes(server)
    hook(server, "pre-receive", f"echo reached >'{reached}'; read -r _ <'{go_on}'")
    running = lane.fork("push", "--json")
    wait_for(reached)
    server.plant(CLAIM, rival)
    # Opening the pipe waits for the hook, which waits for a line.
    threading.Thread(target=lambda: go_on.write_text("go\n"), daemon=True).start()
    return running.finish()


def pipes(server: Server) -> tuple[Path, Path]:
    made = server.path / "reached", server.path / "go-on"
    for pipe in made:
        os.mkfifo(pipe)
    return made


def wait_for(pipe: Path) -> None:
    """Waits until somebody has written to the pipe; a hang is a failure."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([reader], [], [], PATIENCE_SECONDS)[0], f"nobody has reached {pipe.name}"
    finally:
        os.close(reader)


def hook(server: Server, event: str, text: str) -> None:
    path = server.path / "hooks" / event
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def assert_nothing_landed(server: Server, lane: Lane, answer: Answer, rival: str | None) -> None:
    """The branch is where it was, the claim is whoever's it became, and the answer names them."""
    assert server.refs(BRANCH) == {BRANCH: lane.pushed}, answer
    assert server.refs() == ({CLAIM: rival} if rival else {}), answer
    moved = [move for move in server.transcript() if move.ref == BRANCH]
    assert [(move.old, move.new) for move in moved] == [(ABSENT, lane.pushed)]
    assert (answer.status, answer.at("ok"), answer.at("landed")) == (1, False, False), answer
    assert "error: nothing was pushed: issue '" in answer.stderr, answer
    assert answer.at("items", 0, "outcome") == "not-yours", answer
    assert answer.at("items", 0, "reason") == ("held" if rival else "not-claimed"), answer
    assert (answer.at("items", 0, "rival") is None) == (rival is None), answer
    if rival:
        assert answer.at("items", 0, "rival", "oid") == rival, answer
        assert f"server#42' is claimed by '{RIVAL}'" in answer.stderr, answer
    else:
        assert "server#42' is not claimed" in answer.stderr, answer
