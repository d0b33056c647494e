"""Agents of two operators, people who act by hand, and a GitHub in any mood: refs decide, and signs come to agree.

Whole commands run in this process and die anywhere between two requests. A quick run is the same every time;
GIT_CLAIM_THOROUGH=1 looks further, HYPOTHESIS_PROFILE=deep much further. Whatever it finds becomes a scenario.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.agents import Answer
from tests.github_double import GitHub, rules
from tests.github_double.records import Issue
from tests.machine.tracker_judge import CLAIMED, HOLD, Judge, Kind, told_twice
from tests.machine.tracker_seat import Death, Desk
from tests.scenarios.oracle import is_thorough

QUICK_EXAMPLES, THOROUGH_EXAMPLES = 8, 20
NUMBERS = (4, 42)
# Two agents of one login, and one of another. bob is a person, and so is everybody when not at a command.
SEATS = (("chain-a", "octo"), ("chain-b", "octo"), ("chain-c", "ada"))
OF_EACH_LOGIN = (0, 2)
PERSON = "bob"
STEPS = (
    "addLabelsToLabelable",
    "removeLabelsFromLabelable",
    "addAssigneesToAssignable",
    "removeAssigneesFromAssignable",
    "addComment",
)
moods: dict[str, Callable[[GitHub], None]] = {
    "up": lambda github: None,
    "down": lambda github: github.mood("down"),
    "down for writes": lambda github: github.mood("down", only="writes"),
    "forbidden": lambda github: github.mood("forbidden"),
    "forbidden for octo's writes": lambda github: github.mood("forbidden", only="writes", login="octo"),
    "logged out": lambda github: github.mood("bad-credentials"),
    "no labels": lambda github: github.mood("may-not-label"),
    **{f"half: {step}": partial(GitHub.mood, name="half-applied", fields=(step,)) for step in STEPS},
    **{f"once too quick: {step}": partial(GitHub.mood, name="too-quickly", times=1, fields=(step,)) for step in STEPS},
    "answer lost": lambda github: github.mood("answer-lost", only="writes", times=1),
    "answers lost": lambda github: github.mood("answer-lost", only="writes"),
    "hung up": lambda github: github.mood("hung-up", times=2),
    "timed out": lambda github: github.mood("timed-out", only="writes", times=1),
    "limited": lambda github: github.mood("secondary-limit", seconds=1, times=1),
    "limited for long": lambda github: github.mood("secondary-limit", seconds=600),
    "lists lag": lambda github: github.mood("listing-lag"),
}

# What GitHub is like from now on (None: as before), and whether the command dies.
Around = tuple[str | None, Death | None]
CALM: Around = ("up", None)


class Deed(Protocol):
    """What a person does to an issue."""

    def __call__(self, github: GitHub, issue: Issue) -> None: ...


def assigned(github: GitHub, issue: Issue, login: str, is_on: bool) -> None:
    act = rules.add_assignees if is_on else rules.remove_assignees
    act(github.world, github.world.users[PERSON], issue, [github.world.users[login]])


def labelled(github: GitHub, issue: Issue, name: str, is_on: bool) -> None:
    act = rules.add_labels if is_on else rules.remove_labels
    act(github.world, github.world.users[PERSON], issue, [github.repository().labels[name]])


def closed_or_reopened(github: GitHub, issue: Issue) -> None:
    if issue.state == "OPEN":
        github.close(issue.number, by=PERSON)
    else:
        rules.reopen(github.world.users[PERSON], issue)


def locked(github: GitHub, issue: Issue) -> None:
    github.comment(issue.number, PERSON, f"<!-- claude-lock: operator={PERSON} worktree=/w at=now -->")


agents = st.integers(0, len(SEATS) - 1)
numbers = st.sampled_from(NUMBERS)
several = st.lists(numbers, min_size=1, max_size=2, unique=True)
deaths = st.sampled_from([*[None] * 12, *(Death(at, sent) for at in (1, 2, 3) for sent in (False, True))])
# Most of what has to be repaired comes of a write that does not land.
harsh = st.sampled_from(["down for writes", "half: addComment", "no labels"])
circumstances = st.tuples(st.one_of(st.none(), st.just("up"), harsh, st.sampled_from(list(moods))), deaths)
endings = st.sampled_from([(), ("--abandoned",), ("--blocked", "--reason", "api"), ("--ci-monitoring",)])
deeds = st.one_of(
    st.builds(partial, st.just(assigned), login=st.sampled_from(["octo", "ada", PERSON]), is_on=st.booleans()),
    st.builds(partial, st.just(labelled), name=st.sampled_from([CLAIMED, HOLD, "ready", "hitl"]), is_on=st.booleans()),
    st.sampled_from([closed_or_reopened, locked]),
)


class Showing(RuleBasedStateMachine):
    """What may follow is anything; what must hold is asserted after each command, each step, and at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory(prefix="git-claim-machine-")
        root = Path(self._directory.name)
        (root / "github").mkdir()
        self.github = GitHub(root / "github", root)
        for number in NUMBERS:
            self.github.add_issue(number, labels=["ready"])
        desk = Desk(root, self.github)
        self.seats = [desk.seat(chain, login) for chain, login in SEATS]
        self.judge = Judge(self.github)

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.the_day_ends()
        finally:
            self._directory.cleanup()

    # Commands

    @rule(agent=agents, wanted=several, as_bundle=st.booleans(), around=circumstances)
    def takes(self, agent: int, wanted: list[int], as_bundle: bool, around: Around) -> None:
        lead, *others = map(str, wanted)
        more = ["--bundle", *others] if as_bundle and others else others
        self._run(agent, Kind.TAKE, around, "take", lead, *more)

    @rule(agent=agents, number=numbers, around=circumstances)
    def takes_over(self, agent: int, number: int, around: Around) -> None:
        self._run(agent, Kind.TAKE_OVER, around, "take", str(number), "--force", "--reason", "late")

    @rule(agent=st.none() | agents, number=numbers, ending=endings, around=circumstances)
    def releases(self, agent: int | None, number: int, ending: tuple[str, ...], around: Around) -> None:
        # Left to chance, hardly anybody who releases holds what they release.
        agent = self._agent_of(number) if agent is None else agent
        self._run(agent, Kind.GIVE_UP, around, "release", str(number), *ending)

    @rule(agent=agents, number=numbers, is_on=st.booleans(), around=circumstances)
    def holds(self, agent: int, number: int, is_on: bool, around: Around) -> None:
        words = ["hold", str(number), "--reason", "design"] if is_on else ["unhold", str(number)]
        self._run(agent, Kind.GIVE_UP if is_on else Kind.SHOW, around, *words)

    @rule(agent=agents, only=st.none() | numbers, around=circumstances)
    def syncs(self, agent: int, only: int | None, around: Around) -> None:
        self._run(agent, Kind.SHOW, around, "sync", *([] if only is None else [str(only)]))

    # What people do at GitHub

    @rule(number=numbers, deed=deeds)
    def somebody_acts(self, number: int, deed: Deed) -> None:
        deed(self.github, self.github.issue(number))

    @rule()
    def the_day_ends(self) -> None:
        """All is well and open and not on hold again, everybody runs sync once, and nothing is left to repair."""
        self.github.calm()
        for issue in map(self.github.issue, NUMBERS):
            labelled(self.github, issue, HOLD, is_on=False)
            if issue.state == "CLOSED":
                closed_or_reopened(self.github, issue)
        answers = [self._run(agent, Kind.SHOW, CALM, "sync") for agent in range(len(self.seats))]
        for issue in map(self.github.issue, NUMBERS):
            self.judge.check_agreement(issue)
        self.github.forget_requests()
        again = [self._run(agent, Kind.SHOW, CALM, "sync") for agent in OF_EACH_LOGIN]
        assert not self.github.writes, f"repaired twice: {[*answers, *again]}"

    # What must hold after each step

    @invariant()
    def no_comment_stands_there_twice(self) -> None:
        self.judge.look_away()
        for number in NUMBERS:
            assert not told_twice(self.github.issue(number)), self.github.issue(number).bodies

    # How a command is run and judged

    def _run(self, agent: int, kind: Kind, around: Around, *words: str) -> Answer | None:
        seat, (mood, death) = self.seats[agent], around
        if mood is not None:
            self.github.calm()
            moods[mood](self.github)
        answer = seat.claim(*words, death=death)
        self.judge.settle(seat, kind, answer)
        return answer

    def _agent_of(self, number: int) -> int:
        """Who holds the issue; where nobody does, the first."""
        holder = self.judge.holder(number)
        return next((at for at, seat in enumerate(self.seats) if holder and seat.chain == holder.chain), 0)


# Over 3 s: a step is a few git processes, and it takes many of them to get anywhere. What fails is
# run again until it is short, which is worth waiting for; a deep run has no end in sight.
IS_DEEP = not settings().derandomize
TestShowing = pytest.mark.timeout(0 if IS_DEEP else 900)(Showing.TestCase)
TestShowing.settings = settings(
    max_examples=settings().max_examples if IS_DEEP else THOROUGH_EXAMPLES if is_thorough() else QUICK_EXAMPLES
)
