"""What a pre-push hook is asked, and whether each pushed ref may go: pure, from the lines that git writes."""

import re
from dataclasses import dataclass
from enum import Enum, auto
from fnmatch import fnmatchcase

from git_claims.protocol.claim import ChainId, Oid, Seen
from git_claims.protocol.item import NAMESPACES, Item, from_ref, of_branch
from git_claims.protocol.text import printable

_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class PushedRef:
    """One line of a pre-push hook's input; an id is None where git writes zeros."""

    local_ref: str
    local_oid: Oid | None
    remote_ref: str
    remote_oid: Oid | None

    @property
    def deletes(self) -> bool:
        """Says whether the push takes the ref away."""
        return self.local_oid is None


@dataclass(frozen=True, slots=True)
class Rules:
    """What a repository wants judged."""

    branch_pattern: str
    strict: bool
    exempt: tuple[str, ...]


class Why(Enum):
    """Why a ref is a question at all."""

    NAMES_ITEM = auto()
    IS_CLAIM = auto()
    NAMES_NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Question:
    """A pushed ref that may not go without a look. `item` is None where it names none, which is an answer too."""

    pushed: PushedRef
    why: Why
    item: Item | None

    @property
    def branch(self) -> str:
        """The branch as people call it, or the whole ref of anything else."""
        return self.pushed.remote_ref.removeprefix(_HEADS)


def parse_lines(text: str) -> list[PushedRef]:
    """Reads a pre-push hook's input; raises ValueError quoting a line of any other form."""
    return [_parse_line(line) for line in text.split("\n") if line.strip()]


def questions(pushed: list[PushedRef], rules: Rules) -> list[Question]:
    """Returns the refs that have to be judged. Tags, deletes of branches and branches without an item pass."""
    found = (_question(each, rules) for each in pushed)
    return [question for question in found if question is not None]


def may_go(question: Question, seen: Seen | None, chain: ChainId | None) -> bool:
    """Decides one question on the claim that the server shows for its item."""
    if question.item is None:
        return False
    if question.why is Why.IS_CLAIM and seen is None:
        # Making a claim by hand is what another client does; the server decides that race. Pushing the local copy,
        # as --mirror does, would bring back what was given up since.
        return not question.pushed.deletes and question.pushed.local_ref != question.pushed.remote_ref
    return chain is not None and seen is not None and seen.is_held_by(chain)


def _question(pushed: PushedRef, rules: Rules) -> Question | None:
    for namespace in NAMESPACES:
        if pushed.remote_ref.startswith(f"{namespace}/"):
            return Question(pushed, Why.IS_CLAIM, from_ref(pushed.remote_ref, namespace))
    if pushed.deletes or not pushed.remote_ref.startswith(_HEADS):
        return None
    branch = pushed.remote_ref.removeprefix(_HEADS)
    item = of_branch(rules.branch_pattern, branch)
    if item is not None:
        return Question(pushed, Why.NAMES_ITEM, item)
    if rules.strict and not any(fnmatchcase(branch, glob) for glob in rules.exempt):
        return Question(pushed, Why.NAMES_NOTHING, None)
    return None


def _parse_line(line: str) -> PushedRef:
    # The local side may be an expression with spaces in it, such as HEAD^{/fix it}; the other three may not.
    words = line.rsplit(" ", 3)
    if len(words) != 4 or not all(_OID.fullmatch(oid) for oid in (words[1], words[3])) or not words[2]:
        raise ValueError(f"'{printable(line)}' is not a line of a pre-push hook's input")
    return PushedRef(words[0], _oid(words[1]), words[2], _oid(words[3]))


def _oid(text: str) -> Oid | None:
    return Oid(text) if text.strip("0") else None
