"""The test house itself: its servers, moods, networks, races and crashes do what they say. No product in here."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents import MODES, Agent, Answer, Crasher, Mode, at_terminal, crash, each_crash, normalise, race
from tests.conftest import hermetic
from tests.places import ABSENT, Clone, Move, Server, make_clone, read_transcript
from tests.proxy import Fault, Weather, black_hole, proxy
from tests.transports import TRANSPORTS, needs, serve

FORTY_TWO = "refs/claims/issue-42"


def push(clone: Clone, oid: str, ref: str = FORTY_TWO, lease: str = "", **environment: str) -> Answer:
    """A claim push as the protocol has it; an empty id deletes."""
    options = ["--porcelain", f"--force-with-lease={ref}:{lease}"]
    answer = clone.git("push", *options, "origin", f"{oid}:{ref}", check=False, environment=environment)
    return Answer(answer.returncode, answer.stdout, answer.stderr)


# Places


def test_clone_is_clean_and_knows_its_server(clone: Clone, server: Server) -> None:
    assert clone.git("status", "--porcelain", "--branch").stdout == "## main...origin/main\n"
    assert clone.git("remote", "get-url", "origin").stdout.strip() == server.url
    assert clone.worktree("lane").linked


@pytest.mark.parametrize("options", [("--filter=blob:none",), ("--depth=1",), ("--bare",)])
def test_clone_with_options_is_a_real_clone(server: Server, tmp_path: Path, options: tuple[str, ...]) -> None:
    clone = make_clone(server, tmp_path, "real", None, *options)
    assert clone.git("log", "--format=%s", "main").stdout == "first\n"


def test_throw_away_repository_comes_from_pytest_git(repository: Clone, tmp_path: Path) -> None:
    assert repository.commit("only") == repository.git("rev-parse", "main").stdout.strip()
    assert repository.path.is_relative_to(tmp_path)


def test_planted_claim_reads_as_a_shell_script_reads_it(server: Server) -> None:
    oid = server.plant_claim("issue-42", "chain-blade-1", host="blade", branch="42-fix")
    assert server.refs() == {FORTY_TWO: oid}
    assert re.sub(r"nonce=[0-9a-f]{32}", "nonce=…", server.claim_text("issue-42")) == (
        "issue=42\nrepo=acme/ledger\nchain=chain-blade-1\nhost=blade\n"
        "claimed_at=2026-11-30T13:06:00Z\nnonce=…\nbranch=42-fix\n"
    )


def test_planted_bytes_arrive_as_they_are(server: Server) -> None:
    server.plant_bytes("issue-42", b"\xff\r\n\0")
    assert server.git("cat-file", "blob", f"{FORTY_TWO}:claim").stdout == "\udcff\r\n\0"


# The transcript


def test_transcript_names_the_true_old_id_whatever_the_caller_expected(server: Server) -> None:
    first, second = server.plant_claim("issue-42", "chain-a"), server.plant_claim("issue-42", "chain-b")
    server.pack()
    server.plant(FORTY_TWO, None)
    moves = [Move(ABSENT, first, FORTY_TWO), Move(first, second, FORTY_TWO), Move(second, ABSENT, FORTY_TWO)]
    assert server.transcript()[1:] == moves
    assert server.chain_of(FORTY_TWO) == [first, second, ABSENT]


def test_transcript_of_eight_concurrent_pushers_is_one_order(server: Server, tmp_path: Path) -> None:
    clones = [make_clone(server, tmp_path, f"clone-{number}") for number in range(8)]

    def push_four_times(clone: Clone) -> list[str]:
        oids = [clone.commit(f"{clone.path.name} {turn}") for turn in range(4)]
        return [oid for oid in oids if push_over(clone, oid).returncode == 0]

    with ThreadPoolExecutor(8) as pool:
        won = [oid for oids in pool.map(push_four_times, clones) for oid in oids]
    assert len(won) > 1
    assert sorted(server.chain_of(FORTY_TWO)) == sorted(won)


def push_over(clone: Clone, oid: str) -> subprocess.CompletedProcess[str]:
    return clone.git("push", "--force", "--quiet", "origin", f"{oid}:{FORTY_TWO}", check=False)


def test_move_whose_server_died_is_judged_by_what_came_after() -> None:
    lines = ["prepared 1 - aa r", "prepared 2 - bb r", "committed 2", "prepared 3 bb cc r"]
    assert read_transcript(lines, {"r": "cc"}) == [Move("00", "bb", "r"), Move("bb", "cc", "r")]
    assert read_transcript(lines, {"r": "bb"}) == [Move("00", "bb", "r")]


# Moods


def test_rival_in_the_gap_wins_once_for_its_ref_only(server: Server, clone: Clone) -> None:
    server.rival_in_the_gap("issue-42", "chain-rival")
    other = push(clone, clone.commit("other"), "refs/claims/issue-420")
    answer = push(clone, clone.commit("mine"))
    assert (other.status, answer.status) == (0, 1)
    assert "[remote rejected] (failed to update ref)" in answer.stdout
    assert "chain=chain-rival\n" in server.claim_text("issue-42")


def test_rivals_come_as_often_as_they_were_told_also_at_once(server: Server, tmp_path: Path) -> None:
    clones = [make_clone(server, tmp_path, f"clone-{number}") for number in range(4)]
    server.killed_before(times=2)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(push_one_of_its_own, clones))
    assert sorted(answer.status for answer in answers) == [0, 0, 128, 128]
    assert len(server.refs()) == 2


def push_one_of_its_own(clone: Clone) -> Answer:
    return push(clone, clone.commit(clone.path.name), f"refs/claims/{clone.path.name}")


def test_reply_lost_is_a_win_that_looks_like_a_failure(server: Server, clone: Clone) -> None:
    server.reply_lost()
    oid = clone.commit("mine")
    answer = push(clone, oid)
    assert (answer.status, answer.stdout) == (128, "")
    assert server.refs() == {FORTY_TWO: oid}
    assert push(clone, clone.commit("next"), lease=oid).status == 0


def test_reply_torn_prints_the_win_and_fails(server: Server, clone: Clone) -> None:
    server.reply_torn()
    oid = clone.commit("mine")
    answer = push(clone, oid)
    assert answer.status == 1
    assert f"*\t{oid}:{FORTY_TWO}\t[new reference]\n" in answer.stdout
    assert server.refs() == {FORTY_TWO: oid}


def test_killed_before_looks_like_a_lost_reply_and_changed_nothing(server: Server, clone: Clone) -> None:
    server.killed_before()
    answer = push(clone, clone.commit("mine"))
    assert (answer.status, answer.stdout, server.refs()) == (128, "", {})
    assert push(clone, clone.commit("again")).status == 0


@pytest.mark.parametrize(
    ("mood", "reason"),
    [
        (lambda server: server.policy_refuses("refs/claims/issue-42"), "(hook declined)"),
        (lambda server: server.stuck_lock("issue-42"), "(failed to update ref)"),
        (lambda server: server.hide("receive"), "(deny updating a hidden ref)"),
    ],
    ids=["policy", "stuck lock", "hidden"],
)
def test_mood_refuses_until_calm(server: Server, clone: Clone, mood: Callable[[Server], None], reason: str) -> None:
    mood(server)
    refused = push(clone, clone.commit("mine"))
    server.calm()
    assert (refused.status, push(clone, clone.commit("again")).status) == (1, 0)
    assert f"[remote rejected] {reason}" in refused.stdout


def test_deletes_are_denied_and_nothing_else(server: Server, clone: Clone) -> None:
    server.deny_deletes_hook()
    oid = clone.commit("mine")
    assert push(clone, oid).status == 0
    assert "(hook declined)" in push(clone, "", lease=oid).stdout
    assert server.chain_of(FORTY_TWO) == [oid]


def test_hidden_from_readers_is_still_there(server: Server, clone: Clone) -> None:
    oid = server.plant_claim("issue-42", "chain-a")
    server.hide("upload")
    assert clone.git("ls-remote", "origin", "refs/claims/*").stdout == ""
    server.calm()
    assert clone.git("ls-remote", "origin", "refs/claims/*").stdout == f"{oid}\t{FORTY_TWO}\n"


def test_server_without_atomic_pushes_says_so(server: Server, clone: Clone) -> None:
    server.no_atomic()
    answer = clone.git("push", "--atomic", "origin", f"HEAD:{FORTY_TWO}", check=False)
    assert "does not support --atomic push" in answer.stderr


def test_slow_server_takes_its_time(server: Server, clone: Clone) -> None:
    server.slow(0.3)
    oid, began = clone.commit("mine"), time.monotonic()
    assert push(clone, oid).status == 0
    assert time.monotonic() - began > 0.3


# Transports and networks


@pytest.mark.parametrize("name", TRANSPORTS)
def test_transport_pushes_fetches_and_loses_replies(server: Server, tmp_path: Path, name: str) -> None:
    with serve(name, server) as transport:
        clone = make_clone(server, tmp_path, "clone", transport.url)
        won = push(clone, first := clone.commit("first"), **transport.environment)
        server.reply_lost()
        lost = push(clone, second := clone.commit("second"), lease=first, **transport.environment)
        clone.git("fetch", "origin", "+refs/claims/*:refs/claims/*", environment=transport.environment)
    assert won.status == 0
    assert (lost.status, "refs/claims" in lost.stdout) == (1 if name == "http" else 128, False)
    assert clone.refs() == {FORTY_TWO: second}
    assert server.chain_of(FORTY_TWO) == [first, second]


def test_http_takes_a_push_larger_than_its_buffer_in_chunks(server: Server, tmp_path: Path) -> None:
    with serve("http", server) as transport:
        clone = make_clone(server, tmp_path, "clone", transport.url)
        (clone.path / "ledger").write_bytes(os.urandom(300_000))
        clone.git("add", "ledger")
        clone.config("http.postBuffer", "65536")
        assert push(clone, clone.commit("large")).status == 0


def test_transport_without_its_program_skips_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIT_CLAIM_CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs sshd: install openssh-server"):
        needs(Path("sshd"), "openssh-server")
    monkeypatch.setenv("GIT_CLAIM_CI", "1")
    with pytest.raises(pytest.fail.Exception):
        needs(Path("sshd"), "openssh-server")


@pytest.mark.parametrize(
    ("fault", "applied"), [(Fault.REQUEST_LOST, False), (Fault.REPLY_LOST, True), (Fault.NONE, True)]
)
@pytest.mark.parametrize("name", ["git", "http"])
def test_proxy_loses_what_it_says(server: Server, tmp_path: Path, name: str, fault: Fault, applied: bool) -> None:
    # Over HTTP the list of refs is a connection of its own, and goes through.
    plan = [fault] if name == "git" else [Fault.NONE, fault]
    with serve(name, server) as transport:
        port = port_of(transport.url)
        with proxy("127.0.0.1", port, Weather(plan=plan, turn=3 - len(plan))) as network:
            clone = make_clone(server, tmp_path, "clone", transport.url.replace(str(port), str(network.port)))
            answer = push(clone, clone.commit("mine"))
    assert network.faults == plan
    assert (answer.status == 0, bool(server.refs())) == (fault is Fault.NONE, applied)


def test_proxy_resets_and_delays_by_chance(server: Server, clone: Clone) -> None:
    with (
        serve("git", server) as transport,
        proxy("127.0.0.1", port_of(transport.url), Weather(reset=1.0, delay=0.2)) as network,
    ):
        clone.config("remote.origin.url", f"git://127.0.0.1:{network.port}/server.git")
        began = time.monotonic()
        assert "Connection reset by peer" in clone.git("ls-remote", check=False).stderr
        assert (network.faults, time.monotonic() - began > 0.2) == ([Fault.RESET], True)


def port_of(url: str) -> int:
    return int(url.split(":")[2].partition("/")[0])


def test_black_hole_never_answers(clone: Clone) -> None:
    with black_hole() as port:
        options = ["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=1"]
        answer = clone.git(*options, "ls-remote", f"http://127.0.0.1:{port}/x.git", check=False)
    assert "Operation too slow" in answer.stderr


# Agents: a stand-in plays the product

STAND_IN = """\
import json, os, subprocess, sys, time
words = sys.argv[1:]
if words[0] == "commit":
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], start_new_session=True)
    pushed = subprocess.run(["git", "push", "-q", "origin", "HEAD:refs/claims/issue-42"], start_new_session=True)
    print(pushed.returncode)
