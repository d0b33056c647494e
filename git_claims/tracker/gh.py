"""The one place where a gh process starts: `gh api -i`, JSON on standard input, a deadline of our own.

Only `gh api`: `gh issue` and its like turn every failure into status 1 and a line of prose, and their edits
replace lists that others write to. What the answer means is read in `reply.py`.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from git_claims.child import Ended, run
from git_claims.errors import TrackerError, Trouble
from git_claims.protocol.text import message_of
from git_claims.tracker import reply as replies
from git_claims.tracker.reply import Answer, Reply
from git_claims.tracker.tree import Tree

# Each of these changes where gh asks, or puts colours or a log into what it prints.
_DROPPED = frozenset({"GH_HOST", "GH_REPO", "GH_DEBUG", "DEBUG", "GH_FORCE_TTY", "CLICOLOR_FORCE"})
_QUIET = {
    "GH_TELEMETRY": "0",
    "DO_NOT_TRACK": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_NO_EXTENSION_UPDATE_NOTIFIER": "1",
    "GH_PROMPT_DISABLED": "1",
    "GH_SPINNER_DISABLED": "1",
    "GH_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "LC_ALL": "C.UTF-8",
}
_INSTALL = "install the GitHub CLI from https://cli.github.com"
_VERSION = re.compile(rb"gh version ([0-9]+\.[0-9]+\.[0-9]+)")
_STATUS_NO_LOGIN = 4
# Since 2.100 gh shows no text with colours in it, as every log has them, unless it is told to; before, it knows no
# such option and always shows it.
_AS_IT_IS = "--allow-escape-sequences"
# What gh says when it never got as far as asking, so that nothing can have been written.
_NEVER_ASKED = (b"error connecting to", b"dial ", b"no such host", b"connection refused", b"certificate")
_CAME_TO_NOTHING = (*_NEVER_ASKED, b"EOF", b"connection reset", b"timeout", b"TLS", b'Post "', b'Get "')


def gh_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment for gh: it cannot prompt, colour, page, phone home or choose another repository."""
    return {name: value for name, value in inherited.items() if name not in _DROPPED} | _QUIET


@dataclass(frozen=True, slots=True)
class Gh:
    """How gh is started here. `environment` is `gh_environment`'s; `clock` tells seconds since 1970."""

    directory: Path
    environment: Mapping[str, str]
    deadline_seconds: float
    clock: Callable[[], float]
    program: str = "gh"

    def graphql(
        self, host: str, document: str, variables: Mapping[str, object] | None = None, *, is_write: bool = False
    ) -> Answer:
        """Sends one GraphQL document; raises the kind of TrackerError that came instead of data."""
        body = {"query": document, "variables": dict(variables or {})}
        reply = self._api(host, ["graphql"], body, is_write)
        return replies.read_answer(reply, is_write=is_write, now=self.clock())

    def rest(self, host: str, method: str, path: str, body: Mapping[str, object] | None = None) -> Tree:
        """Sends one REST request; raises the kind of TrackerError that its status says."""
        is_write = method != "GET"
        reply = self._api(host, ["--method", method, path], body, is_write)
        return replies.read_document(reply, is_write=is_write, now=self.clock())

    def text(self, host: str, path: str) -> str:
        """Reads what REST gives as plain text, such as a log; raises the kind of TrackerError that its status says."""
        asked = ["--method", "GET", path]
        try:
            reply = self._api(host, [_AS_IT_IS, *asked], None, is_write=False)
        except TrackerError as error:
            if error.trouble is not Trouble.TOO_OLD:
                raise
            reply = self._api(host, asked, None, is_write=False)
        return replies.read_text(reply, now=self.clock())

    def version(self) -> str:
        """Returns gh's version; raises TrackerError where the program is something else."""
        if match := _VERSION.match(self._run(["--version"], b"").stdout):
            return match[1].decode()
        raise TrackerError(Trouble.MISSING, f"the program '{self.program}' is not the GitHub CLI", _INSTALL)

    def _api(self, host: str, what: list[str], body: Mapping[str, object] | None, is_write: bool) -> Reply:
        given = [] if body is None else ["--input", "-"]
        stdin = b"" if body is None else json.dumps(body).encode()
        ended = self._run(["api", "--hostname", host, "-i", *what, *given], stdin)
        if ended.status is None:
            message = f"GitHub did not answer within {self.deadline_seconds:g} s"
            raise TrackerError(Trouble.TIMEOUT, message, "repeating is safe", maybe_applied=is_write)
        if (reply := replies.parse_reply(ended.stdout)) is not None:
            return reply
        self._raise_unanswered(host, ended.status, ended.stderr, is_write)

    def _raise_unanswered(self, host: str, status: int, stderr: bytes, is_write: bool) -> NoReturn:
        """Finds out why there is no HTTP answer; only here may it take a second process."""
        if status == _STATUS_NO_LOGIN:
            raise TrackerError(
                Trouble.NO_LOGIN, f"gh has no login for '{host}'", f"run 'gh auth login -h {host}', or set GH_TOKEN"
            )
        if b"unknown flag" in stderr:
            raise TrackerError(Trouble.TOO_OLD, f"this '{self.program}' is too old for what was asked", _INSTALL)
        if not any(sign in stderr for sign in _CAME_TO_NOTHING):
            self.version()
        asked = not any(sign in stderr for sign in _NEVER_ASKED)
        said = message_of(stderr, 1) or f"gh ended with status {status}"
        raise TrackerError(
            Trouble.NETWORK, f"no answer from '{host}': {said}", "repeating is safe", maybe_applied=is_write and asked
        )

    def _run(self, arguments: list[str], stdin: bytes) -> Ended:
        """Runs gh, which itself never gives up on a silent server, to its end or to our deadline (status None)."""
        command = [self.program, *arguments]
        try:
            return run(command, self.directory, self.environment, self.deadline_seconds, stdin)
        except FileNotFoundError as error:
            raise TrackerError(Trouble.MISSING, f"there is no program '{self.program}' on PATH", _INSTALL) from error
        except OSError as error:
            raise TrackerError(Trouble.MISSING, f"cannot start '{self.program}': {error.strerror}", _INSTALL) from error
