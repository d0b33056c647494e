"""A pull request from green checks to a released claim: watched, merged at the head that was read, then given up.

Every step may be repeated: what is merged is found merged, what is closed is found closed, and the ref goes last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_claims.errors import Refused, TrackerError
from git_claims.flows.board import apply, failures, look
from git_claims.flows.showing import release_shown
from git_claims.protocol import signals
from git_claims.protocol.issue import Edit, PullState
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.landing import Move, Step, next_step
from git_claims.protocol.parents import on_last_part, parent_in
from git_claims.protocol.pull import Hindrance, Merging, Outcome, methods_of
from git_claims.protocol.signals import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from git_claims.flows.board import Board
    from git_claims.flows.change import Answer
    from git_claims.git.store import Store
    from git_claims.protocol.claim import ChainId, Claim, Seen
    from git_claims.protocol.issue import Issue
    from git_claims.protocol.pull import Landing, Pull
    from git_claims.tracker.model import Tracker

# So many refusals for a head that moves under us are no accident.
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to watch, in seconds, and what watching needs of the world.

    `holds` asks whether the claim still stands, `notice` is told of every read.
    """

    budget_seconds: float
    pause_seconds: float
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    holds: Callable[[], bool]
    notice: Callable[[Landing, Step], None]


@dataclass(frozen=True, slots=True)
class Watched:
    """How the watching ended: FINISH where it is merged, RED, STOP with its reason, WAIT where time was over.

    `said` is what the tracker said of a refusal.
    """

    landing: Landing
    step: Step
    said: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """What the end of a landing came to. `notes` are what did not land, `parent` the issue that was closed with it."""

    answers: list[Answer]
    notes: tuple[str, ...]
    parent: Item | None


def find_pull(tracker: Tracker, branch: str | None, number: int | None) -> Landing:
    """Finds the pull request to land: that number, else the open one of the branch, else its newest; or Refused."""
    pull = _of_branch(tracker, branch) if number is None and branch is not None else None
    number = pull.number if pull is not None else number
    landing = tracker.read_landing(number) if number is not None else None
    if landing is None:
        what = f"no pull request #{number}" if number else f"no pull request of branch '{branch}'"
        raise Refused(f"there is {what}", "'git claim pr' opens one")
    return landing


def belongs(landing: Landing, repo: str, items: Sequence[Item], branch: str | None) -> bool:
    """Says whether a pull request is of that branch, or says that it closes one of the items."""
    closes = {(linked.repo.casefold(), str(linked.number)) for linked in landing.closes}
    return landing.pull.head == branch or any((repo.casefold(), item.key) in closes for item in items)


def watch(tracker: Tracker, landing: Landing, patience: Patience, *, without_checks: bool) -> Watched:
    """Watches the checks and merges when they are green; believed only when the tracker says that it is merged."""
    deadline, tries = patience.monotonic() + patience.budget_seconds, _TRIES
    while True:
        step = next_step(landing, without_checks=without_checks)
        patience.notice(landing, step)
        if step.move is Move.MERGE:
            if not patience.holds():
                return Watched(landing, Step(Move.LOST))
            merging, tries = _merge(tracker, landing), tries - 1
            watched = _after(merging, landing, tries)
            if watched is not None:
                return watched
            landing = merging.landing or landing
        elif step.move is not Move.WAIT:
            return Watched(landing, step)
        left = deadline - patience.monotonic()
        if left <= 0:
            return Watched(landing, step)
        patience.sleep(min(left, patience.pause_seconds * (0.75 + patience.jitter() / 2)))
        landing = tracker.read_landing(landing.pull.number) or landing


def finish(
    store: Store,
    board: Board,
    landing: Landing,
    items: Sequence[Item],
    chain: ChainId,
    claims: Mapping[Item, Seen],
) -> Finished:
    """Gives up the claims of what is merged, in order: signals, parent, remote branch, and the refs last."""
    looked = look(board, items)
    notes: list[str] = []
    closed: list[Item] = []

    def edit_of(issue: Issue, item: Item, claim: Claim) -> Edit:
        pull = landing.pull
        return signals.on_release(issue, item, claim, board.house, Release.MERGED, pull=pull.number, base=pull.base)

    def before_the_refs() -> None:
        notes.extend(_without_branch(store, landing))
        closed.extend(_close_parent(board, items, looked.issues, notes))

    answers = release_shown(store, board, looked, items, chain, claims, edit_of, before_refs=before_the_refs)
    return Finished(answers, tuple(notes), closed[0] if closed else None)


