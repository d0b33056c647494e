"""`git claim push`: the branch and a renewal of its claim as one, and what it says where that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.lane import everything, start, work
from tests.commands.telling import block, field, plant
from tests.forked import ForkedAgent
from tests.places import PERSON, Server

BRANCH = "refs/heads/42-work"
FORTY_TWO = "refs/claims/issue-42"


def head(agent: ForkedAgent) -> str:
    return agent.clone.git("rev-parse", "HEAD").stdout.strip()


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def pre_push(lane: ForkedAgent, text: str) -> None:
    """Gives the clone a hook of the user's own."""
    hooks = lane.clone.git("rev-parse", "--path-format=absolute", "--git-path", "hooks").stdout.strip()
    script(Path(hooks) / "pre-push", text)


def test_branch_and_renewed_claim_land(lane: ForkedAgent, server: Server) -> None:
    before = server.refs()[FORTY_TWO]
    answer = lane.claim("push")
    assert server.refs(BRANCH) == {BRANCH: head(lane)}
    assert field(server, "issue-42", "previous") == before
    assert field(server, "issue-42", "branch") == "42-work"
    assert answer.transcript() == block("""
        exit 0
        --- stdout
        pushed 42-work; claim of server#42 holds
        --- stderr
        """)


def test_json_tells_of_branches_and_claims(lane: ForkedAgent, server: Server) -> None:
    answer = lane.claim("push", "--json")
    assert answer.at("branches") == [{"ref": BRANCH, "flag": "*", "summary": "[new branch]"}]
    assert (answer.at("ok"), answer.at("landed"), answer.at("dry_run")) == (True, True, False)
    assert answer.at("items", 0, "outcome") == "renewed"
    assert answer.at("items", 0, "claim", "oid") == server.refs()[FORTY_TWO]
    plant(server, "issue-42")
    lost = lane.claim("push", "--json")
    assert (lost.status, lost.at("ok"), lost.at("landed")) == (1, False, False)
    assert (lost.at("items", 0, "reason"), lost.at("items", 0, "rival", "chain")) == ("held", "chain-rival")


def test_second_push_without_new_work_says_so(lane: ForkedAgent, server: Server) -> None:
    lane.claim("push", check=0)
    answer = lane.claim("push")
    assert answer.stdout == "pushed nothing new; claim of server#42 holds\n"
    assert len(server.chain_of(FORTY_TWO)) == 3


def test_local_copy_of_the_claim_follows(lane: ForkedAgent, server: Server) -> None:
    lane.claim("push", check=0)
    assert lane.clone.refs() == server.refs()


def test_copy_that_is_behind_is_no_reason_to_give_up(lane: ForkedAgent, server: Server) -> None:
    # The same chain has renewed its claim from elsewhere.
    server.plant_claim("issue-42", "chain-agent-1")
    assert lane.claim("push").status == 0
    assert server.refs(BRANCH) == {BRANCH: head(lane)}


def test_copy_that_is_missing_is_no_reason_to_give_up(lane: ForkedAgent, server: Server) -> None:
    lane.clone.git("update-ref", "-d", FORTY_TWO)
    assert lane.claim("push").status == 0
    assert server.refs(BRANCH) == {BRANCH: head(lane)}


def test_branch_of_an_item_is_pushed_from_any_checkout(agent: ForkedAgent, server: Server) -> None:
    agent.claim("42", check=0)
    agent.clone.git("switch", "--quiet", "-c", "42-by-hand")
    work(agent)
    assert agent.claim("push").stdout == "pushed 42-by-hand; claim of server#42 holds\n"
    assert field(server, "issue-42", "branch") == "42-by-hand"


def test_branches_of_the_other_namespace_are_fenced_too(agent: ForkedAgent, server: Server) -> None:
    (agent.clone.path / ".claims.toml").write_text('namespace = "refs/heads/claims"\n')
    agent.clone.git("add", ".claims.toml")
    agent.clone.commit("settings")
    agent.clone.git("push", "--quiet", "--no-verify", "origin", "main")
    lane = start(agent, "42")
    work(lane)
    assert lane.claim("push").status == 0
    claims = "refs/heads/claims/issue-42"
    assert len(server.chain_of(claims)) == 2
    server.plant(claims, None)
    work(lane, "more")
    assert (lane.claim("push").status, server.refs(BRANCH) != {BRANCH: head(lane)}) == (1, True)


