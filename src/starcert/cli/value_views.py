"""What a certification prints when it is done, where outputs are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starcert.cli.command_line import table
from starcert.cli.file_commands import anchored_notes
from starcert.runs.certification import FinishedRun
from starcert.runs.value_run import value_figures
from starcert.system.output import fails_at_most, quantity

if TYPE_CHECKING:
    from rich.console import RenderableType


def value_view(outcome: FinishedRun) -> list[RenderableType]:
    """How wide intervals are, those of the first rows, and where the report is."""
    archive = outcome.archive
    heads = ("interval", "mean width", "true inside", "mean worst error")
    figures = [
        (title, f"{width:.4g}", "–" if inside is None else f"{inside:.1%}", "–" if reach is None else f"{reach:.4g}")
        for title, width, inside, reach in value_figures(archive)
    ]
    columns = (archive.word, "true", "estimate", *map(archive.title, archive.claims))
    rows = [
        (name, "–" if label is None else f"{label:.4g}", f"{one.estimate:.4g}",
         *(f"{low:.4g} to {high:.4g}" for low, high in intervals))
        for name, label, one, intervals in zip(
            archive.names, archive.labels, archive.result, archive.intervals, strict=True)
    ]  # fmt: skip
    alpha, together = archive.result.alpha, archive.result.together
    return [
        table(f"Intervals of {quantity(len(archive), archive.word)}", heads, figures, left=heads[:1]),
        table(f"Each {archive.word}", columns, rows, left=columns[:1], more="results.csv has all"),
        *anchored_notes(archive.result.anchored),
        fails_at_most(alpha, together).replace("certificate", "interval"),
        f"Report: {outcome.report}",
    ]


def value_object(outcome: FinishedRun) -> dict[str, object]:
    """The same for programs."""
    archive = outcome.archive
    return {
        "folder": str(outcome.folder),
        "report": str(outcome.report),
        "alpha": archive.result.alpha,
        "together": archive.result.together,
        "claims": [archive.title(each) for each in archive.claims],
        "intervals": [
            {"name": name, "true": label, "estimate": one.estimate, "intervals": intervals}
            for name, label, one, intervals in zip(
                archive.names, archive.labels, archive.result, archive.intervals, strict=True
            )
        ],
    }
