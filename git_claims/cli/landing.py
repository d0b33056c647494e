"""The command that brings a claim to its end: land."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path

import click

from git_claims.cli import words
from git_claims.cli.lane_notes import leave_lane
from git_claims.cli.options import DURATION, ITEM, edges, open_world
from git_claims.cli.render import Document, Talk, answer_document, exit_of
from git_claims.cli.trackers import pulls_board
from git_claims.cli.world import World, jitter
from git_claims.errors import Exit, Refused, Usage
from git_claims.flows.board import Board, check_words, look
from git_claims.flows.change import Answer
from git_claims.flows.land import Finished, Patience, Watched, belongs, find_pull, finish, give_up, linked_pull, watch
from git_claims.flows.listing import lead_of
from git_claims.flows.release import with_bundles
from git_claims.git.attempts import Attempts
from git_claims.protocol import signals
from git_claims.protocol.claim import ChainId, Seen
from git_claims.protocol.item import Item, Named, of_branch
from git_claims.protocol.landing import Move, Step, names_of_failing, progress_of, said_of, said_of_waiting
from git_claims.protocol.pull import Check, Landing, Method, failing
from git_claims.protocol.text import printable

_PAUSE_SECONDS = 10.0
_MEND = "hint: mend it, then 'git claim pr' and 'git claim land' again"


@dataclass(frozen=True)
class Job:
    """What is landed: the lead, its branch and every item of the pull request, for which chain."""

    world: World
    board: Board
    chain: ChainId
    lead: Item
    branch: str | None
    items: Sequence[Item]

    @property
    def attempts(self) -> Attempts:
        """What this clone remembers of checks that were red."""
        return Attempts(self.world.repository.common_dir / "git-claim" / "attempts")

    @cached_property
    def lane(self) -> Path | None:
        """The worktree of its branch in this clone."""
        return next((each.path for each in self.world.workspace.worktrees() if each.branch == self.branch), None)

    @property
    def talk(self) -> Talk:
        """The streams of this command; the commands that are named lead to the lane, where we do not stand in it."""
        if self.lane is None or self.lane == self.world.repository.top:
            return self.world.talk
        return self.world.talk.of_clone(str(self.lane))


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
    asked = world.items_or_lane((item,) if item else (), given_up=True)
    board, chain = pulls_board(world), world.chain_of_holder(asked)
    claims = world.store.read_all().claims
    lead, family = _family(world, asked, claims, chain)
    seen = claims.get(lead)
    job = Job(world, board, chain, lead, _branch(world, lead, seen), family)
    try:
        landing = _find(job, seen, number)
    except Refused as error:
        error.hint = _hint_in_lane(job, error.hint)
        raise
    watched = watch(board.tracker, landing, _patience(job, timeout), without_checks=without_checks)
    match watched.step.move:
        case Move.FINISH:
            return _finish(job, watched)
        case Move.RED:
            return _red(job, watched.landing, max_attempts)
        case _:
            return _stopped(job, watched)


def _family(
    world: World, asked: Sequence[Item], claims: Mapping[Item, Seen], chain: ChainId
) -> tuple[Item, Sequence[Item]]:
    """Returns the lead and all that its pull request delivers: a bundle is one piece of work, whoever is named."""
    held = {item: claims[item] for item in asked if item in claims}
    for item, seen in held.items():
        if not seen.is_held_by(chain):
            raise Refused(words.holding(item, world.repo, seen, world.now), "only its holder lands it")
    leads = [(lead_of(held[item]) if item in held else None) or item for item in asked]
    family = with_bundles(list(dict.fromkeys([*leads, *asked])), claims, chain)
    return family[0], family


def _branch(world: World, item: Item, seen: Seen | None) -> str | None:
    """The branch of the claim; after it was given up, what is left here of its lane."""
    if seen is not None and seen.claim is not None and seen.claim.branch:
        return seen.claim.branch
    pattern, worktrees = world.settings.branch_pattern, world.workspace.worktrees()
    entered = [each.branch for each in worktrees if each.lane and item in each.lane.items + each.lane.released]
    named = [each.branch for each in worktrees] + world.workspace.branches()
    of_item = [branch for branch in named if branch and of_branch(pattern, branch) == item]
    return next((branch for branch in [*entered, *of_item] if branch), None)


def _find(job: Job, seen: Seen | None, number: int | None) -> Landing:
    """Finds the pull request; raises Refused for one that is not of this claim, or merged before it was made."""
    tracker, lead, repo = job.board.tracker, job.lead, job.world.repo
    linked = number
    if number is None and job.branch is None:
        linked = linked_pull(look(job.board, [lead]).issues[lead])
    landing = find_pull(tracker, job.branch, linked)
    if not belongs(landing, repo, job.items, job.branch):
        raise Refused(
            f"#{landing.pull.number} neither closes {words.qualified(lead, repo)} nor is of its branch",
            "look at the number; a pull request closes an issue by 'Closes #n' in its text",
        )
    if seen is None and not landing.is_merged:
        raise Refused(f"{words.quoted(lead, repo)} is not claimed", words.claims(lead))
    if seen is not None and landing.is_merged and number is None:
        _refuse_if_older(job, seen, landing)
    return landing


def _hint_in_lane(job: Job, hint: str | None) -> str | None:
    """A pull request is opened in its lane, so a hint that names the command leads there."""
    if hint is None or "'git claim pr'" not in hint:
        return hint
    if job.lane is None:
        return f"'git claim start {job.lead.spelling}' opens its lane, in which its pull request is opened"
    return job.talk.placed(hint)


def _refuse_if_older(job: Job, seen: Seen, landing: Landing) -> None:
    """An issue that was opened again, under the name of its old branch, is not what was merged then."""
    issue, number = look(job.board, [job.lead]).issues[job.lead], landing.pull.number
    if issue is None or seen.claim is None or number not in {pull.number for pull in issue.pulls}:
        return
    since = signals.opened_at(issue, seen.claim, job.board.house)
    if number not in {pull.number for pull in signals.delivered(issue, since)}:
        raise Refused(
            f"#{number} was merged before this claim was made, and its branch has no other pull request",
            f"'git claim pr' opens one; '--pr {number}' says that it is this one",
        )


def _patience(job: Job, timeout: timedelta) -> Patience:
    said: list[str] = []

    def notice(landing: Landing, step: Step, heard: str) -> None:
        line = progress_of(landing, step, heard)
        # Each attempt to merge is two lines, which are said once however often it has to be repeated.
        if line is not None and line not in said[-2:]:
            said.append(line)
            job.world.talk.say(f"#{landing.pull.number}: {line}")

    def holds() -> bool:
        seen = job.world.store.read([job.lead])[job.lead]
        return seen is not None and seen.is_held_by(job.chain)

    pause = min(_PAUSE_SECONDS, job.world.settings.poll_seconds)
    return Patience(timeout.total_seconds(), pause, time.monotonic, time.sleep, jitter, holds, notice)


def _finish(job: Job, watched: Watched) -> Exit:
    world, landing = job.world, watched.landing
    # Read again: checks take long, and what was renewed meanwhile is still ours.
    claims, stay = world.store.read_all().claims, kept_branches(world)
    finished = finish(world.store, job.board, landing, job.items, job.chain, claims, stay)
    done = [answer.item for answer in finished.answers if answer.succeeded]
    leave_lane(world, job.chain, done)
    is_lane = landing.pull.head not in stay
    kept = world.workspace.discard(landing.pull.head, landing.pull.head_oid, done) if is_lane else None
    for item in done:
        job.attempts.forget(item)
    _say_finished(world, watched, finished, kept)
    document = _document(world, landing, "landed", None, finished.answers)
    document["method"] = str(watched.method) if watched.method else None
    document["parents"] = [parent.name for parent in finished.parents]
    document["notes"] = [printable(note) for note in (*finished.notes, *([kept] if kept else []))]
    world.talk.document(document)
    return exit_of(finished.answers)


def kept_branches(world: World) -> frozenset[str]:
    """Branches that work is cut from: one of them may be merged into another, and stays."""
    named = (world.settings.integration_branch, world.remote.default_branch())
    return frozenset(branch for branch in named if branch)


def _say_finished(world: World, watched: Watched, finished: Finished, kept: str | None) -> None:
    landing = watched.landing
    commit = f" as {landing.merge_commit[:12]}" if landing.merge_commit else ""
    world.talk.result(f"#{landing.pull.number} is merged into {landing.pull.base}{commit}{_how(watched.method)}")
    _say_answers(world, finished.answers)
    for parent in finished.parents:
        world.talk.result(f"closed {words.qualified(parent, world.repo)}, all of whose parts are delivered")
    for line in dict.fromkeys(finished.notes):
        world.talk.warn(line)
    if kept is not None:
        world.talk.say(kept)


def _how(method: Method | None) -> str:
    """Says how it was merged, where that is not the usual way."""
    if method in {None, Method.SQUASH}:
        return ""
    return f", by {'a merge commit' if method is Method.MERGE else 'rebasing'}: squashing is not allowed here"


def _say_answers(world: World, answers: Sequence[Answer]) -> None:
    for answer in answers:
        if answer.succeeded:
            world.talk.result(words.success(answer, world.repo, world.now))
        else:
            world.talk.error(*words.refusal(answer, world.repo, world.now))
    for note in dict.fromkeys(note for answer in answers for note in answer.notes):
        world.talk.warn(note)


def _red(job: Job, landing: Landing, most: int) -> Exit:
    count = max(job.attempts.count(item, landing.pull.head_oid) for item in job.items)
    failed = [(check, _log(job, check)) for check in failing(landing)]
    talk, named = job.talk, names_of_failing(landing)
    gives_up = count >= most
    talk.error(f"#{landing.pull.number}: checks failed: {named} (attempt {count} of {most})")
    for check, path in failed:
        talk.say(f"{check.name}: {path or check.url or 'no log'}")
    answers = _give_up(job, landing, count) if gives_up else []
    talk.say("hint: the issue says what failed" if gives_up else _MEND)
    document = _document(job.world, landing, "blocked" if gives_up else "red", "checks-failed", answers)
    document["attempts"] = count
    document["logs"] = [{"name": printable(check.name), "path": str(path)} for check, path in failed if path]
    talk.document(document)
    return exit_of(answers) or Exit.NO


def _give_up(job: Job, landing: Landing, count: int) -> list[Answer]:
    """Marks the issue as blocked and releases the claim; worktree and assignee stay for whoever goes on."""
    world, named = job.world, names_of_failing(landing)
    said = f"checks failed {count} times{_postable(job.board, f': {named}')}"
    claims = world.store.read_all().claims
    answers = give_up(world.store, job.board, job.items, job.chain, claims, landing, said)
    done = [answer.item for answer in answers if answer.succeeded]
    leave_lane(world, job.chain, done)
    for item in done:
        job.attempts.begin_anew(item)
    _say_answers(world, answers)
    if len(done) == len(answers):
        world.talk.say("given up: marked as blocked and released; worktree and assignee stay")
    return answers


def _postable(board: Board, named: str) -> str:
    """Names of checks are somebody else's words: what must not be posted is left out, and stops nothing."""
    try:
        check_words(board, named)
    except Usage:
        return ""
    return printable(named)


