"""Agents that ask for the next issue at the same moment: each gets one of its own."""

from __future__ import annotations

from pathlib import Path

from tests.forked import ForkedAgent, race_forked
from tests.github_double import GitHub
from tests.places import CLAIMS, make_clone
from tests.scenarios.oracle import chain_in, history, holders, told

AGENTS, ISSUES = 6, 8
LOGINS = ("octo", "ada", "bob")


def _agents(github: GitHub, tmp_path: Path) -> list[ForkedAgent]:
    return [
        ForkedAgent(make_clone(github.server, tmp_path, f"agent-{place}"), f"chain-{place}", github.environment(login))
        for place, login in enumerate(LOGINS * (AGENTS // len(LOGINS)))
    ]


# Over 3 s: six agents who lose five races, four, three and so on, each with a read of the next one.
def test_six_agents_who_take_the_next_of_eight_issues_get_six_different_ones(github: GitHub, tmp_path: Path) -> None:
    for number in range(1, 1 + ISSUES):
        github.add_issue(number, labels=["ready", "afk"])
    agents = _agents(github, tmp_path)
    answers = race_forked([(agent, ("next", "--take", "--json")) for agent in agents])
    assert [answer.status for answer in answers] == [0] * AGENTS
    won = [dict(told(answer, "claim", "chain")) for answer in answers]
    assert [list(each.values()) for each in won] == [[agent.chain] for agent in agents]
    items = {item: chain for each in won for item, chain in each.items()}
    assert holders(github.server) == items and len(items) == AGENTS
    for item in items:
        assert len(history(github.server, item)) == 1
        issue = github.issue(int(item.removeprefix("issue-")))
        login = LOGINS[int(chain_in(github.server.claim_text(item)).removeprefix("chain-")) % len(LOGINS)]
        assert (issue.assignees, sorted(issue.labels)) == ([login], ["afk", "in-progress"])
    left = [issue for issue in github.repository().tickets.values() if f"issue-{issue.number}" not in items]
    assert [(issue.assignees, sorted(issue.labels)) for issue in left] == [([], ["afk", "ready"])] * (ISSUES - AGENTS)
    assert {move.ref for move in github.server.transcript()} == {"refs/heads/main", *(CLAIMS + item for item in items)}


def test_agents_who_are_more_than_the_issues_get_all_of_them_and_a_no(github: GitHub, tmp_path: Path) -> None:
    for number in (1, 2):
        github.add_issue(number, labels=["ready", "afk"])
    agents = _agents(github, tmp_path)[:3]
    answers = race_forked([(agent, ("next", "--take", "--json")) for agent in agents])
    assert sorted(answer.status for answer in answers) == [0, 0, 1]
    [lost] = [answer for answer in answers if answer.status]
    assert (lost.at("state"), set(holders(github.server))) == ("all-claimed", {"issue-1", "issue-2"})
