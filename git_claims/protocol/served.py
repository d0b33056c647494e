"""What is served: the repositories of one queue as they were read, and how an item of one of them is named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from git_claims.protocol.claim import Seen
from git_claims.protocol.house import House
from git_claims.protocol.issue import Issue
from git_claims.protocol.item import Item


@dataclass(frozen=True, slots=True)
class Place:
    """An item of a repository: `acme/ledger#42`, `acme/ledger#PROJ-123`."""

    slug: str
    item: Item

    @property
    def spelling(self) -> str:
        """The whole name."""
        return f"{self.slug}#{self.item.spelling}"

    def seen_from(self, slug: str) -> str:
        """The name as it is said inside `slug`: `#42` at home, the whole name elsewhere."""
        return f"#{self.item.spelling}" if is_one_repository(self.slug, slug) else self.spelling


@dataclass(frozen=True, slots=True)
class Served:
    """One repository as it was read. `slug` is `owner/repo`, `directory` what people write in `dir#42`.

    `issues` may hold closed issues and pull requests too; they are no items of a queue. `claims` are all that the
    server shows, `stale` those whose holder looks gone, as the caller judged. `operator` is the login that asks.
    """

    slug: str
    issues: Sequence[Issue]
    claims: Mapping[Item, Seen]
    house: House
    operator: str | None
    stale: frozenset[Item] = frozenset()
    directory: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A repository that was not read, and why. `is_empty`: it is known to have no queue, so nothing is missing."""

    name: str
    why: str
    is_empty: bool = False


def is_one_repository(slug: str, other: str) -> bool:
    """Says whether both name one repository; upper and lower case are one name."""
    return slug == other or slug.casefold() == other.casefold()


def without_doubles(served: Sequence[Served]) -> list[Served]:
    """Returns each repository once, where it stands first: two clones of one are one queue."""
    first: dict[str, Served] = {}
    for each in served:
        first.setdefault(each.slug.casefold(), each)
    return list(first.values())
