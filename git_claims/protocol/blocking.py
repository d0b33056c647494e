"""What waits for what among the open issues of all that is served: blockers found again, cycles, and how much waits."""

from collections.abc import Sequence

from git_claims.protocol.dependency import components, cycles, reach
from git_claims.protocol.issue import Blocker, Issue
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.obstacles import is_unreadable
from git_claims.protocol.served import Place, Served


class Blocking:
    """The open issues in the order of repository and number; everything else goes by position in that order.

    `barring` has the blockers of each that are not done, as they are now; `unblocks` counts the others that wait for
    each, directly or not; `cycles` are the rings of blockers, and `ring_of` has the number of the one that an
    issue belongs to.
    """

    def __init__(self, served: Sequence[Served]) -> None:
        self.issues: list[Issue] = []
        self.places: list[Place] = []
        for each in served:
            ours = _open_issues(each)
            self.issues += ours
            self.places += [Place(each.slug, issue.item) for issue in ours]
        self._positions = self._number_all()
        self._blockers: dict[int, Blocker] = {}
        self._dependants: list[list[int]] = [[] for _ in self.issues]
        self.barring = [self._barring(at, issue.blockers) for at, issue in enumerate(self.issues)]
        found = components(self._dependants)
        self.unblocks = reach(self._dependants, found)
        rings = cycles(self._dependants, found)
        self.cycles = tuple(tuple(self.places[at] for at in ring) for ring in rings)
        self.ring_of = {at: number for number, ring in enumerate(rings) for at in ring}

    def _number_all(self) -> dict[str, dict[int, int]]:
        """Maps repository and number to position. A blocker has a number, so that no keyed item is one."""
        positions: dict[str, dict[int, int]] = {}
        for at, place in enumerate(self.places):
            if number := _number(place.item):
                positions.setdefault(place.slug.casefold(), {})[number] = at
        return positions

    def _barring(self, at: int, told: Sequence[Blocker]) -> tuple[Blocker, ...]:
        """Returns the blockers that are not done, each once; those read here come first and are open."""
        if not told:
            return ()
        # Once for every blocker there is: thirty thousand times in a large queue.
        known, opened, dependants = self._positions, self._blockers, self._dependants
        inside: set[int] = set()
        outside: dict[tuple[str, int], Blocker] = {}
        for blocker in told:
            positions = known.get(blocker.repo)
            if positions is None:
                positions = self._other_spelling(blocker.repo)
            if (to := positions.get(blocker.number)) is not None:
                inside.add(to)
                if to not in opened:
                    opened[to] = _opened(blocker, self.places[to].slug)
            elif blocker.is_open or not blocker.completed or is_unreadable(blocker):
                key = blocker.repo.casefold(), blocker.number
                outside[key] = min(blocker, outside.get(key, blocker), key=_least_done)
        ordered = sorted(inside)
        for to in ordered:
            dependants[to].append(at)
        ours = tuple([opened[to] for to in ordered])
        return (*ours, *(outside[key] for key in sorted(outside))) if outside else ours

    def _other_spelling(self, repo: str) -> dict[int, int]:
        """Returns the positions of a repository that is spelled as nobody did yet, and remembers them."""
        return self._positions.setdefault(repo, self._positions.get(repo.casefold(), {}))


def _open_issues(served: Served) -> list[Issue]:
    """Returns each open issue once; a list that moved while its pages were read may show one twice."""
    found = {issue.item.key: issue for issue in served.issues if issue.is_open and issue.item.kind is Kind.ISSUE}
    return sorted(found.values(), key=_order)


def _least_done(blocker: Blocker) -> tuple[bool, str]:
    return not blocker.is_open, blocker.repo


def _opened(blocker: Blocker, slug: str) -> Blocker:
    """Returns the blocker as an open issue of `slug`, whatever was told of it."""
    if blocker.is_open and blocker.repo == slug and not blocker.completed:
        return blocker
    return Blocker(slug, blocker.number, True, False)


def _order(issue: Issue) -> tuple[str, int]:
    key = issue.item.key
    return ("", int(key)) if key.isdecimal() else issue.item.order[:2]


def _number(item: Item) -> int:
    return int(item.key) if item.key.isdecimal() else 0
