"""The gate: what git writes to a pre-push hook, which of it is a question, and who may go."""

from __future__ import annotations

import pytest

from git_claims.protocol.claim import ChainId, Claim, Oid, Seen
from git_claims.protocol.gate import PushedRef, Question, Rules, Why, may_go, parse_lines, questions
from git_claims.protocol.item import Item, Kind
from tests.protocol.pushed import (
    CASES,
    DEFAULT,
    NEW,
    NEW_256,
    OLD,
    STRICT,
    ZERO,
    ZERO_256,
    Case,
    branches,
    delete,
    line,
)

FORTY_TWO = Item(Kind.ISSUE, "42")
ME, OTHER = ChainId("chain-me"), ChainId("chain-other")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_only_refs_that_matter_are_questions(case: Case) -> None:
    asked = questions(parse_lines(case.lines), case.rules)
    assert tuple(question.pushed.remote_ref for question in asked) == case.asks


@pytest.mark.parametrize(
    ("text", "pushed"),
    [
        (branches("42-x"), PushedRef("refs/heads/42-x", Oid(NEW), "refs/heads/42-x", None)),
        (line("refs/heads/42-x", old=OLD), PushedRef("refs/heads/42-x", Oid(NEW), "refs/heads/42-x", Oid(OLD))),
        (delete("refs/heads/42-x"), PushedRef("(delete)", None, "refs/heads/42-x", Oid(OLD))),
        (line("refs/heads/x", "HEAD^{/a b}"), PushedRef("HEAD^{/a b}", Oid(NEW), "refs/heads/x", None)),
        (f"HEAD {NEW_256} refs/heads/x {ZERO_256}", PushedRef("HEAD", Oid(NEW_256), "refs/heads/x", None)),
        (line("refs/heads/x", " "), PushedRef(" ", Oid(NEW), "refs/heads/x", None)),
    ],
    ids=["new", "update", "delete", "spaces in the local side", "sha256, no newline", "a space for a local side"],
)
def test_line_is_read_into_its_four_words(text: str, pushed: PushedRef) -> None:
    assert parse_lines(text) == [pushed]


@pytest.mark.parametrize(
    "text",
    [
        "x",
        f"refs/heads/x {NEW} refs/heads/x",
        f"refs/heads/x {NEW[:39]} refs/heads/x {ZERO}",
        f"refs/heads/x {NEW}b refs/heads/x {ZERO}",
        f"refs/heads/x {NEW.upper()} refs/heads/x {ZERO}",
        f"refs/heads/x {NEW}  {ZERO}",
        f"refs/heads/x {NEW} refs/heads/x {ZERO} ",
        f"refs/heads/x\t{NEW}\trefs/heads/x\t{ZERO}",
        f"refs/heads/x {NEW} refs/heads/x {ZERO}\r",
    ],
    ids=["word", "three words", "short id", "long id", "capitals", "no ref", "space behind", "tabs", "carriage return"],
)
def test_line_of_another_form_is_an_error_that_quotes_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"^'.*' is not a line of a pre-push hook's input$"):
        parse_lines(branches("main") + text + "\n")


def test_line_that_would_steer_the_terminal_is_quoted_without_doing_so() -> None:
    with pytest.raises(ValueError, match=r"^'x\[31m' is not a line"):
        parse_lines("x\x1b[31m\n")


@pytest.mark.parametrize(
    ("text", "why", "item"),
    [
        (branches("42-x"), Why.NAMES_ITEM, "issue-42"),
        (branches("0042-x"), Why.NAMES_ITEM, "issue-42"),
        (branches("PROJ-7-x"), Why.NAMES_ITEM, "issue-proj-7"),
        (line("refs/claims/pr-17"), Why.IS_CLAIM, "pr-17"),
        (line("refs/heads/claims/issue-42"), Why.IS_CLAIM, "issue-42"),
        (line("refs/claims/issue-042"), Why.IS_CLAIM, None),
        (line("refs/claims/deep/issue-42"), Why.IS_CLAIM, None),
        (branches("wip"), Why.NAMES_NOTHING, None),
    ],
    ids=["branch", "zeros", "keyed", "claim", "other namespace", "second name", "deeper", "nothing"],
)
def test_question_says_why_it_is_one_and_of_which_item(text: str, why: Why, item: str | None) -> None:
    (question,) = questions(parse_lines(text), STRICT)
    assert (question.why, question.item.name if question.item else None) == (why, item)


