"""What configuration says: every key of the committed file, the personal keys of git config, and where both are."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.errors import BadSettings
from git_claims.git.config import FILE, SETTINGS, GitConfig, parse_file, read_git_config
from git_claims.protocol.house import Labels
from tests.edges.opening import open_git, open_settings
from tests.places import Clone, Server, make_clone, run_git

# An empty name switches the label's rule off.
LABEL = ["'on it'", "''", "'Área/1'"], ["'a,b'", '"tab\\there"', "1"]

# Of each key: what may stand there, written as TOML, and what may not.
KEYS: dict[str, tuple[list[str], list[str]]] = {
    "namespace": (["'refs/claims'", "'refs/heads/claims'"], ["'refs/other'", "'refs/claims/'", "''", "1"]),
    "remote": (["'upstream'", "'a/b'"], ["''", "'-x'", "true"]),
    "tracker": (["'auto'", "'github'", "'none'"], ["'jira'", "''", "[]"]),
    "labels.enabled": (["true", "false"], ["'yes'", "0"]),
    **{f"labels.{name}": LABEL for name in Labels.__dataclass_fields__},
    "signals.marker": (["'agent-lock'", "'lock2'"], ["'Agent lock'", "''", "'a-->'", "1"]),
    "signals.required": (["true", "false"], ["'true'", "1"]),
    "signals.worktree_path": (["'absolute'", "'name'", "'none'"], ["'relative'", "''", "false"]),
    "bot_trigger": (["'@robot'", "''"], ["1", "[]"]),
    "branch.pattern": (
        ["'feature/{number}-{slug}'", "'{number}'"],
        ["'{slug}'", "''", "'{user}/{number}'", "2026-11-30"],
    ),
    "take.force": (["'terminal'", "'allow'", "'never'"], ["'always'", "true"]),
    "worktree.dir": (["'../lanes'", "'/srv/lanes'"], ["''", "' '", "'-x'", "1"]),
    "integration_branch": (["'develop'"], ["''", "'--all'", "false"]),
    "stale.policy": (["'human'", "'window'"], ["'never'", "''"]),
    "stale.pr_window": (["'30m'"], ["'soon'", "''", "60"]),
    "stale.window": (["'90s'", "'2d'"], ["'soon'", "''", "'1.5h'", "24"]),
    "hook.unclaimed": (["'refuse'", "'warn'"], ["'allow'", "false"]),
    "hook.strict": (["true", "false"], ["'true'", "1", "[true]"]),
    "hook.exempt": (["['main', 'release/*']", "[]"], ["'main'", "['main', 1]", "[['main']]", "true"]),
    "hook.offline": (["'refuse'", "'cached'"], ["'allow'", "true"]),
    "hook.offline_age": (["'10m'"], ["'never'", "10"]),
}


def test_every_key_is_tried_here() -> None:
    assert KEYS.keys() == SETTINGS.keys()


GOOD = [(key, value) for key, (good, _) in KEYS.items() for value in good]
BAD = [(key, value) for key, (_, bad) in KEYS.items() for value in bad]


@pytest.mark.parametrize(("key", "value"), GOOD)
def test_value_that_a_key_may_have_is_read_in_every_form_of_toml(key: str, value: str) -> None:
    section, _, last = key.rpartition(".")
    forms = [f"{key} = {value}\n", f"{last} = {value}\n" if not section else f"[{section}]\n{last} = {value}\n"]
    found = [parse_file(form) for form in forms]
    assert found[0] == found[1]
    assert found[0][1] == []
    shown = {"true": True, "false": False}.get(value, value.strip("'"))
    assert found[0][0][key] in {shown} if not value.startswith("[") else isinstance(found[0][0][key], tuple)
    assert all(found[0][0][other] == SETTINGS[other].default for other in SETTINGS if other != key)


@pytest.mark.parametrize(("key", "value"), BAD)
def test_value_that_a_key_may_not_have_is_an_error_with_its_line(key: str, value: str) -> None:
    section, _, last = key.rpartition(".")
    text = f"# one\n\n[other]\n{last} = 'x'\n" + (f"[{section}]\n" if section else "") + f"{last} = {value}\n"
    if not section:
        text = f"# one\n{last} = {value}\n"
    line = text[: text.rindex(last)].count("\n") + 1
    with pytest.raises(BadSettings, match=rf"^\.claims\.toml:{line}: '{key}'") as refusal:
        parse_file(text)
    assert refusal.value.message.isprintable()


def test_empty_file_is_valid_and_says_the_defaults() -> None:
    assert parse_file("") == ({key: setting.default for key, setting in SETTINGS.items()}, [])


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("\n\nnamespaec = 'refs/claims'\n", ".claims.toml:3: unknown setting 'namespaec' is ignored"),
        ("[take]\nforce = 'never'\nwith = 'care'\n", ".claims.toml:3: unknown setting 'take.with' is ignored"),
        ("[namespace]\nname = 'x'\n", ".claims.toml:2: unknown setting 'namespace.name' is ignored"),
        ("branch = 'x'\n", ".claims.toml:1: unknown setting 'branch' is ignored"),
        ("[[take]]\nforce = 'never'\n", ".claims.toml:1: unknown setting 'take' is ignored"),
        ('"\\u001b[2J" = 1\n', ".claims.toml:1: unknown setting '[2J' is ignored"),
    ],
)
def test_unknown_key_is_a_warning_with_its_line(text: str, warning: str) -> None:
    assert parse_file(text)[1] == [warning]


@pytest.mark.parametrize(
    "text",
    ["namespace", "namespace = ", "namespace = 'a'\nnamespace = 'b'\n", "[take\n", "\0", "a = 'x\ny'", "\x1b = 1"],
)
def test_file_that_is_no_toml_is_an_error_with_its_place(text: str) -> None:
    with pytest.raises(BadSettings, match=r"^\.claims\.toml is not valid TOML: .*\(at ") as refusal:
        parse_file(text)
    assert refusal.value.message.isprintable()


@given(
    st.text()
    | st.lists(st.sampled_from(["[take]", "force", "=", "'never'", "\n", "#", '"', "{", "}", "1"])).map("".join)
)
def test_any_text_is_settings_or_an_error(text: str) -> None:
    try:
        settings, warnings = parse_file(text)
    except BadSettings as error:
        assert error.message.isprintable()
        return
    assert settings.keys() == SETTINGS.keys()
    assert all(warning.isprintable() for warning in warnings)


# Where the file is


OURS = "namespace = 'refs/heads/claims'\n"


def commit_file(clone: Clone, text: str = OURS) -> None:
    """Commits the file to the remote's default branch and leaves a branch behind that is older."""
    clone.git("branch", "old")
    (clone.path / FILE).write_text(text)
    clone.git("add", FILE)
    clone.commit("settings")
    clone.git("push", "--quiet", "origin", "main")


