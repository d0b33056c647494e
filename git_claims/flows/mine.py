"""What a chain holds, and what is to be done about it next: in its lane, or on the way into the base branch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from git_claims.errors import TrackerError
from git_claims.flows.board import branches_of
from git_claims.flows.lanes import lanes
from git_claims.flows.release import mine
from git_claims.protocol import signals
from git_claims.protocol.issue import PullState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from git_claims.flows.board import Board
    from git_claims.flows.lanes import LaneRow
    from git_claims.git.store import Store
    from git_claims.git.worktree import Workspace
    from git_claims.protocol.claim import ChainId, Seen
    from git_claims.protocol.issue import Issue
    from git_claims.protocol.item import Item


class Todo(StrEnum):
    """What comes next: FINISH what is merged, LAND what is proposed, RELEASE what is closed or on hold, RESUME what has
    a lane, else START its lane.
    """

    FINISH = "finish"
    LAND = "land"
    RELEASE = "release"
    RESUME = "resume"
    START = "start"


@dataclass(frozen=True, slots=True)
class Mine:
    """One claim of a chain. `path` is its lane in this clone; `issue` what a tracker shows, None where none does."""

    item: Item
    seen: Seen
    path: Path | None
    unsaved: str | None
    issue: Issue | None
    todo: Todo


@dataclass(frozen=True, slots=True)
class Held:
    """All that a chain holds in one repository, and what others hold there. `unread`: why no tracker shows it."""

    mine: tuple[Mine, ...]
    others: tuple[Item, ...]
    unread: str | None = None


def held(store: Store, workspace: Workspace, board: Board, pattern: str, chain: ChainId | None) -> Held:
    """Reads what `chain` holds, its lanes and what the tracker shows of it. What cannot be shown is said."""
    claims = store.read_all().claims
    ours = mine(claims, chain) if chain is not None else []
    others = tuple(sorted((item for item in claims if item not in ours), key=lambda item: item.order))
    if not ours:
        return Held((), others)
    rows = lanes(store, workspace, pattern, chain)
    issues, unread = _issues(board, claims, ours)
    return Held(tuple(_mine(item, claims[item], rows, issues.get(item), board) for item in ours), others, unread)


def _issues(
    board: Board, claims: Mapping[Item, Seen], items: list[Item]
) -> tuple[dict[Item, Issue | None], str | None]:
    try:
        # With their branches: a pull request into another branch than the default one closes nothing.
        return board.tracker.read(items, branches_of(claims, items)), None
    except TrackerError as error:
        return {}, error.message


def _mine(item: Item, seen: Seen, rows: list[LaneRow], issue: Issue | None, board: Board) -> Mine:
    lane = next((row for row in rows if item in row.items and not row.worktree.gone), None)
    todo = _todo(seen, lane, issue, board)
    return Mine(item, seen, lane.path if lane else None, lane.unsaved if lane else None, issue, todo)


def _todo(seen: Seen, lane: LaneRow | None, issue: Issue | None, board: Board) -> Todo:
    if issue is not None and seen.claim is not None:
        if any(pull.state is PullState.OPEN for pull in issue.pulls):
            return Todo.LAND
        if signals.delivered(issue, signals.opened_at(issue, seen.claim, board.house)):
            return Todo.FINISH
        if not issue.is_open or signals.is_held(issue, board.house):
            return Todo.RELEASE
    return Todo.RESUME if lane is not None else Todo.START
