"""Whatever somebody puts under a claim's name is shown as held and unreadable, and never stops a listing."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from git_claims.errors import GitFailed
from git_claims.git.objects import parse_batch
from git_claims.protocol.claim import RECORD_BYTES
from git_claims.protocol.settlement import Applied, Moved
from tests.edges.opening import Opened, item, won
from tests.places import PERSON, Clone, Server, make_clone

FORTY_TWO = "refs/claims/issue-42"
GOOD = b"issue=42\nchain=chain-other\n"


@pytest.fixture
def opened(clone: Clone) -> Opened:
    return Opened(clone.path)


def blob(server: Server, content: bytes = GOOD) -> str:
    return server.git("hash-object", "-w", "--stdin", stdin=content).stdout.strip()


def tree(server: Server, *lines: str) -> str:
    return server.git("mktree", "--missing", stdin="".join(f"{line}\n" for line in lines).encode()).stdout.strip()


def commit(server: Server, root: str, *parents: str) -> str:
    options = [option for parent in parents for option in ("-p", parent)]
    return server.git(*PERSON, "commit-tree", *options, "-m", "x", root).stdout.strip()


def good_tree(server: Server) -> str:
    return tree(server, f"100644 blob {blob(server)}\tclaim")


def tag_of_a_claim(server: Server) -> str:
    target = commit(server, good_tree(server))
    text = f"object {target}\ntype commit\ntag x\ntagger x <x> 1 +0000\n\nx\n"
    return server.git("mktag", stdin=text.encode()).stdout.strip()


def claim_is_a_directory(server: Server) -> str:
    return commit(server, tree(server, f"040000 tree {good_tree(server)}\tclaim"))


def claim_is_a_submodule(server: Server) -> str:
    return commit(server, tree(server, f"160000 commit {'1' * 40}\tclaim"))


def holding(content: bytes) -> Callable[[Server], str]:
    return lambda server: commit(server, tree(server, f"100644 blob {blob(server, content)}\tclaim"))


HOSTILE: dict[str, tuple[Callable[[Server], str], str]] = {
    "a blob": (blob, "its ref holds a blob, not a commit"),
    "a tree": (good_tree, "its ref holds a tree, not a commit"),
    "a tag": (tag_of_a_claim, "its ref holds a tag, not a commit"),
    "an empty tree": (lambda server: commit(server, tree(server)), "its tree has no file named claim"),
    "another file": (
        lambda server: commit(server, tree(server, f"100644 blob {blob(server)}\tClaim")),
        "its tree has no file named claim",
    ),
    "a directory": (claim_is_a_directory, "its tree has no file named claim"),
    "a submodule": (claim_is_a_submodule, "its tree has no file named claim"),
    "nothing in the file": (holding(b""), "its last line is incomplete"),
    "half a record": (holding(GOOD[:-3]), "its last line is incomplete"),
    "not text": (holding(b"issue=42\nchain=\xff\n"), "it is not UTF-8"),
    "an escape": (holding(b"issue=42\nchain=\x1b[2J\n"), "a line of it is not key=value"),
    "the record of another item": (holding(b"issue=43\nchain=x\n"), "it is the record of another item"),
    "a byte too many": (holding(b"x" * (RECORD_BYTES + 1)), "it is larger than 4096 bytes"),
    "what looks like git's own answer": (holding(b"\n" + b"0" * 40 + b" missing\n"), "a line of it is not key=value"),
}


@pytest.mark.parametrize(("make", "trouble"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_claim_is_held_and_unreadable(
    opened: Opened, server: Server, make: Callable[[Server], str], trouble: str
) -> None:
    oid = make(server)
    server.plant(FORTY_TWO, oid)
    server.plant_claim("issue-7", "chain-a")
    seen = opened.read("42")
    assert seen is not None and (seen.oid, seen.claim, seen.trouble) == (oid, None, trouble)
    assert opened.chains() == opened.cached_chains() == {"issue-42": None, "issue-7": "chain-a"}


@pytest.mark.parametrize("make", [make for make, _ in HOSTILE.values()], ids=HOSTILE.keys())
def test_what_is_no_claim_is_not_taken_and_can_be_freed_by_its_id(
    opened: Opened, server: Server, make: Callable[[Server], str]
) -> None:
    server.plant(FORTY_TWO, make(server))
    state = opened.take("42")["issue-42"]
    assert isinstance(state, Moved) and state.seen is not None and state.seen.claim is None
    assert isinstance(opened.reclaim("42", state.seen), Applied)
    assert server.refs() == {}


def test_all_of_them_at_once_spoil_nobodys_claim(opened: Opened, server: Server) -> None:
    for number, (make, _) in enumerate(HOSTILE.values(), start=100):
        server.plant(f"refs/claims/issue-{number}", make(server))
    won(opened.take("1", "2")["issue-1"])
    readable = {name: chain for name, chain in opened.chains().items() if chain}
    assert readable == {"issue-1": "chain-me", "issue-2": "chain-me"}
    assert len(opened.chains()) == len(HOSTILE) + 2


READABLE: dict[str, Callable[[Server], str]] = {
    "with parents": lambda server: commit(server, good_tree(server), server.refs("refs/heads/")["refs/heads/main"]),
    "with more files": lambda server: commit(
        server, tree(server, f"100644 blob {blob(server)}\tclaim", f"100644 blob {blob(server, b'x')}\tnotes")
    ),
    "as a program": lambda server: commit(server, tree(server, f"100755 blob {blob(server)}\tclaim")),
    "of the largest size": holding(GOOD + b"x=" + b"y" * (RECORD_BYTES - len(GOOD) - 3) + b"\n"),
}


@pytest.mark.parametrize("make", READABLE.values(), ids=READABLE.keys())
def test_claim_of_another_client_is_read_however_it_was_committed(
    opened: Opened, server: Server, make: Callable[[Server], str]
) -> None:
    server.plant(FORTY_TWO, make(server))
    assert opened.chains() == {"issue-42": "chain-other"}


def test_two_items_with_one_object_are_read_each_on_its_own(opened: Opened, server: Server) -> None:
    oid = holding(GOOD)(server)
    for name in ("issue-42", "issue-43"):
        server.plant(f"refs/claims/{name}", oid)
    assert opened.chains() == {"issue-42": "chain-other", "issue-43": None}


def test_claim_with_a_history_does_not_make_a_shallow_clone_deeper(server: Server, tmp_path: Path) -> None:
    clone = make_clone(server, tmp_path, "shallow", None, "--depth=1")
    server.plant(FORTY_TWO, READABLE["with parents"](server))
    before = (clone.path / ".git/shallow").read_text()
    assert Opened(clone.path).chains() == {"issue-42": "chain-other"}
    assert (clone.path / ".git/shallow").read_text() == before


def test_ref_that_leads_to_another_ref_is_what_it_leads_to(opened: Opened, server: Server) -> None:
    server.git("symbolic-ref", FORTY_TWO, "refs/heads/main")
    seen = opened.read("42")
    assert seen is not None and seen.trouble == "its tree has no file named claim"


def test_huge_record_is_never_loaded(opened: Opened, server: Server) -> None:
    server.plant(FORTY_TWO, holding(b"issue=42\nchain=" + b"x" * 12_000_000 + b"\n")(server))
    tracemalloc.start()
    try:
        seen = opened.store.read([item("42")])[item("42")]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seen is not None and seen.trouble == "it is larger than 4096 bytes"
    assert peak < 5_000_000


# What `git cat-file --batch` said


def test_contents_are_cut_by_their_size_whatever_they_contain() -> None:
    answer = b"a blob 9\nx\ny z 1\nb\nb missing\nc tree 0\n\nd blob 1\n\n\n"
    assert list(parse_batch(answer)) == [b"x\ny z 1\nb", b"", b"\n"]
    assert list(parse_batch(b"")) == []


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"a blob\n", id="no size"),
        pytest.param(b"a blob x\nx\n", id="a size that is no number"),
        pytest.param(b"a blob 1 2\nx\n", id="four words"),
        pytest.param(b"a submodule\n", id="two words"),
        pytest.param(b"fatal: no", id="no line"),
        pytest.param(b"a missing", id="half a line"),
        pytest.param(b"a blob 9\nx\n", id="half a content"),
        pytest.param(b"a blob 1\nx", id="no end"),
        pytest.param(b"a blob 1\nxy\n", id="more than was announced"),
    ],
)
def test_any_other_answer_is_refused(answer: bytes) -> None:
    with pytest.raises(GitFailed, match="'git cat-file' answered in a form this program does not know"):
        list(parse_batch(answer))
