"""The house keeps its order: who imports whom, what stays out of where, and how long things are.

The table is DESIGN.md section 9; the shape is the house style. The checker reads source and runs none of it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "git_claims"
SOURCES = sorted(ROOT.glob(f"{PACKAGE}/**/*.py"))
SHAPED = [*SOURCES, *sorted(ROOT.glob("tests/**/*.py"))]


@dataclass(frozen=True, slots=True)
class Layer:
    """What of ours a layer may import: at run time, and beyond that for annotations only."""

    runtime: frozenset[str]
    types: frozenset[str] = frozenset()


LAYERS = {
    "errors": Layer(frozenset(), frozenset({"protocol"})),
    "protocol": Layer(frozenset({"protocol", "errors"})),
    "child": Layer(frozenset()),
    "git": Layer(frozenset({"git", "protocol", "errors", "child"})),
    "tracker": Layer(frozenset({"tracker", "protocol", "errors", "child"})),
    "flows": Layer(frozenset({"flows", "protocol", "errors"}), frozenset({"git", "tracker"})),
    "cli": Layer(frozenset({"cli", "flows", "tracker", "git", "protocol", "errors", ""})),
    "__main__": Layer(frozenset({"cli"})),
    "": Layer(frozenset()),
}

# Who may import what is not everybody's; a path that ends in a slash is a whole directory.
RESERVED: dict[str, tuple[str, ...]] = {
    "pygit2": ("git/store.py",),
    "subprocess": ("child.py", "flows/guard.py"),
    "click": ("cli/",),
    "tomli_w": ("git/", "cli/"),
    "importlib": ("cli/",),
    "multiprocessing": (),
    "pty": (),
}

# What would make a decision depend on more than its arguments.
IMPURE = {
    *("asyncio", "fcntl", "getpass", "glob", "http", "io", "logging", "multiprocessing", "os", "pathlib"),
    *("platform", "random", "secrets", "select", "shutil", "signal", "socket", "ssl", "subprocess", "sys"),
    *("tempfile", "threading", "time", "urllib.request", "uuid"),
}
PURE_PARTS = frozenset({"pathlib.PurePath", "pathlib.PurePosixPath"})
IMPURE_CALLS = (".open", ".input", "datetime.now", "datetime.utcnow", "datetime.today", "date.today")

STARTS_PROCESSES = ("os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "os.fork")
ENDS_THE_PROGRAM = frozenset({"sys.exit", "os._exit", "exit", "quit", "SystemExit"})
MAY_END_THE_PROGRAM = frozenset({"cli/main.py", "__main__.py"})
VAGUE_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name: `from a import b` is a.b, and `typed` says that it is for annotations only."""

    name: str
    line: int
    typed: bool


def violations(path: str, source: str) -> list[str]:
    """What is wrong with one module; the path is relative to the package."""
    tree = ast.parse(source)
    found = [*_wrong_imports(path, tree), *_wrong_calls(path, tree), *_wrong_handlers(path, tree)]
    if VAGUE_NAMES & set(Path(path).with_suffix("").parts):
        found.append(f"{path}: a name that says nothing")
    return found


def layer_of(path: str) -> str:
    name = Path(path).with_suffix("").parts[0]
    return "" if name == "__init__" else name


def imports(path: str, tree: ast.Module) -> Iterator[Import]:
    typed = {id(node) for guard in ast.walk(tree) if _is_for_types(guard) for node in ast.walk(guard)}
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (Import(alias.name, node.lineno, id(node) in typed) for alias in node.names)
            case ast.ImportFrom():
                base = _absolute(path, node)
                yield from (Import(f"{base}.{alias.name}", node.lineno, id(node) in typed) for alias in node.names)


def _is_for_types(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        and not node.orelse
    )


def _absolute(path: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = [PACKAGE, *Path(path).parent.parts]
    return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])


def _wrong_imports(path: str, tree: ast.Module) -> Iterator[str]:
    for imported in imports(path, tree):
        if reason := _objection(path, imported):
            yield f"{path}:{imported.line}: {reason}"


