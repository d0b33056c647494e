"""The ids of labels and people, kept in a file for each repository: they never change, and names cost a request."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path


class Ids:
    """Ids by name, in whatever case. What cannot be kept is asked for again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._labels, self._logins = _load(path)

    @property
    def knows_labels(self) -> bool:
        """Says whether anybody has read this repository's labels."""
        return bool(self._labels)

    def label(self, name: str) -> str | None:
        """Returns the id of a label, if it is known."""
        return self._labels.get(name.casefold())

    def login(self, name: str) -> str | None:
        """Returns the id of a person, if it is known."""
        return self._logins.get(name.casefold())

    def learn(self, labels: Mapping[str, str], logins: Mapping[str, str]) -> None:
        """Keeps what an answer told."""
        new_labels = {name.casefold(): id for name, id in labels.items()}
        new_logins = {name.casefold(): id for name, id in logins.items()}
        if new_labels.items() <= self._labels.items() and new_logins.items() <= self._logins.items():
            return
        # Others write the file as well; what they learnt is not to be lost.
        on_disk = _load(self._path)
        self._labels = on_disk[0] | self._labels | new_labels
        self._logins = on_disk[1] | self._logins | new_logins
        self._save()

    def forget(self, ids: Iterable[str]) -> None:
        """Drops ids that GitHub does not know any more, such as that of a label that was made again."""
        gone = frozenset(ids)
        self._labels = {name: id for name, id in self._labels.items() if id not in gone}
        self._logins = {name: id for name, id in self._logins.items() if id not in gone}
        self._save()

    def _save(self) -> None:
        unfinished = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_text(json.dumps({"labels": self._labels, "logins": self._logins}))
            unfinished.replace(self._path)
        except OSError:
            with suppress(OSError):
                unfinished.unlink()


def _load(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Reads the file; what is missing or means nothing is as if it were empty."""
    try:
        kept: object = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}, {}
    return _texts(kept, "labels"), _texts(kept, "logins")


def _texts(kept: object, name: str) -> dict[str, str]:
    found = kept.get(name) if isinstance(kept, dict) else None
    if not isinstance(found, dict):
        return {}
    return {str(key): value for key, value in found.items() if isinstance(value, str)}
