"""The gate beside the real husky, lefthook and pre-commit, with a hook that was there before.

They are used where they are on PATH. With GIT_CLAIM_CI=1 they are fetched, with npm and pip, into a directory of
the tests; where that fails, since there is no network, these tests are skipped and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.agents import ROOT, Answer
from tests.forked import ForkedAgent
from tests.places import Server

LINE = 'git claim hook pre-push "$@"'
FETCH_SECONDS = 300
LOCAL = """\
repos:
  - repo: local
    hooks:
      - id: git-claim
        name: claimed
        entry: git-claim hook pre-push
        language: system
        stages: [pre-push]
        always_run: true
        pass_filenames: false
"""
PACKAGED = """\
repos:
  - repo: {root}
    rev: {revision}
    hooks:
      - id: git-claim
"""


def fetched(programs: Sequence[str], place: Path, *commands: Sequence[str]) -> str:
    """Where the programs are: nowhere special, or fetched into the place; skips where they cannot be had."""
    if all(map(shutil.which, programs)):
        return os.environ["PATH"]
    if os.environ.get("GIT_CLAIM_CI") != "1":
        pytest.skip(f"needs {', '.join(programs)} on PATH, or GIT_CLAIM_CI=1 to fetch them")
    for command in commands:
        try:
            subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=FETCH_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"cannot fetch {', '.join(programs)}: {error}")
    return f"{place / 'node_modules/.bin'}:{place / 'venv/bin'}:{os.environ['PATH']}"


# Before the environment of a test is made: package managers may need the person's own settings.
@pytest.fixture(scope="session")
def node_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("node")
    install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), "husky@9", "lefthook@2"]
    return fetched(["husky", "lefthook"], place, install)


@pytest.fixture(scope="session")
def python_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("python")
    venv = [sys.executable, "-m", "venv", "venv"]
    return fetched(["pre-commit"], place, venv, ["venv/bin/pip", "install", "--quiet", "pre-commit"])


def run(agent: ForkedAgent, *command: str) -> Answer:
    environment = agent.full_environment()
    done = subprocess.run(command, cwd=agent.clone.path, env=environment, capture_output=True, text=True, timeout=300)
    return Answer(done.returncode, done.stdout, done.stderr)


def push(agent: ForkedAgent, *branches: str) -> Answer:
    return run(agent, "git", "push", "origin", *(f"HEAD:refs/heads/{branch}" for branch in branches))


def arrived(server: Server) -> set[str]:
    return {ref.removeprefix("refs/heads/") for ref in server.refs("refs/heads/")} - {"main"}


def on_path(agent: ForkedAgent, path: str) -> ForkedAgent:
    first = agent.environment["PATH"].partition(":")[0]
    agent.environment["PATH"] = f"{first}:{path}"
    return agent


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def before(agent: ForkedAgent) -> None:
    """A pre-push hook that is there already, and says when it runs and what it hears."""
    write(agent.clone.path / ".git/hooks/pre-push", "#!/bin/sh\necho before >&2\nsed 's/^/heard /' >&2\n")


def assert_gate(agent: ForkedAgent, server: Server) -> None:
    """What is not claimed is refused, whatever else is pushed; what is claimed, or names nothing, arrives."""
    refused = push(agent, "42-x")
    assert (refused.status, arrived(server)) == (1, set()), refused
    assert "branch '42-x' is not pushed: issue 'server#42' is not claimed" in refused.stdout + refused.stderr
    assert push(agent, "wip").status == 0
    agent.claim("42", check=0)
    assert (push(agent, "42-x").status, arrived(server)) == (0, {"42-x", "wip"})
    several = push(agent, "42-y", "wip-2", "43-x")
    assert (several.status, arrived(server)) == (1, {"42-x", "wip"}), several


# Over 3 s, as all of these: every push starts a manager, and that starts Python.
def test_husky_runs_the_documented_line(named: ForkedAgent, node_path: str, server: Server) -> None:
    agent = on_path(named, node_path)
    write(agent.clone.path / "package.json", '{"name": "x", "version": "1.0.0", "private": true}')
    assert run(agent, "husky").status == 0
    write(agent.clone.path / ".husky/pre-push", f"echo checks >&2\n{LINE}\n")
    assert_gate(agent, server)
    assert push(agent, "wip-3").stderr.count("checks") == 1
    told = agent.claim("hook", "install")
    assert (told.status, told.stderr.endswith(f"'{agent.clone.path}/.husky/pre-push': {LINE}\n")) == (128, True)


def test_lefthook_runs_the_documented_script(named: ForkedAgent, node_path: str, server: Server) -> None:
    agent = on_path(named, node_path)
    before(agent)
    # Not a `run`: those are left out where lefthook finds no files in what is pushed.
    write(
        agent.clone.path / "lefthook.yml", "pre-push:\n  jobs:\n    - {script: claimed, runner: sh, use_stdin: true}\n"
    )
    write(agent.clone.path / ".lefthook/pre-push/claimed", f"{LINE}\n")
    assert run(agent, "lefthook", "install").status == 0
    assert_gate(agent, server)


def test_hook_installed_over_lefthook_judges_and_runs_it(named: ForkedAgent, node_path: str, server: Server) -> None:
    agent = on_path(named, node_path)
    write(agent.clone.path / "lefthook.yml", "pre-push:\n  jobs:\n    - {script: checks, runner: sh}\n")
    write(agent.clone.path / ".lefthook/pre-push/checks", "echo checks >&2\n")
    assert run(agent, "lefthook", "install").status == 0
    agent.claim("hook", "install", check=0)
    assert_gate(agent, server)
    answer = push(agent, "wip-3")
    assert (answer.stdout + answer.stderr).count("checks\n") == 1
    assert agent.claim("hook", "status").status == 0


def test_pre_commit_runs_the_hook_for_new_commits(named: ForkedAgent, python_path: str, server: Server) -> None:
    agent = on_path(named, python_path)
    before(agent)
    write(agent.clone.path / ".pre-commit-config.yaml", LOCAL)
    assert run(agent, "pre-commit", "install", "--hook-type", "pre-push").status == 0
    agent.clone.commit("work")
    refused = push(agent, "42-x")
    assert (refused.status, arrived(server)) == (1, set()), refused
    assert "branch '42-x' is not pushed: issue 'server#42' is not claimed" in refused.stdout
    assert refused.stderr.count("before\n") == 1
    assert push(agent, "wip").status == 0
    # Why it is not enough by itself: what brings no commit of its own is shown to no hook of pre-commit.
    assert (push(agent, "43-x").status, arrived(server)) == (0, {"wip", "43-x"})


@pytest.mark.parametrize("order", ["ours first", "ours last", "ours first and last"])
def test_hook_beside_pre_commit_judges_everything(
    named: ForkedAgent, python_path: str, server: Server, order: str
) -> None:
    agent = on_path(named, python_path)
    if order != "ours first and last":
        before(agent)
    write(agent.clone.path / ".pre-commit-config.yaml", LOCAL)
    if order.startswith("ours first"):
        agent.claim("hook", "install", check=0)
    assert run(agent, "pre-commit", "install", "--hook-type", "pre-push").status == 0
    if order.endswith("last"):
        agent.claim("hook", "install", check=0)
    assert_gate(agent, server)
    agent.clone.commit("work")
    agent.claim("7", check=0)
    answer = push(agent, "7-x")
    assert (answer.status, "claimed" in answer.stdout + answer.stderr) == (0, True), answer
    assert (answer.stdout + answer.stderr).count("before\n") == (0 if order == "ours first and last" else 1)


def test_pre_commit_builds_the_hook_that_this_repository_offers(
    named: ForkedAgent, python_path: str, server: Server
) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a checkout of this repository")
    if os.environ.get("GIT_CLAIM_CI") != "1":
        pytest.skip("builds the package with pip: set GIT_CLAIM_CI=1")
    agent = on_path(named, python_path)
    # What is built is the program here, not the one on PATH.
    agent.environment["PATH"] = python_path
    revision = run(agent, "git", "-C", str(ROOT), "rev-parse", "HEAD").stdout.strip()
    write(agent.clone.path / ".pre-commit-config.yaml", PACKAGED.format(root=ROOT, revision=revision))
    assert run(agent, "pre-commit", "install", "--hook-type", "pre-push").status == 0
    built = run(agent, "pre-commit", "install-hooks")
    if built.status:
        pytest.skip(f"cannot build the hook: {built.stdout[-300:]}")
    agent.clone.commit("work")
    assert (push(agent, "42-x").status, push(agent, "wip").status, arrived(server)) == (1, 0, {"wip"})
