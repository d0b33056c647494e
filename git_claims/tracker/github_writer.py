"""Edits written to GitHub: sent, answered by step, repeated where that is safe, and told.

A document is not a transaction: of its steps some may land and others not. A step that is repeated is harmless but
for a comment, which is therefore looked for first.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from git_claims.errors import TrackerError, Trouble
from git_claims.protocol.item import Item
from git_claims.tracker import github_answers as answers
from git_claims.tracker import github_queries as queries
from git_claims.tracker.github_edits import Plan, Progress, batches, is_posted, named, only, owed, plan, steps_of
from git_claims.tracker.github_queries import Document, Place
from git_claims.tracker.ids import Ids
from git_claims.tracker.model import Edit, Edited, Issue, Step
from git_claims.tracker.pace import Pace
from git_claims.tracker.reply import Answer, Fault
from git_claims.tracker.tree import understood

_ATTEMPTS = 3
# A refusal inside an answer of status 200 comes without Retry-After; GitHub asks for a minute.
_LIMIT_SECONDS = 60.0
_BY_ID = frozenset({Step.ADD_LABELS, Step.REMOVE_LABELS, Step.ADD_ASSIGNEES, Step.REMOVE_ASSIGNEES})
# No repeating changes these; anything else GitHub may think of may have another answer next time.
_FOR_GOOD = frozenset({"FORBIDDEN", "NOT_FOUND", "INSUFFICIENT_SCOPES"})
_PASSING = frozenset({Trouble.RATE_LIMITED, Trouble.SERVER, Trouble.NETWORK, Trouble.TIMEOUT})
_UNTOLD = Fault("GitHub did not say why")


class Ask(Protocol):
    """Sends a document and returns its answer."""

    def __call__(self, document_of: Callable[[Place], Document], *, is_write: bool = False) -> Answer: ...


class Writer:
    """Writes the edits of one call; `seen` is what this process last read of items."""

    def __init__(
        self,
        ask: Ask,
        read: Callable[[Iterable[Item]], dict[Item, Issue | None]],
        operator: Callable[[], str | None],
        host: str,
        ids: Ids,
        pace: Pace,
        seen: dict[Item, Issue],
    ) -> None:
        self._ask, self._read, self._operator = ask, read, operator
        self._host, self._ids, self._pace, self._seen = host, ids, pace, seen
        self._progress = Progress()

    def apply(self, edits: Sequence[Edit]) -> dict[Item, Edited]:
        """Writes all edits; what GitHub refuses or keeps from us is told in the result."""
        wanted = [edit for edit in edits if not edit.is_empty]
        try:
            if wanted:
                with self._pace.writing(self._host, self._operator() or ""):
                    self._look_again_where_others_wrote(wanted)
                    for batch in batches(wanted):
                        self._write(batch)
        except TrackerError as error:
            for edit in wanted:
                if edit.item not in self._progress.begun:
                    self._progress.fail(edit, _said(error), passes=_passes(error))
        self._look_again(wanted)
        return {edit.item: self._progress.edited(edit.item) for edit in edits}

    def _look_again_where_others_wrote(self, edits: Sequence[Edit]) -> None:
        """Forgets what another process of this login has changed meanwhile: its comment may be ours already."""
        ids = {self._seen[edit.item].id: edit.item for edit in edits if edit.item in self._seen}
        for id in self._pace.others_wrote_to(ids):
            del self._seen[ids[id]]

    def _write(self, batch: list[Edit]) -> None:
        """Sends a batch until nothing of it is owed that could be sent again; raises where that ends it all."""
        self._progress.begun |= {edit.item for edit in batch}
        todo = batch
        try:
            with understood():
                for attempt in range(_ATTEMPTS):
                    todo = self._send(self._plans(todo), is_last=attempt == _ATTEMPTS - 1)
                    if not todo:
                        return
        except TrackerError as error:
            for edit in todo:
                self._progress.fail(edit, _said(error), passes=_passes(error))
            raise

    def _plans(self, edits: Sequence[Edit]) -> list[Plan]:
        """Puts edits into ids, which takes no request where the items and names were seen before."""
        if unread := [edit.item for edit in edits if edit.item not in self._seen]:
            self._read(unread)
        self._look_up(edits)
        plans = []
        for edit in edits:
            issue = self._seen.get(edit.item)
            if issue is None:
                self._progress.fail(edit, "GitHub has no such item")
                continue
            plans.append(plan(_without_posted_comment(edit, issue), issue, self._ids.label, self._ids.login))
            for step, why in plans[-1].impossible.items():
                self._progress.fail_step(edit.item, step, why)
        return [each for each in plans if each.writing.steps]

    def _look_up(self, edits: Sequence[Edit]) -> None:
        """Asks for the ids that must be known. What is removed was shown with its id, or is not there."""
        labels = sorted({name for edit in edits for name in edit.add_labels if self._ids.label(name) is None})
        people = sorted({name for edit in edits for name in edit.add_assignees if self._ids.login(name) is None})
        if not labels and not people:
            return
        data = self._ask(lambda place: queries.lookup_document(place, labels, people)).data
        found = [data.at("repository", f"l{at}") for at in range(len(labels))]
        logins = [data.at(f"u{at}") for at in range(len(people))]
        self._ids.learn(
            {name: each.at("id").text for name, each in zip(labels, found, strict=True) if each},
            {name: each.at("id").text for name, each in zip(people, logins, strict=True) if each},
        )

    def _send(self, plans: list[Plan], *, is_last: bool) -> list[Edit]:
        """Sends one document; returns what of it has to be sent again."""
        if not plans:
            return []
        writings = [each.writing for each in plans]
        self._pace.space_out()
        try:
            answer = self._ask(lambda place: queries.edits_document(place, writings), is_write=True)
        except TrackerError as error:
            if is_last or not error.maybe_applied:
                raise
            return self._still_owed([each.edit for each in plans], error)
        finally:
            self._pace.wrote()
            self._pace.wrote_to(each.id for each in writings)
        waited = not is_last and self._wait_if_limited(answer)
        owed_again = [self._note(at, each, answer, is_last, waited) for at, each in enumerate(plans)]
        return [edit for edit in owed_again if not edit.is_empty]

    def _still_owed(self, edits: Sequence[Edit], error: TrackerError) -> list[Edit]:
        """Looks what landed of a write whose answer was lost, and returns the rest."""
        try:
            issues = self._read([edit.item for edit in edits])
        except TrackerError:
            raise error from None
        self._progress.issues |= issues
        rest = [owed(edit, issue) for edit in edits if (issue := issues[edit.item]) is not None]
        return [edit for edit in rest if not edit.is_empty]

    def _wait_if_limited(self, answer: Answer) -> bool:
        """Waits where steps were refused for coming too quickly; says whether they may be tried again."""
        limited = next((fault for fault in answer.faults if fault.is_limit), None)
        if limited is None:
            return False
        try:
            self._pace.wait(_LIMIT_SECONDS, TrackerError(Trouble.RATE_LIMITED, f"GitHub says: {limited.message}"))
        except TrackerError:
            return False
        return True

    def _note(self, at: int, sent: Plan, answer: Answer, is_last: bool, waited: bool) -> Edit:
        """Notes what became of each step of one edit, and returns what of it is worth another try."""
        again, item = set[Step](), sent.edit.item
        for step, about in sent.writing.steps.items():
            alias = queries.alias_of(at, step)
            if answer.data.at(alias):
                continue
            fault = next((each for each in answer.faults if each.path[:1] == (alias,)), _UNTOLD)
            is_gone = fault.kind == "NOT_FOUND" and step in _BY_ID and sent.writing.id not in fault.message
            if is_gone:
                self._ids.forget(about)
            if (is_gone and not is_last) or (fault.is_limit and waited):
                again.add(step)
            else:
                passes = fault.kind not in _FOR_GOOD
                self._progress.fail_step(item, step, f"GitHub says: {fault.message}", passes=passes)
        self._note_state(at, sent, answer)
        return only(sent.edit, again)

    def _note_state(self, at: int, sent: Plan, answer: Answer) -> None:
        """Takes the state of the item from the answer of its last step."""
        step, item = list(sent.writing.steps)[-1], sent.edit.item
        alias = queries.alias_of(at, step)
        tree = answer.data.at(alias, queries.mutation_of(step, sent.writing.item).payload)
        if not tree:
            return
        is_damaged = any(fault.path[:1] == (alias,) for fault in answer.faults)
        issue = answers.issue_of(tree, is_damaged=is_damaged)
        if answers.earlier_comments_at(tree) is not None:
            issue = answers.with_comments_of(issue, self._seen[item])
        self._ids.learn(*answers.ids_of(tree))
        self._seen |= {item: issue, issue.item: issue}
        self._progress.issues[item] = issue

    def _look_again(self, edits: Sequence[Edit]) -> None:
        """Reads what was written but whose state the answer did not show, and compares the states with the edits."""
        failed, issues = self._progress.failed, self._progress.issues
        landed = [edit for edit in edits if set(steps_of(edit)) - set(failed.get(edit.item, ()))]
        unseen = [edit.item for edit in landed if edit.item not in issues]
        if unseen:
            with suppress(TrackerError):
                issues |= self._read(unseen)
        for edit in landed:
            if (issue := issues.get(edit.item)) is not None:
                self._compare(only(edit, set(steps_of(edit)) - set(failed.get(edit.item, ()))), issue)

    def _compare(self, edit: Edit, issue: Issue) -> None:
        """Notes what did not land although nothing failed: GitHub says nothing of people whom it drops."""
        missing = owed(edit, issue)
        if missing.add_assignees:
            why = f"GitHub does not let {named(missing.add_assignees)} be assigned here"
            self._progress.fail_step(edit.item, Step.ADD_ASSIGNEES, why)
        if missing.add_labels:
            # The id was that of a label which has another name by now.
            self._ids.forget(filter(None, map(self._ids.label, missing.add_labels)))
            why = f"the repository has no label {named(missing.add_labels)} any more"
            self._progress.fail_step(edit.item, Step.ADD_LABELS, why)


def _without_posted_comment(edit: Edit, issue: Issue) -> Edit:
    return replace(edit, comment=None) if is_posted(edit, issue.comments) else edit


def _passes(error: TrackerError) -> bool:
    return error.maybe_applied or error.trouble in _PASSING


def _said(error: TrackerError) -> str:
    return f"{error.message}; it may have landed" if error.maybe_applied else error.message
