"""The command line: the group of all commands, and the one place where an error becomes an exit status."""

import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType

import click

from git_claims import __version__
from git_claims.cli import changing, hook, lanes, looking, publishing, setting_up, words
from git_claims.cli.options import Group
from git_claims.cli.render import Talk, mute
from git_claims.errors import CannotWrite, ClaimError, Exit, Interrupted, Terminated, Usage

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Group, context_settings=_CONTEXT, invoke_without_command=True)
@click.option("-C", "directory", metavar="PATH", help="Run as if started in PATH.")
@click.version_option(__version__, prog_name="git-claim", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context, directory: str | None) -> None:
    """Claim issues so that no two agents work the same one; the git server decides.

    'git claim 42' claims issue 42, 'git claim ls' shows who holds what, 'git claim release 42' gives it up.
    """
    if context.invoked_subcommand is None:
        raise Usage("no command and no item", "'git claim -h' lists the commands")


for _command in (
    changing.take,
    lanes.start,
    changing.release,
    looking.ls,
    looking.show,
    looking.check,
    lanes.lanes_command,
    lanes.prune_lanes,
    publishing.push_command,
    publishing.exec_command,
    changing.renew,
    changing.hand_off,
    changing.adopt,
    changing.reclaim,
    hook.hook,
    looking.whoami,
    setting_up.init,
    setting_up.doctor,
    setting_up.demo,
    setting_up.guide,
    setting_up.completion,
):
    cli.add_command(_command)


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
            traceback.print_exc()
        return Exit.CANNOT


def _open_missing_streams() -> None:
    """Opens what the caller closed, as git does: a file opened later must not become standard output."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - open for as long as we run


def _terminated(number: int, frame: FrameType | None) -> None:
    raise Terminated
