"""The lane file: which chain a linked worktree works for, and on what. Private to the worktree, never shared."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from git_claims.errors import BadSettings, GitFailed
from git_claims.git.repository import Repository
from git_claims.protocol.claim import ChainId, check_chain
from git_claims.protocol.item import Item, is_item, parse


@dataclass(frozen=True, slots=True)
class Lane:
    """Who works in a linked worktree, and on which items."""

    chain: ChainId
    items: tuple[Item, ...] = ()


def lane_path(repository: Repository) -> Path:
    """Where the lane file is; the private git directory keeps two linked worktrees from ever sharing one."""
    return repository.git_dir / "git-claim-lane.toml"


def read_lane(repository: Repository) -> Lane | None:
    """Returns the lane of the worktree we stand in. The main worktree, where many stand at once, never has one."""
    if not repository.linked:
        return None
    path = lane_path(repository)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        names = document.get("items", [])
        return Lane(check_chain(document["chain"]), tuple(parse(name).item for name in names if is_item(name)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadSettings(
            f"cannot read the lane file '{path}': {error}",
            "pass the chain with --chain, or move the file away",
        ) from error


def write_lane(repository: Repository, lane: Lane) -> None:
    """Replaces the lane file as a whole; does nothing in the main worktree."""
    if not repository.linked:
        return
    import tomli_w

    document = {"chain": str(lane.chain), "items": [item.name for item in lane.items]}
    path = lane_path(repository)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_text(tomli_w.dumps(document), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise GitFailed(f"cannot write the lane file '{path}': {error.strerror}") from error