# Who does not hold the claim


def test_claim_that_was_lost_stops_the_push_and_names_the_holder(lane: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-42")
    before = everything(lane.clone)
    answer = lane.claim("push")
    assert (server.refs(), server.refs(BRANCH)) == ({FORTY_TWO: planted}, {})
    assert everything(lane.clone) == before
    assert answer.transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        error: nothing was pushed: issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: stop working on it; the work is safe here, 'git claim show 42' shows the claim
        """)


def test_claim_that_was_freed_stops_the_push(lane: ForkedAgent, server: Server) -> None:
    server.plant(FORTY_TWO, None)
    answer = lane.claim("push")
    assert (server.refs(), server.refs(BRANCH)) == ({}, {})
    assert answer.transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        error: nothing was pushed: issue 'server#42' is not claimed
        hint: stop working on it; the work is safe here, 'git claim show 42' shows the claim
        """)


def test_claim_that_cannot_be_read_stops_the_push(lane: ForkedAgent, server: Server) -> None:
    server.plant_bytes("issue-42", b"\xff")
    answer = lane.claim("push")
    assert (answer.status, server.refs(BRANCH)) == (128, {})
    assert "nothing was pushed: issue 'server#42' is held by a claim whose record cannot be read" in answer.stderr


def test_released_lane_pushes_nothing_more(lane: ForkedAgent, server: Server) -> None:
    lane.claim("release", check=0)
    answer = lane.claim("push")
    assert (answer.status, server.refs(BRANCH)) == (1, {})
    assert "error: nothing was pushed: issue 'server#42' is not claimed\n" in answer.stderr


