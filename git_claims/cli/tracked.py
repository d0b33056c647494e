"""Commands about what a tracker shows: hold, unhold, sync."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import click

from git_claims.cli.clones import Clones, left_out, say_left_out, served, side_by_side
from git_claims.cli.lane_notes import leave_lane
from git_claims.cli.options import ITEM, edges, open_world
from git_claims.cli.render import Document, answer_document, exit_of
from git_claims.cli.words import qualified, refusal, success
from git_claims.cli.world import World
from git_claims.errors import Exit, NeedsPerson, NoChain, NoTrackerHere, Refused, Usage
from git_claims.flows.board import Board, Looked
from git_claims.flows.change import Answer
from git_claims.flows.showing import release_shown
from git_claims.flows.sync import Found, Repaired, View, find, idle, repair, view
from git_claims.flows.telling import Hold
from git_claims.flows.telling import hold as hold_flow
from git_claims.protocol import signals
from git_claims.protocol.claim import ChainId, Claim
from git_claims.protocol.issue import Edit, Issue
from git_claims.protocol.item import Item, Named
from git_claims.protocol.signals import Release
from git_claims.protocol.text import has_control_characters, printable


@click.command()
@click.argument("item", type=ITEM)
@click.option("--reason", required=True, metavar="TEXT", help="Why; told in a comment.")
@edges()
def hold(item: Named, reason: str, **shared: object) -> Exit:
    """Put ITEM on hold, and say who and why in a comment. A claim of this chain on it is released."""
    if has_control_characters(reason) or not reason.strip():
        raise Usage("--reason is one line that says why")
    return _hold(open_world(shared, [item]), item, on=True, why=reason)


@click.command()
@click.argument("item", type=ITEM)
@edges()
def unhold(item: Named, **shared: object) -> Exit:
    """End the hold on ITEM, and say so in a comment."""
    return _hold(open_world(shared, [item]), item, on=False, why=None)


@click.command()
@click.argument("items", nargs=-1, type=ITEM, metavar="[ITEM...]")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what is found.")
@click.option("--release-idle", is_flag=True, help="Release this chain's claims that have no open pull request.")
@click.option("--operator-wide", is_flag=True, help="With --release-idle, at a terminal: every claim of this login.")
@edges()
def sync(items: tuple[Named, ...], dry_run: bool, release_idle: bool, operator_wide: bool, **shared: object) -> Exit:
    """Compare claims with what the tracker shows, and repair what is shown. Never changes who owns what."""
    world = open_world(shared, items)
    if release_idle:
        seen = view(world.store, _board(world), [world.item(each) for each in items])
        return _release_idle(world, seen, operator_wide, dry_run)
    clones = Clones((world,)) if items else served(world)
    synced, left = side_by_side(clones, lambda clone: (clone, _synced(clone, items, dry_run)))
    repaired = [(clone, each) for clone, drift in synced for each in drift]
    for clone, each in repaired:
        _say(clone, each, dry_run)
    for clone, _ in synced:
        _say_what_is_left(clone, [each.found for at, each in repaired if at is clone])
    if not repaired and synced:
        world.talk.result("claims and tracker agree")
    ok = not any(each.failed for _, each in repaired)
    world.talk.document(
        {
            "ok": ok and not left,
            "dry_run": dry_run,
            "drift": [_document(clone, each) for clone, each in repaired],
            "left_out": left_out(left),
            "next": [],
        }
    )
    return say_left_out(world, left) or (Exit.DONE if ok else Exit.UNKNOWN)


def _synced(world: World, items: Sequence[Named], dry_run: bool) -> list[Repaired]:
    board, chain = _board(world), world.chain_or_none()
    seen = view(world.store, board, [world.item(each) for each in items])
    found = find(seen, board, chain, world.operator(), world.now)
    return [Repaired(each, False) for each in found] if dry_run else repair(world.store, board, found, chain)


def _hold(world: World, named: Named, *, on: bool, why: str | None) -> Exit:
    # What is asked for is itself a signal: without the tracker nothing is done.
    item, board = world.item(named), replace(_board(world), mandatory=True)
    if not board.house.labels.hold:
        raise Refused("this repository has no hold label (labels.hold is empty)")
    chain = world.chain_or_none()
    held = hold_flow(world.store, board, item, Hold(on, world.operator(), why), chain)
    for line in held.failed:
        world.talk.warn(printable(line))
    if held.failed:
        wished = "on hold" if on else "taken off hold"
        world.talk.error(f"{qualified(item, world.repo)} was not {wished} as a whole", "repeating is safe")
    else:
        already = " already" if held.already else ""
        world.talk.result(f"{qualified(item, world.repo)} is{already} {'on hold' if on else 'not on hold'}")
    released = [answer for answer in held.released if answer.succeeded]
    if chain is not None:
        leave_lane(world, chain, [answer.item for answer in released])
    for answer in held.released:
        if answer.succeeded:
            world.talk.result(success(answer, world.repo, world.now))
        else:
            world.talk.warn("; ".join(refusal(answer, world.repo, world.now)))
    world.talk.document(
        {
            "ok": not held.failed and len(released) == len(held.released),
            "item": item.name,
            "hold": on,
            "items": [answer_document(each, world.repo) for each in held.released],
            "failed": list(held.failed),
        }
    )
    return Exit.UNKNOWN if held.failed else exit_of(held.released)


def _release_idle(world: World, seen: View, operator_wide: bool, dry_run: bool) -> Exit:
    """After a mass crash: gives up what nobody can be working on, as far as the tracker shows."""
    chain, operator = world.chain_or_none(), world.operator() if operator_wide else None
    if operator_wide and (operator is None or not world.at_terminal()):
        raise NeedsPerson(
            "--operator-wide is for a person who is logged in, at a terminal", "leave it out for one chain"
        )
    if chain is None and operator is None:
        raise NoChain("no chain is in force here, so no claim can be yours", "say it with --chain or GIT_CLAIM_CHAIN")
    items = idle(seen, world.board(), chain, operator)
    if dry_run or not items:
        world.talk.data(f"idle: {', '.join(qualified(item, world.repo) for item in items) or 'none'}")
        world.talk.document({"ok": True, "dry_run": dry_run, "idle": [item.name for item in items], "items": []})
        return Exit.DONE
    if operator_wide and world.ask(f"Release {len(items)} claims of {operator}? Type yes").lower() != "yes":
        raise NeedsPerson("not confirmed, nothing was changed", "'git claim ls' shows all claims")
    board, answers = world.board(), list[Answer]()
    looked = Looked(seen.issues)
    for holder in _holders(seen, items):
        own = [item for item in items if seen.claims[item].is_held_by(holder)]
        answers += release_shown(world.store, board, looked, own, holder, seen.claims, partial(_abandoned, board))
    return world.talk.answers(answers, world.repo, chain, world.now)


def _holders(seen: View, items: list[Item]) -> list[ChainId]:
    claims = (seen.claims[item].claim for item in items)
    return list(dict.fromkeys(claim.chain for claim in claims if claim is not None))


def _abandoned(board: Board, issue: Issue, item: Item, claim: Claim) -> Edit:
    return signals.on_release(issue, item, claim, board.house, Release.ABANDONED, note="Released as idle.")


def _board(world: World) -> Board:
    board = world.board()
    if not board.tracker.shows:
        raise NoTrackerHere(
            "there is no tracker here to show claims on", "tracker = github in .claims.toml, and 'gh auth login'"
        )
    return board


def _say(world: World, repaired: Repaired, dry_run: bool) -> None:
    found = repaired.found
    done = "would repair" if dry_run and found.edit else "repaired" if repaired.done else "found"
    world.talk.data(f"{done} {qualified(found.item, world.repo)}: {found.drift}: {printable(found.detail)}")
    for line in repaired.failed:
        world.talk.warn(f"{qualified(found.item, world.repo)}: {printable(line)}")


def _say_what_is_left(world: World, found: Sequence[Found]) -> None:
    """What only is found is for whoever holds it: nothing here changes who owns what."""
    left = next((each.item for each in found if each.edit is None), None)
    if left is not None:
        world.talk.say(
            f"hint: 'git claim show {left.spelling}' shows the claim and its holder, who can give it up,"
            " or a person at a terminal"
        )


def _document(world: World, repaired: Repaired) -> Document:
    found: Found = repaired.found
    return {
        "item": found.item.name,
        "repo": world.repo,
        "drift": str(found.drift),
        "detail": printable(found.detail),
        "repairable": found.edit is not None,
        "repaired": repaired.done,
        "failed": [printable(line) for line in repaired.failed],
    }
