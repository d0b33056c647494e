"""Which issue another one is a part of, as its text says (the section `## Parent`), and when a parent is done. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping

from git_claims.protocol.comments import sign_of, stands
from git_claims.protocol.house import House
from git_claims.protocol.issue import Edit, Issue
from git_claims.protocol.item import Item, Kind, is_item, parse
from git_claims.protocol.pull import Family

_HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)")
_REMARK = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_WORD = re.compile(r"[^\s()\[\]<>,;*`\"]+")


def parent_in(body: str, repo: str) -> Item | None:
    """Returns the issue of `repo` that the section names first; None where there is no such section or issue."""
    for word in _words_of_section(body):
        # A bare number in a sentence is no reference; GitHub links it only behind a number sign.
        if word.isdecimal() or not is_item(word):
            continue
        named = parse(word)
        if not named.item.key.isdecimal():
            continue
        is_here = named.repository is None or named.repository.casefold() == repo.casefold()
        return named.item if is_here and named.item.kind is Kind.ISSUE else None
    return None


def linked_parent(family: Family | None, repo: str) -> Item | None:
    """Returns the parent that the tracker links, where it is an issue of this repository."""
    parent = family.parent if family is not None else None
    if parent is None or parent.repo.casefold() != repo.casefold():
        return None
    return Item(Kind.ISSUE, str(parent.number))


def has_open_children(family: Family | None, repo: str, delivered: Iterable[Item]) -> bool:
    """Says whether a child that the tracker links is open beside those delivered; what was not read may be."""
    if family is None:
        return True
    done = {item.key for item in delivered}
    here = repo.casefold()
    is_left = [
        child.is_open and not (child.repo.casefold() == here and str(child.number) in done) for child in family.children
    ]
    # A server that knows no children is no reason never to close a parent; a list that was cut short is one.
    return any(is_left) or (bool(family.children) and not family.complete)


def open_parts(bodies: Mapping[Item, str], parent: Item, repo: str, delivered: Iterable[Item]) -> list[Item]:
    """Returns the issues whose text names the parent, those delivered left out."""
    done = {*delivered, parent}
    return [item for item, body in bodies.items() if item not in done and parent_in(body, repo) == parent]


def on_last_part(page: Issue, parent: Item, last: Item, house: House) -> Edit:
    """The edit of a parent whose last part was delivered: it is closed, and a comment says by what."""
    sign = sign_of(f"last-part-{last.name}")
    said = f"All of its parts are delivered; the last was #{last.spelling}."
    comment = None if stands(page, sign) else f"{said}\n\n<!-- {house.marker}-parent: {sign}"
    return Edit(parent, comment=comment, comment_nonce=sign, close=page.is_open)


def _words_of_section(body: str) -> Iterator[str]:
    inside = fenced = False
    for line in _REMARK.sub(" ", body).splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            continue
        heading = None if fenced else _HEADING.match(line)
        if heading is not None:
            inside = heading[1].rstrip(":").casefold() == "parent"
        elif inside and not fenced:
            yield from (word.rstrip(".:!?") for word in _WORD.findall(line))
