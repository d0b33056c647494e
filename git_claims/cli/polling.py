"""Waiting until something is ready: sparing reads, shared by all who wait on this machine with the same login.

Sixteen agents who wait side by side are one reader every half minute, and less where nothing happens.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable
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
class Poll:
    """What one read of the queue came to, as it is shared: when (seconds since 1970), what is ready, and a digest."""

    at: float
    ready: tuple[str, ...]
    digest: str


class Wait:
    """One wait, however often somebody else was faster: its budget runs from the start, and is told of once."""

    def __init__(self, world: World, budget: timedelta) -> None:
        self._world = world
        self._deadline = time.monotonic() + budget.total_seconds()
        self._said: set[str] = set()

    def until_ready(self, sight: Sight, found: Queue) -> bool:
        """Waits until something is ready; `found` is the queue as it is. False when time is over."""
        self._tell(found)
        shortest = usual_pause(sight.worlds.values())
        shared, before, pause, at_least = Shared(self._world, sight), digest(found), shortest, 0.0
        while (left := self._deadline - time.monotonic()) > 0:
            time.sleep(min(left, max(at_least, pause * (0.5 + jitter()))))
            try:
                poll = shared.read(pause / 2)
            except (CannotTell, TrackerError) as error:
                self._say_once(f"waiting on: {error.message}")
                at_least = (error.wait_seconds or 0.0) if isinstance(error, TrackerError) else 0.0
                pause = next_pause(pause, shortest, changed=False)
                continue
            if poll.ready:
                return True
            pause, at_least = next_pause(pause, shortest, changed=poll.digest != before), 0.0
            before = poll.digest
        return False

    def _tell(self, found: Queue) -> None:
        """Says whom it waits for, the first time."""
        if not self._said:
            self._say_once(f"waiting: nothing is ready ({found.state})")
            for line in waiting_lines(found.waiting):
                self._world.talk.say(line)

    def _say_once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self._world.talk.say(line)


def usual_pause(worlds: Iterable[World]) -> float:
    """Returns how long to wait between two looks at these clones, in seconds, while things happen there."""
    return min((each.settings.poll_seconds for each in worlds), default=_USUAL_SECONDS)


def next_pause(pause: float, shortest: float, *, changed: bool) -> float:
    """Returns how long to wait from now on: longer each time that nothing happened, up to five minutes."""
    return shortest if changed else min(pause * _LONGER_EACH_TIME, max(_LONGEST_SECONDS, shortest))


class Shared:
    """The newest read of this queue by anybody on this machine with this login."""

    def __init__(self, world: World, sight: Sight) -> None:
        self._world = world
        self._file = cache_directory() / "polls" / f"{_key(sight)}.json"

    def read(self, fresh_seconds: float) -> Poll:
        """Returns what somebody read just now, or reads. Raises what a tracker or a remote raises."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_lock(self._file.with_suffix(".lock"))
        try:
            # Whoever reads at the moment reads for us too.
            while not try_lock(descriptor):
                time.sleep(0.2 + jitter() / 2)
            known = read_poll(self._file)
            if known is not None and 0 <= time.time() - known.at <= fresh_seconds:
                return known
            return self._read_and_keep()
        finally:
            os.close(descriptor)

    def _read_and_keep(self) -> Poll:
        found = read_queue(self._world, judged=False).queue
        poll = Poll(time.time(), tuple(each.place.spelling for each in found.ready), digest(found))
        replace_file(self._file, json.dumps({"at": poll.at, "ready": list(poll.ready), "digest": poll.digest}))
        return poll


def _key(sight: Sight) -> str:
    """One for each set of repositories and login; both were read already, so that nothing is asked for it."""
    repositories = [world.remote.url for world in sight.worlds.values()]
    logins = sorted({each.operator or "" for each in sight.served})
    return hashlib.sha256("\n".join([*repositories, *logins]).encode()).hexdigest()[:24]


def read_poll(file: Path) -> Poll | None:
    """Returns what is kept in a file; None where nothing is that can be read."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        return Poll(float(document["at"]), tuple(map(str, document["ready"])), str(document["digest"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def digest(found: Queue) -> str:
    """What would be said of the queue, in short: where it is the same, nothing happened."""
    lines = [each.place.spelling for each in found.ready]
    lines += [f"{each.place.spelling} {sorted(each.causes)}" for each in found.waiting]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:24]
