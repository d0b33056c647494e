"""Our manual pages read as data, and the program's own idea of what should stand in them. Nothing is rendered here."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from git_claims.cli.main import cli

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "git_claims"
PAGES = (ROOT / "man/git-claim.1", ROOT / "man/git-claims.7")
# Options that many commands share; the page describes them once and says who does not take them.
SHARED = frozenset({"-C", "--chain", "--remote", "--json", "-q", "--quiet", "-h", "--help"})

_ESCAPES = {r"\-": "-", r"\(aq": "'", r"\(ga": "`", r"\(ha": "^", r"\(ti": "~", r"\(bu": "•", r"\&": "", r"\e": "\\"}
_ESCAPE = re.compile("|".join(re.escape(escape) for escape in _ESCAPES))
_FONT = re.compile(r"\\f[BIR]")
_BOLD = re.compile(r"\\fB(.+?)\\fR")


@dataclass(frozen=True, slots=True)
class Entry:
    """One tag and what is said of it, in roff."""

    tag: str
    text: str

    @property
    def names(self) -> list[str]:
        """What stands in bold in the tag."""
        return bold(self.tag)


@dataclass(slots=True)
class Part:
    """A section or subsection: its lines, in roff, up to the next heading."""

    title: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def entries(self) -> list[Entry]:
        """Each tag with the text up to the next one or to the end of the list."""
        pieces = re.split(r"^\.(TP|PP|IP)\b.*\n", self.text, flags=re.MULTILINE)
        tagged = [text for kind, text in zip(pieces[1::2], pieces[2::2], strict=True) if kind == "TP"]
        return [Entry(*text.split("\n", 1)) for text in tagged]

    @property
    def names(self) -> list[str]:
        """Every name that is a tag or a part of one, in order."""
        return [name for entry in self.entries for name in entry.names]

    def __getitem__(self, name: str) -> Entry:
        return next(entry for entry in self.entries if name in entry.names)

    @property
    def examples(self) -> list[str]:
        """What stands between .EX and .EE, as a reader sees it."""
        blocks = re.findall(r"^\.EX\n(.*?)^\.EE$", self.text, re.MULTILINE | re.DOTALL)
        return [plain(block) for block in blocks]


def bold(roff: str) -> list[str]:
    return [plain(name) for name in _BOLD.findall(roff)]


def plain(roff: str) -> str:
    """The text without fonts and escapes."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], _FONT.sub("", roff))


@functools.cache
def read_page(path: Path) -> dict[str, Part]:
    """Sections by title; subsections as `SECTION/title`."""
    parts: dict[str, Part] = {}
    section = ""
    for line in path.read_text(encoding="utf-8").split("\n"):
        macro, _, rest = line.partition(" ")
        if macro in {".SH", ".SS"}:
            section = plain(rest) if macro == ".SH" else section
            title = section if macro == ".SH" else f"{section}/{plain(rest)}"
            parts[title] = Part(plain(rest))
        elif parts:
            parts[title].lines.append(line)
    return parts


def subsections(page: dict[str, Part], section: str) -> dict[str, Part]:
    return {part.title: part for title, part in page.items() if title.startswith(f"{section}/")}


def commands() -> dict[str, click.Command]:
    """Every command that does something, by the words that call it; `hook` itself only holds others."""
    return dict(_commands(cli, ""))


def _commands(group: click.Group, prefix: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in list(group.commands) or group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        if isinstance(command, click.Group):
            yield from _commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def options(command: click.Command) -> set[str]:
    """Every spelling of every option that is not hidden."""
    context = click.Context(command, help_option_names=["-h", "--help"])
    shown = [each for each in command.get_params(context) if isinstance(each, click.Option) and not each.hidden]
    return {spelling for option in shown for spelling in option.opts}


def strings_in(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def package_strings(*left_out: str) -> Iterator[str]:
    """Every string of the program's source."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name not in left_out:
            yield from strings_in(ast.parse(path.read_text(encoding="utf-8")))


def document_keys() -> set[str]:
    """Keys of the dictionaries that the command line builds for JSON, as far as they are written out."""
    return {key for path in sorted(PACKAGE.glob("cli/*.py")) for key in _keys(ast.parse(path.read_text()))}


def _keys(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if _builds_document(node):
            for literal in (each for each in ast.walk(node) if isinstance(each, ast.Dict)):
                yield from (text for key in literal.keys if key is not None for text in strings_in(key))


def _builds_document(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "document"
    return isinstance(node, ast.FunctionDef) and node.name.endswith("_document")
