"""The double is GitHub enough: the real gh, plain commands and raw documents, finds in it what GitHub would show."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from graphql import GraphQLObjectType

from tests.github_double import GitHub
from tests.github_double.execution import schema
from tests.github_double.moods import MoodName
from tests.github_double.records import Conclusion, Protection
from tests.places import make_clone


def gh(
    github: GitHub, *arguments: str, login: str | None = "octo", stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **github.environment(login), "GH_TELEMETRY": "0"}
    return subprocess.run(["gh", *arguments], env=environment, input=stdin, capture_output=True, text=True, timeout=30)


def ask(github: GitHub, query: str, login: str = "octo") -> dict[str, object]:
    """Sends a document; the answer is GitHub's, whatever gh makes of it."""
    answer = gh(github, "api", "graphql", "--input", "-", login=login, stdin=json.dumps({"query": query}))
    document: object = json.loads(answer.stdout)
    assert isinstance(document, dict), answer
    return document


def add_label(github: GitHub, issue: int, label: str) -> str:
    ids = f'labelableId: "{github.issue(issue).id}", labelIds: ["{github.repository().labels[label].id}"]'
    return f"label: addLabelsToLabelable(input: {{{ids}}}) {{clientMutationId}}"


def add_comment(github: GitHub, issue: int, body: str) -> str:
    return f'note: addComment(input: {{subjectId: "{github.issue(issue).id}", body: "{body}"}}) {{clientMutationId}}'


def test_plain_gh_shows_an_issue_as_the_records_have_it(github: GitHub) -> None:
    github.add_issue(41)
    github.add_issue(42, "Fix the totals", labels=["ready"], assignees=["ada"], blocked_by=[41])
    github.comment(42, "bob", "I saw this too")
    fields = "number,title,state,labels,assignees,comments,blockedBy,closedByPullRequestsReferences"
    shown = json.loads(gh(github, "issue", "view", "42", "-R", "acme/ledger", "--json", fields).stdout)
    assert (shown["title"], shown["state"]) == ("Fix the totals", "OPEN")
    assert [label["name"] for label in shown["labels"]] == ["ready"]
    assert [user["login"] for user in shown["assignees"]] == ["ada"]
    assert [(each["author"]["login"], each["authorAssociation"], each["body"]) for each in shown["comments"]] == [
        ("bob", "MEMBER", "I saw this too")
    ]
    assert [blocker["number"] for blocker in shown["blockedBy"]["nodes"]] == [41]


def test_plain_gh_edits_comments_and_closes(github: GitHub) -> None:
    github.add_issue(42, labels=["ready"])
    edit = ["--add-label", "in-progress", "--remove-label", "ready", "--add-assignee", "@me"]
    for words in (
        ["edit", "42", *edit],
        ["comment", "42", "--body", "mine"],
        ["close", "42", "--reason", "not planned"],
    ):
        assert gh(github, "issue", *words, "-R", "acme/ledger").returncode == 0
    issue = github.issue(42)
    assert (issue.labels, issue.assignees, issue.bodies) == (["in-progress"], ["octo"], ["mine"])
    assert (issue.state, issue.state_reason) == ("CLOSED", "NOT_PLANNED")
    assert [event.kind for event in issue.events].count("LabeledEvent") == 1


def test_plain_gh_finds_the_repository_by_its_remote_and_git_reaches_it(github: GitHub, tmp_path: Path) -> None:
    github.add_issue(42, "Fix the totals")
    clone = make_clone(github.server, tmp_path)
    clone.git("push", "--quiet", "origin", "main:refs/heads/42-fix", environment=github.environment("octo"))
    assert github.server.refs("refs/heads/42-fix")
    environment = {**os.environ, **github.environment("octo")}
    answer = subprocess.run(["gh", "issue", "list"], cwd=clone.path, env=environment, capture_output=True, text=True)
    assert "Fix the totals" in answer.stdout, answer


def test_merging_with_plain_gh_moves_the_base_and_closes_what_the_text_names(github: GitHub, tmp_path: Path) -> None:
    github.add_issue(42)
    clone = make_clone(github.server, tmp_path)
    clone.git("switch", "--quiet", "-c", "42-fix")
    clone.commit("fix")
    clone.git("push", "--quiet", "origin", "42-fix", environment=github.environment("octo"))
    created = ["--head", "42-fix", "--base", "main", "--title", "Fix", "--body", "Closes #42"]
    assert gh(github, "pr", "create", *created, "-R", "acme/ledger").returncode == 0
    merged = gh(github, "pr", "merge", "43", "--squash", "--delete-branch", "-R", "acme/ledger")
    assert merged.returncode == 0, merged
    assert github.pull(43).state == "MERGED"
    assert (github.issue(42).state, github.issue(42).state_reason) == ("CLOSED", "COMPLETED")
    assert github.server.git("log", "-1", "--format=%s", "main").stdout == "Fix (#43)\n"
    assert not github.server.refs("refs/heads/42-fix")


