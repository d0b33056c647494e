"""Where a command may stand: any way git starts it, any kind of repository, any folder, a hook, another language."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.agents import Agent, Answer
from tests.commands.telling import block, field, holders, plant, shown
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked
from tests.places import Clone, Server, run_git

FORTY_TWO = "refs/claims/issue-42"


def through_git(agent: Agent, installed: dict[str, str], *arguments: str, at: Path | None = None) -> Answer:
    """Runs git, which finds git-claim on PATH."""
    environment = agent.full_environment() | installed
    ended = run_git(at or agent.clone.path, *arguments, check=False, environment=environment)
    return Answer(ended.returncode, ended.stdout, ended.stderr)


# Ways to be started


def test_git_finds_the_command(agent: Agent, installed: dict[str, str], server: Server) -> None:
    answer = through_git(agent, installed, "claim", "42")
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        claimed server#42 for chain-agent-1
        --- stderr
        """)


@pytest.mark.parametrize(
    "words",
    [
        "-C {clone} claim check 42",
        "claim -C {clone} check 42",
        "claim check -C {clone} 42",
        "claim check 42 -C {clone}",
        "--git-dir={clone}/.git claim check 42",
        "-c alias.mine=claim -C {clone} mine check 42",
    ],
)
def test_folder_may_be_named_in_every_way_that_git_knows(
    agent: Agent, installed: dict[str, str], server: Server, tmp_path: Path, words: str
) -> None:
    plant(server, "issue-42", "chain-agent-1")
    answer = through_git(agent, installed, *words.format(clone=agent.clone.path).split(), at=tmp_path)
    assert (answer.status, answer.stdout.partition(" since")[0]) == (0, "server#42 is yours"), answer


def test_folder_that_is_named_twice_is_the_nearer_one(agent: ForkedAgent, other: ForkedAgent, tmp_path: Path) -> None:
    other.clone.config("claim.chain", "chain-of-the-other")
    lonely = ForkedAgent(Clone(tmp_path, agent.clone.server))
    answer = lonely.claim("-C", str(agent.clone.path), "whoami", "-C", str(other.clone.path))
    assert answer.stdout == "chain-of-the-other\n"


def test_setting_of_one_command_is_in_force(nobody: Agent, installed: dict[str, str], server: Server) -> None:
    assert shown(through_git(nobody, installed, "-c", "claim.chain=chain-passing", "claim", "whoami")) == block("""
        exit 0
        --- stdout
        chain-passing
        --- stderr
        from: git config claim.chain (command)
        """)
    through_git(nobody, installed, "-c", "claim.chain=chain-passing", "claim", "42")
    assert holders(server) == {"issue-42": "chain-passing"}


def test_folder_that_is_none_is_said(agent: ForkedAgent, tmp_path: Path) -> None:
    assert shown(agent.claim("-C", str(tmp_path / "nowhere"), "42")) == block("""
        exit 2
        --- stdout
        --- stderr
        error: '<path>' is not a directory
        hint: 'git claim take -h' shows how it is used
        """)


def test_folder_outside_any_repository_is_said(agent: ForkedAgent, tmp_path: Path) -> None:
    assert shown(agent.claim("-C", str(tmp_path), "42")) == block("""
        exit 128
        --- stdout
        --- stderr
        fatal: no git repository here: not a git repository (or any of the parent directories): .git
        hint: change into a clone, or name one with 'git claim -C PATH'
        """)


def test_folder_of_somebody_else_is_refused_as_git_refuses_it(agent: ForkedAgent) -> None:
    answer = ForkedAgent(agent.clone, agent.chain, {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}).claim("42")
    assert answer.status == 128
    assert "dubious ownership" in shown(answer)


# Folders of a repository


@pytest.mark.parametrize("folder", ["deep/er", ".git", ".git/refs"])
def test_every_folder_of_a_clone_will_do(agent: ForkedAgent, server: Server, folder: str) -> None:
    (agent.clone.path / folder).mkdir(parents=True, exist_ok=True)
    here = ForkedAgent(Clone(agent.clone.path / folder, server), agent.chain)
    here.claim("42", check=0)
    assert field(server, "issue-42", "worktree") == (None if folder.startswith(".git") else str(agent.clone.path))
    assert here.claim("release", "42").stdout == "released server#42\n"


def test_relative_remote_is_found_from_every_folder(agent: ForkedAgent, server: Server) -> None:
    agent.clone.config("remote.origin.url", os.path.relpath(server.path, agent.clone.path))
    (agent.clone.path / "deep").mkdir()
    ForkedAgent(Clone(agent.clone.path / "deep", server), agent.chain).claim("42", check=0)
    assert holders(server) == {"issue-42": "chain-agent-1"}


