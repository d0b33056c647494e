"""Completion in real shells: what a person gets who presses the tab key behind `git claim`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.agents import Agent
from tests.conftest import MakeAgent

GIT_COMPLETION = (
    "/usr/share/bash-completion/completions/git",
    "/usr/share/git-core/contrib/completion/git-completion.bash",
    "/usr/share/doc/git/contrib/completion/git-completion.bash",
    "/opt/homebrew/etc/bash_completion.d/git-completion.bash",
)
COMMANDS = {
    "take",
    "release",
    "ls",
    "show",
    "check",
    "renew",
    "hand-off",
    "adopt",
    "reclaim",
    "whoami",
    "init",
    "doctor",
}
LINES = {
    "git claim ": COMMANDS,
    "git claim take 42 --b": {"--bundle", "--branch"},
    "git claim completion ": {"bash", "zsh", "fish"},
}
MORE_LINES = LINES | {
    "git claim rel": {"release"},
    "git claim take --all": {"--all-or-nothing"},
    "git claim ls --": {"--mine", "--cached", "--json", "--quiet"},
    "git claim init --namespace ": {"refs/claims", "refs/heads/claims"},
}


class Shell:
    """A shell with the script that `git claim completion` prints for it."""

    def __init__(self, name: str, agent: Agent, installed: dict[str, str], tmp_path: Path) -> None:
        self.name, self.directory = name, agent.clone.path
        self.environment = agent.full_environment() | installed
        self.script = tmp_path / f"completion.{name}"
        self.script.write_text(agent.claim("completion", name, check=0).stdout)

    def run(self, code: str, *arguments: str) -> set[str]:
        ended = subprocess.run(
            [self.name, "-c", code, *arguments],
            cwd=self.directory,
            env=self.environment | {"SCRIPT": str(self.script)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, ""), ended
        # fish says what a word means behind a tab.
        return {line.partition("\t")[0].strip() for line in ended.stdout.splitlines()} - {""}


# Over 3 s on a busy machine: the shell and the program start anew for each line.
def assert_offers(offered: Callable[[str], set[str]], lines: Mapping[str, set[str]]) -> None:
    """Each line gets what is expected, and nothing that does not begin as its last word does."""
    answers = {line: offered(line) for line in lines}
    assert {line: words & lines[line] for line, words in answers.items()} == lines
    strangers = {
        line: [word for word in words if not word.startswith(line.rpartition(" ")[2])]
        for line, words in answers.items()
    }
    assert strangers == {line: [] for line in lines}


@pytest.fixture
def shell(request: pytest.FixtureRequest, make_agent: MakeAgent, installed: dict[str, str], tmp_path: Path) -> Shell:
    name = str(request.param)
    if shutil.which(name) is None:
        pytest.skip(f"needs {name}: install {name}")
    return Shell(name, make_agent(), installed, tmp_path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"], indirect=True)
def test_script_is_good_syntax(shell: Shell) -> None:
    assert shell.script.stat().st_size > 100
    subprocess.run([shell.name, "-n", str(shell.script)], env=shell.environment, check=True, timeout=60)


# bash

# As bash does it: the line is split into words, and the function that git's completion registered is called.
BY_GIT = """
source "$GIT_COMPLETION"; source "$SCRIPT"
compopt() { :; }
COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMP_KEY=9
read -ra COMP_WORDS <<<"$COMP_LINE"; [[ $COMP_LINE == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__git_wrap__git_main
printf '%s\\n' "${COMPREPLY[@]}"
"""
# What git's completion has done by the time it calls us, where it is not installed.
BY_HAND = """
source "$SCRIPT"
compopt() { :; }
read -ra words <<<"$1"; [[ $1 == *" " ]] && words+=("")
cword=$((${#words[@]} - 1)); cur=${words[cword]}; prev=${words[cword - 1]}
_git_claim
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered_by_bash(shell: Shell, line: str) -> set[str]:
    found = next((path for path in GIT_COMPLETION if Path(path).exists()), None)
    if found is None:
        return shell.run(BY_HAND, "bash", line)
    shell.environment["GIT_COMPLETION"] = found
    return shell.run(BY_GIT, "bash", line)


@pytest.mark.parametrize("shell", ["bash"], indirect=True)
def test_bash_completes_behind_git(shell: Shell) -> None:
    assert_offers(lambda line: offered_by_bash(shell, line), MORE_LINES)


@pytest.mark.parametrize("shell", ["bash"], indirect=True)
def test_bash_completes_behind_options_of_git(shell: Shell) -> None:
    assert offered_by_bash(shell, "git -C deep claim rel") == {"release"}
    assert offered_by_bash(shell, "git claim -C deep rel") == {"release"}


@pytest.mark.parametrize("shell", ["bash"], indirect=True)
def test_bash_completes_what_git_calls_us_by(shell: Shell) -> None:
    assert shell.run(BY_HAND, "bash", "git claim hand") == {"hand-off"}


@pytest.mark.parametrize("shell", ["bash"], indirect=True)
def test_bash_completes_the_program_too(shell: Shell) -> None:
    code = """
    source "$SCRIPT"
    compopt() { :; }
    COMP_WORDS=(git-claim rel); COMP_CWORD=1
    function=$(complete -p git-claim | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    "$function" git-claim rel git-claim
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    assert shell.run(code, "bash") == {"release"}


# zsh

# The builtins of a completion widget are taken down instead of offered; everything else is zsh's own.
BY_ZSH = """
autoload() { :; }; compdef() { :; }
compadd() { local last=${@[-1]}; print -rl -- ${(P)last}; }
_describe() { local all=(${(P)${@[-1]}}); print -rl -- ${all%%:*}; }
_path_files() { :; }
source "$SCRIPT"
words=(${(z)1}); words[1]=(); [[ $1 == *" " ]] && words+=("")
CURRENT=$#words
_git-claim || print nothing
"""


@pytest.mark.parametrize("shell", ["zsh"], indirect=True)
def test_zsh_completes_behind_git(shell: Shell) -> None:
    assert_offers(lambda line: shell.run(BY_ZSH, "zsh", line), LINES)


# fish


@pytest.mark.parametrize("shell", ["fish"], indirect=True)
def test_fish_completes_behind_git(shell: Shell) -> None:
    assert_offers(lambda line: shell.run('source "$SCRIPT"; complete -C $argv[1]', line), LINES)


@pytest.mark.parametrize("shell", ["fish"], indirect=True)
def test_fish_completes_the_program_too_and_leaves_the_rest_of_git_alone(shell: Shell) -> None:
    assert shell.run('source "$SCRIPT"; complete -C "git-claim rel"') == {"release"}
    assert "release" not in shell.run('source "$SCRIPT"; complete -C "git log rel"')


# All


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"], indirect=True)
def test_nothing_is_offered_where_the_program_is_gone(shell: Shell) -> None:
    programs = shell.script.parent / "programs"
    for program in programs.iterdir():
        program.unlink()
    shell.environment["PATH"] = f"{programs}:/usr/bin:/bin"
    code = {"bash": BY_HAND, "zsh": BY_ZSH, "fish": 'source "$SCRIPT"; complete -C $argv[1]'}[shell.name]
    line = ["git claim rel"] if shell.name == "fish" else [shell.name, "git claim rel"]
    assert shell.run(code, *line) <= {"nothing"}
