"""The blocker graph as text: Mermaid, which GitHub shows where it is pasted, and DOT for Graphviz.

Drawn are the issues that are ready, claimed, or have to do with a blocker. An arrow goes from what has to be done first
to what waits for it. Titles are anybody's text: what could end a label or mean something in it is written as a number.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from git_claims.protocol.issue import Blocker
from git_claims.protocol.obstacles import Cause, is_unreadable, place_of
from git_claims.protocol.ready import Candidate, Queue, Waiting
from git_claims.protocol.served import Place
from git_claims.protocol.text import printable

_TITLE = 60
# Also what looks harmless: `%%{` begins a directive and `style:` a workaround of Mermaid's, even inside quotes.
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 ,./_\u0080-\U0010ffff-]")
_DOT_SPECIAL = {ord("\\"): "\\\\", ord('"'): '\\"', ord("&"): "&amp;"}


class Mark(StrEnum):
    """How a node is drawn; PLAIN are all others. An issue that is both claimed and in a cycle is shown as claimed."""

    READY = "ready"
    CLAIMED = "claimed"
    CYCLE = "cycle"
    ELSEWHERE = "elsewhere"
    PLAIN = "plain"


_COLOURS = {
    Mark.READY: ("#d4f7d4", "#1a7f37"),
    Mark.CLAIMED: ("#fff3c4", "#9a6700"),
    Mark.CYCLE: ("#ffd8d3", "#cf222e"),
    Mark.ELSEWHERE: ("#eeeeee", "#888888"),
}


@dataclass(frozen=True, slots=True)
class Node:
    """One issue of the drawing."""

    name: str
    label: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Graph:
    """What is drawn: nodes in the order of repository and number, arrows as positions (first, then)."""

    nodes: tuple[Node, ...]
    arrows: tuple[tuple[int, int], ...]


def graph_of(queue: Queue) -> Graph:
    """Returns what of a queue is drawn. Names are whole where more than one repository is served."""
    entries = {entry.place: entry for entry in _in_order(queue)}
    told = [(place_of(blocker), entry.place) for entry in entries.values() for blocker in _blockers(entry)]
    linked = {place for pair in told for place in pair}
    drawn = [place for place, entry in entries.items() if place in linked or _mark(entry) in _ALWAYS]
    outside = sorted(linked - entries.keys(), key=lambda place: (place.slug.casefold(), place.item.order))
    positions = {place: at for at, place in enumerate([*drawn, *outside])}
    home = queue.widths[0].slug if len(queue.widths) == 1 else ""
    nodes = [
        Node(place.spelling, _label(place, home, entries.get(place)), _mark(entries.get(place))) for place in positions
    ]
    return Graph(tuple(nodes), tuple(sorted((positions[first], positions[then]) for first, then in told)))


def mermaid(queue: Queue) -> str:
    """Writes the graph as a Mermaid flowchart, without the fence around it."""
    graph = graph_of(queue)
    lines = ["flowchart LR"]
    lines += [f'    n{at}["{_for_mermaid(node.label)}"]{_class(node.mark)}' for at, node in enumerate(graph.nodes)]
    lines += [f"    n{first} --> n{then}" for first, then in graph.arrows]
    used = {node.mark for node in graph.nodes}
    for mark, (fill, stroke) in _COLOURS.items():
        if mark in used:
            lines.append(f"    classDef {mark} fill:{fill},stroke:{stroke},color:#000000")
    return "\n".join(lines) + "\n"


def dot(queue: Queue) -> str:
    """Writes the graph for Graphviz."""
    graph = graph_of(queue)
    lines = ["digraph queue {", "    rankdir=LR;", "    node [shape=box, style=filled, fillcolor=white];"]
    lines += [f"    n{at} [{_attributes(node)}];" for at, node in enumerate(graph.nodes)]
    lines += [f"    n{first} -> n{then};" for first, then in graph.arrows]
    return "\n".join([*lines, "}"]) + "\n"


_ALWAYS = frozenset({Mark.READY, Mark.CLAIMED, Mark.CYCLE})


def _in_order(queue: Queue) -> list[Candidate | Waiting]:
    positions = {width.slug: at for at, width in enumerate(queue.widths)}
    return sorted(queue.entries, key=lambda entry: (positions[entry.place.slug], entry.place.item.order))


def _blockers(entry: Candidate | Waiting) -> Iterator[Blocker]:
    """Yields the blockers that have a name; what cannot be read cannot be drawn."""
    if isinstance(entry, Waiting):
        yield from (blocker for blocker in entry.blockers if not is_unreadable(blocker))


def _mark(entry: Candidate | Waiting | None) -> Mark:
    if entry is None:
        return Mark.ELSEWHERE
    if isinstance(entry, Candidate):
        return Mark.READY
    if entry.is_claimed:
        return Mark.CLAIMED
    return Mark.CYCLE if Cause.CYCLE in entry.causes else Mark.PLAIN


def _label(place: Place, home: str, entry: Candidate | Waiting | None) -> str:
    name = place.seen_from(home)
    title = shown(entry.issue.title) if entry is not None else ""
    return printable(f"{name} {title}" if title else name)


def shown(title: str) -> str:
    """Returns a title as one short line that a terminal may be given."""
    line = printable(" ".join(title.split()))
    return line if len(line) <= _TITLE else line[: _TITLE - 1].rstrip() + "…"


def _class(mark: Mark) -> str:
    return "" if mark is Mark.PLAIN else f":::{mark}"


def _for_mermaid(text: str) -> str:
    return _NOT_PLAIN.sub(lambda found: f"#{ord(found[0])};", text)


def _attributes(node: Node) -> str:
    label = node.label.translate(_DOT_SPECIAL)
    if node.mark is Mark.PLAIN:
        return f'label="{label}"'
    fill, stroke = _COLOURS[node.mark]
    return f'label="{label}", class="{node.mark}", fillcolor="{fill}", color="{stroke}"'
