"""What was seen, who asks and when -> one swap of one claim ref, or why not. The table of the protocol lives here.

A decision is made on what was last seen; the server's ref decides whether that was still true.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from git_claims.protocol.claim import ChainId, Claim, Oid, Seen
from git_claims.protocol.item import Item


class Outcome(StrEnum):
    """What became of one item; the `outcome` of JSON answers."""

    CLAIMED = "claimed"
    ALREADY_YOURS = "already-yours"
    HELD = "held"
    NOT_TAKEN = "not-taken"
    NOT_FREE = "not-free"
    NOT_RENEWED = "not-renewed"
    TAKEN_OVER = "taken-over"
    RENEWED = "renewed"
    HANDED_OFF = "handed-off"
    ADOPTED = "adopted"
    RELEASED = "released"
    RECLAIMED = "reclaimed"
    GONE = "gone"
    NOT_YOURS = "not-yours"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """Why; the `reason` of JSON answers. Codes are added, never renamed."""

    FREE = "free"
    HOLDER = "holder"
    HELD = "held"
    UNREADABLE = "unreadable"
    OTHER_BRANCH = "other-branch"
    NOT_CLAIMED = "not-claimed"
    NOT_PREDECESSOR = "not-predecessor"
    ALL_OR_NOTHING = "all-or-nothing"
    GAVE_UP_WAITING = "gave-up-waiting"
    CHANGED_MEANWHILE = "changed-meanwhile"
    FORCED = "forced"
    PERSON = "person"
    CLOSED = "closed"
    HOLD = "hold"
    WAITING_FOR_HUMAN = "waiting-for-human"
    ASSIGNED = "assigned"
    FOREIGN_MARKER = "foreign-marker"
    FOREIGN_LABEL = "foreign-label"
    OTHER_KIND = "other-kind"
    NO_SUCH_ITEM = "no-such-item"
    SIGNALS_FAILED = "signals-failed"
    HOST_REFUSED = "host-refused"
    NO_ATOMIC = "no-atomic"
    CANNOT_TELL = "cannot-tell"


SUCCEEDED = frozenset(
    {
        Outcome.CLAIMED,
        Outcome.ALREADY_YOURS,
        Outcome.TAKEN_OVER,
        Outcome.RENEWED,
        Outcome.HANDED_OFF,
        Outcome.ADOPTED,
        Outcome.RELEASED,
        Outcome.RECLAIMED,
        Outcome.GONE,
    }
)


# After one of these the chain that asked holds the item.
HOLDING = frozenset({Outcome.CLAIMED, Outcome.ALREADY_YOURS, Outcome.TAKEN_OVER, Outcome.RENEWED, Outcome.ADOPTED})


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, from where and when. One nonce a command: with it no two commands ever push the same object."""

    chain: ChainId
    nonce: str
    now: str
    repo: str | None = None
    host: str | None = None
    operator: str | None = None
    branch: str | None = None
    worktree: str | None = None
    phase: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Swap:
    """One compare-and-swap: the ref goes from `expected` (None: must not exist) to `new` (None: is deleted)."""

    item: Item
    expected: Seen | None
    new: Claim | None
    outcome: Outcome
    reason: Reason

    @property
    def expected_oid(self) -> Oid | None:
        """The lease of the push."""
        return self.expected.oid if self.expected else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer that needs no push."""

    item: Item
    outcome: Outcome
    reason: Reason
    seen: Seen | None


Decision = Swap | Verdict


def take(item: Item, seen: Seen | None, asker: Asker, lead: Item | None = None) -> Decision:
    """Claims a free item; the holder's own is left alone unless branch, phase or lead would change."""
    if seen is None:
        return Swap(item, None, fresh(item, asker, lead), Outcome.CLAIMED, Reason.FREE)
    if seen.claim is None or seen.claim.chain != asker.chain:
        return _held(item, seen)
    wanted = _with_wishes(seen.claim, asker, lead)
    if wanted == seen.claim:
        return Verdict(item, Outcome.ALREADY_YOURS, Reason.HOLDER, seen)
    return Swap(item, seen, _rewritten(wanted, seen, asker), Outcome.RENEWED, Reason.HOLDER)


def take_over(item: Item, seen: Seen | None, asker: Asker, shown: Oid | None) -> Decision:
    """Replaces a live claim, and only the one with the id that was shown to whoever decided this."""
    if seen is None or seen.is_held_by(asker.chain):
        return take(item, seen, asker)
    if seen.oid != shown:
        return Verdict(item, Outcome.HELD, Reason.CHANGED_MEANWHILE, seen)
    # Why is kept in the record: it is what the chain that lost the item will look for.
    extra = (("reason", asker.reason),) if asker.reason else ()
    claim = replace(fresh(item, asker, None), previous=seen.oid, extra=extra)
    return Swap(item, seen, claim, Outcome.TAKEN_OVER, Reason.FORCED)


def renew(item: Item, seen: Seen | None, asker: Asker) -> Decision:
    """Says again that the holder is at work; branch and phase change where the asker names them."""
    if (refusal := _unless_holder(item, seen, asker.chain)) is not None:
        return refusal
    seen, claim = _readable(seen)
    wanted = _with_wishes(claim, asker, None)
    return Swap(item, seen, _rewritten(wanted, seen, asker), Outcome.RENEWED, Reason.HOLDER)


