"""The REST routes in use. A route that is not here is a finding, not an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.github_double import rules
from tests.github_double.records import Label, Ticket, User, World
from tests.github_double.rules import Refusal, find_repository, not_found
from tests.github_double.views import Views

Body = Mapping[str, object]
LOG_HOST = "logs.example.invalid"


class UnknownRoute(Exception):
    """Nobody taught the double this route."""


@dataclass(frozen=True, slots=True)
class RestAnswer:
    status: int
    document: object
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(views: Views, method: str, path: str, body: Body) -> RestAnswer:
    for verb, pattern, act in ROUTES:
        if verb == method and (match := re.fullmatch(pattern, path)):
            try:
                return act(views, match, body)
            except Refusal as refusal:
                return _refused(refusal)
    raise UnknownRoute(f"{method} {path}")


def _refused(refusal: Refusal) -> RestAnswer:
    if refusal.kind == "NOT_FOUND":
        return RestAnswer(404, {"message": "Not Found", "status": "404"})
    return RestAnswer(403, {"message": "Must have admin rights to Repository.", "status": "403"})


def _user_document(user: User) -> dict[str, object]:
    return {"login": user.login, "node_id": user.id, "type": "Bot" if user.is_bot else "User"}


def _label_document(label: Label) -> dict[str, object]:
    return {"node_id": label.id, "name": label.name, "color": label.colour, "description": label.description}


def _viewer(views: Views, _: re.Match[str], __: Body) -> RestAnswer:
    return RestAnswer(200, _user_document(views.viewer))


def _make_label(views: Views, match: re.Match[str], body: Body) -> RestAnswer:
    repository, name = find_repository(views.world, match[1]), str(body["name"])
    rules.need_triage(views.viewer, "CreateLabel")
    if name.lower() in repository.labels:
        problem = {"resource": "Label", "code": "already_exists", "field": "name"}
        return RestAnswer(422, {"message": "Validation Failed", "errors": [problem], "status": "422"})
    colour, description = (str(body.get(key, "")) for key in ("color", "description"))
    label = Label(name, views.world.new_id("LA"), colour or "ededed", description or None)
    repository.labels[name.lower()] = label
    return RestAnswer(201, _label_document(label))


def _change_label(views: Views, match: re.Match[str], body: Body) -> RestAnswer:
    label = find_repository(views.world, match[1]).labels[match[2].lower()]
    label.colour = str(body.get("color", label.colour))
    return RestAnswer(200, _label_document(label))


def _drop_ref(views: Views, match: re.Match[str], _: Body) -> RestAnswer:
    """What `gh pr merge --delete-branch` sends last."""
    repository = find_repository(views.world, match[1])
    if not rules.delete_branch(repository, match[2]):
        return RestAnswer(422, {"message": "Reference does not exist", "status": "422"})
    return RestAnswer(204, None)


def _add_assignees(views: Views, match: re.Match[str], body: Body) -> RestAnswer:
    ticket, logins = find_repository(views.world, match[1]).tickets[int(match[2])], body["assignees"]
    assert isinstance(logins, list)
    users = [views.world.users[login] for login in logins if login in views.world.users]
    rules.add_assignees(views.world, views.viewer, ticket, users)
    return RestAnswer(201, _ticket_document(ticket))


def _ticket_document(ticket: Ticket) -> dict[str, object]:
    assignees = [{"login": login} for login in ticket.assignees]
    return {"number": ticket.number, "node_id": ticket.id, "assignees": assignees}


def _job_logs(views: Views, match: re.Match[str], _: Body) -> RestAnswer:
    """Logs lie elsewhere; those of old jobs nowhere."""
    if job_log(views.world, f"/{match[2]}") is None:
        raise not_found("Not Found")
    return RestAnswer(302, None, {"Location": f"https://{LOG_HOST}/{match[2]}?signature=1f"})


def job_log(world: World, path: str) -> str | None:
    for repository in world.repositories.values():
        for run in repository.check_runs():
            if f"/{run.number}" == path and run.log is not None:
                return "\ufeff" + "".join(f"2026-05-04T03:02:01.0000000Z {line}\r\n" for line in run.log.split("\n"))
    return None


REPOSITORY = r"/repos/([^/]+/[^/]+)"
ROUTES: tuple[tuple[str, str, Callable[[Views, re.Match[str], Body], RestAnswer]], ...] = (
    ("GET", "/user", _viewer),
    ("POST", f"{REPOSITORY}/labels", _make_label),
    ("PATCH", f"{REPOSITORY}/labels/(.+)", _change_label),
    ("POST", rf"{REPOSITORY}/issues/([0-9]+)/assignees", _add_assignees),
    ("GET", f"{REPOSITORY}/actions/jobs/([0-9]+)/logs", _job_logs),
    ("DELETE", f"{REPOSITORY}/git/refs/heads/(.+)", _drop_ref),
)
