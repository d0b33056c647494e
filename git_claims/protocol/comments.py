"""The comments that tell the story of a claim, for people and, by the marker in them, for scripts.

What the holder says of its own claim is refused where it cannot stand in a comment. What somebody else's record
says is left out instead (`postable`): whoever may push writes records, and none of them may stop a sync or a reclaim.
"""

import re
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum

from git_claims.protocol.claim import ChainId, Claim
from git_claims.protocol.house import House, PathStyle
from git_claims.protocol.issue import Issue
from git_claims.protocol.item import is_item
from git_claims.protocol.marker import Marker, check_field, placeholder_in, write_marker


class Release(StrEnum):
    """The outcomes of a release; the asymmetry of what each leaves behind is deliberate."""

    MERGED = "merged"
    ABANDONED = "abandoned"
    BLOCKED = "blocked"
    CI_MONITORING = "ci-monitoring"
    PLAIN = "released"


def lock_comment(claim: Claim, house: House) -> str:
    """The comment of a claim, in the shape that scripts already grep for."""
    rows = (
        ("operator", claim.operator),
        ("worktree", _path(claim, house.path_style)),
        ("branch", claim.branch),
        ("claimed at", claim.claimed_at),
    )
    listed = "\n".join(f"- {name}: {_code(value)}" for name, value in rows if value)
    return _guarded(
        house,
        "**Agent session lock** — claimed by an automated session; do not assign to another agent.\n\n"
        f"{listed}\n\n{_lock_marker(claim, house)}\n\n"
        f"It counts as stale after {_window(claim, house)} without a sign of life and without an open pull request. "
        f"To take it over politely, ask here first; `git claim show {claim.issue}` names the holder.",
    )


def sibling_comment(claim: Claim, house: House) -> str:
    """The short comment on an issue that is fixed together with its lead."""
    return _guarded(house, f"Claimed together with #{claim.lead}, in one pull request.\n\n{_lock_marker(claim, house)}")


def take_over_comment(claim: Claim, previous: Claim, house: House) -> str:
    """The comment of a take-over: whose lock it was, since when, and why."""
    why = dict(claim.extra).get("reason")
    check_words(why or "", house)
    return _guarded(
        house,
        f"Taking over the lock of {whose(previous)}{f': {why}' if why else ''}.\n\n"
        f"{_released_marker(operator_of(previous), house, claim.nonce)}\n{_lock_marker(claim, house)}",
    )


def passed_on_comment(claim: Claim, previous: Claim, house: House, said: str) -> str:
    """The comment of a claim that another login continues: its lock begins where the predecessor's ends."""
    check_words(said, house)
    ended, begun = _released_marker(operator_of(previous), house, claim.nonce), _lock_marker(claim, house)
    return _guarded(house, f"{said} It was the lock of {whose(previous)}.\n\n{ended}\n{begun}")


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
    by = f" by PR #{pull}{f' (merged into {_code(base)})' if base else ''}" if pull else ""
    said = {
        Release.MERGED: f"Resolved{by}.",
        Release.ABANDONED: f"Lock released, work abandoned{f' (PR #{pull})' if pull else ''}.",
        Release.BLOCKED: f"Lock released, blocked{f': {reason}' if reason else '.'}",
        Release.CI_MONITORING: "Work is done; waiting for CI.",
        Release.PLAIN: "Lock released.",
    }[outcome]
    for words in (reason, note):
        check_words(words or "", house)
    return ending_comment(f"{said}\n\n{note}" if note else said, operator_of(claim), house, nonce)


def also_ended(comment: str, owed: Claim | None, house: House, nonce: str) -> str:
    """A comment that ends, before its own, the lock of whom a claim was taken from where nobody said so."""
    if owed is None:
        return comment
    ended = _released_marker(operator_of(owed), house, f"{nonce}-taken")
    said, own_marker, rest = comment.rpartition("<!-- ")
    return _guarded(house, f"{said}It was taken from {whose(owed)}.\n\n{ended}\n{own_marker}{rest}")


def ending_comment(said: str, operator: str, house: House, nonce: str) -> str:
    """A comment after which the operator's lock counts no more."""
    return _guarded(house, f"{said}\n\n{_released_marker(operator, house, nonce)}")


def step_comment(claim: Claim, house: House, said: str, nonce: str) -> str:
    """A comment of a chained run: what was done, who goes on. The lock itself stays as it is."""
    check_words(said, house)
    fields = (("operator", operator_of(claim)), ("at", claim.claimed_at), ("nonce", nonce))
    return _guarded(house, f"{said}\n\n{write_marker(step_marker(house), fields)}")


def hold_comment(issue: Issue, house: House, said: str, ended: str | None = None) -> tuple[str | None, str]:
    """The comment of a hold or of its end, and its nonce: numbered, since one item may be held again and again.

    `ended`: what is said of a lock that ends with it. None where the newest such comment says just that: then only
    the label is missing.
    """
    name = f"{house.marker}-hold"
    told = [comment.body for comment in issue.comments if comment.may_write and f"<!-- {name}: " in comment.body]
    nonce = f"hold-{len(told) + 1}"
    if told and told[-1].startswith(f"{said}\n"):
        return None, nonce
    marker = write_marker(name, (("nonce", nonce),))
    return _guarded(house, "\n\n".join(part for part in (said, ended, marker) if part)), nonce


