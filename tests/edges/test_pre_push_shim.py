"""The shell hook before the gate: it starts the program exactly where the gate has a question, and gives it all.

A stand-in for `git-claim` on PATH records what it was given, so nothing here starts Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from git_claims.git.config import parse_file
from git_claims.protocol.gate import parse_lines, questions
from git_claims.protocol.item import Item, Kind, branch_name
from tests.agents import ROOT, Answer
from tests.conftest import MakeAgent
from tests.places import Clone, Server, run_git
from tests.protocol.pushed import CASES, DEFAULT, PREFIXED, Case, branches, delete, line

HOOK = ROOT / "hooks/pre-push"
STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" >'{record}/arguments'
cat >'{record}/stdin'
echo 'error: not claimed' >&2
exit {status}
"""
SHELLS = [shell for shell in ("dash", "bash", "ksh", "busybox") if shutil.which(shell)]


@dataclass
class Hook:
    """The hook, installed in a clone; `heard` is what it gave to the program, None where that never ran."""

    clone: Clone
    record: Path
    status: int = 0
    shell: tuple[str, ...] = ("sh",)
    installed: bool = True

    @property
    def file(self) -> Path:
        return self.clone.path / ".git/hooks/pre-push"

    def run(self, lines: str | bytes, *arguments: str, directory: Path | None = None, **environment: str) -> Answer:
        for old in self.record.iterdir():
            old.unlink()
        programs = self.record.with_name("programs")
        programs.mkdir(exist_ok=True)
        stand_in = programs / "git-claim"
        stand_in.unlink(missing_ok=True)
        if self.installed:
            stand_in.write_text(STAND_IN.format(record=self.record, status=self.status))
            stand_in.chmod(0o755)
        done = subprocess.run(
            # As git names it where it can: relative to the top.
            [
                *self.shell,
                str(self.file) if directory else ".git/hooks/pre-push",
                *(arguments or ("origin", self.clone.server.url)),
            ],
            cwd=directory or self.clone.path,
            env={**os.environ, "PATH": f"{programs}:/usr/bin:/bin", **environment},
            input=lines if isinstance(lines, bytes) else lines.encode(),
            capture_output=True,
            timeout=20,
        )
        return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())

    def _heard(self, name: str) -> str | None:
        found = self.record / name
        return found.read_text() if found.exists() else None

    @property
    def heard(self) -> str | None:
        return self._heard("stdin")

    @property
    def arguments(self) -> str | None:
        return self._heard("arguments")

    def chain(self, text: str, mode: int = 0o755) -> Path:
        """Puts a hook behind ours, as installing ours over it does."""
        chained = self.file.with_name("pre-push.chained")
        chained.write_text(f"#!/bin/sh\n{text}\n")
        chained.chmod(mode)
        return chained


@pytest.fixture
def hook(clone: Clone, tmp_path: Path) -> Hook:
    record = tmp_path / "record"
    record.mkdir()
    made = Hook(clone, record)
    made.file.parent.mkdir(exist_ok=True)
    shutil.copyfile(HOOK, made.file)
    made.file.chmod(0o755)
    return made


def whole(lines: str) -> str:
    return lines if not lines or lines.endswith("\n") else f"{lines}\n"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_program_starts_exactly_where_there_is_a_question(hook: Hook, case: Case) -> None:
    if case.settings:
        (hook.clone.path / ".claims.toml").write_text(case.settings)
    answer = hook.run(case.lines)
    assert answer == Answer(0, "", "error: not claimed\n" if case.asks else "")
    assert hook.heard == (whole(case.lines) if case.asks else None)


@pytest.mark.parametrize("shell", SHELLS)
def test_hook_works_in_any_posix_shell(hook: Hook, shell: str) -> None:
    hook.shell = (shell, "sh") if shell == "busybox" else (shell,)
    hook.clone.config("claim.remote", "elsewhere")
    assert (hook.run(branches("main", "2fa-login")).status, hook.heard) == (0, None)
    assert (hook.run(branches("main", "PROJ-7-x")).status, hook.heard) == (0, branches("main", "PROJ-7-x"))
    (hook.clone.path / ".claims.toml").write_text("[branch]\n  # pattern = 'a'\n  pattern = 'b/{slug}-{number}'")
    assert (hook.run(branches("7-x", "b/x-y")).status, hook.heard) == (0, None)
    assert (hook.run(branches("b/x-7")).status, hook.heard) == (0, branches("b/x-7"))


names = st.from_regex(r"\A(?:[A-Z][A-Z0-9_]{0,4}-)?[0-9]{1,5}-[A-Za-z0-9._+-]{1,8}\Z")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=names)
def test_no_branch_that_the_gate_would_judge_slips_past_the_shell(hook: Hook, name: str) -> None:
    assume(questions(parse_lines(branches(name)), DEFAULT))
    hook.run(branches(name))
    assert hook.heard == branches(name)


