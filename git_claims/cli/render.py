"""Where results are printed: stdout is data, stderr is talk, `--json` is exactly one document."""

import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TextIO

import click

from git_claims.cli import words
from git_claims.errors import CannotWrite, ClaimError, Exit
from git_claims.flows.board import NOT_LANDED
from git_claims.flows.change import Answer
from git_claims.flows.listing import Look, Row
from git_claims.protocol.claim import KEYS, ChainId, Seen
from git_claims.protocol.item import Item
from git_claims.protocol.text import moment, printable, stamp
from git_claims.protocol.transition import HOLDING, Outcome, Reason

Document = dict[str, object]

_LOOKS_FURTHER = {Outcome.HELD, Outcome.NOT_YOURS, Outcome.UNKNOWN, Outcome.NOT_TAKEN}


class Talk:
    """The two streams of one command, and whether it was asked for JSON or for silence.

    Lines often carry what somebody else wrote, so each is made safe to show here, whatever its author thought of.
    """

    def __init__(self, *, as_json: bool, quiet: bool, directory: str | None = None) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self._directory = directory

    def of_clone(self, directory: str) -> "Talk":
        """The same streams for a clone that we do not stand in: the commands that are named lead there."""
        return Talk(as_json=self.as_json, quiet=self.quiet, directory=shlex.quote(directory))

    def data(self, line: str) -> None:
        """What a command was called for: stdout, unless JSON stands there."""
        if not self.as_json:
            _put(printable(line))

    def result(self, line: str) -> None:
        """A confirmation, which the exit status says as well: stdout, unless silence was asked for."""
        if not self.quiet:
            self.data(line)

    def document(self, document: Document) -> None:
        """The one JSON document, where it was asked for."""
        if self.as_json:
            _put(json.dumps(self._placed_in(document), indent=2))

    def say(self, line: str) -> None:
        """Talk that a script can do without."""
        if not self.quiet:
            _put(printable(self.placed(line)), err=True)

    def insist(self, line: str) -> None:
        """Talk that nobody can do without, whatever silence was asked for."""
        _put(printable(line), err=True)

    def warn(self, line: str) -> None:
        _put(printable(f"warning: {line}"), err=True)

    def error(self, line: str, hint: str | None = None, *, fatal: bool = False) -> None:
        _put(printable(f"{'fatal' if fatal else 'error'}: {line}"), err=True)
        if hint and not self.quiet:
            _put(printable(f"hint: {self.placed(hint)}"), err=True)

    def event(self, line: str, is_error: bool) -> None:
        """What a command under guard meets, as it happens."""
        if is_error:
            self.error(line)
        else:
            self.say(line)

    def failure(self, error: ClaimError) -> None:
        """A foreseen end, in both forms."""
        self.error(error.message, error.hint, fatal=error.exit is Exit.CANNOT)
        self.document(
            {
                "ok": False,
                "items": [],
                "reason": error.reason,
                "error": error.message,
                "hint": error.hint,
                "next": [],
            }
        )

    def _notes(self, answers: Sequence[Answer], repo: str) -> None:
        """Warns of what is not as it should be: what holds of every item once, anything else with its item."""
        for note in dict.fromkeys(note for answer in answers for note in answer.notes):
            noted = [answer.item for answer in answers if note in answer.notes]
            of_items = (
                "" if len(noted) == len(answers) else f"{', '.join(words.qualified(each, repo) for each in noted)}: "
            )
            self.warn(f"{of_items}{note}")
        if any(NOT_LANDED in note for answer in answers for note in answer.notes):
            self.say("hint: 'git claim sync' repairs what is shown of claims")

    def placed(self, line: str) -> str:
        """Leads the commands named in a line to the clone they are about."""
        if self._directory is None:
            return line
        # What leads somewhere already goes there.
        return re.sub(r"('|^next: )git claim (?!-C )", rf"\g<1>git claim -C {self._directory} ", line)

    def _placed_in(self, document: Document) -> Document:
        following = document.get("next")
        if self._directory is None or not isinstance(following, list):
            return document
        place = f"git claim -C {self._directory} "
        return {**document, "next": [command.replace("git claim ", place, 1) for command in following]}

    def answers(
        self, answers: Sequence[Answer], repo: str, chain: ChainId | None, now: datetime, **more: str | None
    ) -> Exit:
        """Prints what became of each item and returns the exit status that says so."""
        hints: dict[tuple[Outcome, Reason], str] = {}
        for answer in answers:
            if answer.succeeded:
                self.result(words.success(answer, repo, now))
            else:
                line, hint = words.refusal(answer, repo, now)
                self.error(line, fatal=_cannot(answer))
                hints.setdefault((answer.outcome, answer.reason), hint)
        self._notes(answers, repo)
        if len(hints) > 1:
            # What was only left out waits for the same thing as what was lost.
            hints.pop((Outcome.NOT_TAKEN, Reason.ALL_OR_NOTHING), None)
        for hint in dict.fromkeys(hints.values()):
            self.say(f"hint: {hint}")
        status = exit_of(answers)
        self.document(
            {
                "ok": status is Exit.DONE,
                "items": [answer_document(answer, repo) for answer in answers],
                "next": following(answers, chain),
                **more,
            }
        )
        return status


