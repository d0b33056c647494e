"""Records that somebody made to be misread: each is a held claim of an unknown holder, and never reaches a terminal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.agents import Answer
from tests.commands.telling import AGO, block, holders, plant, shown
from tests.forked import ForkedAgent
from tests.places import CLAIMS, PERSON, Server

# Makes an object out of a good record, spoiled in one way.
Spoil = Callable[[Server, str], str]
ESCAPE = "\x1b]0;owned\x07\x1b[31m"


def good(number: int) -> str:
    return f"issue={number}\nrepo=acme/ledger\nchain=chain-rival\nhost=blade\nclaimed_at={AGO}\n"


def text(change: Callable[[str], str]) -> Spoil:
    return lambda server, record: server.make_commit(change(record).encode("utf-8", "surrogateescape"))


def with_line(line: str) -> Spoil:
    return text(lambda record: record + line)


def without(key: str) -> Spoil:
    return text(lambda record: "".join(line for line in record.splitlines(True) if not line.startswith(f"{key}=")))


def replaced(old: str, new: str) -> Spoil:
    return text(lambda record: record.replace(old, new))


def tree_with(entry: str) -> Spoil:
    """A commit whose tree has one entry; braces in it stand for the commit of a good record."""

    def spoil(server: Server, record: str) -> str:
        line = entry.replace("{}", server.make_commit(record.encode())) if entry else ""
        tree = server.git("mktree", "--missing", stdin=f"{line}\n".encode() if line else b"").stdout.strip()
        return server.git(*PERSON, "commit-tree", "-m", ESCAPE, tree).stdout.strip()

    return spoil


def another_file(server: Server, record: str) -> str:
    return server.make_commit(record.encode(), tree_name="Claim")


def directory(server: Server, record: str) -> str:
    return tree_with(f"040000 tree {tree(server, record)}\tclaim")(server, record)


def tag(server: Server, record: str) -> str:
    header = f"object {server.make_commit(record.encode())}\ntype commit\ntag issue\ntagger x <x> 0 +0000\n\n{ESCAPE}\n"
    return server.git("mktag", stdin=header.encode()).stdout.strip()


def blob(server: Server, record: str) -> str:
    return server.git("hash-object", "-w", "--stdin", stdin=record.encode()).stdout.strip()


def tree(server: Server, record: str) -> str:
    return server.git("rev-parse", f"{server.make_commit(record.encode())}^{{tree}}").stdout.strip()


HOSTILE: dict[str, tuple[Spoil, str]] = {
    "terminal escape": (replaced("rival", ESCAPE), "a line of it is not key=value"),
    "escape in a key": (with_line(f"{ESCAPE}=1\n"), "a line of it is not key=value"),
    "eight-bit escape": (replaced("rival", "\x9b31m"), "a line of it is not key=value"),
    "carriage return": (replaced("\n", "\r\n"), "a line of it is not key=value"),
    "null": (replaced("blade", "bl\0ade"), "a line of it is not key=value"),
    "line separator": (replaced("blade", "blade\u2028chain=x"), "a line of it is not key=value"),
    "no equals sign": (with_line("nonsense\n"), "a line of it is not key=value"),
    "empty line": (with_line("\n"), "a line of it is not key=value"),
    "key twice": (with_line("chain=chain-agent-1\n"), "a key stands in it twice"),
    "cut short": (text(lambda record: record[:-5]), "its last line is incomplete"),
    "cut in the chain": (text(lambda record: record[: record.index("rival")]), "its last line is incomplete"),
    "empty": (text(lambda record: ""), "its last line is incomplete"),
    "not UTF-8": (with_line("note=\udcff\udcfe\n"), "it is not UTF-8"),
    "huge": (with_line(f"note={'x' * 5000}\n"), "it is larger than 4096 bytes"),
    "very huge": (with_line(f"note={'x' * 5_000_000}\n"), "it is larger than 4096 bytes"),
    "no chain": (without("chain"), "it names no chain"),
    "empty chain": (replaced("chain-rival", ""), "it names no chain"),
    "another item": (replaced("issue=", "issue=9"), "it is the record of another item"),
    "no item": (without("issue"), "it is the record of another item"),
    "another file": (another_file, "its tree has no file named claim"),
    "empty tree": (tree_with(""), "its tree has no file named claim"),
    "a directory": (directory, "its tree has no file named claim"),
    "a submodule": (tree_with("160000 commit {}\tclaim"), "its tree has no file named claim"),
    "a tag": (tag, "its ref holds a tag, not a commit"),
    "a blob": (blob, "its ref holds a blob, not a commit"),
    "a tree": (tree, "its ref holds a tree, not a commit"),
}


@pytest.fixture
def hostile(server: Server) -> dict[str, str]:
    """All of them on the server, from issue 101 on: what is wrong with each, by item."""
    for number, (spoil, _) in enumerate(HOSTILE.values(), start=101):
        server.plant(f"{CLAIMS}issue-{number}", spoil(server, good(number)))
    return {f"issue-{number}": trouble for number, (_, trouble) in enumerate(HOSTILE.values(), start=101)}


def test_none_of_them_is_free_for_anybody(agent: ForkedAgent, server: Server, hostile: dict[str, str]) -> None:
    before = server.refs()
    numbers = [name.removeprefix("issue-") for name in hostile]
    for command, status, outcome in (("take", 1, "held"), ("release", 128, "not-yours"), ("renew", 128, "not-yours")):
        answer = agent.claim(command, *numbers, "--json")
        items = answer.at("items")
        assert isinstance(items, list)
        assert {item["item"]: item["rival"]["trouble"] for item in items} == hostile
        assert {(item["outcome"], item["reason"]) for item in items} == {(outcome, "unreadable")}
        assert answer.status == status
        shown(answer)
    assert server.refs() == before


# Over 3 s on a busy machine: two commands for each kind.
def test_each_of_them_is_shown_by_its_id_and_is_nobodys_to_a_check(
    agent: ForkedAgent, server: Server, hostile: dict[str, str]
) -> None:
    agent.claim("ls", check=0)
    refs = server.refs()
    for name, trouble in hostile.items():
        item = f"server#{name.removeprefix('issue-')}"
        record, checked = agent.claim("show", name, "--cached"), agent.claim("check", name, "--cached")
        assert record.stdout == f"item        {item}\nunreadable  {trouble}\nid          {refs[CLAIMS + name]}\n"
        held = f"error: issue '{item}' is claimed by somebody whose record cannot be read: {trouble} (local copy, "
        assert (record.status, checked.status, checked.stderr.startswith(held)) == (0, 1, True), checked
        shown(record)
        shown(checked)


def test_one_of_them_is_refused_in_words(agent: ForkedAgent, server: Server) -> None:
    server.plant_bytes("issue-42", b"nonsense\n")
    assert shown(agent.claim("42")) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is held by a claim whose record cannot be read: a line of it is not key=value
        hint: 'git claim show 42' shows its id; a person has to decide what becomes of it
        """)
    assert shown(agent.claim("release", "42")) == block("""
        exit 128
        --- stdout
        --- stderr
        fatal: issue 'server#42' is held by a claim whose record cannot be read: a line of it is not key=value
        hint: 'git claim show 42' shows its id; a person has to decide what becomes of it
        """)
    assert shown(agent.claim("show", "42")) == block("""
        exit 0
        --- stdout
        item        server#42
        unreadable  a line of it is not key=value
        id          <oid>
        --- stderr
        """)


def test_listing_shows_all_of_them_and_the_good_ones_too(
    agent: ForkedAgent, server: Server, hostile: dict[str, str]
) -> None:
    plant(server, "issue-42", "chain-agent-1")
    listed, cached = agent.claim("ls"), agent.claim("ls", "--cached")
    rows = [line.split(maxsplit=6) for line in listed.stdout.splitlines()[1:]]
    assert rows[0][:2] == ["42", "chain-agent-1"]
    assert {f"issue-{row[0]}": row[6] for row in rows[1:]} == {
        name: f"unreadable: {trouble}" for name, trouble in hostile.items()
    }
    assert listed.stdout == cached.stdout
    for answer in (listed, cached, agent.claim("ls", "--json")):
        shown(answer)


def test_readable_record_is_shown_without_what_steers_a_terminal(agent: ForkedAgent, server: Server) -> None:
    # The direction marks reorder a line; they are no control characters, so the record is good.
    record = good(42).replace("rival", "\u202elavir") + "branch=42-\u2066fix\n\u202ekey=\u202ex\n"
    server.plant_bytes("issue-42", record.encode())
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
