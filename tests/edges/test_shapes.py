"""Claims in every shape a clone can have: object format, filters, depth, worktrees, and what pygit2 cannot open."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from git_claims.protocol.claim import ChainId, Claim, Seen
from git_claims.protocol.settlement import Applied
from tests.agents import Crasher
from tests.edges.opening import Opened, won
from tests.places import ABSENT, Clone, Server, make_clone, make_server, run_git

FORTY_TWO = "refs/claims/issue-42"
Shape = Callable[[Server, Path], Clone]


def cloned(*options: str) -> Shape:
    return lambda server, root: make_clone(server, root, "shaped", None, *options)


def configured(key: str, value: str, *options: str) -> Shape:
    def make(server: Server, root: Path) -> Clone:
        clone = make_clone(server, root, "shaped", None, *(options or ("--quiet",)))
        clone.config("core.repositoryFormatVersion", "1")
        clone.config(key, value)
        return clone

    return make


def worktree(server: Server, root: Path) -> Clone:
    return make_clone(server, root, "shaped").worktree("lane")


def worktree_of_bare(server: Server, root: Path) -> Clone:
    return make_clone(server, root, "shaped", None, "--bare").worktree("lane")


def subdirectory(server: Server, root: Path) -> Clone:
    clone = make_clone(server, root, "shaped")
    (clone.path / "sub/directory").mkdir(parents=True)
    return Clone(clone.path / "sub/directory", server)


def inside_git(server: Server, root: Path) -> Clone:
    return Clone(make_clone(server, root, "shaped").path / ".git", server)


def borrowing(server: Server, root: Path) -> Clone:
    return make_clone(server, root, "shaped", None, "--shared")


def empty(server: Server, root: Path) -> Clone:
    run_git(root, "init", "--quiet", "shaped")
    clone = Clone(root / "shaped", server)
    clone.git("remote", "add", "origin", server.url)
    return clone


def name_that_is_not_text(server: Server, root: Path) -> Clone:
    clone = make_clone(server, root, "shaped")
    return Clone(clone.path.rename(root / "caf\udce9"), server)


# Each with whether pygit2 opens it, or objects are built by git.
SHAPES: dict[str, tuple[Shape, bool]] = {
    "plain": (cloned("--quiet"), True),
    "bare": (cloned("--bare"), True),
    "mirror": (cloned("--mirror"), True),
    "single branch": (cloned("--single-branch"), True),
    "shallow": (cloned("--depth=1"), True),
    "without blobs": (cloned("--filter=blob:none"), True),
    "without trees": (cloned("--filter=tree:0"), True),
    "shallow and without blobs": (cloned("--depth=1", "--filter=blob:none"), True),
    "sparse": (cloned("--sparse"), True),
    "borrowing objects": (borrowing, True),
    "no commit yet": (empty, True),
    "linked worktree": (worktree, True),
    "linked worktree of a bare clone": (worktree_of_bare, True),
    "subdirectory": (subdirectory, True),
    "inside the git directory": (inside_git, True),
    "a name that is not text": (name_that_is_not_text, True),
    "configuration for each worktree": (configured("extensions.worktreeConfig", "true"), True),
    "precious objects": (configured("extensions.preciousObjects", "true"), True),
    "a filter that pygit2 refuses": (configured("extensions.partialClone", "origin", "--filter=blob:none"), False),
}


@pytest.mark.parametrize(("shape", "in_process"), SHAPES.values(), ids=SHAPES.keys())
def test_claim_is_taken_read_renewed_and_released(
    server: Server, tmp_path: Path, crasher: Crasher, shape: Shape, in_process: bool
) -> None:
    place = shape(server, tmp_path)
    before = state_of(place)
    neighbour = server.plant_claim("issue-7", "chain-other")
    opened = Opened(place.path, environment=crasher.environment())
    first = won(opened.take("42")["issue-42"])
    assert built_by_git(crasher) is not in_process
    assert opened.read("42") == first
    assert opened.chains() == opened.cached_chains() == {"issue-7": "chain-other", "issue-42": "chain-me"}
    second = won(opened.renew("42", first))
    assert isinstance(opened.release("42", second), Applied)
    assert server.chain_of(FORTY_TWO) == [first.oid, second.oid, ABSENT]
    assert place.refs() == {"refs/claims/issue-7": neighbour}
    assert state_of(place) == before


def built_by_git(crasher: Crasher) -> bool:
    return any("commit-tree" in words for words in crasher.arguments())


def state_of(place: Clone) -> tuple[str, str, bool, list[str]]:
    """What no claim may change: branches and tags, configuration, depth, FETCH_HEAD."""
    refs = place.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", "refs/remotes")
    directory = Path(place.git("rev-parse", "--path-format=absolute", "--git-common-dir").stdout.rstrip("\n"))
    present = [name for name in ("shallow", "FETCH_HEAD") if (directory / name).exists()]
    config = (directory / "config").read_text(errors="surrogateescape")
    return refs.stdout, config, (directory / "shallow").exists(), present


def test_mirror_clone_reads_what_its_own_fetch_brought_as_a_copy(server: Server, tmp_path: Path) -> None:
    server.plant_claim("issue-7", "chain-other")
    opened = Opened(make_clone(server, tmp_path, "shaped", None, "--mirror").path)
    assert opened.cached_chains() == {"issue-7": "chain-other"}
    server.plant("refs/claims/issue-7", None)
    assert opened.chains() == {}


@pytest.fixture
def sha256(tmp_path: Path) -> tuple[Server, Clone]:
    server = Server(tmp_path / "sha256.git", str(tmp_path / "sha256.git"))
    run_git(tmp_path, "init", "--quiet", "--bare", "--object-format=sha256", "sha256.git")
    run_git(tmp_path, "init", "--quiet", "--object-format=sha256", "sha256")
    clone = Clone(tmp_path / "sha256", server)
    clone.git("remote", "add", "origin", server.url)
    return server, clone


def test_sha256_repository_works_with_ids_of_64_digits(sha256: tuple[Server, Clone], crasher: Crasher) -> None:
    server, clone = sha256
    opened = Opened(clone.path, environment=crasher.environment())
    first = won(opened.take("42")["issue-42"])
    assert (len(first.oid), built_by_git(crasher)) == (64, True)
    assert server.refs() == clone.refs() == {FORTY_TWO: first.oid}
    assert server.claim_text("issue-42").startswith("issue=42\nrepo=acme/ledger\nchain=chain-me\n")
    assert opened.read("42") == first
    second = won(opened.renew("42", first))
    assert second.claim is not None and second.claim.previous == first.oid
    assert isinstance(opened.release("42", second), Applied)
    assert server.refs() == clone.refs() == {}


def test_claims_that_an_earlier_fetch_left_out_are_brought_when_read(server: Server, tmp_path: Path) -> None:
    clone = make_clone(server, tmp_path, "shaped", None, "--filter=blob:none")
    for number in range(5):
        server.plant_claim(f"issue-{number + 1}", f"chain-{number}")
    clone.git("fetch", "--quiet", "origin", "+refs/claims/*:refs/claims/*")
    missing = clone.git("rev-list", "--objects", "--missing=print", "--glob=refs/claims").stdout.count("?")
    opened = Opened(clone.path)
    assert (missing, set(opened.cached_chains().values())) == (5, {f"chain-{number}" for number in range(5)})
    assert opened.chains() == opened.cached_chains()


def test_claims_of_a_clone_without_blobs_need_no_server_once_they_were_read(server: Server, tmp_path: Path) -> None:
    opened = Opened(make_clone(server, tmp_path, "shaped", None, "--filter=blob:none").path)
    server.plant_claim("issue-42", "chain-a")
    opened.chains()
    server.path.rename(server.path.with_name("gone"))
    assert opened.cached_chains() == {"issue-42": "chain-a"}


# Two ways to build an object, one object


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


def test_two_servers_of_one_clone_decide_for_themselves(clone: Clone, server: Server, tmp_path: Path) -> None:
    other = make_server(tmp_path, "other.git")
    clone.git("remote", "add", "other", other.url)
    here, there = Opened(clone.path), Opened(clone.path, remote_name="other")
    first, second = won(here.take("42")["issue-42"]), won(there.take("42", chain="chain-other")["issue-42"])
    assert (server.refs(), other.refs()) == ({FORTY_TWO: first.oid}, {FORTY_TWO: second.oid})
