"""How a lane is opened, by `start` and by `next --start`: its chain, its branch, its claim, its worktree."""

import re
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import click

from git_claims.cli import words
from git_claims.cli.world import World, minted
from git_claims.errors import Exit, Usage
from git_claims.flows.board import Looked, look
from git_claims.flows.showing import give_back, take_one
from git_claims.flows.start import Started
from git_claims.flows.start import start as start_flow
from git_claims.git.lane_file import Lane, StartNote, chain_of_start
from git_claims.protocol.claim import ChainId
from git_claims.protocol.issue import Issue
from git_claims.protocol.item import Item, branch_name, of_branch, slug_of
from git_claims.protocol.text import printable
from git_claims.protocol.transition import Outcome

_SLUG = "work"
_SLUG_CHARACTERS = 48


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for beside the item: the words of the branch, the step for the record, where to cut from."""

    slug: str | None = None
    phase: str | None = None
    cut_from: str | None = None


@dataclass(frozen=True, slots=True)
class OpenedLane:
    """What became of it, for which chain and on which branch."""

    started: Started
    chain: ChainId
    branch: str


def open_lane(
    world: World, item: Item, wishes: Wishes, looked: Looked | None = None, *, even_hitl: bool = False
) -> OpenedLane:
    """Claims an item and makes, or finds again, its worktree. `looked`: what a read showed just now."""
    with ExitStack() as stack:
        note = _chain(world, item, stack)
        chain, board = note.chain, world.board(even_hitl=even_hitl)
        looked = looked or look(board, [item])
        slug = wishes.slug or _known_slug(world, item, chain) or _slug_of_title(looked.issues[item])
        branch = branch_name(world.settings.branch_pattern, item, slug)
        place = world.workspace.place(branch)
        asker = partial(world.asker, chain, branch=branch, phase=wishes.phase, worktree=str(place.path))
        started = start_flow(
            world.workspace,
            place,
            Lane(chain, (item,)),
            claim=lambda: take_one(world.store, board, item, asker, looked),
            give_back=lambda: give_back(world.store, board, item, chain, succeeded=True),
            cut_from=wishes.cut_from,
            integration=world.settings.integration_branch,
        )
        if started.answer.outcome is not Outcome.UNKNOWN:
            note.forget()
    return OpenedLane(started, chain, branch)


def say_opened(world: World, opened: OpenedLane) -> Exit:
    """Prints the path of the worktree alone, also with --quiet: it is what the command is called for."""
    started = opened.started
    if started.path is None or world.talk.as_json:
        path = str(started.path) if started.path else None
        return world.talk.answers([started.answer], world.repo, opened.chain, world.now, path=path)
    world.talk.say(f"{words.success(started.answer, world.repo, world.now)}, branch {opened.branch}")
    for note in started.answer.notes:
        world.talk.warn(note)
    click.echo(str(started.path))
    return Exit.DONE


def _chain(world: World, item: Item, stack: ExitStack) -> StartNote:
    """The chain in force, or one that a start that came to no end may have left, or a new one; said before the push."""
    if (found := world.identity()) is not None:
        return StartNote(found.chain)
    directory = world.repository.common_dir / "git-claim"
    note = stack.enter_context(chain_of_start(directory, item, minted))
    world.talk.say(f"chain {note.chain} (new)")
    return note


def commit_of(world: World, revision: str | None) -> str | None:
    """Returns the commit that a revision of this clone names; raises Usage where it names none."""
    if revision is None:
        return None
    found = world.repository.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found.status != 0:
        raise Usage(f"'{printable(revision)}' is not a commit of this clone", "fetch it first, or leave --from out")
    return found.stdout.decode().strip()


def slug_of_text(text: str | None) -> str | None:
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
