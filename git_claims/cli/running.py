"""Commands of a runner and of its workers: run, report."""

import os
import shlex
import shutil
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import click
from click.core import ParameterSource

from git_claims.cli import words
from git_claims.cli.choosing import Choice, begin
from git_claims.cli.clones import served, side_by_side
from git_claims.cli.landing import kept_branches
from git_claims.cli.opening import OpenedLane, Wishes, open_lane
from git_claims.cli.options import DURATION, ITEM, edges, open_world
from git_claims.cli.polling import Wait
from git_claims.cli.queue import held_in, read_queue
from git_claims.cli.tee import teed
from git_claims.cli.world import CHAIN_VARIABLE, World, minted
from git_claims.errors import Exit, NoRepository, NoTrackerHere, Refused, Usage
from git_claims.flows.guard import Guard, Watch, run_watched
from git_claims.flows.land import belongs, find_pull, finish
from git_claims.flows.mine import Mine, Todo
from git_claims.flows.release import with_bundles
from git_claims.flows.run import PEACEFUL, Delivered, Ran, Stop, Turn, Worked
from git_claims.flows.run import run as run_flow
from git_claims.protocol import report as reports
from git_claims.protocol.claim import ChainId
from git_claims.protocol.item import Named
from git_claims.protocol.pull import Landing
from git_claims.protocol.ready import State
from git_claims.protocol.served import Place
from git_claims.protocol.text import printable, spelled

# What whoever resumes a run has to say again, beside the chain.
_REPEATED = {"remote", "budget", "timeout", "wait", "check_every"}
_CONFIRM_SECONDS, _GRACE_SECONDS = 300.0, 10.0
_BEGINNING = Choice(takes=False, starts=True, pin=None, another=True, even_if_blocked=False, even_hitl=False)
# Of these reports it matters whether the claim is still held.
_EMPTY = (reports.Drained, reports.HitlOnly)
_ENDS = {State.DRAINED: Stop.DRAINED, State.HITL_ONLY: Stop.HITL_ONLY}


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run was asked for: the worker's command, how many pieces, and how long for each thing.

    `again` are the options as they were given, for whoever goes on.
    """

    command: tuple[str, ...]
    budget: int
    timeout: timedelta
    wait: timedelta
    check_every: timedelta
    again: str = ""


@click.command("run")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="-- COMMAND...")
@click.option("--budget", type=click.IntRange(1), default=3, metavar="N", help="How many issues at most (3).")
@click.option("--timeout", type=DURATION, default="2h", metavar="DURATION", help="How long one may take (2h).")
@click.option("--wait", type=DURATION, default="1d", metavar="DURATION", help="How long to wait for the next one (1d).")
@click.option(
    "--check-every", type=DURATION, default="60s", metavar="DURATION", help="How often the claim is read (60s)."
)
@edges(as_json=False)
def run_command(
    command: tuple[str, ...],
    budget: int,
    timeout: timedelta,
    wait: timedelta,
    check_every: timedelta,
    **shared: object,
) -> Exit:
    """Run COMMAND in the lane of one ready issue after another, and go on only when its work is merged.

    What this chain holds already is resumed first. COMMAND ends its output with the line that 'git claim report'
    writes. In its words {item}, {worktree}, {branch}, {chain}, {iteration} and {budget} are filled in.
    """
    world = open_world(shared)
    program, *words_of_it = command
    found = (_program(world, program), *words_of_it)
    return Runner(world, Terms(found, budget, timeout, wait, check_every, _given())).run()


@click.command("report")
@click.argument("outcome", type=click.Choice(["merged", "halted", "drained", "hitl-only"]))
@click.option("--issue", type=ITEM, metavar="ITEM", help="The issue; this lane's unless told.")
@click.option("--pr", "pull", type=click.IntRange(1), metavar="N", help="The pull request of 'merged'.")
@click.option("--reason", metavar="TEXT", help="Why, with 'halted'.")
@edges(chain=False, remote=False, as_json=False, quiet=False)
def report_command(outcome: str, issue: Named | None, pull: int | None, reason: str | None, **shared: object) -> Exit:
    """Write the last line of a worker's output, by which 'git claim run' knows how it ended."""
    world = open_world(shared)
    if (pull is not None) != (outcome == "merged"):
        raise Usage("'merged' needs --pr N, and --pr goes with it")
    if (reason is not None) != (outcome == "halted"):
        raise Usage("'halted' needs --reason TEXT, and --reason goes with it")
    click.echo(_written(world, outcome, issue, pull, reason))
    return Exit.DONE


