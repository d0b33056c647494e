"""The table of the crash matrix on GitHub: a command joins it by one line.

A row says what comes before the command, the command, and what GitHub and the server show of the issue when the
command has been run until it succeeded. Every crash has an issue of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.agents import Agent
from tests.commands.pulling import make_lane
from tests.forked import forked
from tests.github_double import GitHub

ME, RIVAL, NEXT = "chain-me", "chain-rival", "chain-next"
QUEUED = frozenset({"afk", "ready"})
CLAIMED = frozenset({"afk", "in-progress"})
PARENTS = 3000


@dataclass(frozen=True, slots=True)
class End:
    """How an issue ends: the holder (None: nobody), labels, assignees, open or not, and its lock comments."""

    holder: str | None
    labels: frozenset[str]
    assignees: tuple[str, ...] = ("octo",)
    is_open: bool = True
    comments: int = 1


Arrange = Callable[[GitHub, Agent, int], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One command; `{n}` stands for the issue and `{p}` for its pull request."""

    name: str
    arrange: Arrange
    command: str
    end: End
    also: Arrange | None = None
    """What else must be so in the end, such as branches."""

    def __str__(self) -> str:
        return self.name

    def words(self, number: int) -> tuple[str, ...]:
        return tuple(self.command.format(n=number, p=number + 5000).split())


def free(github: GitHub, agent: Agent, number: int) -> None:
    github.add_issue(number, "An issue", labels=sorted(QUEUED))


def taken(github: GitHub, agent: Agent, number: int) -> None:
    free(github, agent, number)
    agent.claim("take", str(number), check=0)


def merged(github: GitHub, agent: Agent, number: int) -> None:
    """Merged without a word that would close the issue."""
    taken(github, agent, number)
    github.add_pull(number + 5000, head=f"{number}-fix")
    github.merge(number + 5000)


def lane(github: GitHub, agent: Agent, number: int) -> Agent:
    """A lane with a commit that no server has; the issue is a part of another."""
    branch = f"{number}-work"
    issue = github.add_issue(number, "An issue", labels=sorted(CLAIMED), assignees=["octo"])
    github.add_issue(number + PARENTS, "The whole", children=[number])
    issue.body = f"## Parent\n\n#{number + PARENTS}"
    agent.clone.server.plant_claim(f"issue-{number}", ME, operator="octo", branch=branch)
    return make_lane(forked(agent), (number,), branch)


def unproposed(github: GitHub, agent: Agent, number: int) -> None:
    lane(github, agent, number)


def proposed(github: GitHub, agent: Agent, number: int) -> None:
    lane(github, agent, number).clone.git("push", "--quiet", "origin", f"{number}-work", environment=agent.environment)
    github.add_pull(number + 5000, head=f"{number}-work", closes=number)


def has_one_pull_request(github: GitHub, agent: Agent, number: int) -> None:
    [pull] = [each for each in github.repository().pulls() if each.head == f"{number}-work"]
    assert (pull.state, pull.body, pull.assignees) == ("OPEN", f"Closes #{number}", ["octo"])
    assert agent.clone.server.refs(f"refs/heads/{number}-work") == agent.clone.refs(f"refs/heads/{number}-work")


def is_cleared_away(github: GitHub, agent: Agent, number: int) -> None:
    """Merged once, the parent closed with a word, and neither branch nor worktree is left."""
    assert github.pull(number + 5000).state == "MERGED" and github.issue(number).state_reason == "COMPLETED"
    parent, branch = github.issue(number + PARENTS), f"refs/heads/{number}-work"
    assert (parent.state, len(parent.comments)) == ("CLOSED", 1)
    assert agent.clone.server.refs(branch) == {} and agent.clone.refs(branch) == {}
    assert not (agent.clone.path / ".worktrees" / f"{number}-work").exists()


def held_by_ada(github: GitHub, agent: Agent, number: int) -> None:
    github.add_issue(number, "An issue", labels=sorted(CLAIMED), assignees=["ada", "bob"])
    agent.clone.server.plant_claim(f"issue-{number}", RIVAL, operator="ada")


def locked_by_ada(github: GitHub, agent: Agent, number: int) -> None:
    free(github, agent, number)
    replace(agent, chain=RIVAL, environment=github.environment("ada")).claim("take", str(number), check=0)


def at_a_step(github: GitHub, agent: Agent, number: int) -> None:
    free(github, agent, number)
    agent.claim("take", str(number), "--phase", "build", check=0)


def unseen(github: GitHub, agent: Agent, number: int) -> None:
    """A claim whose signals never landed."""
    free(github, agent, number)
    agent.clone.server.plant_claim(f"issue-{number}", ME, operator="octo")


MATRIX = (
    Row("take", free, "take {n}", End(ME, CLAIMED)),
    Row("merged", merged, "release {n} --merged --pr {p}", End(None, frozenset({"afk"}), is_open=False, comments=2)),
    Row("abandoned", taken, "release {n} --abandoned", End(None, QUEUED, (), comments=2)),
    Row("blocked", taken, "release {n} --blocked --reason api", End(None, frozenset({"afk", "blocked"}), comments=2)),
    Row("ci", taken, "release {n} --ci-monitoring", End(None, frozenset({"afk", "ci-monitoring"}), comments=2)),
    Row("hand-off", taken, f"hand-off {{n}} --to {NEXT} --phase review", End(NEXT, CLAIMED, comments=2)),
    Row("take over", held_by_ada, "take {n} --force --reason late", End(ME, CLAIMED, ("bob", "octo"))),
    Row("reclaim", held_by_ada, "reclaim {n}", End(None, QUEUED, ("bob",))),
    Row("hold", taken, "hold {n} --reason design", End(None, QUEUED | {"hold"}, (), comments=2)),
    Row("next step", at_a_step, "take {n} --phase land", End(ME, CLAIMED, comments=2)),
    Row("adopt", locked_by_ada, f"adopt {{n}} --from {RIVAL}", End(ME, CLAIMED, comments=2)),
    Row("sync", unseen, "sync {n}", End(ME, CLAIMED)),
    Row("pr", unproposed, "-C .worktrees/{n}-work pr", End(ME, CLAIMED, comments=0), has_one_pull_request),
    Row("land", proposed, "land {n} --without-checks", End(None, frozenset({"afk"}), is_open=False), is_cleared_away),
)
