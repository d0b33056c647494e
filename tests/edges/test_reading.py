"""Claims read from a real server: one, many, all; what is absent is proved; and the local copy is only a copy."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from git_claims.errors import CannotTell, GitFailed
from git_claims.git.copy import Copy
from tests.agents import Crasher
from tests.edges.opening import Opened, item, won
from tests.forked import ForkedAgent
from tests.places import Clone, Server, make_clone, make_server

FORTY_TWO = "refs/claims/issue-42"


@pytest.fixture
def opened(clone: Clone) -> Opened:
    return Opened(clone.path)


def test_claim_is_read_with_its_id_and_record(opened: Opened, server: Server) -> None:
    oid = server.plant_claim("issue-42", "chain-a", branch="42-fix")
    seen = opened.read("42")
    assert seen is not None and seen.claim is not None
    assert (seen.oid, seen.claim.chain, seen.claim.branch) == (oid, "chain-a", "42-fix")


def test_absence_is_proved_by_the_server_and_not_by_the_copy(opened: Opened, server: Server, clone: Clone) -> None:
    server.plant_claim("issue-42", "chain-a")
    assert opened.read("42") is not None
    server.plant(FORTY_TWO, None)
    assert opened.read("42") is None
    assert clone.refs() == {}


def test_neighbours_in_name_are_other_items(opened: Opened, server: Server) -> None:
    for name in ("issue-420", "issue-4", "issue-4-2", "issue-42x"):
        server.plant(f"refs/claims/{name}", server.make_commit(b"x"))
    assert opened.read("42") is None


def test_one_item_brings_one_ref_and_leaves_the_rest_of_the_copy(opened: Opened, server: Server, clone: Clone) -> None:
    first = server.plant_claim("issue-1", "chain-a")
    opened.chains()
    server.plant("refs/claims/issue-1", None)
    second = server.plant_claim("issue-42", "chain-a")
    server.plant_claim("issue-7", "chain-a")
    opened.read("42")
    assert clone.refs() == {"refs/claims/issue-1": first, FORTY_TWO: second}


def test_items_whose_names_begin_alike_are_read_together(opened: Opened, server: Server) -> None:
    server.plant_claim("issue-4", "chain-a")
    server.plant_claim("issue-42", "chain-b")
    found = opened.store.read([item(name) for name in ("4", "42", "420", "42", "pr-4")])
    assert {each.name: seen is not None for each, seen in found.items()} == {
        "issue-4": True,
        "issue-42": True,
        "issue-420": False,
        "pr-4": False,
    }


def test_many_items_are_read_by_one_question_for_all(opened: Opened, server: Server, crasher: Crasher) -> None:
    server.plant_claim("issue-150", "chain-a")
    opened.environment |= crasher.environment()
    found = opened.store.read([item(str(number)) for number in range(1, 200)])
    assert [each.name for each, seen in found.items() if seen] == ["issue-150"]
    assert len(found) == 199
    (fetched,) = [words for words in crasher.arguments() if "fetch" in words]
    assert [word for word in fetched if word.startswith("+refs/")] == ["+refs/claims/*:refs/claims/*"]


def test_reading_nothing_asks_nobody(opened: Opened, server: Server, clone: Clone) -> None:
    # Without a refspec git would fetch, and prune, what the user's own refspecs say.
    clone.git("update-ref", "refs/remotes/origin/mine", "HEAD")
    before = clone.refs("refs/")
    assert opened.store.read([]) == {}
    assert clone.refs("refs/") == before
    server.path.rename(server.path.with_name("gone"))
    assert opened.store.read([]) == {}


def test_all_claims_are_listed_with_refs_that_name_no_item_apart(opened: Opened, server: Server) -> None:
    server.plant_claim("issue-42", "chain-a")
    server.plant_claim("pr-17", "chain-b")
    odd = server.make_commit(b"x")
    for name in ("Issue-7", "issue-007", "nobody", "a/b", "a\u2028b", "a\x85b", "issue-0", "probe-1f"):
        server.plant(f"refs/claims/{name}", odd)
    began = time.time()
    listing = opened.store.read_all()
    assert {each.name for each in listing.claims} == {"issue-42", "pr-17"}
    assert sorted(name.removeprefix("refs/claims/") for name in listing.strangers) == sorted(
        ["Issue-7", "issue-007", "nobody", "a/b", "a\u2028b", "a\x85b", "issue-0"]
    )
    assert listing.as_of is not None and began <= listing.as_of <= time.time()


def test_listing_says_how_many_claims_the_one_before_had(opened: Opened, server: Server) -> None:
    for number in range(1, 5):
        server.plant_claim(f"issue-{number}", "chain-a")
    assert opened.store.read_all().earlier == 0
    for number in range(1, 5):
        server.plant(f"refs/claims/issue-{number}", None)
    listing = opened.store.read_all()
    assert (len(listing.claims), listing.earlier) == (0, 4)


@pytest.mark.parametrize("was_first", ["issue-42", "issue-42/x"])
def test_name_that_was_a_directory_in_the_copy_may_be_a_claim_now(
    opened: Opened, server: Server, clone: Clone, was_first: str
) -> None:
    now = {"issue-42": "issue-42/x", "issue-42/x": "issue-42"}[was_first]
    oid = server.make_commit(b"issue=42\nchain=chain-a\n")
    server.plant(f"refs/claims/{was_first}", oid)
    opened.read("42")
    server.plant(f"refs/claims/{was_first}", None)
    server.plant(f"refs/claims/{now}", oid)
    assert (opened.read("42") is not None) == (now == "issue-42")
    assert clone.refs() == {f"refs/claims/{now}": oid}


# A server that does not answer


def test_silence_is_never_absence(opened: Opened, server: Server) -> None:
    server.plant_claim("issue-42", "chain-a")
    opened.chains()
    server.path.rename(server.path.with_name("gone"))
    for ask in (lambda: opened.read("42"), opened.chains):
        with pytest.raises(CannotTell, match=r"^cannot read the claims of remote 'origin': fatal: .* does not appear"):
            ask()
    assert len(opened.pauses) == 6


def test_copy_is_read_without_the_server_and_says_how_old_it_is(opened: Opened, server: Server) -> None:
    server.plant_claim("issue-42", "chain-a")
    began = time.time()
    opened.chains()
    server.path.rename(server.path.with_name("gone"))
    listing = opened.store.cached()
    assert opened.cached_chains() == {"issue-42": "chain-a"}
    assert listing.as_of is not None and began <= listing.as_of <= time.time()
    assert opened.store.cached_items([item("42"), item("43")])[item("43")] is None


def test_copy_that_was_never_listed_has_no_age(opened: Opened, server: Server) -> None:
    assert opened.store.cached().as_of is None
    server.plant_claim("issue-42", "chain-a")
    opened.read("42")
    assert opened.cached_chains() == {"issue-42": "chain-a"}
    assert (opened.store.cached().as_of, opened.store.cached_as_of()) == (None, None)


# Whose copy it is


@pytest.fixture
def elsewhere(clone: Clone, tmp_path: Path) -> Server:
    other = make_server(tmp_path, "elsewhere.git")
    clone.git("remote", "add", "elsewhere", other.url)
    other.plant_claim("issue-7", "chain-elsewhere")
    return other


@pytest.mark.parametrize("first", ["one item", "all"])
def test_copy_of_another_remote_is_not_mixed_in(
    opened: Opened, server: Server, clone: Clone, elsewhere: Server, first: str
) -> None:
    server.plant_claim("issue-42", "chain-a")
    opened.chains()
    there = Opened(clone.path, remote_name="elsewhere")
    assert (there.cached_chains(), there.store.cached().as_of) == ({}, None)
    assert there.store.cached_items([item("42")]) == {item("42"): None}
    if first == "all":
        there.chains()
    else:
        assert there.read("42") is None
    assert there.cached_chains() == {"issue-7": "chain-elsewhere"}
    assert opened.cached_chains() == {}
    assert opened.chains() == {"issue-42": "chain-a"}
    assert clone.refs().keys() == {FORTY_TWO}


def test_claim_won_elsewhere_does_not_enter_the_copy_of_this_remote(
    opened: Opened, server: Server, clone: Clone, elsewhere: Server
) -> None:
    server.plant_claim("issue-42", "chain-a")
    opened.chains()
    won(Opened(clone.path, remote_name="elsewhere").take("8")["issue-8"])
    assert elsewhere.refs().keys() == {"refs/claims/issue-7", "refs/claims/issue-8"}
    assert clone.refs().keys() == {FORTY_TWO}


def test_other_namespace_of_the_same_remote_is_another_copy(opened: Opened, server: Server, clone: Clone) -> None:
    server.plant_claim("issue-42", "chain-a")
    opened.chains()
    assert Opened(clone.path, "refs/heads/claims").chains() == {}


def test_copy_is_nobodys_while_it_changes_hands(opened: Opened, clone: Clone, elsewhere: Server) -> None:
    opened.chains()
    # Whoever is killed in the middle of the fetch leaves some of each.
    elsewhere.path.rename(elsewhere.path.with_name("gone"))
    with pytest.raises(CannotTell):
        Opened(clone.path, remote_name="elsewhere").chains()
    clone.git("update-ref", "refs/claims/issue-7", clone.commit("half"))
    assert opened.cached_chains() == {}
    assert opened.read("42") is None
    assert clone.refs() == {}


@pytest.mark.parametrize("note", ["", "x", "x\ny\nz\n", "x\n\n\n", "\xff\n1\n1\n"])
def test_note_of_the_copy_that_is_broken_is_nobodys(opened: Opened, server: Server, clone: Clone, note: str) -> None:
    server.plant_claim("issue-42", "chain-a")
    opened.chains()
    (clone.path / ".git/git-claim/copy").write_bytes(note.encode("latin-1"))
    assert opened.cached_chains() == {}
    assert opened.chains() == {"issue-42": "chain-a"}


def test_password_in_the_url_is_not_noted(clone: Clone) -> None:
    clone.config("remote.origin.url", f"file://me:secret@localhost{clone.server.path}")
    Opened(clone.path).chains()
    notes = [path.read_text() for path in (clone.path / ".git/git-claim").iterdir()]
    assert any("localhost" in note for note in notes)
    assert not any("secret" in note for note in notes)


def test_place_that_cannot_be_written_is_said(opened: Opened, clone: Clone) -> None:
    (clone.path / ".git/git-claim").write_text("in the way")
    with pytest.raises(GitFailed, match=r"^cannot write to '.*git-claim'"):
        opened.chains()


# Many readers in one clone


def test_reader_waits_for_the_one_before_and_not_for_ever(opened: Opened, clone: Clone) -> None:
    busy = pytest.raises(CannotTell, match="another 'git claim' in this clone is still reading the remote")
    with Copy(clone.path / ".git/git-claim").locked(1), busy:
        Opened(clone.path, deadline_seconds=0.3).read("42")
    assert opened.read("42") is None


def test_eight_readers_of_one_clone_at_once_all_read(clone: Clone, server: Server) -> None:
    # Without the lock most of eight concurrent fetches fail on each other's refs. 24 processes take their time.
    agents = [ForkedAgent(place, "chain-me") for place in (clone, clone.worktree("lane"))]
    for number in range(3):
        oid = server.make_commit(b"round %d" % number)
        refs = "".join(f"update refs/claims/issue-{name} {oid}\n" for name in range(1, 31))
        server.git("update-ref", "--stdin", stdin=refs.encode())
        answers = [running.finish() for running in [agent.fork("ls") for agent in agents * 4]]
        assert [(answer.status, answer.stderr) for answer in answers] == [(0, "")] * 8, answers
        assert [answer.stdout.count("unreadable") for answer in answers] == [30] * 8
    assert clone.refs() == server.refs()


# What is the user's stays as it was


def test_reading_touches_nothing_of_the_users(opened: Opened, server: Server, tmp_path: Path) -> None:
    other = make_clone(server, tmp_path, "other")
    mine = Clone(opened.directory, server)
    mine.git("tag", "mine")
    mine.git("fetch", "--quiet", "origin")
    other.git("tag", "theirs")
    other.commit("more")
    other.git("push", "--quiet", "origin", "main", "theirs")
    server.plant_claim("issue-42", "chain-a")
    before = (snapshot(mine), (mine.path / ".git/FETCH_HEAD").read_bytes())
    opened.read("42")
    opened.chains()
    assert (snapshot(mine), (mine.path / ".git/FETCH_HEAD").read_bytes()) == before


@pytest.mark.parametrize("namespace", ["refs/claims", "refs/heads/claims"])
def test_refs_that_the_users_own_refspecs_would_move_stay(server: Server, clone: Clone, namespace: str) -> None:
    clone.git("config", "--add", "remote.origin.fetch", "+refs/claims/*:refs/remotes/origin/claims/*")
    before = clone.refs("refs/remotes/")
    server.plant(f"{namespace}/issue-42", server.make_commit(b"issue=42\nchain=chain-a\n"))
    assert Opened(clone.path, namespace).chains() == {"issue-42": "chain-a"}
    assert clone.refs("refs/remotes/") == before


def snapshot(clone: Clone) -> tuple[str, str, str, str]:
    refs = clone.git("for-each-ref", "--format=%(refname) %(objectname)").stdout
    ours = [line for line in refs.splitlines() if not line.startswith("refs/claims/")]
    return (
        "\n".join(ours),
        (clone.path / ".git/config").read_text(),
        clone.git("status", "--porcelain", "--branch").stdout,
        clone.git("reflog", "--all").stdout,
    )
