"""What comes next for a pull request that somebody lands: wait, merge, or stop and say why. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from git_claims.protocol.issue import Checks, PullState
from git_claims.protocol.pull import Hindrance, Landing, Merging, Outcome, failing, hindrance_of, verdict_of


class Move(StrEnum):
    """What comes next."""

    WAIT = "wait"
    MERGE = "merge"
    FINISH = "finish"
    RED = "red"
    STOP = "stop"
    LOST = "lost"


class Waits(StrEnum):
    """What is waited for; the `waits` of JSON answers."""

    FIRST_CHECK = "first-check"
    CHECKS = "checks"
    REQUIRED_CHECK = "required-check"
    QUEUE = "queue"
    AUTO_MERGE = "auto-merge"
    SETTLING = "settling"


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
    verdict, hindrance = verdict_of(landing), hindrance_of(landing)
    if verdict is Checks.FAILING:
        return Step(Move.RED)
    if (waits := _waits(landing, verdict, hindrance, without_checks=without_checks)) is not None:
        return Step(Move.WAIT, waits)
    # A rule that nothing shows may be one of before the last check ended, or a check that has not reported at all:
    # whoever asks to merge this very head is told.
    if hindrance is None or hindrance is Hindrance.PROTECTED:
        return Step(Move.MERGE)
    return Step(Move.STOP, hindrance=hindrance)


def step_after(merging: Merging, *, may_repeat: bool, without_checks: bool) -> Step:
    """Decides on the answer to an attempt to merge. `may_repeat`: a head that moved is no reason to stop yet."""
    if merging.landing is not None and merging.landing.is_merged:
        return Step(Move.FINISH)
    if merging.outcome is not Outcome.REFUSED:
        waits = {Outcome.QUEUED: Waits.QUEUE, Outcome.AUTO_MERGE: Waits.AUTO_MERGE}
        return Step(Move.WAIT, waits.get(merging.outcome, Waits.SETTLING))
    if merging.hindrance in {Hindrance.HEAD_MOVED, Hindrance.UNSETTLED} and may_repeat:
        return Step(Move.WAIT, Waits.SETTLING)
    if merging.hindrance is Hindrance.CHECKS_REQUIRED and not without_checks:
        return Step(Move.WAIT, Waits.REQUIRED_CHECK)
    return Step(Move.STOP, hindrance=merging.hindrance or Hindrance.PROTECTED)


def progress_of(landing: Landing, step: Step, said: str = "") -> str | None:
    """What is going on, in a line; None where the answer follows at once. `said`: the tracker's words to a merge."""
    if step.move is Move.MERGE:
        return f"merging; {counted(landing)}"
    return f"{said_of_waiting(step.waits, said)}; {counted(landing)}" if step.waits is not None else None


def said_of_waiting(waits: Waits | None, said: str = "") -> str:
    """Returns what is waited for in words, with the tracker's own where they say why a merge has not come about."""
    waited = _WAITED[waits or Waits.SETTLING]
    return f"{waited} ({said})" if said and waits in {Waits.SETTLING, Waits.REQUIRED_CHECK} else waited


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


def _waits(landing: Landing, verdict: Checks, hindrance: Hindrance | None, *, without_checks: bool) -> Waits | None:
    # A draft and a conflict do not pass by waiting.
    if hindrance in {Hindrance.DRAFT, Hindrance.CONFLICTING}:
        return None
    if landing.is_queued:
        return Waits.QUEUE
    if verdict is Checks.PENDING:
        return Waits.CHECKS
    if verdict is Checks.NONE and not without_checks:
        return Waits.FIRST_CHECK
    # Nor does a branch get up to date by itself.
    if landing.auto_merge and hindrance is not Hindrance.BEHIND:
        return Waits.AUTO_MERGE
    return Waits.SETTLING if hindrance is Hindrance.UNSETTLED else None


_WAITED = {
    Waits.FIRST_CHECK: "no check has reported yet",
    Waits.CHECKS: "checks are running",
    Waits.REQUIRED_CHECK: "a required check has not passed yet",
    Waits.QUEUE: "it is in the merge queue",
    Waits.AUTO_MERGE: "the tracker merges it once it may",
    Waits.SETTLING: "the tracker is still working it out",
}
_AGAIN = "merge the base into the branch, then 'git claim pr' and 'git claim land' again"
_SAID = {
    Hindrance.CLOSED: ("it is closed and was not merged", "release the claim with --abandoned, or open it again"),
    Hindrance.DRAFT: ("it is a draft", "say that it is ready, then land it"),
    Hindrance.CONFLICTING: ("it conflicts with its base", _AGAIN),
    Hindrance.BEHIND: ("it is behind its base", _AGAIN),
    Hindrance.REVIEW_REQUIRED: ("a review is required", "ask for one, and land it when it is approved"),
    Hindrance.CHANGES_REQUESTED: (
        "a reviewer asked for changes",
        "make them, then 'git claim pr' and 'git claim land' again",
    ),
    Hindrance.CHECKS_REQUIRED: ("a required check has not passed", "look at the checks of the pull request"),
    Hindrance.PROTECTED: ("a rule of its base branch forbids it", "ask whoever owns the repository"),
    Hindrance.HEAD_MOVED: ("its branch moved meanwhile", "land it again"),
    Hindrance.METHOD_FORBIDDEN: ("the repository allows no way to merge it", "ask whoever owns the repository"),
    Hindrance.NOT_PERMITTED: ("this login may not merge here", "ask somebody who may, then 'git claim land' finishes"),
    Hindrance.UNSETTLED: ("the tracker has not worked it out", "land it again"),
}
