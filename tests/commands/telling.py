"""How the tests of the command line show an answer, plant claims, and ask the server who holds what."""

from __future__ import annotations

import os
import re
import textwrap
from datetime import UTC, datetime, timedelta

from tests.agents import Answer
from tests.places import CLAIMS, Server

# Long enough ago that its age is the same word for the whole test run.
AGO = (datetime.now(UTC) - timedelta(days=3, hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")

# What nobody should find ready to copy in a message of ours: it takes from others, or removes what it names.
DESTRUCTIVE = re.compile(r"--force|reclaim(?! -h)|delete|update-ref|mirror|\bpush|\brm\b|reset|clean|branch -D|:refs/")
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


def block(text: str) -> str:
    """An expected answer, written indented below the line that asks for it."""
    return textwrap.dedent(text.removeprefix("\n"))


def shown(answer: Answer) -> str:
    """The whole answer as text, after what must hold of every answer."""
    assert_well_spoken(answer)
    return answer.transcript().replace(f" on {os.uname().nodename} since", " on <host> since")


def assert_well_spoken(answer: Answer) -> None:
    """A no has an error and a hint, no hint is dangerous to follow, and nothing steers the terminal."""
    assert "Traceback" not in answer.stderr, answer
    assert not RAW.search(answer.stdout + answer.stderr), repr(str(answer))
    # What a person types after a prompt is not echoed here, and so neither is the end of the line.
    lines = re.sub(r"(Type .+?: )", r"\1\n", answer.stderr).splitlines()
    hints = [line for line in lines if line.startswith(("hint: ", "next: "))]
    errors = [line for line in lines if line.startswith(("error: ", "fatal: "))]
    assert bool(errors) == (answer.status != 0), answer
    assert bool(hints) or not errors, answer
    assert not [hint for hint in hints if DESTRUCTIVE.search(hint)], answer


def plant(server: Server, name: str, chain: str = "chain-rival", **fields: str) -> str:
    """A claim made elsewhere three days ago."""
    return server.plant_claim(name, chain, **{"host": "blade", "claimed_at": AGO, **fields})


def holders(server: Server) -> dict[str, str]:
    """Which chain the server names for every claim."""
    return {ref.removeprefix(CLAIMS): field(server, ref.removeprefix(CLAIMS), "chain") or "" for ref in server.refs()}


def field(server: Server, name: str, key: str) -> str | None:
    """One field of a record on the server, read as a shell script reads it."""
    lines = server.claim_text(name).splitlines()
    return next((line.removeprefix(f"{key}=") for line in lines if line.startswith(f"{key}=")), None)
