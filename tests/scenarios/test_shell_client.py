"""The protocol as git-claims(7) tells it: its examples, taken from the page, keep company with the program."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from git_claims.protocol.claim import KEYS, RECORD_BYTES, decode
from git_claims.protocol.item import Item, Kind
from tests.agents import Agent, Answer, finish
from tests.forked import ForkedAgent, forked
from tests.pages import PAGES, plain, read_page
from tests.places import CLAIMS, Clone, Server, make_clone

PAGE = read_page(PAGES[1])
FORTY_TWO = f"{CLAIMS}issue-42"
OF_SHELL, OF_PROGRAM = "chain-shell", "chain-agent-1"


@dataclass(frozen=True, slots=True)
class ShellClient:
    """The script of the page in a clone of its own."""

    clone: Clone
    script: Path

    def start(self, command: str, *more: str, chain: str = OF_SHELL) -> subprocess.Popen[str]:
        words = ["sh", str(self.script), command, "42", chain, *more]
        return subprocess.Popen(
            words,
            cwd=self.clone.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, command: str, *more: str, chain: str = OF_SHELL, check: int | None = None) -> Answer:
        answer = finish(self.start(command, *more, chain=chain))
        assert check in (None, answer.status), answer
        return answer


@pytest.fixture
def shell(server: Server, tmp_path: Path) -> ShellClient:
    script = tmp_path / "claim.sh"
    [text] = [example for example in PAGE["A CLIENT IN SHELL"].examples if example.startswith("#!/bin/sh\n")]
    script.write_text(text)
    return ShellClient(make_clone(server, tmp_path, "shell"), script)


@pytest.fixture
def program(agent: Agent) -> ForkedAgent:
    assert agent.chain == OF_PROGRAM
    return forked(agent)


def fields(server: Server) -> dict[str, str]:
    """The record on the server, its lines in order."""
    return dict(line.split("=", 1) for line in server.claim_text("issue-42").splitlines())


def holder(server: Server) -> str | None:
    return fields(server)["chain"] if FORTY_TWO in server.refs() else None


# What the page says of the record


def test_record_of_the_page_is_one_that_the_program_writes_and_reads() -> None:
    [record] = PAGE["THE OBJECT"].examples
    claim = decode(record.encode(), Item(Kind.ISSUE, "42"))
    assert [key for key, _ in claim.lines()] == list(KEYS)


def test_page_explains_every_key_of_a_record_and_no_other() -> None:
    assert PAGE["THE OBJECT"].names == list(KEYS)


def test_page_knows_how_large_a_record_may_be() -> None:
    told = plain(PAGE["THE OBJECT"].text + PAGE["THE OBJECT/Records that cannot be read"].text)
    assert set(re.findall(r"(\d+)\s+bytes", told)) == {str(RECORD_BYTES)}


# The script and the program


def test_claim_of_the_script_is_held_for_the_program(shell: ShellClient, program: ForkedAgent, server: Server) -> None:
    shell.run("take", check=0)
    assert list(fields(server)) == [key for key in KEYS if key in fields(server)]
    assert program.claim("take", "42", "--json", check=1).at("items", 0, "rival", "chain") == OF_SHELL
    assert program.claim("show", "42", "--json").at("claim", "readable") is True
    assert holder(server) == OF_SHELL


def test_claim_of_the_program_is_held_for_the_script(shell: ShellClient, program: ForkedAgent, server: Server) -> None:
    program.claim("take", "42", check=0)
    assert shell.run("holder", check=0).stdout == f"{OF_PROGRAM}\n"
    assert [shell.run(command, check=1).stdout for command in ("take", "renew", "release")] == ["", "", ""]
    assert (len(server.chain_of(FORTY_TWO)), holder(server)) == (1, OF_PROGRAM)


def test_script_and_program_carry_on_for_one_chain(shell: ShellClient, program: ForkedAgent, server: Server) -> None:
    program.claim("take", "42", "--branch", "42-fix", check=0)
    shell.run("renew", chain=OF_PROGRAM, check=0)
    assert (fields(server)["branch"], fields(server)["previous"]) == ("42-fix", server.chain_of(FORTY_TWO)[0])
    program.claim("renew", "42", check=0)
    shell.run("take", chain=OF_PROGRAM, check=0)
    shell.run("release", chain=OF_PROGRAM, check=0)
    assert server.refs() == {}
    assert len(server.chain_of(FORTY_TWO)) == 4


def test_script_keeps_keys_that_it_does_not_know(shell: ShellClient, server: Server) -> None:
    server.plant_claim("issue-42", OF_SHELL, colour="blue")
    shell.run("renew", check=0)
    assert fields(server)["colour"] == "blue"


def test_claim_that_cannot_be_read_is_held_for_the_script(shell: ShellClient, server: Server) -> None:
    planted = server.plant_bytes("issue-42", b"", tree_name="other")
    assert [shell.run(command).status for command in ("take", "renew", "release")] == [1, 1, 1]
    assert server.refs() == {FORTY_TWO: planted}


def test_scripts_and_program_race_for_one_winner(
    shell: ShellClient, program: ForkedAgent, server: Server, tmp_path: Path
) -> None:
    # Over 3 s on a busy machine: four rounds of three processes each.
    second = ShellClient(make_clone(server, tmp_path, "second"), shell.script)
    for _ in range(4):
        racing = {OF_SHELL: shell.start("take"), "chain-second": second.start("take", chain="chain-second")}
        told = {OF_PROGRAM: program.claim("take", "42").status}
        told |= {chain: finish(process).status for chain, process in racing.items()}
        assert sorted(told.values()) == [0, 1, 1]
        assert told[holder(server) or ""] == 0
        server.plant(FORTY_TWO, None)


@pytest.mark.parametrize("mood", ["reply_lost", "killed_before"])
def test_script_finds_out_what_became_of_a_push(shell: ShellClient, server: Server, mood: str) -> None:
    {"reply_lost": server.reply_lost, "killed_before": server.killed_before}[mood]()
    shell.run("take", check=0)
    assert (len(server.chain_of(FORTY_TWO)), holder(server)) == (1, OF_SHELL)


def test_script_loses_to_a_rival_in_the_gap(shell: ShellClient, server: Server) -> None:
    server.rival_in_the_gap("issue-42", "chain-rival")
    shell.run("take", check=1)
    assert holder(server) == "chain-rival"


# The fence


def test_work_lands_together_with_the_claim(shell: ShellClient, server: Server) -> None:
    shell.run("take", check=0)
    commit = shell.clone.commit("fix")
    shell.run("push", "42-fix", check=0)
    assert server.refs("refs/heads/42-fix") == {"refs/heads/42-fix": commit}
    assert len(server.chain_of(FORTY_TWO)) == 2


@pytest.mark.parametrize("stolen", ["before", "in the gap"])
def test_no_work_lands_once_the_claim_moved(shell: ShellClient, server: Server, stolen: str) -> None:
    shell.run("take", check=0)
    shell.clone.commit("fix")
    if stolen == "before":
        server.plant_claim("issue-42", "chain-rival")
    else:
        server.rival_in_the_gap("issue-42", "chain-rival")
    shell.run("push", "42-fix", check=1)
    assert (server.refs("refs/heads/42-fix"), holder(server)) == ({}, "chain-rival")


# Reading


def typed(clone: Clone, example: str) -> str:
    """What a person sees who types the lines of an example that begin with a dollar."""
    script = "\n".join(line.removeprefix("$ ") for line in example.splitlines())
    answer = subprocess.run(["sh", "-e", "-c", script], cwd=clone.path, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer
    return answer.stdout


def test_two_lines_of_git_read_a_holder(clone: Clone, program: ForkedAgent) -> None:
    program.claim("take", "42", check=0)
    assert typed(clone, PAGE["READING"].examples[0]) == f"{OF_PROGRAM}\n"
    assert PAGE["READING"].examples[0] in read_page(PAGES[0])["EXAMPLES"].examples


def test_one_line_of_git_proves_that_nobody_holds_an_item(clone: Clone, program: ForkedAgent) -> None:
    program.claim("take", "42", "420", check=0)
    typed(clone, PAGE["READING"].examples[0])
    program.claim("release", "42", check=0)
    typed(clone, PAGE["READING"].examples[1])
    assert list(clone.refs()) == [f"{CLAIMS}issue-420"]
