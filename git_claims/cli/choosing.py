"""The command that chooses work: next, and the pin by which a person names it."""

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

import click

from git_claims.cli.clones import left_out, say_left_out
from git_claims.cli.lane_notes import enter_lane, never_held, say_nothing_held
from git_claims.cli.opening import OpenedLane, Wishes, open_lane, say_opened
from git_claims.cli.options import DURATION, bare_option_means, edges, open_world
from git_claims.cli.polling import Wait
from git_claims.cli.queue import Sight, hint_of, queue_document, read_queue, say_skipped, waiting_lines
from git_claims.cli.world import World
from git_claims.errors import Exit, NeedsPerson, Refused, Usage
from git_claims.flows.board import Looked, look
from git_claims.flows.change import Answer
from git_claims.flows.release import mine
from git_claims.flows.select import Seat, Walked, walk, with_pages
from git_claims.flows.showing import take_one
from git_claims.protocol.claim import ChainId
from git_claims.protocol.item import Kind
from git_claims.protocol.obstacles import Because, Cause
from git_claims.protocol.pinning import Ambiguous, Match, NoMatch, Pinned, Unfit, resolve, to_confirm
from git_claims.protocol.ready import Candidate, Queue, Waiting, queue
from git_claims.protocol.served import Place
from git_claims.protocol.text import printable
from git_claims.protocol.transition import HOLDING, Outcome

_READY_LISTS = "'git claim ready' lists the open issues"
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
    chain: ChainId
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
    if pin is not None:
        return _pinned(world, sight, choice, pin)
    _refuse_more(sight, choice)
    return choose(world, sight, choice, wait)


def choose(world: World, sight: Sight, choice: Choice, wait: timedelta | None) -> Exit:
    """Takes what is ready first; where nothing is, waits for it or says why."""
    waiting = Wait(world, wait) if wait is not None else None
    while True:
        if sight.queue.ready and not choice.begins:
            return _say_first(world, sight)
        walked, begun = begin(sight, choice)
        if begun is not None:
            say_left_out(world, sight.left)
            return _say_begun(begun)
        if waiting is None or not waiting.until_ready(sight, walked.queue):
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
        return Begun(world, opened.started.answer, opened.chain, opened)
    chain = world.chain_or_minted()
    enter_lane(world, chain, [place.item])
    board = world.board(even_hitl=choice.even_hitl)
    answer = take_one(world.store, board, place.item, partial(world.asker, chain), looked)
    if answer.outcome not in HOLDING | {Outcome.UNKNOWN}:
        never_held(world, chain, [place.item])
    return Begun(world, answer, chain, None)


def _check(world: World, choice: Choice, wait: timedelta | None) -> None:
    if choice.takes and choice.starts:
        raise Usage("--start claims it too: leave --take out")
    if (choice.even_if_blocked or choice.even_hitl) and choice.pin is None:
        raise Usage("--even-if-blocked and --even-hitl go with --pin")
    if choice.pin is not None and wait is not None:
        raise Usage("--wait goes without --pin", "'git claim 42 --wait' waits for one item")
    if choice.even_hitl and not world.at_terminal():
        raise NeedsPerson("--even-hitl is for a person at a terminal, and there is none", "take another item")


def _refuse_more(sight: Sight, choice: Choice, pinned: Place | None = None) -> None:
    """Who still holds something finishes that first: an agent that forgets its work leaves it claimed for ever.

    What is pinned and held already is no more work, so that the same command may be repeated.
    """
    if not choice.begins or choice.another:
        return
    held = [
        place
        for each in sight.served
        if (chain := sight.worlds[each.slug].chain_or_none()) is not None
        for place in (Place(each.slug, item) for item in mine(each.claims, chain))
    ]
    if held and pinned not in held:
        raise Refused(
            f"this chain still holds {', '.join(place.spelling for place in held)}",
            "'git claim mine' says what comes next; --another takes one more",
        )


def _pinned(world: World, sight: Sight, choice: Choice, pin: str) -> Exit:
    pinned = _resolved(world, sight, pin)
    place = pinned.place
    _refuse_more(sight, choice, place)
    served = sight.worlds[place.slug]
    looked = look(served.board(), [place.item])
    entry = _newest(sight, place, looked)
    say_left_out(world, sight.left)
    if not choice.begins:
        return _say_pin(world, place, entry)
    world.talk.say(f"{place.spelling}: {entry.issue.title}")
    if pinned.match is Match.ALIKE:
        _confirm_alike(world, pinned, pin)
    # Somebody's claim is not overridden by any yes, so nobody is asked for one.
    reasons = () if isinstance(entry, Waiting) and entry.is_claimed else to_confirm(entry)
    for reason in reasons:
        world.talk.warn(f"{place.spelling}: {reason.words}")
    _confirm(world, place, choice, reasons)
    is_human = choice.even_hitl or any(reason.cause is Cause.WAITING_FOR_HUMAN for reason in reasons)
    return _say_begun(_begun(served, place, looked, replace(choice, even_hitl=is_human)))


