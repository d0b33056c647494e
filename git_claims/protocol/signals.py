"""What the tracker should show of a claim, the edits that get it there, and the comments that tell its story.

Signals report; they never decide who holds an item. Every edit is additive or subtractive and may be repeated.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from git_claims.protocol.claim import Claim
from git_claims.protocol.issue import Edit, Issue, PullRequest, PullState
from git_claims.protocol.item import Item
from git_claims.protocol.marker import Marker, live_markers, write_marker
from git_claims.protocol.text import moment
from git_claims.protocol.transition import Reason

# The comment's time is the server's, the claim's is ours.
_CLOCKS_APART = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Labels:
    """The names of the labels; an empty name switches that label's rule off."""

    claim: str = "in-progress"
    ready: str = "ready"
    afk: str = "afk"
    hitl: str = "hitl"
    hold: str = "hold"
    blocked: str = "blocked"
    ci_monitoring: str = "ci-monitoring"

    @staticmethod
    def none() -> "Labels":
        """No label rule at all."""
        return Labels("", "", "", "", "", "", "")


def definitions(labels: Labels) -> list[tuple[str, str, str]]:
    """Returns (name, colour, description) of each label whose rule is on: the one table of them."""
    table = (
        (labels.claim, "fbca04", "claimed; 'git claim show' says by whom"),
        (labels.ready, "0e8a16", "described well enough to be worked on"),
        (labels.afk, "1d76db", "can be done without a human"),
        (labels.hitl, "d93f0b", "waits for a human"),
        (labels.hold, "b60205", "nobody works on it for now"),
        (labels.blocked, "e99695", "cannot go on; the newest comment says why"),
        (labels.ci_monitoring, "c5def5", "the work is done, CI still runs"),
    )
    return [row for row in table if row[0]]


class PathStyle(StrEnum):
    """How much of a worktree's path a public comment shows."""

    ABSOLUTE = "absolute"
    NAME = "name"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class House:
    """What a repository wants shown, and how."""

    labels: Labels
    marker: str
    path_style: PathStyle
    window: timedelta
    bot_trigger: str = ""


class Release(StrEnum):
    """The outcomes of a release; the asymmetry of what each leaves behind is deliberate."""

    MERGED = "merged"
    ABANDONED = "abandoned"
    BLOCKED = "blocked"
    CI_MONITORING = "ci-monitoring"
    PLAIN = "released"


@dataclass(frozen=True, slots=True)
class Barred:
    """Why an item that no ref claims is not free all the same, and whom or what that names."""

    reason: Reason
    who: str


def bars(issue: Issue, item: Item, operator: str | None, house: House, *, even_hitl: bool) -> Barred | None:
    """Returns why the item must not be taken; None where nothing speaks against it."""
    labels = house.labels
    if issue.item.kind is not item.kind:
        return Barred(Reason.OTHER_KIND, issue.item.name)
    if not issue.is_open:
        return Barred(Reason.CLOSED, issue.url)
    if labels.hold and labels.hold in issue.labels:
        return Barred(Reason.HOLD, labels.hold)
    if labels.hitl and labels.hitl in issue.labels and not even_hitl:
        return Barred(Reason.WAITING_FOR_HUMAN, labels.hitl)
    others = [login for login in issue.assignees if login != operator]
    if others:
        return Barred(Reason.ASSIGNED, ", ".join(others))
    foreign = foreign_markers(issue, operator, house)
    if foreign:
        return Barred(Reason.FOREIGN_MARKER, foreign[0].operator)
    ours = any(marker.operator == operator for marker in live_markers(house.marker, issue.comments))
    if labels.claim and labels.claim in issue.labels and operator not in issue.assignees and not ours:
        return Barred(Reason.FOREIGN_LABEL, labels.claim)
    return None


def foreign_markers(issue: Issue, operator: str | None, house: House) -> list[Marker]:
    """Returns the live locks of other operators, the earliest first."""
    return [marker for marker in live_markers(house.marker, issue.comments) if marker.operator != operator]


