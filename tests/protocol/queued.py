"""Queues as plain state: issues by number with what waits for what, in one repository or several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from git_claims.protocol.claim import ChainId, Claim, Oid, Seen
from git_claims.protocol.house import House
from git_claims.protocol.issue import Blocker, Comment, Issue
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.ready import Candidate, Queue, Waiting, queue
from git_claims.protocol.served import Place, Served, Skipped
from tests.protocol.shown import HOUSE, PAGE

HOME = "acme/ledger"


def number(text: int | str) -> Item:
    return Item(Kind.ISSUE, str(text))


def open_(repo: str, *numbers: int) -> tuple[Blocker, ...]:
    return tuple(Blocker(repo, each, True, False) for each in numbers)


def done(repo: str, *numbers: int) -> tuple[Blocker, ...]:
    return tuple(Blocker(repo, each, False, True) for each in numbers)


def issue(
    key: int | str,
    *waits_for: int,
    labels: Iterable[str] = ("ready", "afk"),
    assignees: tuple[str, ...] = (),
    comments: tuple[Comment, ...] = (),
    blockers: tuple[Blocker, ...] = (),
    title: str = "Fix auth",
) -> Issue:
    told = open_(HOME, *waits_for) + blockers
    page = replace(PAGE, item=number(key), labels=frozenset(labels), assignees=assignees, comments=comments)
    return replace(page, blockers=told, title=title)


def held(chain: str, operator: str | None = "octocat") -> Seen:
    return Seen(Oid("1" * 40), Claim(issue="42", chain=ChainId(chain), operator=operator))


def served(
    *issues: Issue,
    slug: str = HOME,
    house: House = HOUSE,
    operator: str | None = "octocat",
    directory: str = "",
    claims: Mapping[int | str, Seen] | None = None,
) -> Served:
    """A repository and who holds what in it."""
    held_by = {number(key): seen for key, seen in (claims or {}).items()}
    return Served(slug, issues, held_by, house, operator, directory=directory)


def ranked(answer: Queue) -> list[str]:
    return [candidate.place.spelling for candidate in answer.ready]


def reasons(answer: Queue, key: int | str = 42, slug: str = HOME) -> list[str]:
    """Why an issue waits, each as `code: detail`; nothing where it is ready."""
    entry = answer.find(Place(slug, number(key)))
    assert entry is not None
    if isinstance(entry, Candidate):
        return []
    return [f"{reason.cause}: {reason.detail}".removesuffix(": ") for reason in entry.reasons]


def waiting(answer: Queue, key: int | str = 42) -> Waiting:
    entry = answer.find(Place(HOME, number(key)))
    assert isinstance(entry, Waiting)
    return entry


def alone(it: Issue, house: House = HOUSE, operator: str | None = "octocat", held_by: Seen | None = None) -> list[str]:
    """Why an issue waits in a queue of its own."""
    claims: dict[int | str, Seen] = {it.item.key: held_by} if held_by else {}
    return reasons(queue([served(it, house=house, operator=operator, claims=claims)]), it.item.key)


def skipped(name: str = "acme/down", why: str = "it did not answer", *, is_empty: bool = False) -> Skipped:
    return Skipped(name, why, is_empty)
