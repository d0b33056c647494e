"""What the tracker should show of a claim, and the edits that get it there.

Signals report; they never decide who holds an item. Every edit is additive or subtractive and may be repeated.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from git_claims.protocol.claim import Claim
from git_claims.protocol.comments import (
    Release,
    also_ended,
    as_claim,
    can_stand,
    check_text,
    check_words,
    ending_comment,
    hold_comment,
    hold_words,
    lock_comment,
    operator_of,
    passed_on_comment,
    postable,
    release_comment,
    released_marker,
    sibling_comment,
    sign_of,
    stands,
    step_comment,
    step_marker,
    take_over_comment,
    whose,
)
from git_claims.protocol.house import House, Labels, PathStyle, definitions
from git_claims.protocol.issue import Edit, Issue, PullRequest, PullState
from git_claims.protocol.item import Item
from git_claims.protocol.marker import Marker, live_markers, read_markers
from git_claims.protocol.text import moment

__all__ = [
    "House",
    "Labels",
    "PathStyle",
    "Release",
    "check_text",
    "check_words",
    "definitions",
    "foreign_markers",
    "is_held",
    "left_behind",
    "lock_comment",
    "merged",
    "on_adopt",
    "on_ci_done",
    "on_hold",
    "on_lost",
    "on_orphan",
    "on_reclaim",
    "on_release",
    "on_step",
    "on_take",
    "opened_at",
    "outcome_of",
    "postable",
    "ready_labels",
    "whose",
]

# The comment's time is the server's, the claim's is ours.
_CLOCKS_APART = timedelta(minutes=5)


def left_behind(issue: Issue, names: frozenset[str], house: House) -> Marker | None:
    """Returns the release of ours whose write did not take the claim label off; None where somebody acted since.

    `names` are what markers call us, folded. Whoever changed anything after it may have put the label there by hand.
    """
    if not issue.present(house.labels.claim) or live_markers(house.marker, issue.comments):
        return None
    ended = [marker for comment in issue.comments for marker in read_markers(released_marker(house), comment)]
    last = max(ended, key=lambda marker: marker.at, default=None)
    if last is None or last.operator.casefold() not in names or not last.field("nonce"):
        return None
    return None if any(each.at > last.at for each in issue.activity) else last


def foreign_markers(issue: Issue, operator: str | None, house: House) -> list[Marker]:
    """Returns the live locks of other operators, the earliest first."""
    return [marker for marker in live_markers(house.marker, issue.comments) if not marker.is_of(operator)]


def on_take(
    issue: Issue, item: Item, claim: Claim, house: House, *, fresh: bool, previous: Claim | None = None
) -> Edit:
    """The edit after a claim was won or entered again: only what is missing, and no second comment.

    `fresh`: won just now, so it gets a comment of its own. `previous`: the claim that was taken over, whose
    operator's assignment goes and who is named; where nobody knows it, it is looked for in the lock comments.
    """
    claim, ours = postable(claim, house), postable(claim, house).operator
    # A lock names a login; of a claim that was made without one, only the label can be shown.
    told = ours is None or _is_told(issue, claim, house, fresh=fresh)
    # Where it was told before, whoever is assigned by now is so for a reason of their own.
    known = previous if fresh or not told else None
    previous = known or (None if told else _taken_from(issue, claim, house))
    if not told and claim.nonce:
        # A release that died before the ref was gone has ended the lock of a claim that still stands.
        claim = replace(claim, nonce=_unsaid(issue, claim.nonce))
    return Edit(
        item,
        add_labels=_missing(issue, house.labels.claim),
        # Whoever takes an item up again ends its waiting too.
        remove_labels=issue.present(house.labels.ready, house.labels.blocked, house.labels.ci_monitoring),
        add_assignees=frozenset({ours} if ours and not issue.assigned(ours) else ()),
        remove_assignees=issue.assigned(previous.operator if previous else None) - issue.assigned(ours),
        comment=None if told else _comment_of_take(claim, previous, house),
        comment_nonce=sign_of(claim.nonce) if claim.nonce else None,
    )


def on_release(
    issue: Issue,
    item: Item,
    claim: Claim,
    house: House,
    outcome: Release,
    *,
    pull: int | None = None,
    base: str | None = None,
    reason: str | None = None,
    note: str | None = None,
) -> Edit:
    """The edit before the ref goes: what each outcome takes away, leaves as credit, and says."""
    claim, labels = postable(claim, house), house.labels
    nonce = _nonce(claim, outcome)
    told = stands(issue, sign_of(nonce)) and _lock_of(issue, claim, house) is None
    nonce = nonce if told else _unsaid(issue, nonce)
    base = base if base and can_stand("base", base, house) else None
    comment = release_comment(claim, house, outcome, nonce, pull=pull, base=base, reason=reason, note=note)
    back_to_queue = outcome in {Release.ABANDONED, Release.PLAIN} and issue.is_open
    swapped = {Release.BLOCKED: labels.blocked, Release.CI_MONITORING: labels.ci_monitoring}.get(outcome, "")
    leaves = outcome is Release.ABANDONED or back_to_queue
    # A take-over that died before it was told leaves whom it took from as if they still held it.
    owed = _taken_from(issue, claim, house)
    return Edit(
        item,
        add_labels=_missing(issue, labels.ready if back_to_queue else swapped),
        remove_labels=issue.present(labels.claim),
        remove_assignees=issue.assigned(claim.operator if leaves else None)
        | issue.assigned(owed.operator if owed else None),
        comment=None if told and owed is None else also_ended(comment, owed, house, nonce),
        comment_nonce=sign_of(nonce),
        close=outcome is Release.MERGED and issue.is_open,
        is_owed=outcome in {Release.MERGED, Release.BLOCKED, Release.CI_MONITORING},
    )


def on_ci_done(issue: Issue, item: Item, house: House) -> Edit:
    """The edit after CI ended: the label that said it still runs goes."""
    return Edit(item, remove_labels=issue.present(house.labels.ci_monitoring))


def on_reclaim(issue: Issue, item: Item, claim: Claim, house: House, by: str | None) -> Edit:
    """The edit of a person who frees somebody's claim: back to the queue, and a comment that names whose it was."""
    claim = postable(claim, house)
    freed = f"Lock of {whose(claim)}, freed{f' by {by}' if by else ''}; back to the queue."
    said = f"{freed} Branch and worktree are left alone."
    return _back_to_queue(issue, item, house, operator_of(claim), said, _nonce(claim, "reclaimed"))


