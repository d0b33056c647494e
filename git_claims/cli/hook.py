"""The hook commands: install, uninstall, status, and pre-push, which git runs."""

import os
import sys

import click

from git_claims.cli import words
from git_claims.cli.options import edges, open_world
from git_claims.cli.render import Document, seen_document
from git_claims.cli.world import CHAIN_VARIABLE, World
from git_claims.errors import CannotTell, Exit, GitFailed
from git_claims.flows.gate import Judged, judge
from git_claims.git import hooks
from git_claims.git.hooks import HookPlace, HookState
from git_claims.git.remote import FENCED
from git_claims.protocol.gate import PushedRef, Rules, Why, parse_lines, questions
from git_claims.protocol.text import printable

_ZEROS = "0" * 40


@click.group()
def hook() -> None:
    """Install, look at or take away the pre-push hook that refuses branches whose item is not claimed."""


@hook.command(short_help="Install it where git looks.")
@edges(chain=False, remote=False)
def install(**shared: object) -> Exit:
    """Install the hook where git looks for it; a hook that is there runs first, its exit status kept."""
    world = open_world(shared)
    place = _place(world)
    before = hooks.install(place)
    done = {
        HookState.CURRENT: "is installed already",
        HookState.NONE: "installed",
        HookState.OLDER: "brought up to date",
        HookState.FOREIGN: f"installed; the hook that was there runs first, as {place.chained.name}",
    }[before]
    world.talk.result(f"pre-push hook {done}: {printable(str(place.hook))}")
    world.talk.document(_place_document(place, before))
    return Exit.DONE


@hook.command(short_help="Take it away, and put back what was there.")
@edges(chain=False, remote=False)
def uninstall(**shared: object) -> Exit:
    """Take the hook away; a hook that was there before it comes back."""
    world = open_world(shared)
    place = _place(world)
    before = hooks.uninstall(place)
    gone = before in {HookState.CURRENT, HookState.OLDER}
    world.talk.result("pre-push hook taken away" if gone else "our pre-push hook is not there, nothing to take away")
    world.talk.document(_place_document(place, before))
    return Exit.DONE


@hook.command(short_help="Say where git looks and what is there.")
@edges(chain=False, remote=False)
def status(**shared: object) -> Exit:
    """Say where git looks for hooks and whether ours is there. Exit status 1 where it is not, or is old."""
    world = open_world(shared)
    place = _place(world)
    state = place.state()
    meaning = {
        HookState.NONE: "no pre-push hook",
        HookState.CURRENT: "our pre-push hook, up to date",
        HookState.OLDER: "an older version of our pre-push hook; 'git claim hook install' renews it",
        HookState.EDITED: "our pre-push hook, changed by somebody",
        HookState.FOREIGN: "a pre-push hook that is not ours",
    }[state]
    world.talk.data(f"{printable(str(place.hook))}: {meaning}")
    if place.chained.exists():
        world.talk.data(f"runs first: {printable(str(place.chained))}")
    if place.keep_out is not None:
        world.talk.say(f"{place.keep_out}; the line for '{place.file_by_hand}' is: {hooks.BY_HAND}")
    world.talk.document(_place_document(place, state))
    return Exit.DONE if state is HookState.CURRENT else Exit.NO


