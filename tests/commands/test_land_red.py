"""`land` when checks fail: what is said, how often, and when it is given up."""

from __future__ import annotations

from pathlib import Path

from tests.commands.pulling import BRANCH, Proposed, land
from tests.commands.telling import plant


def fail(proposed: Proposed, name: str = "test") -> None:
    run = proposed.github.check(17, name, "FAILURE")
    run.log = "##[error]expected 3, got 4\n"


def test_failed_check_is_named_with_the_path_of_its_log(proposed: Proposed) -> None:
    fail(proposed, "test (3.11, linux)")
    answer = land(proposed, "--json", status=1)
    path = answer.at("logs", 0, "path")
    assert (answer.at("outcome"), answer.at("reason"), answer.at("attempts")) == ("red", "checks-failed", 1)
    assert Path(str(path)).read_text() == "##[error]expected 3, got 4\n"
    assert "error: #17: checks failed: test (3.11, linux) (attempt 1 of 3)\n" in answer.stderr
    assert f"test (3.11, linux): {path}\n" in answer.stderr
    proposed.assert_untouched()


def test_commit_that_is_looked_at_twice_counts_once_and_a_new_one_counts(proposed: Proposed) -> None:
    counts = []
    for subject in (None, None, "mended"):
        if subject is not None:
            proposed.push(subject)
        fail(proposed)
        counts.append(land(proposed, "--json", status=1).at("attempts"))
    assert counts == [1, 1, 2]
    proposed.assert_untouched()


def test_last_attempt_gives_up_and_leaves_worktree_and_assignee(proposed: Proposed) -> None:
    fail(proposed)
    land(proposed, status=1)
    proposed.push("mended")
    fail(proposed)
    answer = land(proposed, "--max-attempts=2", status=1)
    assert "(attempt 2 of 2)" in answer.stderr and "given up: marked as blocked and released" in answer.stderr
    issue = proposed.issue
    assert (issue.state, sorted(issue.labels), issue.assignees) == ("OPEN", ["afk", "blocked"], ["octo"])
    assert len(issue.bodies) == 1 and "checks failed 2 times: test" in issue.bodies[0]
    assert not proposed.is_claimed and proposed.path.exists()
    assert proposed.remote_branch and proposed.local_branch and proposed.pull.state == "OPEN"


def test_whoever_takes_up_what_was_given_up_counts_from_one(proposed: Proposed) -> None:
    fail(proposed)
    assert land(proposed, "--max-attempts=1", "--json", status=1).at("outcome") == "blocked"
    plant(proposed.github.server, "issue-42", "chain-octo", branch=BRANCH)
    proposed.push("mended")
    fail(proposed)
    assert land(proposed, "--json", status=1).at("attempts") == 1


def test_name_of_a_check_that_must_not_be_posted_stops_nothing(proposed: Proposed) -> None:
    (proposed.octo.clone.path / ".claims.toml").write_text('bot_trigger = "@bot"\n')
    fail(proposed, "ask @bot")
    land(proposed, "--max-attempts=1", status=1)
    assert "checks failed 1 times" in proposed.issue.bodies[0] and "@bot" not in proposed.issue.bodies[0]
    assert not proposed.is_claimed
