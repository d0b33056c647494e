"""How the records look in GraphQL: one dictionary an object, in which connections are functions of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from git_claims.protocol.text import stamp
from tests.github_double.records import Comment, Event, Issue, Label, Pull, Repository, Ticket, User, World, now
from tests.github_double.rules import Refusal, not_found

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
            "blockedBy": paged(lambda: [self.ticket(blocker) for blocker in self._blockers(issue)]),
            "closedByPullRequestsReferences": paged(
                # Only open ones unless asked for: whoever forgets to ask never sees that an issue was merged.
                lambda includeClosedPrs=False: [
                    self.ticket(pull)
                    for pull in issue.repository.pulls()
                    if issue.number in pull.closes() and (includeClosedPrs or pull.state == "OPEN")
                ]
            ),
        }

    def _blockers(self, issue: Issue) -> list[Ticket]:
        return [self.world.repositories[name].tickets[number] for name, number in issue.blockers]

    def _pull(self, pull: Ticket) -> View:
        assert isinstance(pull, Pull)
        oid, _ = head = pull.repository.commit(f"refs/heads/{pull.head}") or (
            f"{pull.number:040x}",
            pull.head_commit_at,
        )
        rollup = pull.checks and {"id": f"SCR_{pull.number}", "state": pull.checks}
        commit = commit_view(*head) | {"statusCheckRollup": rollup}
        return self._shared(pull) | {
            "__typename": "PullRequest",
            "merged": pull.state == "MERGED",
            "mergedAt": time_or_none(pull.merged_at),
            "mergeCommit": pull.merge_commit and commit_view(pull.merge_commit, pull.merged_at or now()),
            "mergeable": "MERGEABLE",
            "mergeStateStatus": "CLEAN",
            "isDraft": pull.is_draft,
            **dict.fromkeys(("isCrossRepository", "isInMergeQueue", "isMergeQueueEnabled"), False),
            "headRefName": pull.head,
            "headRefOid": oid,
            "headRepositoryOwner": owner_view(pull.repository),
            "baseRefName": pull.base,
            "statusCheckRollup": rollup,
            "commits": paged(lambda: [{"id": f"PRC_{pull.number}", "commit": commit}]),
            "closingIssuesReferences": paged(lambda: self._closing(pull)),
        }

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
            **dict.fromkeys(("mergeCommitAllowed", "rebaseMergeAllowed", "squashMergeAllowed"), True),
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
