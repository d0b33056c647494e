"""Agents before a GitHub: whole commands in this process, git real, gh a stand-in that asks the double's desk itself.

A gh process takes longer than all else in a command. What it prints is the same here, and the real one is met in
the other tests of GitHub.
"""

from __future__ import annotations

import contextlib
import io
import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import pytest

from git_claims.child import Ended
from git_claims.cli import trackers
from git_claims.cli.main import main
from git_claims.tracker.gh import Gh
from git_claims.tracker.github import GitHub as Tracker
from tests.agents import Answer
from tests.edges.github_house import Clock
from tests.github_double import HOME, GitHub
from tests.github_double.execution import is_mutation
from tests.github_double.moods import HttpAnswer, Request
from tests.places import Clone, make_clone

DEADLINE_SECONDS = 20.0


class Killed(BaseException):
    """The command ended here, as by a kill: nothing of it runs any more that could write."""


@dataclass(frozen=True, slots=True)
class Death:
    """The request at which a command dies, from 1, and whether GitHub still gets it."""

    request: int
    is_sent: bool


@dataclass(slots=True)
class Line:
    """The line from one command to GitHub. It may end with the command."""

    death: Death | None
    asked: int = 0

    def ask(self, github: GitHub, request: Request) -> HttpAnswer:
        self.asked += 1
        dies = self.death is not None and self.death.request == self.asked
        if dies and self.death and not self.death.is_sent:
            raise Killed
        answer = github.ask(request)
        if dies:
            raise Killed
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskGh(Gh):
    """A gh without a process: the same words in, the same bytes out."""

    github: GitHub
    login: str
    line: Line

    def _run(self, arguments: list[str], stdin: bytes) -> Ended:
        if arguments == ["--version"]:
            return Ended(0, b"gh version 2.103.3 (2026-01-01)\n", b"")
        method = arguments[arguments.index("--method") + 1] if "--method" in arguments else "POST"
        [path] = [word for word in arguments[4:] if word == "graphql" or word.startswith("repos/")]
        body: object = json.loads(stdin) if stdin else {}
        assert isinstance(body, dict)
        is_write = is_mutation(str(body.get("query", ""))) if path == "graphql" else method != "GET"
        answer = self.line.ask(self.github, Request(self.login, method, "github.com", f"/{path}", body, is_write))
        if not answer.status:
            return Ended(1, b"", b'Post "https://api.github.com/graphql": EOF\n')
        return Ended(int(answer.status >= 300), _printed(answer), b"")


def _printed(answer: HttpAnswer) -> bytes:
    """An answer as `gh api -i` prints it."""
    head = [f"HTTP/2.0 {answer.status} {HTTPStatus(answer.status).phrase}", "Content-Type: application/json"]
    head += [f"{name}: {value}" for name, value in answer.headers.items()]
    text = answer.document if isinstance(answer.document, str) else json.dumps(answer.document)
    return "\r\n".join([*head, "", text]).encode()


@dataclass(slots=True)
class Desk:
    """Who shares a machine: one clock, and for each login the files in which its processes meet."""

    root: Path
    github: GitHub
    clock: Clock = field(default_factory=Clock)

    def seat(self, chain: str, login: str) -> Seat:
        clone = make_clone(self.github.server, self.root, chain, str(self.github.server.path))
        (clone.path / ".claims.toml").write_text('take.force = "allow"\n')
        return Seat(self, chain, login, clone)


@dataclass(slots=True)
class Seat:
    """One agent: its chain, the login it has on GitHub, and a clone."""

    desk: Desk
    chain: str
    login: str
    clone: Clone
    told: list[str] = field(default_factory=list)

    def claim(self, *words: str, death: Death | None = None) -> Answer | None:
        """Runs one command with a JSON answer; None where it died before it could give one."""
        stdout, stderr = io.StringIO(), io.StringIO()
        line = Line(death)
        arguments = ["-C", str(self.clone.path), *words, "--chain", self.chain, "--json"]
        with self._before_github(line), contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            try:
                status = main(arguments)
            except Killed:
                return None
        return Answer(status, stdout.getvalue(), stderr.getvalue())

    @contextlib.contextmanager
    def _before_github(self, line: Line) -> Iterator[None]:
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trackers, "find_tracker", lambda world: self._tracker(line))
            try:
                yield
            finally:
                for number, handler in handlers.items():
                    signal.signal(number, handler)

    def _tracker(self, line: Line) -> Tracker:
        """A new process's tracker; what it remembers is in files."""
        desk, clock = self.desk, self.desk.clock
        gh = DeskGh(desk.root, {}, DEADLINE_SECONDS, clock, github=desk.github, login=self.login, line=line)
        owner, _, repo = HOME.partition("/")
        cache = desk.root / f"cache-{self.login}"
        return Tracker(gh, "github.com", owner, repo, cache, clock, clock.sleep, self.told.append)
