"""The part of a log that tells why, safe to show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.excerpt import MOST_LINES, excerpt_of
from git_claims.protocol.text import has_control_characters

LINES = [
    ("a time", "2026-05-04T03:02:01.1234567Z hello", "hello"),
    ("a time behind a mark of byte order", "\ufeff2026-05-04T03:02:01.1Z hello", "hello"),
    ("colours", "\x1b[1;31mred\x1b[0m and \x1b[Kmore", "red and more"),
    ("colours as gh writes them in JSON", "^[[31mred^[[0m", "red"),
    ("a title of the window", "\x1b]0;gone\x07here \x1b]8;;http://x\x1b\\link", "here link"),
    ("what is no escape", "grep '^[[a-z]'", "grep '^[[a-z]'"),
    ("a progress bar", "10 %\r50 %\r100 %", "100 %"),
    ("a tab", "a\tb", "a\tb"),
    ("what turns a line round", "a\u202eb\u2028c\x00", "abc"),
]


@pytest.mark.parametrize(("line", "shown"), [row[1:] for row in LINES], ids=[row[0] for row in LINES])
def test_a_line_is_shown_without_what_a_terminal_obeys(line: str, shown: str) -> None:
    assert excerpt_of(f"{line}\r\n\r\n") == shown


def test_it_ends_with_the_last_error() -> None:
    log = "one\n##[error]first\ntwo\n##[error]last\nPost job cleanup.\nCleaning up\n"
    assert excerpt_of(log) == "one\n##[error]first\ntwo\n##[error]last"


def test_without_an_error_it_is_the_end() -> None:
    lines = [str(number) for number in range(MOST_LINES + 50)]
    assert excerpt_of("\n".join(lines)).split("\n") == lines[50:]
    assert excerpt_of("") == ""


@given(st.text(max_size=200))
def test_nothing_in_it_steers_a_terminal(log: str) -> None:
    lines = excerpt_of(log).split("\n")
    assert len(lines) <= MOST_LINES
    assert not any(has_control_characters(line.replace("\t", "")) for line in lines)
