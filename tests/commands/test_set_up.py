"""`git claim whoami`, `init`, `doctor` and `demo`: what comes before the work."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.commands.telling import block, plant, shown
from tests.conftest import MakeAgent
from tests.forked import ForkedAgent, forked
from tests.places import Clone, Server

MINTED = re.compile(r"chain-[A-Za-z0-9-]+-\d{19}-[0-9a-f]{8}")


# whoami


def told(chain: str, source: str) -> str:
    return f"exit 0\n--- stdout\n{chain}\n--- stderr\nfrom: {source}\n"


def test_chain_is_looked_up_in_the_order_of_nearness(agent: ForkedAgent) -> None:
    lane = agent.clone.worktree("lane")
    agent.clone.config("claim.chain", "chain-config")
    ForkedAgent(lane, "chain-lane").claim("42", check=0)
    nearest = ForkedAgent(lane, "chain-variable").claim("whoami", "--chain", "chain-option")
    assert shown(nearest) == told("chain-option", "--chain")
    by_variable = ForkedAgent(lane, "chain-variable").claim("whoami")
    assert shown(by_variable) == told("chain-variable", "environment variable GIT_CLAIM_CHAIN")
    assert shown(ForkedAgent(lane).claim("whoami")) == told("chain-lane", "lane file of this worktree")
    assert shown(ForkedAgent(agent.clone).claim("whoami")) == told("chain-config", "git config claim.chain (local)")


def test_empty_variable_is_no_chain(nobody: ForkedAgent) -> None:
    assert shown(ForkedAgent(nobody.clone, "").claim("whoami")) == shown(nobody.claim("whoami"))


def test_nobody_is_told_how_to_become_somebody(nobody: ForkedAgent) -> None:
    assert shown(nobody.claim("whoami")) == block("""
        exit 1
        --- stdout
        --- stderr
        error: no chain is in force here
        hint: 'git claim 42' makes one and says how to keep it; \
