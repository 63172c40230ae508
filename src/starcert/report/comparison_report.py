"""A comparison as a report: verdicts side by side, curves, differences, and the rows on which runs differ."""

from __future__ import annotations

import os
from collections.abc import Mapping

from starcert.objects.threats import Threat
from starcert.report.blocks import Curves, KeyFigure, Marked, Phrase, Report, Section, TableBlock, Text
from starcert.report.compared_runs import AnyArchive
from starcert.report.comparison import Comparison, compare
from starcert.report.comparison_notices import comparison_notices
from starcert.report.document import as_bytes, page_of, target, write_page
from starcert.report.shares import MAX_LINES
from starcert.report.worth import GAIN_HEADS, gain_cells, gains_section
from starcert.system.errors import StarcertError
from starcert.system.output import plural, quantity

MAX_DIFFERENT = 300  # the most graphs on which runs differ that are listed
SHOWN_SETTINGS = ("model", "classifier", "data", "split", "limit", "regions", "samples", "seed")


def write_comparison(
    path: str | os.PathLike[str], runs: Mapping[str, AnyArchive], *, threat: Threat | str | None = None
) -> Comparison:
    """Writes a comparison as one HTML page, and returns it; a file with other content is not replaced."""
    file, found = target(path), compare(runs, threat=threat)
    report = comparison_report(found)
    try:
        there = file.read_bytes() if file.is_file() else None
    except OSError:
        there = b""  # its content is not known
    if there not in (None, as_bytes(page_of(report))):
        raise StarcertError(f"{file}: is there already, with other content. Name another file: --out another.html")
    if there is None:
        write_page(file, report)
    return found


def _named(text: str) -> Phrase:
    """A name from data, in its own direction of writing."""
    return (Marked(text, "bdi"),)


def comparison_report(found: Comparison) -> Report:
    """A comparison as blocks."""
    one, n_rows, first, by_radius = found.one, len(found.rows), found.names[0], found.threat.by_radius
    same = one if found.n_graphs == 1 else quantity(found.n_graphs, one)
    return Report(
        title=f"Compared: {', '.join(found.names)}",
        statement=[
            (
                f"{len(found.names)} runs on the same {same}. Each is compared with the first, ",
                Marked(first, "bdi"),
                f", {one} by {one}.",
            )
        ],
        numbers=[
            KeyFigure(f"{len(found.names)}", "runs", "number-runs"),
            KeyFigure(f"{found.n_graphs:,}", plural(found.n_graphs, one), "number-graphs"),
            KeyFigure(f"{n_rows:,}", f"{plural(n_rows, one)} on which they differ", "number-different"),
        ],
        notices=comparison_notices(found),
        sections=[
            _verdicts(found, by_radius),
            Section(
                "curves",
                "Axis by axis",
                [
                    Text(
                        phrase=f"The share of {one}s that are {found.what} against a number of flips on one axis, with "
                        "none on the others.",
                        only="page",
                    ),
                    Curves(
                        name="compare-plot",
                        panels=(panels := found.panels),
                        about=f"Shares {found.what}, run by run and axis by axis; the table below has the differences.",
                        many=len(panels) > MAX_LINES,
                    ),
                ],
            ),
            _differences(found, first),
            *_gains(found),
            _different(found),
        ],
        origin=[{run.name: list(run.about(SHOWN_SETTINGS))} for run in found.runs],
        values={"runs": list(found.names), "threat": str(found.threat), "n_rows": found.n_graphs},
        skip=("different", f"the {one}s"),
    )


def _verdicts(found: Comparison, by_radius: bool) -> Section:
    one, right = found.one, "right" if found.known else "answered"
    listed = f"the attacks on the list: {found.threat.label}"
    attackers = "an attacker with at most this many flips, wherever they are" if by_radius else listed
    verdicts = found.verdicts
    cells = [(_named(run), row.attacks, *row.cells(weighed).values()) for run, row, weighed in verdicts]
    heads = ("run", "flips" if by_radius else "attacks", "listed", f"{one}s", right, "certified by p_A",
             "certified with evidence", "broken", "open")  # fmt: skip
    values = [{"run": run, **row._asdict(), "weighed": weighed} for run, row, weighed in verdicts]
    meaning = f"What becomes of the {one}s that are answered{' right' * found.known}, for {attackers}."
    caption = (
        "Certified with evidence: by either argument; of a plain model, by trying every attack. A dash: the run has no "
        "evidence about these attacks, or does not list them."
    )
    table = TableBlock(
        name="verdict-table", heads=heads, rows=cells, left=2, head_column=False, key="verdicts", values=values
    )
    blocks = [Text(phrase=meaning), table, Text(phrase=caption, caption=True, only="page")]
    return Section("verdicts", "Certified, open, broken", blocks)


def _differences(found: Comparison, first: str) -> Section:
    meaning = (
        f"The share {found.what}, less that of ", Marked(first, "bdi"), f" on the same {found.one}s. Each interval "
        f"holds with probability 95% over the choice of {found.one}s, by itself; one that contains 0 shows no "
        "difference.",
    )  # fmt: skip
    rows = [(_named(each.run), *(cell.replace("-", "−") for cell in each.cells[1:])) for each in found.differences]
    heads, values = ("run", "flips", "share", "difference", "interval"), [each._asdict() for each in found.differences]
    table = TableBlock(
        name="difference-table", heads=heads, rows=rows, left=2, head_column=False, key="differences", values=values
    )
    notes = [Text(phrase=" ".join(notes), caption=True)] if (notes := found.notes) else []
    return Section("differences", "Differences", [Text(phrase=meaning), table, *notes])


def _gains(found: Comparison) -> list[Section]:
    rows = [(_named(run), *gain_cells(each)) for run, each in found.gains]
    return [gains_section(("run", *GAIN_HEADS), rows, f"{found.one}s", [])] if rows else []


def _different(found: Comparison) -> Section:
    heading, n = f"{found.one.capitalize()}s on which they differ", len(found.rows)
    if not n:
        return Section("different", heading, [Text(phrase="There are none: all answers and radii are equal.")])
    rows = [tuple(_named(cell) for cell in row) for row in found.rows[:MAX_DIFFERENT]]
    caption = "Under the name of an axis: the most flips that are certified there alone."
    caption += f" The {MAX_DIFFERENT} most different of {n}." * (n > MAX_DIFFERENT)
    table = TableBlock(
        name="different-table", heads=found.heads, rows=rows, left=2, head_column=False, most=20,
        key="different", values=[dict(zip(found.heads, row, strict=True)) for row in found.rows],
    )  # fmt: skip
    return Section("different", heading, [table, Text(phrase=caption, caption=True)])
