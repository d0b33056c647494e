"""Runners and their workers from claim to merged and closed: real git servers, real gh, a worker of ten lines."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.github_double import GitHub
from tests.github_double.records import Issue
from tests.places import PERSON, Clone, Server, make_clone
from tests.scenarios.oracle import is_thorough

LEDGER, WEB = "acme/ledger", "acme/web"
LOGINS = ("octo", "ada", "bob")

WORKER = """#!/bin/sh
# One issue from a commit to merged; ways to fail are asked for by files beside it.
set -e
here=$(dirname "$0")
if [ -e "$here/kill-$GIT_CLAIM_ITEM" ] && rm "$here/kill-$GIT_CLAIM_ITEM" 2>/dev/null; then kill -9 $$; fi
if [ -e "$here/halt-$GIT_CLAIM_ITEM" ] && rm "$here/halt-$GIT_CLAIM_ITEM" 2>/dev/null; then
    exec git claim report halted --reason "a key is missing"
fi
echo "$1" >"work-$GIT_CLAIM_ITEM"
git add . && git {person} commit --quiet --allow-empty -m "Work on #$GIT_CLAIM_ITEM"
url=$(git claim pr)
git claim land --without-checks
git claim report merged --pr "${{url##*/}}"
"""


@dataclass(slots=True)
class Runner:
    """A runner with clones of both repositories, which it serves from the directory that lists them."""

    directory: Path
    clones: tuple[Clone, Clone]
    chain: str
    environment: dict[str, str]
    worker: Path

    def start(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "git_claims", "run", "--chain", self.chain, *options]
        return subprocess.Popen(
            [*command, "--", str(self.worker), "{iteration} of {budget}"],
            cwd=self.directory,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *options: str) -> tuple[int, str, str]:
        return ended(self.start(*options))

    def left(self) -> list[str]:
        """Local branches and lanes that are left."""
        left = [ref for clone in self.clones for ref in clone.refs("refs/heads/") if not ref.endswith("/main")]
        return left + [str(path) for clone in self.clones for path in clone.path.glob(".worktrees/*")]


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    stdout, stderr = process.communicate(timeout=240)
    return process.returncode, stdout, stderr


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    script = tmp_path / "worker" / "worker.sh"
    script.parent.mkdir()
    script.write_text(WORKER.format(person=" ".join(f"'{word}'" for word in PERSON)))
    script.chmod(0o755)
    return script


@pytest.fixture
def web(github: GitHub) -> Server:
    return github.add_repository(WEB)


def runner(github: GitHub, web: Server, tmp_path: Path, worker: Path, number: int = 0) -> Runner:
    directory = tmp_path / f"runner-{number}"
    directory.mkdir()
    clones = make_clone(github.server, directory, "ledger"), make_clone(web, directory, "web")
    (directory / ".agent-repos").write_text("ledger\nweb # the site\n")
    for clone in clones:
        clone.config("claim.poll", "1s")
    environment = github.environment(LOGINS[number % len(LOGINS)])
    return Runner(directory, clones, f"chain-{number}", environment, worker)


def test_a_run_delivers_three_issues_from_claim_to_merged_and_closed(
    github: GitHub, web: Server, tmp_path: Path, worker: Path
) -> None:
    github.add_issue(1, "Fix the totals", labels=["ready", "afk"])
    github.add_issue(2, "Render the report", labels=["ready", "afk"], blocked_by=[1])
    github.add_issue(11, "Show the report", labels=["ready", "afk"], blocked_by=[f"{LEDGER}#2"], repo=WEB)
    one = runner(github, web, tmp_path, worker)
    status, stdout, stderr = one.run("--budget", "3")
    assert status == 0, stderr
    delivered = [line for line in stdout.splitlines() if line.startswith("delivered ")]
    assert [line.rpartition(" by ")[0] for line in delivered] == [
        f"delivered {name}" for name in (f"{LEDGER}#1", f"{LEDGER}#2", f"{WEB}#11")
    ]
    for number, repo in ((1, LEDGER), (2, LEDGER), (11, WEB)):
        assert_delivered(github, number, repo)
    assert_nothing_left(github, web, [one])


# Over 3 s: up to twelve issues, each of them pushed, proposed, merged and released by a dozen processes.
def test_three_runners_deliver_each_issue_once_although_one_dies_and_one_halts(
    github: GitHub, web: Server, tmp_path: Path, worker: Path
) -> None:
    blockers = add_queue(github)
    (worker.parent / "kill-2").touch()
    (worker.parent / "halt-4").touch()
    runners = [runner(github, web, tmp_path, worker, number) for number in range(3)]
    stopped = set[int]()
    for _ in range(12):
        running = [one.start("--budget", "3", "--wait", "2s") for one in runners]
        stopped |= {status for status, _, stderr in map(ended, running) if assert_told(status, stderr)}
        if all(issue.state == "CLOSED" for issue in everything(github)):
            break
    assert stopped >= {1, 3}, "one worker was to halt and one to die"
    for number, repo in blockers:
        assert_delivered(github, number, repo)
    assert_in_order(github, blockers)
    assert [issue.number for issue in everything(github) if issue.title == "All of it"] == [90]
    assert github.issue(90).state == "CLOSED" and len(github.issue(90).comments) == 1
    assert_nothing_left(github, web, runners)


Queue = dict[tuple[int, str], list[tuple[int, str]]]


def add_queue(github: GitHub) -> Queue:
    """Adds twelve issues, in a quick run six, to two repositories, and a parent; returns who waits for whom."""
    count = 8 if is_thorough() else 4
    waits: Queue = {(number, LEDGER): [] for number in range(1, count + 1)}
    waits |= {(number, WEB): [] for number in range(1, count // 2 + 1)}
    waits[3, LEDGER], waits[4, LEDGER] = [(1, LEDGER)], [(1, LEDGER), (2, LEDGER)]
    waits[1, WEB], waits[2, WEB] = [(3, LEDGER)], [(1, WEB)]
    for (number, repo), before in waits.items():
        named = [f"{name}#{blocker}" for blocker, name in before]
        part = "## Parent\n\n#90\n" if repo == LEDGER and number in {1, 4} else ""
        github.add_issue(number, f"Part {number}", labels=["ready", "afk"], blocked_by=named, body=part, repo=repo)
    github.add_issue(90, "All of it")
    return waits


def everything(github: GitHub) -> list[Issue]:
    return [issue for name in (LEDGER, WEB) for issue in github.repository(name).issues()]


def assert_told(status: int, stderr: str) -> bool:
    """Whatever stops a run is said, with the chain by which it goes on."""
    assert status in {0, 1, 3}, stderr
    stopped = "the run stopped" in stderr
    assert not stopped or "git claim run --chain chain-" in stderr
    assert stopped or status in {0, 1}
    return stopped


def assert_delivered(github: GitHub, number: int, repo: str) -> None:
    """Closed as completed by one merged pull request, its worker credited, one lock and one end told."""
    issue = github.issue(number, repo=repo)
    assert (issue.state, issue.state_reason) == ("CLOSED", "COMPLETED"), issue
    assert issue.labels == ["afk"] and len(issue.assignees) == 1 and issue.assignees[0] in LOGINS, issue
    pulls = [pull for pull in github.repository(repo).pulls() if number in pull.closes()]
    assert [pull.state for pull in pulls] == ["MERGED"], pulls
    first = [body.partition("\n")[0] for body in issue.bodies]
    assert len(first) == 2 and first[0].startswith("**Agent session lock**"), first
    assert first[1].startswith(f"Resolved by PR #{pulls[0].number} (merged into `main`)"), first


def assert_in_order(github: GitHub, waits: Queue) -> None:
    for (number, repo), blockers in waits.items():
        begun = github.issue(number, repo=repo).comments[0].created_at
        for blocker, name in blockers:
            closed = github.issue(blocker, repo=name).closed_at
            assert closed is not None and closed <= begun, f"{repo}#{number} did not wait for {name}#{blocker}"


def assert_nothing_left(github: GitHub, web: Server, runners: list[Runner]) -> None:
    for server in (Server(github.server.path, github.server.url), web):
        assert server.refs() == {}
        assert list(server.refs("refs/heads/")) == ["refs/heads/main"]
    assert [left for each in runners for left in each.left()] == []
