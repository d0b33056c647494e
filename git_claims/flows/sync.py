"""Drift between claims and what the tracker shows of them: found in one pass, repaired where that is safe.

Never changes who owns what, and never frees a claim for its age.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from git_claims.flows.board import apply, branches_of, failures, read_pages
from git_claims.flows.listing import lead_of
from git_claims.flows.release import release
from git_claims.protocol import signals, staleness
from git_claims.protocol.claim import ChainId, Claim
from git_claims.protocol.issue import PullState
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.marker import live_markers
from git_claims.protocol.signals import Release
from git_claims.protocol.text import stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from git_claims.flows.board import Board
    from git_claims.flows.change import Answer
    from git_claims.git.store import Store
    from git_claims.protocol.claim import Seen
    from git_claims.protocol.issue import Edit, Issue, PullRequest


class Drift(StrEnum):
    """What was found; the `drift` of JSON answers."""

    NO_SIGNALS = "no-signals"
    NO_CLAIM = "no-claim"
    ZOMBIE = "zombie"
    CLOSED = "closed"
    HELD = "held"
    MERGED = "merged"
    NO_LEAD = "no-lead"
    NO_ITEM = "no-such-item"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Found:
    """One piece of drift. `edit` repairs what is shown, `frees` says that the ref of a merged lock of ours goes too."""

    item: Item
    drift: Drift
    detail: str
    edit: Edit | None = None
    frees: bool = False


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of one piece of drift; `failed` holds what did not land."""

    found: Found
    done: bool
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """Both sides as they were read: every claim, every open issue, and the closed ones that claims are on."""

    claims: Mapping[Item, Seen]
    issues: Mapping[Item, Issue | None]


def view(store: Store, board: Board, only: Sequence[Item] = ()) -> View:
    """Reads both sides; one request for each hundred open issues, one more where a claim is on none of them."""
    claims = store.read_all().claims
    # The open issues are read also where nothing is claimed: signals without a claim are among them.
    issues = read_pages(board, claims)
    if only:
        claims = {item: seen for item, seen in claims.items() if item in only}
        issues = {item: issue for item, issue in issues.items() if item in only}
    return View(claims, issues)


def find(seen: View, board: Board, chain: ChainId | None, operator: str | None, now: datetime) -> list[Found]:
    """Returns all drift, in order of the items."""
    found = [each for item in seen.claims for each in _of_claim(item, seen, board, chain, now)]
    names = frozenset(name.casefold() for name in (operator, chain) if name is not None)
    found += [each for item, issue in seen.issues.items() for each in _orphans(item, issue, seen, board, names)]
    return sorted(found, key=lambda each: (each.item.order, each.drift))


def repair(store: Store, board: Board, found: Sequence[Found], chain: ChainId | None) -> list[Repaired]:
    """Writes what can be written, and gives up merged claims of this chain last."""
    edited = apply(board, [each.edit for each in found if each.edit is not None])
    freed = [each.item for each in found if each.frees]
    answers = {answer.item: answer for answer in (release(store, freed, chain) if freed and chain else [])}
    return [_repaired(each, failures(edited[each.item]) if each.item in edited else (), answers) for each in found]


def idle(seen: View, board: Board, chain: ChainId | None, operator: str | None) -> list[Item]:
    """Returns the claims of this chain, or of this operator, whose item and branch have no open pull request."""
    ours = {
        item: state.claim
        for item, state in seen.claims.items()
        if state.claim is not None and _is_of(state.claim, chain, operator)
    }
    alone = [item for item, claim in ours.items() if _is_alone(claim, seen.issues.get(item))]
    # Lists do not show the pull requests of a branch; those of what is about to be given up have to be known.
    branches = branches_of(seen.claims, alone)
    issues = {**seen.issues, **(board.tracker.read(branches, branches) if branches else {})}
    return sorted((item for item in alone if _is_alone(ours[item], issues.get(item))), key=lambda item: item.order)


def _is_of(claim: Claim, chain: ChainId | None, operator: str | None) -> bool:
    if operator is None:
        return claim.chain == chain
    return claim.operator is not None and claim.operator.casefold() == operator.casefold()


def _is_alone(claim: Claim, issue: Issue | None) -> bool:
    return issue is not None and issue.complete and not staleness.open_pulls(claim, issue)


