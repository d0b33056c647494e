"""Branches of the remote: which is its default, and the one that goes when its work is merged."""

from __future__ import annotations

from tests.edges.opening import open_remote
from tests.places import Clone, Server

BRANCH = "refs/heads/42-x"


def test_default_branch_is_what_the_remote_calls_its_head(clone: Clone, server: Server) -> None:
    assert open_remote(clone.path).default_branch() == "main"
    server.git("symbolic-ref", "HEAD", "refs/heads/next/one")
    server.plant("refs/heads/next/one", server.refs("refs/heads/main")["refs/heads/main"])
    assert open_remote(clone.path).default_branch() == "next/one"


def test_remote_whose_head_is_on_no_branch_has_no_default(clone: Clone, server: Server) -> None:
    (server.path / "HEAD").write_text(server.refs("refs/heads/main")["refs/heads/main"] + "\n")
    assert open_remote(clone.path).default_branch() is None


def test_remote_that_is_silent_has_no_default(clone: Clone, server: Server) -> None:
    server.path.rename(server.path.with_name("away"))
    assert open_remote(clone.path).default_branch() is None


def pushed(clone: Clone) -> str:
    """A branch on the server, and the commit that it is at."""
    oid = clone.commit("work")
    clone.git("push", "--quiet", "origin", f"HEAD:{BRANCH}")
    return oid


def test_branch_is_deleted_at_the_commit_that_was_merged(clone: Clone, server: Server) -> None:
    oid = pushed(clone)
    assert open_remote(clone.path).delete_branch("42-x", oid) is None
    assert server.refs(BRANCH) == {}


def test_branch_that_is_gone_already_is_as_good(clone: Clone, server: Server) -> None:
    oid = clone.commit("work")
    assert open_remote(clone.path).delete_branch("42-x", oid) is None
    assert server.chain_of(BRANCH) == []


def test_branch_that_moved_since_stays(clone: Clone, server: Server) -> None:
    oid, later = pushed(clone), pushed(clone)
    assert open_remote(clone.path).delete_branch("42-x", oid) == "it has moved since"
    assert server.refs(BRANCH) == {BRANCH: later}


def test_branch_that_the_server_will_not_delete_stays_with_its_words(clone: Clone, server: Server) -> None:
    oid = pushed(clone)
    server.deny_deletes_hook()
    kept = open_remote(clone.path).delete_branch("42-x", oid)
    assert kept is not None and "deletes are refused here" in kept
    assert server.refs(BRANCH) == {BRANCH: oid}


def test_delete_whose_reply_was_lost_is_found_done(clone: Clone, server: Server) -> None:
    oid = pushed(clone)
    server.reply_lost()
    assert open_remote(clone.path).delete_branch("42-x", oid) is None
    assert server.refs(BRANCH) == {}


def test_branch_on_a_server_that_is_away_stays_as_far_as_anybody_knows(clone: Clone, server: Server) -> None:
    oid = pushed(clone)
    server.path.rename(server.path.with_name("away"))
    assert open_remote(clone.path).delete_branch("42-x", oid)
