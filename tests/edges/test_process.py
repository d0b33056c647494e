"""How a git process starts and ends: it cannot ask, it cannot outlive its deadline, and neither can its children."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from git_claims import child
from git_claims.errors import GitFailed
from git_claims.git.process import Finished, Git, child_environment, run
from tests.agents import ROOT
from tests.edges.opening import open_git
from tests.places import Clone, run_git

LONG = 30.0
# Long enough for a shell to have begun on a busy machine.
SHORT = 0.7


def shell(script: str, deadline_seconds: float = LONG, stdin: bytes | None = None) -> Finished:
    return run(["sh", "-c", script], Path("/"), os.environ, deadline_seconds, stdin)


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_GRACE_SECONDS", 0.2)


@contextmanager
def held_by_children(path: Path) -> Iterator[int]:
    """A pipe with a name. Children that open it for writing hold it until they end; then reading it finds the end."""
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield reader
    finally:
        os.close(reader)


def everybody_ended(reader: int) -> bool:
    """Says whether nobody holds the pipe, now or as soon as who was ended is gone."""
    ends = select.poll()
    ends.register(reader, 0)
    return [event for _, event in ends.poll(5000)] == [select.POLLHUP]


def test_answer_has_status_and_both_streams_as_bytes() -> None:
    assert shell(r"printf 'a\377\0b'; echo no >&2; exit 7") == Finished(7, b"a\xff\0b", b"no\n")


# The product as its caller sees it: a process with a standard input, and perhaps a terminal.
CALLER = """
import os
from pathlib import Path
from git_claims.git.process import run
print(run(["sh", "-c", "cat; echo end"], Path("/"), os.environ, 30).stdout)
"""


def test_child_has_no_standard_input_to_ask_on() -> None:
    caller = subprocess.run(
        [sys.executable, "-c", CALLER],
        input=b"yes\n",
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=20,
    )
    assert (caller.stdout, caller.stderr) == (b"b'end\\n'\n", b"")


def test_child_has_no_terminal_to_ask_on_and_leads_a_session() -> None:
    script = "import os; print(os.getsid(0) == os.getpid()); open('/dev/tty')"
    finished = run([sys.executable, "-c", script], Path("/"), os.environ, LONG)
    assert finished.stdout == b"True\n"
    assert b"No such device or address: '/dev/tty'" in finished.stderr


def test_large_input_comes_back_whole() -> None:
    large = os.urandom(3_000_000)
    assert shell("cat", stdin=large) == Finished(0, large, b"")


@pytest.mark.parametrize("script", ["exit 0", "exec <&-; echo done", "head -c 1"])
def test_child_that_does_not_want_its_input_is_no_failure(script: str) -> None:
    assert shell(script, stdin=b"x" * 3_000_000).status == 0


def test_flood_on_both_streams_is_kept_whole() -> None:
    finished = shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2")
    assert (len(finished.stdout), len(finished.stderr)) == (1_000_000, 1_000_000)


def test_deadline_ends_the_whole_group_and_keeps_what_was_said(tmp_path: Path) -> None:
    with held_by_children(tmp_path / "pipe") as reader:
        finished = shell(f"exec 3>'{tmp_path}/pipe'; echo begun; (sleep 60 & sleep 60) & sleep 60", SHORT)
        assert (finished.status, finished.stdout) == (None, b"begun\n")
        assert everybody_ended(reader)
    assert finished.said == "no answer before the deadline"


def test_child_may_tidy_up_before_it_is_ended() -> None:
    assert shell("trap 'echo tidied; exit 0' TERM; echo begun; sleep 60 & wait", SHORT).stdout == b"begun\ntidied\n"


@pytest.mark.usefixtures("short_grace")
def test_child_that_refuses_to_end_is_ended_all_the_same(tmp_path: Path) -> None:
    with held_by_children(tmp_path / "pipe") as reader:
        finished = shell(f"exec 3>'{tmp_path}/pipe'; trap '' TERM; sleep 60 & while :; do wait; done", SHORT)
        assert finished.status is None
        assert everybody_ended(reader)


def test_status_of_a_child_that_ended_before_its_helper_counts(tmp_path: Path) -> None:
    with held_by_children(tmp_path / "pipe") as reader:
        finished = shell(f"exec 3>'{tmp_path}/pipe'; echo done; sleep 60 & exit 3", SHORT)
        assert (finished.status, finished.stdout) == (3, b"done\n")
        assert everybody_ended(reader)


@pytest.mark.usefixtures("short_grace")
def test_helper_that_left_the_group_and_keeps_the_pipe_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    gate = os.open(tmp_path / "gate", os.O_RDWR)
    leaves = f"setsid sh -c 'echo left; exec cat \"{tmp_path}/gate\"' & echo done; exit 4"
    finished = shell(leaves, 2 * SHORT)
    os.close(gate)
    assert finished.status == 4
    assert sorted(finished.stdout.split()) == [b"done", b"left"]


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from git_claims.errors import Terminated
from git_claims.git.process import run
def terminated(*_):
    raise Terminated
signal.signal(signal.{signal}, {handler})
child = f"exec 3>'{pipe}'; kill -{number} {{os.getpid()}}; sleep 60 & sleep 60"
try:
    run(["sh", "-c", child], Path("/"), os.environ, 30)
except (KeyboardInterrupt, Terminated) as end:
    print(type(end).__name__)
"""


