"""A TCP proxy in front of a server: a network that is slow, loses requests or replies, resets, is silent."""

from __future__ import annotations

import random
import select
import socket
import socketserver
import struct
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum


class Fault(Enum):
    NONE = "none"
    REQUEST_LOST = "request lost"
    """The client is cut when it speaks; the server hears nothing of it."""
    REPLY_LOST = "reply lost"
    """The server hears all and finishes; then the client is cut, without a word."""
    RESET = "reset"
    """The server hears the first piece; the client's connection is reset."""


@dataclass(frozen=True, slots=True)
class Weather:
    """What happens to connections: the plan to the first ones in order, chance to the rest.

    A fault strikes when the client speaks for the `turn`-th time: 1 is right for HTTP, where a push is a
    connection of its own; 2 for git://, where the server's list of refs comes first.
    """

    delay: float = 0.0
    request_lost: float = 0.0
    reply_lost: float = 0.0
    reset: float = 0.0
    seed: int = 0
    turn: int = 1
    plan: Sequence[Fault] = ()


Request = socket.socket | tuple[bytes, socket.socket]
CALM = Weather()
# A server that waits for an answer to what was swallowed would wait for ever.
SILENCE_SECONDS = 2.0


class Proxy(socketserver.ThreadingTCPServer):
    """Open it with `proxy`; `faults` is what each connection so far has met."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, weather: Weather) -> None:
        self.upstream, self.weather = (host, port), weather
        self.faults: list[Fault] = []
        self._random, self._lock = random.Random(weather.seed), threading.Lock()
        super().__init__(("127.0.0.1", 0), _Connection)

    @property
    def port(self) -> int:
        port: int = self.socket.getsockname()[1]
        return port

    def draw(self) -> Fault:
        with self._lock:
            position = len(self.faults)
            fault = self.weather.plan[position] if position < len(self.weather.plan) else self._chance()
            self.faults.append(fault)
            return fault

    def _chance(self) -> Fault:
        dice, weather = self._random.random(), self.weather
        chances = (weather.request_lost, weather.reply_lost, weather.reset)
        for fault, chance in zip((Fault.REQUEST_LOST, Fault.REPLY_LOST, Fault.RESET), chances, strict=True):
            if dice < chance:
                return fault
            dice -= chance
        return Fault.NONE

    def handle_error(self, request: Request, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def proxy(host: str, port: int, weather: Weather = CALM) -> Iterator[Proxy]:
    with Proxy(host, port, weather) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


@contextmanager
def black_hole() -> Iterator[int]:
    """A port that accepts connections, as the system does for a listener, and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        port: int = listener.getsockname()[1]
        yield port


class _Connection(socketserver.BaseRequestHandler):
    server: Proxy

    def handle(self) -> None:
        fault = self.server.draw()
        time.sleep(self.server.weather.delay)
        with socket.create_connection(self.server.upstream) as upstream:
            _carry(self.request, upstream, fault, self.server.weather.turn)


def _carry(client: socket.socket, upstream: socket.socket, fault: Fault, turn: int) -> None:
    """Passes pieces on until both sides have ended or the fault has struck."""
    turns, speaker, talking = 0, upstream, [client, upstream]
    while talking:
        swallows = fault is Fault.REPLY_LOST and turns >= turn
        heard = select.select(talking, [], [], SILENCE_SECONDS if swallows else None)[0]
        if not heard:
            return
        for source in heard:
            piece = source.recv(65536)
            if source is client and speaker is not client:
                turns += 1
            speaker = source
            struck = fault if turns >= turn else Fault.NONE
            if not piece:
                talking.remove(source)
            goes_on = _pass_from_client if source is client else _pass_to_client
            if not goes_on(client, upstream, piece, struck):
                return


def _pass_from_client(client: socket.socket, upstream: socket.socket, piece: bytes, struck: Fault) -> bool:
    if piece and struck is Fault.REQUEST_LOST:
        return False
    _pass(piece, upstream)
    if piece and struck is Fault.RESET:
        # A linger of zero seconds turns the close into a reset.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        return False
    return True


def _pass_to_client(client: socket.socket, upstream: socket.socket, piece: bytes, struck: Fault) -> bool:
    if struck is Fault.REPLY_LOST:
        # The server has finished when it hangs up; until then the client may still be sending.
        return bool(piece)
    _pass(piece, client)
    return True


def _pass(piece: bytes, target: socket.socket) -> None:
    if piece:
        target.sendall(piece)
    else:
        target.shutdown(socket.SHUT_WR)
