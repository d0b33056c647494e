"""Commands for lanes: start, lanes, prune-lanes."""

import re
from contextlib import ExitStack
from functools import partial

import click

from git_claims.cli import render, words
from git_claims.cli.options import ITEM, edges, open_world
from git_claims.cli.world import World, minted
from git_claims.errors import Exit, Usage
from git_claims.flows.board import look
from git_claims.flows.lanes import LaneRow, LaneState, lanes, prune
from git_claims.flows.showing import give_back, take_one
from git_claims.flows.start import start as start_flow
from git_claims.git.lane_file import Lane, StartNote, chain_of_start
from git_claims.protocol.claim import ChainId
from git_claims.protocol.issue import Issue
from git_claims.protocol.item import Item, Kind, Named, branch_name, of_branch, slug_of
from git_claims.protocol.text import printable
from git_claims.protocol.transition import Outcome

_SLUG = "work"
_SLUG_CHARACTERS = 48


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
    world = open_world(shared)
    asked = world.item(item)
    if asked.kind is Kind.PULL:
        raise Usage("a pull request has a branch already; start opens lanes for issues", "claim it with 'git claim'")
    commit = None if cut_from is None else _commit(world, cut_from)
    with ExitStack() as stack:
        note = _chain(world, asked, stack)
        chain = note.chain
        board = world.board()
        looked = look(board, [asked])
        words_of_branch = _slug(slug) or _known_slug(world, asked, chain) or _slug_of_title(looked.issues[asked])
        branch = branch_name(world.settings.branch_pattern, asked, words_of_branch)
        place = world.workspace.place(branch)
        asker = partial(world.asker, chain, branch=branch, phase=phase, worktree=str(place.path))
        started = start_flow(
            world.workspace,
            place,
            Lane(chain, (asked,)),
            claim=lambda: take_one(world.store, board, asked, asker, looked),
            give_back=lambda: give_back(world.store, board, asked, chain, succeeded=True),
            cut_from=commit,
            integration=world.settings.integration_branch,
        )
        if started.answer.outcome is not Outcome.UNKNOWN:
            note.forget()
    if started.path is None or world.talk.as_json:
        status = world.talk.answers(
            [started.answer], world.repo, chain, world.now, path=str(started.path) if started.path else None
        )
        return status
    world.talk.say(f"{words.success(started.answer, world.repo, world.now)}, branch {branch}")
    # The path alone, also with --quiet: it is what the command is called for.
    click.echo(str(started.path))
    return Exit.DONE


@click.command("lanes")
@edges()
def lanes_command(**shared: object) -> Exit:
    """List the lanes of this clone: item, claim, branch, what is unsaved, path."""
    world = open_world(shared)
    rows = lanes(world.store, world.workspace, world.settings.branch_pattern, world.chain_or_none())
    lines = [_lane_line(world, row) for row in rows]
    for line in render.table(("ITEM", "CLAIM", "BRANCH", "UNSAVED", "PATH"), lines) if rows else []:
        world.talk.data(line)
    if not rows:
        world.talk.say("no lanes in this clone")
    world.talk.document({"lanes": [_lane_document(world, row) for row in rows]})
    return Exit.DONE


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


def _chain(world: World, item: Item, stack: ExitStack) -> StartNote:
    """The chain in force, or one that a start that came to no end may have left, or a new one; said before the push."""
    if (found := world.identity()) is not None:
        return StartNote(found.chain)
    directory = world.repository.common_dir / "git-claim"
    note = stack.enter_context(chain_of_start(directory, item, minted))
    world.talk.say(f"chain {note.chain} (new)")
    return note


def _commit(world: World, revision: str) -> str:
    found = world.repository.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found.status != 0:
        raise Usage(f"'{printable(revision)}' is not a commit of this clone", "fetch it first, or leave --from out")
    return found.stdout.decode().strip()


def _slug(text: str | None) -> str | None:
    """Makes a title a part of a branch name: lower case words joined by dashes."""
    if text is None:
        return None
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_SLUG_CHARACTERS].strip("-")
    if not slug:
        raise Usage(f"nothing of '{printable(text)}' can stand in a branch name", "use letters and digits")
    return slug


def _slug_of_title(issue: Issue | None) -> str:
    """The title in a few words, where a tracker tells it."""
    words_of_title = re.sub(r"[^a-z0-9]+", "-", issue.title.lower())[:_SLUG_CHARACTERS] if issue else ""
    return words_of_title.strip("-") or _SLUG


def _known_slug(world: World, item: Item, chain: ChainId) -> str | None:
    """The slug of a lane or branch that is there already, so that the same start finds its own lane again."""
    pattern = world.settings.branch_pattern
    copy = world.store.cached_items([item])[item]
    recorded = [copy.claim.branch] if copy is not None and copy.claim is not None and copy.is_held_by(chain) else []
    lanes_here = [worktree.branch for worktree in world.workspace.worktrees()]
    branches = world.workspace.branches()
    named = [name for name in [*recorded, *lanes_here, *branches] if name and of_branch(pattern, name) == item]
    return slug_of(pattern, named[0]) if named else None


def _lane_line(world: World, row: LaneRow) -> list[str]:
    lost = f"lost to {words.holder(row.rival, world.now)}" if row.rival else str(row.state)
    claim = lost if row.state is LaneState.LOST else str(row.state).replace("-", " ")
    gone = " (gone)" if row.worktree.gone else ""
    return [
        ", ".join(item.spelling for item in row.items),
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
