"""What an answer says to a person: every outcome and reason as one sentence, whatever its record contains."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from git_claims.cli import words
from git_claims.flows.change import Answer
from git_claims.protocol.claim import ChainId, Claim, Oid, Seen
from git_claims.protocol.text import printable
from git_claims.protocol.transition import SUCCEEDED, Outcome, Reason
from tests.protocol.memory import item

REPO = "acme/ledger"
NOW = datetime(2026, 11, 30, 15, 12, tzinfo=UTC)
ITEM = item("42")
CLAIM = Claim(issue="42", chain=ChainId("chain-blade-1"), host="blade", claimed_at="2026-11-30T13:06:00Z")
THEIRS = Seen(Oid("b" * 40), CLAIM)
MINE = Seen(Oid("a" * 40), replace(CLAIM, chain=ChainId("chain-me"), host=None))
UNREADABLE = Seen(Oid("c" * 40), None, "it names no chain")
HELD = "issue 'acme/ledger#42' is claimed by 'chain-blade-1' on blade since 13:06 (2 h)"

SUCCESSES = [
    (Answer(ITEM, Outcome.CLAIMED, Reason.FREE, MINE), "claimed acme/ledger#42 for chain-me"),
    (
        Answer(ITEM, Outcome.ALREADY_YOURS, Reason.HOLDER, MINE),
        "acme/ledger#42 is already yours since 13:06 (2 h)",
    ),
    (
        Answer(ITEM, Outcome.TAKEN_OVER, Reason.FORCED, MINE, THEIRS),
        "took over acme/ledger#42 for chain-me from 'chain-blade-1' on blade since 13:06 (2 h)",
    ),
    (
        Answer(ITEM, Outcome.TAKEN_OVER, Reason.FORCED, MINE, UNREADABLE),
        "took over acme/ledger#42 for chain-me from somebody whose record cannot be read: it names no chain",
    ),
    (Answer(ITEM, Outcome.RENEWED, Reason.HOLDER, MINE), "renewed acme/ledger#42"),
    (Answer(ITEM, Outcome.HANDED_OFF, Reason.HOLDER, THEIRS), "handed acme/ledger#42 to chain-blade-1"),
    (
        Answer(ITEM, Outcome.ADOPTED, Reason.HOLDER, MINE, THEIRS),
        "adopted acme/ledger#42 from 'chain-blade-1' on blade since 13:06 (2 h)",
    ),
    (Answer(ITEM, Outcome.RELEASED, Reason.HOLDER, MINE), "released acme/ledger#42"),
    (
        Answer(ITEM, Outcome.RECLAIMED, Reason.PERSON, None, THEIRS),
        "reclaimed acme/ledger#42 from 'chain-blade-1' on blade since 13:06 (2 h)",
    ),
    (Answer(ITEM, Outcome.GONE, Reason.NOT_CLAIMED), "acme/ledger#42 is not claimed, nothing to release"),
]
REFUSALS = [
    (
        Answer(ITEM, Outcome.HELD, Reason.HELD, rival=THEIRS),
        HELD,
        "'git claim 42 --wait' waits for it; 'git claim ls' shows all",
    ),
    (
        Answer(ITEM, Outcome.NOT_YOURS, Reason.HELD, rival=THEIRS),
        HELD,
        "only its holder can do that; 'git claim ls --mine' shows what this chain holds",
    ),
    (
        Answer(ITEM, Outcome.HELD, Reason.UNREADABLE, rival=UNREADABLE),
        "issue 'acme/ledger#42' is held by a claim whose record cannot be read: it names no chain",
        "'git claim show 42' shows its id; a person has to decide what becomes of it",
    ),
    (
        Answer(ITEM, Outcome.HELD, Reason.GAVE_UP_WAITING, rival=THEIRS),
        f"gave up waiting: {HELD}",
        "'git claim ls' shows all claims",
    ),
    (
        Answer(ITEM, Outcome.NOT_YOURS, Reason.NOT_PREDECESSOR, rival=THEIRS),
        f"{HELD}, not by the chain named",
        "only a successor of its holder may adopt it; 'git claim show 42' shows the record",
    ),
    (
        Answer(ITEM, Outcome.NOT_TAKEN, Reason.ALL_OR_NOTHING),
        "issue 'acme/ledger#42' is free and was not taken: all or nothing",
        "'git claim ls' shows all claims",
    ),
    (
        Answer(ITEM, Outcome.HELD, Reason.CHANGED_MEANWHILE, rival=THEIRS),
        f"changed meanwhile: {HELD}",
        "'git claim show 42' shows the claim as it is now",
    ),
    (
        Answer(ITEM, Outcome.HELD, Reason.CHANGED_MEANWHILE),
        "changed meanwhile: issue 'acme/ledger#42' is not claimed",
        "'git claim show 42' shows the claim as it is now",
    ),
    (
        Answer(ITEM, Outcome.NOT_YOURS, Reason.NOT_CLAIMED),
        "issue 'acme/ledger#42' is not claimed",
        "'git claim 42' asks for it",
    ),
    (
        Answer(ITEM, Outcome.REFUSED, Reason.NO_ATOMIC),
        "the remote cannot change several refs as one, so issue 'acme/ledger#42' was left as it was",
        "claim the items one by one",
    ),
    (
        Answer(ITEM, Outcome.UNKNOWN, Reason.CANNOT_TELL, detail="no answer before the deadline"),
        "cannot tell what became of issue 'acme/ledger#42': no answer before the deadline",
        "repeating the command is safe; a claim that was won is found again by its chain",
    ),
    (
        Answer(ITEM, Outcome.REFUSED, Reason.HOST_REFUSED, detail="[remote rejected] (hook declined)"),
        "the remote refused to change the claim of issue 'acme/ledger#42': [remote rejected] (hook declined)",
        "'git claim doctor' looks for the rule or lock behind it",
    ),
]


@pytest.mark.parametrize(("answer", "sentence"), SUCCESSES, ids=[sentence for _, sentence in SUCCESSES])
def test_success_is_one_line(answer: Answer, sentence: str) -> None:
    assert words.success(answer, REPO, NOW) == sentence


@pytest.mark.parametrize(("answer", "error", "hint"), REFUSALS, ids=[error for _, error, _ in REFUSALS])
def test_refusal_says_why_and_what_is_safe_to_do(answer: Answer, error: str, hint: str) -> None:
    assert words.refusal(answer, REPO, NOW) == (error, hint)


def test_pull_request_and_key_are_called_what_they_are() -> None:
    assert words.holding(item("pr-17"), REPO, None, NOW) == "pull request 'acme/ledger#pr-17' is not claimed"
    assert words.holding(item("proj-1"), REPO, None, NOW) == "issue 'acme/ledger#PROJ-1' is not claimed"


TIMES = [
    ("today", "2026-11-30T13:06:00Z", " since 13:06 (2 h)"),
    ("a second ago", "2026-11-30T15:12:00Z", " since 15:12 (now)"),
    ("yesterday", "2026-11-29T23:00:00Z", " since 2026-11-29 23:00 (16 h)"),
    ("another clock", "2026-11-30T18:00:00Z", " since 18:00 (from the future)"),
    ("none", None, ""),
    ("nonsense", "soon", ""),
]


@pytest.mark.parametrize(("claimed_at", "said"), [case[1:] for case in TIMES], ids=[case[0] for case in TIMES])
def test_time_of_a_claim_is_said_for_people(claimed_at: str | None, said: str) -> None:
    assert words.since(claimed_at, NOW) == said


def test_time_of_a_claim_is_said_in_the_zone_of_whoever_reads() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=10)))
    assert words.since("2026-11-30T13:06:00Z", there) == " since 2026-11-30 23:06 (2 h)"


hostile = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["\x1b]0;x\a", "a\nb", "\u202eb", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59"]
)
records = st.builds(
    lambda chain, host, time: Claim(issue="42", chain=ChainId(chain), host=host, claimed_at=time),
    *(hostile, hostile, hostile),
)
sights = st.builds(lambda claim: Seen(Oid("b" * 40), claim), records) | st.builds(
    lambda trouble: Seen(Oid("b" * 40), None, trouble), hostile
)


@given(st.sampled_from(Outcome), st.sampled_from(Reason), sights, hostile, st.integers(-12, 14))
@example(Outcome.HELD, Reason.HELD, Seen(Oid("b" * 40), replace(CLAIM, claimed_at="9999-12-31T23:59:59Z")), "", 14)
def test_sentence_shows_nothing_that_a_terminal_would_obey(
    outcome: Outcome, reason: Reason, sight: Seen, detail: str, hours: int
) -> None:
    answer = Answer(ITEM, outcome, reason, sight, sight, detail)
    now = NOW.astimezone(timezone(timedelta(hours=hours)))
    said = (words.success(answer, REPO, now),) if outcome in SUCCEEDED else words.refusal(answer, REPO, now)
    assert [printable(each) for each in said] == list(said)


DESTRUCTIVE = ("--force", "reclaim", "push", "release", "delete", "rm ", "update-ref")


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("outcome", sorted(set(Outcome) - SUCCEEDED))
def test_hint_is_never_a_command_that_takes_something_from_somebody(outcome: Outcome, reason: Reason) -> None:
    _, hint = words.refusal(Answer(ITEM, outcome, reason, rival=THEIRS), REPO, NOW)
    assert hint
    assert not [word for word in DESTRUCTIVE if word in hint]
