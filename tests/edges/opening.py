"""Opens the edges in a place the way the command line does, with a clock that nobody waits for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from git_claims.git import config, remote, repository
from git_claims.git.config import Settings
from git_claims.git.copy import Copy
from git_claims.git.process import Git, child_environment
from git_claims.git.remote import Remote
from git_claims.git.repository import Repository
from git_claims.git.store import Store
from git_claims.protocol.claim import ChainId, Seen
from git_claims.protocol.item import Item, parse
from git_claims.protocol.settlement import Applied, Settled
from git_claims.protocol.transition import Asker, Decision, Swap, reclaim, release, renew, take
from tests.agents import Crasher
from tests.places import Clone, Server, make_clone

DEADLINE_SECONDS = 30.0
Shape = Callable[[Server, Path], Clone]


def open_git(directory: Path, **environment: str) -> Git:
    return Git(directory, child_environment({**os.environ, **environment}), DEADLINE_SECONDS)


def open_repository(directory: Path, **environment: str) -> Repository:
    return repository.discover(open_git(directory, **environment))


def open_settings(directory: Path, **environment: str) -> Settings:
    found = open_repository(directory, **environment)
    return config.read_settings(found, config.read_git_config(found.git))


def open_remote(directory: Path, name: str | None = None, **environment: str) -> Remote:
    found = open_repository(directory, **environment)
    return remote.choose(found.git, config.read_git_config(found.git), name)


@dataclass
class Opened:
    """A store in a place; the deadline is the remote's, `pauses` are the seconds it wanted to wait for."""

    directory: Path
    namespace: str = "refs/claims"
    remote_name: str | None = None
    deadline_seconds: float = DEADLINE_SECONDS
    environment: dict[str, str] = field(default_factory=dict)
    pauses: list[float] = field(default_factory=list)

    @cached_property
    def store(self) -> Store:
        found = open_repository(self.directory, **self.environment)
        chosen = remote.choose(found.git, config.read_git_config(found.git), self.remote_name)
        chosen = replace(chosen, git=chosen.git.within(self.deadline_seconds))
        copy = Copy(found.common_dir / "git-claim")
        return Store(found, chosen, self.namespace, copy, time.time, self.pauses.append, lambda: 0.5)

    def reopen(self, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        """What configuration says now counts."""
        self.deadline_seconds = deadline_seconds
        self.__dict__.pop("store", None)

    def take(self, *names: str, chain: str = "chain-me", atomic: bool = False) -> dict[str, Settled]:
        """Pushes claims for items that it takes for free, and says what became of each."""
        asker = make_asker(chain)
        return self._swap([take(item(name), None, asker) for name in names], atomic)

    def renew(self, name: str, seen: Seen, chain: str = "chain-me") -> Settled:
        return self._swap([renew(item(name), seen, make_asker(chain))])[item(name).name]

    def release(self, name: str, seen: Seen, chain: str = "chain-me") -> Settled:
        return self._swap([release(item(name), seen, ChainId(chain))])[item(name).name]

    def reclaim(self, name: str, seen: Seen) -> Settled:
        return self._swap([reclaim(item(name), seen, seen.oid)])[item(name).name]

    def _swap(self, decisions: list[Decision], atomic: bool = False) -> dict[str, Settled]:
        swaps = [each for each in decisions if isinstance(each, Swap)]
        assert len(swaps) == len(decisions), decisions
        return {each.name: state for each, state in self.store.swap(swaps, atomic=atomic).items()}

    def read(self, name: str) -> Seen | None:
        return self.store.read([item(name)])[item(name)]

    def chains(self) -> dict[str, str | None]:
        """Who holds what, read from the remote."""
        return chains(self.store.read_all().claims)

    def cached_chains(self) -> dict[str, str | None]:
        return chains(self.store.cached().claims)


def item(text: str) -> Item:
    return parse(text).item


def make_asker(chain: str) -> Asker:
    """A new command: with a nonce that no other has."""
    return Asker(chain=ChainId(chain), nonce=os.urandom(16).hex(), now="2026-11-30T13:06:00Z", repo="acme/ledger")


def chains(claims: dict[Item, Seen]) -> dict[str, str | None]:
    return {each.name: seen.claim.chain if seen.claim else None for each, seen in claims.items()}


def won(state: Settled) -> Seen:
    """The claim of a swap that must have been applied."""
    assert isinstance(state, Applied) and state.seen is not None, state
    return state.seen


def configured(key: str, value: str, *options: str) -> Shape:
    """A clone with an extension; pygit2 refuses the ones it does not know."""

    def make(server: Server, root: Path) -> Clone:
        clone = make_clone(server, root, "shaped", None, *(options or ("--quiet",)))
        clone.config("core.repositoryFormatVersion", "1")
        clone.config(key, value)
        return clone

    return make


def built_by_git(crasher: Crasher) -> bool:
    """Says whether the last run left the building of objects to git."""
    return any("commit-tree" in words for words in crasher.arguments())
