"""Where tests happen: a bare server that remembers every move of its refs, and clones of it.

Both are copies of a template made once a process. Nothing here knows the product.
"""

from __future__ import annotations

import atexit
import functools
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ABSENT = "0" * 40
CLAIMS = "refs/claims/"
PERSON = ("-c", "user.name=A Person", "-c", "user.email=person@example.invalid")


@dataclass(frozen=True, slots=True)
class Move:
    """One ref went from one id to another; zeros stand for no ref."""

    old: str
    new: str
    ref: str


def run_git(
    directory: Path,
    *arguments: str,
    stdin: bytes | None = None,
    check: bool = True,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs git; `check` turns a failure into an assertion that shows what git said."""
    answer = subprocess.run(
        ["git", *arguments],
        cwd=directory,
        input=b"" if stdin is None else stdin,
        capture_output=True,
        timeout=60,
        env={**os.environ, **(environment or {})},
    )
    stdout, stderr = (text.decode(errors="surrogateescape") for text in (answer.stdout, answer.stderr))
    if check and answer.returncode:
        raise AssertionError(f"git {' '.join(arguments)}: exit {answer.returncode}\n{stdout}{stderr}")
    return subprocess.CompletedProcess(answer.args, answer.returncode, stdout, stderr)


def read_refs(directory: Path, prefix: str) -> dict[str, str]:
    listing = run_git(directory, "for-each-ref", "--format=%(refname) %(objectname)", prefix).stdout
    return {ref: oid for ref, _, oid in (line.partition(" ") for line in listing.splitlines())}


# What `prepared` reads is the truth: git holds the locks of all refs of the transaction, and the old id on
# standard input is zeros whenever the caller named none. `committed` runs when the locks are gone, perhaps
# late, so the order of the `prepared` lines is the order of the moves.
REFERENCE_TRANSACTION = """#!/bin/sh
record="$1 $PPID"
if [ "$1" = prepared ]; then
    while read -r _ new ref; do
        case $ref in
        refs/*) record="$record $(git rev-parse -q --verify "$ref" || echo -) $new $ref" ;;
        esac
    done
fi
printf '%s\\n' "$record" >>transcript
"""

# A token is one file; renaming it succeeds for one process only, however many pushes run at once.
TAKE_TOKEN = """#!/bin/sh
take_token() {
    for token in "$1"/*; do
        mv "$token" "$1.spent/$PPID" 2>/dev/null && cat "$1.spent/$PPID" && return 0
    done
    return 1
}
"""
HOOK_START = {"pre-receive": TAKE_TOKEN + "updates=$(cat)\n", "post-receive": TAKE_TOKEN}


def _parse_moves(words: Sequence[str]) -> list[Move]:
    triples = zip(words[::3], words[1::3], words[2::3], strict=True)
    return [Move("0" * len(new) if old == "-" else old, new, ref) for old, new, ref in triples]


def _read_transactions(lines: Iterable[str]) -> Iterator[tuple[list[Move], str]]:
    """Pairs the moves of each transaction, in order, with how it ended ("prepared": nobody said)."""
    transactions: list[tuple[list[Move], str]] = []
    unended: dict[str, list[int]] = {}
    for line in lines:
        state, process, *words = line.split(" ")
        mine = unended.setdefault(process, [])
        if state == "prepared":
            # Deleting a packed ref is a transaction on packed-refs inside the real one, with the same moves.
            if mine:
                transactions[mine[-1]][0].clear()
            mine.append(len(transactions))
            transactions.append((_parse_moves(words), state))
        elif mine:
            position = mine.pop()
            transactions[position] = (transactions[position][0], state)
    return iter(transactions)


def read_transcript(lines: Iterable[str], now: Mapping[str, str]) -> list[Move]:
    """The moves that happened; one whose end nobody reported (a killed server) is judged by the next."""
    after, moves = dict(now), list[Move]()
    for transaction, end in reversed(list(_read_transactions(lines))):
        for move in reversed(transaction):
            seen_after = after.get(move.ref, "0" * len(move.new))
            happened = end == "committed" or (end == "prepared" and seen_after == move.new)
            if happened and move.old != move.new:
                moves.append(move)
            after[move.ref] = move.old
    return moves[::-1]


@dataclass(frozen=True, slots=True)
class Server:
    """A bare repository as a git host keeps it. Its transcript is the oracle; its moods are real hooks."""

    path: Path
    url: str

    def git(self, *arguments: str, stdin: bytes | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        return run_git(self.path, *arguments, stdin=stdin, check=check)

    def refs(self, prefix: str = CLAIMS) -> dict[str, str]:
        return read_refs(self.path, prefix)

    def claim_text(self, name: str) -> str:
        return self.git("cat-file", "blob", f"{CLAIMS}{name}:claim").stdout

    def transcript(self) -> list[Move]:
        """Every move of every ref since the server was made, in order. Read it when no push is running."""
        return read_transcript((self.path / "transcript").read_text().splitlines(), self.refs("refs/"))

    def chain_of(self, ref: str) -> list[str]:
        """The ids the ref has had, zeros where it was absent; asserts that they are one unbroken order."""
        moves = [move for move in self.transcript() if move.ref == ref]
        ids = [ABSENT, *(move.new for move in moves)]
        assert [move.old for move in moves] == ids[:-1], f"the moves of {ref} do not chain: {moves}"
        assert self.refs(ref).get(ref, ABSENT) == ids[-1], f"{ref} moved unseen: {moves}"
        return ids[1:]

    def pack(self) -> None:
        """Packs all refs, past the transcript: to a hook, packing looks like a delete."""
        self.git("-c", "core.hooksPath=/dev/null", "pack-refs", "--all")

    def plant(self, ref: str, oid: str | None, expected: str | None = None) -> None:
        """Sets the ref by hand, or deletes it."""
        change = ["-d", ref] if oid is None else [ref, oid]
        self.git("update-ref", *change, *([] if expected is None else [expected]))

    def plant_claim(self, name: str, chain: str, **fields: str) -> str:
        """A claim as a shell script writes it; fields replace its lines or come after them."""
        oid = self._claim_object(name, chain, fields)
        self.plant(CLAIMS + name, oid)
        return oid

    def plant_bytes(self, name: str, blob: bytes, *, tree_name: str = "claim") -> str:
        """A record that is whatever the bytes say."""
        oid = self.make_commit(blob, tree_name=tree_name)
        self.plant(CLAIMS + name, oid)
        return oid

    def make_commit(self, blob: bytes, *, tree_name: str = "claim", subject: str = "claim") -> str:
        """An object on the server that no ref shows yet: parentless, one blob."""
        blob_oid = self.git("hash-object", "-w", "--stdin", stdin=blob).stdout.strip()
        tree = self.git("mktree", stdin=f"100644 blob {blob_oid}\t{tree_name}\n".encode()).stdout.strip()
        return self.git(*PERSON, "commit-tree", "-m", subject, tree).stdout.strip()

    def _claim_object(self, name: str, chain: str, fields: Mapping[str, str]) -> str:
        number = name.partition("-")[2]
        record = {
            "issue": number,
            "repo": "acme/ledger",
            "chain": chain,
            "host": "elsewhere",
            "claimed_at": "2026-11-30T13:06:00Z",
            "nonce": secrets.token_hex(16),
        }
        record.update(fields)
        text = "".join(f"{key}={value}\n" for key, value in record.items())
        return self.make_commit(text.encode(), subject=f"claim {number} by {chain}")

    def rival_in_the_gap(self, name: str, chain: str, times: int = 1) -> None:
        """Another claim is planted when a push of this one has been read, so git fails to update the ref."""
        rivals = [self._claim_object(name, chain, {}) for _ in range(times)]
        tokens, ref = self._tokens(f"rival-{name}", times, rivals), CLAIMS + name
        # A hook before the update runs in quarantine, where git refuses to move refs.
        self._hook(
            "pre-receive",
            f"""if printf '%s\\n' "$updates" | grep -q ' {ref}$' && rival=$(take_token '{tokens}'); then
    (unset GIT_QUARANTINE_PATH; git update-ref '{ref}' "$rival")
fi
""",
        )

    def reply_lost(self, times: int = 1, *, closing: Path | None = None) -> None:
        """The refs are updated, then the server is killed before it says so; it may close a door behind itself."""
        # Not in post-receive: git has sent its report by then (see `reply_torn`).
        tokens = self._tokens("reply-lost", times)
        self._hook("pre-receive", f"take_token '{tokens}' || :\n")
        doomed = f"rm '{tokens}.spent/'$PPID 2>/dev/null"
        door = "" if closing is None else f"rm -f '{closing}'; "
        self._hook("reference-transaction", f'if [ "$1" = committed ] && {doomed}; then {door}kill -9 $PPID; fi\n')

    def reply_torn(self, times: int = 1) -> None:
        """The server is killed behind its report: the client prints the ref as done and yet exits 1."""
        self._hook("post-receive", self._kill("reply-torn", times))

    def killed_before(self, times: int = 1) -> None:
        """The server is killed when it has read the push and changed nothing."""
        self._hook("pre-receive", self._kill("killed-before", times))

    def stops(self, when: Literal["before", "after"]) -> Path:
        """The server stops for good before it changes a ref or after; the pipe that is returned says when."""
        reached = self.path / "moods" / "reached"
        reached.parent.mkdir(exist_ok=True)
        os.mkfifo(reached)
        stop = f"echo reached >'{reached}'; exec sleep 600\n"
        if when == "before":
            self._hook("pre-receive", stop)
        else:
            self._hook("reference-transaction", f'if [ "$1" = committed ]; then {stop}fi\n')
        return reached

    def policy_refuses(self, only_ref_glob: str = "refs/claims/*") -> None:
        self._hook("update", f"case $1 in {only_ref_glob}) echo 'refused by policy' >&2; exit 1 ;; esac\n")

    def deny_deletes_hook(self) -> None:
        self._hook("update", "case $3 in *[!0]*) ;; *) echo 'deletes are refused here' >&2; exit 1 ;; esac\n")

    def slow(self, seconds: float) -> None:
        self._hook("pre-receive", f"sleep {seconds}\n")

    def stuck_lock(self, name: str) -> None:
        """What a server process that was killed in the middle of an update leaves behind."""
        lock = self.path / CLAIMS / f"{name}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()

    def hide(self, for_: Literal["receive", "upload"]) -> None:
        section = {"receive": "receive", "upload": "uploadpack"}[for_]
        self.git("config", f"{section}.hideRefs", "refs/claims")

    def no_atomic(self) -> None:
        self.git("config", "receive.advertiseAtomic", "false")

    def calm(self) -> None:
        """Ends every mood."""
        for event in ("pre-receive", "update", "post-receive"):
            (self.path / "hooks" / event).unlink(missing_ok=True)
        _write_hook(self.path / "hooks/reference-transaction", REFERENCE_TRANSACTION)
        shutil.rmtree(self.path / "moods", ignore_errors=True)
        for lock in (self.path / CLAIMS).glob("*.lock"):
            lock.unlink()
        shutil.copyfile(self.path / "config.calm", self.path / "config")

    def _kill(self, mood: str, times: int) -> str:
        return f"if take_token '{self._tokens(mood, times)}'; then kill -9 $PPID; fi\n"

    def _tokens(self, mood: str, times: int, contents: Sequence[str] = ()) -> Path:
        tokens = self.path / "moods" / mood
        for directory in (tokens, tokens.with_name(f"{mood}.spent")):
            directory.mkdir(parents=True, exist_ok=True)
        for content in contents or [""] * times:
            (tokens / secrets.token_hex(8)).write_text(content)
        return tokens

    def _hook(self, event: str, lines: str) -> None:
        hook = self.path / "hooks" / event
        text = hook.read_text() if hook.exists() else HOOK_START.get(event, "#!/bin/sh\n")
        if lines not in text:
            _write_hook(hook, text + lines)


def _write_hook(path: Path, text: str) -> None:
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.write_text(text)
    unfinished.chmod(0o755)
    unfinished.replace(path)


@dataclass(frozen=True, slots=True)
class Clone:
    """A working repository of a server, or a linked worktree of one."""

    path: Path
    server: Server
    linked: bool = False

    def git(
        self,
        *arguments: str,
        check: bool = True,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return run_git(self.path, *arguments, stdin=stdin, check=check, environment=environment)

    def refs(self, prefix: str = CLAIMS) -> dict[str, str]:
        return read_refs(self.path, prefix)

    def config(self, key: str, value: str) -> None:
        self.git("config", key, value)

    def commit(self, subject: str) -> str:
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)
        return self.git("rev-parse", "HEAD").stdout.strip()

    def worktree(self, name: str, branch: str | None = None) -> Clone:
        """A linked worktree beside this clone, on a new branch."""
        path = self.path.parent / name
        self.git("worktree", "add", "--quiet", "-b", branch or name, str(path))
        return Clone(path, self.server, linked=True)


@dataclass(frozen=True, slots=True)
class Template:
    server: Path
    clone: Path


@functools.cache
def template() -> Template:
    """A server with one commit on main and a clone of it, made once a process and copied from then on."""
    root = Path(tempfile.mkdtemp(prefix="git-claim-template-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    made = Template(root / "server.git", root / "clone")
    _make_server_template(made.server)
    run_git(root, "clone", "--quiet", "--template=", str(made.server), str(made.clone))
    # The index of a copied clone is still fresh only if it does not remember inodes.
    run_git(made.clone, "config", "core.checkStat", "minimal")
    run_git(made.clone, "switch", "--quiet", "-c", "main")
    (made.clone / "README").write_text("A ledger.\n")
    run_git(made.clone, "add", "README")
    run_git(made.clone, *PERSON, "commit", "--quiet", "-m", "first")
    run_git(made.clone, "push", "--quiet", "-u", "origin", "main")
    run_git(made.clone, "remote", "set-head", "origin", "main")
    return made


SERVER_CONFIG = {
    "gc.auto": "0",
    "receive.autogc": "false",
    "core.fsync": "none",
    "uploadpack.allowFilter": "true",
    "uploadpack.allowAnySHA1InWant": "true",
}


def _make_server_template(path: Path) -> None:
    run_git(path.parent, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(path))
    for key, value in SERVER_CONFIG.items():
        run_git(path, "config", key, value)
    shutil.copyfile(path / "config", path / "config.calm")
    (path / "hooks").mkdir()
    _write_hook(path / "hooks/reference-transaction", REFERENCE_TRANSACTION)


def make_server(root: Path, name: str = "server.git") -> Server:
    path = root / name
    shutil.copytree(template().server, path)
    return Server(path, str(path))


def make_clone(server: Server, root: Path, name: str = "clone", url: str | None = None, *clone_arguments: str) -> Clone:
    """A copy of the template with `origin` at the url; with clone arguments, a real `git clone`."""
    clone = Clone(root / name, server)
    if clone_arguments:
        # file:// because git ignores a depth and a filter when it clones a path.
        run_git(root, "clone", "--quiet", *clone_arguments, url or f"file://{server.path}", str(clone.path))
    else:
        shutil.copytree(template().clone, clone.path, symlinks=True)
        clone.config("remote.origin.url", url or server.url)
    return clone
