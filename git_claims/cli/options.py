"""Options and argument types that several commands share, and the group that takes an item for `take`."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, TypeVar

import click

from git_claims.cli.render import Talk
from git_claims.cli.world import LIST, World
from git_claims.errors import ClaimError, Terminated, Usage
from git_claims.protocol.item import Named, is_item, parse
from git_claims.protocol.text import duration, printable

_Command = TypeVar("_Command", bound=Callable[..., object])


class ItemType(click.ParamType[Named]):
    """An item in any spelling."""

    name = "item"

    def convert(self, value: Named | str, param: click.Parameter | None, ctx: click.Context | None) -> Named:
        if isinstance(value, Named):
            return value
        try:
            return parse(value)
        except Usage as error:
            self.fail(f"{error.message}; {error.hint}", param, ctx)


class DurationType(click.ParamType[timedelta]):
    """A duration such as 90s, 5m, 2h or 1d."""

    name = "duration"

    def convert(self, value: timedelta | str, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        try:
            return duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


ITEM = ItemType()
DURATION = DurationType()


class Place(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    attribute: str
    help: str


class Group(click.Group):
    """Commands in the order of a working day; an argument that is an item means `take`."""

    def __init__(self, *arguments: object, places: Mapping[str, Place], **attributes: object) -> None:
        super().__init__(*arguments, **attributes)  # type: ignore[arg-type]
        self.places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self.places.get(cmd_name)
        if place is None:
            return None
        found = getattr(importlib.import_module(f"git_claims.cli.{place.module}"), place.attribute)
        return found if isinstance(found, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.help) for name, place in self.places.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._with_take(args))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.places:
            import difflib

            close = difflib.get_close_matches(args[0], self.places, n=1)
            meant = f"; did you mean 'git claim {close[0]}'?" if close else ""
            unset = "; is a variable empty?" if not args[0] else ""
            ctx.fail(f"'{printable(args[0])}' is neither a command nor an item{meant}{unset}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ClaimError as error:
            if isinstance(error, Usage):
                error.hint = error.hint or f"'{ctx.command_path} {ctx.invoked_subcommand} -h' shows how it is used"
            if error.hint and isinstance(ctx.obj, Talk):
                error.hint = ctx.obj.placed(error.hint)
            raise
        except KeyboardInterrupt:
            if sys.stderr.isatty():
                raise
            # click ends the line of a ^C, also where no terminal shows one.
            raise Terminated from None

    def _with_take(self, args: list[str]) -> list[str]:
        """Puts `take` in front where the first word that is no option is an item: `git claim --wait 42`."""
        start = 0
        while start < len(args) and args[start] == "-C":
            start += 2
        words = [word for word in args[start:] if not word.startswith("-")]
        if words and words[0] not in self.places and is_item(words[0]):
            return [*args[:start], "take", *args[start:]]
        return args


def bare_option_means(name: str, value: str) -> Callable[[list[str]], list[str]]:
    """Lets an option stand without its value. click itself would take the next word for it: `--wait 42`."""

    def rewrite(args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        return [f"{name}={value}" if word == name and place < end else word for place, word in enumerate(args)]

    return rewrite


def edges(
    *, chain: bool = True, remote: bool = True, as_json: bool = True, quiet: bool = True
) -> Callable[[_Command], _Command]:
    """Adds the shared options that make sense for a command; it receives one World for them."""

    def decorate(command: _Command) -> _Command:
        options = [click.option("-C", "directory", metavar="PATH", help="Run as if started in PATH.")]
        if chain:
            options.append(click.option("--chain", metavar="CHAIN", help="The chain that asks."))
        if remote:
            options.append(click.option("--remote", metavar="NAME", help="The remote where claims live."))
        if as_json:
            options.append(click.option("--json", "as_json", is_flag=True, help="Print one JSON document."))
        if quiet:
            options.append(click.option("-q", "--quiet", is_flag=True, help="Print no confirmations and no hints."))
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def open_world(options: dict[str, object], named: Sequence[Named | None] = ()) -> World:
    """Takes the shared options out of a command's own and returns the world they describe.

    `named`: the items of the command, by which outside of any repository the clone is found.
    """
    as_json, quiet = bool(options.pop("as_json", False)), bool(options.pop("quiet", False))
    chain, remote = options.pop("chain", None), options.pop("remote", None)
    directory = options.pop("directory", None) or click.get_current_context().find_root().params.get("directory")
    world = World(
        Path.cwd() if directory is None else Path.cwd() / str(directory),
        Talk(as_json=as_json, quiet=quiet),
        None if chain is None else str(chain),
        None if remote is None else str(remote),
    )
    items = [each for each in named if each is not None]
    if not items or not (world.directory / LIST).is_file():
        return world
    from git_claims.cli.clones import of_items

    found = of_items(world, items)
    # What is raised is told by whoever does not know of clones.
    click.get_current_context().find_root().obj = found.talk
    return found
