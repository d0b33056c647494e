"""A pull request on its way into its base: what a tracker shows of it, and what that means. Pure.

Nothing is green that did not say so: no check yet, a list that was not read to its end, a word nobody knows all wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from git_claims.protocol.issue import Checks, PullState


class CheckState(StrEnum):
    """What one check says."""

    PENDING = "pending"
    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"


class MergeState(StrEnum):
    """What the host makes of a pull request and the rules of its base."""

    CLEAN = "clean"
    UNSTABLE = "unstable"  # would merge, though a check that nobody requires has not passed
    BEHIND = "behind"
    BLOCKED = "blocked"
    CONFLICTING = "conflicting"
    DRAFT = "draft"
    UNKNOWN = "unknown"  # not worked out yet


class Review(StrEnum):
    """What reviewers have decided, where the base asks them."""

    APPROVED = "approved"
    REQUIRED = "required"
    CHANGES_REQUESTED = "changes-requested"


class Method(StrEnum):
    """How the commits of a pull request get into its base."""

    SQUASH = "squash"
    MERGE = "merge"
    REBASE = "rebase"


class Hindrance(StrEnum):
    """Why a pull request is not merged; the `reason` of JSON answers."""

    CLOSED = "closed"
    DRAFT = "draft"
    CONFLICTING = "conflicting"
    BEHIND = "behind"
    REVIEW_REQUIRED = "review-required"
    CHANGES_REQUESTED = "changes-requested"
    CHECKS_REQUIRED = "checks-required"
    PROTECTED = "protected"
    HEAD_MOVED = "head-moved"
    METHOD_FORBIDDEN = "method-forbidden"
    NOT_PERMITTED = "not-permitted"
    UNSETTLED = "unsettled"  # the host is still at work on it; the same request may do a moment later


class Outcome(StrEnum):
    """What became of an attempt to merge. MERGED alone means that it is in the base."""

    MERGED = "merged"
    QUEUED = "queued"
    AUTO_MERGE = "auto-merge"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request of a branch of the same repository. `id` is the tracker's own."""

    number: int
    id: str
    url: str
    title: str
    body: str
    state: PullState
    head: str
    head_oid: str
    base: str
    is_draft: bool
    assignees: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewPull:
    """A pull request to be opened."""

    head: str
    base: str
    title: str
    body: str
    is_draft: bool = False
    assignees: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Opened:
    """The open pull request of a branch; not `is_new` where it was there before. `unassigned`: why somebody is not."""

    pull: Pull
    is_new: bool
    unassigned: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the head commit. `word` is the host's own for its state, `summary` what it said of itself.

    `id` names a run whose output can be asked for, `job` one whose log can be read.
    """

    name: str
    state: CheckState
    word: str
    url: str | None
    summary: str = ""
    is_required: bool = False
    id: str | None = None
    job: int | None = None


@dataclass(frozen=True, slots=True)
class Linked:
    """An issue that another item names. `completed`: closed as completed."""

    repo: str
    number: int
    title: str
    is_open: bool
    completed: bool


@dataclass(frozen=True, slots=True)
class Family:
    """The parent and the children of an issue as the tracker links them; not `complete`: there may be more."""

    parent: Linked | None = None
    children: tuple[Linked, ...] = ()
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Landing:
    """All that decides whether and how a pull request is merged, as one read showed it.

    `has_queue`: the base takes commits through a merge queue only. `auto_merge`: somebody asked for it to be merged
    once it may be. `merge_commit` is the commit in the base, once there is one.
    """

    pull: Pull
    merge_state: MergeState
    review: Review | None
    checks: tuple[Check, ...]
    checks_complete: bool
    methods: frozenset[Method]
    may_merge: bool
    has_queue: bool = False
    is_queued: bool = False
    auto_merge: bool = False
    auto_merge_allowed: bool = False
    merge_commit: str | None = None
    closes: tuple[Linked, ...] = ()

    @property
    def is_merged(self) -> bool:
        """Says whether it is in the base: the one sign that is believed."""
        return self.pull.state is PullState.MERGED


@dataclass(frozen=True, slots=True)
class Merging:
    """The answer to an attempt to merge; `landing` is how it stands now (None: could not be read)."""

    outcome: Outcome
    landing: Landing | None
    hindrance: Hindrance | None = None
    said: str = ""


def verdict_of(landing: Landing) -> Checks:
    """Says what the checks come to: one failure is enough, success is only what was read to its end."""
    states = {check.state for check in landing.checks}
    if CheckState.FAILED in states:
        return Checks.FAILING
    if CheckState.PENDING in states or not landing.checks_complete:
        return Checks.PENDING
    return Checks.PASSING if states else Checks.NONE


def failing(landing: Landing) -> tuple[Check, ...]:
    """Returns the checks that failed, the required ones first."""
    failed = [check for check in landing.checks if check.state is CheckState.FAILED]
    return tuple(sorted(failed, key=lambda check: not check.is_required))


def methods_of(landing: Landing) -> Sequence[Method]:
    """Returns the methods that the repository allows, the one to try first in front: squash, then a merge commit."""
    return [method for method in Method if method in landing.methods]


def hindrance_of(landing: Landing) -> Hindrance | None:
    """Says what keeps the pull request from being merged now; None where nothing seems to, or it is merged."""
    if landing.is_merged:
        return None
    if landing.pull.state is PullState.CLOSED:
        return Hindrance.CLOSED
    if landing.pull.is_draft or landing.merge_state is MergeState.DRAFT:
        return Hindrance.DRAFT
    if landing.merge_state is MergeState.CONFLICTING:
        return Hindrance.CONFLICTING
    if not landing.may_merge:
        return Hindrance.NOT_PERMITTED
    return _of_rules(landing)


def _of_rules(landing: Landing) -> Hindrance | None:
    if landing.merge_state is MergeState.BLOCKED:
        return _of_block(landing)
    if landing.has_queue:
        # A queue brings what waits in it up to date by itself.
        return None
    if not landing.methods:
        return Hindrance.METHOD_FORBIDDEN
    return {MergeState.BEHIND: Hindrance.BEHIND, MergeState.UNKNOWN: Hindrance.UNSETTLED}.get(landing.merge_state)


def _of_block(landing: Landing) -> Hindrance | None:
    if landing.review is Review.CHANGES_REQUESTED:
        return Hindrance.CHANGES_REQUESTED
    if landing.review is Review.REQUIRED:
        return Hindrance.REVIEW_REQUIRED
    if _lacks_checks(landing):
        return Hindrance.CHECKS_REQUIRED
    # The host may call a base with a queue blocked for everybody; the queue itself knows better.
    return None if landing.has_queue else Hindrance.PROTECTED


def _lacks_checks(landing: Landing) -> bool:
    """Says whether a check that is required has not passed; one that has not reported at all is not in the list."""
    required = [check.state for check in landing.checks if check.is_required]
    if verdict_of(landing) is Checks.FAILING and required:
        return not {CheckState.FAILED, CheckState.PENDING}.isdisjoint(required)
    return verdict_of(landing) is not Checks.PASSING
