"""The mutations: each finds what its ids name, does what the rules say and shows the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.github_double import merging, rules
from tests.github_double.records import Issue, Label, Method, Pull, Reason, Ticket, User
from tests.github_double.rules import all_by_id, by_id, not_found
from tests.github_double.views import View, Views

Input = Mapping[str, object]


def add_labels(views: Views, given: Input) -> View:
    ticket = by_id(views.world, given["labelableId"], Ticket)
    rules.add_labels(views.world, views.viewer, ticket, all_by_id(views.world, given["labelIds"], Label))
    return {"labelable": views.ticket(ticket)}


def remove_labels(views: Views, given: Input) -> View:
    ticket = by_id(views.world, given["labelableId"], Ticket)
    rules.remove_labels(views.world, views.viewer, ticket, all_by_id(views.world, given["labelIds"], Label))
    return {"labelable": views.ticket(ticket)}


def add_assignees(views: Views, given: Input) -> View:
    ticket = by_id(views.world, given["assignableId"], Ticket)
    rules.add_assignees(views.world, views.viewer, ticket, all_by_id(views.world, given["assigneeIds"], User))
    return {"assignable": views.ticket(ticket)}


def remove_assignees(views: Views, given: Input) -> View:
    ticket = by_id(views.world, given["assignableId"], Ticket)
    rules.remove_assignees(views.world, views.viewer, ticket, all_by_id(views.world, given["assigneeIds"], User))
    return {"assignable": views.ticket(ticket)}


def replace_actors(views: Views, given: Input) -> View:
    ticket = by_id(views.world, given["assignableId"], Ticket)
    users = all_by_id(views.world, given.get("actorIds") or [], User)
    logins = given.get("actorLogins") or []
    assert isinstance(logins, list)
    for login in logins:
        if login not in views.world.users:
            raise not_found(f"Could not resolve to a node with the login of '{login}'.")
        users.append(views.world.users[login])
    rules.replace_assignees(views.world, views.viewer, ticket, users)
    return {"assignable": views.ticket(ticket)}


def add_comment(views: Views, given: Input) -> View:
    ticket = by_id(views.world, given["subjectId"], Ticket)
    comment = rules.add_comment(views.world, views.viewer, ticket, str(given["body"]))
    edge = {"cursor": comment.id, "node": views.comment(ticket, comment)}
    return {"commentEdge": edge, "subject": views.ticket(ticket)}


def update_comment(views: Views, given: Input) -> View:
    for ticket in views.world.tickets():
        for comment in ticket.comments:
            if comment.id == given["id"]:
                comment.body = str(given["body"])
                return {"issueComment": views.comment(ticket, comment)}
    raise not_found(f"Could not resolve to a node with the global id of '{given['id']}'")


def update_issue(views: Views, given: Input) -> View:
    issue = by_id(views.world, given["id"], Issue)
    issue.title = str(given.get("title") or issue.title)
    issue.body = str(given.get("body") or issue.body)
    return {"issue": views.ticket(issue)}


def close_issue(views: Views, given: Input) -> View:
    issue = by_id(views.world, given["issueId"], Issue)
    reasons: dict[object, Reason] = {"NOT_PLANNED": "NOT_PLANNED", "DUPLICATE": "DUPLICATE"}
    rules.close(views.world, views.viewer, issue, reasons.get(given.get("stateReason"), "COMPLETED"))
    return {"issue": views.ticket(issue)}


def reopen_issue(views: Views, given: Input) -> View:
    issue = by_id(views.world, given["issueId"], Issue)
    rules.reopen(views.viewer, issue)
    return {"issue": views.ticket(issue)}


def add_blocker(views: Views, given: Input) -> View:
    issue, blocker = (by_id(views.world, given[name], Issue) for name in ("issueId", "blockingIssueId"))
    issue.blockers.append((blocker.repository.full_name, blocker.number))
    return {"issue": views.ticket(issue)}


def create_pull(views: Views, given: Input) -> View:
    repository = next(each for each in views.world.repositories.values() if each.id == given["repositoryId"])
    pull = Pull(
        repository=repository,
        number=max(repository.tickets, default=0) + 1,
        id=views.world.new_id("PR"),
        title=str(given["title"]),
        author=views.viewer.login,
        body=str(given.get("body") or ""),
        head=str(given["headRefName"]).rpartition(":")[2],
        base=str(given["baseRefName"]),
        is_draft=bool(given.get("draft")),
    )
    rules.need_triage(views.viewer, "CreatePullRequest")
    merging.open_pull(pull)
    return {"pullRequest": views.ticket(pull)}


def merge_pull(views: Views, given: Input) -> View:
    pull, headline = by_id(views.world, given["pullRequestId"], Pull), given.get("commitHeadline")
    words = str(headline) if headline else None
    merging.ask_to_merge(views.world, views.viewer, pull, _method(given), given.get("expectedHeadOid"), words)
    return {"pullRequest": views.ticket(pull)}


def enqueue_pull(views: Views, given: Input) -> View:
    pull = by_id(views.world, given["pullRequestId"], Pull)
    merging.enqueue(views.viewer, pull, given.get("expectedHeadOid"))
    return {"mergeQueueEntry": {"id": f"MQE_{pull.number}", "pullRequest": views.ticket(pull)}}


def enable_auto_merge(views: Views, given: Input) -> View:
    pull = by_id(views.world, given["pullRequestId"], Pull)
    merging.enable_auto_merge(views.world, views.viewer, pull, _method(given), given.get("expectedHeadOid"))
    return {"pullRequest": views.ticket(pull)}


def _method(given: Input) -> Method:
    methods: dict[object, Method] = {"SQUASH": "SQUASH", "REBASE": "REBASE"}
    return methods.get(given.get("mergeMethod"), "MERGE")


def close_pull(views: Views, given: Input) -> View:
    pull = by_id(views.world, given["pullRequestId"], Pull)
    rules.close(views.world, views.viewer, pull, None)
    return {"pullRequest": views.ticket(pull)}


WRITES: dict[str, Callable[[Views, Input], View]] = {
    "addLabelsToLabelable": add_labels,
    "removeLabelsFromLabelable": remove_labels,
    "addAssigneesToAssignable": add_assignees,
    "removeAssigneesFromAssignable": remove_assignees,
    "replaceActorsForAssignable": replace_actors,
    "addComment": add_comment,
    "updateIssueComment": update_comment,
    "updateIssue": update_issue,
    "closeIssue": close_issue,
    "reopenIssue": reopen_issue,
    "addBlockedBy": add_blocker,
    "createPullRequest": create_pull,
    "mergePullRequest": merge_pull,
    "enqueuePullRequest": enqueue_pull,
    "enablePullRequestAutoMerge": enable_auto_merge,
    "closePullRequest": close_pull,
}
