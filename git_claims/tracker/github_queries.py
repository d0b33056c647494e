"""The GraphQL documents: what is read of an issue, and how an edit is written. Pure text.

Names and bodies travel as variables. Sizes keep GitHub's limits: a list of a hundred issues costs 6 points and
13,000 of 500,000 nodes, a single issue 1 point.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from git_claims.protocol.item import Item, Kind
from git_claims.tracker.model import Step

# Left out where the server does not know them; what is missing then is told by the answer.
OF_ISSUES = frozenset({"blockedBy", "closedByPullRequestsReferences"})
OPTIONAL = OF_ISSUES | {
    *("statusCheckRollup", "isInMergeQueue", "isMergeQueueEnabled", "autoMergeRequest", "autoMergeAllowed"),
    *("parent", "subIssues"),
}


@dataclass(frozen=True, slots=True)
class Document:
    """A GraphQL document and the values of its variables."""

    text: str
    variables: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """The repository asked about, and the fields that its server lacks."""

    owner: str
    repo: str
    lacking: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Writing:
    """An edit in the ids that GitHub knows: per step the ids it is about, or the text of a comment."""

    item: Item
    id: str
    steps: Mapping[Step, Sequence[str] | str]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How much of each list is read at once."""

    labels: int
    assignees: int
    comments: int
    blockers: int
    pulls: int
    events: int
    body: str


_ONE = _Sizes(labels=100, assignees=20, comments=100, blockers=50, pulls=20, events=50, body=" body")
_MANY = _Sizes(labels=30, assignees=10, comments=30, blockers=25, pulls=10, events=20, body="")

_EITHER = "__typename ...issue ...pull"
_LABELS = "labels(first: 100) {nodes {id name}}"
_COMMENTS = "pageInfo {hasPreviousPage startCursor} nodes {id author {login} authorAssociation createdAt body}"
_PULL = "number state headRefName baseRefName updatedAt"
_EVENTS = " ".join(
    f"... on {kind} {{actor {{login}} createdAt}}"
    for kind in ("LabeledEvent", "UnlabeledEvent", "AssignedEvent", "UnassignedEvent")
)
_TYPES = {"after": "String", "node": "ID!"}
_EVENT_TYPES = "LABELED_EVENT, UNLABELED_EVENT, ASSIGNED_EVENT, UNASSIGNED_EVENT"


def items_document(place: Place, numbers: Sequence[str], branches: Mapping[int, str], *, with_labels: bool) -> Document:
    """Reads items by number: `i0`, `i1` … in that order, and of the branch asked about for the n-th its newest commit
    as `b<n>` and its pull requests as `h<n>`: not every one says which issue it closes.
    """
    parts = [f"i{at}: issueOrPullRequest(number: {number}) {{{_EITHER}}}" for at, number in enumerate(numbers)]
    parts += [f"b{at}: ref(qualifiedName: $b{at}) {{target {{... on Commit {{committedDate}}}}}}" for at in branches]
    newest = "orderBy: {field: CREATED_AT, direction: DESC}"
    pulls = f"{{nodes {{{_PULL}{_checks(place.lacking)}}}}}"
    parts += [f"h{at}: pullRequests(headRefName: $h{at}, first: 10, {newest}) {pulls}" for at in branches]
    parts += [_LABELS] * with_labels
    values = {f"b{at}": f"refs/heads/{branch}" for at, branch in branches.items()}
    values |= {f"h{at}": branch for at, branch in branches.items()}
    return question(place, parts, values, fragments=_fragments(_EITHER, place.lacking))


def page_document(place: Place, cursor: str | None, *, with_labels: bool) -> Document:
    """Reads a hundred open issues, oldest first, from after the cursor."""
    order = "states: OPEN, orderBy: {field: CREATED_AT, direction: ASC}"
    issues = f"issues(first: 100, after: $after, {order}) {{pageInfo {{hasNextPage endCursor}} nodes {{...issue}}}}"
    parts, values = [issues, *[_LABELS] * with_labels], {"after": cursor}
    return question(place, parts, values, fragments=_fragments("...issue", place.lacking, _MANY))


