"""What a tracker shows, as plain state: an issue, comments on it, and what becomes of it by an edit."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from git_claims.protocol.claim import ChainId, Claim
from git_claims.protocol.house import House, Labels, PathStyle
from git_claims.protocol.issue import Checks, Comment, Edit, Issue, PullRequest, PullState
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.marker import live_markers
from git_claims.protocol.signals import Release, lock_comment, on_release, on_step, on_take

CLAIMED = datetime(2026, 11, 30, 13, 6, tzinfo=UTC)
FORTY_TWO, SEVENTEEN = Item(Kind.ISSUE, "42"), Item(Kind.PULL, "17")
HOUSE = House(Labels(), "claude-lock", PathStyle.ABSOLUTE, timedelta(hours=24), bot_trigger="@claude-bot")
OURS = Claim(
    issue="42",
    chain=ChainId("chain-blade-1"),
    claimed_at="2026-11-30T13:06:00Z",
    nonce="9f1c",
    operator="octocat",
    branch="42-fix-auth",
    worktree="/path/to/worktree",
)
PAGE = Issue(
    item=FORTY_TWO,
    id="I_42",
    url="https://github.com/acme/ledger/issues/42",
    title="Fix auth",
    is_open=True,
    completed=False,
    labels=frozenset({"ready", "afk"}),
    assignees=(),
    comments=(),
    pulls=(),
    blockers=(),
    blockers_complete=True,
    activity=(),
    complete=True,
)

_numbers = itertools.count(1)


def after(minutes: float) -> datetime:
    """A moment, counted from when our claim says that it was made."""
    return CLAIMED + timedelta(minutes=minutes)


def said(body: str, minutes: float = 0, author: str | None = "octocat", *, may_write: bool = True) -> Comment:
    return Comment(f"IC_{next(_numbers)}", author, may_write, after(minutes), body)


def lock(operator: str, minutes: float = 0, *, may_write: bool = True, author: str | None = None) -> Comment:
    """A lock written by hand."""
    return said(f"<!-- claude-lock: operator={operator} -->", minutes, author or operator, may_write=may_write)


def unlock(operator: str, minutes: float = 0, *, may_write: bool = True, author: str | None = None) -> Comment:
    return said(f"<!-- claude-lock-released: operator={operator} -->", minutes, author or operator, may_write=may_write)


def page(
    *comments: Comment,
    labels: tuple[str, ...] = ("ready", "afk"),
    assignees: tuple[str, ...] = (),
    pulls: tuple[PullRequest, ...] = (),
    is_open: bool = True,
) -> Issue:
    return replace(PAGE, comments=comments, labels=frozenset(labels), assignees=assignees, pulls=pulls, is_open=is_open)


def pull(number: int, state: PullState, base: str = "main") -> PullRequest:
    return PullRequest(number, state, f"{number}-x", base, CLAIMED, Checks.PASSING)


def applied(issue: Issue, edit: Edit, minutes: float = 0, author: str = "octocat") -> Issue:
    """The issue as it is after an edit that landed whole."""
    told = (said(edit.comment, minutes, author),) if edit.comment is not None else ()
    kept = tuple(login for login in issue.assignees if login not in edit.remove_assignees)
    return replace(
        issue,
        labels=(issue.labels - edit.remove_labels) | edit.add_labels,
        assignees=kept + tuple(sorted(edit.add_assignees - set(kept))),
        comments=issue.comments + told,
        is_open=issue.is_open and not edit.close,
    )


def spelled(edit: Edit) -> str:
    """An edit in a line, such as `+in-progress -ready comment`."""
    parts = [f"+{name}" for name in sorted(edit.add_labels)] + [f"-{name}" for name in sorted(edit.remove_labels)]
    parts += [f"+{name}" for name in sorted(edit.add_assignees)] + [f"-{name}" for name in edit.remove_assignees]
    return " ".join(parts + ["comment"] * (edit.comment is not None) + ["close"] * edit.close)


def live(issue: Issue) -> list[str]:
    """The operators whose locks count, the earliest first."""
    return [marker.operator for marker in live_markers(HOUSE.marker, issue.comments)]


def take(issue: Issue, claim: Claim = OURS, *, fresh: bool = True, previous: Claim | None = None) -> Edit:
    return on_take(issue, FORTY_TWO, claim, HOUSE, fresh=fresh, previous=previous)


def release(issue: Issue, outcome: Release, claim: Claim = OURS) -> Edit:
    reason = "needs a key" if outcome is Release.BLOCKED else None
    return on_release(issue, FORTY_TWO, claim, HOUSE, outcome, pull=5, base="main", reason=reason)


# Our claim as it is told, renewed, handed off; an older one of the same login; and somebody else's, taken over


BARE = replace(HOUSE, labels=Labels.none())
LOCKED = said(lock_comment(OURS, HOUSE))
HELD = page(LOCKED, labels=("in-progress", "afk"), assignees=("octocat",))
RENEWED = replace(OURS, nonce="d00d", renewed_at="2026-11-30T14:00:00Z", previous="0" * 40)
OLDER = said(lock_comment(replace(OURS, nonce="0ld0", claimed_at="2026-11-29T13:06:00Z"), HOUSE), -1440)
HANDED = replace(RENEWED, chain=ChainId("chain-2"), claimed_at="2026-11-30T18:00:00Z", worktree=None)
STEP = said(on_step(HELD, FORTY_TWO, HANDED, HOUSE, "Lock handed off.").comment or "", 300)
THEIRS = Claim(
    issue="42", chain=ChainId("chain-forge-2"), operator="hubot", claimed_at="2026-11-29T08:00:00Z", nonce="77aa"
)
THEIR_LOCK = said(lock_comment(THEIRS, HOUSE), -1440, "hubot")
THEIR_PAGE = page(THEIR_LOCK, labels=("in-progress",), assignees=("hubot", "ada"))
TAKEN = replace(OURS, previous="0" * 40, extra=(("reason", "it was silent"),))
