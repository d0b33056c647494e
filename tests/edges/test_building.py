"""Claim objects: built by pygit2 or by git, always the same, never twice the same for two commands."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from git_claims.errors import Usage
from git_claims.protocol.claim import ChainId, Claim, Seen
from git_claims.protocol.settlement import Moved, Settled
from git_claims.protocol.transition import Outcome, Reason, Swap
from tests.agents import Crasher
from tests.edges.opening import Opened, built_by_git, configured, item, won
from tests.places import Clone, Server

FORTY_TWO = "refs/claims/issue-42"


@pytest.fixture
def opened(clone: Clone) -> Opened:
    return Opened(clone.path)


CLAIM = Claim(issue="42", repo="acme/ledgér", chain=ChainId("chain-ünï"), host="blade", nonce="9f1c", branch="42-ä")


def build_in(place: Path, **environment: str) -> Seen:
    return Opened(place, environment=dict(environment)).store.build(CLAIM)


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1796040000.75)


@pytest.mark.usefixtures("noon")
@pytest.mark.parametrize(
    ("key", "value"), [("i18n.commitEncoding", "latin1"), ("core.autocrlf", "true"), ("commit.gpgSign", "true")]
)
def test_object_built_by_git_is_the_one_that_pygit2_builds(
    clone: Clone, server: Server, tmp_path: Path, key: str, value: str
) -> None:
    refused = configured("extensions.partialClone", "origin")(server, tmp_path)
    for place in (clone, refused):
        place.config(key, value)
        (place.path / ".gitattributes").write_text("* text eol=crlf working-tree-encoding=utf-16\n")
    built = build_in(refused.path)
    assert build_in(clone.path) == built
    author = clone.git("cat-file", "-p", built.oid).stdout.split("\n")[1]
    assert author == "author git-claim <git-claim@localhost> 1796040000 +0000"


@pytest.mark.usefixtures("noon")
def test_without_pygit2_git_builds_the_same(clone: Clone, monkeypatch: pytest.MonkeyPatch, crasher: Crasher) -> None:
    built = build_in(clone.path)
    monkeypatch.setitem(sys.modules, "pygit2", None)
    assert build_in(clone.path, **crasher.environment()) == built
    assert built_by_git(crasher)


@pytest.mark.usefixtures("noon")
@pytest.mark.parametrize("hides_pygit2", [False, True], ids=["by pygit2", "by git"])
def test_object_does_not_depend_on_who_is_logged_in(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, hides_pygit2: bool
) -> None:
    built = build_in(clone.path)
    if hides_pygit2:
        monkeypatch.setitem(sys.modules, "pygit2", None)
    somebody = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_DATE": "@1 +0500", "GIT_COMMITTER_EMAIL": "y", "TZ": "Asia/Tokyo"}
    assert build_in(clone.path, GIT_CONFIG_GLOBAL="/dev/null", **somebody) == built


@pytest.mark.parametrize("hides_pygit2", [False, True], ids=["by pygit2", "by git"])
def test_claim_of_a_hook_does_not_end_in_its_quarantine(
    clone: Clone, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hides_pygit2: bool
) -> None:
    if hides_pygit2:
        monkeypatch.setitem(sys.modules, "pygit2", None)
    (tmp_path / "quarantine").mkdir()
    hook = dict.fromkeys(["GIT_QUARANTINE_PATH", "GIT_OBJECT_DIRECTORY"], str(tmp_path / "quarantine"))
    opened = Opened(clone.path, environment=hook | {"GIT_DIR": ".git", "GIT_INDEX_FILE": "/nowhere"})
    oid = won(opened.take("42")["issue-42"]).oid
    assert server.refs() == {FORTY_TWO: oid}
    assert list((tmp_path / "quarantine").iterdir()) == []


def same_claim(opened: Opened, nonce: str = "9f1c") -> Settled:
    claim = Claim(issue="42", chain=ChainId("chain-me"), nonce=nonce)
    swap = Swap(item("42"), None, claim, Outcome.CLAIMED, Reason.FREE)
    return opened.store.swap([swap])[item("42")]


def test_object_that_the_server_has_already_is_our_own_earlier_success(
    opened: Opened, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1796000000.0)
    first, second = won(same_claim(opened)), won(same_claim(opened))
    assert first.oid == second.oid
    assert server.chain_of(FORTY_TWO) == [first.oid]


def test_claim_with_another_nonce_is_never_our_own_success(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1796000000.0)
    won(same_claim(opened))
    assert isinstance(same_claim(opened, "another"), Moved)


def test_claim_is_a_commit_without_parents_that_the_program_signs_with_its_own_name(
    opened: Opened, server: Server
) -> None:
    oid = won(opened.take("42", chain="chain-ünï")["issue-42"]).oid
    shown = server.git("show", "--no-patch", "--format=%P|%an <%ae>|%cn <%ce>|%s|%ai", oid).stdout.strip()
    parents, author, committer, subject, date = shown.split("|")
    assert (parents, author, committer) == ("", "git-claim <git-claim@localhost>", "git-claim <git-claim@localhost>")
    assert (subject, date[-5:]) == ("claim 42 by chain-ünï", "+0000")
    assert server.git("ls-tree", oid).stdout.endswith("\tclaim\n")
    assert server.git("ls-tree", oid).stdout.startswith("100644 blob ")
    assert server.claim_text("issue-42").startswith("issue=42\nrepo=acme/ledger\nchain=chain-ünï\n")


def test_claim_that_cannot_be_recorded_is_refused_before_anything_is_pushed(opened: Opened, server: Server) -> None:
    for chain in ("a\nb", "c" * 5000, "\ud800"):
        with pytest.raises(Usage, match="this claim cannot be recorded"):
            opened.take("42", chain=chain)
    assert server.refs() == {}
