"""The marker in a comment: what is written is read back, what would break it is refused, and whose word counts."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from git_claims.protocol.issue import Comment
from git_claims.protocol.marker import Marker, check_field, live_markers, placeholder_in, read_markers, write_marker
from tests.protocol.shown import after, lock, said, unlock

NAME = "claude-lock"


def only(body: str, author: str | None = "octocat", *, may_write: bool = True) -> Marker:
    (marker,) = read_markers(NAME, said(body, author=author, may_write=may_write))
    return marker


def operators(*comments: Comment) -> list[str]:
    return [marker.operator for marker in live_markers(NAME, comments)]


def test_marker_is_one_line_with_its_fields_in_order() -> None:
    written = write_marker(NAME, (("operator", "octocat"), ("branch", None), ("at", "2026"), ("nonce", "9f")))
    assert written == "<!-- claude-lock: operator=octocat at=2026 nonce=9f -->"


READ = [
    ("as we write it", "<!-- claude-lock: operator=octocat branch=42-x -->"),
    ("text around it", "I take this.\n\n<!-- claude-lock: operator=octocat branch=42-x -->\n\nThanks!"),
    ("in the middle of a line", "mine <!-- claude-lock: operator=octocat branch=42-x --> ok"),
    ("without spaces at the ends", "<!--claude-lock:operator=octocat branch=42-x-->"),
    ("with many spaces", "<!--   claude-lock:   operator=octocat   branch=42-x   -->"),
    ("lines of a web form", "mine\r\n\r\n<!-- claude-lock: operator=octocat branch=42-x -->\r\n"),
    ("over several lines", "<!-- claude-lock:\n  operator=octocat\n  branch=42-x\n-->"),
    ("a tab between fields", "<!-- claude-lock: operator=octocat\tbranch=42-x -->"),
    ("the login as code", "<!-- claude-lock: operator=`octocat` branch=42-x -->"),
    ("the login as a mention", "<!-- claude-lock: operator=@octocat branch=42-x -->"),
    ("another order", "<!-- claude-lock: branch=42-x operator=octocat -->"),
    ("fields that we do not know", "<!-- claude-lock: operator=octocat pid=12 branch=42-x -->"),
    ("a second operator, inside a path", "<!-- claude-lock: operator=octocat branch=42-x operator=mallory -->"),
    ("another comment that was never closed", "<!-- oops\n<!-- claude-lock: operator=octocat branch=42-x -->"),
    ("a terminal escape in it", "<!-- claude-lock: operator=octo\x1bcat branch=42-x -->"),
]


@pytest.mark.parametrize("body", [case[1] for case in READ], ids=[case[0] for case in READ])
def test_marker_of_anybodys_client_is_understood(body: str) -> None:
    marker = only(body)
    assert (marker.operator, marker.field("branch"), marker.field("nonce")) == ("octocat", "42-x", None)


NOT_READ = [
    ("no marker", "operator=octocat"),
    ("an ordinary comment", "<!-- TODO: write this -->"),
    ("no field at all", "<!-- claude-lock: -->"),
    ("no operator", "<!-- claude-lock: branch=42-x -->"),
    ("an empty operator", "<!-- claude-lock: operator= branch=42-x -->"),
    ("another name", "<!-- claude-locks: operator=octocat -->"),
    ("the name of a release", "<!-- claude-lock-released: operator=octocat -->"),
    ("no end", "<!-- claude-lock: operator=octocat"),
    ("no colon", "<!-- claude-lock operator=octocat -->"),
    ("a key that only ends like it", "<!-- claude-lock: cooperator=octocat x.operator=octocat -->"),
    ("a quote in an answer by mail", "thanks\n> <!-- claude-lock: operator=octocat -->\n  > > <!-- claude-lock: -->"),
]


@pytest.mark.parametrize("body", [case[1] for case in NOT_READ], ids=[case[0] for case in NOT_READ])
def test_what_declares_no_lock_is_none(body: str) -> None:
    assert read_markers(NAME, said(body)) == []


def test_path_with_spaces_is_one_field() -> None:
    marker = only("<!-- claude-lock: operator=octocat worktree=/my  work/a = b/c at=2026 -->")
    assert (marker.field("worktree"), marker.field("at")) == ("/my  work/a = b/c", "2026")


keys = st.sampled_from(["operator", "bundled_with", "worktree", "branch", "at", "nonce"])
shown = st.characters(categories=["L", "N", "P", "S"])
values = st.lists(st.one_of(shown, st.sampled_from([" ", "=", "--", ">", "<", " at=", "`"])), min_size=1, max_size=12)
words = values.map("".join).filter(lambda text: text == text.strip())


@given(st.dictionaries(keys, words, max_size=6))
@example({"operator": "o", "worktree": "/a operator=mallory"})
@example({"operator": "o", "worktree": "a=b -- > <!- x"})
@example({"operator": "o", "worktree": "a--!>b"})
def test_what_is_written_is_read_back_or_refused(values: dict[str, str]) -> None:
    fields = {"operator": "octocat"} | values
    try:
        written = write_marker(NAME, tuple(fields.items()))
    except ValueError:
        assume(False)
    assume(fields["operator"].strip("`@"))
    assert only(f"text\n{written}\nmore").fields == tuple(fields.items())


BREAKING = [
    ("the end of a comment", "/tmp/-->x"),
    ("the other end of a comment", "/tmp/--!>x"),
    ("the beginning of one", "/tmp/<!--x"),
    ("a line break", "/tmp/a\nb"),
    ("a carriage return", "/tmp/a\rb"),
    ("a line separator", "/tmp/a\u2028b"),
    ("an escape", "/tmp/\x1b[2J"),
    ("a placeholder", "<branch>"),
    ("a placeholder inside", "42-<slug>"),
    ("a placeholder of two words", "/tmp/<your name>/x"),
    ("what would read as the next field", "/tmp/a nonce=1"),
]


@pytest.mark.parametrize("value", [case[1] for case in BREAKING], ids=[case[0] for case in BREAKING])
def test_field_that_would_break_the_marker_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="worktree"):
        write_marker(NAME, (("operator", "octocat"), ("worktree", value)))


@pytest.mark.parametrize("value", ["/my work/a", "a=b", "a = b", "ünïcode 漢字", "a->b", "a--b", "<3", "1 < 2 > 1"])
def test_field_that_only_looks_odd_is_written(value: str) -> None:
    check_field("worktree", value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("blocked by <reason>", "<reason>"),
        ("see PR #<number>", "<number>"),
        ("`<LOGIN>` works on it", "<LOGIN>"),
        ("<two words>", "<two words>"),
        ("a Vec<String> is not one", None),
        ("<details>nor is a tag that is closed</details>", None),
        ("<https://example.com> and <me@example.com>", None),
        ("1 < 2 > 1, <3, <!-- x -->", None),
    ],
)
def test_placeholder_is_told_from_text_for_people(text: str, found: str | None) -> None:
    assert placeholder_in(text) == found


WEIGHED = [
    ("a collaborator, of itself", "octocat", True, True),
    ("a collaborator, of somebody else", "hubot", True, True),
    ("anybody, of itself", "octocat", False, True),
    ("anybody, of itself in other letters", "OctoCat", False, True),
    ("anybody, of somebody else", "mallory", False, False),
    ("a deleted account without rights", None, False, False),
]


@pytest.mark.parametrize(
    ("author", "may_write", "counts"), [case[1:] for case in WEIGHED], ids=[case[0] for case in WEIGHED]
)
@pytest.mark.parametrize("name", [NAME, "claude-lock-released"])
def test_marker_counts_by_its_author(name: str, author: str | None, may_write: bool, counts: bool) -> None:
    comment = said(f"<!-- {name}: operator=octocat -->", author=author, may_write=may_write)
    assert bool(read_markers(name, comment)) == counts


def test_time_of_a_lock_is_the_servers() -> None:
    comment = said("<!-- claude-lock: operator=octocat at=1999-01-01T00:00:00Z -->", 7)
    (marker,) = read_markers(NAME, comment)
    assert (marker.at, marker.comment_id) == (after(7), comment.id)


BOTH = "<!-- claude-lock-released: operator=ada -->\n<!-- claude-lock: operator=ada -->"
LIVE = [
    ("nobody", [], []),
    ("one lock", [lock("ada")], ["ada"]),
    ("released", [lock("ada"), unlock("ada", 1)], []),
    ("released, then locked again", [lock("ada"), unlock("ada", 1), lock("ada", 2)], ["ada"]),
    ("a release alone", [unlock("ada")], []),
    ("an older release", [unlock("ada"), lock("ada", 1)], ["ada"]),
    ("a release by somebody else who may write", [lock("ada"), unlock("ada", 1, author="bo")], []),
    ("a release by a stranger", [lock("ada"), unlock("ada", 1, author="eve", may_write=False)], ["ada"]),
    ("a stranger's lock for ada", [lock("ada", author="eve", may_write=False)], []),
    ("a release of another", [lock("ada"), unlock("bo", 1)], ["ada"]),
    ("rivals, the earliest first", [lock("bo", 2), lock("ada", 1), lock("cy", 3)], ["ada", "bo", "cy"]),
    ("rivals, the newest lock of each counts", [lock("ada"), lock("bo", 1), lock("ada", 2)], ["bo", "ada"]),
    ("rivals of one second, in the order of the page", [lock("bo"), lock("ada"), lock("bo")], ["ada", "bo"]),
    ("locked and released in one second", [lock("ada"), unlock("ada")], []),
    ("released and locked in one second", [unlock("ada"), lock("ada")], ["ada"]),
    ("a take-over by the same login", [lock("ada"), said(BOTH, 1, "ada")], ["ada"]),
    ("other letters are the same login", [lock("ada"), unlock("ADA", 1)], []),
]


@pytest.mark.parametrize(("comments", "live"), [case[1:] for case in LIVE], ids=[case[0] for case in LIVE])
def test_live_locks_are_the_newest_of_each_that_was_not_released(comments: list[Comment], live: list[str]) -> None:
    assert operators(*comments) == live


logins = st.sampled_from(["ada", "bo", "cy"])
events = st.lists(st.tuples(st.booleans(), logins, st.integers(0, 3)), max_size=8)


@given(events)
def test_operator_is_locked_when_its_last_word_was_a_lock(events: list[tuple[bool, str, int]]) -> None:
    ordered = sorted(events, key=lambda event: event[2])
    last = {operator: is_lock for is_lock, operator, _ in ordered}
    comments = [(lock if is_lock else unlock)(operator, minutes) for is_lock, operator, minutes in events]
    assert sorted(operators(*comments)) == sorted(operator for operator, is_lock in last.items() if is_lock)


@given(events, events)
def test_strangers_change_nothing(events: list[tuple[bool, str, int]], strange: list[tuple[bool, str, int]]) -> None:
    comments = [(lock if is_lock else unlock)(operator, at) for is_lock, operator, at in events]
    noise = [
        (lock if is_lock else unlock)(operator, at, author="eve", may_write=False) for is_lock, operator, at in strange
    ]
    assert operators(*comments, *noise) == operators(*comments)


HOSTILE = [
    ("spaces", "<!-- claude-lock:" + " " * 65_000),
    ("spaces after a field", "<!-- claude-lock: operator=a" + " " * 65_000 + "x-->"),
    ("letters", "<!-- claude-lock: " + "a" * 65_000 + " -->"),
    ("beginnings", "<!--claude-lock:" * 4_000),
    ("beginnings without a name", "<!--" * 16_000),
    ("keys", "<!-- claude-lock: " + "a= " * 20_000 + "-->"),
    ("placeholders", "<a" * 32_000),
    ("quotes", ">\n" * 32_000 + "<!-- claude-lock: operator=a -->"),
]


@pytest.mark.parametrize("body", [case[1] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_largest_comment_of_any_kind_is_read_at_once(body: str) -> None:
    begun = time.process_time()
    live_markers(NAME, [said(body)])
    placeholder_in(body)
    assert time.process_time() - begun < 1


@given(st.text(st.characters(exclude_categories=[]), max_size=60), st.booleans())
@example("<!-- claude-lock: operator=a nonce=\x1b-->", True)
def test_whatever_is_read_can_be_shown(body: str, wrapped: bool) -> None:
    text = f"<!-- claude-lock: operator={body} -->" if wrapped else body
    for marker in read_markers(NAME, said(text)):
        assert all("\n" not in value and "-->" not in value and "\x1b" not in value for _, value in marker.fields)
