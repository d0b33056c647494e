"""Listing many claims: for the first time, when nothing changed, and from the copy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence

from tests.bench.ground import Ground, Place, fill
from tests.bench.measure import Command, Spent, Way, figures, in_turn, run
from tests.bench.results import Aim, Result, timings
from tests.bench.taking import always
from tests.places import CLAIMS

RECORD = """\
issue={number}
repo=acme/ledger
chain=chain-blade-1782604800123456789-{number:08x}
host=blade
claimed_at=2026-11-30T13:06:00Z
nonce={number:032x}
operator=octocat
branch={number}-fix-auth
worktree=/home/octocat/ledger/.worktrees/{number}-fix-auth
"""
FIRST, UNCHANGED, CACHED = "git claim ls, first", "git claim ls, unchanged", "git claim ls --cached"
FETCH = "bare git fetch, unchanged"
NAMESPACE = "+refs/claims/*:refs/claims/*"


def ls(ground: Ground) -> Iterator[Result]:
    """`ls` in a clone that never listed and in one that knows all of the claims, beside the bare fetch of them."""
    for size in ground.sizes(100, 1_000, 10_000):
        for place in ground.places():
            fill(place.server, many_claims(size))
            yield from _listed(ground, place, size)


def many_claims(size: int) -> dict[str, str]:
    """Refs and records of items that nobody else in a benchmark asks for."""
    numbers = range(100_001, 100_001 + size)
    return {f"{CLAIMS}issue-{number}": RECORD.format(number=number) for number in numbers}


def _listed(ground: Ground, place: Place, size: int) -> Iterator[Result]:
    row = f"ls of {size:,} claims"
    spent = in_turn([_first_way(place)], ground.few(3))
    clone = place.clone("lister")
    run(place.claim(clone, "ls"))
    commands = {
        UNCHANGED: place.claim(clone, "ls"),
        CACHED: place.claim(clone, "ls", "--cached"),
        FETCH: place.command(clone, "git", "fetch", "--quiet", "--no-tags", "--prune", "origin", NAMESPACE),
    }
    spent |= in_turn([always(name, command) for name, command in commands.items()], ground.few(10))
    yield from timings(row, place.name, spent, (UNCHANGED, FETCH))
    if size == 10_000:
        yield from _aims(f"{place.name}: {row}, unchanged", spent)


def _aims(row: str, spent: Mapping[str, Sequence[Spent]]) -> Iterator[Aim]:
    yield Aim(row, 1.0, figures([each.seconds for each in spent[UNCHANGED]]).median, "s")
    yield Aim(row, 100, max(each.peak_mib for each in spent[UNCHANGED]), "MiB")


def _first_way(place: Place) -> Way:
    def prepare() -> list[Command]:
        return [place.claim(place.clone("stranger"), "ls")]

    return Way(FIRST, prepare, lambda: shutil.rmtree(place.root / "stranger"))
