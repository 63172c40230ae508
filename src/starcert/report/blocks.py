"""A report: what came out of a run, as blocks. A page, a terminal and a program each show the same blocks.

`document.page_of` writes them as HTML, `terminal.as_terminal` for people at a prompt, and `values_of` for programs. A
block that has a `key` gives its `values` to programs, which do not read what is written for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

from typing_extensions import override

from starcert.system.output import facts, table

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN = 40  # rows of a table that a terminal shows


class Marked(NamedTuple):
    """A part of a text that stands out, by the name of its element."""

    text: str
    tag: Literal["bdi", "code", "em", "small", "strong"] = "em"

    @override
    def __str__(self) -> str:
        return self.text


class Tones(NamedTuple):
    """Shares of a whole as one bar, drawn on a page alone: each with the name of its tone."""

    shares: tuple[tuple[str, float], ...]

    @override
    def __str__(self) -> str:
        return ""


class Shade(NamedTuple):
    """A cell of a map: its text, on a page on a ground as dark as its share of the whole."""

    text: str
    share: float

    @override
    def __str__(self) -> str:
        return self.text


Phrase: TypeAlias = "str | tuple[str | Marked | Tones | Shade, ...]"


def plain_text(phrase: Phrase) -> str:
    """A text without its marks."""
    return phrase if isinstance(phrase, str) else "".join(map(str, phrase))


class KeyFigure(NamedTuple):
    """One of the numbers that stand first: its value, what it is, and the name of its element."""

    value: str
    what: str
    name: str
    class_name: str | None = None  # the class that it is about, shown in brackets


class Headline(NamedTuple):
    """What a page says first: a sentence, and its shares as a bar."""

    phrase: Phrase
    bar: Tones  # empty where there is nothing to draw
    values: Mapping[str, object]  # for programs
    about: str = ""  # what it is about, where there are several


class Notice(NamedTuple):
    """One thing that a reader must know: a heading and what it means."""

    head: str
    text: str


Where: TypeAlias = Literal["", "page", "terminal"]
"""Where alone something is shown to people; "": on both."""


@dataclass(frozen=True, kw_only=True)
class ReportBlock:
    """One part of a section."""

    template: ClassVar[str]  # what draws it on a page
    name: str = ""  # of its element
    key: str = ""  # what programs call its values; "": they do not read it
    values: object = None
    only: Where = ""


@dataclass(frozen=True, kw_only=True)
class Text(ReportBlock):
    """A paragraph, or the caption of what stands before it."""

    template = "text"
    phrase: Phrase
    caption: bool = False


@dataclass(frozen=True, kw_only=True)
class TableBlock(ReportBlock):
    """A table. The first `left` columns are words, the others numbers; a page folds rows after `folded` (0: all)."""

    template = "table"
    heads: Sequence[str]
    rows: Sequence[Sequence[Phrase]]
    title: str = ""  # where there is no heading over it
    left: int = 1
    head_column: bool = True  # whether the first column names the rows
    folded: int | None = None
    unfold: str = ""  # what unfolds them
    shaded: bool = False  # whether it is a map, with a `Shade` in each cell
    most: int = SHOWN
    more: str = "the page has all"


class Curve(NamedTuple):
    """A line of a plot, with a text for each of its points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    hover: Sequence[str] = ()
    look: Literal["step", "line", "mark"] = "step"  # counts in steps, a line, or a thin line to compare with


class Panel(NamedTuple):
    """A plot among others: what its axes are called, and its lines."""

    x_title: str
    y_title: str
    lines: Sequence[Curve]
    shares: bool = True  # whether its y axis has shares


@dataclass(frozen=True, kw_only=True)
class Curves(ReportBlock):
    """Plots with lines, side by side; small ones if there are `many`. `about` says in words what they show."""

    template = "curves"
    panels: Sequence[Panel]
    about: str
    many: bool = False


class IntervalRow(NamedTuple):
    """A row of intervals, the widest first, with an estimate and what is true, if that is known."""

    name: str
    intervals: Sequence[tuple[float, float]]
    estimate: float
    truth: float | None


@dataclass(frozen=True, kw_only=True)
class Intervals(ReportBlock):
    """Intervals on one scale."""

    template = "intervals"
    low: float
    high: float
    rows: Sequence[IntervalRow]
    about: str


@dataclass(frozen=True, kw_only=True)
class Drawn(ReportBlock):
    """A part of a page that its scripts fill: a map, objects. It has a template of its own, filled with `content`."""

    template: str  # type: ignore[misc]  # its own
    content: Mapping[str, object] = field(default_factory=dict)


class Section(NamedTuple):
    """Blocks under a heading."""

    name: str
    heading: str
    blocks: Sequence[ReportBlock]
    only: Where = ""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that came out, in the order in which it is read."""

    title: str
    answers: Sequence[Headline] = ()
    statement: Sequence[Phrase]  # what it is about, and what it means
    numbers: Sequence[KeyFigure]
    notices: Sequence[Notice]
    sections: Sequence[Section]
    origin: Sequence[Mapping[str, Sequence[tuple[str, str]]]]  # how it was made: columns of tables under headings
    values: Mapping[str, object] = field(default_factory=dict)  # what only programs read
    skip: tuple[str, str] | None = None  # where one can skip to by keyboard: an element, and what it is called
    scripts: Sequence[str] = ()  # of a page, beside those that draw plots
    data: Mapping[str, object] = field(default_factory=dict)  # what these scripts draw from
    needs_script: str = "The plots"  # what is not there without


def values_of(report: Report) -> dict[str, object]:
    """For programs: the answer, the values of the report and of its blocks, and its notices."""
    blocks = (block for section in report.sections for block in section.blocks)
    notices = [each._asdict() for each in report.notices]
    answers = [
        {**({"about": each.about} if each.about else {}), "sentence": plain_text(each.phrase), **each.values}
        for each in report.answers
    ]
    first = {"answer": answers[0]} if len(answers) == 1 else {"answers": answers} if answers else {}
    return {**first, **report.values, **{each.key: each.values for each in blocks if each.key}, "notices": notices}


def as_terminal(report: Report) -> Iterator[RenderableType]:
    """The parts of a report, in its order."""
    for each in report.answers:
        yield f"{each.about}. {plain_text(each.phrase)}" if each.about else plain_text(each.phrase)
    known = [(each.what + (f" ({each.class_name})" if each.class_name else ""), each.value) for each in report.numbers]
    yield facts(report.title, known)
    yield from (f"{each.head}. {each.text}" for each in report.notices)
    for section in report.sections:
        for block in section.blocks:
            if "page" not in (section.only, block.only):
                yield from _shown(block, section.heading)


def _shown(block: ReportBlock, heading: str) -> Iterator[RenderableType]:
    if isinstance(block, Text):
        yield plain_text(block.phrase)
    elif isinstance(block, TableBlock) and block.rows:
        heads, rows = _known_columns(block)
        yield table(block.title or heading, heads, rows, left=heads[: block.left], most=block.most, more=block.more)


def _known_columns(block: TableBlock) -> tuple[Sequence[str], list[Sequence[str]]]:
    """A table without the columns of which nothing is known in any row."""
    texts = [[plain_text(cell) for cell in row] for row in block.rows]
    columns = [each for each in zip(block.heads, *texts, strict=True) if not set(each[1:]) <= {"–", ""}]
    first, *others = zip(*columns, strict=True)
    return first, list(others)
