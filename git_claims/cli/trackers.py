"""Which tracker a repository has: found from the settings and the URL that claims are pushed to."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from git_claims.errors import BadSettings, GitFailed, NoTrackerHere
from git_claims.git.process import run
from git_claims.tracker.location import Location, locate
from git_claims.tracker.model import Tracker
from git_claims.tracker.none import NoTracker

if TYPE_CHECKING:
    from git_claims.cli.world import World
    from git_claims.flows.board import Board

_GITHUB = "github.com"
_SSH_SECONDS = 10.0


def find_tracker(world: "World") -> Tracker:
    """Returns the tracker in force; nothing is asked of it yet."""
    settings = world.settings
    place = None if settings.tracker == "none" else locate(world.remote.url)
    if place is not None and not _is_known(place.host):
        place = place._replace(host=_without_alias(world, place.host))
    if place is None or (settings.tracker == "auto" and not _is_known(place.host)):
        if settings.tracker == "github":
            raise BadSettings(
                f"tracker = github, and the remote '{world.remote.name}' is not a repository on a GitHub host",
                "name the remote that is with 'git config claim.remote NAME', or set tracker = none",
            )
        return NoTracker()
    return _github(world, place)


def pulls_board(world: "World") -> "Board":
    """Returns the board of a command about pull requests, which is nothing without a tracker."""
    board = world.board()
    if not board.tracker.shows:
        raise NoTrackerHere("there is no tracker here, so there are no pull requests", "'git claim push' pushes work")
    return replace(board, mandatory=True)


def _github(world: "World", place: Location) -> Tracker:
    # Loaded only where there is a GitHub: claims on git alone start without it.
    from git_claims.tracker.gh import Gh, gh_environment
    from git_claims.tracker.github import GitHub

    directory = world.repository.top or world.repository.git_dir
    gh = Gh(directory, gh_environment(os.environ), world.settings.deadline_seconds, time.time)
    return GitHub(gh, place.host, place.owner, place.repo, cache_directory(), time.time, time.sleep, world.talk.say)


def _is_known(host: str) -> bool:
    """Says whether gh can answer for a host: GitHub's own, one of its cloud, or one that gh is logged in to."""
    if host == _GITHUB or host.endswith(".ghe.com") or host == os.environ.get("GH_HOST"):
        return True
    try:
        # One host a line at the margin; gh writes this file itself.
        lines = (_gh_directory() / "hosts.yml").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    return f"{host}:" in (line.rstrip() for line in lines)


def _without_alias(world: "World", host: str) -> str:
    """Resolves an alias of the user's ssh configuration, such as `github-work`; any other host is its own."""
    try:
        finished = run(["ssh", "-G", "--", host], world.directory, world.git.environment, _SSH_SECONDS)
    except GitFailed:
        # No ssh here, so no alias of its either.
        return host
    words = (line.split(" ", 1) for line in finished.stdout.decode("utf-8", "replace").splitlines())
    return next((pair[1].strip().lower() for pair in words if pair[0] == "hostname" and len(pair) == 2), host)


def _gh_directory() -> Path:
    if configured := os.environ.get("GH_CONFIG_DIR"):
        return Path(configured)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "gh"


def cache_directory() -> Path:
    """What may be read again at any time: ids, when was written last, what waiting commands share."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "git-claim"
