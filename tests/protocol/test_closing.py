"""Which issues the text of a pull request says it closes, and the lines that are added for the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.closing import unclosed, with_closing
from git_claims.protocol.item import Item, Kind

ISSUE, OTHER = Item(Kind.ISSUE, "42"), Item(Kind.ISSUE, "43")
REPO = "acme/ledger"


@pytest.mark.parametrize(
    ("text", "closes"),
    [
        ("Closes #42", True),
        ("this fixes #42.", True),
        ("RESOLVED: #42", True),
        ("Closes acme/ledger#42", True),
        ("Closes other/ledger#42", False),
        ("Closes #421", False),
        ("Closes #4", False),
        ("See #42", False),
        ("encloses #42", False),
        ("Closes 42", False),
        ("", False),
    ],
)
def test_text_closes_an_issue_by_a_word_in_front_of_its_number(text: str, closes: bool) -> None:
    assert (unclosed(text, [ISSUE], REPO) == []) is closes


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", "Closes #42\nCloses #43"),
        ("Rounds once.\n", "Rounds once.\n\nCloses #42\nCloses #43"),
        ("Closes #42, at last", "Closes #42, at last\n\nCloses #43"),
        ("Closes #42, closes #43\n", "Closes #42, closes #43"),
    ],
)
def test_line_is_added_for_each_issue_that_is_not_closed_yet(text: str, whole: str) -> None:
    assert with_closing(text, [ISSUE, OTHER], REPO) == whole


def test_pull_requests_and_keys_of_other_trackers_are_nothing_to_close() -> None:
    assert with_closing("text", [Item(Kind.PULL, "17"), Item(Kind.ISSUE, "proj-1")], REPO) == "text"


@given(st.text(), st.lists(st.integers(1, 99).map(lambda number: Item(Kind.ISSUE, str(number)))))
def test_nothing_is_left_unclosed_and_the_text_stays_in_front(text: str, items: list[Item]) -> None:
    whole = with_closing(text, items, REPO)
    assert unclosed(whole, items, REPO) == [] and whole.startswith(text.rstrip())
    assert with_closing(whole, items, REPO) == whole.rstrip()
