"""What can be claimed: every spelling a person or script uses, one name for each, and the ref it lives under.

Which repository an item belongs to is decided by whoever knows the remote; here it is only read.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from git_claims.errors import Usage
from git_claims.protocol.text import printable

NAMESPACES = ("refs/claims", "refs/heads/claims")

# ASCII digits only: str.isdigit() also accepts the digits of other scripts, and one item must have one name.
_NUMBER = re.compile(r"[0-9]{1,18}")
_KEYED = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,31})-([0-9]{1,18})")
_URL = re.compile(
    r"https?://[^/\s]+/(?P<repository>[^\s?#]+?)/(?:-/)?"
    r"(?P<kind>issues|pull|pulls|merge_requests)/(?P<number>[0-9]+)(?:[/?#].*)?"
)
_BROWSE = re.compile(r"https?://[^/\s]+/(?:[^\s?#]+/)?browse/(?P<key>[^/?#]+)(?:[/?#].*)?")
_QUALIFIED = re.compile(r"(?P<repository>[^#\s-][^#\s]*)#(?P<rest>[^#\s]+)")
_RESERVED = {"issue", "pr", "probe"}


class Kind(StrEnum):
    """What the tracker calls it; the first part of an item's name."""

    ISSUE = "issue"
    PULL = "pr"


@dataclass(frozen=True, slots=True)
class Item:
    """One issue or pull request of the repository served. `key` is `42` or, for keyed trackers, `proj-123`."""

    kind: Kind
    key: str

    @property
    def name(self) -> str:
        """The one name: `issue-42`, `pr-17`, `issue-proj-123`; the last part of its ref."""
        return f"{self.kind}-{self.key}"

    @property
    def spelling(self) -> str:
        """How a person types it and how a record says it: `42`, `PROJ-123`, `pr-17`."""
        return self.name if self.kind is Kind.PULL else self.key.upper()

    @property
    def noun(self) -> str:
        """What a sentence calls it."""
        return "pull request" if self.kind is Kind.PULL else "issue"

    @property
    def order(self) -> tuple[str, int, str]:
        """Sorts numbers as numbers, of one number the issue first, keyed items by project."""
        project, _, number = self.key.rpartition("-")
        return project, int(number), self.kind

    def ref(self, namespace: str) -> str:
        """The ref that holds its claim."""
        return f"{namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Named:
    """An item as it was asked for: `repository` is what stood before `#` or in the URL, if anything did."""

    item: Item
    repository: str | None = None


def parse(text: str) -> Named:
    """Reads any spelling of an item; raises Usage for text that names none."""
    named = _parse(text.strip())
    if named is None:
        raise Usage(
            f"'{printable(text)}' is not an item",
            "write 42, #42, issue-42, pr-17, PROJ-123, owner/repo#42 or the issue's URL",
        )
    return named


def is_item(text: str) -> bool:
    """Says whether `text` is some spelling of an item."""
    return _parse(text.strip()) is not None


def from_ref(ref: str, namespace: str) -> Item | None:
    """Returns the item whose claim lives at `ref`; None for any ref that is nobody's one name."""
    prefix, _, name = ref.rpartition("/")
    item = _unqualified(name)
    # Only the canonical spelling: `Issue-42` or `issue-042` would be a second name for one item.
    return item if prefix == namespace and item is not None and item.name == name else None


def of_branch(pattern: str, branch: str) -> Item | None:
    """Returns the item that a branch name carries under `branch.pattern`, such as `{number}-{slug}`."""
    match = _branch_expression(pattern).fullmatch(branch)
    return _unqualified(match["number"]) if match else None


def slug_of(pattern: str, branch: str) -> str | None:
    """Returns the words after, or before, the number of a branch that names an item; None for any other."""
    match = _branch_expression(pattern).fullmatch(branch)
    return match.groupdict().get("slug", "") if match else None


def branch_name(pattern: str, item: Item, slug: str) -> str:
    """Writes the branch of an item, the reverse of `of_branch`."""
    return pattern.replace("{number}", item.spelling.upper()).replace("{slug}", slug)


def check_branch_pattern(pattern: str) -> None:
    """Raises ValueError for a pattern that could not tell which item a branch belongs to."""
    rest = pattern.replace("{number}", "", 1).replace("{slug}", "", 1)
    if "{number}" not in pattern or "}{" in pattern or {"{", "}"} & set(rest):
        raise ValueError("must contain {number} once and {slug} at most once, apart from each other")


def _branch_expression(pattern: str) -> re.Pattern[str]:
    # Keys in branch names are upper case only: `release-2-notes` is no item of a project called RELEASE.
    number = r"(?P<number>(?:[A-Z][A-Z0-9_]{0,31}-)?[0-9]{1,18})"
    escaped = re.escape(pattern)
    return re.compile(escaped.replace(r"\{number\}", number).replace(r"\{slug\}", r"(?P<slug>[^/]+?)"))


def _parse(text: str) -> Named | None:
    if match := _URL.fullmatch(text):
        kind = Kind.ISSUE if match["kind"] == "issues" else Kind.PULL
        return _named(_numbered(kind, match["number"]), match["repository"])
    if match := _BROWSE.fullmatch(text):
        # Only a key: a Jira project called PR has issues, and none of them is a pull request.
        return _named(_keyed(match["key"]), None)
    if match := _QUALIFIED.fullmatch(text):
        return _named(_unqualified(match["rest"]), match["repository"])
    return _named(_unqualified(text.removeprefix("#")), None)


def _named(item: Item | None, repository: str | None) -> Named | None:
    return Named(item, repository) if item else None


def _unqualified(text: str) -> Item | None:
    prefix, dash, rest = text.partition("-")
    if dash and prefix.lower() == "pr":
        return _numbered(Kind.PULL, rest)
    if dash and prefix.lower() == "issue":
        return _numbered(Kind.ISSUE, rest) or _keyed(rest)
    return _numbered(Kind.ISSUE, text) or _keyed(text)


def _numbered(kind: Kind, digits: str) -> Item | None:
    if not _NUMBER.fullmatch(digits) or int(digits) == 0:
        return None
    return Item(kind, str(int(digits)))


def _keyed(text: str) -> Item | None:
    match = _KEYED.fullmatch(text)
    if match is None or match[1].lower() in _RESERVED or int(match[2]) == 0:
        return None
    return Item(Kind.ISSUE, f"{match[1].lower()}-{int(match[2])}")
