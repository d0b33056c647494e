"""Commands for lanes: start, lanes, prune-lanes."""

import click

from git_claims.cli import render, words
from git_claims.cli.clones import left_out, say_left_out, served, side_by_side
from git_claims.cli.opening import Wishes, commit_of, open_lane, say_opened, slug_of_text
from git_claims.cli.options import ITEM, edges, open_world
from git_claims.cli.world import World
from git_claims.errors import Exit, Usage
from git_claims.flows.lanes import LaneRow, LaneState, lanes, prune
from git_claims.protocol.item import Kind, Named
from git_claims.protocol.text import printable


@click.command()
@click.argument("item", type=ITEM)
@click.option("--slug", metavar="TEXT", help="What follows the number in the branch's name.")
@click.option("--from", "cut_from", metavar="REF", help="Cut the branch from REF, not the remote's default branch.")
@click.option("--phase", metavar="PHASE", help="The step of a chained run, for the record.")
@edges()
def start(item: Named, slug: str | None, cut_from: str | None, phase: str | None, **shared: object) -> Exit:
    """Claim ITEM, then make or find again its worktree on a branch of its own, and print the worktree's path.

    cd "$(git claim start 42)" is the whole beginning of a piece of work.
    """
    world = open_world(shared, [item])
    asked = world.item(item)
    if asked.kind is Kind.PULL:
        raise Usage("a pull request has a branch already; start opens lanes for issues", "claim it with 'git claim'")
    opened = open_lane(world, asked, Wishes(slug_of_text(slug), phase, commit_of(world, cut_from)))
    return say_opened(world, opened)


@click.command("lanes")
@edges()
def lanes_command(**shared: object) -> Exit:
    """List the lanes of this clone: item, claim, branch, what is unsaved, path."""
    world = open_world(shared)
    clones = served(world)
    read, left = side_by_side(clones, _lanes)
    found = [(clone, row) for clone, rows in read for row in rows]
    lines = [_lane_line(clone, row, qualified=clones.is_listed) for clone, row in found]
    for line in render.table(("ITEM", "CLAIM", "BRANCH", "UNSAVED", "PATH"), lines) if lines else []:
        world.talk.data(line)
    if not lines:
        world.talk.say("no lanes in these clones" if clones.is_listed else "no lanes in this clone")
    world.talk.document({"lanes": [_lane_document(clone, row) for clone, row in found], "left_out": left_out(left)})
    return say_left_out(world, left)


@click.command("prune-lanes")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would go.")
@edges()
def prune_lanes(dry_run: bool, **shared: object) -> Exit:
    """Remove the worktrees of lanes whose claim was given up and whose work is pushed or merged.

    A worktree with unsaved work stays, and so does every branch.
    """
    world = open_world(shared)
    pruned = []
    settings = world.settings
    for each in prune(
        world.store, world.workspace, settings.branch_pattern, settings.integration_branch, dry_run=dry_run
    ):
        pruned.append(each)
        path = printable(str(each.row.path))
        if each.kept is None:
            world.talk.result(f"{'would remove' if dry_run else 'removed'} {path}")
        else:
            world.talk.say(f"kept {path}: {printable(each.kept)}")
    if not pruned:
        world.talk.say("no lanes in this clone")
    world.talk.document(
        {
            "dry_run": dry_run,
            "lanes": [
                {**_lane_document(world, each.row), "removed": each.kept is None, "kept": each.kept} for each in pruned
            ],
        }
    )
    return Exit.DONE


def _lanes(world: World) -> tuple[World, list[LaneRow]]:
    return world, lanes(world.store, world.workspace, world.settings.branch_pattern, world.chain_or_none())


def _lane_line(world: World, row: LaneRow, *, qualified: bool) -> list[str]:
    lost = f"lost to {words.holder(row.rival, world.now)}" if row.rival else str(row.state)
    claim = lost if row.state is LaneState.LOST else str(row.state).replace("-", " ")
    gone = " (gone)" if row.worktree.gone else ""
    return [
        ", ".join(words.qualified(item, world.repo) if qualified else item.spelling for item in row.items),
        claim,
        printable(row.worktree.branch or "-"),
        printable(row.unsaved or "-"),
        printable(str(row.path)) + gone,
    ]


def _lane_document(world: World, row: LaneRow) -> render.Document:
    return {
        "items": [item.name for item in row.items],
        "repo": world.repo,
        "path": str(row.path),
        "branch": row.worktree.branch,
        "chain": row.chain,
        "state": str(row.state),
        "rival": render.seen_document(row.rival),
        "unsaved": row.unsaved,
        "gone": row.worktree.gone,
    }
