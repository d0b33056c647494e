"""The local copy of the claims: whose it is, how old it is, and the lock that keeps concurrent reads in order."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from git_claims.errors import GitFailed
from git_claims.git.lock import locked
from git_claims.git.whole_file import replace_file


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the copy comes from, when it was last listed as a whole (epoch seconds), and how many claims it had."""

    source: str
    listed_at: float | None
    count: int


NOBODYS = Provenance("", None, 0)


@dataclass(frozen=True, slots=True)
class Copy:
    """Keeps `<common git dir>/git-claim/`, shared by every worktree of the clone."""

    directory: Path

    @contextmanager
    def locked(self, deadline_seconds: float) -> Iterator[None]:
        """Serialises fetches of one clone. Concurrent ones would fail on each other's refs, and an older answer could
        be written over a newer one. Raises CannotTell when the lock is not free before the deadline.
        """
        with locked(self.directory / "lock", deadline_seconds, "reading the remote"):
            yield

    def provenance(self) -> Provenance | None:
        """Returns what is known of the copy; None where nothing was ever read here."""
        try:
            source, listed, count = (self.directory / "copy").read_text(encoding="utf-8").split("\n")[:3]
            return Provenance(source, float(listed) if listed else None, int(count))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return NOBODYS

    def takes_options(self, source: str) -> bool | None:
        """Says whether that server takes push options; None where it was never tried."""
        try:
            known, _, answer = (self.directory / "push-options").read_text(encoding="utf-8").strip().rpartition("\n")
        except (OSError, ValueError):
            return None
        return answer == "yes" if known == source else None

    def note_options(self, source: str, taken: bool) -> None:
        """Remembers whether that server takes push options; where it cannot, it is tried again next time."""
        with suppress(GitFailed):
            self._replace("push-options", f"{source}\n{'yes' if taken else 'no'}\n")

    def record(self, provenance: Provenance) -> None:
        """Replaces what is known of the copy; only ever called with the lock held."""
        listed = "" if provenance.listed_at is None else repr(provenance.listed_at)
        self._replace("copy", f"{provenance.source}\n{listed}\n{provenance.count}\n")

    def _replace(self, name: str, text: str) -> None:
        try:
            self.directory.mkdir(exist_ok=True)
            replace_file(self.directory / name, text)
        except OSError as error:
            raise GitFailed(f"cannot write to '{self.directory}': {error.strerror}") from error
