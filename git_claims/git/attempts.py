"""How often a piece of work was tried in vain: the commits whose checks were red, kept in the clone, item by item."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from git_claims.git.whole_file import replace_file
from git_claims.protocol.item import Item

_NAME_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Attempts:
    """The notes of one clone; `directory` is ours in its common git directory."""

    directory: Path

    def count(self, item: Item, commit: str) -> int:
        """Notes that this commit was red, and returns how many were; one that is looked at again counts once."""
        known = self._known(item)
        commits = [*known, commit] if commit not in known else known
        self.directory.mkdir(parents=True, exist_ok=True)
        replace_file(self._file(item), "".join(f"{each}\n" for each in commits))
        return len(commits)

    def begin_anew(self, item: Item) -> None:
        """Counts from nothing again, for whoever takes the item next. What checks said stays to be read."""
        self._file(item).unlink(missing_ok=True)

    def forget(self, item: Item) -> None:
        """Drops everything that was noted of an item."""
        self.begin_anew(item)
        for log in self.directory.glob(f"{item.name}.*.log"):
            log.unlink(missing_ok=True)

    def keep_log(self, item: Item, name: str, text: str) -> Path:
        """Keeps what a check said, and returns where; what the same check said before is replaced."""
        path = self.directory / f"{item.name}.{_file_name(name)}.log"
        self.directory.mkdir(parents=True, exist_ok=True)
        replace_file(path, text + "\n")
        return path

    def _known(self, item: Item) -> list[str]:
        try:
            return self._file(item).read_text(encoding="utf-8").split()
        except OSError:
            return []

    def _file(self, item: Item) -> Path:
        return self.directory / f"{item.name}.attempts"


def _file_name(name: str) -> str:
    """Makes a name of a file of any other; two names never come to one."""
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in name)
    if safe == name and 0 < len(name) <= _NAME_CHARACTERS:
        return name
    return f"{safe[:_NAME_CHARACTERS]}-{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
