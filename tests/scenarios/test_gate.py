"""The gate in real pushes: git runs the hook, the hook asks, and what is refused does not arrive."""

from __future__ import annotations

from pathlib import Path

from tests.agents import Answer
from tests.forked import ForkedAgent
from tests.places import CLAIMS, Clone, Server
from tests.scenarios.oracle import holders

MINE = {"refs/heads/main"}


def push(agent: ForkedAgent, *words: str) -> Answer:
    """A plain `git push` by the agent."""
    done = agent.clone.git("push", *words, check=False, environment=agent.full_environment())
    return Answer(done.returncode, done.stdout, done.stderr)


def arrived(server: Server) -> set[str]:
    return set(server.refs("refs/heads/"))


def lane_of(agent: ForkedAgent, item: str) -> ForkedAgent:
    path = Path(agent.claim("start", item, check=0).stdout.strip())
    return ForkedAgent(Clone(path, agent.clone.server, linked=True), None, agent.environment)


def test_branch_is_refused_until_its_item_is_claimed(gated: ForkedAgent, server: Server) -> None:
    refused = push(gated, "origin", "HEAD:refs/heads/42-fix")
    assert (refused.status, arrived(server)) == (1, MINE), refused
    assert "error: branch '42-fix' is not pushed: issue 'server#42' is not claimed\n" in refused.stderr
    gated.claim("42", check=0)
    assert push(gated, "origin", "HEAD:refs/heads/42-fix").status == 0
    assert arrived(server) == MINE | {"refs/heads/42-fix"}
    assert push(gated, "origin", ":refs/heads/42-fix", "HEAD:refs/heads/wip").status == 0
    assert arrived(server) == MINE | {"refs/heads/wip"}


def test_one_refused_branch_stops_the_whole_push(gated: ForkedAgent, server: Server) -> None:
    gated.claim("42", check=0)
    server.plant_claim("issue-43", "chain-rival")
    answer = push(gated, "origin", "HEAD:refs/heads/42-fix", "HEAD:refs/heads/wip", "HEAD:refs/heads/43-fix")
    assert (answer.status, arrived(server)) == (1, MINE)
    assert answer.stderr.count("error: branch '") == 1
    assert "error: branch '43-fix' is not pushed: issue 'server#43' is claimed by 'chain-rival'" in answer.stderr


def test_linked_worktree_pushes_its_own_item_and_no_other(gated: ForkedAgent, server: Server) -> None:
    # git names the repository of a linked worktree to its hooks in the environment.
    gated.chain = None
    lane, other = lane_of(gated, "42"), lane_of(gated, "43")
    assert push(lane, "origin", "HEAD").status == 0
    assert push(lane, "origin", "43-work").status == 1
    assert push(other, "-u", "origin", "43-work").status == 0
    assert arrived(server) == MINE | {"refs/heads/42-work", "refs/heads/43-work"}
    lane.claim("release", check=0)
    lane.clone.commit("late")
    assert push(lane, "origin", "HEAD").status == 1


def test_way_round_is_gits_own(gated: ForkedAgent, server: Server) -> None:
    assert push(gated, "--no-verify", "origin", "HEAD:refs/heads/42-fix").status == 0
    assert arrived(server) == MINE | {"refs/heads/42-fix"}


def test_claims_of_others_are_not_deleted_by_hand(gated: ForkedAgent, server: Server) -> None:
    planted = {CLAIMS + name: server.plant_claim(name, "chain-rival") for name in ("issue-42", "pr-7")}
    assert push(gated, "origin", ":refs/claims/issue-42").status == 1
    assert push(gated, "origin", "+HEAD:refs/claims/pr-7").status == 1
    assert server.refs() == planted


def test_mirror_push_from_an_old_copy_replaces_no_claim(gated: ForkedAgent, server: Server) -> None:
    server.plant_claim("issue-42", "chain-rival")
    gated.claim("ls", check=0)
    moved = server.plant_claim("issue-42", "chain-next")
    answer = push(gated, "--mirror", "origin")
    assert (answer.status, server.refs()) == (1, {"refs/claims/issue-42": moved})
    assert "the claim 'refs/claims/issue-42' is not yours to change" in answer.stderr


def test_mirror_push_from_an_old_copy_brings_back_no_claim(gated: ForkedAgent, server: Server) -> None:
    server.plant_claim("issue-42", "chain-rival")
    gated.claim("ls", check=0)
    server.plant("refs/claims/issue-42", None)
    assert (push(gated, "--mirror", "origin").status, server.refs()) == (1, {})


def test_what_a_mirror_push_deletes_git_tells_to_no_hook(gated: ForkedAgent, server: Server) -> None:
    # A limit of git, and why hooks/pre-receive is there: once git tells it, the manual may promise more.
    server.plant_claim("issue-42", "chain-rival")
    assert (push(gated, "--mirror", "origin").status, server.refs()) == (0, {})


def test_fenced_push_passes_the_gate_and_the_hook_that_was_there_runs_once(
    gated: ForkedAgent, server: Server, tmp_path: Path
) -> None:
    gated.claim("hook", "uninstall", check=0)
    theirs = gated.clone.path / ".git/hooks/pre-push"
    theirs.write_text(f"#!/bin/sh\ncat >>'{tmp_path}/heard'\necho once >&2\n")
    theirs.chmod(0o755)
    gated.claim("hook", "install", check=0)
    lane = lane_of(gated, "42")
    answer = lane.claim("push")
    assert (answer.status, answer.stderr) == (0, "once\n"), answer
    heard = (tmp_path / "heard").read_text().splitlines()
    assert sorted(line.split()[2] for line in heard) == ["refs/claims/issue-42", "refs/heads/42-work"]
    plain = push(lane, "origin", "HEAD:refs/heads/43-other")
    assert (plain.status, "once" in plain.stderr, arrived(server)) == (1, True, MINE | {"refs/heads/42-work"})


def test_claims_are_made_and_given_up_whatever_the_hook_says(gated: ForkedAgent, server: Server) -> None:
    hook = gated.clone.path / ".git/hooks/pre-push"
    hook.write_text("#!/bin/sh\nexit 1\n")
    gated.claim("42", check=0)
    gated.claim("renew", "42", check=0)
    gated.claim("hand-off", "42", "--to", "chain-next", check=0)
    assert holders(server) == {"issue-42": "chain-next"}