@pytest.mark.parametrize(
    ("signal", "handler", "end"),
    [("SIGINT", "signal.default_int_handler", "KeyboardInterrupt"), ("SIGTERM", "terminated", "Terminated")],
)
def test_interruption_ends_the_whole_group_first(tmp_path: Path, signal: str, handler: str, end: str) -> None:
    number = {"SIGINT": 2, "SIGTERM": 15}[signal]
    script = INTERRUPTED.format(signal=signal, handler=handler, pipe=tmp_path / "pipe", number=number)
    with held_by_children(tmp_path / "pipe") as reader:
        ended = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=20
        )
        assert (ended.stdout.decode().strip(), ended.stderr) == (end, b"")
        assert everybody_ended(reader)


@pytest.mark.parametrize(
    ("command", "directory"), [(["no-such-program"], "/"), (["true"], "/no/such/place"), (["/dev/null"], "/")]
)
def test_what_cannot_be_started_is_said(command: list[str], directory: str) -> None:
    with pytest.raises(GitFailed, match=f"cannot start '{command[0]}'"):
        run(command, Path(directory), os.environ, LONG)


@pytest.mark.parametrize(
    ("finished", "said"),
    [
        (Finished(None, b"", b"fatal: half a"), "no answer before the deadline"),
        (Finished(128, b"", b""), "git ended with status 128"),
        (Finished(-13, b"", b"\n"), "git ended with status -13"),
        (Finished(1, b"", b"fatal: https://me:secret@host/\x1b[2J is gone\n"), "fatal: https://host/[2J is gone"),
    ],
)
def test_last_words_are_safe_to_show(finished: Finished, said: str) -> None:
    assert finished.said == said


# The environment


def test_messages_are_english_and_names_keep_their_encoding() -> None:
    environment = child_environment({"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "LANG": "fr_FR.UTF-8"})
    assert "LC_ALL" not in environment and "LANGUAGE" not in environment
    assert (environment["LC_MESSAGES"], environment["LC_CTYPE"]) == ("C", "de_DE.UTF-8")
    assert environment["LANG"] == "fr_FR.UTF-8"
    assert "LC_CTYPE" not in child_environment({"LANG": "de_DE.UTF-8"})


def test_nothing_can_prompt_whatever_was_inherited() -> None:
    environment = child_environment({"GIT_TERMINAL_PROMPT": "1", "SSH_ASKPASS_REQUIRE": "force"})
    assert (environment["GIT_TERMINAL_PROMPT"], environment["SSH_ASKPASS_REQUIRE"]) == ("0", "never")


KEPT = {
    "GIT_SSH_COMMAND": "ssh -F x",
    "GIT_SSH": "x",
    "GIT_ASKPASS": "x",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "a.b",
    "GIT_CONFIG_VALUE_0": "c",
    "GIT_CONFIG_PARAMETERS": "'a.b'='c'",
    "GIT_CONFIG_GLOBAL": "x",
    "GIT_SSL_CAINFO": "x",
    "GIT_PROXY_SSL_CAINFO": "x",
    "https_proxy": "x",
    "SSH_AUTH_SOCK": "x",
    "HOME": "x",
    "PATH": "x",
}


def test_what_leads_to_the_server_is_kept_also_when_pinned() -> None:
    pinned = Git(Path("/"), child_environment(KEPT), LONG).pinned(Path("/"), Path("/x"))
    assert pinned.environment.items() >= KEPT.items()


def test_what_git_calls_local_to_a_repository_is_gone_when_pinned() -> None:
    local = run_git(Path("/"), "rev-parse", "--local-env-vars").stdout.split()
    assert "GIT_INDEX_FILE" in local
    inherited = dict.fromkeys([*local, "GIT_QUARANTINE_PATH", "GIT_NAMESPACE"], "elsewhere")
    pinned = Git(Path("/"), child_environment(inherited), LONG).pinned(Path("/"), Path("/x"))
    left = {name for name, value in pinned.environment.items() if value == "elsewhere"}
    assert left == {"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}


def test_pinned_git_stays_with_its_repository_whatever_a_hook_exports(clone: Clone, repository: Clone) -> None:
    hook = {"GIT_DIR": str(repository.path / ".git"), "GIT_WORK_TREE": str(repository.path), "GIT_INDEX_FILE": "/x"}
    pinned = open_git(clone.path, **hook).pinned(clone.path, clone.path / ".git")
    assert pinned.ask("log", "--format=%s") == b"first\n"
    assert pinned.ask("status", "--porcelain") == b""


def test_object_that_stands_in_for_another_is_not_believed(clone: Clone) -> None:
    clone.commit("second")
    clone.git("replace", "HEAD", "HEAD~1")
    assert open_git(clone.path).ask("log", "-1", "--format=%s") == b"second\n"


def test_git_that_has_no_reason_to_fail_and_does_is_an_error_in_its_words(clone: Clone) -> None:
    with pytest.raises(GitFailed, match=r"^'git cat-file' failed: fatal: Not a valid object name nothing$"):
        open_git(clone.path).ask("cat-file", "-p", "nothing")
