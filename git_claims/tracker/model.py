"""What the program needs of any tracker. The flows know nothing more of it."""

from typing import Protocol


class Tracker(Protocol):
    """Shows claims to people. It reports who holds an item; it never decides."""

    def operator(self) -> str | None:
        """Returns the login in force, which the record names beside the chain; None where there is none."""
        ...
