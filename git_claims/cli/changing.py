"""Commands that change claims: take, release, renew, hand-off, adopt, reclaim."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import click

from git_claims.cli import render, words
from git_claims.cli.lane_notes import enter_lane, leave_lane, never_held, say_nothing_held
from git_claims.cli.options import DURATION, ITEM, bare_option_means, edges, open_world
from git_claims.cli.signs import read_signs, sign_lines
from git_claims.cli.world import CHAIN_VARIABLE, World, jitter
from git_claims.errors import Exit, NeedsPerson, Usage
from git_claims.flows.board import Board, Looked, check_words, look
from git_claims.flows.change import Answer
from git_claims.flows.listing import Row
from git_claims.flows.showing import reclaim_shown, take_over_stale, take_shown
from git_claims.flows.take import Patience, Wanted, take_over, take_waiting
from git_claims.flows.take import take as take_flow
from git_claims.flows.telling import tell_step
from git_claims.flows.transfer import adopt as adopt_flow
from git_claims.flows.transfer import hand_off as hand_off_flow
from git_claims.flows.transfer import renew as renew_flow
from git_claims.protocol.claim import ChainId, Seen, check_chain
from git_claims.protocol.item import Item, Named, is_item
from git_claims.protocol.text import has_control_characters, is_duration
from git_claims.protocol.transition import HOLDING, Asker, Outcome


class ChainType(click.ParamType[ChainId]):
    """A chain id, exactly as records write it."""

    name = "chain"

    def convert(self, value: ChainId | str, param: click.Parameter | None, ctx: click.Context | None) -> ChainId:
        try:
            return check_chain(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class TakeCommand(click.Command):
    """`--wait` alone means thirty minutes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if (meant := _time_or_item(args)) is not None:
            # Read as an item, as git would, it claims an issue that nobody asked for and waits for half an hour.
            ctx.fail(f"'--wait {meant}' may mean a time or an item: write '--wait={meant}', or all items first")
        return super().parse_args(ctx, bare_option_means("--wait", "30m")(args))


@click.command(cls=TakeCommand)
@click.argument("items", nargs=-1, type=ITEM, required=True, metavar="ITEM...")
@click.option("--all-or-nothing", is_flag=True, help="Claim all of the items or none.")
@click.option("--bundle", multiple=True, type=ITEM, metavar="ITEM", help="A sibling to claim along with the one item.")
@click.option("--branch", metavar="BRANCH", help="The branch the work is on, for the record.")
@click.option("--phase", metavar="PHASE", help="The step of a chained run, for the record.")
@click.option("--wait", type=DURATION, metavar="[=DURATION]", help="Wait for held items, 30m unless told.")
@click.option("--force", is_flag=True, help="Take over a live claim; a person confirms it at a terminal.")
@click.option("--reason", metavar="TEXT", help="Why --force is right; kept in the record.")
@click.option("--even-hitl", is_flag=True, help="Take an item that waits for a human, as that human at a terminal.")
@edges()
def take(
    items: tuple[Named, ...],
    all_or_nothing: bool,
    bundle: tuple[Named, ...],
    branch: str | None,
    phase: str | None,
    wait: timedelta | None,
    force: bool,
    reason: str | None,
    even_hitl: bool,
    **shared: object,
) -> Exit:
    """Claim ITEMs: exactly one of many who ask becomes the holder.

    Each item is claimed on its own merit unless --all-or-nothing or --bundle says otherwise. Claiming what is
    yours already changes nothing and succeeds.
    """
    world = open_world(shared, (*items, *bundle))
    _check_combination(items, bundle, wait, force, reason)
    if force and all_or_nothing:
        raise Usage("--force goes without --all-or-nothing: each claim is taken over on its own")
    wanted = Wanted(
        tuple(dict.fromkeys(world.item(each) for each in items)),
        tuple(dict.fromkeys(world.item(each) for each in bundle)),
        all_or_nothing,
    )
    if set(wanted.items) & set(wanted.bundle):
        raise Usage("an item cannot be bundled with itself")
    _check_force(world, force)
    if even_hitl and not world.at_terminal():
        raise NeedsPerson("--even-hitl is for a person at a terminal, and there is none", "take another item")
    # The chain is said, and kept in a lane, before anything is pushed: whatever kills us, the claim can be found.
    chain = world.chain_or_minted()
    board = world.board(even_hitl=even_hitl)
    looked = look(board, wanted.all_items)
    asker = world.asker(chain, branch=branch, phase=phase, reason=reason)
    enter_lane(world, chain, wanted.all_items)
    answers = take_shown(
        world.store, board, looked, wanted, asker, lambda free: _take(world, board, looked, free, asker, wait, force)
    )
    if phase:
        said = f"Taking over at step {phase}; lock retained."
        answers = tell_step(board, answers, {Outcome.RENEWED: said, Outcome.ALREADY_YOURS: said}, looked)
    lost = [answer.item for answer in answers if answer.outcome not in HOLDING | {Outcome.UNKNOWN}]
    never_held(world, chain, lost)
    status = world.talk.answers(answers, world.repo, chain, world.now)
    say_nothing_held(world, chain, answers)
    if world.chain_is_new and any(answer.outcome is Outcome.HELD for answer in answers):
        world.talk.say(f"hint: no chain was in force here; if it is yours, say so with --chain or {CHAIN_VARIABLE}")
    return status


