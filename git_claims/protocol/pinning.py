"""Which issue a pin means: a number, a name, an address, or the words of a title. Ties are listed, never guessed."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from git_claims.errors import Usage
from git_claims.protocol.issue import Issue
from git_claims.protocol.item import Item, Kind, Named, parse
from git_claims.protocol.obstacles import BLOCKED, Because, Cause
from git_claims.protocol.ready import Candidate, Waiting
from git_claims.protocol.served import Place, Served, is_one_repository, without_doubles

# Of difflib's ratio: what is less alike is not meant, and what is this close to the best may be meant as well.
_ALIKE, _AS_GOOD = 0.75, 0.1


class Match(StrEnum):
    """How a pin fits."""

    NAME = "name"
    TITLE = "title"
    WORDS = "words"
    ALIKE = "alike"


@dataclass(frozen=True, slots=True)
class Pinned:
    """The one that is meant. `issue` is None where it is named but not among the open issues that were read."""

    place: Place
    issue: Issue | None
    match: Match


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Several fit equally well; in the order of repository and number."""

    candidates: tuple[Pinned, ...]


class Unfit(StrEnum):
    """Why a pin means nothing that is served."""

    NO_TITLE = "no-title"
    NO_SUCH_ISSUE = "no-such-issue"
    NOT_SERVED = "not-served"
    PULL_REQUEST = "pull-request"


@dataclass(frozen=True, slots=True)
class NoMatch:
    """Nothing fits, and why."""

    why: Unfit


Resolved = Pinned | Ambiguous | NoMatch

# A person who pins an issue may go past these, after a yes; past somebody's being at it never.
_ASKED = BLOCKED | {Cause.WAITING_FOR_HUMAN}


def resolve(pin: str, served: Sequence[Served]) -> Resolved:
    """Finds what a pin means among the open issues served: first as a name, then as a title.

    A key such as `utf-8` that no issue has may be the words of a title; a number never is, because the issue that it
    names may be closed, and a title that happens to contain it is another one.
    """
    repositories = without_doubles(served)
    named = _named(pin)
    if named is None:
        return _by_title(pin, repositories)
    found = _by_name(named, repositories)
    if isinstance(found, NoMatch) and named.repository is None and "-" in named.item.key:
        return _by_title(pin, repositories)
    return found


def to_confirm(entry: Candidate | Waiting) -> tuple[Because, ...]:
    """Returns what has to be answered with a yes before a pinned issue is taken: open blockers, work for a human."""
    if isinstance(entry, Candidate):
        return ()
    return tuple(reason for reason in entry.reasons if reason.cause in _ASKED)


def _named(pin: str) -> Named | None:
    try:
        return parse(pin)
    except Usage:
        return None


def _by_name(named: Named, served: Sequence[Served]) -> Resolved:
    if named.item.kind is Kind.PULL:
        return NoMatch(Unfit.PULL_REQUEST)
    meant = served if named.repository is None else _repositories(named.repository, served)
    if not meant:
        return NoMatch(Unfit.NOT_SERVED)
    found = [_pinned(each, named.item) for each in meant]
    there = [each for each in found if each.issue is not None]
    is_number = "-" not in named.item.key
    if not there and len(found) == 1 and (is_number or named.repository is not None):
        # It may be closed or not ours to see; a read by number says which.
        return found[0]
    return _one(there, Unfit.NO_SUCH_ISSUE)


def _repositories(name: str, served: Sequence[Served]) -> list[Served]:
    """Returns the repositories that a name before `#` means: by the whole name, else by directory or last part."""
    whole = [each for each in served if is_one_repository(each.slug, name)]
    directories = [each for each in served if each.directory and each.directory == name]
    last = [each for each in served if is_one_repository(each.slug.rpartition("/")[2], name)]
    return whole or directories or last


def _pinned(served: Served, item: Item) -> Pinned:
    issue = next((each for each in _open(served) if each.item == item), None)
    return Pinned(Place(served.slug, item), issue, Match.NAME)


def _by_title(pin: str, served: Sequence[Served]) -> Resolved:
    candidates = [(each.slug, issue) for each in served for issue in _open(served=each)]
    for match, fits in _title_rules(pin):
        found = [Pinned(Place(slug, issue.item), issue, match) for slug, issue in candidates if fits(issue.title)]
        if found:
            return _one(found, Unfit.NO_TITLE)
    return _one(_alike(pin, candidates), Unfit.NO_TITLE)


def _title_rules(pin: str) -> Iterator[tuple[Match, Callable[[str], bool]]]:
    folded, words = _folded(pin), _words(pin)
    if folded:
        yield Match.TITLE, lambda title: title == pin
        yield Match.TITLE, lambda title: _folded(title) == folded
    if words:
        yield Match.WORDS, lambda title: words <= _words(title)


def _alike(pin: str, candidates: Sequence[tuple[str, Issue]]) -> list[Pinned]:
    """Returns the issues whose titles are like the pin, none of them clearly more than another."""
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(_folded(pin))
    scores = [(_score(matcher, issue.title), slug, issue) for slug, issue in candidates]
    best = max((score for score, _, _ in scores), default=0.0)
    return [
        Pinned(Place(slug, issue.item), issue, Match.ALIKE)
        for score, slug, issue in scores
        if score >= _ALIKE and score >= best - _AS_GOOD
    ]


def _score(matcher: SequenceMatcher[str], title: str) -> float:
    matcher.set_seq1(_folded(title))
    # The quick ones are upper bounds; of ten thousand titles only a few need the real one.
    if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
        return 0.0
    return matcher.ratio()


def _one(found: Sequence[Pinned], why: Unfit) -> Resolved:
    if not found:
        return NoMatch(why)
    return found[0] if len(found) == 1 else Ambiguous(tuple(found))


def _open(served: Served) -> list[Issue]:
    issues = {issue.item: issue for issue in served.issues if issue.is_open and issue.item.kind is Kind.ISSUE}
    return sorted(issues.values(), key=lambda issue: issue.item.order)


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())


def _words(title: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", title.casefold()))