def _stopped(job: Job, watched: Watched) -> Exit:
    landing, step = watched.landing, watched.step
    talk, number = job.talk, landing.pull.number
    if step.move is Move.LOST:
        talk.error(f"#{number} was not merged: the claim is lost", f"'git claim show {job.lead.spelling}' shows it")
    elif step.hindrance is None:
        talk.error(
            f"#{number} is not merged yet: {said_of_waiting(step.waits, watched.said)}",
            "'git claim land' again goes on",
        )
    else:
        why, hint = said_of(step.hindrance)
        said = f" ({watched.said})" if watched.said else ""
        talk.error(f"#{number} is not merged: {why}{said}", hint)
    reason = str(step.hindrance) if step.hindrance else "lost" if step.move is Move.LOST else "waiting"
    document = _document(job.world, landing, "stopped", reason, [])
    talk.document({**document, "waits": str(step.waits) if step.waits else None})
    return Exit.UNKNOWN if reason == "waiting" else Exit.NO


def _document(
    world: World, landing: Landing, outcome: str, reason: str | None, answers: Sequence[Answer]
) -> dict[str, object]:
    """The document of every answer; what an answer has nothing to say of is null or empty."""
    found: Document = {
        "ok": outcome == "landed" and all(answer.succeeded for answer in answers),
        "outcome": outcome,
        "reason": reason,
        "pull": landing.pull.number,
        "url": landing.pull.url,
        "merge_commit": landing.merge_commit,
        "method": None,
        "checks": [{"name": printable(each.name), "state": str(each.state)} for each in landing.checks],
        "waits": None,
        "attempts": None,
        "logs": [],
        "items": [answer_document(answer, world.repo) for answer in answers],
        "parents": [],
        "notes": [],
    }
    return found


def _log(job: Job, check: Check) -> Path | None:
    text = job.board.tracker.log_of(check)
    return job.attempts.keep_log(job.lead, check.name, text) if text else None
