"""Start-up: what every command costs before it does anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.bench.ground import Ground
from tests.bench.measure import in_turn
from tests.bench.results import Result, timings
from tests.bench.taking import always

HELP, WHO, PYTHON = "git claim -h", "git claim whoami", "python -c pass"


def startup(ground: Ground) -> Iterator[Result]:
    """`-h` and `whoami` beside an interpreter that does nothing."""
    with ground.place("path") as place:
        clone = place.clone("here")
        commands = {
            HELP: place.claim(clone, "-h"),
            WHO: place.claim(clone, "whoami"),
            PYTHON: place.command(clone, sys.executable, "-c", "pass"),
        }
        spent = in_turn([always(name, command) for name, command in commands.items()], ground.rounds)
        yield from timings("startup", place.name, spent, (HELP, PYTHON), (WHO, PYTHON))
