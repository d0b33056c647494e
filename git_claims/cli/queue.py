"""Commands about the queue: what is ready, and what this chain holds already."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from git_claims.cli.clones import Clones, Left, left_out, say_left_out, served, side_by_side
from git_claims.cli.options import bare_option_means, edges, open_world
from git_claims.cli.render import Document, table
from git_claims.cli.words import qualified
from git_claims.cli.world import CHAIN_VARIABLE, World
from git_claims.errors import BadSettings, Exit, NoChain, NoTrackerHere
from git_claims.flows.mine import Held, Mine, Todo, held
from git_claims.flows.select import Seat, read_served
from git_claims.protocol.graph import dot, mermaid
from git_claims.protocol.item import Item
from git_claims.protocol.ready import Candidate, Queue, State, Waiting, Width, queue
from git_claims.protocol.served import Served, Skipped
from git_claims.protocol.text import printable

_TITLE_CHARACTERS = 60
_HINTS = {
    State.HITL_ONLY: "what is left waits for people; 'git claim ready' lists it",
    State.CANNOT_TELL: "repeating is safe",
}


@dataclass(frozen=True, slots=True)
class Sight:
    """The queue of all clones served, as it was read just now, and what each of its repositories is worked in."""

    clones: Clones
    served: tuple[Served, ...]
    skipped: tuple[Skipped, ...]
    left: tuple[Left, ...]
    worlds: dict[str, World]
    queue: Queue

    @property
    def seats(self) -> list[Seat]:
        """The edges of each repository."""
        return [seat_of(world) for world in self.worlds.values()]


class ReadyCommand(click.Command):
    """`--graph` alone means Mermaid."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, bare_option_means("--graph", "mermaid")(args))


@click.command(cls=ReadyCommand)
@click.option(
    "--graph",
    type=click.Choice(["mermaid", "dot"]),
    metavar="[=mermaid|dot]",
    help="Print the graph of blockers instead, for an issue (Mermaid) or for Graphviz.",
)
@edges()
def ready(graph: str | None, **shared: object) -> Exit:
    """List what is ready to be worked on, best first, and why every other open issue is not.

    Exit status 1 where nothing is ready.
    """
    world = open_world(shared)
    sight = read_queue(world, judged=True)
    found = sight.queue
    if graph is not None:
        for line in (mermaid if graph == "mermaid" else dot)(found).splitlines():
            world.talk.data(line)
    else:
        _say_queue(world, found, sight.left)
    world.talk.document({**queue_document(found), "left_out": left_out(sight.left)})
    return say_left_out(world, sight.left) or (Exit.DONE if found.ready else Exit.NO)


@click.command("mine")
@edges()
def mine_command(**shared: object) -> Exit:
    """List what this chain holds in every repository served, with its lane and what comes next."""
    world = open_world(shared)
    clones = served(world)
    if clones.worlds and all(_has_no_chain(each) for each in clones.worlds):
        raise NoChain("no chain is in force here, so no claim can be yours", f"say it with --chain or {CHAIN_VARIABLE}")
    found, left = side_by_side(clones, held_in)
    rows = [(each, mine) for each, holdings in found for mine in holdings.mine]
    header = ("ITEM", "NEXT", "BRANCH", "UNSAVED", "LANE", "TITLE")
    for line in table(header, [_mine_line(each, mine) for each, mine in rows]) if rows else []:
        world.talk.data(line)
    if not rows:
        world.talk.say("this chain holds nothing")
    for each, holdings in found:
        _say_others(each, holdings)
    world.talk.document(
        {
            "mine": [_mine_document(each, mine) for each, mine in rows],
            "left_out": left_out(left),
            "next": [command for each, mine in rows if (command := _following(each, mine)) is not None],
        }
    )
    return say_left_out(world, left)


def read_queue(world: World, *, judged: bool) -> Sight:
    """Reads the queue of every clone served, side by side."""
    clones = served(world)
    found, left = side_by_side(clones, lambda each: (each, read_served(seat_of(each), each.now, judged=judged)))
    if not clones.is_listed and not clones.worlds[0].tracker.shows:
        raise NoTrackerHere(
            "there is no tracker here, so there is no queue", "'git claim 42' claims an item by its number"
        )
    skipped = [each for _, each in found if isinstance(each, Skipped)]
    skipped += [Skipped(each.name, each.error.message) for each in left]
    sides: dict[str, tuple[World, Served]] = {}
    for each, side in found:
        if isinstance(side, Served):
            # Two clones of one repository are one queue, worked in the first.
            sides.setdefault(side.slug.casefold(), (each, side))
    read = tuple(side for _, side in sides.values())
    worlds = {side.slug: each for each, side in sides.values()}
    return Sight(clones, read, tuple(skipped), tuple(left), worlds, queue(read, skipped))


def seat_of(world: World) -> Seat:
    """The edges of a clone, as flows want them."""
    directory = (world.repository.top or world.repository.common_dir).name
    return Seat(world.repo, directory, world.store, world.board())


def queue_document(found: Queue) -> Document:
    """The queue as an answer in JSON."""
    return {
        "ok": bool(found.ready),
        "state": str(found.state),
        "ready": [_ready_document(each) for each in found.ready],
        "waiting": [_waiting_document(each) for each in found.waiting],
        "repositories": [_width_document(each) for each in found.widths],
        "cycles": [[place.spelling for place in ring] for ring in found.cycles],
        "skipped": [{"name": each.name, "why": printable(each.why)} for each in found.skipped],
        "next": ["git claim next --take"] if found.ready else [],
    }