elif words[0] == "ask":
    print(f"answered {input()!r}", open("/dev/tty").isatty(), sys.stderr.isatty(), sys.stdout.isatty())
    print("sure?", file=sys.stderr)
elif words[0] == "hang":
    time.sleep(60)
elif words[0] == "when":
    print(time.monotonic())
else:
    print(json.dumps({"chain": os.environ.get("GIT_CLAIM_CHAIN"), "words": words, "read": sys.stdin.read()}))
    print("bye", file=sys.stderr)
    sys.exit(3)
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> dict[str, str]:
    package = tmp_path / "stand-in" / "git_claims"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(STAND_IN)
    return {"PYTHONPATH": str(package.parent)}


@pytest.fixture
def actor(agent: Agent, stand_in: dict[str, str]) -> Agent:
    agent.environment |= stand_in
    return agent


def test_agent_answers_with_all_three(actor: Agent) -> None:
    answer = actor.claim("take", "42", stdin="typed", check=3)
    assert answer.at("words", 1) == "42"
    assert answer.transcript(chain=actor.chain or "") == (
        'exit 3\n--- stdout\n{"chain": "<chain>", "words": ["take", "42"], "read": "typed"}\n--- stderr\nbye\n'
    )
    with pytest.raises(AssertionError, match=r"git claim take: not exit 0\nexit 3"):
        actor.claim("take", check=0)


