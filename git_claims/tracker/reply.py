"""What `gh api -i` printed, read: status, headers, document; and the kind of error that it is, if it is one.

Pure. Exit status and messages of gh decide nothing here: it ends with 1 for all that GitHub may say.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from git_claims.errors import TrackerError, Trouble
from git_claims.protocol.text import printable
from git_claims.tracker.tree import Tree, Unreadable

# Without Retry-After and reset, GitHub asks for at least a minute.
_UNTOLD_WAIT_SECONDS = 60.0
_LONGEST_MESSAGE = 200
_HEAD = re.compile(rb"HTTP/[0-9.]+ ([0-9]{3})[^\n]*\n")
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_LOGIN = "run 'gh auth login', or set GH_TOKEN"
_TOO_QUICKLY = "submitted too quickly"


class FieldMissing(TrackerError):
    """The server is older than what we ask; `fields` are those that it does not know."""

    def __init__(self, message: str, fields: frozenset[str]) -> None:
        super().__init__(Trouble.TOO_OLD, message)
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer; names of headers are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Fault:
    """One entry of GraphQL's `errors`; `path` leads to what is missing in the data."""

    message: str
    kind: str | None = None
    path: tuple[str, ...] = ()
    unknown_field: str | None = None

    @property
    def is_limit(self) -> bool:
        """Says whether it only came too soon."""
        return self.kind == "RATE_LIMITED" or _TOO_QUICKLY in self.message


@dataclass(frozen=True, slots=True)
class Answer:
    """What GraphQL gave: data, perhaps with holes, and the faults that made them."""

    data: Tree
    faults: tuple[Fault, ...] = field(default=())


def parse_reply(stdout: bytes) -> Reply | None:
    """Reads what gh printed; None where it is no HTTP answer."""
    match = _HEAD.match(stdout)
    if match is None:
        return None
    head, *rest = _BLANK_LINE.split(stdout[match.end() :], maxsplit=1)
    lines = (line.partition(":") for line in head.decode("latin-1").splitlines())
    return Reply(int(match[1]), {name.strip().lower(): value.strip() for name, _, value in lines}, b"".join(rest))


def read_answer(reply: Reply, *, is_write: bool, now: float) -> Answer:
    """Reads a GraphQL answer; raises the TrackerError that it is where there are no data in it."""
    document = _document(reply, is_write, now)
    try:
        faults = tuple(_fault(each) for each in document.at("errors").each)
        data = document.at("data")
    except Unreadable as error:
        raise _not_ours(is_write) from error
    if data:
        return Answer(data, faults)
    raise _of_faults(faults, reply, is_write, now) if faults else _not_ours(is_write)


def read_document(reply: Reply, *, is_write: bool, now: float) -> Tree:
    """Reads a REST answer; raises the TrackerError that it is where the status says so."""
    return _document(reply, is_write, now)


def read_text(reply: Reply, *, now: float) -> str:
    """Reads an answer that is no document; raises the TrackerError that it is where the status says so."""
    if reply.status >= 300:
        _document(reply, is_write=False, now=now)
    return reply.body.decode("utf-8", "replace")


def _document(reply: Reply, is_write: bool, now: float) -> Tree:
    try:
        document = Tree(json.loads(reply.body)) if reply.body.strip() else Tree(None)
    except ValueError:
        document = Tree(None)
        if reply.status < 300:
            raise _not_ours(is_write) from None
    if reply.status >= 300:
        raise _of_status(reply, document, is_write, now)
    return document


def _not_ours(is_write: bool) -> TrackerError:
    message = "GitHub answered with something that is not its own: a proxy or a login page may be in between"
    return TrackerError(Trouble.SERVER, message, maybe_applied=is_write)


