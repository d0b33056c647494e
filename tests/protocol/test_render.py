"""Answers as JSON, tables and exit statuses: every key that scripts rely on, and what outweighs what."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.cli import render
from git_claims.cli.render import Talk
from git_claims.errors import CannotTell, Exit, NoChain, NoRemote
from git_claims.flows.change import Answer
from git_claims.flows.listing import Look, Row, rows
from git_claims.protocol.bars import Barred
from git_claims.protocol.claim import KEYS, ChainId, Claim, Oid, Seen
from git_claims.protocol.transition import Outcome, Reason
from tests.protocol.memory import item, seen, world

NOW = datetime(2026, 11, 30, 15, 6, 30, tzinfo=UTC)
ME = ChainId("chain-me")
WHOLE = Claim(
    issue="42",
    repo="acme/ledger",
    chain=ME,
    host="blade",
    claimed_at="2026-11-30T13:06:00Z",
    nonce="9f1c",
    operator="octocat",
    branch="42-fix-auth",
    worktree="/path/to/worktree",
    lead="41",
    renewed_at="2026-11-30T14:00:00Z",
    phase="review",
    previous="0" * 40,
    extra=(("ticket", "7"),),
)
MINE = Seen(Oid("a" * 40), WHOLE)
THEIRS = Seen(Oid("b" * 40), Claim(issue="42", chain=ChainId("chain-other")))
UNREADABLE = Seen(Oid("c" * 40), None, "a line of it is not key=value")


def answer(name: str, outcome: Outcome, reason: Reason = Reason.HELD) -> Answer:
    return Answer(item(name), outcome, reason)


WON, GONE = answer("1", Outcome.CLAIMED), answer("2", Outcome.GONE)
LOST, NOT_TAKEN, NOT_OURS = (
    answer("3", Outcome.HELD),
    answer("4", Outcome.NOT_TAKEN),
    answer("5", Outcome.NOT_YOURS),
)
REFUSED, UNKNOWN = answer("6", Outcome.REFUSED), answer("7", Outcome.UNKNOWN)
UNREADABLE_OURS = answer("8", Outcome.NOT_YOURS, Reason.UNREADABLE)
UNREADABLE_HELD = answer("9", Outcome.HELD, Reason.UNREADABLE)
STATUSES = [
    ("nothing to do", [], Exit.DONE),
    ("all done", [WON, GONE], Exit.DONE),
    ("one lost", [WON, LOST], Exit.NO),
    ("one left out", [NOT_TAKEN], Exit.NO),
    ("one not ours", [NOT_OURS, GONE], Exit.NO),
    ("one held by nobody knows whom", [UNREADABLE_HELD], Exit.NO),
    ("one refused by the host", [WON, LOST, REFUSED], Exit.CANNOT),
    ("one that nobody can prove to hold", [UNREADABLE_OURS, LOST], Exit.CANNOT),
    ("one unknown among all others", [WON, LOST, REFUSED, UNREADABLE_OURS, UNKNOWN], Exit.UNKNOWN),
]


@pytest.mark.parametrize(("answers", "status"), [case[1:] for case in STATUSES], ids=[case[0] for case in STATUSES])
def test_not_knowing_outweighs_a_refusal_and_that_a_plain_no(answers: list[Answer], status: Exit) -> None:
    assert render.exit_of(answers) is status
    assert render.exit_of(answers[::-1]) is status


def test_next_commands_are_safe_and_complete() -> None:
    assert render.following([WON, LOST, REFUSED], ChainId("chain me")) == [
        "git claim show 1",
        "git claim show 3",
        "git claim renew 1 --chain 'chain me'",
        "git claim release 1 --chain 'chain me'",
        "git claim doctor",
    ]
    assert render.following([LOST, UNKNOWN], None) == ["git claim show 3", "git claim show 7"]
    assert render.following([GONE], ME) == []


def test_answer_in_json_has_every_key() -> None:
    barred = Barred(Reason.ASSIGNED, "ada\x1b")
    whole = Answer(item("42"), Outcome.TAKEN_OVER, Reason.FORCED, MINE, THEIRS, "why\x1b", barred, ("skipped\x1b",))
    assert render.answer_document(whole, "acme/ledger") == {
        "item": "issue-42",
        "repo": "acme/ledger",
        "outcome": "taken-over",
        "reason": "forced",
        "claim": render.seen_document(MINE),
        "rival": render.seen_document(THEIRS),
        "detail": "why",
        "bar": "ada",
        "notes": ["skipped"],
    }


def test_record_in_json_has_every_field_and_its_id_whatever_is_absent() -> None:
    expected = {key: value for key, value in WHOLE.lines() if key in KEYS}
    assert render.seen_document(MINE) == {**expected, "extra": {"ticket": "7"}, "oid": MINE.oid, "readable": True}
    sparse = render.seen_document(THEIRS)
    assert sparse is not None
    assert set(sparse) == {*KEYS, "extra", "oid", "readable"}
    assert [key for key in KEYS if sparse[key] is not None] == ["issue", "chain"]


def test_unreadable_record_in_json_says_so_and_has_its_id() -> None:
    assert render.seen_document(UNREADABLE) == {
        "oid": UNREADABLE.oid,
        "readable": False,
        "trouble": "a line of it is not key=value",
    }
    assert render.seen_document(None) is None


def test_row_in_json_has_every_key() -> None:
    row = Row(item("42"), MINE, True, item("41"))
    assert render.row_document(row, "acme/ledger", NOW) == {
        "item": "issue-42",
        "repo": "acme/ledger",
        "chain": "chain-me",
        "operator": "octocat",
        "host": "blade",
        "branch": "42-fix-auth",
        "claimed_at": "2026-11-30T13:06:00Z",
        "age_seconds": 7230,
        "mine": True,
        "oid": MINE.oid,
        "lead": "issue-41",
        "readable": True,
        "phase": "review",
        "renewed_at": "2026-11-30T14:00:00Z",
    }


def test_row_of_an_unreadable_claim_has_the_same_keys() -> None:
    readable = render.row_document(Row(item("42"), MINE, True, None), "acme/ledger", NOW)
    unreadable = render.row_document(Row(item("42"), UNREADABLE, False, None), "acme/ledger", NOW)
    assert unreadable.keys() == readable.keys()
    assert {key: value for key, value in unreadable.items() if value is not None} == {
        "item": "issue-42",
        "repo": "acme/ledger",
        "mine": False,
        "oid": UNREADABLE.oid,
        "readable": False,
    }


@pytest.mark.parametrize(
    ("state", "cached", "seconds", "source", "as_of"),
    [
        pytest.param(MINE, False, 1796051190.5, "remote", "2026-11-30T15:06:30Z", id="from the remote"),
        pytest.param(None, True, None, "cached", None, id="from a copy of unknown age"),
    ],
)
def test_look_in_json_has_every_key(
    state: Seen | None, cached: bool, seconds: float | None, source: str, as_of: str | None
) -> None:
    reason = None if state else Reason.NOT_CLAIMED
    document = render.look_document(Look(item("42"), state, cached, seconds), "acme/ledger", reason, ME)
    assert document == {
        "ok": state is not None,
        "item": "issue-42",
        "repo": "acme/ledger",
        "chain": "chain-me",
        "mine": state is not None,
        "claimed": state is not None,
        "reason": "holder" if state else "not-claimed",
        "claim": render.seen_document(state),
        "source": source,
        "as_of": as_of,
    }


def test_table_is_aligned_and_ends_where_its_text_ends() -> None:
    assert render.table(("ITEM", "WHO"), [["1", "somebody"], ["100000", ""]]) == [
        "ITEM    WHO",
        "1       somebody",
        "100000",
    ]
    assert render.table(("ITEM", "WHO"), []) == ["ITEM  WHO"]


def test_listing_shows_bundles_and_what_cannot_be_read() -> None:
    claims = world(("42", "chain-me", "41"), ("43", "chain-other")) | {item("44"): UNREADABLE}
    assert render.listing_table([[*render.listing_cells(row, NOW), ""] for row in rows(claims, ME)]) == [
        "ITEM  CHAIN        OPERATOR  HOST  BRANCH  AGE  NOTES",
        "42    chain-me     -         -     -       ?    mine, bundled with 41",
        "43    chain-other  -         -     -       ?",
        "44    -            -         -     -       ?    unreadable: a line of it is not key=value",
    ]


def test_record_is_shown_one_key_a_line_and_its_id_last() -> None:
    short = replace(MINE, claim=Claim(issue="42", chain=ME, extra=(("ti\u202ecket", "7\x1b"),)))
    assert render.record_lines(item("42"), short, "acme/ledger", NOW) == [
        "issue   42",
        "chain   chain-me",
        "ticket  7",
        "age     ?",
        f"id      {MINE.oid}",
    ]
    assert render.record_lines(item("42"), UNREADABLE, "acme/ledger", NOW) == [
        "item        acme/ledger#42",
        "unreadable  a line of it is not key=value",
        f"id          {UNREADABLE.oid}",
    ]


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(texts, texts, st.dictionaries(texts, texts, max_size=3))
def test_no_view_of_a_record_shows_what_a_terminal_would_obey(chain: str, branch: str, extra: dict[str, str]) -> None:
    state = Seen(Oid("a" * 40), Claim(issue="42", chain=ChainId(chain), branch=branch, extra=tuple(extra.items())))
    shown = render.listing_cells(Row(item("42"), state, False, None), NOW)
    shown += render.record_lines(item("42"), state, "acme/ledger", NOW)
    assert all(line.isprintable() or not set(line) & {"\x1b", "\n", "\r", "\x9b", "\u202e"} for line in shown)
    assert "\\u001b" not in json.dumps(render.seen_document(state))


# The two streams


def test_json_is_one_document_also_when_the_answer_is_no(capsys: pytest.CaptureFixture[str]) -> None:
    status = Talk(as_json=True, quiet=False).answers(
        [replace(LOST, rival=seen("3", "chain-other"))], "acme/ledger", ME, NOW
    )
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert (status, document["ok"], document["next"]) == (Exit.NO, False, ["git claim show 3"])
    assert [each["outcome"] for each in document["items"]] == ["held"]
    assert printed.err.startswith("error: issue 'acme/ledger#3' is claimed by 'chain-other'\nhint: ")


def test_hints_that_several_items_share_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    refused = [replace(REFUSED, item=item(name), reason=Reason.HOST_REFUSED) for name in ("1", "2")]
    Talk(as_json=False, quiet=False).answers(refused, "acme/ledger", ME, NOW)
    assert capsys.readouterr().err.count("hint: ") == 1


def test_silence_leaves_errors_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    Talk(as_json=False, quiet=True).answers([WON, replace(LOST, rival=THEIRS)], "acme/ledger", ME, NOW)
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)


FAILURES = [
    (NoChain("no chain is in force here", "say it"), "error", "no-chain"),
    (CannotTell("no answer"), "error", "cannot-tell"),
    (NoRemote("no remote"), "fatal", "no-remote"),
]


@pytest.mark.parametrize(("error", "word", "reason"), FAILURES, ids=[case[2] for case in FAILURES])
def test_foreseen_end_is_said_in_both_forms(
    error: NoChain, word: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Talk(as_json=True, quiet=False).failure(error)
    printed = capsys.readouterr()
    assert printed.err.startswith(f"{word}: {error.message}\n")
    assert json.loads(printed.out) == {
        "ok": False,
        "items": [],
        "reason": reason,
        "error": error.message,
        "hint": error.hint,
        "next": [],
    }


# Not only "\x1b[": click takes those out by itself where no terminal is, which a test never has.
STEERING = "\x1b]0;title\a \r \x9b2J \u202e"


def test_no_line_that_carries_what_somebody_wrote_steers_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    talk = Talk(as_json=False, quiet=False)
    talk.failure(CannotTell(f"it said {STEERING}", f"look at {STEERING}"))
    for tell in (talk.data, talk.result, talk.say, talk.warn):
        tell(f"there is {STEERING}")
    printed = capsys.readouterr()
    assert all(line.isprintable() for line in (printed.out + printed.err).split("\n"))
    assert (printed.out.count("\n"), printed.err.count("\n")) == (2, 4)


def test_json_keeps_to_itself_what_somebody_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    Talk(as_json=True, quiet=False).failure(CannotTell(f"it said {STEERING}"))
    assert capsys.readouterr().out.replace("\n", "").isprintable()
