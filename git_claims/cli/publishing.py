"""Commands that carry work while its claim holds: push, exec."""

import os
import shlex
from datetime import timedelta
from functools import partial

import click

from git_claims.cli import render, words
from git_claims.cli.lane_notes import say_nothing_held
from git_claims.cli.options import DURATION, ITEM, bare_option_means, edges, open_world
from git_claims.cli.world import CHAIN_VARIABLE, World
from git_claims.errors import Exit, GitFailed, Refused, Usage
from git_claims.flows.guard import Guard, Watch
from git_claims.flows.push import Pushed, push, push_checked
from git_claims.flows.showing import give_back, take_one
from git_claims.git.remote import Work
from git_claims.protocol.claim import ChainId
from git_claims.protocol.item import NAMESPACES, Item, Named, of_branch
from git_claims.protocol.served import Place
from git_claims.protocol.text import printable, without_credentials
from git_claims.protocol.transition import Outcome, Reason

_LEASE = "--force-with-lease"
_REPEAT = f"the claim is still yours; bring the branch up to date and repeat, after a rebase with {_LEASE}"
# What git says around a refusal, which is told in our own words.
_NOISE = ("hint:", "To ", "error: failed to push", "error: atomic push failed", "fatal: the remote end hung up")


class PushCommand(click.Command):
    """`--force-with-lease` may stand alone, as for git."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, bare_option_means(_LEASE, "")(args))


@click.command("push", cls=PushCommand)
@click.argument("remote_name", required=False, metavar="[REMOTE]")
@click.argument("refspecs", nargs=-1, metavar="[REFSPEC...]")
@click.option("-n", "--dry-run", is_flag=True, help="Find out whether it would land; change nothing.")
@click.option(_LEASE, "leases", multiple=True, metavar="[=REF[:ID]]", help="As for git push, for the branch.")
@click.option("--checked", is_flag=True, help="Where one push cannot fence it: check before and read back after.")
@click.option("-f", "--force", is_flag=True, hidden=True)
@edges(remote=False)
def push_command(
    remote_name: str | None,
    refspecs: tuple[str, ...],
    dry_run: bool,
    leases: tuple[str, ...],
    checked: bool,
    force: bool,
    **shared: object,
) -> Exit:
    """Push this lane's branch and renew its claim in one atomic push: if the claim moved, nothing lands.

    Without REFSPEC, the branch we stand on is pushed under its own name.
    """
    world = open_world(shared)
    if force:
        raise Usage(
            "a plain force would cancel the fence", "'--force-with-lease' replaces the branch as you last saw it"
        )
    branch = current_branch(world)
    work = Work(
        tuple(_refspec(each) for each in refspecs) or (own_refspec(branch),),
        tuple(f"{_LEASE}={lease}" if lease else _LEASE for lease in leases),
        dry_run,
        remote_name,
    )
    _check_remote(world, remote_name, checked, dry_run)
    items = items_of_work(world, branch, refspecs)
    chain = world.chain_of_holder(items)
    asker = world.asker(chain, named=False, branch=branch if not refspecs else None)
    pushed = (push_checked if checked else push)(world.store, items, asker, work)
    return say_pushed(world, pushed, work, chain)


@click.command("exec")
@click.argument("item", type=ITEM)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="-- COMMAND...")
@click.option(
    "--check-every", type=DURATION, default="60s", metavar="DURATION", help="How often the claim is read (60s)."
)
@click.option(
    "--renew-every", type=DURATION, metavar="DURATION", help="How often it is renewed (a third of stale.window)."
)
@click.option(
    "--confirm-within",
    type=DURATION,
    default="5m",
    metavar="DURATION",
    help="Stop when it could not be read for so long (5m).",
)
@click.option("--grace", type=DURATION, default="10s", metavar="DURATION", help="From TERM to KILL (10s).")
@edges(as_json=False)
def exec_command(
    item: Named,
    command: tuple[str, ...],
    check_every: timedelta,
    renew_every: timedelta | None,
    confirm_within: timedelta,
    grace: timedelta,
    **shared: object,
) -> int:
    """Claim ITEM, run COMMAND, and stop it as soon as the claim is lost or can no longer be confirmed.

    The claim is renewed while COMMAND runs and released after it, unless it was held before. The exit status is
    COMMAND's own; 1 where the claim was lost, 3 where it could not be confirmed.
    """
    from git_claims.flows.guard import run_guarded

    world = open_world(shared, [item])
    asked = world.item(item)
    chain = world.chain_or_minted()
    watch = Watch(
        check_every.total_seconds(),
        (world.settings.stale_window / 3 if renew_every is None else renew_every).total_seconds(),
        confirm_within.total_seconds(),
        grace.total_seconds(),
    )
    environment = {**os.environ, CHAIN_VARIABLE: chain, "GIT_CLAIM_ITEM": asked.spelling}
    guard = Guard(list(command), world.directory, environment, watch, world.talk.event)
    board = world.board()
    # A remote that stays silent does not keep a command that has ended.
    patient = world.store.within(watch.confirm_within)
    ended = run_guarded(
        world.store,
        Place(world.repo, asked),
        partial(world.asker, chain, named=False),
        guard,
        claim=lambda: take_one(world.store, board, asked, partial(world.asker, chain)),
        give_back=lambda succeeded: give_back(patient, board, asked, chain, succeeded=succeeded),
    )
    if ended.status is None:
        status = world.talk.answers([ended.answer], world.repo, chain, world.now)
        say_nothing_held(world, chain, [ended.answer])
        return status
    if ended.left is not None:
        line, hint = words.refusal(ended.left, world.repo, world.now)
        world.talk.warn(f"not released: {line}")
        world.talk.say(f"hint: {hint}")
    return ended.status


def say_pushed(world: World, pushed: Pushed, work: Work, chain: ChainId) -> Exit:
    """Prints what became of a push."""
    for line in _relayed(pushed.said):
        world.talk.say(line)
    if pushed.landed and not _rejected(pushed) and all(answer.succeeded for answer in pushed.answers):
        moved = [ref for ref in _branches(pushed) if pushed.branches[ref].flag != "="]
        what = ", ".join(printable(ref.removeprefix("refs/heads/")) for ref in moved)
        renewed = ", ".join(words.qualified(answer.item, world.repo) for answer in pushed.answers)
        world.talk.result(
            f"{'would push' if work.dry_run else 'pushed'} {what or 'nothing new'}; claim of {renewed} holds"
        )
        status = Exit.DONE
    else:
        status = _say_not_pushed(world, pushed)
    world.talk.document(
        {
            "ok": status is Exit.DONE,
            "landed": pushed.landed,
            "dry_run": work.dry_run,
            "branches": [
                {
                    "ref": printable(ref),
                    "flag": str(pushed.branches[ref].flag),
                    "summary": pushed.branches[ref].summary,
                }
                for ref in _branches(pushed)
            ],
            "items": [render.answer_document(answer, world.repo) for answer in pushed.answers],
            "next": render.following(pushed.answers, chain),
        }
    )
    return status


def _say_not_pushed(world: World, pushed: Pushed) -> Exit:
    failed = [answer for answer in pushed.answers if not answer.succeeded]
    what = {True: "the branch landed, but", False: "nothing was pushed:", None: "cannot tell whether it was pushed:"}
    if all(answer.reason is Reason.HOST_REFUSED for answer in failed):
        landed = "only a part was pushed:" if pushed.landed else what[pushed.landed]
        detail = "; ".join(_rejected(pushed)) or printable(failed[0].detail or "" if failed else "git push failed")
        world.talk.error(f"{landed} {detail}", _REPEAT)
        return Exit.NO
    if any(answer.reason is Reason.NO_ATOMIC for answer in failed):
        world.talk.error(
            "nothing was pushed: the remote does not apply several refs as one, so one push cannot fence it",
            "'git claim push --checked' checks the claim before and reads it back after",
        )
        return Exit.CANNOT
    for answer in failed:
        line, hint = words.refusal(answer, world.repo, world.now)
        if answer.outcome is Outcome.NOT_YOURS:
            hint = f"stop working on it; the work is safe here, 'git claim show {answer.item.spelling}' shows the claim"
        world.talk.error(f"{what[pushed.landed]} {line}", hint)
    return render.exit_of(failed) if failed else Exit.NO


def _branches(pushed: Pushed) -> list[str]:
    return [ref for ref in pushed.branches if not ref.startswith(tuple(f"{each}/" for each in NAMESPACES))]


def _rejected(pushed: Pushed) -> list[str]:
    """What git said of each branch that did not land for its own sake."""
    lines = ((ref, pushed.branches[ref]) for ref in _branches(pushed))
    return [f"{ref}: {line.summary}" for ref, line in lines if line.flag == "!" and "atomic" not in line.summary]


def _relayed(said: bytes) -> list[str]:
    """What git, its hooks and the server said, safe for a terminal."""
    lines = said.decode("utf-8", "replace").replace("\r", "\n").split("\n")
    kept = [printable(without_credentials(line)) for line in lines if line.strip()]
    return [line for line in kept if not line.startswith(_NOISE)]


def current_branch(world: World) -> str | None:
    """Returns the branch that we stand on; None where HEAD is on none."""
    found = world.repository.git.run("symbolic-ref", "--quiet", "--short", "HEAD")
    if found.status not in {0, 1}:
        raise GitFailed(f"'git symbolic-ref' failed: {found.said}", "repeating is safe")
    return found.stdout.decode("utf-8", "surrogateescape").strip() if found.status == 0 else None


def own_refspec(branch: str | None) -> str:
    """Returns the refspec that pushes a branch under its own name."""
    if branch is None:
        raise Usage("HEAD is on no branch, so there is nothing to push under its own name", "name a REFSPEC")
    return f"refs/heads/{branch}:refs/heads/{branch}"


def _refspec(text: str) -> str:
    source, colon, target = text.partition(":")
    if text.startswith(("+", "-")) or not source or (colon and not target) or "*" in text:
        raise Usage(
            f"'{printable(text)}' is not a refspec that a fence can carry",
            "write BRANCH or SOURCE:BRANCH, without '+', patterns or deletes",
        )
    # git completes a name: 'claims/issue-42' is a ref that the remote has, or a branch in the other namespace.
    if (target or source).removeprefix("refs/").removeprefix("heads/").startswith("claims/"):
        raise Usage(
            f"'{printable(text)}' names a claim; claims change by their own commands", "'git claim -h' lists them"
        )
    return text


def _check_remote(world: World, name: str | None, checked: bool, dry_run: bool) -> None:
    if checked and dry_run:
        raise Usage("--checked goes without --dry-run")
    if name is None or name == world.remote.name:
        return
    if name not in world.git_config.remotes():
        raise Usage(f"no remote named '{printable(name)}'", f"claims live on '{printable(world.remote.name)}'")
    if not checked:
        raise Refused(
            f"'{printable(name)}' is not where the claims live, so one push cannot fence it",
            f"'git claim push --checked {shlex.quote(name)}' checks the claim before and reads it back after",
        )


def items_of_work(world: World, branch: str | None, refspecs: tuple[str, ...]) -> list[Item]:
    """The lane's items, and every item that a pushed branch names: none lands on the claim of another item."""
    targets = [each.rpartition(":")[2] for each in refspecs] or [branch or ""]
    pushed = [branch if target in {"HEAD", "@"} else target.removeprefix("refs/heads/") for target in targets]
    pattern = world.settings.branch_pattern
    named = [item for each in pushed if each and (item := of_branch(pattern, each)) is not None]
    found = [*(world.lane.items if world.lane else ()), *named]
    if not found and branch and (item := of_branch(pattern, branch)) is not None:
        found = [item]
    if not found:
        raise Usage("this is no lane and the branch names no item", "'git claim start 42' opens a lane")
    return list(dict.fromkeys(found))
