"""What a worker prints, shown as it comes and kept in a log; the end of its output is remembered."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

_TAIL_BYTES = 65536
# What has left the worker's group may hold its pipes for ever.
_LAST_WORDS_SECONDS = 2.0


@dataclass(slots=True)
class Tee:
    """The two pipes of a worker. `outputs` are for it to write to."""

    outputs: tuple[int, int]
    _end: bytearray = field(default_factory=bytearray)

    @property
    def end_of_output(self) -> str:
        """The last of its standard output."""
        return self._end.decode("utf-8", "replace")

    def remember(self, piece: bytes) -> None:
        """Keeps the end of what was printed."""
        self._end += piece
        del self._end[:-_TAIL_BYTES]


@contextmanager
def teed(log: Path) -> Iterator[Tee]:
    """Shows and keeps what is written to the pipes, until the block ends and what is left of it has come through."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab", buffering=0) as kept:
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        tee = Tee((to_out, to_err))
        pumps = [
            threading.Thread(target=_pump, args=(out, _stream(sys.stdout), kept, tee), daemon=True),
            threading.Thread(target=_pump, args=(err, _stream(sys.stderr), kept, None), daemon=True),
        ]
        for pump in pumps:
            pump.start()
        try:
            yield tee
        finally:
            os.close(to_out)
            os.close(to_err)
            for pump in pumps:
                pump.join(_LAST_WORDS_SECONDS)


def _pump(source: int, shown: int | None, kept: BinaryIO, tee: Tee | None) -> None:
    with open(source, "rb", buffering=0) as pipe:
        while piece := pipe.read(_TAIL_BYTES):
            if tee is not None:
                tee.remember(piece)
            # A log on a full disk, or a terminal that is gone, must not stop the worker.
            with suppress(OSError, ValueError):
                kept.write(piece)
            if shown is not None:
                with suppress(OSError):
                    os.write(shown, piece)


def _stream(stream: object) -> int | None:
    flush, number = getattr(stream, "flush", None), getattr(stream, "fileno", None)
    if flush is None or number is None:
        return None
    flush()
    return int(number())
