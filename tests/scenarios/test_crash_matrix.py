"""The crash matrix: every command, killed at every git child it starts, then run again.

The rows are in `matrix`. For each child the program is killed before it, right after it, or hears nothing of its
answer; and SIGTERM comes while the server is at work on the push.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest

from tests.agents import MODES, Answer, Crash, Crasher, Mode, crash
from tests.places import CLAIMS
from tests.scenarios.matrix import MATRIX, MINE, Place, Row, make_place
from tests.scenarios.oracle import assert_never_free_in_between, holders, is_thorough, told

PUSH_SECONDS = 30
READS = {"remote", "cat-file", "for-each-ref", "show-ref", "rev-parse", "check-ignore", "list"}

# The ways that are tried in a quick run.
QUICK: tuple[Mode, ...] = ("after", "lost")


# Over 3 s: a command starts up to ten children, each of which is a crash three times over. A busy machine is no hang.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("row", MATRIX, ids=str)
def test_command_killed_anywhere_succeeds_when_repeated(row: Row, tmp_path: Path, crasher: Crasher) -> None:
    place = make_place(tmp_path, row.arrange)
    before, held = place.server.refs(), holders(place.server)
    crashed = set[str]()
    for each in crashes(crasher, place, row):
        crashed.add(each.mode)
        after = holders(place.server)
        assert after in (held, expected(place, row, after)), f"{each}\nleft {after}"
        if each.mode == "lost":
            assert_honest(place, row, before, each.answer)
        else:
            assert each.answer.status == -9, each
        if each.answer.status or not row.once:
            assert_end(place, row, place.agent.claim(*row.words))
    assert crashed == set(MODES if is_whole(row) else QUICK)


def is_whole(row: Row) -> bool:
    """Says whether a row is tried at every child and in every way; one of them always is."""
    return is_thorough() or row is MATRIX[0]


def crashes(crasher: Crasher, place: Place, row: Row) -> Iterator[Crash]:
    """Every way the command can die; a quick run leaves some of them out."""
    crash(crasher, place.restored(), 0, "before", *row.words)
    children = crasher.arguments()
    for number in range(1, len(children) + 1):
        for mode in MODES if is_whole(row) else worth_trying(children, number):
            yield crash(crasher, place.restored(), number, mode, *row.words)


def worth_trying(children: list[list[str]], number: int) -> Sequence[Mode]:
    """What may differ from one command to the next.

    Setting out changes nothing, whatever becomes of it. A child that only reads is not worth a kill; what it says is
    lost, but not twice where it is asked again. Killed before a child is killed after the one before it.
    """
    words = children[number - 1]
    sets_out = any("get-url" in later for later in children[number:])
    if READS.isdisjoint(words) and not sets_out:
        return QUICK
    return () if sets_out or words in children[: number - 1] else ("lost",)


@pytest.mark.parametrize(
    ("row", "when"),
    [(row, when) for row in MATRIX for when in ("before", "after") if is_whole(row) or when == "after"],
    ids=str,
)
def test_command_terminated_while_the_server_works_succeeds_when_repeated(
    row: Row, when: Literal["before", "after"], tmp_path: Path
) -> None:
    place = make_place(tmp_path, row.arrange)
    held = holders(place.server)
    answer = terminated_in_push(place, row, when)
    assert answer.status == 130, answer
    assert "'git claim ls' shows who holds what; repeating is safe" in answer.stderr
    left = holders(place.server)
    # A push that is not atomic lands ref by ref, and the server stopped after the first.
    assert when == "after" or left == held
    end = expected(place, row, left)
    assert all(left.get(name) in (held.get(name), end.get(name)) for name in left.keys() | held.keys() | end.keys())
    assert not list(place.server.path.rglob("*.lock"))
    place.server.calm()
    assert_end(place, row, place.agent.claim(*row.words))


def terminated_in_push(place: Place, row: Row, when: Literal["before", "after"]) -> Answer:
    reached = os.open(place.server.stops(when), os.O_RDONLY | os.O_NONBLOCK)
    running = place.agent.fork(*row.words)
    assert select.select([reached], [], [], PUSH_SECONDS)[0], f"no push: {running.finish(1)}"
    os.close(reached)
    running.send(signal.SIGTERM)
    return running.finish()


def expected(place: Place, row: Row, found: Mapping[str, str]) -> dict[str, str]:
    """The end state; where nobody can say yet which chain runs the command, it is taken for the one found."""
    mine = chain_of(place)
    return {name: (mine or found.get(name, MINE)) if chain is MINE else chain for name, chain in row.end.items()}


def chain_of(place: Place) -> str | None:
    """Who runs the command: asked of the product where it was minted, None where no worktree knows it yet."""
    agent = place.agent
    return agent.chain or (agent.claim("whoami").stdout.strip() if agent.clone.linked else None)


def assert_honest(place: Place, row: Row, before: Mapping[str, str], answer: Answer) -> None:
    """An answer may be that nobody knows. Success and refusal must be so."""
    assert answer.status in (0, 3, 128), answer
    if answer.status == 0:
        assert_end(place, row, answer)
    for name, outcome in told(answer).items():
        if outcome == "refused":
            assert place.server.refs().get(CLAIMS + name) == before.get(CLAIMS + name), answer


def assert_end(place: Place, row: Row, answer: Answer) -> None:
    """Server, local copy and answer agree, and are where the command should have brought them."""
    assert answer.status == 0, answer
    found = holders(place.server)
    assert found == expected(place, row, found), answer
    refs = place.server.refs()
    assert place.agent.clone.refs() == refs, answer
    # A repeated hand-off finds its bundle passed on already and names the lead alone.
    shown = {CLAIMS + name: oid for name, oid in told(answer, "claim", "oid").items() if name in row.end}
    assert shown.items() <= refs.items() and bool(shown) == bool(row.end), answer
    if not row.gives_back:
        assert_never_free_in_between(place.server)
    if row.also:
        row.also(place)