def _newest(sight: Sight, place: Place, looked: Looked) -> Candidate | Waiting:
    """Returns what is said of a pinned item as it is now, which a list may not know yet."""
    page = looked.issues[place.item]
    if page is None:
        raise Refused(f"{place.spelling}: there is no such issue", _READY_LISTS)
    if page.item.kind is Kind.PULL:
        raise Refused(f"{place.spelling}: {_NOT_FOUND[Unfit.PULL_REQUEST]}", _READY_LISTS)
    served = [with_pages(each, looked.issues) if each.slug == place.slug else each for each in sight.served]
    entry = queue(served, sight.skipped).find(place)
    if entry is None:
        raise Refused(f"{place.spelling} is closed", _READY_LISTS)
    return entry


def _confirm(world: World, place: Place, choice: Choice, reasons: tuple[Because, ...]) -> None:
    """Asks a person where something speaks against it that nobody has agreed to on the command line."""
    human = [each for each in reasons if each.cause is Cause.WAITING_FOR_HUMAN and not choice.even_hitl]
    blocked = [each for each in reasons if each.cause is not Cause.WAITING_FOR_HUMAN and not choice.even_if_blocked]
    if not human and not blocked:
        return
    if not world.at_terminal():
        hint = "a person at a terminal takes it" if human else "--even-if-blocked says yes"
        raise NeedsPerson(f"{place.spelling} needs a yes, and there is no person at a terminal", hint)
    if world.ask(f"Take {place.spelling} all the same? Type yes").lower() not in {"yes", "y"}:
        raise NeedsPerson("not confirmed, nothing was changed", "'git claim next' says what is ready")


def _confirm_alike(world: World, pinned: Pinned, pin: str) -> None:
    """A title that is only like what was typed is not yet what was meant."""
    spelling = pinned.place.spelling
    if not world.at_terminal():
        raise NeedsPerson(
            f"'{printable(pin)}' is only like {spelling} {_title(pinned)}", f"say that it is meant: --pin {spelling}"
        )
    if world.ask(f"Take {spelling} {_title(pinned)}? Type yes").lower() not in {"yes", "y"}:
        raise NeedsPerson("not confirmed, nothing was changed", "'git claim next' says what is ready")


def _resolved(world: World, sight: Sight, pin: str) -> Pinned:
    found = resolve(pin, sight.served)
    match found:
        case Pinned():
            return found
        case Ambiguous(candidates):
            named = "; ".join(f"{each.place.spelling} {_title(each)}" for each in candidates)
            raise Refused(
                f"'{printable(pin)}' fits several: {named}",
                f"name the one that is meant, as in '--pin {candidates[0].place.spelling}'",
            )
        case NoMatch(why):
            # It may be in what was not read.
            say_left_out(world, sight.left)
            say_skipped(world, sight.queue, sight.left)
            raise Refused(f"'{printable(pin)}': {_NOT_FOUND[why]}", _READY_LISTS)


def _title(pinned: Pinned) -> str:
    return f"'{printable(pinned.issue.title)}'" if pinned.issue else ""


def _say_pin(world: World, place: Place, entry: Candidate | Waiting) -> Exit:
    world.talk.data(place.spelling)
    world.talk.say(entry.issue.title)
    reasons = entry.reasons if isinstance(entry, Waiting) else ()
    if reasons:
        said = "; ".join(reason.words for reason in reasons)
        world.talk.error(f"{place.spelling} is not ready: {said}", _READY_LISTS)
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
    status = world.talk.answers([begun.answer], world.repo, begun.chain, world.now)
    say_nothing_held(world, begun.chain, [begun.answer])
    return status


def _say_nothing(world: World, sight: Sight, found: Queue) -> Exit:
    if found.ready:
        lost = ", ".join(each.place.spelling for each in found.ready)
        world.talk.error(f"nothing was taken: others were faster at {lost}", "repeating is safe")
    else:
        world.talk.error(f"nothing is ready: {found.state}", hint_of(found))
    for line in waiting_lines(found.waiting):
        world.talk.say(line)
    say_skipped(world, found, sight.left)
    world.talk.document({**queue_document(found), "ok": False, "left_out": left_out(sight.left)})
    return say_left_out(world, sight.left) or Exit.NO
