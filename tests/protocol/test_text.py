"""Text from outside made safe to show, and times as people and records write them."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from git_claims.protocol.text import (
    duration,
    has_control_characters,
    in_words,
    message_of,
    moment,
    printable,
    spelled,
    stamp,
    without_credentials,
)

UNSHOWN = [
    ("a terminal escape", "\x1b[31mred", "[31mred"),
    ("an eight-bit escape", "\x9b31m", "31m"),
    ("a NUL", "a\0b", "ab"),
    ("a line break", "a\nb", "ab"),
    ("a carriage return that would overwrite the line", "a\rb", "ab"),
    ("a backspace", "a\x08b", "ab"),
    ("a bell", "\a", ""),
    ("a delete", "a\x7f", "a"),
    ("a line separator", "a\u2028b\u2029c\x85d", "abcd"),
    ("a mark that turns the direction", "a\u202eb\u2066c", "abc"),
    ("a space without width", "a\u200bb\ufeffc", "abc"),
    ("half of a character", "a\ud800b", "ab"),
]


@pytest.mark.parametrize(("text", "shown"), [case[1:] for case in UNSHOWN], ids=[case[0] for case in UNSHOWN])
def test_what_a_terminal_would_obey_is_not_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("text", ["", "plain text", "ünïcode 漢字 🙂", "a\u00a0b", "'\"\\"])
def test_what_a_terminal_would_show_stays(text: str) -> None:
    assert printable(text) == text


@given(st.text(st.characters(exclude_categories=[])))
@example("\x1b]0;title\a\x9b\u202e\ud800\u2028")
def test_nothing_unshown_survives_and_nothing_else_is_lost(text: str) -> None:
    shown = printable(text)
    unshown = {"Cc", "Cf", "Zl", "Zp", "Cs"}
    assert shown == "".join(each for each in text if unicodedata.category(each) not in unshown)
    shown.encode()


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "\x1b", "\0", "\x7f", "\x85", "\u2028", "\u2029", "\ud800", "\t"])
def test_character_that_could_end_a_line_or_steer_a_terminal_is_a_control(text: str) -> None:
    assert has_control_characters(text)


def test_plain_text_has_no_control_characters() -> None:
    assert not has_control_characters("ünïcode 漢字 🙂 = ' \"")


CREDENTIALS = [
    ("a user and a password", "https://me:secret@host/x", "https://host/x"),
    ("a token", "https://ghp_abc@host/x", "https://host/x"),
    ("an empty user", "https://:secret@host/x", "https://host/x"),
    ("an at sign in the password", "https://me:se@cret@host/x", "https://host/x"),
    ("a URL in a sentence", "cannot reach 'https://me:secret@host/x': no", "cannot reach 'https://host/x': no"),
    ("two URLs", "https://a:b@c/ ssh://d:e@f/", "https://c/ ssh://f/"),
    ("no credentials", "https://host/x", "https://host/x"),
    ("an at sign in the path", "https://host/@scope/x@1", "https://host/@scope/x@1"),
    ("an scp-like address, whose user is no secret", "git@host:x.git", "git@host:x.git"),
    ("a mail address", "write to me@host", "write to me@host"),
]


@pytest.mark.parametrize(("text", "shown"), [case[1:] for case in CREDENTIALS], ids=[case[0] for case in CREDENTIALS])
def test_credentials_go_and_nothing_else(text: str, shown: str) -> None:
    assert without_credentials(text) == shown


MESSAGES = [
    ("nothing", b"", ""),
    ("one line", b"fatal: no\n", "fatal: no"),
    ("several lines, joined", b"remote: a\nfatal: b\n", "remote: a; fatal: b"),
    ("the last four of many", b"1\n2\n3\n4\n5\n6\n", "3; 4; 5; 6"),
    ("progress that overwrites itself", b"10%\r20%\rdone\n", "10%; 20%; done"),
    ("advice", b"error: a\nhint: git push --force\n", "error: a"),
    ("empty lines", b"\n\na\n \n", "a"),
    ("an escape", b"\x1b[31merror\x1b[0m\n", "[31merror[0m"),
    ("not UTF-8", b"caf\xe9\n", "caf\ufffd"),
    ("credentials", b"fatal: https://me:secret@host/ is gone\n", "fatal: https://host/ is gone"),
]


@pytest.mark.parametrize(("stderr", "said"), [case[1:] for case in MESSAGES], ids=[case[0] for case in MESSAGES])
def test_message_of_a_program_is_one_line_safe_to_show(stderr: bytes, said: str) -> None:
    assert message_of(stderr) == said


@given(st.binary())
def test_message_of_any_bytes_is_shown_as_it_is(stderr: bytes) -> None:
    said = message_of(stderr)
    assert printable(said) == said


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("0", 0), ("5m", 300), ("2h", 7200), ("1d", 86400), ("007s", 7)],
)
def test_duration_is_read(text: str, seconds: int) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["90s", "5m", "2h", "1d", "61s", "25h"])
def test_duration_is_written_as_it_is_read(text: str) -> None:
    assert spelled(duration(text)) == text


def test_longest_duration_is_still_one() -> None:
    assert duration("999999999d") == timedelta(days=999999999)


@pytest.mark.parametrize("text", ["", "s", "-5", "+5", "1.5h", "5 m", "5M", "1h30m", "٥m", "1e3", "9" * 10, "5\n"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        duration(text)


MOMENTS = [
    ("as records write it", "2026-11-30T13:06:00Z", datetime(2026, 11, 30, 13, 6, tzinfo=UTC)),
    ("with another zone", "2026-11-30T15:06:00+02:00", datetime(2026, 11, 30, 13, 6, tzinfo=UTC)),
    ("without a zone, which is UTC", "2026-11-30T13:06:00", datetime(2026, 11, 30, 13, 6, tzinfo=UTC)),
    ("a day", "2026-11-30", datetime(2026, 11, 30, tzinfo=UTC)),
    ("none", None, None),
    ("empty", "", None),
    ("a word", "yesterday", None),
    ("a day that does not exist", "2026-02-30T00:00:00Z", None),
    ("seconds since the epoch", "1782604800123456789", None),
    ("a time that no other zone could show, at the end", "9999-12-31T23:59:59-12:00", None),
    ("a time that no other zone could show, at the beginning", "0001-01-01T00:00:00+12:00", None),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in MOMENTS], ids=[case[0] for case in MOMENTS])
def test_moment_of_a_record_is_read_or_means_nothing(text: str | None, expected: datetime | None) -> None:
    assert moment(text) == expected


@given(st.one_of(st.text(), st.datetimes(timezones=st.just(UTC)).map(stamp), st.from_regex(r"[0-9]{4}-12-31T23:59Z")))
@example("9999-12-31T23:59:59Z")
@example("0001-01-01T00:00:00Z")
def test_moment_can_be_shown_in_every_zone(text: str) -> None:
    if (read := moment(text)) is not None:
        for hours in (-12, 0, 14):
            read.astimezone(timezone(timedelta(hours=hours)))


@given(st.datetimes(datetime(1970, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC)))
def test_stamp_is_read_back_to_the_second(time: datetime) -> None:
    assert moment(stamp(time)) == time.replace(microsecond=0)


def test_stamp_is_utc_whatever_the_zone() -> None:
    assert stamp(datetime(2026, 11, 30, 15, 6, tzinfo=timezone(timedelta(hours=2)))) == "2026-11-30T13:06:00Z"


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(0), "now"),
        (timedelta(seconds=0.9), "now"),
        (timedelta(seconds=1), "1 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(seconds=60), "1 min"),
        (timedelta(minutes=59, seconds=59), "59 min"),
        (timedelta(hours=1), "1 h"),
        (timedelta(hours=23, minutes=59), "23 h"),
        (timedelta(days=1), "1 d"),
        (timedelta(days=400), "400 d"),
        (timedelta(seconds=-60), "now"),
        (timedelta(seconds=-61), "from the future"),
        (timedelta(days=-400), "from the future"),
    ],
)
def test_age_is_said_in_one_unit(age: timedelta, words: str) -> None:
    assert in_words(age) == words
