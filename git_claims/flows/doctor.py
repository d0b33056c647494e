"""Whether claims can work here: each thing that was seen to break them, looked at once, with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from git_claims.errors import CannotTell
from git_claims.protocol.item import NAMESPACES
from git_claims.protocol.signals import definitions
from git_claims.protocol.text import moment, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from git_claims.git.config import GitConfig, Settings
    from git_claims.git.hooks import HookPlace
    from git_claims.git.probe import Probe, Tried
    from git_claims.git.repository import Repository
    from git_claims.git.store import Store
    from git_claims.protocol.claim import Seen
    from git_claims.protocol.item import Item
    from git_claims.tracker.model import Standing, Tracker

_CLOCK_TOLERANCE = timedelta(minutes=5)
# git holds its lock files for moments; one this old belongs to a process that is gone.
_FEW_REQUESTS = 200
_OLD_LOCK = timedelta(minutes=10)


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `advice` says what to do where it is not ok."""

    name: str
    level: Level
    detail: str
    advice: str | None = None


def ok(name: str, detail: str) -> Finding:
    """Nothing to do."""
    return Finding(name, Level.OK, detail)


def warning(name: str, detail: str, advice: str) -> Finding:
    """Works, and may surprise somebody."""
    return Finding(name, Level.WARNING, detail, advice)


def failure(name: str, detail: str, advice: str) -> Finding:
    """Claims do not work until this is mended."""
    return Finding(name, Level.FAILURE, detail, advice)


def look_around(
    repository: Repository,
    config: GitConfig,
    settings: Settings,
    place: HookPlace,
    git_version: tuple[int, ...],
    minimum: tuple[int, ...],
    now: datetime,
) -> Iterator[Finding]:
    """Yields what can be found out without the remote."""
    yield _git_version(git_version, minimum)
    yield from _chain(repository, config, settings)
    yield _mirrors(config)
    yield _hook(place)
    yield _locks(repository, now)


