"""What comes next for a pull request that somebody lands: wait, merge, or stop and say why. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from git_claims.protocol.issue import Checks, PullState
from git_claims.protocol.pull import Hindrance, Landing, failing, hindrance_of, verdict_of


class Move(StrEnum):
    """What comes next."""

    WAIT = "wait"
    MERGE = "merge"
    FINISH = "finish"
    RED = "red"
    STOP = "stop"
    LOST = "lost"


class Waits(StrEnum):
    """What is waited for; the word of a line of progress."""

    FIRST_CHECK = "no check has reported yet"
    CHECKS = "checks are running"
    QUEUE = "it is in the merge queue"
    AUTO_MERGE = "the tracker merges it once it may"
    SETTLING = "the tracker is still working it out"


@dataclass(frozen=True, slots=True)
class Step:
    """The next move; `waits` with WAIT, `hindrance` with STOP."""

    move: Move
    waits: Waits | None = None
    hindrance: Hindrance | None = None


def next_step(landing: Landing, *, without_checks: bool) -> Step:
    """Decides on what one read showed. `without_checks`: the repository has none, so none is waited for."""
    if landing.is_merged:
        return Step(Move.FINISH)
    if landing.pull.state is PullState.CLOSED:
        return Step(Move.STOP, hindrance=Hindrance.CLOSED)
    verdict = verdict_of(landing)
    if verdict is Checks.FAILING:
        return Step(Move.RED)
    if (waits := _waits(landing, verdict, without_checks=without_checks)) is not None:
        return Step(Move.WAIT, waits)
    hindrance = hindrance_of(landing)
    if hindrance is Hindrance.UNSETTLED:
        return Step(Move.WAIT, Waits.SETTLING)
    return Step(Move.MERGE) if hindrance is None else Step(Move.STOP, hindrance=hindrance)


def said_of(hindrance: Hindrance) -> tuple[str, str]:
    """Returns why a pull request is not merged, and what would help."""
    return _SAID[hindrance]


def counted(landing: Landing) -> str:
    """The checks in a line: `3 passed, 1 running, 1 failed`."""
    words = {"passed": "passed", "skipped": "skipped", "pending": "running", "failed": "failed"}
    states = [str(check.state) for check in landing.checks]
    parts = [f"{states.count(state)} {word}" for state, word in words.items() if state in states]
    return ", ".join(parts) or "no checks"


def names_of_failing(landing: Landing) -> str:
    """The failed checks by name."""
    return ", ".join(check.name for check in failing(landing))


def _waits(landing: Landing, verdict: Checks, *, without_checks: bool) -> Waits | None:
    # A draft and a conflict do not pass by waiting for checks.
    if hindrance_of(landing) in {Hindrance.DRAFT, Hindrance.CONFLICTING}:
        return None
    if landing.is_queued:
        return Waits.QUEUE
    if verdict is Checks.PENDING:
        return Waits.CHECKS
    if verdict is Checks.NONE and not without_checks:
        return Waits.FIRST_CHECK
    return Waits.AUTO_MERGE if landing.auto_merge else None


_AGAIN = "merge the base into the branch, 'git claim push', land again"
_SAID = {
    Hindrance.CLOSED: ("it is closed and was not merged", "release the claim with --abandoned, or open it again"),
    Hindrance.DRAFT: ("it is a draft", "say that it is ready, then land it"),
    Hindrance.CONFLICTING: ("it conflicts with its base", _AGAIN),
    Hindrance.BEHIND: ("it is behind its base", _AGAIN),
    Hindrance.REVIEW_REQUIRED: ("a review is required", "ask for one, and land it when it is approved"),
    Hindrance.CHANGES_REQUESTED: ("a reviewer asked for changes", "make them, 'git claim push', land again"),
    Hindrance.CHECKS_REQUIRED: ("a required check has not passed", "look at the checks of the pull request"),
    Hindrance.PROTECTED: ("a rule of its base branch forbids it", "ask whoever owns the repository"),
    Hindrance.HEAD_MOVED: ("its branch moved meanwhile", "land it again"),
    Hindrance.METHOD_FORBIDDEN: ("the repository allows no way to merge it", "ask whoever owns the repository"),
    Hindrance.NOT_PERMITTED: ("this login may not merge here", "ask somebody who may, then 'git claim land' finishes"),
    Hindrance.UNSETTLED: ("the tracker has not worked it out", "land it again"),
}
