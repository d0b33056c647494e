"""`land`: a pull request that is watched, and merged when it is green, through the real gh by real merges."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.commands.pulling import Proposed, land, wait_until, watching
from tests.commands.telling import block, plant
from tests.github_double.records import Protection

# Green


def test_green_pull_request_is_merged_and_its_lane_cleared_away(green: Proposed) -> None:
    answer = land(green)
    commit = green.github.server.refs("refs/heads/main")["refs/heads/main"]
    assert answer.transcript() == block(f"""
        exit 0
        --- stdout
        #17 is merged into main as {commit[:12]}
        released acme/ledger#42
        --- stderr
        #17: merging; 1 passed
    """)
    assert green.github.server.git("log", "-1", "--format=%s", "main").stdout == "Fix the totals (#17)\n"
    green.assert_cleared_away()


def test_landing_says_in_its_document_how_it_was_merged(green: Proposed) -> None:
    answer = land(green, "--json")
    found = {key: answer.at(key) for key in ("ok", "outcome", "reason", "pull", "method", "parents", "logs", "notes")}
    assert found == {
        **{"ok": True, "outcome": "landed", "reason": None, "pull": 17, "method": "squash"},
        **{"parents": [], "logs": [], "notes": []},
    }
    assert answer.at("merge_commit") == green.github.server.refs("refs/heads/main")["refs/heads/main"]
    assert answer.at("items", 0, "outcome") == "released"


# Over 3 s: it watches for two rounds of a second.
def test_checks_are_watched_with_a_line_for_each_change(proposed: Proposed) -> None:
    proposed.github.check(17, "test")
    running = watching(proposed)
    wait_until(lambda: len(proposed.github.requests) >= 3)
    proposed.github.check(17, "test", "SUCCESS")
    answer = running.finish()
    assert answer.status == 0, answer
    assert answer.stderr == "#17: checks are running; 1 running\n#17: merging; 1 passed\n"
    proposed.assert_cleared_away()


def test_no_check_yet_is_not_green(proposed: Proposed) -> None:
    answer = land(proposed, "--timeout=0", status=3)
    assert answer.stderr == block(f"""
        #17: no check has reported yet; no checks
        error: #17 is not merged yet: no check has reported yet
        hint: 'git claim -C {proposed.path} land' again goes on
    """)
    assert "hint: 'git claim land' again goes on\n" in proposed.lane.claim("land", "--timeout=0").stderr
    proposed.assert_untouched()


def test_repository_without_checks_is_landed_when_told_so(proposed: Proposed) -> None:
    land(proposed, "--without-checks")
    proposed.assert_cleared_away()


def test_merge_commit_is_made_and_told_where_squashing_is_forbidden(green: Proposed) -> None:
    green.github.protect(Protection(methods=frozenset({"MERGE"})))
    answer = land(green)
    assert ", by a merge commit: squashing is not allowed here\n" in answer.stdout
    assert len(green.github.server.git("rev-list", "--parents", "-1", "main").stdout.split()) == 3
    green.assert_cleared_away()


# Over 3 s: watching goes on in rounds of a second.
def test_queue_is_waited_for(green: Proposed) -> None:
    green.github.protect(Protection(has_queue=True))
    running = green.octo.fork("land", "42")
    wait_until(lambda: green.pull.is_queued)
    assert green.pull.state == "OPEN" and green.is_claimed
    green.github.run_queue()
    answer = running.finish()
    assert answer.status == 0 and "#17: it is in the merge queue; 1 passed\n" in answer.stderr, answer
    green.assert_cleared_away()


# Over 3 s, as above.
def test_auto_merge_that_somebody_asked_for_is_waited_for(green: Proposed) -> None:
    green.github.protect(Protection(approvals=1))
    green.pull.auto_merge = green.github.world.users["ada"], "SQUASH"
    running = watching(green)
    green.github.approve(17)
    answer = running.finish()
    assert answer.status == 0 and "#17: the tracker merges it once it may; 1 passed\n" in answer.stderr, answer
    green.assert_cleared_away()


def test_auto_merge_is_never_asked_for(green: Proposed) -> None:
    # It would merge whatever is pushed later, which nobody checked.
    green.github.protect(Protection(required=frozenset({"later"})))
    answer = land(green, "--timeout=0", "--json", status=3)
    assert (answer.at("reason"), answer.at("waits"), green.pull.auto_merge) == ("waiting", "required-check", None)
    green.assert_untouched()


# Over 3 s: it reads three times, a second apart.
def test_silence_of_the_tracker_is_outlasted(proposed: Proposed) -> None:
    proposed.github.check(17, "test")
    running = watching(proposed)
    proposed.github.mood("down", only="reads", times=1)
    proposed.github.check(17, "test", "SUCCESS")
    answer = running.finish()
    assert answer.status == 0, answer
    proposed.assert_cleared_away()


# Over 3 s: it tries three times, each a little later.
def test_merge_that_gets_no_answer_is_repeated_and_what_the_tracker_said_is_told_once(green: Proposed) -> None:
    green.github.mood("down", only="writes", times=3)
    answer = land(green)
    assert answer.stderr == block("""
        #17: merging; 1 passed
        #17: the tracker is still working it out (GitHub answered with status 503); 1 passed
    """)
    green.assert_cleared_away()


# What stands in the way, each by its own name


def draft(proposed: Proposed) -> None:
    proposed.pull.is_draft = True


def conflict(proposed: Proposed) -> None:
    somebody_else(proposed, "work.txt")


def behind(proposed: Proposed) -> None:
    somebody_else(proposed, "other.txt")
    proposed.github.protect(Protection(up_to_date=True))


def somebody_else(proposed: Proposed, file: str) -> None:
    """Gets a file into the base meanwhile."""
    clone = proposed.octo.clone
    (clone.path / file).write_text("meanwhile")
    clone.git("add", file)
    clone.commit("meanwhile")
    clone.git("push", "--quiet", "origin", "main", environment=proposed.octo.environment)


def unreviewed(proposed: Proposed) -> None:
    proposed.github.protect(Protection(approvals=1))


def criticised(proposed: Proposed) -> None:
    proposed.pull.changes_requested = True


def ruled_out(proposed: Proposed) -> None:
    proposed.github.protect(Protection(rule="Commits must have verified signatures."))


def closed(proposed: Proposed) -> None:
    proposed.github.close(17)


def not_permitted(proposed: Proposed) -> None:
    proposed.github.world.users["octo"].permission = "READ"


@pytest.mark.parametrize(
    ("arrange", "reason", "said"),
    [
        (draft, "draft", "it is a draft"),
        (conflict, "conflicting", "it conflicts with its base"),
        (behind, "behind", "it is behind its base"),
        (unreviewed, "review-required", "a review is required"),
        (criticised, "changes-requested", "a reviewer asked for changes"),
        (ruled_out, "protected", "a rule of its base branch forbids it (GitHub says: Commits must have verified"),
        (closed, "closed", "it is closed and was not merged"),
        (not_permitted, "not-permitted", "this login may not merge here"),
    ],
)
def test_what_stands_in_the_way_is_told_by_its_own_name(
    green: Proposed, arrange: Callable[[Proposed], None], reason: str, said: str
) -> None:
    arrange(green)
    answer = land(green, "--json", status=1)
    assert (answer.at("ok"), answer.at("outcome"), answer.at("reason")) == (False, "stopped", reason)
    assert f"error: #17 is not merged: {said}" in answer.stderr
    green.assert_untouched()


def test_claim_that_was_lost_while_checks_ran_merges_nothing(proposed: Proposed) -> None:
    proposed.github.check(17, "test")
    running = watching(proposed, "--json")
    plant(proposed.github.server, "issue-42", "chain-rival")
    proposed.github.check(17, "test", "SUCCESS")
    answer = running.finish()
    assert (answer.status, answer.at("reason"), proposed.pull.state) == (1, "lost", "OPEN"), answer
    assert "chain=chain-rival" in proposed.github.server.claim_text("issue-42")
    assert proposed.remote_branch and proposed.path.exists()


# Over 3 s: it watches a second commit too.
def test_commit_that_came_while_checks_ran_is_merged_only_when_it_is_checked(proposed: Proposed) -> None:
    proposed.github.check(17, "test")
    running = watching(proposed)
    proposed.push("more")
    seen = len(proposed.github.requests)
    wait_until(lambda: len(proposed.github.requests) >= seen + 2)
    assert proposed.pull.state == "OPEN"
    proposed.github.check(17, "test", "SUCCESS")
    assert running.finish().status == 0
    assert "more.txt" in proposed.github.server.git("ls-tree", "--name-only", "main").stdout
    proposed.assert_cleared_away()
