"""The blocker graph as text: what is drawn, how it is marked, and that no title can break out of its label."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.graph import dot, graph_of, mermaid, shown
from git_claims.protocol.issue import Blocker
from git_claims.protocol.ready import Queue, queue
from tests.protocol.queued import HOME, held, issue, open_, served

LEDGER = [
    issue(1, title="Fix auth"),
    issue(2, 1, 3, title="Ship it"),
    issue(3, title="Write the manual"),
    issue(4, 5, labels=()),
    issue(5, 4, labels=()),
    issue(6, labels=(), title="Nobody sorted it"),
]
NASTY = 'a "b" [c] {d} <e> `f` \\n %%{init: x}%% #quot; &amp; style:x#1; \x1b[31m\r\nend'


def ledger() -> Queue:
    return queue([served(*LEDGER, claims={3: held("chain-1")})])


def test_mermaid_of_a_queue() -> None:
    assert mermaid(ledger()) == (
        "flowchart LR\n"
        '    n0["#35;1 Fix auth"]:::ready\n'
        '    n1["#35;2 Ship it"]\n'
        '    n2["#35;3 Write the manual"]:::claimed\n'
        '    n3["#35;4 Fix auth"]:::cycle\n'
        '    n4["#35;5 Fix auth"]:::cycle\n'
        "    n0 --> n1\n"
        "    n2 --> n1\n"
        "    n3 --> n4\n"
        "    n4 --> n3\n"
        "    classDef ready fill:#d4f7d4,stroke:#1a7f37,color:#000000\n"
        "    classDef claimed fill:#fff3c4,stroke:#9a6700,color:#000000\n"
        "    classDef cycle fill:#ffd8d3,stroke:#cf222e,color:#000000\n"
    )


def test_dot_of_a_queue() -> None:
    assert dot(ledger()) == (
        "digraph queue {\n"
        "    rankdir=LR;\n"
        "    node [shape=box, style=filled, fillcolor=white];\n"
        '    n0 [label="#1 Fix auth", class="ready", fillcolor="#d4f7d4", color="#1a7f37"];\n'
        '    n1 [label="#2 Ship it"];\n'
        '    n2 [label="#3 Write the manual", class="claimed", fillcolor="#fff3c4", color="#9a6700"];\n'
        '    n3 [label="#4 Fix auth", class="cycle", fillcolor="#ffd8d3", color="#cf222e"];\n'
        '    n4 [label="#5 Fix auth", class="cycle", fillcolor="#ffd8d3", color="#cf222e"];\n'
        "    n0 -> n1;\n"
        "    n2 -> n1;\n"
        "    n3 -> n4;\n"
        "    n4 -> n3;\n"
        "}\n"
    )


def drawn(answer: Queue) -> list[str]:
    graph = graph_of(answer)
    nodes = [f"{node.label} ({node.mark})" for node in graph.nodes]
    return nodes + [f"{graph.nodes[first].name} > {graph.nodes[then].name}" for first, then in graph.arrows]


def test_names_are_whole_where_several_repositories_are_served() -> None:
    other = served(issue(1, blockers=open_(HOME, 1), title="Use it"), slug="acme/other")
    assert drawn(queue([served(issue(1, title="Fix auth")), other])) == [
        "acme/ledger#1 Fix auth (ready)",
        "acme/other#1 Use it (plain)",
        "acme/ledger#1 > acme/other#1",
    ]


def test_blocker_that_is_not_among_the_open_issues_is_drawn_apart_and_one_without_a_name_is_not() -> None:
    unnamed, dropped = Blocker("", 0, False, False), Blocker(HOME, 9, False, False)
    answer = queue([served(issue(2, blockers=(*open_("far/away", 1), dropped, unnamed)))])
    assert drawn(answer) == [
        *("#2 Fix auth (plain)", "#9 (elsewhere)", "far/away#1 (elsewhere)"),
        *("acme/ledger#9 > acme/ledger#2", "far/away#1 > acme/ledger#2"),
    ]


def test_empty_queue_is_an_empty_graph() -> None:
    assert mermaid(queue([])) == "flowchart LR\n"
    assert drawn(queue([served(issue(6, labels=()))])) == []


def test_order_of_reading_does_not_matter() -> None:
    again = queue([served(*LEDGER[::-1], claims={3: held("chain-1")})])
    assert (mermaid(again), dot(again)) == (mermaid(ledger()), dot(ledger()))


def in_mermaid(text: str) -> str:
    """The only label of a drawing, as Mermaid shows it; fails where it is not one node and its class."""
    node = re.fullmatch(r'flowchart LR\n    n0\["([^"\n]*)"\]:::ready\n    classDef ready [^\n]*\n', text)
    assert node is not None, text
    return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), node[1])


def in_dot(text: str) -> str:
    node = re.search(
        r'^    n0 \[label="((?:[^"\\\n]|\\["\\])*)", class="ready", [^\n"]*"#\w+", color="#\w+"\];\n\}\n\Z', text, re.M
    )
    assert node is not None, text
    return html.unescape(re.sub(r"\\(.)", r"\1", node[1]))


@pytest.mark.parametrize("title", [NASTY, '"]:::ready', '\\"', "a\u2028b", "%%{init:{}}%%", "]]--> n0", "ends in \\"])
def test_title_cannot_break_out_of_its_label(title: str) -> None:
    answer = queue([served(issue(1, title=title))])
    assert in_mermaid(mermaid(answer)) == f"#1 {shown(title)}"
    assert in_dot(dot(answer)) == f"#1 {shown(title)}"


@given(st.text(st.sampled_from('"[]{}()<>\\#;&%`:|-\n\r\x1b\u2028\u202eé a1\ud800')))
def test_every_title_is_one_label_and_shown_as_it_is(title: str) -> None:
    answer = queue([served(issue(1, title=title))])
    label = f"#1 {shown(title)}".strip()
    assert in_mermaid(mermaid(answer)) == label
    assert in_dot(dot(answer)) == label


def test_nothing_but_plain_characters_stands_in_a_mermaid_label() -> None:
    text = mermaid(queue([served(issue(1, title="a:b%c{d}e`f<g>h|i;j"))]))
    label = text.split('"')[1]
    assert re.fullmatch(r"(?:[\w ]|#\d+;)+", label)


def test_long_title_is_cut_and_a_broken_one_is_one_line() -> None:
    assert shown("word " * 40) == "word " * 11 + "word…"
    assert shown(" a\n\tb\x1b[0m ") == "a b[0m"
