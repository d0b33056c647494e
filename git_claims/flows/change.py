"""From a decision on what was seen to an answer that the server gave: decide, swap, and decide again if it moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from git_claims.protocol.bars import Barred
from git_claims.protocol.claim import Seen
from git_claims.protocol.item import Item
from git_claims.protocol.settlement import Applied, Moved, Settled, Unclear, Untouched, Withheld
from git_claims.protocol.transition import SUCCEEDED, Decision, Outcome, Reason, Swap, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from git_claims.git.store import Store

# Each round answers a state that the server really had; five of them changing under us is not a race any more.
_ROUNDS = 5
_FROM_OTHERS = {Outcome.TAKEN_OVER, Outcome.ADOPTED, Outcome.RECLAIMED}


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one item. `claim` is ours, held or just given up; `rival` is anybody else's."""

    item: Item
    outcome: Outcome
    reason: Reason
    claim: Seen | None = None
    rival: Seen | None = None
    detail: str | None = None
    barred: Barred | None = None
    notes: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Says whether the item is where it was asked to be."""
        return self.outcome in SUCCEEDED


def change(
    store: Store,
    items: Sequence[Item],
    decide: Callable[[Item, Seen | None], Decision],
    *,
    seen: Mapping[Item, Seen | None],
    is_guess: bool = False,
    atomic: bool = False,
    together: bool = False,
) -> list[Answer]:
    """Brings every item where `decide` wants it, starting from what was `seen`.

    A guess costs nothing where it is right: the lease tells. It is never the ground of an answer, so an item that
    `decide` would answer without a push is read first. `atomic`: one push lands as a whole. `together`: as soon as
    one item cannot be had, none is.
    """
    known = dict(seen)
    if is_guess:
        doubtful = [item for item in items if isinstance(decide(item, known[item]), Verdict)]
        known |= store.read(doubtful) if doubtful else {}
    answers: dict[Item, Answer] = {}
    for _ in range(_ROUNDS):
        decisions = [decide(item, known[item]) for item in items if item not in answers]
        answers |= {each.item: answer_without_push(each) for each in decisions if isinstance(each, Verdict)}
        swaps = [each for each in decisions if isinstance(each, Swap)]
        if together and not all(answer.succeeded for answer in answers.values()):
            answers |= {swap.item: _left_out(swap) for swap in swaps}
            break
        if not swaps:
            break
        settled = store.swap(swaps, atomic=atomic)
        for swap in swaps:
            state = settled[swap.item]
            if isinstance(state, Moved):
                known[swap.item] = state.seen
            elif (answer := answer_to(swap, state)) is not None:
                answers[swap.item] = answer
    return [answers.get(item) or _kept_moving(item, known[item]) for item in items]


def answer_without_push(verdict: Verdict) -> Answer:
    """Returns the answer of a decision that nothing has to be pushed for."""
    ours = verdict.outcome in SUCCEEDED
    mine, theirs = (verdict.seen, None) if ours else (None, verdict.seen)
    return Answer(verdict.item, verdict.outcome, verdict.reason, claim=mine, rival=theirs)


def answer_to(swap: Swap, state: Settled) -> Answer | None:
    """Returns the answer of a swap that was pushed; None where it is to be decided again."""
    match state:
        case Applied(seen):
            # What was given up or taken is still worth showing: who held it, and since when.
            if swap.outcome in _FROM_OTHERS:
                return Answer(swap.item, swap.outcome, swap.reason, claim=seen, rival=swap.expected)
            return Answer(swap.item, swap.outcome, swap.reason, claim=seen or swap.expected)
        case Withheld(why, lacks_atomic):
            reason = Reason.NO_ATOMIC if lacks_atomic else Reason.HOST_REFUSED
            return Answer(swap.item, Outcome.REFUSED, reason, rival=swap.expected, detail=why)
        case Unclear(why):
            return Answer(swap.item, Outcome.UNKNOWN, Reason.CANNOT_TELL, rival=swap.expected, detail=why)
        case Moved() | Untouched():
            return None
    assert_never(state)


def _left_out(swap: Swap) -> Answer:
    return Answer(swap.item, Outcome.NOT_TAKEN, Reason.ALL_OR_NOTHING)


def _kept_moving(item: Item, seen: Seen | None) -> Answer:
    return Answer(item, Outcome.HELD, Reason.CHANGED_MEANWHILE, rival=seen)
