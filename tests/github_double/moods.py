"""What GitHub can be like, by name, and the answers that a mood gives instead of the usual one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.github_double.records import World, now
from tests.github_double.rules import Refusal

MoodName = Literal[
    "down",  # 503 and a page of HTML
    "garbage",  # 200 and something that is not JSON
    "timed-out",  # 200 and GraphQL's "Something went wrong"; of a write nobody says whether it landed
    "slow",  # the answer comes `seconds` later
    "hung-up",  # the connection ends before anything is done
    "answer-lost",  # what was asked is done, then the connection ends
    "primary-limit",  # the hour is used up for `seconds` more: 403
    "graphql-limit",  # the same as GraphQL says it: 200 and RATE_LIMITED
    "secondary-limit",  # 403 and Retry-After `seconds`
    "too-quickly",  # of one document, the mutations in `fields` are refused for being too many
    "bad-credentials",  # 401
    "forbidden",  # 403 whatever is asked
    "half-applied",  # of one document, the mutations in `fields` fail and the others land
    "may-not-label",  # a token without the right to change labels
    "listing-lag",  # lists show the world as it was when the mood began; reads by number do not
    "no-blockers",  # a server from before `blockedBy`
    "no-sub-issues",  # a server from before sub-issues
    "no-merge-queue",  # a server that has a merge queue but does not show it
    "no-auto-merge",  # a server from before auto-merge
    "unsettled",  # whether pull requests can be merged is not worked out yet
]
LACKING: dict[str, frozenset[str]] = {
    "no-blockers": frozenset({"blockedBy"}),
    "no-sub-issues": frozenset({"parent", "subIssues"}),
    "no-merge-queue": frozenset({"isInMergeQueue", "isMergeQueueEnabled"}),
    "no-auto-merge": frozenset({"autoMergeRequest", "autoMergeAllowed"}),
}
WHOLE_ANSWERS = frozenset(
    {
        "down",
        "garbage",
        "timed-out",
        "primary-limit",
        "graphql-limit",
        "secondary-limit",
        "bad-credentials",
        "forbidden",
    }
)
LABELLING = ("addLabelsToLabelable", "removeLabelsFromLabelable")


@dataclass(slots=True)
class Request:
    """One HTTP request as it arrived, and what it came to."""

    login: str | None
    method: str
    host: str
    path: str
    body: Mapping[str, object]
    is_write: bool
    status: int = 0
    points: int = 0
    nodes: int = 0

    @property
    def document(self) -> str:
        return str(self.body.get("query", ""))


@dataclass(slots=True)
class Mood:
    """A mood, whom and what it concerns and how often; `times` None is until `calm`."""

    name: MoodName
    times: int | None = None
    skip: int = 0
    only: Literal["reads", "writes"] | None = None
    login: str | None = None
    seconds: float = 60
    fields: tuple[str, ...] = ("addComment",)
    listed: World | None = None

    def strikes(self, request: Request) -> bool:
        """Says whether this request meets the mood, and counts it."""
        wanted = self.only is None or (self.only == "writes") == request.is_write
        if not wanted or self.login not in (None, request.login):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
            return self.times >= 0
        return True


def make_mood(mood: Mood, world: World) -> Mood:
    if mood.name == "listing-lag":
        mood.listed = copy.deepcopy(world)
    return mood


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    document: object
    headers: Mapping[str, str] = field(default_factory=dict)


def whole_answer(mood: Mood) -> HttpAnswer:
    """The answer of a mood in which nothing of what was asked is done."""
    used_up = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(now().timestamp() + mood.seconds))}
    exhausted = "API rate limit exceeded for user ID 1."
    match mood.name:
        case "down":
            return HttpAnswer(503, "<html><body>Unicorn! No server is currently available.</body></html>")
        case "garbage":
            return HttpAnswer(200, "<html>welcome to the hotel's network</html>")
        case "timed-out":
            words = "Something went wrong while executing your query. This may be the result of a timeout."
            return HttpAnswer(200, {"data": None, "errors": [{"message": words}]})
        case "primary-limit":
            return HttpAnswer(403, {"message": exhausted}, used_up)
        case "graphql-limit":
            return HttpAnswer(200, {"errors": [{"type": "RATE_LIMITED", "message": exhausted}]}, used_up)
        case "secondary-limit":
            words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
            return HttpAnswer(403, {"message": words}, {"Retry-After": str(int(mood.seconds))})
        case "bad-credentials":
            return HttpAnswer(401, {"message": "Bad credentials", "status": "401"})
        case "forbidden":
            return HttpAnswer(403, {"message": "Resource not accessible by personal access token", "status": "403"})
    raise AssertionError(mood.name)


def refused_fields(mood: Mood) -> dict[str, Refusal]:
    """The mutations that fail alone in this mood."""
    match mood.name:
        case "half-applied":
            return dict.fromkeys(mood.fields, Refusal("UNPROCESSABLE", "Something did not work out"))
        case "too-quickly":
            return dict.fromkeys(mood.fields, Refusal("UNPROCESSABLE", "was submitted too quickly"))
        case "may-not-label":
            words = "Resource not accessible by personal access token"
            return dict.fromkeys(LABELLING, Refusal("FORBIDDEN", words))
    return {}
