"""Which issue another one is a part of, as its text says: the section `## Parent`. Pure."""

import re

from git_claims.protocol.comments import sign_of, stands
from git_claims.protocol.house import House
from git_claims.protocol.issue import Edit, Issue
from git_claims.protocol.item import Item, Kind, is_item, parse

_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$")
_WORD = re.compile(r"[^\s()\[\]<>,;]+")


def parent_in(body: str, repo: str) -> Item | None:
    """Returns the issue of `repo` that the section names first; None where there is no such section or issue."""
    for word in _words_of_section(body):
        if not is_item(word) or not _is_reference(word):
            continue
        named = parse(word)
        is_here = named.repository is None or named.repository.casefold() == repo.casefold()
        return named.item if is_here and named.item.kind is Kind.ISSUE else None
    return None


def on_last_part(page: Issue, parent: Item, last: Item, house: House) -> Edit:
    """The edit of a parent whose last part was delivered: it is closed, and a comment says by what."""
    sign = sign_of(f"last-part-{last.name}")
    said = f"All of its parts are delivered; the last was #{last.spelling}."
    comment = None if stands(page, sign) else f"{said}\n\n<!-- {house.marker}-parent: {sign}"
    return Edit(parent, comment=comment, comment_nonce=sign, close=page.is_open)


def _is_reference(word: str) -> bool:
    # A bare number in a sentence is no reference; GitHub links it only behind a number sign.
    return "#" in word or word.startswith("http") or not word.isdecimal()


def _words_of_section(body: str) -> list[str]:
    words: list[str] = []
    inside = fenced = False
    for line in body.splitlines():
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else _HEADING.match(line)
        if heading is not None:
            inside = heading[1].casefold() == "parent"
        elif inside and not fenced:
            words += [word.rstrip(".:") for word in _WORD.findall(line)]
    return words
