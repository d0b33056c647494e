"""Looking: every claim, one claim, and whether a chain holds an item. Nothing here changes the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_claims.errors import CannotTell
from git_claims.protocol.claim import ChainId, Seen
from git_claims.protocol.item import Item, is_item, parse
from git_claims.protocol.transition import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from git_claims.git.store import Store


@dataclass(frozen=True, slots=True)
class Row:
    """One claim as a listing shows it. `lead` is the item it is bundled with."""

    item: Item
    seen: Seen
    mine: bool
    lead: Item | None


@dataclass(frozen=True, slots=True)
class Look:
    """One item as it was found. `as_of` is epoch seconds, None for a copy of which nobody knows the age."""

    item: Item
    seen: Seen | None
    cached: bool
    as_of: float | None


def rows(claims: Mapping[Item, Seen], chain: ChainId | None) -> list[Row]:
    """Orders claims by item, each bundle together under its lead."""
    found = [
        Row(item, seen, chain is not None and seen.is_held_by(chain), lead_of(seen)) for item, seen in claims.items()
    ]
    return sorted(found, key=lambda row: ((row.lead or row.item).order, row.lead is not None, row.item.order))


def lead_of(seen: Seen) -> Item | None:
    """Returns the item that a sibling's record names as its lead."""
    lead = seen.claim.lead if seen.claim else None
    return parse(lead).item if lead is not None and is_item(lead) else None


def look(store: Store, item: Item, *, cached: bool) -> Look:
    """Finds one item on the server, in one exchange, or in the local copy. Raises CannotTell."""
    if not cached:
        return Look(item, store.read([item])[item], False, store.clock())
    seen, listed_at = store.cached_items([item])[item], store.cached_as_of()
    if seen is None and listed_at is None:
        raise CannotTell(
            f"the local copy knows nothing of {item.noun} '{item.spelling}'",
            "'git claim ls' reads the remote and fills the copy",
        )
    return Look(item, seen, True, listed_at)


def why_not(found: Look, chain: ChainId | None) -> Reason | None:
    """Returns why `chain` does not hold the item; None where it does."""
    if found.seen is None:
        return Reason.NOT_CLAIMED
    if found.seen.claim is None:
        return Reason.UNREADABLE
    return None if chain is not None and found.seen.is_held_by(chain) else Reason.HELD


def why_not_branch(found: Look, branch: str) -> Reason | None:
    """Returns why nobody's claim of the item is for `branch`; None where one is."""
    if found.seen is None:
        return Reason.NOT_CLAIMED
    if found.seen.claim is None:
        return Reason.UNREADABLE
    return None if found.seen.claim.branch == branch else Reason.OTHER_BRANCH
