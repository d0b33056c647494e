"""Commands of a lane that are killed at every git child they start, beyond what the crash matrix asks of all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.agents import MODES, Crash, Crasher, crash
from tests.places import Clone, read_refs
from tests.scenarios.matrix import WORKTREE, Place, make_place
from tests.scenarios.oracle import holders, is_thorough

BRANCH = "refs/heads/42-work"


def crashes(crasher: Crasher, place: Place, *words: str) -> Iterator[Crash]:
    """Every way to die, in a quick run only where something is changed."""
    crash(crasher, place.restored(), 0, "before", *words)
    children = crasher.arguments()
    for number, child in enumerate(children, start=1):
        if is_thorough() or {"push", "remove"} & set(child):
            for mode in MODES:
                yield crash(crasher, place.restored(), number, mode, *words)


def finished_lane(place: Place) -> Place:
    """A lane whose work is pushed; the agent stands in the main worktree."""
    place.agent.claim("start", "42", check=0)
    lane = Clone(place.agent.clone.path / WORKTREE, place.server, linked=True)
    lane.commit("work")
    place.agent.clone.git("push", "--quiet", "--no-verify", "origin", "42-work")
    return place


# Over 3 s: every child of the command is a crash three times over.
def test_release_that_is_killed_never_takes_a_worktree_whose_claim_it_keeps(tmp_path: Path, crasher: Crasher) -> None:
    place = make_place(tmp_path, finished_lane)
    worktree, seen = place.agent.clone.path / WORKTREE, set[tuple[bool, bool]]()
    pushed = place.server.refs(BRANCH)
    for each in crashes(crasher, place, "release", "42", "--remove-worktree"):
        state = bool(place.server.refs()), worktree.exists()
        seen.add(state)
        assert state != (True, False), each
        again = place.agent.claim("release", "42", "--remove-worktree")
        assert (again.status, place.server.refs(), worktree.exists()) == (0, {}, False), f"{each}\n{again}"
        assert place.agent.clone.git("worktree", "list").stdout.count("\n") == 1, each
        assert read_refs(place.agent.clone.path, BRANCH) == pushed, each
    assert seen == {(True, True), (False, True), (False, False)}


# Over 3 s, as above.
def test_exec_that_is_killed_leaves_a_claim_that_its_chain_finds_again_or_none(
    tmp_path: Path, crasher: Crasher
) -> None:
    place = make_place(tmp_path, lambda place: place)
    words = ("exec", "42", "--", "sh", "-c", "exit 5")
    for each in crashes(crasher, place, *words):
        assert holders(place.server) in ({}, {"issue-42": "chain-me"}), each
        assert each.answer.status in ((-9,) if each.mode != "lost" else (3, 5, 128)), each
        again = place.agent.claim(*words)
        assert again.status == 5, f"{each}\n{again}"
        place.agent.claim("release", "--all", check=0)
        assert place.server.refs() == {}, each


# Over 3 s, as above.
def test_prune_that_is_killed_takes_only_what_is_done(tmp_path: Path, crasher: Crasher) -> None:
    def arrange(place: Place) -> Place:
        finished_lane(place).agent.claim("release", "42", check=0)
        place.agent.claim("start", "43", check=0)
        return place

    place = make_place(tmp_path, arrange)
    worktrees = place.agent.clone.path / ".worktrees"
    for each in crashes(crasher, place, "prune-lanes"):
        assert {path.name for path in worktrees.iterdir()} >= {"43-work"}, each
        again = place.agent.claim("prune-lanes")
        assert (again.status, [path.name for path in worktrees.iterdir()]) == (0, ["43-work"]), f"{each}\n{again}"
        assert holders(place.server) == {"issue-43": "chain-me"}, each
