"""GitHub for tests: state as plain records, reached by the real gh over a unix socket, faults by name.

github.add_issue(42, "Fix the totals", labels=["ready"])
agent = Agent(make_clone(github.server, tmp_path), "chain-a", github.environment("octo"))
github.mood("secondary-limit", seconds=30, times=1)
assert github.issue(42).assignees == ["octo"]
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from tests.github_double import merging, rules
from tests.github_double.execution import schema
from tests.github_double.moods import HttpAnswer, Mood, MoodName, Request, make_mood
from tests.github_double.records import (
    Association,
    CheckRun,
    CheckState,
    Comment,
    Conclusion,
    Issue,
    Label,
    Permission,
    Protection,
    Pull,
    Reason,
    Repository,
    Status,
    Ticket,
    User,
    World,
)
from tests.github_double.server import TOKEN, Desk, GitHubServer
from tests.places import Server, make_server

HOME = "acme/ledger"
LABELS = ("ready", "afk", "hitl", "hold", "blocked", "in-progress", "ci-monitoring")
PEOPLE = ("octo", "ada", "bob")

# git gives a host, perhaps after options, and a command that names a repository; `-G` asks how ssh understands
# the host. The command must be one of git's two, and the repository one that the double keeps.
SSH = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -G) shift; echo "hostname ${{1#*@}}"; exit 0 ;;
    -p | -o | -i | -F | -l) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
program=${{2%% *}}
path=$(printf %s "${{2#* }}" | tr -d "'")
path=${{path#/}}
case $program in
git-upload-pack | git-receive-pack) exec "$program" '{root}'/"${{path%.git}}.git" ;;
esac
echo "no such command here: $2" >&2
exit 128
"""


