"""Taking, giving up and asking: the product beside the least that git can do, at every place."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

from tests.bench.ground import CHAIN, Ground, Place
from tests.bench.measure import Command, Way, added_milliseconds, in_turn, ratio, run
from tests.bench.results import Aim, Result, timings
from tests.places import CLAIMS, PERSON, Clone

NUMBER = "42"
NAME = f"issue-{NUMBER}"
REF = CLAIMS + NAME
RECORD = "issue={number}\nrepo=server\nchain={chain}\nhost=here\nclaimed_at=2026-11-30T13:06:00Z\nnonce={nonce}\n"
TAKE, PUSH, RECIPE = "git claim take", "bare git push", "shell recipe"
RELEASE, DELETE = "git claim release", "bare git push, delete"

# What people write who have no program for it. The record is the first word, the item's number the second.
SCRIPT = """
ref=refs/claims/issue-$2
blob=$(printf %s "$1" | git hash-object -w --stdin) &&
tree=$(printf '100644 blob %s\\tclaim\\n' "$blob" | git mktree) &&
commit=$(git commit-tree -m "claim $2" "$tree") &&
git push --porcelain --force-with-lease="$ref:" origin "$commit:$ref"
"""


def take(ground: Ground) -> Iterator[Result]:
    """A take that wins, beside the bare push of what is built already and the four git processes of a script."""
    for place in ground.places():
        ways = [take_way(place), push_way(place), _recipe_way(place)]
        spent = in_turn(ways, ground.rounds)
        yield from timings("take", place.name, spent, (RECIPE, PUSH), (TAKE, PUSH), (TAKE, RECIPE))
        added = added_milliseconds(spent[TAKE], spent[PUSH]).median
        yield Aim(f"{place.name}: take adds to the bare push", 150, added, "ms")


def batch(ground: Ground) -> Iterator[Result]:
    """Many items in one take, beside as many takes and beside one item."""
    numbers = [str(number) for number in range(1, 6 if ground.quick else 21)]
    one, together, singly = "1 item in 1 take", f"{len(numbers)} items in 1 take", f"{len(numbers)} takes"
    for place in ground.places():
        ways = [
            _takes_way(one, place, [numbers[:1]]),
            _takes_way(together, place, [numbers]),
            _takes_way(singly, place, [[number] for number in numbers]),
        ]
        spent = in_turn(ways, ground.few(5))
        yield from timings("batch", place.name, spent, (together, one), (singly, together))
        times = ratio(spent[together], spent[one]).median
        yield Aim(f"{place.name}: {together}", 2.5, times, "times one item")


def release(ground: Ground) -> Iterator[Result]:
    """A release by the holder, beside the bare push that deletes the ref under a lease."""
    for place in ground.places():
        spent = in_turn([release_way(place), delete_way(place)], ground.rounds)
        yield from timings("release", place.name, spent, (RELEASE, DELETE))


def check(ground: Ground) -> Iterator[Result]:
    """The holder asks about its claim, beside the bare fetch of the one ref; from the copy, without network."""
    asked, cached, fetched = "git claim check", "git claim check --cached", "bare git fetch of the ref"
    for place in ground.places():
        clone = place.clone("holder")
        run(place.claim(clone, "take", NUMBER))
        commands = {
            asked: place.claim(clone, "check", NUMBER),
            cached: place.claim(clone, "check", "--cached", NUMBER),
            fetched: place.command(clone, "git", "fetch", "--quiet", "--no-tags", "origin", f"+{REF}*:{REF}*"),
        }
        spent = in_turn([always(name, command) for name, command in commands.items()], ground.rounds)
        yield from timings("check", place.name, spent, (asked, fetched), (cached, asked))


def always(name: str, command: Command) -> Way:
    """A way that needs no preparation and leaves nothing behind."""
    return Way(name, lambda: [command])


def take_way(place: Place) -> Way:
    clone = place.clone("taker")
    return Way(TAKE, lambda: [place.claim(clone, "take", NUMBER)], lambda: place.forget([NAME], clone))


def _takes_way(name: str, place: Place, takes: Sequence[Sequence[str]]) -> Way:
    clone = place.clone(f"taker-{len(takes)}-{len(takes[0])}")

    def after() -> None:
        place.forget([f"issue-{number}" for words in takes for number in words], clone)

    return Way(name, lambda: [place.claim(clone, "take", *words) for words in takes], after)


def push_way(place: Place) -> Way:
    """The least that a claim can be: one leased push of a commit that is there already."""
    clone = place.clone("pusher")
    return Way(PUSH, lambda: [_push(place, clone, _prebuilt(clone))], lambda: place.forget([NAME], clone))


def _recipe_way(place: Place) -> Way:
    clone = place.clone("shell")

    def prepare() -> list[Command]:
        return [place.command(clone, "sh", "-c", SCRIPT, "recipe", _record(), NUMBER)]

    return Way(RECIPE, prepare, lambda: place.forget([NAME], clone))


def release_way(place: Place) -> Way:
    clone = place.clone("holder")

    def prepare() -> list[Command]:
        run(place.claim(clone, "take", NUMBER))
        return [place.claim(clone, "release", NUMBER)]

    return Way(RELEASE, prepare, lambda: _gone(place))


def delete_way(place: Place) -> Way:
    clone = place.clone("deleter")

    def prepare() -> list[Command]:
        oid = _prebuilt(clone)
        run(_push(place, clone, oid))
        return [_push(place, clone, "", oid)]

    return Way(DELETE, prepare, lambda: _gone(place))


def _push(place: Place, clone: Clone, new: str, expected: str = "") -> Command:
    lease = f"--force-with-lease={REF}:{expected}"
    return place.command(clone, "git", "push", "--porcelain", lease, "origin", f"{new}:{REF}")


def _record() -> str:
    return RECORD.format(number=NUMBER, chain=CHAIN, nonce=secrets.token_hex(16))


def _prebuilt(clone: Clone) -> str:
    """A claim commit that lies in the clone, ready to be pushed."""
    blob = clone.git("hash-object", "-w", "--stdin", stdin=_record().encode()).stdout.strip()
    tree = clone.git("mktree", stdin=f"100644 blob {blob}\tclaim\n".encode()).stdout.strip()
    return clone.git(*PERSON, "commit-tree", "-m", f"claim {NUMBER}", tree).stdout.strip()


def _gone(place: Place) -> None:
    assert not place.has(REF), "the claim was not released"
