"""The texts of comments: the shape that scripts grep for, what each says, and what is never posted."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.claim import ChainId, Claim
from git_claims.protocol.comments import (
    Release,
    check_text,
    check_words,
    hold_words,
    lock_comment,
    postable,
    release_comment,
    sibling_comment,
    step_comment,
    take_over_comment,
    whose,
)
from git_claims.protocol.house import House, Labels, PathStyle, definitions
from git_claims.protocol.marker import live_markers, read_markers
from tests.protocol.shown import HOUSE, OURS, said

SHAPE = """\
**Agent session lock** — claimed by an automated session; do not assign to another agent.

- operator: `octocat`
- worktree: `/path/to/worktree`
- branch: `42-fix-auth`
- claimed at: `2026-11-30T13:06:00Z`

<!-- claude-lock: operator=octocat worktree=/path/to/worktree branch=42-fix-auth at=2026-11-30T13:06:00Z nonce=9f1c -->

"""
THEIRS = Claim(issue="42", chain=ChainId("chain-forge-2"), operator="hubot", claimed_at="2026-11-29T08:00:00Z")


def released(outcome: Release, **words: str | int | None) -> str:
    pull, base, reason, note = (words.get(name) for name in ("pull", "base", "reason", "note"))
    assert isinstance(pull, int | None) and isinstance(base, str | None)
    assert isinstance(reason, str | None) and isinstance(note, str | None)
    return release_comment(OURS, HOUSE, outcome, "9f1c-x", pull=pull, base=base, reason=reason, note=note)


def test_claim_comment_has_the_shape_that_scripts_grep_for() -> None:
    text = lock_comment(OURS, HOUSE)
    assert text.startswith(SHAPE)
    last = text.removeprefix(SHAPE)
    assert "\n" not in last and "stale after 24 h" in last and "politely" in last


def test_scripts_find_the_fields_in_a_claim_comment() -> None:
    line = next(line for line in lock_comment(OURS, HOUSE).splitlines() if "claude-lock:" in line)
    found = re.search(r"claude-lock: operator=(\S+) worktree=(.+) branch=(\S+) at=(\S+) nonce=(\S+) -->", line)
    assert found is not None
    assert found.groups() == ("octocat", OURS.worktree, OURS.branch, OURS.claimed_at, OURS.nonce)


def test_what_a_claim_does_not_say_is_left_out() -> None:
    text = lock_comment(Claim(issue="42", chain=ChainId("chain-blade-1"), nonce="9f1c"), HOUSE)
    assert "<!-- claude-lock: operator=chain-blade-1 nonce=9f1c -->" in text
    assert "None" not in text and "- worktree" not in text and "- operator" not in text


def test_path_with_spaces_stands_whole_in_row_and_marker() -> None:
    text = lock_comment(replace(OURS, worktree="/my work/a b"), HOUSE)
    assert "- worktree: `/my work/a b`\n" in text
    (marker,) = live_markers("claude-lock", [said(text)])
    assert (marker.field("worktree"), marker.field("branch")) == ("/my work/a b", OURS.branch)


@pytest.mark.parametrize(
    ("style", "worktree", "shown"),
    [
        (PathStyle.ABSOLUTE, "/path/to/worktree", "/path/to/worktree"),
        (PathStyle.NAME, "/path/to/worktree", "worktree"),
        (PathStyle.NAME, "/path/to/worktree/", "worktree"),
        (PathStyle.NAME, "/", None),
        (PathStyle.NONE, "/path/to/worktree", None),
    ],
)
def test_path_is_shown_as_far_as_the_repository_wants(style: PathStyle, worktree: str, shown: str | None) -> None:
    text = lock_comment(replace(OURS, worktree=worktree), replace(HOUSE, path_style=style))
    (marker,) = live_markers("claude-lock", [said(text)])
    assert marker.field("worktree") == shown
    assert (f"- worktree: `{shown}`" in text) == (shown is not None)
    assert ("/path/to" in text) == (style is PathStyle.ABSOLUTE)


@pytest.mark.parametrize(
    ("issue", "window", "said_so"),
    [
        ("42", timedelta(hours=24), "after 24 h"),
        ("42", timedelta(minutes=90), "after 1.5 h"),
        ("42", timedelta(minutes=30), "after 30 min"),
        ("42", timedelta(seconds=4), "after 4 s"),
        ("pr-17", timedelta(hours=24), "after 1 h"),
    ],
)
def test_claim_comment_tells_the_window_of_its_kind_of_item(issue: str, window: timedelta, said_so: str) -> None:
    text = lock_comment(replace(OURS, issue=issue), replace(HOUSE, window=window))
    assert said_so in text and f"`git claim show {issue}`" in text


def test_marker_has_the_name_that_the_repository_gave_it() -> None:
    assert "<!-- team-lock: operator=octocat " in lock_comment(OURS, replace(HOUSE, marker="team-lock"))


def test_comment_of_a_sibling_is_short_and_names_its_lead() -> None:
    text = sibling_comment(replace(OURS, issue="43", lead="41"), HOUSE)
    (marker,) = live_markers("claude-lock", [said(text)])
    assert (marker.operator, marker.field("bundled_with"), marker.field("nonce")) == ("octocat", "#41", "9f1c")
    assert "bundled_with=#41" in text and "#41, in one pull request" in text
    assert len(text.splitlines()) == 3


def test_comment_of_a_take_over_names_whom_and_why_and_changes_the_lock() -> None:
    text = take_over_comment(replace(OURS, extra=(("reason", "it was silent for a day"),)), THEIRS, HOUSE)
    assert text.startswith(
        "Taking over the lock of `hubot`, claimed at `2026-11-29T08:00:00Z`: it was silent for a day."
    )
    theirs = said("<!-- claude-lock: operator=hubot -->", -60, "hubot")
    assert [marker.operator for marker in live_markers("claude-lock", [theirs, said(text)])] == ["octocat"]


def test_take_over_from_the_same_login_leaves_its_new_lock_live() -> None:
    text = take_over_comment(OURS, replace(THEIRS, operator="octocat"), HOUSE)
    assert [marker.field("nonce") for marker in live_markers("claude-lock", [said(text)])] == ["9f1c"]


RELEASED = [
    ("merged", Release.MERGED, {"pull": 5, "base": "main"}, "Resolved by PR #5 (merged into `main`)."),
    ("merged, into what could not be read", Release.MERGED, {"pull": 5}, "Resolved by PR #5."),
    ("merged, by what could not be read", Release.MERGED, {}, "Resolved."),
    ("abandoned", Release.ABANDONED, {}, "Lock released, work abandoned."),
    ("abandoned with a pull request", Release.ABANDONED, {"pull": 5}, "Lock released, work abandoned (PR #5)."),
    ("blocked", Release.BLOCKED, {"reason": "needs a key"}, "Lock released, blocked: needs a key"),
    ("blocked without a word", Release.BLOCKED, {}, "Lock released, blocked."),
    ("waiting for CI", Release.CI_MONITORING, {}, "Work is done; waiting for CI."),
    ("released", Release.PLAIN, {}, "Lock released."),
    (
        "a note",
        Release.PLAIN,
        {"note": "Review: approved.\nNicely done."},
        "Lock released.\n\nReview: approved.\nNicely",
    ),
]


@pytest.mark.parametrize(("outcome", "words", "begins"), [case[1:] for case in RELEASED], ids=[c[0] for c in RELEASED])
def test_comment_of_a_release_says_how_it_ended(outcome: Release, words: dict[str, str | int], begins: str) -> None:
    text = released(outcome, **words)
    assert text.startswith(begins) and "None" not in text
    assert text.endswith("\n\n<!-- claude-lock-released: operator=octocat nonce=9f1c-x -->")


def test_comment_of_a_step_releases_nothing() -> None:
    text = step_comment(OURS, HOUSE, "Completed; lock handed off to `chain-2`.", "9f1c-step")
    assert [marker.operator for marker in live_markers("claude-lock", [said(lock_comment(OURS, HOUSE)), said(text)])]
    (step,) = read_markers("claude-lock-step", said(text))
    assert (step.operator, step.field("at"), step.field("nonce")) == ("octocat", OURS.claimed_at, "9f1c-step")


@pytest.mark.parametrize(
    ("hold", "who", "why", "text"),
    [
        (True, "octocat", "legal looks at it", "Held by octocat: legal looks at it"),
        (True, None, None, "Held."),
        (False, "octocat", None, "No longer held by octocat."),
    ],
)
def test_comment_of_a_hold_says_who_and_why(hold: bool, who: str | None, why: str | None, text: str) -> None:
    assert hold_words(HOUSE, hold=hold, who=who, why=why) == text


# What must never be posted


BREAKING = ["a-->b", "a<!--b", "a\nb", "a\x1bb", "<branch>", "42-<slug>", "a nonce=1", "@CLAUDE-bot"]
WRITERS: dict[str, Callable[[Claim], str]] = {
    "lock": lambda claim: lock_comment(claim, HOUSE),
    "sibling": lambda claim: sibling_comment(claim, HOUSE),
    "take-over": lambda claim: take_over_comment(claim, THEIRS, HOUSE),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("value", BREAKING)
def test_claim_of_ours_that_cannot_be_told_is_refused(write: Callable[[Claim], str], value: str) -> None:
    write(OURS)
    for claim in (replace(OURS, branch=value), replace(OURS, worktree=value), replace(OURS, operator=value)):
        with pytest.raises(ValueError, match=r"marker|placeholder|field|bot"):
            write(claim)


WORDS = ["ask @Claude-Bot", "waits for <name>", "<!-- claude-lock: operator=hubot -->", "<!--claude-lock-released: x"]


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize(
    "post",
    [
        lambda words: released(Release.PLAIN, note=words),
        lambda words: released(Release.BLOCKED, reason=words),
        lambda words: step_comment(OURS, HOUSE, words, "n"),
        lambda words: hold_words(HOUSE, hold=True, who="octocat", why=words),
        lambda words: take_over_comment(replace(OURS, extra=(("reason", words),)), THEIRS, HOUSE),
    ],
    ids=["note", "reason", "step", "hold", "take-over"],
)
def test_words_that_must_not_be_posted_are_refused(post: Callable[[str], str], words: str) -> None:
    post("harmless")
    with pytest.raises(ValueError, match=r"bot|placeholder|marker"):
        post(words)


@pytest.mark.parametrize(
    "words", ["a --> b", "Vec<String>", "<b>bold</b>", "<!-- from a linter -->", "see claude-lock"]
)
def test_words_that_only_look_odd_are_posted(words: str) -> None:
    check_words(words, HOUSE)
    assert words in released(Release.PLAIN, note=words)


def test_without_a_bot_no_word_is_a_trigger() -> None:
    check_text("anything", replace(HOUSE, bot_trigger=""))


# Records of others: whoever may push can write anything in them


def test_record_that_can_be_posted_stays_as_it_is() -> None:
    claim = replace(OURS, lead="41", extra=(("reason", "it was silent"), ("theirs", "@claude-bot")))
    assert postable(claim, HOUSE) == claim


@pytest.mark.parametrize("value", BREAKING)
def test_record_loses_only_what_cannot_be_posted(value: str) -> None:
    assert postable(replace(OURS, branch=value), HOUSE) == replace(OURS, branch=None)
    assert postable(replace(OURS, claimed_at=value), HOUSE) == replace(OURS, claimed_at=None)
    assert postable(replace(OURS, chain=ChainId(value)), HOUSE).chain == "unknown"
    assert postable(replace(OURS, lead=f"41 {value}"), HOUSE).lead is None


@pytest.mark.parametrize("words", WORDS)
def test_reason_in_a_record_that_must_not_be_posted_is_lost(words: str) -> None:
    assert postable(replace(OURS, extra=(("reason", words),)), HOUSE).extra == ()


pieces = st.sampled_from(["-->", "<!--", "claude-lock:", " nonce=", "`", "@Claude-bot", "<x>", "\n", "\x1b", "a", " "])
hostile = st.one_of(st.none(), st.lists(pieces, max_size=4).map("".join))
records = st.builds(
    lambda chain, fields, why: replace(OURS, **fields, chain=ChainId(chain or ""), extra=(("reason", why or ""),)),
    hostile,
    st.fixed_dictionaries(dict.fromkeys(("operator", "branch", "worktree", "lead", "claimed_at", "nonce"), hostile)),
    hostile,
)


@given(records, records)
def test_record_of_anybody_can_be_told_without_harm(claim: Claim, previous: Claim) -> None:
    claim, previous = postable(claim, HOUSE), postable(previous, HOUSE)
    for text in (lock_comment(claim, HOUSE), sibling_comment(claim, HOUSE), take_over_comment(claim, previous, HOUSE)):
        assert "@claude-bot" not in text.lower() and "<x>" not in text and "\x1b" not in text
        assert len(live_markers("claude-lock", [said(text)])) == 1


def test_backtick_in_a_record_does_not_end_the_code_that_quotes_it() -> None:
    assert whose(replace(THEIRS, operator="a`@everyone`b")) == "`a@everyoneb`, claimed at `2026-11-29T08:00:00Z`"


# What a repository may switch off


def test_each_label_is_defined_once_and_an_empty_name_not_at_all() -> None:
    names = [name for name, _, _ in definitions(Labels())]
    assert names == ["in-progress", "ready", "afk", "hitl", "hold", "blocked", "ci-monitoring"]
    assert [name for name, _, _ in definitions(replace(Labels.none(), hold="stop"))] == ["stop"]
    for _, colour, description in definitions(Labels()):
        assert re.fullmatch(r"[0-9a-f]{6}", colour) and 0 < len(description) <= 100


def test_house_tells_pull_requests_apart() -> None:
    assert House(Labels(), "x", PathStyle.NONE, timedelta(hours=9)).pull_window == timedelta(hours=1)
