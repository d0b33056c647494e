"""The GraphQL documents about pull requests and about parents and children of issues. Pure text."""

from collections.abc import Sequence
from enum import Enum

from git_claims.protocol.pull import Method, NewPull, Pull
from git_claims.tracker.github_queries import Document, Place, question

PULLS = 50
CLOSES = 50
CHILDREN = 100

_PULL = (
    "__typename id number url title body state headRefName headRefOid baseRefName isDraft isCrossRepository "
    "assignees(first: 20) {nodes {login}}"
)
_LINKED = "number title state stateReason repository {nameWithOwner}"
_FRAGMENT = f"fragment pull on PullRequest {{{_PULL}}}\n"


class Way(Enum):
    """How a merge is asked for."""

    NOW = "mergePullRequest"
    QUEUE = "enqueuePullRequest"
    WHEN_READY = "enablePullRequestAutoMerge"


def find_document(place: Place, branch: str) -> Document:
    """Finds the pull requests of a branch, `open` ones and those that have `ended`, each newest first."""
    order = f"headRefName: $head, orderBy: {{field: CREATED_AT, direction: DESC}}, first: {PULLS}"
    parts = [
        "id",
        f"open: pullRequests(states: OPEN, {order}) {{nodes {{...pull}}}}",
        f"ended: pullRequests(states: [CLOSED, MERGED], {order}) {{nodes {{...pull}}}}",
    ]
    return question(place, parts, {"head": branch}, fragments=_FRAGMENT)


def open_document(repository_id: str, new: NewPull) -> Document:
    """Opens a pull request: `done`."""
    given = {
        "repositoryId": repository_id,
        "headRefName": new.head,
        "baseRefName": new.base,
        "title": new.title,
        "body": new.body,
        "draft": new.is_draft,
    }
    text = (
        "mutation ($input: CreatePullRequestInput!) {\n"
        f"  done: createPullRequest(input: $input) {{pullRequest {{...pull}}}}\n}}\n{_FRAGMENT}"
    )
    return Document(text, {"input": given})


def landing_document(place: Place, number: int) -> Document:
    """Reads all that decides about merging a pull request."""
    part = f"pullRequest(number: {number}) {{...landing}}"
    return question(place, [part], {}, fragments=_landing_fragments(place, number))


def checks_document(place: Place, number: int, cursor: str) -> Document:
    """Reads the hundred checks after the cursor, and of which commit they are."""
    part = f"pullRequest(number: {number}) {{headRefOid {_head_commit(place, number, ', after: $after')}}}"
    return question(place, [part], {"after": cursor})


def merge_document(place: Place, way: Way, pull: Pull, method: Method) -> Document:
    """Asks for a merge of exactly the head that was read: `done`."""
    given = {"pullRequestId": pull.id, "expectedHeadOid": pull.head_oid}
    if way is not Way.QUEUE:
        # A queue has a method of its own and refuses to be told another.
        given["mergeMethod"] = method.name
    kind = way.value[0].upper() + way.value[1:] + "Input"
    answer = "pullRequest {...landing}"
    answer = f"mergeQueueEntry {{{answer}}}" if way is Way.QUEUE else answer
    text = f"mutation ($input: {kind}!) {{\n  done: {way.value}(input: $input) {{{answer}}}\n}}\n"
    return Document(text + _landing_fragments(place, pull.number), {"input": given})


def output_document(place: Place, check_id: str) -> Document:
    """Reads what a check run says of itself."""
    output = "... on CheckRun {title summary text}"
    return question(place, ["id"], {"node": check_id}, beside=[f"check: node(id: $node) {{{output}}}"])


def families_document(place: Place, numbers: Sequence[str]) -> Document:
    """Reads the parent and children of issues: `f<number>`."""
    parent = "" if "parent" in place.lacking else f" parent {{{_LINKED}}}"
    children = f" subIssues(first: {CHILDREN}) {{totalCount nodes {{{_LINKED}}}}}"
    inner = f"number{parent}{'' if 'subIssues' in place.lacking else children}"
    return question(place, [f"f{number}: issue(number: {number}) {{{inner}}}" for number in numbers], {})


def bodies_document(place: Place, cursor: str | None) -> Document:
    """Reads the texts of a hundred open issues, oldest first, from after the cursor."""
    order = "states: OPEN, orderBy: {field: CREATED_AT, direction: ASC}"
    issues = f"issues(first: 100, after: $after, {order}) {{pageInfo {{hasNextPage endCursor}} nodes {{number body}}}}"
    return question(place, [issues], {"after": cursor})


def _landing_fragments(place: Place, number: int) -> str:
    optional = {
        "isInMergeQueue": "isInMergeQueue",
        "isMergeQueueEnabled": "isMergeQueueEnabled",
        "autoMergeRequest": "autoMergeRequest {enabledAt}",
    }
    allowed = "viewerPermission squashMergeAllowed mergeCommitAllowed rebaseMergeAllowed"
    parts = [
        "...pull mergeable mergeStateStatus reviewDecision mergeCommit {oid}",
        *(text for name, text in optional.items() if name not in place.lacking),
        f"repository {{{allowed}{'' if 'autoMergeAllowed' in place.lacking else ' autoMergeAllowed'}}}",
        f"closingIssuesReferences(first: {CLOSES}) {{totalCount nodes {{{_LINKED}}}}}",
        _head_commit(place, number),
    ]
    inner = "\n  ".join(parts)
    return f"fragment landing on PullRequest {{\n  {inner}\n}}\n{_FRAGMENT}"


def _head_commit(place: Place, number: int, after: str = "") -> str:
    """Asks for the checks of the newest commit by way of the commit, as servers of every age have it."""
    required = f"isRequired(pullRequestNumber: {number})"
    run = (
        f"__typename id databaseId name status conclusion detailsUrl title startedAt {required} "
        "checkSuite {workflowRun {event workflow {name}}}"
    )
    status = f"__typename context state targetUrl description createdAt {required}"
    nodes = f"... on CheckRun {{{run}}} ... on StatusContext {{{status}}}"
    contexts = f"contexts(first: 100{after}) {{pageInfo {{hasNextPage endCursor}} nodes {{{nodes}}}}}"
    rollup = "" if "statusCheckRollup" in place.lacking else f" statusCheckRollup {{{contexts}}}"
    return f"commits(last: 1) {{nodes {{commit {{oid{rollup}}}}}}}"
