"""A claim's whole life through a gh that is years old: all that is asked of gh is `gh api`."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import OLDER
from tests.forked import ForkedAgent
from tests.github_double import GitHub
from tests.places import make_clone


def test_claim_is_shown_mended_and_given_up_through_an_older_gh(github: GitHub, older_gh: Path, tmp_path: Path) -> None:
    octo = ForkedAgent(make_clone(github.server, tmp_path), "chain-octo", github.environment("octo", older_gh))
    assert f"{OLDER} as 'octo'" in octo.claim("doctor").stdout
    issue = github.add_issue(42, "Fix the totals", labels=["afk", "ready"])
    octo.claim("take", "42", check=0)
    assert (sorted(issue.labels), issue.assignees, len(issue.comments)) == (["afk", "in-progress"], ["octo"], 1)
    shown = octo.claim("show", "42", check=0).stdout
    assert "Fix the totals" in shown and "active: " in shown, shown
    issue.assignees.clear()
    assert octo.claim("sync", check=0).stdout == "repaired acme/ledger#42: no-signals: missing: assignee octo\n"
    github.add_pull(57, head="42-totals", closes=42)
    github.merge(57)
    octo.claim("release", "42", check=0)
    assert (issue.state, issue.assignees, issue.labels) == ("CLOSED", ["octo"], ["afk"])
    assert issue.bodies[-1].startswith("Resolved by PR #57 (merged into `main`).")
    assert (github.server.refs(), octo.claim("sync", check=0).stdout) == ({}, "claims and tracker agree\n")
