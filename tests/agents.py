"""Agents: processes of the product in clones, alone, in a race or at a terminal.

How a program is made to die at each of its git children is in the second half. The product is not imported.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tests.places import Clone

ROOT = Path(__file__).parents[1]
PROGRAM = (sys.executable, "-m", "git_claims")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a process said: a test shows all three together."""

    status: int
    stdout: str
    stderr: str

    def __str__(self) -> str:
        return f"exit {self.status}\n--- stdout\n{self.stdout}--- stderr\n{self.stderr}"

    def transcript(self, **names: str) -> str:
        """The whole answer as text in which what differs from run to run is a placeholder."""
        return normalise(str(self), **names)

    @property
    def json(self) -> dict[str, object]:
        """Standard output, which must be one JSON document."""
        document: object = json.loads(self.stdout)
        assert isinstance(document, dict), self
        return document

    def at(self, *path: str | int) -> object:
        """What the JSON document holds at the path: `answer.at("holder", "chain")`."""
        found: object = self.json
        for step in path:
            if isinstance(found, dict):
                found = found[step]
            else:
                assert isinstance(found, list) and isinstance(step, int), self
                found = found[step]
        return found


@dataclass(slots=True)
class Agent:
    """Who runs the product: a clone to stand in, perhaps a chain, additions to the environment."""

    clone: Clone
    chain: str | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def full_environment(self) -> dict[str, str]:
        chain = {} if self.chain is None else {"GIT_CLAIM_CHAIN": self.chain}
        return {**os.environ, "PYTHONPATH": str(ROOT), **chain, **self.environment}

    def claim(self, *arguments: str, stdin: str | None = None, check: int | None = None, timeout: float = 60) -> Answer:
        """Runs the product; `check` is the exit status that the caller takes for granted."""
        process = self.start(*arguments, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE)
        answer = finish(process, stdin, timeout)
        assert check in (None, answer.status), f"git claim {' '.join(arguments)}: not exit {check}\n{answer}"
        return answer

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        return _start([*PROGRAM, *arguments], self.clone.path, self.full_environment(), stdin)


def _start(
    command: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
    inherited: Iterable[int] = (),
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="surrogateescape",
        pass_fds=tuple(inherited),
    )


def finish(process: subprocess.Popen[str], stdin: str | None = None, timeout: float = 60) -> Answer:
    """Waits for the process; a hang is a failure that shows what was said so far."""
    with process:
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            process.terminate()
            raise AssertionError(f"still running after {timeout} s:\n{_last_words(process)}") from None
    return Answer(process.returncode, stdout, stderr)


def _last_words(process: subprocess.Popen[str]) -> str:
    try:
        return "".join(process.communicate(timeout=5))
    except subprocess.TimeoutExpired:
        process.kill()
        return "".join(process.communicate())


# Imports are what differs most between racers: they happen before the gate. The first pipe says "I am there",
# the end of the second opens the gate for all at once.
RACER = """
import os, runpy, sys
there, gate, *sys.argv = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[2:]
try:
    import git_claims.cli.main, pygit2
except ImportError:
    pass
os.write(there, b".")
os.close(there)
os.read(gate, 1)
os.close(gate)
runpy.run_module("git_claims", run_name="__main__", alter_sys=True)
"""


def race(agents: Sequence[Agent], *arguments: str, times: int = 1) -> list[Answer]:
    """Every agent runs the same command `times` times over, all at the same moment; answers in that order."""
    return race_each([(agent, arguments) for agent in agents for _ in range(times)])


def race_each(runs: Sequence[tuple[Agent, Sequence[str]]], timeout: float = 60) -> list[Answer]:
    """Each agent runs its own command, all at the same moment."""
    (arrivals, there), (gate, opener) = os.pipe(), os.pipe()
    command = [sys.executable, "-c", RACER, str(there), str(gate)]
    racers = [
        _start([*command, *words], agent.clone.path, agent.full_environment(), inherited=(there, gate))
        for agent, words in runs
    ]
    os.close(there)
    os.close(gate)
    # The end of the arrivals comes early if a racer dies; the others still start as one.
    while os.read(arrivals, len(racers)):
        pass
    os.close(opener)
    os.close(arrivals)
    return [finish(racer, timeout=timeout) for racer in racers]


