"""Sentences: what an answer says to a person. Pure; everything from a record or a server is made printable here."""

from datetime import datetime, timedelta

from git_claims.flows.change import Answer
from git_claims.protocol.bars import Barred
from git_claims.protocol.claim import Seen
from git_claims.protocol.item import Item
from git_claims.protocol.text import in_words, moment, printable
from git_claims.protocol.transition import Outcome, Reason


def usage(message: str) -> str:
    """What click says of a command line, in git's words: lower case, no full stop, one line."""
    line = " ".join(message.split())
    return printable(line[:1].lower() + line[1:].removesuffix("."))


def qualified(item: Item, repo: str) -> str:
    """The item with its repository, as a person would write it: `acme/ledger#42`."""
    return f"{repo}#{item.spelling}"


def quoted(item: Item, repo: str) -> str:
    """The item as the subject of a sentence: `issue 'acme/ledger#42'`."""
    return f"{item.noun} '{qualified(item, repo)}'"


def claims(item: Item) -> str:
    """The hint for an item that nobody holds."""
    # It may be closed or somebody else's all the same: that is found out by asking.
    return f"'git claim {item.spelling}' asks for it"


def ago(passed: timedelta) -> str:
    """`2 h ago`, or what fits where nothing has passed."""
    said = in_words(passed)
    return {"now": "just now", "from the future": said}.get(said, f"{said} ago")


def since(claimed_at: str | None, now: datetime) -> str:
    """`since 09:12 (2 h)`, dated where it was not today, in the zone of `now`; empty where it means nothing."""
    claimed = moment(claimed_at)
    if claimed is None:
        return ""
    claimed = claimed.astimezone(now.tzinfo)
    shape = "%H:%M" if claimed.date() == now.date() else "%Y-%m-%d %H:%M"
    return f" since {claimed.strftime(shape)} ({in_words(now - claimed)})"


def holder(seen: Seen, now: datetime) -> str:
    """Who a claim belongs to: `'chain-…' on blade since 09:12 (2 h)`."""
    if seen.claim is None:
        return f"somebody whose record cannot be read: {printable(seen.trouble or '')}"
    host = f" on {printable(seen.claim.host)}" if seen.claim.host else ""
    return f"'{printable(seen.claim.chain)}'{host}{since(seen.claim.claimed_at, now)}"


def holding(item: Item, repo: str, seen: Seen | None, now: datetime) -> str:
    """Who holds an item, or that nobody does."""
    if seen is None:
        return f"{quoted(item, repo)} is not claimed"
    return f"{quoted(item, repo)} is claimed by {holder(seen, now)}"


def success(answer: Answer, repo: str, now: datetime) -> str:
    """One line for stdout, for an item that is where it was asked to be."""
    what = qualified(answer.item, repo)
    claim = answer.claim.claim if answer.claim else None
    chain = printable(claim.chain) if claim else ""
    before = f" from {holder(answer.rival, now)}" if answer.rival else ""
    match answer.outcome:
        case Outcome.CLAIMED:
            return f"claimed {what} for {chain}"
        case Outcome.ALREADY_YOURS:
            return f"{what} is already yours{since(claim.claimed_at, now) if claim else ''}"
        case Outcome.TAKEN_OVER:
            return f"took over {what} for {chain}{before}"
        case Outcome.HANDED_OFF:
            return f"handed {what} to {chain}"
        case Outcome.GONE:
            return f"{what} is not claimed, nothing to release"
        case _:
            return f"{answer.outcome} {what}{before}"


def refusal(answer: Answer, repo: str, now: datetime) -> tuple[str, str]:
    """The error and the hint for an item that is not where it was asked to be."""
    what, number = quoted(answer.item, repo), answer.item.spelling
    held = f"{what} is claimed by {holder(answer.rival, now)}" if answer.rival else f"{what} is not claimed"
    if answer.barred is not None:
        return _barred(answer.barred, what, number)
    match answer.reason:
        case Reason.HELD if answer.outcome is Outcome.NOT_YOURS:
            return (
                held,
                # Not how to pass a chain: the line above names one that is somebody else's.
                "only its holder can do that; 'git claim ls --mine' shows what this chain holds",
            )
        case Reason.HELD:
            return held, f"'git claim {number} --wait' waits for it; 'git claim ls' shows all"
        case Reason.UNREADABLE:
            trouble = printable(answer.rival.trouble or "") if answer.rival else ""
            return (
                f"{what} is held by a claim whose record cannot be read: {trouble}",
                f"'git claim show {number}' shows its id; a person has to decide what becomes of it",
            )
        case Reason.GAVE_UP_WAITING:
            return f"gave up waiting: {held}", "'git claim ls' shows all claims"
        case Reason.NOT_PREDECESSOR:
            return (
                f"{held}, not by the chain named",
                f"only a successor of its holder may adopt it; 'git claim show {number}' shows the record",
            )
        case Reason.ALL_OR_NOTHING:
            return f"{what} is free and was not taken: all or nothing", "'git claim ls' shows all claims"
        case Reason.CHANGED_MEANWHILE:
            return f"changed meanwhile: {held}", f"'git claim show {number}' shows the claim as it is now"
        case Reason.NOT_CLAIMED:
            return held, claims(answer.item)
        case Reason.NO_ATOMIC:
            return (
                f"the remote cannot change several refs as one, so {what} was left as it was",
                "claim the items one by one",
            )
        case Reason.SIGNALS_FAILED if answer.claim is not None:
            return (
                f"{what} is not released yet, since not all of it landed: {printable(answer.detail or '')}",
                f"the same command again goes on; 'git claim release {number} --abandoned' gives it up as it is",
            )
        case Reason.SIGNALS_FAILED:
            return (
                f"{what} was not claimed, since its signals did not all land: {printable(answer.detail or '')}",
                "repeating is safe; signals.required in .claims.toml decides whether that matters",
            )
        case Reason.CANNOT_TELL:
            return (
                f"cannot tell what became of {what}: {printable(answer.detail or '')}",
                "repeating the command is safe; a claim that was won is found again by its chain",
            )
        case _:
            return (
                f"the remote refused to change the claim of {what}: {printable(answer.detail or '')}",
                "'git claim doctor' looks for the rule or lock behind it",
            )


def _barred(barred: Barred, what: str, number: str) -> tuple[str, str]:
    """Why the tracker says that an item is not free, though no ref claims it."""
    who = printable(barred.who)
    others = "'git claim ls' shows what is claimed; take another"
    match barred.reason:
        case Reason.CLOSED:
            return f"{what} is closed", others
        case Reason.HOLD:
            return f"{what} is on hold (label '{who}')", f"'git claim unhold {number}' is for whoever put it there"
        case Reason.WAITING_FOR_HUMAN:
            return f"{what} waits for a human (label '{who}')", "a person can claim it at a terminal with --even-hitl"
        case Reason.ASSIGNED:
            return f"{what} is assigned to {who}", "ask them, or take another"
        case Reason.FOREIGN_MARKER:
            return f"{what} carries a lock comment of {who}", "ask them, or take another"
        case Reason.FOREIGN_LABEL:
            return f"{what} is labelled '{who}' by somebody who holds no claim", "ask who works on it, or take another"
        case Reason.OTHER_KIND:
            return f"{what} is something else: {who}", f"name it so: 'git claim {who}'"
        case _:
            return f"the tracker has no {what}", "look at the number"


def age(seen: Seen, now: datetime) -> str:
    """The age of a claim for a table; a question mark where its record has none."""
    passed: timedelta | None = seen.claim.age(now) if seen.claim else None
    return "?" if passed is None else in_words(passed)
