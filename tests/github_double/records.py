"""What the double remembers: plain records, as GitHub would show them, with no rule in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from tests.places import run_git

Permission = Literal["ADMIN", "WRITE", "TRIAGE", "READ"]
Association = Literal["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "NONE"]
Reason = Literal["COMPLETED", "NOT_PLANNED", "DUPLICATE", "REOPENED"]
CheckState = Literal["SUCCESS", "FAILURE", "ERROR", "PENDING", "EXPECTED"]
Conclusion = Literal[
    "SUCCESS",
    "FAILURE",
    "NEUTRAL",
    "SKIPPED",
    "CANCELLED",
    "TIMED_OUT",
    "ACTION_REQUIRED",
    "STALE",
    "STARTUP_FAILURE",
]
Method = Literal["SQUASH", "MERGE", "REBASE"]

CLOSING = re.compile(r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\s+#([0-9]+)")


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class User:
    """Somebody with a login; what they may do here and how GitHub calls their tie to the repository."""

    login: str
    id: str
    permission: Permission = "WRITE"
    association: Association = "MEMBER"
    is_bot: bool = False

    @property
    def may_triage(self) -> bool:
        return self.permission != "READ"


@dataclass(slots=True)
class Label:
    name: str
    id: str
    colour: str = "ededed"
    description: str | None = None


@dataclass(slots=True)
class Comment:
    id: str
    number: int
    author: str | None
    association: Association
    body: str
    created_at: datetime


@dataclass(slots=True)
class Event:
    """Something on the timeline; `kind` is the name of its GraphQL type, `subject` a label or login."""

    id: str
    kind: str
    actor: str | None
    created_at: datetime
    subject: str = ""


@dataclass(slots=True, kw_only=True)
class Ticket:
    """What issues and pull requests share. Labels and assignees are in the order in which they were added."""

    repository: Repository
    number: int
    id: str
    title: str
    author: str
    body: str = ""
    state: str = "OPEN"
    labels: list[str] = field(default_factory=list)
    assignees: list[str] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    created_at: datetime = field(default_factory=now)
    updated_at: datetime = field(default_factory=now)
    closed_at: datetime | None = None

    @property
    def url(self) -> str:
        return f"{self.repository.url}/{self.path}/{self.number}"

    @property
    def path(self) -> str:
        raise NotImplementedError

    @property
    def bodies(self) -> list[str]:
        """What the comments say, oldest first."""
        return [comment.body for comment in self.comments]


@dataclass(slots=True, kw_only=True)
class Issue(Ticket):
    """An issue; `blockers` and `children` are numbers with the name of their repository."""

    state_reason: Reason | None = None
    blockers: list[tuple[str, int]] = field(default_factory=list)
    children: list[tuple[str, int]] = field(default_factory=list)

    @property
    def path(self) -> str:
        return "issues"


@dataclass(slots=True)
class CheckRun:
    """A check of a commit by an app; `number` is also that of its job, `workflow` None where it is not of Actions."""

    name: str
    id: str
    number: int
    workflow: str | None = "ci"
    conclusion: Conclusion | None = None
    title: str | None = None
    summary: str | None = None
    log: str | None = None
    started_at: datetime = field(default_factory=now)

    @property
    def state(self) -> CheckState:
        passes = self.conclusion in ("SUCCESS", "NEUTRAL", "SKIPPED")
        return "SUCCESS" if passes else "FAILURE" if self.conclusion not in (None, "STALE") else "PENDING"


@dataclass(slots=True)
class Status:
    """A check of a commit as the older interface has it."""

    name: str
    state: CheckState
    description: str | None = None
    started_at: datetime = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class Protection:
    """What a repository asks before something gets into its default branch."""

    required: frozenset[str] = frozenset()
    approvals: int = 0
    up_to_date: bool = False
    has_queue: bool = False
    methods: frozenset[Method] = frozenset(("SQUASH", "MERGE", "REBASE"))
    auto_merge: bool = True
    rule: str | None = None  # one of which nobody is told before it strikes


@dataclass(slots=True, kw_only=True)
class Pull(Ticket):
    """A pull request. `checks` stands for a check of its head where none has a name; `auto_merge`: who asked."""

    head: str
    base: str = "main"
    checks: CheckState | None = None
    merged_at: datetime | None = None
    merge_commit: str | None = None
    merged_head: tuple[str, datetime] | None = None
    is_draft: bool = False
    approvals: int = 0
    changes_requested: bool = False
    is_queued: bool = False
    auto_merge: tuple[User, Method] | None = None
    is_from_fork: bool = False
    head_commit_at: datetime = field(default_factory=now)

    @property
    def path(self) -> str:
        return "pull"

    @property
    def tip(self) -> tuple[str, datetime]:
        """The newest commit, also when its branch is gone; one of its own where there never was a branch."""
        branch = f"refs/heads/{self.head}"
        return self.merged_head or self.repository.commit(branch) or (f"{self.number:040x}", self.head_commit_at)

    def contexts(self) -> list[CheckRun | Status]:
        """What has been said of the newest commit, in the order in which it began."""
        named = self.repository.checks.get(self.tip[0], [])
        return named or ([Status("ci", self.checks)] if self.checks else [])

    def closes(self) -> set[int]:
        """The issues that its text says it closes."""
        return {int(number) for number in CLOSING.findall(self.body)}


@dataclass(slots=True)
class Repository:
    """A repository: labels by lower-case name, tickets by number, checks by commit, the bare git repository behind."""

    owner: str
    name: str
    id: str
    git: Path | None = None
    labels: dict[str, Label] = field(default_factory=dict)
    tickets: dict[int, Ticket] = field(default_factory=dict)
    default_branch: str = "main"
    has_issues: bool = True
    protection: Protection = Protection()
    checks: dict[str, list[CheckRun | Status]] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def url(self) -> str:
        return f"https://github.com/{self.full_name}"

    def issues(self) -> list[Issue]:
        return [ticket for ticket in self.tickets.values() if isinstance(ticket, Issue)]

    def pulls(self) -> list[Pull]:
        return [ticket for ticket in self.tickets.values() if isinstance(ticket, Pull)]

    def check_runs(self) -> Iterator[CheckRun]:
        for contexts in self.checks.values():
            yield from (each for each in contexts if isinstance(each, CheckRun))

    def commit(self, ref: str) -> tuple[str, datetime] | None:
        """The commit that a ref of the bare repository shows and when it was made."""
        if self.git is None:
            return None
        answer = run_git(self.git, "log", "-1", "--format=%H %ct", "--end-of-options", ref, "--", check=False)
        if answer.returncode or not answer.stdout.strip():
            return None
        oid, seconds = answer.stdout.split()
        return oid, datetime.fromtimestamp(int(seconds), UTC)


@dataclass(slots=True)
class World:
    """All there is. Ids are never used twice, so a label that was made again is another label."""

    users: dict[str, User] = field(default_factory=dict)
    repositories: dict[str, Repository] = field(default_factory=dict)
    last_id: int = 5000

    def new_number(self) -> int:
        self.last_id += 1
        return self.last_id

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{self.new_number()}"

    def tickets(self) -> Iterator[Ticket]:
        for repository in self.repositories.values():
            yield from repository.tickets.values()

    def age(self, by: timedelta) -> None:
        """Moves everything that was written into the past."""
        for ticket in self.tickets():
            ticket.created_at -= by
            ticket.updated_at -= by
            ticket.closed_at = ticket.closed_at and ticket.closed_at - by
            for comment in ticket.comments:
                comment.created_at -= by
            for event in ticket.events:
                event.created_at -= by
            if isinstance(ticket, Pull):
                ticket.head_commit_at -= by
                ticket.merged_at = ticket.merged_at and ticket.merged_at - by