def test_file_of_the_work_tree_counts_also_before_it_is_committed(clone: Clone) -> None:
    (clone.path / FILE).write_text(OURS)
    (clone.path / "sub").mkdir()
    assert open_settings(clone.path / "sub").namespace == "refs/heads/claims"


def test_no_file_anywhere_means_the_defaults(clone: Clone, repository: Clone) -> None:
    for place in (clone.path, repository.path):
        settings = open_settings(place)
        assert (settings.namespace, settings.remote, settings.tracker) == ("refs/claims", None, "auto")
        assert (settings.branch_pattern, settings.force, settings.worktree_dir) == (
            "{number}-{slug}",
            "terminal",
            ".worktrees",
        )
        assert (settings.stale_window, settings.deadline_seconds) == (timedelta(hours=24), 60)
        assert (settings.warnings, settings.chain, settings.reclaim_without_terminal) == ((), None, False)


def test_branch_without_the_file_uses_that_of_the_remotes_default_branch(clone: Clone) -> None:
    commit_file(clone)
    clone.git("switch", "--quiet", "old")
    assert not (clone.path / FILE).exists()
    assert open_settings(clone.path).namespace == "refs/heads/claims"


def test_default_branch_may_have_any_name(clone: Clone) -> None:
    commit_file(clone)
    clone.git("push", "--quiet", "origin", "main:trunk", "+old:main")
    clone.git("remote", "set-head", "origin", "trunk")
    clone.git("switch", "--quiet", "old")
    assert open_settings(clone.path).namespace == "refs/heads/claims"


