"""What runs and sweeps tell people when they are done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from starcert.metrics import accuracy, majority_share, shares_by_axis, steps_to
from starcert.report.findings import counted, fixed_pairs, out_of_reach
from starcert.system.output import fails_at_most

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.archive import Archive
    from starcert.runs.certification import CertifiedRun
    from starcert.runs.sweep_result import SweepResult

__all__ = ["certified_view", "sweep_view"]

MOST_LEVELS = 40


def certified_view(outcome: CertifiedRun) -> list[RenderableType]:
    """Accuracy beside the majority's share, abstentions, how much is certified how far, and where the report is."""
    from rich.table import Table  # noqa: PLC0415

    archive = outcome.archive
    about = Table(
        show_header=False, title=f"{len(archive):,} graphs, {len(archive.class_names)} classes", title_justify="left"
    )
    for name, value in _facts(outcome):
        about.add_row(name, value)
    return [about, "", *_reach(archive), *_notes(outcome), f"Report: {outcome.report}"]


def _facts(outcome: CertifiedRun) -> list[tuple[str, str]]:
    archive, certificates = outcome.archive, outcome.archive.certificates
    truth = [label for label in archive.labels if label is not None]
    answered = certificates.certified((0,) * len(archive.noise.axes))
    facts = []
    if truth:
        base = [answer == label for answer, label in zip(outcome.base, archive.labels, strict=True)]
        facts += [
            ("accuracy, smoothed", f"{accuracy(certificates, archive.labels):.1%}"),
            ("accuracy, base classifier on clean graphs", f"{sum(base) / len(truth):.1%}"),
            ("share of the majority class", f"{majority_share(truth):.1%}"),
        ]
        if len(truth) < len(archive):
            facts.append(("graphs without a known class", str(len(archive) - len(truth))))
    else:
        facts.append(("accuracy", "not known: the data have no classes"))
    facts.append(("abstains", f"{int((~answered).sum())} of {len(archive)}"))
    given = certificates.labels[answered]
    if len(given) > 1 and len(set(given.tolist())) == 1:
        facts.append(
            ("answers", f"class {archive.class_names[given[0]]} for every graph: a constant certifies everything")
        )
    return facts


def _reach(archive: Archive) -> list[RenderableType]:
    """How many graphs are certified against so many flips on one axis, the others untouched."""
    from rich.table import Table  # noqa: PLC0415

    known = any(label is not None for label in archive.labels)
    what = "answered right and certified" if known else "certified"
    reach = max((max(radius) for one in archive.certificates for radius in one.frontier.radii), default=0)
    steps = steps_to(reach)
    found = shares_by_axis(archive.certificates, archive.labels if known else None, flips=steps)
    table = Table(title=f"Graphs {what}, so many flips on one axis", title_justify="left")
    table.add_column("axis")
    for step in steps:
        table.add_column(str(step), justify="right")
    some_empty = any(each.n_without for each in found)
    if some_empty:
        table.add_column("sites")
    for each in found:
        cells = ["" if share is None else f"{share:.1%}" for share in each.shares]
        if some_empty:
            cells.append(f"none in {counted(each.n_without, 'graph')}" if each.n_without else "")
        table.add_row(each.axis, *cells)
    return [table, "Shares are of the graphs that have sites on the axis."] if some_empty else [table]


def _notes(outcome: CertifiedRun) -> list[str]:
    archive = outcome.archive
    reasons = sorted({reason for reason in archive.anchored if reason})
    notes = [text for text in (out_of_reach(archive), fixed_pairs(outcome.fixed)) if text]
    notes += [f"Anchored: {reason} The certificates speak of regions frozen at each graph." for reason in reasons]
    notes.append(fails_at_most(archive.alpha, archive.together))
    return notes


def sweep_view(found: SweepResult) -> Iterator[RenderableType]:
    """Every level in a table, the unbeaten ones marked, and what to do next."""
    from rich.table import Table  # noqa: PLC0415

    from starcert.runs.grid import noise_text  # noqa: PLC0415
    from starcert.runs.output_folder import RUN  # noqa: PLC0415
    from starcert.runs.sweep import PAGE  # noqa: PLC0415
    from starcert.runs.sweep_result import about_graphs, next_command, notices  # noqa: PLC0415

    table = Table(title=f"{len(found.levels):,} noise levels on {about_graphs(found)}", title_justify="left")
    table.add_column("")
    table.add_column("level", justify="right")
    # Only at a space does a cell break: after a comma, never in the name of a region.
    noises = [noise_text(level.noise).replace(",", ", ") for level in found.levels]
    table.add_column("noise", min_width=max(len(part) for text in noises for part in text.split()))
    heads = (
        "accuracy",
        "abstains",
        *(f"radius {axis}" for axis in found.levels[0].noise.axes),
        "one answer",
        "beaten by",
    )
    for head in heads:
        table.add_column(head, justify="right", min_width=max(map(len, head.split())))
    for number in found.order[:MOST_LEVELS]:
        level, beater = found.levels[number], found.beaten_by[number]
        table.add_row(
            "★" if number in found.worthwhile else "✗" if level.constant else "",
            str(number + 1),
            noises[number],
            f"{level.accuracy:.1%}",
            f"{level.n_abstained / level.n_graphs:.1%}",
            *(f"{mean:.2f}" for mean in level.mean_radii),
            f"{level.answer_share:.0%}",
            "" if beater is None else str(beater + 1),
        )
    more = f" … and {len(found.levels) - MOST_LEVELS:,} more in sweep.csv." if len(found.levels) > MOST_LEVELS else ""
    majority = f"{found.class_names[found.majority]}, {found.levels[0].majority_share:.1%}"
    yield table
    yield (
        f"★ unbeaten in accuracy and mean certified radii; ✗ no better than a constant answer (majority class "
        f"{majority}). One answer: the share of the most frequent one.{more}"
    )
    for notice in notices(found):
        yield f"{notice.head}. {notice.text}"
    if found.suggested is None:
        yield "No level that is better than a constant answer certifies a flip. Next: other levels, or more --samples."
    else:
        yield "Next, for the most accurate of the unbeaten levels that certify a flip:"
        yield f"  {next_command(found, found.suggested, os.path.relpath(found.folder / RUN))}"
    yield f"Page: {found.folder / PAGE}"
