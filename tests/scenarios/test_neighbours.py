"""Clients that are not this program: shell scripts by the protocol, and a push that wipes the namespace."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.agents import Answer, finish
from tests.forked import ForkedAgent, race_forked
from tests.places import ABSENT, Clone, Server, make_clone
from tests.scenarios.conftest import MakeForked
from tests.scenarios.oracle import history, holders, told

FORTY_TWO = "refs/claims/issue-42"
# What scripts already in use do, word for word but for the lease, which some of them leave out.
CLAIM = """\
nonce=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')
blob=$(printf 'issue=%s\\nrepo=acme/ledger\\nchain=%s\\nhost=shell\\nclaimed_at=2026-11-30T13:06:00Z\\nnonce=%s\\n' \
    "$1" "$2" "$nonce" | git hash-object -w --stdin)
tree=$(printf '100644 blob %s\\tclaim\\n' "$blob" | git mktree)
commit=$(git commit-tree "$tree" -m "claim $1 by $2")
exec git push --quiet {lease} origin "$commit:refs/claims/issue-$1"
"""
HOLDER = """\
git fetch --quiet --prune origin '+refs/claims/*:refs/claims/*'
git show "refs/claims/issue-$1:claim" | sed -n 's/^chain=//p'
"""
RELEASE = 'exec git push --quiet --force-with-lease="refs/claims/issue-$1:$2" origin ":refs/claims/issue-$1"\n'
LEASES = {"with a lease": '"--force-with-lease=refs/claims/issue-$1:"', "without": ""}


def start(clone: Clone, script: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["sh", "-c", script, "sh", *words],
        cwd=clone.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def shell(clone: Clone, script: str, *words: str) -> Answer:
    return finish(start(clone, script, *words))


def claim(lease: str) -> str:
    return CLAIM.format(lease=LEASES[lease])


@pytest.mark.parametrize("lease", LEASES)
def test_claim_of_a_shell_script_is_a_claim(server: Server, clone: Clone, runner: ForkedAgent, lease: str) -> None:
    assert shell(clone, claim(lease), "42", "chain-shell").status == 0
    answer = runner.claim("take", "42", "--json")
    assert (answer.status, told(answer, "rival", "chain")) == (1, {"issue-42": "chain-shell"}), answer
    assert "chain-shell" in runner.claim("ls").stdout
    assert runner.claim("release", "42").status == 1
    assert told(runner.claim("adopt", "42", "--from", "chain-shell", "--json", check=0)) == {"issue-42": "adopted"}
    assert len(history(server, "issue-42")) == 2


@pytest.mark.parametrize("lease", LEASES)
def test_shell_script_sees_and_respects_our_claim(
    server: Server, clone: Clone, runner: ForkedAgent, lease: str
) -> None:
    runner.claim("take", "42", check=0)
    assert shell(clone, HOLDER, "42").stdout == f"{runner.chain}\n"
    # Parentless objects never fast-forward, so that a script that forgot its lease is refused too.
    assert shell(clone, claim(lease), "42", "chain-shell").status == 1
    assert holders(server) == {"issue-42": runner.chain}


def test_shell_script_releases_its_own_and_only_that(server: Server, clone: Clone, runner: ForkedAgent) -> None:
    shell(clone, claim("with a lease"), "42", "chain-shell")
    own = server.refs()[FORTY_TWO]
    runner.claim("adopt", "42", "--from", "chain-shell", check=0)
    assert shell(clone, RELEASE, "42", own).status == 1
    assert shell(clone, RELEASE, "42", server.refs()[FORTY_TWO]).status == 0
    assert told(runner.claim("release", "42", "--json", check=0)) == {"issue-42": "gone"}
    assert history(server, "issue-42")[2:] == [ABSENT]


@pytest.mark.parametrize("lease", LEASES)
def test_scripts_and_programs_race_for_one_item(
    server: Server, make_forked: MakeForked, tmp_path: Path, lease: str
) -> None:
    agents = [make_forked() for _ in range(3)]
    clones = [make_clone(server, tmp_path, f"shell-{number}") for number in range(3)]
    scripts = [start(clone, claim(lease), "42", clone.path.name) for clone in clones]
    answers = race_forked([(agent, ("take", "42", "--json")) for agent in agents])
    ends = [finish(script) for script in scripts]
    won = [agent.chain for agent, answer in zip(agents, answers, strict=True) if answer.status == 0]
    won += [clone.path.name for clone, end in zip(clones, ends, strict=True) if end.status == 0]
    assert [holders(server)["issue-42"]] == won
    assert len(history(server, "issue-42")) == 1


def test_record_that_a_script_extended_keeps_its_keys_when_it_is_renewed(
    server: Server, make_forked: MakeForked
) -> None:
    agent = make_forked()
    server.plant_claim("issue-42", agent.chain or "", colour="blue")
    agent.claim("renew", "42", "--phase", "review", check=0)
    assert {"colour=blue", "phase=review"} <= set(server.claim_text("issue-42").splitlines())


def test_mirror_push_that_wiped_every_claim_is_reported_by_ls(
    server: Server, clone: Clone, runner: ForkedAgent
) -> None:
    runner.claim("take", "41", "42", "43", check=0)
    runner.claim("ls", check=0)
    clone.git("push", "--quiet", "--mirror", "origin")
    assert server.refs() == {}
    answer = runner.claim("ls", check=0)
    assert "warning: all 3 claims of the last listing are gone from the server" in answer.stderr
    assert "mirror push" in answer.stderr


def test_listing_after_an_ordinary_day_reports_nothing(server: Server, runner: ForkedAgent) -> None:
    runner.claim("take", "41", "42", check=0)
    runner.claim("ls", check=0)
    runner.claim("release", "--all", check=0)
    assert "warning" not in runner.claim("ls", check=0).stderr


def test_refs_by_hand_that_are_no_items_name_are_reported_and_hurt_nobody(server: Server, runner: ForkedAgent) -> None:
    head = server.refs("refs/heads/main")["refs/heads/main"]
    for name in ("issue-042", "Issue-43", "issue-9/x"):
        server.plant(f"refs/claims/{name}", head)
    answer = runner.claim("ls", check=0)
    assert "refs that name no item stand among the claims (3)" in answer.stderr
    assert told(runner.claim("take", "42", "43", "--json", check=0)) == {"issue-42": "claimed", "issue-43": "claimed"}
