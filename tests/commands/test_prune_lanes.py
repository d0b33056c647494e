"""`git claim lanes`, `prune-lanes` and `release --remove-worktree`: what a clone works on, and what may go."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from tests.commands.lane import everything, lane_of, lane_path, shared, start, work
from tests.commands.telling import block, holders, plant, shown
from tests.commands.test_lanes import every_kind
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked, race_forked
from tests.places import Server


def released(agent: ForkedAgent, *words: str) -> ForkedAgent:
    """A lane with pushed work whose claim was given up."""
    lane = start(agent, *(words or ("42",)))
    work(lane)
    lane.claim("push", check=0)
    lane.claim("release", check=0)
    return lane


def test_lane_that_is_released_and_pushed_goes_and_its_branch_stays(agent: ForkedAgent, server: Server) -> None:
    lane = released(agent)
    commit, before = server.refs("refs/heads/42-work")["refs/heads/42-work"], shared(agent.clone)
    answer = agent.claim("prune-lanes")
    assert not lane.clone.path.exists()
    assert agent.clone.git("worktree", "list").stdout.count("\n") == 1
    assert agent.clone.refs("refs/heads/42-work") == {"refs/heads/42-work": commit}
    assert shared(agent.clone) == before
    assert shown(answer) == block("""
        exit 0
        --- stdout
        removed <path>
        --- stderr
        """)


def test_dry_run_only_says_what_would_go(agent: ForkedAgent) -> None:
    released(agent)
    before = everything(agent.clone)
    answer = agent.claim("prune-lanes", "--dry-run")
    assert everything(agent.clone) == before
    assert shown(answer) == block("""
        exit 0
        --- stdout
        would remove <path>
        --- stderr
        """)
    document = agent.claim("prune-lanes", "-n", "--json")
    assert (document.at("dry_run"), document.at("lanes", 0, "removed")) == (True, True)
    assert everything(agent.clone) == before


def nothing_done(lane: ForkedAgent) -> None:
    pass


def merged_elsewhere(lane: ForkedAgent) -> None:
    server, commit = lane.clone.server, lane.clone.git("rev-parse", "HEAD").stdout.strip()
    server.plant("refs/heads/main", commit)
    server.plant("refs/heads/42-work", None)


def pushed_under_another_name(lane: ForkedAgent) -> None:
    work(lane, "more")
    lane.clone.git("push", "--quiet", "--no-verify", "origin", "HEAD:refs/heads/elsewhere")


@pytest.mark.parametrize("saved", [nothing_done, merged_elsewhere, pushed_under_another_name])
def test_work_that_some_branch_of_the_remote_has_is_saved(
    agent: ForkedAgent, saved: Callable[[ForkedAgent], None]
) -> None:
    lane = released(agent)
    saved(lane)
    agent.claim("prune-lanes", check=0)
    assert not lane.clone.path.exists()


def test_pushed_work_is_known_where_the_clone_tracks_one_branch_only(make_agent: MakeAgent) -> None:
    for option in ("--single-branch", "--depth=1", "--bare"):
        agent = forked(make_agent(option))
        lane = released(agent, "42", "--slug", option.strip("-"))
        agent.claim("prune-lanes", check=0)
        assert not lane.clone.path.exists(), option


def changed(lane: ForkedAgent) -> None:
    (lane.clone.path / "README").write_text("changed\n")


def staged(lane: ForkedAgent) -> None:
    changed(lane)
    lane.clone.git("add", "README")


def untracked(lane: ForkedAgent) -> None:
    (lane.clone.path / "new").mkdir()
    (lane.clone.path / "new/file").write_text("x")


def untracked_and_not_shown(lane: ForkedAgent) -> None:
    lane.clone.config("status.showUntrackedFiles", "no")
    untracked(lane)


def unpushed(lane: ForkedAgent) -> None:
    work(lane, "more")


def unpushed_and_detached(lane: ForkedAgent) -> None:
    lane.clone.git("switch", "--quiet", "--detach")
    work(lane, "more")


def rewritten_on_the_remote(lane: ForkedAgent) -> None:
    """Somebody threw the pushed commits away, and no fetch has heard of it yet."""
    lane.clone.server.plant("refs/heads/42-work", lane.clone.server.refs("refs/heads/main")["refs/heads/main"])
    lane.clone.git("update-ref", "-d", "refs/remotes/origin/42-work")


def locked(lane: ForkedAgent) -> None:
    lane.clone.git("worktree", "lock", str(lane.clone.path))


def held_again(lane: ForkedAgent) -> None:
    lane.claim("42", check=0)


def held_again_and_lost(lane: ForkedAgent) -> None:
    held_again(lane)
    plant(lane.clone.server, "issue-42")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (changed, "uncommitted changes"),
        (staged, "uncommitted changes"),
        (untracked, "uncommitted changes"),
        (untracked_and_not_shown, "uncommitted changes"),
        (unpushed, "1 commit on no remote branch"),
        (unpushed_and_detached, "1 commit on no remote branch"),
        (rewritten_on_the_remote, "1 commit on no remote branch"),
        (locked, "it is locked"),
        (held_again, "it holds its claim"),
        (held_again_and_lost, "its claim was lost to another chain"),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_lane_that_is_not_saved_or_not_given_up_stays(
    agent: ForkedAgent, spoil: Callable[[ForkedAgent], None], reason: str
) -> None:
    lane = released(agent)
    spoil(lane)
    before = everything(agent.clone) | everything(lane.clone)
    answer = agent.claim("prune-lanes")
    assert everything(agent.clone) | everything(lane.clone) == before
    assert shown(answer) == f"exit 0\n--- stdout\n--- stderr\nkept <path>: {reason}\n"
    assert agent.claim("prune-lanes", "--json").at("lanes", 0, "kept") == reason


def test_directory_that_is_gone_takes_a_commit_on_no_branch_not_along(agent: ForkedAgent) -> None:
    lane = released(agent)
    unpushed_and_detached(lane)
    shutil.rmtree(lane.clone.path)
    assert "its last commit is on no branch" in agent.claim("prune-lanes").stderr
    assert agent.clone.git("worktree", "list").stdout.count("\n") == 2


def test_directory_that_is_gone_is_forgotten_once_released(agent: ForkedAgent) -> None:
    lane = released(agent)
    shutil.rmtree(lane.clone.path)
    agent.claim("prune-lanes", check=0)
    assert agent.clone.git("worktree", "list").stdout.count("\n") == 1


def test_worktree_that_somebody_made_by_hand_stays(agent: ForkedAgent) -> None:
    made = agent.clone.worktree("by-hand", "42-by-hand")
    answer = agent.claim("prune-lanes")
    assert made.path.exists()
    assert shown(answer) == block("""
        exit 0
        --- stdout
        --- stderr
        kept <path>: no chain has worked in it, somebody made it by hand
        """)


def test_prune_looks_at_every_lane_and_takes_only_what_is_done(agent: ForkedAgent, server: Server) -> None:
    every_kind(agent, server)
    answer = agent.claim("prune-lanes")
    left = sorted(path.name for path in lane_path(agent).parent.iterdir())
    # 44 is released; 45 was freed by somebody, and nothing of it is unsaved. 48 is gone by itself.
    assert left == ["42-work", "43-work", "46-work", "47-work"]
    assert answer.stdout.count("removed") == 2
    assert holders(server) == {
        "issue-42": "chain-agent-1",
        "issue-43": "chain-rival",
        **{f"issue-{number}": "chain-agent-1" for number in (46, 47, 48)},
    }


# Over 3 s: three lanes are made to go, three are opened, and all commands run at once.
def test_prune_beside_starts_and_listings_takes_nothing_that_is_claimed(agent: ForkedAgent) -> None:
    for number in range(1, 4):
        released(agent, str(number))
    runs = [*(("start", str(number)) for number in range(11, 14)), ("prune-lanes",), ("prune-lanes",), ("lanes",)]
    answers = race_forked([(agent, words) for words in runs])
    assert [answer.status for answer in answers] == [0] * len(runs), answers
    assert sorted(path.name for path in lane_path(agent).parent.iterdir()) == ["11-work", "12-work", "13-work"]
    assert all(lane_of(path)["items"] for path in lane_path(agent).parent.iterdir())


# release --remove-worktree


def test_release_inside_a_lane_knows_its_item_and_removes_the_worktree(agent: ForkedAgent, server: Server) -> None:
    lane = start(agent, "42")
    work(lane)
    lane.claim("push", check=0)
    answer = lane.claim("release", "--remove-worktree")
    assert (server.refs(), lane.clone.path.exists()) == ({}, False)
    assert agent.clone.refs("refs/heads/42-work").keys() == {"refs/heads/42-work"}
    assert shown(answer) == block("""
        exit 0
        --- stdout
        released server#42
        --- stderr
        removed <path>
        """)


def test_release_from_elsewhere_removes_the_worktree_of_that_item_alone(agent: ForkedAgent, server: Server) -> None:
    lane, other = start(agent, "42"), start(agent, "43")
    agent.claim("release", "42", "--remove-worktree", check=0)
    assert (lane.clone.path.exists(), other.clone.path.exists()) == (False, True)
    assert holders(server) == {"issue-43": "chain-agent-1"}


def test_release_of_all_removes_what_is_saved_and_names_what_stays(agent: ForkedAgent, server: Server) -> None:
    saved, dirty = start(agent, "42"), start(agent, "43")
    changed(dirty)
    answer = agent.claim("release", "--all", "--remove-worktree")
    assert (server.refs(), saved.clone.path.exists(), dirty.clone.path.exists()) == ({}, False, True)
    assert shown(answer) == block("""
        exit 0
        --- stdout
        released server#42
        released server#43
        --- stderr
        removed <path>
        warning: <path> stays: uncommitted changes
        """)


@pytest.mark.parametrize("spoil", [changed, untracked, unpushed, locked], ids=lambda case: case.__name__)
def test_release_keeps_a_worktree_with_unsaved_work(
    agent: ForkedAgent, server: Server, spoil: Callable[[ForkedAgent], None]
) -> None:
    lane = start(agent, "42")
    spoil(lane)
    before = everything(lane.clone)
    answer = lane.claim("release", "--remove-worktree")
    assert (answer.status, server.refs()) == (0, {})
    assert everything(lane.clone) == before
    assert answer.transcript(lane=str(lane.clone.path)).splitlines()[-1].startswith("warning: <lane> stays: ")


def test_release_that_is_refused_removes_nothing(agent: ForkedAgent, server: Server) -> None:
    lane = start(agent, "42")
    planted = plant(server, "issue-42")
    before = everything(agent.clone)
    answer = lane.claim("release", "--remove-worktree")
    assert (answer.status, server.refs()) == (1, {"refs/claims/issue-42": planted})
    assert everything(agent.clone) == before


def test_release_of_one_of_two_items_keeps_the_lane_of_both(agent: ForkedAgent, server: Server) -> None:
    lane = start(agent, "42")
    lane.claim("43", check=0)
    lane.claim("release", "43", "--remove-worktree", check=0)
    assert (holders(server), lane.clone.path.exists()) == ({"issue-42": "chain-agent-1"}, True)


def test_lane_of_another_chain_on_the_item_is_left(agent: ForkedAgent, server: Server) -> None:
    theirs = start(ForkedAgent(agent.clone, "chain-theirs"), "42", "--slug", "theirs")
    server.plant_claim("issue-42", "chain-agent-1")
    before = everything(agent.clone)
    answer = agent.claim("release", "42", "--remove-worktree")
    assert (answer.status, server.refs(), answer.stderr) == (0, {}, "")
    assert everything(agent.clone) == before
    assert lane_of(theirs.clone.path)["chain"] == "chain-theirs"


def test_release_knows_pushed_work_where_the_clone_tracks_one_branch_only(make_agent: MakeAgent) -> None:
    lane = start(forked(make_agent("--single-branch")), "42")
    work(lane)
    lane.claim("push", check=0)
    lane.claim("release", "--remove-worktree", check=0)
    assert not lane.clone.path.exists()


def test_worktree_made_by_hand_is_not_removed_with_its_claim(agent: ForkedAgent) -> None:
    agent.claim("42", check=0)
    made = agent.clone.worktree("by-hand", "42-by-hand")
    answer = agent.claim("release", "42", "--remove-worktree")
    assert made.path.exists()
    assert answer.stderr.endswith(" stays: no chain has worked in it, somebody made it by hand\n")
