"""The machine-readable line in a comment: written, read, and weighed. Anybody can comment on a public issue."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from git_claims.protocol.issue import Comment
from git_claims.protocol.text import has_control_characters, printable

_KEY = re.compile(r"(?<!\S)([a-z_]+)=")
_KEY_INSIDE = re.compile(r"\s[a-z_]+=")
_BREAK = re.compile(r"[\t-\r\x1c-\x1f\x85\u2028\u2029]")
# Of text for people: `Vec<String>` and a tag that is closed again are no placeholders.
_PLACEHOLDER = re.compile(r"(?<!\w)<([a-z][a-z0-9 _-]*)>", re.IGNORECASE)
_PLACEHOLDER_IN_FIELD = re.compile(r"<[a-z][a-z0-9 _-]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Marker:
    """A lock that a comment declares. `at` is the server's time of the comment, never what the text says."""

    operator: str
    fields: tuple[tuple[str, str], ...]
    at: datetime
    comment_id: str

    def field(self, name: str) -> str | None:
        """The value of one field; where it stands twice, the first."""
        return _first(self.fields, name)

    def is_of(self, operator: str | None) -> bool:
        """Says whether it is that operator's; upper and lower case are one login."""
        return operator is not None and self.operator.casefold() == operator.casefold()


def write_marker(name: str, fields: Sequence[tuple[str, str | None]]) -> str:
    """Writes a marker; fields without a value are left out. Raises ValueError for one that would break it."""
    for key, value in fields:
        if value is not None:
            check_field(key, value)
    body = " ".join(f"{key}={value}" for key, value in fields if value is not None)
    return f"<!-- {name}: {body} -->"


def check_field(key: str, value: str) -> None:
    """Raises ValueError for a value that would end the marker early, break its line, or was never filled in."""
    if any(each in value for each in ("-->", "--!>", "<!--")) or has_control_characters(value):
        raise ValueError(f"{key} cannot stand in a comment: it would break the marker")
    if (inside := _KEY_INSIDE.search(value)) is not None:
        raise ValueError(f"{key} cannot stand in a comment: '{inside[0].strip()}' in it would read as a field")
    if (found := _PLACEHOLDER_IN_FIELD.search(value)) is not None:
        raise ValueError(f"{key} still contains the placeholder '{found[0]}'")


def placeholder_in(text: str) -> str | None:
    """Returns the first `<placeholder>` in text for people that nobody filled in."""
    closed = text.casefold()
    found = (match for match in _PLACEHOLDER.finditer(text) if f"</{match[1].casefold()}>" not in closed)
    return next((match[0] for match in found), None)


def read_markers(name: str, comment: Comment) -> list[Marker]:
    """Returns the markers of that name in a comment that count: its author may write, or is the operator it names."""
    return [marker for found, marker in _declared(comment) if found == name]


def live_markers(name: str, comments: Sequence[Comment]) -> list[Marker]:
    """Returns each operator's newest lock that it has not released since; the earliest of them first."""
    live: dict[str, Marker] = {}
    # The server counts in seconds; of one second the order is that of the comments, and in a comment that of its text.
    for comment in sorted(comments, key=lambda each: each.created_at):
        for found, marker in _declared(comment):
            if found in {name, f"{name}-released"}:
                live.pop(marker.operator.casefold(), None)
            if found == name:
                live[marker.operator.casefold()] = marker
    return list(live.values())


def _declared(comment: Comment) -> Iterator[tuple[str, Marker]]:
    author = (comment.author or "").casefold()
    for name, body in _bodies(comment.body):
        fields = _fields(printable(_BREAK.sub(" ", body)))
        # By hand people write `octocat` and @octocat.
        operator = (_first(fields, "operator") or "").strip("`").removeprefix("@")
        if operator and (comment.may_write or operator.casefold() == author):
            yield name, Marker(operator, fields, comment.created_at, comment.id)


def _bodies(text: str) -> Iterator[tuple[str, str]]:
    """Yields name and fields of each marker. Plain splitting: a pattern that backtracks hangs on 64 KiB of spaces."""
    # An answer by mail quotes what it answers; only its own text declares anything.
    own = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(">"))
    for piece in own.split("<!--")[1:]:
        body, closed, _ = piece.partition("-->")
        name, colon, fields = body.partition(":")
        if closed and colon:
            yield name.strip(), fields


def _fields(body: str) -> tuple[tuple[str, str], ...]:
    """Reads `key=value key=value`; a value goes on, spaces and all, until the next key."""
    found = list(_KEY.finditer(body))
    ends = [*(match.start() for match in found), len(body)][1:]
    return tuple((match[1], body[match.end() : end].strip()) for match, end in zip(found, ends, strict=True))


def _first(fields: Sequence[tuple[str, str]], name: str) -> str | None:
    return next((value for key, value in fields if key == name), None)
