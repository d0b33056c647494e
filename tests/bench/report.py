"""Results as Markdown for people and as JSON, with every single measurement, for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version

from tests.bench.ground import Ground, program
from tests.bench.measure import Figures, figures
from tests.bench.results import Aim, Asked, Count, Race, Result, Skipped, Timing
from tests.places import run_git

Cells = list[str]


def circumstances(ground: Ground) -> dict[str, str]:
    """What the figures depend on, beside the program."""
    delay = f"{ground.delay_ms} ms for each connection, except over a path" if ground.delay_ms else "none"
    return {
        "program": f"{' '.join(program())}; racers: python -m git_claims",
        "machine": f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start, all on loopback",
        "versions": f"{run_git(ground.root, '--version').stdout.strip()}, Python {platform.python_version()}, "
        f"pygit2 {version('pygit2')}, click {version('click')}",
        "rounds": f"{ground.rounds} at most, in turn, after one that is not counted",
        "delay": delay,
        "git config": "core.fsync=none, gc.auto=0 on both sides",
    }


def markdown(about: dict[str, str], results: Sequence[Result]) -> str:
    lines = ["# Benchmark", "", *(f"- {name}: {text}" for name, text in about.items())]
    for title, part in (
        ("Aims", _aims),
        ("Times", _times),
        ("Races", _races),
        ("What a command starts", _counts),
        ("What is asked of GitHub", _asked),
        ("Left out", _skipped),
    ):
        if table := part(results):
            lines += ["", f"## {title}", "", *table]
    return "\n".join(lines) + "\n"


def document(about: dict[str, str], results: Sequence[Result]) -> dict[str, object]:
    """Everything measured, each result with its kind; `median`, `low` and `high` are in milliseconds."""
    return {"about": about, "results": [{"kind": type(each).__name__.lower(), **_record(each)} for each in results]}


def _record(result: Result) -> dict[str, object]:
    match result:
        case Timing():
            more = {"milliseconds": asdict(result.milliseconds), "peak_mib": result.peak_mib}
            if result.ratio is not None and result.added is not None:
                more |= {"ratio": asdict(result.ratio), "added_milliseconds": asdict(result.added)}
        case Race():
            more = {"claims_per_second": asdict(result.claims_per_second), "fair": result.fair}
        case Aim():
            more = {"met": result.met}
        case Count() | Asked() | Skipped():
            more = {}
    return {**asdict(result), **more}


def _aims(results: Iterable[Result]) -> list[str]:
    return _table(["aim", "bound", "measured", ""], [_aim(each) for each in results if isinstance(each, Aim)])


def _aim(aim: Aim) -> Cells:
    verdict = "met" if aim.met else "**missed**"
    return [aim.sentence, f"≤ {aim.bound:g} {aim.unit}", f"{aim.measured:.3g} {aim.unit}", verdict]


def _times(results: Iterable[Result]) -> list[str]:
    header = ["row", "place", "way", "ms", "range", "CPU ms", "peak MiB", "beside", "ratio", "range", "adds ms"]
    return _table(header, [_time(each) for each in results if isinstance(each, Timing)])


def _time(timing: Timing) -> Cells:
    spent, cpu = timing.milliseconds, timing.cpu_milliseconds
    cells = [timing.row, timing.place, timing.way, f"{spent.median:.0f}", _range(spent, ".0f"), f"{cpu.median:.0f}"]
    cells += [f"{timing.peak_mib:.0f}", timing.against or ""]
    if timing.ratio is None or timing.added is None:
        return [*cells, "", "", ""]
    return [*cells, f"{timing.ratio.median:.2f}", _range(timing.ratio, ".2f"), f"{timing.added.median:+.0f}"]


def _races(results: Iterable[Result]) -> list[str]:
    header = ["place", "racers", "items", "start", "rounds", "s", "claims/s", "range", "missed", "doubled", "unsure"]
    return _table(header, [_race(each) for each in results if isinstance(each, Race)])


def _race(race: Race) -> Cells:
    rate = race.claims_per_second
    unfair = [sum(each.missed for each in race.rounds), sum(each.doubled for each in race.rounds)]
    return [
        *(race.place, str(race.racers), str(race.items), race.start, str(len(race.rounds))),
        f"{figures([each.seconds for each in race.rounds]).median:.2f}",
        *(f"{rate.median:.1f}", _range(rate, ".1f")),
        *(f"**{number}**" if number else "0" for number in unfair),
        str(sum(each.unsure for each in race.rounds)),
    ]


def _counts(results: Iterable[Result]) -> list[str]:
    rows = [
        [each.command, str(each.status), str(each.exchanges), str(each.git_children or ""), each.children]
        for each in results
        if isinstance(each, Count)
    ]
    return _table(["command", "exit", "exchanges", "git children", "which"], rows)


def _asked(results: Iterable[Result]) -> list[str]:
    rows = [
        [each.way, str(each.gh_processes), str(each.requests), str(each.pushes)]
        for each in results
        if isinstance(each, Asked)
    ]
    return _table(["way", "gh processes", "requests", "pushes"], rows)


def _skipped(results: Iterable[Result]) -> list[str]:
    return [f"- {each.row}: {each.why}" for each in results if isinstance(each, Skipped)]


def _table(header: Cells, rows: Sequence[Cells]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows] if rows else []
    return [f"| {' | '.join(line)} |" for line in lines]


def _range(numbers: Figures, form: str) -> str:
    return f"{numbers.low:{form}} … {numbers.high:{form}}"
