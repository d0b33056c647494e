"""A command that runs only while its claim holds: read often, renewed rarely, stopped when it is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from git_claims.errors import CannotTell, ClaimError, Exit, Usage
from git_claims.flows.change import Answer
from git_claims.flows.transfer import renew
from git_claims.protocol.transition import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import FrameType

    from git_claims.git.store import Store
    from git_claims.protocol.item import Item
    from git_claims.protocol.served import Place
    from git_claims.protocol.transition import Asker

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_SHORTEST_ANSWER_SECONDS = 1.0
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Watch:
    """How closely a claim is watched, all in seconds. `timeout`: how long the command may run at all.

    `may_release`: the command may give its claim up itself; then it is let run to its end.
    """

    check_every: float
    renew_every: float
    confirm_within: float
    grace: float
    timeout: float | None = None
    may_release: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """The command, where and with what environment it runs, and who is told of events (line, is it an error).

    `outputs` are the descriptors that its output and its errors go to; None: where ours go.
    """

    command: list[str]
    directory: Path
    environment: Mapping[str, str]
    watch: Watch
    tell: Callable[[str, bool], None]
    outputs: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended. `status` is None where the claim could not be had and nothing ran.

    `answer` is that of the take, `left` that of a release that failed.
    """

    answer: Answer
    status: int | None
    left: Answer | None = None


class Cut(Enum):
    """Why we stopped a command that had not ended."""

    LOST = "lost"
    UNCONFIRMED = "unconfirmed"
    TIMED_OUT = "timed-out"

    @property
    def status(self) -> Exit:
        """The exit status that says so: only of a claim that is lost is anything known."""
        return Exit.NO if self is Cut.LOST else Exit.UNKNOWN


@dataclass(frozen=True, slots=True)
class Left:
    """The exit status to use: the command's own, or, where we stopped it, the one that says why."""

    status: int
    cut: Cut | None = None


def run_guarded(
    store: Store,
    place: Place,
    asker: Callable[[], Asker],
    guard: Guard,
    *,
    claim: Callable[[], Answer],
    give_back: Callable[[bool], list[Answer]],
) -> Ended:
    """Takes or re-enters the claim, runs the command under it, and gives back what this run took.

    `give_back` is told whether the command succeeded.
    """
    answer = claim()
    if not answer.succeeded:
        return Ended(answer, None)
    taken_here = answer.outcome is Outcome.CLAIMED
    status: int | None = None
    try:
        status = run_watched(store, place.item, asker, guard).status
    finally:
        # Also when we are interrupted or the command could not be started: nothing of ours stays behind.
        left = _release(place, guard, status, give_back) if taken_here else None
    return Ended(answer, status, left)


def run_watched(store: Store, item: Item, asker: Callable[[], Asker], guard: Guard) -> Left:
    """Runs the command for as long as the claim, which is ours already, holds."""
    child: subprocess.Popen[bytes] | None = None
    try:
        with _signals_passed_on() as passed_on_to:
            child = _started(guard)
            passed_on_to(child)
            terminal = _Terminal()
            with terminal.lent_to(child):
                cut = _watch(store, item, asker, guard, child, terminal)
    finally:
        if child is not None:
            _stop(child, guard.watch.grace)
    return Left(_shell_status(child.returncode) if cut is None else cut.status, cut)


def _started(guard: Guard) -> subprocess.Popen[bytes]:
    try:
        stdout, stderr = guard.outputs or (None, None)
        # A group of its own, so that all of it can be stopped as one.
        return subprocess.Popen(
            guard.command,
            cwd=guard.directory,
            env=guard.environment,
            stdout=stdout,
            stderr=stderr,
            process_group=0,
        )
    except OSError as error:
        raise Usage(f"cannot run '{guard.command[0]}': {error.strerror}") from error


def _watch(
    store: Store,
    item: Item,
    asker: Callable[[], Asker],
    guard: Guard,
    child: subprocess.Popen[bytes],
    terminal: _Terminal,
) -> Cut | None:
    """Waits for the command. Returns why it has to be stopped, None where it ended itself."""
    confirmed = renewed = time.monotonic()
    ends_at = float("inf") if guard.watch.timeout is None else confirmed + guard.watch.timeout
    while not _ends_within(child, min(guard.watch.check_every, ends_at - time.monotonic()), terminal):
        if time.monotonic() >= ends_at:
            guard.tell("the command took too long and is stopped", True)
            return Cut.TIMED_OUT
        # A remote that says nothing must not keep us longer than the claim may go unconfirmed.
        left = max(confirmed + guard.watch.confirm_within - time.monotonic(), _SHORTEST_ANSWER_SECONDS)
        try:
            seen = store.within(left).read([item])[item]
            if seen is None and guard.watch.may_release:
                confirmed = time.monotonic()
                continue
            if seen is None or not seen.is_held_by(asker().chain):
                guard.tell("the claim is lost; the command is stopped", True)
                return Cut.LOST
            confirmed = time.monotonic()
            if confirmed - renewed >= guard.watch.renew_every:
                if renew(store, [item], asker())[0].outcome is Outcome.NOT_YOURS:
                    continue
                renewed = confirmed
        except CannotTell as silence:
            if time.monotonic() - confirmed >= guard.watch.confirm_within:
                guard.tell(f"the claim can no longer be confirmed ({silence.message}); the command is stopped", True)
                return Cut.UNCONFIRMED
    return None


