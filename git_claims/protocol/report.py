"""The last line of a worker's output, by which it says how its turn ended: written and read.

    RESULT: merged issue=42 pr=17
    RESULT: halted issue=acme/ledger#42 reason=the tests need a key
    RESULT: drained
    RESULT: hitl-only

Strict on both sides. Reading takes that grammar and nothing near it, colour codes and other spaces included: a runner
that guesses goes past an ambiguous result. Only white space at the end of the line, as of a CR, is not part of it.
"""

import re
from dataclasses import dataclass

from git_claims.errors import Usage
from git_claims.protocol.item import Named, parse
from git_claims.protocol.text import has_control_characters

_MERGED = re.compile(r"RESULT: merged issue=(?P<issue>\S+) pr=(?P<pull>[1-9][0-9]{0,17})")
_HALTED = re.compile(r"RESULT: halted issue=(?P<issue>\S+) reason=(?P<reason>\S(?:.*\S)?)")
_DRAINED, _HITL_ONLY = "RESULT: drained", "RESULT: hitl-only"


@dataclass(frozen=True, slots=True)
class Merged:
    """The issue was delivered by that pull request."""

    issue: Named
    pull: int


@dataclass(frozen=True, slots=True)
class Halted:
    """The worker gave up on the issue. The reason is one line."""

    issue: Named
    reason: str


@dataclass(frozen=True, slots=True)
class Drained:
    """No issue was left in the queue."""


@dataclass(frozen=True, slots=True)
class HitlOnly:
    """All that was left in the queue waits for people."""


Report = Merged | Halted | Drained | HitlOnly


@dataclass(frozen=True, slots=True)
class Observed:
    """What an output ended with: its last line that is not empty, as it stood there, and what that reports."""

    line: str
    report: Report | None


def write(report: Report) -> str:
    """Writes the line, without a line break; raises ValueError for a report that would not be read as it was meant."""
    line = _written(report)
    if _parse(line) != report:
        raise ValueError("an issue and a number of a pull request, or a reason of one line, are what a result can say")
    return line


def read(output: str) -> Observed:
    """Reads the last line of an output that is not empty."""
    line = output.rstrip().rpartition("\n")[2]
    return Observed(line, _parse(line))


def _written(report: Report) -> str:
    match report:
        case Merged(issue, pull):
            return f"RESULT: merged issue={_spelled(issue)} pr={pull}"
        case Halted(issue, reason):
            return f"RESULT: halted issue={_spelled(issue)} reason={reason}"
        case Drained():
            return _DRAINED
        case HitlOnly():
            return _HITL_ONLY


def _spelled(named: Named) -> str:
    return f"{named.repository}#{named.item.spelling}" if named.repository else named.item.spelling


def _parse(line: str) -> Report | None:
    if line == _DRAINED:
        return Drained()
    if line == _HITL_ONLY:
        return HitlOnly()
    if has_control_characters(line):
        return None
    if merged := _MERGED.fullmatch(line):
        issue = _issue(merged["issue"])
        return Merged(issue, int(merged["pull"])) if issue else None
    if halted := _HALTED.fullmatch(line):
        issue = _issue(halted["issue"])
        return Halted(issue, halted["reason"]) if issue else None
    return None


def _issue(text: str) -> Named | None:
    try:
        return parse(text)
    except Usage:
        return None
