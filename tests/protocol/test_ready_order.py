"""In which order issues are ready, what a cycle is, and the queue in a word and in numbers."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.claim import Oid, Seen
from git_claims.protocol.dependency import components, cycles, reach
from git_claims.protocol.house import Labels
from git_claims.protocol.issue import Blocker, Issue
from git_claims.protocol.item import Item, Kind
from git_claims.protocol.ready import Queue, State, queue
from git_claims.protocol.served import Served, Skipped
from tests.protocol.queued import HOME, held, issue, number, open_, ranked, reasons, served, skipped, waiting
from tests.protocol.shown import HOUSE, lock

OTHER = "acme/other"
READY, AGENTS, PEOPLE = issue(1), ("ready", "afk"), ("ready", "hitl")


def test_most_unblocked_comes_first_then_repository_then_lowest_number() -> None:
    home = served(issue(10), issue(9), issue(2), issue(3, 2), issue(4, 3), issue(8), issue(5, 8))
    other = served(issue(1), issue(7), issue(6, blockers=open_(OTHER, 7)), slug=OTHER)
    assert ranked(queue([home, other])) == [
        *("acme/ledger#2", "acme/ledger#8", "acme/other#7", "acme/ledger#9", "acme/ledger#10", "acme/other#1")
    ]


def test_what_waits_through_two_ways_counts_once_and_through_other_repositories_too() -> None:
    home = served(issue(1), issue(2, 1), issue(3, 1), issue(4, 2, 3))
    other = served(issue(9, blockers=open_(HOME, 4)), slug=OTHER)
    assert [candidate.unblocks for candidate in queue([home, other]).ready] == [4]


def test_issue_that_is_listed_twice_and_repository_that_is_served_twice_count_once() -> None:
    answer = queue([served(issue(1), issue(2, 1), issue(1)), served(issue(1), slug="ACME/Ledger")])
    assert [(each.place.spelling, each.unblocks) for each in answer.ready] == [("acme/ledger#1", 1)]
    assert len(answer.entries) == 2
    assert [width.slug for width in answer.widths] == [HOME]


def test_cycle_names_its_members_and_only_they_are_in_it() -> None:
    home = served(issue(1, 3), issue(2, 1), issue(3, 2, 4), issue(4), issue(5, 3))
    answer = queue([home])
    assert [[place.spelling for place in ring] for ring in answer.cycles] == [[f"acme/ledger#{n}" for n in (1, 2, 3)]]
    assert reasons(answer, 2) == ["blocked-open: #1", "dependency-cycle: #1, #2, #3"]
    assert reasons(answer, 5) == ["blocked-open: #3"]
    assert ranked(answer) == ["acme/ledger#4"]
    assert answer.ready[0].unblocks == 4


def test_cycle_across_repositories_is_named_as_each_sees_it() -> None:
    home = served(issue(1, blockers=open_(OTHER, 1)))
    other = served(issue(1, blockers=open_(HOME, 1)), slug=OTHER)
    answer = queue([home, other])
    assert reasons(answer, 1) == ["blocked-elsewhere: acme/other#1", "dependency-cycle: #1, acme/other#1"]
    assert reasons(answer, 1, OTHER) == ["blocked-elsewhere: acme/ledger#1", "dependency-cycle: acme/ledger#1, #1"]


def test_large_cycle_names_ten_and_counts_the_rest() -> None:
    answer = queue([served(*(issue(n, n % 30 + 1) for n in range(1, 31)))])
    assert waiting(answer, 30).reasons[-1].detail == "#1, #2, #3, #4, #5, #6, #7, #8, #9, #10 and 20 more"
    assert len(answer.cycles[0]) == 30


def test_chain_of_ten_thousand_is_no_deeper_than_one_of_two() -> None:
    links = [[n + 1] for n in range(9_999)] + [[]]
    found = components(links)
    assert reach(links, found)[:2] == [9_999, 9_998]
    assert cycles(links, found) == []
    assert cycles([*links[:-1], [0]], components([*links[:-1], [0]])) == [list(range(10_000))]


graphs = st.integers(1, 9).flatmap(
    lambda size: st.lists(st.sets(st.integers(0, size - 1)).map(sorted), min_size=size, max_size=size)
)


def paths(links: list[list[int]]) -> list[set[int]]:
    """What can be reached from each in one step or more, the slow way."""
    reached = [set(each) for each in links]
    for middle, start in itertools.product(range(len(links)), repeat=2):
        if middle in reached[start]:
            reached[start] |= reached[middle]
    return reached


@given(graphs)
def test_reach_and_cycles_are_what_walking_every_path_finds(links: list[list[int]]) -> None:
    reached, found = paths(links), components(links)
    rings = {tuple(m for m in reached[at] if at in reached[m]) for at in range(len(links)) if at in reached[at]}
    assert reach(links, found) == [len(each - {at}) for at, each in enumerate(reached)]
    assert cycles(links, found) == sorted(sorted(ring) for ring in rings)


@given(graphs)
def test_component_comes_after_all_that_can_be_reached_from_it(links: list[list[int]]) -> None:
    found = components(links)
    place = {member: at for at, members in enumerate(found) for member in members}
    assert sorted(place) == list(range(len(links)))
    assert all(place[then] <= place[first] for first, successors in enumerate(links) for then in successors)


@st.composite
def repositories(draw: st.DrawFn) -> list[Served]:
    names = draw(st.sampled_from([[HOME], [HOME, OTHER], ["b/b", HOME, OTHER]]))
    blockers = st.builds(
        Blocker, st.sampled_from([*names, "far/away"]), st.integers(1, 6), st.booleans(), st.booleans()
    )
    labels = st.sampled_from([AGENTS, AGENTS, PEOPLE, ("ready",), ()])
    issues = st.builds(issue, st.integers(1, 6), labels=labels, blockers=st.lists(blockers, max_size=3).map(tuple))
    return [served(*draw(st.lists(issues, max_size=6, unique_by=lambda each: each.item)), slug=name) for name in names]


@given(repositories(), st.randoms(use_true_random=False))
def test_answer_is_the_same_for_any_order_of_reading(them: list[Served], chance: Random) -> None:
    def shuffled(page: Issue) -> Issue:
        return replace(page, blockers=tuple(chance.sample(page.blockers, len(page.blockers))))

    again = [
        replace(each, issues=[shuffled(page) for page in chance.sample(each.issues, len(each.issues))]) for each in them
    ]
    assert told(queue(again)) == told(queue(them))


@given(repositories())
def test_order_is_total_and_every_open_issue_stands_in_it_once(them: list[Served]) -> None:
    answer = queue(them)
    position = {each.slug: at for at, each in enumerate(them)}
    keys = [(-each.unblocks, position[each.place.slug], each.place.item.order) for each in answer.ready]
    assert keys == sorted(set(keys))
    places = [entry.place.spelling for entry in answer.entries]
    assert sorted(places) == sorted(f"{each.slug}#{page.item.key}" for each in them for page in each.issues)
    assert all(entry.reasons for entry in answer.waiting)


@given(repositories())
def test_no_ready_issue_waits_for_an_open_one(them: list[Served]) -> None:
    answer = queue(them)
    still_open = {(entry.place.slug, entry.place.item.key) for entry in answer.entries}
    for candidate in answer.ready:
        blockers = candidate.issue.blockers
        assert not [each for each in blockers if (each.repo, str(each.number)) in still_open or each.is_open]


def told(answer: Queue) -> object:
    """All of an answer but the pages themselves."""
    ready = [(each.place, each.unblocks) for each in answer.ready]
    others = [
        (each.place, each.reasons, each.turn, [(b.repo, b.number) for b in each.blockers]) for each in answer.waiting
    ]
    return answer.state, ready, others, answer.widths, answer.cycles


STATES = [
    ("nothing at all", [], State.DRAINED),
    ("only what nobody sorted", [issue(2, labels=()), issue(3, labels=("bug",))], State.DRAINED),
    ("one is ready, whatever the others are", [READY, issue(2, labels=PEOPLE), issue(3, 2)], State.READY),
    ("all claimed", [issue(42), issue(43, labels=("afk",))], State.ALL_CLAIMED),
    ("claimed, and the others wait for it", [issue(42), issue(2, 42)], State.ALL_BLOCKED),
    ("claimed, and people have to do the rest", [issue(42), issue(2, labels=PEOPLE)], State.ALL_CLAIMED),
    ("claimed though nobody sorted it", [issue(42, labels=())], State.ALL_CLAIMED),
    (
        "assigned or locked by hand",
        [issue(2, assignees=("ada",)), issue(3, comments=(lock("ada"),))],
        State.ALL_CLAIMED,
    ),
    ("assigned and not said to be ready", [issue(2, labels=("afk",), assignees=("ada",))], State.ALL_CLAIMED),
    ("assigned and blocked", [issue(2, labels=("afk", "blocked"), assignees=("ada",))], State.ALL_BLOCKED),
    ("blocked", [issue(2, 3), issue(3, labels=PEOPLE)], State.ALL_BLOCKED),
    ("in a cycle", [issue(2, 3), issue(3, 2)], State.ALL_BLOCKED),
    ("on hold", [issue(2, labels=(*AGENTS, "hold"))], State.ALL_BLOCKED),
    ("not said to be ready", [issue(2, labels=("afk",))], State.ALL_BLOCKED),
    ("partly read", [replace(issue(2), complete=False)], State.ALL_BLOCKED),
    ("people have to", [issue(2, labels=PEOPLE), issue(3, labels=("hitl",)), issue(4, labels=())], State.HITL_ONLY),
    ("not said for whom", [issue(2, labels=("ready",))], State.HITL_ONLY),
]


@pytest.mark.parametrize(("pages", "state"), [case[1:] for case in STATES], ids=[case[0] for case in STATES])
def test_queue_is_said_in_a_word(pages: list[Issue], state: State) -> None:
    assert queue([served(*pages, claims={42: held("chain-1"), 43: held("chain-2")})]).state is state


@pytest.mark.parametrize(
    ("labels", "pages", "state"),
    [
        (Labels.none(), [issue(2, 3, labels=())], State.ALL_BLOCKED),
        (Labels.none(), [], State.DRAINED),
        (replace(Labels(), afk=""), [issue(2, labels=())], State.DRAINED),
        (replace(Labels(), afk=""), [issue(2, 3, labels=("ready",))], State.ALL_BLOCKED),
        (replace(Labels(), ready=""), [issue(2, labels=())], State.DRAINED),
        (replace(Labels(), ready=""), [issue(2, 3, labels=("afk",))], State.ALL_BLOCKED),
    ],
)
def test_word_follows_the_labels_that_are_in_use(labels: Labels, pages: list[Issue], state: State) -> None:
    assert queue([served(*pages, house=replace(HOUSE, labels=labels))]).state is state


@pytest.mark.parametrize(
    ("pages", "skips", "state"),
    [
        ([], [skipped()], State.CANNOT_TELL),
        ([issue(2, labels=PEOPLE)], [skipped()], State.CANNOT_TELL),
        ([issue(2, 3)], [skipped()], State.ALL_BLOCKED),
        ([READY], [skipped()], State.READY),
        ([], [skipped(is_empty=True)], State.DRAINED),
        ([], [skipped(is_empty=True), skipped()], State.CANNOT_TELL),
    ],
)
def test_repository_that_was_not_read_is_never_counted_as_empty(
    pages: list[Issue], skips: list[Skipped], state: State
) -> None:
    answer = queue([served(*pages)], skips)
    assert answer.state is state
    assert answer.skipped == tuple(skips)


def test_blocker_that_is_told_twice_is_open_if_it_is_so_once() -> None:
    both = (Blocker("far/away", 1, True, False), Blocker("Far/Away", 1, False, False))
    for told_twice in (both, both[::-1]):
        assert reasons(queue([served(issue(42, blockers=told_twice))])) == ["blocked-elsewhere: far/away#1"]


def test_width_counts_what_is_ready_and_who_is_at_work() -> None:
    pull = Item(Kind.PULL, "9")
    claims = {
        number(2): held("chain-1"),
        number(3): held("chain-1"),
        pull: held("chain-2"),
        number(10): Seen(Oid("2" * 40), None, "cut short"),
    }
    home = replace(
        served(READY, issue(2), issue(3), issue(4, 1)), claims=claims, stale=frozenset({number(3), pull, number(77)})
    )
    width, other = queue([home, served(issue(1), issue(2), slug=OTHER)]).widths
    assert (width.slug, width.ready, width.agents, width.unreadable) == (HOME, 1, 3, 1)
    assert sorted(width.chains) == ["chain-1", "chain-2"]
    assert [item.name for item in width.zombies] == ["issue-3", "pr-9"]
    assert (other.slug, other.ready, other.agents, other.zombies) == (OTHER, 2, 0, ())


def test_width_lists_what_people_could_do_now() -> None:
    pages = [
        issue(1, labels=PEOPLE),
        issue(2, 1, labels=PEOPLE),
        issue(3, labels=("hitl",), assignees=("ada",)),
        issue(4),
    ]
    late = replace(issue(5, labels=PEOPLE), blockers_complete=False)
    answer = queue(
        [served(*pages, late, issue(42, labels=PEOPLE), issue(6, labels=("ready",)), claims={42: held("chain-1")})]
    )
    assert [item.key for item in answer.widths[0].for_people] == ["1", "3"]
