"""What people install: the wheel is built as a release is, put into an environment of its own, and driven there."""

from __future__ import annotations

import email
import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from git_claims import __version__
from tests.agents import ROOT
from tests.places import Clone, Server
from tests.transports import needs

NAME = f"git_claims-{__version__}"
SHARED = {
    "share/man/man1/git-claim.1": "man/git-claim.1",
    "share/man/man7/git-claims.7": "man/git-claims.7",
    "share/bash-completion/completions/git-claim": "git_claims/completions/git-claim.bash",
    "share/zsh/site-functions/_git-claim": "git_claims/completions/_git-claim",
    "share/fish/vendor_completions.d/git-claim.fish": "git_claims/completions/git-claim.fish",
}
HOOKS = ("pre-push", "pre-receive")


@dataclass(frozen=True, slots=True)
class Installed:
    """A release, and an environment that has the wheel, what it asks for and nothing else."""

    dist: Path
    prefix: Path

    @property
    def wheel(self) -> Path:
        return self.dist / f"{NAME}-py3-none-any.whl"

    @property
    def site(self) -> Path:
        [site] = self.prefix.glob("lib/python3*/site-packages")
        return site

    def run(self, clone: Clone, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs a command as in the activated environment; the program that runs the tests is nowhere."""
        others = [each for each in os.environ["PATH"].split(":") if not Path(each, "git-claim").exists()]
        kept = {name: text for name, text in os.environ.items() if name not in {"PYTHONPATH", "MANPATH", "MANPAGER"}}
        return subprocess.run(
            command,
            cwd=clone.path,
            env={**kept, "PATH": ":".join([str(self.prefix / "bin"), *others]), **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Made once, also where several processes share the tests."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "release"
    root.mkdir(exist_ok=True)
    made = Installed(root / "dist", root / "environment")
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "made").exists():
            _make(made)
            (root / "made").touch()
    return made


def _make(installed: Installed) -> None:
    # Without a choice `build` makes the wheel from the source distribution, which so proves to be whole.
    _python("-m", "build", "--no-isolation", "--outdir", str(installed.dist), str(ROOT))
    _python("-m", "venv", "--clear", "--without-pip", str(installed.prefix))
    for name in _closure(read_metadata(installed).get_all("Requires-Dist", [])):
        _link(metadata.distribution(name), installed.site)
    pip = ("-m", "pip", "--python", str(installed.prefix / "bin/python"), "install")
    _python(*pip, "--no-deps", "--no-index", "--no-compile", str(installed.wheel))


def _python(*arguments: str) -> None:
    answer = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=100)
    assert answer.returncode == 0, f"{answer.stdout}{answer.stderr}"


def _closure(requirements: Iterable[str]) -> set[str]:
    """The distributions that are needed without any extra, and what those need in turn."""
    found = [Requirement(text) for text in requirements]
    names = {each.name for each in found if each.marker is None or each.marker.evaluate({"extra": ""})}
    return names.union(*(_closure(metadata.requires(name) or []) for name in names))


def _link(distribution: metadata.Distribution, site: Path) -> None:
    for top in {file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."}:
        if not (site / top).exists():
            (site / top).symlink_to(str(distribution.locate_file(top)))


def read_metadata(installed: Installed) -> Message:
    with zipfile.ZipFile(installed.wheel) as wheel:
        return email.message_from_bytes(wheel.read(f"{NAME}.dist-info/METADATA"))


def read_sources() -> Iterator[str]:
    """Every file of the package in the tree, by its name there."""
    for path in sorted((ROOT / "git_claims").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(ROOT))


# What is in the files


def test_wheel_has_the_package_what_people_see_of_it_and_nothing_else(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = {name for name in wheel.namelist() if not name.startswith(f"{NAME}.dist-info/")}
        licence = wheel.read(f"{NAME}.dist-info/licenses/LICENSE")
    hooks = {f"git_claims/hooks/{name}" for name in HOOKS}
    assert names == {*read_sources(), *hooks, *(f"{NAME}.data/data/{name}" for name in SHARED)}
    assert {"git_claims/py.typed", "git_claims/cli/guide.txt"} <= names
    assert licence == (ROOT / "LICENSE").read_bytes()


def test_metadata_says_what_is_needed_and_what_is_granted(installed: Installed) -> None:
    found = read_metadata(installed)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (found["Name"], found["Version"], found["License-Expression"]) == ("git-claims", __version__, "MIT")
    assert found["Requires-Python"] == ">=3.11"
    needed = [text for text in found.get_all("Requires-Dist", []) if "extra ==" not in text]
    assert sorted(needed) == sorted(project["dependencies"])


def test_source_distribution_can_be_tested_and_checked(installed: Installed) -> None:
    with tarfile.open(installed.dist / f"{NAME}.tar.gz") as archive:
        names = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    tests = {str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/*.py")}
    assert {*read_sources(), *tests, *SHARED.values(), *(f"hooks/{name}" for name in HOOKS)} <= names
    assert {".ci/run", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "pyproject.toml"} <= names
    assert not [name for name in names if "__pycache__" in name or ".ci/venv" in name]


# What is installed


def test_pages_and_completions_lie_where_they_are_looked_for(installed: Installed, clone: Clone) -> None:
    for place, source in SHARED.items():
        assert (installed.prefix / place).read_bytes() == (ROOT / source).read_bytes()
    for shell, place in (("bash", "bash-completion/completions/git-claim"), ("zsh", "zsh/site-functions/_git-claim")):
        printed = installed.run(clone, "git", "claim", "completion", shell).stdout
        assert printed == (installed.prefix / "share" / place).read_text()


@pytest.mark.parametrize("command", ["git help claim", "git claim --help", "man 1 git-claim", "git help git-claims"])
def test_git_and_man_find_the_pages_by_themselves(installed: Installed, clone: Clone, command: str) -> None:
    needs(Path(shutil.which("man") or "man"), "man-db")
    answer = installed.run(clone, *command.split(), MANWIDTH="80")
    page = "git-claims - how claims stand" if command.endswith("claims") else "git-claim - claim issues"
    assert (answer.returncode, answer.stderr) == (0, "")
    assert page in answer.stdout


def test_man_finds_the_pages_of_this_installation(installed: Installed, clone: Clone) -> None:
    needs(Path(shutil.which("man") or "man"), "man-db")
    found = installed.run(clone, "man", "-w", "git-claim", "git-claims").stdout.splitlines()
    assert found == [str(installed.prefix / place) for place in SHARED if "/man/" in place]


def test_program_is_this_release_and_needs_only_what_it_asks_for(installed: Installed, clone: Clone) -> None:
    assert installed.run(clone, "git", "claim", "--version").stdout == f"git-claim {__version__}\n"
    where = "import git_claims; print(git_claims.__file__)"
    assert installed.run(clone, "python", "-c", where).stdout == f"{installed.site / 'git_claims/__init__.py'}\n"
    assert installed.run(clone, "python", "-c", "import pytest").returncode == 1


def test_first_command_of_the_readme_shows_a_fair_race(installed: Installed, clone: Clone) -> None:
    # Over 3 s on a busy machine: a server, two clones, and the program started anew for each agent.
    answer = installed.run(clone, "git-claim", "demo", "--agents", "2", "--issues", "1")
    assert (answer.returncode, answer.stdout.splitlines()[-1]) == (0, "each issue had exactly one winner")


def test_claim_is_built_in_process_by_what_the_wheel_asks_for(installed: Installed, clone: Clone) -> None:
    traced = clone.path.parent / "trace"
    answer = installed.run(clone, "git", "claim", "42", GIT_CLAIM_CHAIN="chain-1", GIT_TRACE=str(traced))
    assert answer.returncode == 0, answer
    assert list(clone.server.refs()) == ["refs/claims/issue-42"]
    assert "hash-object" not in traced.read_text()


def test_installed_hook_refuses_an_unclaimed_branch(installed: Installed, clone: Clone, server: Server) -> None:
    assert installed.run(clone, "git", "claim", "hook", "install").returncode == 0
    clone.commit("fix")
    push, chain = ("git", "push", "origin", "HEAD:refs/heads/42-fix"), {"GIT_CLAIM_CHAIN": "chain-1"}
    refused = installed.run(clone, *push, **chain)
    assert (refused.returncode, server.refs("refs/heads/42-fix")) == (1, {})
    assert "error: branch '42-fix' is not pushed" in refused.stderr
    assert installed.run(clone, "git", "claim", "42", **chain).returncode == 0
    assert installed.run(clone, *push, **chain).returncode == 0
    assert list(server.refs("refs/heads/42-fix")) == ["refs/heads/42-fix"]


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_are_installed_as_they_are_and_may_be_run(installed: Installed, name: str) -> None:
    hook = installed.site / "git_claims/hooks" / name
    assert hook.read_bytes() == (ROOT / "hooks" / name).read_bytes()
    assert os.access(hook, os.X_OK)
