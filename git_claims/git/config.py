"""Settings: git config and `.claims.toml`, every key in one table, each checked where it is read.

The committed file holds what everyone must agree on; git config holds what is personal. Which chain is in force is
decided elsewhere; here is only what configuration says.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar

from git_claims.errors import BadSettings
from git_claims.git.objects import parse_batch
from git_claims.git.process import Git
from git_claims.git.repository import Repository
from git_claims.protocol.claim import check_chain
from git_claims.protocol.item import NAMESPACES, check_branch_pattern
from git_claims.protocol.signals import House, Labels, PathStyle
from git_claims.protocol.text import duration, has_control_characters, printable

FILE = ".claims.toml"
_Value = TypeVar("_Value")
_KINDS = {str: "a string", bool: "true or false", list: "a list of strings"}


@dataclass(frozen=True, slots=True)
class GitConfig:
    """git config as git itself reads it: (scope, key, value); keys in git's own form, lower case but the middle."""

    entries: tuple[tuple[str, str, str], ...]

    def values(self, key: str) -> list[str]:
        """Every value of a key, the one in force last."""
        return [value for _, name, value in self.entries if name == key]

    def value(self, key: str) -> str | None:
        """The value in force, or None."""
        return next(reversed(self.values(key)), None)

    def scope(self, key: str) -> str | None:
        """Where the value in force comes from: system, global, local, worktree or command."""
        return next((scope for scope, name, _ in reversed(self.entries) if name == key), None)

    def true(self, key: str) -> bool:
        """Reads a boolean the way git does; absent is false."""
        return (self.value(key) or "").lower() in {"true", "yes", "on", "1"}

    def remotes(self) -> list[str]:
        """Names of the configured remotes, in order of appearance."""
        names = [key[len("remote.") : -len(".url")] for _, key, _ in self.entries if _is_remote_url(key)]
        return list(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of `.claims.toml`. `check` raises ValueError saying what is wrong with a value of the right kind."""

    kind: type
    default: str | bool | tuple[str, ...]
    check: Callable[[str], object] = field(default=str)


def _one_of(*allowed: str) -> Callable[[str], None]:
    def check(text: str) -> None:
        if text not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")

    return check


def _remote_name(text: str) -> None:
    if not text or text.startswith("-"):
        raise ValueError("must be a name that git accepts")


def _label_name(text: str) -> None:
    if has_control_characters(text) or "," in text:
        raise ValueError("must be the name of one label, or empty to switch its rule off")


def _marker_name(text: str) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", text):
        raise ValueError("must be a word of lower case letters, digits and dashes")


def _directory_name(text: str) -> None:
    if not text.strip() or text.startswith("-"):
        raise ValueError("must be the path of a directory")


SETTINGS: dict[str, Setting] = {
    "namespace": Setting(str, NAMESPACES[0], _one_of(*NAMESPACES)),
    "remote": Setting(str, "", _remote_name),
    "tracker": Setting(str, "auto", _one_of("auto", "github", "none")),
    "labels.enabled": Setting(bool, True),
    "labels.claim": Setting(str, "in-progress", _label_name),
    "labels.ready": Setting(str, "ready", _label_name),
    "labels.afk": Setting(str, "afk", _label_name),
    "labels.hitl": Setting(str, "hitl", _label_name),
    "labels.hold": Setting(str, "hold", _label_name),
    "labels.blocked": Setting(str, "blocked", _label_name),
    "labels.ci_monitoring": Setting(str, "ci-monitoring", _label_name),
    "signals.marker": Setting(str, "claude-lock", _marker_name),
    "signals.required": Setting(bool, False),
    "signals.worktree_path": Setting(str, "absolute", _one_of(*PathStyle)),
    "bot_trigger": Setting(str, ""),
    "branch.pattern": Setting(str, "{number}-{slug}", check_branch_pattern),
    "take.force": Setting(str, "terminal", _one_of("terminal", "allow", "never")),
    "worktree.dir": Setting(str, ".worktrees", _directory_name),
    "integration_branch": Setting(str, "", _remote_name),
    "stale.policy": Setting(str, "human", _one_of("human", "window")),
    "stale.window": Setting(str, "24h", duration),
    "stale.pr_window": Setting(str, "60m", duration),
    "hook.unclaimed": Setting(str, "refuse", _one_of("refuse", "warn")),
    "hook.strict": Setting(bool, False),
    "hook.exempt": Setting(list, ()),
    "hook.offline": Setting(str, "refuse", _one_of("refuse", "cached")),
    "hook.offline_age": Setting(str, "1h", duration),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in force here. `warnings` are for stderr; nothing in them stops a command."""

    namespace: str
    remote: str | None
    tracker: str
    branch_pattern: str
    force: str
    worktree_dir: str
    integration_branch: str | None
    stale_policy: str
    stale_window: timedelta
    house: House
    signals_required: bool
    hook_unclaimed: str
    hook_strict: bool
    hook_exempt: tuple[str, ...]
    hook_offline: str
    hook_offline_age: timedelta
    chain: str | None
    chain_scope: str | None
    reclaim_without_terminal: bool
    deadline_seconds: float
    poll_seconds: float
    warnings: tuple[str, ...]


def read_git_config(git: Git) -> GitConfig:
    """Reads the whole of git config, `git -c` and the environment included, in one process."""
    text = git.ask("config", "--list", "-z", "--show-scope").decode("utf-8", "surrogateescape")
    pieces = text.split("\0")
    return GitConfig(tuple(_entries(pieces)))


def read_settings(repository: Repository, config: GitConfig) -> Settings:
    """Reads `.claims.toml` and the personal keys; raises BadSettings naming file, line and key."""
    text = _committed(repository, config)
    file, warnings = parse_file(text)
    chain = config.value("claim.chain")
    if chain is not None:
        _checked("git config claim.chain", chain, check_chain)
    remote = config.value("claim.remote") or str(file["remote"])
    if remote:
        _checked("git config claim.remote", remote, _remote_name)
    exempt = file["hook.exempt"]
    return Settings(
        namespace=str(file["namespace"]),
        remote=remote or None,
        tracker=str(file["tracker"]),
        branch_pattern=str(file["branch.pattern"]),
        force=str(file["take.force"]),
        worktree_dir=str(file["worktree.dir"]),
        integration_branch=str(file["integration_branch"]) or None,
        stale_policy=str(file["stale.policy"]),
        stale_window=duration(str(file["stale.window"])),
        house=_house(file),
        signals_required=file["signals.required"] is True,
        hook_unclaimed=str(file["hook.unclaimed"]),
        hook_strict=file["hook.strict"] is True,
        hook_exempt=exempt if isinstance(exempt, tuple) else (),
        hook_offline=str(file["hook.offline"]),
        hook_offline_age=duration(str(file["hook.offline_age"])),
        chain=chain,
        chain_scope=config.scope("claim.chain"),
        reclaim_without_terminal=config.true("claim.allowreclaimwithoutterminal"),
        deadline_seconds=_checked("git config claim.timeout", config.value("claim.timeout") or "60", _seconds),
        poll_seconds=_checked("git config claim.poll", config.value("claim.poll") or "60", _seconds),
        warnings=tuple(warnings),
    )


def parse_file(text: str) -> tuple[dict[str, str | bool | tuple[str, ...]], list[str]]:
    """Reads the text of `.claims.toml` into every setting by key, and warnings for keys that mean nothing."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSettings(f"{FILE} is not valid TOML: {printable(str(error))}") from error
    given = dict(_flattened(document))
    warnings = [
        f"{FILE}:{_line(text, key)}: unknown setting '{printable(key)}' is ignored"
        for key in given
        if key not in SETTINGS
    ]
    return {key: _setting(key, given, text) for key in SETTINGS}, warnings


def _house(file: Mapping[str, str | bool | tuple[str, ...]]) -> House:
    names = [name for name in Labels.__dataclass_fields__ if file["labels.enabled"]]
    labels = replace(Labels.none(), **{name: str(file[f"labels.{name}"]) for name in names})
    return House(
        labels=labels,
        marker=str(file["signals.marker"]),
        path_style=PathStyle(str(file["signals.worktree_path"])),
        window=duration(str(file["stale.window"])),
        bot_trigger=str(file["bot_trigger"]),
        pull_window=duration(str(file["stale.pr_window"])),
    )


def _setting(key: str, given: Mapping[str, object], text: str) -> str | bool | tuple[str, ...]:
    setting = SETTINGS[key]
    if key not in given:
        return setting.default
    value, place = given[key], f"{FILE}:{_line(text, key)}: '{key}'"
    if isinstance(value, bool) and setting.kind is bool:
        return value
    if isinstance(value, list) and setting.kind is list and all(isinstance(each, str) for each in value):
        return tuple(str(each) for each in value)
    if isinstance(value, str) and setting.kind is str:
        _checked(place, value, setting.check)
        return value
    raise BadSettings(f"{place} must be {_KINDS[setting.kind]}, not {printable(repr(value))}")


def _checked(place: str, value: str, read: Callable[[str], _Value]) -> _Value:
    try:
        return read(value)
    except ValueError as error:
        raise BadSettings(f"{place}: {error}") from error


def _seconds(text: str) -> float:
    seconds = duration(text).total_seconds()
    if seconds <= 0:
        raise ValueError("must be longer than nothing")
    return seconds


def _committed(repository: Repository, config: GitConfig) -> str:
    """The file of the work tree; where that has none, as committed on the remote's default branch, or here.

    A linked worktree on an old branch may lack the file. Falling to the defaults there would put its claims into
    another namespace than everybody else's, and two namespaces are two winners.
    """
    if repository.top is not None:
        try:
            return (repository.top / FILE).read_text(encoding="utf-8")
        except FileNotFoundError:
            pass
        except (OSError, UnicodeDecodeError) as error:
            raise BadSettings(f"cannot read {FILE}: {error}") from error
    remotes = config.remotes()
    theirs = f"refs/remotes/{config.value('claim.remote') or (remotes[0] if len(remotes) == 1 else 'origin')}"
    # A remote that was added by hand has no HEAD here; its default branch mostly has one of two names.
    places = (f"{theirs}/HEAD", "HEAD", f"{theirs}/main", f"{theirs}/master")
    asked = "".join(f"{place}:{FILE}\n" for place in places)
    # Absence is an answer of its own here; a git that could not look is an error, never an empty file.
    answer = repository.git.ask("cat-file", "--batch", stdin=asked.encode())
    return next(parse_batch(answer), b"").decode("utf-8", "replace")


def _flattened(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _line(text: str, wanted: str) -> int:
    """Finds the line on which a key is set, for messages; 1 where it is written in some rarer form."""
    section = ""
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.split("#")[0].strip()
        if stripped.startswith("[") and stripped.endswith("]"):
            section = stripped.strip("[] ") + "."
        key, equals, _ = stripped.partition("=")
        if equals and section + key.replace('"', "").replace(" ", "") == wanted:
            return number
    return 1


def _entries(pieces: list[str]) -> Iterator[tuple[str, str, str]]:
    for scope, entry in zip(pieces[0::2], pieces[1::2], strict=False):
        key, newline, value = entry.partition("\n")
        # A key without a value is git's way to write true.
        yield scope, key, value if newline else "true"


def _is_remote_url(key: str) -> bool:
    # Not the push URL: git knows no remote that has nothing else.
    return key.startswith("remote.") and key.endswith(".url") and len(key) > len("remote..url")
