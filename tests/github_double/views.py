"""How the records look in GraphQL: one dictionary an object, in which connections are functions of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from git_claims.protocol.text import stamp
from tests.github_double import merging
from tests.github_double.records import (
    CheckRun,
    Comment,
    Event,
    Issue,
    Label,
    Pull,
    Repository,
    Status,
    Ticket,
    User,
    World,
    now,
)
from tests.github_double.rules import Refusal, by_id, not_found

View = dict[str, object]
Connection = Callable[..., View]
T = TypeVar("T")


class Asked(Protocol):
    """What a resolver is told of where it stands."""

    @property
    def field_name(self) -> str: ...


LARGEST_PAGE = 100
SNAKE = {"LabeledEvent": "LABELED_EVENT", "UnlabeledEvent": "UNLABELED_EVENT", "AssignedEvent": "ASSIGNED_EVENT"}
SNAKE |= {"UnassignedEvent": "UNASSIGNED_EVENT", "ClosedEvent": "CLOSED_EVENT"}
SNAKE |= {"HeadRefForcePushedEvent": "HEAD_REF_FORCE_PUSHED_EVENT"}


def page(name: str, nodes: Sequence[object], arguments: Mapping[str, object]) -> View:
    """One page of a connection; a cursor is a position."""
    start, end = _position(arguments.get("after"), -1) + 1, _position(arguments.get("before"), len(nodes))
    for bound in ("first", "last"):
        size = arguments.get(bound)
        if isinstance(size, int):
            _check_size(name, bound, size)
            start, end = (start, min(end, start + size)) if bound == "first" else (max(start, end - size), end)
    if arguments.get("first") is None and arguments.get("last") is None:
        words = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
        raise Refusal("MISSING_PAGINATION_BOUNDARIES", words)
    return {
        "nodes": nodes[start:end],
        "totalCount": len(nodes),
        "pageInfo": {
            "hasNextPage": end < len(nodes),
            "hasPreviousPage": start > 0,
            "startCursor": f"cursor:{start}" if start < end else None,
            "endCursor": f"cursor:{end - 1}" if start < end else None,
        },
    }


def _check_size(name: str, bound: str, size: int) -> None:
    if not 1 <= size <= LARGEST_PAGE:
        words = f"Requesting {size} records on the `{name}` connection exceeds the `{bound}` limit of 100 records."
        raise Refusal("EXCESSIVE_PAGINATION", words)


def _position(cursor: object, otherwise: int) -> int:
    return int(cursor.partition(":")[2]) if isinstance(cursor, str) else otherwise


def paged(nodes: Callable[..., Sequence[object]]) -> Connection:
    """A connection over what `nodes` returns for the arguments that are not about pages."""

    def resolve(info: Asked, **arguments: object) -> View:
        bounds = {name: arguments.pop(name, None) for name in ("first", "last", "after", "before")}
        arguments.pop("orderBy", None)
        return page(info.field_name, nodes(**arguments), bounds)

    return resolve


def time_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else stamp(moment)


def picked(tickets: Sequence[T], **wanted: object) -> list[T]:
    """Those whose attributes are the wanted values, or among them; what is not wanted does not matter."""
    found = list(tickets)
    for name, value in wanted.items():
        if value is not None:
            values = value if isinstance(value, list) else [value]
            found = [ticket for ticket in found if getattr(ticket, name) in values]
    return found


@dataclass(frozen=True, slots=True)
class Views:
    """The world as one login sees it; lists are read from `listed`, which may lag behind."""

    world: World
    listed: World
    viewer: User
    remaining: int
    is_settled: bool = True

    def node(self, id: str) -> View:
        for repository in self.world.repositories.values():
            for run in repository.check_runs():
                if run.id == id:
                    return check_run_view(repository, run, is_required=False)
        return self.ticket(by_id(self.world, id, Ticket))

    def user(self, login: str | None) -> View | None:
        if login is None:
            return None
        user = self.world.users.get(login) or User(login, f"U_{login}")
        kind = "Bot" if user.is_bot else "User"
        return {"__typename": kind, "id": user.id, "login": login, "name": None, "url": f"https://github.com/{login}"}

    def label(self, label: Label) -> View:
        names = {"name": label.name, "color": label.colour, "description": label.description}
        return {"__typename": "Label", "id": label.id, "url": "https://github.com/labels", **names}

    def comment(self, ticket: Ticket, comment: Comment) -> View:
        return {
            "__typename": "IssueComment",
            "id": comment.id,
            "databaseId": comment.number,
            "author": self.user(comment.author),
            "authorAssociation": comment.association,
            "body": comment.body,
            "createdAt": stamp(comment.created_at),
            "updatedAt": stamp(comment.created_at),
            "includesCreatedEdit": False,
            "isMinimized": False,
            "reactionGroups": [],
            "url": f"{ticket.url}#issuecomment-{comment.number}",
            "viewerDidAuthor": comment.author == self.viewer.login,
        }

    def event(self, ticket: Ticket, event: Event) -> View:
        label = ticket.repository.labels.get(event.subject.lower())
        return {
            "__typename": event.kind,
            "id": event.id,
            "actor": self.user(event.actor),
            "createdAt": stamp(event.created_at),
            "label": label and self.label(label),
            "assignee": self.user(event.subject) if "ssigned" in event.kind else None,
        }

    def ticket(self, ticket: Ticket) -> View:
        return self._issue(ticket) if isinstance(ticket, Issue) else self._pull(ticket)

    def _shared(self, ticket: Ticket) -> View:
        repository = ticket.repository
        labels = [repository.labels[name.lower()] for name in ticket.labels if name.lower() in repository.labels]
        people = paged(lambda: [self.user(login) for login in ticket.assignees])
        return {
            "id": ticket.id,
            "databaseId": int(ticket.id.partition("_")[2]),
            "number": ticket.number,
            "title": ticket.title,
            "body": ticket.body,
            "url": ticket.url,
            "state": ticket.state,
            "closed": ticket.state != "OPEN",
            "closedAt": time_or_none(ticket.closed_at),
            "createdAt": stamp(ticket.created_at),
            "updatedAt": stamp(ticket.updated_at),
            "author": self.user(ticket.author),
            "authorAssociation": "MEMBER",
            "repository": lambda _: self.repository(repository),
            "labels": paged(lambda: [self.label(label) for label in labels]),
            "assignees": people,
            "assignedActors": people,
            "comments": paged(lambda: [self.comment(ticket, comment) for comment in ticket.comments]),
            "timelineItems": paged(lambda itemTypes=None: self._timeline(ticket, itemTypes)),
        }

    def _timeline(self, ticket: Ticket, kinds: list[str] | None) -> list[View]:
        wanted = [event for event in ticket.events if kinds is None or SNAKE[event.kind] in kinds]
        return [self.event(ticket, event) for event in wanted]

    def _issue(self, issue: Ticket) -> View:
        assert isinstance(issue, Issue)
        return self._shared(issue) | {
            "__typename": "Issue",
            "stateReason": lambda _, **__: issue.state_reason,
            "blockedBy": paged(lambda: [self.ticket(each) for each in self._named(issue.blockers)]),
            "parent": lambda _: self._parent(issue),
            "subIssues": paged(lambda: [self.ticket(each) for each in self._named(issue.children)]),
            "closedByPullRequestsReferences": paged(
                # Only open ones unless asked for: whoever forgets to ask never sees that an issue was merged.
                lambda includeClosedPrs=False: [
                    self.ticket(pull)
                    for pull in issue.repository.pulls()
                    if issue.number in pull.closes() and (includeClosedPrs or pull.state == "OPEN")
                ]
            ),
        }

    def _named(self, named: Sequence[tuple[str, int]]) -> list[Ticket]:
        return [self.world.repositories[name].tickets[number] for name, number in named]

    def _parent(self, issue: Issue) -> View | None:
        name = issue.repository.full_name, issue.number
        issues = (ticket for ticket in self.world.tickets() if isinstance(ticket, Issue))
        return next((self.ticket(each) for each in issues if name in each.children), None)

    def _pull(self, pull: Ticket) -> View:
        assert isinstance(pull, Pull)
        head, rollup = pull.tip, self._rollup(pull)
        commit = commit_view(*head) | {"statusCheckRollup": rollup}
        return (
            self._shared(pull)
            | self._merging(pull)
            | {
                "__typename": "PullRequest",
                "isDraft": pull.is_draft,
                "isCrossRepository": pull.is_from_fork,
                "headRefName": pull.head,
                "headRefOid": head[0],
                "headRepositoryOwner": owner_view(pull.repository),
                "baseRefName": pull.base,
                "statusCheckRollup": rollup,
                "commits": paged(lambda: [{"id": f"PRC_{pull.number}", "commit": commit}]),
                "closingIssuesReferences": paged(lambda: self._closing(pull)),
            }
        )

    def _merging(self, pull: Pull) -> View:
        asked = pull.auto_merge and {"enabledAt": stamp(pull.updated_at), "mergeMethod": pull.auto_merge[1]}
        return {
            "merged": pull.state == "MERGED",
            "mergedAt": time_or_none(pull.merged_at),
            "mergeCommit": pull.merge_commit and commit_view(pull.merge_commit, pull.merged_at or now()),
            "mergeable": lambda _: self._mergeable(pull),
            "mergeStateStatus": lambda _: merging.merge_state(pull) if self.is_settled else "UNKNOWN",
            "reviewDecision": merging.review_decision(pull),
            "isInMergeQueue": pull.is_queued,
            "isMergeQueueEnabled": pull.repository.protection.has_queue,
            "autoMergeRequest": asked,
        }

    def _mergeable(self, pull: Pull) -> str:
        if not self.is_settled or pull.state != "OPEN":
            return "UNKNOWN"
        return "CONFLICTING" if merging.conflicts(pull) else "MERGEABLE"

    def _rollup(self, pull: Pull) -> View | None:
        if (state := merging.rollup_state(pull)) is None:
            return None
        required = pull.repository.protection.required
        views = [context_view(pull.repository, each, is_required=each.name in required) for each in pull.contexts()]
        return {"id": f"SCR_{pull.number}", "state": state, "contexts": paged(lambda: views)}

    def _closing(self, pull: Pull) -> list[View]:
        return [self.ticket(issue) for issue in pull.repository.issues() if issue.number in pull.closes()]

    def repository(self, repository: Repository) -> View:
        default = {"id": "REF_default", "name": repository.default_branch}
        return {
            "__typename": "Repository",
            "id": repository.id,
            "databaseId": 7000,
            "name": repository.name,
            "nameWithOwner": repository.full_name,
            "owner": owner_view(repository),
            "url": repository.url,
            "sshUrl": f"git@github.com:{repository.full_name}.git",
            "hasIssuesEnabled": repository.has_issues,
            **dict.fromkeys(("hasWikiEnabled", "isArchived", "isFork", "isPrivate"), False),
            "viewerPermission": self.viewer.permission,
            "mergeCommitAllowed": "MERGE" in repository.protection.methods,
            "rebaseMergeAllowed": "REBASE" in repository.protection.methods,
            "squashMergeAllowed": "SQUASH" in repository.protection.methods,
            "autoMergeAllowed": repository.protection.auto_merge,
            "defaultBranchRef": default,
            "ref": lambda _, qualifiedName: ref_view(repository, qualifiedName),
            "issue": lambda _, number: self.ticket(numbered(repository, number, Issue)),
            "pullRequest": lambda _, number: self.ticket(numbered(repository, number, Pull)),
            "issueOrPullRequest": lambda _, number: self.ticket(numbered(repository, number, Ticket)),
            "issues": self._issues(repository),
            "pullRequests": self._pulls(repository),
            "label": lambda _, name: self._label(repository, name),
            "labels": paged(lambda query=None: [self.label(label) for label in repository.labels.values()]),
        }

    def _label(self, repository: Repository, name: str) -> View | None:
        label = repository.labels.get(name.lower())
        return None if label is None else self.label(label)

    def _issues(self, repository: Repository) -> Connection:
        listed = self.listed.repositories[repository.full_name]

        def resolve(info: Asked, **arguments: object) -> View:
            filters = arguments.pop("filterBy", None)
            assignee = filters.get("assignee") if isinstance(filters, dict) else None
            found = picked(listed.issues(), state=arguments.pop("states", None))
            found = [issue for issue in found if assignee is None or assignee in issue.assignees]
            if labels := arguments.pop("labels", None):
                assert isinstance(labels, list)
                found = [issue for issue in found if set(labels) & set(issue.labels)]
            return self._tickets(info, found, arguments)

        return resolve

    def _pulls(self, repository: Repository) -> Connection:
        listed = self.listed.repositories[repository.full_name]

        def resolve(info: Asked, **arguments: object) -> View:
            states, head, base = (arguments.pop(name, None) for name in ("states", "headRefName", "baseRefName"))
            return self._tickets(info, picked(listed.pulls(), state=states, head=head, base=base), arguments)

        return resolve

    def _tickets(self, info: Asked, found: Sequence[Ticket], arguments: dict[str, object]) -> View:
        order = arguments.pop("orderBy", None)
        newest_first = isinstance(order, dict) and order["direction"] == "DESC"
        in_order = sorted(found, key=lambda ticket: ticket.number, reverse=newest_first)
        return page(info.field_name, [self.ticket(ticket) for ticket in in_order], arguments)

    def rate_limit(self, cost: int, nodes: int) -> View:
        limits = {"cost": cost, "nodeCount": nodes, "limit": 5000, "remaining": self.remaining}
        return limits | {"used": 5000 - self.remaining, "resetAt": stamp(now() + timedelta(hours=1))}


def numbered(repository: Repository, number: int, kind: type[T]) -> T:
    ticket = repository.tickets.get(number)
    if not isinstance(ticket, kind):
        what = {"Issue": "an Issue", "Pull": "a PullRequest", "Ticket": "an issue or pull request"}[kind.__name__]
        raise not_found(f"Could not resolve to {what} with the number of {number}.")
    return ticket


def owner_view(repository: Repository) -> View:
    name = repository.owner
    return {"__typename": "Organization", "id": f"O_{name}", "login": name, "url": f"https://github.com/{name}"}


def commit_view(oid: str, at: datetime) -> View:
    return {"__typename": "Commit", "id": f"C_{oid}", "oid": oid, "committedDate": stamp(at)}


def ref_view(repository: Repository, name: str) -> View | None:
    commit = repository.commit(name)
    short = name.removeprefix("refs/heads/")
    return commit and {"id": f"REF_{short}", "name": short, "target": commit_view(*commit)}


def context_view(repository: Repository, context: CheckRun | Status, *, is_required: bool) -> View:
    if isinstance(context, CheckRun):
        return check_run_view(repository, context, is_required=is_required)
    return {
        "__typename": "StatusContext",
        "id": f"SC_{context.name}",
        "context": context.name,
        "state": context.state,
        "description": context.description,
        "targetUrl": f"https://ci.example.invalid/{context.name}",
        "createdAt": stamp(context.started_at),
        "isRequired": lambda _, **__: is_required,
    }


def check_run_view(repository: Repository, run: CheckRun, *, is_required: bool) -> View:
    workflow = {"event": "pull_request", "workflow": {"id": "W_1", "name": run.workflow}}
    job = f"{repository.url}/actions/runs/7/job/{run.number}"
    return {
        "__typename": "CheckRun",
        "id": run.id,
        "databaseId": run.number,
        "name": run.name,
        "status": "IN_PROGRESS" if run.conclusion is None else "COMPLETED",
        "conclusion": run.conclusion,
        "detailsUrl": job if run.workflow else f"https://ci.example.invalid/{run.number}",
        "title": run.title,
        "summary": run.summary,
        "text": None,
        "startedAt": stamp(run.started_at),
        "completedAt": run.conclusion and stamp(run.started_at),
        "checkSuite": {"id": "CS_1", "workflowRun": workflow if run.workflow else None},
        "isRequired": lambda _, **__: is_required,
    }