def _take(
    world: World, board: Board, looked: Looked, wanted: Wanted, asker: Asker, wait: timedelta | None, force: bool
) -> list[Answer]:
    if force:
        return take_over(world.store, wanted.items, asker, lambda item, seen: _confirm_force(world, item, seen))
    if wait is None:
        answers = take_flow(world.store, wanted, asker)
        if world.settings.stale_policy != "window" or wanted.as_one:
            return answers
        return take_over_stale(world.store, board, looked, answers, asker, world.now)

    def notice(answer: Answer) -> None:
        world.talk.say(f"waiting: {words.holding(answer.item, world.repo, answer.rival, world.now)}")

    patience = Patience(wait.total_seconds(), time.monotonic, time.sleep, jitter, notice)
    return take_waiting(world.store, wanted, asker, patience)


@click.command()
@click.argument("items", nargs=-1, type=ITEM, metavar="[ITEM...]")
@click.option("--branch", metavar="BRANCH", help="Change the branch in the record.")
@click.option("--phase", metavar="PHASE", help="Change the phase in the record.")
@edges()
def renew(items: tuple[Named, ...], branch: str | None, phase: str | None, **shared: object) -> Exit:
    """Renew claims that this chain holds. Each renewal leaves objects on the server, so renew rarely."""
    world = open_world(shared, items)
    asked = world.items_or_lane(items)
    chain = world.chain_of_holder(asked)
    answers = renew_flow(world.store, asked, world.asker(chain, named=False, branch=branch, phase=phase))
    return world.talk.answers(answers, world.repo, chain, world.now)


@click.command("hand-off")
@click.argument("item", type=ITEM, required=False)
@click.option("--to", type=ChainType(), required=True, metavar="CHAIN", help="The chain that holds it from now on.")
@click.option("--phase", metavar="PHASE", help="Change the phase in the record.")
@edges()
def hand_off(item: Named | None, to: ChainId, phase: str | None, **shared: object) -> Exit:
    """Make another chain the holder of ITEM at once; the item is never free in between."""
    world = open_world(shared, [item])
    asked = world.item_or_lane(item, given_up=True)
    chain = world.chain_of_holder([asked])
    board = world.board()
    check_words(board, to, phase)
    answers = hand_off_flow(world.store, asked, world.asker(chain, named=False, phase=phase), to)
    step = f"Completed; next step: {phase}. " if phase else ""
    said = f"{step}Lock handed off to `{to}`; the chain continues, label and assignee stay."
    answers = tell_step(board, answers, {Outcome.HANDED_OFF: said})
    leave_lane(world, chain, [answer.item for answer in answers if answer.succeeded and to != chain])
    return world.talk.answers(answers, world.repo, chain, world.now)