class Runner:
    """One run: which clones are served, for which chain."""

    def __init__(self, world: World, terms: Terms) -> None:
        self.terms = terms
        self.chain = _chain(world)
        self.world = world.of_chain(self.chain)
        self.clones = served(self.world)
        self.worlds = {each.repo: each for each in self.clones.worlds}

    def run(self) -> Exit:
        """Runs, and says how it ended and how to go on."""
        if not any(each.board().tracker.shows for each in self.clones.worlds):
            raise NoTrackerHere("there is no tracker here, so there is no queue", "'git claim exec' runs one command")
        ran = run_flow(self.terms.budget, self._begin, self._work, self._verify, self._tell)
        return self._say(ran)

    def _begin(self, iteration: int) -> Turn | Delivered | Stop:
        resumed = self._resumed(iteration)
        return resumed if resumed is not None else self._taken(iteration)

    def _resumed(self, iteration: int) -> Turn | Delivered | None:
        """Goes on with the first thing that the chain still holds."""
        found, left = side_by_side(self.clones, held_in)
        if left:
            # What is held there is not known, and somebody may hold something there.
            raise left[0].error
        for world, holdings in found:
            for mine in holdings.mine:
                if mine.seen.claim is not None and mine.seen.claim.lead is None:
                    return self._go_on(world, mine, iteration)
        return None

    def _go_on(self, world: World, mine: Mine, iteration: int) -> Turn | Delivered:
        world.talk.say(f"resuming {words.qualified(mine.item, world.repo)}")
        turn = self._turn(world, open_lane(world, mine.item, Wishes()), iteration)
        if mine.todo is not Todo.FINISH:
            return turn
        landing = find_pull(world.board().tracker, turn.branch, None)
        if (against := self._verify(turn, landing.pull.number)) is not None:
            raise Refused(f"{turn.place.spelling} cannot be finished: {against}", "'git claim mine' shows it")
        return Delivered(turn, landing.pull.number)

    def _taken(self, iteration: int) -> Turn | Stop:
        """Takes what is ready first, and waits where agents still have something to do."""
        wait = Wait(self.world, self.terms.wait)
        while True:
            sight = read_queue(self.world, judged=False)
            walked, begun = begin(sight, _BEGINNING)
            if begun is not None and begun.opened is not None:
                return self._turn(begun.world, begun.opened, iteration)
            found = walked.queue
            if (end := _ENDS.get(found.state)) is not None:
                return end
            if not wait.until_ready(sight, found):
                return Stop.NOTHING_READY

    def _turn(self, world: World, opened: OpenedLane, iteration: int) -> Turn:
        answer = opened.started.answer
        if opened.started.path is None:
            line, hint = words.refusal(answer, world.repo, world.now)
            raise Refused(line, hint)
        place = Place(world.repo, answer.item)
        world.talk.say(f"{iteration} of {self.terms.budget}: {place.spelling} in {opened.started.path}")
        return Turn(place, opened.started.path, opened.branch, self.chain, iteration, self.terms.budget)

    def _work(self, turn: Turn) -> Worked:
        world = self.worlds[turn.place.slug]
        log = world.repository.common_dir / "git-claim" / "logs" / f"{turn.place.item.name}.log"
        with teed(log) as tee:
            guard = Guard(
                [_filled(word, turn) for word in self.terms.command],
                turn.path,
                {**os.environ, **_variables(turn)},
                self._watch(world),
                world.talk.event,
                tee.outputs,
            )
            try:
                left = run_watched(world.store, turn.place.item, partial(world.asker, self.chain, named=False), guard)
            except Usage as error:
                # It was there before: the claim stands, and somebody has to look.
                return Worked(Exit.CANNOT, reports.Observed(error.message, None))
        world.talk.say(f"log: {log}")
        observed = reports.read(tee.end_of_output)
        is_held = isinstance(observed.report, _EMPTY) and left.cut is None and self._holds(world, turn)
        return Worked(left.status, observed, left.cut, is_held=is_held)

    def _holds(self, world: World, turn: Turn) -> bool:
        seen = world.store.read([turn.place.item])[turn.place.item]
        return seen is not None and seen.is_held_by(self.chain)

    def _watch(self, world: World) -> Watch:
        renew_every = world.settings.stale_window.total_seconds() / 3
        return Watch(
            self.terms.check_every.total_seconds(),
            renew_every,
            _CONFIRM_SECONDS,
            _GRACE_SECONDS,
            self.terms.timeout.total_seconds(),
            may_release=True,
        )

    def _verify(self, turn: Turn, pull: int) -> str | None:
        """Asks the tracker whether it is merged; then what is left of the claim and its lane is cleared away."""
        world, item = self.worlds[turn.place.slug], turn.place.item
        landing = world.board().tracker.read_landing(pull)
        if landing is None:
            return f"there is no pull request #{pull}"
        if not landing.is_merged:
            return f"#{pull} is {landing.pull.state}, not merged"
        if not belongs(landing, world.repo, [item], turn.branch):
            return f"#{pull} neither closes {turn.place.spelling} nor is of its branch"
        self._clear(world, turn, landing)
        page = world.board().tracker.read([item])[item]
        return f"{turn.place.spelling} is still open" if page is None or page.is_open else None

    def _clear(self, world: World, turn: Turn, landing: Landing) -> None:
        claims, stay = world.store.read_all().claims, kept_branches(world)
        family = with_bundles([turn.place.item], claims, self.chain)
        seen = claims.get(turn.place.item)
        if seen is not None and seen.is_held_by(self.chain):
            for note in finish(world.store, world.board(), landing, family, self.chain, claims, stay).notes:
                world.talk.warn(note)
        if landing.pull.head in stay:
            return
        if (kept := world.workspace.discard(landing.pull.head, landing.pull.head_oid, family)) is not None:
            world.talk.say(kept)

    def _tell(self, delivered: Delivered) -> None:
        self.world.talk.result(f"delivered {delivered.turn.place.spelling} by #{delivered.pull}")

    def _say(self, ran: Ran) -> Exit:
        talk = self.world.talk
        if ran.stop in PEACEFUL:
            talk.result(f"the run ended: {ran.observed}")
            return Exit.DONE
        if ran.stop is Stop.NOTHING_READY:
            talk.error("the run ended: nothing became ready in time", "'git claim ready' says what is waited for")
            return Exit.NO
        where = f"{ran.turn.place.spelling} in {ran.turn.path}" if ran.turn else ""
        talk.error(f"the run stopped at {where}: {ran.stop}: {ran.observed}")
        talk.insist(f"chain {self.chain} keeps what it holds; 'git claim mine --chain {self.chain}' shows it")
        command = f"--chain {self.chain}{self.terms.again} -- {shlex.join(self.terms.command)}"
        talk.say(f"hint: when it is clear, 'git claim run {command}'")
        return Exit.NO if ran.stop in {Stop.HALTED, Stop.LOST} else Exit.UNKNOWN


