"""Where on which GitHub a repository is, read from the URL that claims are pushed to.

Aliases of ssh's and git's configuration are resolved by whoever knows them, before they come here.
"""

import re
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

_SCHEMES = frozenset({"https", "http", "ssh", "git", "git+ssh", "ssh+git", "git+https"})
_WEB = frozenset({"https", "http", "git+https"})
_USUAL_PORTS = frozenset({None, 80, 443})
# `host:path` is ssh unless a slash comes before the colon; one letter is a drive of Windows.
_SCP = re.compile(r"(?:[^@/:\s]+@)?(?P<host>[^@/:\s]{2,}):(?P<path>(?!//)\S*)")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
# ssh over the port of https has a host of its own.
_SAME_HOST = {"www.github.com": "github.com", "ssh.github.com": "github.com"}


class Location(NamedTuple):
    """A repository of one GitHub; `host` is what gh calls it."""

    host: str
    owner: str
    repo: str


def locate(url: str) -> Location | None:
    """Reads the host, owner and repository from a URL of git; None for a path or any other shape."""
    found = _split(url.strip())
    if found is None:
        return None
    host, path = found
    names = path.strip("/").removesuffix(".git").split("/")
    if len(names) != 2 or not all(_NAME.fullmatch(name) and name.strip(".") for name in names):
        return None
    host = _SAME_HOST.get(host.lower(), host.lower())
    return Location(host, *names) if _HOST.fullmatch(host) else None


def _split(url: str) -> tuple[str, str] | None:
    scheme, separator, _ = url.partition("://")
    if separator:
        return _of_url(url) if scheme.lower() in _SCHEMES else None
    match = _SCP.fullmatch(url)
    return (match["host"], match["path"]) if match else None


def _of_url(url: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(url)
        return (_host_of(parts), parts.path) if parts.hostname else None
    except ValueError:
        # A port that is no number, or brackets that hold no address.
        return None


def _host_of(parts: SplitResult) -> str:
    """Returns the host that answers gh: the port of ssh says nothing about it, an unusual port of the web does."""
    unusual = parts.scheme in _WEB and parts.port not in _USUAL_PORTS
    return f"{parts.hostname}:{parts.port}" if unusual else str(parts.hostname)
