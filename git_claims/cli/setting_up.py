"""Commands around the work: init, doctor, demo, completion, guide."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from git_claims.cli.options import edges, open_world
from git_claims.cli.world import World
from git_claims.errors import ClaimError, Exit, GitFailed, NoTrackerHere, Usage
from git_claims.git.config import FILE, parse_file
from git_claims.git.process import child_environment
from git_claims.protocol.item import NAMESPACES
from git_claims.protocol.text import printable, stamp

if TYPE_CHECKING:
    from git_claims.flows.doctor import Finding

_HEADER = "# Settings of 'git claim' that everyone who works here must agree on; see git-claim(1).\n"
_IGNORED = ".worktrees/"
_PACKAGE = Path(__file__).parents[1]
_COMPLETIONS = {"bash": "git-claim.bash", "zsh": "_git-claim", "fish": "git-claim.fish"}
_MARKS = {"ok": "ok     ", "warning": "warning", "failure": "FAILURE"}


@click.command()
@click.option("--namespace", type=click.Choice(NAMESPACES), default=NAMESPACES[0], help="Where claims live.")
@click.option("--labels", is_flag=True, help="Create the labels that are missing on the tracker, and nothing else.")
@edges(chain=False)
def init(namespace: str, labels: bool, **shared: object) -> Exit:
    """Write .claims.toml for a repository that shares a queue, and ignore .worktrees/.

    Commit both. Your fetch refspecs are not touched.
    """
    import tomli_w

    world = open_world(shared)
    if labels:
        return _make_labels(world)
    top = world.repository.top
    if top is None:
        raise Usage("init needs a work tree to write to, and this repository has none here", "run it in a clone")
    settings = {"namespace": namespace, "remote": world.remote.name, "tracker": "auto"}
    done = [
        _written(top / FILE, _HEADER + tomli_w.dumps(settings), namespace),
        _ignored(top / ".gitignore"),
    ]
    for line in done:
        world.talk.result(line)
    world.talk.say(f"next: commit {FILE} and .gitignore; 'git claim doctor' tries the remote")
    world.talk.document({"ok": True, "done": done, "next": ["git claim doctor"]})
    return Exit.DONE


@click.command()
@edges(chain=False)
def doctor(**shared: object) -> Exit:
    """Look at everything that claims depend on, and say what to do where something is wrong.

    Throw-away refs are pushed, read back and deleted, so the answer is what the remote really does.
    """
    from git_claims.flows.doctor import Finding, Level

    world = open_world(shared)
    findings: list[Finding] = []
    for finding in _findings(world):
        findings.append(finding)
        world.talk.data(f"{_MARKS[finding.level]}  {finding.name}: {finding.detail}")
        if finding.advice:
            world.talk.data(f"         -> {finding.advice}")
    failed = any(finding.level is Level.FAILURE for finding in findings)
    world.talk.document(
        {
            "ok": not failed,
            "findings": [
                {"name": each.name, "level": str(each.level), "detail": each.detail, "advice": each.advice}
                for each in findings
            ],
        }
    )
    return Exit.NO if failed else Exit.DONE


@click.command()
@click.option("--agents", type=click.IntRange(2, 64), default=8, show_default=True, help="How many race.")
@click.option("--issues", type=click.IntRange(1, 50), default=5, show_default=True, help="What they race for.")
@edges(chain=False, remote=False)
def demo(agents: int, issues: int, **shared: object) -> Exit:
    """Let agents race for issues, each in a clone of its own, and show that each issue had one winner.

    Everything happens in a temporary directory that is removed again. Nothing of yours is read or changed.
    """
    from git_claims.flows.demo import Raced, race
    from git_claims.git.sandbox import Sandbox, isolated

    world = open_world(shared)
    world.talk.say(f"{agents} agents in clones of their own ask for one issue at the same time, {issues} times")
    raced: list[Raced] = []
    world.talk.data(_demo_line("ISSUE", "WON BY", "LOST", "THE SERVER SAYS"))
    with tempfile.TemporaryDirectory(prefix="git-claim-demo-") as directory:
        root = Path(directory)
        for each in race(Sandbox(root, isolated(child_environment(os.environ), root)), agents, issues):
            raced.append(each)
            line = _demo_line(each.item, ", ".join(each.winners) or "-", str(each.lost), each.holder or "-")
            world.talk.data(line)
    fair = all(each.is_fair for each in raced)
    world.talk.data("each issue had exactly one winner" if fair else "NOT every issue had exactly one winner")
    world.talk.document(
        {
            "ok": fair,
            "races": [
                {"item": each.item, "winners": list(each.winners), "lost": each.lost, "holder": each.holder}
                for each in raced
            ],
        }
    )
    return Exit.DONE if fair else Exit.NO


@click.command()
@click.argument("shell", type=click.Choice(tuple(_COMPLETIONS)))
def completion(shell: str) -> Exit:
    """Print a completion script for SHELL; it completes both 'git-claim' and 'git claim'."""
    click.echo((_PACKAGE / "completions" / _COMPLETIONS[shell]).read_text(encoding="utf-8"), nl=False)
    return Exit.DONE


@click.command()
def guide() -> Exit:
    """Print the whole tool on one screen, for an agent, or for the file that tells agents how to work here."""
    click.echo((_PACKAGE / "cli" / "guide.txt").read_text(encoding="utf-8"), nl=False)
    return Exit.DONE


def _demo_line(issue: str, won_by: str, lost: str, holder: str) -> str:
    return f"{issue:<10}{won_by:<12}{lost:<6}{holder}"


def _findings(world: World) -> "Iterator[Finding]":
    from git_claims.flows import doctor
    from git_claims.git import hooks
    from git_claims.git.probe import Probe
    from git_claims.git.repository import MINIMUM_GIT, version

    git_version = version(world.git)
    yield from doctor.look_around(
        world.repository,
        world.git_config,
        world.settings,
        hooks.find(world.repository, world.git_config),
        git_version,
        MINIMUM_GIT,
        world.now,
    )
    try:
        probe = Probe(world.store, os.urandom(8).hex(), stamp(world.now))
    except ClaimError as error:
        yield doctor.failure("remote", error.message, error.hint or "add a remote with one URL")
        return
    yield from doctor.examine_remote(world.store, probe, world.settings, world.now)
    yield from doctor.examine_tracker(world.tracker, world.settings)


def _make_labels(world: World) -> Exit:
    from git_claims.protocol.signals import definitions
    from git_claims.tracker.model import LabelDefinition

    board = world.board()
    if not board.tracker.shows:
        raise NoTrackerHere(
            "there is no tracker here to make labels on", "tracker = github in .claims.toml, and 'gh auth login'"
        )
    wanted = [LabelDefinition(*row) for row in definitions(board.house.labels)]
    made = board.tracker.ensure_labels(wanted)
    for name in made:
        world.talk.result(f"made label {printable(name)}")
    if not made:
        world.talk.result("every label is there already")
    world.talk.document({"ok": True, "made": made, "labels": [label.name for label in wanted]})
    return Exit.DONE


def _written(path: Path, text: str, namespace: str) -> str:
    if path.exists():
        found, _ = parse_file(path.read_text(encoding="utf-8"))
        if found["namespace"] != namespace:
            raise ClaimError(
                f"{FILE} is there already and says namespace = {found['namespace']}",
                "changing it moves every claim; edit the file yourself when nobody holds any",
            )
        return f"{FILE} is there already"
    _write(path, text)
    return f"wrote {FILE}"


def _ignored(path: Path) -> str:
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if _IGNORED in before.split("\n") or _IGNORED.rstrip("/") in before.split("\n"):
        return f"{_IGNORED} is ignored already"
    separator = "" if not before or before.endswith("\n") else "\n"
    _write(path, f"{before}{separator}{_IGNORED}\n")
    return f"ignored {_IGNORED}"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise GitFailed(f"cannot write '{path}': {error.strerror}") from error