def _of_status(reply: Reply, document: Tree, is_write: bool, now: float) -> TrackerError:
    message = _message(reply.status, document)
    match reply.status:
        case 401:
            return TrackerError(Trouble.NO_LOGIN, message, _LOGIN)
        case 403 | 429:
            return _limit(reply, message, now) or TrackerError(Trouble.FORBIDDEN, message)
        case 404 | 410:
            return TrackerError(Trouble.NOT_FOUND, message)
        case status if status >= 500:
            return TrackerError(Trouble.SERVER, message, "repeating is safe", maybe_applied=is_write)
    return TrackerError(Trouble.INVALID, message)


def _message(status: int, document: Tree) -> str:
    try:
        said = document.at("message").text
        codes = [each.at("code").text for each in document.at("errors").each if each.at("code")]
    except Unreadable:
        return f"GitHub answered with status {status}"
    return f"GitHub says: {_shown(said)}" + (f" ({', '.join(codes)})" if codes else "")


def _limit(reply: Reply, message: str, now: float) -> TrackerError | None:
    """Returns the limit that a refusal is about, if it is about one."""
    headers, words = reply.headers, message.lower()
    if headers.get("retry-after", "").isdigit():
        return TrackerError(Trouble.RATE_LIMITED, message, wait_seconds=float(headers["retry-after"]))
    if "secondary rate" in words or _TOO_QUICKLY in words or "temporarily blocked" in words:
        return TrackerError(Trouble.RATE_LIMITED, message, wait_seconds=_UNTOLD_WAIT_SECONDS)
    if headers.get("x-ratelimit-remaining") == "0" or "rate limit" in words:
        return TrackerError(Trouble.RATE_LIMITED, message, wait_seconds=_until_reset(headers, now))
    return (
        TrackerError(Trouble.RATE_LIMITED, message, wait_seconds=_UNTOLD_WAIT_SECONDS) if reply.status == 429 else None
    )


def _until_reset(headers: Mapping[str, str], now: float) -> float:
    reset = headers.get("x-ratelimit-reset", "")
    # A second more: the reset is told in whole seconds, and our clock is not GitHub's.
    return max(1.0, float(reset) - now + 1) if reset.isdigit() else _UNTOLD_WAIT_SECONDS


def _of_faults(faults: tuple[Fault, ...], reply: Reply, is_write: bool, now: float) -> TrackerError:
    message = "GitHub says: " + _shown("; ".join(dict.fromkeys(fault.message for fault in faults)))
    kinds = {fault.kind for fault in faults}
    if any(fault.is_limit for fault in faults):
        limit = _limit(reply, message, now)
        return limit or TrackerError(Trouble.RATE_LIMITED, message, wait_seconds=_UNTOLD_WAIT_SECONDS)
    if unknown := {fault.unknown_field for fault in faults if fault.unknown_field}:
        return FieldMissing(message, frozenset(unknown))
    if kinds & {"FORBIDDEN", "INSUFFICIENT_SCOPES"}:
        return TrackerError(Trouble.FORBIDDEN, message)
    if "NOT_FOUND" in kinds:
        return TrackerError(Trouble.NOT_FOUND, message)
    if "Something went wrong" in message or kinds == {"INTERNAL"}:
        return TrackerError(Trouble.SERVER, message, "repeating is safe", maybe_applied=is_write)
    return TrackerError(Trouble.INVALID, message)


def _fault(entry: Tree) -> Fault:
    steps = entry.at("path").each if isinstance(entry.at("path").value, list) else []
    # An older server may lack a field, or only an argument of it.
    name_of = {"undefinedField": "fieldName", "argumentNotAccepted": "name"}
    unknown = name_of.get(entry.at("extensions", "code").text_or_none or "")
    return Fault(
        entry.at("message").text,
        entry.at("type").text_or_none,
        tuple(str(step.value) for step in steps),
        entry.at("extensions", unknown).text_or_none if unknown else None,
    )


def _shown(text: str) -> str:
    # The advice behind the first sentence names request ids and addresses of support.
    return printable(text.replace("\n", " "))[:_LONGEST_MESSAGE]
