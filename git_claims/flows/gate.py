"""The gate: every pushed ref that names an item, judged in one exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_claims.errors import CannotTell
from git_claims.protocol.gate import Question, may_go

if TYPE_CHECKING:
    from collections.abc import Sequence

    from git_claims.git.store import Store
    from git_claims.protocol.claim import ChainId, Seen
    from git_claims.protocol.item import Item


@dataclass(frozen=True, slots=True)
class Judged:
    """One question and its answer. `seen` is the claim as it was found."""

    question: Question
    passes: bool
    seen: Seen | None


@dataclass(frozen=True, slots=True)
class Gate:
    """All answers, and how old the copy is (seconds) where it had to do for the remote."""

    judged: list[Judged]
    copy_age: float | None = None


def judge(store: Store, asked: Sequence[Question], chain: ChainId | None, offline_age: float | None) -> Gate:
    """Judges the questions on what the server shows now.

    `offline_age`: how old (seconds) the local copy may be where the server does not answer; None: never. Raises
    CannotTell.
    """
    items = list(dict.fromkeys(question.item for question in asked if question.item is not None))
    seen, copy_age = _seen(store, items, offline_age) if items else ({}, None)
    judged = [_judged(question, seen, chain) for question in asked]
    return Gate(judged, copy_age)


def _judged(question: Question, seen: dict[Item, Seen | None], chain: ChainId | None) -> Judged:
    found = seen.get(question.item) if question.item is not None else None
    return Judged(question, may_go(question, found, chain), found)


def _seen(store: Store, items: list[Item], offline_age: float | None) -> tuple[dict[Item, Seen | None], float | None]:
    try:
        return store.read(items), None
    except CannotTell:
        listed = store.cached_as_of()
        if offline_age is None or listed is None or store.clock() - listed > offline_age:
            raise
        return store.cached_items(items), store.clock() - listed
