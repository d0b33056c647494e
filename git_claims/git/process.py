"""The one place where a git process starts: no standard input, a process session of its own, a deadline.

What the answer means is for the callers; nothing here knows a git command.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from git_claims import child
from git_claims.errors import GitFailed
from git_claims.protocol.text import message_of

# What redirects git to another repository, index or object store. Hooks export some of these, and a child that
# is told `--git-dir` must not find half of another repository beside it.
_REDIRECTIONS = (
    "GIT_DIR",
    "GIT_CONFIG",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_REPLACE_REF_BASE",
)


@dataclass(frozen=True, slots=True)
class Finished(child.Ended):
    """What git left, and what it said."""

    @property
    def said(self) -> str:
        """Its last words on one line, without credentials or control characters."""
        if self.status is None:
            return "no answer before the deadline"
        return message_of(self.stderr) or f"git ended with status {self.status}"


@dataclass(frozen=True, slots=True)
class Git:
    """How git is started here: where, with which environment, for how long at most (seconds)."""

    directory: Path
    environment: Mapping[str, str]
    deadline_seconds: float
    git_dir: Path | None = None

    def run(self, *arguments: str, stdin: bytes | None = None) -> Finished:
        """Runs `git` with `arguments` to its end, or to the deadline. Never raises for what git answers."""
        pinned = [] if self.git_dir is None else [f"--git-dir={self.git_dir}"]
        return run(["git", *pinned, *arguments], self.directory, self.environment, self.deadline_seconds, stdin)

    def ask(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Runs a git command that has no reason to fail and returns its output; raises GitFailed if it does."""
        finished = self.run(*arguments, stdin=stdin)
        if finished.status != 0:
            raise GitFailed(f"'git {arguments[0]}' failed: {finished.said}")
        return finished.stdout

    def pinned(self, directory: Path, git_dir: Path) -> "Git":
        """The same git, tied to one repository: the variables that redirect it are gone from then on."""
        kept = {name: value for name, value in self.environment.items() if name not in _REDIRECTIONS}
        return replace(self, directory=directory, git_dir=git_dir, environment=kept)

    def within(self, deadline_seconds: float) -> "Git":
        """The same git, given another deadline."""
        return replace(self, deadline_seconds=deadline_seconds)


def child_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment for git children: it cannot prompt, and says machine-readable things in English."""
    environment = {key: value for key, value in inherited.items() if key not in {"LC_ALL", "LANGUAGE"}}
    if "LC_ALL" in inherited:
        environment["LC_CTYPE"] = inherited["LC_ALL"]
    # LC_MESSAGES only: LC_ALL=C would change the encoding of branch names too.
    environment |= {"LC_MESSAGES": "C", "GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never"}
    # A ref in refs/replace could put another record in the place of a claim.
    environment |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0"}
    return environment


def run(
    command: list[str],
    directory: Path,
    environment: Mapping[str, str],
    deadline_seconds: float,
    stdin: bytes | None = None,
) -> Finished:
    """Runs one child to its end, or to the deadline; raises GitFailed where the program is not there."""
    try:
        ended = child.run(command, directory, environment, deadline_seconds, stdin)
    except OSError as error:
        raise GitFailed(f"cannot start '{command[0]}': {error.strerror}") from error
    return Finished(ended.status, ended.stdout, ended.stderr)


def end_children() -> None:
    """Ends whatever programs other threads wait for, so that those threads end too."""
    child.end_all()
