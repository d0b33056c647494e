"""A child process that is run to its end: a session of its own, a deadline, and nothing of it left behind.

What it is and what its answer means is for the callers, one for each program.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_GRACE_SECONDS = 2.0
_running: set["subprocess.Popen[bytes]"] = set()
_Handler = Callable[[int, FrameType | None], object]


@dataclass(frozen=True, slots=True)
class Ended:
    """What a child left. `status` is None where the deadline passed and its process group was ended."""

    status: int | None
    stdout: bytes
    stderr: bytes


def run(
    command: list[str],
    directory: Path,
    environment: Mapping[str, str],
    deadline_seconds: float,
    stdin: bytes | None = None,
) -> Ended:
    """Runs one child to its end; on the deadline, Ctrl-C or SIGTERM its whole group is ended first.

    Raises OSError where it cannot be started.
    """
    child: subprocess.Popen[bytes] | None = None
    try:
        with signals_held():
            child = start(command, directory, environment, stdin is not None)
            _running.add(child)
        return wait(child, deadline_seconds, stdin)
    except BaseException:
        if child is not None and child.returncode is None:
            _end(child)
        raise
    finally:
        if child is not None:
            _running.discard(child)


def end_all() -> None:
    """Ends the children that other threads wait for, so that those threads end too."""
    for child in tuple(_running):
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)


@contextmanager
def signals_held() -> Iterator[None]:
    """Lets Ctrl-C and its like wait for the block: what starts in that moment would be nobody's, and run on."""
    caught: list[int] = []
    handlers: dict[int, _Handler] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                handler = signal.getsignal(number)
                # A signal that is ignored stays so in the child.
                if callable(handler):
                    handlers[number] = handler
                    signal.signal(number, lambda number, _: caught.append(number))
        yield
    finally:
        for held, handler in handlers.items():
            signal.signal(held, handler)
        for held in caught:
            signal.raise_signal(held)


def start(
    command: list[str], directory: Path, environment: Mapping[str, str], has_input: bool = False
) -> subprocess.Popen[bytes]:
    """Starts a child for `wait`; raises OSError where it cannot be."""
    return subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A session of its own: ssh asks on the terminal otherwise, and the group can be ended as one.
        start_new_session=True,
    )


def wait(child: subprocess.Popen[bytes], deadline_seconds: float, stdin: bytes | None = None) -> Ended:
    """Waits for a child to its end; on the deadline, Ctrl-C or SIGTERM its whole group is ended first."""
    try:
        stdout, stderr = child.communicate(stdin, timeout=deadline_seconds)
    except subprocess.TimeoutExpired:
        # It may have ended while a helper it left behind still holds the pipe; then its status counts.
        status = child.poll()
        return Ended(status, *_end(child))
    except BaseException:
        _end(child)
        raise
    return Ended(child.returncode, stdout, stderr)


def _end(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Ends the child's whole group, politely first: git removes its lock files on SIGTERM."""
    said = b"", b""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        try:
            return child.communicate(timeout=_GRACE_SECONDS)
        except subprocess.TimeoutExpired as silence:
            said = silence.stdout or b"", silence.stderr or b""
    # A helper that left the group, such as a daemon of ssh or of a credential store, may keep the pipes for ever.
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
    child.poll()
    return said
