"""What a remote allows is found out by doing it, and nothing of that is left behind."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from git_claims.git.probe import Probe, Tried
from tests.agents import Crasher
from tests.edges.opening import Opened
from tests.places import Clone, Server

NONCE = "00ff00ff00ff00ff"


def probe(place: Clone, namespace: str = "refs/claims") -> Tried:
    return Probe(Opened(place.path).store, NONCE, "2026-11-30T13:06:00Z").run(namespace)


@pytest.mark.parametrize("namespace", ["refs/claims", "refs/heads/claims"])
def test_server_that_allows_everything(clone: Clone, server: Server, namespace: str) -> None:
    before = server.refs("refs/")
    assert probe(clone, namespace) == Tried(atomic=True)
    assert server.refs("refs/") == before
    name = f"{namespace}/probe-{NONCE}"
    made, replaced, gone = server.chain_of(name)
    assert len({made, replaced}) == 2 and not gone.strip("0")
    assert len(server.chain_of(f"{name}-b")) == 3


def test_server_without_atomic_pushes(clone: Clone, server: Server) -> None:
    server.no_atomic()
    assert probe(clone) == Tried(atomic=False)
    assert server.refs() == {}


def test_server_that_refuses_the_namespace_says_why(clone: Clone, server: Server) -> None:
    server.policy_refuses()
    tried = probe(clone)
    assert tried.refused is not None and "(hook declined); " in tried.refused and "refused by policy" in tried.refused
    assert (tried.silent, tried.undeletable, server.refs()) == (None, None, {})
    assert probe(clone, "refs/heads/claims") == Tried(atomic=True)


def test_server_that_hides_the_namespace_from_writers(clone: Clone, server: Server) -> None:
    server.hide("receive")
    tried = probe(clone)
    assert tried.refused is not None and "deny updating a hidden ref" in tried.refused
    assert server.refs() == {}


def test_server_that_takes_one_name_and_not_the_other_keeps_neither(clone: Clone, server: Server) -> None:
    server.no_atomic()
    server.policy_refuses("*-b")
    assert probe(clone).refused is not None
    assert server.refs() == {}


def test_server_that_hides_the_namespace_from_readers_is_found_out(clone: Clone, server: Server) -> None:
    server.hide("upload")
    assert probe(clone) == Tried(atomic=True, unreadable=True)
    assert server.refs() == {}


def test_server_that_takes_no_second_value_keeps_nothing(clone: Clone, server: Server) -> None:
    hook = server.path / "hooks/update"
    hook.write_text('#!/bin/sh\n[ "$2" = "${2#*[!0]}" ] || [ "$3" = "${3#*[!0]}" ] || exit 1\n')
    hook.chmod(0o755)
    tried = probe(clone)
    assert tried.refused is not None and "hook declined" in tried.refused
    assert server.refs() == {}


def test_server_that_deletes_nothing_is_found_out_and_what_stays_disturbs_nobody(clone: Clone, server: Server) -> None:
    server.deny_deletes_hook()
    tried = probe(clone)
    assert tried.undeletable is not None and "deletes are refused here" in tried.undeletable
    assert tried == Tried(atomic=True, undeletable=tried.undeletable)
    assert len(server.refs()) == 2
    listing = Opened(clone.path).store.read_all()
    assert (listing.claims, listing.strangers) == ({}, ())


def test_server_that_is_gone_is_silent(clone: Clone, server: Server) -> None:
    server.path.rename(server.path.with_name("gone"))
    tried = probe(clone)
    assert tried.silent is not None and "does not appear to be a git repository" in tried.silent
    assert tried.refused is None


@pytest.mark.parametrize("is_atomic", [True, False])
@pytest.mark.parametrize("number", range(1, 6))
def test_answer_that_was_lost_leaves_nothing_behind(
    clone: Clone, server: Server, crasher: Crasher, is_atomic: bool, number: int
) -> None:
    if not is_atomic:
        server.no_atomic()
    store = Opened(clone.path).store
    git = replace(store.remote.git, environment={**os.environ, **crasher.environment(number, "lost")})
    tried = Probe(replace(store, remote=replace(store.remote, git=git)), NONCE, "2026-11-30T13:06:00Z").run(
        "refs/claims"
    )
    assert crasher.count() >= 3
    assert server.refs() == {}, tried
    assert (tried.refused, tried.undeletable, tried.unreadable) == (None, None, False)
