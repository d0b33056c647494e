"""The pre-push hook: what it adds to a push of a branch, with and without an item in the branch's name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from tests.agents import ROOT
from tests.bench.ground import Ground, Place
from tests.bench.measure import Way, in_turn, run
from tests.bench.results import Result, Skipped, timings
from tests.places import Clone

HOOK = ROOT / "hooks/pre-push"
BRANCHES = {"names no item": "topic", "names a claimed item": "42-fix-auth"}


def hook(ground: Ground) -> Iterator[Result]:
    """A push of a new branch with the hook, beside the same push without it."""
    for place in ground.places():
        guarded, free = _clone(place, "guarded"), _clone(place, "free")
        if not install_hook(guarded):
            yield Skipped("hook", f"there is no {HOOK.relative_to(ROOT)}")
            return
        run(place.claim(guarded, "take", "42"))
        for kind, branch in BRANCHES.items():
            with_hook, without = f"git push, branch {kind}, hook", f"git push, branch {kind}, no hook"
            ways = [_push_way(place, guarded, with_hook, branch), _push_way(place, free, without, branch)]
            yield from timings("hook", place.name, in_turn(ways, ground.rounds), (with_hook, without))


def install_hook(clone: Clone) -> bool:
    """Puts the hook where git looks; False where the checkout has none."""
    if HOOK.exists():
        hooks = clone.path / ".git/hooks"
        hooks.mkdir(exist_ok=True)
        shutil.copy(HOOK, hooks / "pre-push")
    return HOOK.exists()


def _clone(place: Place, name: str) -> Clone:
    clone = place.clone(name)
    for branch in BRANCHES.values():
        clone.git("branch", branch)
    return clone


def _push_way(place: Place, clone: Clone, name: str, branch: str) -> Way:
    def after() -> None:
        place.server.plant(f"refs/heads/{branch}", None)

    return Way(name, lambda: [place.command(clone, "git", "push", "origin", branch)], after)
