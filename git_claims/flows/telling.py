"""What is told of a claim that goes on, and of an item that is held: the steps of a chained run, hold and its end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from git_claims.errors import Refused
from git_claims.flows.board import Looked, apply, check_words, failures, look, worded, written
from git_claims.flows.release import held_of, release, with_bundles
from git_claims.protocol import signals
from git_claims.protocol.signals import Release
from git_claims.protocol.transition import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from git_claims.flows.board import Board
    from git_claims.flows.change import Answer
    from git_claims.git.store import Store
    from git_claims.protocol.claim import ChainId, Seen
    from git_claims.protocol.issue import Edit, Issue
    from git_claims.protocol.item import Item


@dataclass(frozen=True, slots=True)
class Hold:
    """What is asked for: the hold label on or off, by whom, and why."""

    on: bool
    who: str | None
    why: str | None


@dataclass(frozen=True, slots=True)
class Held:
    """What became of it: whether it was so before, what did not land, and claims that ended with it."""

    already: bool
    failed: tuple[str, ...] = ()
    released: tuple[Answer, ...] = ()


def tell_step(
    board: Board, answers: Sequence[Answer], told: Mapping[Outcome, str | None], looked: Looked | None = None
) -> list[Answer]:
    """Leaves the comment of a chained run on each item whose answer has one; label and assignee stay as they are.

    None instead of words: only what is missing is shown, since an earlier run may have died before it could be.
    """
    changed = [answer for answer in answers if answer.outcome in told and _is_step(answer)]
    unread = [answer.item for answer in changed if looked is None or answer.item not in looked.issues]
    more = look(board, unread) if unread else Looked({})
    issues = {**(looked.issues if looked else {}), **more.issues}
    edits = [
        _step(board, issue, answer, told[answer.outcome])
        for answer in changed
        if (issue := issues.get(answer.item)) is not None
    ]
    notes = {item: failures(each) for item, each in apply(board, edits).items()}
    skipped = (looked.notes if looked else ()) + more.notes
    return [replace(each, notes=each.notes + notes.get(each.item, ()) + skipped) for each in answers]


def hold(store: Store, board: Board, item: Item, wish: Hold, chain: ChainId | None) -> Held:
    """Puts an item on hold or ends that, in one write; a claim of `chain` on it, and its bundle, end with a hold."""
    check_words(board, wish.why)
    claims = store.read_all().claims if wish.on and chain is not None else {}
    ours = held_of(with_bundles([item], claims, chain), claims, chain)
    issues = look(board, [item, *ours]).issues
    page = issues[item]
    if page is None:
        raise Refused(f"the tracker has no {item.noun} '{item.spelling}'", "look at the number")
    first = worded(lambda: _hold_edit(board, page, item, wish, claims.get(item) if item in ours else None))
    edits = [
        first,
        *(edit for each in ours if each != item for edit in _ended(board, issues[each], each, claims[each])),
    ]
    failed = written(board, edits)
    # Ref last, and not at all while the hold itself is not on: nobody else may take the item in between.
    released = release(store, [item], chain, claims) if ours and chain is not None and not failed else []
    return Held(signals.is_held(page, board.house) is wish.on, failed, tuple(released))


def _is_step(answer: Answer) -> bool:
    """Says whether there is something to tell: of a claim that was ours already, only where it is not a first one."""
    claim = answer.claim.claim if answer.claim else None
    return claim is not None and (answer.outcome is not Outcome.ALREADY_YOURS or claim.previous is not None)


def _step(board: Board, issue: Issue, answer: Answer, said: str | None) -> Edit:
    claim = answer.claim.claim if answer.claim else None
    previous = answer.rival.claim if answer.rival else None
    assert claim is not None, "only called where _is_step found a record"
    if said is None:
        return signals.on_take(issue, answer.item, claim, board.house, fresh=False)
    if answer.outcome is Outcome.ADOPTED and previous is not None:
        return signals.on_adopt(issue, answer.item, claim, previous, board.house, said)
    again = answer.outcome is Outcome.ALREADY_YOURS
    taken = again or answer.outcome is Outcome.RENEWED
    return signals.on_step(issue, answer.item, claim, board.house, said, taken=taken, again=again)


def _hold_edit(board: Board, page: Issue, item: Item, wish: Hold, seen: Seen | None) -> Edit:
    claim = seen.claim if seen else None
    return signals.on_hold(page, item, board.house, hold=wish.on, who=wish.who, why=wish.why, claim=claim)


def _ended(board: Board, page: Issue | None, item: Item, seen: Seen) -> list[Edit]:
    """A sibling ends with its lead."""
    if page is None or seen.claim is None:
        return []
    return [signals.on_release(page, item, seen.claim, board.house, Release.PLAIN)]
