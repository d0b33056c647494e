"""A chained run, a hold and a reclaim as GitHub shows them: what is told, and what stays as it is in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import make_clone


@pytest.fixture
def octo(github: GitHub, tmp_path: Path) -> ForkedAgent:
    return ForkedAgent(make_clone(github.server, tmp_path), "chain-octo", github.environment("octo"))


@pytest.fixture
def ada(github: GitHub, tmp_path: Path) -> ForkedAgent:
    (tmp_path / "ada").mkdir()
    return ForkedAgent(make_clone(github.server, tmp_path / "ada"), "chain-ada", github.environment("ada"))


def test_a_chained_run_is_told_step_by_step_and_the_item_is_shown_as_claimed_throughout(
    github: GitHub, octo: ForkedAgent
) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.claim("take", "42", "--phase", "build", check=0)
    octo.claim("hand-off", "42", "--to", "chain-next", "--phase", "review", check=0)
    for step in ("review", "review", "land", "land"):
        octo.claim("take", "42", "--phase", step, "--chain", "chain-next", check=0)
    assert [comment.body.partition("\n")[0] for comment in issue.comments[1:]] == [
        "Completed; next step: review. Lock handed off to `chain-next`; the chain continues, label and assignee stay.",
        "Taking over at step review; lock retained.",
        "Taking over at step land; lock retained.",
    ]
    assert (issue.labels, issue.assignees) == (["in-progress"], ["octo"])
    assert not [write for write in github.writes if "removeAssignees" in str(write)]


@pytest.mark.parametrize(
    "words",
    ["take 42 --phase <step>", "hand-off 42 --to chain-b --phase <step>", "adopt 42 --from chain-b --phase <step>"],
)
def test_a_step_that_could_not_be_told_is_refused_before_the_push(
    words: str, github: GitHub, octo: ForkedAgent
) -> None:
    github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    before = octo.clone.server.refs()
    answer = octo.claim(*words.split(" "))
    assert answer.status == 2 and "placeholder '<step>'" in answer.stderr, answer
    assert octo.clone.server.refs() == before


def test_another_login_that_adopts_a_claim_is_shown_in_the_place_of_the_first(
    github: GitHub, octo: ForkedAgent, ada: ForkedAgent
) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    ada.claim("adopt", "42", "--from", "chain-octo", check=0)
    assert (issue.assignees, issue.labels) == (["ada"], ["in-progress"])
    assert "Adopting the chain lock of `chain-octo`, " in issue.comments[-1].body
    assert "old; lock retained. It was the lock of `octo`" in issue.comments[-1].body
    assert ada.claim("sync").stdout == "claims and tracker agree\n"
    ada.claim("release", "42", "--abandoned", check=0)
    assert (issue.assignees, issue.labels) == ([], ["ready"])


def test_an_adoption_that_was_never_shown_is_shown_by_sync(github: GitHub, octo: ForkedAgent, ada: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    github.mood("down", only="writes")
    answer = ada.claim("adopt", "42", "--from", "chain-octo")
    assert answer.status == 0 and "did not land" in answer.stderr, answer
    github.calm()
    ada.claim("sync", check=0)
    assert (issue.assignees, len(issue.comments)) == (["ada"], 2)
    assert issue.comments[-1].body.startswith("Taking over the lock of `octo`")
    assert "continues chain chain-octo" in issue.comments[-1].body


def test_hold_ends_our_claim_and_its_bundle_in_sight_first(github: GitHub, octo: ForkedAgent) -> None:
    lead, sibling = github.add_issue(41, labels=["ready"]), github.add_issue(42, labels=["ready"])
    octo.claim("41", "--bundle", "42", check=0)
    answer = octo.claim("hold", "41", "--reason", "design first", check=0)
    assert answer.stdout == ("acme/ledger#41 is on hold\nreleased acme/ledger#41\nreleased acme/ledger#42\n"), answer
    assert (sorted(lead.labels), lead.assignees) == (["hold", "ready"], [])
    assert (sibling.labels, sibling.assignees) == (["ready"], [])
    assert octo.clone.server.refs() == {}
    assert lead.comments[-1].body.startswith("Held by octo: design first\n\nLock released.")
    assert octo.claim("sync").stdout == "claims and tracker agree\n"


def test_hold_leaves_the_claim_of_another_alone(github: GitHub, octo: ForkedAgent, ada: ForkedAgent) -> None:
    issue = github.add_issue(42, labels=["ready"])
    ada.claim("42", check=0)
    octo.claim("hold", "42", "--reason", "design first", check=0)
    assert (sorted(issue.labels), issue.assignees) == (["hold", "in-progress"], ["ada"])
    assert list(octo.clone.server.refs()) == ["refs/claims/issue-42"]


def test_hold_that_github_does_not_take_leaves_the_claim(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    github.mood("down", only="writes")
    answer = octo.claim("hold", "42", "--reason", "design first")
    assert answer.status == 3 and "did not land" in answer.stderr, answer
    assert list(octo.clone.server.refs()) == ["refs/claims/issue-42"]


def test_reclaim_of_a_lead_takes_the_signals_of_its_bundle_too(
    github: GitHub, octo: ForkedAgent, ada: ForkedAgent
) -> None:
    lead, sibling = github.add_issue(41, labels=["ready"]), github.add_issue(42, labels=["ready"])
    octo.claim("41", "--bundle", "42", check=0)
    ada.clone.config("claim.allowReclaimWithoutTerminal", "true")
    ada.claim("reclaim", "41", check=0)
    for issue in (lead, sibling):
        assert (issue.assignees, issue.labels) == ([], ["ready"])
        assert "Lock of `octo`" in issue.comments[-1].body and "freed by ada" in issue.comments[-1].body
    assert octo.clone.server.refs() == {}


def test_labels_are_the_same_label_in_any_spelling(github: GitHub, octo: ForkedAgent) -> None:
    github.add_issue(42, labels=["ready"])
    octo.claim("42", check=0)
    github.rename_label("hold", "Hold")
    github.label(42, "Hold")
    found = octo.claim("sync")
    assert "held: label 'hold', and claimed by" in found.stdout
    assert "hint: 'git claim show 42' shows the claim and its holder" in found.stderr


@pytest.fixture
def may_force(octo: ForkedAgent, ada: ForkedAgent) -> None:
    for agent in (octo, ada):
        (agent.clone.path / ".claims.toml").write_text('take.force = "allow"\n')


def test_a_take_over_that_was_never_told_is_told_by_its_release(
    github: GitHub, octo: ForkedAgent, ada: ForkedAgent, may_force: None
) -> None:
    issue = github.add_issue(42, labels=["ready"])
    ada.claim("42", check=0)
    github.mood("down", only="writes")
    octo.claim("take", "42", "--force", "--reason", "late", check=0)
    github.calm()
    octo.claim("release", "42", "--abandoned", check=0)
    assert (issue.assignees, issue.labels) == ([], ["ready"])
    assert "It was taken from `ada`" in issue.comments[-1].body
    ada.claim("42", check=0)


def test_a_lock_on_what_another_login_holds_by_now_is_ended_by_the_sync_of_whose_it_was(
    github: GitHub, octo: ForkedAgent, ada: ForkedAgent, may_force: None
) -> None:
    issue = github.add_issue(42, labels=["ready"])
    ada.claim("42", check=0)
    github.mood("down", only="writes")
    octo.claim("take", "42", "--force", "--reason", "late", "--chain", "chain-1", check=0)
    github.calm()
    octo.claim("take", "42", "--force", "--reason", "later", check=0)
    assert sorted(issue.assignees) == ["ada", "octo"]
    ada.claim("sync", check=0)
    assert (issue.assignees, issue.labels) == (["octo"], ["in-progress"])
    assert ada.claim("sync").stdout == octo.claim("sync").stdout == "claims and tracker agree\n"
    assert list(octo.clone.server.refs()) == ["refs/claims/issue-42"]