def waiting_lines(waiting: Sequence[Waiting]) -> list[str]:
    """Lists what is not ready, and why."""
    lines = [
        [each.place.spelling, "; ".join(reason.words for reason in each.reasons), _title(each)] for each in waiting
    ]
    return table(("ITEM", "NOT READY", "TITLE"), lines) if lines else []


def hint_of(found: Queue) -> str:
    """What could be done about a queue in which nothing is ready."""
    if found.is_blind:
        return "waiting does not help: the tracker tells no blockers; a person says which, as in 'git claim 42'"
    return _HINTS.get(found.state, "'git claim next --wait' waits for more")


def say_skipped(world: World, found: Queue, left: Sequence[Left]) -> None:
    """Names the repositories that have no queue, and why; those that are down are named elsewhere."""
    said = {each.name for each in left}
    for skipped in [each for each in found.skipped if each.name not in said]:
        world.talk.say(f"{skipped.name} was skipped: {skipped.why}")


def _say_queue(world: World, found: Queue, left: Sequence[Left]) -> None:
    lines = [[each.place.spelling, str(each.unblocks), _title(each)] for each in found.ready]
    for line in table(("READY", "UNBLOCKS", "TITLE"), lines) if lines else []:
        world.talk.data(line)
    if not lines:
        world.talk.error(f"nothing is ready: {found.state}", hint_of(found))
    for line in waiting_lines(found.waiting):
        world.talk.data(line)
    for width in found.widths:
        world.talk.say(_width(width))
    say_skipped(world, found, left)


def _width(width: Width) -> str:
    parts = [f"{width.ready} ready", f"{width.agents} at work"]
    parts += [f"looks gone: {_items(width.zombies)}"] if width.zombies else []
    parts += [f"for a human now: {_items(width.for_people)}"] if width.for_people else []
    return f"{width.slug}: {', '.join(parts)}"


def _items(items: Sequence[Item]) -> str:
    return ", ".join(item.spelling for item in items)


def _title(entry: Candidate | Waiting) -> str:
    title = printable(entry.issue.title)
    return title if len(title) <= _TITLE_CHARACTERS else f"{title[: _TITLE_CHARACTERS - 1]}…"


def _entry_document(each: Candidate | Waiting) -> Document:
    return {
        "item": each.place.item.name,
        "repo": each.place.slug,
        "title": printable(each.issue.title),
        "url": each.issue.url,
    }


def _ready_document(each: Candidate) -> Document:
    return {**_entry_document(each), "unblocks": each.unblocks}


def _waiting_document(each: Waiting) -> Document:
    reasons = [{"code": str(reason.cause), "detail": printable(reason.detail)} for reason in each.reasons]
    return {**_entry_document(each), "reasons": reasons}


def _width_document(width: Width) -> Document:
    return {
        "repo": width.slug,
        "ready": width.ready,
        "agents": width.agents,
        "zombies": [item.name for item in width.zombies],
        "for_people": [item.name for item in width.for_people],
    }


def _has_no_chain(world: World) -> bool:
    """Says whether nobody said which chain asks there; a clone that cannot be read says nothing of it."""
    try:
        return world.chain_or_none() is None
    except BadSettings:
        return False


def held_in(world: World) -> tuple[World, Held]:
    """Reads what the chain in force holds in a clone."""
    pattern = world.settings.branch_pattern
    return world, held(world.store, world.workspace, world.board(), pattern, world.chain_or_none())


def _say_others(world: World, holdings: Held) -> None:
    if holdings.unread:
        world.talk.warn(f"what the tracker says of {world.repo} is left out: {holdings.unread}")
    if holdings.others:
        named = ", ".join(item.spelling for item in holdings.others[:10])
        more = f" and {len(holdings.others) - 10} more" if len(holdings.others) > 10 else ""
        world.talk.say(f"others hold in {world.repo}: {named}{more}; leave them alone, however old they are")


def _mine_line(world: World, mine: Mine) -> list[str]:
    claim = mine.seen.claim
    return [
        qualified(mine.item, world.repo),
        _advice(world, mine),
        printable(claim.branch or "-") if claim else "-",
        printable(mine.unsaved or "-"),
        printable(str(mine.path)) if mine.path else "-",
        printable(mine.issue.title)[:_TITLE_CHARACTERS] if mine.issue else "-",
    ]


def _advice(world: World, mine: Mine) -> str:
    return _following(world, mine) or "go on in its lane"


def _following(world: World, mine: Mine) -> str | None:
    """The command that comes next; None where the next thing is the work itself."""
    where = f" -C {shlex.quote(world.name)}" if world.is_listed else ""
    number = mine.item.spelling + world.chain_option
    match mine.todo:
        case Todo.FINISH | Todo.LAND:
            return f"git claim{where} land {number}"
        case Todo.RESUME:
            return None
        case Todo.RELEASE:
            return f"git claim{where} release {number}"
        case Todo.START:
            return f"git claim{where} start {number}"


def _mine_document(world: World, mine: Mine) -> Document:
    claim = mine.seen.claim
    return {
        "item": mine.item.name,
        "repo": world.repo,
        "todo": str(mine.todo),
        "branch": claim.branch if claim else None,
        "path": str(mine.path) if mine.path else None,
        "unsaved": mine.unsaved,
        "title": printable(mine.issue.title) if mine.issue else None,
        "pulls": [pull.number for pull in mine.issue.pulls] if mine.issue else [],
        "clone": str(Path(world.directory)),
    }
