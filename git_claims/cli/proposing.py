"""The command that asks for work to be merged: pr."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import click

from git_claims.cli import words
from git_claims.cli.options import edges, open_world
from git_claims.cli.publishing import current_branch, items_of_work, own_refspec, say_pushed
from git_claims.cli.render import answer_document
from git_claims.cli.trackers import pulls_board
from git_claims.cli.world import World
from git_claims.errors import Exit, Refused, Usage
from git_claims.flows.board import Board, check_words, look
from git_claims.flows.change import Answer
from git_claims.flows.push import push
from git_claims.flows.release import with_bundles
from git_claims.git.remote import Work
from git_claims.protocol.closing import unclosed, with_closing
from git_claims.protocol.issue import Issue
from git_claims.protocol.item import Item
from git_claims.protocol.pull import NewPull, Opened
from git_claims.protocol.text import has_control_characters, printable


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for: title, text, base, and whether it is a draft."""

    title: str | None
    text: str
    base: str | None
    is_draft: bool


@click.command("pr")
@click.option("--title", metavar="TEXT", help="Its title; the issue's unless told.")
@click.option("--body-file", type=click.File("rb"), metavar="FILE", help="Its text; '-' is standard input.")
@click.option("--base", metavar="BRANCH", help="The branch it goes into, not the remote's default branch.")
@click.option("--draft", is_flag=True, help="Open it as a draft.")
@edges()
def pr_command(title: str | None, body_file: BinaryIO | None, base: str | None, draft: bool, **shared: object) -> Exit:
    """Push this lane's branch, fenced by its claim, and open its pull request, which closes the lane's issues.

    One that is open already is answered with its address.
    """
    world = open_world(shared)
    board, branch = pulls_board(world), current_branch(world)
    work = Work((own_refspec(branch),))
    items = items_of_work(world, branch, ())
    chain = world.chain_of_holder(items)
    wish = Wish(_title(title), _text(body_file), base, draft)
    check_words(board, wish.title, wish.text)
    into = _base(world, wish.base)
    family = with_bundles(items, world.store.read_all().claims, chain)
    lead = look(board, family).issues[family[0]]
    new = _new_pull(world, board, branch or "", into, wish, family, lead)
    pushed = push(world.store, family, world.asker(chain, named=False, branch=branch), work)
    if not (pushed.landed and all(answer.succeeded for answer in pushed.answers)):
        return say_pushed(world, pushed, work, chain)
    return _say_opened(world, board.tracker.open_pull(new), new, wish, pushed.answers)


def _title(title: str | None) -> str | None:
    if title is not None and (not title.strip() or has_control_characters(title)):
        raise Usage("a title is one line, and not empty")
    return title


def _text(file: BinaryIO | None) -> str:
    try:
        return "" if file is None else file.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise Usage(f"the text of --body-file is not UTF-8: {error.reason}") from error


def _base(world: World, asked: str | None) -> str:
    """Finds the branch it goes into; raises Refused where the remote has none, or ours has nothing to add to it."""
    base = asked or world.settings.integration_branch or world.remote.default_branch()
    if base is None:
        raise Usage("the remote does not say which branch is its default", "name the base with --base")
    ref = f"refs/heads/{base}"
    there = world.remote.list_refs(ref)
    if there is not None and ref not in there:
        raise Refused(f"the remote has no branch '{printable(base)}'", "name another with --base")
    # Where the base is at a commit that is not here, ours cannot be a part of it but by chance: the tracker will tell.
    tip = there[ref] if there else None
    if tip and world.repository.git.run("merge-base", "--is-ancestor", "HEAD", tip).status == 0:
        raise Refused(f"this branch has no commits that '{printable(base)}' lacks", "commit the work first")
    return base


def _new_pull(
    world: World, board: Board, branch: str, base: str, wish: Wish, family: Sequence[Item], lead: Issue | None
) -> NewPull:
    operator = world.operator()
    return NewPull(
        head=branch,
        base=base,
        title=wish.title or _title_of(board, lead) or branch,
        body=with_closing(wish.text, family, world.repo),
        is_draft=wish.is_draft,
        assignees=frozenset({operator} if operator else ()),
    )


def _title_of(board: Board, lead: Issue | None) -> str | None:
    """Returns the issue's title; None where it holds what must not be posted in our name."""
    title = printable(lead.title) if lead is not None else ""
    try:
        check_words(board, title)
    except Usage:
        return None
    return title.strip() or None


def _say_opened(world: World, opened: Opened, new: NewPull, wish: Wish, answers: Sequence[Answer]) -> Exit:
    items = [answer.item for answer in answers]
    world.talk.data(opened.pull.url)
    world.talk.say(f"{'opened' if opened.is_new else 'there is already'} #{opened.pull.number}: {opened.pull.title}")
    notes = list(_notes(world, opened, new, wish, items))
    for note in notes:
        world.talk.warn(note)
    world.talk.document(
        {
            "ok": True,
            "pull": opened.pull.number,
            "url": opened.pull.url,
            "new": opened.is_new,
            "items": [answer_document(answer, world.repo) for answer in answers],
            "notes": [printable(note) for note in notes],
            "next": [f"git claim land {items[0].spelling}{world.chain_option}"],
        }
    )
    return Exit.DONE


def _notes(world: World, opened: Opened, new: NewPull, wish: Wish, items: Sequence[Item]) -> Iterator[str]:
    """What is not as it was asked for, above all of one that was there before, which is left as it is."""
    pull = opened.pull
    if opened.unassigned:
        yield f"nobody was assigned to it: {opened.unassigned}"
    if opened.is_new:
        return
    if missing := unclosed(pull.body, items, world.repo):
        named = ", ".join(words.qualified(item, world.repo) for item in missing)
        lines = ", ".join(f"'Closes #{item.key}'" for item in missing)
        yield f"its text does not say that it closes {named}: add {lines}"
    if pull.base != new.base:
        yield f"it goes into '{pull.base}', not into '{new.base}'"
    if wish.title is not None or wish.text:
        yield "its title and text stay as they are"
    if pull.is_draft and not wish.is_draft:
        yield "it is a draft"
