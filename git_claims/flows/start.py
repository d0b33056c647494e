"""A lane from nothing: the claim first, then its worktree. What fails after the win gives the claim back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_claims.errors import ClaimError
from git_claims.flows.change import Answer
from git_claims.protocol.transition import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from git_claims.git.lane_file import Lane
    from git_claims.git.worktree import Place, Workspace


@dataclass(frozen=True, slots=True)
class Started:
    """What became of the claim and, where it is ours, the worktree of the lane."""

    answer: Answer
    path: Path | None


def start(
    workspace: Workspace,
    place: Place,
    lane: Lane,
    *,
    claim: Callable[[], Answer],
    give_back: Callable[[], list[Answer]],
    cut_from: str | None,
    integration: str | None,
) -> Started:
    """Claims an item and makes, or finds again, its worktree. Nothing is created before the claim is won."""
    readiness = workspace.prepare(place)
    answer = claim()
    if not answer.succeeded:
        return Started(answer, None)
    try:
        workspace.open(place, readiness, cut_from, integration)
        workspace.enter(place, lane)
    except ClaimError as error:
        raise _with_what_remains(error, answer, lane, give_back) from error
    return Started(answer, place.path)


def _with_what_remains(
    error: ClaimError, answer: Answer, lane: Lane, give_back: Callable[[], list[Answer]]
) -> ClaimError:
    """Gives back a claim that this start made, and adds to the error what still stands."""
    remains = f"the claim of {answer.item.noun} '{answer.item.spelling}' by '{lane.chain}' remains"
    if answer.outcome is Outcome.CLAIMED:
        try:
            undone = all(each.succeeded for each in give_back())
        except ClaimError:
            undone = False
        remains = "the claim was released again" if undone else remains
    error.message = f"{error.message}; {remains}"
    return error