def mute(stream: TextIO) -> None:
    """Lets a stream that nobody reads swallow the rest; Python's own flush on the way out would complain too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _put(line: str, *, err: bool = False) -> None:
    try:
        click.echo(line, err=err)
    except OSError as error:
        mute(sys.stderr if err else sys.stdout)
        # A reader that went away has heard enough: the command goes on, and its exit status says how it ended.
        if not err and not isinstance(error, BrokenPipeError):
            raise CannotWrite(f"cannot write to standard output: {error.strerror}") from error


def exit_of(answers: Sequence[Answer]) -> Exit:
    """The one status for several items: not knowing outweighs a refusal, and that a plain no."""
    if any(answer.outcome is Outcome.UNKNOWN for answer in answers):
        return Exit.UNKNOWN
    failed = [answer for answer in answers if not answer.succeeded]
    if any(_cannot(answer) for answer in failed):
        return Exit.CANNOT
    return Exit.NO if failed else Exit.DONE


def following(answers: Sequence[Answer], chain: ChainId | None) -> list[str]:
    """The safe commands that could follow, complete with the chain they need."""
    whose = f" --chain {shlex.quote(chain)}" if chain else ""
    held = [answer.item.spelling for answer in answers if answer.outcome in HOLDING]
    looked_at = [answer.item.spelling for answer in answers if answer.outcome in _LOOKS_FURTHER]
    commands = [f"git claim show {number}" for number in held + looked_at]
    commands += (
        [f"git claim renew {' '.join(held)}{whose}", f"git claim release {' '.join(held)}{whose}"] if held else []
    )
    if any(answer.outcome is Outcome.REFUSED for answer in answers):
        commands.append("git claim doctor")
    return commands


def answer_document(answer: Answer, repo: str) -> Document:
    """One entry of `items`."""
    return {
        "item": answer.item.name,
        "repo": repo,
        "outcome": str(answer.outcome),
        "reason": str(answer.reason),
        "claim": seen_document(answer.claim),
        "rival": seen_document(answer.rival),
        "detail": printable(answer.detail) if answer.detail else None,
        "bar": printable(answer.barred.who) if answer.barred else None,
        "notes": [printable(note) for note in answer.notes],
    }


def seen_document(seen: Seen | None) -> Document | None:
    """Every field of a record and its id; keys that other clients wrote stand under `extra`."""
    if seen is None:
        return None
    if seen.claim is None:
        return {"oid": seen.oid, "readable": False, "trouble": printable(seen.trouble or "")}
    values: dict[str, str | None] = {key: getattr(seen.claim, key) for key in KEYS}
    known = {key: None if value is None else printable(value) for key, value in values.items()}
    extra = {printable(key): printable(value) for key, value in seen.claim.extra}
    return {**known, "extra": extra, "oid": seen.oid, "readable": True}


def row_document(row: Row, repo: str, now: datetime) -> Document:
    """One entry of `claims` in `ls --json`."""
    record = seen_document(row.seen) or {}
    claimed = moment(row.seen.claim.claimed_at) if row.seen.claim else None
    return {
        "item": row.item.name,
        "repo": repo,
        **{key: record.get(key) for key in ("chain", "operator", "host", "branch", "claimed_at")},
        "age_seconds": None if claimed is None else int((now - claimed).total_seconds()),
        "mine": row.mine,
        "oid": row.seen.oid,
        "lead": row.lead.name if row.lead else None,
        "readable": row.seen.claim is not None,
        "phase": record.get("phase"),
        "renewed_at": record.get("renewed_at"),
    }


def look_document(found: Look, repo: str, reason: Reason | None, chain: ChainId | None) -> Document:
    """The document of `check` and `show`."""
    return {
        "ok": reason is None,
        "item": found.item.name,
        "repo": repo,
        "chain": chain,
        "mine": chain is not None and found.seen is not None and found.seen.is_held_by(chain),
        "claimed": found.seen is not None,
        "reason": str(reason or Reason.HOLDER),
        "claim": seen_document(found.seen),
        "source": "cached" if found.cached else "remote",
        "as_of": as_of(found.as_of),
    }


def as_of(seconds: float | None) -> str | None:
    """An absolute time for JSON; None where nobody knows it."""
    return None if seconds is None else stamp(datetime.fromtimestamp(seconds, UTC))


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Left-aligned columns two spaces apart, nothing behind the last; the same piped or not."""
    widths = [max(len(line[column]) for line in [header, *lines]) for column in range(len(header))]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in [header, *lines]]
    return ["  ".join(cells).rstrip() for cells in padded]


