"""Servers that say no, hands that meddle, command lines with holes: each ends in the right answer, none in a guess."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.forked import ForkedAgent
from tests.places import ABSENT, CLAIMS, Server, make_server
from tests.scenarios.conftest import MakeForked
from tests.scenarios.oracle import chain_in, history, holders, told

FORTY_TWO = "refs/claims/issue-42"
TAKE = ("take", "42", "--json")
SAYS_NO: dict[str, tuple[Callable[[Server], None], str]] = {
    "a lock that a dead process left": (lambda server: server.stuck_lock("issue-42"), "issue-42.lock': File exists"),
    "a hook": (lambda server: server.policy_refuses(), "hook declined"),
    "a namespace that is hidden": (lambda server: server.hide("receive"), "deny updating a hidden ref"),
}


@pytest.mark.parametrize("which", SAYS_NO)
def test_server_that_says_no_is_quoted_and_nobody_has_the_item(server: Server, runner: ForkedAgent, which: str) -> None:
    say_no, words = SAYS_NO[which]
    say_no(server)
    answer = runner.claim(*TAKE)
    assert (answer.status, told(answer), told(answer, "reason")) == (
        128,
        {"issue-42": "refused"},
        {"issue-42": "host-refused"},
    ), answer
    assert words in answer.stderr
    assert (server.refs(), runner.clone.refs()) == ({}, {})
    server.calm()
    assert told(runner.claim(*TAKE, check=0)) == {"issue-42": "claimed"}


@pytest.mark.parametrize(
    "command",
    ["release 42", "renew 42", "hand-off 42 --to chain-next", "take 42 --branch 42-fix"],
)
@pytest.mark.parametrize("which", SAYS_NO)
def test_holder_whom_the_server_refuses_is_still_the_holder(
    server: Server, runner: ForkedAgent, command: str, which: str
) -> None:
    runner.claim("take", "42", check=0)
    before = server.refs()
    SAYS_NO[which][0](server)
    answer = runner.claim(*command.split(), "--json")
    assert (answer.status, told(answer)) == (128, {"issue-42": "refused"}), answer
    assert (server.refs(), runner.clone.refs()) == (before, before)
    server.calm()
    assert runner.claim("check", "42").status == 0


def test_server_that_denies_deletes_keeps_the_claim_and_says_so(server: Server, runner: ForkedAgent) -> None:
    runner.claim("take", "42", "--bundle", "43", check=0)
    before = server.refs()
    server.deny_deletes_hook()
    answer = runner.claim("release", "42", "--json")
    assert (answer.status, set(told(answer).values())) == (128, {"refused"}), answer
    assert "deletes are refused here" in answer.stderr
    assert server.refs() == before


def test_items_that_the_server_allows_are_claimed_beside_one_that_it_refuses(
    server: Server, runner: ForkedAgent
) -> None:
    server.policy_refuses(FORTY_TWO)
    answer = runner.claim("take", "41", "42", "43", "--json")
    assert told(answer) == {"issue-41": "claimed", "issue-42": "refused", "issue-43": "claimed"}
    assert answer.status == 128
    assert set(holders(server)) == {"issue-41", "issue-43"}


@pytest.mark.parametrize("words", [("42", "43", "--all-or-nothing"), ("42", "--bundle", "43")], ids=" ".join)
def test_all_or_nothing_needs_a_server_that_can(server: Server, runner: ForkedAgent, words: Sequence[str]) -> None:
    server.no_atomic()
    answer = runner.claim("take", *words, "--json")
    assert (answer.status, set(told(answer, "reason").values())) == (128, {"no-atomic"}), answer
    assert server.refs() == {}
    assert runner.claim("take", "42", "43").status == 0


def test_refs_hidden_from_readers_never_make_two_holders(server: Server, make_forked: MakeForked) -> None:
    first, second = make_forked(), make_forked()
    server.hide("upload")
    assert told(first.claim(*TAKE, check=0)) == {"issue-42": "claimed"}
    answer = second.claim(*TAKE)
    assert (answer.status, told(answer)) == (128, {"issue-42": "refused"}), answer
    assert holders(server) == {"issue-42": first.chain}


@pytest.mark.parametrize("command", ["take 42", "release 42", "ls", "check 42"])
def test_two_push_urls_are_two_servers_and_neither_is_asked(server: Server, runner: ForkedAgent, command: str) -> None:
    other = make_server(server.path.parent, "other.git")
    for url in (server.url, other.url):
        runner.clone.git("remote", "set-url", "--add", "--push", "origin", url)
    answer = runner.claim(*command.split())
    assert (answer.status, "has 2 push URLs" in answer.stderr) == (128, True), answer
    assert (server.refs(), other.refs()) == ({}, {})


# Moved between what was seen and what was pushed


@pytest.mark.parametrize(
    "command", ["release 42", "renew 42", "hand-off 42 --to chain-next", "take 42 --branch 42-fix"]
)
def test_holder_whose_claim_moves_in_the_gap_is_told_of_the_rival(
    server: Server, runner: ForkedAgent, command: str
) -> None:
    runner.claim("take", "42", check=0)
    server.rival_in_the_gap("issue-42", "chain-rival")
    answer = runner.claim(*command.split(), "--json")
    assert (answer.status, told(answer, "rival", "chain")) == (1, {"issue-42": "chain-rival"}), answer
    assert len(history(server, "issue-42")) == 2
    assert holders(server) == {"issue-42": "chain-rival"}


@pytest.mark.parametrize(
    "command", ["take 42", "take 42 --force --reason late", "reclaim 42", "adopt 42 --from chain-gone"]
)
def test_others_claim_that_moves_in_the_gap_stays_the_rivals(server: Server, runner: ForkedAgent, command: str) -> None:
    if command != "take 42":
        server.plant_claim("issue-42", "chain-gone")
    (runner.clone.path / ".claims.toml").write_text('take.force = "allow"\n')
    runner.clone.config("claim.allowReclaimWithoutTerminal", "true")
    server.rival_in_the_gap("issue-42", "chain-rival")
    answer = runner.claim(*command.split(), "--json")
    assert (answer.status, told(answer, "rival", "chain")) == (1, {"issue-42": "chain-rival"}), answer
    assert holders(server) == {"issue-42": "chain-rival"}


def test_one_item_that_moves_in_the_gap_takes_all_or_nothing_along(server: Server, runner: ForkedAgent) -> None:
    server.rival_in_the_gap("issue-43", "chain-rival")
    answer = runner.claim("take", "42", "43", "44", "--all-or-nothing", "--json")
    assert told(answer) == {"issue-42": "not-taken", "issue-43": "held", "issue-44": "not-taken"}
    assert (answer.status, holders(server)) == (1, {"issue-43": "chain-rival"})


def test_items_beside_one_that_moves_in_the_gap_are_claimed(server: Server, runner: ForkedAgent) -> None:
    server.rival_in_the_gap("issue-43", "chain-rival")
    answer = runner.claim("take", "42", "43", "44", "--json")
    assert told(answer) == {"issue-42": "claimed", "issue-43": "held", "issue-44": "claimed"}
    assert holders(server) == {"issue-42": runner.chain, "issue-43": "chain-rival", "issue-44": runner.chain}


# Objects pushed by hand


def test_own_claim_pushed_again_by_hand_changes_nothing(server: Server, runner: ForkedAgent) -> None:
    runner.claim("take", "42", check=0)
    runner.clone.git("push", "--quiet", "origin", f"{FORTY_TWO}:{FORTY_TWO}")
    assert told(runner.claim(*TAKE, check=0)) == {"issue-42": "already-yours"}
    assert len(history(server, "issue-42")) == 1


def test_released_claim_brought_back_by_hand_is_its_holders_again(server: Server, make_forked: MakeForked) -> None:
    holder, other = make_forked(), make_forked()
    holder.claim("take", "42", check=0)
    oid = server.refs()[FORTY_TWO]
    holder.claim("release", "42", check=0)
    other.clone.git("fetch", "--quiet", "origin", oid)
    other.clone.git("push", "--quiet", "origin", f"{oid}:{FORTY_TWO}")
    assert told(other.claim(*TAKE)) == {"issue-42": "held"}
    assert told(holder.claim(*TAKE, check=0)) == {"issue-42": "already-yours"}


def test_two_servers_of_one_object_are_not_two_wins(server: Server, make_forked: MakeForked) -> None:
    # Whoever copies the winner's object and pushes it is told "up to date" by git, and yet holds nothing.
    winner, copier = make_forked(), make_forked()
    winner.claim("take", "42", check=0)
    copier.clone.git("fetch", "--quiet", "origin", f"{FORTY_TWO}:{FORTY_TWO}")
    copier.clone.git("push", "--quiet", "origin", f"{FORTY_TWO}:{FORTY_TWO}")
    assert told(copier.claim(*TAKE), "rival", "chain") == {"issue-42": winner.chain}
    assert copier.claim("check", "42").status == 1


def test_claim_copied_under_another_item_is_nobodys_and_not_free(server: Server, runner: ForkedAgent) -> None:
    runner.claim("take", "42", check=0)
    server.plant(f"{CLAIMS}issue-43", server.refs()[FORTY_TWO])
    answer = runner.claim("take", "43", "--json")
    assert (answer.status, told(answer), told(answer, "reason")) == (
        1,
        {"issue-43": "held"},
        {"issue-43": "unreadable"},
    )
    assert runner.claim("release", "43").status == 128
    assert len(server.refs()) == 2


# Holes where a variable was empty


@pytest.mark.parametrize(
    "words",
    [
        ("take", ""),
        ("",),
        ("release", ""),
        ("release", "42", ""),
        ("take", "42", "--bundle", ""),
        ("hand-off", "42", "--to", ""),
        ("adopt", "42", "--from", ""),
        ("release", "42", "--chain", ""),
        ("reclaim", ""),
        ("check", ""),
        ("show", ""),
    ],
    ids=" ".join,
)
def test_empty_word_is_a_wrong_command_line_that_changes_nothing(
    server: Server, runner: ForkedAgent, words: Sequence[str]
) -> None:
    runner.claim("take", "42", check=0)
    before = server.refs()
    answer = runner.claim(*words)
    assert answer.status == 2, answer
    assert server.refs() == before


def test_empty_chain_variable_is_no_chain(server: Server, runner: ForkedAgent) -> None:
    runner.chain = ""
    answer = runner.claim("take", "42", check=0)
    minted = chain_in(server.claim_text("issue-42"))
    assert minted.startswith("chain-") and minted in answer.stderr
    assert runner.claim("release", "42").status == 1
    assert ABSENT not in history(server, "issue-42")
