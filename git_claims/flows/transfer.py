"""Keeping and passing on: renewals, hand-off to another chain, adoption of a predecessor's claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_claims.flows.change import Answer, change
from git_claims.flows.release import with_bundles
from git_claims.protocol import transition
from git_claims.protocol.claim import ChainId, Seen
from git_claims.protocol.item import Item
from git_claims.protocol.transition import Asker, Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from git_claims.git.store import Store


def renew(store: Store, items: Sequence[Item], asker: Asker) -> list[Answer]:
    """Renews claims of the asker; one network exchange where the local copy knows them."""

    def decide(item: Item, seen: Seen | None) -> Decision:
        return transition.renew(item, seen, asker)

    return change(store, items, decide, seen=store.cached_items(items), is_guess=True)


def hand_off(store: Store, item: Item, asker: Asker, to: ChainId) -> list[Answer]:
    """Makes `to` the holder of the item and of the bundle it leads, by one push."""

    def decide(each: Item, seen: Seen | None) -> Decision:
        return transition.hand_off(each, seen, asker, to)

    return _pass_on(store, item, asker.chain, decide)


def adopt(store: Store, item: Item, asker: Asker, predecessor: ChainId) -> list[Answer]:
    """Continues the predecessor's claim of the item and of the bundle it leads, by one push."""

    def decide(each: Item, seen: Seen | None) -> Decision:
        return transition.adopt(each, seen, asker, predecessor)

    return _pass_on(store, item, predecessor, decide)


def _pass_on(
    store: Store, item: Item, holder: ChainId, decide: Callable[[Item, Seen | None], Decision]
) -> list[Answer]:
    seen = store.read_all().claims
    family = with_bundles([item], seen, holder)
    states = {each: seen.get(each) for each in family}
    return change(store, family, decide, seen=states, atomic=len(family) > 1)
