"""The terminal session in the README: really run, on the double. `python -m tests.picture` prints it.

What differs from run to run, ids and paths, is written as a reader would see it somewhere; all else stands as printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.github_double import GitHub
from tests.places import PERSON, make_clone

WORKER = """#!/bin/sh
set -e
# Talk and data in one stream, so that the picture is the same every time.
exec 2>&1
echo "done" >"part-$GIT_CLAIM_ITEM"
git add . && git {person} commit --quiet -m "Work on #$GIT_CLAIM_ITEM"
url=$(git claim pr)
git claim land --without-checks
git claim report merged --pr "${{url##*/}}"
"""
SESSION = (
    "git claim ready",
    "git claim run --budget 2 -- ../worker.sh",
    "git claim ready",
)
_COLUMNS = 112


def picture() -> Iterator[str]:
    """Yields the lines of the session."""
    with tempfile.TemporaryDirectory(prefix="gh-") as directory:
        root = Path(directory)
        (root / "github").mkdir()
        with GitHub(root / "github", root).running() as github:
            environment = _ground(github, root)
            for command in SESSION:
                yield f"$ {command}"
                done = subprocess.run(
                    ["sh", "-c", f"{command} 2>&1"],
                    cwd=root / "ledger",
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                yield from (_as_shown(line, root) for line in done.stdout.splitlines())


def _ground(github: GitHub, root: Path) -> dict[str, str]:
    """A repository with a small queue, a clone of it, a worker beside it; returns the environment of a runner there."""
    make_clone(github.server, root, "ledger")
    (root / "worker.sh").write_text(WORKER.format(person=" ".join(f"'{word}'" for word in PERSON)))
    (root / "worker.sh").chmod(0o755)
    github.add_issue(40, "Totals differ from the ledger", labels=["ready", "afk"])
    github.add_issue(41, "Show totals in the report", labels=["ready", "afk"], blocked_by=[40])
    github.add_issue(42, "Send the report by mail", labels=["ready", "afk"], blocked_by=[41, 43])
    github.add_issue(43, "Choose who gets the mail", labels=["ready", "hitl"])
    programs = Path(sys.executable).parent
    own = {"PATH": f"{programs}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(root / "cache"), "HOME": str(root)}
    return {**os.environ, **github.environment("octo"), **own, "GIT_CLAIM_CHAIN": "chain-blade-1"}


def _as_shown(line: str, root: Path) -> str:
    line = line.replace(str(root), "~").replace(os.path.realpath(root), "~")
    line = re.sub(r" as [0-9a-f]{12}$", " as 3f2a90c1b7de", line)
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…"


if __name__ == "__main__":
    sys.stdout.writelines(f"    {line}\n" for line in picture())
