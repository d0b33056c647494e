"""What the server says of claims, read the way a shell script reads them, and what an answer says of them."""

from __future__ import annotations

import os

from tests.agents import Answer
from tests.places import ABSENT, CLAIMS, Server


def is_thorough() -> bool:
    """Says whether this run may take its time."""
    return os.environ.get("GIT_CLAIM_THOROUGH") == "1" or os.environ.get("HYPOTHESIS_PROFILE") == "deep"


def is_complete() -> bool:
    """Says whether nothing is to be left out: CI."""
    return os.environ.get("GIT_CLAIM_CI") == "1" or is_thorough()


def chain_in(record: str) -> str:
    """What `sed -n 's/^chain=//p'` prints."""
    return "\n".join(line.removeprefix("chain=") for line in record.splitlines() if line.startswith("chain="))


def holders(server: Server) -> dict[str, str]:
    """The chain of every claim on the server, by the name of its item."""
    refs = list(server.refs())
    asked = "".join(f"{ref}:claim\n" for ref in refs).encode()
    records = server.git("cat-file", "--batch=%(objecttype)", stdin=asked).stdout.split("blob\n")[1:] if refs else []
    return {ref.removeprefix(CLAIMS): chain_in(record) for ref, record in zip(refs, records, strict=True)}


def assert_never_free_in_between(server: Server) -> None:
    """Every item was claimed once at most, however often its claim was replaced before it was given up."""
    claimed, freed = set[str](), set[str]()
    for move in server.transcript():
        if move.ref.startswith(CLAIMS):
            assert move.ref not in freed, f"{move.ref} was free in between"
            assert (move.old == ABSENT) == (move.ref not in claimed), f"unknown moves: {move}"
            claimed.add(move.ref)
            if move.new == ABSENT:
                freed.add(move.ref)


def history(server: Server, name: str) -> list[str]:
    """The ids that an item's ref has had; asserts that it was free at most at the end."""
    ids = server.chain_of(CLAIMS + name)
    assert ABSENT not in ids[:-1], f"{name} was free in between: {ids}"
    return ids


def told(answer: Answer, *path: str) -> dict[str, object]:
    """What an answer says of each of its items: by default the outcome."""
    items = answer.json["items"]
    assert isinstance(items, list), answer
    return {str(answer.at("items", number, "item")): _at(answer, number, path) for number in range(len(items))}


def _at(answer: Answer, number: int, path: tuple[str, ...]) -> object:
    first, *rest = path or ("outcome",)
    return None if rest and answer.at("items", number, first) is None else answer.at("items", number, first, *rest)