alone in this clone, 'git claim whoami --mint --save' makes and keeps one
        """)


def test_minted_chain_is_new_each_time_and_kept_nowhere(nobody: ForkedAgent) -> None:
    first, second = nobody.claim("whoami", "--mint"), nobody.claim("whoami", "--mint")
    assert MINTED.fullmatch(first.stdout.strip())
    assert MINTED.fullmatch(second.stdout.strip())
    assert first.stdout != second.stdout
    assert first.stderr == "from: new\n"
    assert nobody.claim("whoami").status == 1


def test_saved_chain_is_in_force_in_this_clone_from_then_on(nobody: ForkedAgent, other: ForkedAgent) -> None:
    saved = nobody.claim("whoami", "--mint", "--save", check=0)
    assert saved.stderr == "from: git config claim.chain (local)\n"
    assert nobody.claim("whoami").stdout == saved.stdout
    assert nobody.clone.git("config", "--local", "claim.chain").stdout == saved.stdout
    assert ForkedAgent(other.clone).claim("whoami").status == 1


def test_saved_chain_is_never_replaced(nobody: ForkedAgent) -> None:
    saved = nobody.claim("whoami", "--mint", "--save", check=0).stdout.strip()
    over = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "claim.chain", "GIT_CONFIG_VALUE_0": "chain-passing"}
    for agent in (nobody, ForkedAgent(nobody.clone, None, over)):
        assert shown(agent.claim("whoami", "--mint", "--save")) == block("""
            exit 1
            --- stdout
            --- stderr
            error: this clone already keeps the chain '<chain>'
            hint: 'git claim ls --mine' shows what it holds; another chain for now goes into GIT_CLAIM_CHAIN
            """)
    assert nobody.claim("whoami").stdout.strip() == saved


def test_chain_that_is_saved_in_a_linked_worktree_is_everybodys(agent: ForkedAgent) -> None:
    lane = ForkedAgent(agent.clone.worktree("lane"))
    assert shown(lane.claim("whoami", "--mint", "--save")) == block("""
        exit 0
        --- stdout
        <chain>
        --- stderr
        warning: every worktree of this clone without a lane of its own uses this chain now
        from: git config claim.chain (local)
        """)


def test_save_goes_with_mint(agent: ForkedAgent) -> None:
    assert shown(agent.claim("whoami", "--save")) == block("""
        exit 2
        --- stdout
        --- stderr
        error: --save goes with --mint
        hint: 'git claim whoami -h' shows how it is used
        """)


@pytest.mark.parametrize("chain", ["-x", " x", "", "x\ny", "x" * 201], ids=repr)
def test_chain_that_could_not_stand_in_a_record_is_refused(agent: ForkedAgent, server: Server, chain: str) -> None:
    answer = agent.claim("42", f"--chain={chain}")
    assert (answer.status, server.refs()) == (2, {})
    assert shown(answer).splitlines()[3].startswith("error: --chain: a chain id ")


# init


def test_init_writes_the_settings_and_ignores_the_worktrees(agent: ForkedAgent) -> None:
    before = agent.clone.git("config", "--local", "--list").stdout
    answer = agent.claim("init")
    assert (agent.clone.path / ".claims.toml").read_text() == block("""
        # Settings of 'git claim' that everyone who works here must agree on; see git-claim(1).
        namespace = "refs/claims"
        remote = "origin"
        tracker = "auto"
        """)
    assert (agent.clone.path / ".gitignore").read_text() == ".worktrees/\n"
    assert agent.clone.git("config", "--local", "--list").stdout == before
    assert shown(answer) == block("""
        exit 0
        --- stdout
        wrote .claims.toml
        ignored .worktrees/
        --- stderr
        next: commit .claims.toml and .gitignore; 'git claim doctor' tries the remote
        """)


def test_init_again_changes_nothing(agent: ForkedAgent) -> None:
    (agent.clone.path / ".gitignore").write_text("*.pyc")
    agent.claim("init", check=0)
    written = [(agent.clone.path / name).read_text() for name in (".claims.toml", ".gitignore")]
    assert written[1] == "*.pyc\n.worktrees/\n"
    assert shown(agent.claim("init")) == block("""
        exit 0
        --- stdout
        .claims.toml is there already
        .worktrees/ is ignored already
        --- stderr
        next: commit .claims.toml and .gitignore; 'git claim doctor' tries the remote
        """)
    assert [(agent.clone.path / name).read_text() for name in (".claims.toml", ".gitignore")] == written


def test_init_does_not_move_a_namespace_that_is_in_use(agent: ForkedAgent) -> None:
    agent.claim("init", check=0)
    assert shown(agent.claim("init", "--namespace", "refs/heads/claims")) == block("""
        exit 128
        --- stdout
        --- stderr
        fatal: .claims.toml is there already and says namespace = refs/claims
        hint: changing it moves every claim; edit the file yourself when nobody holds any
        """)


def test_claims_live_where_the_settings_say(agent: ForkedAgent, server: Server) -> None:
    agent.claim("init", "--namespace", "refs/heads/claims", check=0)
    agent.claim("42", check=0)
    assert list(server.refs("refs/heads/claims/")) == ["refs/heads/claims/issue-42"]
    assert agent.claim("ls").stdout.splitlines()[1].split()[0] == "42"
    agent.claim("release", "42", check=0)
    assert server.refs("refs/heads/claims/") == {}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('namespace = "refs/elsewhere"', "1: 'namespace': must be one of refs/claims, refs/heads/claims"),
        ("\nnamespace = 3", "2: 'namespace' must be a string, not 3"),
        ('[take]\nforce = "always"', "2: 'take.force': must be one of terminal, allow, never"),
    ],
)
def test_setting_without_a_meaning_is_an_error_with_its_line(
    agent: ForkedAgent, server: Server, text: str, error: str
) -> None:
    (agent.clone.path / ".claims.toml").write_text(text)
    answer = agent.claim("42")
    assert server.refs() == {}
    assert shown(answer) == block(f"""
        exit 128
        --- stdout
        --- stderr
        fatal: .claims.toml:{error}
        hint: 'git help claim' says what each setting means
        """)


def test_setting_that_nobody_knows_is_a_warning(agent: ForkedAgent) -> None:
    (agent.clone.path / ".claims.toml").write_text('# ours\nnamspace = "refs/claims"\n')
    assert shown(agent.claim("42")) == block("""
        exit 0
        --- stdout
        claimed server#42 for chain-agent-1
        --- stderr
        warning: .claims.toml:2: unknown setting 'namspace' is ignored
        """)


# doctor


def test_doctor_finds_a_healthy_place_healthy_and_leaves_nothing(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42")
    before = server.refs("refs/")
    answer = agent.claim("doctor")
    assert server.refs("refs/") == before
    text = re.sub(r"version [\d.]+", "version <git>", shown(answer))
    assert text.replace(finding(text, "hook"), "") == block("""
        exit 0
        --- stdout
        ok       git: version <git>
        ok       chain: none in git config
        ok       mirror remotes: none
        ok       lock files: no old ones in this clone
        ok       remote: 'origin', one push URL: <path>
        ok       namespace: refs/claims can be written, read back, replaced and deleted
        ok       atomic pushes: the server applies several refs as one
        ok       clock: <time> UTC; no claim is from the future
        ok       claims: every ref among the claims names an item
        ok       tracker: none (tracker = auto); claims stand on git alone
        --- stderr
        """)


def finding(answer: str, name: str) -> str:
    """The lines of one finding, advice included."""
    match = re.search(rf"^\w+ +{name}: .*\n(?:         -> .*\n)?", answer, re.MULTILINE)
    assert match, answer
    return match[0]


def test_doctor_says_what_a_refused_namespace_can_do_instead(agent: ForkedAgent, server: Server) -> None:
    server.policy_refuses()
    answer = agent.claim("doctor")
    assert answer.status == 1
    assert server.refs() == server.refs("refs/heads/claims") == {}
    said = re.sub(r"probe-[0-9a-f]+(-b)?", "<probe>", finding(answer.transcript(), "namespace"))
    assert said == block("""
        FAILURE  namespace: refs/claims cannot be written: [remote rejected] (hook declined); \
