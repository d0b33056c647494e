"""What a command before a GitHub may do: to refs, judged by the server's transcript, and to the signs, by the timeline.

Lock comments are read here as a script would read them, not by the product.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto

from tests.agents import Answer
from tests.github_double import GitHub
from tests.github_double.records import Comment, Event, Issue
from tests.machine.tracker_seat import Seat
from tests.places import ABSENT, CLAIMS, Move
from tests.scenarios.oracle import told

CLAIMED, HOLD = "in-progress", "hold"
_MARKER = re.compile(r"<!-- claude-lock(-released)?: (.*?) -->")
_FIELD = re.compile(r"(\w+)=(\S+)")
_HOLDING = {"claimed", "already-yours", "taken-over", "renewed"}
_FREE = {"released", "gone"}
_SHOWN = _HOLDING | {"released"}


class Kind(Enum):
    """What a command may do to a ref."""

    TAKE = auto()
    TAKE_OVER = auto()
    GIVE_UP = auto()
    SHOW = auto()


@dataclass(frozen=True, slots=True)
class Holder:
    chain: str
    operator: str | None


@dataclass(slots=True)
class Judge:
    """Knows who holds what, who held it before by the transcript, and how far the timelines were judged."""

    github: GitHub
    refs: dict[str, str] = field(default_factory=dict)
    judged: int = 0
    events: dict[int, int] = field(default_factory=dict)
    known: dict[str, Holder] = field(default_factory=dict)
    replaced: dict[str, set[str | None]] = field(default_factory=dict)

    def holder(self, number: int) -> Holder | None:
        oid = self.refs.get(f"{CLAIMS}issue-{number}")
        return None if oid is None else self._named(oid)

    def _named(self, oid: str) -> Holder:
        """Whom the object names, read as scripts read it."""
        if oid not in self.known:
            blob = self.github.server.git("cat-file", "blob", f"{oid}:claim").stdout
            record = dict(line.partition("=")[::2] for line in blob.splitlines())
            self.known[oid] = Holder(record["chain"], record.get("operator"))
        return self.known[oid]

    def settle(self, seat: Seat, kind: Kind, answer: Answer | None) -> None:
        """Judges one command; `answer` is None where it died."""
        moves = self._moves_since()
        for ref in {move.ref for move in moves}:
            steps = tuple((self._who(move.old, seat), self._who(move.new, seat)) for move in moves if move.ref == ref)
            assert steps in _allowed(kind), f"{kind.name} by {seat.chain} moved {ref}: {steps}\n{answer}"
        if answer is not None:
            assert answer.status in (0, 1, 3), answer
            assert not str(answer.json.get("reason", "")).startswith("tracker-") or not moves, answer
            self._check_told(seat, answer)
        for number, event in self._events_since():
            self._check_sign(seat, number, event)
        if answer is not None and kind is not Kind.SHOW and "warning:" not in answer.stderr:
            self._check_shown(answer)

    def _moves_since(self) -> list[Move]:
        moves = [move for move in self.github.server.transcript() if move.ref.startswith(CLAIMS)]
        fresh, self.judged = moves[self.judged :], len(moves)
        newest = {move.ref: move.new for move in moves}
        self.refs = {ref: oid for ref, oid in newest.items() if oid != ABSENT}
        for move in fresh:
            if ABSENT not in (move.old, move.new):
                self.replaced.setdefault(move.ref, set()).add(self._named(move.old).operator)
        return fresh

    def _who(self, oid: str, seat: Seat) -> str:
        if oid == ABSENT:
            return "free"
        return "mine" if self._named(oid).chain == seat.chain else "theirs"

    def _check_told(self, seat: Seat, answer: Answer) -> None:
        """An answer says what the server says, whatever GitHub is like."""
        for name, outcome in told(answer).items() if "items" in answer.json else ():
            holder = self.holder(int(name.removeprefix("issue-")))
            is_mine = holder is not None and holder.chain == seat.chain
            if outcome in _HOLDING:
                assert is_mine, answer
            elif outcome in _FREE:
                assert holder is None, answer
            elif outcome in {"held", "not-yours"}:
                assert not is_mine, answer
            elif outcome == "not-free":
                assert not is_mine or "the claim remains" in answer.stderr, answer

    def _check_shown(self, answer: Answer) -> None:
        """What was done without a warning is shown, whatever GitHub was like."""
        for name, outcome in told(answer).items():
            issue = self.github.issue(int(name.removeprefix("issue-")))
            if outcome in _SHOWN and issue.state == "OPEN" and HOLD not in issue.labels:
                self.check_agreement(issue)

    def _events_since(self) -> list[tuple[int, Event]]:
        fresh = []
        for issue in self.github.repository().issues():
            fresh += [(issue.number, event) for event in issue.events[self.events.get(issue.number, 0) :]]
        self.look_away()
        return fresh

    def look_away(self) -> None:
        """What happened on the timelines until now was no command."""
        self.events = {issue.number: len(issue.events) for issue in self.github.repository().issues()}

    def _check_sign(self, seat: Seat, number: int, event: Event) -> None:
        holder = self.holder(number)
        is_of_another = holder is not None and holder.chain != seat.chain
        if event.kind == "UnassignedEvent":
            may_go = {seat.login, *self.replaced.get(f"{CLAIMS}issue-{number}", ())}
            assert event.subject in may_go, f"{seat.chain} unassigned {event.subject}, who never held {number}"
            is_of_holder = is_of_another and holder is not None and holder.operator == event.subject
            assert not is_of_holder, f"{seat.chain} unassigned {event.subject}, who holds {number}"
        if event.kind == "UnlabeledEvent" and event.subject == CLAIMED:
            assert not is_of_another, f"{seat.chain} took the label of {holder} off {number}"

    def check_agreement(self, issue: Issue) -> None:
        """Signs say what the refs say, of an issue that is open and not on hold."""
        holder, live = self.holder(issue.number), live_locks(issue.comments)
        about = f"issue {issue.number} of {holder}: {issue.labels} {issue.assignees} {live}"
        if holder is None:
            assert not live, f"a lock without a claim: {about}"
            assert CLAIMED not in issue.labels or may_be_by_hand(issue), f"a label without a claim: {about}"
            return
        assert CLAIMED in issue.labels, f"no label: {about}"
        # A lock names a login: of a claim that was made without one, the label is all that can be shown.
        assert holder.operator is None or holder.operator in issue.assignees, f"not assigned: {about}"
        assert live == ([holder.operator] if holder.operator else []), f"not its one lock: {about}"


def _allowed(kind: Kind) -> set[tuple[tuple[str, str], ...]]:
    """The table of the protocol, once more and in other words; a take that GitHub bars meanwhile is undone.

    An item of ours that joins a bundle, or leaves one, has its record changed.
    """
    claimed, undone, changed = (("free", "mine"),), (("free", "mine"), ("mine", "free")), (("mine", "mine"),)
    match kind:
        case Kind.TAKE:
            return {claimed, undone, changed}
        case Kind.TAKE_OVER:
            return {claimed, undone, changed, (("theirs", "mine"),)}
        case Kind.GIVE_UP:
            return {(("mine", "free"),)}
        case Kind.SHOW:
            return set()


def may_be_by_hand(issue: Issue) -> bool:
    """Says whether a lone claim label cannot be told from one that a person put there.

    It can where nobody locked by hand, and our release was the last that happened and its comment landed; GitHub
    counts in seconds.
    """
    released = [comment for comment in issue.comments if "<!-- claude-lock-released: " in comment.body]
    locks = [comment for comment in issue.comments if "<!-- claude-lock: " in comment.body]
    if not released or any("nonce=" not in lock.body for lock in locks):
        return True
    newest = max(event.created_at for event in issue.events)
    return newest.replace(microsecond=0) > released[-1].created_at.replace(microsecond=0)


def live_locks(comments: list[Comment]) -> list[str]:
    """Operators of the locks with a nonce that nothing has ended since; people who lock by hand give none."""
    live: dict[str, None] = {}
    for comment in comments:
        for released, text in _MARKER.findall(comment.body):
            fields = dict(_FIELD.findall(text))
            live.pop(fields["operator"], None)
            if not released and "nonce" in fields:
                live[fields["operator"]] = None
    return list(live)


def told_twice(issue: Issue) -> list[str]:
    """Nonces that stand in more than one comment."""
    found = Counter(nonce for body in issue.bodies for nonce in set(re.findall(r"nonce=(\S+)", body)))
    return [nonce for nonce, times in found.items() if times > 1]
