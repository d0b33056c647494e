"""`git claim push`: the branch and a renewal of its claim as one, and what it says where that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.lane import inside, start, work
from tests.commands.telling import block, holders, plant
from tests.commands.test_push import BRANCH, FORTY_TWO, head, pre_push, script
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked
from tests.places import Server, make_server, read_refs

# The user's own hooks and settings


def test_hook_of_the_user_runs_exactly_once_and_hears_of_everything(lane: ForkedAgent, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    pre_push(lane, f"echo run >>'{ran}'; cat >>'{ran}'; echo hello from the hook >&2")
    answer = lane.claim("push")
    first, *lines = ran.read_text().splitlines()
    assert first == "run" and sorted(line.split()[2] for line in lines) == [FORTY_TWO, BRANCH]
    assert answer.stderr == "hello from the hook\n"


def test_hook_that_refuses_stops_branch_and_renewal(lane: ForkedAgent, server: Server) -> None:
    pre_push(lane, "echo tests fail >&2; exit 1")
    before = server.refs("refs/")
    answer = lane.claim("push")
    assert server.refs("refs/") == before
    assert answer.transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        tests fail
        error: nothing was pushed: tests fail
        hint: the claim is still yours; bring the branch up to date and repeat, after a rebase with --force-with-lease
        """)


def test_server_that_refuses_the_branch_leaves_the_claim_as_it_was(lane: ForkedAgent, server: Server) -> None:
    server.policy_refuses("refs/heads/42-*")
    held = server.refs()
    answer = lane.claim("push")
    assert (answer.status, server.refs(), server.refs(BRANCH)) == (1, held, {})
    assert "nothing was pushed: refs/heads/42-work: [remote rejected] (hook declined)" in answer.stderr
    assert "remote: refused by policy" in answer.stderr


def test_settings_of_the_user_do_not_get_in_the_way(lane: ForkedAgent, server: Server) -> None:
    for key in ("remote.origin.mirror", "push.followTags", "push.negotiate"):
        lane.clone.config(key, "true")
    lane.clone.config("push.default", "nothing")
    lane.clone.config("remote.pushDefault", "nowhere")
    lane.clone.git("tag", "-a", "-m", "one", "v1")
    assert lane.claim("push").status == 0
    assert server.refs("refs/tags/").keys() == {"refs/tags/v1"}


# Where one push cannot fence


def test_server_without_atomic_pushes_is_named_and_the_checked_way_offered(lane: ForkedAgent, server: Server) -> None:
    server.no_atomic()
    before = server.refs("refs/")
    answer = lane.claim("push")
    assert server.refs("refs/") == before
    assert answer.transcript() == block("""
        exit 128
        --- stdout
        --- stderr
        fatal: the receiving end does not support --atomic push
        error: nothing was pushed: the remote does not apply several refs as one, so one push cannot fence it
        hint: 'git claim push --checked' checks the claim before and reads it back after
        """)
    assert lane.claim("push", "--checked").stdout == "pushed 42-work; claim of server#42 holds\n"
    assert server.refs(BRANCH) == {BRANCH: head(lane)}
    assert len(server.chain_of(FORTY_TWO)) == 2


@pytest.fixture
def fork(lane: ForkedAgent, tmp_path: Path) -> Server:
    """Another server, which the lane knows as the remote `fork`."""
    made = make_server(tmp_path, "fork.git")
    lane.clone.git("remote", "add", "fork", made.url)
    return made


