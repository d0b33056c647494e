"""Edits on their way to GitHub: in ids, in documents of a bearable size, and what of them is still owed. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from git_claims.protocol.item import Item
from git_claims.tracker.github_queries import Writing
from git_claims.tracker.model import Comment, Edit, Edited, Issue, Step

# The limit on nodes would allow hundreds, but GitHub ends a document after ten seconds, and each step is a write.
_STEPS_IN_ONE_DOCUMENT = 40


@dataclass(frozen=True, slots=True)
class Plan:
    """An edit ready to be sent, and the steps that cannot be, with the reason."""

    edit: Edit
    writing: Writing
    impossible: Mapping[Step, str]


def steps_of(edit: Edit) -> list[Step]:
    """Returns the steps that an edit asks for, in the order in which they are written."""
    asked = {
        Step.ADD_LABELS: bool(edit.add_labels),
        Step.REMOVE_LABELS: bool(edit.remove_labels),
        Step.ADD_ASSIGNEES: bool(edit.add_assignees),
        Step.REMOVE_ASSIGNEES: bool(edit.remove_assignees),
        Step.COMMENT: edit.comment is not None,
        Step.CLOSE: edit.close,
    }
    return [step for step in Step if asked[step]]


def batches(edits: Iterable[Edit]) -> Iterator[list[Edit]]:
    """Puts edits together that one document can hold; never two of the same item."""
    batch, steps = list[Edit](), 0
    for edit in edits:
        size = len(steps_of(edit))
        if batch and (steps + size > _STEPS_IN_ONE_DOCUMENT or edit.item in {each.item for each in batch}):
            yield batch
            batch, steps = [], 0
        batch.append(edit)
        steps += size
    if batch:
        yield batch


def only(edit: Edit, steps: Iterable[Step]) -> Edit:
    """Returns the edit with nothing but those steps."""
    kept, none = frozenset(steps), frozenset[str]()
    return replace(
        edit,
        add_labels=edit.add_labels if Step.ADD_LABELS in kept else none,
        remove_labels=edit.remove_labels if Step.REMOVE_LABELS in kept else none,
        add_assignees=edit.add_assignees if Step.ADD_ASSIGNEES in kept else none,
        remove_assignees=edit.remove_assignees if Step.REMOVE_ASSIGNEES in kept else none,
        comment=edit.comment if Step.COMMENT in kept else None,
        close=edit.close and Step.CLOSE in kept,
    )


def owed(edit: Edit, issue: Issue) -> Edit:
    """Returns what of an edit the issue does not show yet."""
    labels, assignees = (frozenset(map(str.casefold, names)) for names in (issue.labels, issue.assignees))
    return replace(
        edit,
        add_labels=frozenset(name for name in edit.add_labels if name.casefold() not in labels),
        remove_labels=frozenset(name for name in edit.remove_labels if name.casefold() in labels),
        add_assignees=frozenset(name for name in edit.add_assignees if name.casefold() not in assignees),
        remove_assignees=frozenset(name for name in edit.remove_assignees if name.casefold() in assignees),
        comment=None if is_posted(edit, issue.comments) else edit.comment,
        close=edit.close and issue.is_open,
    )


def is_posted(edit: Edit, comments: Iterable[Comment]) -> bool:
    """Says whether the comment of an edit is there already: found by its nonce, or by its text if it has none."""
    mark = edit.comment_nonce or edit.comment
    return mark is not None and any(mark in comment.body for comment in comments)


def plan(edit: Edit, issue: Issue, label: Callable[[str], str | None], login: Callable[[str], str | None]) -> Plan:
    """Puts an edit into ids. What has no id cannot be added, and need not be removed."""
    labels, no_labels = _ids(edit.add_labels, label)
    people, nobody = _ids(edit.add_assignees, login)
    about: dict[Step, Sequence[str] | str] = {
        Step.ADD_LABELS: labels,
        Step.REMOVE_LABELS: _ids(edit.remove_labels, label)[0],
        Step.ADD_ASSIGNEES: people,
        Step.REMOVE_ASSIGNEES: _ids(edit.remove_assignees, login)[0],
        Step.COMMENT: edit.comment or "",
    }
    impossible: dict[Step, str] = {}
    if no_labels:
        impossible[Step.ADD_LABELS] = f"the repository has no label {named(no_labels)}"
    if nobody:
        impossible[Step.ADD_ASSIGNEES] = f"GitHub knows nobody called {named(nobody)}"
    steps = {step: about.get(step, "") for step in steps_of(edit) if step is Step.CLOSE or about[step]}
    return Plan(edit, Writing(issue.item, issue.id, steps), impossible)


def _ids(names: Iterable[str], find: Callable[[str], str | None]) -> tuple[list[str], list[str]]:
    """Returns the ids that are known, and the names that have none."""
    found = {name: find(name) for name in sorted(names)}
    return [id for id in found.values() if id is not None], [name for name, id in found.items() if id is None]


def named(names: Iterable[str]) -> str:
    """Returns names as a sentence holds them."""
    return ", ".join(f"'{name}'" for name in sorted(names))


class Progress:
    """What became of edits so far: the newest state of each item, and the steps that did not land."""

    def __init__(self) -> None:
        self.issues: dict[Item, Issue | None] = {}
        self.failed: dict[Item, dict[Step, str]] = {}
        self.passing: dict[Item, set[Step]] = {}
        self.begun: set[Item] = set()

    def fail(self, edit: Edit, why: str, *, passes: bool = False) -> None:
        """Notes that no step of the edit landed. `passes`: they may when they are asked for again."""
        for step in steps_of(edit):
            self.fail_step(edit.item, step, why, passes=passes)

    def fail_step(self, item: Item, step: Step, why: str, *, passes: bool = False) -> None:
        """Notes that one step did not land."""
        self.failed.setdefault(item, {})[step] = why
        kept = self.passing.setdefault(item, set())
        (kept.add if passes else kept.discard)(step)

    def edited(self, item: Item) -> Edited:
        """Returns the result for an item."""
        return Edited(self.issues.get(item), self.failed.get(item, {}), frozenset(self.passing.get(item, ())))
