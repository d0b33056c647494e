"""Reads claim objects in bulk, from whatever the refs point at. Everything found there is somebody else's text."""

from collections.abc import Iterable, Iterator

from git_claims.errors import GitFailed
from git_claims.git.process import Git
from git_claims.protocol.claim import RECORD_BYTES, Oid, Seen, Unreadable, decode
from git_claims.protocol.item import Item

_REF_FORMAT = "%(objectname) %(objecttype) %(refname)"


def local_refs(git: Git, *places: str) -> list[tuple[str, Oid, str]]:
    """Returns (ref, id, object type) of the local refs at or below `places`, sorted by name."""
    answer = git.ask("for-each-ref", f"--format={_REF_FORMAT}", "--", *places)
    # Not splitlines(): git takes names that contain what Python calls the end of a line.
    rows = (line.split(" ", 2) for line in answer.decode("utf-8", "surrogateescape").split("\n")[:-1])
    return [(ref, Oid(oid), kind) for oid, kind, ref in rows]


def read_records(git: Git, claims: Iterable[tuple[Item, Oid, str]]) -> dict[Item, Seen]:
    """Reads the record behind each (item, id, object type); what cannot be read comes back as such, never missing."""
    rows = list(claims)
    commits = [oid for _, oid, kind in rows if kind == "commit"]
    blobs = dict(zip(commits, _record_blobs(git, commits), strict=True))
    contents = _contents(git, {blob for blob in blobs.values() if isinstance(blob, str)})
    return {item: _seen(item, oid, kind, blobs.get(oid), contents) for item, oid, kind in rows}


def _seen(item: Item, oid: Oid, kind: str, blob: str | Unreadable | None, contents: dict[str, bytes]) -> Seen:
    try:
        if kind != "commit":
            raise Unreadable(f"its ref holds a {kind}, not a commit")
        if isinstance(blob, Unreadable):
            raise blob
        return Seen(oid, decode(contents[blob or ""], item))
    except Unreadable as trouble:
        return Seen(oid, None, str(trouble))


def _record_blobs(git: Git, commits: list[Oid]) -> Iterator[str | Unreadable]:
    """Finds the blob of each commit's record by name and size, so that no huge one is ever loaded."""
    if not commits:
        return
    asked = "".join(f"{oid}:claim\n" for oid in commits).encode()
    answer = git.ask("cat-file", "--batch-check", stdin=asked).decode("utf-8", "replace")
    for line in answer.splitlines():
        name, _, rest = line.partition(" ")
        kind, _, size = rest.partition(" ")
        if kind == "blob" and int(size) <= RECORD_BYTES:
            yield name
        elif kind == "blob":
            yield Unreadable(f"it is larger than {RECORD_BYTES} bytes")
        else:
            yield Unreadable("its tree has no file named claim")


def _contents(git: Git, blobs: set[str]) -> dict[str, bytes]:
    if not blobs:
        return {}
    names = sorted(blobs)
    asked = "".join(f"{oid}\n" for oid in names).encode()
    return dict(zip(names, parse_batch(git.ask("cat-file", "--batch", stdin=asked)), strict=True))


def parse_batch(answer: bytes) -> Iterator[bytes]:
    """Yields the content of each object that `git cat-file --batch` found; raises GitFailed on another grammar."""
    position = 0
    while position < len(answer):
        end = answer.find(b"\n", position)
        header, position = answer[position:end], end + 1
        if end >= 0 and header.endswith(b" missing"):
            continue
        words = header.split(b" ")
        size = int(words[2]) if end >= 0 and len(words) == 3 and words[2].isdigit() else len(answer)
        if answer[position + size : position + size + 1] != b"\n":
            raise GitFailed("'git cat-file' answered in a form this program does not know")
        yield answer[position : position + size]
        position += size + 1
