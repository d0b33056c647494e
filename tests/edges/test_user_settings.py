"""The user's own configuration neither stops a claim nor is carried along by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_claims.errors import NoRemote
from git_claims.protocol.settlement import Applied
from tests.edges.opening import Opened, won
from tests.places import ABSENT, Clone, Server, make_server

FORTY_TWO = "refs/claims/issue-42"
# Those that were seen to stop or widen a push stand alone; the rest by what they are about.
SETTINGS = {
    "tags along": ["push.followTags=true"],
    "a signed push": ["push.gpgSign=true"],
    "push options": ["push.pushOption=ci.skip", "push.pushOption=second"],
    "a negotiated push": ["push.negotiate=true"],
    "a mirror": ["remote.origin.mirror=true"],
    "submodules and nothing else": ["push.recurseSubmodules=only"],
    "submodules first": ["push.recurseSubmodules=check", "submodule.recurse=true", "fetch.recurseSubmodules=true"],
    "another place to push to": ["remote.pushDefault=elsewhere", "branch.main.pushRemote=elsewhere"],
    "a way to push": ["push.default=nothing", "push.useForceIfIncludes=true", "push.autoSetupRemote=true"],
    "everything is pushed": ["push.default=matching", "remote.origin.push=+refs/*:refs/*"],
    "claims among the tracking refs": ["remote.origin.fetch=+refs/claims/*:refs/remotes/origin/claims/*"],
    "claims fetched by every fetch": ["remote.origin.fetch=+refs/claims/*:refs/claims/*", "fetch.prune=true"],
    "pruning": [
        *("fetch.prune=true", "fetch.pruneTags=true", "remote.origin.prune=true", "remote.origin.pruneTags=true"),
    ],
    "all tags": ["remote.origin.tagOpt=--tags"],
    "ways to fetch": [
        *("fetch.parallel=4", "fetch.output=compact", "fetch.writeCommitGraph=true", "remote.origin.skipFetchAll=true"),
        *("fetch.negotiationAlgorithm=skipping", "http.followRedirects=false"),
    ],
    "strict objects": ["transfer.fsckObjects=true", "fetch.fsckObjects=true"],
    "signed commits": ["commit.gpgSign=true", "tag.gpgSign=true", "gpg.program=/nowhere", "log.showSignature=true"],
    "no name": ["user.useConfigOnly=true", "user.name=", "user.email="],
    "another encoding": ["i18n.commitEncoding=latin1", "i18n.logOutputEncoding=latin1", "core.quotePath=false"],
    "colours and pagers": ["color.ui=always", "core.pager=false", "pager.push=true", "column.ui=always"],
    "reflogs of everything": ["core.logAllRefUpdates=always"],
    "hooks elsewhere": ["core.hooksPath=/nowhere"],
    "short ids": ["core.abbrev=4"],
    "odd objects": ["core.bigFileThreshold=1", "core.compression=0", "pack.packSizeLimit=1m", "core.autocrlf=true"],
    "a shared repository": ["core.sharedRepository=group"],
    "the oldest protocol": ["protocol.version=0"],
    "maintenance at once": ["gc.auto=1", "maintenance.auto=true", "gc.autoDetach=false"],
    "aliases": ["alias.push=!false", "alias.fetch=!false", "alias.rev-parse=!false"],
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_setting_neither_stops_a_claim_nor_goes_with_it(clone: Clone, server: Server, settings: list[str]) -> None:
    clone.commit("not pushed yet")
    clone.git("tag", "-a", "-m", "mine", "mine")
    for setting in settings:
        clone.git("config", "--add", *setting.split("=", 1))
    before = users_refs(clone), server.refs("refs/")
    claimed_and_released(Opened(clone.path), server)
    assert (users_refs(clone), server.refs("refs/")) == before


def claimed_and_released(opened: Opened, server: Server) -> None:
    moved_before = len(server.transcript())
    first = won(opened.take("42")["issue-42"])
    assert opened.chains() == {"issue-42": "chain-me"}
    second = won(opened.renew("42", first))
    assert opened.read("42") == second
    assert isinstance(opened.release("42", second), Applied)
    assert opened.read("42") is None
    assert server.chain_of(FORTY_TWO) == [first.oid, second.oid, ABSENT]
    assert [move.ref for move in server.transcript()[moved_before:]] == [FORTY_TWO] * 3


def users_refs(clone: Clone) -> dict[str, str]:
    """The user's refs; where their own refspec asks for a copy of the claims, that copy is git's business."""
    copies = ("refs/claims/", "refs/remotes/origin/claims/")
    return {ref: oid for ref, oid in clone.refs("refs/").items() if not ref.startswith(copies)}


@pytest.mark.parametrize("setting", ["transfer.fsckObjects", "receive.fsckObjects", "receive.denyDeletes"])
def test_servers_own_setting_does_not_stop_a_claim(clone: Clone, server: Server, setting: str) -> None:
    server.git("config", setting, "true")
    claimed_and_released(Opened(clone.path), server)


def test_servers_rule_for_fast_forwards_only_is_about_branches(clone: Clone, server: Server) -> None:
    server.git("config", "receive.denyNonFastForwards", "true")
    claimed_and_released(Opened(clone.path), server)


def test_nobodys_name_is_needed(clone: Clone, server: Server) -> None:
    clone.git("config", "--global", "--unset", "user.name")
    clone.git("config", "--global", "--unset", "user.email")
    clone.config("user.useConfigOnly", "true")
    claimed_and_released(Opened(clone.path), server)


def test_tags_stay_where_they_are_on_both_sides(clone: Clone, server: Server) -> None:
    clone.config("push.followTags", "true")
    clone.config("remote.origin.tagOpt", "--tags")
    clone.git("tag", "-a", "-m", "mine", "mine")
    server.git("tag", "theirs", "main")
    claimed_and_released(Opened(clone.path), server)
    assert (list(clone.refs("refs/tags/")), list(server.refs("refs/tags/"))) == (
        ["refs/tags/mine"],
        ["refs/tags/theirs"],
    )


def test_tag_that_the_server_does_not_have_survives_every_kind_of_pruning(clone: Clone, server: Server) -> None:
    for key in ("fetch.prune", "fetch.pruneTags", "remote.origin.prune", "remote.origin.pruneTags"):
        clone.config(key, "true")
    clone.git("tag", "mine")
    clone.git("update-ref", "refs/remotes/origin/gone", "HEAD")
    claimed_and_released(Opened(clone.path), server)
    assert clone.refs("refs/tags/").keys() == {"refs/tags/mine"}
    assert "refs/remotes/origin/gone" in clone.refs("refs/remotes/")


def test_work_that_was_fetched_stays_the_last_that_was_fetched(clone: Clone, server: Server) -> None:
    clone.git("fetch", "--quiet", "origin", "main")
    fetched = (clone.path / ".git/FETCH_HEAD").read_text()
    claimed_and_released(Opened(clone.path), server)
    assert (clone.path / ".git/FETCH_HEAD").read_text() == fetched


def test_prefetched_refs_and_branches_move_only_when_the_user_says_so(clone: Clone, server: Server) -> None:
    server.plant("refs/heads/main", server.make_commit(b"x"))
    before = clone.refs("refs/remotes/")
    claimed_and_released(Opened(clone.path), server)
    assert clone.refs("refs/remotes/") == before


def test_url_that_is_rewritten_is_where_the_claim_goes(clone: Clone, server: Server, tmp_path: Path) -> None:
    clone.config(f"url.{server.path.parent}/.insteadOf", "company:")
    clone.config("remote.origin.url", "company:server.git")
    claimed_and_released(Opened(clone.path), server)


@pytest.mark.parametrize("how", ["pushurl", "pushInsteadOf"])
def test_claims_live_where_pushes_go_and_the_mirror_is_left_alone(
    clone: Clone, server: Server, tmp_path: Path, how: str
) -> None:
    mirror = make_server(tmp_path, "mirror.git")
    clone.config("remote.origin.url", mirror.url)
    key = "remote.origin.pushurl" if how == "pushurl" else f"url.{server.url}.pushInsteadOf"
    clone.config(key, server.url if how == "pushurl" else mirror.url)
    claimed_and_released(Opened(clone.path), server)
    assert mirror.refs() == {}


def test_two_push_urls_are_refused_before_anything_is_pushed(clone: Clone, server: Server, tmp_path: Path) -> None:
    second = make_server(tmp_path, "second.git")
    clone.git("config", "--add", "remote.origin.pushurl", server.url)
    clone.git("config", "--add", "remote.origin.pushurl", second.url)
    with pytest.raises(NoRemote, match="2 push URLs"):
        Opened(clone.path).take("42")
    assert (server.refs(), second.refs()) == ({}, {})


def test_ssh_alias_is_followed(clone: Clone, server: Server, tmp_path: Path) -> None:
    # Stands for ssh itself: git hands it the host as it was written, and the command to run there.
    program = tmp_path / "ssh"
    program.write_text('#!/bin/sh\n[ "$1" = alias ] || exit 255\nshift\neval "$*"\n')
    program.chmod(0o755)
    clone.config("core.sshCommand", str(program))
    clone.config("ssh.variant", "simple")
    clone.config("remote.origin.url", f"alias:{server.path}")
    claimed_and_released(Opened(clone.path), server)