def test_exempt_globs_excuse_branches_that_name_nothing_and_no_other() -> None:
    rules = Rules("{number}-{slug}", strict=True, exempt=("*",))
    asked = questions(parse_lines(branches("wip", "42-x") + line("refs/claims/issue-1")), rules)
    assert [question.branch for question in asked] == ["42-x", "refs/claims/issue-1"]


def ask(text: str) -> Question:
    (question,) = questions(parse_lines(text), STRICT)
    return question


def held_by(chain: ChainId) -> Seen:
    return Seen(Oid(OLD), Claim(issue="42", chain=chain, nonce="0" * 32))


UNREADABLE = Seen(Oid(OLD), None, "not UTF-8")
BRANCH = ask(branches("42-x"))
WRITTEN = ask(line("refs/claims/issue-42", NEW, old=OLD))
COPIED = ask(line("refs/claims/issue-42"))
TAKEN_AWAY = ask(delete("refs/claims/issue-42"))
NAMELESS = ask(line("refs/claims/Issue-42"))


@pytest.mark.parametrize(
    ("question", "seen", "chain", "goes"),
    [
        (BRANCH, held_by(ME), ME, True),
        (BRANCH, held_by(OTHER), ME, False),
        (BRANCH, held_by(ME), None, False),
        (BRANCH, None, ME, False),
        (BRANCH, None, None, False),
        (BRANCH, UNREADABLE, ME, False),
        (BRANCH, UNREADABLE, None, False),
        (WRITTEN, held_by(ME), ME, True),
        (WRITTEN, held_by(OTHER), ME, False),
        (WRITTEN, held_by(ME), None, False),
        (WRITTEN, UNREADABLE, ME, False),
        (WRITTEN, None, None, True),
        (COPIED, None, ME, False),
        (COPIED, held_by(ME), ME, True),
        (TAKEN_AWAY, held_by(ME), ME, True),
        (TAKEN_AWAY, held_by(OTHER), ME, False),
        (TAKEN_AWAY, UNREADABLE, ME, False),
        (TAKEN_AWAY, None, ME, False),
        (NAMELESS, None, ME, False),
        (ask(branches("wip")), None, ME, False),
    ],
    ids=[
        "branch of an item that this chain holds",
        "branch of an item that another holds",
        "branch of a held item, and nobody knows who pushes",
        "branch of an item that nobody holds",
        "branch of a free item, and nobody knows who pushes",
        "branch of an item whose claim cannot be read",
        "branch of an item with an unreadable claim and no chain",
        "own claim written by hand",
        "another's claim written by hand",
        "claim written by hand by nobody knows whom",
        "unreadable claim written by hand",
        "new claim written by hand",
        "copy of a claim that was given up",
        "copy of a claim that this chain holds",
        "own claim deleted by hand",
        "another's claim deleted by hand",
        "unreadable claim deleted by hand",
        "claim deleted by hand that the server does not show",
        "ref among the claims that is no item's",
        "branch without an item where all must have one",
    ],
)
def test_only_the_holder_may_go(question: Question, seen: Seen | None, chain: ChainId | None, goes: bool) -> None:
    assert may_go(question, seen, chain) is goes


def test_deletes_of_sha256_repositories_are_deletes() -> None:
    assert questions(parse_lines(delete("refs/heads/42-x", ZERO_256, NEW_256)), DEFAULT) == []
