"""One remote, spoken to by the git program only: leased push, prefix fetch, ls-remote, and the porcelain parser.

Nothing here decides what an answer means for a claim. libgit2 is never used for any of it: its push has no lease,
and over a local path two racers can both be told that they won.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from git_claims.errors import GitFailed, NoRemote
from git_claims.git.config import GitConfig
from git_claims.git.process import Finished, Git
from git_claims.protocol.claim import Oid, full_oid
from git_claims.protocol.text import printable, without_credentials

# Each flag stops one way in which a user's own configuration changes what a push sends.
_PUSH_CONFIG = ("-c", "push.pushOption=", "-c", "push.negotiate=false")
_PUSH_FLAGS = (
    "--porcelain",  # the verdict for each ref; never with -q, which hides it
    "--no-verify",  # a claim push would run this repository's pre-push hook, ours among them
    "--no-follow-tags",
    "--no-signed",
    "--no-recurse-submodules",
)
# Tells our own pre-push hook that the push it guards carries its fence; the user's other hooks run all the same.
FENCED = "GIT_CLAIM_FENCED"
# A push of work may be large, and its hooks may run a test suite.
_WORK_DEADLINES = 30
_FETCH_FLAGS = (
    "--no-tags",
    "--prune",  # absence is proved by the copy losing the ref
    "--no-write-fetch-head",  # the user's FETCH_HEAD stays theirs
    "--no-auto-maintenance",
    "--no-recurse-submodules",
    "--refmap=",  # no opportunistic update of refs the user's own refspecs name
    "--no-filter",  # a partial clone would leave out the very blobs we came for
)


class PushFlag(StrEnum):
    """The first character of a porcelain line, as documented in git-push(1)."""

    FAST_FORWARD = " "
    FORCED = "+"
    DELETED = "-"
    CREATED = "*"
    REJECTED = "!"
    UP_TO_DATE = "="


_FLAGS = frozenset(flag.value for flag in PushFlag)


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """One ref of a push: it must be at `expected` (None: must not exist) and goes to `new` (None: is deleted)."""

    ref: str
    expected: Oid | None
    new: Oid | None

    def __post_init__(self) -> None:
        # An empty source in a refspec is a delete, and git takes an abbreviated lease for another mistake.
        for oid in (self.expected, self.new):
            if oid is not None and full_oid(oid) is None:
                raise GitFailed(f"'{printable(oid)}' is not a full object id")

    @property
    def lease(self) -> str:
        """The explicit lease; an empty id means that the ref must not exist."""
        return f"--force-with-lease={self.ref}:{self.expected or ''}"

    @property
    def refspec(self) -> str:
        """Never with a leading `+`, which would cancel the lease."""
        return f"{self.new or ''}:{self.ref}"

    @property
    def flag(self) -> PushFlag:
        """What git prints when exactly this update was applied."""
        if self.new is None:
            return PushFlag.DELETED
        return PushFlag.CREATED if self.expected is None else PushFlag.FORCED


@dataclass(frozen=True, slots=True)
class PushLine:
    """What git said of one ref, such as `!` and `[rejected] (stale info)`."""

    flag: PushFlag
    summary: str


@dataclass(frozen=True, slots=True)
class PushReport:
    """The verdict by ref, and the whole answer for messages. A ref without a line was not answered."""

    finished: Finished
    lines: dict[str, PushLine] = field(default_factory=dict)
    oddity: str | None = None  # a line outside the grammar: nothing of the answer is believed, the refs are read

    def clean(self, updates: Iterable[RefUpdate]) -> bool:
        """Says whether exit status and every flag are those of a full success. Anything else must be read back."""
        return self.finished.status == 0 and all(
            update.ref in self.lines and self.lines[update.ref].flag is update.flag for update in updates
        )

    def words(self, ref: str) -> str:
        """Why `ref` was not updated, in the server's words where it gave any."""
        line = self.lines.get(ref)
        summary = line.summary if line is not None and line.flag is PushFlag.REJECTED else ""
        said = "" if self.finished.status == 0 else self.finished.said
        return "; ".join(filter(None, (summary, self.oddity, said)))

    @property
    def was_answered(self) -> bool:
        """Says whether a verdict came, or git ended before it sent anything; else the server may still be at it."""
        ended_by_hook = self.finished.status == 1 and not self.finished.stdout
        return bool(self.lines) or ended_by_hook or self.lacks_atomic or self.lacks_options

    @property
    def lacks_options(self) -> bool:
        """Says whether the server takes no push options; nothing was sent then."""
        return b"does not support push options" in self.finished.stderr

    @property
    def lacks_atomic(self) -> bool:
        """Says whether the server cannot apply several refs as one."""
        return b"does not support --atomic push" in self.finished.stderr


