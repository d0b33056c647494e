"""The one place where a git process starts: no standard input, a process session of its own, a deadline.

What the answer means is for the callers; nothing here knows a git command.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

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
_GRACE_SECONDS = 2.0
_Handler = Callable[[int, FrameType | None], object]


@dataclass(frozen=True, slots=True)
class Finished:
    """What a child left. `status` is None where the deadline passed and its process group was ended."""

    status: int | None
    stdout: bytes
    stderr: bytes

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
    """Runs one child to its end; on the deadline, Ctrl-C or SIGTERM its whole group is ended first."""
    child: subprocess.Popen[bytes] | None = None
    try:
        with signals_held():
            child = start(command, directory, environment, stdin is not None)
        return wait(child, deadline_seconds, stdin)
    except BaseException:
        if child is not None and child.returncode is None:
            _end(child)
        raise


@contextmanager
def signals_held() -> Iterator[None]:
    """Lets Ctrl-C and its like wait for the block: what starts in that moment would be nobody's, and run on."""
    caught: list[int] = []
    handlers: dict[int, _Handler] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                handler = signal.getsignal(number)
                # A signal that is ignored stays so in the child.
                if callable(handler):
                    handlers[number] = handler
                    signal.signal(number, lambda number, _: caught.append(number))
        yield
    finally:
        for held, handler in handlers.items():
            signal.signal(held, handler)
        for held in caught:
            signal.raise_signal(held)


def start(
    command: list[str], directory: Path, environment: Mapping[str, str], has_input: bool = False
) -> subprocess.Popen[bytes]:
    """Starts a child for `wait`; raises GitFailed where the program is not there."""
    try:
        return subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A session of its own: ssh asks on the terminal otherwise, and the group can be ended as one.
            start_new_session=True,
        )
    except OSError as error:
        raise GitFailed(f"cannot start '{command[0]}': {error.strerror}") from error


def wait(child: subprocess.Popen[bytes], deadline_seconds: float, stdin: bytes | None = None) -> Finished:
    """Waits for a child to its end; on the deadline, Ctrl-C or SIGTERM its whole group is ended first."""
    try:
        stdout, stderr = child.communicate(stdin, timeout=deadline_seconds)
    except subprocess.TimeoutExpired:
        # It may have ended while a helper it left behind still holds the pipe; then its status counts.
        status = child.poll()
        return Finished(status, *_end(child))
    except BaseException:
        _end(child)
        raise
    return Finished(child.returncode, stdout, stderr)


def _end(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Ends the child's whole group, politely first: git removes its lock files on SIGTERM."""
    said = b"", b""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        try:
            return child.communicate(timeout=_GRACE_SECONDS)
        except subprocess.TimeoutExpired as silence:
            said = silence.stdout or b"", silence.stderr or b""
    # A helper that left the group, such as a daemon of ssh or of a credential store, may keep the pipes for ever.
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
    child.poll()
    return said
