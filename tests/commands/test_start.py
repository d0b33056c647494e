"""`git claim start`: the claim first, then a worktree and a branch of its own; the shared checkout stays as it is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.lane import everything, inside, lane_of, lane_path, start, work
from tests.commands.telling import block, field, holders, plant, shown
from tests.forked import ForkedAgent
from tests.places import Server

FORTY_TWO = "refs/claims/issue-42"


def branch_of(path: Path) -> str:
    return (subprocess.check_output(["git", "branch", "--show-current"], cwd=path, text=True)).strip()


def commit_of(path: Path, revision: str = "HEAD") -> str:
    return subprocess.check_output(["git", "rev-parse", revision], cwd=path, text=True).strip()


def test_start_claims_and_prints_the_path_of_a_worktree_alone(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("start", "42")
    path = lane_path(agent)
    assert answer.stdout == f"{path}\n"
    assert (holders(server), branch_of(path)) == ({"issue-42": "chain-agent-1"}, "42-work")
    assert (path / "README").read_text() == "A ledger.\n"
    assert shown(answer) == block("""
        exit 0
        --- stdout
        <path>
        --- stderr
        claimed server#42 for chain-agent-1, branch 42-work
        """)


def test_shell_changes_into_the_lane_with_the_documented_line(agent: ForkedAgent, installed: dict[str, str]) -> None:
    script = 'cd "$(git claim start 42)" && pwd && git branch --show-current && git claim whoami'
    environment = {**agent.full_environment(), **installed}
    del environment["GIT_CLAIM_CHAIN"]
    done = subprocess.run(
        ["sh", "-c", script], cwd=agent.clone.path, env=environment, capture_output=True, encoding="utf-8"
    )
    path, branch, chain = done.stdout.splitlines()
    assert (path, branch) == (str(lane_path(agent)), "42-work"), done.stderr
    assert lane_of(lane_path(agent))["chain"] == chain
    assert done.stderr.splitlines()[-1] == "from: lane file of this worktree"


def test_hook_that_talks_does_not_get_into_the_path(agent: ForkedAgent) -> None:
    hook = agent.clone.path / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho noise\necho noise >&2\n")
    hook.chmod(0o755)
    assert agent.claim("start", "42").stdout == f"{lane_path(agent)}\n"


def test_path_is_printed_also_where_silence_was_asked_for(agent: ForkedAgent) -> None:
    answer = agent.claim("start", "42", "--quiet")
    assert (answer.stdout, answer.stderr) == (f"{lane_path(agent)}\n", "")


def test_json_has_the_path_beside_the_answer(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("start", "42", "--json")
    assert (answer.at("ok"), answer.at("path")) == (True, str(lane_path(agent)))
    assert answer.at("items", 0, "claim", "oid") == server.refs()[FORTY_TWO]
    assert answer.at("items", 0, "claim", "branch") == "42-work"
    assert agent.claim("start", "42", "--json").at("items", 0, "outcome") == "already-yours"


def test_record_and_lane_file_name_each_other(nobody: ForkedAgent, server: Server) -> None:
    nobody.claim("start", "42", "--phase", "plan", check=0)
    path = lane_path(nobody)
    assert lane_of(path) == {"chain": holders(server)["issue-42"], "items": ["issue-42"], "released": []}
    recorded = [field(server, "issue-42", key) for key in ("branch", "worktree", "phase")]
    assert recorded == ["42-work", str(path), "plan"]


def test_minted_chain_is_said_before_the_claim_and_known_in_the_lane(nobody: ForkedAgent, server: Server) -> None:
    answer = nobody.claim("start", "42")
    chain = holders(server)["issue-42"]
    assert answer.stderr.startswith(f"chain {chain} (new)\nclaimed server#42 for {chain}")
    lane = inside(nobody, lane_path(nobody))
    assert lane.claim("check", "42").status == 0
    assert lane.claim("renew").status == 0
    assert lane.claim("release").status == 0


# Who does not win creates nothing


def test_loser_creates_nothing(agent: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    before = everything(agent.clone)
    answer = agent.claim("start", "42")
    assert everything(agent.clone) == before
    assert not lane_path(agent).parent.exists()
    assert server.refs() == {FORTY_TWO: planted}
    assert shown(answer) == block("""
        exit 1
        --- stdout
        --- stderr
        error: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: 'git claim 42 --wait' waits for it; 'git claim ls' shows all
        """)
    assert agent.claim("start", "42", "--json").at("path") is None


@pytest.mark.parametrize(
    ("mood", "status"),
    [
        (lambda server: server.rival_in_the_gap("issue-42", "chain-rival"), 1),
        (lambda server: server.policy_refuses(), 128),
        (lambda server: server.plant_bytes("issue-42", b"\xff"), 1),
    ],
    ids=["rival in the gap", "host refuses", "unreadable claim"],
)
def test_nothing_is_created_before_the_claim_is_won(
    agent: ForkedAgent, server: Server, mood: Callable[[Server], None], status: int
) -> None:
    mood(server)
    before = everything(agent.clone)
    answer = agent.claim("start", "42")
    assert (answer.status, answer.stdout) == (status, "")
    assert everything(agent.clone) == before


def test_unreachable_remote_is_not_taken_for_a_win(agent: ForkedAgent, tmp_path: Path) -> None:
    agent.clone.config("remote.origin.url", str(tmp_path / "gone.git"))
    before = everything(agent.clone)
    answer = agent.claim("start", "42")
    assert (answer.status, answer.stdout) == (3, "")
    assert everything(agent.clone) == before


# What is there already


def test_lane_that_is_there_is_used_again_with_all_that_lies_in_it(agent: ForkedAgent, server: Server) -> None:
    lane = start(agent, "42", "--slug", "fix")
    work(lane)
    (lane.clone.path / "README").write_text("half done\n")
    lane.clone.git("add", "README")
    (lane.clone.path / "untracked").write_text("x")
    before = everything(lane.clone)
    answer = agent.claim("start", "42")
    assert everything(lane.clone) == before
    assert (answer.status, answer.stdout) == (0, f"{lane.clone.path}\n")
    assert len(server.chain_of(FORTY_TWO)) == 1
    assert shown(answer) == block("""
        exit 0
        --- stdout
        <path>
        --- stderr
        server#42 is already yours since <time> (<age>), branch 42-fix
        """)


def test_lane_that_was_released_is_entered_again(agent: ForkedAgent, server: Server) -> None:
    lane = start(agent, "42")
    work(lane)
    lane.claim("release", check=0)
    again = start(agent, "42")
    assert again.clone.path == lane.clone.path
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert lane_of(again.clone.path) == {"chain": "chain-agent-1", "items": ["issue-42"], "released": []}


def test_released_lane_of_another_chain_is_taken_over_with_its_branch(agent: ForkedAgent, server: Server) -> None:
    lane = start(agent, "42")
    commit = work(lane)
    lane.claim("release", check=0)
    next_one = start(ForkedAgent(agent.clone, "chain-next"), "42")
    assert (next_one.clone.path, commit_of(next_one.clone.path)) == (lane.clone.path, commit)
    assert (holders(server), lane_of(lane.clone.path)["chain"]) == ({"issue-42": "chain-next"}, "chain-next")


def test_branch_without_a_worktree_is_attached_with_its_commits(agent: ForkedAgent) -> None:
    agent.clone.git("switch", "--quiet", "-c", "42-mine")
    commit = agent.clone.commit("begun by hand")
    agent.clone.git("switch", "--quiet", "main")
    lane = start(agent, "42")
    assert (lane.clone.path.name, branch_of(lane.clone.path), commit_of(lane.clone.path)) == (
        "42-mine",
        "42-mine",
        commit,
    )


def test_worktree_whose_directory_is_gone_is_made_again(agent: ForkedAgent) -> None:
    lane = start(agent, "42")
    commit = work(lane)
    subprocess.run(["rm", "-r", str(lane.clone.path)], check=True)
    assert commit_of(start(agent, "42").clone.path) == commit
    assert agent.clone.git("worktree", "list").stdout.count("42-work") == 2


def test_empty_directory_is_not_in_the_way(agent: ForkedAgent) -> None:
    lane_path(agent).mkdir(parents=True)
    assert branch_of(start(agent, "42").clone.path) == "42-work"


def in_main(agent: ForkedAgent) -> None:
    agent.clone.git("switch", "--quiet", "-c", "42-work")


def in_another_worktree(agent: ForkedAgent) -> None:
    agent.clone.worktree("elsewhere", "42-work")


def a_file(agent: ForkedAgent) -> None:
    lane_path(agent).parent.mkdir()
    lane_path(agent).write_text("somebody's")


def a_directory(agent: ForkedAgent) -> None:
    lane_path(agent).mkdir(parents=True)
    (lane_path(agent) / "file").write_text("somebody's")


def a_dangling_link(agent: ForkedAgent) -> None:
    lane_path(agent).parent.mkdir()
    lane_path(agent).symlink_to("nowhere")


def a_link_to_an_empty_directory(agent: ForkedAgent) -> None:
    a_dangling_link(agent)
    (lane_path(agent).parent / "nowhere").mkdir()


def a_worktree_on_another_branch(agent: ForkedAgent) -> None:
    agent.clone.git("worktree", "add", "--quiet", "-b", "other", str(lane_path(agent)))


def an_unrelated_branch(agent: ForkedAgent) -> None:
    tree = agent.clone.git("mktree").stdout.strip()
    agent.clone.git("branch", "42-work", agent.clone.git("commit-tree", "-m", "alone", tree).stdout.strip())


def a_lane_of_another_chain(agent: ForkedAgent) -> None:
    start(ForkedAgent(agent.clone, "chain-lost"), "42")
    agent.clone.server.plant(FORTY_TWO, None)


def a_worktree_that_git_is_making(agent: ForkedAgent) -> None:
    agent.clone.git("worktree", "add", "--quiet", "-b", "42-work", str(lane_path(agent)))
    agent.clone.git("worktree", "lock", "--reason", "initializing", str(lane_path(agent)))


@pytest.mark.parametrize(
    ("obstacle", "error", "hint"),
    [
        (in_main, "branch '42-work' is checked out at '<clone>'", "work there, or choose another name with --slug"),
        (
            in_another_worktree,
            "branch '42-work' is checked out at '<beside>/elsewhere'",
            "work there, or choose another name with --slug",
        ),
        (a_file, "'<lane>' is in the way", "move it, or choose another name with --slug"),
        (a_directory, "'<lane>' is in the way", "move it, or choose another name with --slug"),
        (a_dangling_link, "'<lane>' is in the way", "move it, or choose another name with --slug"),
        (a_link_to_an_empty_directory, "'<lane>' is in the way", "move it, or choose another name with --slug"),
        (
            a_worktree_on_another_branch,
            "'<lane>' is a worktree on branch 'other', not on '42-work'",
            "choose another name with --slug",
        ),
        (
            an_unrelated_branch,
            "branch '42-work' is there and shares no history with what a lane is cut from; "
            "the claim was released again",
            "choose another name with --slug",
        ),
        (
            a_lane_of_another_chain,
            "the worktree '<lane>' is the lane of chain 'chain-lost'; the claim was released again",
            "choose another name with --slug; 'git claim lanes' shows what is left in it",
        ),
        (
            a_worktree_that_git_is_making,
            "git has not finished making the worktree '<lane>'; the claim was released again",
            "repeat in a while; where no git is at work on it any more, take it away with 'git worktree' first",
        ),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_what_stands_in_the_way_is_named_and_left(
    agent: ForkedAgent, server: Server, obstacle: Callable[[ForkedAgent], None], error: str, hint: str
) -> None:
    obstacle(agent)
    before = everything(agent.clone)
    answer = agent.claim("start", "42", "--slug", "work")
    assert everything(agent.clone) == before
    assert server.refs() == {}
    names = {"lane": str(lane_path(agent)), "clone": str(agent.clone.path), "beside": str(agent.clone.path.parent)}
    assert answer.transcript(**names) == f"exit 128\n--- stdout\n--- stderr\nfatal: {error}\nhint: {hint}\n"


def test_another_slug_goes_round_what_is_in_the_way(agent: ForkedAgent, server: Server) -> None:
    a_directory(agent)
    assert start(agent, "42", "--slug", "again").clone.path == lane_path(agent, "42-again")
    assert field(server, "issue-42", "branch") == "42-again"
