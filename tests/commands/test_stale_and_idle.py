"""Whose claims, and which of them look abandoned: `ls --operator`, `ls --stale`, `sync --release-idle`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents import PROGRAM, Answer, at_terminal
from tests.commands.keyboard import at_keyboard
from tests.commands.telling import block, holders, plant, shown
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import Server, make_clone

OCTO, SECOND = "chain-octo", "chain-octo-2"


@pytest.fixture
def octo(github: GitHub, tmp_path: Path) -> ForkedAgent:
    return ForkedAgent(make_clone(github.server, tmp_path), OCTO, github.environment("octo"))


@pytest.fixture
def old(github: GitHub) -> None:
    """Claims of three days ago: two of holders who were not seen since, one with work open, one whose holder spoke."""
    for number, login in ((41, "octo"), (42, "ada"), (43, "ada"), (44, "ada")):
        github.add_issue(number, f"Issue {number}", labels=["in-progress"], assignees=[login])
        plant(github.server, f"issue-{number}", f"chain-{login}", operator=login, branch=f"{number}-fix")
    github.add_pull(57, head="43-fix", closes=43)
    github.comment(44, "ada", "still at it")


def listed(answer: Answer) -> list[object]:
    """The items of a listing in JSON."""
    claims = answer.json["claims"]
    assert isinstance(claims, list), answer
    return [answer.at("claims", place, "item") for place in range(len(claims))]


# Stale


def test_listing_of_stale_claims_shows_those_whose_holder_looks_gone_and_why(octo: ForkedAgent, old: None) -> None:
    last = "stale: claimed <age> ago was the last sign of life, no pull request of it is open"
    assert shown(octo.claim("ls", "--stale")) == block(f"""
        exit 0
        --- stdout
        ITEM  CHAIN       OPERATOR  HOST   BRANCH  AGE  NOTES  TRACKER
        41    chain-octo  octo      blade  41-fix  <age>  mine   Issue 41; open; {last}
        42    chain-ada   ada       blade  42-fix  <age>         Issue 42; open; {last}
        --- stderr
        """)


def test_json_of_stale_claims_has_the_verdict_and_its_reasons(octo: ForkedAgent, old: None) -> None:
    answer = octo.claim("ls", "--stale", "--operator", "ada", "--json", check=0)
    assert listed(answer) == ["issue-42"]
    assert (answer.at("claims", 0, "staleness", "verdict"), answer.at("claims", 0, "state")) == ("stale", "open")
    assert answer.at("claims", 0, "staleness", "reasons", 1) == "no pull request of it is open"


def test_claim_with_a_commit_pushed_to_its_branch_is_not_stale(github: GitHub, octo: ForkedAgent, old: None) -> None:
    octo.clone.commit("fix")
    octo.clone.git("push", "--quiet", "origin", "HEAD:refs/heads/42-fix", environment=octo.environment)
    assert listed(octo.claim("ls", "--stale", "--json", check=0)) == ["issue-41"]


def test_claim_whose_branch_has_an_open_pull_request_is_not_stale(github: GitHub, octo: ForkedAgent, old: None) -> None:
    github.add_pull(58, head="42-fix")
    assert listed(octo.claim("ls", "--stale", "--json", check=0)) == ["issue-41"]


def test_nothing_is_called_stale_where_the_tracker_does_not_answer(
    github: GitHub, octo: ForkedAgent, old: None
) -> None:
    github.mood("forbidden")
    answer = octo.claim("ls", "--stale")
    assert (answer.status, answer.stdout) == (3, "") and answer.stderr.startswith("error: GitHub says:"), answer


def test_stale_claims_cannot_be_told_without_the_tracker(octo: ForkedAgent) -> None:
    assert octo.claim("ls", "--stale", "--no-tracker").stderr.startswith("error: --stale needs what the tracker says")
    assert octo.claim("ls", "--stale", "--cached").status == 2


def test_stale_claims_cannot_be_told_where_there_is_no_tracker(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    answer = agent.claim("ls", "--stale")
    assert answer.status != 0 and "no claims" not in answer.stderr, answer


def test_person_who_frees_a_claim_sees_what_speaks_for_it(octo: ForkedAgent, old: None) -> None:
    with at_keyboard(octo, [*PROGRAM, "reclaim", "42"]) as person:
        person.sees("title       Issue 42")
        person.sees("holder      stale: claimed")
        person.sees("Type 42 to free it")
        person.types("no\n")
        assert person.finish() == 1


# Operators


@pytest.mark.parametrize(
    ("login", "items"),
    [("ada", ["issue-42", "issue-43", "issue-44"]), ("octo", ["issue-41"]), ("@me", ["issue-41"]), ("bob", [])],
)
def test_listing_of_an_operator_shows_the_claims_of_that_login(
    octo: ForkedAgent, old: None, login: str, items: list[str]
) -> None:
    assert listed(octo.claim("ls", "--operator", login, "--json", check=0)) == items


def test_listing_in_which_nothing_fits_does_not_say_that_nothing_is_claimed(octo: ForkedAgent, old: None) -> None:
    assert octo.claim("ls", "--operator", "bob", check=0).stderr == "no claims that fit\n"


def test_login_is_one_in_upper_and_lower_case(octo: ForkedAgent, old: None) -> None:
    assert listed(octo.claim("ls", "--operator", "OCTO", "--json", check=0)) == ["issue-41"]


def test_me_is_nobody_where_nobody_is_logged_in(github: GitHub, octo: ForkedAgent, old: None) -> None:
    octo.environment = github.environment(None)
    answer = octo.claim("ls", "--operator", "@me")
    assert "chain-ada" not in answer.stdout and "chain-octo" not in answer.stdout, answer
    assert answer.status != 0, answer


# Idle


@pytest.fixture
def crashed(github: GitHub, octo: ForkedAgent) -> None:
    """Two runs of octo and one of ada died; 43 has an open pull request."""
    for number, login, chain in (
        (42, "octo", OCTO),
        (43, "octo", OCTO),
        (44, "octo", SECOND),
        (45, "ada", "chain-ada"),
    ):
        github.add_issue(number, labels=["ready"])
        agent = ForkedAgent(octo.clone, chain, github.environment(login))
        agent.claim("take", str(number), "--branch", f"{number}-fix", check=0)
    github.add_pull(57, head="43-fix", closes=43)
    github.forget_requests()


def test_dry_run_only_names_what_is_idle(github: GitHub, octo: ForkedAgent, crashed: None) -> None:
    before = github.server.refs()
    assert (
        shown(octo.claim("sync", "--release-idle", "--dry-run"))
        == "exit 0\n--- stdout\nidle: acme/ledger#42\n--- stderr\n"
    )
    answer = octo.claim("sync", "--release-idle", "--dry-run", "--json", check=0)
    assert (answer.at("idle"), answer.at("items"), answer.at("dry_run")) == (["issue-42"], [], True)
    assert (github.server.refs(), github.writes) == (before, [])


def test_idle_claims_of_this_chain_go_back_to_the_queue_and_no_other(
    github: GitHub, octo: ForkedAgent, crashed: None
) -> None:
    assert octo.claim("sync", "--release-idle", check=0).stdout == "released acme/ledger#42\n"
    assert holders(github.server) == {"issue-43": OCTO, "issue-44": SECOND, "issue-45": "chain-ada"}
    issue = github.issue(42)
    assert (issue.labels, issue.assignees, len(issue.comments)) == (["ready"], [], 2)
    assert "Released as idle." in issue.bodies[-1]
    for number, login in ((43, "octo"), (44, "octo"), (45, "ada")):
        other = github.issue(number)
        assert (other.labels, other.assignees, len(other.comments)) == (["in-progress"], [login], 1)


def test_idle_claims_are_none_the_second_time(octo: ForkedAgent, crashed: None) -> None:
    octo.claim("sync", "--release-idle", check=0)
    assert octo.claim("sync", "--release-idle", check=0).stdout == "idle: none\n"


def test_of_named_items_only_those_are_released(github: GitHub, octo: ForkedAgent, crashed: None) -> None:
    assert octo.claim("sync", "43", "--release-idle", check=0).stdout == "idle: none\n"
    assert "issue-42" in holders(github.server)


def test_claim_whose_branch_has_an_open_pull_request_is_not_idle(
    github: GitHub, octo: ForkedAgent, crashed: None
) -> None:
    github.add_pull(58, head="42-fix")
    assert octo.claim("sync", "--release-idle", check=0).stdout == "idle: none\n"
    assert holders(github.server)["issue-42"] == OCTO


def test_claims_of_a_whole_login_are_released_only_by_a_person_at_a_terminal(
    github: GitHub, octo: ForkedAgent, crashed: None
) -> None:
    before = github.server.refs()
    assert shown(octo.claim("sync", "--release-idle", "--operator-wide")) == block("""
        exit 1
        --- stdout
        --- stderr
        error: --operator-wide is for a person who is logged in, at a terminal
        hint: leave it out for one chain
        """)
    assert at_terminal(octo, "sync", "--release-idle", "--operator-wide", answers="no\n").status == 1
    assert (github.server.refs(), github.writes) == (before, [])
    assert at_terminal(octo, "sync", "--release-idle", "--operator-wide", answers="yes\n").status == 0
    assert holders(github.server) == {"issue-43": OCTO, "issue-45": "chain-ada"}
    assert [github.issue(number).labels for number in (42, 44)] == [["ready"], ["ready"]]


def test_idle_claims_without_a_chain_are_nobodys(github: GitHub, octo: ForkedAgent, crashed: None) -> None:
    octo.chain = None
    answer = octo.claim("sync", "--release-idle")
    assert answer.status == 1 and answer.stderr.startswith("error: no chain is in force here"), answer
    assert len(github.server.refs()) == 4
