"""The machine-readable line in a comment: written, read, and weighed. Anybody can comment on a public issue."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from git_claims.protocol.issue import Comment
from git_claims.protocol.text import has_control_characters

_FIELD = re.compile(r"([a-z_]+)=(.*?)(?=\s+[a-z_]+=|\s*$)")
_PLACEHOLDER = re.compile(r"<[a-z][a-z0-9 _-]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Marker:
    """A lock that a comment declares. `at` is the server's time of the comment, never what the text says."""

    operator: str
    fields: tuple[tuple[str, str], ...]
    at: datetime
    comment_id: str

    def field(self, name: str) -> str | None:
        """The value of one field."""
        return dict(self.fields).get(name)


def write_marker(name: str, fields: Sequence[tuple[str, str | None]]) -> str:
    """Writes a marker; fields without a value are left out. Raises ValueError for one that would break it."""
    for key, value in fields:
        if value is not None:
            check_field(key, value)
    body = " ".join(f"{key}={value}" for key, value in fields if value is not None)
    return f"<!-- {name}: {body} -->"


def check_field(key: str, value: str) -> None:
    """Raises ValueError for a value that would end the marker early, break its line, or was never filled in."""
    if "-->" in value or "<!--" in value or has_control_characters(value):
        raise ValueError(f"{key} cannot stand in a comment: it would break the marker")
    if _PLACEHOLDER.fullmatch(value):
        raise ValueError(f"{key} is still the placeholder '{value}'")


def read_markers(name: str, comment: Comment) -> list[Marker]:
    """Returns the markers of that name in a comment that count: its author may write, or is the operator it names."""
    found = re.findall(rf"<!--\s*{re.escape(name)}:\s*([^\n]*?)\s*-->", comment.body)
    markers = []
    for body in found:
        fields = tuple(_FIELD.findall(body))
        operator = dict(fields).get("operator", "").strip("`")
        if operator and (comment.may_write or comment.author == operator):
            markers.append(Marker(operator, fields, comment.created_at, comment.id))
    return markers


def live_markers(name: str, comments: Sequence[Comment]) -> list[Marker]:
    """Returns each operator's newest lock that it has not released since; the earliest of them first."""
    locks: dict[str, Marker] = {}
    released: dict[str, datetime] = {}
    for comment in sorted(comments, key=lambda each: each.created_at):
        for marker in read_markers(name, comment):
            locks[marker.operator] = marker
        for marker in read_markers(f"{name}-released", comment):
            released[marker.operator] = marker.at
    live = [lock for operator, lock in locks.items() if operator not in released or lock.at > released[operator]]
    return sorted(live, key=lambda lock: lock.at)
