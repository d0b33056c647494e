"""Real git servers on loopback for a server of the test house: a path, git://, smart HTTP and ssh.

Each listens on a port of the system's choice and runs one process for each connection, as under inetd.
"""

from __future__ import annotations

import atexit
import functools
import http.server
import os
import pwd
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Never

import pytest

from tests.places import Server, run_git

Request = socket.socket | tuple[bytes, socket.socket]
TRANSPORTS = ("path", "git", "http", "ssh")


@dataclass(frozen=True, slots=True)
class Transport:
    """How a client reaches a server: the environment is to be added to the client's."""

    name: str
    url: str
    environment: dict[str, str] = field(default_factory=dict)


@contextmanager
def serve(name: str, server: Server) -> Iterator[Transport]:
    """Serves the repository by one of TRANSPORTS."""
    with {"path": path, "git": git_daemon, "http": http_backend, "ssh": ssh}[name](server) as transport:
        yield transport


@contextmanager
def path(server: Server) -> Iterator[Transport]:
    yield Transport("path", str(server.path))


@contextmanager
def git_daemon(server: Server) -> Iterator[Transport]:
    needs(_exec_path() / "git-daemon", "git")
    options = ["--inetd", "--export-all", "--enable=receive-pack", "--informative-errors"]
    command = ["git", "daemon", *options, "--log-destination=none", f"--base-path={server.path.parent}"]
    with _listening(_Inetd, command, os.environ) as port:
        yield Transport("git", f"git://127.0.0.1:{port}/{server.path.name}")


@contextmanager
def http_backend(server: Server) -> Iterator[Transport]:
    needs(_exec_path() / "git-http-backend", "git")
    root = {"GIT_PROJECT_ROOT": str(server.path.parent), "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "person"}
    with _listening(_Cgi, ["git", "http-backend"], {**os.environ, **root}) as port:
        yield Transport("http", f"http://127.0.0.1:{port}/{server.path.name}")


@contextmanager
def ssh(server: Server) -> Iterator[Transport]:
    sshd = needs(_find("sshd"), "openssh-server")
    needs(_find("ssh"), "openssh-client")
    directory = _ssh_directory()
    with tempfile.NamedTemporaryFile("w", dir=directory) as settings:
        settings.write(_sshd_settings(directory))
        settings.flush()
        with _listening(_Inetd, [str(sshd), "-i", "-f", settings.name], os.environ) as port:
            command = f"ssh -F '{directory / 'ssh_config'}'"
            yield Transport("ssh", f"ssh://127.0.0.1:{port}{server.path}", {"GIT_SSH_COMMAND": command})


def needs(program: Path, package: str) -> Path:
    """The program; without it a skip that says what to install, and in CI, where all is there, a failure."""
    if program.is_absolute() and program.exists():
        return program
    _missing(f"needs {program.name}: install {package}")


def _missing(reason: str) -> Never:
    if os.environ.get("GIT_CLAIM_CI") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _find(program: str) -> Path:
    return Path(shutil.which(program, path=f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin") or program)


@functools.cache
def _exec_path() -> Path:
    return Path(run_git(Path("/"), "--exec-path").stdout.strip())


@functools.cache
def _ssh_directory() -> Path:
    """Keys for both sides and the client's settings, made once a process."""
    directory = Path(tempfile.mkdtemp(prefix="git-claim-ssh-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    for key in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / key)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    (directory / "user.pub").rename(directory / "authorized_keys")
    host_key = (directory / "host.pub").read_text()
    (directory / "known_hosts").write_text(f"loopback {host_key}")
    # Not getpass: it believes LOGNAME, sshd does not.
    user = pwd.getpwuid(os.geteuid()).pw_name
    (directory / "ssh_config").write_text(SSH_CONFIG.format(directory=directory, user=user))
    return directory


# The default key exchange costs 100 ms more.
SSH_CONFIG = """\
User {user}
IdentityFile {directory}/user
IdentitiesOnly yes
IdentityAgent none
UserKnownHostsFile {directory}/known_hosts
GlobalKnownHostsFile none
HostKeyAlias loopback
StrictHostKeyChecking yes
BatchMode yes
KexAlgorithms curve25519-sha256
"""

SSHD_CONFIG = """\
HostKey {directory}/host
AuthorizedKeysFile {directory}/authorized_keys
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
PermitRootLogin yes
PidFile none
PrintMotd no
PrintLastLog no
AcceptEnv GIT_PROTOCOL
SetEnv {environment}
"""
KEPT_BY_SSHD = ("HOME", "PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")


def _sshd_settings(directory: Path) -> str:
    if os.geteuid() == 0:
        # As root sshd insists on this directory, which the package makes only when the service starts.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    kept = " ".join(f'"{name}={os.environ[name]}"' for name in KEPT_BY_SSHD if name in os.environ)
    return SSHD_CONFIG.format(directory=directory, environment=kept)


class _Listener(socketserver.ThreadingTCPServer):
    """Runs a command for each connection; close ends every process that still runs."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler: type[_Inetd | _Cgi], command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._lock, self._children, self._open = threading.Lock(), set[subprocess.Popen[bytes]](), True
        super().__init__(("127.0.0.1", 0), handler)

    @contextmanager
    def child(
        self, stdin: int | IO[bytes], stdout: int, extra: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        with self._lock:
            if not self._open:
                raise ConnectionError("the server is closed")
            child = subprocess.Popen(
                self._command,
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                env={**self._environment, **(extra or {})},
                start_new_session=True,
            )
            self._children.add(child)
        with child:
            yield child
        with self._lock:
            self._children.discard(child)

    def end_children(self) -> None:
        with self._lock:
            self._open = False
            for child in self._children:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)

    def handle_error(self, request: Request, client_address: object) -> None:
        # A client that was cut is what many tests are about.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def _listening(handler: type[_Inetd | _Cgi], command: Sequence[str], environment: Mapping[str, str]) -> Iterator[int]:
    with _Listener(handler, command, environment) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield listener.server_address[1]
        finally:
            listener.shutdown()
            thread.join()
            listener.end_children()


class _Inetd(socketserver.BaseRequestHandler):
    """The connection is the command's standard input and output."""

    server: _Listener

    def handle(self) -> None:
        connection = self.request.fileno()
        with self.server.child(connection, connection):
            pass


class _Cgi(http.server.BaseHTTPRequestHandler):
    """The request goes to the command as RFC 3875 says, its answer back."""

    server: _Listener
    # Not 1.0: curl sends no chunked body to a server that is older.
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_GET

    def _answer(self) -> None:
        self.close_connection = True
        with tempfile.TemporaryFile() as body:
            self._spool(body)
            variables = self._variables(body.tell())
            body.seek(0)
            with self.server.child(body, subprocess.PIPE, variables) as child:
                assert child.stdout is not None
                self._reply(child.stdout)

    def _variables(self, length: int) -> dict[str, str]:
        address, _, query = self.path.partition("?")
        return {
            "REQUEST_METHOD": self.command,
            "PATH_INFO": urllib.parse.unquote(address),
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": self.client_address[0],
        }

    def _spool(self, body: IO[bytes]) -> None:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                body.write(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
        else:
            body.write(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def _reply(self, answer: IO[bytes]) -> None:
        headers = [line.decode().strip() for line in iter(answer.readline, b"\r\n") if line]
        fields = dict(header.split(": ", 1) for header in headers)
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        shutil.copyfileobj(answer, self.wfile)

    def log_message(self, format: str, *arguments: object) -> None:
        pass
