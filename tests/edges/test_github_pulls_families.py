"""Parents and children of issues through the real gh, and the texts in which a parent may be named."""

from __future__ import annotations

from git_claims.protocol.pull import Family
from git_claims.tracker.github import GitHub as Tracker
from tests.edges.github_house import ITEM, House, issue_item, pull_item
from tests.github_double import GitHub


def test_a_family_is_one_request(tracker: Tracker, github: GitHub) -> None:
    github.add_repository("acme/dashboard")
    github.add_issue(3, repo="acme/dashboard")
    for number in (42, 43, 44):
        github.add_issue(number, f"Part {number}")
    github.add_issue(40, "The whole", children=[42, 43, 44, "acme/dashboard#3"])
    github.close(43)
    github.close(44, "NOT_PLANNED")
    asked = [issue_item(40), ITEM, issue_item(7), pull_item(17)]
    families = tracker.read_families(asked)
    parent, child = families[issue_item(40)], families[ITEM]
    assert parent is not None and child is not None and child.complete and parent.complete
    assert [(each.repo, each.number, each.is_open, each.completed) for each in parent.children] == [
        ("acme/ledger", 42, True, False),
        ("acme/ledger", 43, False, True),
        ("acme/ledger", 44, False, False),
        ("acme/dashboard", 3, True, False),
    ]
    assert child.parent and (child.parent.number, child.parent.title, child.parent.is_open) == (40, "The whole", True)
    assert families[issue_item(7)] is None and families[pull_item(17)] is None
    assert len(github.requests) == 1 and github.requests[0].points == 1


def test_a_family_of_which_not_all_was_read_says_so(tracker: Tracker, github: GitHub) -> None:
    for number in range(1, 102):
        github.add_issue(number)
    github.add_issue(200, children=list(range(1, 102)))
    family = tracker.read_families([issue_item(200)])[issue_item(200)]
    assert family is not None and len(family.children) == 100 and not family.complete


def test_a_server_without_sub_issues_knows_no_family(house: House, github: GitHub) -> None:
    github.add_issue(42)
    github.mood("no-sub-issues")
    assert house.tracker().read_families([ITEM]) == {ITEM: Family()}
    assert house.told == ["'github.com' has no 'parent', 'subIssues': what that would tell is taken as unknown"]


def test_the_texts_of_all_open_issues_are_one_request_a_hundred(tracker: Tracker, github: GitHub) -> None:
    for number in range(1, 104):
        github.add_issue(number, body=f"## Parent\n\n#{number % 2}")
    github.close(3)
    bodies = tracker.read_open_bodies()
    assert len(bodies) == 102 and bodies[issue_item(4)] == "## Parent\n\n#0" and issue_item(3) not in bodies
    assert len(github.requests) == 2 and all(request.points == 1 for request in github.requests)
