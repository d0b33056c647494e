"""The lane file: which chain a linked worktree works for, and on what. Private to the worktree, never shared."""

import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from git_claims.errors import BadSettings, GitFailed
from git_claims.git.lock import open_lock, try_lock
from git_claims.git.whole_file import replace_file
from git_claims.protocol.claim import ChainId, check_chain
from git_claims.protocol.item import Item, is_item, parse

_FILE = "git-claim-lane.toml"


@dataclass(frozen=True, slots=True)
class Lane:
    """Who works in a linked worktree, on which items, and which of its items it has released."""

    chain: ChainId
    items: tuple[Item, ...] = ()
    released: tuple[Item, ...] = ()

    def entered(self, items: tuple[Item, ...]) -> "Lane":
        """The lane with these items added."""
        kept = tuple(item for item in self.released if item not in items)
        return replace(self, items=tuple(dict.fromkeys(self.items + items)), released=kept)

    def left(self, items: tuple[Item, ...]) -> "Lane":
        """The lane without these items, which it remembers as released."""
        gone = tuple(item for item in items if item in self.items)
        kept = tuple(item for item in self.items if item not in gone)
        return replace(self, items=kept, released=tuple(dict.fromkeys(self.released + gone)))

    def without(self, items: tuple[Item, ...]) -> "Lane":
        """The lane without items it never came to hold."""
        return replace(self, items=tuple(item for item in self.items if item not in items))


def read_lane(git_dir: Path) -> Lane | None:
    """Returns the lane of the linked worktree whose private git directory this is; None where it has none."""
    path = git_dir / _FILE
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        return Lane(check_chain(document["chain"]), _items(document, "items"), _items(document, "released"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadSettings(
            f"cannot read the lane file '{path}': {error}", "pass the chain with --chain, or move the file away"
        ) from error


def write_lane(git_dir: Path, lane: Lane) -> None:
    """Replaces the lane file as a whole."""
    import tomli_w

    document = {
        "chain": str(lane.chain),
        "items": [item.name for item in lane.items],
        "released": [item.name for item in lane.released],
    }
    try:
        replace_file(git_dir / _FILE, tomli_w.dumps(document))
    except OSError as error:
        raise GitFailed(f"cannot write the lane file '{git_dir / _FILE}': {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class StartNote:
    """The chain of one start. `forget` is for when the lane file names it, or nothing is held."""

    chain: ChainId
    descriptor: int | None = None

    def forget(self) -> None:
        """Ends what a later start could continue."""
        if self.descriptor is not None:
            os.ftruncate(self.descriptor, 0)


@contextmanager
def chain_of_start(directory: Path, item: Item, minted: Callable[[], ChainId]) -> Iterator[StartNote]:
    """Gives the chain for a start that has none, the same one again after a start that came to no end.

    It is noted before anything is pushed, so that no claim is ever held by a chain that nobody can name. The note is
    believed only while its lock is free: a start that still runs keeps its chain to itself.
    """
    descriptor = open_lock(directory / f"start-{item.name}")
    try:
        if not try_lock(descriptor):
            yield StartNote(minted())
            return
        chain = _noted(descriptor) or minted()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, chain.encode(), 0)
        yield StartNote(chain, descriptor)
    finally:
        os.close(descriptor)


def _noted(descriptor: int) -> ChainId | None:
    try:
        return check_chain(os.pread(descriptor, 1024, 0).decode("utf-8"))
    except ValueError:
        # Empty, or cut short: nothing was pushed under it.
        return None


def _items(document: dict[str, object], key: str) -> tuple[Item, ...]:
    names = document.get(key, [])
    if not isinstance(names, list):
        raise ValueError(f"{key} must be a list")
    return tuple(parse(name).item for name in names if isinstance(name, str) and is_item(name))
