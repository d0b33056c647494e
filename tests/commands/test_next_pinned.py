"""`git claim next --pin`: the one a person means, and what has to be said before it is taken all the same."""

from __future__ import annotations

import pytest

from tests.agents import at_terminal
from tests.commands.telling import DESTRUCTIVE, holders, plant
from tests.forked import ForkedAgent
from tests.github_double import GitHub


@pytest.mark.parametrize(
    "pin",
    [
        *("5", "#5", "issue-5", "acme/ledger#5", "ledger#5", "clone#5", "https://github.com/acme/ledger/issues/5"),
        *("Fix the login", "fix THE login", "login"),
    ],
)
def test_pin_finds_it_by_number_name_address_and_title(
    pin: str, github: GitHub, octo: ForkedAgent, queue: None
) -> None:
    answer = octo.claim("next", "--pin", pin, check=0)
    assert (answer.stdout, answer.stderr) == ("acme/ledger#5\n", "Fix the login\n")
    taken = octo.claim("next", "--take", "--pin", pin, check=0)
    assert holders(github.server) == {"issue-5": "chain-octo"} and "acme/ledger#5: Fix the login\n" in taken.stderr


def test_pin_that_is_only_like_a_title_is_listed_and_not_taken(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    assert octo.claim("next", "--pin", "Fix teh login", check=0).stdout == "acme/ledger#5\n"
    answer = octo.claim("next", "--take", "--pin", "Fix teh login")
    assert answer.status == 1 and answer.stderr == (
        "acme/ledger#5: Fix the login\n"
        "error: 'Fix teh login' is only like acme/ledger#5 'Fix the login'\n"
        "hint: say that it is meant: --pin acme/ledger#5\n"
    )
    assert holders(github.server) == {}


@pytest.mark.parametrize(("typed", "taken"), [("yes\n", {"issue-5"}), ("no\n", set[str]())])
def test_person_says_whether_a_title_that_is_only_alike_is_meant(
    typed: str, taken: set[str], github: GitHub, octo: ForkedAgent, queue: None
) -> None:
    answer = at_terminal(octo, "next", "--take", "--pin", "Fix teh login", answers=typed)
    assert "Take acme/ledger#5 'Fix the login'? Type yes: " in answer.stderr, answer
    assert set(holders(github.server)) == taken


def test_pin_that_fits_several_lists_them_and_takes_none(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    answer = octo.claim("next", "--take", "--pin", "the schema")
    assert answer.status == 1 and answer.stderr == (
        "error: 'the schema' fits several: acme/ledger#2 'Draw the schema'; acme/ledger#3 'Load the schema'\n"
        "hint: name the one that is meant, as in '--pin acme/ledger#2'\n"
    )
    assert holders(github.server) == {}


@pytest.mark.parametrize(
    ("pin", "said"),
    [
        ("99", "acme/ledger#99: there is no such issue"),
        ("7", "acme/ledger#7 is closed"),
        ("8", "acme/ledger#8: that is a pull request"),
        ("pr-8", "'pr-8': that is a pull request"),
        ("acme/web#1", "'acme/web#1': that repository is not served here"),
        ("write a poem", "'write a poem': no open issue has a title like that"),
    ],
)
@pytest.mark.parametrize("words", [(), ("--take",)])
def test_pin_that_means_nothing_says_why(
    pin: str, said: str, words: tuple[str, ...], github: GitHub, octo: ForkedAgent, queue: None
) -> None:
    github.add_issue(7, labels=["ready", "afk"])
    github.close(7)
    github.add_pull(8, head="8-work")
    answer = octo.claim("next", *words, "--pin", pin)
    assert (answer.status, answer.stdout) == (1, "") and answer.stderr.startswith(f"error: {said}"), answer
    assert holders(github.server) == {}


def test_pin_that_is_not_ready_is_named_with_why(octo: ForkedAgent, queue: None) -> None:
    answer = octo.claim("next", "--pin", "3", "--json")
    assert (answer.status, answer.at("ok"), answer.at("item")) == (1, False, "issue-3")
    assert answer.at("reasons") == [{"code": "blocked-open", "detail": "#2"}]
    assert octo.claim("next", "--pin", "3").stderr.startswith(
        "Load the schema\nerror: acme/ledger#3 is not ready: blocked by #2"
    )


def test_blocked_pin_needs_a_yes(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    answer = octo.claim("next", "--take", "--pin", "3")
    assert answer.status == 1 and answer.stderr == (
        "acme/ledger#3: Load the schema\n"
        "warning: acme/ledger#3: blocked by #2, which is open\n"
        "error: acme/ledger#3 needs a yes, and there is no person at a terminal\n"
        "hint: --even-if-blocked says yes\n"
    )
    assert holders(github.server) == {}
    octo.claim("next", "--take", "--pin", "3", "--even-if-blocked", check=0)
    assert holders(github.server) == {"issue-3": "chain-octo"}


def test_pin_that_was_blocked_after_the_list_was_made_needs_a_yes_too(
    github: GitHub, octo: ForkedAgent, queue: None
) -> None:
    github.mood("listing-lag")
    github.issue(5).blockers = [("acme/ledger", 1)]
    answer = octo.claim("next", "--take", "--pin", "5")
    assert answer.status == 1 and "blocked by #1" in answer.stderr and holders(github.server) == {}, answer


@pytest.mark.parametrize(("typed", "status"), [("yes\n", 0), ("no\n", 1)])
def test_person_at_a_terminal_is_asked(typed: str, status: int, github: GitHub, octo: ForkedAgent, queue: None) -> None:
    answer = at_terminal(octo, "next", "--take", "--pin", "4", answers=typed)
    assert answer.status == status and "Take acme/ledger#4 all the same? Type yes: " in answer.stderr, answer
    assert set(holders(github.server)) == ({"issue-4"} if status == 0 else set())


def test_pin_that_waits_for_a_human_is_refused_without_one(github: GitHub, octo: ForkedAgent, queue: None) -> None:
    answer = octo.claim("next", "--take", "--pin", "4")
    assert answer.status == 1 and "hint: a person at a terminal takes it\n" in answer.stderr
    refused = octo.claim("next", "--take", "--pin", "4", "--even-hitl", "--json")
    assert (refused.status, refused.at("reason"), holders(github.server)) == (1, "needs-person", {})


@pytest.mark.parametrize("number", [2, 3])
def test_claim_of_somebody_else_is_not_overridden_by_a_pin(
    number: int, github: GitHub, octo: ForkedAgent, queue: None
) -> None:
    oid = plant(github.server, f"issue-{number}", "chain-ada")
    answer = octo.claim("next", "--take", "--pin", str(number), "--even-if-blocked", "--json")
    assert (answer.status, answer.at("items", 0, "outcome")) == (1, "held"), answer
    assert github.server.refs() == {f"refs/claims/issue-{number}": oid} and github.writes == []
    assert not DESTRUCTIVE.search(answer.stderr)


def test_chain_that_was_made_for_a_pin_that_is_refused_need_not_be_kept(
    github: GitHub, octo: ForkedAgent, queue: None
) -> None:
    plant(github.server, "issue-1", "chain-ada")
    octo.chain = None
    answer = octo.claim("next", "--take", "--pin", "1")
    assert answer.status == 1 and "holds nothing and need not be kept" in answer.stderr, answer


def test_pin_is_taken_although_others_frees_more_and_may_be_repeated(
    github: GitHub, octo: ForkedAgent, queue: None
) -> None:
    octo.claim("next", "--take", "--pin", "1", check=0)
    again = octo.claim("next", "--take", "--pin", "1", "--json")
    assert (again.status, again.at("items", 0, "outcome")) == (0, "already-yours"), again
    lane = octo.claim("next", "--start", "--pin", "1", check=0).stdout
    assert octo.claim("next", "--start", "--pin", "1", check=0).stdout == lane
    assert holders(github.server) == {"issue-1": "chain-octo"}