@dataclass(frozen=True, slots=True)
class Work:
    """What a fenced push carries: refspecs of branches, leases the user gave for them, another remote if asked."""

    refspecs: tuple[str, ...]
    leases: tuple[str, ...] = ()
    dry_run: bool = False
    remote: str | None = None


@dataclass(frozen=True, slots=True)
class Remote:
    """The one place where claims live. `source` is what a fetch names: the push URL where it is another one."""

    git: Git
    name: str
    url: str
    source: str

    def push(self, updates: list[RefUpdate], *, atomic: bool = False, options: Iterable[str] = ()) -> PushReport:
        """Pushes every update under its own lease, in one connection; `atomic`: all of them or none."""
        if not updates:
            # Without a refspec git would push what the user's push.default says.
            return PushReport(Finished(0, b"", b""))
        finished = self.git.run(
            *_PUSH_CONFIG,
            *self._not_a_mirror,
            "push",
            *_PUSH_FLAGS,
            *(["--atomic"] if atomic else []),
            *(f"--push-option={option}" for option in options),
            *(update.lease for update in updates),
            "--",
            self.name,
            *(update.refspec for update in updates),
        )
        return _report(finished)

    def push_work(self, work: Work, updates: Iterable[RefUpdate] = (), *, options: Iterable[str] = ()) -> PushReport:
        """Pushes branches as the user would, hooks and all, fenced by `updates`: everything lands or nothing does."""
        fences = list(updates)
        git = replace(self.git, environment={**self.git.environment, FENCED: "1"})
        finished = git.within(git.deadline_seconds * _WORK_DEADLINES).run(
            *self._not_a_mirror,
            "push",
            "--porcelain",
            *(["--atomic"] if fences else []),
            *(["--dry-run"] if work.dry_run else []),
            *(f"--push-option={option}" for option in options),
            *(update.lease for update in fences),
            *work.leases,
            "--",
            work.remote or self.name,
            *work.refspecs,
            *(update.refspec for update in fences),
        )
        return _report(finished)

    def default_branch(self) -> str | None:
        """Asks which branch the remote's HEAD is; None where it does not say."""
        finished = self.git.run("ls-remote", "--symref", "--", self.name, "HEAD")
        lines = finished.stdout.decode("utf-8", "surrogateescape").splitlines()
        named = [line.partition("\t")[0] for line in lines if line.startswith("ref: refs/heads/")]
        return named[0].removeprefix("ref: refs/heads/") if named else None

    def delete_branch(self, branch: str, oid: str) -> str | None:
        """Deletes a branch if it still is at that commit, or is gone; returns why it stays, None where it does not."""
        update = RefUpdate(f"refs/heads/{branch}", Oid(oid), None)
        report = self.push([update])
        if report.clean([update]):
            return None
        there = self.list_refs(update.ref)
        if there is not None and update.ref not in there:
            return None
        moved = there is not None and there[update.ref] != oid
        return "it has moved since" if moved else report.words(update.ref)

    @property
    def _not_a_mirror(self) -> tuple[str, str]:
        return "-c", f"remote.{self.name}.mirror=false"

    def fetch(self, refspecs: Iterable[str]) -> Finished:
        """Brings refs by glob refspecs into the local copy, pruning what the server no longer has."""
        # Claims have no parents, so there is nothing to negotiate about.
        return self.git.run(
            *("-c", "fetch.negotiationAlgorithm=noop"),
            "fetch",
            *_FETCH_FLAGS,
            "--",
            self.source,
            *refspecs,
        )

    def fetch_work(self, refspecs: Iterable[str]) -> Finished:
        """Brings branches to cut a lane from; moves no ref but those named, and not FETCH_HEAD."""
        flags = [flag for flag in _FETCH_FLAGS if flag != "--no-filter"]
        return self.git.run("fetch", "--quiet", *flags, "--", self.source, *refspecs)

    def list_refs(self, *patterns: str) -> dict[str, Oid] | None:
        """Asks the server for refs by name, without objects; None where it did not answer.

        git matches a pattern against the end of a name, so only whole names of the answer count.
        """
        finished = self.git.run("ls-remote", "--", self.source, *patterns)
        if finished.status != 0:
            return None
        # Not splitlines(): git takes names that contain what Python calls the end of a line.
        pairs = (line.split("\t", 1) for line in finished.stdout.decode("utf-8", "replace").split("\n")[:-1])
        return {ref: Oid(oid) for oid, ref in pairs if ref in patterns}


