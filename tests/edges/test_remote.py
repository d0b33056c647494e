"""One remote: which it is, what a push of claims says on the wire, and what git's answers mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.errors import GitFailed, NoRemote
from git_claims.git.process import Finished
from git_claims.git.remote import PushFlag, PushLine, PushReport, RefUpdate, is_called, parse_porcelain, slug
from git_claims.protocol.claim import Oid
from git_claims.protocol.text import printable
from tests.edges.opening import open_remote
from tests.places import ABSENT, Clone, Server, make_server

A, B = Oid("a" * 40), Oid("b" * 40)
REF = "refs/claims/issue-42"


def lines(stdout: bytes) -> list[tuple[str, PushFlag, str]]:
    return [(ref, line.flag, line.summary) for ref, line in parse_porcelain(stdout)]


# What git said. The bytes are those of git 2.39; the grammar is git-push(1)'s.

ANSWERS = [
    ("created", b"*\t%s:%s\t[new reference]", PushFlag.CREATED, "[new reference]"),
    ("replaced", b"+\t%s:%s\taaaaaaa...bbbbbbb (forced update)", PushFlag.FORCED, "aaaaaaa...bbbbbbb (forced update)"),
    ("fast-forwarded", b" \t%s:%s\taaaaaaa..bbbbbbb", PushFlag.FAST_FORWARD, "aaaaaaa..bbbbbbb"),
    ("up to date", b"=\t%s:%s\t[up to date]", PushFlag.UP_TO_DATE, "[up to date]"),
    ("rejected", b"!\t%s:%s\t[rejected] (stale info)", PushFlag.REJECTED, "[rejected] (stale info)"),
    (
        "rejected by the server",
        b"!\t%s:%s\t[remote rejected] (failed to update ref)",
        PushFlag.REJECTED,
        "[remote rejected] (failed to update ref)",
    ),
    (
        "a reason that is not ASCII",
        "!\t%s:%s\t[remote rejected] (verweigert: ä)".encode(),
        PushFlag.REJECTED,
        "[remote rejected] (verweigert: ä)",
    ),
    (
        "a reason that is not text",
        b"!\t%s:%s\t[remote rejected] (\xff\x1b[2J)",
        PushFlag.REJECTED,
        "[remote rejected] ([2J)",
    ),
    ("no reason", b"!\t%s:%s\t", PushFlag.REJECTED, ""),
]


@pytest.mark.parametrize(("line", "flag", "summary"), [case[1:] for case in ANSWERS], ids=[case[0] for case in ANSWERS])
def test_verdict_of_a_ref(line: bytes, flag: PushFlag, summary: str) -> None:
    stdout = b"To /srv/ledger.git\n" + line % (A.encode(), REF.encode()) + b"\nDone\n"
    assert lines(stdout) == [(REF, flag, summary)]


@pytest.mark.parametrize(
    ("line", "ref", "flag"),
    [
        (b"-\t:refs/claims/issue-42\t[deleted]", REF, PushFlag.DELETED),
        (b"!\t(delete):refs/claims/issue-42\t[rejected] (stale info)", REF, PushFlag.REJECTED),
        (b"*\tHEAD:refs/heads/42-fix\t[new branch]", "refs/heads/42-fix", PushFlag.CREATED),
        ("*\tHEAD:refs/heads/42-fé\t[new branch]".encode(), "refs/heads/42-fé", PushFlag.CREATED),
        (b'*\tHEAD:refs/heads/"quoted"\t[new branch]', 'refs/heads/"quoted"', PushFlag.CREATED),
    ],
)
def test_ref_is_what_follows_the_colon(line: bytes, ref: str, flag: PushFlag) -> None:
    assert [(found, verdict) for found, verdict, _ in lines(line + b"\n")] == [(ref, flag)]


def test_several_refs_keep_their_own_verdicts() -> None:
    stdout = (
        b"To x\n*\t%b:refs/claims/issue-1\t[new reference]\n!\t%b:refs/claims/issue-2\t[rejected] (stale info)\nDone\n"
    )
    assert [(ref, flag) for ref, flag, _ in lines(stdout % (A.encode(), B.encode()))] == [
        ("refs/claims/issue-1", PushFlag.CREATED),
        ("refs/claims/issue-2", PushFlag.REJECTED),
    ]


@pytest.mark.parametrize("stdout", [b"", b"\n", b"Done\n", b"To https://host/x y\nDone\n", b"To /srv/x\n"])
def test_answer_without_a_verdict_has_none(stdout: bytes) -> None:
    assert lines(stdout) == []


@pytest.mark.parametrize(
    "stdout",
    [
        pytest.param(b"Everything up-to-date\n", id="a sentence"),
        pytest.param(b"*\ta:b\n", id="two columns"),
        pytest.param(b"*\ta:b\t[new]\tmore\n", id="four columns"),
        pytest.param(b"?\ta:b\t[what]\n", id="a flag that nobody documented"),
        pytest.param(b"\ta:b\t[what]\n", id="no flag"),
        pytest.param(b"**\ta:b\t[what]\n", id="two flags"),
        pytest.param(b"*\trefs/claims/issue-42\t[new reference]\n", id="no colon"),
        pytest.param(b"*\ta:\t[new reference]\n", id="no ref"),
        pytest.param(b"* a:b [new reference]\n", id="spaces for tabs"),
        pytest.param(b" * [new reference]  a -> b\n", id="the form for people"),
        pytest.param(b"done\n", id="another case"),
        pytest.param(b"*\ta:b\t[new]\r\n\x1b[2J\n", id="an escape"),
    ],
)
def test_any_other_grammar_is_refused_and_quoted(stdout: bytes) -> None:
    with pytest.raises(GitFailed, match="said a line this program does not know: '") as refusal:
        lines(stdout)
    assert refusal.value.message.isprintable()


@given(st.binary() | st.lists(st.sampled_from([b"*", b"!", b"\t", b"a:b", b"\n", b" ", b"To x"])).map(b"".join))
def test_any_bytes_are_read_or_refused(stdout: bytes) -> None:
    try:
        found = lines(stdout)
    except GitFailed:
        return
    assert all(ref and printable(summary) == summary for ref, _, summary in found)


def report(status: int | None, stdout: bytes = b"", stderr: bytes = b"") -> PushReport:
    return PushReport(Finished(status, stdout, stderr), dict(parse_porcelain(stdout)))


CREATE, REPLACE, DELETE = RefUpdate(REF, None, A), RefUpdate(REF, A, B), RefUpdate(REF, A, None)


@pytest.mark.parametrize(
    ("update", "flag"), [(CREATE, "*"), (REPLACE, "+"), (DELETE, "-")], ids=["create", "replace", "delete"]
)
@pytest.mark.parametrize("said", ["*", "+", "-", "=", " ", "!"])
@pytest.mark.parametrize("status", [0, 1, 128, None])
def test_only_exit_0_with_the_flag_of_just_this_update_is_a_clean_success(
    update: RefUpdate, flag: str, said: str, status: int | None
) -> None:
    answer = report(status, f"To x\n{said}\tx:{REF}\t[what]\nDone\n".encode())
    assert answer.clean([update]) == (status == 0 and said == flag)


def test_ref_that_was_not_answered_is_no_success() -> None:
    other = RefUpdate("refs/claims/issue-420", None, A)
    answer = report(0, f"*\t{A}:{REF}\t[new reference]\nDone\n".encode())
    assert answer.clean([CREATE])
    assert not answer.clean([CREATE, other])


def test_why_a_ref_was_not_updated_is_said_in_the_servers_words() -> None:
    refused = report(1, f"!\t{A}:{REF}\t[remote rejected] (hook declined)\n".encode(), b"remote: no claims here\n")
    assert refused.words(REF) == "[remote rejected] (hook declined); remote: no claims here"
    assert refused.words("refs/claims/issue-1") == "remote: no claims here"
    assert report(None).words(REF) == "no answer before the deadline"
    assert PushReport(Finished(0, b"?", b""), oddity="a line nobody knows").words(REF) == "a line nobody knows"


# What we say


@pytest.mark.parametrize(
    ("update", "lease", "refspec"),
    [
        (CREATE, f"--force-with-lease={REF}:", f"{A}:{REF}"),
        (REPLACE, f"--force-with-lease={REF}:{A}", f"{B}:{REF}"),
        (DELETE, f"--force-with-lease={REF}:{A}", f":{REF}"),
        (RefUpdate(REF, None, Oid("c" * 64)), f"--force-with-lease={REF}:", f"{'c' * 64}:{REF}"),
    ],
)
def test_update_is_an_explicit_lease_and_a_refspec_without_plus(update: RefUpdate, lease: str, refspec: str) -> None:
    assert (update.lease, update.refspec) == (lease, refspec)


@pytest.mark.parametrize(
    "oid", ["", " ", "a" * 39, "a" * 41, "a" * 7, "A" * 40, "g" * 40, "a" * 40 + "\n", "HEAD", "+" + "a" * 39, "-" * 40]
)
def test_id_that_is_not_whole_never_comes_into_a_push(oid: str) -> None:
    for expected, new in ((None, oid), (oid, A), (oid, None)):
        with pytest.raises(GitFailed, match="is not a full object id"):
            RefUpdate(REF, None if expected is None else Oid(expected), None if new is None else Oid(new))


def test_push_of_nothing_pushes_nothing(clone: Clone, server: Server) -> None:
    # git itself would take the user's push.default and push the branch.
    clone.commit("not to be pushed")
    before = server.refs("refs/")
    assert open_remote(clone.path).push([]).clean([])
    assert server.refs("refs/") == before


def test_leases_are_held_whatever_the_push_says_of_other_refs(clone: Clone, server: Server) -> None:
    held = Oid(server.plant_claim("issue-1", "chain-other"))
    mine = Oid(clone.commit("mine"))
    updates = [RefUpdate("refs/claims/issue-1", None, mine), RefUpdate("refs/claims/issue-2", None, mine)]
    answer = open_remote(clone.path).push(updates)
    assert (answer.clean(updates), answer.lines["refs/claims/issue-1"].flag) == (False, PushFlag.REJECTED)
    assert server.refs() == {"refs/claims/issue-1": held, "refs/claims/issue-2": mine}


def test_listing_of_a_name_leaves_out_refs_that_only_end_like_it(clone: Clone, server: Server) -> None:
    server.plant("refs/x/refs/claims/issue-42", server.plant_claim("issue-42", "chain-a"))
    server.plant("refs/claims/sub/issue-42", server.refs()[REF])
    server.plant("refs/claims/a\u2028b\x85c", server.refs()[REF])
    oid = server.refs()[REF]
    remote = open_remote(clone.path)
    assert remote.list_refs(REF, "refs/claims/issue-4") == {REF: oid}
    server.plant(REF, None)
    assert remote.list_refs(REF) == {}


def test_listing_of_a_silent_server_is_not_an_empty_one(clone: Clone, server: Server) -> None:
    server.path.rename(server.path.with_name("gone"))
    assert open_remote(clone.path).list_refs(REF) is None


# Which remote


def test_origin_is_the_one_among_several(clone: Clone, tmp_path: Path) -> None:
    clone.git("remote", "add", "fork", str(make_server(tmp_path, "fork.git").path))
    assert open_remote(clone.path).name == "origin"
    assert open_remote(clone.path, "fork").name == "fork"


def test_only_remote_is_the_one_whatever_its_name(clone: Clone, server: Server) -> None:
    clone.git("remote", "rename", "origin", "upstream")
    assert (open_remote(clone.path).name, open_remote(clone.path).url) == ("upstream", server.url)


def test_push_url_does_not_make_a_second_remote(clone: Clone, server: Server) -> None:
    clone.git("remote", "rename", "origin", "upstream")
    clone.config("remote.upstream.pushurl", server.url)
    assert open_remote(clone.path).name == "upstream"


def test_no_remote_is_said(repository: Clone) -> None:
    with pytest.raises(NoRemote, match="this repository has no remote"):
        open_remote(repository.path)


def test_several_remotes_without_an_origin_are_named(clone: Clone) -> None:
    clone.git("remote", "rename", "origin", "a")
    clone.git("remote", "add", "b", "/b")
    with pytest.raises(NoRemote, match="several remotes and none is called origin: 'a', 'b'"):
        open_remote(clone.path)


def test_remote_that_is_not_there_is_named_with_those_that_are(clone: Clone) -> None:
    with pytest.raises(NoRemote, match="no remote named 'upstream'") as refusal:
        open_remote(clone.path, "upstream")
    assert refusal.value.hint == "there is 'origin'"


@pytest.mark.parametrize("key", ["remote.origin.pushurl", "remote.origin.url"])
def test_two_push_urls_are_two_servers_and_refused(clone: Clone, server: Server, key: str) -> None:
    clone.git("config", "--add", key, server.url)
    clone.git("config", "--add", key, "/srv/second.git")
    with pytest.raises(NoRemote, match=r"'origin' has [23] push URLs; claims need exactly one server"):
        open_remote(clone.path)


def test_two_fetch_urls_with_one_push_url_are_one_server(clone: Clone, server: Server) -> None:
    clone.git("config", "--add", "remote.origin.url", "/srv/mirror.git")
    clone.config("remote.origin.pushurl", server.url)
    assert open_remote(clone.path).url == server.url


@pytest.mark.parametrize("how", ["pushurl", "pushInsteadOf"])
def test_claims_are_read_where_they_are_pushed_and_not_from_a_mirror(
    clone: Clone, server: Server, tmp_path: Path, how: str
) -> None:
    mirror = make_server(tmp_path, "mirror.git")
    clone.config("remote.origin.url", mirror.url)
    key = "remote.origin.pushurl" if how == "pushurl" else f"url.{server.url}.pushInsteadOf"
    clone.config(key, server.url if how == "pushurl" else mirror.url)
    oid = server.plant_claim("issue-42", "chain-a")
    remote = open_remote(clone.path)
    assert (remote.url, remote.source) == (server.url, server.url)
    assert remote.list_refs(REF) == {REF: oid}


def test_remote_with_one_url_is_named_so_that_its_own_settings_count(clone: Clone, server: Server) -> None:
    assert (open_remote(clone.path).url, open_remote(clone.path).source) == (server.url, "origin")


def test_url_is_what_git_makes_of_it(clone: Clone, server: Server) -> None:
    clone.config(f"url.{server.path.parent}/.insteadOf", "work:")
    clone.config("remote.origin.url", "work:server.git")
    assert open_remote(clone.path).url == server.url


@pytest.mark.parametrize("name", ["-x", "--upload-pack", "a b", "a=b", "ä"])
def test_remote_with_a_name_that_looks_like_something_else_is_a_remote(clone: Clone, server: Server, name: str) -> None:
    clone.config(f"remote.{name}.url", server.url)
    oid = Oid(clone.commit("mine"))
    remote = open_remote(clone.path, name)
    updates = [RefUpdate(REF, None, oid)]
    assert remote.push(updates).clean(updates)
    assert remote.list_refs(REF) == {REF: oid}
    assert remote.fetch([f"+{REF}*:{REF}*"]).status == 0
    assert server.chain_of(REF) == [oid]
    assert ABSENT not in server.refs().values()


SLUGS = [
    ("https://github.com/acme/ledger.git", "acme/ledger"),
    ("https://github.com/acme/ledger", "acme/ledger"),
    ("https://github.com/acme/ledger/", "acme/ledger"),
    ("https://me:secret@github.com/acme/ledger.git", "acme/ledger"),
    ("https://me:se@cret@github.com/acme/ledger.git", "acme/ledger"),
    ("ssh://git@github.com:22/acme/ledger.git", "acme/ledger"),
    ("git@github.com:acme/ledger.git", "acme/ledger"),
    ("github:acme/ledger", "acme/ledger"),
    ("host:ledger.git", "ledger"),
    ("git://127.0.0.1:9418/ledger.git", "ledger"),
    ("https://gitlab.example/group/tools/ledger.git", "tools/ledger"),
    ("/srv/git/acme/ledger.git", "ledger"),
    ("/srv/git/ledger/.git", "ledger"),
    ("../ledger.git", "ledger"),
    ("file:///srv/git/ledger.git", "ledger"),
    ("/srv/a:b/ledger.git", "ledger"),
    ("/srv/le\x1b[2Jdger.git", "le[2Jdger"),
    ("", "repository"),
    ("/", "repository"),
]


@pytest.mark.parametrize(("url", "name"), SLUGS)
def test_record_calls_the_repository_by_its_short_name(url: str, name: str) -> None:
    assert slug(url) == name


CALLED = [
    ("acme/ledger", True),
    ("Acme/Ledger", True),
    ("ledger", True),
    ("ledger.git", True),
    ("ledger/", True),
    ("my-clone", True),
    ("MY-CLONE", True),
    ("acme", False),
    ("edger", False),
    ("acme/other", False),
    ("other/ledger", False),
    ("e/ledger", False),
    ("clone", False),
    ("", False),
]


@pytest.mark.parametrize("url", ["https://github.com/acme/ledger.git", "git@github.com:acme/ledger"])
@pytest.mark.parametrize(("qualifier", "called"), CALLED)
def test_what_stands_before_the_hash_is_this_repository_or_not(qualifier: str, called: bool, url: str) -> None:
    assert is_called(qualifier, url, "my-clone") == called


def test_host_counts_where_the_url_has_it_as_part_of_its_path() -> None:
    assert is_called("github.com/acme/ledger", "https://github.com/acme/ledger.git", "clone")
    assert not is_called("gitlab.com/acme/ledger", "https://github.com/acme/ledger.git", "clone")


def test_line_of_a_verdict_is_what_the_report_keeps() -> None:
    assert report(1, f"!\t{A}:{REF}\t[rejected]\n".encode()).lines == {REF: PushLine(PushFlag.REJECTED, "[rejected]")}
