"""Text from outside (records, remotes, servers) made safe to show, and durations as people write them."""

import re
import unicodedata
from datetime import UTC, datetime, timedelta

# Cc holds the terminal escapes; Cf the direction marks that reorder a line; Zl and Zp break one; Cs cannot be encoded.
_UNSHOWN = {"Cc", "Cf", "Zl", "Zp", "Cs"}
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")
# What git says below every lock that is in the way; it would push the one line that names the lock out of sight.
_LOCK_ADVICE = re.compile(r"(?s)Another git process seems to be running.*?remove the file manually to continue\.")
_DURATION = re.compile(r"([0-9]{1,9})(s|m|h|d)?")
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def has_control_characters(text: str) -> bool:
    """Says whether `text` could end a line of a record or steer a terminal."""
    # Nearly every value of nearly every record, at a tenth of the price.
    if text.isascii() and text.isprintable():
        return False
    return any(unicodedata.category(character) in {"Cc", "Zl", "Zp", "Cs"} for character in text)


def printable(text: str) -> str:
    """Returns `text` without the characters that a terminal would obey rather than show."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character for character in text if unicodedata.category(character) not in _UNSHOWN)


def without_credentials(text: str) -> str:
    """Returns `text` with the user and password removed from every URL in it."""
    return _CREDENTIALS.sub("", text)


def message_of(stderr: bytes, lines: int = 4) -> str:
    """Returns the last lines that a program said, joined to one, safe to show."""
    text = stderr.decode("utf-8", "replace").replace("\r", "\n")
    said = [printable(line).strip() for line in _LOCK_ADVICE.sub("", text).split("\n")]
    # Advice is for people who run git by hand; some of it names commands that lose work.
    left_out = ("hint:", "remote: hint:", "error: failed to push some refs")
    kept = [line for line in said if line not in {"", "remote:"} and not line.startswith(left_out)]
    return without_credentials("; ".join(kept[-lines:]))


def duration(text: str) -> timedelta:
    """Reads `90`, `90s`, `5m`, `2h` or `1d`; raises ValueError for anything else."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"'{printable(text)}' is not a duration such as 90s, 5m, 2h or 1d")
    return timedelta(seconds=int(match[1]) * _UNIT_SECONDS[match[2] or "s"])


def spelled(span: timedelta) -> str:
    """Writes a duration as `duration` reads it: `90s`, `5m`, `2h`, `1d`."""
    seconds = int(span.total_seconds())
    unit = next(unit for unit in ("d", "h", "m", "s") if seconds % _UNIT_SECONDS[unit] == 0)
    return f"{seconds // _UNIT_SECONDS[unit]}{unit}"


def is_duration(text: str) -> bool:
    """Says whether `duration` would read it."""
    return _DURATION.fullmatch(text) is not None


def stamp(moment: datetime) -> str:
    """Writes a moment the way records do: `2026-11-30T13:06:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str | None) -> datetime | None:
    """Reads a time of a record; None where there is none or it means nothing."""
    try:
        read = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    if not 1 < read.year < 9999:
        # The first and the last year cannot be shown in every zone; whoever wrote them wants us to try.
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def in_words(age: timedelta) -> str:
    """Says an age in one unit: `now`, `50 s`, `12 min`, `2 h`, `3 d`; `from the future` below zero."""
    seconds = age.total_seconds()
    if seconds < -60:
        return "from the future"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"
