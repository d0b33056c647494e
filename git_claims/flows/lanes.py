"""The lanes of this clone: what each works on, whether it still holds it, and whether anything in it is unsaved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from git_claims.errors import ClaimError
from git_claims.protocol.item import Item, of_branch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from git_claims.git.store import Store
    from git_claims.git.worktree import Workspace, Worktree
    from git_claims.protocol.claim import ChainId, Seen


class LaneState(StrEnum):
    """What the server says of a lane's claim."""

    MINE = "mine"
    LOST = "lost"
    RELEASED = "released"
    NO_CLAIM = "no-claim"


@dataclass(frozen=True, slots=True)
class LaneRow:
    """One lane. `unsaved` says what would be lost with its worktree, None where nothing would."""

    worktree: Worktree
    items: tuple[Item, ...]
    chain: ChainId | None
    state: LaneState
    rival: Seen | None
    unsaved: str | None

    @property
    def path(self) -> Path:
        """Where the worktree is, or was."""
        return self.worktree.path


@dataclass(frozen=True, slots=True)
class Pruned:
    """What became of a lane: `kept` says why its worktree stays, None where it went (or would go)."""

    row: LaneRow
    kept: str | None


def lanes(store: Store, workspace: Workspace, pattern: str, chain: ChainId | None = None) -> list[LaneRow]:
    """Returns this clone's lanes in order of their items, with one read of the remote's claims.

    `chain`, the one in force, stands in for worktrees that were made by hand and name an item by their branch.
    """
    # Worktrees first: a lane that is opened meanwhile has its claim already, and must not be seen without it.
    worktrees = workspace.worktrees()
    claims = store.read_all().claims
    found = [_row(worktree, workspace, claims, pattern, chain) for worktree in worktrees]
    rows = [row for row in found if row is not None]
    return sorted(rows, key=lambda row: (row.items[0].order, str(row.path)))


def prune(
    store: Store, workspace: Workspace, pattern: str, integration: str | None, *, dry_run: bool
) -> Iterator[Pruned]:
    """Removes, one by one, worktrees whose claim was given up and whose work is saved; never any other."""
    workspace.look_for_pushed(integration)
    for row in lanes(store, workspace, pattern):
        kept = why_kept(row)
        if kept is None and not dry_run:
            kept = remove(workspace, row.worktree)
        yield Pruned(row, kept)


def why_kept(row: LaneRow) -> str | None:
    """Returns why a lane's worktree has to stay; None where nothing speaks for it."""
    if row.state in {LaneState.MINE, LaneState.LOST}:
        return "it holds its claim" if row.state is LaneState.MINE else "its claim was lost to another chain"
    if row.chain is None:
        return "no chain has worked in it, somebody made it by hand"
    return "it is locked" if row.worktree.locked else row.unsaved


def remove(workspace: Workspace, worktree: Worktree) -> str | None:
    """Removes a worktree; returns git's reason where it would not."""
    try:
        workspace.remove(worktree)
    except ClaimError as error:
        return error.message
    return None


def _row(
    worktree: Worktree, workspace: Workspace, claims: Mapping[Item, Seen], pattern: str, in_force: ChainId | None
) -> LaneRow | None:
    lane = worktree.lane
    named = of_branch(pattern, worktree.branch) if worktree.branch else None
    items = (lane.items or lane.released) if lane else ()
    items = items or ((named,) if named else ())
    if not items:
        return None
    chain = lane.chain if lane else None
    state, rival = _state(items, chain or in_force, lane is not None and not lane.items and bool(lane.released), claims)
    return LaneRow(worktree, items, chain, state, rival, workspace.unsaved(worktree))


def _state(
    items: tuple[Item, ...], chain: ChainId | None, released: bool, claims: Mapping[Item, Seen]
) -> tuple[LaneState, Seen | None]:
    """A lane is judged by the worst of its items: one that is lost is lost work."""
    rivals = [claims[item] for item in items if item in claims and not claims[item].is_held_by(chain)]
    if any(item in claims and claims[item].is_held_by(chain) for item in items) and not rivals:
        return LaneState.MINE, None
    if released:
        return LaneState.RELEASED, None
    return (LaneState.LOST, rivals[0]) if rivals else (LaneState.NO_CLAIM, None)
