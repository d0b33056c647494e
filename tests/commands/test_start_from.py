"""`git claim start`: the claim first, then a worktree and a branch of its own; the shared checkout stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.lane import everything, inside, lane_of, lane_path, shared, start, work
from tests.commands.telling import block, holders, shown
from tests.commands.test_start import FORTY_TWO, branch_of, commit_of
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked, race_forked
from tests.places import ABSENT, PERSON, Server, make_server

# The shared checkout


def untidy(agent: ForkedAgent) -> None:
    """Somebody is in the middle of something in the shared checkout."""
    clone = agent.clone
    clone.git("fetch", "--quiet", "origin", "main")
    (clone.path / "README").write_text("changed\n")
    (clone.path / "staged").write_text("staged\n")
    clone.git("add", "staged")
    (clone.path / "untracked").write_text("untracked\n")


@pytest.mark.parametrize("detached", [False, True], ids=["on a branch", "detached"])
def test_shared_checkout_keeps_branch_index_files_and_fetch_head(agent: ForkedAgent, detached: bool) -> None:
    untidy(agent)
    if detached:
        agent.clone.git("switch", "--quiet", "--detach")
    before = shared(agent.clone)
    start(agent, "42")
    start(agent, "43")
    assert shared(agent.clone) == before


def test_status_is_clean_without_any_gitignore(agent: ForkedAgent) -> None:
    start(agent, "42")
    start(agent, "43")
    assert agent.clone.git("status", "--porcelain", "--untracked-files=all").stdout == ""
    exclude = (agent.clone.path / ".git/info/exclude").read_text()
    assert exclude.count("/.worktrees/") == 1


def test_gitignore_that_covers_lanes_is_enough(agent: ForkedAgent) -> None:
    (agent.clone.path / ".gitignore").write_text(".worktrees/\n")
    agent.clone.git("add", ".gitignore")
    agent.clone.commit("ignore")
    start(agent, "42")
    assert not (agent.clone.path / ".git/info/exclude").exists()


def test_start_in_a_subdirectory_opens_the_same_lane(agent: ForkedAgent) -> None:
    (agent.clone.path / "deep/er").mkdir(parents=True)
    answer = inside(agent, agent.clone.path / "deep/er", agent.chain).claim("start", "42")
    assert answer.stdout == f"{lane_path(agent)}\n"


def test_start_inside_a_lane_opens_the_next_beside_it_for_the_same_chain(agent: ForkedAgent, server: Server) -> None:
    second = start(start(agent, "42"), "43")
    assert second.clone.path == lane_path(agent, "43-work")
    assert holders(server) == {"issue-42": "chain-agent-1", "issue-43": "chain-agent-1"}
    assert lane_of(second.clone.path)["items"] == ["issue-43"]
    assert lane_of(lane_path(agent))["items"] == ["issue-42"]


def test_start_works_in_a_bare_clone(make_agent: MakeAgent) -> None:
    agent = forked(make_agent("--bare"))
    lane = start(agent, "42")
    assert lane.clone.path == agent.clone.path / ".worktrees/42-work"
    work(lane)
    assert lane.claim("push").status == 0
    assert "refs/heads/42-work" in agent.clone.server.refs("refs/heads/")


@pytest.mark.parametrize("option", ["--depth=1", "--filter=blob:none", "--single-branch"])
def test_start_works_in_clones_that_have_not_everything(make_agent: MakeAgent, option: str) -> None:
    agent = forked(make_agent(option))
    advance(agent.clone.server)
    lane = start(agent, "42")
    assert commit_of(lane.clone.path) == agent.clone.server.refs("refs/heads/")["refs/heads/main"]


# Where a lane is cut from


def advance(server: Server, branch: str = "main") -> str:
    """The server's branch moves on without the clones hearing of it."""
    subject = f"{branch} of the server"
    commit = server.git(*PERSON, "commit-tree", "-m", subject, "-p", "main", "main^{tree}").stdout.strip()
    server.plant(f"refs/heads/{branch}", commit)
    return commit


def test_lane_is_cut_from_the_fresh_default_branch_and_tracking_refs_stay(agent: ForkedAgent, server: Server) -> None:
    tracking, fresh = agent.clone.refs("refs/remotes/"), advance(server)
    lane = start(agent, "42")
    assert commit_of(lane.clone.path) == fresh
    assert agent.clone.refs("refs/remotes/") == tracking
    assert lane.clone.git("config", "branch.42-work.merge", check=False).stdout == ""


def test_default_branch_is_what_the_server_says_it_is_now(agent: ForkedAgent, server: Server) -> None:
    trunk = advance(server, "trunk")
    server.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    assert commit_of(start(agent, "42").clone.path) == trunk


