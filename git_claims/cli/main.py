"""The command line: the group of all commands, and the one place where an error becomes an exit status."""

import os
import signal
import sys
from pathlib import Path
from types import FrameType

import click

from git_claims import __version__
from git_claims.cli import words
from git_claims.cli.options import Group, Place
from git_claims.cli.render import Talk, mute
from git_claims.errors import CannotWrite, ClaimError, Exit, Interrupted, Terminated, Usage

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


# In the order of a working day. A command is loaded when it is asked for: most of a start is loading.
COMMANDS = {
    "take": Place("changing", "take", "Claim items; the default: git claim 42."),
    "start": Place("lanes", "start", "Claim an item and open a worktree for it."),
    "next": Place("choosing", "next_command", "Say what to work on next; --take or --start begins it."),
    "ready": Place("queue", "ready", "List what is ready, best first, and why the rest is not."),
    "mine": Place("queue", "mine_command", "List what this chain holds, and what comes next."),
    "release": Place("releasing", "release", "Give up claims; without an item, those of this lane."),
    "ls": Place("looking", "ls", "List every claim of the remote."),
    "watch": Place("watching", "watch_command", "Watch claims and queue as they change."),
    "show": Place("looking", "show", "Show the whole record of one claim."),
    "check": Place("looking", "check", "Ask whether this chain holds an item."),
    "lanes": Place("lanes", "lanes_command", "List this clone's worktrees and whether they hold their claims."),
    "prune-lanes": Place("lanes", "prune_lanes", "Remove worktrees that are released and saved."),
    "push": Place("publishing", "push_command", "Push work, fenced by its claim."),
    "pr": Place("proposing", "pr_command", "Push this lane's branch and open its pull request."),
    "land": Place("landing", "land", "Merge the pull request when it is green, and release with credit."),
    "exec": Place("publishing", "exec_command", "Run a command for as long as its claim holds."),
    "run": Place("running", "run_command", "Run a worker for one ready issue after another, each verified."),
    "report": Place("running", "report_command", "Write the line by which a worker says how it ended."),
    "renew": Place("changing", "renew", "Say that work on a claim goes on."),
    "hand-off": Place("changing", "hand_off", "Pass a claim on to another chain."),
    "adopt": Place("changing", "adopt", "Continue the claim of a predecessor."),
    "reclaim": Place("changing", "reclaim", "Free a claim as a person, at a terminal."),
    "hook": Place("hook", "hook", "Install the pre-push hook that refuses unclaimed branches."),
    "hold": Place("tracked", "hold", "Put an item on hold: nobody claims it."),
    "unhold": Place("tracked", "unhold", "End a hold."),
    "sync": Place("tracked", "sync", "Find and repair drift between claims and the tracker."),
    "whoami": Place("looking", "whoami", "Say which chain is in force here."),
    "init": Place("setting_up", "init", "Write .claims.toml and ignore .worktrees/."),
    "doctor": Place("setting_up", "doctor", "Find out whether claims can work here."),
    "demo": Place("setting_up", "demo", "Watch agents race for issues in a throw-away repository."),
    "guide": Place("setting_up", "guide", "One screen for an agent: the loop, and what each refusal means."),
    "completion": Place("setting_up", "completion", "Print a completion script for a shell."),
}


@click.group(cls=Group, places=COMMANDS, context_settings=_CONTEXT, invoke_without_command=True)
@click.option("-C", "directory", metavar="PATH", help="Run as if started in PATH.")
@click.version_option(__version__, prog_name="git-claim", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context, directory: str | None) -> None:
    """Claim issues so that no two agents work the same one; the git server decides.

    'git claim 42' claims issue 42, 'git claim ls' shows who holds what, 'git claim release 42' gives it up.
    """
    if context.invoked_subcommand is None:
        raise Usage("no command and no item", "'git claim -h' lists the commands")


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    _open_missing_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        # What was ignored when we were started, as nohup does it, stays so.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminated)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not turn an answer into a crash.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    # What stands behind the dashes is for the command that exec runs.
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    talk, stdout = Talk(as_json="--json" in own, quiet=False), sys.stdout
    try:
        return _run(arguments, talk)
    except SystemExit:
        if sys.stdout is stdout:
            raise
        # click put another stream there and ended with 1: nobody reads its help. That is not the answer no.
        mute(stdout)
        return Exit.DONE
    except CannotWrite as error:
        talk.error(error.message, error.hint, fatal=True)
        return error.exit


def _run(arguments: list[str], talk: Talk) -> int:
    try:
        status = cli.main(arguments, prog_name="git claim", complete_var="_GIT_CLAIM_COMPLETE", standalone_mode=False)
        sys.stdout.flush()
        return int(status or Exit.DONE)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "git claim"
        talk.failure(Usage(words.usage(error.format_message()), f"'{where} -h' shows how it is used"))
        return Exit.USAGE
    except CannotWrite:
        raise
    except ClaimError as error:
        talk.failure(error)
        return error.exit
    except (KeyboardInterrupt, click.Abort, Terminated):
        talk.failure(Interrupted("interrupted"))
        return Exit.INTERRUPTED
    except Exception as error:
        # A bug of ours. Nothing is known of what was done, but every command may be repeated.
        talk.failure(
            ClaimError(f"internal error: {type(error).__name__}: {error}", "repeating is safe; please report it")
        )
        if os.environ.get("GIT_CLAIM_TRACE"):
            import traceback

            traceback.print_exc()
        return Exit.CANNOT


def _open_missing_streams() -> None:
    """Opens what the caller closed, as git does: a file opened later must not become standard output."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - open for as long as we run


def _terminated(number: int, frame: FrameType | None) -> None:
    raise Terminated
