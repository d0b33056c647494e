"""A remote that is down, silent or wants a password: nobody knows who holds what, and it is never said to be free."""

from __future__ import annotations

import fcntl
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.agents import Agent, at_terminal, finish
from tests.commands.telling import block, plant, shown
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent
from tests.places import Server
from tests.proxy import black_hole

DOWN = "fatal: '<path>' does not appear to be a git repository; fatal: Could not read from remote repository.; \
Please make sure you have the correct access rights; and the repository exists."


@pytest.fixture
def away(server: Server) -> Server:
    """The server, held by somebody and gone."""
    plant(server, "issue-42", "chain-agent-1")
    server.path.rename(server.path.with_name("away.git"))
    return server


@pytest.mark.parametrize(
    "words", ["ls", "ls --mine", "show 42", "check 42", "release 42", "release --all", "hand-off 42 --to chain-b"]
)
def test_remote_that_is_down_cannot_be_read(agent: ForkedAgent, away: Server, words: str) -> None:
    answer = agent.claim(*words.split())
    assert shown(answer) == block(f"""
        exit 3
        --- stdout
        --- stderr
        error: cannot read the claims of remote 'origin': {DOWN}
        hint: repeating is safe; 'git claim doctor' looks for the cause
        """)


@pytest.mark.parametrize("words", ["42", "42 --wait=1m", "42 43", "42 --bundle 43"])
def test_take_from_a_remote_that_is_down_is_unknown(agent: ForkedAgent, away: Server, words: str) -> None:
    answer = agent.claim(*words.split())
    text = shown(answer)
    assert text.startswith("exit 3\n--- stdout\n--- stderr\nerror: cannot tell what became of issue 'server#42': ")
    assert text.endswith("hint: repeating the command is safe; a claim that was won is found again by its chain\n")
    assert "free" not in text
    assert "not claimed" not in text


@pytest.mark.parametrize("words", ["ls", "42", "release 42", "show 42", "check 42", "renew 42", "adopt 42 --from x"])
def test_unknown_is_a_code_of_its_own(agent: ForkedAgent, away: Server, words: str) -> None:
    answer = agent.claim(*words.split(), "--json")
    assert (answer.status, answer.at("ok")) == (3, False)
    assert '"reason": "cannot-tell"' in answer.stdout
    assert "not-claimed" not in answer.stdout


def test_claim_that_may_have_been_won_is_found_again(agent: ForkedAgent, server: Server) -> None:
    agent.claim("42", check=0)
    server.path.rename(server.path.with_name("away.git"))
    assert agent.claim("42").status == 3
    server.path.with_name("away.git").rename(server.path)
    assert shown(agent.claim("42")).splitlines()[2] == "server#42 is already yours since <time> (<age>)"


# Over 3 s: a silent network ends only by the clock, and a take asks twice.
def test_silence_ends_by_the_deadline_for_every_command(make_agent: MakeAgent) -> None:
    commands = ["ls", "show 42", "check 42", "42", "release 42", "renew 42"]
    with black_hole() as port:
        agents = [make_agent(url=f"http://127.0.0.1:{port}/ledger.git") for _ in commands]
        for agent in agents:
            agent.clone.config("claim.timeout", "2s")
        running = [agent.start(*words.split()) for agent, words in zip(agents, commands, strict=True)]
        answers = dict(zip(commands, [finish(process) for process in running], strict=True))
    assert {words: answer.status for words, answer in answers.items()} == dict.fromkeys(commands, 3)
    assert shown(answers["check 42"]) == block("""
        exit 3
        --- stdout
        --- stderr
        error: cannot read the claims of remote 'origin': no answer before the deadline
        hint: repeating is safe; 'git claim doctor' looks for the cause
        """)
    assert "no answer before the deadline" in shown(answers["42"])


@contextmanager
def asking_for_a_password() -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="ledger"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield listening.server_port
        listening.shutdown()
        thread.join()


def test_nobody_is_asked_for_a_password_even_at_a_terminal(make_agent: MakeAgent) -> None:
    with asking_for_a_password() as port:
        agent = make_agent(url=f"http://127.0.0.1:{port}/ledger.git")
        agent.environment["GIT_TERMINAL_PROMPT"] = "1"
        answer = at_terminal(agent, "check", "42", answers="octocat\nsecret\n")
    assert shown(answer) == block("""
        exit 3
        --- stdout
        --- stderr
        error: cannot read the claims of remote 'origin': \
fatal: could not read Username for 'http://127.0.0.1:<port>': terminal prompts disabled
        hint: repeating is safe; 'git claim doctor' looks for the cause
        """)


def test_ssh_cannot_ask_at_a_terminal_either(agent: Agent) -> None:
    # As ssh does for a passphrase: past its standard streams, at the terminal of its session.
    agent.environment["GIT_SSH_COMMAND"] = "sh -c '(echo passphrase? >/dev/tty) 2>/dev/null && exit 7; exit 8'"
    agent.clone.config("remote.origin.url", "ssh://127.0.0.1/ledger.git")
    answer = at_terminal(agent, "check", "42", answers="secret\n")
    assert answer.status == 3
    assert "passphrase?" not in shown(answer)


def test_credentials_in_a_url_are_not_said(agent: Agent) -> None:
    agent.clone.config("remote.origin.url", "http://octocat:secret@127.0.0.1:1/ledger.git")
    for words in ("ls", "42", "doctor", "ls --json", "42 --json", "doctor --json"):
        answer = agent.claim(*words.split())
        assert answer.status != 0
        assert "secret" not in answer.stdout + answer.stderr


def test_busy_copy_is_unknown_and_not_waited_for_for_ever(agent: ForkedAgent) -> None:
    agent.clone.config("claim.timeout", "1s")
    agent.claim("ls", check=0)
    with (agent.clone.path / ".git/git-claim/lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = agent.claim("ls")
    assert shown(answer) == block("""
        exit 3
        --- stdout
        --- stderr
        error: another 'git claim' in this clone is still reading the remote
        hint: repeating is safe
        """)