def hand_off(item: Item, seen: Seen | None, asker: Asker, to: ChainId) -> Decision:
    """Makes `to` the holder at once. Asked again after it went through, it says so."""
    if seen is not None and seen.is_held_by(to):
        return Verdict(item, Outcome.HANDED_OFF, Reason.HOLDER, seen)
    if (refusal := _unless_holder(item, seen, asker.chain)) is not None:
        return refusal
    seen, claim = _readable(seen)
    # The directory is the old holder's; where the new one works is not known yet.
    passed = replace(_with_wishes(claim, asker, None), chain=to, claimed_at=asker.now, worktree=None)
    return Swap(item, seen, _rewritten(passed, seen, asker), Outcome.HANDED_OFF, Reason.HOLDER)


def adopt(item: Item, seen: Seen | None, asker: Asker, predecessor: ChainId) -> Decision:
    """Continues a predecessor's claim, branch and phase kept. Naming its chain exactly is the proof."""
    if seen is None:
        return Verdict(item, Outcome.NOT_YOURS, Reason.NOT_CLAIMED, None)
    if seen.claim is None:
        return Verdict(item, Outcome.NOT_YOURS, Reason.UNREADABLE, seen)
    if seen.is_held_by(asker.chain):
        return Verdict(item, Outcome.ALREADY_YOURS, Reason.HOLDER, seen)
    if not seen.is_held_by(predecessor):
        return Verdict(item, Outcome.NOT_YOURS, Reason.NOT_PREDECESSOR, seen)
    adopted = replace(
        _with_wishes(seen.claim, asker, None),
        chain=asker.chain,
        host=asker.host,
        claimed_at=asker.now,
        operator=asker.operator or seen.claim.operator,
        worktree=asker.worktree,
        extra=_told_why(seen.claim, asker, predecessor),
    )
    return Swap(item, seen, _rewritten(adopted, seen, asker), Outcome.ADOPTED, Reason.HOLDER)


def release(item: Item, seen: Seen | None, chain: ChainId) -> Decision:
    """Frees an item that `chain` holds; one that nobody holds is already so."""
    if seen is None:
        return Verdict(item, Outcome.GONE, Reason.NOT_CLAIMED, None)
    if (refusal := _unless_holder(item, seen, chain)) is not None:
        return refusal
    return Swap(item, seen, None, Outcome.RELEASED, Reason.HOLDER)


def reclaim(item: Item, seen: Seen | None, shown: Oid | None) -> Decision:
    """Frees whatever a person was shown and confirmed; anything that came since is left."""
    if seen is None:
        return Verdict(item, Outcome.GONE, Reason.NOT_CLAIMED, None)
    if seen.oid != shown:
        return Verdict(item, Outcome.HELD, Reason.CHANGED_MEANWHILE, seen)
    return Swap(item, seen, None, Outcome.RECLAIMED, Reason.PERSON)


def fresh(item: Item, asker: Asker, lead: Item | None) -> Claim:
    """Returns the record of a new claim."""
    return Claim(
        issue=item.spelling,
        repo=asker.repo,
        chain=asker.chain,
        host=asker.host,
        claimed_at=asker.now,
        nonce=asker.nonce,
        operator=asker.operator,
        branch=asker.branch,
        worktree=asker.worktree,
        lead=lead.spelling if lead else None,
        phase=asker.phase,
    )


def _with_wishes(claim: Claim, asker: Asker, lead: Item | None) -> Claim:
    return replace(
        claim,
        branch=asker.branch or claim.branch,
        phase=asker.phase or claim.phase,
        lead=lead.spelling if lead else claim.lead,
        # Claimed while nobody was logged in: whoever is now is shown from now on.
        operator=claim.operator or asker.operator,
    )


def _told_why(claim: Claim, asker: Asker, predecessor: ChainId) -> tuple[tuple[str, str], ...]:
    """Another login goes on: the reason, as in a take-over, by which its lock is found to be owed after a crash."""
    if None in {asker.operator, claim.operator} or asker.operator == claim.operator:
        return claim.extra
    kept = tuple((key, value) for key, value in claim.extra if key != "reason")
    return (*kept, ("reason", f"continues chain {predecessor}"))


def _rewritten(claim: Claim, seen: Seen, asker: Asker) -> Claim:
    return replace(claim, nonce=asker.nonce, renewed_at=asker.now, previous=seen.oid)


def _held(item: Item, seen: Seen) -> Verdict:
    return Verdict(item, Outcome.HELD, Reason.HELD if seen.claim else Reason.UNREADABLE, seen)


def _unless_holder(item: Item, seen: Seen | None, chain: ChainId) -> Verdict | None:
    if seen is None:
        return Verdict(item, Outcome.NOT_YOURS, Reason.NOT_CLAIMED, None)
    if seen.claim is None:
        return Verdict(item, Outcome.NOT_YOURS, Reason.UNREADABLE, seen)
    return None if seen.is_held_by(chain) else Verdict(item, Outcome.NOT_YOURS, Reason.HELD, seen)


def _readable(seen: Seen | None) -> tuple[Seen, Claim]:
    assert seen is not None and seen.claim is not None, "only called where _unless_holder found the holder"
    return seen, seen.claim
