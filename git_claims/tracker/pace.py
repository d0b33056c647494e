"""How fast we ask: one writer of a login at a time on this machine, a second between writes, limits waited out.

GitHub limits a login, not a process: who was told to wait tells the others through the file they all lock.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from git_claims.errors import TrackerError, Trouble

T = TypeVar("T")

_BETWEEN_WRITES_SECONDS = 1.0
_POLL_SECONDS = 0.05
# Of a server that failed or a network that broke, a question is asked again after these.
_BACK_OFF_SECONDS = (1.0, 3.0)
_PATIENCE_SECONDS = 120.0
_PASSING = frozenset({Trouble.SERVER, Trouble.NETWORK})
_REMEMBERED_SECONDS, _LONGEST_NOTES = 300.0, 1 << 20


@dataclass(frozen=True, slots=True)
class _Notes:
    """What writers of a login leave for each other: not to write before a time, and what was written to when."""

    not_before: float = 0.0
    wrote: Mapping[str, float] = field(default_factory=dict)


class Pace:
    """The waiting of one command. `tell` says to a person what is waited for; all waits together stay in a budget."""

    def __init__(
        self, directory: Path, clock: Callable[[], float], sleep: Callable[[float], None], tell: Callable[[str], None]
    ) -> None:
        self._directory, self._clock, self._sleep, self._tell = directory, clock, sleep, tell
        self._patience = _PATIENCE_SECONDS
        self._last_write: float | None = None
        self._descriptor: int | None = None
        self._began = clock()
        self._written: dict[str, float] = {}

    def patiently(self, ask: Callable[[], T], *, is_write: bool = False) -> T:
        """Asks, again after a limit has passed, and a question also after a failure that passes; else raises."""
        failures = iter(_BACK_OFF_SECONDS)
        while True:
            try:
                return ask()
            except TrackerError as error:
                wait = self._wait_after(error, failures, is_write)
                if wait is None:
                    raise
                self.wait(wait, error)

    def _wait_after(self, error: TrackerError, failures: Iterator[float], is_write: bool) -> float | None:
        if error.trouble is Trouble.RATE_LIMITED:
            return error.wait_seconds or 0.0
        passes = error.trouble in _PASSING and not (is_write and error.maybe_applied)
        return next(failures, None) if passes else None

    def wait(self, seconds: float, error: TrackerError) -> None:
        """Waits that long because of the error; raises it where that would be longer than we wait in all."""
        if error.trouble is Trouble.RATE_LIMITED:
            self._warn_others(seconds)
        if seconds > self._patience:
            raise TrackerError(
                error.trouble,
                error.message,
                f"repeating is safe; it will be in vain for another {_minutes(seconds)}",
                wait_seconds=seconds,
                maybe_applied=error.maybe_applied,
            ) from error
        self._patience -= seconds
        self._tell(f"{error.message}; waiting {seconds:.0f} s")
        self._sleep(seconds)

    def space_out(self) -> None:
        """Waits until a second has passed since our last write."""
        if self._last_write is not None:
            rest = self._last_write + _BETWEEN_WRITES_SECONDS - self._clock()
            if rest > 0:
                self._sleep(rest)

    def wrote(self) -> None:
        """Notes that a write has just been sent."""
        self._last_write = self._clock()

    @contextmanager
    def writing(self, host: str, login: str) -> Iterator[None]:
        """Holds the lock of the login for the block; one that cannot be kept is no reason not to write."""
        self._descriptor = self._open(host, login)
        try:
            if self._descriptor is not None:
                self._lock(self._descriptor, login)
                self._wait_as_told(login)
            yield
        finally:
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor = None

    def _open(self, host: str, login: str) -> int | None:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", f"{host}-{login}.lock")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            return os.open(self._directory / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None

    def _lock(self, descriptor: int, login: str) -> None:
        waited = 0.0
        while True:
            with suppress(BlockingIOError):
                return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if waited >= self._patience:
                message = f"another process has been writing as '{login}' for {_minutes(waited)}"
                raise TrackerError(Trouble.TIMEOUT, message, "repeating is safe")
            self._sleep(_POLL_SECONDS)
            waited += _POLL_SECONDS

    def wrote_to(self, ids: Iterable[str]) -> None:
        """Leaves word for the next one which items were just written to."""
        now = self._clock()
        self._written |= dict.fromkeys(ids, now)
        known = {id: at for id, at in self._notes().wrote.items() if at > now - _REMEMBERED_SECONDS}
        self._note(replace(self._notes(), wrote=known | self._written))

    def others_wrote_to(self, ids: Iterable[str]) -> list[str]:
        """Returns those of the items that another process wrote to since we began: what we read of them is old."""
        wrote = self._notes().wrote
        return [id for id in ids if wrote.get(id, 0.0) >= self._began and wrote[id] != self._written.get(id)]

    def _warn_others(self, seconds: float) -> None:
        self._note(replace(self._notes(), not_before=self._clock() + seconds))

    def _notes(self) -> _Notes:
        text = b"" if self._descriptor is None else os.pread(self._descriptor, _LONGEST_NOTES, 0)
        return _notes_in(text)

    def _note(self, notes: _Notes) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, json.dumps(asdict(notes)).encode(), 0)

    def _wait_as_told(self, login: str) -> None:
        rest = self._notes().not_before - self._clock()
        if rest > 0:
            message = f"GitHub has limited the requests of '{login}'"
            self.wait(rest, TrackerError(Trouble.RATE_LIMITED, message, wait_seconds=rest))


def _notes_in(text: bytes) -> _Notes:
    """Reads what the last writer left; whatever is not of that shape says nothing."""
    try:
        kept: object = json.loads(text)
    except ValueError:
        return _Notes()
    found = kept if isinstance(kept, dict) else {}
    until, wrote = found.get("not_before"), found.get("wrote")
    times = wrote.items() if isinstance(wrote, dict) else ()
    return _Notes(
        float(until) if isinstance(until, int | float) else 0.0,
        {str(id): float(at) for id, at in times if isinstance(at, int | float)},
    )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 100 else f"{seconds:.0f} s"