def _given() -> str:
    """The options of this run that were given, in the words of a command line."""
    context = click.get_current_context()
    given = [
        (name.replace("_", "-"), value)
        for name, value in context.params.items()
        if name in _REPEATED and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    return "".join(f" --{name} {shlex.quote(_spelled(value))}" for name, value in given)


def _spelled(value: object) -> str:
    return spelled(value) if isinstance(value, timedelta) else str(value)


def _program(world: World, name: str) -> str:
    """Finds the worker before anything is claimed. It runs in a lane: a path from here has to lead there too."""
    path = str((world.directory / name).absolute()) if "/" in name else name
    if shutil.which(path) is None:
        raise Usage(f"cannot run '{printable(name)}': there is no such program", "a script has to be executable")
    return path


def _chain(world: World) -> ChainId:
    """The chain in force, or a new one, which is said: by it whatever stops the run is found again."""
    try:
        identity = world.identity()
    except NoRepository:
        # Outside of a clone there is no lane and no git config that could name one.
        identity = None
    if identity is not None:
        return identity.chain
    chain = minted()
    world.talk.insist(f"chain {chain} (new)")
    return chain


def _variables(turn: Turn) -> dict[str, str]:
    return {
        CHAIN_VARIABLE: turn.chain,
        "GIT_CLAIM_ITEM": turn.place.item.spelling,
        "GIT_CLAIM_WORKTREE": str(turn.path),
        "GIT_CLAIM_BRANCH": turn.branch,
        "GIT_CLAIM_ITERATION": str(turn.iteration),
        "GIT_CLAIM_BUDGET": str(turn.budget),
    }


def _filled(word: str, turn: Turn) -> str:
    """Fills in what is known of the piece; any other brace stays as it is."""
    for name, value in (
        ("{item}", turn.place.item.spelling),
        ("{worktree}", str(turn.path)),
        ("{branch}", turn.branch),
        ("{chain}", turn.chain),
        ("{iteration}", str(turn.iteration)),
        ("{budget}", str(turn.budget)),
    ):
        word = word.replace(name, value)
    return word


def _written(world: World, outcome: str, issue: Named | None, pull: int | None, reason: str | None) -> str:
    if outcome in {"drained", "hitl-only"}:
        return reports.write(reports.Drained() if outcome == "drained" else reports.HitlOnly())
    named = issue or Named(world.item_or_lane(None, given_up=True))
    try:
        return reports.write(reports.Merged(named, pull or 0) if pull else reports.Halted(named, reason or ""))
    except ValueError as error:
        raise Usage(f"{printable(str(error))}", "--reason is one line") from error
