"""Which issues the text of a pull request says it closes. Pure."""

import re
from collections.abc import Sequence

from git_claims.protocol.item import Item, Kind

_WORDS = r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:{repo})?#{number}\b"


def unclosed(text: str, items: Sequence[Item], repo: str) -> list[Item]:
    """Returns the issues among the items that the text does not say to close; only issues by number can be."""
    issues = [item for item in items if item.kind is Kind.ISSUE and item.key.isdecimal()]
    return [item for item in issues if not re.search(_WORDS.format(repo=re.escape(repo), number=item.key), text)]


def with_closing(text: str, items: Sequence[Item], repo: str) -> str:
    """Returns the text with a line for each issue that it does not say to close yet."""
    lines = "\n".join(f"Closes #{item.key}" for item in unclosed(text, items, repo))
    return "\n\n".join(part for part in (text.rstrip(), lines) if part)
