"""Giving up: what a holder releases, and what a person at a terminal reclaims. A lead takes its bundle along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_claims.flows.change import Answer, change
from git_claims.flows.listing import lead_of
from git_claims.protocol import transition
from git_claims.protocol.claim import ChainId, Seen
from git_claims.protocol.item import Item
from git_claims.protocol.transition import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from git_claims.git.store import Store


def release(
    store: Store, items: Sequence[Item] | None, chain: ChainId, seen: Mapping[Item, Seen] | None = None
) -> list[Answer]:
    """Releases items of `chain`, None meaning all it holds. What is already gone is answered as such.

    `seen`: the claims as somebody read them just now.
    """
    seen = store.read_all().claims if seen is None else seen
    asked = mine(seen, chain) if items is None else items
    family = with_bundles(asked, seen, chain)

    def decide(item: Item, state: Seen | None) -> Decision:
        return transition.release(item, state, chain)

    # A lead and its siblings go as a whole, whoever named them.
    are_bundled = any(item in seen and lead_of(seen[item]) in family for item in family)
    return change(store, family, decide, seen=_each(family, seen), atomic=are_bundled)


def reclaim(store: Store, item: Item, confirm: Callable[[Item, Seen, Mapping[Item, Seen]], None]) -> list[Answer]:
    """Frees an item, and the bundle it leads, after `confirm` was shown the records; it raises for a no."""
    seen = store.read_all().claims
    state = seen.get(item)
    holder = state.claim.chain if state is not None and state.claim is not None else None
    family = with_bundles([item], seen, holder)
    if state is not None:
        confirm(item, state, {each: seen[each] for each in family[1:]})

    def decide(each: Item, now_seen: Seen | None) -> Decision:
        shown = seen.get(each)
        return transition.reclaim(each, now_seen, shown.oid if shown else None)

    return change(store, family, decide, seen=_each(family, seen), atomic=len(family) > 1)


def mine(seen: Mapping[Item, Seen], chain: ChainId) -> list[Item]:
    """Returns the items that `chain` holds, in order."""
    return sorted((item for item, state in seen.items() if state.is_held_by(chain)), key=lambda item: item.order)


def held_of(items: Sequence[Item], seen: Mapping[Item, Seen], chain: ChainId | None) -> list[Item]:
    """Returns those of the items that `chain` holds, in their order."""
    return [item for item in items if chain is not None and item in seen and seen[item].is_held_by(chain)]


def with_bundles(items: Sequence[Item], seen: Mapping[Item, Seen], holder: ChainId | None) -> list[Item]:
    """Returns the items, each followed by the siblings that the same holder keeps under its lead."""
    family: list[Item] = []
    for lead in items:
        siblings = [
            item
            for item in sorted(seen, key=lambda item: item.order)
            if holder is not None and seen[item].is_held_by(holder) and lead_of(seen[item]) == lead
        ]
        family += [lead, *siblings]
    return list(dict.fromkeys(family))


def _each(items: Sequence[Item], seen: Mapping[Item, Seen]) -> dict[Item, Seen | None]:
    return {item: seen.get(item) for item in items}