def comments_document(place: Place, cursors: Mapping[str, str]) -> Document:
    """Reads of each number the hundred comments before its cursor: `c<number>`."""
    parts = []
    for number in cursors:
        comments = f"{{comments(last: 100, before: $c{number}) {{{_COMMENTS}}}}}"
        both = f"... on Issue {comments} ... on PullRequest {comments}"
        parts.append(f"c{number}: issueOrPullRequest(number: {number}) {{{both}}}")
    return question(place, parts, {f"c{number}": cursor for number, cursor in cursors.items()})


def lookup_document(place: Place, labels: Sequence[str], logins: Sequence[str]) -> Document:
    """Finds the ids of labels (`l<n>`) and, outside the repository, of people (`u<n>`)."""
    parts = ["id", *(f"l{at}: label(name: $l{at}) {{id name}}" for at in range(len(labels)))]
    people = [f"u{at}: user(login: $u{at}) {{id login}}" for at in range(len(logins))]
    values = {f"l{at}": name for at, name in enumerate(labels)} | {f"u{at}": name for at, name in enumerate(logins)}
    return question(place, parts, values, beside=people)


def labels_document(place: Place, cursor: str | None) -> Document:
    """Reads a hundred labels of the repository from after the cursor."""
    labels = "labels(first: 100, after: $after) {pageInfo {hasNextPage endCursor} nodes {id name}}"
    return question(place, [labels], {"after": cursor})


def standing_document(place: Place) -> Document:
    """Asks what the login may do here, what is left of its hour, and which fields an issue has."""
    parts = ["nameWithOwner viewerPermission hasIssuesEnabled", _LABELS]
    return question(place, parts, {}, beside=["rateLimit {remaining}", '__type(name: "Issue") {fields {name}}'])


def edits_document(place: Place, writings: Sequence[Writing]) -> Document:
    """Writes edits, each step as `e<n>_<step>`; the last step of each edit answers with the state that it left."""
    parts, declared, values, shown = [], list[str](), dict[str, object](), set[str]()
    for at, writing in enumerate(writings):
        declared.append(f"$s{at}: ID!")
        values[f"s{at}"] = writing.id
        for step, about in writing.steps.items():
            mutation, alias = mutation_of(step, writing.item), alias_of(at, step)
            if mutation.type is not None:
                declared.append(f"${alias}: {mutation.type}")
                values[alias] = about
            is_last = step is list(writing.steps)[-1]
            shown |= {mutation.spread} if is_last else set()
            parts.append(mutation.text(alias, f"s{at}", is_last=is_last))
    body = f"mutation ({', '.join(declared)}) {{\n  " + "\n  ".join(parts) + "\n}\n"
    return Document(body + _fragments(" ".join(shown), place.lacking), values)


def alias_of(at: int, step: Step) -> str:
    """Returns the name under which a step of the n-th edit is written and answered."""
    return f"e{at}_{step.name.lower()}"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One field of GitHub's mutations; its answer shows the item as `payload`."""

    field: str
    subject: str
    argument: str
    type: str | None
    payload: str
    spread: str = _EITHER

    def text(self, alias: str, subject: str, *, is_last: bool) -> str:
        """Writes the field, with the state that it leaves or with nothing of interest."""
        argument = self.argument if self.type is None else f"{self.argument}: ${alias}"
        given = ", ".join(filter(None, (f"{self.subject}: ${subject}", argument)))
        answer = f"{self.payload} {{{self.spread}}}" if is_last else "clientMutationId"
        return f"{alias}: {self.field}(input: {{{given}}}) {{{answer}}}"


# Truly additive or subtractive, run one after the other in this order; a failed one does not stop the next.
_MUTATIONS = {
    Step.ADD_LABELS: Mutation("addLabelsToLabelable", "labelableId", "labelIds", "[ID!]!", "labelable"),
    Step.REMOVE_LABELS: Mutation("removeLabelsFromLabelable", "labelableId", "labelIds", "[ID!]!", "labelable"),
    Step.ADD_ASSIGNEES: Mutation("addAssigneesToAssignable", "assignableId", "assigneeIds", "[ID!]!", "assignable"),
    Step.REMOVE_ASSIGNEES: Mutation(
        "removeAssigneesFromAssignable", "assignableId", "assigneeIds", "[ID!]!", "assignable"
    ),
    Step.COMMENT: Mutation("addComment", "subjectId", "body", "String!", "subject"),
    Step.CLOSE: Mutation("closeIssue", "issueId", "stateReason: COMPLETED", None, "issue", "...issue"),
}
_CLOSE_PULL = Mutation("closePullRequest", "pullRequestId", "", None, "pullRequest", "...pull")


