"""What moves along: a lead takes its bundle, and whoever was shown a claim changes that one or none."""

from __future__ import annotations

import pytest

from git_claims.flows.release import mine, reclaim, release
from git_claims.flows.take import Wanted, take, take_over
from git_claims.flows.transfer import adopt, hand_off
from git_claims.protocol.claim import ChainId, Oid, Seen
from git_claims.protocol.item import Item
from git_claims.protocol.transition import Outcome, Reason
from tests.protocol.memory import Memory, asker, item, planted, removed, seen, world

ME, OTHER = ChainId("chain-me"), ChainId("chain-other")
UNREADABLE = Seen(Oid("e" * 40), None, "it names no chain")


def test_releasing_a_lead_releases_its_bundle_in_one_push() -> None:
    memory = Memory(world(("41", ME), ("42", ME, "41"), ("43", ME, "41"), ("50", ME)))
    answers = release(memory.store, [item("41")], ME)
    assert [(answer.item.name, answer.outcome) for answer in answers] == [
        ("issue-41", Outcome.RELEASED),
        ("issue-42", Outcome.RELEASED),
        ("issue-43", Outcome.RELEASED),
    ]
    assert (memory.chains(), len(memory.pushes)) == ({"issue-50": ME}, 1)


def test_releasing_a_sibling_leaves_the_rest_of_its_bundle() -> None:
    memory = Memory(world(("41", ME), ("42", ME, "41")))
    release(memory.store, [item("42")], ME)
    assert memory.chains() == {"issue-41": ME}


def test_claim_of_another_chain_that_points_at_the_lead_is_no_part_of_its_bundle() -> None:
    memory = Memory(world(("41", ME), ("42", OTHER, "41")))
    answers = release(memory.store, [item("41")], ME)
    assert [(answer.item.name, answer.outcome) for answer in answers] == [("issue-41", Outcome.RELEASED)]
    assert memory.chains() == {"issue-42": OTHER}


def test_reclaim_of_a_lead_leaves_claims_of_others_that_point_at_it() -> None:
    memory, shown = Memory(world(("41", OTHER), ("42", OTHER, "41"), ("43", ME, "41"))), list[Item]()
    reclaim(memory.store, item("41"), lambda _item, _seen, siblings: shown.extend(siblings))
    assert (memory.chains(), shown) == ({"issue-43": ME}, [item("42")])


def test_reclaim_of_an_unreadable_claim_takes_nothing_along() -> None:
    memory = Memory(world(("42", OTHER, "41")) | {item("41"): UNREADABLE})
    reclaim(memory.store, item("41"), lambda *_: None)
    assert memory.chains() == {"issue-42": OTHER}


def test_release_of_everything_is_what_the_chain_holds_and_no_more() -> None:
    claims = world(("10", ME), ("9", ME), ("8", OTHER)) | {item("7"): UNREADABLE}
    memory = Memory(claims)
    assert mine(claims, ME) == [item("9"), item("10")]
    answers = release(memory.store, None, ME)
    assert [answer.item.name for answer in answers] == ["issue-9", "issue-10"]
    assert memory.chains() == {"issue-8": OTHER, "issue-7": None}


@pytest.mark.parametrize("way", ["hand off", "adopt"])
def test_bundle_goes_to_the_next_chain_as_a_whole(way: str) -> None:
    memory = Memory(world(("41", OTHER), ("42", OTHER, "41"), ("43", ME)))
    if way == "adopt":
        adopt(memory.store, item("41"), asker(ME), OTHER)
    else:
        hand_off(memory.store, item("41"), asker(OTHER), ME)
    assert memory.chains() == {"issue-41": ME, "issue-42": ME, "issue-43": ME}
    assert memory.pushes == [[item("41"), item("42")]]


def test_reclaim_shows_the_record_first_and_a_no_leaves_everything() -> None:
    claims = world(("41", OTHER), ("42", OTHER, "41"))
    memory, shown = Memory(dict(claims)), list[object]()

    def refuse(*what: object) -> None:
        shown.append(what)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reclaim(memory.store, item("41"), refuse)
    assert shown == [(item("41"), claims[item("41")], {item("42"): claims[item("42")]})]
    assert (memory.claims, memory.pushes) == (claims, [])


def test_reclaim_leaves_what_came_after_the_record_was_shown() -> None:
    memory = Memory(world(("41", OTHER)), gap=[planted(issue_41=seen("41", "chain-third"))])
    (answer,) = reclaim(memory.store, item("41"), lambda *_: None)
    assert (answer.outcome, answer.reason) == (Outcome.HELD, Reason.CHANGED_MEANWHILE)
    assert memory.chains() == {"issue-41": "chain-third"}


def test_take_over_leaves_what_came_after_the_record_was_shown() -> None:
    memory = Memory(world(("41", OTHER)), gap=[planted(issue_41=seen("41", "chain-third"))])
    (answer,) = take_over(memory.store, [item("41")], asker(reason="it burnt"), lambda *_: None)
    assert (answer.outcome, answer.reason) == (Outcome.HELD, Reason.CHANGED_MEANWHILE)
    assert memory.chains() == {"issue-41": "chain-third"}


def test_take_over_of_what_was_freed_meanwhile_is_a_plain_claim() -> None:
    memory = Memory(world(("41", OTHER)), gap=[removed("41")])
    (answer,) = take_over(memory.store, [item("41")], asker(), lambda *_: None)
    assert (answer.outcome, memory.chains()) == (Outcome.CLAIMED, {"issue-41": ME})


def test_bundle_is_taken_with_siblings_that_point_at_their_lead() -> None:
    memory = Memory()
    take(memory.store, Wanted((item("41"),), (item("42"), item("43"))), asker())
    leads = {each.name: state.claim.lead for each, state in memory.claims.items() if state.claim}
    assert (leads, len(memory.pushes)) == ({"issue-41": None, "issue-42": "41", "issue-43": "41"}, 1)


def test_bundle_with_a_sibling_that_is_held_is_not_taken_at_all() -> None:
    memory = Memory(world(("43", OTHER)))
    answers = take(memory.store, Wanted((item("41"),), (item("42"), item("43"))), asker())
    assert [answer.outcome for answer in answers] == [Outcome.NOT_TAKEN, Outcome.NOT_TAKEN, Outcome.HELD]
    assert memory.chains() == {"issue-43": OTHER}
