"""The command line itself: help, mistypings, and arguments that mean to be something else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands.telling import block, field, holders, plant, shown
from tests.forked import ForkedAgent
from tests.places import Server

COMMANDS = (
    "take release ls show check renew hand-off adopt reclaim whoami init doctor demo completion".split()  # noqa: SIM905
)


# Help


def test_help_names_every_command_with_what_it_does(agent: ForkedAgent) -> None:
    answer = agent.claim("-h", check=0)
    listed = dict(re.findall(r"^  ([a-z-]+) {2,}(\S.*)$", answer.stdout.partition("\nCommands:\n")[2], re.MULTILINE))
    assert listed.keys() >= set(COMMANDS)
    assert all(listed.values())
    assert answer.stderr == ""
    assert answer.stdout == agent.claim("--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_explains_every_option(agent: ForkedAgent, command: str) -> None:
    answer = agent.claim(command, "-h", check=0)
    usage, _, options = answer.stdout.partition("\nOptions:\n")
    entries = re.split(r"^  (?=-)", options, flags=re.MULTILINE)[1:]
    assert usage.startswith(f"Usage: git claim {command} [OPTIONS]")
    assert len(usage.split("\n\n")) >= 2, "what it does stands between usage and options"
    assert entries[-1] == "-h, --help     Show this message and exit.\n" or "-h, --help" in entries[-1]
    assert all(re.search(r"\w(?: +|\]? +|\n +)\w.*\.", entry) for entry in entries), options
    assert answer.stderr == ""
    assert max(len(line) for line in answer.stdout.splitlines()) <= 100


def test_help_needs_no_repository(agent: ForkedAgent, tmp_path: Path) -> None:
    assert agent.claim("-C", str(tmp_path), "take", "-h").stdout == agent.claim("take", "-h").stdout


def test_version_is_one_line(agent: ForkedAgent) -> None:
    assert re.fullmatch(r"git-claim \d+\.\d+\.\d+\n", agent.claim("--version", check=0).stdout)


# Mistyped


def test_no_arguments_are_a_question_and_not_an_answer(agent: ForkedAgent) -> None:
    assert shown(agent.claim()) == block("""
        exit 2
        --- stdout
        --- stderr
        error: no command and no item
        hint: 'git claim -h' lists the commands
        """)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("tkae", "take"),
        ("relase", "release"),
        ("list", "ls"),
        ("LS", None),
        ("handoff", "hand-off"),
        ("who", "whoami"),
        ("shwo", "show"),
        ("xyzzy", None),
    ],
)
def test_mistyped_command_is_not_an_item(agent: ForkedAgent, server: Server, word: str, meant: str | None) -> None:
    answer = agent.claim(word, "42")
    assert server.refs() == {}
    assert shown(answer) == block(f"""
        exit 2
        --- stdout
        --- stderr
        error: '{word}' is neither a command nor an item{f"; did you mean 'git claim {meant}'?" if meant else ""}
        hint: 'git claim -h' shows how it is used
        """)


@pytest.mark.parametrize(
    ("words", "error", "command"),
    [
        ("take", "missing argument 'ITEM...'", "take"),
        ("ls extra", "got unexpected extra argument (extra)", "ls"),
        ("ls --jsn", "no such option '--jsn'. Did you mean '--json'?", "ls"),
        ("show 42 43", "got unexpected extra argument (43)", "show"),
        ("adopt 42", "missing option '--from'", "adopt"),
        ("release 42 --branch", "no such option '--branch'. Did you mean '--reason'?", "release"),
        ("demo --agents 1", "invalid value for '--agents': 1 is not in the range 2<=x<=64", "demo"),
        (
            "completion tcsh",
            "invalid value for '{bash|zsh|fish}': 'tcsh' is not one of 'bash', 'zsh', 'fish'",
            "completion",
        ),
        ("completion", "missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish", "completion"),
        (
            "take forty",
            "invalid value for 'ITEM...': 'forty' is not an item; "
            "write 42, #42, issue-42, pr-17, PROJ-123, owner/repo#42 or the issue's URL",
            "take",
        ),
    ],
)
def test_wrong_command_line_says_what_is_wrong_with_it(
    agent: ForkedAgent, words: str, error: str, command: str
) -> None:
    assert shown(agent.claim(*words.split())) == block(f"""
        exit 2
        --- stdout
        --- stderr
        error: {error}
        hint: 'git claim {command} -h' shows how it is used
        """)


# Empty variables


def test_empty_item_is_no_item(agent: ForkedAgent, server: Server) -> None:
    plant(server, "issue-42", "chain-agent-1")
    answer = agent.claim("")
    assert shown(answer) == block("""
        exit 2
        --- stdout
        --- stderr
        error: '' is neither a command nor an item; is a variable empty?
        hint: 'git claim -h' shows how it is used
        """)


@pytest.mark.parametrize(
    "words",
    [
        ("take", ""),
        ("take", "42", ""),
        ("42", " "),
        ("42", "--bundle", ""),
        ("release", ""),
        ("renew", ""),
        ("show", ""),
        ("check", ""),
        ("hand-off", "", "--to", "chain-b"),
        ("hand-off", "42", "--to", ""),
        ("adopt", "42", "--from", ""),
        ("reclaim", ""),
    ],
    ids=" ".join,
)
def test_empty_word_is_never_everything_nor_the_lane(
    agent: ForkedAgent, server: Server, words: tuple[str, ...]
) -> None:
    lane = ForkedAgent(agent.clone.worktree("lane"), "chain-lane")
    lane.claim("7", check=0)
    before = server.refs()
    answer = lane.claim(*words)
    assert (answer.status, server.refs()) == (2, before)
    shown(answer)


# Arguments that mean to be something else

NASTY = [
    "-x",
    "--force",
    "--upload-pack=touch pwned",
    "-oProxyCommand=touch pwned",
    "; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "42; touch pwned",
    "42\ntouch pwned",
    "42|touch pwned",
    "../../heads/main",
    "42/../../heads/main",
    "refs/heads/main",
    "issue-42.lock",
    "42..43",
    "+42:refs/heads/main",
    ":42",
    "@{-1}",
    "४२",
    "42\u202e",
    "\x1b[31m42",
    "--",
    "#",
    "issue-",
    "-42",
    "+42",
    "1e3",
    "0",
    "owner/repo#",
    "https://example.com/acme/ledger/issues/-1",
]


@pytest.mark.parametrize("command", ["take", "release", "show", "check"])
def test_text_that_is_no_item_reaches_nothing(agent: ForkedAgent, server: Server, command: str) -> None:
    plant(server, "issue-42", "chain-agent-1")
    before = server.refs("refs/")
    answers = [agent.claim(command, "--", text) for text in NASTY]
    assert [text for text, answer in zip(NASTY, answers, strict=True) if answer.status != 2] == []
    assert server.refs("refs/") == before
    assert not list(agent.clone.path.glob("*pwned*"))
    for answer in answers:
        shown(answer)


def test_text_in_a_field_is_only_text(agent: ForkedAgent, server: Server) -> None:
    texts = [text for text in NASTY if text.isprintable() and ("touch" in text or text.startswith("--"))]
    for number, text in enumerate(texts, start=1):
        agent.claim(str(number), f"--branch={text}", f"--phase={text}", check=0)
        assert [field(server, f"issue-{number}", key) for key in ("branch", "phase")] == [text, text]
    listing = shown(agent.claim("ls"))
    assert [text for text in texts if text not in listing] == []
    assert not list(agent.clone.path.glob("*pwned*"))


@pytest.mark.parametrize("option", ["--branch", "--phase"])
@pytest.mark.parametrize("text", ["a\nchain=chain-forged", "\x1b]0;x\x07", "a\rb", "\x85", "\u2028"], ids=ascii)
def test_field_that_would_be_another_line_is_refused(
    agent: ForkedAgent, server: Server, option: str, text: str
) -> None:
    answer = agent.claim("42", option, text)
    assert server.refs() == {}
    assert shown(answer) == block(f"""
        exit 2
        --- stdout
        --- stderr
        error: this claim cannot be recorded: {option[2:]} must be one line without control characters
        hint: 'git claim take -h' shows how it is used
        """)


def test_record_that_would_be_too_large_is_refused(agent: ForkedAgent, server: Server) -> None:
    answer = agent.claim("42", "--branch", "x" * 5000)
    assert server.refs() == {}
    assert re.sub(r"\d{4} bytes", "<many> bytes", shown(answer)) == block("""
        exit 2
        --- stdout
        --- stderr
        error: this claim cannot be recorded: the record would be <many> bytes; 4096 is the most
        hint: 'git claim take -h' shows how it is used
        """)


@pytest.mark.parametrize("name", ["-x", "--upload-pack=touch pwned", "ext::sh -c 'touch pwned'", "../..", "nope"])
def test_remote_is_one_that_is_configured(agent: ForkedAgent, name: str) -> None:
    answer = agent.claim("ls", f"--remote={name}")
    assert not list(agent.clone.path.glob("*pwned*"))
    assert shown(answer) == block(f"""
        exit 128
        --- stdout
        --- stderr
        fatal: no remote named '{name}'
        hint: there is 'origin'
        """)


def test_url_is_never_an_option(agent: ForkedAgent, server: Server) -> None:
    agent.clone.config("remote.origin.url", "--receive-pack=touch pwned; git-receive-pack")
    agent.clone.config("remote.origin.pushurl", f"--upload-pack=touch pwned; git-upload-pack '{server.path}'")
    for words in (["ls"], ["42"]):
        answer = agent.claim(*words)
        assert answer.status == 3
        shown(answer)
    assert not list(agent.clone.path.glob("*pwned*"))


def test_chain_of_shell_words_is_quoted_in_what_could_follow(agent: ForkedAgent, server: Server) -> None:
    chain = "$(touch pwned) 'x'"
    answer = agent.claim("42", "--json", f"--chain={chain}", check=0)
    assert holders(server) == {"issue-42": chain}
    assert answer.at("next", 2) == """git claim release 42 --chain '$(touch pwned) '"'"'x'"'"''"""


def test_terminal_escapes_of_a_command_line_are_not_given_back(agent: ForkedAgent) -> None:
    for words in (["\x1b[31mred"], ["ls", "--\x1b[31m"], ["ls", "\x1b[31m"], ["-C", "\x1b[31m", "ls"]):
        answer = agent.claim(*words)
        assert answer.status == 2
        shown(answer)