def test_integration_branch_of_the_settings_is_cut_from(agent: ForkedAgent, server: Server) -> None:
    develop = advance(server, "develop")
    (agent.clone.path / ".claims.toml").write_text('integration_branch = "develop"\n')
    assert commit_of(start(agent, "42").clone.path) == develop


def test_branch_that_somebody_pushed_is_continued(agent: ForkedAgent, other: ForkedAgent, server: Server) -> None:
    theirs = start(other, "42")
    commit = work(theirs)
    theirs.claim("push", check=0)
    theirs.claim("release", check=0)
    advance(server, "42-work-and-more")
    lane = start(agent, "42")
    assert commit_of(lane.clone.path) == commit


def test_branch_that_was_merged_and_deleted_is_not_continued(agent: ForkedAgent, server: Server) -> None:
    advance(server, "42-work")
    agent.clone.git("fetch", "--quiet")
    server.plant("refs/heads/42-work", None)
    fresh = advance(server)
    assert commit_of(start(agent, "42").clone.path) == fresh


@pytest.mark.parametrize("revision", ["v1", "HEAD~1", "origin/main"])
def test_lane_is_cut_from_a_commit_that_was_named(agent: ForkedAgent, revision: str) -> None:
    agent.clone.git("tag", "--annotate", "--message", "one", "v1")
    agent.clone.commit("local")
    wanted = commit_of(agent.clone.path, f"{revision}^{{commit}}")
    assert commit_of(start(agent, "42", "--from", revision).clone.path) == wanted


@pytest.mark.parametrize("revision", ["nowhere", "HEAD:README", "--all", "-q", ""])
def test_name_of_no_commit_is_refused_before_anything_is_claimed(
    agent: ForkedAgent, server: Server, revision: str
) -> None:
    before = everything(agent.clone)
    answer = agent.claim("start", "42", f"--from={revision}")
    assert everything(agent.clone) == before
    assert (server.refs(), server.transcript()[1:]) == ({}, [])
    assert shown(answer) == block(f"""
        exit 2
        --- stdout
        --- stderr
        error: '{revision}' is not a commit of this clone
        hint: fetch it first, or leave --from out
        """)


# Names


@pytest.mark.parametrize(
    ("title", "branch"),
    [
        ("Fix: the AUTH   thing!", "42-fix-the-auth-thing"),
        ("a/b..c~d^e:f?g*h[i\\j", "42-a-b-c-d-e-f-g-h-i-j"),
        ("x" * 80, f"42-{'x' * 48}"),
        ("-lead and trail-", "42-lead-and-trail"),
        ("$(rm -rf /) `id`", "42-rm-rf-id"),
        ("word " * 12, "42-word-word-word-word-word-word-word-word-word-wor"),
    ],
)
def test_title_becomes_words_that_can_stand_in_a_branch(agent: ForkedAgent, title: str, branch: str) -> None:
    assert branch_of(start(agent, "42", "--slug", title).clone.path) == branch


