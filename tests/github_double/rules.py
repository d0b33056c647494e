"""What GitHub does when somebody writes: who may, what follows, what is dropped in silence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from tests.github_double.records import (
    Comment,
    Event,
    Issue,
    Label,
    Pull,
    Reason,
    Repository,
    Ticket,
    User,
    World,
    now,
)
from tests.places import run_git

MOST_ASSIGNEES = 10
LONGEST_BODY = 65536


class Refusal(Exception):
    """GitHub says no: the type of the GraphQL error, and its words."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def not_found(message: str) -> Refusal:
    return Refusal("NOT_FOUND", message)


def need_triage(viewer: User, what: str) -> None:
    if not viewer.may_triage:
        raise Refusal("FORBIDDEN", f"{viewer.login} does not have the correct permissions to execute `{what}`")


def record(world: World, ticket: Ticket, kind: str, actor: str, subject: str = "") -> None:
    ticket.events.append(Event(world.new_id("EV"), kind, actor, now(), subject))
    ticket.updated_at = now()


def add_labels(world: World, viewer: User, ticket: Ticket, labels: Iterable[Label]) -> None:
    need_triage(viewer, "AddLabelsToLabelable")
    for label in labels:
        if label.name not in ticket.labels:
            ticket.labels.append(label.name)
            record(world, ticket, "LabeledEvent", viewer.login, label.name)


def remove_labels(world: World, viewer: User, ticket: Ticket, labels: Iterable[Label]) -> None:
    need_triage(viewer, "RemoveLabelsFromLabelable")
    for label in labels:
        if label.name in ticket.labels:
            ticket.labels.remove(label.name)
            record(world, ticket, "UnlabeledEvent", viewer.login, label.name)


def add_assignees(world: World, viewer: User, ticket: Ticket, users: Iterable[User]) -> None:
    """Adds who can be assigned; others, and all beyond the tenth, are dropped without a word."""
    need_triage(viewer, "AddAssigneesToAssignable")
    for user in users:
        fits = user.association != "NONE" and len(ticket.assignees) < MOST_ASSIGNEES
        if fits and user.login not in ticket.assignees:
            ticket.assignees.append(user.login)
            record(world, ticket, "AssignedEvent", viewer.login, user.login)


def remove_assignees(world: World, viewer: User, ticket: Ticket, users: Iterable[User]) -> None:
    need_triage(viewer, "RemoveAssigneesFromAssignable")
    for user in users:
        if user.login in ticket.assignees:
            ticket.assignees.remove(user.login)
            record(world, ticket, "UnassignedEvent", viewer.login, user.login)


def replace_assignees(world: World, viewer: User, ticket: Ticket, users: list[User]) -> None:
    """What plain gh does: the whole list, so whoever was added since it was read is lost."""
    kept = {user.login for user in users}
    remove_assignees(world, viewer, ticket, [world.users[login] for login in ticket.assignees if login not in kept])
    add_assignees(world, viewer, ticket, users)


def add_comment(world: World, viewer: User, ticket: Ticket, body: str) -> Comment:
    if len(body) > LONGEST_BODY:
        raise Refusal("UNPROCESSABLE", f"Body is too long (maximum is {LONGEST_BODY} characters)")
    number = world.new_number()
    comment = Comment(f"IC_{number}", number, viewer.login, viewer.association, body, now())
    ticket.comments.append(comment)
    ticket.updated_at = now()
    return comment


def close(world: World, viewer: User, ticket: Ticket, reason: Reason | None) -> None:
    """Closes; of what is closed already neither the reason nor the time changes."""
    if viewer.login != ticket.author:
        need_triage(viewer, "CloseIssue")
    if ticket.state != "OPEN":
        return
    ticket.state, ticket.closed_at = "CLOSED", now()
    if isinstance(ticket, Issue):
        ticket.state_reason = reason or "COMPLETED"
    record(world, ticket, "ClosedEvent", viewer.login)


def reopen(viewer: User, issue: Issue) -> None:
    need_triage(viewer, "ReopenIssue")
    issue.state, issue.closed_at, issue.state_reason = "OPEN", None, "REOPENED"
    issue.updated_at = now()


def delete_branch(repository: Repository, branch: str) -> bool:
    """Deletes a branch of the bare repository; says whether it was there."""
    if repository.git is None or repository.commit(f"refs/heads/{branch}") is None:
        return False
    run_git(repository.git, "update-ref", "-d", f"refs/heads/{branch}")
    return True


T = TypeVar("T", Label, User, Ticket, Issue, Pull)


def by_id(world: World, id: object, kind: type[T]) -> T:
    """The thing with that id; GitHub does not say whether an id of another kind exists."""
    for thing in _everything(world):
        if thing.id == id and isinstance(thing, kind):
            return thing
    raise not_found(f"Could not resolve to a node with the global id of '{id}'")


def all_by_id(world: World, ids: object, kind: type[T]) -> list[T]:
    assert isinstance(ids, list)
    return [by_id(world, id, kind) for id in ids]


def _everything(world: World) -> Iterator[Label | User | Ticket]:
    yield from world.users.values()
    for repository in world.repositories.values():
        yield from repository.labels.values()
        yield from repository.tickets.values()


def find_repository(world: World, full_name: str) -> Repository:
    for name, repository in world.repositories.items():
        if name.lower() == full_name.lower():
            return repository
    raise not_found(f"Could not resolve to a Repository with the name '{full_name}'.")
