"""The real gh against the double: what comes back, what each failure is called, and what may have been written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from git_claims.errors import Exit, TrackerError, Trouble
from git_claims.tracker.gh import Gh, gh_environment
from git_claims.tracker.reply import FieldMissing, Reply, parse_reply, read_answer, read_document
from git_claims.tracker.tree import Tree, Unreadable
from tests.conftest import OLDER
from tests.github_double import GitHub
from tests.github_double.moods import MoodName

HOST = "github.com"
WHO = "{viewer {login}}"


@pytest.fixture
def gh(github: GitHub, tmp_path: Path) -> Gh:
    return started(github, tmp_path)


def started(github: GitHub, directory: Path, login: str | None = "octo", **more: str) -> Gh:
    environment = gh_environment({**os.environ, **github.environment(login), **more})
    return Gh(directory, environment, 20, time.time)


def comment(github: GitHub, body: str = "hello") -> tuple[str, dict[str, object]]:
    github.add_issue(42)
    document = (
        "mutation($id: ID!, $body: String!) {addComment(input: {subjectId: $id, body: $body}) {clientMutationId}}"
    )
    return document, {"id": github.issue(42).id, "body": body}


def failure(ask: Callable[[], object]) -> TrackerError:
    with pytest.raises(TrackerError) as raised:
        ask()
    return raised.value


def test_data_come_back(gh: Gh) -> None:
    assert gh.graphql(HOST, WHO).data.at("viewer", "login").text == "octo"


def test_text_arrives_as_it_was_written(gh: Gh, github: GitHub) -> None:
    body = "`x` $HOME @file {owner} \\ \" ' é 漢\r\n<!-- claude-lock: nonce=1 -->"
    document, variables = comment(github, body)
    gh.graphql(HOST, document, variables, is_write=True)
    assert github.issue(42).bodies == [body]


def test_rest_comes_back_with_its_status_read(gh: Gh, github: GitHub) -> None:
    made = {"name": "new", "color": "112233", "description": "d"}
    assert gh.rest(HOST, "POST", "repos/acme/ledger/labels", made).at("name").text == "new"
    assert github.repository().labels["new"].colour == "112233"
    again = failure(lambda: gh.rest(HOST, "POST", "repos/acme/ledger/labels", made))
    assert again.trouble is Trouble.INVALID and "Validation Failed" in again.message


def test_partial_data_come_back_with_the_faults_and_where_they_are(gh: Gh, github: GitHub) -> None:
    github.add_issue(42)
    both = 'repository(owner: "acme", name: "ledger") {a: issue(number: 42) {number} b: issue(number: 7) {number}}'
    answer = gh.graphql(HOST, f"{{{both}}}")
    assert answer.data.at("repository", "a", "number").number == 42
    assert [(fault.kind, fault.path) for fault in answer.faults] == [("NOT_FOUND", ("repository", "b"))]


FAILURES: list[tuple[MoodName, Trouble, bool, str]] = [
    ("down", Trouble.SERVER, True, "GitHub answered with status 503"),
    ("garbage", Trouble.SERVER, True, "GitHub answered with something that is not its own"),
    ("timed-out", Trouble.SERVER, True, "GitHub says: Something went wrong"),
    ("hung-up", Trouble.NETWORK, True, "no answer from 'github.com': Post \"https://api.github.com/graphql\": EOF"),
    ("primary-limit", Trouble.RATE_LIMITED, False, "GitHub says: API rate limit exceeded"),
    ("graphql-limit", Trouble.RATE_LIMITED, False, "GitHub says: API rate limit exceeded"),
    ("secondary-limit", Trouble.RATE_LIMITED, False, "GitHub says: You have exceeded a secondary rate limit"),
    ("bad-credentials", Trouble.NO_LOGIN, False, "GitHub says: Bad credentials"),
    ("forbidden", Trouble.FORBIDDEN, False, "GitHub says: Resource not accessible"),
]


@pytest.mark.parametrize(("mood", "kind", "maybe", "message"), FAILURES, ids=[mood for mood, *_ in FAILURES])
def test_each_failure_has_its_kind_and_says_whether_a_write_may_have_landed(
    gh: Gh, github: GitHub, mood: MoodName, kind: Trouble, maybe: bool, message: str
) -> None:
    github.mood(mood, seconds=30)
    document, variables = comment(github)
    writing = failure(lambda: gh.graphql(HOST, document, variables, is_write=True))
    reading = failure(lambda: gh.graphql(HOST, WHO))
    assert (writing.trouble, reading.trouble) == (kind, kind)
    assert (writing.maybe_applied, reading.maybe_applied) == (maybe, False)
    assert writing.message.startswith(message)
    if writing.trouble is Trouble.RATE_LIMITED:
        assert writing.wait_seconds is not None and 28 <= writing.wait_seconds <= 32
    assert github.issue(42).bodies == []


def test_an_answer_lost_on_its_way_may_have_been_a_write(gh: Gh, github: GitHub) -> None:
    github.mood("answer-lost")
    document, variables = comment(github)
    error = failure(lambda: gh.graphql(HOST, document, variables, is_write=True))
    assert error.trouble is Trouble.NETWORK and error.maybe_applied
    assert error.exit is Exit.UNKNOWN
    assert github.issue(42).bodies == ["hello"]


def test_a_field_that_the_server_does_not_know_is_named(gh: Gh) -> None:
    error = failure(lambda: gh.graphql(HOST, "{viewer {login nonsense}}"))
    assert isinstance(error, FieldMissing) and error.fields == {"nonsense"}


def test_nobody_logged_in_is_said_with_the_host(github: GitHub, tmp_path: Path) -> None:
    error = failure(lambda: started(github, tmp_path, None).graphql(HOST, WHO))
    assert error.trouble is Trouble.NO_LOGIN and "'github.com'" in error.message
    assert error.is_unusable and not github.requests


def test_nothing_was_written_where_gh_never_got_through(github: GitHub, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/config.yml").write_text(f"http_unix_socket: {tmp_path}/nobody\n")
    gh = started(github, tmp_path, GH_CONFIG_DIR=str(tmp_path / "elsewhere"))
    error = failure(lambda: gh.graphql(HOST, "mutation {x}", is_write=True))
    assert error.trouble is Trouble.NETWORK and not error.maybe_applied


def test_variables_that_would_bend_the_answer_are_dropped(github: GitHub, tmp_path: Path) -> None:
    bent = {"CLICOLOR_FORCE": "1", "GH_FORCE_TTY": "1", "GH_DEBUG": "api", "GH_HOST": "ghe.invalid", "GH_REPO": "x/y"}
    gh = started(github, tmp_path, DEBUG="1", **bent)
    assert gh.graphql(HOST, WHO).data.at("viewer", "login").text == "octo"


def test_what_gh_is_given_cannot_prompt_phone_home_or_choose_another_place() -> None:
    dropped = ("GH_HOST", "GH_REPO", "GH_DEBUG", "DEBUG", "GH_FORCE_TTY", "CLICOLOR_FORCE")
    environment = gh_environment(dict.fromkeys((*dropped, "GH_TOKEN", "PATH", "NO_COLOR"), "inherited"))
    assert not set(dropped) & set(environment)
    assert (environment["GH_TOKEN"], environment["PATH"], environment["NO_COLOR"]) == ("inherited", "inherited", "1")
    assert (environment["GH_PROMPT_DISABLED"], environment["GH_TELEMETRY"]) == ("1", "0")


def test_an_enterprise_host_is_asked_by_its_name(gh: Gh, github: GitHub) -> None:
    assert gh.graphql("ghe.example.com", WHO).data.at("viewer", "login").text == "octo"
    assert github.requests[-1].host == "ghe.example.com"


def test_one_question_is_one_process_and_one_request(github: GitHub, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    gh = replace(started(github, tmp_path), program=str(program(programs, 'echo >>"$0.log"; exec gh "$@"')))
    gh.graphql(HOST, WHO)
    github.mood("down")
    failure(lambda: gh.graphql(HOST, WHO))
    assert (programs / "gh.log").read_text() == "\n\n"
    assert len(github.requests) == 2


def program(directory: Path, script: str) -> Path:
    directory.mkdir()
    path = directory / "gh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def other_gh(tmp_path: Path, script: str, deadline_seconds: float = 20) -> Gh:
    path = program(tmp_path / "programs", script)
    environment = {**os.environ, "PATH": f"{path.parent}:{os.environ['PATH']}"}
    return Gh(tmp_path, gh_environment(environment), deadline_seconds, time.time)


def test_a_missing_gh_is_said(tmp_path: Path) -> None:
    gh = Gh(tmp_path, gh_environment({**os.environ, "PATH": str(tmp_path)}), 20, time.time)
    error = failure(lambda: gh.graphql(HOST, WHO))
    assert error.trouble is Trouble.MISSING and error.message == "there is no program 'gh' on PATH"
    assert error.is_unusable


def test_another_program_of_that_name_is_found_out(tmp_path: Path) -> None:
    gh = other_gh(tmp_path, 'case $1 in --version) echo 2.8.9 ;; *) echo "unknown command: $1" >&2; exit 1 ;; esac')
    error = failure(lambda: gh.graphql(HOST, WHO))
    assert error.trouble is Trouble.MISSING and error.message == "the program 'gh' is not the GitHub CLI"


def test_the_version_is_that_of_the_real_gh(gh: Gh) -> None:
    major, *_ = gh.version().split(".")
    assert int(major) >= 2


def test_at_the_deadline_gh_and_all_it_started_are_ended(tmp_path: Path) -> None:
    # Takes a second: that is the deadline.
    gh = other_gh(tmp_path, 'sleep 60 & echo $! >"$0.child"; wait', 1)
    error = failure(lambda: gh.graphql(HOST, WHO, is_write=True))
    assert error.trouble is Trouble.TIMEOUT and error.maybe_applied
    assert not is_running(int((tmp_path / "programs/gh.child").read_text()))


def is_running(process: int) -> bool:
    """A zombie waits for its parent, and runs no more."""
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_silent_github_is_given_up_at_the_deadline(github: GitHub, tmp_path: Path) -> None:
    # Takes a second: that is the deadline.
    github.mood("slow", seconds=30)
    gh = replace(started(github, tmp_path), deadline_seconds=1)
    error = failure(lambda: gh.graphql(HOST, WHO))
    assert error.trouble is Trouble.TIMEOUT and error.message == "GitHub did not answer within 1 s"


def test_an_older_gh_says_the_same(older_gh: Path, github: GitHub, tmp_path: Path) -> None:
    gh = replace(started(github, tmp_path), program=str(older_gh / "gh"))
    assert gh.version() == OLDER
    document, variables = comment(github)
    gh.graphql(HOST, document, variables, is_write=True)
    assert github.issue(42).bodies == ["hello"]
    for mood, kind, _, _ in FAILURES:
        github.calm()
        github.mood(mood)
        assert failure(lambda: gh.graphql(HOST, WHO)).trouble is kind


HEAD = b"HTTP/2.0 403 Forbidden\nRetry-After: 7\r\nX-Ratelimit-Remaining: 0\r\n\r\n"


def test_a_reply_is_read_from_what_gh_prints() -> None:
    reply = parse_reply(HEAD + b'{"message":\r\n\r\n"no"}')
    assert reply == Reply(403, {"retry-after": "7", "x-ratelimit-remaining": "0"}, b'{"message":\r\n\r\n"no"}')
    assert parse_reply(b"gh: something else\n") is None
    assert parse_reply(b"") is None


def refusal(status: int, body: bytes, **headers: str) -> TrackerError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return failure(lambda: read_document(Reply(status, named, body), is_write=True, now=1000))


def test_the_wait_is_what_the_headers_say() -> None:
    assert refusal(403, b"", retry_after="7").wait_seconds == 7
    assert refusal(429, b"").wait_seconds == 60
    assert refusal(403, b'{"message": "You have exceeded a secondary rate limit"}').wait_seconds == 60
    assert refusal(403, b"", x_ratelimit_remaining="0", x_ratelimit_reset="1100").wait_seconds == 101
    assert refusal(403, b"", x_ratelimit_remaining="0", x_ratelimit_reset="900").wait_seconds == 1
    assert refusal(403, b'{"message": "API rate limit exceeded"}').wait_seconds == 60


def test_the_status_names_the_kind() -> None:
    for status, kind in (
        (401, Trouble.NO_LOGIN),
        (403, Trouble.FORBIDDEN),
        (404, Trouble.NOT_FOUND),
        (410, Trouble.NOT_FOUND),
    ):
        assert refusal(status, b'{"message": "no"}').trouble is kind
    for status, kind in (
        (400, Trouble.INVALID),
        (422, Trouble.INVALID),
        (500, Trouble.SERVER),
        (504, Trouble.SERVER),
    ):
        assert refusal(status, b"<html>").trouble is kind


def graphql_failure(errors: bytes) -> TrackerError:
    reply = Reply(200, {}, b'{"data": null, "errors": [' + errors + b"]}")
    return failure(lambda: read_answer(reply, is_write=True, now=1000))


def test_the_type_of_a_graphql_error_names_the_kind() -> None:
    for kind, expected in (
        ("NOT_FOUND", Trouble.NOT_FOUND),
        ("FORBIDDEN", Trouble.FORBIDDEN),
        ("WHO KNOWS", Trouble.INVALID),
    ):
        assert graphql_failure(b'{"type": "%s", "message": "no"}' % kind.encode()).trouble is expected
    quick = graphql_failure(b'{"message": "was submitted too quickly"}')
    assert quick.trouble is Trouble.RATE_LIMITED and quick.wait_seconds == 60


def test_an_argument_that_an_older_server_does_not_know_names_its_field() -> None:
    extensions = b'{"code": "argumentNotAccepted", "name": "closedBy", "typeName": "Field", "argumentName": "all"}'
    error = graphql_failure(b'{"message": "no", "extensions": ' + extensions + b"}")
    assert isinstance(error, FieldMissing) and error.fields == {"closedBy"}


def test_what_github_says_is_safe_to_show() -> None:
    error = refusal(422, b'{"message": "a\\u001b[31mb\\nc\\u202e"}')
    assert error.message == "GitHub says: a[31mb c"


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b'"x"', b'{"errors": 3}', b'{"errors": [{"message": 3}]}', b"", b"null"]
)
def test_a_document_of_another_shape_is_not_githubs(body: bytes) -> None:
    error = failure(lambda: read_answer(Reply(200, {}, body), is_write=True, now=1000))
    assert error.trouble is Trouble.SERVER and error.maybe_applied


def test_a_tree_gives_what_is_there_and_refuses_what_is_of_another_kind() -> None:
    tree = Tree({"a": {"n": 3, "t": "x", "l": [1], "when": "2026-11-30T13:06:00Z", "no": None}})
    assert (tree.at("a", "n").number, tree.at("a", "t").text, tree.at("b", "c").text_or_none) == (3, "x", None)
    assert [each.number for each in tree.at("a", "l").each] == [1] and tree.at("a", "no").each == []
    assert tree.at("a", "when").moment.year == 2026 and not tree.at("a", "no") and tree.at("a", "l")
    for wrong in (lambda: tree.at("a", "t", "x"), lambda: tree.at("a", "n").text, lambda: tree.at("a", "t").number):
        with pytest.raises(Unreadable):
            wrong()
