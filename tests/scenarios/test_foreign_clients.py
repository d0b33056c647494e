"""Clients that claim by hand, one by comments with plain gh and grep, one by refs with plain git and sed.

The program keeps company with both: what they hold is held, what it holds they can read, and what they give up is free.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.agents import Answer
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.github_double.records import Issue
from tests.places import make_clone
from tests.scenarios.holding_back import between_look_and_claim
from tests.scenarios.oracle import chain_in

# The newest marker says whether an issue is locked, and by whom.
BY_COMMENTS = r"""
command=$1 number=$2 me=$3
holder() {
    gh issue view "$number" -R acme/ledger --json comments --jq '.comments[].body' |
        grep -Eo '<!-- claude-lock(-released)?: .* -->' | tail -n 1 |
        sed -n 's/^<!-- claude-lock: .*operator=\([^ ]*\).*/\1/p'
}
case $command in
holder) holder ;;
take)
    [ -z "$(holder)" ] || exit 1
    gh issue comment "$number" -R acme/ledger --body-file - <<END
Mine.

<!-- claude-lock: operator=$me worktree=/by/hand branch=$number-by-hand at=2026-11-30T13:06:00Z -->
END
    ;;
release) gh issue comment "$number" -R acme/ledger --body "Done. <!-- claude-lock-released: operator=$me -->" ;;
esac
"""
# A ref that must not exist yet is made, and the one that was made is deleted; the reading is one line of sed.
BY_REFS = r"""
command=$1 ref=refs/claims/issue-$2 me=$3
git fetch --quiet --prune origin '+refs/claims/*:refs/claims/*'
case $command in
holder) git show "$ref:claim" | sed -n 's/^chain=//p' ;;
take)
    record=$(printf 'issue=%s\nrepo=acme/ledger\nchain=%s\nhost=elsewhere\nclaimed_at=%s\nnonce=%s\n' \
        "$2" "$me" 2026-11-30T13:06:00Z "$(od -An -N16 -tx1 /dev/urandom | tr -d ' ')" | git hash-object -w --stdin)
    tree=$(printf '100644 blob %s\tclaim\n' "$record" | git mktree)
    claim=$(git commit-tree "$tree" -m "claim $2 by $me")
    git push --quiet --force-with-lease="$ref:" origin "$claim:$ref"
    ;;