def _report(finished: Finished) -> PushReport:
    try:
        return PushReport(finished, dict(parse_porcelain(finished.stdout)))
    except GitFailed as error:
        # Raising here would lose sight of a push that may well have landed.
        return PushReport(finished, oddity=error.message)


def choose(git: Git, config: GitConfig, asked: str | None) -> Remote:
    """Finds the remote for claims: the one asked for, else `origin`, else the only one. Raises NoRemote."""
    name = _name(config.remotes(), asked)
    urls = _urls(git, name, "--push", "--all")
    if len(urls) != 1:
        raise NoRemote(
            f"remote '{printable(name)}' has {len(urls)} push URLs; claims need exactly one server to decide",
            "keep a remote with one URL for claims and name it with 'git config claim.remote NAME'",
        )
    reads_elsewhere = _has_push_url(config, name) and _urls(git, name) != urls
    # What a push changed must be read where it was pushed to; a read mirror may lag behind.
    return Remote(git, name, urls[0], urls[0] if reads_elsewhere else name)


def parse_porcelain(stdout: bytes) -> Iterator[tuple[str, PushLine]]:
    """Yields ref and verdict of each line of `git push --porcelain`; raises GitFailed on any other grammar."""
    for line in stdout.decode("utf-8", "surrogateescape").split("\n"):
        if not line or line == "Done" or line.startswith("To "):
            continue
        pieces = line.split("\t")
        ref = pieces[1].rpartition(":")[2] if len(pieces) == 3 and ":" in pieces[1] else ""
        if not ref or pieces[0] not in _FLAGS:
            raise GitFailed(f"'git push' said a line this program does not know: '{printable(line)}'")
        yield ref, PushLine(PushFlag(pieces[0]), printable(pieces[2]))


def slug(url: str) -> str:
    """Returns what a record calls the repository: `owner/name` of a URL, the last name of a local path."""
    without_host = re.sub(r"^(?:[a-z][a-z0-9+.-]*://[^/]*/|[^/:]+:(?!//))", "", without_credentials(url))
    names = [name for name in without_host.rstrip("/").removesuffix(".git").split("/") if name]
    local = without_host == url or url.startswith("file://")
    return printable("/".join(names[-1:] if local else names[-2:])) or "repository"


def is_called(qualifier: str, url: str, directory: str) -> bool:
    """Says whether what stood before `#` means the repository at `url`, cloned into a directory of that name."""
    wanted = qualifier.rstrip("/").removesuffix(".git").lower()
    path = re.split(r"[/:]", url.rstrip("/").removesuffix(".git").lower())
    return wanted in {"/".join(path[-count:]) for count in range(1, 5)} or wanted == directory.lower()


def _name(remotes: list[str], asked: str | None) -> str:
    listed = "', '".join(printable(remote) for remote in remotes)
    if not remotes:
        raise NoRemote(
            "this repository has no remote, so there is no server to decide who holds an item",
            "add one with 'git remote add origin URL'",
        )
    if asked is not None and asked not in remotes:
        raise NoRemote(f"no remote named '{printable(asked)}'", f"there is '{listed}'")
    if asked is None and "origin" not in remotes and len(remotes) > 1:
        raise NoRemote(
            f"several remotes and none is called origin: '{listed}'",
            "name the one for claims with 'git config claim.remote NAME'",
        )
    return asked or ("origin" if "origin" in remotes else remotes[0])


def _urls(git: Git, name: str, *options: str) -> list[str]:
    answer = git.ask("remote", "get-url", *options, "--", name)
    return answer.decode("utf-8", "surrogateescape").split("\n")[:-1]


def _has_push_url(config: GitConfig, name: str) -> bool:
    return config.value(f"remote.{name}.pushurl") is not None or any(
        key.startswith("url.") and key.endswith(".pushinsteadof") for _, key, _ in config.entries
    )
