"""The command by which a person watches: claims and queue as they are, or one event a line."""

import json
import sys
import time
from dataclasses import dataclass
from datetime import timedelta

import click

from git_claims.cli import render
from git_claims.cli.clones import Clones, Left, served, side_by_side
from git_claims.cli.options import DURATION, edges, open_world
from git_claims.cli.polling import next_pause, usual_pause
from git_claims.cli.queue import seat_of, waiting_lines
from git_claims.cli.world import World, jitter
from git_claims.errors import Exit
from git_claims.flows.listing import rows
from git_claims.flows.select import read_served
from git_claims.protocol.claim import Seen
from git_claims.protocol.events import Happened, Snapshot, happened, kept
from git_claims.protocol.item import Item
from git_claims.protocol.ready import Queue, queue
from git_claims.protocol.served import Place, Served
from git_claims.protocol.text import printable, stamp

_SHOWN = 15


@dataclass(frozen=True, slots=True)
class Side:
    """One clone as it was looked at; `served` is None where no tracker shows a queue."""

    world: World
    claims: dict[Item, Seen]
    served: Served | None


@click.command("watch")
@click.option("--every", type=DURATION, metavar="DURATION", help="How often to look (git config claim.poll).")
@click.option("--for", "limit", type=DURATION, metavar="DURATION", help="How long to watch; until Ctrl-C unless told.")
@edges()
def watch_command(every: timedelta | None, limit: timedelta | None, **shared: object) -> Exit:
    """Watch claims and queue: a table on a terminal, one event a line otherwise.

    While nothing happens it looks less and less often.
    """
    world = open_world(shared)
    clones = served(world)
    shortest = usual_pause(clones.worlds) if every is None else every.total_seconds()
    ends_at = float("inf") if limit is None else time.monotonic() + limit.total_seconds()
    view = _Table(world) if sys.stdout.isatty() and not world.talk.as_json else _Lines(world)
    try:
        return _watch(clones, view, shortest, ends_at)
    except KeyboardInterrupt:
        # How a person ends it, so that there is nothing to say.
        return Exit.INTERRUPTED


def _watch(clones: Clones, view: "_Table | _Lines", shortest: float, ends_at: float) -> Exit:
    before, pause = Snapshot(), shortest
    while True:
        sides, left = side_by_side(clones, _looked_at)
        found = queue([each.served for each in sides if each.served is not None])
        after = _snapshot(sides, found)
        events = happened(before, after)
        view.show(sides, found, events, left)
        pause = next_pause(pause, shortest, changed=bool(events))
        before = kept(before, after)
        rest = ends_at - time.monotonic()
        if rest <= 0:
            return Exit.DONE
        time.sleep(min(rest, pause * (0.75 + jitter() / 2)))


class _Lines:
    """One event a line; in JSON one document a line."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._left: frozenset[str] = frozenset()
        self._is_first = True

    def show(self, sides: list[Side], found: Queue, events: list[Happened], left: list[Left]) -> None:
        """Prints what happened; a clone that cannot be read is named once."""
        self._say_left(left)
        if self._is_first:
            self._is_first = False
            self._say_state(sides, found)
        at = self._world.now
        for each in events:
            chain = f" {printable(each.chain)}" if each.chain else ""
            self._world.talk.data(f"{at:%H:%M:%S} {each.event} {each.place.spelling}{chain}")
            self._put({"at": stamp(at), "event": str(each.event), **_of(each.place), "chain": each.chain})

    def _say_state(self, sides: list[Side], found: Queue) -> None:
        count = sum(len(side.claims) for side in sides)
        self._world.talk.say(f"watching: {count} claimed, {len(found.ready)} ready")
        claims = [
            {**_of(Place(side.world.repo, item)), "chain": seen.claim.chain if seen.claim else None}
            for side in sides
            for item, seen in side.claims.items()
        ]
        ready = [_of(each.place) for each in found.ready]
        self._put({"at": stamp(self._world.now), "event": "state", "claims": claims, "ready": ready})

    def _say_left(self, left: list[Left]) -> None:
        names = frozenset(each.name for each in left)
        for each in left:
            if each.name not in self._left:
                self._world.talk.warn(f"{printable(each.name)} is left out: {each.error.message}")
        self._left = names

    def _put(self, document: render.Document) -> None:
        if self._world.talk.as_json:
            click.echo(json.dumps(document))


class _Table:
    """The whole of it, drawn anew each time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._happened: list[str] = []

    def show(self, sides: list[Side], found: Queue, events: list[Happened], left: list[Left]) -> None:
        """Draws claims, queue, and what happened last."""
        at = f"{self._world.now:%H:%M:%S}"
        self._happened += [f"{at} {each.event} {each.place.spelling}" for each in events]
        del self._happened[:-_SHOWN]
        click.clear()
        for line in self._lines(at, sides, found, left):
            click.echo(printable(line))

    def _lines(self, at: str, sides: list[Side], found: Queue, left: list[Left]) -> list[str]:
        claims = [
            [*render.listing_cells(row, self._world.now, side.world.repo), ""]
            for side in sides
            for row in rows(side.claims, side.world.chain_or_none())
        ]
        ready = [[each.place.spelling, str(each.unblocks), each.issue.title] for each in found.ready[:_SHOWN]]
        return [
            f"{at}  {len(claims)} claimed, {len(found.ready)} ready, {len(found.waiting)} not; Ctrl-C ends",
            *[f"left out: {each.name}: {each.error.message}" for each in left],
            "",
            *(render.listing_table(claims) if claims else ["no claims"]),
            "",
            *(render.table(("READY", "UNBLOCKS", "TITLE"), ready) if ready else [f"nothing is ready: {found.state}"]),
            *([] if ready else waiting_lines(found.waiting[:_SHOWN])),
            "",
            *self._happened,
        ]


def _looked_at(world: World) -> Side:
    seat = seat_of(world)
    side = read_served(seat, world.now, judged=True) if seat.board.tracker.shows else None
    if isinstance(side, Served):
        return Side(world, dict(side.claims), side)
    return Side(world, world.store.read_all().claims, None)


def _snapshot(sides: list[Side], found: Queue) -> Snapshot:
    holders = {
        Place(side.world.repo, item): seen.claim.chain if seen.claim else None
        for side in sides
        for item, seen in side.claims.items()
    }
    stale = {Place(side.served.slug, item) for side in sides if side.served is not None for item in side.served.stale}
    ready = frozenset(each.place for each in found.ready)
    return Snapshot(holders, frozenset(stale), ready, frozenset(side.world.repo for side in sides))


def _of(place: Place) -> render.Document:
    return {"item": place.item.name, "repo": place.slug}
