"""Commands that only look: ls, show, check, whoami."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime

import click

from git_claims.cli import render, words
from git_claims.cli.clones import left_out, say_left_out, served, side_by_side
from git_claims.cli.options import ITEM, edges, open_world
from git_claims.cli.signs import Signs, judged, read_signs, say_sign, sign_document, sign_lines
from git_claims.cli.world import CHAIN_VARIABLE, World, minted
from git_claims.errors import CannotTell, Exit, NoChain, NoTrackerHere, Usage
from git_claims.flows.listing import Look, Row, look, rows, why_not, why_not_branch
from git_claims.git.store import Listing
from git_claims.protocol.claim import ChainId
from git_claims.protocol.item import Item, Named, is_item, of_branch, parse
from git_claims.protocol.staleness import Verdict
from git_claims.protocol.text import printable
from git_claims.protocol.transition import Reason


@dataclass(frozen=True, slots=True)
class Filters:
    """Which claims a listing is asked for, and where it may look."""

    mine: bool
    operator: str | None
    stale: bool
    no_tracker: bool
    cached: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """The claims of one clone that a listing shows."""

    world: World
    listing: Listing
    rows: list[Row]
    signs: Signs


# Fewer claims than this may well have been released by hand between two listings.
_MASS = 3


@click.command()
@click.option("--mine", is_flag=True, help="Only claims of this chain.")
@click.option("--operator", metavar="LOGIN", help="Only claims of this login; @me is the one in force.")
@click.option("--stale", is_flag=True, help="Only claims whose holder looks gone.")
@click.option("--no-tracker", is_flag=True, help="Leave out what the tracker says.")
@click.option("--cached", is_flag=True, help="Read the local copy, without network.")
@edges()
def ls(mine: bool, operator: str | None, stale: bool, no_tracker: bool, cached: bool, **shared: object) -> Exit:
    """List every claim: who holds what, since when, on which branch, and what the tracker says of it."""
    world = open_world(shared)
    if stale and (no_tracker or cached):
        raise Usage("--stale needs what the tracker says")
    clones, filters = served(world), Filters(mine, operator, stale, no_tracker, cached)
    found, left = side_by_side(clones, lambda clone: _listed(clone, filters))
    lines = [line for listed in found for line in _cells(listed, qualified=clones.is_listed)]
    for line in render.listing_table(lines) if lines else []:
        world.talk.data(line)
    if not lines:
        is_claimed = any(listed.listing.claims for listed in found)
        world.talk.say(f"no claims {'of this chain' if mine else 'that fit' if is_claimed else ''}".rstrip())
    for listed in found:
        _remark(listed.world, listed.listing.strangers, listed.listing.earlier, len(listed.listing.claims))
    as_of = min((listed.listing.as_of for listed in found if listed.listing.as_of is not None), default=None)
    if cached:
        world.talk.say(f"from the local copy, {_copy_age(world, as_of)}")
    if world.talk.as_json:
        claims = [document for listed in found for document in _documents(listed)]
        source = "cached" if cached else "remote"
        world.talk.document(
            {"claims": claims, "source": source, "as_of": render.as_of(as_of), "left_out": left_out(left)}
        )
    return say_left_out(world, left)


@click.command()
@click.argument("item", type=ITEM, required=False)
@click.option("--no-tracker", is_flag=True, help="Leave out what the tracker says.")
@click.option("--cached", is_flag=True, help="Read the local copy, without network.")
@edges()
def show(item: Named | None, no_tracker: bool, cached: bool, **shared: object) -> Exit:
    """Show who holds ITEM, the whole record, its id, and what its holder could do next."""
    world = open_world(shared, [item])
    asked = world.item_or_lane(item)
    chain = world.chain_or_none()
    found = look(world.store, asked, cached=cached)
    following = _next(world, found, chain)
    signs = {} if no_tracker or cached or found.seen is None else read_signs(world, {asked: found.seen})
    row = None if found.seen is None else Row(asked, found.seen, False, None)
    document = render.look_document(found, world.repo, why_not(found, chain), chain)
    said = sign_document(world, row, signs) if row else {}
    world.talk.document({**document, **said, "ok": found.seen is not None, "next": following})
    if found.seen is None or row is None:
        world.talk.error(words.holding(asked, world.repo, None, world.now) + _copy(world, found), words.claims(asked))
        return Exit.NO
    for line in render.record_lines(asked, found.seen, world.repo, world.now):
        world.talk.data(line)
    for line in sign_lines(world, row, signs):
        world.talk.data(line)
    for command in following:
        world.talk.say(f"next: {command}")
    if cached:
        world.talk.say(f"from the local copy, {_copy_age(world, found.as_of)}")
    return Exit.DONE


@click.command()
@click.argument("item_or_branch", required=False, metavar="ITEM|BRANCH")
@click.option("--branch", metavar="BRANCH", help="The item that BRANCH names; for CI.")
@click.option("--any-chain", is_flag=True, help="With --branch: anybody's claim will do, if it names BRANCH.")
@click.option("--cached", is_flag=True, help="Read the local copy, without network.")
@edges()
def check(item_or_branch: str | None, branch: str | None, any_chain: bool, cached: bool, **shared: object) -> Exit:
    """Ask whether this chain holds ITEM, or the item that BRANCH names.

    Exit status 0: it does. 1: it does not, and who does. 3: it cannot be known.
    """
    named = parse(item_or_branch) if item_or_branch is not None and is_item(item_or_branch) else None
    world = open_world(shared, [named])
    if (branch is not None and item_or_branch is not None) or (any_chain and branch is None):
        raise Usage("--branch goes without an item, and --any-chain with --branch")
    asked = _item_or_branch(world, item_or_branch) if branch is None else _item_of_branch(world, branch)
    chain = world.chain_or_none()
    found = look(world.store, asked, cached=cached)
    reason = why_not(found, chain)
    if any_chain and branch is not None:
        return _check_any_chain(world, found, branch.removeprefix("refs/heads/"))
    world.talk.document({**render.look_document(found, world.repo, reason, chain), "next": _next(world, found, chain)})
    if reason is None and found.seen is not None:
        claim = found.seen.claim
        age = words.since(claim.claimed_at if claim else None, world.now)
        world.talk.result(f"{words.qualified(asked, world.repo)} is yours{age}")
        return Exit.DONE
    hint = words.claims(asked) if found.seen is None else "'git claim ls' shows all claims"
    if chain is None and found.seen is not None:
        hint = f"no chain is in force here; if it is yours, say so with --chain or {CHAIN_VARIABLE}"
    world.talk.error(words.holding(asked, world.repo, found.seen, world.now) + _copy(world, found), hint)
    return Exit.NO


@click.command()
@click.option("--mint", is_flag=True, help="Print a new chain id.")
@click.option("--save", is_flag=True, help="With --mint: keep it in this clone's git config.")
@edges(remote=False)
def whoami(mint: bool, save: bool, **shared: object) -> Exit:
    """Say which chain is in force here and where it came from."""
    world = open_world(shared)
    if save and not mint:
        raise Usage("--save goes with --mint")
    if mint:
        chain, source = minted(), "new"
        if save:
            source = _save(world, chain)
    else:
        identity = world.identity()
        if identity is None:
            raise NoChain(
                "no chain is in force here",
                "'git claim 42' makes one and says how to keep it;"
                " alone in this clone, 'git claim whoami --mint --save' makes and keeps one",
            )
        chain, source = identity.chain, identity.source
    world.talk.data(printable(chain))
    world.talk.say(f"from: {source}")
    world.talk.document({"ok": True, "chain": chain, "source": source, "host": os.uname().nodename})
    return Exit.DONE


def _listed(world: World, filters: Filters) -> Listed:
    """Reads the claims of one clone, and what its tracker says of them."""
    chain = world.chain_or_none()
    if filters.mine and chain is None:
        raise NoChain("no chain is in force here, so no claim can be yours", f"say it with --chain or {CHAIN_VARIABLE}")
    listing = world.store.cached() if filters.cached else world.store.read_all()
    if filters.cached and listing.as_of is None and not listing.claims:
        raise CannotTell("the local copy knows nothing of this remote", "'git claim ls' reads the remote and fills it")
    found = [row for row in rows(listing.claims, chain) if row.mine or not filters.mine]
    is_asked = not (filters.no_tracker or filters.cached)
    claimed = {row.item: row.seen for row in found}
    signs = read_signs(world, claimed, needed=filters.stale) if is_asked else {}
    login = _me(world) if filters.operator == "@me" else filters.operator
    found = [row for row in found if _is_wanted(world, row, signs, login, filters.stale)]
    return Listed(world, listing, found, signs)


def _cells(listed: Listed, *, qualified: bool) -> list[list[str]]:
    world, repo = listed.world, listed.world.repo if qualified else None
    return [[*render.listing_cells(row, world.now, repo), say_sign(world, row, listed.signs)] for row in listed.rows]


def _documents(listed: Listed) -> list[render.Document]:
    world = listed.world
    return [
        {**render.row_document(row, world.repo, world.now), **sign_document(world, row, listed.signs)}
        for row in listed.rows
    ]


def _is_wanted(world: World, row: Row, signs: Signs, operator: str | None, stale: bool) -> bool:
    claim = row.seen.claim
    login = claim.operator if claim else None
    if operator is not None and (login is None or login.casefold() != operator.casefold()):
        return False
    return not stale or judged(world, row, signs).verdict is Verdict.STALE


def _me(world: World) -> str:
    login = world.operator()
    if login is None:
        raise NoTrackerHere("nobody is logged in here, so @me is nobody", "name a login, or run 'gh auth login'")
    return login


def _save(world: World, chain: ChainId) -> str:
    kept = [value for scope, key, value in world.git_config.entries if (scope, key) == ("local", "claim.chain")]
    if kept:
        # Replacing it would orphan whatever the old chain still holds.
        raise NoChain(
            f"this clone already keeps the chain '{kept[-1]}'",
            f"'git claim ls --mine' shows what it holds; another chain for now goes into {CHAIN_VARIABLE}",
        )
    world.repository.git.ask("config", "--local", "claim.chain", chain)
    if world.repository.linked:
        world.talk.warn("every worktree of this clone without a lane of its own uses this chain now")
    return "git config claim.chain (local)"


def _check_any_chain(world: World, found: Look, branch: str) -> Exit:
    """The question of CI, which is no chain: is the branch that was pushed the one that a claim names?"""
    reason = why_not_branch(found, branch)
    world.talk.document({**render.look_document(found, world.repo, reason, None), "branch": branch, "next": []})
    held = words.holding(found.item, world.repo, found.seen, world.now)
    if reason is None:
        world.talk.result(f"branch '{printable(branch)}' is claimed: {held}")
        return Exit.DONE
    claim = found.seen.claim if found.seen else None
    if reason is Reason.OTHER_BRANCH and claim is not None:
        held += f", for branch '{printable(claim.branch)}'" if claim.branch else ", which names no branch"
    world.talk.error(
        f"branch '{printable(branch)}' is not claimed: {held}", "'git claim push' keeps the branch in the claim"
    )
    return Exit.NO


def _item_or_branch(world: World, text: str | None) -> Item:
    if text is None:
        return world.item_or_lane(None)
    return world.item(parse(text)) if is_item(text) else _item_of_branch(world, text)


def _item_of_branch(world: World, text: str) -> Item:
    item = of_branch(world.settings.branch_pattern, text.removeprefix("refs/heads/"))
    if item is None:
        raise Usage(
            f"'{printable(text)}' is neither an item nor a branch that names one",
            f"branches that name an item look like '{world.settings.branch_pattern}'",
        )
    return item


def _next(world: World, found: Look, chain: ChainId | None) -> list[str]:
    """What the holder could do next, or anybody where there is none; with the chain where only an option named it."""
    number = found.item.spelling + world.chain_option
    if found.seen is None:
        return [f"git claim {number}"]
    if found.seen.is_held_by(chain):
        return [
            f"git claim renew {number}",
            f"git claim hand-off {number} --to CHAIN",
            f"git claim release {number}",
        ]
    return [f"git claim {number} --wait"] if found.seen.claim else []


def _remark(world: World, strangers: tuple[str, ...], earlier: int, now: int) -> None:
    if strangers:
        shown = ", ".join(printable(ref) for ref in strangers[:3])
        world.talk.warn(f"refs that name no item stand among the claims ({len(strangers)}): {shown}")
    if now == 0 and earlier >= _MASS:
        world.talk.warn(
            f"all {earlier} claims of the last listing are gone from the server; if nobody released them,"
            " a mirror push may have removed them"
        )


def _copy(world: World, found: Look) -> str:
    """What to add to a no that only the local copy gave."""
    return f" (local copy, {_copy_age(world, found.as_of)})" if found.cached else ""


def _copy_age(world: World, as_of: float | None) -> str:
    if as_of is None:
        return "never listed as a whole"
    passed = world.now - datetime.fromtimestamp(as_of, UTC)
    return f"last listed {words.ago(passed)}"
