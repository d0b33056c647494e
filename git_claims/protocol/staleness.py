"""Whether the holder of a claim looks gone: from age AND pull requests AND activity, never from age alone."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from git_claims.protocol.claim import Claim
from git_claims.protocol.issue import Issue, PullState
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
    if not evidence.times:
        return Judgement(Verdict.UNKNOWN, ("no time could be read",))
    what, newest = max(evidence.times, key=lambda each: each[1])
    passed = now - newest
    if passed < -_TOLERANCE:
        return Judgement(Verdict.ACTIVE, (f"{what} lies in the future, so a clock is wrong",))
    if passed <= window:
        return Judgement(Verdict.ACTIVE, (f"{what} {_ago(passed)}",))
    if evidence.missing:
        return Judgement(Verdict.UNKNOWN, tuple(f"{each} could not be read" for each in evidence.missing))
    return Judgement(Verdict.STALE, (f"{what} {_ago(passed)} was the last sign of life", "no open pull request"))


def evidence(claim: Claim | None, issue: Issue | None) -> Evidence:
    """Collects what a claim and its item's tracker page say of the holder."""
    if claim is None:
        return Evidence((), (), ("the record",))
    times = [("claimed", moment(claim.claimed_at)), ("renewed", moment(claim.renewed_at))]
    if issue is None:
        known = tuple((what, at) for what, at in times if at is not None)
        return Evidence(known, (), ("the tracker",))
    times.append(("a commit on its branch", issue.newest_commit))
    # Without a known login anybody's activity may be the holder's.
    ours = {claim.operator} if claim.operator else {*(each.author for each in issue.comments)}
    times += [("a comment", each.created_at) for each in issue.comments if each.author in ours]
    times += [("activity", each.at) for each in issue.activity if not claim.operator or each.actor == claim.operator]
    known = tuple((what, at) for what, at in times if at is not None)
    return Evidence(known, open_pulls(claim, issue), () if issue.complete else ("part of the tracker's answer",))


def open_pulls(claim: Claim, issue: Issue) -> tuple[int, ...]:
    """Returns the open pull requests of the item or of the claim's branch."""
    return tuple(sorted(each.number for each in issue.pulls if each.state is PullState.OPEN))


def _ago(passed: timedelta) -> str:
    words = in_words(passed)
    return "just now" if words == "now" else f"{words} ago"
