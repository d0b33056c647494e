"""What a clone remembers of checks that were red, and the logs that it keeps of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_claims.git.attempts import Attempts
from git_claims.protocol.item import Item, Kind

ITEM, OTHER = Item(Kind.ISSUE, "42"), Item(Kind.ISSUE, "421")
A, B = "a" * 40, "b" * 40


@pytest.fixture
def attempts(tmp_path: Path) -> Attempts:
    """The notes of a clone that has none yet."""
    return Attempts(tmp_path / "git-claim/attempts")


def test_commit_counts_once_however_often_it_is_seen(attempts: Attempts) -> None:
    assert [attempts.count(ITEM, oid) for oid in (A, A, B, A)] == [1, 1, 2, 2]


def test_items_are_counted_each_for_itself(attempts: Attempts) -> None:
    attempts.count(ITEM, A)
    assert attempts.count(OTHER, B) == 1


def test_count_is_that_of_the_clone_not_of_the_process(attempts: Attempts) -> None:
    attempts.count(ITEM, A)
    assert Attempts(attempts.directory).count(ITEM, B) == 2


def test_count_begins_anew_and_the_logs_stay(attempts: Attempts) -> None:
    attempts.count(ITEM, A)
    log = attempts.keep_log(ITEM, "test", "it failed")
    attempts.begin_anew(ITEM)
    assert attempts.count(ITEM, B) == 1 and log.exists()


def test_what_is_forgotten_leaves_nothing_and_takes_nothing_of_another(attempts: Attempts) -> None:
    attempts.count(ITEM, A)
    attempts.keep_log(ITEM, "test", "it failed")
    attempts.count(OTHER, A)
    log = attempts.keep_log(OTHER, "test", "it failed too")
    attempts.forget(ITEM)
    assert sorted(path.name for path in attempts.directory.iterdir()) == ["issue-421.attempts", log.name]


def test_nothing_is_forgotten_without_complaint(attempts: Attempts) -> None:
    attempts.forget(ITEM)
    attempts.begin_anew(ITEM)
    assert not attempts.directory.exists()


def test_log_of_the_same_check_is_replaced(attempts: Attempts) -> None:
    first = attempts.keep_log(ITEM, "test", "once")
    assert attempts.keep_log(ITEM, "test", "twice") == first
    assert first.read_text() == "twice\n"


@pytest.mark.parametrize("name", ["test", "build / test (3.11)", "../../etc/passwd", "", ".", "a\nb", "é" * 300, "-x"])
def test_log_of_a_check_of_any_name_is_kept_in_its_directory(attempts: Attempts, name: str) -> None:
    path = attempts.keep_log(ITEM, name, "it failed")
    assert path.parent == attempts.directory and path.read_text() == "it failed\n"
    assert len(path.name) < 120 and path.name.isascii()


def test_two_names_never_share_a_log(attempts: Attempts) -> None:
    names = ["a/b", "a-b", "a b", "a:b", "A-b", "x" * 80, "x" * 81, "x" * 82]
    assert len({attempts.keep_log(ITEM, name, name) for name in names}) == len(names)


def test_notes_that_cannot_be_read_are_none(attempts: Attempts) -> None:
    attempts.count(ITEM, A)
    (attempts.directory / "issue-42.attempts").write_text("")
    assert attempts.count(ITEM, B) == 1
