"""A server with many refs: pull requests, of which a host keeps one ref each, or the claims of others."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.ground import Ground, fill
from tests.bench.listing import many_claims
from tests.bench.measure import in_turn, ratio
from tests.bench.results import Aim, Result, timings
from tests.bench.taking import DELETE, PUSH, RELEASE, TAKE, delete_way, push_way, release_way, take_way


def refs(ground: Ground) -> Iterator[Result]:
    """A take beside the bare push, which grows with the refs of the server."""
    for size in ground.sizes(1_000, 10_000, 100_000):
        crowd = {f"refs/pull/{number}/head": "" for number in range(1, size + 1)}
        for place in ground.places():
            fill(place.server, crowd)
            spent = in_turn([take_way(place), push_way(place)], ground.few(10))
            yield from timings(f"take, {size:,} other refs", place.name, spent, (TAKE, PUSH))
            if size == 100_000:
                times = ratio(spent[TAKE], spent[PUSH]).median
                yield Aim(f"{place.name}: take with 100,000 other refs", 1.1, times, "times the bare push")


def busy(ground: Ground) -> Iterator[Result]:
    """A take and a release where others hold many items."""
    for size in ground.sizes(1_000, 10_000):
        for place in ground.places():
            fill(place.server, many_claims(size))
            ways = [take_way(place), push_way(place), release_way(place), delete_way(place)]
            spent = in_turn(ways, ground.few(5))
            yield from timings(f"{size:,} other claims", place.name, spent, (TAKE, PUSH), (RELEASE, DELETE))
