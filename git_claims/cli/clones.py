"""Which clones a command serves: the one we stand in, or outside of any those that `.agent-repos` lists."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from git_claims.cli.render import Document
from git_claims.cli.world import LIST, World
from git_claims.errors import ClaimError, Exit, NoRepository, Usage
from git_claims.git.process import end_children
from git_claims.git.remote import is_called
from git_claims.protocol.item import Named
from git_claims.protocol.text import printable

_SIDE_BY_SIDE = 8
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Left:
    """A clone that was left out of an answer, and why."""

    name: str
    error: ClaimError


@dataclass(frozen=True, slots=True)
class Clones:
    """The clones served, in the order of the list; `left` are lines of it that lead to none."""

    worlds: tuple[World, ...]
    left: tuple[Left, ...] = ()

    @property
    def is_listed(self) -> bool:
        """Says whether they come from a list, so that what is said of an item needs its repository."""
        return any(world.is_listed for world in self.worlds) or bool(self.left)


def served(world: World) -> Clones:
    """Returns the clone that `world` stands in, else those that are listed; raises NoRepository where neither is."""
    try:
        world.repository  # noqa: B018 - asks git once, and keeps the answer
    except NoRepository as error:
        return _listed(world, error)
    return Clones((world,))


def of_items(world: World, named: Sequence[Named]) -> World:
    """Returns the one clone that items are of; raises Usage where that is none, several or not clear."""
    clones = served(world)
    if not clones.is_listed:
        return world
    if not clones.worlds:
        raise clones.left[0].error
    found = list(dict.fromkeys(_of_item(clones, each) for each in named))
    if len(found) > 1:
        raise Usage("items of several repositories", "give one command for each repository")
    return found[0] if found else world


def side_by_side(clones: Clones, read: Callable[[World], _Read]) -> tuple[list[_Read], list[Left]]:
    """Reads every clone at the same time. One that cannot be read is left out by name and stops no other."""
    if len(clones.worlds) == 1 and not clones.is_listed:
        return [read(clones.worlds[0])], []
    # Loaded only here: most commands serve one clone.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        waited_for = [(world, pool.submit(_or_error, read, world)) for world in clones.worlds]
        try:
            done = [(world, future.result()) for world, future in waited_for]
        except BaseException:
            # Ctrl-C reaches this thread alone; the others would wait for their children to the deadline.
            pool.shutdown(wait=False, cancel_futures=True)
            end_children()
            raise
    found = [each for _, each in done if not isinstance(each, ClaimError)]
    left = [Left(world.name, each) for world, each in done if isinstance(each, ClaimError)]
    return found, [*clones.left, *left]


def _or_error(read: Callable[[World], _Read], world: World) -> _Read | ClaimError:
    try:
        return read(world)
    except ClaimError as error:
        return error


def _listed(world: World, error: NoRepository) -> Clones:
    try:
        lines = (world.directory / LIST).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        error.hint = (
            f"change into a clone, name one with 'git claim -C PATH', or list clones in {LIST}, one path a line"
        )
        raise error from None
    except (OSError, UnicodeDecodeError) as trouble:
        raise NoRepository(f"{LIST} cannot be read: {printable(str(trouble))}", "it is a text file") from trouble
    paths = [path for line in lines if (path := line.partition("#")[0].strip())]
    if not paths:
        raise NoRepository(f"{LIST} lists no clone", "write the path of a clone on a line of it")
    found = [_clone(world, path) for path in dict.fromkeys(paths)]
    return Clones(
        tuple(each for each in found if isinstance(each, World)),
        tuple(each for each in found if isinstance(each, Left)),
    )


def _clone(world: World, path: str) -> World | Left:
    place = world.directory / Path(path).expanduser()
    if not place.is_dir():
        return Left(path, NoRepository("there is no such directory", f"mend that line of {LIST}"))
    clone = world.elsewhere(place, path if world.directory == Path.cwd() else str(place))
    try:
        clone.repository  # noqa: B018 - asks git once, and keeps the answer
    except NoRepository as error:
        error.hint = f"mend that line of {LIST}"
        return Left(path, error)
    return clone


def _of_item(clones: Clones, named: Named) -> World:
    wanted = named.repository
    found = [world for world in clones.worlds if wanted is None or _is_called(wanted, world)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(map(_name, clones.worlds))
    item = named.item.spelling
    if wanted is None:
        raise Usage(
            f"'{item}' of which repository? Served are: {known}", f"write it as in '{_name(clones.worlds[0])}#{item}'"
        )
    what = "fits several" if found else "is none"
    raise Usage(f"'{printable(wanted)}' {what} of the repositories served here: {known}", f"they are listed in {LIST}")


def _is_called(wanted: str, world: World) -> bool:
    try:
        return is_called(wanted, world.remote.url, world.directory.resolve().name)
    except ClaimError:
        # A clone that cannot be served has no name but its directory's; whoever means it is told why.
        return wanted == world.directory.resolve().name


def _name(world: World) -> str:
    try:
        return world.repo
    except ClaimError:
        return world.name


def left_out(left: Sequence[Left]) -> list[Document]:
    """What an answer in JSON says of clones that are missing in it."""
    return [{"clone": each.name, "reason": each.error.reason, "error": each.error.message} for each in left]


def say_left_out(world: World, left: Sequence[Left]) -> Exit:
    """Names the clones that are missing in an answer; returns the status of an answer that is not whole."""
    for each in left:
        world.talk.warn(f"{printable(each.name)} was left out: {each.error.message}")
        if each.error.hint:
            world.talk.of_clone(each.name).say(f"hint: {each.error.hint}")
    return Exit.UNKNOWN if left else Exit.DONE