@pytest.mark.parametrize(("conclusion", "status"), [(None, 8), ("FAILURE", 1), ("SUCCESS", 0)])
def test_plain_gh_sees_checks_and_statuses(github: GitHub, conclusion: Conclusion | None, status: int) -> None:
    github.add_pull(17, head="42-fix")
    assert "no checks reported" in gh(github, "pr", "checks", "17", "-R", "acme/ledger").stderr
    github.check(17, "test", conclusion)
    github.status(17, "ci/other", "SUCCESS")
    shown = gh(github, "pr", "checks", "17", "-R", "acme/ledger")
    assert shown.returncode == status, shown
    assert [line.partition("\t")[0] for line in sorted(shown.stdout.splitlines())] == ["ci/other", "test"]


@pytest.mark.parametrize(
    ("protection", "words"),
    [
        (Protection(approvals=1), "the base branch policy prohibits the merge"),
        (Protection(required=frozenset({"test"})), "the base branch policy prohibits the merge"),
        (Protection(methods=frozenset({"MERGE"})), "Squash merges are not allowed on this repository."),
    ],
    ids=["a review", "a check", "the method"],
)
def test_plain_gh_is_told_what_forbids_a_merge(github: GitHub, protection: Protection, words: str) -> None:
    github.add_pull(17, head="42-fix")
    github.protect(protection)
    refused = gh(github, "pr", "merge", "17", "--squash", "-R", "acme/ledger")
    assert refused.returncode == 1 and words in refused.stderr, refused
    assert github.pull(17).state == "OPEN"


def test_plain_gh_pins_the_head(github: GitHub) -> None:
    github.add_pull(17, head="42-fix")
    pinned = ["--squash", "--match-head-commit", "f" * 40, "-R", "acme/ledger"]
    assert "Head branch was modified" in gh(github, "pr", "merge", "17", *pinned).stderr
    assert github.pull(17).state == "OPEN"


def test_plain_gh_leaves_a_merge_to_github(github: GitHub) -> None:
    github.add_pull(17, head="42-fix")
    github.protect(Protection(required=frozenset({"test"})))
    assert gh(github, "pr", "merge", "17", "--squash", "--auto", "-R", "acme/ledger").returncode == 0
    assert github.pull(17).state == "OPEN"
    github.check(17, "test", "SUCCESS")
    assert github.pull(17).state == "MERGED"


def test_linked_pull_requests_that_are_closed_are_shown_only_to_who_asks(github: GitHub) -> None:
    github.add_issue(42)
    github.add_pull(17, head="42-fix", closes=42)
    github.merge(17)
    linked = "closedByPullRequestsReferences(first: 5{}) {{nodes {{number state}}}}"
    for argument, numbers in (("", []), (", includeClosedPrs: true", [{"number": 17, "state": "MERGED"}])):
        field = linked.format(argument)
        answer = ask(github, f'{{repository(owner: "acme", name: "ledger") {{issue(number: 42) {{{field}}}}}}}')
        assert json.dumps(numbers) in json.dumps(answer)


def test_a_field_that_github_does_not_have_is_refused_as_github_refuses_it(github: GitHub) -> None:
    [error] = errors(ask(github, '{repository(owner: "acme", name: "ledger") {nonsense}}'))
    assert error["message"] == "Field 'nonsense' doesn't exist on type 'Repository'"
    assert error["extensions"] == {"code": "undefinedField", "typeName": "Repository", "fieldName": "nonsense"}


def test_a_connection_without_bounds_or_with_too_many_is_refused(github: GitHub) -> None:
    for bounds, kind in (("", "MISSING_PAGINATION_BOUNDARIES"), ("(first: 101)", "EXCESSIVE_PAGINATION")):
        field = f"labels{bounds} {{totalCount}}"
        [error] = errors(ask(github, f'{{repository(owner: "acme", name: "ledger") {{{field}}}}}'))
        assert error["type"] == kind


def test_a_number_that_is_a_pull_request_is_no_issue(github: GitHub) -> None:
    github.add_pull(17, head="x")
    [error] = errors(ask(github, '{repository(owner: "acme", name: "ledger") {issue(number: 17) {id}}}'))
    assert (error["type"], error["path"]) == ("NOT_FOUND", ["repository", "issue"])


def test_of_one_document_what_fails_does_not_stop_what_follows(github: GitHub) -> None:
    github.add_issue(42)
    label = add_label(github, 42, "ready").replace("LA_", "LA_gone")
    answer = ask(github, f"mutation {{{label} {add_comment(github, 42, 'still here')}}}")
    assert [error["path"] for error in errors(answer)] == [["label"]]
    assert github.issue(42).bodies == ["still here"]


def test_assignees_are_added_to_whoever_is_there_and_strangers_are_dropped_in_silence(github: GitHub) -> None:
    github.add_issue(42, assignees=["ada"])
    stranger = github.add_user("passer-by", permission="READ", association="NONE")
    ids = json.dumps([github.world.users["octo"].id, stranger.id])
    fields = f'assignableId: "{github.issue(42).id}", assigneeIds: {ids}'
    answer = ask(github, f"mutation {{addAssigneesToAssignable(input: {{{fields}}}) {{clientMutationId}}}}")
    assert "errors" not in answer
    assert github.issue(42).assignees == ["ada", "octo"]