def mutation_of(step: Step, item: Item) -> Mutation:
    """Returns how GitHub calls a step on an item of that kind."""
    return _CLOSE_PULL if step is Step.CLOSE and item.kind is Kind.PULL else _MUTATIONS[step]


def question(
    place: Place, parts: Sequence[str], values: Mapping[str, object], *, fragments: str = "", beside: Sequence[str] = ()
) -> Document:
    """Puts parts into the repository; every read also tells who is logged in."""
    declared = "".join(f", ${name}: {_TYPES.get(name, 'String!')}" for name in values)
    inner = "\n    ".join(parts)
    outer = "\n  ".join(["viewer {id login}", *beside])
    text = (
        f"query ($owner: String!, $repo: String!{declared}) {{\n  {outer}\n"
        f"  repository(owner: $owner, name: $repo) {{\n    {inner}\n  }}\n}}\n{fragments}"
    )
    return Document(text, {"owner": place.owner, "repo": place.repo, **values})


def _fragments(spreads: str, lacking: frozenset[str], sizes: _Sizes = _ONE) -> str:
    """Writes the fragments that are spread: GitHub refuses one that nobody uses."""
    issue = _issue_fragment(sizes, lacking) if "...issue" in spreads else ""
    return issue + (_pull_fragment(sizes, lacking) if "...pull" in spreads else "")


def _shared(sizes: _Sizes) -> list[str]:
    return [
        f"__typename id number url title state{sizes.body}",
        f"labels(first: {sizes.labels}) {{totalCount nodes {{id name}}}}",
        f"assignees(first: {sizes.assignees}) {{totalCount nodes {{id login}}}}",
        f"comments(last: {sizes.comments}) {{{_COMMENTS}}}",
    ]


def _issue_fragment(sizes: _Sizes, lacking: frozenset[str]) -> str:
    blocker = "number state stateReason repository {nameWithOwner}"
    # Without the argument GitHub shows open ones only, and an issue that was merged looks untouched.
    linked = f"first: {sizes.pulls}, includeClosedPrs: true"
    optional = {
        "blockedBy": f"blockedBy(first: {sizes.blockers}) {{totalCount nodes {{{blocker}}}}}",
        "closedByPullRequestsReferences": (
            f"closedByPullRequestsReferences({linked}) {{totalCount nodes {{{_PULL}{_checks(lacking)}}}}}"
        ),
    }
    parts = [
        "stateReason",
        f"timelineItems(last: {sizes.events}, itemTypes: [{_EVENT_TYPES}]) {{nodes {{{_EVENTS}}}}}",
        *(text for name, text in optional.items() if name not in lacking),
    ]
    return _fragment("issue", "Issue", [*_shared(sizes), *parts])


def _pull_fragment(sizes: _Sizes, lacking: frozenset[str]) -> str:
    pushes = "HEAD_REF_FORCE_PUSHED_EVENT"
    events = f"{_EVENTS} ... on HeadRefForcePushedEvent {{actor {{login}} createdAt}}"
    parts = [
        f"headRefName baseRefName updatedAt{_checks(lacking)}",
        f"timelineItems(last: {sizes.events}, itemTypes: [{_EVENT_TYPES}, {pushes}]) {{nodes {{{events}}}}}",
        "commits(last: 1) {nodes {commit {committedDate}}}",
    ]
    return _fragment("pull", "PullRequest", [*_shared(sizes), *parts])


def _checks(lacking: frozenset[str]) -> str:
    return "" if "statusCheckRollup" in lacking else " statusCheckRollup {state}"


def _fragment(name: str, kind: str, parts: Sequence[str]) -> str:
    inner = "\n  ".join(parts)
    return f"fragment {name} on {kind} {{\n  {inner}\n}}\n"
