"""The race that the README starts with: agents in clones of their own ask for the same issue at the same moment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from git_claims.git.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Raced:
    """One issue after its race. `winners` were told that they hold it; `holder` is whom the server names."""

    item: str
    winners: tuple[str, ...]
    lost: int
    holder: str | None

    @property
    def is_fair(self) -> bool:
        """Says whether exactly one agent was told that it won, and the server agrees."""
        return len(self.winners) == 1 and self.winners[0] == self.holder


def race(sandbox: Sandbox, agents: int, issues: int) -> Iterator[Raced]:
    """Lets all agents ask for one issue at once, issue after issue, and compares what each of them was told."""
    places = sandbox.create(agents)
    chains = [f"agent-{number}" for number in range(1, agents + 1)]
    for number in range(1, issues + 1):
        finished = sandbox.race(list(zip(places, chains, strict=True)), "take", "--json", str(number))
        told = {chain: _outcome(end.stdout) for chain, end in zip(chains, finished, strict=True)}
        winners = tuple(chain for chain in chains if told[chain] == "claimed")
        lost = sum(outcome == "held" for outcome in told.values())
        yield Raced(f"issue-{number}", winners, lost, sandbox.holder(f"issue-{number}"))


def _outcome(stdout: bytes) -> str | None:
    try:
        return str(json.loads(stdout)["items"][0]["outcome"])
    except (ValueError, LookupError, TypeError):
        return None
