"""The last line of a worker's output: what is written is read again, and nothing near it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_claims.protocol.item import Item, Kind, Named
from git_claims.protocol.report import Drained, Halted, HitlOnly, Merged, Observed, Report, read, write

FORTY_TWO = Named(Item(Kind.ISSUE, "42"))
WHOLE = Named(Item(Kind.ISSUE, "42"), "acme/ledger")

LINES: list[tuple[str, Report]] = [
    ("RESULT: merged issue=42 pr=17", Merged(FORTY_TWO, 17)),
    ("RESULT: merged issue=acme/ledger#42 pr=17", Merged(WHOLE, 17)),
    ("RESULT: merged issue=PROJ-123 pr=17", Merged(Named(Item(Kind.ISSUE, "proj-123")), 17)),
    ("RESULT: halted issue=42 reason=the tests need a key", Halted(FORTY_TWO, "the tests need a key")),
    ("RESULT: halted issue=ledger#42 reason=x", Halted(Named(FORTY_TWO.item, "ledger"), "x")),
    ("RESULT: halted issue=42 reason=a=b  pr=17 é", Halted(FORTY_TWO, "a=b  pr=17 é")),
    ("RESULT: drained", Drained()),
    ("RESULT: hitl-only", HitlOnly()),
]

SPELLINGS = [
    ("#42", FORTY_TWO),
    ("issue-42", FORTY_TWO),
    ("042", FORTY_TWO),
    ("https://github.com/acme/ledger/issues/42", WHOLE),
    ("acme/ledger#issue-42", WHOLE),
]

REFUSED = [
    *("", "drained", "result: drained", "RESULT:drained", "RESULT:  drained", "RESULT: Drained", " RESULT: drained"),
    *("RESULT: drained.", "**RESULT: drained**", "`RESULT: drained`", "RESULT: drained reason=x", "RESULT: hitl"),
    *("RESULT: merged", "RESULT: merged issue=42", "RESULT: merged pr=17 issue=42", "RESULT: merged issue=42 pr=#17"),
    *("RESULT: merged issue=42 pr=0", "RESULT: merged issue=42 pr=017", "RESULT: merged issue=42  pr=17"),
    *("RESULT: merged issue=42 pr=17 and more", "RESULT: merged issue= pr=17", "RESULT: merged issue=fix pr=17"),
    *("RESULT: merged issue=42 pr=١٧", "RESULT: merged issue=0 pr=17", "RESULT: merged issue=4 2 pr=17"),
    *("RESULT: halted issue=42", "RESULT: halted issue=42 reason=", "RESULT: halted issue=42 reason= x"),
    *("RESULT: halted reason=x issue=42", "RESULT: halted issue=42 reason=a\tb", "RESULT: halted issue=42 reason=a\rb"),
    *("\x1b[32mRESULT: drained\x1b[0m", "RESULT: drained\x1b[0m", "50%\rRESULT: drained", "\ufeffRESULT: drained"),
]


@pytest.mark.parametrize(("line", "report"), LINES)
def test_line_is_read_and_written(line: str, report: Report) -> None:
    assert write(report) == line
    assert read(line) == Observed(line, report)


@pytest.mark.parametrize(("spelling", "named"), SPELLINGS)
def test_issue_is_read_in_any_spelling(spelling: str, named: Named) -> None:
    assert read(f"RESULT: merged issue={spelling} pr=17").report == Merged(named, 17)


@pytest.mark.parametrize("line", REFUSED)
def test_anything_near_it_is_no_report_and_is_kept_for_the_message(line: str) -> None:
    assert read(f"RESULT: hitl-only\n{line or 'done'}\n") == Observed(line or "done", None)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "  \n", "\n\n \t\r\n", " \r"])
def test_white_space_at_the_end_is_no_part_of_it(ending: str) -> None:
    assert read(f"working\nRESULT: merged issue=1 pr=2\nRESULT: drained{ending}") == Observed(
        "RESULT: drained", Drained()
    )


def test_white_space_before_it_is_no_grammar_of_ours() -> None:
    assert read(" RESULT: drained\n") == Observed(" RESULT: drained", None)


def test_only_the_last_line_counts() -> None:
    assert read("RESULT: drained\nbye\n") == Observed("bye", None)


@pytest.mark.parametrize("output", ["", "\n\n", " \r\n"])
def test_output_without_a_line_reports_nothing(output: str) -> None:
    assert read(output) == Observed("", None)


@pytest.mark.parametrize(
    "report",
    [
        *(Merged(FORTY_TWO, number) for number in (0, -1, 10**18)),
        *(
            Halted(FORTY_TWO, reason)
            for reason in ("", " x", "x ", "a\nb", "a\rb", "\x1b[31mred", "a\u2028b", "x\u00a0")
        ),
        *(Merged(Named(FORTY_TWO.item, name), 17) for name in ("-x", "a b", "a#b", "a\nb")),
        Merged(Named(Item(Kind.ISSUE, "042")), 17),
    ],
)
def test_what_would_be_read_as_something_else_is_not_written(report: Report) -> None:
    with pytest.raises(ValueError, match="what a result can say"):
        write(report)


items = st.one_of(
    st.builds(Item, st.sampled_from(Kind), st.integers(1, 10**18 - 1).map(str)),
    st.builds(lambda number: Item(Kind.ISSUE, f"proj-{number}"), st.integers(1, 10**18 - 1)),
)
names = st.builds(Named, items, st.sampled_from([None, "ledger", "acme/ledger", "group/sub/x.y"]))
texts = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1).filter(
    lambda text: text == text.strip()
)
reports = st.one_of(
    st.builds(Merged, names, st.integers(1, 10**18 - 1)),
    st.builds(Halted, names, texts),
    st.just(Drained()),
    st.just(HitlOnly()),
)


@given(reports, st.sampled_from(["", "talk\n", "RESULT: drained\n"]), st.sampled_from(["", "\n", "\r\n\n"]))
def test_what_is_written_is_read(report: Report, before: str, after: str) -> None:
    assert read(before + write(report) + after).report == report


@given(st.text() | reports.map(write).flatmap(lambda line: st.sampled_from([line, line.upper(), line + "x", line[1:]])))
def test_what_is_read_can_be_written_and_is_the_same_then(output: str) -> None:
    report = read(output).report
    assert report is None or read(write(report)).report == report
