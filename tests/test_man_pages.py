"""The manual pages and the guide say what the program does, all of it and nothing else."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import git_claims
from git_claims.cli.main import cli
from git_claims.errors import ClaimError, Exit, Trouble
from git_claims.flows.doctor import Level
from git_claims.flows.lanes import LaneState
from git_claims.flows.mine import Todo
from git_claims.git.config import SETTINGS
from git_claims.git.hooks import HookState
from git_claims.git.repository import MINIMUM_GIT
from git_claims.protocol.landing import Waits
from git_claims.protocol.obstacles import Cause
from git_claims.protocol.pull import CheckState, Hindrance, Method
from git_claims.protocol.ready import State
from git_claims.protocol.transition import Outcome, Reason
from tests.agents import Agent, Answer
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked
from tests.github_double import GitHub
from tests.pages import (
    PACKAGE,
    PAGES,
    ROOT,
    SHARED,
    Part,
    bold,
    commands,
    document_keys,
    options,
    package_strings,
    plain,
    read_page,
    subsections,
)
from tests.places import Clone, Server, make_clone
from tests.transports import needs

PAGE = read_page(PAGES[0])
COMMANDS = commands()
GUIDE = (PACKAGE / "cli/guide.txt").read_text(encoding="utf-8")
OPTION = re.compile(r"(?<![\w-])(?:--[a-z][a-z-]+|-[A-Za-z])(?![\w-])")


def render(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    man = needs(Path(shutil.which("man") or "man"), "man-db")
    environment = {**os.environ, "MANWIDTH": "80", "MANROFFOPT": "-c", "MAN_KEEP_FORMATTING": ""}
    command = [str(man), *arguments, "-l", str(path)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)


# How the pages look


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_man_has_no_warning_about_a_page(path: Path) -> None:
    answer = render(path, "--warnings", "-E", "UTF-8", "-Tutf8", "-Z")
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_examples_can_be_copied_from_the_screen_and_fit_on_it(path: Path) -> None:
    screen = {line.strip() for line in render(path).stdout.splitlines()}
    lines = [line for part in read_page(path).values() for block in part.examples for line in block.splitlines()]
    assert lines and [line for line in lines if line.strip() not in screen] == []
    assert [line for line in screen if len(line) > 80] == []


def test_sections_stand_in_the_order_of_gits_own_pages() -> None:
    sections = [title for title in PAGE if "/" not in title]
    assert sections == [
        *("NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "OUTPUT", "JSON OUTPUT", "EXAMPLES"),
        *("CONFIGURATION", "ENVIRONMENT", "FILES", "HOOKS", "EXIT STATUS", "NOTES", "SEE ALSO"),
    ]


# Commands and options


def test_every_command_has_its_place_and_nothing_else_has() -> None:
    assert list(subsections(PAGE, "COMMANDS")) == [f"git claim {name}" for name in COMMANDS]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_place_names_its_own_options_and_no_others(name: str) -> None:
    assert set(PAGE[f"COMMANDS/git claim {name}"].names) == options(COMMANDS[name]) - SHARED


def test_options_of_many_commands_say_who_does_not_take_them() -> None:
    assert {option for option in PAGE["OPTIONS"].names if option != "--version"} == SHARED
    for entry in PAGE["OPTIONS"].entries:
        if entry.names == ["--version"]:
            continue
        _, _, without = entry.text.partition("Not taken by: ")
        lacking = {name for name, command in COMMANDS.items() if not set(entry.names) <= options(command)}
        assert set(bold(without)) == lacking, entry.tag


def test_the_group_itself_takes_what_the_page_says() -> None:
    assert options(cli) == {"-C", "--version", "-h", "--help"}


def synopsis() -> dict[str, str]:
    """The forms of each command, by its words."""
    forms: dict[str, str] = defaultdict(str)
    text = "\n".join(line for line in PAGE["SYNOPSIS"].lines if not line.startswith("."))
    for form in re.split(r"\n(?=\S)", text.strip()):
        words = plain(form).removeprefix("git claim ")
        names = [name for name in COMMANDS if f"{words} ".startswith(f"{name} ")]
        forms[names[0] if names else ""] += f"{words}\n"
    return forms


def test_synopsis_has_a_form_for_every_command_in_order() -> None:
    forms = synopsis()
    assert forms.pop("") == "<item>...\n--version\n"
    assert list(forms) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_synopsis_of_a_command_has_its_own_options_and_no_others(name: str) -> None:
    found = set(OPTION.findall(synopsis()[name].replace("-- <command>", "")))
    assert found == options(COMMANDS[name]) - SHARED


@pytest.mark.parametrize(
    "words",
    [
        *("take 42 43 --bundle 44", "take 42 --force", "take 42 --reason because", "release --all 42"),
        *("take 42 --force --reason because --wait", "take 42 --force --reason because --bundle 43"),
        *("take 42 43 --force --reason because --all-or-nothing", "take 42 --wait 5m"),
        *("check 42 --any-chain", "check --branch 42-fix 42", "whoami --save", "push --checked --dry-run"),
        *("push -f", "push origin +HEAD:42-fix", "push origin :42-fix", "start pr-7", "hand-off 42", "adopt 42"),
        *("take other/repository#42", "demo --agents 1", "demo --issues 51", "init --namespace refs/mine"),
    ],
)
def test_combination_that_the_page_rules_out_is_a_wrong_command_line(agent: Agent, words: str) -> None:
    answer = forked(agent).claim(*words.split())
    assert answer.status == Exit.USAGE, answer
    assert agent.clone.server.refs() == {}


# Codes, settings, variables


def test_exit_statuses_are_those_of_the_program() -> None:
    assert PAGE["EXIT STATUS"].names == [str(int(status)) for status in Exit]


def test_oldest_git_is_that_of_the_program() -> None:
    assert f"Needs git {'.'.join(map(str, MINIMUM_GIT))} or newer" in plain(PAGE["NOTES"].text)


def test_outcomes_and_reasons_are_those_of_the_program() -> None:
    assert PAGE["JSON OUTPUT/Outcomes"].names == list(Outcome)
    assert PAGE["JSON OUTPUT/Reasons"].names == list(Reason)
    assert PAGE["JSON OUTPUT/Reasons of waiting"].names == list(Cause)
    assert PAGE["JSON OUTPUT/Reasons of landing"].names == [*Hindrance, "checks-failed", "lost", "waiting"]


def test_reasons_of_failures_are_those_that_errors_carry() -> None:
    for module in pkgutil.walk_packages(git_claims.__path__, "git_claims."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    kinds: list[type[ClaimError]] = [ClaimError, *_kinds(ClaimError)]
    expected = {kind.reason for kind in kinds} | set(Trouble)
    assert set(PAGE["JSON OUTPUT/Reasons of failures"].names) == expected


def _kinds(kind: type[ClaimError]) -> Iterator[type[ClaimError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


@pytest.mark.parametrize(
    ("part", "key", "words"),
    [
        ("Lanes", "state", LaneState),
        ("Hook", "state", HookState),
        ("Doctor", "level", Level),
        ("Queue", "state", State),
        ("Mine", "todo", Todo),
        ("Landing", "waits", Waits),
        ("Landing", "method", Method),
        ("Landing", "state", CheckState),
    ],
)
def test_words_that_a_key_may_have_are_all_named(part: str, key: str, words: Iterable[str]) -> None:
    assert sorted(bold(PAGE[f"JSON OUTPUT/{part}"][key].text)) == sorted(words)


def test_settings_are_those_of_the_program_and_so_are_their_defaults() -> None:
    part = PAGE["CONFIGURATION/.claims.toml"]
    assert part.names == list(SETTINGS)
    for key, setting in SETTINGS.items():
        text = plain(part[key].text).replace("\n", " ")
        default = {"": "", False: "false", True: "true", (): "[]"}.get(setting.default, str(setting.default))
        assert f"Default: {default}" in text, key


def test_keys_of_git_config_are_those_that_the_program_reads() -> None:
    read = {text.lower() for text in package_strings() if re.fullmatch(r"claim\.[a-zA-Z]+", text)}
    hooks = "".join(path.read_text() for path in (ROOT / "hooks").iterdir())
    read |= {key.lower() for key in re.findall(r"git config (claim\.\w+)", hooks)}
    assert {name.lower() for name in PAGE["CONFIGURATION/git config"].names} == read


def test_variables_are_those_that_the_program_and_its_scripts_know() -> None:
    variable = re.compile(r"_?(?:GIT|SSH|LC|COMP|PRE_COMMIT)_[A-Z_]+|LANGUAGE")
    scripts = [*(ROOT / "hooks").iterdir(), *(PACKAGE / "completions").iterdir()]
    # The demo runs in an environment of its own making.
    known = {text for text in package_strings("sandbox.py") if variable.fullmatch(text) and text != "GIT_"}
    known |= {
        name for script in scripts for name in re.findall(rf"(?:\$\{{?|\b)({variable.pattern})\b=?", script.read_text())
    }
    named = [name for name in bold(PAGE["ENVIRONMENT"].text) if variable.fullmatch(name)]
    assert set(named) == known


# JSON documents


def described() -> dict[str, Part]:
    """The subsections that describe documents or what is in them; the others describe codes."""
    parts = subsections(PAGE, "JSON OUTPUT")
    return {title: part for title, part in parts.items() if not title.startswith(("Outcomes", "Reasons"))}


def printers() -> list[tuple[str, str]]:
    """Each command, perhaps with an option, and the subsection whose first line names it."""
    first = {title: re.match(r"Printed by (.*?)\.$", part.text, re.MULTILINE) for title, part in described().items()}
    named = [(name, title) for title, printed in first.items() if printed for name in bold(printed[1])]
    return [(name, title) for name, title in named if name.partition(" --")[0] in COMMANDS]


def test_every_document_is_described_once() -> None:
    expected = [name for name, command in COMMANDS.items() if "--json" in options(command)]
    assert sorted(name for name, _ in printers() if name in COMMANDS) == sorted(expected)


# What stands under these keys is described in a place of its own.
BELOW = {
    **{"claim": "A claim", "rival": "A claim", "items": "Answers", "left_out": "Left out"},
    **{"pulls": "Listing", "staleness": "Listing"},
}


@dataclass(slots=True)
class Documents:
    """The keys of the documents seen, by the subsection that describes them."""

    keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    seen: set[str] = field(default_factory=set)

    def see(self, agent: Agent, words: str, stdin: str | None = None) -> Answer:
        """Runs a command and notes the keys of its document."""
        answer = agent.claim(*words.split(), "--json", stdin=stdin)
        name = max((name for name, _ in printers() if f"{words} ".startswith(f"{name} ")), key=len)
        self.seen.add(name)
        for document in [answer.json] if name != "watch" else map(json.loads, answer.stdout.splitlines()):
            self._note("Failure" if "error" in document else dict(printers())[name], document)
        return answer

    def _note(self, part: str, document: dict[str, object]) -> None:
        for key, value in document.items():
            self.keys[part].add(key)
            below = BELOW.get(key, part)
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict) and key != "extra":
                    self._note(below, each)


IN_CLONE = """
    take 42 43; renew 42; show 9; check 42; check --branch 42-fix --any-chain; ls; adopt 43 --from chain-rival
    hand-off 43 --to chain-next; reclaim 43; release 42; show nothing; hook install; hook status; hook uninstall
    whoami; init; doctor; demo --agents 2 --issues 1
