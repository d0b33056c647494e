"""A server and clones that are thrown away again: what `git claim demo` races on."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from git_claims.child import Ended, signals_held, start, wait
from git_claims.git.process import Git

_AGENT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A bare repository and clones of it below `root`, with a git that reads none of the user's configuration."""

    root: Path
    environment: Mapping[str, str]

    @property
    def server(self) -> Path:
        """The bare repository all clones push to."""
        return self.root / "ledger.git"

    def create(self, clones: int) -> list[Path]:
        """Makes the server, and a clone for each agent."""
        git = Git(self.root, self.environment, _AGENT_SECONDS)
        git.ask("init", "--quiet", "--bare", "--", str(self.server))
        places = [self.root / f"clone-{number}" for number in range(1, clones + 1)]
        for place in places:
            git.ask("clone", "--quiet", "--", str(self.server), str(place))
        return places

    def race(self, agents: Sequence[tuple[Path, str]], *arguments: str) -> list[Ended]:
        """Runs `git claim` with the same arguments once for each (clone, chain), all at the same time."""
        command = [sys.executable, "-m", "git_claims", *arguments]
        with ExitStack() as running:
            children = []
            for place, chain in agents:
                with signals_held():
                    children.append(start(command, place, self._environment_of(chain)))
                    running.callback(wait, children[-1], 0.0)
            return [wait(child, _AGENT_SECONDS) for child in children]

    def holder(self, name: str) -> str | None:
        """Asks the server itself, the way any script may, which chain a claim names."""
        git = Git(self.server, self.environment, _AGENT_SECONDS, self.server)
        shown = git.run("cat-file", "blob", f"refs/claims/{name}:claim").stdout.decode()
        chains = [line.removeprefix("chain=") for line in shown.splitlines() if line.startswith("chain=")]
        return chains[0] if chains else None

    def _environment_of(self, chain: str) -> dict[str, str]:
        return {**self.environment, "GIT_CLAIM_CHAIN": chain}


def isolated(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """Returns an environment in which git knows no user, no system configuration and no other repository."""
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    own = {
        "HOME": str(root),
        "XDG_CONFIG_HOME": str(root),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    # The package must be found also where it is not installed but run from a checkout.
    return {**kept, **own, "PYTHONPATH": ":".join(path for path in sys.path if path)}