PATTERNS = ("{number}", "{number}/{slug}", "x-{slug}-{number}", "{slug}.{number}", "i+{number}", "a/b/{number}_{slug}")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_branch_of_a_pattern_of_ones_own_slips_past_the_shell(hook: Hook, pattern: str) -> None:
    (hook.clone.path / ".claims.toml").write_text(f'[branch]\npattern = "{pattern}"\n')
    for item in (Item(Kind.ISSUE, "1"), Item(Kind.ISSUE, "proj-12345")):
        pushed = branches(branch_name(pattern, item, "fix-it"))
        hook.run(pushed)
        assert hook.heard == pushed


def test_arguments_of_git_and_the_answer_of_the_program_are_passed_on(hook: Hook) -> None:
    hook.status = 3
    answer = hook.run(branches("42-x"), "fork", "https://example.invalid/a b.git")
    assert hook.arguments == "hook\npre-push\nfork\nhttps://example.invalid/a b.git\n"
    assert answer == Answer(3, "", "error: not claimed\n")


def test_refusal_of_the_program_stops_a_real_push(hook: Hook, server: Server) -> None:
    hook.status = 1
    programs = hook.record.with_name("programs")
    hook.run("")
    path = {"PATH": f"{programs}:/usr/bin:/bin"}
    refused = hook.clone.git("push", "origin", "HEAD:refs/heads/42-x", check=False, environment=path)
    passed = hook.clone.git("push", "origin", "HEAD:refs/heads/wip", check=False, environment=path)
    assert (refused.returncode, passed.returncode) == (1, 0)
    assert server.refs("refs/heads/").keys() == {"refs/heads/main", "refs/heads/wip"}
    assert (hook.heard or "").endswith(f" refs/heads/42-x {'0' * 40}\n")


def test_program_that_is_not_installed_is_a_refusal_only_of_what_it_would_judge(hook: Hook) -> None:
    hook.installed = False
    assert hook.run(branches("main")) == Answer(0, "", "")
    assert hook.run(branches("42-x")) == Answer(
        1,
        "",
        "error: cannot tell whether this push is of claimed work: 'git claim' is not installed\n"
        "hint: 'pipx install git-claims' installs it; then push again\n",
    )


def test_fenced_push_is_not_judged_again(hook: Hook) -> None:
    hook.chain("echo ran >&2")
    assert hook.run(branches("42-x"), GIT_CLAIM_FENCED="1") == Answer(0, "", "ran\n")
    assert hook.heard is None


# Settings that the work tree does not have


def commit_settings(clone: Clone, text: str) -> None:
    (clone.path / ".claims.toml").write_text(text)
    clone.git("add", ".claims.toml")
    clone.commit("settings")


def take_away_settings(clone: Clone) -> None:
    clone.git("switch", "--quiet", "-c", "old", "HEAD~1")


PATTERN = '[branch]\npattern = "feature/{number}/{slug}"\n'


@pytest.mark.parametrize("remote", ["origin", "fork", "https://example.invalid/ledger.git"])
@pytest.mark.parametrize("text", [PATTERN, "[hook]\nstrict = true\n"], ids=["pattern", "strict"])
def test_settings_come_from_the_default_branch_whatever_the_push_goes_to(hook: Hook, text: str, remote: str) -> None:
    commit_settings(hook.clone, text)
    hook.clone.git("push", "--quiet", "--no-verify", "origin", "main")
    take_away_settings(hook.clone)
    hook.run(branches("feature/42/x"), remote, "url")
    assert hook.heard == branches("feature/42/x")


def test_settings_come_from_the_remote_where_claims_live(hook: Hook, server: Server) -> None:
    commit_settings(hook.clone, PATTERN)
    hook.clone.git("remote", "add", "claims", server.url)
    hook.clone.git("push", "--quiet", "--no-verify", "claims", "main")
    hook.clone.git("remote", "set-head", "claims", "main")
    take_away_settings(hook.clone)
    hook.run(branches("feature/42/x"))
    assert hook.heard is None
    hook.clone.config("claim.remote", "claims")
    hook.run(branches("feature/42/x"))
    assert hook.heard == branches("feature/42/x")


def test_settings_come_from_the_current_commit_where_the_remote_shows_none(hook: Hook) -> None:
    commit_settings(hook.clone, PATTERN)
    (hook.clone.path / ".claims.toml").unlink()
    hook.run(branches("feature/42/x"))
    assert hook.heard == branches("feature/42/x")


