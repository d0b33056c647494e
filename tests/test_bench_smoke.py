"""The benchmark is not part of the suite; this keeps it from rotting.

It takes seconds because the benchmark compiles everything it measures into a place of its own first, and the rows
about GitHub wait for it as a real one makes them wait.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents import ROOT
from tests.scenarios.oracle import is_complete


def measure(row: str, report: Path) -> str:
    words = ["--quick", "--rows", row, "--json", str(report)]
    environment = {**os.environ, "TMPDIR": str(report.parent)}
    bench = subprocess.run(
        [sys.executable, "-m", "tests.bench", *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert bench.returncode == 0, bench.stderr
    return bench.stdout


def test_the_benchmark_still_measures(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert "| startup | path | git claim whoami |" in measure("startup", report)
    ways = {each["way"]: each["milliseconds"]["median"] for each in json.loads(report.read_text())["results"]}
    # The product cannot be faster than the interpreter that runs it: what was measured is the product.
    assert ways["git claim -h"] > ways["python -c pass"] > 0


@pytest.mark.skipif(not is_complete(), reason="GIT_CLAIM_CI=1 measures claims on GitHub too")
def test_the_benchmark_still_measures_claims_on_github(tmp_path: Path) -> None:
    said = measure("tracker", tmp_path / "report.json")
    assert "| take, shown | GitHub + 10 ms | git claim take |" in said
    assert "| git claim take | 2 | 2 | 1 |" in said
