"""What each command of the state machine may do to the server, judged by the server's own transcript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import assert_never

from git_claims.flows.change import Answer
from git_claims.protocol.item import Item
from git_claims.protocol.transition import SUCCEEDED, Outcome, Reason
from tests.machine.seat import Seat
from tests.places import ABSENT, CLAIMS, Move, Server

GAP = "chain-gap"
"""Who gets in between; no command can make it a holder."""
UNREADABLE = "<unreadable>"
HELD_NOW = {Outcome.CLAIMED, Outcome.ALREADY_YOURS, Outcome.TAKEN_OVER, Outcome.RENEWED, Outcome.ADOPTED}
FREE_NOW = {Outcome.RELEASED, Outcome.RECLAIMED, Outcome.GONE}


class Kind(Enum):
    """What an agent does, or somebody with a shell on the server."""

    TAKE = auto()
    TAKE_OVER = auto()
    RENEW = auto()
    RELEASE = auto()
    HAND_OFF = auto()
    ADOPT = auto()
    RECLAIM = auto()
    LOOK = auto()
    PUSH = auto()


@dataclass(frozen=True, slots=True)
class Deed:
    """One command. `other` is the chain it names; `shown` the ids that a person was shown before saying yes."""

    kind: Kind
    seat: Seat
    other: str | None = None
    shown: Mapping[str, str] = field(default_factory=dict)
    as_one: bool = False


@dataclass(frozen=True, slots=True)
class Mood:
    """What the server is like. `refuses`: it may keep the old state; `silent`: it may not answer at all."""

    name: str
    refuses: bool = False
    silent: bool = False


@dataclass(slots=True)
class Judge:
    """Knows the server's claims as they were after the last move, and what every object of its past says."""

    server: Server
    refs: dict[str, str] = field(default_factory=dict)
    judged: int = 0
    chains: dict[str, str | None] = field(default_factory=lambda: {ABSENT: None})

    def chain_of(self, oid: str) -> str | None:
        """Whom the object names, read as scripts read it; None for no object."""
        if oid not in self.chains:
            blob = self.server.git("cat-file", "blob", f"{oid}:claim", check=False)
            lines = blob.stdout.split("\n") if blob.returncode == 0 else []
            named = [line.removeprefix("chain=") for line in lines if line.startswith("chain=")]
            self.chains[oid] = named[0] if len(named) == 1 else UNREADABLE
        return self.chains[oid]

    def moves_since(self) -> list[Move]:
        """Moves of claims that were not judged yet; from then on they are."""
        moves = [move for move in self.server.transcript() if move.ref.startswith(CLAIMS)]
        fresh, self.judged, self.refs = moves[self.judged :], len(moves), self.server.refs()
        return fresh

    def may(self, deed: Deed, move: Move) -> bool:
        """The table of the protocol, once more and in other words."""
        me, old, new = deed.seat.chain, self.chain_of(move.old), self.chain_of(move.new)
        match deed.kind:
            case Kind.TAKE:
                return old in (None, me) and new == me
            case Kind.TAKE_OVER:
                return new == me and (old in (None, me) or deed.shown.get(move.ref) == move.old)
            case Kind.RENEW | Kind.PUSH:
                return old == new == me
            case Kind.RELEASE:
                return old == me and new is None
            case Kind.HAND_OFF:
                return old == me and new == deed.other
            case Kind.ADOPT:
                return old == deed.other and new == me
            case Kind.RECLAIM:
                return new is None and deed.shown.get(move.ref) == move.old
            case Kind.LOOK:
                return False
        assert_never(deed.kind)

    def settle(self, deed: Deed, answers: Sequence[Answer] | None, mood: Mood) -> list[Move]:
        """Judges one command; `answers` is None where it could not tell. Returns all that moved meanwhile."""
        moves = self.moves_since()
        own = [move for move in moves if self.chain_of(move.new) != GAP]
        for move in own:
            assert self.may(deed, move), f"{deed.kind.name} by {deed.seat.chain} moved {self._words(move)}"
        assert len({move.ref for move in own}) == len(own), f"more than one move of one ref: {own}"
        if answers is None:
            assert mood.silent, "could not tell although the server answers"
            return moves
        for answer in answers:
            self._check(answer, self.refs.get(ref_of(answer.item)), deed, mood)
        touched = {ref_of(answer.item) for answer in answers if is_sure_of_success(answer) or is_unknown(answer)}
        assert {move.ref for move in own} <= touched, f"a refused command moved refs: {own}"
        if deed.as_one and own:
            assert all(answer.succeeded or is_unknown(answer) for answer in answers), "half of all or nothing"
        return moves

    def _check(self, answer: Answer, oid: str | None, deed: Deed, mood: Mood) -> None:
        """An answer says what the server says at that moment."""
        match answer.outcome:
            case outcome if outcome in HELD_NOW | {Outcome.HANDED_OFF}:
                holder = deed.other if outcome is Outcome.HANDED_OFF else deed.seat.chain
                assert answer.claim is not None and answer.claim.oid == oid, answer
                assert oid is not None and self.chain_of(oid) == holder, answer
            case outcome if outcome in FREE_NOW:
                assert oid is None, answer
            case Outcome.HELD | Outcome.NOT_YOURS:
                assert (answer.rival.oid if answer.rival else None) == oid, answer
                assert answer.rival or answer.reason is Reason.NOT_CLAIMED, answer
            case Outcome.NOT_TAKEN:
                assert oid is None or self.chain_of(oid) == deed.seat.chain, answer
            case Outcome.REFUSED:
                assert mood.refuses, answer
            case Outcome.NOT_RENEWED:
                assert deed.as_one, answer
            case Outcome.UNKNOWN:
                # A push of work is not repeated: the server may still be at it.
                assert mood.silent or deed.kind is Kind.PUSH, answer
            case _:
                raise AssertionError(f"an outcome that no command here can have: {answer}")

    def _words(self, move: Move) -> str:
        return f"{move.ref} from {self.chain_of(move.old)} to {self.chain_of(move.new)}"


def ref_of(item: Item) -> str:
    return item.ref("refs/claims")


def is_unknown(answer: Answer) -> bool:
    return answer.outcome is Outcome.UNKNOWN


def is_sure_of_success(answer: Answer) -> bool:
    return answer.outcome in SUCCEEDED - {Outcome.ALREADY_YOURS, Outcome.GONE}
