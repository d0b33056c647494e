"""Which repository we stand in, asked of git once; everything after that is pinned to the answer."""

from dataclasses import dataclass
from pathlib import Path

from git_claims.errors import GitFailed, NoRepository
from git_claims.git.process import Git

# `git worktree list -z` is from 2.36; 2.39 is what is measured and tested.
MINIMUM_GIT = (2, 36)


@dataclass(frozen=True, slots=True)
class Repository:
    """Where git keeps things. `git_dir` is private to a linked worktree, `common_dir` is shared by all of them."""

    git: Git
    git_dir: Path
    common_dir: Path
    top: Path | None
    object_format: str

    @property
    def linked(self) -> bool:
        """Says whether we stand in a linked worktree."""
        return self.git_dir != self.common_dir


def discover(git: Git) -> Repository:
    """Asks git where it is; raises NoRepository with git's own words where it is nowhere."""
    found = git.run(
        "rev-parse",
        "--path-format=absolute",
        "--absolute-git-dir",
        "--git-common-dir",
        "--show-object-format",
        "--show-cdup",
    )
    if found.status != 0:
        raise NoRepository(
            f"no git repository here: {found.said.removeprefix('fatal: ')}",
            "change into a clone, or name one with 'git claim -C PATH'",
        )
    git_dir, common_dir, object_format, up = _four_lines(found.stdout)
    # In a bare repository and inside .git the answer is empty as well, but git itself works from the git
    # directory there, which matters for remotes with a relative path.
    top = None if up is None else (git.directory / up).resolve()
    pinned = git.pinned(top or Path(git_dir), Path(git_dir))
    return Repository(pinned, Path(git_dir), Path(common_dir), top, object_format)


def version(git: Git) -> tuple[int, ...]:
    """Returns git's version as numbers, such as (2, 39, 5)."""
    words = git.ask("--version").decode().split()
    numbers = [part for part in words[2].split(".") if part.isdigit()]
    return tuple(int(part) for part in numbers)


def _four_lines(answer: bytes) -> tuple[str, str, str, str | None]:
    lines = answer.decode("utf-8", "surrogateescape").split("\n")
    # More of them come from a directory with a line break in its name; read as four they would lead elsewhere.
    if len(lines) not in (4, 5):
        raise GitFailed("'git rev-parse' answered in a form this program does not know")
    # A missing fifth piece means that git printed nothing for --show-cdup: there is no work tree here.
    return lines[0], lines[1], lines[2], lines[3] if len(lines) > 4 else None
