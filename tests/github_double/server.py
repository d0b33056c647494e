"""GitHub on a unix socket: HTTP in front of the world, the moods in between, every request remembered."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from tests.github_double import rest
from tests.github_double.execution import Execution, is_mutation
from tests.github_double.moods import LACKING, WHOLE_ANSWERS, HttpAnswer, Mood, Request, refused_fields, whole_answer
from tests.github_double.records import User, World, now
from tests.github_double.views import Views

HOURLY_POINTS = 5000
ENTERPRISE_PREFIXES = ("/api/v3/", "/api/")
TOKEN = "token-"
LOST = HttpAnswer(0, None)


@dataclass(slots=True)
class Desk:
    """Where requests are answered, one at a time. `faults` are findings against whoever wrote test or double."""

    world: World = field(default_factory=World)
    moods: list[Mood] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    spent: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    stopping: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: Request) -> HttpAnswer:
        with self.lock:
            self.requests.append(request)
            moods = [mood for mood in self.moods if mood.strikes(request)]
        for mood in moods:
            if mood.name == "slow":
                self.stopping.wait(mood.seconds)
        with self.lock:
            answer = self._answer(request, moods)
        request.status = answer.status
        return answer

    def _answer(self, request: Request, moods: list[Mood]) -> HttpAnswer:
        names = {mood.name for mood in moods}
        if "hung-up" in names:
            return LOST
        for mood in moods:
            if mood.name in WHOLE_ANSWERS:
                return whole_answer(mood)
        if request.host == rest.LOG_HOST:
            # Reached by a redirect, and by whoever has its address: gh sends no token to another host.
            return HttpAnswer(200, rest.job_log(self.world, request.path), {"Content-Type": "text/plain"})
        viewer = self.world.users.get(request.login or "")
        if viewer is None:
            return HttpAnswer(401, {"message": "Bad credentials", "status": "401"})
        answer = self._usual(request, viewer, moods)
        return LOST if "answer-lost" in names else answer

    def _usual(self, request: Request, viewer: User, moods: list[Mood]) -> HttpAnswer:
        listed = next((mood.listed for mood in moods if mood.listed), self.world)
        is_settled = "unsettled" not in {mood.name for mood in moods}
        views = Views(self.world, listed, viewer, HOURLY_POINTS - self.spent[viewer.login], is_settled)
        try:
            if request.path == "/graphql":
                return self._graphql(request, views, moods)
            found = rest.answer(views, request.method, request.path, request.body)
        except rest.UnknownRoute as unknown:
            self.faults.append(f"unknown route: {unknown}")
            return HttpAnswer(404, {"message": "Not Found", "status": "404"})
        return HttpAnswer(found.status, found.document, found.headers)

    def _graphql(self, request: Request, views: Views, moods: list[Mood]) -> HttpAnswer:
        refused = {name: refusal for mood in moods for name, refusal in refused_fields(mood).items()}
        lacking = frozenset[str]().union(*(LACKING.get(mood.name, frozenset()) for mood in moods))
        execution = Execution(views, lacking, refused)
        document = execution.answer(request.body)
        self.faults += [f"the double broke: {error!r}" for error in execution.broken]
        request.points, request.nodes = execution.cost.points, execution.cost.nodes
        self.spent[views.viewer.login] += request.points
        return HttpAnswer(200, document)


class GitHubServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, socket: Path, desk: Desk) -> None:
        super().__init__(str(socket), Handler)
        self.desk = desk


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing: the requests are remembered."""

    def do_GET(self) -> None:
        assert isinstance(self.server, GitHubServer)
        answer = self.server.desk.answer(self._request())
        self.close_connection = True
        # gh hangs up on its own when its deadline passed, and right after the head of a 204.
        with suppress(BrokenPipeError, ConnectionResetError):
            if answer.status:
                self._send(answer)

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

    def _request(self) -> Request:
        path = unquote(self.path.partition("?")[0])
        for prefix in ENTERPRISE_PREFIXES:
            if path.startswith(prefix):
                path = path.removeprefix(prefix[:-1])
                break
        text = self._body()
        body: object = json.loads(text) if text.strip() else {}
        assert isinstance(body, dict)
        mutates = is_mutation(str(body.get("query", ""))) if path == "/graphql" else self.command != "GET"
        words = self.headers.get("Authorization", "").split()
        login = words[-1].removeprefix(TOKEN) if words and words[-1].startswith(TOKEN) else None
        return Request(login, self.command, self.headers.get("Host", ""), path, body, mutates)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _send(self, answer: HttpAnswer) -> None:
        is_text = isinstance(answer.document, str)
        text = str(answer.document) if is_text else json.dumps(answer.document)
        body = b"" if answer.document is None else text.encode()
        self.send_response(answer.status)
        reset = {"X-RateLimit-Reset": str(int(now().timestamp()) + 3600), "X-RateLimit-Remaining": "4900"}
        kind = "text/html" if is_text else "application/json; charset=utf-8"
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close"}
        for name, value in {**headers, **reset, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
