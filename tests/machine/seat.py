"""Agents of the state machine: the product's flows in this process, git real, and a door to the server that shuts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from git_claims.git import remote, repository
from git_claims.git.config import read_git_config
from git_claims.git.copy import Copy
from git_claims.git.process import Git, child_environment
from git_claims.git.store import Store
from git_claims.protocol.claim import ChainId
from git_claims.protocol.item import Item
from tests.places import Clone, Server, make_clone, make_server

DEADLINE_SECONDS = 20.0


@dataclass(slots=True)
class Ground:
    """A server and the door through which everybody reaches it; the oracle looks past the door."""

    root: Path
    server: Server
    door: Path

    @property
    def is_open(self) -> bool:
        return self.door.is_symlink()

    def shut(self) -> None:
        self.door.unlink(missing_ok=True)

    def open(self) -> None:
        if not self.is_open:
            self.door.symlink_to(self.server.path)


def make_ground(root: Path) -> Ground:
    ground = Ground(root, make_server(root), root / "door.git")
    ground.open()
    return ground


@dataclass(slots=True)
class Seat:
    """One agent: its chain lasts, its clone may be lost. `holds` is what its last answers said, as ids."""

    ground: Ground
    name: str
    clock: Callable[[], float]
    holds: dict[Item, str] = field(default_factory=dict)
    _store: Store | None = None

    @property
    def chain(self) -> ChainId:
        return ChainId(f"chain-{self.name}")

    @property
    def clone(self) -> Clone:
        return Clone(self.ground.root / self.name, self.ground.server)

    @property
    def store(self) -> Store:
        """Opened when first used, as a command does; never waits between tries."""
        if self._store is None:
            make_clone(self.ground.server, self.ground.root, self.name, str(self.ground.door))
            found = repository.discover(Git(self.clone.path, child_environment(os.environ), DEADLINE_SECONDS))
            place = remote.choose(found.git, read_git_config(found.git), None)
            copy = Copy(found.common_dir / "git-claim")
            self._store = Store(found, place, "refs/claims", copy, self.clock, lambda _: None, lambda: 0.0)
        return self._store

    def forget(self) -> None:
        """Loses the clone and everything in it."""
        self._store = None
        shutil.rmtree(self.clone.path, ignore_errors=True)