# Linked worktrees


def test_lane_keeps_the_chain_that_was_minted_in_it(agent: ForkedAgent, server: Server) -> None:
    lane, neighbour = (ForkedAgent(agent.clone.worktree(name)) for name in ("lane", "neighbour"))
    answer = lane.claim("42")
    chain = holders(server)["issue-42"]
    assert shown(answer) == block("""
        exit 0
        --- stdout
        claimed server#42 for <chain>
        --- stderr
        chain <chain> (new, kept in this worktree)
        """)
    assert lane.claim("whoami").stdout == f"{chain}\n"
    assert lane.claim("check").status == 0
    assert [place.claim("whoami").status for place in (neighbour, ForkedAgent(agent.clone))] == [1, 1]


def test_main_worktree_never_becomes_a_lane(nobody: ForkedAgent) -> None:
    nobody.claim("42", check=0)
    assert nobody.claim("whoami").status == 1
    assert list((nobody.clone.path / ".git").rglob("git-claim-lane.toml")) == []


def test_lane_forgets_an_item_that_it_did_not_get(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-43")
    lane = ForkedAgent(agent.clone.worktree("lane"))
    lane.claim("42", "43", check=1)
    assert lane.claim("release").stdout == "released server#42\n"


def test_lane_that_cannot_be_read_stops_only_who_needs_it(agent: ForkedAgent, server: Server) -> None:
    lane = ForkedAgent(agent.clone.worktree("lane"))
    lane.claim("42", check=0)
    (path,) = (agent.clone.path / ".git/worktrees").rglob("git-claim-lane.toml")
    path.write_text("chain = 3\n")
    answer = lane.claim("release")
    assert (answer.status, len(server.refs())) == (128, 1)
    assert shown(answer).splitlines()[-1] == "hint: pass the chain with --chain, or move the file away"


# Kinds of repositories


@pytest.mark.parametrize("options", ["--bare", "--mirror", "--depth=1", "--filter=blob:none", "--no-checkout"])
def test_every_kind_of_clone_claims_and_gives_up(make_agent: MakeAgent, server: Server, options: str) -> None:
    agent = forked(make_agent(options))
    plant(server, "issue-43")
    taken, listed, released = (agent.claim(*words.split()) for words in ("42", "ls", "release 42"))
    assert [answer.status for answer in (taken, listed, released)] == [0, 0, 0], (taken, listed, released)
    assert [line.split()[:2] for line in listed.stdout.splitlines()[1:]] == [
        ["42", "chain-agent-1"],
        ["43", "chain-rival"],
    ]
    assert holders(server) == {"issue-43": "chain-rival"}


def test_repository_with_longer_ids_claims_and_gives_up(tmp_path: Path) -> None:
    server = Server(tmp_path / "long.git", str(tmp_path / "long.git"))
    clone = Clone(tmp_path / "long", server)
    run_git(tmp_path, "init", "--quiet", "--bare", "--object-format=sha256", str(server.path))
    run_git(tmp_path, "init", "--quiet", "--object-format=sha256", str(clone.path))
    clone.git("remote", "add", "origin", server.url)
    long = ForkedAgent(clone, "chain-long")
    taken, listed, released = (long.claim(*words.split()) for words in ("42", "ls --json", "release 42"))
    assert (taken.status, released.stdout, server.refs()) == (0, "released long#42\n", {})
    assert len(str(listed.at("claims", 0, "oid"))) == 64


# Hooks


def hook(clone: Clone, event: str, *lines: str) -> None:
    path = Path(clone.git("rev-parse", "--path-format=absolute", "--git-path", f"hooks/{event}").stdout.strip())
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


@pytest.mark.parametrize("is_linked", [False, True], ids=["main worktree", "linked worktree"])
def test_hook_stands_in_the_repository_that_runs_it(
    agent: Agent, installed: dict[str, str], server: Server, is_linked: bool
) -> None:
    clone = agent.clone.worktree("lane") if is_linked else agent.clone
    hook(clone, "pre-commit", 'echo "$GIT_DIR $GIT_INDEX_FILE" >"$GIT_DIR/saw"', "git claim 42 && git claim check 42")
    (clone.path / "deep").mkdir()
    (clone.path / "deep/file").write_text("x")
    committed = through_git(agent, installed, "add", "deep", at=clone.path)
    committed = through_git(agent, installed, "commit", "-qm", "second", at=clone.path / "deep")
    assert committed.status == 0, committed
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert field(server, "issue-42", "worktree") == str(clone.path)
    assert clone.git("show", "--format=", "--name-only").stdout == "deep/file\n"


def test_claim_in_a_pre_push_hook_does_not_push_through_it_again(
    agent: Agent, installed: dict[str, str], server: Server
) -> None:
    hook(agent.clone, "pre-push", "cat >/dev/null", "echo ran >>hook-runs", "git claim 42 >&2")
    agent.clone.commit("second")
    pushed = through_git(agent, installed, "push", "origin", "HEAD:refs/heads/second")
    assert (pushed.status, holders(server)) == (0, {"issue-42": "chain-agent-1"}), pushed
    assert (agent.clone.path / "hook-runs").read_text() == "ran\n"


# Languages and habits


def speaks_german() -> bool:
    said = subprocess.run(
        ["git", "rev-parse"], cwd="/", env={**os.environ, "LANGUAGE": "de"}, capture_output=True, check=False
    )
    return b"Kein" in said.stderr


@pytest.mark.parametrize("mood", ["none", "rival", "lost", "lock", "refused", "atomic"])
def test_git_that_speaks_german_is_understood(
    agent: ForkedAgent, other: ForkedAgent, server: Server, mood: str
) -> None:
    if not speaks_german():
        pytest.skip("needs git's German messages: install git with its translations")
    german = ForkedAgent(agent.clone, agent.chain, {"LANGUAGE": "de", "LC_ALL": "C.UTF-8"})
    match mood:
        case "rival":
            server.rival_in_the_gap("issue-42", "chain-rival")
        case "lost":
            server.reply_lost()
        case "lock":
            server.stuck_lock("issue-42")
        case "refused":
            server.policy_refuses()
        case "atomic":
            server.no_atomic()
    answer = german.claim("42", "--bundle", "43") if mood == "atomic" else german.claim("42")
    expected = {"none": 0, "rival": 1, "lost": 0, "lock": 128, "refused": 128, "atomic": 128}
    assert answer.status == expected[mood], answer
    assert "Schwerwiegend" not in shown(answer)
    assert ("cannot change several refs as one" in answer.stderr) == (mood == "atomic")


def test_settings_of_a_person_change_neither_what_is_pushed_nor_what_is_said(
    agent: ForkedAgent, server: Server
) -> None:
    habits = {
        "commit.gpgSign": "true",
        "tag.gpgSign": "true",
        "gpg.program": "false",
        "push.gpgSign": "if-asked",
        "push.followTags": "true",
        "push.default": "nothing",
        "push.recurseSubmodules": "on-demand",
        "push.pushOption": "ci.skip",
        "push.negotiate": "true",
        "push.useForceIfIncludes": "true",
        "fetch.prune": "true",
        "fetch.pruneTags": "true",
        "fetch.recurseSubmodules": "true",
        "fetch.writeCommitGraph": "true",
        "fetch.output": "compact",
        "remote.origin.mirror": "true",
        "remote.origin.tagOpt": "--tags",
        "remote.origin.prune": "true",
        "transfer.fsckObjects": "true",
        "color.ui": "always",
        "color.push": "always",
        "core.pager": "false",
        "core.editor": "false",
        "core.quotePath": "true",
        "i18n.commitEncoding": "ISO-8859-1",
        "i18n.logOutputEncoding": "ISO-8859-1",
        "log.showSignature": "true",
        "core.abbrev": "4",
        "core.commentChar": "c",
        "user.useConfigOnly": "true",
        "protocol.version": "0",
    }
    for key, value in habits.items():
        agent.clone.git("config", "--global", key, value)
    agent.clone.git("config", "--global", "--unset-all", "user.name")
    agent.clone.git("config", "--global", "--unset-all", "user.email")
    agent.clone.git("-c", "tag.gpgSign=false", "tag", "private")
    before = server.refs("refs/heads") | server.refs("refs/tags")
    for words, said in (
        ("42", "claimed server#42 for chain-agent-1\n"),
        ("renew 42", "renewed server#42\n"),
        ("hand-off 42 --to chain-agent-1", "handed server#42 to chain-agent-1\n"),
        ("release 42", "released server#42\n"),
        ("43 44 --all-or-nothing", "claimed server#43 for chain-agent-1\nclaimed server#44 for chain-agent-1\n"),
    ):
        answer = agent.claim(*words.split())
        assert (answer.status, answer.stdout, answer.stderr) == (0, said, "")
    assert server.refs("refs/heads") | server.refs("refs/tags") == before
    assert agent.clone.git("for-each-ref", "refs/tags", "--format=%(refname)").stdout == "refs/tags/private\n"
