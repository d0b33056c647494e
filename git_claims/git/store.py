"""The claims of one remote: objects built by pygit2, refs changed by leased push, doubt settled by reading back.

The server's ref is the truth. The local `refs/claims/*` is a copy of it, replaced at every read and never the only
place of anything.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from git_claims.errors import CannotTell, GitFailed, Usage
from git_claims.git.copy import NOBODYS, Copy, Provenance
from git_claims.git.objects import local_refs, read_records
from git_claims.git.process import Git
from git_claims.git.remote import PushReport, RefUpdate, Remote, Work
from git_claims.git.repository import Repository
from git_claims.protocol.claim import Claim, Oid, Seen, encode
from git_claims.protocol.item import Item, from_ref
from git_claims.protocol.settlement import (
    Applied,
    Moved,
    Settled,
    Standing,
    Unclear,
    Untouched,
    Withheld,
    stand,
)
from git_claims.protocol.text import without_credentials
from git_claims.protocol.transition import Swap

COPY_NAMESPACE = "refs/claims"
PROBE = "probe-"

# Fixed by the program: a missing user.name or a signing key that wants a passphrase must not stop a claim.
_NAME, _EMAIL = "git-claim", "git-claim@localhost"
_PUSHES = 4
_READS = 3
_BACKOFF_SECONDS = 0.05
_COPY_LOCK_SECONDS = 2.0
# Beyond this many items one glob for all of them is the shorter question.
_MOST_REFSPECS = 100

_Row = tuple[Item, Oid, str]


@dataclass(frozen=True, slots=True)
class Listing:
    """Every claim of the remote. `strangers` are refs in the namespace that are no item's one name."""

    claims: dict[Item, Seen]
    strangers: tuple[str, ...]
    as_of: float | None  # seconds since the epoch; None: this copy was never listed as a whole
    earlier: int = 0  # how many claims the listing before this one had


