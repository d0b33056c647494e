"""A throw-away ref pushed, read back, replaced and deleted, to find out what a remote allows among its claims."""

from dataclasses import dataclass

from git_claims.git.remote import PushReport, RefUpdate, Remote
from git_claims.git.store import PROBE, Store
from git_claims.protocol.claim import ChainId, Claim, Oid
from git_claims.protocol.text import without_credentials


@dataclass(frozen=True, slots=True)
class Tried:
    """What the remote did. `silent`: no answer at all; `refused`: why a ref could not be made or replaced."""

    atomic: bool = False
    refused: str | None = None
    unreadable: bool = False
    undeletable: str | None = None
    silent: str | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """Probes one remote with refs named for `nonce`; listings pass such refs over."""

    store: Store
    nonce: str
    now: str

    @property
    def name(self) -> str:
        """The probe's last name, which no item can have."""
        return f"{PROBE}{self.nonce}"

    @property
    def shown_url(self) -> str:
        """The URL probed, safe to show."""
        return without_credentials(self._remote.url)

    @property
    def _remote(self) -> Remote:
        return self.store.remote

    def run(self, namespace: str) -> Tried:
        """Tries everything a claim needs. The refs are deleted again also where something failed."""
        first, second = self._object("1"), self._object("2")
        refs = (f"{namespace}/{self.name}", f"{namespace}/{self.name}-b")
        held: dict[str, Oid] = {}
        try:
            made = [RefUpdate(ref, None, first) for ref in refs]
            report = self._remote.push(made, atomic=True)
            atomic = not report.lacks_atomic
            if not atomic:
                report = self._remote.push(made)
            found = self._remote.list_refs(*refs)
            # What was accepted, or may have been, and is hidden from readers is there all the same and has to go again.
            held |= dict.fromkeys(refs, first) if report.clean(made) or not report.lines else found or {}
            if not report.clean(made):
                return self._failed(report, refs[0], atomic)
            if found is None:
                return Tried(atomic, silent="refs were written, and then it did not say which it has")
            replaced = [RefUpdate(ref, first, second) for ref in refs]
            report = self._remote.push(replaced)
            if not report.clean(replaced):
                held |= self._remote.list_refs(*refs) or {}
                return self._failed(report, refs[0], atomic)
            unreadable = found != held
            held |= dict.fromkeys(refs, second)
            return Tried(atomic, None, unreadable, self._delete(held))
        finally:
            if held:
                self._delete(held)

    def _failed(self, report: PushReport, ref: str, atomic: bool) -> Tried:
        if report.lines:
            return Tried(atomic, refused=report.words(ref))
        return Tried(atomic, silent=report.finished.said)

    def _delete(self, held: dict[str, Oid]) -> str | None:
        """Deletes what the probe left, and returns why that failed. Asked twice, it finds nothing to do."""
        deleted = [RefUpdate(ref, oid, None) for ref, oid in held.items()]
        report = self._remote.push(deleted)
        # Without a verdict the refs themselves say whether they are gone.
        if report.clean(deleted) or (not report.lines and self._remote.list_refs(*held) == {}):
            held.clear()
            return None
        return report.words(deleted[0].ref)

    def _object(self, part: str) -> Oid:
        claim = Claim(issue=f"probe {self.nonce}", chain=ChainId("git-claim-doctor"), nonce=part, claimed_at=self.now)
        return self.store.build(claim).oid
