"""What a command starts and asks: its git children, and its exchanges with the server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tests.agents import Agent, Crasher
from tests.bench.gating import BRANCHES, install_hook
from tests.bench.ground import CHAIN, Ground, Place
from tests.bench.results import Count, Result
from tests.places import Clone, make_clone
from tests.proxy import Proxy, proxy
from tests.transports import serve

# One agent's day.
COMMANDS = (
    ("take", "42"),
    ("take", "42"),
    ("check", "42"),
    ("check", "42", "--cached"),
    ("renew", "42"),
    ("ls",),
    ("ls", "--cached"),
    ("release", "42"),
    ("release", "42"),
    ("take", "1", "2", "3", "4", "5"),
    ("release", "--all"),
    ("whoami",),
)


def counts(ground: Ground) -> Iterator[Result]:
    """Over git://, where an exchange is a connection."""
    with ground.place("path") as place, _watched(place) as (clone, connections):
        agent, crasher = Agent(clone, CHAIN), Crasher(place.root / "crasher")
        for words in COMMANDS:
            before = len(connections.faults)
            answer = replace(agent, environment=crasher.environment()).claim(*words)
            children = [_name(arguments) for arguments in crasher.arguments()]
            exchanges = len(connections.faults) - before
            yield Count(f"git claim {' '.join(words)}", answer.status, exchanges, len(children), " ".join(children))
        yield from _hook_counts(place, agent, connections)


def _hook_counts(place: Place, agent: Agent, connections: Proxy) -> Iterator[Count]:
    """A push with the hook: how often it starts the product, and what both ask beside the push's own exchange."""
    if not install_hook(agent.clone):
        return
    agent.claim("take", "42", check=0)
    programs, started = place.root / "programs", place.root / "started"
    programs.mkdir()
    spy = programs / "git-claim"
    spy.write_text(f"#!/bin/sh\necho >>'{started}'\nexec '{shutil.which('git-claim')}' \"$@\"\n")
    spy.chmod(0o755)
    environment = agent.full_environment() | {"PATH": f"{programs}:{agent.full_environment()['PATH']}"}
    for kind, branch in BRANCHES.items():
        started.write_text("")
        before = len(connections.faults)
        pushed = agent.clone.git("push", "origin", f"HEAD:refs/heads/{branch}", check=False, environment=environment)
        exchanges, programs_started = len(connections.faults) - before, started.read_text().count("\n")
        what = f"git-claim {programs_started} times"
        yield Count(f"git push, branch {kind}, hook", pushed.returncode, exchanges, 0, what)


@contextmanager
def _watched(place: Place) -> Iterator[tuple[Clone, Proxy]]:
    """A clone whose connections to the server are counted."""
    with serve("git", place.server) as served:
        address, _, path = served.url.removeprefix("git://127.0.0.1:").partition("/")
        with proxy("127.0.0.1", int(address)) as connections:
            url = f"git://127.0.0.1:{connections.port}/{path}"
            yield make_clone(place.server, place.root, "watched", url), connections


def _name(arguments: list[str]) -> str:
    """The git command among its own options."""
    position = 0
    while arguments[position].startswith("-"):
        position += 2 if arguments[position] in {"-c", "-C"} else 1
    return arguments[position]