def give_up(
    store: Store,
    board: Board,
    items: Sequence[Item],
    chain: ChainId,
    claims: Mapping[Item, Seen],
    landing: Landing,
    reason: str,
) -> list[Answer]:
    """After too many red attempts: the blocked label, a comment, the assignee kept, and the claims given up."""

    def edit_of(issue: Issue, item: Item, claim: Claim) -> Edit:
        return signals.on_release(
            issue, item, claim, board.house, Release.BLOCKED, pull=landing.pull.number, reason=reason
        )

    return release_shown(store, board, look(board, items), items, chain, claims, edit_of)


def _of_branch(tracker: Tracker, branch: str) -> Pull | None:
    pulls = tracker.find_pulls(branch)
    is_open = [pull for pull in pulls if pull.state is PullState.OPEN]
    return next(iter(is_open or pulls), None)


def _merge(tracker: Tracker, landing: Landing) -> Merging:
    """Tries the methods that the repository allows, squash first; a queue has its own."""
    merging = Merging(Outcome.REFUSED, None, Hindrance.METHOD_FORBIDDEN)
    for method in methods_of(landing):
        merging = tracker.merge(landing, method)
        if merging.hindrance is not Hindrance.METHOD_FORBIDDEN:
            break
    return merging


def _after(merging: Merging, landing: Landing, tries: int) -> Watched | None:
    """Returns how it ended; None where it goes on: merged soon, or to be looked at again."""
    now = merging.landing or landing
    if merging.outcome is Outcome.MERGED and now.is_merged:
        return Watched(now, Step(Move.FINISH))
    passes = merging.hindrance in {Hindrance.HEAD_MOVED, Hindrance.UNSETTLED} and tries > 0
    if merging.outcome is Outcome.REFUSED and not passes:
        return Watched(now, Step(Move.STOP, hindrance=merging.hindrance or Hindrance.PROTECTED), merging.said)
    return None


def _without_branch(store: Store, landing: Landing) -> list[str]:
    """Deletes the branch that was merged, if it still is what was merged."""
    pull = landing.pull
    if pull.head == pull.base or pull.state is not PullState.MERGED:
        return []
    kept = store.remote.delete_branch(pull.head, pull.head_oid)
    return [] if kept is None else [f"branch '{pull.head}' stays on the remote: {kept}"]


def _close_parent(
    board: Board, items: Sequence[Item], issues: Mapping[Item, Issue | None], notes: list[str]
) -> list[Item]:
    """Closes the parent whose last child this was. What cannot be read closes nothing."""
    try:
        return [parent for item in items[:1] if (parent := _done_parent(board, item, issues.get(item), items))]
    except TrackerError as error:
        notes.append(f"whether a parent is done could not be found out: {error.message}")
        return []


def _done_parent(board: Board, item: Item, issue: Issue | None, delivered: Sequence[Item]) -> Item | None:
    if issue is None or item.kind is not Kind.ISSUE:
        return None
    parent = _linked_parent(board, item, delivered) or _named_parent(board, issue, delivered)
    if parent is None:
        return None
    page = board.tracker.read([parent])[parent]
    if page is None or not page.is_open:
        return None
    edit = on_last_part(page, parent, item, board.house)
    failed = [part for each in apply(board, [edit]).values() for part in failures(each)]
    return None if failed else parent


def _linked_parent(board: Board, item: Item, delivered: Sequence[Item]) -> Item | None:
    """Returns the parent that the tracker links, where no other child of it is open."""
    family = board.tracker.read_families([item])[item]
    if family is None or family.parent is None or not family.parent.is_open:
        return None
    parent = Item(Kind.ISSUE, str(family.parent.number))
    siblings = board.tracker.read_families([parent])[parent]
    if siblings is None or not siblings.complete:
        return None
    done = {each.key for each in delivered}
    return None if any(child.is_open and str(child.number) not in done for child in siblings.children) else parent


def _named_parent(board: Board, issue: Issue, delivered: Sequence[Item]) -> Item | None:
    """Returns the parent that the text names, where no other open issue names it."""
    repo = _repo_of(issue)
    parent = parent_in(issue.body, repo)
    if parent is None:
        return None
    bodies = board.tracker.read_open_bodies()
    left = [item for item, body in bodies.items() if item not in delivered and parent_in(body, repo) == parent]
    return None if left else parent


def _repo_of(issue: Issue) -> str:
    """Reads `owner/repo` from the address of an issue."""
    return "/".join(issue.url.split("/")[-4:-2])
