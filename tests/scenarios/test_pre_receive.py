"""The wall: `hooks/pre-receive` on a server of one's own, by ssh and HTTP, with every command and with plain pushes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_claims.protocol.item import of_branch
from tests.agents import ROOT, Answer
from tests.forked import ForkedAgent
from tests.places import ABSENT, CLAIMS, PERSON, Clone, Server
from tests.scenarios.conftest import MakeForked
from tests.scenarios.oracle import history, holders, told
from tests.transports import Transport, serve

HOOK = ROOT / "hooks/pre-receive"
CLAIM = "refs/claims/issue-42"


def guard(server: Server, *, options: bool = True) -> Server:
    shutil.copyfile(HOOK, server.path / "hooks/pre-receive")
    (server.path / "hooks/pre-receive").chmod(0o755)
    server.git("config", "receive.advertisePushOptions", str(options).lower())
    return server


@pytest.fixture
def guarded(server: Server) -> Server:
    """A server with the hook that takes push options."""
    return guard(server)


@pytest.fixture(params=["ssh", "http"])
def transport(request: pytest.FixtureRequest, server: Server) -> Iterator[Transport]:
    with serve(request.param, server) as served:
        yield served


def push(agent: ForkedAgent, *words: str) -> Answer:
    """A plain `git push`."""
    done = agent.clone.git("push", *words, check=False, environment=agent.full_environment())
    return Answer(done.returncode, done.stdout, done.stderr)


def lane_of(agent: ForkedAgent, item: str) -> ForkedAgent:
    path = Path(agent.claim("start", item, check=0).stdout.strip())
    lane = ForkedAgent(Clone(path, agent.clone.server, linked=True), None, agent.environment)
    lane.clone.commit("work")
    return lane


def branches(server: Server) -> set[str]:
    return {ref.removeprefix("refs/heads/") for ref in server.refs("refs/heads/")} - {"main"}


# The commands


# Over 3 s over ssh: a dozen commands, each of which is a handshake or two.
def test_commands_work_against_a_guarded_server(transport: Transport, server: Server, make_forked: MakeForked) -> None:
    guard(server)
    agent, other = make_forked(transport), make_forked(transport)
    lane = lane_of(agent, "42")
    lane.claim("push", check=0)
    assert branches(server) == {"42-work"}
    assert other.claim("42").status == 1
    lane.claim("renew", check=0)
    lane.claim("hand-off", "--to", "chain-agent-2", check=0)
    other.claim("adopt", "42", "--from", "chain-agent-1", "--phase", "review")
    assert holders(server) == {"issue-42": "chain-agent-2"}
    assert lane.claim("push").status == 1
    other.claim("release", "42", check=0)
    assert (server.refs(), branches(server)) == ({}, {"42-work"})
    assert history(server, "issue-42")[-1] == ABSENT


def test_bundle_is_taken_pushed_for_and_released(guarded: Server, runner: ForkedAgent) -> None:
    lane = lane_of(runner, "42")
    lane.claim("42", "--bundle", "43", check=0)
    lane.claim("push", check=0)
    lane.claim("release", "42", check=0)
    assert (guarded.refs(), branches(guarded)) == ({}, {"42-work"})


def test_person_reclaims_and_doctor_probes(guarded: Server, runner: ForkedAgent) -> None:
    guarded.plant_claim("issue-42", "chain-gone")
    runner.clone.config("claim.allowReclaimWithoutTerminal", "true")
    runner.claim("reclaim", "42", check=0)
    assert guarded.refs() == {}
    # What it tries is allowed, and gone again.
    assert "failure" not in runner.claim("doctor").stdout
    assert guarded.refs() == {}


def test_take_over_is_told_by_the_record(guarded: Server, runner: ForkedAgent) -> None:
    guarded.plant_claim("issue-42", "chain-gone")
    (runner.clone.path / ".claims.toml").write_text('take.force = "allow"\n')
    runner.claim("42", "--force", "--reason", "gone", check=0)
    assert holders(guarded) == {"issue-42": "chain-agent-1"}


def test_server_that_takes_no_options_lets_go_of_no_claim_and_says_what_is_missing(
    transport: Transport, server: Server, make_forked: MakeForked
) -> None:
    guard(server, options=False)
    lane = lane_of(make_forked(transport), "42")
    lane.claim("push", check=0)
    lane.claim("renew", check=0)
    answer = lane.claim("release", "--json")
    assert (answer.status, told(answer)) == (128, {"issue-42": "refused"}), answer
    assert holders(server) == {"issue-42": "chain-agent-1"}
    assert "use 'git claim release', once this server sets receive.advertisePushOptions" in answer.stderr
    lane.claim("hand-off", "--to", "chain-next", check=0)
    assert holders(server) == {"issue-42": "chain-next"}


def test_checked_push_shows_the_claim_where_nothing_is_atomic(guarded: Server, runner: ForkedAgent) -> None:
    lane = lane_of(runner, "42")
    guarded.git("config", "receive.advertiseAtomic", "false")
    assert lane.claim("push").status == 128
    assert lane.claim("push", "--checked").status == 0
    assert branches(guarded) == {"42-work"}


def test_claims_in_the_other_namespace_are_guarded_too(guarded: Server, runner: ForkedAgent) -> None:
    (runner.clone.path / ".claims.toml").write_text('namespace = "refs/heads/claims"\n')
    runner.clone.git("switch", "--quiet", "-c", "42-x")
    runner.claim("42", check=0)
    runner.claim("push", check=0)
    assert branches(guarded) == {"42-x", "claims/issue-42"}
    assert push(runner, "origin", ":refs/heads/claims/issue-42").status == 1
    runner.claim("release", "42", check=0)
    assert branches(guarded) == {"42-x"}


# Plain pushes


def test_plain_push_of_an_unclaimed_branch_is_refused(
    transport: Transport, server: Server, make_forked: MakeForked
) -> None:
    guard(server)
    agent = make_forked(transport)
    answer = push(agent, "origin", "HEAD:refs/heads/42-x")
    assert (answer.status, branches(server)) == (1, set())
    assert "refused: branch '42-x' names issue-42, which nobody has claimed; 'git claim' claims it" in answer.stderr
    assert push(agent, "origin", "HEAD:refs/heads/wip", "HEAD:refs/tags/42-x").status == 0


def test_plain_push_of_a_claimed_branch_needs_the_claim_shown(guarded: Server, runner: ForkedAgent) -> None:
    runner.claim("42", check=0)
    theirs = guarded.plant_claim("issue-43", "chain-rival")
    oid = guarded.refs()[CLAIM]
    for words in ((), ("-o", "claim="), ("-o", f"claim={oid[:12]}"), ("-o", f"claim={theirs}"), ("-o", f"x={oid}")):
        answer = push(runner, *words, "origin", "HEAD:refs/heads/42-x")
        assert (answer.status, branches(guarded)) == (1, set()), words
        assert "refused: branch '42-x' belongs to 'chain-agent-1'; push it with 'git claim push'" in answer.stderr
    assert push(runner, "-o", "a b", "-o", f"claim={oid}", "origin", "HEAD:refs/heads/42-x").status == 0
    assert branches(guarded) == {"42-x"}


def test_one_refused_ref_refuses_the_whole_push(guarded: Server, runner: ForkedAgent) -> None:
    runner.claim("42", check=0)
    before = guarded.refs("refs/")
    shown = f"claim={guarded.refs()[CLAIM]}"
    answer = push(runner, "-o", shown, "origin", "HEAD:refs/heads/42-x", "HEAD:refs/heads/43-x", "HEAD:refs/heads/wip")
    assert (answer.status, guarded.refs("refs/")) == (1, before)


def test_branch_that_is_deleted_belongs_to_nobody(guarded: Server, runner: ForkedAgent) -> None:
    guarded.plant("refs/heads/42-x", guarded.refs("refs/heads/")["refs/heads/main"])
    assert push(runner, "origin", ":refs/heads/42-x").status == 0


def test_mirror_push_wipes_no_claim(transport: Transport, server: Server, make_forked: MakeForked) -> None:
    guard(server)
    before = {CLAIMS + name: server.plant_claim(name, f"chain-{name}") for name in ("issue-42", "pr-7")}
    answer = push(make_forked(transport), "--mirror", "origin")
    assert (answer.status, server.refs()) == (1, before)
    for name in ("issue-42", "pr-7"):
        assert f"refused: refs/claims/{name} is deleted only by its holder, 'chain-{name}'" in answer.stderr


def test_claims_of_others_are_neither_replaced_nor_deleted_by_hand(guarded: Server, runner: ForkedAgent) -> None:
    planted = guarded.plant_claim("issue-42", "chain-rival")
    guarded.plant_claim("issue-9", "chain-agent-1")
    runner.claim("ls", check=0)
    for source in ("", "HEAD", "refs/claims/issue-9"):
        answer = push(runner, "--force", "origin", f"{source}:{CLAIM}")
        assert (answer.status, guarded.refs()[CLAIM]) == (1, planted), answer
        assert "only by its holder, 'chain-rival'" in answer.stderr


def test_holder_that_lost_its_claim_pushes_nothing_more(guarded: Server, runner: ForkedAgent) -> None:
    lane = lane_of(runner, "42")
    shown = f"claim={guarded.refs()[CLAIM]}"
    planted = guarded.plant_claim("issue-42", "chain-rival")
    assert push(lane, "-o", shown, "origin", "HEAD").status == 1
    assert push(lane, "-o", shown, "origin", f":{CLAIM}").status == 1
    assert lane.claim("push").status == 1
    assert (branches(guarded), guarded.refs()) == (set(), {CLAIM: planted})


def test_record_that_steers_the_terminal_is_quoted_without_doing_so(guarded: Server, runner: ForkedAgent) -> None:
    guarded.plant_bytes("issue-42", b"issue=42\nchain=a\x1b[31m'; rm -rf $HOME `id`\n")
    answer = push(runner, "origin", "HEAD:refs/heads/42-x")
    assert answer.status == 1
    assert "belongs to 'a31mrm-rfHOMEid'" in answer.stderr


# Which branches name an item: the shell is held to what the program says


def judged(server: Server, *names: str) -> dict[str, str]:
    """What the hook calls the item of each branch that it refuses."""
    commit = server.refs("refs/heads/")["refs/heads/main"]
    lines = "".join(f"{ABSENT} {commit} refs/heads/{name}\n" for name in names)
    hook = subprocess.run(
        ["sh", str(HOOK)],
        cwd=server.path,
        env={**os.environ, "GIT_DIR": "."},
        input=lines,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert hook.returncode == (1 if hook.stderr else 0)
    return dict(re.findall(r"refused: branch '(.*)' names (\S+), which nobody", hook.stderr))


NAMES = [
    "42-x",
    "042-x",
    "0-day",
    "000-x",
    "42",
    "42-",
    "42-a/b",
    "a/42-b",
    "x-42-y",
    "2fa-login",
    "main",
    "42-x.y",
    "4-2-x",
    "PROJ-7-x",
    "PROJ-007-x",
    "PROJ-0-x",
    "proj-7-x",
    "A_B2-3-q",
    "P-1",
    "PR-5-x",
    "ISSUE-7-x",
    "PROBE-3-x",
    "RELEASE-2-x",
    "feature/42/x",
    "feature/PROJ-7/x-y",
    "feature/42",
    "feature/42/x/y",
    "fix.42",
    "fixx42",
    "a-b.PROJ-7",
    "issue-42",
]


def as_the_program_says(pattern: str) -> dict[str, str]:
    items = {name: of_branch(pattern, name) for name in NAMES}
    return {name: item.name for name, item in items.items() if item is not None}


@pytest.mark.parametrize("pattern", ["{number}-{slug}", "feature/{number}/{slug}", "{slug}.{number}", "issue-{number}"])
def test_branch_names_the_item_that_the_program_reads_in_it(server: Server, pattern: str) -> None:
    server.git("config", "claim.branchPattern", pattern)
    assert judged(server, *NAMES) == as_the_program_says(pattern)


def commit_settings(server: Server, text: str) -> None:
    blob = server.git("hash-object", "-w", "--stdin", stdin=text.encode()).stdout.strip()
    tree = server.git("mktree", stdin=f"100644 blob {blob}\t.claims.toml\n".encode()).stdout.strip()
    server.plant("refs/heads/main", server.git(*PERSON, "commit-tree", "-m", "x", tree).stdout.strip())


@pytest.mark.parametrize(
    "text",
    [
        '[branch]\npattern = "feature/{number}/{slug}"\n',
        "branch.pattern='feature/{number}/{slug}'",
        '[branch]\n# pattern = "x"\n  pattern   =   "feature/{number}/{slug}" # so\n',
        'branch = { pattern = "feature/{number}/{slug}" }\n',
    ],
)
def test_pattern_is_read_from_the_default_branch(server: Server, text: str) -> None:
    commit_settings(server, text)
    assert judged(server, *NAMES) == as_the_program_says("feature/{number}/{slug}")


def test_pattern_in_the_servers_own_settings_comes_first(server: Server) -> None:
    commit_settings(server, '[branch]\npattern = "feature/{number}/{slug}"\n')
    server.git("config", "claim.branchPattern", "issue-{number}")
    assert judged(server, *NAMES) == {"issue-42": "issue-42"}


def test_keyed_item_with_leading_zeros_is_guarded_by_its_one_name(guarded: Server, runner: ForkedAgent) -> None:
    for number in ("PROJ-007", "0042"):
        runner.claim(number, check=0)
        runner.clone.git("switch", "--quiet", "-c", f"{number}-x")
        runner.claim("push", check=0)
    assert branches(guarded) == {"PROJ-007-x", "0042-x"}
    answer = push(runner, "origin", "HEAD:refs/heads/PROJ-7-y")
    assert answer.status == 1
    assert "belongs to 'chain-agent-1'" in answer.stderr
