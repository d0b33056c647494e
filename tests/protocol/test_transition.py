"""Every command on every state an item can be seen in: one swap under the right lease, or the right refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from git_claims.protocol import transition
from git_claims.protocol.claim import ChainId, Claim, Oid, Seen, decode
from git_claims.protocol.item import Item, parse
from git_claims.protocol.transition import SUCCEEDED, Asker, Decision, Outcome, Reason, Swap, Verdict

ITEM, LEAD = parse("42").item, parse("41").item
ME, OTHER, THIRD = ChainId("chain-me"), ChainId("chain-other"), ChainId("chain-third")
ASKER = Asker(
    chain=ME, nonce="new-nonce", now="2026-11-30T15:00:00Z", repo="acme/ledger", host="here", worktree="/here"
)


def claim(chain: ChainId, **fields: str) -> Claim:
    record = {
        "issue": "42",
        "repo": "acme/ledger",
        "chain": chain,
        "host": "there",
        "claimed_at": "2026-11-30T13:00:00Z",
        "nonce": "old-nonce",
        "branch": "42-fix",
        "worktree": "/there",
        "ticket": "7",
    }
    return decode("".join(f"{key}={value}\n" for key, value in (record | fields).items()).encode(), ITEM)


FREE = None
MINE = Seen(Oid("a" * 40), claim(ME))
OTHERS = Seen(Oid("b" * 40), claim(OTHER))
UNREADABLE = Seen(Oid("c" * 40), None, "it names no chain")
STATES = {"free": FREE, "mine": MINE, "other's": OTHERS, "unreadable": UNREADABLE}

Command = Callable[[Seen | None], Decision]
COMMANDS: dict[str, Command] = {
    "take": lambda seen: transition.take(ITEM, seen, ASKER),
    "take over what was shown": lambda seen: transition.take_over(ITEM, seen, ASKER, seen.oid if seen else None),
    "take over what has changed": lambda seen: transition.take_over(ITEM, seen, ASKER, Oid("d" * 40)),
    "take over what was free": lambda seen: transition.take_over(ITEM, seen, ASKER, None),
    "renew": lambda seen: transition.renew(ITEM, seen, ASKER),
    "hand off": lambda seen: transition.hand_off(ITEM, seen, ASKER, THIRD),
    "hand off to who holds it": lambda seen: transition.hand_off(ITEM, seen, ASKER, OTHER),
    "adopt from the holder": lambda seen: transition.adopt(ITEM, seen, ASKER, OTHER),
    "adopt from another": lambda seen: transition.adopt(ITEM, seen, ASKER, THIRD),
    "release": lambda seen: transition.release(ITEM, seen, ME),
    "reclaim what was shown": lambda seen: transition.reclaim(ITEM, seen, seen.oid if seen else None),
    "reclaim what has changed": lambda seen: transition.reclaim(ITEM, seen, Oid("d" * 40)),
}
Out, Why = Outcome, Reason
# An arrow is a swap; what stands alone needs no push.
TABLE: dict[str, dict[str, tuple[str, Outcome, Reason]]] = {
    "take": {
        "free": ("-> claim", Out.CLAIMED, Why.FREE),
        "mine": ("", Out.ALREADY_YOURS, Why.HOLDER),
        "other's": ("", Out.HELD, Why.HELD),
        "unreadable": ("", Out.HELD, Why.UNREADABLE),
    },
    "take over what was shown": {
        "free": ("-> claim", Out.CLAIMED, Why.FREE),
        "mine": ("", Out.ALREADY_YOURS, Why.HOLDER),
        "other's": ("-> claim", Out.TAKEN_OVER, Why.FORCED),
        "unreadable": ("-> claim", Out.TAKEN_OVER, Why.FORCED),
    },
    "take over what has changed": {
        "free": ("-> claim", Out.CLAIMED, Why.FREE),
        "mine": ("", Out.ALREADY_YOURS, Why.HOLDER),
        "other's": ("", Out.HELD, Why.CHANGED_MEANWHILE),
        "unreadable": ("", Out.HELD, Why.CHANGED_MEANWHILE),
    },
    "take over what was free": {
        "free": ("-> claim", Out.CLAIMED, Why.FREE),
        "mine": ("", Out.ALREADY_YOURS, Why.HOLDER),
        "other's": ("", Out.HELD, Why.CHANGED_MEANWHILE),
        "unreadable": ("", Out.HELD, Why.CHANGED_MEANWHILE),
    },
    "renew": {
        "free": ("", Out.NOT_YOURS, Why.NOT_CLAIMED),
        "mine": ("-> claim", Out.RENEWED, Why.HOLDER),
        "other's": ("", Out.NOT_YOURS, Why.HELD),
        "unreadable": ("", Out.NOT_YOURS, Why.UNREADABLE),
    },
    "hand off": {
        "free": ("", Out.NOT_YOURS, Why.NOT_CLAIMED),
        "mine": ("-> claim", Out.HANDED_OFF, Why.HOLDER),
        "other's": ("", Out.NOT_YOURS, Why.HELD),
        "unreadable": ("", Out.NOT_YOURS, Why.UNREADABLE),
    },
    "hand off to who holds it": {
        "free": ("", Out.NOT_YOURS, Why.NOT_CLAIMED),
        "mine": ("-> claim", Out.HANDED_OFF, Why.HOLDER),
        "other's": ("", Out.HANDED_OFF, Why.HOLDER),
        "unreadable": ("", Out.NOT_YOURS, Why.UNREADABLE),
    },
    "adopt from the holder": {
        "free": ("", Out.NOT_YOURS, Why.NOT_CLAIMED),
        "mine": ("", Out.ALREADY_YOURS, Why.HOLDER),
        "other's": ("-> claim", Out.ADOPTED, Why.HOLDER),
        "unreadable": ("", Out.NOT_YOURS, Why.UNREADABLE),
    },
    "adopt from another": {
        "free": ("", Out.NOT_YOURS, Why.NOT_CLAIMED),
        "mine": ("", Out.ALREADY_YOURS, Why.HOLDER),
        "other's": ("", Out.NOT_YOURS, Why.NOT_PREDECESSOR),
        "unreadable": ("", Out.NOT_YOURS, Why.UNREADABLE),
    },
    "release": {
        "free": ("", Out.GONE, Why.NOT_CLAIMED),
        "mine": ("-> none", Out.RELEASED, Why.HOLDER),
        "other's": ("", Out.NOT_YOURS, Why.HELD),
        "unreadable": ("", Out.NOT_YOURS, Why.UNREADABLE),
    },
    "reclaim what was shown": {
        "free": ("", Out.GONE, Why.NOT_CLAIMED),
        "mine": ("-> none", Out.RECLAIMED, Why.PERSON),
        "other's": ("-> none", Out.RECLAIMED, Why.PERSON),
        "unreadable": ("-> none", Out.RECLAIMED, Why.PERSON),
    },
    "reclaim what has changed": {
        "free": ("", Out.GONE, Why.NOT_CLAIMED),
        "mine": ("", Out.HELD, Why.CHANGED_MEANWHILE),
        "other's": ("", Out.HELD, Why.CHANGED_MEANWHILE),
        "unreadable": ("", Out.HELD, Why.CHANGED_MEANWHILE),
    },
}
CELLS = [(command, state) for command in COMMANDS for state in STATES]


def arrow(decision: Decision) -> str:
    if isinstance(decision, Verdict):
        return ""
    return "-> claim" if decision.new else "-> none"


@pytest.mark.parametrize(("command", "state"), CELLS, ids=[f"{command}, {state}" for command, state in CELLS])
def test_decision(command: str, state: str) -> None:
    decision = COMMANDS[command](STATES[state])
    assert (arrow(decision), decision.outcome, decision.reason) == TABLE[command][state]


@pytest.mark.parametrize(("command", "state"), CELLS, ids=[f"{command}, {state}" for command, state in CELLS])
def test_lease_is_what_was_seen_and_nothing_else(command: str, state: str) -> None:
    seen = STATES[state]
    decision = COMMANDS[command](seen)
    if isinstance(decision, Swap):
        assert decision.expected == seen
        assert decision.expected_oid == (seen.oid if seen else None)
    else:
        assert decision.seen == seen


@pytest.mark.parametrize(("command", "state"), CELLS, ids=[f"{command}, {state}" for command, state in CELLS])
def test_every_new_claim_has_the_nonce_of_its_command(command: str, state: str) -> None:
    decision = COMMANDS[command](STATES[state])
    if isinstance(decision, Swap) and decision.new:
        assert decision.new.nonce == "new-nonce"
        assert decision.new.previous == decision.expected_oid


def new_claim(decision: Decision) -> Claim:
    assert isinstance(decision, Swap) and decision.new is not None
    return decision.new


def test_fresh_claim_says_who_asks_and_from_where() -> None:
    asker = replace(ASKER, operator="octocat", branch="42-fix", phase="build")
    assert new_claim(transition.take(ITEM, None, asker, LEAD)) == Claim(
        issue="42",
        repo="acme/ledger",
        chain=ME,
        host="here",
        claimed_at="2026-11-30T15:00:00Z",
        nonce="new-nonce",
        operator="octocat",
        branch="42-fix",
        worktree="/here",
        lead="41",
        phase="build",
    )


@pytest.mark.parametrize("spelling", ["42", "pr-17", "PROJ-123"])
def test_record_names_its_item_as_a_person_writes_it(spelling: str) -> None:
    assert new_claim(transition.take(parse(spelling).item, None, ASKER)).issue == spelling


asking: Callable[..., Asker] = partial(replace, ASKER)
WISHES = [
    ("another branch", {"branch": "42-other"}, None),
    ("a phase", {"phase": "review"}, None),
    ("a lead", {}, LEAD),
]


@pytest.mark.parametrize(("wish", "lead"), [case[1:] for case in WISHES], ids=[case[0] for case in WISHES])
def test_take_of_ones_own_with_a_new_wish_rewrites_the_record(wish: dict[str, str], lead: Item | None) -> None:
    decision = transition.take(ITEM, MINE, asking(**wish), lead)
    assert decision.outcome is Outcome.RENEWED
    changed = {"nonce": "new-nonce", "renewed_at": ASKER.now, "previous": MINE.oid, **wish}
    assert new_claim(decision) == claim(ME, **changed, **({"lead": "41"} if lead else {}))


def test_take_of_ones_own_with_wishes_that_hold_already_pushes_nothing() -> None:
    seen = Seen(MINE.oid, claim(ME, phase="review", lead="41"))
    decision = transition.take(ITEM, seen, replace(ASKER, branch="42-fix", phase="review"), LEAD)
    assert decision == Verdict(ITEM, Outcome.ALREADY_YOURS, Reason.HOLDER, seen)


def test_take_over_starts_a_new_record_that_says_why_and_what_it_replaced() -> None:
    taken = new_claim(transition.take_over(ITEM, OTHERS, replace(ASKER, reason="its machine burnt"), OTHERS.oid))
    assert (taken.chain, taken.host, taken.previous) == (ME, "here", OTHERS.oid)
    assert (taken.branch, taken.extra) == (None, (("reason", "its machine burnt"),))
    assert taken.claimed_at == "2026-11-30T15:00:00Z"


def test_renewal_keeps_everything_but_the_nonce_and_its_time() -> None:
    renewed = new_claim(transition.renew(ITEM, MINE, ASKER))
    expected = claim(ME, nonce="new-nonce", renewed_at="2026-11-30T15:00:00Z", previous=MINE.oid)
    assert renewed == expected


def test_hand_off_makes_the_other_chain_the_holder_and_leaves_the_old_directory_behind() -> None:
    passed = new_claim(transition.hand_off(ITEM, MINE, replace(ASKER, phase="review"), THIRD))
    assert (passed.chain, passed.worktree, passed.phase) == (THIRD, None, "review")
    assert (passed.branch, passed.extra) == ("42-fix", (("ticket", "7"),))
    assert passed.claimed_at == passed.renewed_at == "2026-11-30T15:00:00Z"


def test_adoption_keeps_branch_and_phase_and_says_where_the_successor_is() -> None:
    seen = Seen(OTHERS.oid, claim(OTHER, phase="build", operator="octocat"))
    adopted = new_claim(transition.adopt(ITEM, seen, ASKER, OTHER))
    assert (adopted.chain, adopted.host, adopted.worktree) == (ME, "here", "/here")
    assert (adopted.branch, adopted.phase, adopted.operator) == ("42-fix", "build", "octocat")
    assert adopted.extra == (("ticket", "7"),)


@pytest.mark.parametrize("almost", ["chain-othe", "chain-other ", "CHAIN-OTHER", "chain-other2"])
def test_adoption_needs_the_exact_name_of_the_predecessor(almost: str) -> None:
    decision = transition.adopt(ITEM, OTHERS, ASKER, ChainId(almost))
    assert decision == Verdict(ITEM, Outcome.NOT_YOURS, Reason.NOT_PREDECESSOR, OTHERS)


def test_outcome_that_is_no_success_is_never_called_one() -> None:
    assert not SUCCEEDED & {Out.HELD, Out.NOT_TAKEN, Out.NOT_YOURS, Out.REFUSED, Out.UNKNOWN}
    assert not [outcome for outcome in SUCCEEDED if outcome.startswith("not-")]
