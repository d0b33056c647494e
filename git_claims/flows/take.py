"""Claiming: one push that assumes the items are free, and what follows when they are not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from git_claims.errors import CannotTell
from git_claims.flows.change import Answer, change
from git_claims.protocol import transition
from git_claims.protocol.claim import Oid, Seen
from git_claims.protocol.item import Item
from git_claims.protocol.transition import Asker, Decision, Outcome, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from git_claims.git.store import Store

_FIRST_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a take asks for. With a bundle, `items` is the lead alone. `together`: all of them or none."""

    items: tuple[Item, ...]
    bundle: tuple[Item, ...] = ()
    together: bool = False

    @property
    def all_items(self) -> tuple[Item, ...]:
        """The lead first, then its siblings; or the items."""
        return self.items + self.bundle

    @property
    def as_one(self) -> bool:
        """Says whether one push must land as a whole."""
        return self.together or bool(self.bundle)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for held items, in seconds, and what waiting needs of the world."""

    budget_seconds: float
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    notice: Callable[[Answer], None]


def take(store: Store, wanted: Wanted, asker: Asker) -> list[Answer]:
    """Claims the items. One network exchange where they are free; two where one is not."""

    def decide(item: Item, seen: Seen | None) -> Decision:
        lead = wanted.items[0] if item in wanted.bundle else None
        return transition.take(item, seen, asker, lead)

    items = wanted.all_items
    # Free is a guess that needs no reading: the server refuses the push of any item that is not.
    return change(
        store,
        items,
        decide,
        seen=dict.fromkeys(items),
        is_guess=True,
        atomic=wanted.as_one,
        together=wanted.as_one,
    )


def take_waiting(store: Store, wanted: Wanted, asker: Asker, patience: Patience) -> list[Answer]:
    """Claims the items, waiting within a total budget for those that somebody holds."""
    deadline = patience.monotonic() + patience.budget_seconds
    answers = {answer.item: answer for answer in take(store, wanted, asker)}
    named: set[tuple[Item, Oid | None]] = set()
    pause = _FIRST_WAIT_SECONDS
    while waited_for := [answer for answer in answers.values() if answer.outcome is Outcome.HELD]:
        _name_holders(waited_for, named, patience.notice)
        left = deadline - patience.monotonic()
        if left <= 0:
            answers |= {each.item: replace(each, reason=Reason.GAVE_UP_WAITING) for each in waited_for}
            break
        patience.sleep(min(left, pause * (0.5 + patience.jitter())))
        pause = min(pause * 1.5, _LONGEST_WAIT_SECONDS)
        again = _worth_another_try(store, waited_for, wanted, answers)
        answers |= {answer.item: answer for answer in (take(store, again, asker) if again else [])}
    return [answers[item] for item in wanted.all_items]


def take_over(store: Store, items: Sequence[Item], asker: Asker, confirm: Callable[[Item, Seen], None]) -> list[Answer]:
    """Replaces live claims by one swap each, on the ids that `confirm` was shown; it raises where the answer is no."""
    seen = store.read(items)
    shown: dict[Item, Oid] = {}
    for item in items:
        state = seen[item]
        if state is not None and not state.is_held_by(asker.chain):
            confirm(item, state)
            shown[item] = state.oid

    def decide(item: Item, now_seen: Seen | None) -> Decision:
        return transition.take_over(item, now_seen, asker, shown.get(item))

    return change(store, items, decide, seen=seen)


def _name_holders(
    waited_for: Sequence[Answer], named: set[tuple[Item, Oid | None]], notice: Callable[[Answer], None]
) -> None:
    for answer in waited_for:
        holder = (answer.item, answer.rival.oid if answer.rival else None)
        if holder not in named:
            named.add(holder)
            notice(answer)


def _worth_another_try(
    store: Store, waited_for: Sequence[Answer], wanted: Wanted, answers: dict[Item, Answer]
) -> Wanted | None:
    """Reads what is waited for; returns what to ask for again, None while nothing of it moved to our favour."""
    try:
        seen = store.read([answer.item for answer in waited_for])
    except CannotTell:
        # The network may be back before the budget ends; the claim is not known to be free, so wait on.
        return None
    free = tuple(item for item, state in seen.items() if state is None)
    for answer in waited_for:
        answers[answer.item] = replace(answer, rival=seen[answer.item] or answer.rival)
    if wanted.as_one:
        return wanted if len(free) == len(waited_for) else None
    return Wanted(free) if free else None
