"""The lane file of a worktree, the note of a start that may be killed, and the locks between processes of a clone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_claims.errors import BadSettings, CannotTell, GitFailed
from git_claims.git.lane_file import Lane, chain_of_start, read_lane, write_lane
from git_claims.git.lock import locked
from git_claims.protocol.claim import ChainId
from git_claims.protocol.item import Item, Kind
from tests.agents import ROOT

ONE, TWO, KEYED = Item(Kind.ISSUE, "1"), Item(Kind.PULL, "2"), Item(Kind.ISSUE, "proj-3")
ME = ChainId("chain-me")


@pytest.mark.parametrize("lane", [Lane(ME), Lane(ME, (ONE, KEYED), (TWO,)), Lane(ChainId('a "quoted" \\ chain ü'))])
def test_lane_is_read_as_it_was_written(tmp_path: Path, lane: Lane) -> None:
    write_lane(tmp_path, Lane(ChainId("chain-before"), (TWO,)))
    write_lane(tmp_path, lane)
    assert read_lane(tmp_path) == lane
    # The whole file was replaced, and nothing else is left beside it.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["git-claim-lane.toml", "home"]


def test_no_lane_file_is_no_lane(tmp_path: Path) -> None:
    assert read_lane(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    [
        b"chain = ",
        b"\xff",
        b'items = ["issue-1"]',
        b'chain = ""',
        b'chain = "-x"',
        b"chain = 7",
        b'chain = "a\\nb"',
        b'chain = "a"\nitems = "issue-1"',
        b'chain = "a"\nreleased = 1',
    ],
)
def test_lane_file_that_means_nothing_is_an_error_that_names_it(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "git-claim-lane.toml").write_bytes(text)
    with pytest.raises(BadSettings, match=rf"^cannot read the lane file '{tmp_path}/git-claim-lane.toml': ") as caught:
        read_lane(tmp_path)
    assert caught.value.hint == "pass the chain with --chain, or move the file away"


def test_lane_file_of_a_later_version_is_read_as_far_as_it_is_understood(tmp_path: Path) -> None:
    (tmp_path / "git-claim-lane.toml").write_text('chain = "a"\nitems = ["issue-1", "epic/9", 4]\ncolour = "red"\n')
    assert read_lane(tmp_path) == Lane(ChainId("a"), (ONE,))


def test_lane_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match=r"^cannot write the lane file '.*/gone/git-claim-lane.toml': No such file"):
        write_lane(tmp_path / "gone", Lane(ME))


def test_lane_remembers_what_it_gave_up_and_forgets_what_it_never_had() -> None:
    lane = Lane(ME).entered((ONE, TWO)).entered((ONE,))
    assert lane.items == (ONE, TWO)
    assert lane.left((TWO, KEYED)) == Lane(ME, (ONE,), (TWO,))
    assert lane.left((TWO,)).entered((TWO,)) == Lane(ME, (ONE, TWO))
    assert lane.without((TWO, KEYED)) == Lane(ME, (ONE,))


# The note of a start


@pytest.fixture
def minted() -> Iterator[ChainId]:
    return (ChainId(f"chain-{number}") for number in range(1, 9))


def test_start_that_came_to_no_end_is_continued_with_its_chain(tmp_path: Path, minted: Iterator[ChainId]) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError), chain_of_start(tmp_path, ONE, lambda: next(minted)) as note:
            raise RuntimeError(note.chain)
    with chain_of_start(tmp_path, ONE, lambda: next(minted)) as note:
        assert note.chain == "chain-1"
        note.forget()
    with chain_of_start(tmp_path, ONE, lambda: next(minted)) as note:
        assert note.chain == "chain-2"


def test_each_item_has_a_note_of_its_own(tmp_path: Path, minted: Iterator[ChainId]) -> None:
    with (
        chain_of_start(tmp_path, ONE, lambda: next(minted)) as one,
        chain_of_start(tmp_path, TWO, lambda: next(minted)) as two,
    ):
        assert (one.chain, two.chain) == ("chain-1", "chain-2")


def test_start_that_still_runs_keeps_its_chain_to_itself(tmp_path: Path, minted: Iterator[ChainId]) -> None:
    with chain_of_start(tmp_path, ONE, lambda: next(minted)) as first:
        with chain_of_start(tmp_path, ONE, lambda: next(minted)) as second:
            second.forget()
        assert (first.chain, second.chain) == ("chain-1", "chain-2")
    with chain_of_start(tmp_path, ONE, lambda: next(minted)) as third:
        assert third.chain == "chain-1"


@pytest.mark.parametrize("note", [b"\xff\xfe", b"-x", b"  ", b"chain\x00"])
def test_note_that_names_no_chain_is_written_anew(tmp_path: Path, minted: Iterator[ChainId], note: bytes) -> None:
    (tmp_path / "start-issue-1").write_bytes(note)
    with chain_of_start(tmp_path, ONE, lambda: next(minted)) as made:
        assert made.chain == "chain-1"
    assert (tmp_path / "start-issue-1").read_bytes() == b"chain-1"


# Locks

HOLDER = """
import sys
from pathlib import Path
from git_claims.git.lock import locked
with locked(Path(sys.argv[1]), 1, "held"):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(path: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until it is ended."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    return holder


def test_lock_of_another_process_is_waited_for_and_then_named(tmp_path: Path) -> None:
    with hold(tmp_path / "made/lock") as holder:
        waiting = locked(tmp_path / "made/lock", 0.1, "making a worktree")
        said = r"^another 'git claim' in this clone is still making a worktree$"
        with pytest.raises(CannotTell, match=said), waiting:
            pass
        holder.communicate("")
    with locked(tmp_path / "made/lock", 0.0, "making a worktree"):
        assert (tmp_path / "made/lock").exists()


def test_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    with hold(tmp_path / "lock") as holder:
        holder.send_signal(signal.SIGKILL)
    with locked(tmp_path / "lock", 0.0, "held"):
        pass


def test_lock_is_free_again_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), locked(tmp_path / "lock", 0.0, "held"):
        raise RuntimeError
    with locked(tmp_path / "lock", 0.0, "held"):
        pass


def test_lock_that_cannot_be_made_is_an_error_that_says_where(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = rf"^cannot write to '{tmp_path}/file': "
    with pytest.raises(GitFailed, match=said) as caught, locked(tmp_path / "file/lock", 0.0, "held"):
        pass
    assert caught.value.exit == 128
