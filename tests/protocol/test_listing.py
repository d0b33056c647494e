"""How claims are ordered, which belong together, and why a chain does not hold one."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.flows.listing import Look, lead_of, rows, why_not
from git_claims.flows.release import with_bundles
from git_claims.protocol.claim import ChainId, Oid, Seen
from git_claims.protocol.item import Item
from git_claims.protocol.transition import Reason
from tests.protocol.memory import item, seen, world

ME, OTHER = ChainId("chain-me"), ChainId("chain-other")
UNREADABLE = Seen(Oid("e" * 40), None, "it names no chain")


def names(claims: dict[Item, Seen]) -> list[str]:
    return [row.item.spelling for row in rows(claims, None)]


def test_claims_are_listed_by_number_and_keyed_ones_after_them() -> None:
    claims = world(("PROJ-2", "a"), ("10", "a"), ("pr-9", "a"), ("9", "a"), ("PROJ-10", "a"))
    assert names(claims) == ["9", "pr-9", "10", "PROJ-2", "PROJ-10"]


def test_bundle_stands_together_below_its_lead() -> None:
    claims = world(("50", "a"), ("43", "a"), ("2", "a", "42"), ("42", "a"), ("99", "a", "42"))
    assert names(claims) == ["42", "2", "99", "43", "50"]


def test_siblings_whose_lead_is_gone_still_stand_together() -> None:
    claims = world(("50", "a", "42"), ("2", "a", "42"), ("43", "a"), ("41", "a"))
    assert names(claims) == ["41", "2", "50", "43"]


@pytest.mark.parametrize("lead", ["41", "#41", "issue-41", "041", "https://github.com/acme/ledger/issues/41"])
def test_lead_is_understood_in_every_spelling(lead: str) -> None:
    claims = world(("41", "chain-me"), ("42", "chain-me", lead))
    assert lead_of(claims[item("42")]) == item("41")
    assert with_bundles([item("41")], claims, ME) == [item("41"), item("42")]


@pytest.mark.parametrize("lead", ["", "-41", "nonsense", "\u202e41"])
def test_lead_that_names_no_item_is_none(lead: str) -> None:
    claims = world(("42", "chain-me", lead))
    assert lead_of(claims[item("42")]) is None
    assert names(claims) == ["42"]


def test_unreadable_claim_is_listed_and_nobodys() -> None:
    (row,) = rows({item("42"): UNREADABLE}, ME)
    assert (row.seen, row.mine, row.lead) == (UNREADABLE, False, None)


def test_without_a_chain_nothing_is_mine() -> None:
    claims = world(("1", "chain-me"), ("2", "chain-other"))
    assert [row.mine for row in rows(claims, None)] == [False, False]
    assert [row.mine for row in rows(claims, ME)] == [True, False]


spellings = st.one_of(st.integers(1, 60).map(str), st.integers(1, 5).map(lambda number: f"PROJ-{number}"))
listings = st.dictionaries(spellings, st.tuples(st.sampled_from(["a", "b"]), st.none() | spellings), max_size=12)


@given(listings)
def test_every_claim_is_listed_once_and_every_bundle_in_one_piece(claims: dict[str, tuple[str, str | None]]) -> None:
    listed = rows({item(key): seen(key, chain, lead) for key, (chain, lead) in claims.items()}, None)
    assert sorted(row.item.spelling for row in listed) == sorted(claims)
    bundles = [name for name, _ in groupby((row.lead or row.item).name for row in listed)]
    assert len(bundles) == len(set(bundles))


@pytest.mark.parametrize(
    ("state", "chain", "reason"),
    [
        pytest.param(None, ME, Reason.NOT_CLAIMED, id="nobody holds it"),
        pytest.param(UNREADABLE, ME, Reason.UNREADABLE, id="its record cannot be read"),
        pytest.param(seen("42", OTHER), ME, Reason.HELD, id="another holds it"),
        pytest.param(seen("42", ME), None, Reason.HELD, id="nobody said which chain asks"),
        pytest.param(seen("42", ME), ME, None, id="it is ours"),
    ],
)
def test_why_a_chain_does_not_hold_an_item(state: Seen | None, chain: ChainId | None, reason: Reason | None) -> None:
    assert why_not(Look(item("42"), state, False, None), chain) is reason
