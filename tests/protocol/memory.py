"""A server's claims as plain state: a dict and a compare-and-swap, for the flows that decide on what they see.

What git does about it is tested on real repositories; nothing in here stands for git.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from git_claims.errors import CannotTell
from git_claims.git.store import Listing, Store
from git_claims.protocol.claim import ChainId, Claim, Oid, Seen
from git_claims.protocol.item import Item, parse
from git_claims.protocol.settlement import Applied, Moved, Settled, Standing, Unclear, Untouched, Withheld, stand
from git_claims.protocol.transition import Asker, Swap

_numbers = itertools.count(1)


def item(text: str) -> Item:
    return parse(text).item


def seen(spelling: str, chain: str, lead: str | None = None, **fields: str) -> Seen:
    """A claim that somebody made: an id that no other has, and its record."""
    oid = Oid(f"{next(_numbers):040x}")
    extra = tuple(fields.items())
    return Seen(oid, Claim(issue=spelling, chain=ChainId(chain), lead=lead, extra=extra))


def world(*claims: tuple[str, str] | tuple[str, str, str]) -> dict[Item, Seen]:
    """Claims as (item, chain) or (item, chain, lead)."""
    return {item(spelling): seen(spelling, chain, *lead) for spelling, chain, *lead in claims}


def asker(chain: str = "chain-me", **wishes: str) -> Asker:
    return Asker(chain=ChainId(chain), nonce=f"nonce-{next(_numbers)}", now="2026-11-30T15:00:00Z", **wishes)


@dataclass
class Memory:
    """`gap` is what others do between two of our looks at the server: before each push, in order."""

    claims: dict[Item, Seen] = field(default_factory=dict)
    copy: dict[Item, Seen] = field(default_factory=dict)
    gap: list[Callable[[dict[Item, Seen]], object]] = field(default_factory=list)
    refuses: dict[Item, Withheld] = field(default_factory=dict)
    silent: bool = False
    reads: list[list[Item]] = field(default_factory=list)
    pushes: list[list[Item]] = field(default_factory=list)
    moves: list[tuple[Item, Seen | None, Seen | None]] = field(default_factory=list)

    @property
    def store(self) -> Store:
        return cast(Store, self)

    def chains(self) -> dict[str, str | None]:
        return {each.name: state.claim.chain if state.claim else None for each, state in self.claims.items()}

    def falls_silent(self, _: object) -> None:
        self.silent = True

    def speaks(self, _: object) -> None:
        self.silent = False

    def read(self, items: Iterable[Item]) -> dict[Item, Seen | None]:
        wanted = list(items)
        self.reads.append(wanted)
        if self.silent:
            raise CannotTell("no answer")
        return {each: self.claims.get(each) for each in wanted}

    def read_all(self) -> Listing:
        self.reads.append([])
        if self.silent:
            raise CannotTell("no answer")
        return Listing(dict(self.claims), (), 0.0)

    def cached_items(self, items: Iterable[Item]) -> dict[Item, Seen | None]:
        return {each: self.copy.get(each) for each in items}

    def swap(self, swaps: Sequence[Swap], *, atomic: bool = False) -> dict[Item, Settled]:
        self.pushes.append([each.item for each in swaps])
        if self.gap:
            self.gap.pop(0)(self.claims)
        settled = {each.item: self._settled(each) for each in swaps}
        if atomic and not all(isinstance(state, Applied) for state in settled.values()):
            group = {key: _left(state) for key, state in settled.items()}
            return dict(group)
        for each in swaps:
            self._apply(settled[each.item], each.item)
        return settled

    def _settled(self, swap: Swap) -> Settled:
        if self.silent:
            return Unclear("no answer")
        now = self.claims.get(swap.item)
        standing = stand(swap.expected_oid, Oid("never seen"), now.oid if now else None)
        if standing is Standing.MOVED:
            return Moved(now)
        if swap.item in self.refuses:
            return self.refuses[swap.item]
        return Applied(None if swap.new is None else Seen(Oid(f"{next(_numbers):040x}"), swap.new))

    def _apply(self, state: Settled, each: Item) -> None:
        if isinstance(state, Applied):
            self.moves.append((each, self.claims.pop(each, None), state.seen))
            self.claims |= {} if state.seen is None else {each: state.seen}


def _left(state: Settled) -> Settled:
    return Untouched() if isinstance(state, Applied) else state


def planted(**claims: Seen) -> Callable[[dict[Item, Seen]], object]:
    """Somebody's claims, made in the gap: `planted(issue_42=seen(…))`."""
    return lambda server: server.update({item(name.replace("_", "-")): state for name, state in claims.items()})


def removed(name: str) -> Callable[[dict[Item, Seen]], object]:
    return lambda server: server.pop(item(name), None)


def states(claims: Mapping[Item, Seen], items: Sequence[Item]) -> dict[Item, Seen | None]:
    return {each: claims.get(each) for each in items}
