"""A JSON document read with types: what is not there is null, what is there and of another kind is an error."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from git_claims.errors import TrackerError, Trouble
from git_claims.protocol.text import moment


class Unreadable(ValueError):
    """The document does not have the shape that was promised."""


@dataclass(frozen=True, slots=True)
class Tree:
    """One place in a document."""

    value: object

    def __bool__(self) -> bool:
        """A place with nothing in it is false; an empty list or text is something."""
        return self.value is not None

    def at(self, *path: str) -> "Tree":
        """Returns the place further down; of nothing, nothing."""
        value = self.value
        for name in path:
            if value is None:
                return Tree(None)
            if not isinstance(value, dict):
                raise Unreadable(f"expected an object around '{name}'")
            value = value.get(name)
        return Tree(value)

    @property
    def text(self) -> str:
        """The text here."""
        if not isinstance(self.value, str):
            raise Unreadable(f"expected text, found {self.value!r:.40}")
        return self.value

    @property
    def text_or_none(self) -> str | None:
        """The text here, or None for null."""
        return None if self.value is None else self.text

    @property
    def number(self) -> int:
        """The whole number here."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise Unreadable(f"expected a number, found {self.value!r:.40}")
        return self.value

    @property
    def flag(self) -> bool:
        """The truth value here; null is false."""
        return self.value is True

    @property
    def moment(self) -> datetime:
        """The time here."""
        read = moment(self.text)
        if read is None:
            raise Unreadable(f"expected a time, found {self.text!r:.40}")
        return read

    @property
    def each(self) -> "list[Tree]":
        """What the list here holds; nothing for null."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            raise Unreadable("expected a list")
        return [Tree(value) for value in self.value]

    @property
    def items(self) -> "dict[str, Tree]":
        """What the object here holds, by name; nothing for null."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise Unreadable("expected an object")
        return {str(name): Tree(value) for name, value in self.value.items()}


@contextmanager
def understood() -> Iterator[None]:
    """Turns an answer that has not the shape that GitHub promises into the error that it is."""
    try:
        yield
    except Unreadable as error:
        raise TrackerError(Trouble.INVALID, f"GitHub's answer is not understood: {error}") from error
