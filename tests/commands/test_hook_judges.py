"""`git claim hook`: put where git looks, taken away again, and what it answers to the lines of a push."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents import Answer, Crasher
from tests.commands.lane import start
from tests.commands.telling import block, plant
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked
from tests.places import Server
from tests.protocol.pushed import NEW, branches, delete, line

# Judging the lines of a push


def judge(agent: ForkedAgent, lines: str, *words: str) -> Answer:
    return agent.claim("hook", "pre-push", "origin", agent.clone.server.url, *words, stdin=lines)


BRANCH = branches("42-fix")
HELD = "is claimed by 'chain-rival' on blade since <time> (<age>)"
NOT_YOURS = "is not yours to change: issue"


def test_branch_whose_item_this_chain_holds_passes(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    assert judge(agent, BRANCH) == Answer(0, "", "")
    document = judge(agent, BRANCH, "--json")
    assert document.at("ok") is True
    assert (document.at("refs", 0, "ref"), document.at("refs", 0, "item")) == ("refs/heads/42-fix", "issue-42")
    assert (document.at("refs", 0, "passes"), document.at("refs", 0, "claim", "chain")) == (True, "chain-agent-1")


def test_branch_whose_item_another_holds_is_refused_with_the_holder(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    assert judge(agent, BRANCH).transcript() == block(f"""
        exit 1
        --- stdout
        --- stderr
        error: branch '42-fix' is not pushed: issue 'server#42' {HELD}
        hint: 'git claim show 42' shows the claim; ask its holder
        """)


def test_branch_whose_item_nobody_holds_is_refused_with_the_way_on(agent: ForkedAgent) -> None:
    assert judge(agent, BRANCH).transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        error: branch '42-fix' is not pushed: issue 'server#42' is not claimed
        hint: 'git claim 42' asks for it; then push again
        """)


def test_branch_pushed_without_a_chain_is_refused_with_the_way_on(nobody: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    assert judge(nobody, BRANCH).transcript() == block(f"""
        exit 1
        --- stdout
        --- stderr
        error: branch '42-fix' is not pushed: issue 'server#42' {HELD}, and no chain is in force here
        hint: if that is you, set GIT_CLAIM_CHAIN, or push from the lane with 'git claim push'
        """)


def test_branch_whose_claim_cannot_be_read_is_refused(agent: ForkedAgent, server: Server) -> None:
    server.plant_bytes("issue-42", b"\xff")
    answer = judge(agent, BRANCH)
    assert answer.status == 1
    assert "is claimed by somebody whose record cannot be read: " in answer.stderr


def test_lane_is_known_by_its_lane_file(agent: ForkedAgent) -> None:
    lane = start(agent, "42")
    assert judge(lane, branches("42-work")) == Answer(0, "", "")
    assert judge(lane, branches("43-work")).status == 1


@pytest.mark.parametrize(
    "lines", ["", branches("main", "wip"), delete("refs/heads/42-fix"), line("refs/tags/42-fix")],
    ids=["nothing", "no item", "delete", "tag"],
)  # fmt: skip
def test_push_without_a_question_asks_nobody(agent: ForkedAgent, tmp_path: Path, lines: str) -> None:
    agent.clone.config("remote.origin.url", str(tmp_path / "gone.git"))
    assert judge(agent, lines) == Answer(0, "", "")
    assert judge(agent, lines, "--json").json == {"ok": True, "refs": []}


def test_several_branches_are_judged_in_one_exchange_and_each_refusal_is_told(
    agent: ForkedAgent, server: Server, crasher: Crasher
) -> None:
    plant(server, "issue-1", "chain-agent-1")
    plant(server, "issue-3")
    watched = ForkedAgent(agent.clone, agent.chain, crasher.environment())
    answer = judge(watched, branches("1-a", "2-b", "3-c", "main") + line("refs/claims/issue-3"))
    assert len([words for words in crasher.arguments() if {"fetch", "ls-remote", "push"} & set(words)]) == 1
    assert (answer.status, [text.split("'")[1] for text in answer.stderr.splitlines() if text.startswith("error")]) == (
        1,
        ["2-b", "3-c", "refs/claims/issue-3"],
    )


def test_warning_lets_unclaimed_branches_go(agent: ForkedAgent, server: Server) -> None:
    (agent.clone.path / ".claims.toml").write_text('[hook]\nunclaimed = "warn"\n')
    plant(server, "issue-43")
    answer = judge(agent, branches("42-fix", "43-fix"))
    assert answer.transcript() == block(f"""
        exit 0
        --- stdout
        --- stderr
        warning: branch '42-fix' is pushed all the same: issue 'server#42' is not claimed
        warning: branch '43-fix' is pushed all the same: issue 'server#43' {HELD}
        """)
    assert judge(agent, delete("refs/claims/issue-43")).status == 1


def test_strict_repository_refuses_branches_without_an_item_but_exempt_ones(agent: ForkedAgent) -> None:
    (agent.clone.path / ".claims.toml").write_text('[hook]\nstrict = true\nexempt = ["main", "release/*"]\n')
    assert judge(agent, branches("main", "release/1") + delete("refs/heads/wip") + line("refs/tags/v1")).status == 0
    assert judge(agent, branches("wip")).transcript() == block("""
        exit 1
        --- stdout
        --- stderr
        error: branch 'wip' names no item (hook.strict)
        hint: branches that do look like '{number}-{slug}'; 'git claim start 42' makes one
        """)


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (
            line("refs/claims/issue-42"),
            f"the claim 'refs/claims/issue-42' {NOT_YOURS} 'server#42' is claimed by 'chain-rival'",
        ),
        (
            delete("refs/claims/issue-42"),
            f"the claim 'refs/claims/issue-42' {NOT_YOURS} 'server#42' is claimed by 'chain-rival'",
        ),
        (delete("refs/claims/issue-43"), f"the claim 'refs/claims/issue-43' {NOT_YOURS} 'server#43' is not claimed"),
        (line("refs/claims/Issue-42"), "'refs/claims/Issue-42' is among the claims and names no item"),
        (delete("refs/heads/claims/x"), "'claims/x' is among the claims and names no item"),
    ],
    ids=["update", "delete", "delete of none", "second name", "other namespace"],
)
def test_claims_that_are_not_ours_are_not_changed_by_hand(
    agent: ForkedAgent, server: Server, lines: str, error: str
) -> None:
    plant(server, "issue-42")
    answer = judge(agent, lines)
    assert (answer.status, answer.stderr.startswith(f"error: {error}")) == (1, True), answer
    assert answer.stderr.endswith("hint: claims change by 'git claim' alone\n")


