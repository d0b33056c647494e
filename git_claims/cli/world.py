"""The edges of one command, opened when first used: git, settings, remote, store, and which chain we are.

Only this package reads the clock, randomness, the environment and the working directory.
"""

import os
import shlex
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import click

from git_claims.cli import words
from git_claims.cli.render import Talk
from git_claims.errors import NoChain, NoRepository, TrackerError, Usage
from git_claims.flows.board import Board
from git_claims.git import config, remote, repository
from git_claims.git.config import GitConfig, Settings
from git_claims.git.copy import Copy
from git_claims.git.lane_file import Lane, read_lane, write_lane
from git_claims.git.process import Git, child_environment
from git_claims.git.remote import Remote
from git_claims.git.repository import Repository
from git_claims.git.store import Store
from git_claims.git.worktree import Workspace, workspace
from git_claims.protocol.claim import ChainId, check_chain
from git_claims.protocol.item import Item, Named
from git_claims.protocol.text import has_control_characters, printable, stamp
from git_claims.protocol.transition import Asker
from git_claims.tracker.model import Tracker

CHAIN_VARIABLE = "GIT_CLAIM_CHAIN"
# Outside of any clone, a file of this name lists those that are served.
LIST = ".agent-repos"
# Discovery and reading git config touch no network; something is broken if they take this long.
_LOCAL_DEADLINE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Identity:
    """The chain in force, and where it came from."""

    chain: ChainId
    source: str