remote: refused by policy; remote: error: hook declined to update refs/claims/<probe>
                 -> set namespace = "refs/heads/claims" in .claims.toml, commit it, and everybody uses it
        """)


def test_doctor_finds_hidden_refs_and_still_removes_its_probe(agent: ForkedAgent, server: Server) -> None:
    server.hide("upload")
    answer = agent.claim("doctor")
    server.calm()
    assert (answer.status, server.refs()) == (1, {})
    assert finding(answer.stdout, "namespace") == block("""
        FAILURE  namespace: refs/claims can be written and not read back: the server hides those refs
                 -> ask whoever runs the server to take them out of transfer.hideRefs and uploadpack.hideRefs
        """)


def test_doctor_finds_a_server_that_denies_deletes(agent: ForkedAgent, server: Server) -> None:
    server.deny_deletes_hook()
    answer = agent.claim("doctor")
    assert answer.status == 1
    assert "claims could never be released" in finding(answer.stdout, "namespace")
    assert "is still on the server" in finding(answer.stdout, "probe")
    assert agent.claim("ls").stderr == "no claims\n"


def test_doctor_warns_of_what_surprises_and_calls_it_no_failure(agent: ForkedAgent, server: Server) -> None:
    server.no_atomic()
    server.plant("refs/claims/Issue-7", plant(server, "issue-7", claimed_at="2222-01-01T00:00:00Z"))
    agent.clone.config("core.hooksPath", ".husky")
    agent.clone.git("remote", "add", "--mirror=push", "backup", "/nowhere")
    lock = agent.clone.path / ".git/index.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    answer = agent.claim("doctor")
    assert answer.status == 0
    found = [line.partition(":")[0].split()[1:] for line in answer.stdout.splitlines() if line.startswith("warning")]
    assert found == [["mirror", "remotes"], ["lock", "files"], ["atomic", "pushes"], ["clock"], ["claims"]]
    assert "/.husky'" in finding(answer.stdout, "hook")
    assert "'backup' is one: a plain 'git push' to it deletes" in finding(answer.stdout, "mirror remotes")
    assert "such as 'refs/claims/Issue-7'" in finding(answer.stdout, "claims")


def test_doctor_fails_where_one_chain_is_every_clones(agent: ForkedAgent) -> None:
    agent.clone.git("config", "--global", "claim.chain", "chain-everybody")
    answer = agent.claim("doctor")
    assert answer.status == 1
    assert finding(answer.stdout, "chain").startswith(
        "FAILURE  chain: claim.chain is set in global git config: every clone on this machine is one holder\n"
    )


def test_doctor_without_a_remote_says_so_among_the_rest(repository: Clone) -> None:
    answer = ForkedAgent(repository).claim("doctor")
    assert answer.status == 1
    assert finding(answer.stdout, "remote") == block("""
        FAILURE  remote: this repository has no remote, so there is no server to decide who holds an item
                 -> add one with 'git remote add origin URL'
        """)


def test_doctor_of_a_remote_that_is_down_says_so(agent: ForkedAgent, server: Server) -> None:
    server.path.rename(server.path.with_name("away"))
    answer = agent.claim("doctor")
    assert answer.status == 1
    assert "the remote does not answer: " in finding(answer.stdout, "namespace")


# demo


# About 3 s: it is eight processes in clones of their own, which is what the command promises.
def test_demo_shows_a_race_with_one_winner_and_leaves_nothing(
    make_agent: MakeAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    answer = make_agent().claim("demo", "--agents", "4", "--issues", "2", timeout=30)
    assert list(scratch.iterdir()) == []
    lines = answer.stdout.splitlines()
    assert answer.status == 0
    assert lines[0].split() == ["ISSUE", "WON", "BY", "LOST", "THE", "SERVER", "SAYS"]
    for number, line in enumerate(lines[1:3], start=1):
        issue, winner, lost, holder = line.split()
        assert (issue, lost, winner) == (f"issue-{number}", "3", holder)
    assert lines[3] == "each issue had exactly one winner"
    assert answer.stderr == "4 agents in clones of their own ask for one issue at the same time, 2 times\n"


def test_demo_needs_no_repository_and_reads_no_settings(make_agent: MakeAgent, tmp_path: Path) -> None:
    agent = forked(make_agent())
    agent.clone.git("config", "--global", "claim.chain", "-nonsense")
    agent.clone.git("config", "--global", "url./nowhere/.insteadOf", "/")
    lonely = ForkedAgent(Clone(tmp_path, agent.clone.server), "chain-of-mine")
    answer = lonely.claim("demo", "--agents", "2", "--issues", "1")
    assert answer.stdout.endswith("\neach issue had exactly one winner\n")
