"""Waiting until something is ready: sparing reads, shared by all who wait on this machine with the same login.

Sixteen agents who wait side by side are one reader a minute, and less where nothing happens.
"""

import hashlib
import json
import os
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from git_claims.cli.queue import Sight, read_queue, waiting_lines
from git_claims.cli.trackers import cache_directory
from git_claims.cli.world import World, jitter
from git_claims.errors import CannotTell, TrackerError
from git_claims.git.lock import open_lock, try_lock
from git_claims.git.whole_file import replace_file
from git_claims.protocol.ready import Queue

_USUAL_SECONDS, _LONGEST_SECONDS = 60.0, 300.0
_LONGER_EACH_TIME = 1.5


@dataclass(frozen=True, slots=True)
class Seen:
    """What one read of the queue came to, as it is shared: when (seconds since 1970), what is ready, and a digest."""

    at: float
    ready: tuple[str, ...]
    digest: str


def wait_for_ready(world: World, sight: Sight, found: Queue, budget: timedelta) -> bool:
    """Waits until something is ready; `found` is the queue as it is, told once. False when time is over."""
    world.talk.say(f"waiting: nothing is ready ({found.state})")
    for line in waiting_lines(found.waiting):
        world.talk.say(line)
    deadline = time.monotonic() + budget.total_seconds()
    shared, before = Shared(world), _digest(found)
    shortest = min((each.settings.poll_seconds for each in sight.worlds.values()), default=_USUAL_SECONDS)
    pause = shortest
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, pause * (0.5 + jitter())))
        seen = shared.read(pause / 2)
        if seen is None:
            continue
        if seen.ready:
            return True
        unchanged = seen.digest == before
        pause = min(pause * _LONGER_EACH_TIME, max(_LONGEST_SECONDS, shortest)) if unchanged else shortest
        before = seen.digest
    return False


class Shared:
    """The newest read of this queue by anybody on this machine with this login."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._file: Path | None = None

    def read(self, fresh_seconds: float) -> Seen | None:
        """Returns what somebody read just now, or reads; None where the tracker or a remote did not answer."""
        try:
            file = self._place()
            descriptor = open_lock(file.with_suffix(".lock"))
            try:
                # Whoever reads at the moment reads for us too.
                while not try_lock(descriptor):
                    time.sleep(0.2 + jitter() / 2)
                known = _known(file)
                if known is not None and 0 <= time.time() - known.at <= fresh_seconds:
                    return known
                return self._read_and_keep(file)
            finally:
                os.close(descriptor)
        except (CannotTell, TrackerError) as error:
            self._world.talk.say(f"waiting on: {error.message}")
            return None

    def _read_and_keep(self, file: Path) -> Seen:
        sight = read_queue(self._world, judged=False)
        found = sight.queue
        seen = Seen(time.time(), tuple(each.place.spelling for each in found.ready), _digest(found))
        replace_file(file, json.dumps({"at": seen.at, "ready": list(seen.ready), "digest": seen.digest}))
        return seen

    def _place(self) -> Path:
        """One file for each set of repositories and login."""
        if self._file is None:
            from git_claims.cli.clones import served

            worlds = served(self._world).worlds
            key = "\n".join([*(each.remote.url for each in worlds), *(each.operator() or "" for each in worlds)])
            self._file = cache_directory() / "polls" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
            self._file.parent.mkdir(parents=True, exist_ok=True)
        return self._file


def _known(file: Path) -> Seen | None:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        return Seen(float(document["at"]), tuple(map(str, document["ready"])), str(document["digest"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(found: Queue) -> str:
    """What would be said of the queue, in short: where it is the same, nothing happened."""
    lines = [each.place.spelling for each in found.ready]
    lines += [f"{each.place.spelling} {sorted(each.causes)}" for each in found.waiting]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:24]