def hold_words(house: House, *, hold: bool, who: str | None, why: str | None) -> str:
    """What is said of a hold or of its end: who, and why."""
    check_words(why or "", house)
    return f"{'Held' if hold else 'No longer held'}{f' by {who}' if who else ''}{f': {why}' if why else '.'}"


def check_text(text: str, house: House) -> None:
    """Raises ValueError for text that must never be posted: a bot's trigger, or a placeholder nobody filled in."""
    if house.bot_trigger and house.bot_trigger.casefold() in text.casefold():
        raise ValueError(f"the text contains '{house.bot_trigger}', which would start a bot")
    if (found := placeholder_in(text)) is not None:
        raise ValueError(f"the text still contains the placeholder '{found}'")


def check_words(text: str, house: House) -> None:
    """Raises ValueError for somebody's own words that must not be posted; a marker in them would be one more lock."""
    check_text(text, house)
    if re.search(rf"<!--\s*{re.escape(house.marker)}", text):
        raise ValueError(f"the text contains a '{house.marker}' marker, which would count as one")


def postable(claim: Claim, house: House) -> Claim:
    """Returns a record without what could not be posted; a claim that was checked before its push stays as it is."""

    def kept(key: str, value: str | None) -> str | None:
        return value if value and can_stand(key, value, house) else None

    return replace(
        claim,
        chain=ChainId(kept("chain", claim.chain) or "unknown"),
        claimed_at=kept("at", claim.claimed_at),
        nonce=kept("nonce", claim.nonce),
        operator=kept("operator", claim.operator),
        branch=kept("branch", claim.branch),
        worktree=kept("worktree", claim.worktree),
        lead=claim.lead if claim.lead and is_item(claim.lead) else None,
        extra=tuple((key, value) for key, value in claim.extra if key != "reason" or _can_be_said(value, house)),
    )


def can_stand(key: str, value: str, house: House) -> bool:
    """Says whether a value may stand in a marker and be posted."""
    try:
        check_field(key, value)
        check_text(value, house)
    except ValueError:
        return False
    return True


def stands(issue: Issue, sign: str) -> bool:
    """Says whether a comment with that sign is there, whoever wrote it."""
    return any(sign in comment.body for comment in issue.comments)


def sign_of(nonce: str) -> str:
    """The end of a comment's marker, by which it is found again. Whole: one nonce may begin with another."""
    return f"nonce={nonce} -->"


def operator_of(claim: Claim) -> str:
    """Whom the markers name: the login, or the chain where nobody is logged in."""
    return claim.operator or claim.chain


def whose(claim: Claim) -> str:
    """Names a holder in a sentence."""
    return _code(operator_of(claim)) + (f", claimed at {_code(claim.claimed_at)}" if claim.claimed_at else "")


def step_marker(house: House) -> str:
    """The name of the marker that a chained run leaves."""
    return f"{house.marker}-step"


def released_marker(house: House) -> str:
    """The name of the marker that ends a lock."""
    return f"{house.marker}-released"


def as_claim(marker: Marker, claim: Claim) -> Claim:
    """What a lock comment says of the holder before `claim`, as a record."""
    return Claim(
        issue=claim.issue, chain=ChainId(marker.operator), operator=marker.operator, claimed_at=marker.field("at")
    )


def _lock_marker(claim: Claim, house: House) -> str:
    return write_marker(
        house.marker,
        (
            ("operator", operator_of(claim)),
            ("bundled_with", f"#{claim.lead}" if claim.lead else None),
            ("worktree", _path(claim, house.path_style)),
            ("branch", claim.branch),
            ("at", claim.claimed_at),
            ("nonce", claim.nonce),
        ),
    )


def _released_marker(operator: str, house: House, nonce: str | None) -> str:
    return write_marker(released_marker(house), (("operator", operator), ("nonce", nonce)))


def _guarded(house: House, text: str) -> str:
    check_text(text, house)
    return text


def _can_be_said(text: str, house: House) -> bool:
    try:
        check_words(text, house)
    except ValueError:
        return False
    return True


def _code(text: str) -> str:
    # A backtick would end the code, and what follows could call people.
    return f"`{text.replace('`', '')}`"


def _path(claim: Claim, style: PathStyle) -> str | None:
    if claim.worktree is None or style is PathStyle.NONE:
        return None
    return claim.worktree if style is PathStyle.ABSOLUTE else claim.worktree.rstrip("/").rpartition("/")[2] or None


def _window(claim: Claim, house: House) -> str:
    return _hours(house.pull_window if claim.issue.lower().startswith("pr-") else house.window)


def _hours(window: timedelta) -> str:
    """Says a window in the largest unit that it fills: `24 h`, `1.5 h`, `30 min`, `4 s`."""
    seconds = window.total_seconds()
    size, unit = next(each for each in ((3600, "h"), (60, "min"), (0, "s")) if seconds >= each[0])
    return f"{seconds / (size or 1):g} {unit}"
