"""Locks between processes of one clone. They end with their process: whoever is killed leaves none behind."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from git_claims.errors import CannotTell, GitFailed

_POLL_SECONDS = 0.02


@contextmanager
def locked(path: Path, deadline_seconds: float, busy: str) -> Iterator[None]:
    """Holds the lock file for the block; raises CannotTell saying who is `busy` when it is not free in time."""
    descriptor = open_lock(path)
    try:
        deadline = time.monotonic() + deadline_seconds
        while not try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise CannotTell(f"another 'git claim' in this clone is still {busy}", "repeating is safe")
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def open_lock(path: Path) -> int:
    """Opens a lock file, made where it is missing; raises GitFailed where it cannot be."""
    try:
        path.parent.mkdir(exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise GitFailed(f"cannot write to '{path.parent}': {error.strerror}") from error


def try_lock(descriptor: int) -> bool:
    """Takes the lock if it is free, without waiting."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
