"""GitHub's answers about pull requests and families read into records, and its refusals into reasons. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from git_claims.protocol.issue import PullState
from git_claims.protocol.pull import (
    Check,
    CheckState,
    Family,
    Hindrance,
    Landing,
    Linked,
    MergeState,
    Method,
    Pull,
    Review,
)
from git_claims.tracker.tree import Tree

_STATES = {"OPEN": PullState.OPEN, "MERGED": PullState.MERGED, "CLOSED": PullState.CLOSED}
_MERGE_STATES = {
    "CLEAN": MergeState.CLEAN,
    "HAS_HOOKS": MergeState.CLEAN,
    "UNSTABLE": MergeState.UNSTABLE,
    "BEHIND": MergeState.BEHIND,
    "BLOCKED": MergeState.BLOCKED,
    "DIRTY": MergeState.CONFLICTING,
    "DRAFT": MergeState.DRAFT,
}
_REVIEWS = {
    "APPROVED": Review.APPROVED,
    "REVIEW_REQUIRED": Review.REQUIRED,
    "CHANGES_REQUESTED": Review.CHANGES_REQUESTED,
}
_METHODS = {
    "squashMergeAllowed": Method.SQUASH,
    "mergeCommitAllowed": Method.MERGE,
    "rebaseMergeAllowed": Method.REBASE,
}
# What is not here waits: STALE, states of a later GitHub, no conclusion yet.
_CHECKS = {
    "SUCCESS": CheckState.PASSED,
    "NEUTRAL": CheckState.SKIPPED,
    "SKIPPED": CheckState.SKIPPED,
    **dict.fromkeys(
        ("FAILURE", "ERROR", "CANCELLED", "TIMED_OUT", "ACTION_REQUIRED", "STARTUP_FAILURE"), CheckState.FAILED
    ),
}
# None: the token is an app's, of which GitHub does not say what it may.
_WRITERS = frozenset({"ADMIN", "MAINTAIN", "WRITE", None})
_DONE = frozenset({"COMPLETED", None})
_JOB = re.compile(r"/actions/runs/[0-9]+/jobs?/([0-9]+)")
# In the order in which they are looked for: the first that GitHub's sentence has is the reason.
_REASONS = (
    (r"head branch was modified|expected head|head sha", Hindrance.HEAD_MOVED),
    (r"base branch was modified|already in progress|try again|try the merge again", Hindrance.UNSETTLED),
    (r"(merges|merge commits|auto merge) (is|are) not allowed|merge method", Hindrance.METHOD_FORBIDDEN),
    (r"\bdraft\b", Hindrance.DRAFT),
    (r"changes requested|requested changes", Hindrance.CHANGES_REQUESTED),
    (r"approving review|review is required|review from|reviewers", Hindrance.REVIEW_REQUIRED),
    (r"conflict", Hindrance.CONFLICTING),
    (r"not up to date|out.of.date|\bbehind\b", Hindrance.BEHIND),
    (r"status checks? |required check", Hindrance.CHECKS_REQUIRED),
    (r"permission|not accessible|not authorized|not allowed to (merge|push)", Hindrance.NOT_PERMITTED),
)


@dataclass(frozen=True, slots=True)
class ChecksPage:
    """Checks as one answer showed them, each with the key of what it replaces and when it began."""

    checks: tuple[tuple[Check, tuple[str, ...], str], ...]
    cursor: str | None
    is_known: bool


def pulls_of(repository: Tree) -> tuple[Pull, ...]:
    """Reads the pull requests that were found: open ones first, newest first, none from a fork."""
    found = [each for name in ("open", "ended") for each in repository.at(name, "nodes").each if each]
    # A fork's branch may have the same name.
    return tuple(pull_of(each) for each in found if not each.at("isCrossRepository").flag)


def pull_of(tree: Tree) -> Pull:
    """Reads a pull request."""
    return Pull(
        number=tree.at("number").number,
        id=tree.at("id").text,
        url=tree.at("url").text,
        title=tree.at("title").text,
        body=tree.at("body").text_or_none or "",
        state=_STATES[tree.at("state").text],
        head=tree.at("headRefName").text,
        head_oid=tree.at("headRefOid").text,
        base=tree.at("baseRefName").text,
        is_draft=tree.at("isDraft").flag,
        assignees=tuple(each.at("login").text for each in tree.at("assignees", "nodes").each if each),
    )


def landing_of(tree: Tree, pages: Iterable[ChecksPage]) -> Landing:
    """Reads all that decides about merging; `pages` are its checks as far as they were read."""
    read = list(pages)
    repository = tree.at("repository")
    return Landing(
        pull=pull_of(tree),
        merge_state=_merge_state_of(tree),
        review=_REVIEWS.get(tree.at("reviewDecision").text_or_none or ""),
        checks=_newest_of(read),
        checks_complete=read[-1].is_known and read[-1].cursor is None,
        methods=frozenset(method for name, method in _METHODS.items() if repository.at(name).flag),
        may_merge=repository.at("viewerPermission").text_or_none in _WRITERS,
        has_queue=tree.at("isMergeQueueEnabled").flag,
        is_queued=tree.at("isInMergeQueue").flag,
        auto_merge=bool(tree.at("autoMergeRequest")),
        auto_merge_allowed=repository.at("autoMergeAllowed").flag,
        merge_commit=tree.at("mergeCommit", "oid").text_or_none,
        closes=tuple(linked_of(each) for each in tree.at("closingIssuesReferences", "nodes").each if each),
    )


def _merge_state_of(tree: Tree) -> MergeState:
    if tree.at("mergeable").text_or_none == "CONFLICTING":
        return MergeState.CONFLICTING
    return _MERGE_STATES.get(tree.at("mergeStateStatus").text_or_none or "", MergeState.UNKNOWN)


def checks_page_of(tree: Tree, *, head_oid: str, is_damaged: bool = False) -> ChecksPage:
    """Reads a page of checks. Those of a commit that is not the head any more say nothing."""
    commit = next((each.at("commit") for each in tree.at("commits", "nodes").each if each), Tree(None))
    is_head = commit.at("oid").text_or_none == head_oid == tree.at("headRefOid").text
    if not is_head or is_damaged or "statusCheckRollup" not in commit.items:
        return ChecksPage((), None, is_known=False)
    contexts = commit.at("statusCheckRollup", "contexts")
    page = contexts.at("pageInfo")
    cursor = page.at("endCursor").text_or_none if page.at("hasNextPage").flag else None
    return ChecksPage(tuple(_checks_of(contexts.at("nodes").each)), cursor, is_known=True)


def _checks_of(nodes: Iterable[Tree]) -> Iterator[tuple[Check, tuple[str, ...], str]]:
    for each in nodes:
        if each.at("__typename").text_or_none == "CheckRun":
            run = each.at("checkSuite", "workflowRun")
            workflow, event = run.at("workflow", "name").text_or_none or "", run.at("event").text_or_none or ""
            check = _run_of(each)
            yield check, (check.name, workflow, event), each.at("startedAt").text_or_none or "9"
        elif each:
            check = _status_of(each)
            yield check, (check.name,), each.at("createdAt").text_or_none or ""


def _run_of(tree: Tree) -> Check:
    word = tree.at("conclusion").text_or_none or tree.at("status").text
    url = tree.at("detailsUrl").text_or_none
    return Check(
        name=tree.at("name").text,
        state=_CHECKS.get(word, CheckState.PENDING) if tree.at("status").text == "COMPLETED" else CheckState.PENDING,
        word=word.lower(),
        url=url,
        summary=tree.at("title").text_or_none or "",
        is_required=tree.at("isRequired").flag,
        id=tree.at("id").text,
        job=_job_of(tree, url),
    )


def _job_of(tree: Tree, url: str | None) -> int | None:
    """Returns the job of GitHub Actions that a check run is; of other apps there is no log here."""
    if match := _JOB.search(url or ""):
        return int(match[1])
    number = tree.at("databaseId")
    return number.number if number and tree.at("checkSuite", "workflowRun") else None


def _status_of(tree: Tree) -> Check:
    word = tree.at("state").text
    return Check(
        name=tree.at("context").text,
        state=_CHECKS.get(word, CheckState.PENDING),
        word=word.lower(),
        url=tree.at("targetUrl").text_or_none,
        summary=tree.at("description").text_or_none or "",
        is_required=tree.at("isRequired").flag,
    )


def _newest_of(pages: Iterable[ChecksPage]) -> tuple[Check, ...]:
    """Returns the checks, of those that were run again only the newest: the list has the failed run as well."""
    newest: dict[tuple[str, ...], tuple[str, Check]] = {}
    for page in pages:
        for check, key, began in page.checks:
            if key not in newest or began >= newest[key][0]:
                newest[key] = began, check
    return tuple(check for _, check in newest.values())


def linked_of(tree: Tree) -> Linked:
    """Reads an issue that another item names."""
    is_open = tree.at("state").text == "OPEN"
    return Linked(
        repo=tree.at("repository", "nameWithOwner").text,
        number=tree.at("number").number,
        title=tree.at("title").text,
        is_open=is_open,
        completed=not is_open and tree.at("stateReason").text_or_none in _DONE,
    )


def family_of(tree: Tree) -> Family:
    """Reads the parent and the children of an issue."""
    children = [linked_of(each) for each in tree.at("subIssues", "nodes").each if each]
    there = tree.at("subIssues")
    is_whole = bool(there) and there.at("totalCount").number <= len(children) and "parent" in tree.items
    parent = tree.at("parent")
    return Family(linked_of(parent) if parent else None, tuple(children), is_whole)


def reason_of(message: str) -> Hindrance | None:
    """Reads why GitHub refused from its sentence; None where that does not say."""
    return next((reason for words, reason in _REASONS if re.search(words, message, re.IGNORECASE)), None)
