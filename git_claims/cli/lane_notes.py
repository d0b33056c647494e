"""What commands note in the lane file of the worktree they were given in."""

from collections.abc import Sequence

from git_claims.cli.world import World
from git_claims.flows.change import Answer
from git_claims.git.lane_file import Lane
from git_claims.protocol.claim import ChainId
from git_claims.protocol.item import Item
from git_claims.protocol.transition import HOLDING, Outcome


def enter_lane(world: World, chain: ChainId, items: Sequence[Item]) -> None:
    """Notes the items in the lane file, unless the worktree belongs to another chain."""
    lane = world.lane or Lane(chain)
    if items and lane.chain == chain:
        world.keep_lane(lane.entered(tuple(items)))


def never_held(world: World, chain: ChainId, items: Sequence[Item]) -> None:
    """Takes items out that the chain never came to hold."""
    if world.lane is not None and world.lane.chain == chain and items:
        world.keep_lane(world.lane.without(tuple(items)))


def say_nothing_held(world: World, chain: ChainId, answers: Sequence[Answer]) -> None:
    """Takes back what was said of a chain that was made for these answers, where it came to hold nothing."""
    if world.chain_is_new and all(answer.outcome not in HOLDING | {Outcome.UNKNOWN} for answer in answers):
        world.talk.say(f"chain {chain} holds nothing and need not be kept")


def leave_lane(world: World, chain: ChainId, items: Sequence[Item]) -> None:
    """Moves items that the chain gave up to what the lane has released."""
    if world.lane is not None and world.lane.chain == chain and items:
        world.keep_lane(world.lane.left(tuple(items)))
