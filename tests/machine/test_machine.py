"""Three agents, one server and everything that can happen to them, in any order; the server's transcript judges.

The product's flows run in this process, git is real. A quick run is the same every time; HYPOTHESIS_PROFILE=deep
looks further. Whatever it finds becomes a scenario with a name.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from git_claims.errors import CannotTell
from git_claims.flows import listing, push, release, take, transfer
from git_claims.flows.change import Answer
from git_claims.git.remote import Work
from git_claims.protocol.claim import ChainId
from git_claims.protocol.item import Item
from git_claims.protocol.item import Kind as ItemKind
from git_claims.protocol.text import stamp
from git_claims.protocol.transition import Asker
from tests.machine.judge import GAP, HELD_NOW, Deed, Judge, Kind, Mood, is_unknown, ref_of
from tests.machine.seat import Ground, Seat, make_ground
from tests.places import ABSENT, Move, Server
from tests.scenarios.fencing import transactions

# The name of one is the beginning of another's: a read by glob must tell them apart.
ITEMS = (Item(ItemKind.ISSUE, "4"), Item(ItemKind.ISSUE, "42"), Item(ItemKind.PULL, "4"))
CALM = Mood("calm")
QUICK_EXAMPLES = 24

agents = st.integers(0, 2)
items = st.sampled_from(ITEMS)
several = st.lists(items, min_size=1, max_size=3, unique=True)
ours = [ChainId("chain-a"), ChainId("chain-b"), ChainId("chain-c"), ChainId("chain-next")]
successors, predecessors = st.sampled_from(ours), st.sampled_from([*ours, ChainId(GAP)])
names = st.none() | st.sampled_from(["42-fix", "review"])
hostile = st.sampled_from(
    [
        b"",
        b"chain=\n",
        b"issue=4\nchain=chain-a",
        b"issue=9\nchain=chain-a\n",
        b"\xff\n",
        b"issue=4\nchain=a\nchain=b\n",
    ]
)


class Claiming(RuleBasedStateMachine):
    """What may follow is anything; what must hold is asserted after each command and after each step."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory(prefix="git-claim-machine-")
        self.ground: Ground = make_ground(Path(self._directory.name))
        self.judge = Judge(self.ground.server)
        self.now = datetime(2026, 11, 30, 13, tzinfo=UTC)
        self.seats = [Seat(self.ground, name, lambda: self.now.timestamp()) for name in "abc"]
        self.nonces = itertools.count(1)
        self.mood = CALM

    def teardown(self) -> None:
        self._directory.cleanup()

    # Commands

    @rule(agent=agents, wanted=several, as_one=st.booleans(), branch=names)
    def takes(self, agent: int, wanted: list[Item], as_one: bool, branch: str | None) -> None:
        self._take(agent, take.Wanted(tuple(wanted), together=as_one), branch)

    @rule(agent=agents, wanted=several)
    def takes_a_bundle(self, agent: int, wanted: list[Item]) -> None:
        self._take(agent, take.Wanted(tuple(wanted[:1]), tuple(wanted[1:])), None)

    def _take(self, agent: int, wanted: take.Wanted, branch: str | None) -> None:
        seat = self.seats[agent]
        asker = self._asker(seat, branch=branch)
        self._run(Deed(Kind.TAKE, seat, as_one=wanted.as_one), lambda: take.take(seat.store, wanted, asker))

    @rule(agent=agents, wanted=several, meanwhile=st.none() | st.booleans())
    def takes_over(self, agent: int, wanted: list[Item], meanwhile: bool | None) -> None:
        seat, shown = self.seats[agent], dict[str, str]()
        asker = self._asker(seat, reason="late")

        def confirm(item: Item, seen: object) -> None:
            shown[ref_of(item)] = self.judge.refs[ref_of(item)]
            self._somebody_else(item, meanwhile)

        deed = Deed(Kind.TAKE_OVER, seat, shown=shown)
        self._run(deed, lambda: take.take_over(seat.store, wanted, asker, confirm))

    @rule(agent=agents, wanted=several, phase=names)
    def renews(self, agent: int, wanted: list[Item], phase: str | None) -> None:
        seat = self.seats[agent]
        asker = self._asker(seat, phase=phase)
        self._run(Deed(Kind.RENEW, seat), lambda: transfer.renew(seat.store, wanted, asker))

    @rule(agent=agents, wanted=several, own=st.booleans())
    def pushes(self, agent: int, wanted: list[Item], own: bool) -> None:
        # Left to chance, hardly anybody who pushes holds what they push for.
        busy = [each for each in self.seats if each.holds] if own else []
        seat = busy[agent % len(busy)] if busy else self.seats[agent]
        wanted = list(seat.holds) if busy else wanted
        server, pushed = self.ground.server, list[push.Pushed]()
        asker, store = self._asker(seat), seat.store
        head, branch = seat.clone.commit("work"), f"refs/heads/{asker.nonce}"

        def command() -> list[Answer]:
            pushed.append(push.push(store, wanted, asker, Work((f"HEAD:{branch}",))))
            return pushed[0].answers

        self._run(Deed(Kind.PUSH, seat, as_one=True), command)
        landed = server.refs(branch)
        assert landed in ({}, {branch: head})
        assert not pushed or pushed[0].landed in (None, bool(landed))
        together = [refs for refs in transactions(server) if branch in refs and landed]
        assert together == ([{branch, *map(ref_of, wanted)}] if landed else []), "work landed without its claims"

    @rule(agent=agents, wanted=st.none() | several)
    def releases(self, agent: int, wanted: list[Item] | None) -> None:
        seat = self.seats[agent]
        self._run(Deed(Kind.RELEASE, seat), lambda: release.release(seat.store, wanted, seat.chain))

    @rule(agent=agents, item=items, to=successors)
    def hands_off(self, agent: int, item: Item, to: ChainId) -> None:
        seat = self.seats[agent]
        asker = self._asker(seat)
        self._run(Deed(Kind.HAND_OFF, seat, to), lambda: transfer.hand_off(seat.store, item, asker, to))

    @rule(agent=agents, item=items, predecessor=predecessors)
    def adopts(self, agent: int, item: Item, predecessor: ChainId) -> None:
        seat = self.seats[agent]
        asker = self._asker(seat)
        self._run(Deed(Kind.ADOPT, seat, predecessor), lambda: transfer.adopt(seat.store, item, asker, predecessor))

    @rule(agent=agents, item=items, meanwhile=st.none() | st.booleans())
    def reclaims(self, agent: int, item: Item, meanwhile: bool | None) -> None:
        seat, shown = self.seats[agent], dict[str, str]()

        def confirm(item: Item, seen: object, siblings: Iterable[Item]) -> None:
            shown.update({ref_of(each): self.judge.refs[ref_of(each)] for each in (item, *siblings)})
            self._somebody_else(item, meanwhile)

        deed = Deed(Kind.RECLAIM, seat, shown=shown)
        self._run(deed, lambda: release.reclaim(seat.store, item, confirm))

    @rule(agent=agents, item=items)
    def looks(self, agent: int, item: Item) -> None:
        seat, was_open = self.seats[agent], self.ground.is_open
        try:
            one = listing.look(seat.store, item, cached=False)
            everything = seat.store.read_all()
        except CannotTell:
            assert not was_open
        else:
            assert was_open
            refs = self.judge.refs
            assert (one.seen.oid if one.seen else None) == refs.get(ref_of(item))
            assert {ref_of(each): seen.oid for each, seen in everything.claims.items()} == refs
            assert seat.clone.refs() == refs
        self.judge.settle(Deed(Kind.LOOK, seat), [], self.mood)

    # What happens to agents and to the server

    @rule(agent=agents)
    def crashes(self, agent: int) -> None:
        self.seats[agent].forget()

    @rule(hours=st.integers(-48, 240))
    def time_passes(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    @rule()
    def server_is_calm(self) -> None:
        self._be(CALM)

    @rule(times=st.integers(1, 2))
    def server_loses_replies(self, times: int) -> None:
        self._be(Mood("loses replies"))
        self.ground.server.reply_lost(times)

    @rule(times=st.integers(1, 2))
    def server_tears_replies(self, times: int) -> None:
        self._be(Mood("tears replies"))
        self.ground.server.reply_torn(times)

    @rule(times=st.sampled_from([1, 2, 9]))
    def server_is_killed_before(self, times: int) -> None:
        self._be(Mood("is killed before", refuses=times > 2))
        self.ground.server.killed_before(times)

    @rule(item=items, times=st.integers(1, 2))
    def server_lets_a_rival_in(self, item: Item, times: int) -> None:
        self._be(Mood("lets a rival in"))
        self.ground.server.rival_in_the_gap(item.name, GAP, times)

    @rule(item=items)
    def server_keeps_a_lock(self, item: Item) -> None:
        self._be(Mood("keeps a lock", refuses=True))
        self.ground.server.stuck_lock(item.name)

    @rule(way=st.sampled_from(["policy", "deletes", "hidden", "not atomic"]))
    def server_has_a_rule(self, way: str) -> None:
        self._be(Mood(way, refuses=True))
        server = self.ground.server
        rules: dict[str, Callable[[], None]] = {
            "policy": server.policy_refuses,
            "deletes": server.deny_deletes_hook,
            "hidden": lambda: server.hide("receive"),
            "not atomic": server.no_atomic,
        }
        rules[way]()

    @rule()
    def server_is_silent(self) -> None:
        self._be(Mood("silent", silent=True))
        self.ground.shut()

    @rule()
    def server_dies_with_the_reply(self) -> None:
        self._be(Mood("dies", silent=True))
        self.ground.server.reply_lost(closing=self.ground.door)

    # Somebody with a shell on the server

    @rule(item=items, chain=successors)
    def hand_plants_a_claim(self, item: Item, chain: ChainId) -> None:
        self._by_hand(item, lambda server: server.plant_claim(item.name, chain, issue=item.spelling))

    @rule(item=items, record=hostile)
    def hand_plants_a_hostile_record(self, item: Item, record: bytes) -> None:
        self._by_hand(item, lambda server: server.plant_bytes(item.name, record))

    @rule(item=items)
    def hand_plants_a_tree(self, item: Item) -> None:
        tree = self.ground.server.git("rev-parse", "main^{tree}").stdout.strip()
        self._by_hand(item, lambda server: server.plant(ref_of(item), tree))

    @rule(item=items)
    def hand_deletes_a_claim(self, item: Item) -> None:
        self._by_hand(item, lambda server: server.plant(ref_of(item), None))

    @rule(item=items, which=st.integers(0, 20))
    def hand_brings_back_an_old_claim(self, item: Item, which: int) -> None:
        old = [move.old for move in self.ground.server.transcript() if move.ref == ref_of(item)]
        if old := [oid for oid in old if oid != ABSENT]:
            self._by_hand(item, lambda server: server.plant(ref_of(item), old[which % len(old)]))

    # What must hold after each step

    @invariant()
    def one_agent_at_most_was_told_that_it_holds_an_item(self) -> None:
        told = Counter(item for seat in self.seats for item in seat.holds)
        assert all(number == 1 for number in told.values()), told

    @invariant()
    def what_agents_were_told_is_what_the_server_has(self) -> None:
        refs = self.judge.refs
        for seat in self.seats:
            assert {ref_of(item): oid for item, oid in seat.holds.items()}.items() <= refs.items(), seat.chain

    # How a command is run and judged

    def _asker(self, seat: Seat, **wishes: str | None) -> Asker:
        return Asker(seat.chain, f"{next(self.nonces):032x}", stamp(self.now), **wishes)

    def _run(self, deed: Deed, command: Callable[[], list[Answer]]) -> None:
        answers: list[Answer] | None = None
        was_open = self.ground.is_open
        with suppress(CannotTell):
            answers = command()
        assert was_open or all(is_unknown(answer) for answer in answers or []), f"nobody can know: {answers}"
        self._forget_what_moved(self.judge.settle(deed, answers, self.mood))
        for answer in answers or []:
            deed.seat.holds.pop(answer.item, None)
            if answer.outcome in HELD_NOW and answer.claim:
                deed.seat.holds[answer.item] = answer.claim.oid
        self._compare_copy(deed.seat, [answer.item for answer in answers or [] if answer.succeeded])

    def _compare_copy(self, seat: Seat, changed: Sequence[Item]) -> None:
        copy = seat.clone.refs() if changed else {}
        for item in changed:
            assert copy.get(ref_of(item)) == self.judge.refs.get(ref_of(item)), f"the copy is behind: {item.name}"

    def _forget_what_moved(self, moves: Sequence[Move]) -> None:
        """A claim that was replaced or freed by a move that was allowed is nobody's any more."""
        gone = {(move.ref, move.old) for move in moves}
        for seat in self.seats:
            seat.holds = {item: oid for item, oid in seat.holds.items() if (ref_of(item), oid) not in gone}

    def _by_hand(self, item: Item, act: Callable[[Server], object]) -> None:
        """Somebody changes a ref on the server, unless a lock that is in the way keeps them out too."""
        server = self.ground.server
        if not (server.path / f"{ref_of(item)}.lock").exists():
            act(server)
            self._forget_what_moved(self.judge.moves_since())

    def _somebody_else(self, item: Item, meanwhile: bool | None) -> None:
        """Acts while a person reads what was shown: replaces the claim, or frees the item."""
        if meanwhile:
            self.hand_plants_a_claim(item, ChainId("chain-meanwhile"))
        elif meanwhile is not None:
            self.hand_deletes_a_claim(item)

    def _be(self, mood: Mood) -> None:
        self.ground.server.calm()
        self.ground.open()
        self.mood = mood


# Over 3 s: a step is a few git processes, and it takes many of them to get anywhere. What fails is
# run again until it is short, which is worth waiting for; a deep run has no end in sight.
QUICK = settings().derandomize
TestClaiming = pytest.mark.timeout(900 if QUICK else 0)(Claiming.TestCase)
TestClaiming.settings = settings(max_examples=QUICK_EXAMPLES if QUICK else settings().max_examples)
