"""The benchmark is not part of the suite; this keeps it from rotting.

It takes seconds because the benchmark compiles everything it measures into a place of its own first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.agents import ROOT


def test_the_benchmark_still_measures(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    words = ["--quick", "--rows", "startup", "--json", str(report)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    bench = subprocess.run(
        [sys.executable, "-m", "tests.bench", *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )

    assert bench.returncode == 0, bench.stderr
    assert "| startup | path | git claim whoami |" in bench.stdout
    ways = {each["way"]: each["milliseconds"]["median"] for each in json.loads(report.read_text())["results"]}
    # The product cannot be faster than the interpreter that runs it: what was measured is the product.
    assert ways["git claim -h"] > ways["python -c pass"] > 0
