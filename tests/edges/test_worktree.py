"""Linked worktrees as git describes them, and the one question that decides whether one may go."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_claims.git.worktree import Place, Readiness, Workspace, main_top, workspace
from tests.conftest import MakeAgent
from tests.edges.opening import open_remote, open_repository
from tests.places import Clone


def open_workspace(clone: Clone, directory: str = ".worktrees") -> Workspace:
    return workspace(open_repository(clone.path), open_remote(clone.path), directory)


def add(clone: Clone, name: str, *arguments: str) -> Path:
    path = clone.path.parent / name
    clone.git("worktree", "add", "--quiet", *arguments, str(path))
    return path


def test_main_worktree_is_none_of_the_linked_ones(clone: Clone) -> None:
    path = add(clone, "lane", "-b", "42-x")
    (found,) = open_workspace(clone).worktrees()
    assert (found.path, found.branch, found.gone, found.locked, found.lane) == (path, "42-x", False, False, None)
    assert found.git_dir == clone.path / ".git/worktrees/lane"


def test_worktree_is_described_from_inside_another_as_well(clone: Clone) -> None:
    path, other = add(clone, "lane", "-b", "42-x"), add(clone, "other", "-b", "43-x")
    lane = Clone(path, clone.server, linked=True)
    assert {each.path for each in open_workspace(lane).worktrees()} == {path, other}
    assert open_workspace(lane).directory == clone.path / ".worktrees"


@pytest.mark.parametrize("name", ["with space", "new\nline", "ünicode", "'quote\"", "worktree x", "-dash"])
def test_directory_of_any_name_is_read_whole(clone: Clone, name: str) -> None:
    path = add(clone, name, "-b", "42-x")
    (found,) = open_workspace(clone).worktrees()
    assert (found.path, found.branch, found.gone) == (path, "42-x", False)


def test_detached_locked_gone_and_unfinished_are_told_apart(clone: Clone) -> None:
    detached, locked, unfinished = (add(clone, name, "--detach") for name in ("detached", "locked", "unfinished"))
    clone.git("worktree", "lock", "--reason", "because\nit is", str(locked))
    clone.git("worktree", "lock", "--reason", "initializing", str(unfinished))
    add(clone, "gone", "-b", "x").rename(clone.path.parent / "moved")
    found = {each.path.name: each for each in open_workspace(clone).worktrees()}
    assert found["detached"].branch is None and found["detached"].path == detached
    assert [name for name, each in found.items() if each.locked] == ["locked", "unfinished"]
    assert [name for name, each in found.items() if each.unfinished] == ["unfinished"]
    assert [name for name, each in found.items() if each.gone] == ["gone"]


def test_relative_directory_is_below_the_main_worktree_or_the_bare_repository(
    clone: Clone, make_agent: MakeAgent, tmp_path: Path
) -> None:
    bare = make_agent("--bare").clone
    assert open_workspace(clone, "a/b").directory == clone.path / "a/b"
    assert open_workspace(clone, "../beside").directory == tmp_path / "beside"
    assert open_workspace(clone, "/else/where").directory == Path("/else/where")
    assert open_workspace(bare).directory == bare.path / ".worktrees"
    assert (main_top(open_repository(clone.path)), main_top(open_repository(bare.path))) == (clone.path, None)


def test_slashes_of_a_branch_make_no_directories(clone: Clone) -> None:
    place = open_workspace(clone).place("feature/42/x")
    assert place == Place(clone.path / ".worktrees/feature-42-x", "feature/42/x")


def test_what_a_lane_needs_is_found_out_without_changing_anything(clone: Clone) -> None:
    lanes = open_workspace(clone)
    place = lanes.place("42-x")
    assert lanes.prepare(place) is Readiness.CREATE
    clone.git("branch", "42-x")
    assert lanes.prepare(place) is Readiness.ATTACH
    lanes.open(place, Readiness.ATTACH, None, None)
    assert lanes.prepare(place) is Readiness.REUSE
    assert lanes.prepare(lanes.place("43-x")) is Readiness.CREATE
    assert not (clone.path / ".worktrees/43-x").exists()


def test_commits_are_counted_that_no_branch_of_the_remote_has(clone: Clone) -> None:
    lanes = open_workspace(clone)
    path = add(clone, "lane", "-b", "42-x")
    lane = Clone(path, clone.server, linked=True)
    counts = []
    for subject in ("one", "two"):
        lane.commit(subject)
        counts.append(lanes.unsaved(*lanes.worktrees()))
    lane.git("push", "--quiet", "origin", "HEAD~1:refs/heads/half")
    counts.append(lanes.unsaved(*lanes.worktrees()))
    lane.git("push", "--quiet", "origin", "HEAD:refs/heads/whole")
    counts.append(lanes.unsaved(*lanes.worktrees()))
    assert counts == [
        "1 commit on no remote branch",
        "2 commits on no remote branch",
        "1 commit on no remote branch",
        None,
    ]


def test_branches_of_other_remotes_save_nothing(clone: Clone) -> None:
    # Only where the claims live is where the work is looked for.
    lanes = open_workspace(clone)
    lane = Clone(add(clone, "lane", "-b", "42-x"), clone.server, linked=True)
    lane.commit("one")
    lane.git("update-ref", "refs/remotes/fork/42-x", "HEAD")
    assert lanes.unsaved(*lanes.worktrees()) == "1 commit on no remote branch"


def test_state_that_cannot_be_read_counts_as_unsaved(clone: Clone) -> None:
    lanes = open_workspace(clone)
    path = add(clone, "lane", "-b", "42-x")
    (clone.path / ".git/worktrees/lane/index").write_bytes(b"not an index")
    assert (lanes.unsaved(*lanes.worktrees()) or "").startswith("its state cannot be read: ")
    assert path.exists()


def test_remote_that_is_silent_leaves_what_was_seen_last(clone: Clone, tmp_path: Path) -> None:
    add(clone, "lane", "-b", "42-x")
    clone.config("remote.origin.url", str(tmp_path / "gone.git"))
    lanes = open_workspace(clone)
    lanes.look_for_pushed(None)
    assert lanes.unsaved(*lanes.worktrees()) is None