def test_push_without_a_chain_names_the_holder(nobody: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    nobody.clone.git("switch", "--quiet", "-c", "42-x")
    answer = nobody.claim("push")
    assert server.refs("refs/heads/42-x") == {}
    assert answer.transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        error: no chain is in force here; issue 'server#42' is claimed by 'chain-rival' on blade since <time> (<age>)
        hint: say which chain asks with --chain CHAIN or GIT_CLAIM_CHAIN
        """)


def test_remote_that_is_silent_leaves_it_open(lane: ForkedAgent, server: Server, tmp_path: Path) -> None:
    server.path.rename(tmp_path / "moved.git")
    answer = lane.claim("push", "--json")
    assert (answer.status, answer.at("landed"), answer.at("items", 0, "outcome")) == (3, None, "unknown")
    assert "error: cannot tell whether it was pushed: cannot tell what became of issue 'server#42': " in answer.stderr
    lane.clone.config("remote.origin.url", str(tmp_path / "elsewhere.git"))
    assert lane.claim("push").status == 3


# What is pushed


def test_refspecs_are_passed_on(lane: ForkedAgent, server: Server) -> None:
    lane.clone.git("tag", "v1")
    answer = lane.claim("push", "origin", "42-work", "HEAD:refs/heads/42-again", "refs/tags/v1")
    assert answer.status == 0, answer
    wanted = {"refs/heads/42-again", BRANCH, "refs/tags/v1"}
    assert wanted <= server.refs("refs/").keys()
    # A branch that was not asked for by its own name is not recorded as the item's.
    assert field(server, "issue-42", "branch") == "42-work"


def test_branch_that_names_another_item_needs_that_claim_too(lane: ForkedAgent, server: Server) -> None:
    planted = plant(server, "issue-43")
    for refspecs in (("HEAD:43-theirs",), ("HEAD:refs/heads/43-theirs",), ("42-work", "HEAD:43-theirs")):
        answer = lane.claim("push", "origin", *refspecs)
        assert answer.status == 1, answer
        assert "issue 'server#43' is claimed by 'chain-rival'" in answer.stderr
    assert server.refs("refs/heads/").keys() == {"refs/heads/main"}
    assert server.refs()["refs/claims/issue-43"] == planted


def test_branch_that_was_named_counts_where_no_lane_does(agent: ForkedAgent, server: Server) -> None:
    agent.claim("42", check=0)
    agent.clone.git("branch", "42-x")
    assert agent.claim("push", "origin", "42-x").stdout == "pushed 42-x; claim of server#42 holds\n"
    assert agent.claim("push", "origin", "43-x:43-x").status == 1
    agent.clone.git("switch", "--quiet", "42-x")
    assert agent.claim("push", "origin", "HEAD:review").stdout == "pushed review; claim of server#42 holds\n"
    assert agent.claim("push", "origin", "@").status == 0


NAMES_A_CLAIM = "names a claim; claims change by their own commands"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("-f",), "a plain force would cancel the fence"),
        (("--force",), "a plain force would cancel the fence"),
        (("origin", "+42-work"), "'+42-work' is not a refspec that a fence can carry"),
        (("origin", ":42-work"), "':42-work' is not a refspec that a fence can carry"),
        (("origin", "42-work:"), "'42-work:' is not a refspec that a fence can carry"),
        (("origin", ":"), "':' is not a refspec that a fence can carry"),
        (("origin", ""), "'' is not a refspec that a fence can carry"),
        (("origin", "refs/heads/*:x"), "'refs/heads/*:x' is not a refspec that a fence can carry"),
        (("origin", "--", "--mirror"), "'--mirror' is not a refspec that a fence can carry"),
        (("origin", "--", "-d"), "'-d' is not a refspec that a fence can carry"),
        (("origin", "HEAD:refs/claims/issue-42"), f"'HEAD:refs/claims/issue-42' {NAMES_A_CLAIM}"),
        (("origin", "refs/claims/issue-42"), f"'refs/claims/issue-42' {NAMES_A_CLAIM}"),
        (("origin", "HEAD:claims/issue-43"), f"'HEAD:claims/issue-43' {NAMES_A_CLAIM}"),
        (("origin", "HEAD:heads/claims/issue-43"), f"'HEAD:heads/claims/issue-43' {NAMES_A_CLAIM}"),
        (("origin", "HEAD:refs/heads/claims/issue-43"), f"'HEAD:refs/heads/claims/issue-43' {NAMES_A_CLAIM}"),
        (("--checked", "--dry-run"), "--checked goes without --dry-run"),
        (("nowhere",), "no remote named 'nowhere'"),
    ],
    ids=lambda case: " ".join(case) if isinstance(case, tuple) else "",
)
def test_what_no_fence_can_carry_is_refused_and_changes_nothing(
    lane: ForkedAgent, server: Server, words: tuple[str, ...], error: str
) -> None:
    server.plant_claim("issue-43", "chain-rival")
    before, moves = server.refs("refs/"), server.transcript()
    answer = lane.claim("push", *words)
    assert (answer.status, answer.stderr.splitlines()[0]) == (2, f"error: {error}")
    assert (server.refs("refs/"), server.transcript()) == (before, moves)


@pytest.mark.parametrize("where", ["branch without an item", "no branch"])
def test_work_that_belongs_to_no_item_is_not_pushed(agent: ForkedAgent, server: Server, where: str) -> None:
    agent.clone.git("switch", "--quiet", *(["--detach"] if where == "no branch" else ["-c", "wip"]))
    answer = agent.claim("push")
    assert (answer.status, server.transcript()[1:]) == (2, [])


def test_detached_lane_pushes_what_it_names(lane: ForkedAgent, server: Server) -> None:
    lane.clone.git("switch", "--quiet", "--detach")
    assert lane.claim("push").status == 2
    assert lane.claim("push", "origin", "HEAD:refs/heads/42-work").status == 0
    assert server.refs(BRANCH) == {BRANCH: head(lane)}


def test_mistyped_branch_is_said_in_gits_words(lane: ForkedAgent, server: Server) -> None:
    answer = lane.claim("push", "origin", "42-wrok")
    assert (answer.status, list(server.refs("refs/heads/"))) == (1, ["refs/heads/main"])
    assert "src refspec 42-wrok does not match any" in answer.stderr


# Dry runs


def test_dry_run_says_that_it_would_land_and_changes_nothing(lane: ForkedAgent, server: Server) -> None:
    before, local = server.refs("refs/"), everything(lane.clone) | lane.clone.refs()
    answer = lane.claim("push", "--dry-run")
    assert (server.refs("refs/"), everything(lane.clone) | lane.clone.refs()) == (before, local)
    assert answer.stdout == "would push 42-work; claim of server#42 holds\n"
    assert lane.claim("push", "-n", "--json").at("dry_run") is True
    assert server.refs("refs/") == before


@pytest.mark.parametrize(
    "theft", [lambda server: plant(server, "issue-42"), lambda server: server.plant(FORTY_TWO, None)]
)
def test_dry_run_of_a_lost_claim_says_that_nothing_would_land(
    lane: ForkedAgent, server: Server, theft: Callable[[Server], object]
) -> None:
    theft(server)
    before = server.refs("refs/")
    answer = lane.claim("push", "--dry-run")
    assert (answer.status, server.refs("refs/")) == (1, before)
    assert answer.stderr.startswith("error: nothing was pushed: issue 'server#42' is ")


# Branches that were rewritten


def rewritten(lane: ForkedAgent) -> str:
    """The lane's branch is pushed, then its last commit is made anew; returns what the server has."""
    lane.claim("push", check=0)
    pushed = head(lane)
    lane.clone.git("commit", "--quiet", "--amend", "--message", "better")
    return pushed


def test_branch_that_is_not_a_fast_forward_stays_and_so_does_the_claim(lane: ForkedAgent, server: Server) -> None:
    pushed, held = rewritten(lane), server.refs()
    answer = lane.claim("push")
    assert (server.refs(BRANCH), server.refs()) == ({BRANCH: pushed}, held)
    assert answer.transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        error: nothing was pushed: refs/heads/42-work: [rejected] (non-fast-forward)
        hint: the claim is still yours; bring the branch up to date and repeat, after a rebase with --force-with-lease
        """)
    assert lane.claim("push", "--dry-run").status == 1


def test_branch_that_somebody_else_moved_is_not_overwritten(lane: ForkedAgent, server: Server) -> None:
    lane.claim("push", check=0)
    theirs = server.git(*PERSON, "commit-tree", "-m", "theirs", "-p", BRANCH, "main^{tree}").stdout.strip()
    server.plant(BRANCH, theirs)
    work(lane, "more")
    for words in ((), ("--force-with-lease",)):
        answer = lane.claim("push", *words)
        assert (answer.status, server.refs(BRANCH)) == (1, {BRANCH: theirs})
        assert "refs/heads/42-work: [rejected]" in answer.stderr


@pytest.mark.parametrize(
    "lease", ["--force-with-lease", "--force-with-lease=42-work", "--force-with-lease=42-work:<pushed>"]
)
def test_lease_of_the_user_replaces_the_branch_as_it_was_last_seen(
    lane: ForkedAgent, server: Server, lease: str
) -> None:
    pushed = rewritten(lane)
    assert lane.claim("push", lease.replace("<pushed>", pushed)).status == 0
    assert server.refs(BRANCH) == {BRANCH: head(lane)}
    assert len(server.chain_of(FORTY_TWO)) == 3


def test_lease_of_the_user_does_not_replace_the_fence(lane: ForkedAgent, server: Server) -> None:
    pushed = rewritten(lane)
    planted = plant(server, "issue-42")
    for lease in ("--force-with-lease", f"--force-with-lease={FORTY_TWO}", f"--force-with-lease={FORTY_TWO}:{planted}"):
        assert lane.claim("push", lease).status in (1, 2, 3)
        assert (server.refs(BRANCH), server.refs()) == ({BRANCH: pushed}, {FORTY_TWO: planted})


def test_lease_that_does_not_fit_is_refused(lane: ForkedAgent, server: Server) -> None:
    pushed = rewritten(lane)
    answer = lane.claim("push", f"--force-with-lease=42-work:{head(lane)}")
    assert (answer.status, server.refs(BRANCH)) == (1, {BRANCH: pushed})
    assert "nothing was pushed: refs/heads/42-work: [rejected] (stale info)" in answer.stderr