def examine_remote(store: Store, probe: Probe, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Yields what the remote allows, tried with throw-away refs that are gone again afterwards."""
    yield ok("remote", f"'{printable(store.remote.name)}', one push URL: {probe.shown_url}")
    tried = probe.run(settings.namespace)
    if tried.silent is not None:
        yield failure("namespace", f"the remote does not answer: {tried.silent}", "check the network and your access")
        return
    yield from _namespace(tried, settings.namespace, probe)
    if tried.refused is None:
        yield _atomic(tried.atomic)
    try:
        listing = store.read_all()
    except CannotTell as silence:
        yield failure("claims", silence.message, "repeat the command; if it stays, look at the server")
        return
    yield _clock(listing.claims, now)
    yield _strangers(listing.strangers)


def examine_tracker(tracker: Tracker, settings: Settings) -> Iterator[Finding]:
    """Yields what the tracker lets the login in force do; one line where there is no tracker."""
    if not tracker.shows:
        yield ok("tracker", f"none (tracker = {settings.tracker}); claims stand on git alone")
        return
    found = tracker.standing()
    for line in found.missing:
        yield warning("tracker", line, _advice(found))
    if found.repository is None:
        return
    yield ok("tracker", f"{found.program} as '{found.login}' on {found.repository}")
    if found.may_write is False:
        yield failure(
            "rights", f"'{found.login}' may not label or assign there", "ask for write access, or use another login"
        )
    elif found.may_write:
        yield ok("rights", f"'{found.login}' may label, assign and comment there")
    if found.issues_enabled is False:
        yield failure("issues", "the repository has issues switched off", "switch them on, or set tracker = none")
    elif found.issues_enabled:
        yield ok("issues", "switched on")
    yield _labels(found, settings)
    if found.remaining is not None:
        level = ok if found.remaining > _FEW_REQUESTS else _few
        yield level("rate limit", f"{found.remaining} points left this hour")


def _advice(found: Standing) -> str:
    """What becomes of claims where the tracker does not tell all that it is asked."""
    if found.is_unusable:
        return "claims still stand on git alone; signals are skipped"
    return "until it answers nothing is claimed" if found.repository is None else "what it would tell is left out"


def _few(name: str, detail: str) -> Finding:
    return warning(name, detail, "wait for the next hour, or use fewer agents on one login")


def _labels(found: Standing, settings: Settings) -> Finding:
    wanted = {name for name, _, _ in definitions(settings.house.labels)}
    missing = sorted(wanted - found.labels) if found.labels is not None else []
    if missing:
        return warning("labels", f"missing: {', '.join(missing)}", "'git claim init --labels' makes them")
    return ok("labels", "every label is there" if found.labels is not None else "could not be read")


def _git_version(found: tuple[int, ...], minimum: tuple[int, ...]) -> Finding:
    version = ".".join(str(number) for number in found)
    if found < minimum:
        needed = ".".join(str(number) for number in minimum)
        return failure("git", f"version {version}", f"install git {needed} or newer")
    return ok("git", f"version {version}")


def _chain(repository: Repository, config: GitConfig, settings: Settings) -> Iterator[Finding]:
    if settings.chain is None:
        yield ok("chain", "none in git config")
    elif settings.chain_scope in {"global", "system"}:
        yield failure(
            "chain",
            f"claim.chain is set in {settings.chain_scope} git config: every clone on this machine is one holder",
            f"'git config --{settings.chain_scope} --unset claim.chain', then one chain for each clone",
        )
    elif (repository.common_dir / "worktrees").is_dir():
        yield warning(
            "chain",
            "claim.chain is shared by all worktrees of this clone that have no lane of their own",
            "where several agents share a clone, give each its own GIT_CLAIM_CHAIN",
        )
    else:
        yield ok("chain", f"claim.chain of this clone ({settings.chain_scope})")


def _mirrors(config: GitConfig) -> Finding:
    mirrors = [name for name in config.remotes() if config.true(f"remote.{name}.mirror")]
    if not mirrors:
        return ok("mirror remotes", "none")
    return warning(
        "mirror remotes",
        f"'{printable(mirrors[0])}' is one: a plain 'git push' to it deletes every claim this clone has no copy of",
        f"'git config --unset remote.{printable(mirrors[0])}.mirror', or never push from this clone by hand",
    )


def _hook(place: HookPlace) -> Finding:
    where, state = printable(str(place.hook)), str(place.state())
    if state == "current":
        return ok("hook", f"our pre-push hook is where git looks, at '{where}'")
    if state == "older":
        return warning("hook", f"'{where}' is an older version of ours", "'git claim hook install' renews it")
    if place.keep_out is not None:
        return ok("hook", f"{place.keep_out}; a hook anywhere else never runs ('git claim hook status' says more)")
    return ok("hook", f"none of ours at '{where}'; 'git claim hook install' makes git refuse unclaimed branches")


def _locks(repository: Repository, now: datetime) -> Finding:
    old = [path for path in _lock_files(repository.common_dir) if _age(path, now) > _OLD_LOCK]
    if not old:
        return ok("lock files", "no old ones in this clone")
    return warning(
        "lock files",
        f"{len(old)} older than ten minutes, such as '{old[0]}'",
        "make sure that no git command runs in this clone, then move them away",
    )


def _lock_files(common_dir: Path) -> list[Path]:
    found = [*common_dir.glob("*.lock"), *(common_dir / "refs").rglob("*.lock")]
    return [path for path in found if path.is_file()]


def _age(path: Path, now: datetime) -> timedelta:
    return now - datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _namespace(tried: Tried, namespace: str, probe: Probe) -> Iterator[Finding]:
    if tried.refused is not None:
        other = next(name for name in NAMESPACES if name != namespace)
        second = probe.run(other)
        works = second.refused is None and second.silent is None and not second.unreadable
        advice = (
            f'set namespace = "{other}" in .claims.toml, commit it, and everybody uses it'
            if works
            else "ask whoever runs the server to allow refs there"
        )
        yield failure("namespace", f"{namespace} cannot be written: {tried.refused}", advice)
    elif tried.unreadable:
        yield failure(
            "namespace",
            f"{namespace} can be written and not read back: the server hides those refs",
            "ask whoever runs the server to take them out of transfer.hideRefs and uploadpack.hideRefs",
        )
    elif tried.undeletable is not None:
        yield failure(
            "namespace",
            f"{namespace} can be written and not deleted: {tried.undeletable}",
            "claims could never be released; ask whoever runs the server to allow deletes there",
        )
    else:
        yield ok("namespace", f"{namespace} can be written, read back, replaced and deleted")
    if tried.undeletable is not None:
        leftover = f"{namespace}/{probe.name}"
        yield warning("probe", f"'{leftover}' is still on the server", "it names no item and disturbs nobody")


def _atomic(supported: bool) -> Finding:
    if supported:
        return ok("atomic pushes", "the server applies several refs as one")
    return warning(
        "atomic pushes",
        "the server does not apply several refs as one",
        "--all-or-nothing and --bundle are refused; single claims work",
    )


def _clock(claims: Mapping[Item, Seen], now: datetime) -> Finding:
    times = [moment(seen.claim.claimed_at) for seen in claims.values() if seen.claim]
    ahead = [time - now for time in times if time is not None and time - now > _CLOCK_TOLERANCE]
    if not ahead:
        return ok("clock", f"{now.astimezone(UTC):%Y-%m-%d %H:%M} UTC; no claim is from the future")
    return warning(
        "clock",
        f"claims from the future: {len(ahead)}, up to {int(max(ahead).total_seconds() // 60)} min",
        "this machine's clock or theirs is wrong; ages shown here are not to be trusted",
    )


def _strangers(strangers: tuple[str, ...]) -> Finding:
    if not strangers:
        return ok("claims", "every ref among the claims names an item")
    return warning(
        "claims",
        f"refs among the claims that name no item: {len(strangers)}, such as '{printable(strangers[0])}'",
        "somebody wrote them by hand; nobody's claim is affected",
    )