def test_worktree_on_an_old_branch_uses_that_of_the_remotes_default_branch(clone: Clone) -> None:
    commit_file(clone)
    clone.git("worktree", "add", "--quiet", "../lane", "old")
    assert open_settings(clone.path.parent / "lane").namespace == "refs/heads/claims"


def test_default_branch_of_the_only_remote_counts_whatever_its_name(clone: Clone) -> None:
    commit_file(clone)
    clone.git("remote", "rename", "origin", "upstream")
    clone.git("remote", "set-head", "upstream", "main")
    clone.git("switch", "--quiet", "old")
    assert open_settings(clone.path).namespace == "refs/heads/claims"


def test_default_branch_of_a_remote_added_by_hand_counts_though_git_notes_none(
    clone: Clone, repository: Clone, server: Server
) -> None:
    commit_file(clone)
    repository.git("remote", "add", "origin", server.url)
    repository.git("fetch", "--quiet", "origin")
    repository.git("checkout", "--quiet", "origin/main~1")
    assert "refs/remotes/origin/HEAD" not in repository.refs("refs/remotes/")
    assert open_settings(repository.path).namespace == "refs/heads/claims"


def test_default_branch_of_the_remote_that_git_config_names_counts(clone: Clone, server: Server) -> None:
    commit_file(clone)
    clone.git("remote", "add", "company", server.url)
    clone.git("fetch", "--quiet", "company")
    clone.git("remote", "set-head", "company", "main")
    clone.git("remote", "set-url", "origin", "/fork.git")
    clone.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/none")
    clone.git("switch", "--quiet", "old")
    clone.config("claim.remote", "company")
    assert open_settings(clone.path).namespace == "refs/heads/claims"


@pytest.mark.parametrize(
    "options", [("--bare",), ("--mirror",), ("--no-checkout",), ("--filter=blob:none", "--sparse")]
)
def test_clone_without_the_file_on_disk_uses_the_committed_one(
    clone: Clone, server: Server, tmp_path: Path, options: tuple[str, ...]
) -> None:
    commit_file(clone)
    place = make_clone(server, tmp_path, "other", None, *options)
    (place.path / FILE).unlink(missing_ok=True)
    assert open_settings(place.path).namespace == "refs/heads/claims"


def test_inside_the_git_directory_the_committed_file_counts(clone: Clone) -> None:
    commit_file(clone)
    assert open_settings(clone.path / ".git").namespace == "refs/heads/claims"


def test_file_that_is_no_text_is_an_error(clone: Clone) -> None:
    (clone.path / FILE).write_bytes(b"# caf\xe9\n")
    with pytest.raises(BadSettings, match=r"cannot read \.claims\.toml: .*utf-8"):
        open_settings(clone.path)


def test_file_that_is_a_directory_is_an_error(clone: Clone) -> None:
    (clone.path / FILE).mkdir()
    with pytest.raises(BadSettings, match=r"cannot read \.claims\.toml"):
        open_settings(clone.path)


def test_committed_file_with_the_line_ends_of_windows_is_read(clone: Clone) -> None:
    commit_file(clone, "# ours\r\n[take]\r\nforce = 'never'\r\n")
    (clone.path / FILE).unlink()
    assert open_settings(clone.path).force == "never"


# git config


def test_personal_keys_are_read(clone: Clone) -> None:
    for key, value in {
        "claim.remote": "company",
        "claim.chain": "chain-me",
        "claim.timeout": "5m",
        "claim.allowReclaimWithoutTerminal": "yes",
    }.items():
        clone.config(key, value)
    settings = open_settings(clone.path)
    assert (settings.remote, settings.chain, settings.chain_scope) == ("company", "chain-me", "local")
    assert (settings.deadline_seconds, settings.reclaim_without_terminal) == (300, True)