def test_agent_that_hangs_is_a_failure_that_says_so(actor: Agent) -> None:
    with pytest.raises(AssertionError, match=r"still running after 0\.3 s"):
        actor.claim("hang", timeout=0.3)


def test_race_releases_all_at_once(actor: Agent) -> None:
    moments = [float(answer.stdout) for answer in race([actor], "when", times=6)]
    assert max(moments) - min(moments) < 0.15


def test_person_at_a_terminal_is_asked_there(actor: Agent) -> None:
    answer = at_terminal(actor, "ask", answers="42\n")
    assert answer == Answer(0, "answered '42' True True False\n", "sure?\n")


def test_normalise_replaces_what_differs_from_run_to_run(tmp_path: Path) -> None:
    text = f"'{tmp_path}/x' {'a1' * 20} {'0f' * 16} chain-my.host-1782604800123456789-00ff00ff since 09:12 (2 h), now"
    assert normalise(text) == "'<path>' <oid> <nonce> <chain> since <time> (<age>), now"
    assert normalise("at 2026-11-30T13:06:00Z on blade", host="blade") == "at <time> on <host>"


# Crashes


@pytest.fixture
def place(make_place: Callable[[], Agent], stand_in: dict[str, str]) -> Callable[[], Agent]:
    def make() -> Agent:
        agent = make_place()
        agent.environment |= stand_in
        return agent

    return make