class World:
    """Everything outside that a command may need. Nothing is opened before it is asked for."""

    def __init__(self, directory: Path, talk: Talk, chain: str | None, remote_name: str | None) -> None:
        self.directory = directory
        self.talk = talk
        self._chain = chain
        self._remote_name = remote_name
        self.chain_is_new = False
        self.is_listed = False
        self._name: str | None = None
        # One command is one chain, also where it asks in several clones.
        self._minted: list[ChainId] = []

    def elsewhere(self, directory: Path, name: str) -> "World":
        """The same command's world of another clone, which a list calls `name`."""
        world = World(directory, self.talk.of_clone(name), self._chain, self._remote_name)
        world.is_listed, world._name, world._minted = True, name, self._minted
        return world

    def of_chain(self, chain: ChainId) -> "World":
        """The same command's world, with a chain that nobody has to look for any more."""
        return World(self.directory, self.talk, chain, self._remote_name)

    @property
    def name(self) -> str:
        """What a list calls the clone; where there is none, what its remote is called."""
        return self._name or self.repo

    @cached_property
    def git(self) -> Git:
        if not self.directory.is_dir():
            raise Usage(f"'{printable(str(self.directory))}' is not a directory")
        return Git(self.directory, child_environment(os.environ), _LOCAL_DEADLINE_SECONDS)

    @cached_property
    def repository(self) -> Repository:
        try:
            return repository.discover(self.git)
        except NoRepository as error:
            if (self.directory / LIST).is_file():
                error.hint = f"this serves one clone: repeat it with -C and one of those that {LIST} lists"
            raise

    @cached_property
    def git_config(self) -> GitConfig:
        return config.read_git_config(self.repository.git)

    @cached_property
    def settings(self) -> Settings:
        settings = config.read_settings(self.repository, self.git_config)
        for warning in settings.warnings:
            self.talk.warn(warning)
        return settings

    @cached_property
    def remote(self) -> Remote:
        git = self.repository.git.within(self.settings.deadline_seconds)
        return remote.choose(git, self.git_config, self._remote_name or self.settings.remote)

    @cached_property
    def store(self) -> Store:
        copy = Copy(self.repository.common_dir / "git-claim")
        namespace = self.settings.namespace
        return Store(self.repository, self.remote, namespace, copy, time.time, time.sleep, jitter)

    @cached_property
    def tracker(self) -> Tracker:
        from git_claims.cli.trackers import find_tracker

        return find_tracker(self)

    def board(self, *, even_hitl: bool = False) -> Board:
        """The tracker, and what this repository wants shown on it."""
        settings = self.settings
        return Board(
            self.tracker,
            settings.house,
            mandatory=settings.tracker == "github",
            required=settings.signals_required,
            even_hitl=even_hitl,
        )

    @cached_property
    def lane(self) -> Lane | None:
        # The main worktree, where many stand at once, never has one.
        return read_lane(self.repository.git_dir) if self.repository.linked else None

    def keep_lane(self, lane: Lane) -> None:
        """Writes the lane file of the linked worktree we stand in; does nothing anywhere else."""
        if self.repository.linked:
            write_lane(self.repository.git_dir, lane)
            self.lane = lane

    @cached_property
    def workspace(self) -> Workspace:
        return workspace(self.repository, self.remote, self.settings.worktree_dir)

    @cached_property
    def repo(self) -> str:
        """What a record calls the repository served."""
        return remote.slug(self.remote.url)

    @property
    def now(self) -> datetime:
        # With the local zone: people read times of day in it; records are written in UTC by `stamp`.
        return datetime.now().astimezone()

    def identity(self) -> Identity | None:
        """Returns the chain in force; None where nobody said which."""
        if self._chain is not None:
            return Identity(_chain("--chain", self._chain), "--chain")
        if value := os.environ.get(CHAIN_VARIABLE):
            return Identity(_chain(CHAIN_VARIABLE, value), f"environment variable {CHAIN_VARIABLE}")
        if self.lane is not None:
            return Identity(self.lane.chain, "lane file of this worktree")
        if self.settings.chain is not None:
            return Identity(ChainId(self.settings.chain), f"git config claim.chain ({self.settings.chain_scope})")
        return None

    @property
    def chain_option(self) -> str:
        """What a command that follows must repeat of this one's chain."""
        return "" if self._chain is None else f" --chain {shlex.quote(self._chain)}"

    def chain_or_none(self) -> ChainId | None:
        found = self.identity()
        return found.chain if found else None

    def chain_or_minted(self) -> ChainId:
        """Returns the chain in force, or a new one: said, and kept where it can be, before anything is pushed."""
        if (found := self.identity()) is not None:
            return found.chain
        if self._minted:
            return self._minted[0]
        chain, self.chain_is_new = minted(), True
        self._minted.append(chain)
        if self.repository.linked:
            self.keep_lane(Lane(chain))
            self.talk.say(f"chain {chain} (new, kept in this worktree)")
        else:
            # Whoever is not told it can never renew or release the claim.
            self.talk.insist(f"chain {chain} (new; keep it with: export {CHAIN_VARIABLE}={chain})")
        return chain

    def chain_of_holder(self, items: list[Item]) -> ChainId:
        """Returns the chain in force; without one, raises NoChain naming who holds the items."""
        if (found := self.identity()) is not None:
            return found.chain
        found_claims = self.store.read(items).items()
        held = [words.holding(item, self.repo, seen, self.now) for item, seen in found_claims]
        raise NoChain(
            "no chain is in force here" + "".join(f"; {line}" for line in held),
            f"say which chain asks with --chain CHAIN or {CHAIN_VARIABLE}",
        )

    def asker(self, chain: ChainId, *, named: bool = True, **wishes: str | None) -> Asker:
        """Returns who asks. `named`: with the login in force, which costs a request where nothing was read before."""
        place = wishes.pop("worktree", None) or str(self.repository.top or "")
        return Asker(
            chain=chain,
            nonce=os.urandom(16).hex(),
            now=stamp(self.now),
            repo=self.repo,
            host=os.uname().nodename,
            operator=self.operator() if named else None,
            # A directory whose name could not stand in a record is not worth failing a claim for.
            worktree=place if place and not has_control_characters(place) else None,
            **wishes,
        )

    def operator(self) -> str | None:
        """The login in force; None where nobody is logged in, which is no reason to stop."""
        try:
            return self.tracker.operator()
        except TrackerError as error:
            if self.settings.tracker == "github" or not error.is_unusable:
                raise
            return None

    def item(self, named: Named) -> Item:
        """Returns the item; raises Usage where what stood before `#` is another repository."""
        here = (self.repository.top or self.repository.common_dir).name
        if named.repository is not None and not remote.is_called(named.repository, self.remote.url, here):
            raise Usage(
                f"'{printable(named.repository)}' is not the repository served here, which is '{self.repo}'",
                "run the command in a clone of that repository",
            )
        return named.item

    def items_or_lane(self, named: tuple[Named, ...], *, given_up: bool = False) -> list[Item]:
        """Returns the items asked for, or inside a lane those of the lane.

        `given_up`: where a lane has none left, those it gave up, so that giving up may be repeated like all else.
        """
        if named:
            return list(dict.fromkeys(self.item(each) for each in named))
        lane_items = (self.lane.items or (self.lane.released if given_up else ())) if self.lane else ()
        if not lane_items:
            command = click.get_current_context().command_path
            raise Usage(
                "which item? Only a lane, a linked worktree with a claim, knows its own",
                f"name it, as in '{command} 42'",
            )
        return list(lane_items)

    def item_or_lane(self, named: Named | None, *, given_up: bool = False) -> Item:
        """Returns the item asked for, or inside a lane with one item that one."""
        items = self.items_or_lane(() if named is None else (named,), given_up=given_up)
        if len(items) > 1:
            listed = ", ".join(item.spelling for item in items)
            command = click.get_current_context().command_path
            raise Usage(f"this lane has several items: {listed}", f"name one, as in '{command} {items[0].spelling}'")
        return items[0]

    def at_terminal(self) -> bool:
        return sys.stdin.isatty() and sys.stderr.isatty()

    def ask(self, question: str) -> str:
        """Asks a person; an end of input is an empty answer."""
        try:
            return str(click.prompt(question, default="", show_default=False, err=True)).strip()
        except click.Abort:
            raise KeyboardInterrupt from None


def jitter() -> float:
    """Returns a number in [0, 1) for back-off. Loading `random` for it would cost every start 4 to 5 ms."""
    return int.from_bytes(os.urandom(4)) / 2**32


def minted() -> ChainId:
    """Makes a new chain id: host, nanoseconds and 32 random bits, never derived again from anything."""
    host = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in os.uname().nodename)
    return ChainId(f"chain-{host.strip('-') or 'host'}-{time.time_ns()}-{os.urandom(4).hex()}")


def _chain(source: str, text: str) -> ChainId:
    try:
        return check_chain(text)
    except ValueError as error:
        raise Usage(f"{source}: {error}") from error
