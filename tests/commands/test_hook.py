"""`git claim hook`: put where git looks, taken away again, and what it answers to the lines of a push."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from git_claims.git.hooks import shipped, stamped
from tests.agents import Answer
from tests.commands.lane import inside, start
from tests.commands.telling import block
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked

BY_HAND = 'git claim hook pre-push "$@"'


def hooks_of(agent: ForkedAgent) -> Path:
    return agent.clone.path / ".git/hooks"


def write_hook(path: Path, text: str = "#!/bin/sh\nexit 0\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def state(agent: ForkedAgent) -> object:
    return agent.claim("hook", "status", "--json").at("state")


def files(directory: Path) -> dict[str, tuple[bytes, int]]:
    found = [path for path in directory.rglob("*") if path.is_file() and not path.name.endswith(".sample")]
    return {str(path.relative_to(directory)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in found}


# Installing


def test_hook_is_installed_where_git_looks(agent: ForkedAgent) -> None:
    answer = agent.claim("hook", "install")
    hook = hooks_of(agent) / "pre-push"
    assert (hook.read_text(), hook.stat().st_mode & 0o111) == (stamped(shipped()), 0o111)
    assert answer.transcript(hook=str(hook)) == block("""
        exit 0
        --- stdout
        pre-push hook installed: <hook>
        --- stderr
        """)
    assert agent.claim("hook", "status").transcript(hook=str(hook)) == block("""
        exit 0
        --- stdout
        <hook>: our pre-push hook, up to date
        --- stderr
        """)


def test_installing_again_changes_nothing(agent: ForkedAgent) -> None:
    agent.claim("hook", "install", check=0)
    before = files(hooks_of(agent))
    answer = agent.claim("hook", "install")
    assert (answer.status, files(hooks_of(agent))) == (0, before)
    assert answer.stdout.startswith("pre-push hook is installed already: ")


def test_clone_without_a_hook_says_so(agent: ForkedAgent) -> None:
    answer = agent.claim("hook", "status")
    hook = hooks_of(agent) / "pre-push"
    assert answer.transcript(hook=str(hook)) == "exit 1\n--- stdout\n<hook>: no pre-push hook\n--- stderr\n"


def test_hook_that_was_there_is_kept_behind_ours_and_comes_back(agent: ForkedAgent) -> None:
    theirs = write_hook(hooks_of(agent) / "pre-push", "#!/bin/sh\n# theirs\n", 0o750)
    before = files(hooks_of(agent))
    assert state(agent) == "foreign"
    answer = agent.claim("hook", "install")
    assert (
        answer.stdout == f"pre-push hook installed; the hook that was there runs first, as pre-push.chained: {theirs}\n"
    )
    assert agent.claim("hook", "status").stdout.splitlines()[1] == f"runs first: {theirs}.chained"
    assert agent.claim("hook", "install").stdout.startswith("pre-push hook is installed already")
    gone = agent.claim("hook", "uninstall")
    assert (gone.stdout, files(hooks_of(agent))) == ("pre-push hook taken away\n", before)


def test_hook_that_is_a_link_stays_one(agent: ForkedAgent) -> None:
    target = write_hook(agent.clone.path / "tools/pre-push")
    hooks_of(agent).mkdir(exist_ok=True)
    (hooks_of(agent) / "pre-push").symlink_to("../../tools/pre-push")
    agent.claim("hook", "install", check=0)
    assert target.read_text() == "#!/bin/sh\nexit 0\n"
    agent.claim("hook", "uninstall", check=0)
    assert str((hooks_of(agent) / "pre-push").readlink()) == "../../tools/pre-push"


def test_uninstalling_leaves_nothing_and_may_be_repeated(agent: ForkedAgent) -> None:
    before = files(hooks_of(agent))
    agent.claim("hook", "install", check=0)
    agent.claim("hook", "uninstall", check=0)
    assert files(hooks_of(agent)) == before
    answer = agent.claim("hook", "uninstall")
    assert answer == Answer(0, "our pre-push hook is not there, nothing to take away\n", "")
    write_hook(hooks_of(agent) / "pre-push")
    assert agent.claim("hook", "uninstall") == answer
    assert (hooks_of(agent) / "pre-push").exists()


def earlier() -> str:
    """What a version of ours looks like that was another text."""
    return stamped(shipped().replace("exit 0", "exit 0 # as it was then"))


@pytest.mark.parametrize(
    ("text", "mode", "found"),
    [(earlier(), 0o755, "older"), (stamped(shipped()), 0o644, "older"), (shipped(), 0o755, "current")],
    ids=["an earlier text", "not executable", "copied by hand"],
)
def test_version_of_ours_is_recognised_and_renewed(agent: ForkedAgent, text: str, mode: int, found: str) -> None:
    hook = write_hook(hooks_of(agent) / "pre-push", text, mode)
    write_hook(hooks_of(agent) / "pre-push.chained")
    assert state(agent) == found
    assert agent.claim("hook", "status").status == (0 if found == "current" else 1)
    agent.claim("hook", "install", check=0)
    assert (state(agent), hook.stat().st_mode & 0o111) == ("current", 0o111)
    assert (hooks_of(agent) / "pre-push.chained").exists()
    agent.claim("hook", "uninstall", check=0)
    assert files(hooks_of(agent)).keys() == {"pre-push"}


def test_version_of_ours_that_somebody_edited_is_left_alone(agent: ForkedAgent) -> None:
    hook = write_hook(hooks_of(agent) / "pre-push", stamped(shipped()) + "echo more\n")
    before = files(hooks_of(agent))
    assert state(agent) == "edited"
    assert agent.claim("hook", "install").transcript(hook=str(hook)) == block("""
        exit 128
        --- stdout
        --- stderr
        fatal: '<hook>' is a version of our hook that somebody changed
        hint: keep what was changed elsewhere, then 'git claim hook uninstall' and install again
        """)
    assert agent.claim("hook", "uninstall").status == 128
    assert files(hooks_of(agent)) == before


def test_foreign_hook_with_another_behind_it_is_left_alone(agent: ForkedAgent) -> None:
    # As after another program has put its own hook over ours.
    write_hook(hooks_of(agent) / "pre-push")
    write_hook(hooks_of(agent) / "pre-push.chained")
    before = files(hooks_of(agent))
    answer = agent.claim("hook", "install")
    assert (answer.status, files(hooks_of(agent))) == (128, before)
    assert answer.stderr.endswith(f"hint: add this line to '{hooks_of(agent)}/pre-push': {BY_HAND}\n")


def globally(agent: ForkedAgent, tmp_path: Path) -> tuple[str, Path]:
    agent.clone.git("config", "--global", "core.hooksPath", str(tmp_path / "everywhere"))
    everywhere = tmp_path / "everywhere"
    return f"core.hooksPath leads every repository of this machine to '{everywhere}'", everywhere / "pre-push"


def into_the_tree(agent: ForkedAgent, tmp_path: Path) -> tuple[str, Path]:
    agent.clone.config("core.hooksPath", ".husky/_")
    husky = agent.clone.path / ".husky"
    return f"core.hooksPath leads into the work tree, to '{husky}/_'", husky / "pre-push"


def at_the_top(agent: ForkedAgent, tmp_path: Path) -> tuple[str, Path]:
    agent.clone.config("core.hooksPath", ".")
    return f"core.hooksPath leads into the work tree, to '{agent.clone.path}'", agent.clone.path / "pre-push"


@pytest.mark.parametrize("lead", [globally, into_the_tree, at_the_top], ids=lambda lead: lead.__name__)
def test_place_that_is_not_ours_is_left_alone_and_the_line_for_it_printed(
    agent: ForkedAgent, tmp_path: Path, lead: Callable[[ForkedAgent, Path], tuple[str, Path]]
) -> None:
    reason, hook = lead(agent, tmp_path)
    before = files(tmp_path)
    answer = agent.claim("hook", "install")
    assert answer.status == 128
    assert answer.stderr == f"fatal: {reason}\nhint: add this line to '{hook}': {BY_HAND}\n"
    status = agent.claim("hook", "status")
    assert (status.status, status.stderr) == (1, f"{reason}; the line for '{hook}' is: {BY_HAND}\n")
    assert agent.claim("hook", "status", "--json").at("by_hand") == BY_HAND
    assert {path: kept for path, kept in files(tmp_path).items() if path in before} == before
    assert not (tmp_path / "everywhere").exists()


def test_hooks_in_the_tree_of_a_worktree_elsewhere_are_not_ours_either(agent: ForkedAgent) -> None:
    agent.clone.config("core.hooksPath", ".husky/_")
    beside = inside(agent, agent.clone.worktree("beside").path)
    assert beside.claim("hook", "install").status == 128
    assert not (beside.clone.path / ".husky").exists()


def test_directory_of_this_clone_elsewhere_gets_the_hook(agent: ForkedAgent, tmp_path: Path) -> None:
    agent.clone.config("core.hooksPath", str(tmp_path / "hooks"))
    assert agent.claim("hook", "install").status == 0
    assert (tmp_path / "hooks/pre-push").exists()
    assert not (hooks_of(agent) / "pre-push").exists()


def test_directory_that_cannot_be_written_is_an_error_that_says_so(agent: ForkedAgent) -> None:
    agent.clone.config("core.hooksPath", "/dev/null")
    answer = agent.claim("hook", "install")
    assert (answer.status, answer.stderr.splitlines()[0]) == (
        128,
        "fatal: cannot write '/dev/null/pre-push': File exists",
    )


def test_linked_worktrees_and_bare_clones_have_one_place(agent: ForkedAgent, make_agent: MakeAgent) -> None:
    lane = start(agent, "42")
    lane.claim("hook", "install", check=0)
    assert (hooks_of(agent) / "pre-push").exists()
    assert (state(agent), state(lane)) == ("current", "current")
    bare = forked(make_agent("--bare"))
    bare.claim("hook", "install", check=0)
    assert (bare.clone.path / "hooks/pre-push").exists()


def test_json_says_where_what_was_and_what_is(agent: ForkedAgent) -> None:
    hook = write_hook(hooks_of(agent) / "pre-push")
    assert agent.claim("hook", "install", "--json").json == {
        "ok": True,
        "path": str(hook),
        "state": "current",
        "before": "foreign",
        "chained": f"{hook}.chained",
        "by_hand": None,
    }
