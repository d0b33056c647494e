"""The table of the crash matrix: a command joins it by one line.

A row says what comes before the command, the command, and which chain the server names for each item when the
command has been run until it succeeded. Whatever killed it on the way must not show in the end.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.agents import Agent
from tests.forked import ForkedAgent
from tests.places import Clone, Server, make_clone, make_server

MINE = "<the chain of whoever runs the command>"
RIVAL = "chain-rival"
NEXT = "chain-next"
WORKTREE = ".worktrees/42-work"


@dataclass(frozen=True, slots=True)
class Place:
    """A server and a clone below one directory, as they were arranged, to be had again after every crash."""

    root: Path
    agent: ForkedAgent

    @property
    def server(self) -> Server:
        return self.agent.clone.server

    @property
    def saved(self) -> Path:
        return self.root.with_name(f"{self.root.name}.saved")

    def save(self) -> None:
        shutil.copytree(self.root, self.saved, symlinks=True)

    def restored(self) -> Agent:
        """Everything under the same paths as before, which linked worktrees and remotes remember."""
        shutil.rmtree(self.root)
        shutil.copytree(self.saved, self.root, symlinks=True)
        return self.agent


Arrange = Callable[[Place], Place]


@dataclass(frozen=True, slots=True)
class Row:
    """A command of the matrix. `arrange` may put the agent elsewhere, as into a linked worktree."""

    name: str
    arrange: Arrange
    command: str
    end: Mapping[str, str]
    also: Callable[[Place], None] | None = None
    """What else must be so in the end, such as branches."""
    gives_back: bool = False
    """What fails after the win frees the item again, and says so."""
    once: bool = False
    """When it has succeeded, whoever runs it again is somebody else."""

    def __str__(self) -> str:
        return self.name

    @property
    def words(self) -> tuple[str, ...]:
        command, *rest = self.command.split()
        return (command, "--json", *rest)


def free(place: Place) -> Place:
    return place


def own(command: str) -> Arrange:
    """The agent has run the command."""

    def arrange(place: Place) -> Place:
        place.agent.claim(*command.split(), check=0)
        return place

    return arrange


def others(*names: str, **fields: str) -> Arrange:
    """A rival holds the items; the agent may break claims without a person."""

    def arrange(place: Place) -> Place:
        for name in names:
            place.server.plant_claim(name, RIVAL, **fields)
        (place.agent.clone.path / ".claims.toml").write_text('take.force = "allow"\n')
        place.agent.clone.config("claim.allowReclaimWithoutTerminal", "true")
        return place

    return arrange


def others_bundle(place: Place) -> Place:
    """A rival holds 42 and, bundled with it, 43."""
    others("issue-42")(place)
    return others("issue-43", lead="42")(place)


def losing_replies(place: Place) -> Place:
    """The server dies at the first push, when it has done all."""
    place.server.reply_lost()
    return place


def lane(place: Place) -> Place:
    """The agent stands in a linked worktree and was never told its chain."""
    agent = place.agent
    return Place(place.root, ForkedAgent(agent.clone.worktree("lane"), None, agent.environment))


def lane_with_a_claim(place: Place) -> Place:
    """The agent has claimed an item from a linked worktree."""
    return own("take 42")(lane(place))


def unnamed(place: Place) -> Place:
    """The agent stands in the main worktree and was never told its chain."""
    return Place(place.root, replace(place.agent, chain=None))


def lane_with_work(place: Place) -> Place:
    """The agent stands in a lane that has a commit which no server has."""
    own("start 42")(place)
    clone = place.agent.clone
    lane = Clone(clone.path / WORKTREE, clone.server, linked=True)
    lane.commit("work")
    return Place(place.root, ForkedAgent(lane, None, place.agent.environment))


def has_its_worktree(place: Place) -> None:
    """The lane is there, on its branch, and works for the chain that the server names."""
    worktree = replace(place.agent.clone, path=place.agent.clone.path / WORKTREE, linked=True)
    assert worktree.git("symbolic-ref", "--short", "HEAD").stdout == "42-work\n"
    assert worktree.git("status", "--porcelain").stdout == ""
    assert ForkedAgent(worktree).claim("check").status == 0


def has_landed(place: Place) -> None:
    """The server has the branch as it is here."""
    head = place.agent.clone.git("rev-parse", "HEAD").stdout.strip()
    assert place.server.refs("refs/heads/42-work") == {"refs/heads/42-work": head}


def make_place(directory: Path, arrange: Arrange) -> Place:
    root = directory / "place"
    root.mkdir()
    clone: Clone = make_clone(make_server(root), root)
    place = arrange(Place(root, ForkedAgent(clone, "chain-me")))
    place.save()
    return place


def bundle(chain: str) -> dict[str, str]:
    return {"issue-42": chain, "issue-43": chain}


MATRIX = (
    Row("take", free, "take 42", {"issue-42": MINE}),
    Row("take of several", free, "take 42 43 pr-7", {"issue-42": MINE, "issue-43": MINE, "pr-7": MINE}),
    Row("take all or nothing", free, "take 42 43 --all-or-nothing", bundle(MINE)),
    Row("take of a bundle", free, "take 42 --bundle 43", bundle(MINE)),
    Row("take whose reply is lost", losing_replies, "take 42", {"issue-42": MINE}),
    Row("take again with a branch", own("take 42"), "take 42 --branch 42-fix", {"issue-42": MINE}),
    Row("take in a lane", lane, "take 42", {"issue-42": MINE}),
    Row("take over", others("issue-42"), "take 42 --force --reason late", {"issue-42": MINE}),
    Row("renew", own("take 42"), "renew 42 --phase review", {"issue-42": MINE}),
    Row("hand-off", own("take 42"), f"hand-off 42 --to {NEXT}", {"issue-42": NEXT}),
    Row("hand-off of a bundle", own("take 42 --bundle 43"), f"hand-off 42 --to {NEXT}", bundle(NEXT)),
    Row("adopt", others("issue-42"), f"adopt 42 --from {RIVAL}", {"issue-42": MINE}),
    Row("adopt of a bundle", others_bundle, f"adopt 42 --from {RIVAL}", bundle(MINE)),
    Row("release", own("take 42"), "release 42", {}),
    Row("release of a bundle", own("take 42 --bundle 43"), "release 42", {}),
    Row("release of all", own("take 42 43"), "release --all", {}),
    Row("release in a lane", lane_with_a_claim, "release", {}),
    Row("hand-off in a lane", lane_with_a_claim, f"hand-off --to {NEXT}", {"issue-42": NEXT}),
    Row("reclaim", others("issue-42"), "reclaim 42", {}),
    Row("reclaim of a bundle", others_bundle, "reclaim 42", {}),
    Row("start", free, "start 42", {"issue-42": MINE}, has_its_worktree, gives_back=True),
    Row("start of an unnamed", unnamed, "start 42", {"issue-42": MINE}, has_its_worktree, gives_back=True, once=True),
    Row("push", lane_with_work, "push", {"issue-42": MINE}, has_landed),
)  # fmt: skip
