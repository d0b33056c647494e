"""GitHub's documents read into issues, with what is missing in them said. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from git_claims.errors import TrackerError, Trouble
from git_claims.protocol.item import Item, Kind
from git_claims.tracker.model import Activity, Blocker, Checks, Comment, Issue, PullRequest, PullState
from git_claims.tracker.reply import Fault
from git_claims.tracker.tree import Tree

_KINDS = {"Issue": Kind.ISSUE, "PullRequest": Kind.PULL}
_STATES = {"OPEN": PullState.OPEN, "MERGED": PullState.MERGED, "CLOSED": PullState.CLOSED}
_CHECKS = {
    None: Checks.NONE,
    "SUCCESS": Checks.PASSING,
    "PENDING": Checks.PENDING,
    "EXPECTED": Checks.PENDING,
    "FAILURE": Checks.FAILING,
    "ERROR": Checks.FAILING,
}
# Issues that were closed before GitHub knew reasons have none; they were done.
_DONE = frozenset({"COMPLETED", None})
# One that is there and that the login may not see: GitHub gives null in its place.
_UNREADABLE = Blocker("", 0, is_open=False, completed=False)
_MAY_WRITE = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


def repository_of(data: Tree, faults: Iterable[Fault], name: str) -> Tree:
    """Returns the repository in an answer; raises where there is none that the login may see."""
    repository = data.at("repository")
    if repository:
        return repository
    said = next((fault.message for fault in faults if fault.path == ("repository",)), f"no repository '{name}'")
    forbidden = any(fault.kind == "FORBIDDEN" for fault in faults)
    trouble = Trouble.FORBIDDEN if forbidden else Trouble.NOT_FOUND
    raise TrackerError(trouble, f"GitHub says: {said}", "'git claim doctor' shows which login and repository it is")


def is_damaged(faults: Iterable[Fault], *aliases: str) -> bool:
    """Says whether something is missing inside what the aliases name; raises where all of it is.

    That GitHub knows no such number is an answer, not damage.
    """
    concerned = [fault for fault in faults if fault.path[:1] != ("repository",) or {*fault.path[1:2]} <= {*aliases}]
    for fault in concerned:
        if len(fault.path) == 2 and fault.kind != "NOT_FOUND":
            raise TrackerError(Trouble.SERVER, f"GitHub says: {fault.message}", "repeating is safe")
    return any(len(fault.path) != 2 for fault in concerned)


def damaged_places(faults: Iterable[Fault]) -> frozenset[str]:
    """Returns the positions in a list of issues inside which something is missing; raises for all that is elsewhere."""
    places = set()
    for fault in faults:
        if fault.path[:3] != ("repository", "issues", "nodes") or len(fault.path) < 4:
            raise TrackerError(Trouble.SERVER, f"GitHub says: {fault.message}", "repeating is safe")
        places.add(fault.path[3])
    return frozenset(places)


def issue_of(tree: Tree, *, is_damaged: bool = False) -> Issue:
    """Reads an issue or pull request. Whether earlier comments are missing is for the caller to find out."""
    kind = _KINDS[tree.at("__typename").text]
    item = Item(kind, str(tree.at("number").number))
    state = tree.at("state").text
    blockers = [blocker_of(each) if each else _UNREADABLE for each in tree.at("blockedBy", "nodes").each]
    return Issue(
        item=item,
        id=tree.at("id").text,
        url=tree.at("url").text,
        title=tree.at("title").text,
        is_open=state == "OPEN",
        completed=state == "MERGED" or (state == "CLOSED" and _is_done(kind, tree)),
        labels=frozenset(each.at("name").text for each in tree.at("labels", "nodes").each if each),
        assignees=tuple(each.at("login").text for each in tree.at("assignees", "nodes").each if each),
        comments=comments_of(tree),
        pulls=_pulls_of(tree, kind),
        blockers=tuple(blockers),
        blockers_complete=kind is Kind.PULL or (not is_damaged and _is_whole(tree.at("blockedBy"), len(blockers))),
        activity=_activity_of(tree),
        complete=not is_damaged and _has_all(tree, kind),
        body=tree.at("body").text_or_none or "",
        newest_commit=_newest_commit_of(tree),
    )


def _is_done(kind: Kind, tree: Tree) -> bool:
    return kind is Kind.ISSUE and tree.at("stateReason").text_or_none in _DONE


def _is_whole(connection: Tree, found: int) -> bool:
    """Says whether a list has all that it counts; one that was not asked for or not given is not whole."""
    return bool(connection) and connection.at("totalCount").number <= found


def _has_all(tree: Tree, kind: Kind) -> bool:
    names = ["labels", "assignees", *(["closedByPullRequestsReferences"] if kind is Kind.ISSUE else [])]
    return all(_is_whole(tree.at(name), len([each for each in tree.at(name, "nodes").each if each])) for name in names)


def comments_of(tree: Tree) -> tuple[Comment, ...]:
    """Reads the comments of an item, oldest first."""
    return tuple(_comment_of(each) for each in tree.at("comments", "nodes").each if each)


def _comment_of(tree: Tree) -> Comment:
    return Comment(
        id=tree.at("id").text,
        author=tree.at("author", "login").text_or_none,
        may_write=tree.at("authorAssociation").text in _MAY_WRITE,
        created_at=tree.at("createdAt").moment,
        body=tree.at("body").text,
    )


def earlier_comments_at(tree: Tree) -> str | None:
    """Returns the cursor before which there are more comments; None where all were read."""
    page = tree.at("comments", "pageInfo")
    return page.at("startCursor").text if page.at("hasPreviousPage").flag else None


def with_comments_of(issue: Issue, seen: Issue) -> Issue:
    """Puts the comments that were seen before, and that a new answer had no room for, in front of its own."""
    shown = {comment.id for comment in issue.comments}
    earlier = tuple(comment for comment in seen.comments if comment.id not in shown)
    return replace(issue, comments=earlier + issue.comments, complete=issue.complete and seen.complete)


def blocker_of(tree: Tree) -> Blocker:
    """Reads an issue that another waits for."""
    is_open = tree.at("state").text == "OPEN"
    return Blocker(
        repo=tree.at("repository", "nameWithOwner").text,
        number=tree.at("number").number,
        is_open=is_open,
        completed=not is_open and tree.at("stateReason").text_or_none in _DONE,
    )


def _pulls_of(tree: Tree, kind: Kind) -> tuple[PullRequest, ...]:
    """Reads the linked pull requests; of a pull request, itself."""
    if kind is Kind.PULL:
        return (_pull_of(tree),)
    return tuple(_pull_of(each) for each in tree.at("closedByPullRequestsReferences", "nodes").each if each)


def _pull_of(tree: Tree) -> PullRequest:
    return PullRequest(
        number=tree.at("number").number,
        state=_STATES[tree.at("state").text],
        head=tree.at("headRefName").text,
        base=tree.at("baseRefName").text,
        updated_at=tree.at("updatedAt").moment,
        checks=_CHECKS.get(tree.at("statusCheckRollup", "state").text_or_none, Checks.PENDING),
    )


def _activity_of(tree: Tree) -> tuple[Activity, ...]:
    events = [each for each in tree.at("timelineItems", "nodes").each if each.at("createdAt")]
    return tuple(Activity(each.at("actor", "login").text_or_none, each.at("createdAt").moment) for each in events)


def _newest_commit_of(tree: Tree) -> datetime | None:
    dates = [each.at("commit", "committedDate").moment for each in tree.at("commits", "nodes").each if each]
    return max(dates, default=None)


def with_branch(issue: Issue, ref: Tree, pulls: Tree) -> Issue:
    """Adds what the branch of an item shows: its newest commit, and pull requests that do not name the item."""
    linked = {pull.number for pull in issue.pulls}
    more = tuple(_pull_of(each) for each in pulls.at("nodes").each if each and each.at("number").number not in linked)
    return replace(issue, newest_commit=_commit_of(ref) or issue.newest_commit, pulls=issue.pulls + more)


def _commit_of(ref: Tree) -> datetime | None:
    date = ref.at("target", "committedDate")
    return date.moment if date else None


def ids_of(tree: Tree) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Returns the ids of labels and of logins that an item or a repository shows, by name."""
    labels = {each.at("name").text: each.at("id").text for each in tree.at("labels", "nodes").each if each}
    logins = {each.at("login").text: each.at("id").text for each in tree.at("assignees", "nodes").each if each}
    return labels, logins
