"""Where we stand: found once, the way git finds it, and pinned from then on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from git_claims.errors import GitFailed, NoRepository
from git_claims.git.repository import MINIMUM_GIT, version
from tests.agents import ROOT
from tests.edges.opening import open_git, open_remote, open_repository
from tests.places import Clone, Server, make_clone, run_git


def test_main_worktree_is_found(clone: Clone) -> None:
    found = open_repository(clone.path)
    assert (found.top, found.git_dir, found.common_dir) == (clone.path, clone.path / ".git", clone.path / ".git")
    assert (found.linked, found.object_format) == (False, "sha1")


@pytest.mark.parametrize("inside", ["a/b", "a b/ünïcode", "a\u2028b"])
def test_subdirectory_belongs_to_the_worktree_above(clone: Clone, inside: str) -> None:
    (clone.path / inside).mkdir(parents=True)
    found = open_repository(clone.path / inside)
    assert (found.top, found.git_dir) == (clone.path, clone.path / ".git")


def test_linked_worktree_has_a_directory_of_its_own_and_shares_the_rest(clone: Clone) -> None:
    lane = clone.worktree("lane")
    (lane.path / "sub").mkdir()
    for place in (lane.path, lane.path / "sub"):
        found = open_repository(place)
        assert (found.top, found.git_dir) == (lane.path, clone.path / ".git/worktrees/lane")
        assert (found.common_dir, found.linked) == (clone.path / ".git", True)


@pytest.mark.parametrize("inside", [".git", ".git/refs/heads"])
def test_inside_the_git_directory_there_is_no_worktree(clone: Clone, inside: str) -> None:
    found = open_repository(clone.path / inside)
    assert (found.top, found.git_dir, found.linked) == (None, clone.path / ".git", False)


def test_bare_repository_has_no_worktree(server: Server) -> None:
    found = open_repository(server.path / "refs")
    assert (found.top, found.git_dir, found.common_dir) == (None, server.path, server.path)


def test_worktree_of_a_bare_clone_is_linked(server: Server, tmp_path: Path) -> None:
    bare = make_clone(server, tmp_path, "bare.git", None, "--bare")
    lane = bare.worktree("lane")
    found = open_repository(lane.path)
    assert (found.top, found.common_dir, found.linked) == (lane.path, bare.path, True)


def test_sha256_is_said(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "--quiet", "--object-format=sha256", "new")
    assert open_repository(tmp_path / "new").object_format == "sha256"


def test_submodule_is_a_repository_of_its_own(clone: Clone, server: Server) -> None:
    clone.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", server.url, "part")
    found = open_repository(clone.path / "part")
    assert (found.top, found.git_dir) == (clone.path / "part", clone.path / ".git/modules/part")
    assert not found.linked


def test_git_dir_of_the_environment_is_followed(clone: Clone, repository: Clone) -> None:
    found = open_repository(repository.path, GIT_DIR=str(clone.path / ".git"), GIT_WORK_TREE=str(clone.path))
    assert (found.top, found.git_dir) == (clone.path, clone.path / ".git")


def test_relative_git_dir_of_the_environment_is_pinned_whole(clone: Clone) -> None:
    found = open_repository(clone.path.parent, GIT_DIR=f"{clone.path.name}/.git", GIT_WORK_TREE=clone.path.name)
    assert (found.top, found.git_dir) == (clone.path, clone.path / ".git")


def test_worktree_elsewhere_is_found(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    clone.config("core.worktree", str(tmp_path / "elsewhere"))
    assert open_repository(clone.path / ".git").top == tmp_path / "elsewhere"


def test_no_repository_is_said_in_gits_words(tmp_path: Path) -> None:
    with pytest.raises(NoRepository, match=r"^no git repository here: not a git repository") as refusal:
        open_repository(tmp_path)
    assert refusal.value.hint == "change into a clone, or name one with 'git claim -C PATH'"


def test_broken_repository_is_said_in_gits_words(clone: Clone) -> None:
    (clone.path / ".git/config").write_text("[core\n")
    with pytest.raises(NoRepository, match="bad config line 1"):
        open_repository(clone.path)


def test_directory_whose_name_breaks_the_answer_is_refused_and_not_misread(clone: Clone, tmp_path: Path) -> None:
    broken = clone.path.rename(tmp_path / "a\nb")
    with pytest.raises(GitFailed, match="answered in a form this program does not know"):
        open_repository(broken)


def test_directory_whose_name_is_not_text_is_found(clone: Clone, tmp_path: Path) -> None:
    odd = clone.path.rename(tmp_path / os.fsdecode(b"caf\xe9"))
    assert open_repository(odd).top == odd
    assert open_repository(odd).git.ask("log", "--format=%s") == b"first\n"


def test_link_to_a_clone_leads_to_its_real_place(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(clone.path)
    assert open_repository(tmp_path / "link").top == clone.path


# What a hook exports must lead us where the push was made, and no child of ours astray.

HOOK = """#!/bin/sh
{python} -c '
import os
from pathlib import Path
from tests.edges.opening import open_repository
found = open_repository(Path.cwd())
kept = [name for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX") if name in found.git.environment]
print(found.top, found.git_dir, found.common_dir, kept, found.git.ask("status", "--porcelain").decode())
' >'{answer}' 2>&1
"""


@pytest.mark.parametrize("hook", ["pre-push", "pre-commit", "post-checkout"])
@pytest.mark.parametrize("linked", [False, True], ids=["main worktree", "linked worktree"])
def test_hook_is_in_the_worktree_that_fired_it(clone: Clone, tmp_path: Path, hook: str, linked: bool) -> None:
    place = clone.worktree("lane") if linked else clone
    script = clone.path / ".git/hooks" / hook
    script.parent.mkdir(exist_ok=True)
    script.write_text(HOOK.format(python=sys.executable, answer=tmp_path / "answer"))
    script.chmod(0o755)
    _fire(hook, place)
    private = clone.path / ".git/worktrees/lane" if linked else clone.path / ".git"
    assert (tmp_path / "answer").read_text() == f"{place.path} {private} {clone.path / '.git'} [] \n"


def _fire(hook: str, place: Clone) -> None:
    command = {
        "pre-push": ("push", "--quiet", "origin", "HEAD:refs/heads/pushed"),
        "pre-commit": ("commit", "--quiet", "--allow-empty", "-m", "second"),
        "post-checkout": ("checkout", "--quiet", "-b", "other"),
    }[hook]
    place.git(*command, environment={"PYTHONPATH": str(ROOT)})


def test_git_with_options_before_the_command_reaches_us(clone: Clone, tmp_path: Path) -> None:
    script = (
        "from pathlib import Path; from tests.edges.opening import open_repository;"
        "found = open_repository(Path.cwd());"
        "print(found.top, found.git.ask('config', 'a.b').decode().strip())"
    )
    program = tmp_path / "programs/git-where"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{script}"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    for options in (["-C", str(clone.path)], [f"--git-dir={clone.path}/.git", f"--work-tree={clone.path}"]):
        ran = subprocess.run(
            ["git", *options, "-c", "a.b=seen", "where"], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert (ran.stdout, ran.stderr) == (f"{clone.path} seen\n", "")


@pytest.mark.parametrize("place", ["top", "subdirectory", "linked worktree", "git directory"])
def test_remote_with_a_relative_path_is_where_git_finds_it(clone: Clone, server: Server, place: str) -> None:
    clone.config("remote.origin.url", f"../{server.path.name}")
    (clone.path / "sub").mkdir()
    directory = {"top": clone.path, "subdirectory": clone.path / "sub", "git directory": clone.path / ".git"}.get(place)
    if place == "git directory":
        clone.config("remote.origin.url", f"../../{server.path.name}")
    if directory is None:
        directory = clone.worktree("lane").path
    oid = server.plant_claim("issue-42", "chain-a")
    assert open_remote(directory).list_refs("refs/claims/issue-42") == {"refs/claims/issue-42": oid}


def test_version_is_numbers(tmp_path: Path) -> None:
    assert version(open_git(tmp_path)) >= MINIMUM_GIT


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("git version 2.39.5", (2, 39, 5)),
        ("git version 2.39.5 (Apple Git-154)", (2, 39, 5)),
        ("git version 2.51.0.rc1", (2, 51, 0)),
        ("git version 2.47.1.windows.2", (2, 47, 1, 2)),
    ],
)
def test_version_of_every_build_is_understood(tmp_path: Path, said: str, numbers: tuple[int, ...]) -> None:
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    assert version(open_git(tmp_path, PATH=f"{tmp_path}:{os.environ['PATH']}")) == numbers
