"""The local copy of the claims: whose it is, how old it is, and the lock that keeps concurrent reads in order."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from git_claims.errors import CannotTell, GitFailed

_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the copy comes from, when it was last listed as a whole (epoch seconds), and how many claims it had."""

    source: str
    listed_at: float | None
    count: int


@dataclass(frozen=True, slots=True)
class Copy:
    """Keeps `<common git dir>/git-claim/`, shared by every worktree of the clone."""

    directory: Path

    @contextmanager
    def locked(self, deadline_seconds: float) -> Iterator[None]:
        """Serialises fetches of one clone. Concurrent ones would fail on each other's refs, and an older answer could
        be written over a newer one. Raises CannotTell when the lock is not free before the deadline.
        """
        descriptor = self._open_lock()
        try:
            # flock ends with its process: whoever is killed holding it leaves nothing behind.
            _acquire(descriptor, time.monotonic() + deadline_seconds)
            yield
        finally:
            os.close(descriptor)

    def provenance(self) -> Provenance | None:
        """Returns what is known of the copy; None where nothing was ever read here."""
        try:
            source, listed, count = (self.directory / "copy").read_text(encoding="utf-8").split("\n")[:3]
            return Provenance(source, float(listed) if listed else None, int(count))
        except (FileNotFoundError, ValueError):
            return None

    def record(self, provenance: Provenance) -> None:
        """Replaces what is known of the copy; only ever called with the lock held."""
        listed = "" if provenance.listed_at is None else repr(provenance.listed_at)
        # A name of our own and one rename: whoever reads it sees all of the old or all of the new.
        temporary = self.directory / f"copy.{os.getpid()}"
        temporary.write_text(f"{provenance.source}\n{listed}\n{provenance.count}\n", encoding="utf-8")
        temporary.replace(self.directory / "copy")

    def _open_lock(self) -> int:
        try:
            self.directory.mkdir(exist_ok=True)
            return os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise GitFailed(f"cannot write to '{self.directory}': {error.strerror}") from error


def _acquire(descriptor: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise CannotTell("another 'git claim' in this clone is still reading the remote") from None
            time.sleep(_POLL_SECONDS)