def test_fork_is_pushed_to_only_the_checked_way(lane: ForkedAgent, server: Server, fork: Server) -> None:
    answer = lane.claim("push", "fork")
    assert (list(fork.refs("refs/heads/")), fork.refs()) == (["refs/heads/main"], {})
    assert answer.transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        error: 'fork' is not where the claims live, so one push cannot fence it
        hint: 'git claim push --checked fork' checks the claim before and reads it back after
        """)
    assert lane.claim("push", "--checked", "fork").stdout == "pushed 42-work; claim of server#42 holds\n"
    assert (fork.refs(BRANCH), fork.refs()) == ({BRANCH: head(lane)}, {})
    assert (server.refs(BRANCH), len(server.chain_of(FORTY_TWO))) == ({}, 2)


def test_checked_push_of_a_lost_claim_is_not_begun(lane: ForkedAgent, server: Server, fork: Server) -> None:
    plant(server, "issue-42")
    answer = lane.claim("push", "--checked", "fork")
    assert (answer.status, fork.refs(BRANCH)) == (1, {})
    assert "error: nothing was pushed: issue 'server#42' is claimed by 'chain-rival'" in answer.stderr


def stealing(fork: Server, server: Server, oid: str | None) -> None:
    """While the fork takes the branch, the claim moves on the server where claims live."""
    change = f"update-ref {FORTY_TWO} {oid}" if oid else f"update-ref -d {FORTY_TWO}"
    script(fork.path / "hooks/update", f"unset GIT_DIR GIT_QUARANTINE_PATH; git -C '{server.path}' {change}")


def rival_of(server: Server) -> str:
    """A claim of somebody else, ready to be put in the place of ours."""
    ours = server.refs()[FORTY_TWO]
    rival = server.plant_claim("issue-42", "chain-rival")
    server.plant(FORTY_TWO, ours)
    return rival


@pytest.mark.parametrize("freed", [False, True], ids=["taken", "freed"])
def test_checked_push_tells_what_landed_when_the_claim_was_lost_meanwhile(
    lane: ForkedAgent, server: Server, fork: Server, freed: bool
) -> None:
    stealing(fork, server, None if freed else rival_of(server))
    answer = lane.claim("push", "--checked", "fork", "--json")
    assert fork.refs(BRANCH) == {BRANCH: head(lane)}
    assert (answer.status, answer.at("landed"), answer.at("items", 0, "outcome")) == (1, True, "not-yours")
    held = "is not claimed" if freed else "is claimed by 'chain-rival' on elsewhere since <time> (<age>)"
    assert answer.transcript().partition("--- stderr\n")[2] == block(f"""
        error: the branch landed, but issue 'server#42' {held}
        hint: stop working on it; the work is safe here, 'git claim show 42' shows the claim
        """)


def test_checked_push_that_cannot_read_back_says_what_landed(lane: ForkedAgent, server: Server, fork: Server) -> None:
    script(fork.path / "hooks/update", f"mv '{server.path}' '{server.path}.moved'")
    answer = lane.claim("push", "--checked", "fork", "--json")
    assert (answer.status, answer.at("landed"), answer.at("items", 0, "outcome")) == (3, True, "unknown")
    assert fork.refs(BRANCH) == {BRANCH: head(lane)}


def test_checked_push_of_which_a_part_is_rejected_says_so(lane: ForkedAgent, server: Server, fork: Server) -> None:
    fork.policy_refuses("refs/heads/42-not")
    answer = lane.claim("push", "--checked", "fork", "HEAD:refs/heads/42-not", "42-work")
    assert fork.refs("refs/heads/").keys() == {"refs/heads/main", BRANCH}
    assert answer.status == 1
    assert "error: only a part was pushed: refs/heads/42-not: [remote rejected] (hook declined)\n" in answer.stderr


def test_checked_push_that_is_rejected_keeps_the_claim(lane: ForkedAgent, server: Server, fork: Server) -> None:
    fork.policy_refuses("refs/heads/*")
    answer = lane.claim("push", "--checked", "fork", "--json")
    assert (answer.status, answer.at("landed"), holders(server)) == (1, False, {"issue-42": "chain-agent-1"})
    assert "error: nothing was pushed: refs/heads/42-work: [remote rejected] (hook declined)\n" in answer.stderr


# Bundles


def test_push_in_the_lane_of_a_bundle_renews_all_of_it(lane: ForkedAgent, server: Server) -> None:
    lane.claim("42", "--bundle", "43", "--bundle", "44", check=0)
    before = server.refs()
    assert lane.claim("push").stdout == "pushed 42-work; claim of server#42, server#43, server#44 holds\n"
    after = server.refs()
    assert after.keys() == before.keys() and not set(after.values()) & set(before.values())


def test_one_lost_sibling_stops_the_whole_bundle(lane: ForkedAgent, server: Server) -> None:
    lane.claim("42", "--bundle", "43", check=0)
    plant(server, "issue-43")
    before = server.refs("refs/")
    answer = lane.claim("push")
    assert (answer.status, server.refs("refs/")) == (1, before)
    assert "error: nothing was pushed: issue 'server#43' is claimed by 'chain-rival'" in answer.stderr


def test_push_works_in_clones_that_have_not_everything(make_agent: MakeAgent) -> None:
    for option in ("--depth=1", "--filter=blob:none"):
        lane = start(forked(make_agent(option)), "42", "--slug", option.strip("-"))
        work(lane)
        assert lane.claim("push").status == 0, option
        lane.claim("release", check=0)


def test_push_stands_in_a_subdirectory_as_well(lane: ForkedAgent, server: Server) -> None:
    (lane.clone.path / "deep").mkdir()
    assert inside(lane, lane.clone.path / "deep").claim("push").status == 0
    assert read_refs(server.path, BRANCH) == {BRANCH: head(lane)}
