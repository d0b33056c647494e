"""How a pull request gets into its base: what it waits for, who may, what GitHub says no with."""

from __future__ import annotations

from collections.abc import Iterator

from tests.github_double.records import CheckRun, CheckState, Conclusion, Issue, Method, Pull, Status, User, World, now
from tests.github_double.rules import Refusal, close
from tests.places import PERSON, run_git

FORBIDDEN_METHODS: dict[Method, str] = {
    "SQUASH": "Squash merges are not allowed on this repository.",
    "MERGE": "Merge commits are not allowed on this repository.",
    "REBASE": "Rebase merges are not allowed on this repository.",
}


def open_pull(pull: Pull) -> None:
    repository, range_ = pull.repository, f"refs/heads/{pull.base}..refs/heads/{pull.head}"
    if any(
        other.head == pull.head and other.base == pull.base and other.state == "OPEN" for other in repository.pulls()
    ):
        raise _no(f"A pull request already exists for {repository.owner}:{pull.head}.")
    if repository.git is not None:
        if repository.commit(f"refs/heads/{pull.head}") is None:
            raise _no(
                f"Head sha can't be blank, No commits between {pull.base} and {pull.head}, Head ref must be a branch"
            )
        if run_git(repository.git, "rev-list", "--count", range_).stdout.strip() == "0":
            raise _no(f"No commits between {pull.base} and {pull.head}")
    repository.tickets[pull.number] = pull


def _no(message: str) -> Refusal:
    return Refusal("UNPROCESSABLE", message)


# What a pull request waits for


def set_check(world: World, pull: Pull, name: str, conclusion: Conclusion | None) -> CheckRun:
    """A run of that name begins, or the one that is under way ends."""
    runs = pull.repository.checks.setdefault(pull.tip[0], [])
    latest = next((each for each in reversed(runs) if each.name == name and isinstance(each, CheckRun)), None)
    if latest is None or latest.conclusion is not None:
        number = world.new_number()
        latest = CheckRun(name, f"CR_{number}", number)
        runs.append(latest)
    latest.conclusion = conclusion
    return latest


def rollup_state(pull: Pull) -> CheckState | None:
    """What all checks come to, of each name the one that began last."""
    states = {check.state for check in _newest(pull).values()}
    if not states:
        return None
    return next((state for state in ("FAILURE", "ERROR", "PENDING", "EXPECTED") if state in states), "SUCCESS")


def _newest(pull: Pull) -> dict[str, CheckRun | Status]:
    return {check.name: check for check in pull.contexts()}


def review_decision(pull: Pull) -> str | None:
    wanted = pull.repository.protection.approvals
    if pull.changes_requested:
        return "CHANGES_REQUESTED"
    return None if not wanted else "APPROVED" if pull.approvals >= wanted else "REVIEW_REQUIRED"


def merge_state(pull: Pull) -> str:
    if pull.state != "OPEN":
        return "UNKNOWN"
    if pull.is_draft:
        return "DRAFT"
    if conflicts(pull):
        return "DIRTY"
    if any(_unmet(pull)):
        return "BLOCKED"
    if _is_behind(pull):
        return "BEHIND"
    return "CLEAN" if rollup_state(pull) in (None, "SUCCESS") else "UNSTABLE"


def conflicts(pull: Pull) -> bool:
    return pull.state == "OPEN" and _has_branch(pull) and _merged_tree(pull) is None


def _unmet(pull: Pull) -> Iterator[str]:
    """The rules that are in the way, in GitHub's words."""
    protection, checks = pull.repository.protection, _newest(pull)
    if pull.base != pull.repository.default_branch:
        return
    if pull.changes_requested:
        yield "Changes requested by reviewers with write access."
    if pull.approvals < protection.approvals:
        yield f"At least {protection.approvals} approving review is required by reviewers with write access."
    for name in sorted(protection.required):
        if name not in checks:
            yield f'Required status check "{name}" is expected.'
        elif checks[name].state != "SUCCESS":
            how = "failing" if checks[name].state == "FAILURE" else "in progress"
            yield f'Required status check "{name}" is {how}.'


def _is_behind(pull: Pull) -> bool:
    git = pull.repository.git
    if not pull.repository.protection.up_to_date or git is None or not _has_branch(pull):
        return False
    base, head = f"refs/heads/{pull.base}", f"refs/heads/{pull.head}"
    return run_git(git, "merge-base", "--is-ancestor", base, head, check=False).returncode != 0


# What somebody asks for


def ask_to_merge(
    world: World, viewer: User, pull: Pull, method: Method, expected: object, headline: str | None
) -> None:
    """Merges if every rule of the base is kept."""
    _check_request(viewer, pull, expected, "MergePullRequest")
    if pull.repository.protection.has_queue:
        raise _no("Repository rule violations found\n\nChanges must be made through the merge queue\n\n")
    _check_method(pull, method)
    _check_state(pull)
    merge(world, viewer, pull, method, headline)