def on_orphan(issue: Issue, item: Item, marker: Marker, house: House) -> Edit:
    """The edit for signals whose claim is gone: they go too, and the item is back in the queue."""
    nonce = marker.field("nonce") or ""
    known = nonce if nonce and can_stand("nonce", nonce, house) else marker.comment_id
    said = f"Reconciled: the lock of `{marker.operator}` has no claim any more."
    return _back_to_queue(issue, item, house, marker.operator, said, f"{known}-orphan")


def on_lost(issue: Issue, item: Item, marker: Marker, house: House) -> Edit:
    """The edit for a lock of ours on an item that somebody else holds: what is theirs stays."""
    nonce = _unsaid(issue, f"{marker.field('nonce') or marker.comment_id}-lost")
    said = f"Reconciled: the lock of `{marker.operator}` has no claim any more; the item is claimed by another."
    return Edit(
        item,
        remove_assignees=issue.assigned(marker.operator),
        comment=ending_comment(said, marker.operator, house, nonce),
        comment_nonce=sign_of(nonce),
    )


def on_step(
    issue: Issue, item: Item, claim: Claim, house: House, said: str, *, taken: bool = False, again: bool = False
) -> Edit:
    """The comment of a chained run; label and assignee stay, so that the item is never observably unclaimed.

    `taken`: a step begins, rather than one ends; both may be told of one record. `again`: it was taken before, so
    what was said of it then, under an earlier nonce, is not said twice.
    """
    claim = postable(claim, house)
    nonce = _nonce(claim, "taken" if taken else "step")
    told = stands(issue, sign_of(nonce)) or (again and _is_step_told(issue, claim, house, said))
    comment = step_comment(claim, house, said, nonce)
    return Edit(item, comment=None if told else comment, comment_nonce=sign_of(nonce))


