"""Claims as GitHub shows them: the real gh, a GitHub of the test's own, what everybody then sees."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.agents import Agent, Answer
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import make_clone
from tests.scenarios.holding_back import between_look_and_claim

LOCK = "**Agent session lock** — claimed by an automated session; do not assign to another agent."


@pytest.fixture
def octo(github: GitHub, tmp_path: Path) -> ForkedAgent:
    return ForkedAgent(make_clone(github.server, tmp_path), "chain-octo", github.environment("octo"))


def settings(agent: Agent, text: str) -> None:
    (agent.clone.path / ".claims.toml").write_text(text)


def counted(github: GitHub, agent: ForkedAgent, *words: str) -> tuple[Answer, int]:
    """The answer, and how many requests it took."""
    github.forget_requests()
    return agent.claim(*words), len(github.requests)


def test_take_shows_label_assignee_and_comment_in_two_requests(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, "Fix the totals", labels=["ready", "afk"], assignees=[])
    answer, requests = counted(github, octo, "42", "--branch", "42-totals")
    assert (answer.status, requests) == (0, 2), answer
    assert answer.stdout == "claimed acme/ledger#42 for chain-octo\n"
    assert (sorted(issue.labels), issue.assignees) == (["afk", "in-progress"], ["octo"])
    [comment] = issue.comments
    assert comment.body.startswith(LOCK)
    assert "- operator: `octo`\n" in comment.body and "- branch: `42-totals`\n" in comment.body
    assert "operator=octo" in octo.clone.server.claim_text("issue-42")


def test_take_again_writes_nothing_and_mends_what_somebody_took_away(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    assert counted(github, octo, "42")[1] == 1
    issue.assignees.remove("octo")
    assert octo.claim("42", check=0).stdout.startswith("acme/ledger#42 is already yours")
    assert (issue.assignees, len(issue.comments)) == (["octo"], 1)


@pytest.mark.parametrize(
    ("arrange", "reason", "said"),
    [
        (lambda github: github.close(42), "closed", "is closed"),
        (lambda github: github.label(42, "hold"), "hold", "is on hold (label 'hold')"),
        (lambda github: github.label(42, "hitl"), "waiting-for-human", "waits for a human (label 'hitl')"),
        (lambda github: github.assign(42, "ada"), "assigned", "is assigned to ada"),
        (lambda github: github.label(42, "in-progress"), "foreign-label", "labelled 'in-progress' by somebody"),
        (
            lambda github: github.comment(42, "bob", "<!-- claude-lock: operator=bob worktree=/w at=now -->"),
            "foreign-marker",
            "carries a lock comment of bob",
        ),
    ],
    ids=["closed", "on hold", "waiting for a human", "assigned", "labelled by hand", "locked by hand"],
)
def test_an_item_that_github_says_is_not_free_is_not_taken(
    arrange: object, reason: str, said: str, github: GitHub, octo: ForkedAgent
) -> None:
    github.add_issue(42, labels=["ready"])
    assert callable(arrange)
    arrange(github)
    answer, requests = counted(github, octo, "42", "--json")
    assert (answer.status, requests, github.writes) == (1, 1, []), answer
    assert answer.at("items", 0, "outcome") == "not-free" and answer.at("items", 0, "reason") == reason
    assert said in answer.stderr
    assert octo.clone.server.refs() == {}


def test_a_marker_of_a_passer_by_stops_nobody(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, labels=["ready", "ci-monitoring"])
    github.comment(42, "mallory", "<!-- claude-lock: operator=bob worktree=/w at=now -->")
    octo.claim("42", check=0)


def test_what_was_assigned_while_we_claimed_is_given_back(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    hook = octo.clone.server.path / "hooks/post-receive"
    hook.write_text("#!/bin/sh\nexit 0\n")
    # Between our read and our write the claim is pushed, and somebody assigns the issue by hand.
    original = github.assign
    github.mood("slow", only="writes", seconds=0.5)
    running = octo.fork("42", "--json")
    while f"refs/claims/issue-{42}" not in octo.clone.server.refs():
        pass
    original(42, "ada")
    answer = running.finish()
    assert answer.status == 1 and answer.at("items", 0, "reason") == "assigned", answer
    assert (octo.clone.server.refs(), issue.assignees, "in-progress" in issue.labels) == ({}, ["ada"], False)


def test_what_was_closed_while_we_claimed_is_left_as_it_was(github: GitHub, octo: ForkedAgent, tmp_path: Path) -> None:
    issue = github.add_issue(42, labels=["ready"])
    answer = between_look_and_claim(octo, tmp_path, partial(github.close, 42), "42")
    assert answer.status == 1 and "issue 'acme/ledger#42' is closed" in answer.stderr, answer
    assert "it was claimed for a moment, and given back" in answer.stderr
    assert (octo.clone.server.refs(), issue.assignees, "in-progress" in issue.labels) == ({}, [], False)


def test_in_a_batch_what_did_not_land_is_told_with_its_item(github: GitHub, octo: ForkedAgent) -> None:
    for number in (41, 42):
        github.add_issue(number, labels=["ready"])
    github.issue(41).labels.append("in-progress")
    github.issue(41).assignees.append("octo")
    github.mood("half-applied", fields=("addAssigneesToAssignable",))
    answer = octo.claim("41", "42", check=0)
    assert "warning: acme/ledger#42: assignee did not land: GitHub says:" in answer.stderr, answer


@pytest.mark.parametrize("holder", [None, "chain-rival"])
def test_nobody_is_asked_how_what_they_do_not_hold_ends(holder: str | None, github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42)
    github.add_pull(57, head="42-fix", closes=42)
    if holder is not None:
        github.server.plant_claim("issue-42", holder)
    answer = octo.claim("release", "42")
    assert answer.status == (0 if holder is None else 1), answer
    assert "pull requests" not in answer.stderr


def test_doctor_says_what_becomes_of_claims_while_github_does_not_answer(github: GitHub, octo: ForkedAgent) -> None:
    github.mood("down")
    assert "until it answers nothing is claimed" in octo.claim("doctor").stdout
    octo.environment = github.environment(None)
    assert "claims still stand on git alone; signals are skipped" in octo.claim("doctor").stdout


def test_bundle_shows_full_signals_on_the_lead_and_short_ones_on_siblings(github: GitHub, octo: ForkedAgent) -> None:
    lead, sibling = github.add_issue(41, labels=["ready"]), github.add_issue(42, labels=["ready"])
    answer, requests = counted(github, octo, "41", "--bundle", "42")
    assert (answer.status, requests) == (0, 2), answer
    assert lead.comments[0].body.startswith(LOCK) and "bundled_with=#41" in sibling.comments[0].body
    assert all(issue.assignees == ["octo"] and "in-progress" in issue.labels for issue in (lead, sibling))
    octo.claim("release", "41", "--abandoned", check=0)
    assert all(issue.assignees == [] and "ready" in issue.labels for issue in (lead, sibling))


def test_release_takes_two_requests_and_does_what_the_pull_request_says(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    github.add_pull(57, head="42-totals", closes=42)
    github.add_issue(43, labels=["ready"])
    octo.claim("43", check=0)
    github.add_pull(58, head="43-rounding", closes=43)
    both = octo.claim("release", "42", "43").stderr
    assert "issue 'acme/ledger#42' has open" in both and "issue 'acme/ledger#43' has open" in both
    octo.claim("release", "43", "--abandoned", check=0)
    refused = octo.claim("release", "42")
    assert refused.status == 1 and "issue 'acme/ledger#42' has open pull requests: #57" in refused.stderr
    github.merge(57)
    answer, requests = counted(github, octo, "release", "42")
    assert (answer.status, requests) == (0, 2), answer
    assert (issue.state, issue.state_reason, issue.assignees, issue.labels) == ("CLOSED", "COMPLETED", ["octo"], [])
    assert issue.comments[-1].body.startswith("Resolved by PR #57 (merged into `main`).")
    assert octo.clone.server.refs() == {}


def test_merged_is_believed_only_of_a_merged_pull_request(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, labels=["ready"])
    github.add_pull(57, head="42-totals")
    octo.claim("42", check=0)
    answer = octo.claim("release", "42", "--merged", "--pr", "57")
    assert answer.status == 1 and answer.stderr.startswith("error: #57 is not merged, so nothing was released")
    assert list(octo.clone.server.refs()) == ["refs/claims/issue-42"]


def test_without_gh_the_claim_stands_and_the_answer_says_that_signals_were_skipped(
    github: GitHub, octo: ForkedAgent
) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.environment = github.environment(None)
    answer = octo.claim("42")
    assert answer.status == 0 and "warning: signals were skipped: gh has no login for 'github.com'" in answer.stderr
    assert issue.labels == ["ready"] and list(octo.clone.server.refs()) == ["refs/claims/issue-42"]
    settings(octo, 'tracker = "github"\n')
    refused = octo.claim("43")
    assert refused.status == 3 and "gh has no login" in refused.stderr
    assert list(octo.clone.server.refs()) == ["refs/claims/issue-42"]


def test_github_that_is_down_leaves_nothing_half_done(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    github.mood("down")
    answer = octo.claim("42")
    assert answer.status == 3, answer
    assert (octo.clone.server.refs(), issue.labels) == ({}, ["ready"])


def test_signals_that_land_in_part_leave_a_true_claim_that_sync_repairs(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    github.mood("half-applied", fields=("addAssigneesToAssignable",))
    answer = octo.claim("42")
    assert answer.status == 0 and "warning: assignee did not land" in answer.stderr, answer
    assert issue.assignees == []
    github.calm()
    repaired = octo.claim("sync")
    assert repaired.stdout == "repaired acme/ledger#42: no-signals: missing: assignee octo\n"
    assert issue.assignees == ["octo"] and len(issue.comments) == 1
    assert octo.claim("sync").stdout == "claims and tracker agree\n"


def test_label_that_a_release_could_not_take_off_is_taken_off_by_sync(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    github.mood("half-applied", fields=("removeLabelsFromLabelable",))
    answer = octo.claim("release", "42", "--abandoned")
    assert answer.status == 0 and "warning: removal of a label did not land" in answer.stderr, answer
    github.calm()
    assert octo.claim("sync").stdout.startswith("repaired acme/ledger#42: no-claim: 'octo' released it")
    assert (issue.labels, issue.assignees) == (["ready"], [])


def test_label_that_somebody_put_on_after_a_release_stays(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    octo.claim("release", "42", "--abandoned", check=0)
    github.age(timedelta(minutes=1))
    github.label(42, "in-progress")
    assert octo.claim("sync").stdout == "claims and tracker agree\n"
    assert "in-progress" in issue.labels


def test_claim_that_was_made_without_a_login_is_shown_by_whoever_holds_it_when_there_is_one(
    github: GitHub, octo: ForkedAgent
) -> None:
    issue, logged_in = github.add_issue(42, labels=["ready"]), octo.environment
    octo.environment = github.environment(None)
    octo.claim("42", check=0)
    octo.environment = logged_in
    octo.claim("sync", check=0)
    assert (issue.labels, issue.assignees, issue.comments) == (["in-progress"], [], [])
    assert octo.claim("42", check=0).stdout == "renewed acme/ledger#42\n"
    assert issue.assignees == ["octo"] and "operator=octo" in issue.comments[-1].body
    assert "operator=octo" in octo.clone.server.claim_text("issue-42")
    octo.claim("release", "42", "--abandoned", check=0)
    assert (issue.labels, issue.assignees) == (["ready"], [])


@pytest.mark.parametrize(
    ("ending", "labels", "is_open"),
    [
        ("--blocked --reason api", ["blocked"], True),
        ("--ci-monitoring", ["ci-monitoring"], True),
        ("--merged --pr 57", [], False),
    ],
)
def test_how_work_ended_is_told_before_its_claim_goes(
    ending: str, labels: list[str], is_open: bool, github: GitHub, octo: ForkedAgent
) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    github.add_pull(57, head="42-fix")
    github.merge(57)
    github.mood("down", only="writes")
    answer = octo.claim("release", "42", *ending.split(), "--json")
    assert (answer.status, answer.at("items", 0, "reason")) == (3, "signals-failed"), answer
    assert "is not released yet, since not all of it landed" in answer.stderr
    assert list(octo.clone.server.refs()) == ["refs/claims/issue-42"]
    github.calm()
    octo.claim("release", "42", *ending.split(), check=0)
    assert (issue.labels, issue.state == "OPEN", issue.assignees) == (labels, is_open, ["octo"])
    assert (octo.clone.server.refs(), len(issue.comments)) == ({}, 2)


def test_a_label_that_nobody_may_change_does_not_keep_a_claim_for_ever(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    github.mood("may-not-label")
    answer = octo.claim("release", "42", "--blocked", "--reason", "api")
    assert answer.status == 0 and "did not land" in answer.stderr, answer
    assert octo.clone.server.refs() == {}


def test_two_releases_of_one_claim_at_once_tell_it_once(github: GitHub, octo: ForkedAgent, tmp_path: Path) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    github.add_pull(57, head="42-fix")
    github.merge(57)
    github.mood("slow", only="writes", seconds=0.5)
    running = [octo.fork("release", "42", "--merged", "--pr", "57") for _ in range(2)]
    assert [process.finish().status for process in running] == [0, 0]
    assert [body.partition("\n")[0] for body in issue.bodies[1:]] == ["Resolved by PR #57 (merged into `main`)."]


def test_signals_that_are_required_take_the_claim_back(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    settings(octo, "signals.required = true\n")
    github.mood("half-applied", fields=("addAssigneesToAssignable",))
    answer = octo.claim("42", "--json")
    assert answer.status == 3 and answer.at("items", 0, "reason") == "signals-failed", answer
    assert (octo.clone.server.refs(), "in-progress" in issue.labels) == ({}, False)


def test_a_stale_claim_is_taken_over_where_the_policy_says_so(
    github: GitHub, octo: ForkedAgent, tmp_path: Path
) -> None:
    issue = github.add_issue(42, labels=["in-progress"], assignees=["ada"])
    octo.clone.server.plant_claim("issue-42", "chain-ada", operator="ada", claimed_at="2026-01-02T03:04:05Z")
    assert octo.claim("42").status == 1
    settings(octo, 'stale.policy = "window"\n')
    answer = octo.claim("42", check=0)
    assert answer.stdout.startswith("took over acme/ledger#42 for chain-octo")
    assert issue.assignees == ["octo"]
    assert issue.comments[-1].body.startswith("Taking over the lock of `ada`, claimed at `2026-01-02T03:04:05Z`:")


def test_an_open_pull_request_keeps_an_old_claim_alive(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, labels=["in-progress"], assignees=["ada"])
    github.add_pull(57, head="42-totals", closes=42)
    octo.clone.server.plant_claim("issue-42", "chain-ada", operator="ada", claimed_at="2026-01-02T03:04:05Z")
    settings(octo, 'stale.policy = "window"\n')
    assert octo.claim("42").status == 1
    listed = octo.claim("ls", check=0).stdout
    assert "#57 open, checks none; active: open pull request #57" in listed


def test_ls_of_many_claims_reads_one_page_a_hundred(github: GitHub, octo: ForkedAgent) -> None:
    for number in range(1, 251):
        github.add_issue(number, labels=["ready"])
    octo.claim("take", *[str(number) for number in range(1, 21)], check=0)
    answer, requests = counted(github, octo, "ls", "--json")
    assert (answer.status, requests) == (0, 3), answer


def test_sync_of_clean_claims_takes_two_requests_at_most(github: GitHub, octo: ForkedAgent) -> None:
    for number in range(1, 101):
        github.add_issue(number, labels=["ready"])
    octo.claim("take", *[str(number) for number in range(1, 101)], check=0, timeout=120)
    github.age(timedelta(minutes=10))
    answer, requests = counted(github, octo, "sync")
    assert answer.stdout == "claims and tracker agree\n" and requests <= 2, answer


def test_hold_stops_everybody_until_unhold(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.claim("hold", "42", "--reason", "design first", check=0)
    assert issue.comments[-1].body.startswith("Held by octo: design first")
    assert octo.claim("42").status == 1
    octo.claim("unhold", "42", check=0)
    octo.claim("42", check=0)


def test_init_makes_the_missing_labels_once(github: GitHub, octo: ForkedAgent) -> None:
    github.drop_label("hold")
    assert octo.claim("init", "--labels", check=0).stdout == "made label hold\n"
    assert octo.claim("init", "--labels", check=0).stdout == "every label is there already\n"


def test_text_that_would_start_a_bot_is_refused_before_anything_happens(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, labels=["ready"])
    settings(octo, 'bot_trigger = "@robot"\n')
    octo.claim("42", check=0)
    github.forget_requests()
    answer = octo.claim("release", "42", "--abandoned", "--note", "ask @Robot to do it")
    assert answer.status == 2 and "@robot" in answer.stderr
    assert github.writes == [] and list(octo.clone.server.refs()) == ["refs/claims/issue-42"]


def test_a_number_that_is_a_pull_request_is_said(github: GitHub, octo: ForkedAgent) -> None:
    github.add_pull(57, head="57-work")
    answer = octo.claim("57", "--json")
    assert answer.status == 1 and answer.at("items", 0, "reason") == "other-kind", answer
    octo.claim("pr-57", check=0)
    assert github.pull(57).assignees == ["octo"]
