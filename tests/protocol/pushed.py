"""What git writes to a pre-push hook, case by case, and which refs of it have to be judged.

The pure gate and the shell hook before it are held to the same table.
"""

from __future__ import annotations

from dataclasses import dataclass

from git_claims.protocol.gate import Rules

OLD, NEW = "a" * 40, "b" * 40
ZERO, ZERO_256 = "0" * 40, "0" * 64
NEW_256 = "c" * 64
DEFAULT = Rules("{number}-{slug}", strict=False, exempt=())


@dataclass(frozen=True, slots=True)
class Case:
    """A push. `asks` are the remote refs that are a question, in order; `settings` say the same as `rules`."""

    name: str
    lines: str
    asks: tuple[str, ...] = ()
    rules: Rules = DEFAULT
    settings: str = ""

    def __str__(self) -> str:
        return self.name


def line(remote_ref: str, local_ref: str | None = None, new: str = NEW, old: str = ZERO) -> str:
    """One ref as git writes it; by default a new branch pushed under its own name."""
    return f"{local_ref or remote_ref} {new} {remote_ref} {old}\n"


def delete(remote_ref: str, zero: str = ZERO, old: str = OLD) -> str:
    return f"(delete) {zero} {remote_ref} {old}\n"


def branches(*names: str) -> str:
    return "".join(line(f"refs/heads/{name}") for name in names)


def heads(*names: str) -> tuple[str, ...]:
    return tuple(f"refs/heads/{name}" for name in names)


STRICT = Rules("{number}-{slug}", strict=True, exempt=())
STRICT_BUT = Rules("{number}-{slug}", strict=True, exempt=("main", "release/*"))
PREFIXED = Rules("feature/{number}/{slug}", strict=False, exempt=())
AT_THE_END = Rules("{slug}_{number}", strict=False, exempt=())
BARE_NUMBER = Rules("issue-{number}", strict=False, exempt=())

CASES = (
    Case("nothing", ""),
    Case("new branch with an item", branches("42-fix"), heads("42-fix")),
    Case("update of a branch with an item", line("refs/heads/42-fix", old=OLD), heads("42-fix")),
    Case("no newline at the end", branches("42-fix").rstrip("\n"), heads("42-fix")),
    Case("two lines and no newline at the end", branches("main", "42-fix").rstrip("\n"), heads("42-fix")),
    Case("delete of a branch with an item", delete("refs/heads/42-fix")),
    Case("delete in a sha256 repository", delete("refs/heads/42-fix", ZERO_256, NEW_256)),
    Case("new branch in a sha256 repository", line("refs/heads/42-fix", new=NEW_256, old=ZERO_256), heads("42-fix")),
    Case("branch under another name", line("refs/heads/42-fix", "refs/heads/wip"), heads("42-fix")),
    Case("item's branch under a name without one", line("refs/heads/wip", "refs/heads/42-fix")),
    Case("object id as the local side", line("refs/heads/42-fix", NEW), heads("42-fix")),
    Case(
        "expression with spaces as the local side", line("refs/heads/42-fix", "HEAD^{/fix it, 12-x}"), heads("42-fix")
    ),
    Case("expression that looks like a branch", line("refs/heads/wip", "HEAD^{/a refs/heads/42-fix}")),
    Case("default branch", branches("main")),
    Case("several refs, items among them", branches("main", "42-fix", "wip", "7-x"), heads("42-fix", "7-x")),
    Case("several refs without an item", branches("main", "wip", "feature/42")),
    Case("tag that looks like an item", line("refs/tags/42-fix")),
    Case("note, and a ref of nobody", line("refs/notes/commits") + line("refs/for/42-fix")),
    Case("keyed item", branches("PROJ-123-fix"), heads("PROJ-123-fix")),
    Case("key in lower case is a word", branches("release-2-notes")),
    Case("number without words", branches("42", "42-")),
    Case("number that goes on", branches("2fa-login", "3rd-try", "v2-api", "A-1x-y")),
    Case("number behind a directory", branches("feature/42-fix", "42-fix/deeper")),
    Case("leading zeros", branches("042-fix"), heads("042-fix")),
    Case("backslash in a name stays one", line("refs/heads/wip", "HEAD^{/a\\nb}")),
    Case("claim written by hand", line("refs/claims/issue-42"), ("refs/claims/issue-42",)),
    Case("claim deleted by hand", delete("refs/claims/issue-42"), ("refs/claims/issue-42",)),
    Case("claim in the other namespace", line("refs/heads/claims/issue-42"), heads("claims/issue-42")),
    Case("delete in the other namespace", delete("refs/heads/claims/issue-42"), heads("claims/issue-42")),
    Case("claim of no item", line("refs/claims/Issue-42"), ("refs/claims/Issue-42",)),
    Case("strict: branch without an item", branches("wip"), heads("wip"), STRICT, "hook.strict = true\n"),
    Case("strict: delete", delete("refs/heads/wip"), (), STRICT, "[hook]\nstrict = true\n"),
    Case("strict: tag", line("refs/tags/v1"), (), STRICT, "[hook]\nstrict=true"),
    Case(
        "strict: but for exempt ones",
        branches("main", "release/1.0", "wip"),
        heads("wip"),
        STRICT_BUT,
        '[hook]\nstrict = true\nexempt = ["main", "release/*"]\n',
    ),
    Case("not strict", branches("wip"), (), DEFAULT, "# hook.strict = true\n[hook]\nstrict = false\n"),
    Case(
        "pattern with a directory",
        branches("feature/42/fix", "42-fix"),
        heads("feature/42/fix"),
        PREFIXED,
        '[branch]\npattern = "feature/{number}/{slug}"\n',
    ),
    Case(
        "pattern with a directory, others",
        branches("42-fix", "main"),
        (),
        PREFIXED,
        "branch.pattern = 'feature/{number}/{slug}'\n",
    ),
    Case(
        "pattern with the number last",
        branches("fix_42"),
        heads("fix_42"),
        AT_THE_END,
        'branch = {pattern = "{slug}_{number}"}',
    ),
    Case(
        "pattern without words",
        branches("issue-42", "issue-PROJ-7"),
        heads("issue-42", "issue-PROJ-7"),
        BARE_NUMBER,
        'branch.pattern="issue-{number}" # so',
    ),
)