def on_adopt(issue: Issue, item: Item, claim: Claim, previous: Claim, house: House, said: str) -> Edit:
    """The edit after a predecessor's claim was continued: a step of its chain, or, by another login, its lock too."""
    claim, previous = postable(claim, house), postable(previous, house)
    ours, theirs = claim.operator, previous.operator
    if ours is None or theirs is None or ours.casefold() == theirs.casefold():
        return on_step(issue, item, claim, house, said)
    sign = sign_of(claim.nonce or _nonce(claim, "adopted"))
    return Edit(
        item,
        add_labels=_missing(issue, house.labels.claim),
        add_assignees=frozenset() if issue.assigned(ours) else frozenset({ours}),
        remove_assignees=issue.assigned(theirs),
        comment=None if stands(issue, sign) else passed_on_comment(claim, previous, house, said),
        comment_nonce=sign,
    )


def on_hold(
    issue: Issue,
    item: Item,
    house: House,
    *,
    hold: bool,
    who: str | None,
    why: str | None,
    claim: Claim | None = None,
) -> Edit:
    """The hold label on or off, and who says so; nothing where it is so already or no label means it.

    `claim`: a claim of whoever holds, which ends with it, in the same write.
    """
    name = house.labels.hold
    if not name:
        return Edit(item)
    ended = Edit(item) if claim is None else on_release(issue, item, claim, house, Release.PLAIN)
    if bool(issue.present(name)) is hold:
        return ended
    said = hold_words(house, hold=hold, who=who, why=why)
    comment, nonce = hold_comment(issue, house, said, ended.comment)
    told = replace(ended, comment=comment, comment_nonce=sign_of(nonce)) if comment else ended
    return replace(
        told,
        add_labels=told.add_labels | (_missing(issue, name) if hold else frozenset()),
        remove_labels=told.remove_labels | (frozenset() if hold else issue.present(name)),
    )


def ready_labels(issue: Issue, house: House) -> frozenset[str]:
    """Returns the label of the queue, as the repository spells it, if it is on the issue."""
    return frozenset({house.labels.ready} if issue.present(house.labels.ready) else ())


def is_held(issue: Issue, house: House) -> bool:
    """Says whether the hold label is on it."""
    return bool(issue.present(house.labels.hold))


def opened_at(issue: Issue, claim: Claim, house: House) -> datetime | None:
    """Returns since when the work of a claim goes on: a hand-off sets the claim's time anew, not that of its lock."""
    claimed, lock = moment(claim.claimed_at), _lock_of(issue, postable(claim, house), house)
    times = [at for at in (claimed, lock.at if lock else None) if at is not None]
    return min(times, default=None)


def delivered(issue: Issue, since: datetime | None) -> list[PullRequest]:
    """Returns the merged pull requests that a lock from `since` may have to do with; one merged before it has not."""
    merged = [pull for pull in issue.pulls if pull.state is PullState.MERGED]
    return [pull for pull in merged if since is None or pull.updated_at >= since - _CLOCKS_APART]


def outcome_of(issue: Issue, *, succeeded: bool, since: datetime | None = None) -> tuple[Release, PullRequest | None]:
    """Returns how work that ended by itself ended, from its pull requests; an open one keeps it out of the queue."""
    if not succeeded:
        return Release.ABANDONED, None
    opened = [pull for pull in issue.pulls if pull.state is PullState.OPEN]
    for outcome, found in ((Release.CI_MONITORING, opened), (Release.MERGED, delivered(issue, since))):
        if found:
            return outcome, max(found, key=lambda pull: pull.number)
    return Release.PLAIN, None


def merged(edits: Iterable[Edit]) -> list[Edit]:
    """Returns the edits that have something to write."""
    return [edit for edit in edits if not edit.is_empty]


