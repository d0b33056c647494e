"""Where git looks for hooks, and our pre-push hook there: installed, recognised, chained, taken away again."""

import hashlib
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from git_claims.errors import ClaimError, GitFailed
from git_claims.git.config import GitConfig
from git_claims.git.repository import Repository
from git_claims.git.whole_file import replace_file
from git_claims.git.worktree import main_top

_MARK = "# git-claim pre-push hook"
_CHAINED = "pre-push.chained"
BY_HAND = 'git claim hook pre-push "$@"'


class HookState(StrEnum):
    """What stands at the place of the pre-push hook."""

    NONE = "none"
    CURRENT = "current"
    OLDER = "older"
    EDITED = "edited"
    FOREIGN = "foreign"


class NotOurs(ClaimError):
    """A hook that cannot be changed safely. The hint says what to add by hand."""

    reason = "hook-by-hand"


@dataclass(frozen=True, slots=True)
class HookPlace:
    """The directory where git looks, and why it is not ours to write to, if it is not."""

    directory: Path
    keep_out: str | None

    @property
    def hook(self) -> Path:
        """The file git runs."""
        return self.directory / "pre-push"

    @property
    def chained(self) -> Path:
        """The hook that was there before, which ours runs first."""
        return self.directory / _CHAINED

    @property
    def file_by_hand(self) -> Path:
        """Where a person writes our line; husky writes its directory `_` anew and runs the files beside it."""
        return self.directory.parent / "pre-push" if self.directory.name == "_" else self.hook

    def state(self) -> HookState:
        """Recognises our own versions by the digest that each carries of itself."""
        if not self.hook.exists():
            return HookState.NONE
        text = self.hook.read_text(encoding="utf-8", errors="replace")
        if text in {stamped(shipped()), shipped()}:
            # git passes over a hook that it may not execute: to be renewed like one that is too old.
            return HookState.CURRENT if os.access(self.hook, os.X_OK) else HookState.OLDER
        if _MARK not in text:
            return HookState.FOREIGN
        return HookState.OLDER if stamped(_unstamped(text)) == text else HookState.EDITED


def find(repository: Repository, config: GitConfig) -> HookPlace:
    """Asks git where it looks for hooks; linked worktrees share one place."""
    answer = repository.git.ask("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    directory = Path(answer.decode("utf-8", "surrogateescape").rstrip("\n"))
    return HookPlace(directory, _keep_out(repository, config, directory))


def install(place: HookPlace) -> HookState:
    """Installs or renews our hook and returns what stood there; a foreign one is kept and runs first."""
    before = place.state()
    if before is HookState.CURRENT:
        return before
    if place.keep_out is not None:
        raise NotOurs(place.keep_out, f"add this line to '{place.file_by_hand}': {BY_HAND}")
    if before is HookState.EDITED:
        raise NotOurs(
            f"'{place.hook}' is a version of our hook that somebody changed",
            "keep what was changed elsewhere, then 'git claim hook uninstall' and install again",
        )
    if before is HookState.FOREIGN:
        if place.chained.exists():
            raise NotOurs(
                f"'{place.hook}' is not ours and '{place.chained}' is there already",
                f"add this line to '{place.hook}': {BY_HAND}",
            )
        _moved(place.hook, place.chained)
    _written(place.hook, stamped(shipped()))
    return before


def uninstall(place: HookPlace) -> HookState:
    """Takes our hook away, puts back the one that was there before it, and returns what stood there."""
    before = place.state()
    if before is HookState.EDITED:
        raise NotOurs(f"'{place.hook}' is a version of our hook that somebody changed", "take it away by hand")
    if before in {HookState.CURRENT, HookState.OLDER}:
        if place.chained.exists():
            _moved(place.chained, place.hook)
        else:
            place.hook.unlink()
    return before


def shipped() -> str:
    """Returns the hook as this version ships it: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    for directory in (package / "hooks", package.parent / "hooks"):
        if (directory / "pre-push").is_file():
            return (directory / "pre-push").read_text(encoding="utf-8")
    raise GitFailed("this installation lacks its pre-push hook")


def stamped(text: str) -> str:
    """Adds the digest by which a later version knows that nobody edited the hook."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return text.replace(_MARK, f"{_MARK} {digest}", 1)


def _unstamped(text: str) -> str:
    head, mark, tail = text.partition(_MARK)
    return head + mark + tail[tail.find("\n") :]


def _keep_out(repository: Repository, config: GitConfig, directory: Path) -> str | None:
    path = config.value("core.hookspath")
    if path is None:
        return None
    if config.scope("core.hookspath") in {"global", "system"}:
        return f"core.hooksPath leads every repository of this machine to '{directory}'"
    tops = [top for top in (main_top(repository), repository.top) if top is not None]
    if any(directory.is_relative_to(top) for top in tops) and not directory.is_relative_to(repository.common_dir):
        # husky and its like keep committed hooks there, and write some of the files anew.
        return f"core.hooksPath leads into the work tree, to '{directory}'"
    return None


def _moved(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError as error:
        raise GitFailed(f"cannot move '{source}': {error.strerror}") from error


def _written(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text, executable=True)
    except OSError as error:
        raise GitFailed(f"cannot write '{path}': {error.strerror}") from error
