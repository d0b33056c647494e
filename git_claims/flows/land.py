"""A pull request from green checks to a released claim: watched, merged at the head that was read, then given up.

Every step may be repeated: what is merged is found merged, what is closed is found closed, and the ref goes last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_claims.errors import Refused, TrackerError
from git_claims.flows.board import look, written
from git_claims.flows.release import held_of
from git_claims.flows.showing import release_shown
from git_claims.protocol import signals
from git_claims.protocol.issue import Edit, PullState
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.landing import Move, Step, next_step, step_after
from git_claims.protocol.parents import has_open_children, linked_parent, on_last_part, open_parts, parent_in
from git_claims.protocol.pull import Hindrance, Merging, Outcome, methods_of
from git_claims.protocol.signals import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from git_claims.flows.board import Board
    from git_claims.flows.change import Answer
    from git_claims.git.store import Store
    from git_claims.protocol.claim import ChainId, Claim, Seen
    from git_claims.protocol.issue import Issue
    from git_claims.protocol.pull import Landing, Method, Pull
    from git_claims.tracker.model import Tracker

# So many refusals for a head that moves under us are no accident.
_TRIES = 5
_SLOWEST = 6


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to watch, in seconds, and what watching needs of the world.

    `holds` asks whether the claim still stands, `notice` is told of every read and of what a merge was answered.
    """

    budget_seconds: float
    pause_seconds: float
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    holds: Callable[[], bool]
    notice: Callable[[Landing, Step, str], None]


@dataclass(frozen=True, slots=True)
class Watched:
    """How the watching ended: FINISH where it is merged, RED, STOP with its reason, WAIT where time was over.

    `said` is what the tracker said of a refusal, `method` how we merged it; None where it was not us who did.
    """

    landing: Landing
    step: Step
    said: str = ""
    method: Method | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """What the end of a landing came to. `notes` are what did not land, `parents` the issues closed along with it."""

    answers: list[Answer]
    notes: tuple[str, ...]
    parents: tuple[Item, ...]


def find_pull(tracker: Tracker, branch: str | None, number: int | None) -> Landing:
    """Finds the pull request to land: that number, else the open one of the branch, else its newest; or Refused."""
    pull = _of_branch(tracker, branch) if number is None and branch is not None else None
    number = pull.number if pull is not None else number
    landing = tracker.read_landing(number) if number is not None else None
    if landing is None:
        of_branch = f" of branch '{branch}'" if branch is not None else " that closes it"
        raise Refused(f"there is no pull request{f' #{number}' if number else of_branch}", "'git claim pr' opens one")
    return landing


def belongs(landing: Landing, repo: str, items: Sequence[Item], branch: str | None) -> bool:
    """Says whether a pull request is of that branch, or says that it closes one of the items."""
    closes = {(linked.repo.casefold(), str(linked.number)) for linked in landing.closes}
    return landing.pull.head == branch or any((repo.casefold(), item.key) in closes for item in items)


def linked_pull(issue: Issue | None) -> int | None:
    """Returns the pull request that says it closes the issue: the only open one, else the newest merged one."""
    pulls = issue.pulls if issue is not None else ()
    opened = [pull.number for pull in pulls if pull.state is PullState.OPEN]
    if len(opened) > 1:
        named = ", ".join(f"#{number}" for number in sorted(opened))
        raise Refused(f"several pull requests would close it: {named}", "say which with --pr N")
    merged = [pull.number for pull in pulls if pull.state is PullState.MERGED]
    return max(opened or merged, default=None)


def watch(tracker: Tracker, landing: Landing, patience: Patience, *, without_checks: bool) -> Watched:
    """Watches the checks and merges when they are green; believed only when the tracker says that it is merged."""
    deadline, tries = patience.monotonic() + patience.budget_seconds, 0
    while True:
        watched = Watched(landing, next_step(landing, without_checks=without_checks))
        patience.notice(landing, watched.step, "")
        if watched.step.move is Move.MERGE:
            tries += 1
            watched = _merged(tracker, landing, patience, may_repeat=tries < _TRIES, without_checks=without_checks)
        left = deadline - patience.monotonic()
        if watched.step.move is not Move.WAIT or left <= 0:
            return watched
        # Each attempt is a write, so a check that does not come is asked after less and less often.
        pause = patience.pause_seconds * min(1 + tries, _SLOWEST)
        patience.sleep(min(left, pause * (0.75 + patience.jitter() / 2)))
        landing = tracker.read_landing(landing.pull.number) or watched.landing


def _merged(
    tracker: Tracker, landing: Landing, patience: Patience, *, may_repeat: bool, without_checks: bool
) -> Watched:
    """Merges, if the claim still holds, and says what came of it."""
    if not patience.holds():
        return Watched(landing, Step(Move.LOST))
    merging, method = _merge(tracker, landing)
    now, step = merging.landing or landing, step_after(merging, may_repeat=may_repeat, without_checks=without_checks)
    patience.notice(now, step, merging.said)
    return Watched(now, step, merging.said, method if step.move is Move.FINISH else None)