release) git push --quiet --force-with-lease="$ref:$(git rev-parse "$ref")" origin ":$ref" ;;
esac
"""


@dataclass(frozen=True, slots=True)
class ByHand:
    """Somebody with a script, in a directory of their own. `name`: a login, or a chain."""

    script: str
    name: str
    directory: Path
    environment: dict[str, str]

    def run(self, command: str, number: int = 42, check: int | None = 0) -> str:
        answer = subprocess.run(
            ["sh", "-euc", self.script, "sh", command, str(number), self.name],
            cwd=self.directory,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert check in (None, answer.returncode), answer
        return answer.stdout.strip()


@pytest.fixture
def issue(github: GitHub) -> Issue:
    return github.add_issue(42, "Fix the totals", labels=["afk", "ready"])


@pytest.fixture
def octo(github: GitHub, tmp_path: Path) -> ForkedAgent:
    return ForkedAgent(make_clone(github.server, tmp_path), "chain-octo", github.environment("octo"))


@pytest.fixture
def grep_client(github: GitHub, tmp_path: Path) -> ByHand:
    return ByHand(BY_COMMENTS, "bob", tmp_path, github.environment("bob"))


@pytest.fixture
def sed_client(github: GitHub, tmp_path: Path) -> ByHand:
    clone = make_clone(github.server, tmp_path, "by-hand")
    return ByHand(BY_REFS, "chain-by-hand", clone.path, github.environment("bob"))


def reason(answer: Answer) -> object:
    return answer.at("items", 0, "reason")


# By comments


def test_lock_of_a_comment_by_hand_bars_the_take_and_its_release_frees(
    github: GitHub, octo: ForkedAgent, grep_client: ByHand, issue: Issue
) -> None:
    grep_client.run("take")
    refused = octo.claim("take", "42", "--json", check=1)
    assert reason(refused) == "foreign-marker" and "carries a lock comment of bob" in refused.stderr, refused
    assert (github.server.refs(), issue.labels, len(issue.comments)) == ({}, ["afk", "ready"], 1)
    grep_client.run("release")
    octo.claim("take", "42", check=0)
    assert grep_client.run("holder") == "octo"


def test_lock_of_ours_is_read_by_grep_until_it_is_released(
    octo: ForkedAgent, grep_client: ByHand, issue: Issue
) -> None:
    octo.claim("take", "42", check=0)
    assert grep_client.run("holder") == "octo"
    grep_client.run("take", check=1)
    octo.claim("release", "42", "--abandoned", check=0)
    assert grep_client.run("holder") == ""
    grep_client.run("take")
    assert reason(octo.claim("take", "42", "--json", check=1)) == "foreign-marker"


def test_lock_by_hand_that_came_before_ours_is_given_way_to(
    github: GitHub, octo: ForkedAgent, grep_client: ByHand, issue: Issue, tmp_path: Path
) -> None:
    answer = between_look_and_claim(octo, tmp_path, partial(grep_client.run, "take"), "42", "--json")
    assert (answer.status, reason(answer)) == (1, "foreign-marker"), answer
    assert (github.server.refs(), issue.assignees, "in-progress" in issue.labels) == ({}, [], False)
    assert [marker(body) for body in issue.bodies] == ["bob", "octo", "released"]


def marker(body: str) -> str:
    """Whose lock a comment declares, or that one was released."""
    [found] = re.findall(r"<!-- claude-lock(-released)?: operator=(\S+)", body)
    return "released" if found[0] else str(found[1])


def test_sync_leaves_locks_by_hand_alone_also_those_of_its_own_login(
    github: GitHub, octo: ForkedAgent, grep_client: ByHand, issue: Issue
) -> None:
    own = ByHand(BY_COMMENTS, "octo", grep_client.directory, github.environment("octo"))
    github.add_issue(43, labels=["ready"])
    grep_client.run("take")
    own.run("take", 43)
    github.forget_requests()
    assert octo.claim("sync", check=0).stdout == "claims and tracker agree\n"
    assert github.writes == []
    assert (own.run("holder", 42), own.run("holder", 43)) == ("bob", "octo")


# By refs


def test_claim_by_hand_is_held_and_shown_and_its_delete_frees(
    github: GitHub, octo: ForkedAgent, sed_client: ByHand, issue: Issue
) -> None:
    sed_client.run("take")
    refused = octo.claim("take", "42", "--json", check=1)
    assert (reason(refused), refused.at("items", 0, "rival", "chain")) == ("held", "chain-by-hand"), refused
    assert (issue.labels, issue.assignees, issue.comments) == (["afk", "ready"], [], [])
    listed, shown = octo.claim("ls", check=0).stdout, octo.claim("show", "42", check=0).stdout
    assert "chain-by-hand" in listed and "Fix the totals; open" in listed, listed
    assert re.search(r"(?m)^chain\s+chain-by-hand$", shown) and re.search(r"(?m)^title\s+Fix the totals$", shown), shown
    sed_client.run("release")
    octo.claim("take", "42", check=0)
    assert chain_in(github.server.claim_text("issue-42")) == "chain-octo"


def test_claim_of_ours_is_read_by_sed_and_not_taken_by_hand(
    github: GitHub, octo: ForkedAgent, sed_client: ByHand, issue: Issue
) -> None:
    octo.claim("take", "42", check=0)
    assert sed_client.run("holder") == "chain-octo"
    sed_client.run("take", check=1)
    assert chain_in(github.server.claim_text("issue-42")) == "chain-octo"
    octo.claim("release", "42", "--abandoned", check=0)
    sed_client.run("take")
    assert chain_in(github.server.claim_text("issue-42")) == "chain-by-hand"
