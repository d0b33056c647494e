"""Lanes on disk: linked worktrees, the branches in them, and what may be removed again. The shared checkout, its
branch, index and files, is never touched.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from git_claims.errors import ClaimError, GitFailed
from git_claims.git.lane_file import Lane, read_lane, write_lane
from git_claims.git.lock import locked
from git_claims.git.process import Finished, Git
from git_claims.git.remote import Remote
from git_claims.git.repository import Repository
from git_claims.protocol.item import Item

# Keep the remote's default branch as it was when the last lane was cut, and the branches of lanes that were there
# already. Nobody's tracking refs are moved for it, and none is believed: it may be of a branch that is gone.
_KEPT = "refs/git-claim/"
_BASE = f"{_KEPT}base"
_PUSHED = f"{_KEPT}pushed"
_LANDED = f"{_KEPT}landed"
# Checking out a large tree takes longer than any exchange of refs.
_CHECKOUT_DEADLINES = 10
_IGNORE_NOTE = "# worktrees of 'git claim start'\n"


class InTheWay(ClaimError):
    """Something of somebody's stands where a lane would go. It is named, and left."""

    reason = "in-the-way"


@dataclass(frozen=True, slots=True)
class Worktree:
    """One linked worktree as git knows it. `git_dir` is its private git directory. `unfinished`: git is making it."""

    path: Path
    branch: str | None
    git_dir: Path | None
    gone: bool
    locked: bool
    unfinished: bool

    @property
    def lane(self) -> Lane | None:
        """The lane file's content; None where there is none."""
        return read_lane(self.git_dir) if self.git_dir else None


