"""Commands on the way into the base branch: pr, land."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TextIO

import click

from git_claims.cli import words
from git_claims.cli.lane_notes import leave_lane
from git_claims.cli.options import DURATION, ITEM, edges, open_world
from git_claims.cli.publishing import current_branch, items_of_work, own_refspec, say_pushed
from git_claims.cli.render import Document, answer_document, exit_of
from git_claims.cli.world import World, jitter
from git_claims.errors import Exit, NoTrackerHere, Refused, Usage
from git_claims.flows.board import Board, check_words, look
from git_claims.flows.change import Answer
from git_claims.flows.land import Finished, Patience, Watched, belongs, find_pull, finish, give_up, watch
from git_claims.flows.push import push
from git_claims.flows.release import with_bundles
from git_claims.git.attempts import Attempts
from git_claims.git.remote import Work
from git_claims.protocol.claim import ChainId, Seen
from git_claims.protocol.item import Item, Named
from git_claims.protocol.landing import Move, Step, counted, names_of_failing, said_of
from git_claims.protocol.pull import Check, Landing, NewPull, failing
from git_claims.protocol.text import printable

_PAUSE_SECONDS = 10.0
_CLOSES = r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#{number}\b"


@click.command("pr")
@click.option("--title", metavar="TEXT", help="Its title; the issue's unless told.")
@click.option("--body-file", type=click.File("r"), metavar="FILE", help="Its text; '-' is standard input.")
@click.option("--base", metavar="BRANCH", help="The branch it goes into, not the remote's default branch.")
@click.option("--draft", is_flag=True, help="Open it as a draft.")
@edges()
def pr_command(title: str | None, body_file: TextIO | None, base: str | None, draft: bool, **shared: object) -> Exit:
    """Push this lane's branch, fenced by its claim, and open its pull request, which closes the lane's issues.

    One that is open already is answered with its address.
    """
    world = open_world(shared)
    board, branch = _board(world), current_branch(world)
    items = items_of_work(world, branch, ())
    chain = world.chain_of_holder(items)
    text = "" if body_file is None else body_file.read()
    check_words(board, title, text)
    work = Work((own_refspec(branch),), (), False, None)
    pushed = push(world.store, items, world.asker(chain, named=False, branch=branch), work)
    if not (pushed.landed and all(answer.succeeded for answer in pushed.answers)):
        return say_pushed(world, pushed, work, chain)
    issues = look(board, items).issues
    lead = issues[items[0]]
    into = base or world.settings.integration_branch or world.remote.default_branch()
    if branch is None or into is None:
        raise Usage("the remote does not say which branch is its default", "name the base with --base")
    operator = world.operator()
    opened = board.tracker.open_pull(
        NewPull(
            head=branch,
            base=into,
            title=title or (lead.title if lead else branch),
            body=_closing(text, items),
            is_draft=draft,
            assignees=frozenset({operator} if operator else ()),
        )
    )
    world.talk.data(opened.pull.url)
    world.talk.say(f"{'opened' if opened.is_new else 'there is already'} #{opened.pull.number}: {opened.pull.title}")
    if opened.unassigned:
        world.talk.warn(f"nobody was assigned to it: {opened.unassigned}")
    world.talk.document(
        {
            "ok": True,
            "pull": opened.pull.number,
            "url": opened.pull.url,
            "new": opened.is_new,
            "items": [answer_document(answer, world.repo) for answer in pushed.answers],
            "next": [f"git claim land {items[0].spelling}{world.chain_option}"],
        }
    )
    return Exit.DONE


@click.command()
@click.argument("item", type=ITEM, required=False)
@click.option("--pr", "number", type=click.IntRange(1), metavar="N", help="Its pull request, not the branch's.")
@click.option("--timeout", type=DURATION, default="1h", metavar="DURATION", help="How long to watch its checks (1h).")
@click.option("--without-checks", is_flag=True, help="The repository has no checks: do not wait for a first one.")
@click.option(
    "--max-attempts",
    type=click.IntRange(1),
    default=3,
    metavar="N",
    help="At the N-th commit whose checks fail, mark the issue as blocked and release the claim (3).",
)
@edges()
def land(
    item: Named | None,
    number: int | None,
    timeout: timedelta,
    without_checks: bool,
    max_attempts: int,
    **shared: object,
) -> Exit:
    """Watch the pull request of ITEM, merge it when its checks are green, and release the claim with credit.

    Without ITEM, that of this lane. Whatever interrupts it, the same command again finishes.
    """
    world = open_world(shared, [item])
    asked = world.item_or_lane(item, given_up=True)
    chain, board = world.chain_of_holder([asked]), _board(world)
    claims = world.store.read_all().claims
    seen = claims.get(asked)
    if seen is not None and not seen.is_held_by(chain):
        raise Refused(words.holding(asked, world.repo, seen, world.now), "only its holder lands it")
    family = with_bundles([asked], claims, chain)
    branch = _branch(world, asked, seen)
    landing = find_pull(board.tracker, branch, number)
    _check_belongs(world, landing, family, branch)
    if seen is None and not landing.is_merged:
        raise Refused(f"{words.quoted(asked, world.repo)} is not claimed", words.claims(asked))
    patience = _patience(world, asked, chain, timeout)
    watched = watch(board.tracker, landing, patience, without_checks=without_checks)
    match watched.step.move:
        case Move.FINISH:
            return _finish(world, board, watched.landing, family, chain, claims)
        case Move.RED:
            return _red(world, board, watched.landing, family, chain, claims, max_attempts)
        case _:
            return _stopped(world, asked, watched)


def _board(world: World) -> Board:
    board = world.board()
    if not board.tracker.shows:
        raise NoTrackerHere("there is no tracker here, so there are no pull requests", "'git claim push' pushes work")
    return replace(board, mandatory=True)


def _closing(text: str, items: Sequence[Item]) -> str:
    """The text of a pull request, with a line for each issue that it does not say to close yet."""
    missing = [item for item in items if not re.search(_CLOSES.format(number=item.spelling), text)]
    lines = "\n".join(f"Closes #{item.spelling}" for item in missing)
    return "\n\n".join(part for part in (text.rstrip(), lines) if part)


def _branch(world: World, item: Item, seen: Seen | None) -> str | None:
    """The branch of the claim; after it was given up, that of its lane."""
    if seen is not None and seen.claim is not None and seen.claim.branch:
        return seen.claim.branch
    lanes = [each for each in world.workspace.worktrees() if each.lane and item in each.lane.items + each.lane.released]
    return lanes[0].branch if lanes else None


def _check_belongs(world: World, landing: Landing, items: Sequence[Item], branch: str | None) -> None:
    if belongs(landing, world.repo, items, branch):
        return
    raise Refused(
        f"#{landing.pull.number} neither closes {words.qualified(items[0], world.repo)} nor is of its branch",
        "look at the number; a pull request closes an issue by 'Closes #n' in its text",
    )


def _patience(world: World, item: Item, chain: ChainId, timeout: timedelta) -> Patience:
    said: list[str] = []

    def notice(landing: Landing, step: Step) -> None:
        line = f"#{landing.pull.number}: {step.waits or step.move}; {counted(landing)}"
        if line not in said[-1:]:
            said.append(line)
            world.talk.say(line)

    def holds() -> bool:
        seen = world.store.read([item])[item]
        return seen is not None and seen.is_held_by(chain)

    pause = min(_PAUSE_SECONDS, world.settings.poll_seconds)
    return Patience(timeout.total_seconds(), pause, time.monotonic, time.sleep, jitter, holds, notice)


def _finish(
    world: World, board: Board, landing: Landing, items: Sequence[Item], chain: ChainId, claims: Mapping[Item, Seen]
) -> Exit:
    finished = finish(world.store, board, landing, items, chain, claims)
    leave_lane(world, chain, [answer.item for answer in finished.answers if answer.succeeded])
    kept = world.workspace.discard(landing.pull.head, landing.pull.head_oid)
    for item in items:
        _attempts(world).forget(item)
    _say_finished(world, landing, finished, kept)
    world.talk.document(
        {
            **_document(world, landing, "landed", finished.answers),
            "parent": finished.parent.name if finished.parent else None,
            "notes": [printable(note) for note in (*finished.notes, *([kept] if kept else []))],
        }
    )
    return exit_of(finished.answers)


def _say_finished(world: World, landing: Landing, finished: Finished, kept: str | None) -> None:
    commit = f" as {landing.merge_commit[:12]}" if landing.merge_commit else ""
    world.talk.result(f"#{landing.pull.number} is merged into {landing.pull.base}{commit}")
    for answer in finished.answers:
        if answer.succeeded:
            world.talk.result(words.success(answer, world.repo, world.now))
        else:
            world.talk.error(*words.refusal(answer, world.repo, world.now))
    if finished.parent is not None:
        world.talk.result(f"closed {words.qualified(finished.parent, world.repo)}, all of whose parts are delivered")
    notes = [note for answer in finished.answers for note in answer.notes]
    for line in dict.fromkeys([*notes, *finished.notes]):
        world.talk.warn(line)
    if kept is not None:
        world.talk.say(kept)


def _red(
    world: World,
    board: Board,
    landing: Landing,
    items: Sequence[Item],
    chain: ChainId,
    claims: Mapping[Item, Seen],
    most: int,
) -> Exit:
    attempts = _attempts(world)
    count = max(attempts.count(item, landing.pull.head_oid) for item in items)
    logs = {check.name: _log(attempts, items[0], check, board) for check in failing(landing)}
    world.talk.error(f"#{landing.pull.number}: checks failed: {names_of_failing(landing)} (attempt {count} of {most})")
    for name, path in logs.items():
        if path is not None:
            world.talk.say(f"{printable(name)}: {path}")
    answers: list[Answer] = []
    if count >= most:
        reason = f"checks failed {count} times: {names_of_failing(landing)}"
        answers = give_up(world.store, board, items, chain, claims, landing, reason)
        leave_lane(world, chain, [answer.item for answer in answers if answer.succeeded])
        world.talk.say("given up: marked as blocked and released; worktree and assignee stay")
    else:
        world.talk.say("hint: mend it, 'git claim push', then 'git claim land' again")
    world.talk.document(
        {
            **_document(world, landing, "blocked" if answers else "red", answers),
            "attempts": count,
            "logs": {printable(name): str(path) for name, path in logs.items() if path is not None},
        }
    )
    return Exit.NO


def _stopped(world: World, item: Item, watched: Watched) -> Exit:
    landing, step = watched.landing, watched.step
    number = landing.pull.number
    if step.move is Move.LOST:
        world.talk.error(f"#{number} was not merged: the claim is lost", f"'git claim show {item.spelling}' shows it")
    elif step.hindrance is None:
        world.talk.error(f"#{number} is not merged yet: {step.waits}", "'git claim land' again goes on")
    else:
        why, hint = said_of(step.hindrance)
        said = f" ({watched.said})" if watched.said else ""
        world.talk.error(f"#{number} is not merged: {why}{said}", hint)
    reason = str(step.hindrance) if step.hindrance else "lost" if step.move is Move.LOST else "waiting"
    world.talk.document({**_document(world, landing, "stopped", []), "reason": reason, "waits": step.waits})
    return Exit.UNKNOWN if reason == "waiting" else Exit.NO


def _document(world: World, landing: Landing, outcome: str, answers: Sequence[Answer]) -> Document:
    return {
        "ok": outcome == "landed" and all(answer.succeeded for answer in answers),
        "outcome": outcome,
        "pull": landing.pull.number,
        "url": landing.pull.url,
        "merge_commit": landing.merge_commit,
        "checks": [{"name": printable(each.name), "state": str(each.state)} for each in landing.checks],
        "items": [answer_document(answer, world.repo) for answer in answers],
    }


def _log(attempts: Attempts, item: Item, check: Check, board: Board) -> Path | None:
    text = board.tracker.log_of(check)
    return attempts.keep_log(item, check.name, text) if text else None


def _attempts(world: World) -> Attempts:
    return Attempts(world.repository.common_dir / "git-claim" / "attempts")
