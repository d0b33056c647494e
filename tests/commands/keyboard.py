"""A person at a terminal who sees what is on the screen before they type."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.agents import WITH_TERMINAL, Agent

PATIENCE_SECONDS = 30


@dataclass
class Keyboard:
    """The other end of the terminal that a program runs at; `screen` is all that was shown so far."""

    process: subprocess.Popen[bytes]
    terminal: int
    screen: str = field(default="")

    def sees(self, text: str) -> None:
        """Waits until the text is on the screen."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.screen:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.terminal], [], [], left)[0], f"no {text!r} on:\n{self.screen}"
            piece = self._read()
            assert piece, f"no {text!r} on:\n{self.screen}"
            self.screen += piece

    def types(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def stops(self) -> bool:
        """Waits until the program has stopped, as a shell sees it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.process.pid, os.WUNTRACED | os.WNOHANG)
            if pid:
                return os.WIFSTOPPED(status)
            select.select([], [], [], 0.02)
        return False

    def finish(self) -> int:
        """Waits for the end; returns the exit status, negative for a signal."""
        while piece := self._read():
            self.screen += piece
        return self.process.wait(PATIENCE_SECONDS)

    def _read(self) -> str:
        try:
            return os.read(self.terminal, 65536).decode()
        except OSError:
            # A terminal that nobody holds any more is an input/output error, not an end.
            return ""


@contextmanager
def at_keyboard(agent: Agent, command: Sequence[str]) -> Iterator[Keyboard]:
    """Runs a command in a session of its own, whose terminal is all it has."""
    ours, theirs = os.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    process = subprocess.Popen(
        ["sh", "-c", WITH_TERMINAL, os.ttyname(theirs), *command],
        cwd=agent.clone.path,
        env=agent.full_environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Keyboard(process, ours)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)