class Readiness(Enum):
    """What has to be done for a lane to stand."""

    REUSE = auto()
    ATTACH = auto()
    CREATE = auto()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a lane goes: a directory and a branch."""

    path: Path
    branch: str


@dataclass(frozen=True, slots=True)
class Workspace:
    """The linked worktrees of one clone. `directory` is where lanes go."""

    repository: Repository
    remote: Remote
    directory: Path

    @property
    def _git(self) -> Git:
        # In the common directory: the worktree that we stand in may be the one that goes.
        git = self.remote.git.pinned(self.repository.common_dir, self.repository.common_dir)
        return git.within(self.remote.git.deadline_seconds * _CHECKOUT_DEADLINES)

    def place(self, branch: str) -> Place:
        """Returns where the lane of a branch goes; slashes of the branch do not make directories."""
        return Place(self.directory / branch.replace("/", "-"), branch)

    def worktrees(self) -> list[Worktree]:
        """Returns the linked worktrees, the main one left out."""
        private = self._private_directories()
        return [_worktree(entry, private) for entry in self._entries()[1:]]

    def branches(self) -> list[str]:
        """Returns the names of the local branches."""
        answer = self._git.ask("for-each-ref", "--format=%(refname:lstrip=2)", "--", "refs/heads")
        return answer.decode("utf-8", "surrogateescape").split("\n")[:-1]

    def prepare(self, place: Place) -> Readiness:
        """Finds out what a lane there needs, changing nothing; raises InTheWay naming what cannot be moved aside."""
        here = self._at(place)
        if here is not None and not here.gone:
            if here.branch != place.branch:
                raise InTheWay(
                    f"'{place.path}' is a worktree on branch '{here.branch}', not on '{place.branch}'",
                    "choose another name with --slug",
                )
            return Readiness.ATTACH if here.unfinished else Readiness.REUSE
        self._refuse_if_checked_out(place)
        # git would follow a link and know the worktree by another name.
        if place.path.is_symlink() or _is_occupied(place.path):
            raise InTheWay(f"'{place.path}' is in the way", "move it, or choose another name with --slug")
        return Readiness.ATTACH if self._has_branch(place.branch) else Readiness.CREATE

    def open(self, place: Place, readiness: Readiness, start: str | None, integration: str | None) -> None:
        """Makes the lane's worktree. `start` is a commit to cut the branch from; None: the remote's fresh default."""
        if readiness is Readiness.REUSE:
            return
        with self._serialised():
            # Another start of the same chain may have made it while this one waited.
            readiness = self.prepare(place)
            if readiness is Readiness.REUSE:
                return
            here = self._at(place)
            if here is not None and here.unfinished:
                # A git that was killed in the middle leaves a worktree whose files look deleted.
                raise InTheWay(
                    f"git has not finished making the worktree '{place.path}'",
                    "repeat in a while; where no git is at work on it any more, take it away with 'git worktree' first",
                )
            base = start or self._fetch_base(place.branch, integration)
            self._ignore()
            if here is not None and here.gone:
                # git's note of a directory that is gone would block the same place.
                self._git.ask("worktree", "remove", "--", str(place.path))
            if readiness is Readiness.ATTACH:
                self._refuse_if_unrelated(place.branch, base)
                self._git.ask("worktree", "add", "--quiet", "--", str(place.path), place.branch)
            else:
                cut = ("--no-track", "-b", place.branch)
                self._git.ask("worktree", "add", "--quiet", *cut, "--", str(place.path), base)

    def enter(self, place: Place, lane: Lane) -> None:
        """Writes the lane file of a worktree; raises InTheWay where another chain still works there."""
        worktree = self._at(place)
        if worktree is None or worktree.git_dir is None:
            raise GitFailed(f"git does not know the worktree '{place.path}'")
        before = worktree.lane
        if before is not None and before.chain != lane.chain and before.items:
            # Whoever works there would pass every fence as the new chain.
            raise InTheWay(
                f"the worktree '{place.path}' is the lane of chain '{before.chain}'",
                "choose another name with --slug; 'git claim lanes' shows what is left in it",
            )
        write_lane(worktree.git_dir, lane if before is None else before_with(before, lane))

    def unsaved(self, worktree: Worktree) -> str | None:
        """Says what would be lost with a worktree; None where nothing would."""
        if worktree.gone:
            return None if worktree.branch else "its last commit is on no branch"
        try:
            status = self._git_in(worktree).ask("status", "--porcelain", "-z", "--untracked-files=normal")
            count = self.unpushed(worktree)
        except GitFailed as error:
            # Somebody may be taking it away while we look; what cannot be read is never taken for saved.
            return f"its state cannot be read: {error.message}"
        if status:
            return "uncommitted changes"
        return None if count == 0 else f"{count} commit{'s' * (count > 1)} on no remote branch"

    def unpushed(self, worktree: Worktree) -> int:
        """Counts commits of the worktree that no remote branch, as last seen, and no base of a lane contains."""
        revision = f"refs/heads/{worktree.branch}" if worktree.branch else "HEAD"
        answer = self._git_in(worktree).ask(
            "rev-list", "--count", revision, "--not", f"--remotes={self.remote.name}", f"--glob={_KEPT}*"
        )
        return int(answer)

    def look_for_pushed(self, integration: str | None) -> None:
        """Asks the remote what it has of the lanes' branches; where that fails, what was seen last has to do."""
        named = [worktree.branch for worktree in self.worktrees() if worktree.branch]
        if not named:
            return
        with self._serialised():
            self._fetch(integration, *named)

    def remove(self, worktree: Worktree) -> None:
        """Removes a worktree whose work is saved; git itself refuses once more where it is not.

        Its branch stays, unless all of it was landed.
        """
        with self._serialised():
            self._git.ask("worktree", "remove", "--", str(worktree.path))
        if worktree.branch is not None:
            self._remove_landed(worktree.branch)

    def discard(self, branch: str, oid: str, delivered: Iterable[Item] = ()) -> str | None:
        """Removes the worktree and the local branch of work that is merged as `oid`; returns why something stays.

        `delivered`: the items that were merged. A worktree that works on others stays.
        """
        if self._has_commit(oid):
            # What was squashed is on no branch any more; by this it is known to be saved, whoever removes it later.
            self._git.ask("update-ref", f"{_LANDED}/{branch}", oid)
        worktree = next((each for each in self.worktrees() if each.branch == branch), None)
        if worktree is not None:
            kept = self._why_not_discarded(worktree, oid, set(delivered)) or self._removed(worktree)
            if kept is not None:
                return f"{worktree.path} stays: {kept}"
        if not self._has_commit(oid) and self._has_branch(branch):
            return f"branch '{branch}' stays here: the commit that was merged is not in this clone"
        return self._remove_landed(branch)

    def _removed(self, worktree: Worktree) -> str | None:
        try:
            self.remove(worktree)
        except ClaimError as error:
            return error.message
        return None

    def _remove_landed(self, branch: str) -> str | None:
        """Deletes a branch of which all was landed; returns why it stays, None also where nothing of it was."""
        landed, here = self._oid_of(f"{_LANDED}/{branch}"), self._oid_of(f"refs/heads/{branch}")
        if landed is None:
            return None
        if here is not None and (kept := self._why_branch_stays(branch, here, landed)) is not None:
            return f"branch '{branch}' stays here: {kept}"
        self._git.run("update-ref", "-d", f"{_LANDED}/{branch}")
        return None

    def _why_branch_stays(self, branch: str, here: str, landed: str) -> str | None:
        """Deletes a branch that is at `here`, unless it is in use or a commit of it was not landed."""
        used = next((entry for entry in self._entries() if entry.get("branch") == f"refs/heads/{branch}"), None)
        if used is not None:
            # git itself would delete it under the feet of whoever stands on it.
            return f"it is checked out at '{used['worktree']}'"
        if not self._is_in(here, landed):
            return "it has commits that were not merged"
        # Only as it is now: a commit that comes this moment is nobody's to throw away.
        gone = self._git.run("update-ref", "-d", f"refs/heads/{branch}", here)
        return gone.said if self._has_branch(branch) else None

    def _why_not_discarded(self, worktree: Worktree, oid: str, delivered: set[Item]) -> str | None:
        if worktree.locked:
            return "it is locked"
        lane = worktree.lane
        if lane is None:
            return "no chain has worked in it, somebody made it by hand"
        if delivered and (others := [item for item in lane.items if item not in delivered]):
            return f"it is a lane of {', '.join(f'{item.noun} {item.spelling}' for item in others)} too"
        if worktree.gone:
            return None
        if any(place.is_relative_to(worktree.path) for place in (Path.cwd(), self.remote.git.directory.resolve())):
            return "we stand in it; 'git claim prune-lanes' removes it from elsewhere"
        git = self._git_in(worktree)
        if git.ask("status", "--porcelain", "-z", "--untracked-files=normal"):
            return "uncommitted changes"
        head = git.run("rev-parse", "--verify", "--quiet", "HEAD").stdout.decode().strip()
        return None if self._is_in(head, oid) else "it has commits that were not merged"

    def _oid_of(self, ref: str) -> str | None:
        return self._git.run("rev-parse", "--verify", "--quiet", ref).stdout.decode().strip() or None

    def _has_commit(self, oid: str) -> bool:
        """Says whether a commit is in this clone: what was merged may have been pushed from another."""
        return self._git.run("cat-file", "-e", f"{oid}^{{commit}}").status == 0

    def _is_in(self, older: str, newer: str) -> bool:
        return older == newer or self._git.run("merge-base", "--is-ancestor", older, newer).status == 0

    def _git_in(self, worktree: Worktree) -> Git:
        """git inside another worktree of this clone, which has a private git directory of its own."""
        return self._git.pinned(worktree.path, worktree.git_dir or worktree.path / ".git")

    def _at(self, place: Place) -> Worktree | None:
        return next((each for each in self.worktrees() if each.path == place.path), None)

    def _entries(self) -> list[dict[str, str]]:
        """What git says of every worktree, the main one first."""
        answer = self._git.ask("worktree", "list", "--porcelain", "-z").decode("utf-8", "surrogateescape")
        return [_attributes(entry) for entry in answer.split("\0\0") if entry.strip("\0")]

    def _private_directories(self) -> dict[Path, Path]:
        found: dict[Path, Path] = {}
        for pointer in (self.repository.common_dir / "worktrees").glob("*/gitdir"):
            # One that is taken away at this moment is gone by the time it is read.
            with suppress(FileNotFoundError):
                found[Path(pointer.read_text(encoding="utf-8").strip()).parent] = pointer.parent
        return found

    @contextmanager
    def _serialised(self) -> Iterator[None]:
        path = self.repository.common_dir / "git-claim" / "worktree-lock"
        # Two `git worktree add` of one clone fail on each other's locks.
        with locked(path, self._git.deadline_seconds, "making a worktree"):
            yield

    def _fetch_base(self, branch: str, integration: str | None) -> str:
        """Fetches the default branch, and this branch if somebody pushed it; returns what a new lane is cut from."""
        finished = self._fetch(integration, branch)
        if finished.status != 0:
            raise GitFailed(
                f"cannot fetch the branch to start from: {finished.said}",
                "name a commit of this clone with --from, or repeat when the remote answers",
            )
        pushed = self._git.run("rev-parse", "--verify", "--quiet", f"{_PUSHED}/{branch}^{{commit}}")
        return pushed.stdout.decode().strip() if pushed.status == 0 else _BASE

    def _fetch(self, integration: str | None, *branches: str) -> Finished:
        source = f"refs/heads/{integration}" if integration else "HEAD"
        pushed = (f"+refs/heads/{branch}*:{_PUSHED}/{branch}*" for branch in branches)
        return self.remote.fetch_work([f"+{source}:{_BASE}", *pushed])

    def _refuse_if_checked_out(self, place: Place) -> None:
        for entry in self._entries():
            if entry.get("branch") == f"refs/heads/{place.branch}" and Path(entry["worktree"]) != place.path:
                raise InTheWay(
                    f"branch '{place.branch}' is checked out at '{entry['worktree']}'",
                    "work there, or choose another name with --slug",
                )

    def _refuse_if_unrelated(self, branch: str, base: str) -> None:
        if self._git.run("merge-base", base, f"refs/heads/{branch}").status == 1:
            raise InTheWay(
                f"branch '{branch}' is there and shares no history with what a lane is cut from",
                "choose another name with --slug",
            )

    def _has_branch(self, branch: str) -> bool:
        return self._git.run("show-ref", "--verify", "--quiet", f"refs/heads/{branch}").status == 0

    def _ignore(self) -> None:
        """Keeps lanes out of the shared checkout's status, in the clone's own exclude file."""
        top = main_top(self.repository)
        if top is None or top not in self.directory.parents:
            return
        name = f"/{self.directory.relative_to(top)}/"
        if self._git.pinned(top, self.repository.common_dir).run("check-ignore", "-q", "--", name[1:]).status == 0:
            return
        exclude = self.repository.common_dir / "info" / "exclude"
        exclude.parent.mkdir(exist_ok=True)
        with exclude.open("a", encoding="utf-8") as file:
            file.write(f"{_IGNORE_NOTE}{name}\n")


def workspace(repository: Repository, remote: Remote, directory: str) -> Workspace:
    """Returns the workspace of a clone; a relative `directory` is below the main worktree, or the bare repository."""
    root = main_top(repository) or repository.common_dir
    return Workspace(repository, remote, (root / directory).resolve())


def main_top(repository: Repository) -> Path | None:
    """Returns the top of the main worktree; None in a bare repository."""
    return repository.common_dir.parent if repository.common_dir.name == ".git" else None


def before_with(before: Lane, lane: Lane) -> Lane:
    """A lane entered again: what it released is remembered, and the chain is the new one."""
    return Lane(lane.chain, before.items if before.chain == lane.chain else (), before.released).entered(lane.items)


def _is_occupied(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()


def _attributes(entry: str) -> dict[str, str]:
    pairs = (line.partition(" ") for line in entry.split("\0") if line)
    return {name: value for name, _, value in pairs}


def _worktree(entry: dict[str, str], private: dict[Path, Path]) -> Worktree:
    path = Path(entry["worktree"])
    branch = entry.get("branch", "").removeprefix("refs/heads/") or None
    unfinished = entry.get("locked") == "initializing"
    return Worktree(path, branch, private.get(path), not path.exists(), "locked" in entry, unfinished)