def test_claim_of_this_chain_may_be_changed_by_hand(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    assert judge(agent, line("refs/claims/issue-42") + line("refs/claims/issue-9", NEW)).status == 0


# What cannot be known


def gone(agent: ForkedAgent) -> None:
    agent.clone.server.path.rename(agent.clone.server.path.with_name("moved.git"))


def test_silent_remote_is_a_refusal_with_a_way_on(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    agent.claim("ls", check=0)
    gone(agent)
    answer = judge(agent, BRANCH)
    assert answer.status == 3
    error, hint = answer.stderr.splitlines()
    assert error.startswith("error: nothing is pushed, since it cannot be known whether it is claimed: cannot read the")
    assert hint == (
        "hint: push again when the remote answers; hook.offline = cached in .claims.toml accepts a fresh local copy"
    )


@pytest.mark.parametrize(
    ("age", "holder", "status"),
    [("1h", "chain-agent-1", 0), ("0s", "chain-agent-1", 3), ("1h", "chain-rival", 1)],
    ids=["fresh", "too old", "fresh, and another's"],
)
def test_local_copy_stands_in_up_to_the_age_that_was_allowed(
    agent: ForkedAgent, server: Server, age: str, holder: str, status: int
) -> None:
    (agent.clone.path / ".claims.toml").write_text(f'[hook]\noffline = "cached"\noffline_age = "{age}"\n')
    plant(server, "issue-42", holder)
    agent.claim("ls", check=0)
    gone(agent)
    answer = judge(agent, BRANCH)
    assert answer.status == status, answer
    assert ("the remote does not answer; judged by the local copy" in answer.stderr) == (status != 3)


def test_copy_that_was_never_listed_as_a_whole_does_not_stand_in(agent: ForkedAgent, server: Server) -> None:
    (agent.clone.path / ".claims.toml").write_text('[hook]\noffline = "cached"\n')
    agent.claim("42", check=0)
    gone(agent)
    assert judge(agent, BRANCH).status == 3


def test_remote_that_answers_is_asked_whatever_the_copy_says(agent: ForkedAgent, server: Server) -> None:
    (agent.clone.path / ".claims.toml").write_text('[hook]\noffline = "cached"\n')
    plant(server, "issue-42", "chain-agent-1")
    agent.claim("ls", check=0)
    plant(server, "issue-42")
    assert judge(agent, BRANCH).status == 1


@pytest.mark.parametrize("text", ["nonsense\n", branches("main") + "refs/heads/42-x\n"])
def test_input_of_another_form_is_a_refusal(agent: ForkedAgent, text: str) -> None:
    answer = judge(agent, text)
    assert answer.status == 128
    assert answer.stderr.endswith(
        " is not a line of a pre-push hook's input\nhint: run it as git does, from a pre-push hook\n"
    )


def test_settings_that_mean_nothing_are_a_refusal(agent: ForkedAgent) -> None:
    (agent.clone.path / ".claims.toml").write_text("[hook]\nstrict = 7\n")
    assert judge(agent, BRANCH).status == 128


# Called by others


def test_fenced_push_is_not_judged_again(agent: ForkedAgent, tmp_path: Path) -> None:
    agent.clone.config("remote.origin.url", str(tmp_path / "gone.git"))
    agent.environment["GIT_CLAIM_FENCED"] = "1"
    assert judge(agent, BRANCH) == Answer(0, "", "")


def test_variables_of_pre_commit_stand_in_for_lines(agent: ForkedAgent, server: Server) -> None:
    agent.environment |= {"PRE_COMMIT_REMOTE_BRANCH": "refs/heads/42-fix", "PRE_COMMIT_LOCAL_BRANCH": "refs/heads/x"}
    assert judge(agent, "").status == 1
    plant(server, "issue-42", "chain-agent-1")
    assert judge(agent, "").status == 0
    # A push that a hook of pre-commit makes has lines of its own.
    assert judge(agent, branches("43-fix")).status == 1


def test_hook_in_a_linked_worktree_is_asked_with_the_repository_in_the_environment(agent: ForkedAgent) -> None:
    lane = start(agent, "42")
    git_dir = lane.clone.git("rev-parse", "--absolute-git-dir").stdout.strip()
    lane.environment = {"GIT_DIR": git_dir, "GIT_PREFIX": ""}
    assert judge(lane, branches("42-work")) == Answer(0, "", "")
    assert judge(lane, branches("43-work")).status == 1


def test_bare_clone_judges_too(make_agent: MakeAgent) -> None:
    agent = forked(make_agent("--bare"))
    agent.environment = {"GIT_DIR": "."}
    assert judge(agent, BRANCH).status == 1
    assert judge(agent, branches("main")).status == 0
