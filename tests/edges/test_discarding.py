"""Work that was merged goes from the clone: its worktree and its branch, and only what was merged of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from git_claims.git.worktree import Workspace
from git_claims.protocol.item import Item, Kind
from tests.edges.test_worktree import add, open_workspace
from tests.places import Clone, make_clone

BRANCH, REF, LANDED = "42-x", "refs/heads/42-x", "refs/git-claim/landed/42-x"
ITEM = Item(Kind.ISSUE, "42")


def make_lane(clone: Clone, items: str = '"issue-42"') -> Clone:
    """A lane with a commit in it."""
    path = add(clone, "lane", "-b", BRANCH)
    lane_file = clone.path / ".git/worktrees/lane/git-claim-lane.toml"
    lane_file.write_text(f'chain = "chain-a"\nitems = [{items}]\n')
    lane = Clone(path, clone.server, linked=True)
    lane.commit("work")
    return lane


@pytest.fixture
def lanes(clone: Clone) -> Workspace:
    return open_workspace(clone)


@pytest.fixture
def lane(clone: Clone) -> Clone:
    return make_lane(clone)


def head(clone: Clone) -> str:
    return clone.git("rev-parse", "HEAD").stdout.strip()


def left(clone: Clone) -> list[str]:
    """What of the lane is still there."""
    refs = clone.refs(REF) | clone.refs("refs/git-claim/")
    return [*refs, *(["worktree"] if clone.git("worktree", "list").stdout.count("\n") > 1 else [])]


def test_worktree_and_branch_of_what_was_merged_are_gone(clone: Clone, lanes: Workspace, lane: Clone) -> None:
    assert lanes.discard(BRANCH, head(lane), [ITEM]) is None
    assert left(clone) == [] and not lane.path.exists()
    assert lanes.discard(BRANCH, head(clone)) is None


def test_branch_without_a_worktree_is_gone_as_well(clone: Clone, lanes: Workspace) -> None:
    clone.git("branch", BRANCH)
    assert lanes.discard(BRANCH, head(clone)) is None
    assert left(clone) == []


def test_worktree_whose_directory_is_gone_is_taken_off_the_list(clone: Clone, lanes: Workspace, lane: Clone) -> None:
    oid = head(lane)
    lane.path.rename(lane.path.with_name("moved"))
    assert lanes.discard(BRANCH, oid, [ITEM]) is None
    assert left(clone) == []


def test_what_was_merged_may_hold_more_than_the_lane(clone: Clone, lanes: Workspace, lane: Clone) -> None:
    # Somebody brought the branch up to date on the server.
    tree, oid = f"{head(lane)}^{{tree}}", head(lane)
    newer = lane.git("commit-tree", "-p", oid, "-m", "merge", tree).stdout.strip()
    assert lanes.discard(BRANCH, newer, [ITEM]) is None
    assert left(clone) == []


def commits_more(lane: Clone) -> str:
    lane.commit("later")
    return "it has commits that were not merged"


def leaves_a_file(lane: Clone) -> str:
    (lane.path / "notes").write_text("mine")
    return "uncommitted changes"


def locks(lane: Clone) -> str:
    lane.git("worktree", "lock", str(lane.path))
    return "it is locked"


def has_no_lane_file(lane: Clone) -> str:
    (Path(lane.git("rev-parse", "--absolute-git-dir").stdout.strip()) / "git-claim-lane.toml").unlink()
    return "no chain has worked in it, somebody made it by hand"


@pytest.mark.parametrize("happens", [commits_more, leaves_a_file, locks, has_no_lane_file])
def test_worktree_that_holds_something_else_stays_with_its_branch(
    clone: Clone, lanes: Workspace, lane: Clone, happens: Callable[[Clone], str]
) -> None:
    oid = head(lane)
    why = happens(lane)
    assert lanes.discard(BRANCH, oid, [ITEM]) == f"{lane.path} stays: {why}"
    assert left(clone) == [REF, LANDED, "worktree"]
    assert clone.refs(LANDED) == {LANDED: oid}


def test_lane_that_works_on_another_item_too_stays(clone: Clone, lanes: Workspace) -> None:
    lane = make_lane(clone, '"issue-42", "issue-43"')
    assert lanes.discard(BRANCH, head(lane), [ITEM]) == f"{lane.path} stays: it is a lane of issue 43 too"
    assert left(clone) == [REF, LANDED, "worktree"]


def test_worktree_that_we_stand_in_stays(clone: Clone, lane: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    (lane.path / "below").mkdir()
    monkeypatch.chdir(lane.path / "below")
    here = open_workspace(clone).discard(BRANCH, head(lane), [ITEM])
    monkeypatch.chdir(clone.path)
    git_is_here = open_workspace(lane).discard(BRANCH, head(lane), [ITEM])
    assert here == git_is_here
    assert here == f"{lane.path} stays: we stand in it; 'git claim prune-lanes' removes it from elsewhere"
    assert left(clone) == [REF, LANDED, "worktree"]


def test_branch_that_somebody_stands_on_stays(clone: Clone, lanes: Workspace) -> None:
    clone.git("switch", "--quiet", "-c", BRANCH)
    oid = clone.commit("work")
    assert lanes.discard(BRANCH, oid) == f"branch '{BRANCH}' stays here: it is checked out at '{clone.path}'"
    assert clone.refs(REF) == {REF: oid}


def test_branch_that_holds_more_than_was_merged_stays(clone: Clone, lanes: Workspace) -> None:
    oid = head(clone)
    clone.git("branch", BRANCH)
    more = clone.git("commit-tree", "-p", oid, "-m", "more", f"{oid}^{{tree}}").stdout.strip()
    clone.git("update-ref", REF, more)
    assert lanes.discard(BRANCH, oid) == f"branch '{BRANCH}' stays here: it has commits that were not merged"
    assert clone.refs(REF) == {REF: more}


def test_commit_that_is_not_in_this_clone_is_no_error(clone: Clone, lanes: Workspace, tmp_path: Path) -> None:
    elsewhere = make_clone(clone.server, tmp_path, "elsewhere").commit("work")
    assert lanes.discard(BRANCH, elsewhere) is None
    clone.git("branch", BRANCH)
    said = lanes.discard(BRANCH, elsewhere)
    assert said == f"branch '{BRANCH}' stays here: the commit that was merged is not in this clone"
    assert left(clone) == [REF]


def test_worktree_that_git_will_not_remove_stays_with_gits_reason(clone: Clone, lanes: Workspace, lane: Clone) -> None:
    # git refuses to remove a worktree that has had submodules.
    (clone.path / ".git/worktrees/lane/modules").mkdir()
    (clone.path / ".git/worktrees/lane/modules/part").mkdir()
    kept = lanes.discard(BRANCH, head(lane), [ITEM])
    assert kept is not None and kept.startswith(f"{lane.path} stays: ") and "submodules" in kept
    assert left(clone) == [REF, LANDED, "worktree"]


def test_lane_that_stayed_counts_as_saved_and_takes_its_branch_along_when_it_goes(
    clone: Clone, lanes: Workspace, lane: Clone
) -> None:
    oid = head(lane)
    leaves_a_file(lane)
    lanes.discard(BRANCH, oid, [ITEM])
    (lane.path / "notes").unlink()
    [worktree] = lanes.worktrees()
    assert lanes.unsaved(worktree) is None
    lanes.remove(worktree)
    assert left(clone) == []


def test_branch_of_what_was_never_merged_stays_when_its_worktree_goes(
    clone: Clone, lanes: Workspace, lane: Clone
) -> None:
    [worktree] = lanes.worktrees()
    lanes.remove(worktree)
    assert left(clone) == [REF]
