"""One report, shown in three ways: as a page, at a prompt, and for programs."""

import io
import json

import pytest
from rich.console import Console

from starcert.report.blocks import (
    Curve,
    Curves,
    IntervalRow,
    Intervals,
    KeyFigure,
    Marked,
    Notice,
    Panel,
    Report,
    Section,
    TableBlock,
    Text,
    Tones,
    as_terminal,
    plain_text,
    values_of,
)
from starcert.report.document import page_of

ROWS = [("a", ("1 ", Marked("50%", "small")), "–", (Tones((("open", 0.5),)),)), ("<b>", "2", "–", "")]
REPORT = Report(
    title="A title",
    statement=["What it is ", ("about: ", Marked("this"))],
    numbers=[KeyFigure("7", "things", "number-things", "<class>")],
    notices=[Notice("Beware", "of <this>")],
    sections=[
        Section(
            "first",
            "First",
            [
                Text(phrase="Said on both."),
                Text(phrase="Said on the page.", only="page", caption=True),
                Text(phrase="Said at a prompt.", only="terminal"),
                TableBlock(heads=("name", "n", "unknown", "shares"), rows=ROWS, key="rows", values=[{"n": 1}, {"n": 2}],
                           folded=1, unfold="all"),
                Curves(name="curves", panels=[Panel("x", "y", [Curve("line", [0, 1], [1.0, 0.5])])], about="A curve."),
                Intervals(low=0, high=1, rows=[IntervalRow("a", [(0.2, 0.9)], 0.5, None)], about="An interval."),
            ],
        ),
        Section("drawn", "Only drawn", [Text(phrase="On a page.")], "page"),
        Section("listed", "Only listed", [Text(phrase="In a terminal.")], "terminal"),
    ],
    origin=[{"Settings": [("seed", "3")]}],
    values={"alpha": 0.01},
)  # fmt: skip


@pytest.fixture
def said():
    console = Console(width=100, file=io.StringIO())
    for part in as_terminal(REPORT):
        console.print(part, markup=False)
    return console.file.getvalue()


def test_a_page_has_what_is_not_for_a_terminal_alone():
    page = page_of(REPORT)
    for text in ("Said on both.", "Said on the page.", "On a page.", "about: <em>this</em>", "of &lt;this&gt;",
                 "<td>1 <small>50%</small></td>", '<th scope="row">&lt;b&gt;</th>',
                 '<h2 id="drawn-heading">Only drawn</h2>',
                 'aria-label="A curve."', 'aria-label="An interval."', "all: 1 more rows"):  # fmt: skip
        assert text in page, text
    assert "Said at a prompt." not in page
    assert "In a terminal." not in page
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert data["plots"]["curves"]["panels"][0]["lines"][0]["y"] == [1.0, 0.5]


def test_a_terminal_has_tables_without_columns_of_which_nothing_is_known(said):
    for text in ("A title", "things (<class>)", "Beware. of <this>", "Said on both.", "Said at a prompt.", "1 50%",
                 "<b>", "In a terminal."):  # fmt: skip
        assert text in said, text
    for text in ("unknown", "shares", "Said on the page.", "On a page."):
        assert text not in said, text


def test_programs_read_the_values_of_the_report_and_of_its_blocks():
    notices = [{"head": "Beware", "text": "of <this>"}]
    assert values_of(REPORT) == {"alpha": 0.01, "rows": [{"n": 1}, {"n": 2}], "notices": notices}


def test_marks_are_no_part_of_a_text():
    assert plain_text(("a ", Marked("b"), Tones(()))) == "a b"
