"""`pr`: the fenced push of a lane, and one pull request that closes its issues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents import Answer
from tests.commands.lane import inside
from tests.commands.pulling import BRANCH, CHAIN, claimed, make_lane
from tests.commands.telling import block, field, plant, shown
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.github_double.records import Pull

REF = f"refs/heads/{BRANCH}"


@pytest.fixture
def lane(github: GitHub, octo: ForkedAgent) -> ForkedAgent:
    claimed(github)
    return make_lane(octo)


def only_pull(github: GitHub) -> Pull:
    [pull] = github.repository().pulls()
    return pull


def settings(lane: ForkedAgent, text: str) -> None:
    (lane.clone.path / ".claims.toml").write_text(text)


def head(lane: ForkedAgent) -> str:
    return lane.clone.git("rev-parse", "HEAD").stdout.strip()


def assert_nothing_happened(answer: Answer, github: GitHub, status: int) -> None:
    """Neither a push nor a pull request, and an answer that says what to do."""
    shown(answer)
    assert answer.status == status, answer
    assert github.server.refs(REF) == {} and github.repository().pulls() == []
    assert not github.writes


# Opened


def test_branch_is_pushed_and_its_pull_request_closes_the_issue(github: GitHub, lane: ForkedAgent) -> None:
    before = github.server.refs()
    answer = lane.claim("pr")
    pull = only_pull(github)
    assert answer.transcript() == block(f"""
        exit 0
        --- stdout
        https://github.com/acme/ledger/pull/{pull.number}
        --- stderr
        opened #{pull.number}: Fix the totals
    """)
    assert (pull.title, pull.body, pull.head, pull.base) == ("Fix the totals", "Closes #42", BRANCH, "main")
    assert (pull.assignees, pull.is_draft) == (["octo"], False)
    assert github.server.refs(REF) == {REF: head(lane)}
    # The fence renewed the claim in the same push.
    assert github.server.refs() != before and field(github.server, "issue-42", "branch") == BRANCH


def test_document_has_the_number_and_what_comes_next(github: GitHub, lane: ForkedAgent) -> None:
    answer = lane.claim("pr", "--json", check=0)
    pull = only_pull(github)
    assert {key: answer.at(key) for key in ("ok", "pull", "url", "new", "notes", "next")} == {
        **{"ok": True, "pull": pull.number, "url": pull.url, "new": True, "notes": []},
        "next": ["git claim land 42"],
    }
    assert answer.at("items", 0, "outcome") == "renewed"


def test_title_text_base_and_draft_are_as_asked_for(github: GitHub, lane: ForkedAgent) -> None:
    github.server.plant("refs/heads/next", github.server.refs("refs/heads/main")["refs/heads/main"])
    words = ("pr", "--title", "Totals", "--body-file", "-", "--base", "next", "--draft")
    lane.claim(*words, stdin="Rounds – once.\n", check=0)
    pull = only_pull(github)
    assert (pull.title, pull.body, pull.base, pull.is_draft) == (
        *("Totals", "Rounds – once.\n\nCloses #42", "next", True),
    )


def test_integration_branch_is_the_base_of_a_repository_that_has_one(github: GitHub, lane: ForkedAgent) -> None:
    github.server.plant("refs/heads/next", github.server.refs("refs/heads/main")["refs/heads/main"])
    settings(lane, 'integration_branch = "next"\n')
    lane.claim("pr", check=0)
    assert only_pull(github).base == "next"


def test_text_that_says_already_what_it_closes_stays_as_it_is(
    github: GitHub, lane: ForkedAgent, tmp_path: Path
) -> None:
    (tmp_path / "text.md").write_text("This fixes #42.\n")
    lane.claim("pr", "--body-file", str(tmp_path / "text.md"), check=0)
    assert only_pull(github).body == "This fixes #42."


@pytest.mark.parametrize("in_lane", [True, False], ids=["of a lane", "of a branch"])
def test_bundle_is_closed_as_a_whole(github: GitHub, octo: ForkedAgent, in_lane: bool) -> None:
    claimed(github)
    claimed(github, 43, "The same", lead="42")
    make_lane(octo, (42, 43) if in_lane else (42,)).claim("pr", check=0)
    assert only_pull(github).body == "Closes #42\nCloses #43"
    assert field(github.server, "issue-43", "renewed_at")


def test_title_of_an_issue_that_would_start_a_bot_is_not_repeated(github: GitHub, lane: ForkedAgent) -> None:
    settings(lane, 'bot_trigger = "@bot"\n')
    github.issue(42).title = "Ask @bot for totals"
    lane.claim("pr", check=0)
    assert only_pull(github).title == BRANCH


def test_operator_who_cannot_be_assigned_is_told(github: GitHub, lane: ForkedAgent) -> None:
    github.mood("half-applied", only="writes", fields=("addAssigneesToAssignable",))
    answer = lane.claim("pr", check=0)
    assert "warning: nobody was assigned to it: " in answer.stderr
    assert only_pull(github).assignees == []


# There already


def test_one_that_is_open_is_answered_and_not_doubled(github: GitHub, lane: ForkedAgent) -> None:
    pull = github.add_pull(17, "Fix the totals", head=BRANCH, closes=42)
    answer = lane.claim("pr", "--json", check=0)
    assert (answer.at("pull"), answer.at("new"), answer.at("notes")) == (17, False, [])
    assert only_pull(github) is pull and pull.assignees == ["octo"]
    assert github.server.refs(REF) == {REF: head(lane)}


def test_what_is_not_as_asked_for_of_one_that_was_there_is_said(github: GitHub, lane: ForkedAgent) -> None:
    github.server.plant("refs/heads/next", github.server.refs("refs/heads/main")["refs/heads/main"])
    github.add_pull(17, "Fix the totals", head=BRANCH, base="next", is_draft=True)
    answer = lane.claim("pr", "--title", "Totals", check=0)
    assert answer.stderr == block("""
        there is already #17: Fix the totals
        warning: its text does not say that it closes acme/ledger#42: add 'Closes #42'
        warning: it goes into 'next', not into 'main'
        warning: its title and text stay as they are
        warning: it is a draft
    """)
    assert (github.pull(17).title, github.pull(17).body) == ("Fix the totals", "")


# Refused before anything is pushed


def test_branch_without_commits_of_its_own_is_refused(github: GitHub, lane: ForkedAgent) -> None:
    lane.clone.git("reset", "--quiet", "--hard", "main")
    before = github.server.refs()
    answer = lane.claim("pr")
    assert_nothing_happened(answer, github, 1)
    assert answer.stderr.startswith("error: this branch has no commits that 'main' lacks\n")
    assert github.server.refs() == before


def test_base_that_the_remote_lacks_is_refused(github: GitHub, lane: ForkedAgent) -> None:
    answer = lane.claim("pr", "--base", "release")
    assert_nothing_happened(answer, github, 1)
    assert answer.stderr.startswith("error: the remote has no branch 'release'\n")


@pytest.mark.parametrize(
    ("title", "text", "said"),
    [
        ("Ask @bot", "", "contains '@bot', which would start a bot"),
        (None, "cc @BOT", "contains '@bot', which would start a bot"),
        (None, "Fixes the <name> of it", "still contains the placeholder '<name>'"),
        (None, "<!-- claude-lock: operator=ada -->", "contains a 'claude-lock' marker"),
        ("two\nlines", "", "a title is one line"),
        (" ", "", "a title is one line"),
    ],
)
def test_words_that_must_not_be_posted_are_refused(
    github: GitHub, lane: ForkedAgent, title: str | None, text: str, said: str
) -> None:
    settings(lane, 'bot_trigger = "@bot"\n')
    words = ["--title", title] if title is not None else ["--body-file", "-"]
    answer = lane.claim("pr", *words, stdin=text)
    assert_nothing_happened(answer, github, 2)
    assert said in answer.stderr


def test_text_that_is_not_utf_8_is_refused(github: GitHub, lane: ForkedAgent, tmp_path: Path) -> None:
    (tmp_path / "text.md").write_bytes(b"Caf\xe9")
    answer = lane.claim("pr", "--body-file", str(tmp_path / "text.md"))
    assert_nothing_happened(answer, github, 2)


def rival(lane: ForkedAgent) -> None:
    plant(lane.clone.server, "issue-42", "chain-rival")


def nobody(lane: ForkedAgent) -> None:
    lane.clone.server.plant("refs/claims/issue-42", None)


@pytest.mark.parametrize(("arrange", "said"), [(rival, "chain-rival"), (nobody, "is not claimed")])
def test_work_without_its_claim_is_neither_pushed_nor_proposed(
    github: GitHub, lane: ForkedAgent, arrange: Callable[[ForkedAgent], None], said: str
) -> None:
    arrange(lane)
    answer = lane.claim("pr")
    assert_nothing_happened(answer, github, 1)
    assert answer.stderr.startswith("error: nothing was pushed: ") and said in answer.stderr


def test_branch_that_the_server_refuses_is_not_proposed(github: GitHub, lane: ForkedAgent) -> None:
    github.server.policy_refuses("refs/heads/*")
    answer = lane.claim("pr")
    assert answer.status == 1 and "refused by policy" in answer.stderr, answer
    assert github.server.refs(REF) == {} and github.repository().pulls() == []


def test_only_work_on_an_item_is_proposed(github: GitHub, octo: ForkedAgent) -> None:
    octo.clone.commit("work")
    answer = octo.claim("pr")
    assert_nothing_happened(answer, github, 2)
    assert "this is no lane and the branch names no item" in answer.stderr


def test_head_that_is_on_no_branch_is_not_proposed(github: GitHub, lane: ForkedAgent) -> None:
    lane.clone.git("switch", "--quiet", "--detach")
    assert_nothing_happened(lane.claim("pr"), github, 2)


def test_without_a_tracker_there_is_nothing_to_open(lane: ForkedAgent, github: GitHub) -> None:
    settings(lane, 'tracker = "none"\n')
    answer = lane.claim("pr", "--json")
    assert (answer.status, answer.at("reason")) == (128, "no-tracker")
    assert github.server.refs(REF) == {}


def test_branch_that_was_pushed_stays_when_the_tracker_is_silent_and_the_next_one_goes_on(
    github: GitHub, octo: ForkedAgent
) -> None:
    claimed(github)
    lane = make_lane(octo)
    github.mood("bad-credentials", only="writes")
    answer = lane.claim("pr")
    assert answer.status == 3 and github.server.refs(REF) == {REF: head(lane)}, answer
    github.calm()
    assert inside(octo, lane.clone.path, CHAIN).claim("pr", "--json", check=0).at("new") is True