def test_title_without_a_letter_is_refused_before_anything_is_claimed(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("start", "42", "--slug", "…!")
    assert (answer.status, server.transcript()[1:]) == (2, [])
    assert "error: nothing of '…!' can stand in a branch name" in answer.stderr


def test_keyed_item_and_pattern_of_ones_own_make_the_branch(agent: ForkedAgent) -> None:
    (agent.clone.path / ".claims.toml").write_text('[branch]\npattern = "feature/{number}/{slug}"\n')
    lane = start(agent, "proj-007", "--slug", "x")
    assert (branch_of(lane.clone.path), lane.clone.path.name) == ("feature/PROJ-7/x", "feature-PROJ-7-x")
    assert start(agent, "PROJ-7").clone.path == lane.clone.path


@pytest.mark.parametrize("absolute", [False, True])
def test_lanes_go_where_the_settings_say(agent: ForkedAgent, tmp_path: Path, absolute: bool) -> None:
    directory = str(tmp_path / "lanes") if absolute else "../lanes"
    (agent.clone.path / ".claims.toml").write_text(f"[worktree]\ndir = {json.dumps(directory)}\n")
    assert start(agent, "42").clone.path == tmp_path / "lanes/42-work"


def test_pull_request_opens_no_lane(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("start", "pr-7")
    assert (answer.status, server.refs()) == (2, {})
    assert "a pull request has a branch already" in answer.stderr


# What fails after the win


def test_empty_remote_gives_the_claim_back(make_agent: MakeAgent, tmp_path: Path) -> None:
    empty = make_server(tmp_path, "empty.git")
    empty.plant("refs/heads/main", None)
    agent = forked(make_agent(server=empty))
    before = everything(agent.clone)
    answer = agent.claim("start", "42")
    assert everything(agent.clone) == before
    won, gone = empty.chain_of(FORTY_TWO)
    assert (won != ABSENT, gone) == (True, ABSENT)
    assert shown(answer) == block("""
        exit 128
        --- stdout
        --- stderr
        fatal: cannot fetch the branch to start from: fatal: couldn't find remote ref HEAD; the claim was released again
        hint: name a commit of this clone with --from, or repeat when the remote answers
        """)
    assert start(agent, "42", "--from", "main").clone.path == lane_path(agent)


def test_integration_branch_that_is_missing_gives_the_claim_back(agent: ForkedAgent, server: Server) -> None:
    (agent.clone.path / ".claims.toml").write_text('integration_branch = "develop"\n')
    answer = agent.claim("start", "42")
    assert (answer.status, server.refs()) == (128, {})
    assert "couldn't find remote ref refs/heads/develop; the claim was released again" in answer.stderr


def test_claim_that_was_held_before_is_not_given_back(agent: ForkedAgent, server: Server) -> None:
    agent.claim("42", check=0)
    (agent.clone.path / ".claims.toml").write_text('integration_branch = "develop"\n')
    answer = agent.claim("start", "42")
    assert (answer.status, holders(server)) == (128, {"issue-42": "chain-agent-1"})
    assert "; the claim of issue '42' by 'chain-agent-1' remains\n" in answer.stderr


def test_claim_that_cannot_be_given_back_is_said_to_remain(agent: ForkedAgent, server: Server) -> None:
    # Pushes arrive, and nothing can be read.
    agent.clone.config("remote.origin.uploadpack", "false")
    answer = agent.claim("start", "42")
    assert (answer.status, holders(server)) == (128, {"issue-42": "chain-agent-1"})
    assert "; the claim of issue '42' by 'chain-agent-1' remains\n" in answer.stderr
    agent.clone.git("config", "--unset", "remote.origin.uploadpack")
    assert start(agent, "42").clone.path == lane_path(agent)


def test_start_that_cannot_tell_is_continued_by_the_next_with_the_same_chain(
    nobody: ForkedAgent, server: Server
) -> None:
    # The claim lands, the reply is lost, and nothing can be read.
    server.reply_lost()
    nobody.clone.config("remote.origin.uploadpack", "false")
    answer = nobody.claim("start", "42")
    assert (answer.status, answer.stdout) == (3, "")
    server.calm()
    nobody.clone.git("config", "--unset", "remote.origin.uploadpack")
    lane = start(nobody, "42")
    assert len(server.chain_of(FORTY_TWO)) == 1
    assert lane_of(lane.clone.path)["chain"] == holders(server)["issue-42"]


def test_checkout_that_fails_gives_the_claim_back_and_may_be_repeated(agent: ForkedAgent, server: Server) -> None:
    hook = agent.clone.path / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no disk >&2\nexit 1\n")
    hook.chmod(0o755)
    answer = agent.claim("start", "42")
    assert (answer.status, server.refs()) == (128, {})
    assert "'git worktree' failed: no disk; the claim was released again" in answer.stderr
    hook.unlink()
    assert branch_of(start(agent, "42").clone.path) == "42-work"


# Many at once


def test_parallel_starts_of_different_items_in_one_clone_all_succeed(agent: ForkedAgent, server: Server) -> None:
    agents = [ForkedAgent(agent.clone, f"chain-{number}") for number in range(1, 5)]
    before = shared(agent.clone)
    answers = race_forked([(each, ("start", str(number))) for number, each in enumerate(agents, start=1)])
    assert [answer.status for answer in answers] == [0] * 4, answers
    assert shared(agent.clone) == before
    assert holders(server) == {f"issue-{number}": f"chain-{number}" for number in range(1, 5)}
    for number, answer in enumerate(answers, start=1):
        path = Path(answer.stdout.strip())
        assert (branch_of(path), lane_of(path)["chain"]) == (f"{number}-work", f"chain-{number}")


def test_parallel_starts_of_one_item_by_one_chain_end_in_one_lane(agent: ForkedAgent, server: Server) -> None:
    answers = race_forked([(agent, ("start", "42"))] * 4)
    assert {(answer.status, answer.stdout) for answer in answers} == {(0, f"{lane_path(agent)}\n")}, answers
    assert len(server.chain_of(FORTY_TWO)) == 1


def test_parallel_starts_of_one_item_by_unnamed_chains_have_one_winner(nobody: ForkedAgent, server: Server) -> None:
    answers = race_forked([(nobody, ("start", "42"))] * 4)
    assert sorted(answer.status for answer in answers) == [0, 1, 1, 1], answers
    assert lane_of(lane_path(nobody))["chain"] == holders(server)["issue-42"]