def enqueue(viewer: User, pull: Pull, expected: object) -> None:
    """Puts it into the queue, which merges it when it likes: `run_queue`."""
    _check_request(viewer, pull, expected, "EnqueuePullRequest")
    if not pull.repository.protection.has_queue:
        raise _no("Pull request can't be added to the merge queue: the base branch has none")
    if pull.is_queued:
        raise _no("Pull request is already in the queue")
    if pull.is_draft or conflicts(pull) or any(_unmet(pull)):
        _check_state(pull)
    pull.is_queued, pull.updated_at = True, now()


def enable_auto_merge(world: World, viewer: User, pull: Pull, method: Method, expected: object) -> None:
    """Has it merged once it may; GitHub refuses where it may already."""
    _check_request(viewer, pull, expected, "EnablePullRequestAutoMerge")
    if not pull.repository.protection.auto_merge:
        raise _no("Auto merge is not allowed for this repository")
    _check_method(pull, method)
    state = merge_state(pull)
    if state in ("CLEAN", "UNSTABLE", "DRAFT", "DIRTY"):
        raise _no(f"Pull request Pull request is in {state.lower()} status")
    pull.auto_merge = viewer, method


def _check_request(viewer: User, pull: Pull, expected: object, what: str) -> None:
    if viewer.permission not in ("ADMIN", "WRITE"):
        raise Refusal("FORBIDDEN", f"{viewer.login} does not have the correct permissions to execute `{what}`")
    if pull.state != "OPEN":
        raise _no("Pull Request is not mergeable")
    if expected not in (None, pull.tip[0]):
        raise _no("Head branch was modified. Review and try the merge again.")


def _check_method(pull: Pull, method: Method) -> None:
    if method not in pull.repository.protection.methods:
        raise _no(FORBIDDEN_METHODS[method])


def _check_state(pull: Pull) -> None:
    if pull.is_draft:
        raise _no("Pull Request is still a draft")
    if conflicts(pull):
        raise _no("Pull Request is not mergeable")
    if unmet := list(_unmet(pull)):
        raise _no(" ".join(unmet))
    if _is_behind(pull):
        raise _no("The head branch is not up to date with the base branch.")
    if pull.repository.protection.rule:
        raise _no(pull.repository.protection.rule)


def settle(world: World, pull: Pull) -> None:
    """What GitHub does by itself when something changed: it carries out the auto-merge that has become possible."""
    if pull.auto_merge and merge_state(pull) in ("CLEAN", "UNSTABLE"):
        viewer, method = pull.auto_merge
        merge(world, viewer, pull, method)


# What then happens


def merge(world: World, viewer: User, pull: Pull, method: Method = "SQUASH", headline: str | None = None) -> None:
    """Merges, whatever the rules; into the default branch it closes the issues that its text names."""
    if pull.state != "OPEN":
        raise _no("Pull Request is not mergeable")
    head = pull.tip
    pull.merge_commit = _commit(pull, method, headline)
    pull.merged_head, pull.is_queued, pull.auto_merge = head, False, None
    pull.state, pull.closed_at, pull.merged_at, pull.updated_at = "MERGED", now(), now(), now()
    if pull.base == pull.repository.default_branch:
        for number in pull.closes():
            ticket = pull.repository.tickets.get(number)
            if isinstance(ticket, Issue):
                close(world, viewer, ticket, "COMPLETED")


def _commit(pull: Pull, method: Method, headline: str | None) -> str:
    """Moves the base of the bare repository; where there is no branch the commit has only a name."""
    git, head, base = pull.repository.git, f"refs/heads/{pull.head}", f"refs/heads/{pull.base}"
    if git is None or not _has_branch(pull):
        return f"{pull.number + 0xC0FFEE0000:040x}"
    assert method != "REBASE", "nobody taught the double to rebase"
    if (tree := _merged_tree(pull)) is None:
        raise _no("Merge conflict")
    squashed = headline or f"{pull.title} (#{pull.number})"
    subject = squashed if method == "SQUASH" else f"Merge pull request #{pull.number} from {pull.head}"
    parents = ["-p", base] if method == "SQUASH" else ["-p", base, "-p", head]
    oid = run_git(git, *PERSON, "commit-tree", tree, *parents, "-m", subject).stdout.strip()
    run_git(git, "update-ref", base, oid)
    return oid


def _has_branch(pull: Pull) -> bool:
    return pull.repository.commit(f"refs/heads/{pull.head}") is not None


def _merged_tree(pull: Pull) -> str | None:
    """The tree of base and head together; None where they conflict."""
    assert pull.repository.git is not None
    both = (f"refs/heads/{pull.base}", f"refs/heads/{pull.head}")
    merged = run_git(pull.repository.git, "merge-tree", "--write-tree", *both, check=False)
    return None if merged.returncode else merged.stdout.split()[0]
