"""An agent whose first push waits until it is told to go: things happen between its look and its claim."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.agents import Answer
from tests.forked import ForkedAgent

# Stands in for ssh: says when the first push is about to start, and lets it go when told so.
HELD_BACK = """#!/bin/sh
case $* in
*git-receive-pack*) if rm '{first}' 2>/dev/null; then echo there >'{there}'; read -r _ <'{go}'; fi ;;
esac
exec '{ssh}' "$@"
"""


def between_look_and_claim(agent: ForkedAgent, directory: Path, happening: Callable[[], object], *words: str) -> Answer:
    """Runs a command of an agent on GitHub; what happens, happens when it has read and has not pushed yet."""
    there, go, first, script = (directory / name for name in ("there", "go", "first", "held-back"))
    os.mkfifo(there)
    os.mkfifo(go)
    first.touch()
    script.write_text(HELD_BACK.format(there=there, go=go, first=first, ssh=agent.environment["GIT_SSH_COMMAND"]))
    script.chmod(0o755)
    held_back = ForkedAgent(agent.clone, agent.chain, agent.environment | {"GIT_SSH_COMMAND": str(script)})
    running = held_back.fork(*words)
    there.read_text()
    happening()
    go.write_text("go\n")
    return running.finish()