@hook.command("pre-push", short_help="What the hook runs; reads git's lines.")
@click.argument("remote_name", required=False, metavar="[REMOTE]")
@click.argument("url", required=False, metavar="[URL]")
@edges(remote=False)
def pre_push(remote_name: str | None, url: str | None, **shared: object) -> Exit:
    """Judge a push from the lines that git writes to a pre-push hook, or that pre-commit puts into variables."""
    world = open_world(shared)
    settings = world.settings
    rules = Rules(settings.branch_pattern, settings.hook_strict, settings.hook_exempt)
    asked = [] if os.environ.get(FENCED) else questions(_pushed(), rules)
    if not asked:
        world.talk.document({"ok": True, "refs": []})
        return Exit.DONE
    offline = settings.hook_offline_age.total_seconds() if settings.hook_offline == "cached" else None
    try:
        gate = judge(world.store, asked, world.chain_or_none(), offline)
    except CannotTell as silence:
        raise CannotTell(
            f"nothing is pushed, since it cannot be known whether it is claimed: {silence.message}",
            "push again when the remote answers; hook.offline = cached in .claims.toml accepts a fresh local copy",
        ) from silence
    if gate.copy_age is not None:
        world.talk.warn(f"the remote does not answer; judged by the local copy, {int(gate.copy_age)} s old")
    refused = [each for each in gate.judged if not each.passes and not _only_warned(world, each)]
    for each in gate.judged:
        if not each.passes:
            _say_refused(world, each)
    world.talk.document({"ok": not refused, "refs": [_judged_document(each) for each in gate.judged]})
    return Exit.NO if refused else Exit.DONE


def _pushed() -> list[PushedRef]:
    text = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    branch = os.environ.get("PRE_COMMIT_REMOTE_BRANCH")
    if branch is not None and not text:
        # pre-commit hands no lines on; it never runs its hooks for a delete.
        local = os.environ.get("PRE_COMMIT_LOCAL_BRANCH", "HEAD")
        text = f"{local} {'1' * 40} {branch} {_ZEROS}\n"
    try:
        return parse_lines(text)
    except ValueError as error:
        raise GitFailed(str(error), "run it as git does, from a pre-push hook") from error


def _only_warned(world: World, judged: Judged) -> bool:
    # Other people's claims are never a matter of house rules.
    return world.settings.hook_unclaimed == "warn" and judged.question.why is not Why.IS_CLAIM


def _say_refused(world: World, judged: Judged) -> None:
    line, hint = _refusal(world, judged)
    if _only_warned(world, judged):
        world.talk.warn(line)
    else:
        world.talk.error(line, hint)


def _refusal(world: World, judged: Judged) -> tuple[str, str]:
    question, branch = judged.question, printable(judged.question.branch)
    if question.item is None:
        if question.why is Why.IS_CLAIM:
            return f"'{branch}' is among the claims and names no item", "claims change by 'git claim' alone"
        return (
            f"branch '{branch}' names no item (hook.strict)",
            f"branches that do look like '{world.settings.branch_pattern}'; 'git claim start 42' makes one",
        )
    held = words.holding(question.item, world.repo, judged.seen, world.now)
    number = question.item.spelling
    pushed = "is pushed all the same" if _only_warned(world, judged) else "is not pushed"
    if question.why is Why.IS_CLAIM:
        return f"the claim '{branch}' is not yours to change: {held}", "claims change by 'git claim' alone"
    if judged.seen is None:
        return f"branch '{branch}' {pushed}: {held}", f"'git claim {number}' asks for it; then push again"
    if world.chain_or_none() is None:
        hint = f"if that is you, set {CHAIN_VARIABLE}, or push from the lane with 'git claim push'"
        return f"branch '{branch}' {pushed}: {held}, and no chain is in force here", hint
    return f"branch '{branch}' {pushed}: {held}", f"'git claim show {number}' shows the claim; ask its holder"


def _place(world: World) -> HookPlace:
    return hooks.find(world.repository, world.git_config)


def _place_document(place: HookPlace, state: HookState) -> Document:
    return {
        "ok": True,
        "path": str(place.hook),
        "state": str(place.state()),
        "before": str(state),
        "chained": str(place.chained) if place.chained.exists() else None,
        "by_hand": hooks.BY_HAND if place.keep_out else None,
    }


def _judged_document(judged: Judged) -> Document:
    return {
        "ref": printable(judged.question.pushed.remote_ref),
        "item": judged.question.item.name if judged.question.item else None,
        "passes": judged.passes,
        "claim": seen_document(judged.seen),
    }
