"""What became of a swap: the server's ref compared with both ends of it, and nothing else."""

from dataclasses import dataclass
from enum import Enum, auto

from git_claims.protocol.claim import Oid, Seen


class Standing(Enum):
    """What the server's ref says of a swap whose push did not end cleanly."""

    APPLIED = auto()
    MOVED = auto()
    UNCHANGED = auto()


def stand(expected: Oid | None, new: Oid | None, server: Oid | None) -> Standing:
    """Compares the server's id with both ends of a swap. Works because no id is ever pushed twice on purpose."""
    if server == new:
        return Standing.APPLIED
    return Standing.UNCHANGED if server == expected else Standing.MOVED


@dataclass(frozen=True, slots=True)
class Applied:
    """The server's ref is where the swap wanted it; `seen` is the new claim, None after a delete."""

    seen: Seen | None


@dataclass(frozen=True, slots=True)
class Moved:
    """The server's ref was at neither end of the swap: somebody else's state, which `seen` is."""

    seen: Seen | None


@dataclass(frozen=True, slots=True)
class Withheld:
    """The server answered and kept the old state; `why` is its reason: a rule, or a lock left behind."""

    why: str
    lacks_atomic: bool = False


@dataclass(frozen=True, slots=True)
class Unclear:
    """The server did not answer. The swap may or may not have happened; asking again is safe."""

    why: str


@dataclass(frozen=True, slots=True)
class Untouched:
    """The server kept the old state because another ref of the same atomic push had moved."""


Settled = Applied | Moved | Withheld | Untouched | Unclear