@dataclass(frozen=True, slots=True)
class Store:
    """Claims of `remote` below `namespace`. `clock` gives epoch seconds, `jitter` a number in [0, 1)."""

    repository: Repository
    remote: Remote
    namespace: str
    copy: Copy
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]

    @property
    def _git(self) -> Git:
        # The remote's, for its deadline: in a partial clone even reading an object may ask the server.
        return self.remote.git

    @property
    def _source(self) -> str:
        return f"{without_credentials(self.remote.url)} {self.namespace}"

    def within(self, seconds: float) -> "Store":
        """The same store, which waits no longer than that for any answer."""
        git = self.remote.git.within(min(seconds, self.remote.git.deadline_seconds))
        return replace(self, remote=replace(self.remote, git=git))

    def read(self, items: Iterable[Item]) -> dict[Item, Seen | None]:
        """Asks the server for these items in one exchange; None is proof of absence. Raises CannotTell."""
        wanted = list(dict.fromkeys(items))
        if not wanted:
            return {}
        rows, _ = self._fetch(wanted if len(wanted) <= _MOST_REFSPECS else [])
        claims = read_records(self._git, rows)
        return {item: claims.get(item) for item in wanted}

    def read_all(self) -> Listing:
        """Asks the server for every claim in one exchange. Raises CannotTell."""
        before = self.copy.provenance()
        earlier = before.count if before is not None and before.source == self._source else 0
        rows, strangers = self._fetch([])
        return Listing(read_records(self._git, rows), strangers, self.clock(), earlier)

    def cached(self) -> Listing:
        """Reads the local copy, without network. Empty and without a time where it is of another remote."""
        if not self._copy_is_ours():
            return Listing({}, (), None)
        rows, strangers = self._sorted_out(local_refs(self._git, COPY_NAMESPACE))
        return Listing(read_records(self._git, rows), strangers, self.cached_as_of())

    def cached_as_of(self) -> float | None:
        """Returns when the whole copy was last read (epoch seconds); None where it never was, from here."""
        known = self.copy.provenance()
        return known.listed_at if known is not None and known.source == self._source else None

    def cached_items(self, items: Iterable[Item]) -> dict[Item, Seen | None]:
        """Reads these items from the local copy; None says only that the copy has none."""
        wanted = list(items)
        if not wanted or not self._copy_is_ours():
            return dict.fromkeys(wanted)
        refs = local_refs(self._git, *(item.ref(COPY_NAMESPACE) for item in wanted))
        records = read_records(self._git, self._sorted_out(refs)[0])
        return {item: records.get(item) for item in wanted}

    def record_at(self, item: Item, oid: Oid) -> Seen:
        """Reads the record of an id that was seen before, without network; unreadable where this clone has it not."""
        return read_records(self._git, [(item, oid, "commit")])[item]

    def swap(self, swaps: Sequence[Swap], *, atomic: bool = False) -> dict[Item, Settled]:
        """Pushes all swaps in one connection and finds out what became of each, whatever the push said.

        A push that may not have landed is repeated with the same objects under the same leases: a new nonce would
        meet its own earlier success and take it for a rival. May last several deadlines when the server is silent.
        """
        built = {swap.item: None if swap.new is None else self.build(swap.new) for swap in swaps}
        updates = {swap.item: self._update(swap, built[swap.item]) for swap in swaps}
        settled: dict[Item, Settled] = {}
        takes_options, was_held_back = self.copy.takes_options(self._source), False
        for attempt in range(_PUSHES):
            pending = {item: update for item, update in updates.items() if item not in settled}
            # A server with rules of its own may want to be shown the claim that changes, and not every server
            # takes push options: tried once a push was held back, and remembered.
            options = _shown(pending.values()) if takes_options or (takes_options is None and was_held_back) else []
            report = self.remote.push(list(pending.values()), atomic=atomic, options=options)
            if options and (report.lacks_options or report.lines):
                takes_options = not report.lacks_options
                self.copy.note_options(self._source, takes_options)
            if report.clean(pending.values()):
                settled |= {item: Applied(built[item]) for item in pending}
                break
            was_held_back = bool(report.lines)
            # A server that lets one deadline pass will hardly keep the next four.
            last = attempt == _PUSHES - 1 or (report.finished.status is None and attempt > 0)
            settled |= self._settle(pending, built, report, atomic, last)
            if len(settled) == len(updates):
                break
            self._back_off(attempt)
        self._keep(updates, settled)
        return settled

    def fence(self, swaps: Sequence[Swap], work: Work) -> tuple[dict[Item, Settled], PushReport]:
        """Pushes work together with swaps of the claims it rests on: all of it lands, or nothing does.

        Never repeated by itself, since it runs the user's hooks; where the server may still be at it, it is Unclear.
        """
        built = {swap.item: None if swap.new is None else self.build(swap.new) for swap in swaps}
        updates = {swap.item: self._update(swap, built[swap.item]) for swap in swaps}
        report = self.remote.push_work(work, updates.values())
        if report.clean(updates.values()):
            settled: dict[Item, Settled] = {item: Applied(built[item]) for item in updates}
        else:
            settled = self._settle(updates, built, report, atomic=True, last=True)
            if not report.was_answered:
                settled |= {item: Unclear(state.why) for item, state in settled.items() if isinstance(state, Withheld)}
        if not work.dry_run:
            self._keep(updates, settled)
        return settled, report

    def push_work(self, work: Work, options: Sequence[str]) -> PushReport:
        """Pushes work without a fence, showing the claims it rests on where the server takes push options."""
        if self.copy.takes_options(self._source) is not False and work.remote in {None, self.remote.name}:
            report = self.remote.push_work(work, options=options)
            if not report.lacks_options:
                return report
            self.copy.note_options(self._source, False)
        return self.remote.push_work(work)

    def _settle(
        self,
        pending: Mapping[Item, RefUpdate],
        built: Mapping[Item, Seen | None],
        report: PushReport,
        atomic: bool,
        last: bool,
    ) -> dict[Item, Settled]:
        """Reads the refs of a doubtful push. Items that the result leaves out are worth another try."""
        try:
            server = self.read(pending)
        except CannotTell as silence:
            return {item: Unclear(f"{report.words(update.ref)}; {silence.message}") for item, update in pending.items()}
        standings = {item: _standing(update, server[item]) for item, update in pending.items()}
        group_lost = atomic and Standing.MOVED in standings.values()
        settled: dict[Item, Settled] = {}
        for item, standing in standings.items():
            if standing is Standing.APPLIED:
                settled[item] = Applied(built[item])
            elif standing is Standing.MOVED:
                settled[item] = Moved(server[item])
            elif group_lost:
                settled[item] = Untouched()
            elif last or report.lacks_atomic:
                settled[item] = Withheld(report.words(pending[item].ref), report.lacks_atomic)
        return settled

    def _fetch(self, items: Sequence[Item]) -> tuple[list[_Row], tuple[str, ...]]:
        """Brings the refs of these items, or without any all of them, then reads the copy under the same lock, so that
        no older answer slips between.
        """
        with self.copy.locked(self._git.deadline_seconds):
            before = self.copy.provenance()
            if before is not None and before.source != self._source:
                # Nobody's until it is whole: if we die on the way, two remotes are mixed in it.
                self.copy.record(NOBODYS)
                items = []
            # A glob proves absence by exit 0, where an exact refspec dies when the ref is absent.
            globs = [f"{item.name}*" for item in items] or ["*"]
            self._fetch_until_answered([f"+{self.namespace}/{glob}:{COPY_NAMESPACE}/{glob}" for glob in globs])
            places = [item.ref(COPY_NAMESPACE) for item in items] or [COPY_NAMESPACE]
            rows, strangers = self._sorted_out(local_refs(self._git, *places))
            if not items:
                self.copy.record(Provenance(self._source, self.clock(), len(rows)))
            elif before is None:
                self.copy.record(Provenance(self._source, None, 0))
        return rows, strangers

    def _fetch_until_answered(self, refspecs: list[str]) -> None:
        for attempt in range(_READS):
            finished = self.remote.fetch(refspecs)
            if finished.status == 0:
                return
            if finished.status is None:
                break
            # Status 1 also means that another program moved a ref of the copy meanwhile: the copy may be old.
            self._back_off(attempt)
        raise CannotTell(
            f"cannot read the claims of remote '{self.remote.name}': {finished.said}",
            "repeating is safe; 'git claim doctor' looks for the cause",
        )

    def _sorted_out(self, refs: list[tuple[str, Oid, str]]) -> tuple[list[_Row], tuple[str, ...]]:
        rows: list[_Row] = []
        strangers: list[str] = []
        for ref, oid, kind in refs:
            item = from_ref(ref, COPY_NAMESPACE)
            if item is not None:
                rows.append((item, oid, kind))
            elif not ref.startswith(f"{COPY_NAMESPACE}/{PROBE}"):
                strangers.append(ref)
        return rows, tuple(strangers)

    def _copy_is_ours(self) -> bool:
        known = self.copy.provenance()
        return known is None or known.source == self._source

    def _update(self, swap: Swap, built: Seen | None) -> RefUpdate:
        return RefUpdate(swap.item.ref(self.namespace), swap.expected_oid, built.oid if built else None)

    def _keep(self, updates: Mapping[Item, RefUpdate], settled: Mapping[Item, Settled]) -> None:
        """Brings the copy up to what we just did. It is only a copy: where that fails, the next read mends it."""
        landed = [item for item, state in settled.items() if isinstance(state, Applied)]
        if not landed:
            return
        lines = [_update_line(item, updates[item].new) for item in landed]
        try:
            with self.copy.locked(_COPY_LOCK_SECONDS):
                if not self._copy_is_ours():
                    return
                self._git.run("update-ref", "--no-deref", "--stdin", stdin="".join(lines).encode())
                if self.copy.provenance() is None:
                    self.copy.record(Provenance(self._source, None, 0))
        except (CannotTell, GitFailed):
            return

    def _back_off(self, attempt: int) -> None:
        self.sleep(_BACKOFF_SECONDS * 2**attempt * (0.5 + self.jitter()))

    def build(self, claim: Claim) -> Seen:
        try:
            record = encode(claim)
        except (ValueError, UnicodeEncodeError) as error:
            raise Usage(f"this claim cannot be recorded: {error}") from error
        subject = f"claim {claim.issue} by {claim.chain}\n"
        oid = self._build_in_process(record, subject) or self._build_with_git(record, subject)
        return Seen(oid, claim)

    def _build_in_process(self, record: bytes, subject: str) -> Oid | None:
        """Builds the commit with pygit2; None where that cannot open the repository (sha256, reftable, partial)."""
        try:
            with _no_certificates():
                import pygit2  # late: it costs more than the rest of the program, and reads do without it
        except ImportError:
            return None
        try:
            # git has just checked who owns this directory, with the exceptions that its configuration allows.
            pygit2.settings.owner_validation = False
            objects = pygit2.Repository(str(self.repository.common_dir))
            tree = objects.TreeBuilder()
            tree.insert("claim", objects.create_blob(record), pygit2.enums.FileMode.BLOB)
            author = pygit2.Signature(_NAME, _EMAIL, int(self.clock()), 0, "utf-8")
            # No parents: a claim can never be a fast-forward of another, even for a push without a lease.
            return Oid(str(objects.create_commit(None, author, author, subject, tree.write(), [])))
        except (pygit2.GitError, KeyError, ValueError, OSError):
            return None

    def _build_with_git(self, record: bytes, subject: str) -> Oid:
        blob = self._git.ask("hash-object", "-w", "--no-filters", "--stdin", stdin=record).decode().strip()
        tree = self._git.ask("mktree", stdin=f"100644 blob {blob}\tclaim\n".encode()).decode().strip()
        identity = {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", _NAME), ("EMAIL", _EMAIL), ("DATE", f"@{int(self.clock())} +0000"))
        }
        git = replace(self._git, environment={**self._git.environment, **identity})
        answer = git.ask("-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree, stdin=subject.encode())
        return Oid(answer.decode().strip())


@contextmanager
def _no_certificates() -> Iterator[None]:
    """pygit2 reads the bundle that SSL_CERT_FILE names while it is imported, a third of its time, and never connects
    from here.
    """
    bundle = os.environ.get("SSL_CERT_FILE")
    if bundle is not None:
        os.environ["SSL_CERT_FILE"] = os.devnull
    try:
        yield
    finally:
        if bundle is not None:
            os.environ["SSL_CERT_FILE"] = bundle


def _standing(update: RefUpdate, seen: Seen | None) -> Standing:
    return stand(update.expected, update.new, seen.oid if seen else None)


def _shown(updates: Iterable[RefUpdate]) -> list[str]:
    return [f"claim={update.expected}" for update in updates if update.expected]


def _update_line(item: Item, new: Oid | None) -> str:
    ref = item.ref(COPY_NAMESPACE)
    return f"delete {ref}\n" if new is None else f"update {ref} {new}\n"
