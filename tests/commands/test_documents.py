"""`--json`: exactly one document on standard output, whatever happens; its keys and codes are a promise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents import Answer
from tests.commands.telling import AGO, DESTRUCTIVE, RAW, plant
from tests.forked import ForkedAgent
from tests.places import Clone, Server

Document = dict[str, object]

RECORD = {
    *("issue", "repo", "chain", "host", "claimed_at", "nonce", "operator", "branch", "worktree"),
    *("lead", "renewed_at", "phase", "previous", "extra", "oid", "readable"),
}
CHANGED = {"ok", "items", "next"}
ITEM = {"item", "repo", "outcome", "reason", "claim", "rival", "detail", "bar", "notes"}
ROW = {
    *("item", "repo", "chain", "operator", "host", "branch", "claimed_at", "age_seconds", "mine", "oid", "lead"),
    *("readable", "phase", "renewed_at"),
}
LISTING = {"claims", "source", "as_of", "left_out"}
LOOK = {"ok", "item", "repo", "chain", "mine", "claimed", "reason", "claim", "source", "as_of", "next"}
FAILURE = {"ok", "items", "reason", "error", "hint", "next"}


def document(answer: Answer, keys: set[str]) -> Document:
    """The one document, after what must hold of every one."""
    found = answer.json
    assert found.keys() == keys, answer
    assert found.get("ok", True) is (answer.status == 0), answer
    assert not RAW.search(answer.stdout), answer
    following = found.get("next", [])
    assert isinstance(following, list)
    for command in following:
        assert command.startswith("git claim ")
        assert not DESTRUCTIVE.search(command), command
    return found


def only_item(answer: Answer) -> Document:
    items = document(answer, CHANGED)["items"]
    assert isinstance(items, list)
    assert len(items) == 1
    assert items[0].keys() == ITEM
    return dict(items[0])


def outcome(item: Document) -> tuple[object, object]:
    return item["outcome"], item["reason"]


def record(found: object) -> Document:
    assert isinstance(found, dict)
    assert found.keys() == RECORD
    return found


# What changes claims


def test_won_claim_is_given_with_every_field(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("42", "--json", "--branch", "42-fix", "--phase", "plan")
    item = only_item(answer)
    claim = record(item["claim"])
    assert (item["item"], item["repo"], *outcome(item), item["rival"]) == (
        *("issue-42", "server", "claimed", "free"),
        None,
    )
    expected = {"issue": "42", "chain": "chain-agent-1", "branch": "42-fix", "phase": "plan", "readable": True}
    assert {key: claim[key] for key in expected} == expected
    assert claim["oid"] == server.refs()["refs/claims/issue-42"]
    assert claim["worktree"] == str(agent.clone.path)
    assert claim["lead"] is claim["operator"] is claim["renewed_at"] is claim["previous"] is None
    assert answer.json["next"] == [
        "git claim show 42",
        "git claim renew 42 --chain chain-agent-1",
        "git claim release 42 --chain chain-agent-1",
    ]


def test_lost_claim_is_given_with_its_rival(agent: ForkedAgent, server: Server) -> None:
    oid = plant(server, "issue-42", other="kept")
    item = only_item(agent.claim("42", "--json"))
    rival = record(item["rival"])
    assert (*outcome(item), item["claim"]) == ("held", "held", None)
    assert (rival["chain"], rival["host"], rival["claimed_at"]) == ("chain-rival", "blade", AGO)
    assert (rival["oid"], rival["extra"]) == (oid, {"other": "kept"})


Arrange = Callable[[Server], object]


def mine(server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")


def theirs(server: Server) -> None:
    plant(server, "issue-42")


def unreadable(server: Server) -> None:
    server.plant_bytes("issue-42", b"nonsense\n")


def free(server: Server) -> None:
    pass


def refused(server: Server) -> None:
    mine(server)
    server.policy_refuses()


def held_and_away(server: Server) -> None:
    mine(server)
    server.path.rename(server.path.with_name("away"))


def moved_meanwhile(server: Server) -> None:
    theirs(server)
    server.rival_in_the_gap("issue-42", "chain-newcomer")


@pytest.mark.parametrize(
    ("arrange", "words", "status", "expected", "reason"),
    [
        (free, "42", 0, "claimed", "free"),
        (mine, "42", 0, "already-yours", "holder"),
        (mine, "42 --phase x", 0, "renewed", "holder"),
        (theirs, "42", 1, "held", "held"),
        (unreadable, "42", 1, "held", "unreadable"),
        (theirs, "42 --wait=0", 1, "held", "gave-up-waiting"),
        (held_and_away, "42", 3, "unknown", "cannot-tell"),
        (lambda server: server.policy_refuses(), "42", 128, "refused", "host-refused"),
        (mine, "release 42", 0, "released", "holder"),
        (free, "release 42", 0, "gone", "not-claimed"),
        (theirs, "release 42", 1, "not-yours", "held"),
        (unreadable, "release 42", 128, "not-yours", "unreadable"),
        (refused, "release 42", 128, "refused", "host-refused"),
        (mine, "renew 42", 0, "renewed", "holder"),
        (free, "renew 42", 1, "not-yours", "not-claimed"),
        (theirs, "renew 42", 1, "not-yours", "held"),
        (mine, "hand-off 42 --to chain-b", 0, "handed-off", "holder"),
        (theirs, "hand-off 42 --to chain-b", 1, "not-yours", "held"),
        (theirs, "adopt 42 --from chain-rival", 0, "adopted", "holder"),
        (theirs, "adopt 42 --from chain-b", 1, "not-yours", "not-predecessor"),
        (free, "adopt 42 --from chain-b", 1, "not-yours", "not-claimed"),
        (theirs, "reclaim 42", 0, "reclaimed", "person"),
        (free, "reclaim 42", 0, "gone", "not-claimed"),
        (moved_meanwhile, "reclaim 42", 1, "held", "changed-meanwhile"),
        (theirs, "42 --force --reason x", 0, "taken-over", "forced"),
        (moved_meanwhile, "42 --force --reason x", 1, "held", "changed-meanwhile"),
    ],
)
def test_outcome_and_reason_are_codes(
    agent: ForkedAgent, server: Server, arrange: Arrange, words: str, status: int, expected: str, reason: str
) -> None:
    agent.clone.config("claim.allowReclaimWithoutTerminal", "true")
    (agent.clone.path / ".claims.toml").write_text('take.force = "allow"\n')
    arrange(server)
    answer = agent.claim(*words.split(), "--json")
    assert (answer.status, *outcome(only_item(answer))) == (status, expected, reason)


def test_bundle_is_all_or_nothing_in_its_codes_too(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-43")
    items = document(agent.claim("42", "--bundle", "43", "--json"), CHANGED)["items"]
    assert isinstance(items, list)
    assert [outcome(item) for item in items] == [("not-taken", "all-or-nothing"), ("held", "held")]


def test_server_without_atomic_pushes_has_a_code(agent: ForkedAgent, server: Server) -> None:
    server.no_atomic()
    answer = agent.claim("42", "43", "--all-or-nothing", "--json")
    items = document(answer, CHANGED)["items"]
    assert isinstance(items, list)
    assert (answer.status, [outcome(item) for item in items]) == (128, [("refused", "no-atomic")] * 2)


def test_take_over_gives_both_claims(agent: ForkedAgent, server: Server) -> None:
    (agent.clone.path / ".claims.toml").write_text('take.force = "allow"\n')
    oid = plant(server, "issue-42")
    item = only_item(agent.claim("42", "--force", "--reason", "the machine is gone", "--json"))
    claim, rival = record(item["claim"]), record(item["rival"])
    assert (claim["previous"], claim["extra"]) == (oid, {"reason": "the machine is gone"})
    assert (rival["oid"], rival["chain"]) == (oid, "chain-rival")


def test_unreadable_rival_is_given_by_its_id(agent: ForkedAgent, server: Server) -> None:
    oid = server.plant_bytes("issue-42", b"nonsense\n")
    assert only_item(agent.claim("42", "--json"))["rival"] == {
        "oid": oid,
        "readable": False,
        "trouble": "a line of it is not key=value",
    }


def test_release_of_nothing_is_an_empty_list(agent: ForkedAgent) -> None:
    assert document(agent.claim("release", "--all", "--json"), CHANGED) == {"ok": True, "items": [], "next": []}


# What looks


def test_listing_gives_every_claim(agent: ForkedAgent, server: Server) -> None:
    mine_oid = plant(server, "issue-42", "chain-agent-1", operator="octocat", branch="42-fix", phase="plan")
    plant(server, "issue-43", lead="42", claimed_at="soon")
    odd = server.plant_bytes("pr-7", b"\xff\n")
    found = document(agent.claim("ls", "--json"), LISTING)
    rows = found["claims"]
    assert isinstance(rows, list)
    assert [set(row) for row in rows] == [ROW] * 3
    first, second, third = sorted(rows, key=lambda row: str(row["item"]))
    age = first.pop("age_seconds")
    assert 3 * 86400 < age < 4 * 86400
    assert first == {
        **{"item": "issue-42", "repo": "server", "chain": "chain-agent-1", "operator": "octocat", "host": "blade"},
        **{"branch": "42-fix", "claimed_at": AGO, "mine": True, "oid": mine_oid, "lead": None, "readable": True},
        **{"phase": "plan", "renewed_at": None},
    }
    assert (second["lead"], second["age_seconds"], second["mine"]) == ("issue-42", None, False)
    assert (third["oid"], third["readable"], third["chain"], third["mine"]) == (odd, False, None, False)
    assert found["source"] == "remote"
    cached = document(agent.claim("ls", "--cached", "--json"), LISTING)
    assert cached["source"] == "cached"
    assert isinstance(cached["as_of"], str)
    assert cached["as_of"] >= str(found["as_of"])[:16]


def test_listing_of_nothing_is_an_empty_list(agent: ForkedAgent) -> None:
    assert document(agent.claim("ls", "--json"), LISTING)["claims"] == []


@pytest.mark.parametrize(
    ("arrange", "words", "status", "reason", "is_mine", "following"),
    [
        (mine, "check 42", 0, "holder", True, 3),
        (theirs, "check 42", 1, "held", False, 1),
        (free, "check 42-fix", 1, "not-claimed", False, 1),
        (unreadable, "check 42", 1, "unreadable", False, 0),
        (mine, "show 42", 0, "holder", True, 3),
        (theirs, "show 42", 0, "held", False, 1),
        (unreadable, "show 42", 0, "unreadable", False, 0),
        (free, "show 42", 1, "not-claimed", False, 1),
    ],
)
def test_look_says_whose_and_why_not(
    agent: ForkedAgent, server: Server, arrange: Arrange, words: str, status: int, reason: str, is_mine: bool,
    following: int,
) -> None:  # fmt: skip
    arrange(server)
    answer = agent.claim(*words.split(), "--json")
    found = document(answer, LOOK)
    commands = found["next"]
    assert isinstance(commands, list)
    assert (answer.status, found["reason"], found["mine"], len(commands)) == (status, reason, is_mine, following)
    assert (found["item"], found["chain"], found["source"]) == ("issue-42", "chain-agent-1", "remote")
    assert found["claimed"] is (arrange is not free)


def test_what_could_follow_keeps_a_chain_that_only_an_option_named(nobody: ForkedAgent, server: Server) -> None:
    theirs(server)
    found = document(nobody.claim("check", "42", "--json", "--chain", "chain-rival"), LOOK)
    assert found["next"] == [
        "git claim renew 42 --chain chain-rival",
        "git claim hand-off 42 --chain chain-rival --to CHAIN",
        "git claim release 42 --chain chain-rival",
    ]


def test_whoami_names_chain_and_source(agent: ForkedAgent) -> None:
    found = document(agent.claim("whoami", "--json"), {"ok", "chain", "source", "host"})
    assert (found["chain"], found["source"]) == ("chain-agent-1", "environment variable GIT_CLAIM_CHAIN")


# What sets up


def test_set_up_commands_answer_with_one_document(agent: ForkedAgent) -> None:
    init = document(agent.claim("init", "--json"), {"ok", "done", "next"})
    assert init["done"] == ["wrote .claims.toml", "ignored .worktrees/"]
    findings = document(agent.claim("doctor", "--json"), {"ok", "findings"})["findings"]
    assert isinstance(findings, list)
    assert {tuple(finding) for finding in findings} == {("name", "level", "detail", "advice")}
    races = document(agent.claim("demo", "--agents=2", "--issues=1", "--json"), {"ok", "races"})["races"]
    assert isinstance(races, list)
    assert [tuple(race) for race in races] == [("item", "winners", "lost", "holder")]


# What fails

CHANGING = ["take 42", "release 42", "renew 42", "hand-off 42 --to x", "adopt 42 --from x", "reclaim 42"]
LOOKING = ["ls", "ls --mine", "show 42", "check 42"]
WITHOUT_ITEM = ["release --all", "whoami", "init", "doctor"]


@pytest.mark.parametrize("words", [*CHANGING, *LOOKING, "release --all", "init", "doctor"])
def test_no_repository_has_a_document(agent: ForkedAgent, tmp_path: Path, words: str) -> None:
    lonely = ForkedAgent(Clone(tmp_path, agent.clone.server), "chain-lonely")
    found = document(answer := lonely.claim(*words.split(), "--json"), FAILURE)
    assert (answer.status, found["reason"]) == (128, "no-repository")


@pytest.mark.parametrize("words", [*CHANGING, *LOOKING, "release --all", "init"])
def test_no_remote_has_a_document(repository: Clone, words: str) -> None:
    repository.config("claim.allowReclaimWithoutTerminal", "true")
    found = document(answer := ForkedAgent(repository, "chain-lonely").claim(*words.split(), "--json"), FAILURE)
    assert (answer.status, found["reason"]) == (128, "no-remote")


@pytest.mark.parametrize("words", [*CHANGING, *LOOKING, *WITHOUT_ITEM, "demo"])
def test_wrong_command_line_has_a_document(agent: ForkedAgent, words: str) -> None:
    found = document(answer := agent.claim(*words.split(), "--json", "--nonsense"), FAILURE)
    assert (answer.status, found["reason"]) == (2, "usage")
    assert found["error"] == answer.stderr.splitlines()[0].removeprefix("error: ")


@pytest.mark.parametrize("words", ["", "tkae 42", "take", "take x", "42 --reason x", "release --all 42", "check main"])
def test_mistyped_command_has_a_document(agent: ForkedAgent, words: str) -> None:
    found = document(answer := agent.claim(*words.split(), "--json"), FAILURE)
    assert (answer.status, found["reason"]) == (2, "usage")


@pytest.mark.parametrize("words", ["release 42", "renew 42", "hand-off 42 --to x", "adopt 42 --from x", "ls --mine"])
def test_missing_chain_has_a_document(nobody: ForkedAgent, words: str) -> None:
    found = document(answer := nobody.claim(*words.split(), "--json"), FAILURE)
    assert (answer.status, found["reason"]) == (1, "no-chain")


@pytest.mark.parametrize("words", ["reclaim 42", "42 --force --reason x"])
def test_missing_person_has_a_document(agent: ForkedAgent, server: Server, words: str) -> None:
    theirs(server)
    found = document(answer := agent.claim(*words.split(), "--json"), FAILURE)
    assert (answer.status, found["reason"]) == (1, "needs-person")


def test_bad_settings_have_a_document(agent: ForkedAgent) -> None:
    (agent.clone.path / ".claims.toml").write_text("namespace = 3\n")
    found = document(answer := agent.claim("ls", "--json"), FAILURE)
    assert (answer.status, found["reason"]) == (128, "bad-settings")


def test_quiet_document_is_the_same_document(agent: ForkedAgent, server: Server) -> None:
    theirs(server)
    loud, quiet = agent.claim("42", "--json"), agent.claim("42", "--json", "--quiet")
    assert json.loads(loud.stdout) == json.loads(quiet.stdout)
