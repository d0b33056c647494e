"""GitHub as a tracker, through gh: issues read by number or as a list, and what a login may do here.

What is asked is written in `github_queries.py` and read in `github_answers.py`; writes are in `github_writer.py`,
pull requests in `github_pulls.py`, parents and children in `github_families.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from git_claims.errors import TrackerError, Trouble
from git_claims.protocol.item import Item
from git_claims.tracker import github_answers as answers
from git_claims.tracker import github_queries as queries
from git_claims.tracker.gh import Gh
from git_claims.tracker.github_queries import OF_ISSUES, OPTIONAL, Document, Place
from git_claims.tracker.github_writer import Writer
from git_claims.tracker.ids import Ids
from git_claims.tracker.model import Comment, Edit, Edited, Issue, LabelDefinition, Standing
from git_claims.tracker.pace import Pace
from git_claims.tracker.reply import Answer, FieldMissing
from git_claims.tracker.tree import Tree, understood

if TYPE_CHECKING:
    from git_claims.protocol.pull import Check, Family, Landing, Merging, Method, NewPull, Opened, Pull
    from git_claims.tracker.github_families import Families
    from git_claims.tracker.github_pulls import Pulls

_ITEMS_PER_READ = 50
# Earlier comments are read a hundred at a time; beyond these an issue is shown as incomplete.
_EARLIER_PAGES = 5
_WRITERS = frozenset({"ADMIN", "MAINTAIN", "WRITE"})


class GitHub:
    """One repository of GitHub as the login of gh sees it; keeps what answers told for the next question.

    `host` is what gh calls it. `cache_dir` is this person's and may be shared by any number of processes. `tell`
    says what is waited for and what the server lacks.
    """

    def __init__(
        self,
        gh: Gh,
        host: str,
        owner: str,
        repo: str,
        cache_dir: Path,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        tell: Callable[[str], None],
    ) -> None:
        self._gh, self._host, self._tell = gh, host, tell
        self._place = Place(owner, repo)
        self._ids = Ids(cache_dir / host.replace(":", "_") / owner / f"{repo}.json")
        self._pace = Pace(cache_dir, clock, sleep, tell)
        self._viewer: str | None = None
        self._seen: dict[Item, Issue] = {}

    @property
    def shows(self) -> bool:
        """There is a tracker."""
        return True

    def operator(self) -> str | None:
        """Returns the login in force: that of any answer so far, else of one small request."""
        if self._viewer is None:
            self._ask(lambda place: queries.lookup_document(place, [], []))
        return self._viewer

    def read(self, items: Iterable[Item], branches: Mapping[Item, str] | None = None) -> dict[Item, Issue | None]:
        """Reads items in one request, one more for each fifty and for what has more than a hundred comments.

        An issue that is a pull request, or the reverse, is found under the item asked for and has its true kind.
        """
        wanted = list(dict.fromkeys(items))
        found: dict[Item, Issue | None] = dict.fromkeys(wanted)
        numbered = [item for item in wanted if item.key.isdecimal()]
        for start in range(0, len(numbered), _ITEMS_PER_READ):
            found |= self._read_some(numbered[start : start + _ITEMS_PER_READ], branches or {})
        return found

    def read_open(self) -> list[Issue]:
        """Reads every open issue, one request for each hundred, oldest first. Each has its newest comments only."""
        issues: dict[Item, Issue] = {}
        cursor: str | None = None
        while True:
            page, cursor = self._read_page(cursor)
            # Lists shift while they are read: one that was closed in between moves the next a place up.
            issues |= {issue.item: issue for issue in page}
            if cursor is None:
                return list(issues.values())

    def apply(self, edits: Sequence[Edit]) -> dict[Item, Edited]:
        """Writes edits in as few documents as GitHub bears. Never raises for what GitHub does.

        What did not land is told by step, with the reason; a comment that is there is never posted again.
        """
        return Writer(self._ask, self.read, self.operator, self._host, self._ids, self._pace, self._seen).apply(edits)

    # Few commands have to do with pull requests, and all the others start the faster.
    @property
    def _pulls(self) -> Pulls:
        from git_claims.tracker.github_pulls import Pulls

        return Pulls(self._ask, self._repository, self.apply, self._log, self._pace)

    @property
    def _families(self) -> Families:
        from git_claims.tracker.github_families import Families

        return Families(self._ask, self._repository)

    def find_pulls(self, branch: str) -> tuple[Pull, ...]:
        """Finds the pull requests of a branch of this repository: the open ones first, the newest of each in front."""
        return self._pulls.find(branch)

    def open_pull(self, new: NewPull) -> Opened:
        """Opens a pull request and assigns it; one that is open for the branch is answered and never doubled.

        Raises Refused with GitHub's words where it will have none.
        """
        with self._pace.writing(self._host, self.operator() or ""):
            opened = self._pulls.open(new)
        return self._pulls.assign(opened, new.assignees)

    def read_landing(self, number: int) -> Landing | None:
        """Reads all that decides about merging a pull request, in one request but for more than a hundred checks."""
        return self._pulls.read(number)

    def merge(self, landing: Landing, method: Method, *, when_ready: bool = False) -> Merging:
        """Merges exactly the head that was read, or puts it into the queue of a base that has one.

        `when_ready` leaves it to GitHub to merge once it may. Raises only where nothing can have happened.
        """
        with self._pace.writing(self._host, self.operator() or ""):
            return self._pulls.merge(landing, method, when_ready=when_ready)

    def log_of(self, check: Check) -> str:
        """Reads why a check failed: the end of its job's log, else what it said of itself; never raises."""
        return self._pulls.log_of(check)

    def _log(self, job: int) -> str:
        path = f"repos/{self._place.owner}/{self._place.repo}/actions/jobs/{job}/logs"
        return self._pace.patiently(lambda: self._gh.text(self._host, path))

    def read_families(self, items: Iterable[Item]) -> dict[Item, Family | None]:
        """Reads parents and children as GitHub links them; None where there is no such issue."""
        return self._families.read(items)

    def read_open_bodies(self) -> dict[Item, str]:
        """Reads the text of every open issue, in which it may name its parent; one request for each hundred."""
        return self._families.open_bodies()

    def ensure_labels(self, labels: Sequence[LabelDefinition]) -> list[str]:
        """Creates the labels that are missing and returns their names; those that are there stay as they are."""
        there = self._all_labels()
        missing = [label for label in labels if label.name.casefold() not in there]
        if missing:
            with self._pace.writing(self._host, self.operator() or ""):
                return [label.name for label in missing if self._create_label(label)]
        return []

    def standing(self) -> Standing:
        """Finds out what the login may do here; never raises. What is None, `missing` says why."""
        program = None
        try:
            program = f"gh {self._gh.version()}"
            return self._standing(program)
        except TrackerError as error:
            missing = (error.message,)
            return Standing(program, self._viewer, None, None, None, None, None, missing, error.is_unusable)

    def _standing(self, program: str) -> Standing:
        answer = self._ask(queries.standing_document)
        with understood():
            repository = self._repository(answer)
            known = {each.at("name").text for each in answer.data.at("__type", "fields").each}
            labels, _ = answers.ids_of(repository)
            remaining = answer.data.at("rateLimit", "remaining")
            lacking = sorted(name for name in OF_ISSUES if known and name not in known)
            return Standing(
                program=program,
                login=self._viewer,
                repository=repository.at("nameWithOwner").text,
                may_write=repository.at("viewerPermission").text_or_none in _WRITERS,
                issues_enabled=repository.at("hasIssuesEnabled").flag,
                labels=frozenset(labels),
                remaining=remaining.number if remaining else None,
                missing=tuple(f"'{self._host}' has no field '{name}'" for name in lacking),
            )

    def _ask(self, document_of: Callable[[Place], Document], *, is_write: bool = False) -> Answer:
        """Sends a document, and once more without the fields that the server turns out to lack."""
        while True:
            document = document_of(self._place)
            try:
                answer = self._pace.patiently(self._sending(document, is_write), is_write=is_write)
            except FieldMissing as error:
                self._do_without(error)
                continue
            with understood():
                self._learn_viewer(answer.data.at("viewer"))
            return answer

    def _learn_viewer(self, viewer: Tree) -> None:
        if viewer:
            self._viewer = viewer.at("login").text
            self._ids.learn({}, {self._viewer: viewer.at("id").text})

    def _sending(self, document: Document, is_write: bool) -> Callable[[], Answer]:
        return lambda: self._gh.graphql(self._host, document.text, document.variables, is_write=is_write)

    def _do_without(self, error: FieldMissing) -> None:
        new = error.fields - self._place.lacking
        if not new or not new <= OPTIONAL:
            raise error
        self._place = replace(self._place, lacking=self._place.lacking | new)
        fields = ", ".join(f"'{name}'" for name in sorted(new))
        self._tell(f"'{self._host}' has no {fields}: what that would tell is taken as unknown")

    def _repository(self, answer: Answer) -> Tree:
        name = f"{self._place.owner}/{self._place.repo}"
        return answers.repository_of(answer.data, answer.faults, name)

    def _read_some(self, items: Sequence[Item], branches: Mapping[Item, str]) -> dict[Item, Issue | None]:
        asked = {at: branches[item] for at, item in enumerate(items) if item in branches}
        numbers, with_labels = [item.key for item in items], not self._ids.knows_labels
        answer = self._ask(lambda place: queries.items_document(place, numbers, asked, with_labels=with_labels))
        with understood():
            repository = self._repository(answer)
            self._ids.learn(*answers.ids_of(repository))
            trees = {item: repository.at(f"i{at}") for at, item in enumerate(items)}
            earlier = self._earlier_comments(trees.values())
            found: dict[Item, Issue | None] = {}
            for at, (item, tree) in enumerate(trees.items()):
                is_damaged = answers.is_damaged(answer.faults, f"i{at}", f"b{at}", f"h{at}")
                found[item] = self._seen_as(item, tree, earlier, is_damaged) if tree else None
                if (issue := found[item]) is not None and at in asked:
                    found[item] = answers.with_branch(issue, repository.at(f"b{at}"), repository.at(f"h{at}"))
        return found

    def _seen_as(
        self, item: Item, tree: Tree, earlier: Mapping[str, tuple[tuple[Comment, ...], bool]], is_damaged: bool
    ) -> Issue:
        issue = answers.issue_of(tree, is_damaged=is_damaged)
        comments, all_read = earlier.get(issue.item.key, ((), True))
        issue = replace(issue, comments=comments + issue.comments, complete=issue.complete and all_read)
        self._remember(tree, item, issue)
        return issue

    def _remember(self, tree: Tree, item: Item, issue: Issue) -> None:
        self._ids.learn(*answers.ids_of(tree))
        self._seen |= {item: issue, issue.item: issue}

    def _earlier_comments(self, trees: Iterable[Tree]) -> dict[str, tuple[tuple[Comment, ...], bool]]:
        """Reads the comments before those that were read; with whether these are all, by number."""
        cursors = {str(tree.at("number").number): answers.earlier_comments_at(tree) for tree in trees if tree}
        left = {number: cursor for number, cursor in cursors.items() if cursor is not None}
        comments: dict[str, tuple[Comment, ...]] = dict.fromkeys(left, ())
        for _ in range(_EARLIER_PAGES):
            if not left:
                break
            left = self._read_earlier(left, comments)
        return {number: (found, number not in left) for number, found in comments.items()}

    def _read_earlier(self, left: Mapping[str, str], comments: dict[str, tuple[Comment, ...]]) -> dict[str, str]:
        answer = self._ask(lambda place: queries.comments_document(place, left))
        repository = self._repository(answer)
        still_left = {}
        for number in left:
            tree = repository.at(f"c{number}")
            comments[number] = answers.comments_of(tree) + comments[number]
            if (cursor := answers.earlier_comments_at(tree)) is not None:
                still_left[number] = cursor
        return still_left

    def _read_page(self, cursor: str | None) -> tuple[list[Issue], str | None]:
        with_labels = not self._ids.knows_labels
        answer = self._ask(lambda place: queries.page_document(place, cursor, with_labels=with_labels))
        with understood():
            repository = self._repository(answer)
            self._ids.learn(*answers.ids_of(repository))
            damaged, page = answers.damaged_places(answer.faults), repository.at("issues", "pageInfo")
            issues = []
            for at, tree in enumerate(repository.at("issues", "nodes").each):
                issue = answers.issue_of(tree, is_damaged=str(at) in damaged)
                complete = issue.complete and answers.earlier_comments_at(tree) is None
                issues.append(replace(issue, complete=complete))
            return issues, page.at("endCursor").text_or_none if page.at("hasNextPage").flag else None

    def _all_labels(self) -> set[str]:
        """Reads all labels of the repository; their names in lower case."""
        names, cursor = set[str](), None
        while True:
            answer = self._ask(_labels_after(cursor))
            with understood():
                repository = self._repository(answer)
                labels, _ = answers.ids_of(repository)
                self._ids.learn(labels, {})
                names |= {name.casefold() for name in labels}
                page = repository.at("labels", "pageInfo")
                if not page.at("hasNextPage").flag:
                    return names
                cursor = page.at("endCursor").text_or_none

    def _create_label(self, label: LabelDefinition) -> bool:
        """Creates a label; says whether it was us who made it."""
        body = {"name": label.name, "color": label.colour, "description": label.description}
        path = f"repos/{self._place.owner}/{self._place.repo}/labels"
        self._pace.space_out()
        try:
            # Asked again after a lost answer it is there already, which is as good.
            made = self._pace.patiently(lambda: self._gh.rest(self._host, "POST", path, body))
        except TrackerError as error:
            if error.trouble is not Trouble.INVALID or "already_exists" not in error.message:
                raise
            return False
        finally:
            self._pace.wrote()
        with understood():
            self._ids.learn({made.at("name").text: made.at("node_id").text}, {})
        return True


def _labels_after(cursor: str | None) -> Callable[[Place], Document]:
    return lambda place: queries.labels_document(place, cursor)
