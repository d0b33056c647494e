"""The record: its lines, what survives being read and written again, and what is never believed."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from git_claims.protocol.claim import (
    KEYS,
    RECORD_BYTES,
    ChainId,
    Claim,
    Oid,
    Seen,
    Unreadable,
    check_chain,
    decode,
    encode,
)
from git_claims.protocol.item import parse
from git_claims.protocol.text import has_control_characters

FORTY_TWO = parse("42").item
OPTIONAL = tuple(key for key in KEYS if key not in {"issue", "chain"})
WHOLE = Claim(
    issue="42",
    repo="acme/ledger",
    chain=ChainId("chain-blade-1"),
    host="blade",
    claimed_at="2026-11-30T13:06:00Z",
    nonce="9f1c",
    operator="octocat",
    branch="42-fix-auth",
    worktree="/path/to/worktree",
    lead="41",
    renewed_at="2026-11-30T14:00:00Z",
    phase="review",
    previous="0" * 40,
)
TEXT = """\
issue=42
repo=acme/ledger
chain=chain-blade-1
host=blade
claimed_at=2026-11-30T13:06:00Z
nonce=9f1c
operator=octocat
branch=42-fix-auth
worktree=/path/to/worktree
lead=41
renewed_at=2026-11-30T14:00:00Z
phase=review
previous=0000000000000000000000000000000000000000
"""

one_line = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=40)
foreign_keys = st.text(string.ascii_letters + "-_.", min_size=1, max_size=12).filter(lambda key: key not in KEYS)
claims = st.builds(
    lambda chain, fields, extra: Claim(issue="42", chain=ChainId(chain), extra=tuple(extra.items()), **fields),
    one_line,
    st.fixed_dictionaries({}, optional=dict.fromkeys(OPTIONAL, one_line)),
    st.dictionaries(foreign_keys, st.one_of(st.just(""), one_line), max_size=4),
)


def test_lines_stand_in_the_order_that_scripts_read() -> None:
    assert encode(WHOLE).decode() == TEXT


def test_record_of_a_script_with_the_first_lines_alone_is_read() -> None:
    first = "".join(TEXT.splitlines(keepends=True)[:6]).encode()
    assert decode(first, FORTY_TWO) == Claim(
        issue="42",
        repo="acme/ledger",
        chain=ChainId("chain-blade-1"),
        host="blade",
        claimed_at="2026-11-30T13:06:00Z",
        nonce="9f1c",
    )


def test_absent_is_absent_rather_than_empty() -> None:
    assert encode(Claim(issue="42", chain=ChainId("c"), branch="", phase=None)) == b"issue=42\nchain=c\n"
    assert decode(b"issue=42\nchain=c\nbranch=\n", FORTY_TWO).branch is None


@given(claims)
@example(Claim(issue="42", chain=ChainId("a=b=c"), branch="=", extra=(("extra", "="), ("x", ""))))
def test_record_that_was_written_is_read_back(claim: Claim) -> None:
    try:
        text = encode(claim)
    except ValueError:
        assume(False)
    assert decode(text, FORTY_TWO) == claim


@given(st.permutations(TEXT.splitlines(keepends=True)))
def test_order_of_lines_does_not_matter_to_a_reader(lines: list[str]) -> None:
    assert encode(decode("".join(lines).encode(), FORTY_TWO)).decode() == TEXT


def test_unknown_keys_are_kept_in_their_order_when_a_claim_is_rewritten() -> None:
    record = b"zeta=1\nissue=42\nchain=c\nAlpha=\nextra=3\n"
    rewritten = replace(decode(record, FORTY_TWO), phase="review")
    assert encode(rewritten) == b"issue=42\nchain=c\nphase=review\nzeta=1\nAlpha=\nextra=3\n"


@pytest.mark.parametrize("name", ["42", "issue-42", "ISSUE-42"])
def test_record_may_name_its_item_either_way(name: str) -> None:
    assert decode(f"issue={name}\nchain=c\n".encode(), FORTY_TWO).issue == name


@pytest.mark.parametrize(("spelling", "written"), [("pr-17", "17"), ("pr-17", "pr-17"), ("PROJ-1", "PROJ-1")])
def test_record_of_another_kind_of_item_names_it_as_people_do(spelling: str, written: str) -> None:
    assert decode(f"issue={written}\nchain=c\n".encode(), parse(spelling).item).chain == "c"


GOOD = b"issue=42\nchain=c\n"
HOSTILE = [
    ("nothing at all", b"", "incomplete"),
    ("a line break alone", b"\n", "key=value"),
    ("no chain", b"issue=42\n", "names no chain"),
    ("an empty chain", b"issue=42\nchain=\n", "names no chain"),
    ("no item", b"chain=c\n", "another item"),
    ("an empty item", b"issue=\nchain=c\n", "another item"),
    ("another item", b"issue=43\nchain=c\n", "another item"),
    ("a pull request of that number", b"issue=pr-42\nchain=c\n", "another item"),
    ("a number that begins the same", b"issue=420\nchain=c\n", "another item"),
    ("an item with leading zeros", b"issue=042\nchain=c\n", "another item"),
    ("half a line at the end", GOOD + b"branch=4", "incomplete"),
    ("half a chain at the end", b"issue=42\nchain=chain-bl", "incomplete"),
    ("a line that is no pair", GOOD + b"hello\n", "key=value"),
    ("a line without a key", GOOD + b"=x\n", "key=value"),
    ("an empty line inside", b"issue=42\n\nchain=c\n", "key=value"),
    ("an empty line at the end", GOOD + b"\n", "key=value"),
    ("carriage returns", b"issue=42\r\nchain=c\r\n", "key=value"),
    ("a carriage return inside", GOOD + b"host=a\rb\n", "key=value"),
    ("a terminal escape", GOOD + b"host=\x1b[2J\n", "key=value"),
    ("a terminal escape in a key", GOOD + b"\x1b[2J=x\n", "key=value"),
    ("an eight-bit escape", GOOD + "host=\x9b2J\n".encode(), "key=value"),
    ("a NUL", GOOD + b"host=a\0b\n", "key=value"),
    ("a tab", GOOD + b"host=a\tb\n", "key=value"),
    ("a delete", GOOD + b"host=\x7f\n", "key=value"),
    ("a line separator", GOOD + "host=a\u2028b\n".encode(), "key=value"),
    ("two chains", GOOD + b"chain=d\n", "twice"),
    ("the same chain twice", GOOD + b"chain=c\n", "twice"),
    ("an unknown key twice", GOOD + b"x=1\nx=2\n", "twice"),
    ("Latin-1", GOOD + b"host=caf\xe9\n", "not UTF-8"),
    ("half of a character in UTF-8", GOOD + b"host=\xed\xa0\x80\n", "not UTF-8"),
    ("a mark of byte order", b"\xef\xbb\xbf" + GOOD, "another item"),
    ("UTF-16", GOOD.decode().encode("utf-16"), "incomplete"),
    ("a byte too many", GOOD + b"x=" + b"y" * (RECORD_BYTES - len(GOOD) - 2) + b"\n", "larger"),
    ("a megabyte", b"a" * 1_000_000 + b"\n", "larger"),
    ("ten thousand lines", b"a=1\n" * 10_000, "larger"),
]


@pytest.mark.parametrize(("record", "trouble"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_record_that_cannot_be_trusted_is_never_read(record: bytes, trouble: str) -> None:
    with pytest.raises(Unreadable, match=trouble):
        decode(record, FORTY_TWO)


@given(st.one_of(st.binary(max_size=200), st.lists(st.sampled_from([GOOD, b"x=1\n", b"\xff", b"\n", b"\0=", b"="]))))
def test_any_bytes_are_a_record_that_can_be_written_again_or_unreadable(record: bytes | list[bytes]) -> None:
    try:
        claim = decode(record if isinstance(record, bytes) else b"".join(record), FORTY_TWO)
    except Unreadable as trouble:
        assert str(trouble).isprintable()
        return
    assert decode(encode(claim), FORTY_TWO) == claim


@given(st.integers(0, len(TEXT) - 1))
def test_record_cut_short_is_never_read_as_half_a_value(length: int) -> None:
    cut = TEXT.encode()[:length]
    try:
        claim = decode(cut, FORTY_TWO)
    except Unreadable:
        return
    assert claim.chain == WHOLE.chain
    assert all(value in {getattr(WHOLE, key), None} for key, value in claim.lines())


def test_largest_record_is_written_and_read_and_one_byte_more_is_not() -> None:
    room = RECORD_BYTES - len(b"issue=42\nchain=c\nhost=\n")
    largest = Claim(issue="42", chain=ChainId("c"), host="h" * room)
    assert decode(encode(largest), FORTY_TWO) == largest
    with pytest.raises(ValueError, match="4096 is the most"):
        encode(replace(largest, host="h" * (room + 1)))


def test_size_is_counted_in_bytes_of_utf_8() -> None:
    with pytest.raises(ValueError, match="4096 is the most"):
        encode(Claim(issue="42", chain=ChainId("c"), host="ü" * 2100))


@pytest.mark.parametrize("key", [*OPTIONAL, "chain", "issue"])
@pytest.mark.parametrize("value", ["a\nchain=mallory", "a\rb", "\x1b[2J", "\0", "\u2028", "\ud800"])
def test_value_that_would_not_be_one_line_is_never_written(key: str, value: str) -> None:
    with_value: Callable[..., Claim] = partial(replace, WHOLE)
    with pytest.raises(ValueError, match=f"{key} must be one line"):
        encode(with_value(**{key: value}))


@given(st.text(st.characters(exclude_categories=[]), max_size=20))
def test_extra_of_any_text_never_adds_a_line(value: str) -> None:
    try:
        text = encode(replace(WHOLE, extra=(("reason", value),)))
    except ValueError:
        assert has_control_characters(value)
        return
    assert text.count(b"\n") == TEXT.count("\n") + 1


@pytest.mark.parametrize(
    "chain", ["chain-blade-1782604800123456789-0a1b2c3d", "a", "ünïcode", "a b", "a/b:c", "c" * 200]
)
def test_chain_is_opaque(chain: str) -> None:
    assert check_chain(chain) == chain


@pytest.mark.parametrize(
    "chain", ["", " ", " a", "a ", "-a", "--force", "a\nb", "a\x1b[2J", "a\0", "a\u2028b", "\ud800", "c" * 201]
)
def test_chain_that_could_not_stand_in_a_record_or_a_command_line_is_refused(chain: str) -> None:
    with pytest.raises(ValueError, match="a chain id"):
        check_chain(chain)


def test_age_is_counted_from_the_time_it_was_claimed() -> None:
    now = datetime(2026, 11, 30, 15, 6, tzinfo=UTC)
    assert WHOLE.age(now) == timedelta(hours=2)
    assert replace(WHOLE, claimed_at="a while ago").age(now) is None
    assert replace(WHOLE, claimed_at=None).age(now) is None


def test_unreadable_claim_is_held_by_nobody_that_asks() -> None:
    unreadable = Seen(Oid("a" * 40), None, "it names no chain")
    assert not unreadable.is_held_by(ChainId("c"))
    assert not unreadable.is_held_by(None)
    assert Seen(Oid("a" * 40), WHOLE).is_held_by(WHOLE.chain)
    assert not Seen(Oid("a" * 40), WHOLE).is_held_by(ChainId(WHOLE.chain.upper()))
