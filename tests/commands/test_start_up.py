"""Agents call this hundreds of times: what a command loads, and that the layers hold when they are loaded too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents import ROOT, Agent
from tests.places import Server

HEAVY = {"pygit2", "tomli_w", "git_claims.flows.doctor", "git_claims.flows.demo", "git_claims.git.sandbox"}


def loaded_by(agent: Agent, *words: str) -> tuple[int, set[str]]:
    """Runs the product in a fresh interpreter; its exit status and every module it had loaded at its end."""
    code = f"import sys, git_claims.cli.main as m; s = m.main({list(words)!r}); print(s, *sys.modules, file=sys.stderr)"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=agent.clone.path,
        env=agent.full_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    status, *modules = ended.stderr.splitlines()[-1].split()
    return int(status), set(modules)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("-h", 0),
        ("tkae", 2),
        ("whoami", 0),
        ("completion bash", 0),
        ("check 42 --cached", 0),
        ("show 42 --cached", 0),
        ("ls --cached", 0),
        ("ls", 0),
        ("release 43", 0),
    ],
)
def test_command_that_makes_no_claim_loads_nothing_heavy(agent: Agent, server: Server, words: str, status: int) -> None:
    server.plant_claim("issue-42", "chain-agent-1")
    if "--cached" in words:
        agent.claim("ls", check=0)
    ended, modules = loaded_by(agent, *words.split())
    assert ended == status
    assert modules & HEAVY == set()


def test_take_loads_what_it_needs(agent: Agent) -> None:
    # The other side of the promise: if this stops to hold, the tests above prove nothing.
    status, modules = loaded_by(agent, "42")
    assert (status, modules & HEAVY) == (0, {"pygit2"})


def test_help_and_identity_load_little_of_the_standard_library(agent: Agent) -> None:
    _, modules = loaded_by(agent, "whoami")
    assert modules & {"asyncio", "ssl", "http.client", "urllib.request", "email", "logging", "tarfile"} == set()


# The layers

LAYERS = {
    "protocol": {"errors", "protocol"},
    "git": {"errors", "protocol", "git", "child"},
    "tracker": {"errors", "protocol", "tracker", "child"},
    "flows": {"errors", "protocol", "flows"},
}
FOREIGN = {"click", "pygit2", "tomli_w"}


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_loads_nothing_above_or_beside_it(layer: str) -> None:
    files = sorted((ROOT / "git_claims" / layer).glob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files if file.stem != "__init__"]
    code = f"import sys; before = set(sys.modules); import {', '.join(names)}; print(*(set(sys.modules) - before))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = set(ended.stdout.split())
    ours = {module.split(".")[1] for module in modules if module.startswith("git_claims.")}
    assert layer in ours
    assert ours <= LAYERS[layer]
    assert {module.partition(".")[0] for module in modules} & FOREIGN == set()


def test_protocol_starts_no_process_and_opens_no_connection() -> None:
    files = (ROOT / "git_claims/protocol").glob("*.py")
    names = ", ".join(f"git_claims.protocol.{file.stem}" for file in files if file.stem != "__init__")
    code = f"import sys; import {names}; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(ended.stdout.split()) & {"subprocess", "socket", "ssl", "shutil", "tempfile"} == set()


def test_program_is_one_program(agent: Agent, installed: dict[str, str], tmp_path: Path) -> None:
    by_name = subprocess.run(
        ["git-claim", "--version"],
        env=agent.full_environment() | installed,
        capture_output=True,
        text=True,
        check=True,
    )
    assert by_name.stdout == agent.claim("--version").stdout
