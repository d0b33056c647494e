"""The runner at its edges: what its worker is given, what it keeps, what stops it and what it then says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents import Answer
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import Clone, make_clone


@pytest.fixture
def octo(github: GitHub, tmp_path: Path) -> ForkedAgent:
    clone = make_clone(github.server, tmp_path)
    clone.config("claim.poll", "1s")
    return ForkedAgent(clone, "chain-octo", github.environment("octo"))


@pytest.fixture
def one(github: GitHub) -> None:
    github.add_issue(42, "Fix the totals", labels=["ready", "afk"])


def run(agent: ForkedAgent, script: str, *options: str) -> Answer:
    return agent.claim("run", "--budget", "1", *options, "--", "sh", "-c", script, timeout=60)


def lane(agent: ForkedAgent) -> Path:
    return agent.clone.path / ".worktrees/42-fix-the-totals"


def test_worker_runs_in_the_lane_and_is_told_what_it_works_on(octo: ForkedAgent, one: None) -> None:
    script = (
        'pwd; echo "$GIT_CLAIM_ITEM $GIT_CLAIM_CHAIN $GIT_CLAIM_BRANCH $GIT_CLAIM_ITERATION/$GIT_CLAIM_BUDGET";'
        ' echo "{item} {chain} {branch} {iteration}/{budget} {other}"; test "$GIT_CLAIM_WORKTREE" = "{worktree}"'
    )
    said = run(octo, script).stdout.splitlines()
    told = "42 chain-octo 42-fix-the-totals 1/1"
    assert said[:3] == [str(lane(octo)), told, f"{told} {{other}}"]


def test_what_the_worker_prints_is_shown_and_kept(octo: ForkedAgent, one: None) -> None:
    answer = run(octo, "echo out; echo err >&2")
    assert answer.stdout == "out\n" and "\nerr\n" in answer.stderr, answer
    log = octo.clone.path / ".git/git-claim/logs/issue-42.log"
    assert sorted(log.read_text().splitlines()) == ["err", "out"]


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("git claim report halted --reason 'a key is missing'", 1, "halted: a key is missing"),
        ("echo done", 3, "ambiguous: the worker ended with status 0, and its last line was 'done'"),
        ("kill -9 $$", 3, "ambiguous: the worker ended with status 137, and it said nothing"),
        ("echo 'RESULT: merged issue=42 pr=57'", 3, "not-verified: there is no pull request #57"),
        ("echo 'RESULT: merged issue=41 pr=57'", 3, "ambiguous: exit status 0 and 'RESULT: merged issue=41 pr=57'"),
        ("git claim report drained", 3, "ambiguous: 'RESULT: drained', and its claim is still held"),
    ],
    ids=["halts", "says something else", "dies", "has merged nothing", "names another issue", "finds nothing"],
)
def test_worker_that_has_not_delivered_stops_the_run_and_keeps_the_claim(
    script: str, status: int, said: str, octo: ForkedAgent, one: None
) -> None:
    answer = run(octo, script, "--budget", "3")
    assert answer.status == status, answer
    assert f"error: the run stopped at acme/ledger#42 in {lane(octo)}: {said}\n" in answer.stderr, answer
    assert "chain chain-octo keeps what it holds" in answer.stderr
    assert "'git claim run --chain chain-octo --budget 3 -- " in answer.stderr
    assert list(octo.clone.server.refs()) == ["refs/claims/issue-42"] and lane(octo).is_dir()


def test_pull_request_that_is_open_is_not_merged(github: GitHub, octo: ForkedAgent, one: None) -> None:
    github.add_pull(57, head="42-fix-the-totals", closes=42)
    answer = run(octo, "echo 'RESULT: merged issue=42 pr=57'")
    assert answer.status == 3 and "not-verified: #57 is open, not merged" in answer.stderr, answer


def test_pull_request_of_something_else_is_no_delivery(github: GitHub, octo: ForkedAgent, one: None) -> None:
    github.add_pull(57, head="another", closes=41)
    github.merge(57)
    answer = run(octo, "echo 'RESULT: merged issue=42 pr=57'")
    assert "not-verified: #57 neither closes acme/ledger#42 nor is of its branch" in answer.stderr, answer


def test_what_the_worker_merged_and_did_not_release_is_released_for_it(
    github: GitHub, octo: ForkedAgent, one: None
) -> None:
    github.add_pull(57, head="42-fix-the-totals", closes=42)
    github.merge(57)
    issue = github.issue(42)
    issue.state, issue.state_reason = "OPEN", None
    answer = run(octo, "echo 'RESULT: merged issue=42 pr=57'")
    assert answer.status == 0 and "delivered acme/ledger#42 by #57\n" in answer.stdout, answer
    assert (issue.state, issue.assignees, octo.clone.server.refs()) == ("CLOSED", ["octo"], {})


def test_what_the_chain_holds_is_resumed_before_anything_new_is_taken(
    github: GitHub, octo: ForkedAgent, one: None
) -> None:
    github.add_issue(41, "Another", labels=["ready", "afk"])
    octo.claim("start", "42", check=0)
    answer = run(octo, "echo $GIT_CLAIM_ITEM")
    assert answer.stdout == "42\n" and "resuming acme/ledger#42" in answer.stderr, answer
    assert list(octo.clone.server.refs()) == ["refs/claims/issue-42"]


def test_what_was_merged_before_the_runner_died_needs_no_worker(github: GitHub, octo: ForkedAgent, one: None) -> None:
    octo.claim("start", "42", check=0)
    github.add_pull(57, head="42-fix-the-totals", closes=42)
    github.merge(57)
    answer = run(octo, "echo must not run; exit 1")
    assert answer.status == 0 and answer.stdout.startswith("delivered acme/ledger#42 by #57"), answer
    assert octo.clone.server.refs() == {}


def test_empty_queue_ends_the_run_at_once(octo: ForkedAgent) -> None:
    answer = run(octo, "exit 1")
    assert (answer.status, answer.stdout) == (0, "the run ended: drained\n"), answer


def test_queue_that_waits_for_people_ends_the_run_at_once(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, labels=["ready", "hitl"])
    assert run(octo, "exit 1").stdout == "the run ended: hitl-only\n"


def test_nothing_that_becomes_ready_in_time_is_a_no(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(41, "A blocker that nobody may take", labels=["afk"])
    github.add_issue(42, labels=["ready", "afk"], blocked_by=[41])
    answer = run(octo, "exit 1", "--wait", "1s")
    assert answer.status == 1 and "nothing became ready in time" in answer.stderr, answer


def test_worker_may_release_its_claim_and_go_on(octo: ForkedAgent, one: None) -> None:
    script = "git claim release --blocked --reason api >/dev/null; sleep 3; git claim report halted --reason api"
    answer = run(octo, script, "--check-every", "1s")
    assert answer.status == 1 and "halted: api" in answer.stderr, answer


def test_worker_whose_claim_is_taken_away_is_stopped(octo: ForkedAgent, one: None) -> None:
    taken = "git claim take 42 --force --reason mine --chain chain-b >/dev/null"
    script = f"echo 'take.force = \"allow\"' >.claims.toml; {taken}; sleep 30; echo not stopped"
    answer = run(octo, script, "--check-every", "1s")
    assert answer.status == 1 and ": lost: " in answer.stderr and "not stopped" not in answer.stdout, answer


def test_worker_that_takes_too_long_is_stopped(octo: ForkedAgent, one: None) -> None:
    answer = run(octo, "sleep 30", "--timeout", "1s", "--wait", "120s", "--check-every", "61")
    assert answer.status == 3 and ": timed-out: the worker took too long and was stopped\n" in answer.stderr, answer
    assert "run --chain chain-octo --budget 1 --timeout 1s --wait 2m --check-every 61s -- sh " in answer.stderr
    assert list(octo.clone.server.refs()) == ["refs/claims/issue-42"]


def test_worker_that_gave_its_claim_up_may_find_nothing_to_do(octo: ForkedAgent, one: None) -> None:
    answer = run(octo, "git claim release --abandoned >/dev/null; git claim report drained")
    assert (answer.status, answer.stdout.splitlines()[-1]) == (0, "the run ended: RESULT: drained"), answer
    assert octo.clone.server.refs() == {}


@pytest.mark.parametrize("program", ["./nothing.sh", "no-such-program-here"])
def test_worker_that_is_not_there_is_missed_before_anything_is_claimed(
    program: str, octo: ForkedAgent, one: None
) -> None:
    answer = octo.claim("run", "--", program)
    assert answer.status == 2 and f"cannot run '{program}'" in answer.stderr, answer
    assert octo.clone.server.refs() == {}


def test_without_a_tracker_there_is_no_queue(agent: ForkedAgent) -> None:
    answer = agent.claim("run", "--", "true")
    assert answer.status == 128 and "there is no queue" in answer.stderr, answer


# Report


def report(agent: ForkedAgent, *words: str) -> Answer:
    return agent.claim("report", *words)


def test_report_is_of_the_lane_that_it_is_given_in(octo: ForkedAgent, one: None) -> None:
    octo.claim("start", "42", check=0)
    inside = ForkedAgent(Clone(lane(octo), octo.clone.server, linked=True), None, octo.environment)
    assert report(inside, "merged", "--pr", "57").stdout == "RESULT: merged issue=42 pr=57\n"
    inside.claim("release", check=0)
    assert report(inside, "halted", "--reason", "no key").stdout == "RESULT: halted issue=42 reason=no key\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("merged --issue acme/web#7 --pr 57", "RESULT: merged issue=acme/web#7 pr=57"),
        ("drained", "RESULT: drained"),
        ("hitl-only", "RESULT: hitl-only"),
    ],
)
def test_report_is_one_line(words: str, line: str, agent: ForkedAgent) -> None:
    assert report(agent, *words.split()).stdout == f"{line}\n"


@pytest.mark.parametrize(
    "words",
    [
        ("merged", "--issue", "42"),
        ("merged", "--issue", "42", "--pr", "57", "--reason", "x"),
        ("halted", "--issue", "42"),
        ("halted", "--issue", "42", "--reason", ""),
        ("halted", "--issue", "42", "--reason", "two\nlines"),
        ("drained", "--pr", "57"),
        ("done",),
    ],
)
def test_report_that_could_not_be_read_is_not_written(words: tuple[str, ...], agent: ForkedAgent) -> None:
    answer = report(agent, *words)
    assert (answer.status, answer.stdout) == (2, ""), answer
