"""Races: how many claims a second, and above all that each item has one winner and the server knows it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.agents import Agent, Answer, finish
from tests.bench.ground import Ground, Place
from tests.bench.results import Race, Result, Round
from tests.forked import forked
from tests.places import CLAIMS

DEADLINE_SECONDS = 300
Runs = Sequence[tuple[Agent, Sequence[str]]]
Start = Callable[[Runs], tuple[float, list[Answer]]]


def race(ground: Ground) -> Iterator[Result]:
    """Racers on one item, and racers on an item each; as programs that start, and with their imports done."""
    for racers in ground.sizes(8, 32):
        for place in ground.places():
            agents = [_agent(place, number) for number in range(1, racers + 1)]
            _round(place, agents, racers, _start_programs)
            for items in (1, racers):
                for start, run in STARTS.items():
                    rounds = [_round(place, agents, items, run) for _ in range(ground.few(5))]
                    yield Race(place.name, racers, items, start, rounds)


def _agent(place: Place, number: int) -> Agent:
    return Agent(place.clone(f"racer-{number}"), f"chain-racer-{number}", dict(place.transport.environment))


def _round(place: Place, agents: Sequence[Agent], items: int, run: Start) -> Round:
    names = [f"issue-{position % items + 1}" for position in range(len(agents))]
    seconds, answers = run([(agent, ("take", "--json", name)) for agent, name in zip(agents, names, strict=True)])
    outcomes = [_outcome(answer) for answer in answers]
    winners: dict[str, list[str | None]] = {name: [] for name in names}
    for agent, name, outcome in zip(agents, names, outcomes, strict=True):
        winners[name] += [agent.chain] if outcome == "claimed" else []
    doubled = sum(bool(chains) and chains != [_holder(place, name)] for name, chains in winners.items())
    place.forget(place.claims(), *(agent.clone for agent in agents))
    return Round(seconds, _missed(winners), doubled, sum(each not in {"claimed", "held"} for each in outcomes))


def _missed(winners: Mapping[str, Sequence[str | None]]) -> int:
    return sum(not chains for chains in winners.values())


def _holder(place: Place, name: str) -> str | None:
    """Whom the server itself names."""
    text = place.server.git("cat-file", "blob", f"{CLAIMS}{name}:claim", check=False).stdout
    lines = [line.removeprefix("chain=") for line in text.splitlines() if line.startswith("chain=")]
    return lines[0] if lines else None


def _outcome(answer: Answer) -> object:
    try:
        return answer.at("items", 0, "outcome")
    except json.JSONDecodeError:
        return None


def _start_programs(runs: Runs) -> tuple[float, list[Answer]]:
    """From the first program's start to the last one's end."""
    began = time.perf_counter()
    running = [agent.start(*words) for agent, words in runs]
    answers = [finish(process, timeout=DEADLINE_SECONDS) for process in running]
    return time.perf_counter() - began, answers


def _open_gate(runs: Runs) -> tuple[float, list[Answer]]:
    """From the moment when all that have nothing left to import may begin."""
    gate, opener = os.pipe()
    running = [forked(agent).fork(*words, gate=gate) for agent, words in runs]
    os.close(gate)
    began = time.perf_counter()
    os.close(opener)
    answers = [racer.finish(DEADLINE_SECONDS) for racer in running]
    return time.perf_counter() - began, answers


STARTS = {"programs start": _start_programs, "imports done": _open_gate}
