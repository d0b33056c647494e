"""A rate-limited afternoon: what GitHub asks to wait is waited, said and then done once; what is too long is told."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents import ROOT, Agent
from tests.github_double import GitHub
from tests.github_double.records import Issue
from tests.places import CLAIMS, make_clone

CLAIMED = ["afk", "in-progress"]
NAP = """\
import time

def sleep(seconds, take_a_nap=time.sleep):
    with open({log!r}, "a") as log:
        print(seconds, file=log)
    take_a_nap(0.001)

time.sleep = sleep
"""


@pytest.fixture
def issue(github: GitHub) -> Issue:
    return github.add_issue(42, "Fix the totals", labels=["afk", "ready"])


@pytest.fixture
def octo(github: GitHub, tmp_path: Path) -> Agent:
    return Agent(make_clone(github.server, tmp_path), "chain-octo", github.environment("octo"))


@pytest.fixture
def napping(octo: Agent, tmp_path: Path) -> Agent:
    """The same agent, for whom any wait is over at once."""
    (tmp_path / "hurry").mkdir()
    (tmp_path / "hurry/sitecustomize.py").write_text(NAP.format(log=str(tmp_path / "naps")))
    return replace(octo, environment=octo.environment | {"PYTHONPATH": f"{tmp_path / 'hurry'}:{ROOT}"})


def naps(tmp_path: Path) -> list[float]:
    """How long the napping agent would have slept, without the looks for a lock."""
    return [seconds for line in (tmp_path / "naps").read_text().splitlines() if (seconds := float(line)) >= 0.5]


def assert_told_once(issue: Issue) -> None:
    nonces = [nonce for body in issue.bodies for nonce in re.findall(r"nonce=(\S+)", body)]
    assert len(nonces) == len(set(nonces)) == len(issue.bodies), issue.bodies


def test_take_waits_as_long_as_it_is_told_and_says_so(github: GitHub, octo: Agent, issue: Issue) -> None:
    # Over 3 s: the waiting is real, one second before the read and two before the write.
    github.mood("secondary-limit", only="reads", times=1, seconds=1)
    github.mood("primary-limit", only="writes", times=1, seconds=1)
    answer = octo.claim("42")
    assert (answer.status, answer.stdout) == (0, "claimed acme/ledger#42 for chain-octo\n"), answer
    assert "GitHub says: You have exceeded a secondary rate limit. Please" in answer.stderr
    assert "; waiting 1 s\n" in answer.stderr
    assert re.search(r"GitHub says: API rate limit exceeded for user ID 1\.; waiting [12] s\n", answer.stderr), answer
    assert "warning" not in answer.stderr
    assert [request.status for request in github.requests] == [403, 200, 403, 200]
    assert (sorted(issue.labels), issue.assignees) == (CLAIMED, ["octo"])
    assert_told_once(issue)


@pytest.mark.parametrize("field", ["addComment", "addAssigneesToAssignable", "addLabelsToLabelable"])
def test_step_of_a_take_that_came_too_quickly_is_taken_again_alone(
    github: GitHub, napping: Agent, issue: Issue, tmp_path: Path, field: str
) -> None:
    github.mood("too-quickly", only="writes", times=1, fields=(field,))
    answer = napping.claim("42", check=0)
    assert "GitHub says: was submitted too quickly; waiting 60 s\n" in answer.stderr and "warning" not in answer.stderr
    assert naps(tmp_path)[0] == 60
    first, second = github.writes
    assert first.document.count("Comment(") == 1 and second.document.count("Comment(") == (field == "addComment")
    assert (sorted(issue.labels), issue.assignees) == (CLAIMED, ["octo"])
    assert_told_once(issue)


def test_afternoon_of_limits_ends_as_any_other(github: GitHub, napping: Agent, issue: Issue) -> None:
    github.mood("graphql-limit", only="reads", times=1, seconds=30)
    napping.claim("42", check=0)
    github.mood("secondary-limit", times=1, seconds=20)
    issue.labels.remove("in-progress")
    assert napping.claim("sync", check=0).stdout.startswith("repaired acme/ledger#42: no-signals")
    github.mood("too-quickly", only="writes", times=1, fields=("removeLabelsFromLabelable",))
    github.mood("secondary-limit", only="reads", times=2, seconds=20)
    released = napping.claim("release", "42", "--abandoned", check=0)
    assert [line.rpartition("; ")[2] for line in released.stderr.splitlines() if "; waiting" in line] == [
        "waiting 20 s",
        "waiting 20 s",
        "waiting 60 s",
    ]
    assert (github.server.refs(), sorted(issue.labels), issue.assignees) == ({}, ["afk", "ready"], [])
    assert len(issue.comments) == 2
    assert_told_once(issue)
    assert napping.claim("sync", check=0).stdout == "claims and tracker agree\n"


def test_wait_that_is_too_long_leaves_a_claim_whose_signals_are_said_to_be_missing(
    github: GitHub, octo: Agent, issue: Issue, tmp_path: Path
) -> None:
    github.mood("secondary-limit", only="writes", seconds=300)
    answer = octo.claim("42")
    assert (answer.status, answer.stdout) == (0, "claimed acme/ledger#42 for chain-octo\n"), answer
    steps = "label and removal of a label and assignee and comment"
    assert f"warning: {steps} did not land: GitHub says: You have exceeded a secondary rate limit" in answer.stderr
    assert "hint: 'git claim sync' repairs what is shown of claims\n" in answer.stderr
    assert list(github.server.refs()) == [f"{CLAIMS}issue-42"] and issue.comments == []
    github.calm()
    github.forget_requests()
    waiting = octo.claim("sync")
    assert waiting.status == 3 and "GitHub has limited the requests of 'octo'" in waiting.stderr, waiting
    assert github.writes == []
    elsewhere = replace(octo, environment=octo.environment | {"XDG_CACHE_HOME": str(tmp_path / "another machine")})
    assert elsewhere.claim("sync", check=0).stdout.startswith("repaired acme/ledger#42: no-signals")
    assert (sorted(issue.labels), issue.assignees) == (CLAIMED, ["octo"])
    assert_told_once(issue)


def test_wait_that_is_too_long_before_the_look_claims_nothing(github: GitHub, octo: Agent, issue: Issue) -> None:
    github.mood("secondary-limit", only="reads", seconds=300)
    answer = octo.claim("42")
    assert (answer.status, answer.stdout) == (3, ""), answer
    assert answer.stderr.startswith("error: GitHub says: You have exceeded a secondary rate limit")
    assert "repeating is safe; it will be in vain for another 5 min" in answer.stderr
    assert (github.server.refs(), issue.labels) == ({}, ["afk", "ready"])