def _ends_within(child: subprocess.Popen[bytes], seconds: float, terminal: _Terminal | None = None) -> bool:
    """Waits for the command for so long, and looks now and then whether Ctrl-Z stopped it."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, min(deadline - time.monotonic(), _LOOK_SECONDS)))
            return True
        if terminal is not None:
            terminal.stop_along(child)
        if time.monotonic() >= deadline:
            return False


def _stop(child: subprocess.Popen[bytes], grace_seconds: float) -> None:
    """Ends what is left of the command's group: asks, waits, then does not ask."""
    try:
        _signal(child, signal.SIGTERM)
        _ends_within(child, grace_seconds)
    finally:
        # Also when we are told once more to end: whatever the group still runs has had the same warning.
        _signal(child, signal.SIGKILL)
        child.wait()


def _signal(child: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


@contextmanager
def _signals_passed_on() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Passes what is sent to us on to the command, once it is there; it decides, and we see how it ends."""
    children: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        if children:
            _signal(children[0], number)
        else:
            early.append(number)

    def passed_on_to(child: subprocess.Popen[bytes]) -> None:
        children.append(child)
        for number in early:
            _signal(child, number)

    # What is ignored stays so, as for a command under nohup.
    heard = [number for number in _FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, forward) for number in heard}
    try:
        yield passed_on_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Terminal:
    """The terminal, lent to the command's group while it runs, so that it can read and Ctrl-C reaches it.

    `descriptor` is None where there is no terminal or it is not ours to lend.
    """

    def __init__(self) -> None:
        descriptor = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
        self.descriptor = descriptor if descriptor is not None and os.tcgetpgrp(descriptor) == os.getpgrp() else None

    @contextmanager
    def lent_to(self, child: subprocess.Popen[bytes]) -> Iterator[None]:
        """Lends it for the block. Without one, nothing happens."""
        if self.descriptor is None:
            yield
            return
        # Giving the terminal away makes us a background group, which must not be stopped when we take it back.
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            self._lend(child)
            yield
        finally:
            os.tcsetpgrp(self.descriptor, os.getpgrp())
            signal.signal(signal.SIGTTOU, before)

    def stop_along(self, child: subprocess.Popen[bytes]) -> None:
        """Stops ourselves where Ctrl-Z stopped the command, so that the shell gets its terminal back; and goes on
        with it when the shell says so.
        """
        if self.descriptor is None or not _is_stopped(child):
            return
        os.tcsetpgrp(self.descriptor, os.getpgrp())
        os.killpg(os.getpgrp(), signal.SIGSTOP)
        self._lend(child)

    def _lend(self, child: subprocess.Popen[bytes]) -> None:
        assert self.descriptor is not None, "only a terminal that is there is lent"
        os.tcsetpgrp(self.descriptor, child.pid)
        # It may have read, and been stopped for it, before the terminal was its own.
        _signal(child, signal.SIGCONT)


def _is_stopped(child: subprocess.Popen[bytes]) -> bool:
    with suppress(ChildProcessError):
        # WNOWAIT: how it ends stays for `wait` to find.
        return os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    return False


def _release(
    place: Place, guard: Guard, status: int | None, give_back: Callable[[bool], list[Answer]]
) -> Answer | None:
    try:
        # A lead takes the bundle along that joined it meanwhile; the answer for the item itself comes first.
        answer = give_back(status == 0)[0]
    except ClaimError as error:
        guard.tell(f"the claim could not be released: {error.message}", True)
        return None
    outcome = "done" if status == 0 else "abandoned"
    if answer.outcome is Outcome.RELEASED:
        guard.tell(f"released {place.spelling} ({outcome})", False)
    return None if answer.succeeded else answer


def _shell_status(returncode: int) -> int:
    """The status a shell would give: a command ended by signal n is 128 + n."""
    return 128 - returncode if returncode < 0 else returncode
