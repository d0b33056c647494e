"""Claims in every shape a clone can have: object format, filters, depth, worktrees, and what pygit2 cannot open."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_claims.protocol.settlement import Applied
from tests.agents import Crasher
from tests.edges.opening import Opened, Shape, built_by_git, configured, won
from tests.places import ABSENT, Clone, Server, make_clone, make_server, run_git

FORTY_TWO = "refs/claims/issue-42"


def cloned(*options: str) -> Shape:
    return lambda server, root: make_clone(server, root, "shaped", None, *options)


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


def test_reading_brings_whole_claims_into_a_clone_without_blobs(server: Server, tmp_path: Path) -> None:
    clone = make_clone(server, tmp_path, "shaped", None, "--filter=blob:none")
    server.plant_claim("issue-42", "chain-a")
    assert Opened(clone.path).store.remote.fetch(["+refs/claims/*:refs/claims/*"]).status == 0
    assert "?" not in clone.git("rev-list", "--objects", "--missing=print", "--glob=refs/claims").stdout


def test_claims_of_a_clone_without_blobs_need_no_server_once_they_were_read(server: Server, tmp_path: Path) -> None:
    opened = Opened(make_clone(server, tmp_path, "shaped", None, "--filter=blob:none").path)
    server.plant_claim("issue-42", "chain-a")
    opened.chains()
    server.path.rename(server.path.with_name("gone"))
    assert opened.cached_chains() == {"issue-42": "chain-a"}


def test_two_servers_of_one_clone_decide_for_themselves(clone: Clone, server: Server, tmp_path: Path) -> None:
    other = make_server(tmp_path, "other.git")
    clone.git("remote", "add", "other", other.url)
    here, there = Opened(clone.path), Opened(clone.path, remote_name="other")
    first, second = won(here.take("42")["issue-42"]), won(there.take("42", chain="chain-other")["issue-42"])
    assert (server.refs(), other.refs()) == ({FORTY_TWO: first.oid}, {FORTY_TWO: second.oid})