def listing_table(lines: Sequence[Sequence[str]]) -> list[str]:
    """The table of `ls`: a line a claim, siblings below their lead, what the tracker says last if it says anything."""
    header = ["ITEM", "CHAIN", "OPERATOR", "HOST", "BRANCH", "AGE", "NOTES", "TRACKER"]
    columns = len(header) if any(line[-1] for line in lines) else len(header) - 1
    return table(header[:columns], [line[:columns] for line in lines])


def listing_cells(row: Row, now: datetime, repo: str | None = None) -> list[str]:
    """The cells of a claim but the tracker's; `repo` qualifies its item."""
    claim = row.seen.claim
    notes = ["mine"] if row.mine else []
    lead = row.lead and (words.qualified(row.lead, repo) if repo else row.lead.spelling)
    notes += [f"bundled with {lead}"] if lead else []
    notes += [] if claim else [f"unreadable: {row.seen.trouble}"]
    cells = (claim.chain, claim.operator, claim.host, claim.branch) if claim else (None,) * 4
    shown = [printable(cell) if cell else "-" for cell in cells]
    item = words.qualified(row.item, repo) if repo else row.item.spelling
    return [item, *shown, words.age(row.seen, now), printable(", ".join(notes))]


def record_lines(item: Item, seen: Seen, repo: str, now: datetime) -> list[str]:
    """The whole record for people, one key a line, its id last."""
    if seen.claim is None:
        pairs = [
            ("item", words.qualified(item, repo)),
            ("unreadable", printable(seen.trouble or "")),
            ("id", seen.oid),
        ]
    else:
        pairs = [(key, printable(value)) for key, value in seen.claim.lines()]
        pairs += [("age", words.age(seen, now)), ("id", seen.oid)]
    width = max(len(printable(key)) for key, _ in pairs)
    return [f"{printable(key).ljust(width)}  {value}" for key, value in pairs]


def _cannot(answer: Answer) -> bool:
    # A record that cannot be read where it must be: nobody can prove to be its holder.
    unreadable = answer.reason is Reason.UNREADABLE and answer.outcome is Outcome.NOT_YOURS
    return answer.outcome is Outcome.REFUSED or unreadable
