"""Every spelling of an item, the one name each has, and the refs and branches that carry it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from git_claims.errors import Usage
from git_claims.protocol.item import (
    NAMESPACES,
    Item,
    Kind,
    branch_name,
    check_branch_pattern,
    from_ref,
    is_item,
    of_branch,
    parse,
    slug_of,
)

GITHUB = "https://github.com/acme/ledger"
GITLAB = "https://gitlab.example/acme/tools/ledger"

SPELLINGS = [
    ("a number", "42", "issue-42", None),
    ("a number with a hash", "#42", "issue-42", None),
    ("leading zeros", "0042", "issue-42", None),
    ("leading zeros behind the hash", "#0042", "issue-42", None),
    ("spaces around it", "  42\n", "issue-42", None),
    ("the name itself", "issue-42", "issue-42", None),
    ("the name in capitals", "ISSUE-42", "issue-42", None),
    ("the name with leading zeros", "issue-042", "issue-42", None),
    ("the name behind a hash", "#issue-42", "issue-42", None),
    ("the longest number", "9" * 18, "issue-" + "9" * 18, None),
    ("a pull request", "pr-17", "pr-17", None),
    ("a pull request in capitals with zeros", "PR-017", "pr-17", None),
    ("a key", "PROJ-123", "issue-proj-123", None),
    ("a key in lower case", "proj-123", "issue-proj-123", None),
    ("a key with leading zeros", "PROJ-0123", "issue-proj-123", None),
    ("a key with digits and underscore", "A1_b-7", "issue-a1_b-7", None),
    ("the name of a keyed item", "issue-PROJ-123", "issue-proj-123", None),
    ("a repository in front", "acme/ledger#42", "issue-42", "acme/ledger"),
    ("a repository in a group of groups", "acme/tools/ledger#42", "issue-42", "acme/tools/ledger"),
    ("a directory in front", "ledger#42", "issue-42", "ledger"),
    ("a directory with a dash inside", "my-ledger#042", "issue-42", "my-ledger"),
    ("a repository in front of a pull request", "acme/ledger#pr-17", "pr-17", "acme/ledger"),
    ("a repository in front of a key", "ledger#PROJ-123", "issue-proj-123", "ledger"),
    ("a GitHub issue", f"{GITHUB}/issues/42", "issue-42", "acme/ledger"),
    ("a GitHub issue, with a slash", f"{GITHUB}/issues/42/", "issue-42", "acme/ledger"),
    ("a GitHub issue, at a comment", f"{GITHUB}/issues/42#issuecomment-7", "issue-42", "acme/ledger"),
    ("a GitHub issue, with a query", f"{GITHUB}/issues/42?notification=1", "issue-42", "acme/ledger"),
    ("a GitHub issue over http", "http://github.com/acme/ledger/issues/42", "issue-42", "acme/ledger"),
    ("a GitHub issue with leading zeros", f"{GITHUB}/issues/042", "issue-42", "acme/ledger"),
    ("a GitHub pull request", f"{GITHUB}/pull/17", "pr-17", "acme/ledger"),
    ("the files of a GitHub pull request", f"{GITHUB}/pull/17/files#diff-1", "pr-17", "acme/ledger"),
    ("a repository that is called issues", "https://github.com/acme/issues/issues/42", "issue-42", "acme/issues"),
    ("a Gitea pull request", "https://gitea.example/acme/ledger/pulls/17", "pr-17", "acme/ledger"),
    ("a GitLab issue", f"{GITLAB}/-/issues/42", "issue-42", "acme/tools/ledger"),
    ("a GitLab issue at a note", f"{GITLAB}/-/issues/42#note_7", "issue-42", "acme/tools/ledger"),
    ("a GitLab merge request", f"{GITLAB}/-/merge_requests/17/diffs", "pr-17", "acme/tools/ledger"),
    ("a Jira issue", "https://acme.atlassian.net/browse/PROJ-123", "issue-proj-123", None),
    ("a Jira issue with a query", "https://jira.example/browse/PROJ-123?x=1#y", "issue-proj-123", None),
    ("a Jira that lives in a path", "https://example.com/jira/browse/PROJ-123", "issue-proj-123", None),
    ("a URL with a port and a user", "https://me@git.example:8443/a/b/issues/42", "issue-42", "a/b"),
]

REFUSED = [
    ("nothing", ""),
    ("a space", " "),
    ("zero", "0"),
    ("zero behind a hash", "#0"),
    ("zero with a key", "PROJ-0"),
    ("a pull request zero", "pr-0"),
    ("a negative number", "-42"),
    ("an option", "--force"),
    ("a hash alone", "#"),
    ("two hashes", "##42"),
    ("two hashes in a row of parts", "a#b#42"),
    ("a plus", "+42"),
    ("an exponent", "4e2"),
    ("an underscore that int() would read", "4_2"),
    ("a decimal", "4.2"),
    ("Arabic digits", "٤٢"),
    ("full-width digits", "４２"),
    ("a superscript", "4²"),
    ("digits of another script in a key", "PROJ-４２"),
    ("letters of another script in a key", "РROJ-42"),
    ("a number longer than any", "9" * 19),
    ("a number longer than any in a URL", f"{GITHUB}/issues/{'9' * 5000}"),
    ("a project longer than any", "A" * 33 + "-1"),
    ("a reserved project", "probe-1"),
    ("a reserved project in capitals", "PROBE-1"),
    ("a reserved project in the name of a keyed item", "issue-probe-1"),
    ("the name of a name", "issue-issue-42"),
    ("the name of a pull request's name", "issue-pr-17"),
    ("a pull request with a key", "pr-PROJ-1"),
    ("a pull request in a Jira URL", "https://jira.example/browse/PR-17"),
    ("a number in a Jira URL", "https://jira.example/browse/42"),
    ("a name without a number", "issue-"),
    ("a key without a number", "PROJ-"),
    ("a dash alone", "-"),
    ("a repository that begins with a dash", "--x#4"),
    ("a repository without a number", "acme/ledger#"),
    ("a number without a repository, qualified twice", "#acme#42"),
    ("a repository with a space", "acme ledger#42"),
    ("a ref", "refs/claims/issue-42"),
    ("a path", "../42"),
    ("a line break inside", "4\n2"),
    ("a NUL", "42\0"),
    ("an escape", "42\x1b[31m"),
    ("a shell's words", "42;ls"),
    ("a substitution", "$(ls)"),
    ("a URL without an item", GITHUB),
    ("a URL of the list", f"{GITHUB}/issues"),
    ("a URL with a word for a number", f"{GITHUB}/issues/new"),
    ("a URL of another scheme", "file:///acme/ledger/issues/42"),
    ("a URL whose number goes on", f"{GITHUB}/issues/42x"),
]


@pytest.mark.parametrize(
    ("text", "name", "repository"), [case[1:] for case in SPELLINGS], ids=[case[0] for case in SPELLINGS]
)
def test_every_spelling_of_an_item_has_the_one_name(text: str, name: str, repository: str | None) -> None:
    named = parse(text)
    assert (named.item.name, named.repository) == (name, repository)
    assert is_item(text)


@pytest.mark.parametrize("text", [case[1] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_names_no_item_is_a_wrong_command_line(text: str) -> None:
    assert not is_item(text)
    with pytest.raises(Usage, match="is not an item") as refusal:
        parse(text)
    assert refusal.value.message.isprintable()


@pytest.mark.parametrize(
    ("name", "spelling", "noun"),
    [("issue-42", "42", "issue"), ("pr-17", "pr-17", "pull request"), ("issue-proj-123", "PROJ-123", "issue")],
)
def test_item_is_shown_as_a_person_writes_it_and_reads_back(name: str, spelling: str, noun: str) -> None:
    item = parse(name).item
    assert (item.spelling, item.noun) == (spelling, noun)
    assert parse(spelling).item == item


numbers = st.integers(1, 10**18 - 1)
projects = st.from_regex(r"[a-z][a-z0-9_]{0,31}", fullmatch=True).filter(lambda word: word not in {"issue", "pr"})
items = st.one_of(
    st.builds(lambda number: Item(Kind.ISSUE, str(number)), numbers),
    st.builds(lambda number: Item(Kind.PULL, str(number)), numbers),
    st.builds(lambda project, number: Item(Kind.ISSUE, f"{project}-{number}"), projects, numbers),
).filter(lambda item: not item.key.startswith("probe-"))


@given(items, st.sampled_from(NAMESPACES))
def test_item_and_its_ref_lead_to_each_other(item: Item, namespace: str) -> None:
    assert from_ref(item.ref(namespace), namespace) == item
    assert parse(item.name).item == item
    assert re.fullmatch(rf"{namespace}/[a-z0-9_-]+", item.ref(namespace))


@given(st.text())
@example("４２")
@example("İSSUE-4")
@example("#issue-issue-4")
def test_any_text_is_one_canonical_item_or_a_refusal(text: str) -> None:
    if not is_item(text):
        with pytest.raises(Usage):
            parse(text)
        return
    item = parse(text).item
    assert from_ref(item.ref("refs/claims"), "refs/claims") == item


@pytest.mark.parametrize(
    "ref",
    [
        "refs/claims/42",
        "refs/claims/Issue-42",
        "refs/claims/issue-042",
        "refs/claims/issue-0",
        "refs/claims/issue-PROJ-1",
        "refs/claims/proj-1",
        "refs/claims/issue-42/x",
        "refs/claims/x/issue-42",
        "refs/claims/issue-42.lock",
        "refs/claims/probe-00ff",
        "refs/claims/pr-17-b",
        "refs/claims/",
        "refs/claims",
        "refs/claims//issue-42",
        "refs/heads/claims/issue-42",
        "refs/x/refs/claims/issue-42",
        "issue-42",
    ],
)
def test_ref_that_is_nobodys_one_name_is_no_item(ref: str) -> None:
    assert from_ref(ref, "refs/claims") is None


def test_items_sort_by_number_and_keyed_ones_by_project() -> None:
    names = ["issue-10", "issue-b-1", "pr-9", "issue-9", "issue-a-10", "issue-a-2"]
    ordered = sorted((parse(name).item for name in names), key=lambda item: item.order)
    assert [item.name for item in ordered] == ["issue-9", "pr-9", "issue-10", "issue-a-2", "issue-a-10", "issue-b-1"]


BRANCHES = [
    ("{number}-{slug}", "42-fix-auth", "issue-42"),
    ("{number}-{slug}", "042-fix", "issue-42"),
    ("{number}-{slug}", "PROJ-123-fix", "issue-proj-123"),
    ("{number}-{slug}", "PR-17-fix", "pr-17"),
    ("{number}-{slug}", "42", None),
    ("{number}-{slug}", "42-", None),
    ("{number}-{slug}", "0-fix", None),
    ("{number}-{slug}", "fix-42", None),
    ("{number}-{slug}", "release-2-notes", None),
    ("{number}-{slug}", "42-a/b", None),
    ("{number}-{slug}", "feature/42-fix", None),
    ("{number}-{slug}", "٤٢-fix", None),
    ("{number}-{slug}", "main", None),
    ("{number}-{slug}", "", None),
    ("feature/{number}-{slug}", "feature/42-fix", "issue-42"),
    ("issue/{number}", "issue/42", "issue-42"),
    ("issue/{number}", "issue/42-fix", None),
    ("{slug}-{number}", "fix-auth-42", "issue-42"),
    ("{slug}-{number}", "fix-PROJ-42", "issue-proj-42"),
    ("a.b/{number}", "axb/42", None),
    ("a+(b)/{number}", "a+(b)/42", "issue-42"),
]


@pytest.mark.parametrize(("pattern", "branch", "name"), BRANCHES)
def test_branch_names_the_item_that_the_pattern_says(pattern: str, branch: str, name: str | None) -> None:
    check_branch_pattern(pattern)
    item = of_branch(pattern, branch)
    assert (item.name if item else None) == name


slugs = st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True)


@given(items, slugs, st.sampled_from(["{number}-{slug}", "{slug}-{number}", "feature/{number}-{slug}", "x/{number}"]))
def test_branch_that_is_written_for_an_item_names_it_and_keeps_its_words(item: Item, slug: str, pattern: str) -> None:
    branch = branch_name(pattern, item, slug)
    assert of_branch(pattern, branch) == item
    assert slug_of(pattern, branch) == (slug if "{slug}" in pattern else "")


def test_branch_that_names_no_item_has_no_words() -> None:
    assert slug_of("{number}-{slug}", "main") is None


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("", id="empty"),
        pytest.param("{slug}", id="no number"),
        pytest.param("{number}-{number}", id="two numbers"),
        pytest.param("{slug}-{number}-{slug}", id="two slugs"),
        pytest.param("{number}{slug}", id="nobody could tell where the number ends"),
        pytest.param("{slug}{number}", id="nobody could tell where the number begins"),
        pytest.param("{user}/{number}-{slug}", id="a word that means nothing and so never matches"),
    ],
)
def test_branch_pattern_that_cannot_tell_the_item_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="number"):
        check_branch_pattern(pattern)