def _objection(path: str, imported: Import) -> str | None:
    top, layer = imported.name.partition(".")[0], layer_of(path)
    if top == PACKAGE:
        return _objection_within(layer, imported)
    if top in RESERVED and not path.startswith(RESERVED[top]):
        return f"'{top}' is not imported here"
    if top not in sys.stdlib_module_names and top not in RESERVED:
        return f"'{top}' is not a dependency"
    if layer == "protocol":
        return _objection_to_impurity(imported.name)
    return None


def _objection_within(layer: str, imported: Import) -> str | None:
    if layer not in LAYERS:
        return f"'{layer}' is not a part of the house"
    target = [*imported.name.split("."), ""][1]
    target = target if target in LAYERS else ""
    allowed = LAYERS[layer].runtime | (LAYERS[layer].types if imported.typed else frozenset())
    return None if target in allowed else f"'{layer}' imports '{imported.name}'"


def _objection_to_impurity(name: str) -> str | None:
    parts = name.split(".")
    prefixes = {".".join(parts[: length + 1]) for length in range(len(parts))}
    return f"'{name}' in a pure module" if prefixes & IMPURE and name not in PURE_PARTS else None


def _wrong_calls(path: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
        elif isinstance(node, ast.Raise) and node.exc is not None:
            called = ast.unparse(node.exc)
        else:
            continue
        if _is_wrong_call(path, called):
            yield f"{path}:{node.lineno}: '{called}' is not for here"


def _is_wrong_call(path: str, called: str) -> bool:
    return (
        called in {"print", "os.chdir", "__import__", "eval", "exec"}
        or (called in ENDS_THE_PROGRAM and path not in MAY_END_THE_PROGRAM)
        or (called.startswith(STARTS_PROCESSES) and path not in RESERVED["subprocess"])
        or (layer_of(path) == "protocol" and f".{called}".endswith(IMPURE_CALLS))
    )


def _wrong_handlers(path: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and _catches_all(node) and path != "cli/main.py":
            yield f"{path}:{node.lineno}: catches everything"


def _catches_all(handler: ast.ExceptHandler) -> bool:
    """A handler that ends by raising again is a clean-up and catches nothing."""
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or ast.unparse(kind) in {"Exception", "BaseException"} for kind in kinds)


def function_lengths(source: str) -> list[int]:
    """Lines of each function, its decorators not counted."""
    functions = (
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return [(node.end_lineno or node.lineno) - node.lineno + 1 for node in functions]


def shape_complaints(lengths: list[int]) -> list[str]:
    short = sum(length <= 10 for length in lengths)
    bearable = sum(length < 40 for length in lengths)
    complaints = {
        f"{short} of {len(lengths)} functions have at most 10 lines": short * 2 < len(lengths),
        f"{bearable} of {len(lengths)} functions are below 40 lines": bearable * 10 < len(lengths) * 9,
    }
    return [complaint for complaint, wrong in complaints.items() if wrong]


def test_every_module_imports_and_calls_only_what_its_place_allows() -> None:
    found = [
        violation
        for source in SOURCES
        for violation in violations(str(source.relative_to(ROOT / PACKAGE)), source.read_text())
    ]
    assert not found, "\n".join(found)


def test_every_module_is_below_400_lines() -> None:
    long = [f"{path.relative_to(ROOT)}: {length}" for path in SHAPED if (length := _lines(path)) >= 400]
    assert not long, long


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


@pytest.mark.parametrize("part", [PACKAGE, "tests"])
def test_most_functions_are_short(part: str) -> None:
    paths = [path for path in SHAPED if path.is_relative_to(ROOT / part)]
    lengths = [length for path in paths for length in function_lengths(path.read_text())]
    assert not shape_complaints(lengths)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("protocol/item.py", "import os"),
        ("protocol/item.py", "from pathlib import Path"),
        ("protocol/item.py", "from time import sleep"),
        ("protocol/item.py", "import urllib.request"),
        ("protocol/item.py", "def f():\n    import random"),
        ("protocol/item.py", "now = datetime.now(UTC)"),
        ("protocol/item.py", "today = datetime.date.today()"),
        ("protocol/item.py", "text = open('claim').read()"),
        ("protocol/item.py", "from git_claims.git import store"),
        ("protocol/item.py", "from ..git import store"),
        ("protocol/item.py", "from git_claims import __version__"),
        ("protocol/item.py", "if TYPE_CHECKING:\n    from git_claims.flows.take import Answer"),
        ("protocol/item.py", "import pygit2"),
        ("errors.py", "from git_claims.protocol.claim import Claim"),
        ("git/remote.py", "from git_claims.tracker import model"),
        ("git/remote.py", "from git_claims import tracker"),
        ("git/remote.py", "import git_claims.flows.take"),
        ("git/remote.py", "import subprocess"),
        ("git/remote.py", "import pygit2"),
        ("git/remote.py", "import requests"),
        ("git/remote.py", "os.execvp('git', [])"),
        ("git/remote.py", "import importlib"),
        ("tracker/github.py", "from git_claims.git.process import run"),
        ("tracker/github.py", "import subprocess"),
        ("flows/take.py", "from git_claims.git.store import Store"),
        ("flows/take.py", "if TYPE_CHECKING:\n    pass\nelse:\n    from git_claims.git import store"),
        ("flows/take.py", "from git_claims.cli import render"),
        ("flows/take.py", "import click"),
        ("flows/take.py", "print('taken')"),
        ("flows/take.py", "sys.exit(1)"),
        ("flows/take.py", "raise SystemExit(1)"),
        ("flows/take.py", "raise SystemExit"),
        ("cli/main.py", "print('taken')"),
        ("cli/main.py", "import pty"),
        ("cli/main.py", "os.chdir('/')"),
        ("cli/render.py", "sys.exit(1)"),
        ("cli/render.py", "import subprocess"),
        ("cli/render.py", "try:\n    pass\nexcept:\n    pass"),
        ("git/store.py", "try:\n    pass\nexcept Exception as error:\n    raise Lost from error"),
        ("git/store.py", "try:\n    pass\nexcept (OSError, BaseException):\n    pass"),
        ("git/utils.py", ""),
        ("helpers/text.py", ""),
        ("network/text.py", "from git_claims.errors import Exit"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str) -> None:
    assert violations(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("protocol/item.py", "import re\nfrom datetime import datetime\nfrom pathlib import PurePosixPath"),
        ("protocol/item.py", "from git_claims.errors import Exit\nfrom .claim import Claim"),
        ("protocol/item.py", "from urllib.parse import urlsplit"),
        ("errors.py", "if TYPE_CHECKING:\n    from git_claims.protocol.claim import Claim"),
        ("git/store.py", "import pygit2\nfrom git_claims.git import process"),
        ("child.py", "import subprocess\ntry:\n    pass\nexcept BaseException:\n    end()\n    raise"),
        ("flows/take.py", "if TYPE_CHECKING:\n    from git_claims.git.store import Store"),
        ("flows/take.py", "from git_claims.flows.change import change"),
        ("cli/main.py", "import click\nfrom git_claims import __version__\nsys.exit(1)"),
        ("cli/main.py", "try:\n    pass\nexcept Exception:\n    pass"),
        ("__main__.py", "from git_claims.cli.main import main\nraise SystemExit(main())"),
        ("__init__.py", "__version__ = '1'"),
    ],
)
def test_what_is_allowed_is_not_found(path: str, source: str) -> None:
    assert not violations(path, source)


def test_long_functions_are_counted_with_their_bodies() -> None:
    assert function_lengths("@decorated\ndef f():\n    def g():\n        pass\n    return g") == [4, 2]
    assert not shape_complaints([10, 11])
    assert shape_complaints([10, 11, 11]) == ["1 of 3 functions have at most 10 lines"]
    assert shape_complaints([1] * 8 + [40]) == ["8 of 9 functions are below 40 lines"]