PLACEHOLDERS = (
    (r"chain-[\w.-]+-\d{10,}-[0-9a-f]{8}\b", "<chain>"),
    (r"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b", "<oid>"),
    (r"\b[0-9a-f]{32}\b", "<nonce>"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?", "<time>"),
    (r"\b\d\d:\d\d\b", "<time>"),
    (r"\b\d+ (?:s|min|h|d)\b|(?<=\()now(?=\))", "<age>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
)


def normalise(text: str, **names: str) -> str:
    """Puts `<name>` for each given literal, then placeholders for what differs from run to run."""
    for name, literal in sorted(names.items(), key=lambda pair: -len(pair[1])):
        text = text.replace(literal, f"<{name}>")
    root = os.environ.get("GIT_CEILING_DIRECTORIES", tempfile.gettempdir())
    text = re.sub(re.escape(root) + r"[^\s'\":,]*", "<path>", text)
    for pattern, placeholder in PLACEHOLDERS:
        text = re.sub(pattern, placeholder, text)
    return text


# Only the leader of a session that opens a terminal gets it as its own, which is what /dev/tty means.
WITH_TERMINAL = 'exec 3<>"$0" 3>&-; exec "$@"'


def at_terminal(agent: Agent, *arguments: str, answers: str, timeout: float = 30) -> Answer:
    """Runs the product as a person does who types the answers ahead: stdin and stderr are one terminal."""
    keyboard, terminal = os.openpty()
    _make_plain(terminal)
    process = subprocess.Popen(
        ["sh", "-c", WITH_TERMINAL, os.ttyname(terminal), *PROGRAM, *arguments],
        cwd=agent.clone.path,
        env=agent.full_environment(),
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    os.write(keyboard, answers.encode())
    with process:
        assert process.stdout is not None
        stdout, screen = _read_both(process.stdout.fileno(), keyboard, time.monotonic() + timeout)
        process.kill()
    os.close(keyboard)
    return Answer(process.returncode, stdout, screen)


def _make_plain(terminal: int) -> None:
    """No echo of what is typed, no carriage returns in what is printed."""
    settings = termios.tcgetattr(terminal)
    settings[1] &= ~termios.OPOST
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, settings)


def _read_both(stdout: int, keyboard: int, deadline: float) -> tuple[str, str]:
    heard = {stdout: b"", keyboard: b""}
    with selectors.DefaultSelector() as selector:
        for source in heard:
            selector.register(source, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() < deadline:
            for key, _ in selector.select(0.2):
                piece = _read_piece(key.fd)
                heard[key.fd] += piece
                if not piece:
                    selector.unregister(key.fd)
    return heard[stdout].decode(), heard[keyboard].decode()


def _read_piece(source: int) -> bytes:
    try:
        return os.read(source, 65536)
    except OSError:
        # A terminal that nobody holds any more is an input/output error, not an end.
        return b""


Mode = Literal["before", "after", "lost"]
MODES: tuple[Mode, ...] = ("before", "after", "lost")

# Git puts its own directory in front of PATH, so its children are not counted; the variable is for a hook
# that does not look there. The files are made with O_EXCL: children that start at once get their own numbers.
SHIM = """#!/bin/sh
[ -z "$HOUSE_INSIDE_GIT" ] || exec '{program}' "$@"
export HOUSE_INSIDE_GIT=1
number=1
set -C
until {{ printf '%s\\0' {name} "$@" >'{log}'/$number; }} 2>/dev/null; do number=$((number + 1)); done
[ $number = {number} ] || exec '{program}' "$@"
case {mode} in
before) kill -9 $PPID ;;
after) '{program}' "$@"; kill -9 $PPID ;;
lost) '{program}' "$@" >/dev/null 2>&1; exit 128 ;;
esac
"""


class Crasher:
    """Counts the children that a program starts, git's or also gh's, and ends the program at one of them.

    `before` kills the program and the child never runs; `after` lets it finish first; `lost` lets it finish, and
    the program gets exit status 128 and no word of what happened.
    """

    def __init__(self, root: Path, programs: Sequence[str] = ("git",)) -> None:
        self._programs, self._root, self._runs = programs, root, 0

    def environment(self, number: int = 0, mode: Mode = "before") -> dict[str, str]:
        """For one run: what to add so that child `number` (from 1; 0: none) is the last."""
        self._runs += 1
        directory = self._run / "programs"
        directory.mkdir(parents=True)
        (self._run / "log").mkdir()
        for name in self._programs:
            program = shutil.which(name)
            assert program is not None, f"there is no {name} on PATH"
            text = SHIM.format(program=program, name=name, log=self._run / "log", number=number, mode=mode)
            (directory / name).write_text(text)
            (directory / name).chmod(0o755)
        return {"PATH": f"{directory}:{os.environ['PATH']}"}

    @property
    def _run(self) -> Path:
        return self._root / f"run-{self._runs}"

    def count(self) -> int:
        """How many children the last run started."""
        return len(list((self._run / "log").iterdir()))

    def commands(self) -> list[list[str]]:
        """The last run's children in order, each with its name in front."""
        logs = sorted((self._run / "log").iterdir(), key=lambda log: int(log.name))
        return [log.read_text(errors="surrogateescape").split("\0")[:-1] for log in logs]

    def arguments(self) -> list[list[str]]:
        """What the last run's children were asked, in order."""
        return [command[1:] for command in self.commands()]


@dataclass(frozen=True, slots=True)
class Crash:
    """One place after the program died there. `agent` is whole again: what it runs now does not crash."""

    number: int
    mode: Mode
    agent: Agent
    answer: Answer
    arguments: list[str]

    def __str__(self) -> str:
        return f"{self.mode} child {self.number} (git {' '.join(self.arguments)})\n{self.answer}"


def crash(crasher: Crasher, agent: Agent, number: int, mode: Mode, *arguments: str) -> Crash:
    """Runs the command once and lets it die at that child."""
    dying = replace(agent, environment=agent.environment | crasher.environment(number, mode))
    answer = dying.claim(*arguments)
    asked = crasher.arguments()
    return Crash(number, mode, agent, answer, asked[number - 1] if 0 < number <= len(asked) else [])


def each_crash(
    crasher: Crasher, place: Callable[[], Agent], *arguments: str, modes: Sequence[Mode] = MODES
) -> Iterator[Crash]:
    """Every way the command can die at a git child, each in a fresh place (a server of its own).

    `place` also does what comes before, so that a command joins a matrix by one line: how its place is made,
    and its words.
    """
    crash(crasher, place(), 0, "before", *arguments)
    for number in range(1, crasher.count() + 1):
        for mode in modes:
            yield crash(crasher, place(), number, mode, *arguments)