class GitHub:
    """A GitHub with the repository acme/ledger, the usual labels, and octo, ada and bob who may write to it."""

    def __init__(self, root: Path, socket_directory: Path) -> None:
        self._root, self._socket = root, socket_directory / "gh.sock"
        self._desk = Desk()
        for login in PEOPLE:
            self.add_user(login)
        self.server = self.add_repository(HOME)
        (root / "ssh").write_text(SSH.format(root=root))
        (root / "ssh").chmod(0o755)
        (root / "gh").mkdir()
        (root / "gh/config.yml").write_text(f'version: "1"\nhttp_unix_socket: {self._socket}\n')

    @property
    def world(self) -> World:
        return self._desk.world

    # Who and what there is

    def add_user(
        self,
        login: str,
        *,
        permission: Permission = "WRITE",
        association: Association = "MEMBER",
        is_bot: bool = False,
    ) -> User:
        user = User(login, self.world.new_id("U"), permission, association, is_bot)
        self.world.users[login] = user
        return user

    def add_repository(self, full_name: str, labels: Sequence[str] = LABELS) -> Server:
        """Adds a repository, with a bare git repository behind its ssh URL."""
        owner, _, name = full_name.partition("/")
        path = make_server(self._root, f"{full_name}.git").path
        repository = Repository(owner, name, self.world.new_id("R"), path)
        self.world.repositories[full_name] = repository
        for label in labels:
            self.add_label(label, repo=full_name)
        return Server(path, f"git@github.com:{full_name}.git")

    def repository(self, repo: str = HOME) -> Repository:
        return self.world.repositories[repo]

    def add_label(self, name: str, *, repo: str = HOME) -> Label:
        """Adds a label; one of that name that was there before is another label from now on."""
        label = Label(name, self.world.new_id("LA"))
        self.repository(repo).labels[name.lower()] = label
        return label

    def rename_label(self, name: str, new_name: str, *, repo: str = HOME) -> None:
        """Gives a label another name; it stays the same label wherever it is."""
        repository = self.repository(repo)
        label = repository.labels.pop(name.lower())
        label.name = new_name
        repository.labels[new_name.lower()] = label
        for ticket in repository.tickets.values():
            ticket.labels = [new_name if each == name else each for each in ticket.labels]

    def drop_label(self, name: str, *, repo: str = HOME) -> None:
        repository = self.repository(repo)
        del repository.labels[name.lower()]
        for ticket in repository.tickets.values():
            ticket.labels = [label for label in ticket.labels if label.lower() != name.lower()]

    def add_issue(
        self,
        number: int,
        title: str = "An issue",
        *,
        labels: Sequence[str] = (),
        assignees: Sequence[str] = (),
        blocked_by: Sequence[int | str] = (),
        children: Sequence[int | str] = (),
        body: str = "",
        author: str = "ada",
        repo: str = HOME,
    ) -> Issue:
        """Adds an open issue; a blocker or child of another repository is written `owner/name#3`."""
        issue = Issue(
            repository=self.repository(repo),
            number=number,
            id=self.world.new_id("I"),
            title=title,
            author=author,
            body=body,
            labels=list(labels),
            assignees=list(assignees),
            blockers=[_named(each, repo) for each in blocked_by],
            children=[_named(each, repo) for each in children],
        )
        self.repository(repo).tickets[number] = issue
        return issue

    def add_pull(
        self,
        number: int,
        title: str = "A change",
        *,
        head: str,
        closes: int | None = None,
        base: str = "main",
        labels: Sequence[str] = (),
        checks: CheckState | None = None,
        author: str = "ada",
        is_draft: bool = False,
        repo: str = HOME,
    ) -> Pull:
        """Adds an open pull request, which `closes` an issue if its text says so."""
        pull = Pull(
            repository=self.repository(repo),
            number=number,
            id=self.world.new_id("PR"),
            title=title,
            author=author,
            body=f"Closes #{closes}" if closes else "",
            labels=list(labels),
            head=head,
            base=base,
            checks=checks,
            is_draft=is_draft,
        )
        self.repository(repo).tickets[number] = pull
        return pull

    # What people do, and what then stands there

    def issue(self, number: int, *, repo: str = HOME) -> Issue:
        found = self.repository(repo).tickets[number]
        assert isinstance(found, Issue)
        return found

    def pull(self, number: int, *, repo: str = HOME) -> Pull:
        found = self.repository(repo).tickets[number]
        assert isinstance(found, Pull)
        return found

    def comment(
        self,
        number: int,
        author: str,
        body: str,
        *,
        association: Association | None = None,
        at: datetime | None = None,
        repo: str = HOME,
    ) -> Comment:
        """Somebody comments; a login that nobody knows is a passer-by."""
        with self._desk.lock:
            viewer = self.world.users.get(author) or User(author, f"U_{author}", "READ", "NONE")
            comment = rules.add_comment(self.world, viewer, self._ticket(number, repo), body)
            comment.association = association or viewer.association
            comment.created_at = at or comment.created_at
            return comment

    def label(self, number: int, name: str, *, by: str = "ada", repo: str = HOME) -> None:
        with self._desk.lock:
            labels = [self.repository(repo).labels[name.lower()]]
            rules.add_labels(self.world, self.world.users[by], self._ticket(number, repo), labels)

    def assign(self, number: int, login: str, *, by: str = "ada", repo: str = HOME) -> None:
        with self._desk.lock:
            users = [self.world.users[login]]
            rules.add_assignees(self.world, self.world.users[by], self._ticket(number, repo), users)

    def close(self, number: int, reason: Reason = "COMPLETED", *, by: str = "ada", repo: str = HOME) -> None:
        with self._desk.lock:
            rules.close(self.world, self.world.users[by], self._ticket(number, repo), reason)

    def merge(self, number: int, *, by: str = "ada", repo: str = HOME) -> None:
        with self._desk.lock:
            merging.merge(self.world, self.world.users[by], self.pull(number, repo=repo))

    def protect(self, protection: Protection, *, repo: str = HOME) -> None:
        """What the default branch asks for from now on."""
        with self._desk.lock:
            self.repository(repo).protection = protection

    def check(
        self, number: int, name: str = "test", conclusion: Conclusion | None = None, *, repo: str = HOME
    ) -> CheckRun:
        """A check of the newest commit begins; the one of that name that is under way ends with a conclusion."""
        with self._desk.lock:
            pull = self.pull(number, repo=repo)
            run = merging.set_check(self.world, pull, name, conclusion)
            merging.settle(self.world, pull)
            return run

    def status(self, number: int, name: str, state: CheckState, description: str = "", *, repo: str = HOME) -> None:
        """Somebody says of the newest commit what the older interface has words for."""
        with self._desk.lock:
            pull = self.pull(number, repo=repo)
            said = pull.repository.checks.setdefault(pull.tip[0], [])
            said[:] = [each for each in said if each.name != name] + [Status(name, state, description)]
            merging.settle(self.world, pull)

    def approve(self, number: int, *, repo: str = HOME) -> None:
        with self._desk.lock:
            pull = self.pull(number, repo=repo)
            pull.approvals, pull.changes_requested = pull.approvals + 1, False
            merging.settle(self.world, pull)

    def run_queue(self, *, by: str = "ada", repo: str = HOME) -> None:
        """The merge queue gets to what waits in it."""
        with self._desk.lock:
            for pull in self.repository(repo).pulls():
                if pull.is_queued:
                    merging.merge(self.world, self.world.users[by], pull)

    def age(self, by: timedelta) -> None:
        """Lets time pass: everything that was written so far was written that much earlier."""
        with self._desk.lock:
            self.world.age(by)

    def _ticket(self, number: int, repo: str) -> Ticket:
        return self.repository(repo).tickets[number]

    # What GitHub is like, and what it was asked

    def mood(
        self,
        name: MoodName,
        *,
        times: int | None = None,
        skip: int = 0,
        only: Literal["reads", "writes"] | None = None,
        login: str | None = None,
        seconds: float = 60,
        fields: tuple[str, ...] = ("addComment",),
    ) -> None:
        """Begins a mood; `moods.py` says which there are."""
        with self._desk.lock:
            self._desk.moods.append(make_mood(Mood(name, times, skip, only, login, seconds, fields), self.world))

    def calm(self) -> None:
        """Ends every mood."""
        with self._desk.lock:
            self._desk.moods.clear()

    @property
    def requests(self) -> list[Request]:
        """Every request since the last `forget_requests`, in the order in which they arrived."""
        return self._desk.requests

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.requests if request.is_write]

    def ask(self, request: Request) -> HttpAnswer:
        """What GitHub answers; for who has no need of a gh and a socket in between."""
        answer = self._desk.answer(request)
        assert not self._desk.faults, "\n".join(self._desk.faults)
        return answer

    def forget_requests(self) -> None:
        self._desk.requests.clear()

    def environment(self, login: str | None, gh: Path | None = None) -> dict[str, str]:
        """What a process needs to be that person here; nobody is logged in as None. `gh`: where another gh lies."""
        tokens = {} if login is None else dict.fromkeys(("GH_TOKEN", "GH_ENTERPRISE_TOKEN"), f"{TOKEN}{login}")
        path = {} if gh is None else {"PATH": f"{gh}:{os.environ['PATH']}"}
        return {
            **tokens,
            **path,
            "GH_CONFIG_DIR": str(self._root / "gh"),
            "GIT_SSH_COMMAND": str(self._root / "ssh"),
            "GIT_SSH_VARIANT": "ssh",
        }

    @contextmanager
    def running(self) -> Iterator[GitHub]:
        """Answers until the block ends; then what nobody taught the double is a failure."""
        schema()
        with GitHubServer(self._socket, self._desk) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield self
            finally:
                self._desk.stopping.set()
                server.shutdown()
                thread.join()
        assert not self._desk.faults, "\n".join(self._desk.faults)


def _named(named: int | str, repo: str) -> tuple[str, int]:
    if isinstance(named, int):
        return repo, named
    name, _, number = named.partition("#")
    return name, int(number)
