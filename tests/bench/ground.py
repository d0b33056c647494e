"""Where a benchmark happens: servers that are as a host keeps them, clones, ways to reach them, and who asks."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from tests.agents import ROOT
from tests.bench.measure import Command
from tests.conftest import GIT_CONFIG, hermetic
from tests.places import CLAIMS, Clone, Server, make_clone, make_server, run_git
from tests.proxy import Weather, proxy
from tests.transports import Transport, serve

CHAIN = "chain-bench-1"


@dataclass(frozen=True, slots=True)
class Place:
    """A server, and how its clones reach it."""

    name: str
    root: Path
    server: Server
    transport: Transport

    def clone(self, name: str) -> Clone:
        return make_clone(self.server, self.root, name, self.transport.url)

    def claim(self, clone: Clone, *words: str, status: int = 0) -> Command:
        """The product in that clone, with a chain."""
        return self.command(clone, *program(), *words, status=status)

    def command(self, clone: Clone, *words: str, status: int = 0) -> Command:
        return Command(words, clone.path, {**self.transport.environment, "GIT_CLAIM_CHAIN": CHAIN}, status)

    def forget(self, names: Iterable[str], *clones: Clone) -> None:
        """Takes those claims off the server, where they must be, and out of the copies in the clones."""
        refs = [CLAIMS + name for name in names]
        missing = [ref for ref in refs if not self.has(ref)]
        # A fast command that did nothing is no measurement.
        assert not missing, f"the server does not have {missing}"
        for path in (self.server.path, *(clone.path for clone in clones)):
            run_git(path, "update-ref", "--stdin", stdin="".join(f"delete {ref}\n" for ref in refs).encode())

    def claims(self) -> list[str]:
        return [ref.removeprefix(CLAIMS) for ref in self.server.refs()]

    def has(self, ref: str) -> bool:
        return ref in self.server.refs(ref)


@dataclass(frozen=True, slots=True)
class Ground:
    """What was asked for on the command line, and room for it."""

    root: Path
    rounds: int
    transports: tuple[str, ...]
    delay_ms: int
    quick: bool
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def few(self, most: int) -> int:
        """Rounds for what takes long."""
        return min(self.rounds, most)

    def sizes(self, *sizes: int) -> tuple[int, ...]:
        """The smallest where it has to be quick."""
        return sizes[:1] if self.quick else sizes

    def room(self) -> Path:
        room = self.root / f"room-{next(self._numbers)}"
        room.mkdir()
        return room

    @contextmanager
    def place(self, transport: str) -> Iterator[Place]:
        """A new server, reached by that transport, delayed as asked for; a path cannot be delayed."""
        room = self.room()
        server = _plain(make_server(room))
        with ExitStack() as stack:
            reached = stack.enter_context(serve(transport, server))
            if not self.delay_ms or transport == "path":
                yield Place(transport, room, server, reached)
            else:
                slow = stack.enter_context(_delayed(reached, self.delay_ms / 1000))
                yield Place(f"{transport} + {self.delay_ms} ms", room, server, slow)

    def places(self) -> Iterator[Place]:
        for transport in self.transports:
            with self.place(transport) as place:
                yield place


@functools.cache
def program() -> tuple[str, ...]:
    """The product as people start it, through git; where the script is not installed, as a module."""
    scripts = Path(sys.executable).parent
    if (scripts / "git-claim").exists():
        return ("git", "claim")
    return (sys.executable, "-m", "git_claims")


def enter(root: Path) -> None:
    """Makes this process one that knows nothing of the person at the machine; the product is the checkout's."""
    home = root / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(GIT_CONFIG)
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON") or name == "PYTHONPATH"}
    wanted = {"PYTHONPATH": str(ROOT), **hermetic(kept, home, root)}
    os.environ.clear()
    os.environ.update(wanted)
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # Compiled once, as an installed program is, also where the checkout may not be written to.
    os.environ["PYTHONPYCACHEPREFIX"] = str(root / "compiled")


def fill(server: Server, refs: Mapping[str, str]) -> None:
    """Gives a server many refs, each a commit of its own with the text as a file named `claim`.

    Written as a packed-refs file: git itself takes minutes to write and pack a hundred thousand loose refs.
    """
    scratch, marks = "refs/bench/scratch", server.path / "marks"
    stream = "".join(_commit(scratch, number, text) for number, text in enumerate(refs.values(), start=1))
    run_git(server.path, "fast-import", "--quiet", f"--export-marks={marks}", stdin=f"{stream}done\n".encode())
    oid_of = dict(line.split() for line in marks.read_text().splitlines())
    added = {ref: oid_of[f":{mark}"] for mark, ref in enumerate(refs, start=1)}
    server.git("update-ref", "-d", scratch)
    server.git("pack-refs", "--all")
    _add_packed(server.path / "packed-refs", added)
    assert server.refs("refs/").items() >= added.items()


def _commit(ref: str, mark: int, text: str) -> str:
    subject, date = f"number {mark}", f"{1764500000 + mark} +0000"
    header = f"reset {ref}\ncommit {ref}\nmark :{mark}\ncommitter A Person <person@example.invalid> {date}\n"
    content = f"M 100644 inline claim\ndata {len(text)}\n{text}\n" if text else ""
    return f"{header}data {len(subject)}\n{subject}\n{content}"


def _add_packed(path: Path, refs: Mapping[str, str]) -> None:
    header, *lines = path.read_text().splitlines()
    lines += [f"{oid} {ref}" for ref, oid in refs.items()]
    path.write_text("\n".join([header, *sorted(lines, key=lambda line: line.split(" ", 1)[1])]) + "\n")


def _plain(server: Server) -> Server:
    """Without the transcript that tests keep: it starts a shell for every push."""
    shutil.rmtree(server.path / "hooks")
    return server


@contextmanager
def _delayed(transport: Transport, seconds: float) -> Iterator[Transport]:
    address = urlsplit(transport.url)
    assert address.hostname is not None and address.port is not None
    with proxy(address.hostname, address.port, Weather(delay=seconds)) as slow:
        yield replace(transport, url=transport.url.replace(f":{address.port}", f":{slow.port}", 1))
