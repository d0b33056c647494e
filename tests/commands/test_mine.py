"""`git claim mine`: what this chain holds, and what comes next for each of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands.lane import work
from tests.commands.telling import block, plant, shown
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import Clone


@pytest.fixture
def lane(github: GitHub, octo: ForkedAgent) -> ForkedAgent:
    """The lane of an issue that this chain has begun."""
    github.add_issue(42, "Fix the totals", labels=["ready", "afk"])
    path = Path(octo.claim("start", "42", check=0).stdout.strip())
    return ForkedAgent(Clone(path, octo.clone.server, linked=True), None, octo.environment)


def todo(octo: ForkedAgent) -> object:
    return octo.claim("mine", "--json", check=0).at("mine", 0, "todo")


def test_lane_is_gone_on_with(octo: ForkedAgent, lane: ForkedAgent) -> None:
    (lane.clone.path / "draft").write_text("half a thought\n")
    # How wide a column is depends on where the test runs.
    assert re.sub(r"LANE +", "LANE    ", shown(octo.claim("mine"))) == block("""
        exit 0
        --- stdout
        ITEM            NEXT               BRANCH             UNSAVED              LANE    TITLE
        acme/ledger#42  go on in its lane  42-fix-the-totals  uncommitted changes  <path>  Fix the totals
        --- stderr
        """)


def test_open_pull_request_is_landed(github: GitHub, octo: ForkedAgent, lane: ForkedAgent) -> None:
    github.add_pull(57, head="42-fix-the-totals", closes=42)
    assert todo(octo) == "land"
    assert "acme/ledger#42  git claim land 42  42-fix-the-totals" in octo.claim("mine").stdout


def test_pull_request_that_closes_nothing_is_found_by_its_branch(
    github: GitHub, octo: ForkedAgent, lane: ForkedAgent
) -> None:
    work(lane)
    lane.clone.git("push", "--quiet", "origin", "HEAD", environment=octo.environment)
    github.add_pull(57, head="42-fix-the-totals", base="next")
    assert todo(octo) == "land"


def test_merged_pull_request_is_finished(github: GitHub, octo: ForkedAgent, lane: ForkedAgent) -> None:
    github.add_pull(57, head="42-fix-the-totals", closes=42)
    github.merge(57)
    answer = octo.claim("mine", "--json", check=0)
    assert (answer.at("mine", 0, "todo"), answer.at("next")) == ("finish", ["git claim land 42"])


def test_claim_without_a_lane_is_started(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, "Fix the totals", labels=["ready"])
    octo.claim("42", check=0)
    answer = octo.claim("mine", "--json", check=0)
    assert (answer.at("mine", 0, "todo"), answer.at("next")) == ("start", ["git claim start 42"])
    path = octo.claim("start", "42", check=0).stdout.strip()
    assert octo.claim("mine", "--json", check=0).at("mine", 0, "path") == path


@pytest.mark.parametrize("arrange", ["closed", "held"])
def test_claim_on_what_nobody_may_start_is_given_up(arrange: str, github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, "Fix the totals", labels=["ready"])
    octo.claim("42", check=0)
    if arrange == "closed":
        github.close(42)
    else:
        github.label(42, "hold")
    answer = octo.claim("mine", "--json", check=0)
    assert (answer.at("mine", 0, "todo"), answer.at("next")) == ("release", ["git claim release 42"])
    octo.claim("release", "42", check=0)
    assert github.server.refs() == {}


def test_command_that_follows_keeps_a_chain_that_only_an_option_named(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    octo.chain = None
    answer = octo.claim("mine", "--chain", "chain-octo", "--json", check=0)
    assert answer.at("next") == ["git claim start 42 --chain chain-octo"]


def test_document_of_mine(octo: ForkedAgent, lane: ForkedAgent) -> None:
    answer = octo.claim("mine", "--json", check=0)
    assert set(answer.json) == {"mine", "left_out", "next"}
    assert answer.at("mine") == [
        {
            **{"item": "issue-42", "repo": "acme/ledger", "todo": "resume", "branch": "42-fix-the-totals"},
            **{"path": str(lane.clone.path), "unsaved": None, "title": "Fix the totals", "pulls": []},
            "clone": str(octo.clone.path),
        }
    ]


def test_claims_of_others_are_named_and_left_alone_however_old(github: GitHub, octo: ForkedAgent) -> None:
    oid = plant(github.server, "issue-7", "chain-ada", claimed_at="2020-01-01T00:00:00Z")
    answer = octo.claim("mine")
    assert (answer.status, answer.stdout) == (0, "")
    assert answer.stderr == (
        "this chain holds nothing\nothers hold in acme/ledger: 7; leave them alone, however old they are\n"
    )
    assert github.server.refs() == {"refs/claims/issue-7": oid} and github.writes == []


def test_without_a_chain_nothing_can_be_mine(octo: ForkedAgent) -> None:
    octo.chain = None
    answer = octo.claim("mine", "--json")
    assert (answer.status, answer.at("reason")) == (1, "no-chain")


def test_tracker_that_is_down_leaves_the_claims_and_the_lanes(
    github: GitHub, octo: ForkedAgent, lane: ForkedAgent
) -> None:
    github.mood("down")
    answer = octo.claim("mine", "--json", check=0)
    assert (answer.at("mine", 0, "todo"), answer.at("mine", 0, "title")) == ("resume", None)
    assert "warning: what the tracker says of acme/ledger is left out" in answer.stderr


def test_without_a_tracker_claims_and_lanes_are_listed_all_the_same(agent: ForkedAgent) -> None:
    agent.claim("42", check=0)
    agent.claim("start", "43", check=0)
    answer = agent.claim("mine", "--json", check=0)
    assert [answer.at("mine", place, "todo") for place in (0, 1)] == ["start", "resume"]
