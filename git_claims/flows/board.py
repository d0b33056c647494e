"""A tracker as flows use it: what the repository wants shown on it, read before a change and written after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from git_claims.errors import TrackerError, Usage
from git_claims.protocol import signals, staleness
from git_claims.protocol.item import Kind
from git_claims.protocol.signals import House

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from git_claims.protocol.claim import Claim, Seen
    from git_claims.protocol.issue import Edit, Issue
    from git_claims.protocol.item import Item
    from git_claims.protocol.staleness import Judgement
    from git_claims.tracker.model import Edited, Tracker


NOT_LANDED = "did not land"
# By the values of tracker/model.py's steps, which flows know as a type only.
_STEPS = {
    "add-labels": "label",
    "remove-labels": "removal of a label",
    "add-assignees": "assignee",
    "remove-assignees": "removal of an assignee",
    "comment": "comment",
    "close": "closing",
}


@dataclass(frozen=True, slots=True)
class Board:
    """A tracker and what the repository wants shown on it.

    `mandatory`: without it nothing is done. `required`: a claim whose signals do not all land is given back.
    """

    tracker: Tracker
    house: House
    mandatory: bool = False
    required: bool = False
    even_hitl: bool = False

    def judged(self, item: Item, claim: Claim | None, issue: Issue | None, now: datetime) -> Judgement:
        """Judges the holder of a claim on what was read of it; how long one may be silent depends on the item."""
        window = self.house.pull_window if item.kind is Kind.PULL else self.house.window
        return staleness.judge(staleness.evidence(claim, issue), window, now)


@dataclass(frozen=True, slots=True)
class Looked:
    """The items as the tracker showed them. `skipped` says why nothing can be shown at all."""

    issues: Mapping[Item, Issue | None]
    skipped: str | None = None
    notes: tuple[str, ...] = field(default=())


def look(board: Board, items: Iterable[Item], branches: Mapping[Item, str] | None = None) -> Looked:
    """Reads the items in one request. A tracker that nobody can use is skipped, unless it is mandatory.

    One that did not answer is an error: whether somebody else works there cannot be known without it.
    """
    wanted = list(dict.fromkeys(items))
    try:
        return Looked(board.tracker.read(wanted, branches))
    except TrackerError as error:
        if board.mandatory or not error.is_unusable:
            raise
        note = "; ".join(part for part in (f"signals were skipped: {error.message}", error.hint) if part)
        return Looked(dict.fromkeys(wanted), error.message, (note,))


def apply(board: Board, edits: Iterable[Edit]) -> dict[Item, Edited]:
    """Writes the edits that change anything."""
    wanted = signals.merged(edits)
    return board.tracker.apply(wanted) if wanted else {}


def read_pages(board: Board, claims: Iterable[Item]) -> dict[Item, Issue | None]:
    """Reads every open issue, one request for each hundred, and one more where a claim is on none of them."""
    wanted = list(claims)
    issues: dict[Item, Issue | None] = {issue.item: issue for issue in board.tracker.read_open()}
    beyond = [item for item in wanted if item not in issues]
    return issues | (board.tracker.read(beyond) if beyond else {})


def branches_of(claims: Mapping[Item, Seen], items: Iterable[Item]) -> dict[Item, str]:
    """Returns the branch that each record names, where it names one."""
    found = ((item, claims[item].claim) for item in items if item in claims)
    return {item: claim.branch for item, claim in found if claim is not None and claim.branch is not None}


def with_branches(
    board: Board, claims: Mapping[Item, Seen], issues: Mapping[Item, Issue | None], now: datetime
) -> dict[Item, Issue | None]:
    """Returns the pages, read again with their branches where a holder would look gone without them: one request."""
    branches: dict[Item, str] = {}
    for item, seen in claims.items():
        claim, issue = seen.claim, issues.get(item)
        if claim is None or issue is None or claim.branch is None or issue.newest_commit is not None:
            continue
        if board.judged(item, claim, issue, now).verdict is staleness.Verdict.STALE:
            branches[item] = claim.branch
    return {**issues, **(board.tracker.read(branches, branches) if branches else {})}


def written(board: Board, edits: Iterable[Edit]) -> tuple[str, ...]:
    """Writes the edits and returns what of them did not land, and why."""
    return tuple(line for edited in apply(board, edits).values() for line in failures(edited))


def failures(edited: Edited) -> tuple[str, ...]:
    """Says which steps of an edit did not land, and why; what failed for one reason is one line."""
    reasons = dict.fromkeys(edited.failed.values())
    named = {why: [_STEPS[step] for step, each in edited.failed.items() if each == why] for why in reasons}
    return tuple(f"{' and '.join(steps)} {NOT_LANDED}: {why}" for why, steps in named.items())


def worded(edit_of: Callable[[], Edit]) -> Edit:
    """Returns an edit; raises Usage where somebody's words in it could not be posted."""
    try:
        return edit_of()
    except ValueError as error:
        raise Usage(f"this could not be shown on the tracker: {error}") from error


def check_words(board: Board, *texts: str | None) -> None:
    """Raises Usage for words that could not be posted, before anything is pushed on their behalf."""
    if not board.tracker.shows:
        return
    try:
        for text in texts:
            signals.check_words(text or "", board.house)
    except ValueError as error:
        raise Usage(f"this could not be shown on the tracker: {error}") from error
