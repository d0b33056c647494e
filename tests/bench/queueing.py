"""Sorting a large queue: ten thousand issues that wait for each other, beside reading the same graph from JSON."""

from __future__ import annotations

import json
import random
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from git_claims.protocol.issue import Blocker, Issue
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.ready import queue
from git_claims.protocol.served import Served
from tests.bench.ground import Ground
from tests.bench.measure import Spent
from tests.bench.results import Result, timings
from tests.protocol.shown import HOUSE, PAGE

HOME = "acme/ledger"
QUEUE, JSON = "queue()", "json.loads"


def ready(ground: Ground) -> Iterator[Result]:
    """Which of them are ready, in which order, and why the others are not; no process, no request."""
    issues, edges = (1_000, 3_000) if ground.quick else (10_000, 30_000)
    for shape, cyclic in (("no cycle", False), ("cycles", True)):
        served = Served(HOME, _graph(issues, edges, cyclic=cyclic), {}, HOUSE, "octocat")
        text = json.dumps([[blocker.number for blocker in issue.blockers] + [issue.title] for issue in served.issues])
        ways = {QUEUE: lambda served=served: queue([served]), JSON: lambda text=text: json.loads(text)}
        spent: dict[str, list[Spent]] = {name: [] for name in ways}
        for _ in range(max(3, ground.rounds)):
            for name, way in ways.items():
                spent[name].append(_spent(way))
        yield from timings("ready", f"{issues:,} issues, {edges:,} edges, {shape}", spent, (QUEUE, JSON))


def _graph(issues: int, edges: int, *, cyclic: bool) -> list[Issue]:
    """The same graph every time; without cycles each waits for older ones only."""
    chance = random.Random(1)
    waits: dict[int, set[int]] = {number: set() for number in range(1, issues + 1)}
    for _ in range(edges):
        first, second = chance.randint(1, issues), chance.randint(1, issues)
        if first != second:
            waits[first if cyclic else max(first, second)].add(second if cyclic else min(first, second))
    return [
        replace(
            PAGE,
            item=Item(Kind.ISSUE, str(number)),
            blockers=tuple(Blocker(HOME, each, True, False) for each in sorted(before)),
        )
        for number, before in waits.items()
    ]


def _spent(way: Callable[[], object]) -> Spent:
    began, cpu = time.perf_counter(), time.process_time()
    way()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Spent(time.perf_counter() - began, time.process_time() - cpu, peak)
