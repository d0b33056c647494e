"""Swaps on a real server in every mood: the id that its ref has afterwards decides, whatever the push said."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from git_claims.git import store as store_module
from git_claims.git.copy import Copy
from git_claims.protocol.claim import Seen
from git_claims.protocol.settlement import Applied, Moved, Settled, Unclear, Untouched, Withheld
from tests.agents import Crasher
from tests.edges.opening import Opened, won
from tests.places import ABSENT, Clone, Server
from tests.proxy import black_hole

FORTY_TWO = "refs/claims/issue-42"


@pytest.fixture
def opened(clone: Clone) -> Opened:
    return Opened(clone.path)


def take(opened: Opened) -> Callable[[], Settled]:
    return lambda: opened.take("42")["issue-42"]


def renew(opened: Opened) -> Callable[[], Settled]:
    seen = won(opened.take("42")["issue-42"])
    return lambda: opened.renew("42", seen)


def release(opened: Opened) -> Callable[[], Settled]:
    seen = won(opened.take("42")["issue-42"])
    return lambda: opened.release("42", seen)


SWAPS = pytest.mark.parametrize("prepare", [take, renew, release])
Prepare = Callable[[Opened], Callable[[], Settled]]


def ids_after(server: Server, swap: Callable[[], Settled]) -> tuple[Settled, list[str]]:
    """What the swap became, and the ids that the ref has had since."""
    before = len(server.chain_of(FORTY_TWO))
    return swap(), server.chain_of(FORTY_TWO)[before:]


def expected_ids(state: Settled) -> list[str]:
    """One move to just the state that was answered."""
    assert isinstance(state, Applied), state
    return [ABSENT if state.seen is None else state.seen.oid]


@SWAPS
def test_swap_is_one_move_of_one_ref_and_the_copy_knows_at_once(
    opened: Opened, server: Server, clone: Clone, prepare: Prepare
) -> None:
    state, ids = ids_after(server, prepare(opened))
    assert ids == expected_ids(state)
    assert clone.refs() == server.refs()
    assert opened.pauses == []


def test_won_swap_is_one_exchange(opened: Opened, crasher: Crasher) -> None:
    opened.environment |= crasher.environment()
    won(opened.take("42")["issue-42"])
    network = [words for words in crasher.arguments() if {"push", "fetch", "ls-remote"} & set(words)]
    assert len(network) == 1 and "push" in network[0]


@SWAPS
@pytest.mark.parametrize("packed", [False, True], ids=["loose refs", "packed refs"])
def test_rival_in_the_gap_wins_and_is_named(
    opened: Opened, server: Server, clone: Clone, prepare: Prepare, packed: bool
) -> None:
    swap = prepare(opened)
    if packed:
        server.pack()
    server.rival_in_the_gap("issue-42", "chain-rival")
    state, ids = ids_after(server, swap)
    assert isinstance(state, Moved) and state.seen is not None and state.seen.claim is not None
    assert (state.seen.claim.chain, ids) == ("chain-rival", [state.seen.oid])
    assert clone.refs() == server.refs()


@SWAPS
def test_rival_that_was_there_before_is_named(opened: Opened, server: Server, prepare: Prepare) -> None:
    swap = prepare(opened)
    oid = server.plant_claim("issue-42", "chain-rival")
    state, ids = ids_after(server, swap)
    assert isinstance(state, Moved) and state.seen is not None
    assert (state.seen.oid, ids) == (oid, [])


@pytest.mark.parametrize("prepare", [renew, release])
def test_claim_that_somebody_freed_is_gone_and_not_made_again(
    opened: Opened, server: Server, clone: Clone, prepare: Prepare
) -> None:
    swap = prepare(opened)
    server.plant(FORTY_TWO, None)
    state, ids = ids_after(server, swap)
    assert state == (Applied(None) if prepare is release else Moved(None))
    assert (ids, clone.refs()) == ([], {})


@SWAPS
@pytest.mark.parametrize("mood", ["reply_lost", "reply_torn"])
def test_lost_reply_of_a_swap_that_landed_is_a_win(
    opened: Opened, server: Server, clone: Clone, prepare: Prepare, mood: str
) -> None:
    swap = prepare(opened)
    getattr(server, mood)()
    state, ids = ids_after(server, swap)
    assert ids == expected_ids(state)
    assert clone.refs() == server.refs()


@SWAPS
@pytest.mark.parametrize("times", [1, 2])
def test_server_that_dies_before_it_changes_anything_is_asked_again_with_the_same_object(
    opened: Opened, server: Server, prepare: Prepare, times: int
) -> None:
    swap = prepare(opened)
    server.killed_before(times)
    state, ids = ids_after(server, swap)
    assert ids == expected_ids(state)
    assert len(opened.pauses) == times


@SWAPS
def test_server_that_always_dies_is_a_refusal_and_leaves_the_old_state(
    opened: Opened, server: Server, prepare: Prepare
) -> None:
    swap = prepare(opened)
    server.killed_before(times=20)
    state, ids = ids_after(server, swap)
    assert isinstance(state, Withheld) and "hung up" in state.why
    assert (ids, len(opened.pauses)) == ([], 3)
    assert opened.pauses == sorted(opened.pauses)


def policy(server: Server) -> str:
    server.policy_refuses("refs/claims/issue-42")
    return "[remote rejected] (hook declined); remote: refused by policy"


def stuck_lock(server: Server) -> str:
    server.stuck_lock("issue-42")
    return f"Unable to create '{server.path}/./{FORTY_TWO}.lock': File exists"


def hidden(server: Server) -> str:
    known = bool(server.refs())
    server.hide("receive")
    # What is hidden is not advertised, so git itself finds no lease on it.
    return "[rejected] (stale info)" if known else "[remote rejected] (deny updating a hidden ref)"


@SWAPS
@pytest.mark.parametrize("rule", [policy, stuck_lock, hidden])
def test_rule_of_the_host_is_a_refusal_in_its_words_and_leaves_the_old_state(
    opened: Opened, server: Server, clone: Clone, prepare: Prepare, rule: Callable[[Server], str]
) -> None:
    swap = prepare(opened)
    words = rule(server)
    copy = clone.refs()
    state, ids = ids_after(server, swap)
    assert isinstance(state, Withheld) and words in state.why, state
    assert (state.lacks_atomic, ids, clone.refs()) == (False, [], copy)


def test_name_that_is_a_directory_on_the_server_is_a_refusal_that_says_so(opened: Opened, server: Server) -> None:
    server.plant(f"{FORTY_TWO}/x", server.make_commit(b"x"))
    state = opened.take("42")["issue-42"]
    assert isinstance(state, Withheld) and f"'{FORTY_TWO}/x' exists; cannot create '{FORTY_TWO}'" in state.why


def test_refused_delete_leaves_the_claim(opened: Opened, server: Server) -> None:
    swap = release(opened)
    server.deny_deletes_hook()
    state, ids = ids_after(server, swap)
    assert isinstance(state, Withheld) and "deletes are refused here" in state.why
    assert ids == []


@SWAPS
def test_silent_server_is_unclear_within_a_few_deadlines(clone: Clone, opened: Opened, prepare: Prepare) -> None:
    swap = prepare(opened)
    with black_hole() as port:
        clone.config("remote.origin.url", f"git://127.0.0.1:{port}/server.git")
        opened.reopen(0.3)
        began = time.monotonic()
        state = swap()
        assert time.monotonic() - began < 5
    assert isinstance(state, Unclear)
    assert state.why.startswith("no answer before the deadline; cannot read the claims of remote 'origin'")


def test_server_that_is_gone_is_unclear(opened: Opened, server: Server) -> None:
    server.path.rename(server.path.with_name("gone"))
    state = opened.take("42")["issue-42"]
    assert isinstance(state, Unclear) and "does not appear to be a git repository" in state.why


def test_slow_server_is_waited_for(opened: Opened, server: Server) -> None:
    server.slow(0.4)
    won(opened.take("42")["issue-42"])


# Some sandboxes put a program of their own before git, which lets agents push nothing and does not say so.
SWALLOWS_PUSHES = """#!/bin/sh
for word in "$@"; do [ "$word" != push ] || exit 0; done
exec '{git}' "$@"
"""


def test_push_that_ends_well_and_says_nothing_of_the_ref_is_not_believed(
    opened: Opened, server: Server, tmp_path: Path
) -> None:
    program = tmp_path / "programs/git"
    program.parent.mkdir()
    program.write_text(SWALLOWS_PUSHES.format(git=shutil.which("git")))
    program.chmod(0o755)
    opened.environment["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    assert isinstance(opened.take("42")["issue-42"], Withheld)
    assert server.refs() == {}


# Several refs


def test_each_ref_has_its_own_lease_and_its_own_end(opened: Opened, server: Server) -> None:
    rival = server.plant_claim("issue-2", "chain-rival")
    server.policy_refuses("refs/claims/issue-3")
    states = opened.take("1", "2", "3", "pr-4", "PROJ-5")
    kinds = {name: type(state).__name__ for name, state in states.items()}
    assert kinds == {
        "issue-1": "Applied",
        "issue-2": "Moved",
        "issue-3": "Withheld",
        "pr-4": "Applied",
        "issue-proj-5": "Applied",
    }
    names = ["issue-1", "issue-2", "issue-proj-5", "pr-4"]
    assert [name.removeprefix("refs/claims/") for name in sorted(server.refs())] == names
    assert server.refs()["refs/claims/issue-2"] == rival


def test_several_refs_are_one_push(opened: Opened, server: Server, crasher: Crasher) -> None:
    opened.environment |= crasher.environment()
    opened.take("1", "2", "3")
    assert len([words for words in crasher.arguments() if "push" in words]) == 1
    assert len(server.refs()) == 3


def test_atomic_group_with_one_that_is_held_changes_nothing(opened: Opened, server: Server, clone: Clone) -> None:
    server.plant_claim("issue-2", "chain-rival")
    before = server.refs()
    states = opened.take("1", "2", "3", atomic=True)
    assert isinstance(states.pop("issue-2"), Moved)
    assert states == {"issue-1": Untouched(), "issue-3": Untouched()}
    assert (server.refs(), "refs/claims/issue-1" in clone.refs()) == (before, False)


def test_atomic_group_with_a_rival_in_the_gap_changes_nothing(opened: Opened, server: Server) -> None:
    server.rival_in_the_gap("issue-2", "chain-rival")
    states = opened.take("1", "2", "3", atomic=True)
    assert isinstance(states["issue-2"], Moved)
    assert server.refs().keys() == {"refs/claims/issue-2"}


def test_atomic_group_lands_as_a_whole_although_the_reply_was_lost(opened: Opened, server: Server) -> None:
    server.reply_lost()
    states = opened.take("1", "2", "3", atomic=True)
    assert {name: won(state).oid for name, state in states.items()} == {
        name.removeprefix("refs/claims/"): oid for name, oid in server.refs().items()
    }


def test_server_without_atomic_pushes_is_told_from_any_other_refusal(opened: Opened, server: Server) -> None:
    server.no_atomic()
    states = opened.take("1", "2", atomic=True)
    assert all(isinstance(state, Withheld) and state.lacks_atomic for state in states.values())
    assert (server.refs(), opened.pauses) == ({}, [])
    assert isinstance(opened.take("1")["issue-1"], Applied)


def test_swap_of_nothing_is_nothing(opened: Opened, server: Server, clone: Clone) -> None:
    clone.commit("not to be pushed")
    before = server.refs("refs/")
    assert opened.store.swap([]) == {}
    assert server.refs("refs/") == before


# The copy is only a copy


def test_copy_that_is_locked_does_not_hold_up_a_win(
    opened: Opened, server: Server, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_COPY_LOCK_SECONDS", 0.1)
    with Copy(clone.path / ".git/git-claim").locked(1):
        oid = won(opened.take("42")["issue-42"]).oid
    assert (server.refs(), clone.refs()) == ({FORTY_TWO: oid}, {})
    assert opened.chains() == {"issue-42": "chain-me"}


def test_copy_that_cannot_be_written_does_not_spoil_a_win(opened: Opened, server: Server, clone: Clone) -> None:
    (clone.path / ".git/git-claim").write_text("in the way")
    (clone.path / ".git/refs/claims").write_text("in the way too")
    oid = won(opened.take("42")["issue-42"]).oid
    assert server.refs() == {FORTY_TWO: oid}


def test_hook_of_the_clone_neither_runs_nor_stops_a_swap(opened: Opened, clone: Clone, tmp_path: Path) -> None:
    hook = clone.path / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 1\n")
    hook.chmod(0o755)
    won(opened.take("42")["issue-42"])
    assert not (tmp_path / "ran").exists()


# In branches, for hosts that take nothing else


@pytest.fixture
def in_branches(clone: Clone) -> Opened:
    return Opened(clone.path, "refs/heads/claims")


def test_claims_among_branches_work_and_never_become_branches_here(
    in_branches: Opened, server: Server, clone: Clone
) -> None:
    server.git("config", "receive.denyDeletes", "false")
    branches, ref = clone.refs("refs/heads/"), "refs/heads/claims/issue-42"
    first = won(in_branches.take("42")["issue-42"])
    assert in_branches.chains() == {"issue-42": "chain-me"}
    second = won(in_branches.renew("42", first))
    assert in_branches.read("42") == Seen(second.oid, second.claim)
    assert isinstance(in_branches.release("42", second), Applied)
    assert server.chain_of(ref) == [first.oid, second.oid, ABSENT]
    assert (clone.refs("refs/heads/"), server.refs("refs/claims/")) == (branches, {})


@pytest.mark.parametrize("rule", ["receive.denyDeletes", "receive.denyNonFastForwards"])
def test_server_that_protects_its_branches_refuses_in_its_words(in_branches: Opened, server: Server, rule: str) -> None:
    first = won(in_branches.take("42")["issue-42"])
    server.git("config", rule, "true")
    state = in_branches.release("42", first) if "Deletes" in rule else in_branches.renew("42", first)
    assert isinstance(state, Withheld) and "[remote rejected] (" in state.why
    assert server.refs("refs/heads/claims/") == {"refs/heads/claims/issue-42": first.oid}
