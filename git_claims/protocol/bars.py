"""What a tracker says against taking an item: closed, held, waiting for a human, or somebody else is at it. Pure."""

from dataclasses import dataclass, replace

from git_claims.protocol.house import House
from git_claims.protocol.issue import Issue
from git_claims.protocol.item import Item
from git_claims.protocol.marker import live_markers
from git_claims.protocol.transition import Reason


@dataclass(frozen=True, slots=True)
class Barred:
    """Why an item that no ref claims is not free all the same, and whom or what that names."""

    reason: Reason
    who: str


def bars(issue: Issue, item: Item, operator: str | None, house: House, *, even_hitl: bool) -> Barred | None:
    """Returns why the item must not be taken; None where nothing speaks against it."""
    labels = house.labels
    if issue.item.kind is not item.kind:
        return Barred(Reason.OTHER_KIND, issue.item.name)
    if not issue.is_open:
        return Barred(Reason.CLOSED, issue.url)
    if issue.present(labels.hold):
        return Barred(Reason.HOLD, labels.hold)
    if issue.present(labels.hitl) and not even_hitl:
        return Barred(Reason.WAITING_FOR_HUMAN, labels.hitl)
    others = [login for login in issue.assignees if login not in issue.assigned(operator)]
    if others:
        return Barred(Reason.ASSIGNED, ", ".join(others))
    live = live_markers(house.marker, issue.comments)
    if live and not live[0].is_of(operator):
        return Barred(Reason.FOREIGN_MARKER, live[0].operator)
    if issue.present(labels.claim) and not live and not issue.assigned(operator):
        return Barred(Reason.FOREIGN_LABEL, labels.claim)
    return None


def bars_meanwhile(issue: Issue, item: Item, operator: str | None, house: House, *, even_hitl: bool) -> Barred | None:
    """The same of the state that our own write returned: the claim label stands in it and says nothing."""
    unlabelled = replace(issue, labels=issue.labels - issue.present(house.labels.claim))
    return bars(unlabelled, item, operator, house, even_hitl=even_hitl)