def on_take(
    issue: Issue, item: Item, claim: Claim, house: House, *, fresh: bool, previous: Claim | None = None
) -> Edit:
    """The edit after a claim was won or entered again: only what is missing, and no second comment.

    `fresh`: won just now, so it gets a comment of its own. `previous`: the claim that was taken over, whose
    operator's assignment goes and who is named.
    """
    nonce = claim.nonce or ""
    already = any(nonce and nonce in comment.body for comment in issue.comments)
    already = already or (not fresh and _is_told(issue, claim, house))
    ours = claim.operator
    gone = previous.operator if previous is not None and previous.operator not in {None, ours} else None
    comment = lock_comment(claim, house) if previous is None else take_over_comment(claim, previous, house)
    if claim.lead is not None:
        comment = sibling_comment(claim, house)
    return Edit(
        item,
        add_labels=_missing(issue, house.labels.claim),
        remove_labels=_present(issue, house.labels.ready),
        add_assignees=frozenset({ours} if ours and ours not in issue.assignees else ()),
        remove_assignees=frozenset({gone} if gone and gone in issue.assignees else ()),
        comment=None if already else comment,
        comment_nonce=nonce or None,
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
    labels, nonce = house.labels, f"{claim.nonce or claim.chain}-{outcome}"
    already = any(nonce in comment.body for comment in issue.comments)
    comment = release_comment(claim, house, outcome, nonce, pull=pull, base=base, reason=reason, note=note)
    operator = {claim.operator} & set(issue.assignees) if claim.operator else set()
    back_to_queue = outcome in {Release.ABANDONED, Release.PLAIN} and issue.is_open
    swapped = {Release.BLOCKED: labels.blocked, Release.CI_MONITORING: labels.ci_monitoring}.get(outcome, "")
    return Edit(
        item,
        add_labels=_missing(issue, labels.ready if back_to_queue else swapped),
        remove_labels=_present(issue, labels.claim),
        remove_assignees=frozenset(operator) if back_to_queue else frozenset(),
        comment=None if already else comment,
        comment_nonce=nonce,
        close=outcome is Release.MERGED and issue.is_open,
    )


def on_reclaim(issue: Issue, item: Item, claim: Claim, house: House, by: str | None) -> Edit:
    """The edit of a person who frees somebody's claim: back to the queue, and a comment that names whose it was."""
    nonce = f"{claim.nonce or claim.chain}-reclaimed"
    whose = f"`{claim.operator or claim.chain}`, claimed at `{claim.claimed_at}`"
    said = f"Lock of {whose} freed{f' by {by}' if by else ''}; back to the queue. Branch and worktree are left alone."
    return Edit(
        item,
        add_labels=_missing(issue, house.labels.ready) if issue.is_open else frozenset(),
        remove_labels=_present(issue, house.labels.claim),
        remove_assignees=frozenset({claim.operator} & set(issue.assignees) if claim.operator else ()),
        comment=_ended(issue, claim, house, said, nonce),
        comment_nonce=nonce,
    )


def on_step(issue: Issue, item: Item, claim: Claim, house: House, said: str) -> Edit:
    """The comment of a chained run; label and assignee stay, so that the item is never observably unclaimed."""
    nonce = claim.nonce or claim.chain
    already = any(nonce in comment.body for comment in issue.comments)
    return Edit(item, comment=None if already else step_comment(claim, house, said), comment_nonce=nonce)


def on_hold(issue: Issue, item: Item, house: House, *, hold: bool, who: str | None, why: str | None) -> Edit:
    """The hold label on or off, and who says so; nothing where it is so already."""
    held = house.labels.hold in issue.labels
    if held is hold:
        return Edit(item)
    said = f"{'Held' if hold else 'No longer held'}{f' by {who}' if who else ''}{f': {why}' if why else '.'}"
    labels = frozenset({house.labels.hold})
    return Edit(
        item,
        add_labels=labels if hold else frozenset(),
        remove_labels=frozenset() if hold else labels,
        comment=_guarded(house, said),
    )


def on_orphan(issue: Issue, item: Item, marker: Marker, house: House) -> Edit:
    """The edit for signals whose claim is gone: they go too, and the item is back in the queue."""
    nonce = f"{marker.field('nonce')}-orphan"
    already = any(nonce in comment.body for comment in issue.comments)
    ended = write_marker(f"{house.marker}-released", (("operator", marker.operator), ("nonce", nonce)))
    said = f"Reconciled: the lock of `{marker.operator}` has no claim any more.\n\n{ended}"
    return Edit(
        item,
        add_labels=_missing(issue, house.labels.ready) if issue.is_open else frozenset(),
        remove_labels=_present(issue, house.labels.claim),
        remove_assignees=frozenset({marker.operator} & set(issue.assignees)),
        comment=None if already else _guarded(house, said),
        comment_nonce=nonce,
    )


def _ended(issue: Issue, claim: Claim, house: House, said: str, nonce: str) -> str | None:
    """The comment that ends a lock; None where it was posted already."""
    if any(nonce in comment.body for comment in issue.comments):
        return None
    return _guarded(house, f"{said}\n\n{_released_marker(claim, house, nonce)}")


def outcome_of(issue: Issue, *, succeeded: bool) -> tuple[Release, PullRequest | None]:
    """Returns how work that ended by itself ended, from its pull requests; an open one keeps it out of the queue."""
    merged = [pull for pull in issue.pulls if pull.state is PullState.MERGED]
    opened = [pull for pull in issue.pulls if pull.state is PullState.OPEN]
    if not succeeded:
        return Release.ABANDONED, None
    if opened:
        return Release.CI_MONITORING, opened[0]
    return (Release.MERGED, merged[-1]) if merged else (Release.PLAIN, None)


def lock_comment(claim: Claim, house: House) -> str:
    """The comment of a claim, in the shape that scripts already grep for."""
    path = _path(claim, house.path_style)
    rows = (
        ("operator", claim.operator),
        ("worktree", path),
        ("branch", claim.branch),
        ("claimed at", claim.claimed_at),
    )
    listed = "\n".join(f"- {name}: `{value}`" for name, value in rows if value)
    return _guarded(
        house,
        "**Agent session lock** — claimed by an automated session; do not assign to another agent.\n\n"
        f"{listed}\n\n{_lock_marker(claim, house)}\n\n"
        f"It counts as stale after {_hours(house.window)} without a sign of life and without an open pull request. "
        f"To take it over politely, ask here first; `git claim show {claim.issue}` names the holder.",
    )


def sibling_comment(claim: Claim, house: House) -> str:
    """The short comment on an issue that is fixed together with its lead."""
    return _guarded(house, f"Claimed together with #{claim.lead}, in one pull request.\n\n{_lock_marker(claim, house)}")


def take_over_comment(claim: Claim, previous: Claim, house: House) -> str:
    """The comment of a take-over: whose lock it was, since when, and why."""
    why = dict(claim.extra).get("reason", "its holder showed no sign of life")
    return _guarded(
        house,
        f"Taking over the lock of `{previous.operator or previous.chain}`, claimed at `{previous.claimed_at}`: "
        f"{why}.\n\n{_released_marker(previous, house, claim.nonce or '')}\n{_lock_marker(claim, house)}",
    )


def release_comment(
    claim: Claim,
    house: House,
    outcome: Release,
    nonce: str,
    *,
    pull: int | None,
    base: str | None,
    reason: str | None,
    note: str | None,
) -> str:
    """The comment by which a lock ends, and how."""
    said = {
        Release.MERGED: f"Resolved by PR #{pull} (merged into `{base}`).",
        Release.ABANDONED: f"Lock released, work abandoned{f' (PR #{pull})' if pull else ''}.",
        Release.BLOCKED: f"Lock released, blocked: {reason}",
        Release.CI_MONITORING: "Work is done; waiting for CI.",
        Release.PLAIN: "Lock released.",
    }[outcome]
    notes = f"\n\n{note}" if note else ""
    return _guarded(house, f"{said}{notes}\n\n{_released_marker(claim, house, nonce)}")


def step_comment(claim: Claim, house: House, said: str) -> str:
    """A comment of a chained run: what was done, who goes on. The lock itself stays as it is."""
    return _guarded(house, f"{said}\n\n<!-- {house.marker}-step: nonce={claim.nonce} -->")


def check_text(text: str, house: House) -> None:
    """Raises ValueError for text that must never be posted: a bot's trigger, or a placeholder nobody filled in."""
    if house.bot_trigger and house.bot_trigger.lower() in text.lower():
        raise ValueError(f"the text contains '{house.bot_trigger}', which would start a bot")


def _is_told(issue: Issue, claim: Claim, house: House) -> bool:
    """Says whether a lock comment of this claim stands there. A renewal changes the nonce, not the story."""
    claimed = moment(claim.claimed_at)
    operator = claim.operator or claim.chain
    return any(
        marker.operator == operator and (claimed is None or marker.at >= claimed - _CLOCKS_APART)
        for marker in live_markers(house.marker, issue.comments)
    )


def _lock_marker(claim: Claim, house: House) -> str:
    return write_marker(
        house.marker,
        (
            ("operator", claim.operator or claim.chain),
            ("bundled_with", f"#{claim.lead}" if claim.lead else None),
            ("worktree", _path(claim, house.path_style)),
            ("branch", claim.branch),
            ("at", claim.claimed_at),
            ("nonce", claim.nonce),
        ),
    )


def _released_marker(claim: Claim, house: House, nonce: str) -> str:
    return write_marker(
        f"{house.marker}-released", (("operator", claim.operator or claim.chain), ("nonce", nonce or None))
    )


def _guarded(house: House, text: str) -> str:
    check_text(text, house)
    return text


def _path(claim: Claim, style: PathStyle) -> str | None:
    if claim.worktree is None or style is PathStyle.NONE:
        return None
    return claim.worktree if style is PathStyle.ABSOLUTE else claim.worktree.rstrip("/").rpartition("/")[2]


def _hours(window: timedelta) -> str:
    hours = window.total_seconds() / 3600
    return f"{hours:g} h" if hours >= 1 else f"{window.total_seconds() / 60:g} min"


def _missing(issue: Issue, *names: str) -> frozenset[str]:
    return frozenset(name for name in names if name and name not in issue.labels)


def _present(issue: Issue, *names: str) -> frozenset[str]:
    return frozenset(name for name in names if name and name in issue.labels)


def merged(edits: Iterable[Edit]) -> list[Edit]:
    """Returns the edits that have something to write."""
    return [edit for edit in edits if not edit.is_empty]
