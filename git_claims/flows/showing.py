"""Signals around a change of claims: the tracker read before, written after, and what follows where it says no.

The ref decides. A claim is won first and shown afterwards; it is taken from sight first and given up last.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from git_claims.errors import CannotTell, TrackerError, Usage
from git_claims.flows.board import (
    Looked,
    apply,
    branches_of,
    check_words,
    failures,
    look,
    with_branches,
    worded,
    written,
)
from git_claims.flows.change import Answer
from git_claims.flows.listing import lead_of
from git_claims.flows.release import reclaim, release, with_bundles
from git_claims.flows.take import Wanted, take, take_over
from git_claims.protocol import signals, staleness
from git_claims.protocol.bars import Barred, bars, bars_meanwhile
from git_claims.protocol.claim import full_oid
from git_claims.protocol.signals import Release
from git_claims.protocol.transition import Outcome, Reason, fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from git_claims.flows.board import Board
    from git_claims.git.store import Store
    from git_claims.protocol.claim import ChainId, Claim, Seen
    from git_claims.protocol.issue import Edit, Issue
    from git_claims.protocol.item import Item
    from git_claims.protocol.transition import Asker
    from git_claims.tracker.model import Edited

_FRESH = {Outcome.CLAIMED, Outcome.TAKEN_OVER}
_RENEWALS = 8
_SHOWN = {Outcome.CLAIMED, Outcome.TAKEN_OVER, Outcome.ALREADY_YOURS, Outcome.RENEWED}


def take_shown(
    store: Store,
    board: Board,
    looked: Looked,
    wanted: Wanted,
    asker: Asker,
    run: Callable[[Wanted], list[Answer]],
) -> list[Answer]:
    """Runs a take for the items that the tracker calls free, then shows what was won.

    The answer of that write is the second look: what was closed, held or assigned meanwhile is given back.
    """
    _check_words(board, wanted, asker)
    barred = _barred(store, board, looked, wanted, asker)
    free = _without(wanted, barred)
    answers = {answer.item: answer for answer in (run(free) if free else [])}
    won = {item: answer for item, answer in answers.items() if answer.outcome in _SHOWN and answer.claim}
    shown = _show(store, board, looked, won)
    answers |= _second_look(store, board, looked, asker, won, shown)
    for item, bar in barred.items():
        answers[item] = _not_free(item, bar)
    left_out = [item for item in wanted.all_items if item not in answers]
    answers |= {item: Answer(item, Outcome.NOT_TAKEN, Reason.ALL_OR_NOTHING) for item in left_out}
    return [replace(answers[item], notes=answers[item].notes + looked.notes) for item in wanted.all_items]


def release_shown(
    store: Store,
    board: Board,
    looked: Looked,
    items: Sequence[Item],
    chain: ChainId,
    claims: Mapping[Item, Seen],
    edit_of: Callable[[Issue, Item, Claim], Edit],
    *,
    before_refs: Callable[[], None] | None = None,
) -> list[Answer]:
    """Takes claims of `chain` from sight, then gives them up; dying in between leaves claims that are found again.

    `claims`: every claim as it was read just now. `before_refs` is done between the two.
    """
    edits: list[Edit] = []
    for item in items:
        issue, seen = looked.issues.get(item), claims.get(item)
        if issue is not None and seen is not None and seen.claim is not None and seen.is_held_by(chain):
            edits.append(worded(partial(edit_of, issue, item, seen.claim)))
    edited = apply(board, edits)
    notes = {item: failures(each) for item, each in edited.items()}
    owed = [edit.item for edit in edits if edit.is_owed and edit.item in edited and edited[edit.item].passing]
    kept = _with_their_bundles(owed, items, claims)
    if before_refs is not None and not kept:
        before_refs()
    # Ref last. If we die before this line the holder still owns the claim and can run release again.
    given_up = [item for item in items if item not in kept]
    answers = {each.item: each for each in (release(store, given_up, chain, claims) if given_up else [])}
    answers |= {item: _not_released(item, claims.get(item), notes) for item in kept}
    return [
        replace(each, notes=each.notes + (() if each.item in kept else notes.get(each.item, ())) + looked.notes)
        for each in answers.values()
    ]


def _with_their_bundles(items: Sequence[Item], family: Sequence[Item], claims: Mapping[Item, Seen]) -> frozenset[Item]:
    """Returns the items and whatever is bundled with one of them: a bundle is given up as a whole."""
    leads = {item: (lead_of(claims[item]) if item in claims else None) or item for item in family}
    wanted = {leads[item] for item in items}
    return frozenset(item for item in family if leads[item] in wanted)


def _not_released(item: Item, seen: Seen | None, notes: Mapping[Item, tuple[str, ...]]) -> Answer:
    """How the work ended stands nowhere yet: the claim is kept, so that the same release can be repeated."""
    why = "; ".join(notes.get(item, ())) or "what is bundled with it is not"
    return Answer(item, Outcome.UNKNOWN, Reason.SIGNALS_FAILED, claim=seen, detail=why)


def take_one(
    store: Store, board: Board, item: Item, asker_of: Callable[[], Asker], looked: Looked | None = None
) -> Answer:
    """Claims one item and shows it: one read, one push, one write. `looked`: what a read showed just now."""
    looked, wanted = looked or look(board, [item]), Wanted((item,))
    # Only now: the read has told who is logged in, which the record names.
    asker = asker_of()
    return take_shown(store, board, looked, wanted, asker, lambda free: take(store, free, asker))[0]


def give_back(store: Store, board: Board, item: Item, chain: ChainId, *, succeeded: bool) -> list[Answer]:
    """Gives up a claim as its work ended: merged, waiting for CI, done, or abandoned."""
    claims = store.read_all().claims
    family = with_bundles([item], claims, chain)

    def edit_of(issue: Issue, each: Item, claim: Claim) -> Edit:
        outcome, pull = signals.outcome_of(
            issue, succeeded=succeeded, since=signals.opened_at(issue, claim, board.house)
        )
        number, base = (pull.number, pull.base) if pull else (None, None)
        return signals.on_release(issue, each, claim, board.house, outcome, pull=number, base=base)

    looked = look(board, family, branches_of(claims, family))
    return release_shown(store, board, looked, family, chain, claims, edit_of)


def reclaim_shown(
    store: Store,
    board: Board,
    item: Item,
    by: str | None,
    confirm: Callable[[Item, Seen, Sequence[Item]], None],
) -> list[Answer]:
    """Frees an item as a person: signals first, ref last, both only after `confirm` was shown the record."""
    notes: dict[Item, tuple[str, ...]] = {}

    def confirm_and_show(asked: Item, seen: Seen, siblings: Mapping[Item, Seen]) -> None:
        confirm(asked, seen, tuple(siblings))
        freed = {asked: seen, **siblings}
        looked = look(board, freed)
        edits = [
            signals.on_reclaim(issue, each, claim, board.house, by)
            for each, state in freed.items()
            if (issue := looked.issues.get(each)) is not None and (claim := state.claim) is not None
        ]
        notes.update(dict.fromkeys(freed, looked.notes))
        notes.update({each: looked.notes + failures(edited) for each, edited in apply(board, edits).items()})

    answers = reclaim(store, item, confirm_and_show)
    return [replace(each, notes=each.notes + notes.get(each.item, ())) for each in answers]


def take_over_stale(
    store: Store, board: Board, looked: Looked, answers: Sequence[Answer], asker: Asker, now: datetime
) -> list[Answer]:
    """Takes over held items whose holder looks gone, for a repository whose policy allows it."""
    stale: dict[Item, str] = {}
    rivals = {answer.item: answer.rival for answer in answers if answer.rival is not None}
    issues = with_branches(board, rivals, looked.issues, now)
    for answer in answers:
        claim, issue = answer.rival.claim if answer.rival else None, issues.get(answer.item)
        # A sibling follows its lead; alone it is never judged.
        if answer.outcome is not Outcome.HELD or claim is None or issue is None or claim.lead is not None:
            continue
        judgement = board.judged(answer.item, claim, issue, now)
        if judgement.verdict is staleness.Verdict.STALE:
            stale[answer.item] = "; ".join(judgement.reasons)
    taken = {
        item: take_over(store, [item], replace(asker, reason=why), _nobody_asked)[0] for item, why in stale.items()
    }
    return [taken.get(answer.item, answer) for answer in answers]


def _nobody_asked(item: Item, seen: Seen) -> None:
    """The policy has answered already; the swap holds only on the id that was judged or an unchanged one after it."""


def _check_words(board: Board, wanted: Wanted, asker: Asker) -> None:
    """Writes the comments once before anything is pushed; what could not be posted must stop the claim."""
    if not board.tracker.shows:
        return
    check_words(board, asker.reason, asker.phase)
    for item in wanted.all_items:
        try:
            signals.lock_comment(fresh(item, asker, None), board.house)
        except ValueError as error:
            raise Usage(f"this claim could not be shown on the tracker: {error}") from error


def _barred(store: Store, board: Board, looked: Looked, wanted: Wanted, asker: Asker) -> dict[Item, Barred]:
    """Finds what the tracker speaks against, but for claims that are ours already: those are only entered again."""
    found: dict[Item, Barred] = {}
    for item in wanted.all_items:
        issue = looked.issues.get(item)
        if issue is None:
            if looked.skipped is None and board.tracker.shows:
                found[item] = Barred(Reason.NO_SUCH_ITEM, item.name)
            continue
        bar = bars(issue, item, asker.operator, board.house, even_hitl=board.even_hitl)
        if bar is not None:
            found[item] = bar
    held = store.read(found) if found else {}
    return {item: bar for item, bar in found.items() if held[item] is None}


def _without(wanted: Wanted, barred: Mapping[Item, Barred]) -> Wanted | None:
    if not barred:
        return wanted
    if wanted.as_one:
        return None
    free = tuple(item for item in wanted.items if item not in barred)
    return replace(wanted, items=free) if free else None


def _taken_from(answer: Answer) -> Claim | None:
    return answer.rival.claim if answer.rival and answer.outcome is Outcome.TAKEN_OVER else None


def _before(store: Store, item: Item, claim: Claim) -> Claim | None:
    """Returns the claim of another chain that this one replaced: the command that took it over may not have told."""
    oid = full_oid(claim.previous) if "reason" in dict(claim.extra) else None
    for _ in range(_RENEWALS):
        earlier = store.record_at(item, oid).claim if oid is not None else None
        if earlier is None or earlier.chain != claim.chain:
            return earlier
        oid = full_oid(earlier.previous)
    return None


def _show(store: Store, board: Board, looked: Looked, won: Mapping[Item, Answer]) -> dict[Item, Edited]:
    edits = []
    for item, answer in won.items():
        issue, claim = looked.issues.get(item), answer.claim.claim if answer.claim else None
        if issue is None or claim is None:
            continue
        fresh = answer.outcome in _FRESH
        previous = _taken_from(answer) if fresh else _before(store, item, claim)
        edits.append(signals.on_take(issue, item, claim, board.house, fresh=fresh, previous=previous))
    return apply(board, edits)


def _second_look(
    store: Store,
    board: Board,
    looked: Looked,
    asker: Asker,
    won: Mapping[Item, Answer],
    shown: Mapping[Item, Edited],
) -> dict[Item, Answer]:
    answers: dict[Item, Answer] = {}
    for item, edited in shown.items():
        answer, failed_steps = won[item], failures(edited)
        bar = _barred_meanwhile(edited, item, asker, board) if answer.outcome is Outcome.CLAIMED else None
        was_ready = _was_ready(board, looked.issues.get(item))
        if bar is not None and edited.issue is not None:
            answers[item] = _undone(store, board, edited.issue, answer, asker, _not_free(item, bar), was_ready)
            continue
        failed_steps = failed_steps or _mended(board, edited, answer)
        if failed_steps and board.required and answer.outcome is Outcome.CLAIMED:
            failed = Answer(item, Outcome.UNKNOWN, Reason.SIGNALS_FAILED, detail="; ".join(failed_steps))
            answers[item] = _undone(store, board, edited.issue, answer, asker, failed, was_ready)
        elif failed_steps:
            answers[item] = replace(answer, notes=answer.notes + failed_steps)
    return answers


def _mended(board: Board, edited: Edited, answer: Answer) -> tuple[str, ...]:
    """Shows what went missing between our read and our write: a release of before may have landed in between."""
    claim = answer.claim.claim if answer.claim else None
    if edited.issue is None or claim is None:
        return ()
    edit = signals.on_take(edited.issue, answer.item, claim, board.house, fresh=False)
    return written(board, [edit])


def _was_ready(board: Board, issue: Issue | None) -> frozenset[str]:
    """Returns the label by which the item was in the queue when it was read."""
    return signals.ready_labels(issue, board.house) if issue is not None else frozenset()


def _barred_meanwhile(edited: Edited, item: Item, asker: Asker, board: Board) -> Barred | None:
    if edited.issue is None:
        return None
    return bars_meanwhile(edited.issue, item, asker.operator, board.house, even_hitl=board.even_hitl)


def _undone(
    store: Store,
    board: Board,
    issue: Issue | None,
    answer: Answer,
    asker: Asker,
    instead: Answer,
    was_ready: frozenset[str],
) -> Answer:
    """Gives back a claim that must not stand: signals first, ref last. The item goes back to where it was."""
    claim = answer.claim.claim if answer.claim else None
    notes: tuple[str, ...] = ()
    try:
        if issue is not None and claim is not None:
            note = "Another look after the claim found it not free."
            edit = signals.on_release(issue, answer.item, claim, board.house, Release.PLAIN, note=note)
            ours = issue.assigned(claim.operator)
            edit = replace(edit, add_labels=edit.add_labels & was_ready, remove_assignees=ours)
            notes = written(board, [edit])
        undone = all(each.succeeded for each in release(store, [answer.item], asker.chain))
    except (CannotTell, TrackerError) as error:
        undone, notes = False, (error.message,)
    remains = () if undone else (f"the claim remains; 'git claim release {answer.item.spelling}' gives it up",)
    said = ("it was claimed for a moment, and given back",) if undone else remains
    return replace(instead, notes=instead.notes + notes + said)


def _not_free(item: Item, bar: Barred) -> Answer:
    return Answer(item, Outcome.NOT_FREE, bar.reason, barred=bar)
