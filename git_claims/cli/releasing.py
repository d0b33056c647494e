"""The command by which a holder gives up: release, with what becomes of the issue."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import click

from git_claims.cli import words
from git_claims.cli.lane_notes import leave_lane
from git_claims.cli.options import ITEM, edges, open_world
from git_claims.cli.world import World
from git_claims.errors import Exit, Refused, Usage
from git_claims.flows.board import Board, Looked, branches_of, look, written
from git_claims.flows.lanes import lanes, remove, why_kept
from git_claims.flows.release import held_of, mine, with_bundles
from git_claims.flows.showing import release_shown
from git_claims.protocol import signals
from git_claims.protocol.claim import ChainId, Claim, Seen
from git_claims.protocol.issue import Edit, Issue, PullState
from git_claims.protocol.item import Item, Kind, Named
from git_claims.protocol.signals import Release
from git_claims.protocol.text import has_control_characters, printable


@dataclass(frozen=True, slots=True)
class Ending:
    """How a claim ends: the outcome asked for (None: what the linked pull requests say), and what is told of it."""

    outcome: Release | None
    pull: int | None
    reason: str | None
    note: str | None


@click.command()
@click.argument("items", nargs=-1, type=ITEM, metavar="[ITEM...]")
@click.option("--all", "everything", is_flag=True, help="Every claim of this chain.")
@click.option(
    "--merged", is_flag=True, help="The work is merged by --pr: close the issue, keep the assignee as credit."
)
@click.option("--abandoned", is_flag=True, help="The work is given up: back to the queue.")
@click.option("--blocked", is_flag=True, help="The work cannot go on, for --reason: the blocked label, assignee kept.")
@click.option("--ci-monitoring", is_flag=True, help="The work is done and CI still runs: swap the label.")
@click.option("--ci-done", is_flag=True, help="CI has ended: take the ci-monitoring label off.")
@click.option("--pr", "pull", type=click.IntRange(1), metavar="N", help="The pull request of --merged or --abandoned.")
@click.option("--reason", metavar="TEXT", help="Why, with --blocked.")
@click.option("--note", metavar="TEXT", help="Put TEXT into the comment: a verdict, say.")
@click.option("--remove-worktree", is_flag=True, help="Remove the lane's worktree too, if its work is saved.")
@edges()
def release(
    items: tuple[Named, ...],
    everything: bool,
    merged: bool,
    abandoned: bool,
    blocked: bool,
    ci_monitoring: bool,
    ci_done: bool,
    pull: int | None,
    reason: str | None,
    note: str | None,
    remove_worktree: bool,
    **shared: object,
) -> Exit:
    """Give up claims that this chain holds. Releasing a lead releases its bundle.

    Without an outcome, what the linked pull requests say is done where it is beyond doubt.
    """
    world = open_world(shared, items)
    if everything and items:
        raise Usage("--all goes without items")
    given = [
        outcome
        for outcome, is_asked in (
            (Release.MERGED, merged),
            (Release.ABANDONED, abandoned),
            (Release.BLOCKED, blocked),
            (Release.CI_MONITORING, ci_monitoring),
        )
        if is_asked
    ]
    _check(given, ci_done, pull, reason, note)
    asked = None if everything else world.items_or_lane(items, given_up=True)
    if ci_done:
        return _ci_done(world, asked or [])
    chain = world.chain_of_holder(asked or [])
    claims = world.store.read_all().claims
    family = with_bundles(mine(claims, chain) if asked is None else asked, claims, chain)
    board = world.board()
    asked_about = [*family, *([Item(Kind.PULL, str(pull))] if pull else [])]
    looked = look(board, asked_about, branches_of(claims, family))
    ending = Ending(given[0] if given else None, pull, reason, note)
    # Of what somebody else holds, nobody is asked how it ends.
    endings = ending_of_each(world, looked, claims, held_of(family, claims, chain), ending)
    edit_of = _edit_of(board, looked, ending, endings)
    answers = release_shown(world.store, board, looked, family, chain, claims, edit_of)
    done = [answer.item for answer in answers if answer.succeeded]
    leave_lane(world, chain, done)
    if not answers:
        world.talk.result(f"{chain} holds nothing, nothing to release")
    if remove_worktree:
        _remove_worktrees(world, chain, done)
    return world.talk.answers(answers, world.repo, chain, world.now)


def ending_of_each(
    world: World, looked: Looked, claims: Mapping[Item, Seen], items: Sequence[Item], ending: Ending
) -> Mapping[Item, tuple[Release, int | None]]:
    """Decides how each claim ends; raises Refused where the pull requests leave that open or say otherwise."""
    endings: dict[Item, tuple[Release, int | None]] = {}
    refused: list[Refused] = []
    for item in items:
        issue = looked.issues.get(item)
        if issue is None:
            endings[item] = ending.outcome or Release.PLAIN, ending.pull
        elif ending.outcome is None:
            try:
                endings[item] = _proposed(issue, world.repo, _since(issue, claims.get(item), world))
            except Refused as error:
                refused.append(error)
        else:
            endings[item] = ending.outcome, ending.pull
    if refused:
        raise Refused("; ".join(each.message for each in refused), refused[0].hint)
    if ending.outcome is Release.MERGED and ending.pull is not None and looked.skipped is None:
        _refuse_unless_merged(world, looked, ending.pull)
    return endings


def _proposed(issue: Issue, repo: str, since: datetime | None) -> tuple[Release, int | None]:
    merged = [pull.number for pull in signals.delivered(issue, since)]
    is_open = [pull.number for pull in issue.pulls if pull.state is PullState.OPEN]
    if is_open or len(merged) > 1:
        numbers = ", ".join(f"#{number}" for number in sorted(is_open or merged))
        state = "open" if is_open else "merged"
        raise Refused(
            f"{words.quoted(issue.item, repo)} has {state} pull requests: {numbers}",
            "say how the claim ends: --merged --pr N, --abandoned, --blocked --reason TEXT or --ci-monitoring",
        )
    return (Release.MERGED, merged[0]) if merged else (Release.PLAIN, None)


def _since(issue: Issue, seen: Seen | None, world: World) -> datetime | None:
    claim = seen.claim if seen else None
    return signals.opened_at(issue, claim, world.board().house) if claim else None


def _refuse_unless_merged(world: World, looked: Looked, number: int) -> None:
    pull = looked.issues.get(Item(Kind.PULL, str(number)))
    if world.tracker.shows and (pull is None or pull.item.kind is not Kind.PULL or not pull.completed):
        state = "is not a pull request" if pull is None or pull.item.kind is not Kind.PULL else "is not merged"
        raise Refused(f"#{number} {state}, so nothing was released", "release when it is merged, or say --abandoned")


def _edit_of(
    board: Board, looked: Looked, ending: Ending, endings: Mapping[Item, tuple[Release, int | None]]
) -> Callable[[Issue, Item, Claim], Edit]:
    def edit_of(issue: Issue, item: Item, claim: Claim) -> Edit:
        outcome, pull = endings[item]
        return signals.on_release(
            issue,
            item,
            claim,
            board.house,
            outcome,
            pull=pull,
            base=_base(looked, issue, pull),
            reason=ending.reason,
            note=ending.note,
        )

    return edit_of


def _base(looked: Looked, issue: Issue, number: int | None) -> str | None:
    own = looked.issues.get(Item(Kind.PULL, str(number))) if number else None
    pulls = [*issue.pulls, *(own.pulls if own else ())]
    return next((pull.base for pull in pulls if pull.number == number), None)


def _ci_done(world: World, items: Sequence[Item]) -> Exit:
    """Takes the label off; that needs no claim, since the one who watched CI may be gone."""
    board = world.board()
    looked = look(board, items)
    edits = [signals.on_ci_done(issue, item, board.house) for item, issue in looked.issues.items() if issue is not None]
    failed = list(written(board, edits))
    for line in (*looked.notes, *failed):
        world.talk.warn(line)
    world.talk.result(f"ci-monitoring ended for {', '.join(words.qualified(item, world.repo) for item in items)}")
    world.talk.document({"ok": not failed, "items": [item.name for item in items], "failed": failed})
    return Exit.UNKNOWN if failed else Exit.DONE


def _check(given: Sequence[Release], ci_done: bool, pull: int | None, reason: str | None, note: str | None) -> None:
    if len(given) + ci_done > 1:
        raise Usage("a claim ends in one way: --merged, --abandoned, --blocked, --ci-monitoring or --ci-done")
    if Release.MERGED in given and pull is None:
        raise Usage("--merged needs --pr N, the pull request that was merged")
    if pull is not None and not set(given) & {Release.MERGED, Release.ABANDONED}:
        raise Usage("--pr goes with --merged or --abandoned")
    if (Release.BLOCKED in given) != bool(reason and reason.strip()):
        raise Usage("--blocked needs --reason TEXT, and --reason goes with --blocked")
    for text in (reason, note):
        if text is not None and has_control_characters(text.replace("\n", " ")):
            raise Usage("text for a comment must not have control characters")


def _remove_worktrees(world: World, chain: ChainId, items: Sequence[Item]) -> None:
    """Removes worktrees in which `chain` worked on these items and holds nothing any more; says what stays and why."""
    world.workspace.look_for_pushed(world.settings.integration_branch)
    for row in lanes(world.store, world.workspace, world.settings.branch_pattern, chain):
        if not set(row.items) <= set(items) or row.chain not in {chain, None}:
            continue
        kept = why_kept(row) or remove(world.workspace, row.worktree)
        path = printable(str(row.path))
        if kept is None:
            world.talk.say(f"removed {path}")
        else:
            world.talk.warn(f"{path} stays: {printable(kept)}")
