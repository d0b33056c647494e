"""How long commands wait between two looks at the queue, and what one of them leaves for the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_claims.cli.polling import Poll, digest, next_pause, read_poll
from git_claims.protocol.ready import queue
from tests.protocol.queued import held, issue, served


def test_pauses_grow_while_nothing_happens_up_to_five_minutes() -> None:
    pauses = [60.0]
    for _ in range(6):
        pauses.append(next_pause(pauses[-1], 60, changed=False))
    assert pauses == [60, 90, 135, 202.5, 300, 300, 300]


def test_pause_is_the_shortest_again_when_something_happened() -> None:
    assert next_pause(300, 60, changed=True) == 60


def test_pause_that_is_set_longer_than_five_minutes_stays_as_it_is() -> None:
    assert next_pause(600, 600, changed=False) == 600


def test_digest_is_the_same_where_the_same_would_be_said() -> None:
    before = queue([served(issue(1), issue(2, 1), operator="octo")])
    assert digest(queue([served(issue(2, 1), issue(1, title="Another title"), operator="octo")])) == digest(before)


@pytest.mark.parametrize(
    "after",
    [
        served(issue(1)),
        served(issue(1), issue(2)),
        served(issue(1), issue(2, 1), claims={1: held("chain-a")}),
        served(issue(1), issue(2, 1, assignees=("ada",))),
        served(issue(1), issue(2, 1), slug="acme/web"),
    ],
    ids=["one is gone", "one is free", "one is claimed", "one has another reason", "another repository"],
)
def test_digest_is_another_where_something_else_would_be_said(after: object) -> None:
    before = digest(queue([served(issue(1), issue(2, 1))]))
    assert isinstance(after, type(served()))
    assert digest(queue([after])) != before


def test_what_was_kept_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "poll.json"
    file.write_text('{"at": 12.5, "ready": ["acme/ledger#1"], "digest": "9f1c"}')
    assert read_poll(file) == Poll(12.5, ("acme/ledger#1",), "9f1c")


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"at": "soon", "ready": [], "digest": ""}', "\xff", None])
def test_what_cannot_be_read_is_as_good_as_nothing(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "poll.json"
    if text is not None:
        file.write_text(text, encoding="latin-1")
    assert read_poll(file) is None