def test_settings_are_read_in_a_bare_clone(hook: Hook, make_agent: MakeAgent) -> None:
    commit_settings(hook.clone, PATTERN)
    hook.clone.git("push", "--quiet", "--no-verify", "origin", "main")
    bare = make_agent("--bare").clone
    hook.run(branches("feature/42/x"), directory=bare.path, GIT_DIR=".")
    assert hook.heard == branches("feature/42/x")


@pytest.mark.parametrize(
    "text",
    [
        'branch.pattern = "feature/{number}/{slug}"',
        "[branch]\npattern='feature/{number}/{slug}'",
        'branch = { pattern = "feature/{number}/{slug}" }\n',
        '  [branch]\n\tpattern\t=\t"feature/{number}/{slug}" # "no"\r\n',
        '[branch]\n# pattern = "x"\n  # pattern = "y"\npattern = "feature/{number}/{slug}"\n',
        '[hook]\nexempt = ["strict = true", "pattern"]\n[branch]\npattern = "feature/{number}/{slug}"\n',
    ],
    ids=["dotted", "single quotes", "inline", "indented", "comments", "words in other settings"],
)
def test_pattern_is_found_in_every_usual_spelling(hook: Hook, text: str) -> None:
    assert parse_file(text)[0]["branch.pattern"] == PREFIXED.branch_pattern
    (hook.clone.path / ".claims.toml").write_text(text)
    hook.run(branches("feature/42/x"))
    assert hook.heard == branches("feature/42/x")


# The hook that was there before


def test_earlier_hook_gets_the_same_arguments_and_bytes(hook: Hook) -> None:
    hook.chain(f"printf '%s|' \"$@\" >'{hook.record}/first'; cat >>'{hook.record}/first'")
    lines = branches("main", "42-x") + delete("refs/heads/a") + line("refs/heads/b", "HEAD^{/a\\tb  c%s}")
    hook.run(lines, "origin", "a url")
    assert (hook.record / "first").read_text() == f"origin|a url|{lines}"
    assert hook.heard == lines


@pytest.mark.parametrize("lines", ["", branches("main"), branches("42-x")], ids=["nothing", "no item", "item"])
def test_refusal_of_the_earlier_hook_stands_and_ends_the_push(hook: Hook, lines: str) -> None:
    hook.chain("echo no >&2; exit 7")
    assert hook.run(lines) == Answer(7, "", "no\n")
    assert hook.heard is None


def test_earlier_hook_that_is_switched_off_stays_off(hook: Hook) -> None:
    hook.chain("exit 7", mode=0o644)
    assert hook.run(branches("main")).status == 0


def test_earlier_hook_need_not_read_its_input(hook: Hook) -> None:
    hook.chain("exit 0")
    lines = branches(*(f"{number}-x" for number in range(1, 3000)))
    assert hook.run(lines) == Answer(0, "", "error: not claimed\n")
    assert hook.heard == lines


def test_hooks_that_are_behind_each_other_end(hook: Hook) -> None:
    # Ours, then another program's, then ours again, put away: each installed over the other.
    ours_before = hook.file.with_name("pre-push.legacy")
    shutil.copy(hook.file, ours_before)
    hook.chain(f'echo theirs >&2; exec "{ours_before}" "$@"')
    answer = hook.run(branches("42-x"))
    assert answer == Answer(0, "", "theirs\nerror: not claimed\nerror: not claimed\n")


def test_hook_put_behind_another_runs_the_one_behind_itself(hook: Hook) -> None:
    hook.chain("echo first >&2")
    ours = hook.file.rename(hook.file.with_name("pre-push.legacy"))
    hook.file.write_text(f'#!/bin/sh\nexec "{ours}" "$@"\n')
    assert hook.run(branches("42-x")).stderr == "first\nerror: not claimed\n"


def test_hook_in_a_linked_worktree_reads_the_settings_there(hook: Hook) -> None:
    lane = hook.clone.worktree("lane")
    (lane.path / ".claims.toml").write_text(PATTERN)
    git_dir = run_git(lane.path, "rev-parse", "--absolute-git-dir").stdout.strip()
    hook.run(branches("feature/42/x"), directory=lane.path, GIT_DIR=git_dir)
    assert hook.heard == branches("feature/42/x")


@pytest.mark.parametrize("make", [lambda: branches("main"), lambda: branches("42-x")], ids=["no item", "item"])
def test_hook_leaves_the_clone_as_it_was(hook: Hook, make: Callable[[], str]) -> None:
    before = {path: path.read_bytes() for path in hook.clone.path.rglob("*") if path.is_file()}
    hook.run(make())
    assert {path: path.read_bytes() for path in hook.clone.path.rglob("*") if path.is_file()} == before
