"""From what was seen to what the server says: guesses, groups, and states that move under us."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.flows.change import Answer, change
from git_claims.protocol import transition
from git_claims.protocol.claim import ChainId, Seen
from git_claims.protocol.item import Item
from git_claims.protocol.settlement import Withheld
from git_claims.protocol.transition import Decision, Outcome, Reason, Swap
from tests.protocol.memory import Memory, asker, item, planted, removed, seen, states

ONE, TWO, THREE = item("1"), item("2"), item("3")
ME = ChainId("chain-me")
Decide = Callable[[Item, Seen | None], Decision]


def taking() -> Decide:
    who = asker()
    return lambda each, state: transition.take(each, state, who)


def renewing() -> Decide:
    who = asker()
    return lambda each, state: transition.renew(each, state, who)


def releasing(each: Item, state: Seen | None) -> Decision:
    return transition.release(each, state, ME)


def outcomes(answers: list[Answer]) -> dict[str, str]:
    return {answer.item.name: str(answer.outcome) for answer in answers}


def test_right_guess_is_one_push_and_no_read() -> None:
    memory = Memory()
    answers = change(memory.store, [ONE, TWO], taking(), seen={ONE: None, TWO: None}, is_guess=True)
    assert outcomes(answers) == {"issue-1": "claimed", "issue-2": "claimed"}
    assert (memory.reads, memory.pushes) == ([], [[ONE, TWO]])
    assert memory.chains() == {"issue-1": ME, "issue-2": ME}


def test_wrong_guess_is_decided_again_on_what_the_server_showed() -> None:
    rival = seen("1", "chain-other")
    memory = Memory({ONE: rival})
    (answer,) = change(memory.store, [ONE], taking(), seen={ONE: None}, is_guess=True)
    assert (answer.outcome, answer.reason, answer.rival) == (Outcome.HELD, Reason.HELD, rival)
    assert memory.claims == {ONE: rival}


def test_wrong_guess_of_a_claim_of_ours_is_answered_as_ours() -> None:
    mine = seen("1", ME)
    (answer,) = change(Memory({ONE: mine}).store, [ONE], taking(), seen={ONE: None}, is_guess=True)
    assert (answer.outcome, answer.claim) == (Outcome.ALREADY_YOURS, mine)


@pytest.mark.parametrize(
    "copy", [{}, {ONE: seen("1", "chain-other")}], ids=["the copy has none", "the copy shows another holder"]
)
def test_guess_is_never_the_ground_of_an_answer(copy: dict[Item, Seen]) -> None:
    memory = Memory({ONE: seen("1", ME)}, copy)
    (answer,) = change(memory.store, [ONE], renewing(), seen=states(copy, [ONE]), is_guess=True)
    assert (answer.outcome, memory.reads) == (Outcome.RENEWED, [[ONE]])


def test_only_the_items_a_guess_would_answer_are_read() -> None:
    mine, old = seen("1", ME), seen("2", ME)
    memory = Memory({ONE: mine, TWO: old}, {ONE: mine})
    change(memory.store, [ONE, TWO], renewing(), seen=states(memory.copy, [ONE, TWO]), is_guess=True)
    assert memory.reads == [[TWO]]


def test_what_was_really_seen_is_answered_without_another_read() -> None:
    memory = Memory({ONE: seen("1", "chain-other")})
    (answer,) = change(memory.store, [ONE], taking(), seen=states(memory.claims, [ONE]))
    assert (answer.outcome, memory.reads, memory.pushes) == (Outcome.HELD, [], [])


def test_each_item_stands_on_its_own_merit_and_answers_come_in_the_order_asked() -> None:
    memory = Memory({TWO: seen("2", "chain-other")})
    answers = change(memory.store, [THREE, TWO, ONE], taking(), seen=dict.fromkeys([ONE, TWO, THREE]), is_guess=True)
    assert list(outcomes(answers).items()) == [("issue-3", "claimed"), ("issue-2", "held"), ("issue-1", "claimed")]


def take_together(memory: Memory, *items: Item) -> list[Answer]:
    guess = dict.fromkeys(items)
    return change(memory.store, items, taking(), seen=guess, is_guess=True, atomic=True, together=True)


def test_together_one_that_is_held_leaves_all_others_free() -> None:
    rival = seen("2", "chain-other")
    memory = Memory({TWO: rival})
    answers = take_together(memory, ONE, TWO, THREE)
    assert outcomes(answers) == {"issue-1": "not-taken", "issue-2": "held", "issue-3": "not-taken"}
    assert {answer.reason for answer in answers if answer.item != TWO} == {Reason.ALL_OR_NOTHING}
    assert memory.claims == {TWO: rival}


def test_together_one_that_is_ours_already_holds_nobody_up() -> None:
    memory = Memory({TWO: seen("2", ME)})
    answers = take_together(memory, ONE, TWO, THREE)
    assert outcomes(answers) == {"issue-1": "claimed", "issue-2": "already-yours", "issue-3": "claimed"}
    assert memory.chains() == {"issue-1": ME, "issue-2": ME, "issue-3": ME}


def test_together_a_rival_in_the_second_gap_still_leaves_all_others_free() -> None:
    memory = Memory({TWO: seen("2", ME)}, gap=[removed("9"), planted(issue_3=seen("3", "chain-other"))])
    answers = take_together(memory, ONE, TWO, THREE)
    assert outcomes(answers) == {"issue-1": "not-taken", "issue-2": "already-yours", "issue-3": "held"}
    assert memory.chains() == {"issue-2": ME, "issue-3": "chain-other"}


def test_atomic_release_goes_on_without_the_sibling_that_somebody_took_over() -> None:
    memory = Memory({ONE: seen("1", ME), TWO: seen("2", ME)})
    before = states(memory.claims, [ONE, TWO])
    memory.gap.append(planted(issue_2=seen("2", "chain-other")))
    answers = change(memory.store, [ONE, TWO], releasing, seen=before, atomic=True)
    assert outcomes(answers) == {"issue-1": "released", "issue-2": "not-yours"}
    assert memory.chains() == {"issue-2": "chain-other"}


def test_release_of_what_somebody_freed_meanwhile_says_so() -> None:
    memory = Memory({ONE: seen("1", ME)}, gap=[removed("1")])
    (answer,) = change(memory.store, [ONE], releasing, seen=states(memory.claims, [ONE]))
    assert (answer.outcome, answer.reason, answer.succeeded) == (Outcome.GONE, Reason.NOT_CLAIMED, True)


def test_item_that_changes_under_every_push_is_given_up_after_five() -> None:
    def replace_whatever_is_there(each: Item, state: Seen | None) -> Decision:
        fresh = transition.take(each, None, asker())
        assert isinstance(fresh, Swap)
        return Swap(each, state, fresh.new, Outcome.TAKEN_OVER, Reason.FORCED)

    rivals = [seen("1", f"chain-{number}") for number in range(20)]
    memory = Memory(gap=[planted(issue_1=rival) for rival in rivals])
    (answer,) = change(memory.store, [ONE], replace_whatever_is_there, seen={ONE: None})
    assert (answer.outcome, answer.reason, answer.rival) == (Outcome.HELD, Reason.CHANGED_MEANWHILE, rivals[4])
    assert (len(memory.pushes), memory.claims) == (5, {ONE: rivals[4]})


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [(Withheld("by policy"), Reason.HOST_REFUSED), (Withheld("no", lacks_atomic=True), Reason.NO_ATOMIC)],
)
def test_refusal_of_the_host_is_one_and_not_a_loss(refusal: Withheld, reason: Reason) -> None:
    mine = seen("1", ME)
    memory = Memory({ONE: mine}, refuses={ONE: refusal})
    (answer,) = change(memory.store, [ONE], releasing, seen={ONE: mine})
    assert (answer.outcome, answer.reason, answer.detail) == (Outcome.REFUSED, reason, refusal.why)
    assert not answer.succeeded


def test_silence_is_unknown_and_pushed_once() -> None:
    memory = Memory(silent=True)
    (answer,) = change(memory.store, [ONE], taking(), seen={ONE: None}, is_guess=True)
    assert (answer.outcome, answer.reason, answer.detail) == (Outcome.UNKNOWN, Reason.CANNOT_TELL, "no answer")
    assert len(memory.pushes) == 1


def test_answer_shows_whom_a_claim_was_taken_from() -> None:
    rival = seen("1", "chain-other")
    memory = Memory({ONE: rival})
    who = asker()
    (answer,) = change(
        memory.store, [ONE], lambda each, state: transition.take_over(each, state, who, rival.oid), seen={ONE: rival}
    )
    assert (answer.outcome, answer.rival, answer.claim) == (Outcome.TAKEN_OVER, rival, memory.claims[ONE])


def test_answer_shows_the_claim_that_was_released() -> None:
    mine = seen("1", ME)
    (answer,) = change(Memory({ONE: mine}).store, [ONE], releasing, seen={ONE: mine})
    assert (answer.outcome, answer.claim, answer.rival) == (Outcome.RELEASED, mine, None)


HOLDERS = [None, ME, ChainId("chain-other")]
worlds = st.fixed_dictionaries({each: st.sampled_from(HOLDERS) for each in (ONE, TWO, THREE)})


def settled(world: dict[Item, ChainId | None]) -> dict[Item, Seen]:
    return {each: seen(each.spelling, chain) for each, chain in world.items() if chain}


def becomes(world: dict[Item, ChainId | None]) -> Callable[[dict[Item, Seen]], object]:
    def change_all(server: dict[Item, Seen]) -> None:
        server.clear()
        server.update(settled(world))

    return change_all


@given(worlds, st.lists(worlds, max_size=7), st.booleans())
def test_take_moves_free_items_only_and_says_so_of_each_whatever_happens_before_each_push(
    start: dict[Item, ChainId | None], gaps: list[dict[Item, ChainId | None]], together: bool
) -> None:
    memory = Memory(settled(start), gap=[becomes(world) for world in gaps])
    items = [ONE, TWO, THREE]
    guess = dict.fromkeys(items)
    answers = change(memory.store, items, taking(), seen=guess, is_guess=True, atomic=together, together=together)
    won = [(answer.item, None, answer.claim) for answer in answers if answer.outcome is Outcome.CLAIMED]
    assert sorted(memory.moves, key=lambda move: move[0].order) == won
    assert not (together and won) or all(answer.succeeded for answer in answers)
    assert ([answer.item for answer in answers], len(memory.pushes) <= 5) == (items, True)


@given(worlds, worlds, st.lists(worlds, max_size=7), st.booleans())
def test_release_removes_what_the_chain_held_at_that_moment_and_nothing_else(
    copied: dict[Item, ChainId | None],
    start: dict[Item, ChainId | None],
    gaps: list[dict[Item, ChainId | None]],
    atomic: bool,
) -> None:
    memory = Memory(settled(start), settled(copied), [becomes(world) for world in gaps])
    items = [ONE, TWO, THREE]
    guess = states(memory.copy, items)
    answers = change(memory.store, items, releasing, seen=guess, is_guess=True, atomic=atomic)
    given_up = [(answer.item, answer.claim, None) for answer in answers if answer.outcome is Outcome.RELEASED]
    assert sorted(memory.moves, key=lambda move: move[0].order) == given_up
    assert all(old is not None and old.is_held_by(ME) for _, old, _ in memory.moves)