def test_crasher_counts_only_the_children_of_the_program(crasher: Crasher, place: Callable[[], Agent]) -> None:
    whole = crash(crasher, place(), 0, "before", "commit")
    assert (whole.answer.status, whole.answer.stdout) == (0, "0\n")
    assert [arguments[0] for arguments in crasher.arguments()] == ["commit", "push"]


@pytest.mark.parametrize("mode", MODES)
def test_crash_strikes_at_every_child_in_every_mode(crasher: Crasher, place: Callable[[], Agent], mode: Mode) -> None:
    crashes = list(each_crash(crasher, place, "commit", modes=[mode]))
    assert [crash.arguments[0] for crash in crashes] == ["commit", "push"]
    outcomes = [(crash.answer.status, len(crash.agent.clone.server.refs())) for crash in crashes]
    assert (
        outcomes
        == {
            "before": [(-9, 0), (-9, 0)],
            "after": [(-9, 0), (-9, 1)],
            "lost": [(0, 1), (0, 1)],
        }[mode]
    )
    assert crashes[-1].answer.stdout == ("128\n" if mode == "lost" else "")


# The environment


def test_environment_is_nobodys() -> None:
    person = {"PATH": "/bin", "GH_TOKEN": "secret", "GIT_DIR": "/x", "GIT_CLAIM_CHAIN": "mine", "https_proxy": "x"}
    made = hermetic(person | {"GIT_CLAIM_CI": "1", "LC_ALL": "de_DE"}, Path("/t/home"), Path("/t"))
    assert made["HOME"] == "/t/home"
    assert made["GIT_CLAIM_CI"] == "1"
    assert not {"GH_TOKEN", "GIT_DIR", "GIT_CLAIM_CHAIN", "https_proxy", "LC_ALL"} & made.keys()


def test_git_reaches_only_loopback_protocols(clone: Clone) -> None:
    answer = clone.git("ls-remote", "https://example.invalid/x.git", check=False)
    assert "transport 'https' not allowed" in answer.stderr


def test_folder_beside_a_clone_is_in_no_repository(clone: Clone, tmp_path: Path) -> None:
    lonely = Clone(tmp_path, clone.server)
    assert "not a git repository" in lonely.git("status", check=False).stderr


@given(st.integers())
def test_hypothesis_runs_in_the_hermetic_environment(number: int) -> None:
    assert (os.environ["TZ"], number + 0) == ("UTC", number)
