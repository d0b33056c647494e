"""Parents and children of issues on GitHub, and the texts of open issues, in which a parent may be named."""

from collections.abc import Callable, Iterable

from git_claims.protocol.item import Item, Kind
from git_claims.protocol.pull import Family
from git_claims.tracker import github_pull_answers as answers
from git_claims.tracker import github_pull_queries as queries
from git_claims.tracker.github_answers import is_damaged
from git_claims.tracker.github_writer import Ask
from git_claims.tracker.reply import Answer
from git_claims.tracker.tree import Tree, understood

_ISSUES_PER_READ = 50


class Families:
    """The families of one repository's issues; what it is made of is the tracker's."""

    def __init__(self, ask: Ask, repository: Callable[[Answer], Tree]) -> None:
        self._ask, self._repository = ask, repository

    def read(self, items: Iterable[Item]) -> dict[Item, Family | None]:
        """Reads parents and children, one request for each fifty; None where none was told."""
        wanted = list(dict.fromkeys(items))
        found: dict[Item, Family | None] = dict.fromkeys(wanted)
        issues = [item for item in wanted if item.kind is Kind.ISSUE and item.key.isdecimal()]
        for start in range(0, len(issues), _ISSUES_PER_READ):
            found |= self._read_some(issues[start : start + _ISSUES_PER_READ])
        return found

    def _read_some(self, items: list[Item]) -> dict[Item, Family | None]:
        answer = self._ask(lambda place: queries.families_document(place, [item.key for item in items]))
        with understood():
            repository = self._repository(answer)
            return {item: self._family(answer, repository, f"f{item.key}") for item in items}

    def _family(self, answer: Answer, repository: Tree, alias: str) -> Family | None:
        tree = repository.at(alias)
        # Half a family is none: who takes it for whole closes a parent too early.
        return answers.family_of(tree) if tree and not is_damaged(answer.faults, alias) else None

    def open_bodies(self) -> dict[Item, str]:
        """Reads the text of every open issue, one request for each hundred, oldest first."""
        bodies: dict[Item, str] = {}
        cursor: str | None = None
        while True:
            page, cursor = self._page(cursor)
            bodies |= page
            if cursor is None:
                return bodies

    def _page(self, cursor: str | None) -> tuple[dict[Item, str], str | None]:
        answer = self._ask(lambda place: queries.bodies_document(place, cursor))
        with understood():
            issues = self._repository(answer).at("issues")
            page = issues.at("pageInfo")
            bodies = {
                Item(Kind.ISSUE, str(each.at("number").number)): each.at("body").text
                for each in issues.at("nodes").each
                if each
            }
            return bodies, page.at("endCursor").text_or_none if page.at("hasNextPage").flag else None