"""
IN_LANE = "push; lanes; prune-lanes --dry-run"
ON_GITHUB = """
    ready; next; next --pin 41; mine; ls; show 42; sync --dry-run; sync --release-idle --dry-run; hold 41 --reason why
    unhold 41; release --ci-done 41; init --labels; watch --for 1s; land 42; pr
"""


def each_of(commands: str) -> list[str]:
    return [words.strip() for words in re.split(r"[;\n]", commands.strip())]


def test_every_key_of_every_document_is_described_and_no_other(
    make_agent: MakeAgent, server: Server, github: GitHub, tmp_path: Path
) -> None:
    # Over 3 s: every command that has a document is run.
    agent, documents = make_agent(), Documents()
    agent.clone.config("claim.allowReclaimWithoutTerminal", "true")
    server.plant_bytes("issue-9", b"half a record")
    server.plant_claim("issue-43", "chain-rival")
    for words in each_of(IN_CLONE):
        documents.see(forked(agent), words)
    path = Path(str(documents.see(forked(agent), "start 44").at("path")))
    for words in each_of(IN_LANE):
        documents.see(ForkedAgent(Clone(path, server, linked=True), agent.chain), words)
    for line in (f"refs/heads/42-fix {'1' * 40} refs/heads/42-fix {'0' * 40}\n", ""):
        documents.see(agent, "hook pre-push origin", line)
    for words in each_of(ON_GITHUB):
        documents.see(_at_desk(github, tmp_path) if words in {"ready", "mine"} else _on_github(github, tmp_path), words)
    assert documents.seen == dict(printers()).keys()
    assert documents.keys == {title: set(part.names) for title, part in described().items()}


def _on_github(github: GitHub, root: Path) -> ForkedAgent:
    """An agent whose claim of an issue with a pull request was never shown."""
    if not (root / "octo").exists():
        github.add_issue(41, labels=["ready", "afk"])
        github.add_issue(42, labels=["afk"])
        github.add_pull(57, head="42-fix", closes=42)
        github.server.plant_claim("issue-42", "chain-octo", operator="octo", branch="42-fix")
        github.check(57, "test", "FAILURE").summary = "expected 3, got 4"
        clone = make_clone(github.server, root, "octo")
        clone.git("switch", "--quiet", "-c", "42-fix")
        clone.commit("fix")
    return ForkedAgent(Clone(root / "octo", github.server), "chain-octo", github.environment("octo"))


def _at_desk(github: GitHub, root: Path) -> ForkedAgent:
    """The same outside of any repository, where a list names a clone and something that is none."""
    (root / ".agent-repos").write_text("octo\nnowhere\n")
    return replace(_on_github(github, root), clone=Clone(root, github.server))


def test_option_of_the_command_that_exec_runs_asks_for_no_document(agent: Agent) -> None:
    answer = forked(agent).claim("-C", "nowhere", "exec", "42", "--", "tool", "--json")
    assert (answer.status, answer.stdout) == (Exit.USAGE, "")


def test_no_document_is_built_with_a_key_that_is_not_described() -> None:
    assert document_keys() <= {name for part in described().values() for name in part.names}


# The guide, and what no text of ours may hold


def test_guide_is_one_screen_of_less_than_500_words() -> None:
    assert len(GUIDE.split()) < 500
    assert max(len(line) for line in GUIDE.splitlines()) <= 120


def test_guide_names_only_commands_and_options_that_exist() -> None:
    loop, _, _ = GUIDE.partition("\nNEVER\n")
    named = re.findall(r"git claim (?!work)([a-z-]+|\d+)([^\n']*?)(?=  |[\n')]|$)", loop)
    assert len(named) > 12
    for word, rest in named:
        name = "take" if word.isdigit() else word
        assert name in COMMANDS and set(OPTION.findall(rest.split(" -- ")[0])) <= options(COMMANDS[name]), (word, rest)
    anywhere = set().union(*(options(command) for command in COMMANDS.values()))
    assert set(OPTION.findall(loop)) <= anywhere


def test_guide_explains_exit_statuses_of_the_program() -> None:
    _, _, statuses = GUIDE.partition("\nEXIT STATUS\n")
    listed = [int(number) for number in re.findall(r"^  (\d+)  ", statuses, re.MULTILINE)]
    assert listed == [status for status in Exit if status is not Exit.INTERRUPTED]


# Ready to copy means with the command that it belongs to.
LOSES_WORK = re.compile(
    r"git push [^\n]*?(?:--force(?!-with-lease)|--mirror|--delete|--no-verify| -[fd]\b| \+| :)"
    r"|git (?:reset|clean|restore|checkout|rebase|stash|update-ref|reflog|gc|branch -[dDfM]|tag -d|worktree remove)\b"
    r"|\brm -"
)


def test_no_text_of_ours_has_a_command_that_loses_work_ready_to_copy() -> None:
    hooks = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "hooks").iterdir()))
    spoken = [line for line in hooks.splitlines() if not line.startswith("#")]
    texts = {"guide": GUIDE, "hooks": "\n".join(spoken), "program": "\n".join(package_strings())}
    texts |= {path.name: plain(path.read_text(encoding="utf-8")) for path in PAGES}
    found = {name: LOSES_WORK.findall(text) for name, text in texts.items()}
    # The manual explains what goes round the hook, and what doctor warns about.
    assert found.pop("git-claim.1") == ["git push --no-verify", "git push --mirror"]
    assert not any(found.values()), found
