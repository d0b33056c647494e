"""The product as a process that starts at once: forked from one that has imported it already.

A new interpreter spends most of a command's time on imports, and some tests run the product by the hundred. What
is forked is a process like any other: it has an id, an environment and a directory of its own, and can be killed.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.agents import ROOT, Agent, Answer

_REQUEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Running:
    """One process of the product, and where its words arrive."""

    nursery: Nursery
    pid: int
    stdout: int
    stderr: int

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def finish(self, timeout: float = 60) -> Answer:
        """Waits for the process; a hang is a failure that shows what was said so far."""
        heard = _read_to_the_end([self.stdout, self.stderr], time.monotonic() + timeout)
        if heard is None:
            self.send(signal.SIGKILL)
        status = self.nursery.wait(self.pid)
        assert heard is not None, f"still running after {timeout} s"
        stdout, stderr = (piece.decode("utf-8", "surrogateescape") for piece in heard)
        return Answer(status, stdout, stderr)


@dataclass(slots=True)
class ForkedAgent(Agent):
    """An agent whose commands are forked."""

    def claim(self, *arguments: str, stdin: str | None = None, check: int | None = None, timeout: float = 60) -> Answer:
        answer = self.fork(*arguments, stdin=stdin).finish(timeout)
        assert check in (None, answer.status), f"git claim {' '.join(arguments)}: not exit {check}\n{answer}"
        return answer

    def fork(self, *arguments: str, gate: int | None = None, stdin: str | None = None) -> Running:
        """Starts a command; with a gate it begins when the pipe's other end is closed."""
        return nursery().start(self.clone.path, self.full_environment(), arguments, gate, stdin)


def forked(agent: Agent) -> ForkedAgent:
    return ForkedAgent(agent.clone, agent.chain, agent.environment)


def race_forked(runs: Sequence[tuple[ForkedAgent, Sequence[str]]], timeout: float = 60) -> list[Answer]:
    """Each agent runs its own command, all at the same moment."""
    gate, opener = os.pipe()
    racers = [agent.fork(*words, gate=gate) for agent, words in runs]
    os.close(gate)
    os.close(opener)
    return [racer.finish(timeout) for racer in racers]


@dataclass(slots=True)
class Nursery:
    """The process that all others are forked from. It was started without anything of ours but its socket."""

    connection: socket.socket
    process: subprocess.Popen[bytes]

    def start(
        self,
        directory: Path,
        environment: dict[str, str],
        words: Sequence[str],
        gate: int | None,
        stdin: str | None = None,
    ) -> Running:
        (stdout, stdout_end), (stderr, stderr_end) = os.pipe(), os.pipe()
        request = {"directory": str(directory), "environment": environment, "arguments": list(words), "stdin": stdin}
        gates = [] if gate is None else [gate]
        socket.send_fds(self.connection, [json.dumps(request).encode()], [stdout_end, stderr_end, *gates])
        os.close(stdout_end)
        os.close(stderr_end)
        return Running(self, int(self.connection.recv(64)), stdout, stderr)

    def wait(self, pid: int) -> int:
        """The exit status, negative for the signal that ended the process."""
        self.connection.send(json.dumps({"wait": pid}).encode())
        return int(self.connection.recv(64))

    def close(self) -> None:
        self.connection.close()
        self.process.wait()


@functools.cache
def nursery() -> Nursery:
    """Made once a process of the tests, and gone with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.forked", str(theirs.fileno())]
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    made = Nursery(ours, process)
    atexit.register(made.close)
    return made


def _read_to_the_end(sources: Sequence[int], deadline: float) -> list[bytes] | None:
    """What each source said until it ended; None if that took too long."""
    heard = dict.fromkeys(sources, b"")
    with selectors.DefaultSelector() as selector:
        for source in sources:
            selector.register(source, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() < deadline:
            for key, _ in selector.select(1.0):
                piece = os.read(key.fd, 65536)
                heard[key.fd] += piece
                if not piece:
                    selector.unregister(key.fd)
        ended = not selector.get_map()
    for source in sources:
        os.close(source)
    return [heard[source] for source in sources] if ended else None


def _serve(connection: socket.socket) -> None:
    """Forks and waits as told, until the other end is gone."""
    import pygit2  # noqa: F401 - imported for those that are forked
    import tomli_w  # noqa: F401

    from git_claims.cli.main import main

    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, _REQUEST_BYTES, 3)
        if not message:
            return
        request = json.loads(message)
        if "wait" in request:
            _, ended = os.waitpid(request["wait"], 0)
            connection.send(str(os.waitstatus_to_exitcode(ended)).encode())
            continue
        pid = os.fork()
        if pid == 0:
            connection.close()
            os.chdir(request["directory"])
            os.environ.clear()
            os.environ.update(request["environment"])
            if request["stdin"] is not None:
                _hear(request["stdin"])
            _become_the_product(main, request["arguments"], descriptors)
        connection.send(str(pid).encode())
        for descriptor in descriptors:
            os.close(descriptor)


def _hear(text: str) -> None:
    """Makes the text all that standard input has."""
    with tempfile.TemporaryFile() as file:
        file.write(text.encode("utf-8", "surrogateescape"))
        file.seek(0)
        os.dup2(file.fileno(), 0)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115


def _become_the_product(main: Callable[[list[str]], int], arguments: list[str], descriptors: list[int]) -> None:
    """Ends as the program ends: with its exit status, or with a traceback and 1."""
    status = 1
    try:
        os.dup2(descriptors[0], 1)
        os.dup2(descriptors[1], 2)
        for gate in descriptors[2:]:
            os.read(gate, 1)
        for descriptor in descriptors:
            os.close(descriptor)
        # Those we have remember what the nursery's own streams could do.
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
        status = main(arguments)
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