@click.command()
@click.argument("item", type=ITEM)
@click.option("--from", "predecessor", type=ChainType(), required=True, metavar="CHAIN", help="The chain that held it.")
@click.option("--phase", metavar="PHASE", help="Change the phase in the record.")
@edges()
def adopt(item: Named, predecessor: ChainId, phase: str | None, **shared: object) -> Exit:
    """Continue the claim of a predecessor that is gone. Naming its chain exactly is the proof."""
    world = open_world(shared, [item])
    asked = world.item(item)
    chain = world.chain_of_holder([asked])
    board = world.board()
    check_words(board, predecessor, phase)
    looked = look(board, [asked])
    answers = adopt_flow(world.store, asked, world.asker(chain, phase=phase), predecessor)
    said = f"Adopting the chain lock of `{predecessor}`{_age(world, answers)}; lock retained."
    answers = tell_step(board, answers, {Outcome.ADOPTED: said, Outcome.ALREADY_YOURS: None}, looked)
    if world.lane is not None and world.lane.chain == predecessor and all(answer.succeeded for answer in answers):
        # The lane goes with the claim: whoever names its chain exactly continues in its worktree too.
        world.keep_lane(replace(world.lane, chain=chain))
    enter_lane(world, chain, [answer.item for answer in answers if answer.succeeded])
    return world.talk.answers(answers, world.repo, chain, world.now)


@click.command()
@click.argument("item", type=ITEM)
@edges(chain=False)
def reclaim(item: Named, **shared: object) -> Exit:
    """Free ITEM, whoever holds it: the record is shown and the item has to be typed back at a terminal.

    The holder's branch and worktree are left alone.
    """
    world = open_world(shared, [item])
    asked = world.item(item)
    if not world.settings.reclaim_without_terminal and not world.at_terminal():
        raise NeedsPerson(
            "reclaim needs a person at a terminal, and there is none",
            f"'git claim show {asked.spelling}' shows the claim; ask a person to look at it",
        )
    answers = reclaim_shown(
        world.store, world.board(), asked, world.operator(), lambda *shown: _confirm_reclaim(world, *shown)
    )
    return world.talk.answers(answers, world.repo, None, world.now)


def _age(world: World, answers: Sequence[Answer]) -> str:
    """How long ago the lock was claimed that is adopted."""
    before = next((answer.rival for answer in answers if answer.rival is not None), None)
    return f", {words.age(before, world.now)} old" if before is not None else ""


def _time_or_item(args: Sequence[str]) -> str | None:
    """Returns the word after a bare `--wait` where items stand before it and it reads like a time: `42 --wait 60`."""
    place = args.index("--wait") if "--wait" in args else len(args)
    word = "".join(args[place + 1 : place + 2])
    return word if is_duration(word) and any(is_item(each) for each in args[:place]) else None


def _check_combination(
    items: Sequence[Named], bundle: Sequence[Named], wait: timedelta | None, force: bool, reason: str | None
) -> None:
    if bundle and len(items) != 1:
        raise Usage("--bundle goes with one item, the lead")
    if force and (bundle or wait is not None):
        raise Usage("--force goes without --bundle and --wait")
    if force and not (reason and reason.strip()):
        raise Usage("--force needs --reason TEXT, which is kept in the record")
    if reason is not None and (not force or has_control_characters(reason)):
        raise Usage("--reason is one line and goes with --force")


def _check_force(world: World, force: bool) -> None:
    if not force or world.settings.force == "allow":
        return
    if world.settings.force == "never":
        raise NeedsPerson("this repository does not allow --force (take.force = never)", "'git claim ls' shows all")
    if not world.at_terminal():
        raise NeedsPerson(
            "--force asks a person at a terminal, and there is none (take.force = terminal)",
            "ask a person, or wait with --wait",
        )


def _confirm_force(world: World, item: Item, seen: Seen) -> None:
    if world.settings.force == "allow":
        return
    _show(world, item, seen)
    if world.ask(f"Take over {words.qualified(item, world.repo)}? Type yes").lower() not in {"yes", "y"}:
        raise NeedsPerson("not confirmed, nothing was changed")


def _confirm_reclaim(world: World, item: Item, seen: Seen, siblings: Sequence[Item]) -> None:
    if world.settings.reclaim_without_terminal:
        return
    _show(world, item, seen)
    if siblings:
        world.talk.say(f"its bundle goes with it: {', '.join(words.qualified(each, world.repo) for each in siblings)}")
    if world.ask(f"Type {item.spelling} to free it").removeprefix("#").upper() != item.spelling.upper():
        raise NeedsPerson("not confirmed, nothing was changed")


def _show(world: World, item: Item, seen: Seen) -> None:
    """Shows a person what there is to decide on: the record, and what the tracker says of the item and its holder."""
    signs = read_signs(world, {item: seen})
    lines = render.record_lines(item, seen, world.repo, world.now)
    for line in [*lines, *sign_lines(world, Row(item, seen, False, None), signs)]:
        click.echo(line, err=True)
