"""The fence: work lands together with a renewal of the claim it rests on, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from git_claims.errors import CannotTell
from git_claims.flows.change import Answer, answer_to, answer_without_push
from git_claims.flows.transfer import renew
from git_claims.protocol import transition
from git_claims.protocol.settlement import Moved
from git_claims.protocol.transition import Outcome, Reason, Swap, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from git_claims.git.remote import PushLine, PushReport, Work
    from git_claims.git.store import Store
    from git_claims.protocol.claim import Seen
    from git_claims.protocol.item import Item
    from git_claims.protocol.transition import Asker, Decision

# The user's hooks run at every try, so only a claim that proves to be still ours is worth another one.
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of the claims and of the work. `landed`: all of it, or without a fence some; None: cannot be told.

    `branches` holds git's verdict by ref, `said` what git, its hooks and the server said.
    """

    answers: list[Answer]
    landed: bool | None
    branches: dict[str, PushLine] = field(default_factory=dict)
    said: bytes = b""


def push(store: Store, items: Sequence[Item], asker: Asker, work: Work) -> Pushed:
    """Pushes work and renews the claims in one atomic push, each claim leased on its own id.

    The claim must move: git leaves a ref that is up to date out of the push, and what is left out protects nothing.
    """
    seen = store.cached_items(items)
    decisions = _decisions(items, seen, asker)
    if any(isinstance(each, Verdict) for each in decisions):
        # The copy is only a copy; that a claim is not ours is for the server to say.
        seen = store.read(items)
        decisions = _decisions(items, seen, asker)
    pushed = Pushed([], False)
    for _ in range(_TRIES):
        swaps = [each for each in decisions if isinstance(each, Swap)]
        if len(swaps) < len(decisions):
            return replace(pushed, answers=[_unless_ours(each) for each in decisions])
        settled, report = store.fence(swaps, work)
        moved = {item: state.seen for item, state in settled.items() if isinstance(state, Moved)}
        answers = [answer_to(swap, settled[swap.item]) or _untouched(swap) for swap in swaps]
        pushed = _pushed(report, answers)
        if not moved:
            break
        seen = {**seen, **moved}
        decisions = _decisions(items, seen, asker)
    return pushed


def push_checked(store: Store, items: Sequence[Item], asker: Asker, work: Work) -> Pushed:
    """Pushes where one push cannot hold both: claims renewed before, work pushed, claims read back after.

    Another chain can take a claim between the push and the reading back; then that is told, and what landed stays.
    """
    answers = renew(store, items, asker)
    if not all(answer.succeeded for answer in answers):
        return Pushed(answers, False)
    held = [f"claim={answer.claim.oid}" for answer in answers if answer.claim]
    report = store.push_work(work, held)
    moved = any(line.flag not in "!=" for line in report.lines.values())
    landed = True if report.clean(()) or moved else (False if report.was_answered else None)
    try:
        after = store.read(items)
    except CannotTell as silence:
        unknown = [Answer(each, Outcome.UNKNOWN, Reason.CANNOT_TELL, detail=silence.message) for each in items]
        return Pushed(unknown, landed, report.lines, report.finished.stderr)
    lost = [
        Answer(item, Outcome.NOT_YOURS, Reason.HELD if after[item] else Reason.NOT_CLAIMED, rival=after[item])
        for item in items
        if not _ours(after[item], asker)
    ]
    return Pushed(lost or answers, landed, report.lines, report.finished.stderr)


def _decisions(items: Sequence[Item], seen: dict[Item, Seen | None], asker: Asker) -> list[Decision]:
    return [transition.renew(item, seen[item], asker) for item in items]


def _pushed(report: PushReport, answers: list[Answer]) -> Pushed:
    applied = all(answer.succeeded for answer in answers)
    unclear = any(answer.outcome is Outcome.UNKNOWN for answer in answers)
    # Without a verdict it may have landed, and somebody taken the claim since.
    landed = applied or (False if report.was_answered and not unclear else None)
    return Pushed(answers, landed, report.lines, report.finished.stderr)


def _unless_ours(decision: Decision) -> Answer:
    if isinstance(decision, Verdict):
        return answer_without_push(decision)
    return _untouched(decision)


def _untouched(swap: Swap) -> Answer:
    return Answer(swap.item, Outcome.NOT_RENEWED, Reason.ALL_OR_NOTHING, claim=swap.expected)


def _ours(seen: Seen | None, asker: Asker) -> bool:
    return seen is not None and seen.is_held_by(asker.chain)
