"""A report at a prompt: its numbers, its notices, and the tables and texts of its blocks; only a page draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from starcert.report.blocks import Report, ReportBlock, TableBlock, Text, plain_text
from starcert.system.tables import facts, table

if TYPE_CHECKING:
    from rich.console import RenderableType


def as_terminal(report: Report) -> Iterator[RenderableType]:
    """The parts of a report, in its order."""
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
