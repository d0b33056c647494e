"""The record that says who holds an item, and its text form, which scripts read with sed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import NewType

from git_claims.protocol.item import Item
from git_claims.protocol.text import has_control_characters, moment

Oid = NewType("Oid", str)
ChainId = NewType("ChainId", str)

RECORD_BYTES = 4096
_CHAIN_CHARACTERS = 200
_FULL_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def full_oid(text: str | None) -> Oid | None:
    """Returns a text as an id; None where it is anything but a whole one."""
    return Oid(text) if text is not None and _FULL_OID.fullmatch(text) else None


class Unreadable(ValueError):
    """A record that cannot be trusted to say who holds the item. The item is held all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One record. Field order is line order; a field that is None, or empty, is absent from the text."""

    issue: str
    repo: str | None = None
    chain: ChainId
    host: str | None = None
    claimed_at: str | None = None
    nonce: str | None = None
    operator: str | None = None
    branch: str | None = None
    worktree: str | None = None
    lead: str | None = None
    renewed_at: str | None = None
    phase: str | None = None
    previous: str | None = None
    extra: tuple[tuple[str, str], ...] = ()

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yields key and value in the order of the record, keys of other clients last."""
        for field in KEYS:
            value: str | None = getattr(self, field)
            if value:
                yield field, value
        yield from self.extra

    def age(self, now: datetime) -> timedelta | None:
        """How long ago it says it was claimed; None where the time cannot be read."""
        claimed = moment(self.claimed_at)
        return None if claimed is None else now - claimed


KEYS = tuple(field.name for field in fields(Claim) if field.name != "extra")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a ref held when it was read: the object, and its record or why that cannot be read."""

    oid: Oid
    claim: Claim | None
    trouble: str | None = None

    def is_held_by(self, chain: ChainId | None) -> bool:
        """Says whether the record names `chain`; an unreadable one names nobody."""
        return self.claim is not None and self.claim.chain == chain


def encode(claim: Claim) -> bytes:
    """Writes the record; raises ValueError for a value that would not be one line of it."""
    for key, value in claim.lines():
        if has_control_characters(value):
            raise ValueError(f"{key} must be one line without control characters")
    text = "".join(f"{key}={value}\n" for key, value in claim.lines()).encode()
    if len(text) > RECORD_BYTES:
        raise ValueError(f"the record would be {len(text)} bytes; {RECORD_BYTES} is the most")
    return text


def decode(record: bytes, item: Item) -> Claim:
    """Reads a record that was found under `item`'s ref; raises Unreadable."""
    values = _values(_text(record))
    if not values.get("chain"):
        raise Unreadable("it names no chain")
    if values.get("issue", "").lower() not in {item.key, item.name}:
        raise Unreadable("it is the record of another item")
    chain, issue = ChainId(values.pop("chain")), values.pop("issue")
    extra = tuple((key, value) for key, value in values.items() if key not in KEYS)
    known = {key: value or None for key, value in values.items() if key in KEYS}
    return Claim(issue=issue, chain=chain, extra=extra, **known)


def check_chain(text: str) -> ChainId:
    """Returns `text` as a chain id; raises ValueError where it could not stand in a record or a command line."""
    if not text or text != text.strip() or text.startswith("-"):
        raise ValueError("a chain id must not be empty, begin with '-' or have spaces around it")
    if has_control_characters(text) or len(text) > _CHAIN_CHARACTERS:
        raise ValueError(f"a chain id is one line of at most {_CHAIN_CHARACTERS} characters")
    return ChainId(text)


def _text(record: bytes) -> str:
    if len(record) > RECORD_BYTES:
        raise Unreadable(f"it is larger than {RECORD_BYTES} bytes")
    if not record.endswith(b"\n"):
        # A record cut short could still look whole: half of a chain id is another chain id.
        raise Unreadable("its last line is incomplete")
    try:
        return record.decode()
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None


def _values(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for line in text.removesuffix("\n").split("\n"):
        key, equals, value = line.partition("=")
        if not equals or not key or has_control_characters(line):
            raise Unreadable("a line of it is not key=value")
        if key in values:
            raise Unreadable("a key stands in it twice")
        values[key] = value
    return values
