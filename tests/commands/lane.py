"""Lanes in tests: how an agent gets into one, and what the shared checkout beside it must look like afterwards."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

from tests.forked import ForkedAgent
from tests.places import Clone, run_git

LANE_FILE = "git-claim-lane.toml"


def inside(agent: ForkedAgent, path: Path | str, chain: str | None = None) -> ForkedAgent:
    """The agent in another worktree of its clone; by default only the lane file says who it is."""
    return ForkedAgent(Clone(Path(path), agent.clone.server, linked=True), chain, agent.environment)


def start(agent: ForkedAgent, *words: str) -> ForkedAgent:
    """Opens a lane, which must succeed, and goes there."""
    return inside(agent, agent.claim("start", *words, check=0).stdout.removesuffix("\n"))


def lane_path(agent: ForkedAgent, name: str = "42-work") -> Path:
    return agent.clone.path / ".worktrees" / name


def lane_of(path: Path) -> dict[str, object]:
    """What the lane file of a worktree says."""
    git_dir = Path(run_git(path, "rev-parse", "--absolute-git-dir").stdout.strip())
    return tomllib.loads((git_dir / LANE_FILE).read_text())


def work(lane: ForkedAgent, subject: str = "work") -> str:
    """A commit with a file in it."""
    (lane.clone.path / f"{subject}.txt").write_text(subject)
    lane.clone.git("add", "--all")
    return lane.clone.commit(subject)


def shared(clone: Clone) -> dict[str, str]:
    """All of a checkout that a command must leave as it was: what is checked out, staged, lying about, fetched."""
    git_dir = clone.path / ".git"
    files = [path for path in clone.path.rglob("*") if path.is_file() and not _is_apart(path.relative_to(clone.path))]
    watched = [*files, git_dir / "HEAD", git_dir / "index", git_dir / "FETCH_HEAD", git_dir / "config"]
    state = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in watched if path.exists()}
    status = clone.git("--no-optional-locks", "status", "--porcelain", "--branch", "--untracked-files=all").stdout
    return state | {"status": status, "main": "".join(clone.refs("refs/heads/main").values())}


def everything(clone: Clone) -> dict[str, str]:
    """The shared checkout, every branch, worktree and file of lanes."""
    listed = clone.git("worktree", "list", "--porcelain").stdout
    lanes = {str(path): path.read_text() for path in clone.path.glob(".worktrees/**/*") if path.is_file()}
    branches = clone.refs("refs/heads/") | clone.refs("refs/remotes/") | clone.refs("refs/tags/")
    return shared(clone) | branches | lanes | {"worktrees": listed}


def _is_apart(path: Path) -> bool:
    return path.parts[0] in {".git", ".worktrees"}