def finish(
    store: Store,
    board: Board,
    landing: Landing,
    items: Sequence[Item],
    chain: ChainId,
    claims: Mapping[Item, Seen],
    kept_branches: frozenset[str] | None = None,
) -> Finished:
    """Gives up the claims of what is merged, in order: signals, parent, remote branch, and the refs last.

    `kept_branches` stay on the remote whatever is merged from them; unless told, its default branch.
    """
    looked = look(board, items)
    notes: list[str] = []
    closed: list[Item] = []

    def edit_of(issue: Issue, item: Item, claim: Claim) -> Edit:
        pull = landing.pull
        return signals.on_release(issue, item, claim, board.house, Release.MERGED, pull=pull.number, base=pull.base)

    def before_the_refs() -> None:
        notes.extend(_without_branch(store, landing, kept_branches))
        closed.extend(_close_parents(board, _delivered(items, looked.issues, chain, claims), looked.issues, notes))

    answers = release_shown(store, board, looked, items, chain, claims, edit_of, before_refs=before_the_refs)
    return Finished(answers, tuple(notes), tuple(closed))


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


def _merge(tracker: Tracker, landing: Landing) -> tuple[Merging, Method | None]:
    """Tries the methods that the repository allows, squash first; a queue has its own."""
    merging, tried = Merging(Outcome.REFUSED, None, Hindrance.METHOD_FORBIDDEN), None
    for method in methods_of(landing):
        merging, tried = tracker.merge(landing, method), method
        if merging.hindrance is not Hindrance.METHOD_FORBIDDEN:
            break
    return merging, tried


def _without_branch(store: Store, landing: Landing, kept_branches: frozenset[str] | None) -> list[str]:
    """Deletes the branch that was merged, if it still is what was merged and nothing that work is cut from."""
    pull = landing.pull
    if pull.head == pull.base or pull.state is not PullState.MERGED:
        return []
    if pull.head in (kept_branches if kept_branches is not None else {store.remote.default_branch()}):
        return []
    kept = store.remote.delete_branch(pull.head, pull.head_oid)
    return [] if kept is None else [f"branch '{pull.head}' stays on the remote: {kept}"]


def _delivered(
    items: Sequence[Item], issues: Mapping[Item, Issue | None], chain: ChainId, claims: Mapping[Item, Seen]
) -> list[Item]:
    """Returns the items that are closed, or were just now along with our claim."""
    held = held_of(items, claims, chain)
    return [item for item in items if item in held or ((issue := issues.get(item)) is not None and not issue.is_open)]


def _close_parents(
    board: Board, items: Sequence[Item], issues: Mapping[Item, Issue | None], notes: list[str]
) -> list[Item]:
    """Closes each parent whose last child was delivered. What cannot be read closes nothing."""
    closed: list[Item] = []
    try:
        for parent, last in _parents(board, items, issues).items():
            page = board.tracker.read([parent])[parent]
            if page is None or not page.is_open or not _is_done(board, parent, items, _repo_of(page)):
                continue
            edit = on_last_part(page, parent, last, board.house)
            failed = written(board, [edit])
            notes.extend(f"{parent.noun} '{parent.spelling}': {part}" for part in failed)
            closed.extend([] if failed else [parent])
    except TrackerError as error:
        notes.append(f"whether a parent is done could not be found out: {error.message}")
    return closed


def _parents(board: Board, items: Sequence[Item], issues: Mapping[Item, Issue | None]) -> dict[Item, Item]:
    """Finds the parents, linked or named, each with the last of its children here."""
    there = {item: issue for item in items if item.kind is Kind.ISSUE and (issue := issues.get(item)) is not None}
    families = board.tracker.read_families(there) if there else {}
    found: dict[Item, Item] = {}
    for item, issue in there.items():
        repo = _repo_of(issue)
        parents = {linked_parent(families[item], repo), parent_in(issue.body, repo)} - {None, *items}
        found |= {parent: item for parent in parents if parent is not None}
    return found


def _is_done(board: Board, parent: Item, delivered: Sequence[Item], repo: str) -> bool:
    """Says whether no other child is open: none that is linked, and none whose text names the parent."""
    if has_open_children(board.tracker.read_families([parent])[parent], repo, delivered):
        return False
    left = open_parts(board.tracker.read_open_bodies(), parent, repo, delivered)
    # A list may lag behind; whoever lands the other child at this moment sees ours in the same way.
    pages = board.tracker.read(left) if left else {}
    return not any(page is None or page.is_open for page in pages.values())


def _repo_of(issue: Issue) -> str:
    """Reads `owner/repo` from the address of an issue."""
    return "/".join(issue.url.split("/")[-4:-2])
