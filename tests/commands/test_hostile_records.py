"""Records that somebody made to be misread: each is a held claim of an unknown holder, and never reaches a terminal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.agents import Answer
from tests.commands.telling import AGO, block, holders, plant, shown
from tests.forked import ForkedAgent
from tests.places import PERSON, Server

Plant = Callable[[Server, str], str]
ESCAPE = "\x1b]0;owned\x07\x1b[31m"


def lines(**changes: str | None) -> bytes:
    """A good record of issue 42 but for the changes; None leaves a line out."""
    good = {"issue": "42", "repo": "acme/ledger", "chain": "chain-rival", "host": "blade", "claimed_at": AGO}
    return "".join(f"{key}={value}\n" for key, value in {**good, **changes}.items() if value is not None).encode()


def as_bytes(record: bytes) -> Plant:
    return lambda server, name: server.plant_bytes(name, record)


def tag(server: Server, name: str) -> str:
    commit = server.make_commit(lines())
    header = f"object {commit}\ntype commit\ntag {name}\ntagger x <x@example.invalid> 0 +0000\n\n{ESCAPE}\n"
    oid = server.git("mktag", stdin=header.encode()).stdout.strip()
    server.plant(f"refs/claims/{name}", oid)
    return oid


def blob(server: Server, name: str) -> str:
    oid = server.git("hash-object", "-w", "--stdin", stdin=lines()).stdout.strip()
    server.plant(f"refs/claims/{name}", oid)
    return oid


def tree(server: Server, name: str) -> str:
    oid = server.git("rev-parse", f"{server.make_commit(lines())}^{{tree}}").stdout.strip()
    server.plant(f"refs/claims/{name}", oid)
    return oid


def commit_of(server: Server, name: str, entry: str) -> str:
    tree_oid = server.git("mktree", "--missing", stdin=f"{entry}\n".encode()).stdout.strip()
    oid = server.git(*PERSON, "commit-tree", "-m", ESCAPE, tree_oid).stdout.strip()
    server.plant(f"refs/claims/{name}", oid)
    return oid


def directory(server: Server, name: str) -> str:
    inner = server.git("rev-parse", f"{server.make_commit(lines())}^{{tree}}").stdout.strip()
    return commit_of(server, name, f"040000 tree {inner}\tclaim")


def submodule(server: Server, name: str) -> str:
    return commit_of(server, name, f"160000 commit {server.make_commit(lines())}\tclaim")


def empty_tree(server: Server, name: str) -> str:
    tree_oid = server.git("mktree", stdin=b"").stdout.strip()
    oid = server.git(*PERSON, "commit-tree", "-m", ESCAPE, tree_oid).stdout.strip()
    server.plant(f"refs/claims/{name}", oid)
    return oid


HOSTILE: dict[str, tuple[Plant, str]] = {
    "terminal escape": (as_bytes(lines(chain=f"chain-{ESCAPE}")), "a line of it is not key=value"),
    "escape in a key": (as_bytes(lines() + f"{ESCAPE}=1\n".encode()), "a line of it is not key=value"),
    "eight-bit escape": (as_bytes(lines(chain="chain-\x9b31m")), "a line of it is not key=value"),
    "carriage return": (as_bytes(lines().replace(b"\n", b"\r\n")), "a line of it is not key=value"),
    "null": (as_bytes(lines(host="bl\0ade")), "a line of it is not key=value"),
    "line separator": (as_bytes(lines(host="blade\u2028chain=x")), "a line of it is not key=value"),
    "no equals sign": (as_bytes(lines() + b"nonsense\n"), "a line of it is not key=value"),
    "empty line": (as_bytes(lines() + b"\n"), "a line of it is not key=value"),
    "key twice": (as_bytes(lines() + b"chain=chain-agent-1\n"), "a key stands in it twice"),
    "cut short": (as_bytes(lines()[:-5]), "its last line is incomplete"),
    "cut in the chain": (as_bytes(b"issue=42\nchain=chain-agent-1"), "its last line is incomplete"),
    "empty": (as_bytes(b""), "its last line is incomplete"),
    "not UTF-8": (as_bytes(lines() + b"note=\xff\xfe\n"), "it is not UTF-8"),
    "huge": (as_bytes(lines(note="x" * 5000)), "it is larger than 4096 bytes"),
    "very huge": (as_bytes(lines(note="x" * 5_000_000)), "it is larger than 4096 bytes"),
    "no chain": (as_bytes(lines(chain=None)), "it names no chain"),
    "empty chain": (as_bytes(lines(chain="")), "it names no chain"),
    "another item": (as_bytes(lines(issue="43")), "it is the record of another item"),
    "no item": (as_bytes(lines(issue=None)), "it is the record of another item"),
    "another file": (
        lambda s, name: s.plant_bytes(name, lines(), tree_name="Claim"),
        "its tree has no file named claim",
    ),
    "empty tree": (empty_tree, "its tree has no file named claim"),
    "a directory": (directory, "its tree has no file named claim"),
    "a submodule": (submodule, "its tree has no file named claim"),
    "a tag": (tag, "its ref holds a tag, not a commit"),
    "a blob": (blob, "its ref holds a blob, not a commit"),
    "a tree": (tree, "its ref holds a tree, not a commit"),
}
KINDS = pytest.mark.parametrize(("plant_it", "trouble"), HOSTILE.values(), ids=HOSTILE)


@KINDS
def test_record_that_cannot_be_read_is_held_for_everybody(
    agent: ForkedAgent, server: Server, plant_it: Plant, trouble: str
) -> None:
    oid = plant_it(server, "issue-42")
    taken, released, checked = (agent.claim(*words.split()) for words in ("42", "release 42", "check 42"))
    assert server.refs() == {"refs/claims/issue-42": oid}
    held = f"issue 'server#42' is held by a claim whose record cannot be read: {trouble}"
    assert (taken.status, taken.stderr.splitlines()[0]) == (1, f"error: {held}")
    assert (released.status, released.stderr.splitlines()[0]) == (128, f"fatal: {held}")
    assert checked.stderr.splitlines()[0] == (
        f"error: issue 'server#42' is claimed by somebody whose record cannot be read: {trouble}"
    )
    for answer in (taken, released, checked):
        shown(answer)


@KINDS
def test_record_that_cannot_be_read_is_shown_by_its_id(
    agent: ForkedAgent, server: Server, plant_it: Plant, trouble: str
) -> None:
    oid = plant_it(server, "issue-42")
    answer = agent.claim("show", "42")
    assert shown(answer) == block(f"""
        exit 0
        --- stdout
        item        server#42
        unreadable  {trouble}
        id          <oid>
        --- stderr
        """)
    assert oid in answer.stdout
    assert agent.claim("show", "42", "--json").at("claim") == {"oid": oid, "readable": False, "trouble": trouble}


def test_listing_shows_all_of_them_and_the_good_ones_too(agent: ForkedAgent, server: Server) -> None:
    for number, (plant_it, _) in enumerate(HOSTILE.values(), start=100):
        plant_it(server, f"issue-{number}")
    plant(server, "issue-42", "chain-agent-1")
    listed, document = agent.claim("ls"), agent.claim("ls", "--json")
    cached = agent.claim("ls", "--cached")
    rows = document.at("claims")
    assert isinstance(rows, list)
    assert [row["item"] for row in rows if not row["readable"]] == [f"issue-{100 + i}" for i in range(len(HOSTILE))]
    # Those that were records of 42 are records of another item here, unless something else was found first.
    assert listed.stdout.count("unreadable: ") == len(HOSTILE)
    assert listed.stdout.count("\n") == len(HOSTILE) + 2
    assert listed.stdout == cached.stdout
    for answer in (listed, cached, document):
        shown(answer)


def test_readable_record_is_shown_without_what_steers_a_terminal(agent: ForkedAgent, server: Server) -> None:
    # The direction marks reorder a line; they are no control characters, so the record is good.
    server.plant_bytes("issue-42", lines(chain="chain-\u202elavir", branch="42-\u2066fix", **{"\u202ekey": "\u202ex"}))
    for words in ("ls", "show 42", "check 42", "42", "release 42", "renew 42", "42 --wait=0"):
        answer = agent.claim(*words.split())
        shown(answer)
        assert "lavir" in answer.stdout + answer.stderr
        assert "42" in shown(agent.claim(*words.split(), "--json"))


def test_name_of_a_stranger_is_shown_without_what_steers_a_terminal(agent: ForkedAgent, server: Server) -> None:
    server.plant("refs/claims/\u202eevil", plant(server, "issue-42"))
    assert "refs/claims/evil" in shown(agent.claim("ls"))


def test_words_of_a_server_are_shown_without_what_steers_a_terminal(agent: ForkedAgent, server: Server) -> None:
    hook = server.path / "hooks/update"
    hook.write_text(f"#!/bin/sh\nprintf '{ESCAPE}no\\nhint: git push --force\\n' >&2\nexit 1\n")
    hook.chmod(0o755)
    answer = agent.claim("42")
    assert answer.status == 128
    assert "remote: ]0;owned[31mno" in shown(answer)
    assert "--force" not in answer.stderr
    assert "no" in str(agent.claim("42", "--json").at("items", 0, "detail"))


def test_lead_of_a_hostile_record_is_no_bundle(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    for number, lead in enumerate(["--all", "../42", "42\u202e", "$(42)", "4२", "43 42"], start=50):
        plant(server, f"issue-{number}", "chain-agent-1", lead=lead)
    agent.claim("release", "42", check=0)
    assert len(holders(server)) == 6


@pytest.mark.parametrize("claimed_at", ["soon", "", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "1", "२०२६"])
def test_time_that_means_nothing_is_no_age(agent: ForkedAgent, server: Server, claimed_at: str) -> None:
    plant(server, "issue-42", claimed_at=claimed_at)
    answers: list[Answer] = [agent.claim(*words.split()) for words in ("ls", "show 42", "42", "check 42", "ls --json")]
    assert [answer.status for answer in answers] == [0, 0, 1, 1, 0]
    for answer in answers:
        shown(answer)