def test_git_config_overrides_the_remote_of_the_file(clone: Clone) -> None:
    (clone.path / FILE).write_text("remote = 'theirs'\n")
    assert open_settings(clone.path).remote == "theirs"
    clone.config("claim.remote", "mine")
    assert open_settings(clone.path).remote == "mine"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("claim.chain", "-x", "git config claim.chain: a chain id"),
        ("claim.chain", "", "git config claim.chain: a chain id"),
        ("claim.remote", "-x", "git config claim.remote: must be a name"),
        ("claim.timeout", "soon", "git config claim.timeout: 'soon' is not a duration"),
        ("claim.timeout", "0", "git config claim.timeout: must be longer than nothing"),
    ],
)
def test_personal_key_that_has_no_meaning_is_an_error_with_its_name(
    clone: Clone, key: str, value: str, message: str
) -> None:
    clone.config(key, value)
    with pytest.raises(BadSettings, match=message):
        open_settings(clone.path)


@pytest.mark.parametrize(("scope", "options"), [("global", ["--global"]), ("local", []), ("worktree", ["--worktree"])])
def test_scope_of_the_chain_is_that_of_the_value_in_force(clone: Clone, scope: str, options: list[str]) -> None:
    clone.config("extensions.worktreeConfig", "true")
    clone.git("config", "--global", "claim.chain", "chain-global")
    clone.git("config", *options, "claim.chain", "chain-here")
    assert (open_settings(clone.path).chain, open_settings(clone.path).chain_scope) == ("chain-here", scope)


def test_config_of_the_command_line_and_the_environment_is_seen(clone: Clone) -> None:
    environment = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "claim.chain", "GIT_CONFIG_VALUE_0": "chain-env"}
    settings = open_settings(clone.path, **environment)
    assert (settings.chain, settings.chain_scope) == ("chain-env", "command")
    assert open_settings(clone.path, GIT_CONFIG_PARAMETERS="'claim.chain'='chain-c'").chain == "chain-c"


def test_git_config_of_a_variable_that_only_that_program_reads_is_not_believed(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("[claim]\n\tchain = chain-other\n")
    assert open_settings(clone.path, GIT_CONFIG=str(tmp_path / "other")).chain is None


def git_config(directory: Path, text: str) -> GitConfig:
    run_git(directory, "init", "--quiet", "place")
    with (directory / "place/.git/config").open("a") as file:
        file.write(text)
    return read_git_config(open_git(directory / "place"))


def test_values_are_read_as_git_reads_them(tmp_path: Path) -> None:
    config = git_config(tmp_path, '[A]\n\tb\n\tC = "x\\ny = z" # no\n[a "Ö.x"]\n\tD = 1\n\td = 2\n[empty]\n\tis =\n')
    assert (config.value("a.b"), config.value("a.c")) == ("true", "x\ny = z")
    assert config.values("a.Ö.x.d") == ["1", "2"]
    assert (config.value("a.Ö.x.d"), config.value("empty.is"), config.value("a.none")) == ("2", "", None)


TRUE, FALSE = ("", " = true", " = YES", " = on", " = 1"), (" =", " = false", " = 0", " = no")


@pytest.mark.parametrize(("written", "means"), [*((text, True) for text in TRUE), *((text, False) for text in FALSE)])
def test_truth_is_what_git_takes_for_it(tmp_path: Path, written: str, means: bool) -> None:
    assert git_config(tmp_path, f"[a]\n\tb{written}\n").true("a.b") == means


def test_remotes_are_those_with_a_url(tmp_path: Path) -> None:
    config = git_config(
        tmp_path,
        '[remote "b.url"]\n\turl = x\n[remote "a"]\n\tpushurl = y\n\turl = x\n\turl = z\n'
        '[remote "none"]\n\tprune = true\n[remote]\n\turl = x\n\tpushDefault = a\n'
        '[remote "only push"]\n\tpushurl = y\n',
    )
    assert config.remotes() == ["b.url", "a"]
