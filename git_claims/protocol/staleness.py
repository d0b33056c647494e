"""Whether the holder of a claim looks gone: from age AND pull requests AND activity, never from age alone."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from git_claims.protocol.claim import Claim
from git_claims.protocol.issue import Issue, PullState
from git_claims.protocol.item import Kind
from git_claims.protocol.text import in_words, moment

# Clocks of machines that agree well enough to work together.
_TOLERANCE = timedelta(minutes=1)


class Verdict(StrEnum):
    """UNKNOWN is treated as active: what could not be read never costs anybody a claim."""

    ACTIVE = "active"
    STALE = "stale"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found out about a holder. `times` are (what happened, when); `missing` is what could not be read."""

    times: tuple[tuple[str, datetime], ...]
    open_pulls: tuple[int, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and the reasons that a person is shown with it."""

    verdict: Verdict
    reasons: tuple[str, ...]


def judge(evidence: Evidence, window: timedelta, now: datetime) -> Judgement:
    """Judges a holder at `now`: stale when the newest sign of life is older than `window` and no work is open."""
    if evidence.open_pulls:
        numbers = ", ".join(f"#{number}" for number in evidence.open_pulls)
        return Judgement(Verdict.ACTIVE, (f"open pull request {numbers}",))
    unread = tuple(f"{each} could not be read" for each in evidence.missing)
    if not evidence.times:
        return Judgement(Verdict.UNKNOWN, unread or ("no time is known",))
    what, newest = max(evidence.times, key=lambda each: each[1])
    passed = now - newest
    if passed < -_TOLERANCE:
        return Judgement(Verdict.ACTIVE, (f"{what} lies in the future, so a clock is wrong",))
    if passed <= window:
        return Judgement(Verdict.ACTIVE, (f"{what} {_ago(passed)}",))
    if unread:
        return Judgement(Verdict.UNKNOWN, unread)
    last = f"{what} {_ago(passed)} was the last sign of life"
    return Judgement(Verdict.STALE, (last, "no pull request of it is open"))


def evidence(claim: Claim | None, issue: Issue | None) -> Evidence:
    """Collects what a claim and its item's tracker page say of the holder."""
    if claim is None:
        return Evidence((), (), ("the record",))
    times, missing = _of_record(claim)
    if issue is None:
        return Evidence(times, (), (*missing, "the tracker"))
    if not issue.complete:
        missing = (*missing, "part of the tracker's answer")
    # A pull request that is itself the item is open for as long as it is worked on; that is no sign of life.
    own = int(issue.item.key) if issue.item.kind is Kind.PULL else None
    pulls = tuple(number for number in open_pulls(claim, issue) if number != own)
    return Evidence(times + _of_page(claim, issue), pulls, missing)


def open_pulls(claim: Claim, issue: Issue) -> tuple[int, ...]:
    """Returns the open pull requests of the item or of the claim's branch."""
    return tuple(sorted(each.number for each in issue.pulls if each.state is PullState.OPEN))


def _of_record(claim: Claim) -> tuple[tuple[tuple[str, datetime], ...], tuple[str, ...]]:
    """Returns the times that the record tells, and those that it should tell but that mean nothing."""
    told = [("claimed", claim.claimed_at or "")]
    told += [("renewed", claim.renewed_at)] if claim.renewed_at else []
    read = [(what, moment(text)) for what, text in told]
    times = tuple((what, at) for what, at in read if at is not None)
    return times, tuple(f"when it was {what}" for what, at in read if at is None)


def _of_page(claim: Claim, issue: Issue) -> tuple[tuple[str, datetime], ...]:
    # Without a known login anybody's activity may be the holder's; a push of nobody known may be too.
    def is_holder(login: str | None) -> bool:
        return claim.operator is None or (login or "").casefold() == claim.operator.casefold()

    times = [("a commit on its branch", issue.newest_commit)] if issue.newest_commit else []
    times += [("a comment", each.created_at) for each in issue.comments if is_holder(each.author)]
    times += [("activity", each.at) for each in issue.activity if each.actor is None or is_holder(each.actor)]
    return tuple(times)


def _ago(passed: timedelta) -> str:
    words = in_words(passed)
    return "just now" if words == "now" else f"{words} ago"
