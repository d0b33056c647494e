"""Which issue another is a part of, as its text or the tracker says, and when a parent is done."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.item import Item, Kind
from git_claims.protocol.parents import has_open_children, linked_parent, on_last_part, open_parts, parent_in
from git_claims.protocol.pull import Family, Linked
from tests.protocol.shown import HOUSE, applied, page, spelled

REPO = "acme/ledger"


def item(number: int) -> Item:
    return Item(Kind.ISSUE, str(number))


def linked(number: int, *, is_open: bool = True, repo: str = REPO) -> Linked:
    return Linked(repo, number, "A title", is_open, not is_open)


BODIES = [
    ("a number", "## Parent\n\n#40", 40),
    ("a number in a sentence", "## Parent\nPart of #40, the whole.", 40),
    ("a number in emphasis", "## Parent\n**#40**", 40),
    ("a list", "## Parent\n- #40\n- #41", 40),
    ("a link", "## Parent\n[the whole](https://github.com/acme/ledger/issues/40)", 40),
    ("with its repository", "## Parent\nacme/ledger#40", 40),
    ("with its repository in other letters", "## Parent\nAcme/Ledger#40", 40),
    ("a heading of another depth and case", "# PARENT #\n#40", 40),
    ("a heading that ends in a colon", "### Parent:\n#40", 40),
    ("after other sections", "## What\n#39\n## Parent\n#40\n## Notes\n#41", 40),
    ("another system's lines", "## Parent\r\n\r\n#40\r\n", 40),
    ("another repository", "## Parent\nacme/web#40", None),
    ("a pull request", "## Parent\nhttps://github.com/acme/ledger/pull/40", None),
    ("a bare number", "## Parent\nNone of the 40", None),
    ("a word with a dash", "## Parent\nUTF-8 handling", None),
    ("nothing", "## Parent\n\n## Notes\n#40", None),
    ("no section", "Part of #40", None),
    ("another section", "## Parents\n#40", None),
    ("a remark of a template", "## Parent\n<!-- such as #12 -->", None),
    ("a remark before the number", "## Parent\n<!-- such as #12 -->\n#40", 40),
    ("a section inside a code block", "```\n## Parent\n#40\n```", None),
    ("a section inside another code block", "~~~\n## Parent\n#40\n~~~", None),
    ("a code block inside the section", "## Parent\n```\n#12\n```\n#40", 40),
    ("a text that is empty", "", None),
]


@pytest.mark.parametrize(("body", "number"), [row[1:] for row in BODIES], ids=[row[0] for row in BODIES])
def test_section_names_the_parent(body: str, number: int | None) -> None:
    assert parent_in(body, REPO) == (item(number) if number else None)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    found = parent_in(f"## Parent\n{text}", REPO)
    assert found is None or (found.kind is Kind.ISSUE and found.key.isdecimal())


@pytest.mark.parametrize(
    ("family", "parent"),
    [
        (Family(linked(40)), item(40)),
        (Family(linked(40, repo="Acme/Ledger")), item(40)),
        (Family(linked(40, repo="acme/web")), None),
        (Family(), None),
        (None, None),
    ],
)
def test_linked_parent_counts_where_it_is_of_this_repository(family: Family | None, parent: Item | None) -> None:
    assert linked_parent(family, REPO) == parent


DONE, OPEN = linked(42, is_open=False), linked(43)
CHILDREN = [
    ("all closed", Family(None, (DONE,), complete=True), False),
    ("one open", Family(None, (DONE, OPEN), complete=True), True),
    ("only the delivered one open", Family(None, (linked(41),), complete=True), False),
    ("one of another repository with its number", Family(None, (linked(41, repo="acme/web"),), complete=True), True),
    ("more than were read", Family(None, (DONE,), complete=False), True),
    ("a server that knows no children", Family(), False),
    ("nothing was told", None, True),
]


@pytest.mark.parametrize(("family", "is_left"), [row[1:] for row in CHILDREN], ids=[row[0] for row in CHILDREN])
def test_parent_with_an_open_child_is_not_done(family: Family | None, is_left: bool) -> None:
    assert has_open_children(family, REPO, [item(41)]) is is_left


def test_parts_are_the_open_issues_that_name_the_parent_but_for_those_delivered() -> None:
    names = "## Parent\n#40"
    bodies = {item(40): names, item(41): names, item(42): names, item(43): "## Parent\n#39", item(44): ""}
    assert open_parts(bodies, item(40), REPO, [item(41)]) == [item(42)]


def test_last_part_closes_the_parent_and_tells_it_once() -> None:
    edit = on_last_part(page(), item(40), item(42), HOUSE)
    assert spelled(edit) == "comment close"
    assert (edit.comment or "").startswith("All of its parts are delivered; the last was #42.\n")
    assert edit.comment_nonce and (edit.comment or "").endswith(edit.comment_nonce)
    # Somebody opened it again: it is closed again without another word.
    again = replace(applied(page(), edit), is_open=True)
    assert spelled(on_last_part(again, item(40), item(42), HOUSE)) == "close"
    assert on_last_part(applied(page(), edit), item(40), item(42), HOUSE).is_empty