def _comment_of_take(claim: Claim, previous: Claim | None, house: House) -> str:
    if previous is not None:
        return take_over_comment(claim, postable(previous, house), house)
    return lock_comment(claim, house) if claim.lead is None else sibling_comment(claim, house)


def _is_told(issue: Issue, claim: Claim, house: House, *, fresh: bool) -> bool:
    """Says whether a lock comment of this claim stands there. A renewal changes the nonce, not the story."""
    if fresh:
        return claim.nonce is not None and stands(issue, sign_of(claim.nonce))
    return _lock_of(issue, claim, house) is not None or _may_be_hidden(issue, claim)


def _is_step_told(issue: Issue, claim: Claim, house: House, said: str) -> bool:
    told = [comment for comment in issue.comments if comment.body.startswith(f"{said}\n")]
    steps = [step for comment in told for step in read_markers(step_marker(house), comment)]
    return any(step.is_of(operator_of(claim)) and step.field("at") == claim.claimed_at for step in steps)


def _lock_of(issue: Issue, claim: Claim, house: House) -> Marker | None:
    """Finds the live lock of this claim: not of an older one of the same login, but over the steps of a chain."""
    operator, claimed = operator_of(claim), moment(claim.claimed_at)
    own = next((lock for lock in live_markers(house.marker, issue.comments) if lock.is_of(operator)), None)
    if own is None or claimed is None or own.field("at") == claim.claimed_at:
        return own
    if own.field("nonce") is None:
        return own if own.at >= claimed - _CLOCKS_APART else None
    # A hand-off sets the time of the claim anew, and its comment says so; the lock stays the one that it was.
    steps = [step for comment in issue.comments for step in read_markers(step_marker(house), comment)]
    return own if any(step.is_of(operator) and step.field("at") == claim.claimed_at for step in steps) else None


def _may_be_hidden(issue: Issue, claim: Claim) -> bool:
    """Says whether a comment of the claim may be among the older ones that were not read."""
    claimed = moment(claim.claimed_at)
    if issue.complete or not issue.comments or claimed is None:
        return False
    return min(comment.created_at for comment in issue.comments) > claimed


def _taken_from(issue: Issue, claim: Claim, house: House) -> Claim | None:
    """Returns whom a claim was taken from, where the command that took it over died before it could say so."""
    claimed = moment(claim.claimed_at)
    if claim.previous is None or claimed is None or "reason" not in dict(claim.extra):
        return None
    # People lock by hand too, without a nonce; a lock that went with a ref has one.
    foreign = [marker for marker in foreign_markers(issue, claim.operator, house) if marker.field("nonce")]
    earlier = [marker for marker in foreign if marker.at <= claimed]
    return as_claim(earlier[0], claim) if len(earlier) == 1 else None


def _back_to_queue(issue: Issue, item: Item, house: House, operator: str, said: str, nonce: str) -> Edit:
    is_live = any(lock.is_of(operator) for lock in live_markers(house.marker, issue.comments))
    told = stands(issue, sign_of(nonce)) and not is_live
    nonce = nonce if told else _unsaid(issue, nonce)
    return Edit(
        item,
        add_labels=_missing(issue, house.labels.ready) if issue.is_open else frozenset(),
        remove_labels=issue.present(house.labels.claim),
        remove_assignees=issue.assigned(operator),
        comment=None if told else ending_comment(said, operator, house, nonce),
        comment_nonce=sign_of(nonce),
    )


def _nonce(claim: Claim, what: str) -> str:
    return f"{claim.nonce or f'{claim.chain}-{claim.claimed_at}'}-{what}"


def _unsaid(issue: Issue, nonce: str) -> str:
    """Returns the nonce, or, where a comment has it already, one like it that none has."""
    while stands(issue, sign_of(nonce)):
        nonce = f"{nonce}-again"
    return nonce


def _missing(issue: Issue, name: str) -> frozenset[str]:
    return frozenset({name} if name and not issue.present(name) else ())
