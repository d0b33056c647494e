"""What is ready, and a walk through it: queues read, a candidate looked at again, claimed, and the next one tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from git_claims.flows.board import look, with_branches
from git_claims.protocol import staleness
from git_claims.protocol.ready import queue
from git_claims.protocol.served import Served, Skipped
from git_claims.protocol.transition import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from git_claims.flows.board import Board, Looked
    from git_claims.flows.change import Answer
    from git_claims.git.store import Store
    from git_claims.protocol.claim import Seen
    from git_claims.protocol.issue import Issue
    from git_claims.protocol.item import Item
    from git_claims.protocol.ready import Candidate, Queue
    from git_claims.protocol.served import Place

# So many lost races in a row are no bad luck any more: whoever calls may come back.
_STEPS = 16
# Somebody else has it, or somebody said meanwhile that nobody shall; any other answer is about us.
_LOST = frozenset({Outcome.HELD, Outcome.NOT_FREE})
# What one request reads by number.
_UNSURE = 50


@dataclass(frozen=True, slots=True)
class Seat:
    """One repository that is served: where its claims are, and what shows them."""

    slug: str
    directory: str
    store: Store
    board: Board


@dataclass(frozen=True, slots=True)
class Walked:
    """Where a walk ended: the candidate and what became of its claim, or None where nothing is ready any more."""

    queue: Queue
    candidate: Candidate | None = None
    answer: Answer | None = None


def read_served(seat: Seat, now: datetime, *, judged: bool) -> Served | Skipped:
    """Reads one repository: every claim, every open issue, and by number what the list showed too little of.

    `judged`: also whose holders look gone, a request more.
    """
    board = seat.board
    if not board.tracker.shows:
        return Skipped(seat.slug, "no tracker shows its issues", is_empty=True)
    # Claims first: an issue that is claimed in between shows it by then, and is looked at again before it is taken.
    claims = seat.store.read_all().claims
    issues = board.tracker.read_open()
    if not any(_is_queued(issue, board) for issue in issues) and _has_no_queue(board):
        return Skipped(seat.slug, "it has no queue labels; 'git claim init --labels' makes them", is_empty=True)
    stale = _stale(board, claims, issues, now) if judged else frozenset()
    served = Served(seat.slug, issues, claims, board.house, board.tracker.operator(), stale, seat.directory)
    unsure = [place.item for place in queue([served]).unsure][:_UNSURE]
    return with_pages(served, board.tracker.read(unsure)) if unsure else served


def walk(
    seats: Iterable[Seat],
    served: Sequence[Served],
    skipped: Sequence[Skipped],
    claim: Callable[[Seat, Candidate, Looked], Answer],
) -> Walked:
    """Walks the ranking until a claim is won; each candidate is read again by its number before it is asked for.

    A lost race reads the claims again, not the lists. Nobody is asked for twice. Where the walk ends without a
    candidate, what is still ready in its queue was lost in this walk.
    """
    places, known = {seat.slug: seat for seat in seats}, {each.slug: each for each in served}
    lost: set[Place] = set()
    for _ in range(_STEPS):
        candidate = _best(queue(list(known.values()), skipped), lost)
        if candidate is None:
            break
        seat, slug, item = places[candidate.place.slug], candidate.place.slug, candidate.place.item
        looked = look(seat.board, [item])
        known[slug] = with_pages(known[slug], looked.issues)
        again = queue(list(known.values()), skipped)
        if candidate.place not in {each.place for each in again.ready}:
            continue
        answer = claim(seat, candidate, looked)
        if answer.outcome not in _LOST:
            return Walked(again, candidate, answer)
        lost.add(candidate.place)
        known[slug] = replace(known[slug], claims=seat.store.read_all().claims)
        if answer.outcome is Outcome.NOT_FREE:
            known[slug] = with_pages(known[slug], look(seat.board, [item]).issues)
    return Walked(queue(list(known.values()), skipped))


def with_pages(served: Served, pages: Mapping[Item, Issue | None]) -> Served:
    """Returns what is served with newer pages of some items; None is an item that is not there."""
    others = [issue for issue in served.issues if issue.item not in pages]
    return replace(served, issues=[*others, *(page for page in pages.values() if page is not None)])


def _best(found: Queue, lost: set[Place]) -> Candidate | None:
    return next((each for each in found.ready if each.place not in lost), None)


def _is_queued(issue: Issue, board: Board) -> bool:
    wanted = {name.casefold() for name in _queue_labels(board)}
    return not wanted or not wanted.isdisjoint(label.casefold() for label in issue.labels)


def _has_no_queue(board: Board) -> bool:
    """Asks whether the repository has queue labels at all; one whose labels cannot be read may have them."""
    wanted = {name.casefold() for name in _queue_labels(board)}
    known = board.tracker.standing().labels
    return bool(wanted) and known is not None and wanted.isdisjoint(label.casefold() for label in known)


def _queue_labels(board: Board) -> list[str]:
    labels = board.house.labels
    return [name for name in (labels.ready, labels.afk, labels.hitl) if name]


def _stale(board: Board, claims: Mapping[Item, Seen], issues: Sequence[Issue], now: datetime) -> frozenset[Item]:
    pages = with_branches(board, claims, {issue.item: issue for issue in issues}, now)
    return frozenset(
        item
        for item, seen in claims.items()
        if board.judged(item, seen.claim, pages.get(item), now).verdict is staleness.Verdict.STALE
    )
