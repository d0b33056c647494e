"""Why an open issue is not ready: every reason, in one order, as a code and what it names.

The rules of `signals.bars`, which decides a take that somebody asked for, hold here too; what is chosen without being
asked for has to be freer than that. No assignee at all: a person may share the login of the agents. Not blocked, not
waiting for CI. And nothing of it unread, because a lock or a label may stand in the part that is missing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from git_claims.protocol.claim import Claim, Seen
from git_claims.protocol.house import House, Labels
from git_claims.protocol.issue import Blocker, Comment, Issue
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.marker import live_markers
from git_claims.protocol.served import Place, is_one_repository

_NAMED = 10


class Cause(StrEnum):
    """The reason codes, in the order in which reasons are given. Codes are added, never renamed."""

    CLAIMED = "claimed"
    ASSIGNED = "assigned"
    BLOCKED_OPEN = "blocked-open"
    BLOCKED_NOT_PLANNED = "blocked-not-planned"
    BLOCKED_ELSEWHERE = "blocked-elsewhere"
    BLOCKER_UNREADABLE = "blocker-unreadable"
    BLOCKERS_TRUNCATED = "blockers-truncated"
    WAITING_FOR_HUMAN = "waiting-for-human"
    HOLD = "hold"
    BLOCKED_LABEL = "blocked-label"
    CI_MONITORING = "ci-monitoring"
    NO_READY_LABEL = "no-ready-label"
    HALF_TRIAGED = "half-triaged"
    FOREIGN_MARKER = "foreign-marker"
    FOREIGN_LABEL = "foreign-label"
    CYCLE = "dependency-cycle"
    PARTLY_READ = "partly-read"


RANKS = {cause: rank for rank, cause in enumerate(Cause)}

# What a blocker has to do with; the item may be fine itself.
BLOCKED = frozenset(
    {
        Cause.BLOCKED_OPEN,
        Cause.BLOCKED_NOT_PLANNED,
        Cause.BLOCKED_ELSEWHERE,
        Cause.BLOCKER_UNREADABLE,
        Cause.BLOCKERS_TRUNCATED,
        Cause.CYCLE,
    }
)

# What a read of that one item may clear up: it has more room than a list of a hundred.
UNREAD = frozenset({Cause.PARTLY_READ, Cause.BLOCKERS_TRUNCATED})

# Somebody is at it, with or without a claim.
TAKEN = frozenset(
    {Cause.CLAIMED, Cause.ASSIGNED, Cause.FOREIGN_MARKER, Cause.FOREIGN_LABEL, Cause.CI_MONITORING},
)

_SAID = {
    Cause.CLAIMED: "claimed by {}",
    Cause.ASSIGNED: "assigned to {}",
    Cause.BLOCKED_OPEN: "blocked by {}, which is open",
    Cause.BLOCKED_NOT_PLANNED: "blocked by {}, which was closed but not as completed",
    Cause.BLOCKED_ELSEWHERE: "blocked by {}, which is open in another repository",
    Cause.BLOCKER_UNREADABLE: "blocked by an issue that cannot be read",
    Cause.BLOCKERS_TRUNCATED: "has more blockers than the {} that were read",
    Cause.WAITING_FOR_HUMAN: "waiting for a human (label {})",
    Cause.HOLD: "held (label {})",
    Cause.BLOCKED_LABEL: "blocked (label {})",
    Cause.CI_MONITORING: "done, CI still runs (label {})",
    Cause.NO_READY_LABEL: "has no label {}",
    Cause.HALF_TRIAGED: "half-triaged: {}",
    Cause.FOREIGN_MARKER: "locked in a comment by {}",
    Cause.FOREIGN_LABEL: "has the label {} without a claim",
    Cause.CYCLE: "in a dependency cycle with {}",
    Cause.PARTLY_READ: "only partly read",
}


class Turn(StrEnum):
    """Whose turn it is with an open issue: agents may do it, people have to, or it is not in the queue."""

    AGENTS = "agents"
    PEOPLE = "people"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Because:
    """One reason. `detail` is whom or what it names: a chain, logins, an item, a label; empty where nothing."""

    cause: Cause
    detail: str = ""

    @property
    def words(self) -> str:
        """The reason as a sentence says it. The detail comes from outside and is not made safe to show."""
        if self.cause is Cause.CLAIMED and not self.detail:
            return "claimed by somebody whose record cannot be read"
        if self.is_blind:
            return "its blockers cannot be read here"
        return _SAID[self.cause].format(self.detail)

    @property
    def is_blind(self) -> bool:
        """Says whether not one blocker was read, as of a server that does not tell them."""
        return self.cause is Cause.BLOCKERS_TRUNCATED and self.detail == "0"


@dataclass(frozen=True, slots=True)
class Labelled:
    """What the labels of an issue say. `free` speaks against it as it is, `claimed` where there is a claim too."""

    free: tuple[Because, ...]
    claimed: tuple[Because, ...]
    is_flagged: bool
    turn: Turn


def of_labels(there: frozenset[str], labels: Labels) -> Labelled:
    """Reads a set of labels; upper and lower case are one label."""
    folded = {label.casefold() for label in there}
    barred = tuple(_of_barring_labels(folded, labels))
    # Where no label means `afk`, all is for agents but what waits for a human; then nothing is half said.
    is_half = bool(labels.afk) and folded.isdisjoint({labels.afk.casefold(), labels.hitl.casefold()} - {""})
    half = (Because(Cause.HALF_TRIAGED, _neither(labels)),) if is_half else ()
    is_unready = bool(labels.ready) and labels.ready.casefold() not in folded
    unready = (Because(Cause.NO_READY_LABEL, labels.ready),) if is_unready else ()
    return Labelled(
        free=(*barred, *unready, *half),
        claimed=(*barred, *half),
        is_flagged=bool(labels.claim) and labels.claim.casefold() in folded,
        turn=_turn(folded, labels, is_half=is_half, is_unready=is_unready),
    )


def against(
    issue: Issue,
    seen: Seen | None,
    house: House,
    operator: str | None,
    *,
    labelled: Labelled,
    blocked: Sequence[Because],
    ring: Because | None,
) -> tuple[Because, ...]:
    """Returns all that speaks against an open issue, in the order of the codes; nothing means that it is ready.

    What follows from a claim is no reason of its own: its operator's assignment and lock, the claim label there, the
    ready label gone. `blocked` and `ring` are what the other issues say of it.
    """
    claim = seen.claim if seen else None
    reasons = [Because(Cause.CLAIMED, claim.chain if claim else "")] if seen is not None else []
    if issue.assignees and (others := [login for login in issue.assignees if not _is_of(claim, login)]):
        reasons.append(Because(Cause.ASSIGNED, ", ".join(others)))
    reasons += blocked
    if not issue.blockers_complete:
        reasons.append(Because(Cause.BLOCKERS_TRUNCATED, str(len(issue.blockers))))
    reasons += labelled.free if seen is None else labelled.claimed
    if labelled.is_flagged or (issue.comments and _mentions(issue.comments, house.marker)):
        reasons += _of_locks(issue, seen, house, operator, is_flagged=labelled.is_flagged)
    if ring is not None:
        reasons.append(ring)
    if not issue.complete:
        reasons.append(Because(Cause.PARTLY_READ))
    return tuple(reasons)


def of_blocker(blocker: Blocker, slug: str) -> Because:
    """Says how a blocker that is not done bars an issue of `slug`."""
    if is_unreadable(blocker):
        return Because(Cause.BLOCKER_UNREADABLE)
    at_home = is_one_repository(blocker.repo, slug)
    name = f"#{blocker.number}" if at_home else place_of(blocker).spelling
    if not blocker.is_open:
        return Because(Cause.BLOCKED_NOT_PLANNED, name)
    return Because(Cause.BLOCKED_OPEN if at_home else Cause.BLOCKED_ELSEWHERE, name)


def of_cycle(members: Sequence[Place], slug: str) -> Because:
    """Names the cycle that an item of `slug` belongs to; of a large one its first members and how many more."""
    named = [place.seen_from(slug) for place in members[:_NAMED]]
    more = len(members) - len(named)
    return Because(Cause.CYCLE, ", ".join(named) + (f" and {more} more" if more else ""))


def is_unreadable(blocker: Blocker) -> bool:
    """Says whether a blocker is one that the login may not see: known to be there, and nothing else."""
    return not blocker.repo or blocker.number < 1


def place_of(blocker: Blocker) -> Place:
    """The place of a blocker that can be read."""
    return Place(blocker.repo, Item(Kind.ISSUE, str(blocker.number)))


def _of_barring_labels(folded: set[str], labels: Labels) -> Iterator[Because]:
    for cause, name in (
        (Cause.WAITING_FOR_HUMAN, labels.hitl),
        (Cause.HOLD, labels.hold),
        (Cause.BLOCKED_LABEL, labels.blocked),
        (Cause.CI_MONITORING, labels.ci_monitoring),
    ):
        if name and name.casefold() in folded:
            yield Because(cause, name)


def _neither(labels: Labels) -> str:
    return f"neither {labels.afk} nor {labels.hitl}" if labels.hitl else f"not {labels.afk}"


def _turn(folded: set[str], labels: Labels, *, is_half: bool, is_unready: bool) -> Turn:
    if labels.hitl and labels.hitl.casefold() in folded:
        return Turn.PEOPLE
    if is_half:
        # Said to be ready, and not said for whom.
        return Turn.PEOPLE if labels.ready and not is_unready else Turn.NOBODY
    return Turn.AGENTS if labels.afk or not is_unready else Turn.NOBODY


def _of_locks(
    issue: Issue, seen: Seen | None, house: House, operator: str | None, *, is_flagged: bool
) -> Iterator[Because]:
    """Yields the lock of somebody else that `signals.bars` would name, or a claim label of nobody known."""
    live = live_markers(house.marker, issue.comments)
    if live and not live[0].is_of(operator) and not _is_of(seen.claim if seen else None, live[0].operator):
        yield Because(Cause.FOREIGN_MARKER, live[0].operator)
    if is_flagged and seen is None and not live and not _is_assigned(issue, operator):
        yield Because(Cause.FOREIGN_LABEL, house.labels.claim)


def _mentions(comments: Sequence[Comment], marker: str) -> bool:
    """Says whether a comment may hold a marker: a look at the price of a hundredth of reading them."""
    return any(marker in comment.body for comment in comments)


def _is_assigned(issue: Issue, login: str | None) -> bool:
    return login is not None and login.casefold() in {each.casefold() for each in issue.assignees}


def _is_of(claim: Claim | None, login: str) -> bool:
    return claim is not None and claim.operator is not None and claim.operator.casefold() == login.casefold()