def test_who_may_only_read_may_comment_and_not_label(github: GitHub) -> None:
    github.add_issue(42)
    github.add_user("reader", permission="READ", association="CONTRIBUTOR")
    document = f"mutation {{{add_label(github, 42, 'ready')} {add_comment(github, 42, 'hello')}}}"
    [error] = errors(ask(github, document, login="reader"))
    assert (error["type"], error["path"]) == ("FORBIDDEN", ["label"])
    assert (github.issue(42).labels, github.issue(42).comments[0].association) == ([], "CONTRIBUTOR")


def test_each_token_is_a_login_and_an_unknown_one_is_refused(github: GitHub) -> None:
    assert '"ada"' in json.dumps(ask(github, "{viewer {login}}", login="ada"))
    assert gh(github, "api", "user", login="nobody").stdout.startswith('{"message": "Bad credentials"')
    assert gh(github, "api", "user", login=None).returncode == 4


def test_a_ref_shows_when_its_newest_commit_was_made(github: GitHub) -> None:
    field = 'ref(qualifiedName: "refs/heads/%s") {target {... on Commit {committedDate}}}'
    repository = '{repository(owner: "acme", name: "ledger") {there: %s gone: %s}}'
    answer = json.dumps(ask(github, repository % (field % "main", field % "other")))
    assert '"gone": null' in answer and '"committedDate": "20' in answer


def test_time_passes_for_everything_that_was_written(github: GitHub) -> None:
    github.add_issue(42)
    before = github.comment(42, "ada", "then").created_at
    github.age(timedelta(hours=30))
    assert github.issue(42).comments[0].created_at == before - timedelta(hours=30)


STATUS: list[tuple[MoodName, str]] = [
    ("down", "HTTP 503"),
    ("hung-up", "EOF"),
    ("timed-out", "Something went wrong"),
    ("primary-limit", "API rate limit exceeded"),
    ("graphql-limit", "API rate limit exceeded"),
    ("secondary-limit", "secondary rate limit"),
    ("bad-credentials", "HTTP 401"),
    ("forbidden", "not accessible"),
]


@pytest.mark.parametrize(("name", "words"), STATUS, ids=[name for name, _ in STATUS])
def test_in_a_mood_nothing_is_done_until_it_has_passed(github: GitHub, name: MoodName, words: str) -> None:
    github.add_issue(42)
    github.mood(name, times=1)
    document = f"query=mutation {{{add_comment(github, 42, 'now')}}}"
    refused = gh(github, "api", "graphql", "-f", document)
    assert refused.returncode != 0 and words in refused.stderr, refused
    assert github.issue(42).bodies == []
    assert gh(github, "api", "graphql", "-f", document).returncode == 0
    assert github.issue(42).bodies == ["now"]


def test_an_answer_can_be_lost_when_the_work_is_done(github: GitHub) -> None:
    github.add_issue(42)
    github.mood("answer-lost", only="writes")
    assert gh(github, "issue", "comment", "42", "--body", "now", "-R", "acme/ledger").returncode == 1
    assert github.issue(42).bodies == ["now"]


def test_a_limit_says_how_long_it_lasts(github: GitHub) -> None:
    github.mood("secondary-limit", seconds=30)
    assert "Retry-After: 30" in gh(github, "api", "-i", "user").stdout


def test_lists_can_lag_behind_while_reads_by_number_do_not(github: GitHub) -> None:
    github.add_issue(42, "Old")
    github.mood("listing-lag")
    github.close(42)
    assert "Old" in gh(github, "issue", "list", "-R", "acme/ledger").stdout
    assert "CLOSED" in gh(github, "issue", "view", "42", "--json", "state", "-R", "acme/ledger").stdout


def test_requests_are_remembered_with_who_asked_and_what_they_cost(github: GitHub) -> None:
    github.add_issue(42)
    gh(github, "issue", "comment", "42", "--body", "now", "-R", "acme/ledger", login="ada")
    assert [(request.login, request.is_write, request.status) for request in github.requests] == [
        ("ada", False, 200),
        ("ada", True, 200),
    ]
    assert github.requests[0].points == 1
    assert github.writes == github.requests[1:]


def test_a_route_that_nobody_taught_it_fails_the_test(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="gh-") as socket:
        github = GitHub(tmp_path, Path(socket))
        with pytest.raises(AssertionError, match="unknown route: GET /repos/acme/ledger/actions"), github.running():
            gh(github, "api", "repos/acme/ledger/actions")


def test_an_older_server_lacks_the_field_and_nothing_else() -> None:
    today, older = (schema(lacking).type_map["Issue"] for lacking in (frozenset[str](), frozenset({"blockedBy"})))
    assert isinstance(today, GraphQLObjectType) and isinstance(older, GraphQLObjectType)
    assert set(today.fields) - set(older.fields) == {"blockedBy"}


def errors(answer: dict[str, object]) -> list[dict[str, object]]:
    found = answer["errors"]
    assert isinstance(found, list)
    return found
