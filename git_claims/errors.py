"""Exit statuses, and the exceptions that carry them from where something is found out to the command line."""

from enum import IntEnum, StrEnum
from typing import ClassVar


class Exit(IntEnum):
    """What a process of ours ends with; the man page repeats this table."""

    DONE = 0  # done, or already so
    NO = 1  # the answer is no: held by another, not the holder, refused for want of a person
    USAGE = 2  # the command line is wrong
    UNKNOWN = 3  # could not find out; repeating is safe
    CANNOT = 128  # cannot work here: no repository, no remote, refused by a rule of the host
    INTERRUPTED = 130


class ClaimError(Exception):
    """An end that was foreseen: a message as git words it, a safe hint, a stable reason code, an exit status."""

    exit: ClassVar[Exit] = Exit.CANNOT
    reason: str = "cannot-work"
    advice: ClassVar[str | None] = None  # the hint where whoever raises it knows none that is nearer

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.advice


class Usage(ClaimError):
    """The command line asks for something that does not exist or does not fit together."""

    exit = Exit.USAGE
    reason = "usage"


class NoChain(ClaimError):
    """A command that only a holder may give was given without saying which chain asks."""

    exit = Exit.NO
    reason = "no-chain"


class NeedsPerson(ClaimError):
    """A step that a person must confirm at a terminal, and there is none, or the answer was no."""

    exit = Exit.NO
    reason = "needs-person"
    advice = "'git claim ls' shows all claims"


class Refused(ClaimError):
    """The answer is no, and the hint says what would be yes."""

    exit = Exit.NO
    reason = "refused"


class CannotTell(ClaimError):
    """The remote did not answer, or not in time. Never shown as free and never as lost."""

    exit = Exit.UNKNOWN
    reason = "cannot-tell"
    advice = "repeating is safe"


class NoRepository(ClaimError):
    """There is no git repository here, or git refuses to use it."""

    reason = "no-repository"


class NoRemote(ClaimError):
    """No remote, an unknown one, several to choose from, or one with several push URLs."""

    reason = "no-remote"


class NoTrackerHere(ClaimError):
    """A command about what a tracker shows, and there is none."""

    reason = "no-tracker"


class BadSettings(ClaimError):
    """`.claims.toml` or git config says something that has no meaning."""

    reason = "bad-settings"
    advice = "'git help claim' says what each setting means"


class GitFailed(ClaimError):
    """A git program that must work for anything to work did not, or spoke a grammar we do not know."""

    reason = "git-failed"
    advice = "'git claim doctor' looks for the cause"


class CannotWrite(ClaimError):
    """Standard output takes no more, so an answer could not be given. What was done stands."""

    reason = "cannot-write"
    advice = "what the command did stands; repeating it is safe"


class Interrupted(ClaimError):
    """Ctrl-C, SIGTERM or SIGHUP ended the command."""

    exit = Exit.INTERRUPTED
    reason = "interrupted"
    advice = "'git claim ls' shows who holds what; repeating is safe"


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived. Not an Exception: nothing but the command line may answer it."""


class Trouble(StrEnum):
    """What kept a tracker from answering; the `reason` of JSON answers."""

    MISSING = "tracker-missing"  # no program to ask with, or one of that name that is another
    NO_LOGIN = "tracker-no-login"
    FORBIDDEN = "tracker-forbidden"
    NOT_FOUND = "tracker-not-found"
    RATE_LIMITED = "tracker-rate-limited"
    INVALID = "tracker-invalid"
    TOO_OLD = "tracker-too-old"  # the server or program lacks something that was asked for
    SERVER = "tracker-server"
    NETWORK = "tracker-network"
    TIMEOUT = "tracker-timeout"


class TrackerError(ClaimError):
    """A tracker did not do what it was asked; `maybe_applied` says that a write may have landed all the same."""

    exit = Exit.UNKNOWN

    def __init__(
        self,
        trouble: Trouble,
        message: str,
        hint: str | None = None,
        *,
        wait_seconds: float | None = None,
        maybe_applied: bool = False,
    ) -> None:
        super().__init__(message, hint)
        self.trouble = trouble
        self.reason = str(trouble)
        self.wait_seconds = wait_seconds
        self.maybe_applied = maybe_applied

    @property
    def is_unusable(self) -> bool:
        """Says whether there is no tracker to talk to at all, rather than one that did not answer."""
        return self.trouble in {Trouble.MISSING, Trouble.NO_LOGIN}
