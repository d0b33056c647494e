"""The part of a log that tells why something failed, safe to show. Pure."""

import re

from git_claims.protocol.text import printable

MOST_LINES = 200
_LONGEST_LINE = 500
# Colours and the like: without their first character the rest of them would stay behind as text. In what is JSON, gh
# writes that character as `^[`.
_ESCAPES = re.compile(r"\^\[\[[0-9;]*m|\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_STAMP = re.compile(r"^\ufeff?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z ")
_ERROR = "##[error]"


def excerpt_of(log: str) -> str:
    """Returns the last lines up to the last error of a job: what comes after it is cleaning up."""
    lines = [_line(line) for line in log.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    errors = [at for at, line in enumerate(lines) if line.startswith(_ERROR)]
    end = errors[-1] + 1 if errors else len(lines)
    return "\n".join(lines[max(0, end - MOST_LINES) : end])


def _line(line: str) -> str:
    # A progress bar draws over itself; what it showed last is what there is to see.
    shown = _ESCAPES.sub("", _STAMP.sub("", line)).rstrip("\r").rpartition("\r")[2]
    return "".join(printable(part) + "\t" for part in shown[:_LONGEST_LINE].split("\t"))[:-1].rstrip()
