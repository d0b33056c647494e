"""`python -m tests.bench`: which rows, how often, over what, and where the report goes."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import pytest

from tests.bench import counting, crowd, gating, ground, listing, queueing, racing, report, starting, taking, tracking
from tests.bench.ground import Ground
from tests.bench.results import Race, Result, Skipped
from tests.transports import TRANSPORTS

# A row is added by one line here.
ROWS: dict[str, Callable[[Ground], Iterator[Result]]] = {
    "startup": starting.startup,
    "counts": counting.counts,
    "take": taking.take,
    "batch": taking.batch,
    "release": taking.release,
    "check": taking.check,
    "hook": gating.hook,
    "ls": listing.ls,
    "tracker": tracking.tracker,
    "ready": queueing.ready,
    "refs": crowd.refs,
    "busy": crowd.busy,
    "race": racing.race,
}
QUICK_ROUNDS = 1


def main(words: Sequence[str] | None = None) -> int:
    """Measures and reports. Only a race without exactly one winner for each item is a failure."""
    wanted = _parser().parse_args(words)
    # Servers and rooms go away behind a benchmark that is told to end.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="git-claim-bench-", ignore_cleanup_errors=True) as root:
        ground.enter(Path(root))
        here = _ground(wanted, Path(root))
        about = report.circumstances(here)
        try:
            for row in wanted.rows:
                _measure(row, here, results)
        finally:
            # Also what was measured before somebody lost patience.
            _write(wanted.markdown, report.markdown(about, results))
            if wanted.json:
                _write(wanted.json, json.dumps(report.document(about, results), indent=1) + "\n")
    return 1 if any(isinstance(each, Race) and not each.fair for each in results) else 0


def _ground(wanted: argparse.Namespace, root: Path) -> Ground:
    transports = wanted.transport or (["path"] if wanted.quick else ["path", "http", "ssh"])
    rounds = wanted.rounds or (QUICK_ROUNDS if wanted.quick else 20)
    return Ground(root, rounds, tuple(transports), wanted.delay, wanted.quick)


def _measure(row: str, here: Ground, results: list[Result]) -> None:
    began = time.monotonic()
    try:
        for result in ROWS[row](here):
            results.append(result)
    except pytest.skip.Exception as reason:
        results.append(Skipped(row, str(reason)))
    sys.stderr.write(f"{row}: {time.monotonic() - began:.0f} s\n")


def _write(place: str, text: str) -> None:
    if place == "-":
        sys.stdout.write(text)
    else:
        Path(place).write_text(text, encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=main.__doc__)
    add = parser.add_argument
    add("--rows", type=_some_of(ROWS), default=list(ROWS), metavar="ROW,…", help=f"some of {', '.join(ROWS)}")
    add("--rounds", type=int, metavar="N", help="how often each way is measured; long ones less often (20)")
    add("--transport", type=_some_of(TRANSPORTS), metavar="NAME,…", help="some of path, http, ssh (all), git")
    add("--delay", type=int, default=0, metavar="MS", help="what each connection waits, except over a path")
    add("--json", metavar="FILE", help="every single measurement")
    add("--markdown", default="-", metavar="FILE", help="the report (standard output)")
    add("--quick", action="store_true", help="small, few and over a path only: does the benchmark still work?")
    return parser


def _some_of(known: Collection[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        words = text.split(",")
        if unknown := [word for word in words if word not in known]:
            raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of {', '.join(known)}")
        return words

    return read


if __name__ == "__main__":
    sys.exit(main())