def _of_claim(item: Item, seen: View, board: Board, chain: ChainId | None, now: datetime) -> Iterator[Found]:
    claim, issue = seen.claims[item].claim, seen.issues.get(item)
    if claim is None:
        yield Found(item, Drift.UNREADABLE, seen.claims[item].trouble or "")
        return
    if issue is None:
        yield Found(item, Drift.NO_ITEM, "the tracker has no such number")
        return
    lead = lead_of(seen.claims[item])
    if lead is not None and lead not in seen.claims:
        yield Found(item, Drift.NO_LEAD, f"its lead {lead.spelling} is not claimed")
    merged = _delivered(issue, signals.opened_at(issue, claim, board.house))
    if merged is not None:
        ours = claim.chain == chain
        detail = (
            f"pull request #{merged.number} is merged; the lock of '{claim.operator or claim.chain}' is still there"
        )
        edit = signals.on_release(
            issue,
            item,
            claim,
            board.house,
            Release.MERGED,
            pull=merged.number,
            base=merged.base,
            note=_whose(claim, board),
        )
        yield Found(item, Drift.MERGED, detail, edit, frees=ours)
    elif not issue.is_open:
        yield Found(item, Drift.CLOSED, f"closed, and still claimed by '{claim.chain}'")
    elif signals.is_held(issue, board.house):
        yield Found(item, Drift.HELD, f"label '{board.house.labels.hold}', and claimed by '{claim.chain}'")
    else:
        yield from _of_open(item, claim, issue, board, now)


def _of_open(item: Item, claim: Claim, issue: Issue, board: Board, now: datetime) -> Iterator[Found]:
    edit = signals.on_take(issue, item, claim, board.house, fresh=False)
    if not edit.is_empty:
        yield Found(item, Drift.NO_SIGNALS, _missing(edit), edit)
    judgement = board.judged(item, claim, issue, now)
    if judgement.verdict is staleness.Verdict.STALE:
        yield Found(item, Drift.ZOMBIE, "; ".join(judgement.reasons))


def _orphans(item: Item, issue: Issue | None, seen: View, board: Board, names: frozenset[str]) -> Iterator[Found]:
    """Finds signals of ours without a claim: `names` are what our markers call us, a login or, without one, a chain.

    Only a marker with a nonce is ours: people lock by hand too.
    """
    if issue is None or item.kind is Kind.PULL:
        return
    if item in seen.claims:
        yield from _lost(item, issue, seen.claims[item].claim, board, names)
        return
    left = signals.left_behind(issue, names, board.house)
    if left is not None:
        edit = signals.on_orphan(issue, item, left, board.house)
        yield Found(item, Drift.NO_CLAIM, f"'{left.operator}' released it, and the claim label is still there", edit)
    for marker in live_markers(board.house.marker, issue.comments):
        if marker.operator.casefold() not in names or not marker.field("nonce"):
            continue
        merged = _delivered(issue, marker.at)
        if merged is None:
            edit = signals.on_orphan(issue, item, marker, board.house)
            yield Found(item, Drift.NO_CLAIM, f"a lock of '{marker.operator}' without a claim", edit)
            continue
        # Its claim was given up and the rest never landed: the whole procedure is owed, not only the label.
        claim = Claim(
            issue=item.spelling,
            chain=ChainId(marker.operator),
            operator=marker.operator,
            claimed_at=stamp(marker.at),
            nonce=marker.field("nonce"),
        )
        edit = signals.on_release(issue, item, claim, board.house, Release.MERGED, pull=merged.number, base=merged.base)
        yield Found(item, Drift.MERGED, f"pull request #{merged.number} is merged; its lock is still there", edit)


def _lost(item: Item, issue: Issue, claim: Claim | None, board: Board, names: frozenset[str]) -> Iterator[Found]:
    """Finds locks of ours on an item that another login holds."""
    holders = {name.casefold() for name in (claim.operator, claim.chain) if name} if claim else names
    for marker in live_markers(board.house.marker, issue.comments):
        operator = marker.operator.casefold()
        if operator in names and operator not in holders and marker.field("nonce"):
            edit = signals.on_lost(issue, item, marker, board.house)
            yield Found(item, Drift.NO_CLAIM, f"a lock of '{marker.operator}', and somebody else holds it", edit)


def _delivered(issue: Issue, since: datetime | None) -> PullRequest | None:
    """Returns the merged pull request that ended the work of a lock from `since`; None while another one is open."""
    merged = signals.delivered(issue, since)
    is_open = any(pull.state is PullState.OPEN for pull in issue.pulls)
    return max(merged, key=lambda pull: pull.number) if merged and not is_open else None


def _whose(claim: Claim, board: Board) -> str:
    return f"Reconciled: this was the lock of {signals.whose(signals.postable(claim, board.house))}."


def _missing(edit: Edit) -> str:
    parts = [f"label {name}" for name in sorted(edit.add_labels)]
    parts += [f"label {name} is too many" for name in sorted(edit.remove_labels)]
    parts += [f"assignee {name}" for name in sorted(edit.add_assignees)]
    parts += ["comment"] if edit.comment else []
    return "missing: " + ", ".join(parts)


def _repaired(found: Found, failed: tuple[str, ...], answers: Mapping[Item, Answer]) -> Repaired:
    answer = answers.get(found.item)
    refused = (f"the claim was not given up: {answer.outcome}",) if answer and not answer.succeeded else ()
    return Repaired(found, found.edit is not None and not failed and not refused, failed + refused)
