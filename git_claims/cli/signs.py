"""What a tracker says of claims, for `ls` and `show`: title, state, pull requests, whether the holder looks gone."""

from collections.abc import Mapping

from git_claims.cli.render import Document
from git_claims.cli.world import World
from git_claims.errors import NoTrackerHere, TrackerError
from git_claims.flows.board import read_pages, with_branches
from git_claims.flows.listing import Row
from git_claims.protocol.claim import Seen
from git_claims.protocol.issue import Issue, PullRequest
from git_claims.protocol.item import Item
from git_claims.protocol.staleness import Judgement
from git_claims.protocol.text import printable

Signs = Mapping[Item, Issue | None]

_TITLE_CHARACTERS = 32


def read_signs(world: World, claims: Mapping[Item, Seen], *, needed: bool = False) -> Signs:
    """Reads the tracker's pages of claimed items. A listing of claims is worth having without them, and says so.

    `needed`: the question cannot be answered without them.
    """
    wanted = list(claims)
    board = world.board()
    if needed and not board.tracker.shows:
        raise NoTrackerHere("there is no tracker here, so nobody can be said to look gone", "'git claim ls' shows ages")
    if not wanted or not board.tracker.shows:
        return {}
    try:
        pages = read_pages(board, wanted) if len(wanted) > 1 else board.tracker.read(wanted)
        return with_branches(board, claims, pages, world.now)
    except TrackerError as error:
        if needed:
            raise
        world.talk.warn(f"what the tracker says is left out: {error.message}")
        return {}


def judged(world: World, row: Row, signs: Signs) -> Judgement:
    """Judges the holder of a claim on everything that was read."""
    return world.board().judged(row.item, row.seen.claim, signs.get(row.item), world.now)


def say_sign(world: World, row: Row, signs: Signs) -> str:
    """One cell: `Fix auth; open; #12 passing; active: renewed 5 min ago`."""
    issue = signs.get(row.item)
    if issue is None:
        return "unknown to the tracker" if row.item in signs else ""
    title = printable(issue.title)
    short = title if len(title) <= _TITLE_CHARACTERS else f"{title[: _TITLE_CHARACTERS - 1]}…"
    found = judged(world, row, signs)
    return "; ".join([short, _state(issue), *map(_pull, issue.pulls), f"{found.verdict}: {', '.join(found.reasons)}"])


def sign_lines(world: World, row: Row, signs: Signs) -> list[str]:
    """The lines that `show` adds below the record."""
    issue = signs.get(row.item)
    if issue is None:
        return []
    found = judged(world, row, signs)
    lines = [f"title       {printable(issue.title)}", f"state       {_state(issue)}"]
    lines += [f"pull        {_pull(pull)}" for pull in issue.pulls]
    return [*lines, f"holder      {found.verdict}: {', '.join(found.reasons)}"]


def sign_document(world: World, row: Row, signs: Signs) -> Document:
    """What is added to a claim in JSON; absent where the tracker was not asked."""
    issue = signs.get(row.item)
    if issue is None:
        return {}
    found = judged(world, row, signs)
    return {
        "title": printable(issue.title),
        "state": _state(issue),
        "pulls": [
            {"number": pull.number, "state": str(pull.state), "checks": str(pull.checks)} for pull in issue.pulls
        ],
        "staleness": {"verdict": str(found.verdict), "reasons": list(found.reasons)},
    }


def _state(issue: Issue) -> str:
    return "open" if issue.is_open else ("done" if issue.completed else "closed")


def _pull(pull: PullRequest) -> str:
    return f"#{pull.number} {pull.state}" + (f", checks {pull.checks}" if pull.state == "open" else "")
