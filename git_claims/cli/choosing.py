"""The command that chooses work: next, and the pin by which a person names it."""

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

import click

from git_claims.cli.clones import left_out, say_left_out
from git_claims.cli.lane_notes import enter_lane, never_held
from git_claims.cli.opening import OpenedLane, Wishes, open_lane, say_opened
from git_claims.cli.options import DURATION, bare_option_means, edges, open_world
from git_claims.cli.polling import wait_for_ready
from git_claims.cli.queue import Sight, queue_document, read_queue, waiting_lines
from git_claims.cli.world import World
from git_claims.errors import Exit, NeedsPerson, Refused, Usage
from git_claims.flows.board import Looked, look
from git_claims.flows.change import Answer
from git_claims.flows.select import Seat, Walked, held_by, walk
from git_claims.flows.showing import take_one
from git_claims.protocol.obstacles import Because, Cause
from git_claims.protocol.pinning import Ambiguous, NoMatch, Pinned, Unfit, resolve, to_confirm
from git_claims.protocol.ready import Candidate, Queue, Waiting
from git_claims.protocol.served import Place
from git_claims.protocol.text import printable
from git_claims.protocol.transition import HOLDING, Outcome

_NOT_FOUND = {
    Unfit.NO_TITLE: "no open issue has a title like that",
    Unfit.NO_SUCH_ISSUE: "no such issue is open",
    Unfit.NOT_SERVED: "that repository is not served here",
    Unfit.PULL_REQUEST: "that is a pull request, which is claimed by its name",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """How work is chosen and begun."""

    takes: bool
    starts: bool
    pin: str | None
    another: bool
    even_if_blocked: bool
    even_hitl: bool

    @property
    def begins(self) -> bool:
        """Says whether what is chosen is claimed too."""
        return self.takes or self.starts


@dataclass(slots=True)
class Begun:
    """What came of a walk: the clone, the answer, and the lane where one was opened."""

    world: World
    answer: Answer
    opened: OpenedLane | None


class NextCommand(click.Command):
    """`--wait` alone means a day."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, bare_option_means("--wait", "1d")(args))


@click.command("next", cls=NextCommand)
@click.option("--take", "takes", is_flag=True, help="Claim it.")
@click.option("--start", "starts", is_flag=True, help="Claim it and open its lane; print the path.")
@click.option("--pin", metavar='ITEM|"WORDS"', help="This one, by its name or by the words of its title.")
@click.option("--wait", type=DURATION, metavar="[=DURATION]", help="Wait until something is ready, a day unless told.")
@click.option("--another", is_flag=True, help="Also while this chain still holds something.")
@click.option("--even-if-blocked", is_flag=True, help="With --pin: although a blocker of it is open.")
@click.option(
    "--even-hitl", is_flag=True, help="With --pin: although it waits for a human, as that human at a terminal."
)
@edges()
def next_command(
    takes: bool,
    starts: bool,
    pin: str | None,
    wait: timedelta | None,
    another: bool,
    even_if_blocked: bool,
    even_hitl: bool,
    **shared: object,
) -> Exit:
    """Say what to work on next; with --take or --start begin it.

    Most open issues unblocked first, then the order of the repositories, then the lowest number. Exit status 1 where
    nothing is ready, and why.
    """
    world = open_world(shared)
    choice = Choice(takes, starts, pin, another, even_if_blocked, even_hitl)
    _check(world, choice, wait)
    sight = read_queue(world, judged=False)
    _refuse_more(sight, choice)
    if pin is not None:
        return _pinned(world, sight, choice, pin)
    return choose(world, sight, choice, wait)


def choose(world: World, sight: Sight, choice: Choice, wait: timedelta | None) -> Exit:
    """Takes what is ready first; where nothing is, waits for it or says why."""
    while True:
        if sight.queue.ready and not choice.begins:
            return _say_first(world, sight)
        walked, begun = begin(sight, choice)
        if begun is not None:
            return _say_begun(begun)
        if wait is None or not wait_for_ready(world, sight, walked.queue, wait):
            return _say_nothing(world, sight, walked.queue)
        sight = read_queue(world, judged=False)


def begin(sight: Sight, choice: Choice) -> tuple[Walked, Begun | None]:
    """Walks the ranking until something is claimed."""
    if not sight.queue.ready:
        return Walked(sight.queue), None
    opened: dict[str, Begun] = {}

    def claim(seat: Seat, candidate: Candidate, looked: Looked) -> Answer:
        begun = _begun(sight.worlds[seat.slug], candidate.place, looked, choice)
        opened[candidate.place.spelling] = begun
        return begun.answer

    walked = walk(sight.seats, sight.served, sight.skipped, claim)
    return walked, opened[walked.candidate.place.spelling] if walked.candidate else None


def _begun(world: World, place: Place, looked: Looked, choice: Choice) -> Begun:
    if choice.starts:
        opened = open_lane(world, place.item, Wishes(), looked, even_hitl=choice.even_hitl)
        return Begun(world, opened.started.answer, opened)
    chain = world.chain_or_minted()
    enter_lane(world, chain, [place.item])
    board = world.board(even_hitl=choice.even_hitl)
    answer = take_one(world.store, board, place.item, partial(world.asker, chain), looked)
    if answer.outcome not in HOLDING | {Outcome.UNKNOWN}:
        never_held(world, chain, [place.item])
    return Begun(world, answer, None)


def _check(world: World, choice: Choice, wait: timedelta | None) -> None:
    if choice.takes and choice.starts:
        raise Usage("--start claims it too: leave --take out")
    if (choice.even_if_blocked or choice.even_hitl) and choice.pin is None:
        raise Usage("--even-if-blocked and --even-hitl go with --pin")
    if choice.pin is not None and wait is not None:
        raise Usage("--wait goes without --pin", "'git claim 42 --wait' waits for one item")
    if choice.even_hitl and not world.at_terminal():
        raise NeedsPerson("--even-hitl is for a person at a terminal, and there is none", "take another item")


def _refuse_more(sight: Sight, choice: Choice) -> None:
    """Who still holds something finishes that first: an agent that forgets its work leaves it claimed for ever."""
    if not choice.begins or choice.another:
        return
    held = [
        place
        for each in sight.served
        if (chain := sight.worlds[each.slug].chain_or_none()) is not None
        for place in held_by({each.slug: each.claims}, chain)
    ]
    if held:
        named = ", ".join(f"{slug}#{item.spelling}" for slug, item in held)
        raise Refused(
            f"this chain still holds {named}", "'git claim mine' says what comes next; --another takes one more"
        )


def _pinned(world: World, sight: Sight, choice: Choice, pin: str) -> Exit:
    place = _resolved(sight, pin)
    entry = sight.queue.find(place)
    reasons = to_confirm(entry) if entry is not None else ()
    if not choice.begins:
        return _say_pin(world, place, entry)
    for reason in reasons:
        world.talk.warn(f"{place.spelling}: {reason.words}")
    _confirm(world, place, choice, reasons)
    served = sight.worlds[place.slug]
    is_human = choice.even_hitl or any(reason.cause is Cause.WAITING_FOR_HUMAN for reason in reasons)
    board = served.board(even_hitl=is_human)
    agreed = replace(choice, even_hitl=is_human)
    return _say_begun(_begun(served, place, look(board, [place.item]), agreed))


def _confirm(world: World, place: Place, choice: Choice, reasons: tuple[Because, ...]) -> None:
    """Asks a person where something speaks against it that nobody has agreed to on the command line."""
    human = [each for each in reasons if each.cause is Cause.WAITING_FOR_HUMAN and not choice.even_hitl]
    blocked = [each for each in reasons if each.cause is not Cause.WAITING_FOR_HUMAN and not choice.even_if_blocked]
    if not human and not blocked:
        return
    option = "--even-hitl" if human else "--even-if-blocked"
    if not world.at_terminal():
        raise NeedsPerson(f"{place.spelling} needs a yes, and there is no person at a terminal", f"{option} says yes")
    if world.ask(f"Take {place.spelling} all the same? Type yes").lower() not in {"yes", "y"}:
        raise NeedsPerson("not confirmed, nothing was changed", "'git claim next' says what is ready")


def _resolved(sight: Sight, pin: str) -> Place:
    found = resolve(pin, sight.served)
    match found:
        case Pinned(place):
            return place
        case Ambiguous(candidates):
            named = "; ".join(f"{each.place.spelling} {_title(each)}" for each in candidates)
            raise Refused(f"'{printable(pin)}' fits several: {named}", "name one of them by its number")
        case NoMatch(why):
            raise Refused(f"'{printable(pin)}': {_NOT_FOUND[why]}", "'git claim ready' lists the open issues")


def _title(pinned: Pinned) -> str:
    return f"'{printable(pinned.issue.title)}'" if pinned.issue else ""


def _say_pin(world: World, place: Place, entry: Candidate | Waiting | None) -> Exit:
    world.talk.data(place.spelling)
    reasons = entry.reasons if isinstance(entry, Waiting) else ()
    for reason in reasons:
        world.talk.say(f"not ready: {reason.words}")
    world.talk.document(
        {
            "ok": not reasons,
            "item": place.item.name,
            "repo": place.slug,
            "reasons": [{"code": str(reason.cause), "detail": printable(reason.detail)} for reason in reasons],
            "next": [f"git claim next --take --pin {place.spelling}"],
        }
    )
    return Exit.NO if reasons else Exit.DONE


def _say_first(world: World, sight: Sight) -> Exit:
    first = sight.queue.ready[0]
    world.talk.data(first.place.spelling)
    unblocks = f", unblocks {first.unblocks}" if first.unblocks else ""
    world.talk.say(f"{first.issue.title}{unblocks}")
    world.talk.document({**queue_document(sight.queue), "left_out": left_out(sight.left)})
    say_left_out(world, sight.left)
    return Exit.DONE


def _say_begun(begun: Begun) -> Exit:
    if begun.opened is not None:
        return say_opened(begun.world, begun.opened)
    world = begun.world
    return world.talk.answers([begun.answer], world.repo, world.chain_or_none(), world.now)


def _say_nothing(world: World, sight: Sight, found: Queue) -> Exit:
    world.talk.error(f"nothing is ready: {found.state}")
    for line in waiting_lines(found.waiting):
        world.talk.say(line)
    world.talk.document({**queue_document(found), "left_out": left_out(sight.left)})
    return say_left_out(world, sight.left) or Exit.NO
