"""What `land` leaves behind: bundles and parents closed, lanes cleared away, what stays, what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.pulling import BRANCH, Proposed, claimed, land, make_lane
from tests.commands.telling import plant, shown
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import make_clone

# Bundles and parents


@pytest.mark.parametrize("named", ["42", "43"])
def test_bundle_is_landed_as_one_whoever_of_it_is_named(green: Proposed, named: str) -> None:
    sibling = claimed(green.github, 43, "The same", lead="42")
    answer = green.octo.claim("land", named, check=0)
    assert "released acme/ledger#42\n" in answer.stdout and "released acme/ledger#43\n" in answer.stdout
    assert (sibling.state, sibling.labels, sibling.assignees) == ("CLOSED", ["afk"], ["octo"])
    green.assert_cleared_away()


def test_lane_of_a_bundle_lands_all_of_it(github: GitHub, octo: ForkedAgent) -> None:
    claimed(github)
    sibling = claimed(github, 43, lead="42")
    lane = make_lane(octo, (42, 43))
    lane.clone.git("push", "--quiet", "origin", BRANCH, environment=octo.environment)
    proposed = Proposed(github, octo, lane, github.add_pull(17, head=BRANCH, closes=42, checks="SUCCESS"))
    answer = lane.claim("land", check=0)
    proposed.assert_delivered()
    assert sibling.state == "CLOSED"
    # Whoever stands in it keeps it; the branch stays with it.
    assert f"{lane.clone.path} stays: we stand in it" in answer.stderr
    octo.claim("prune-lanes", check=0)
    assert not lane.clone.path.exists() and proposed.local_branch is None


def names_it(github: GitHub) -> None:
    github.add_issue(40, "The whole")
    github.issue(42).body = "Part one.\n\n## Parent\n\n#40\n"


def links_it(github: GitHub) -> None:
    github.add_issue(40, "The whole", children=[42])


def both(github: GitHub) -> None:
    names_it(github)
    links_it(github)


def with_sibling_named(github: GitHub) -> None:
    both(github)
    github.add_issue(44, body="## Parent\n\nhttps://github.com/acme/ledger/issues/40")


def with_sibling_linked(github: GitHub) -> None:
    names_it(github)
    github.add_issue(44)
    github.add_issue(40, "The whole", children=[42, 44])


def with_sibling_done(github: GitHub) -> None:
    with_sibling_linked(github)
    github.close(44)


def elsewhere(github: GitHub) -> None:
    github.add_repository("acme/web")
    github.add_issue(40, "Another whole")
    github.add_issue(40, "The whole", repo="acme/web", children=["acme/ledger#42"])


@pytest.mark.parametrize(
    ("arrange", "state"),
    [
        (names_it, "CLOSED"),
        (links_it, "CLOSED"),
        (both, "CLOSED"),
        (with_sibling_done, "CLOSED"),
        (with_sibling_named, "OPEN"),
        (with_sibling_linked, "OPEN"),
        (elsewhere, "OPEN"),
    ],
)
def test_parent_is_closed_with_its_last_child(green: Proposed, arrange: Callable[[GitHub], None], state: str) -> None:
    arrange(green.github)
    answer = land(green)
    parent = green.github.issue(40)
    assert parent.state == state
    told = state == "CLOSED"
    assert [body.partition("\n")[0] for body in parent.bodies] == [
        "All of its parts are delivered; the last was #42."
    ] * told
    assert ("closed acme/ledger#40, all of whose parts are delivered\n" in answer.stdout) is told
    green.assert_cleared_away()


# What stays here, and why


def dirty(proposed: Proposed) -> str:
    (proposed.path / "notes.txt").write_text("mine")
    return f"{proposed.path} stays: uncommitted changes"


def ahead(proposed: Proposed) -> str:
    proposed.lane.clone.commit("not pushed")
    return f"{proposed.path} stays: it has commits that were not merged"


def locked(proposed: Proposed) -> str:
    proposed.octo.clone.git("worktree", "lock", str(proposed.path))
    return f"{proposed.path} stays: it is locked"


def shared_with_another(proposed: Proposed) -> str:
    file = proposed.octo.clone.path / ".git/worktrees" / BRANCH / "git-claim-lane.toml"
    file.write_text('chain = "chain-octo"\nitems = ["issue-42", "issue-50"]\n')
    return f"{proposed.path} stays: it is a lane of issue 50 too"


def made_by_hand(proposed: Proposed) -> str:
    (proposed.octo.clone.path / ".git/worktrees" / BRANCH / "git-claim-lane.toml").unlink()
    return f"{proposed.path} stays: no chain has worked in it, somebody made it by hand"


@pytest.mark.parametrize("arrange", [dirty, ahead, locked, shared_with_another, made_by_hand])
def test_worktree_that_would_lose_something_stays_and_is_named(
    green: Proposed, arrange: Callable[[Proposed], str]
) -> None:
    expected = arrange(green)
    answer = land(green)
    assert f"{expected}\n" in answer.stderr
    green.assert_delivered()
    assert green.path.exists() and green.local_branch


def test_branch_that_is_checked_out_in_the_main_worktree_stays(github: GitHub, octo: ForkedAgent) -> None:
    claimed(github)
    octo.clone.git("switch", "--quiet", "-c", BRANCH)
    head = octo.clone.commit("fix")
    octo.clone.git("push", "--quiet", "origin", BRANCH, environment=octo.environment)
    pull = github.add_pull(17, head=BRANCH, closes=42, checks="SUCCESS")
    answer = octo.claim("land", "42", check=0)
    assert pull.state == "MERGED" and github.server.refs() == {}
    assert f"branch '{BRANCH}' stays here: it is checked out at '{octo.clone.path}'\n" in answer.stderr
    assert octo.clone.git("rev-parse", "HEAD").stdout.strip() == head


@pytest.mark.parametrize(("head", "base"), [("main", "release"), ("next", "main")])
def test_branch_that_work_is_cut_from_stays_when_it_is_merged(
    github: GitHub, octo: ForkedAgent, head: str, base: str
) -> None:
    (octo.clone.path / ".claims.toml").write_text('integration_branch = "next"\n')
    issue = github.add_issue(42, labels=["in-progress"], assignees=["octo"])
    plant(github.server, "issue-42", "chain-octo", operator="octo")
    octo.clone.git("push", "--quiet", "origin", "main:next", "main:release", environment=octo.environment)
    octo.clone.git("branch", "next")
    octo.clone.commit("work")
    octo.clone.git("push", "--quiet", "origin", f"main:{head}", environment=octo.environment)
    github.add_pull(17, head=head, base=base, closes=42, checks="SUCCESS")
    octo.clone.git("switch", "--quiet", "--detach")
    octo.clone.git("branch", "--force", "--quiet", head)
    octo.claim("land", "42", check=0)
    branch = f"refs/heads/{head}"
    assert (github.pull(17).state, issue.state, github.server.refs()) == ("MERGED", "CLOSED", {})
    assert branch in github.server.refs(branch) and branch in octo.clone.refs(branch)


def test_lane_is_landed_from_another_clone(green: Proposed, tmp_path: Path) -> None:
    clone = make_clone(green.github.server, tmp_path, "elsewhere")
    elsewhere = ForkedAgent(clone, green.octo.chain, green.octo.environment)
    answer = elsewhere.claim("land", "42", check=0)
    green.assert_delivered()
    assert answer.stderr == "#17: merging; 1 passed\n"
    assert green.path.exists()


# Repeated


def without_claim(proposed: Proposed) -> None:
    """Dead between the ref and the lane."""
    proposed.github.server.plant("refs/claims/issue-42", None)


def without_worktree(proposed: Proposed) -> None:
    without_claim(proposed)
    proposed.octo.clone.git("worktree", "remove", str(proposed.path))


def without_anything(proposed: Proposed) -> None:
    without_worktree(proposed)
    proposed.octo.clone.git("branch", "--quiet", "-D", BRANCH)


@pytest.mark.parametrize("arrange", [without_claim, without_worktree, without_anything])
def test_landing_that_died_late_is_finished_by_the_next(green: Proposed, arrange: Callable[[Proposed], None]) -> None:
    green.github.merge(17)
    arrange(green)
    land(green)
    assert (green.remote_branch, green.local_branch, green.path.exists()) == (None, None, False)
    again = land(green)
    assert "acme/ledger#42 is not claimed, nothing to release\n" in again.stdout


def test_parent_that_a_dead_landing_left_open_is_closed_by_the_next(green: Proposed) -> None:
    both(green.github)
    green.github.merge(17)
    without_anything(green)
    assert "closed acme/ledger#40" in land(green).stdout
    assert green.github.issue(40).state == "CLOSED"


# Refused


def test_pull_request_of_before_the_claim_is_not_this_work(green: Proposed) -> None:
    green.github.merge(17)
    green.issue.state = "OPEN"
    oid = plant(green.github.server, "issue-42", "chain-octo", branch=BRANCH, claimed_at="2126-11-30T13:06:00Z")
    answer = land(green, status=1)
    assert "error: #17 was merged before this claim was made" in answer.stderr
    assert green.github.server.refs() == {"refs/claims/issue-42": oid}
    assert green.issue.state == "OPEN" and green.remote_branch and green.path.exists()
    land(green, "--pr=17")
    assert green.issue.state == "CLOSED"


def test_what_nobody_holds_is_not_landed(green: Proposed) -> None:
    without_claim(green)
    answer = land(green, status=1)
    assert "error: issue 'acme/ledger#42' is not claimed\n" in answer.stderr
    assert green.pull.state == "OPEN" and green.remote_branch


def test_what_another_chain_holds_is_not_landed(green: Proposed) -> None:
    plant(green.github.server, "issue-42", "chain-rival")
    answer = land(green, status=1)
    assert "is claimed by 'chain-rival'" in answer.stderr and "hint: only its holder lands it\n" in answer.stderr
    assert green.pull.state == "OPEN"


def test_pull_request_of_something_else_is_not_landed(green: Proposed) -> None:
    green.github.add_pull(18, head="43-other", closes=43, checks="SUCCESS")
    answer = land(green, "--pr=18", status=1)
    assert "error: #18 neither closes acme/ledger#42 nor is of its branch\n" in answer.stderr
    assert green.github.pull(18).state == "OPEN"
    green.assert_untouched()


@pytest.mark.parametrize(
    ("words", "said"),
    [("", f"there is no pull request of branch '{BRANCH}'"), ("--pr=99", "there is no pull request #99")],
)
def test_pull_request_that_is_not_there_is_told(github: GitHub, octo: ForkedAgent, words: str, said: str) -> None:
    claimed(github)
    answer = octo.claim("land", "42", *words.split(), check=1)
    opens = "'git claim start 42' opens its lane, in which its pull request is opened"
    assert shown(answer).endswith(f"error: {said}\nhint: {opens}\n")
    lane = make_lane(octo)
    answer = octo.claim("land", "42", *words.split(), check=1)
    assert answer.stderr.endswith(f"error: {said}\nhint: 'git claim -C {lane.clone.path} pr' opens one\n")
    assert lane.claim("land", *words.split()).stderr.endswith("hint: 'git claim pr' opens one\n")


def test_claim_without_a_branch_is_landed_by_the_pull_request_that_closes_it(github: GitHub, octo: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["in-progress"], assignees=["octo"])
    plant(github.server, "issue-42", "chain-octo", operator="octo")
    pull = github.add_pull(17, head="some-branch", closes=42, checks="SUCCESS")
    github.add_pull(18, head="other-branch", closes=42, checks="SUCCESS")
    refused = octo.claim("land", "42", check=1)
    assert "several pull requests would close it: #17, #18" in refused.stderr
    github.close(18)
    octo.claim("land", "42", check=0)
    assert (pull.state, issue.state, github.server.refs()) == ("MERGED", "CLOSED", {})


def test_without_a_tracker_there_is_nothing_to_land(lane: ForkedAgent) -> None:
    answer = lane.claim("land", "--json")
    assert (answer.status, answer.at("reason")) == (128, "no-tracker")
