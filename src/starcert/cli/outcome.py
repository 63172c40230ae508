"""What a run tells people when it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from starcert.metrics import steps_to
from starcert.report.findings import out_of_reach
from starcert.words import fails_at_most

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.archive import Archive
    from starcert.runs.run import Outcome

__all__ = ["outcome_view", "steps_of"]


def outcome_view(outcome: Outcome) -> list[RenderableType]:
    """Accuracy beside the majority's share, abstentions, how much is certified how far, and where the report is."""
    from rich.table import Table  # noqa: PLC0415

    archive = outcome.archive
    about = Table(
        show_header=False, title=f"{len(archive):,} graphs, {len(archive.class_names)} classes", title_justify="left"
    )
    for name, value in _facts(outcome):
        about.add_row(name, value)
    return [about, "", *_reach(archive), *_notes(archive), f"Report: {outcome.report}"]


def _facts(outcome: Outcome) -> list[tuple[str, str]]:
    archive, certificates = outcome.archive, outcome.archive.certificates
    known = np.array([label is not None for label in archive.labels])
    truth = np.array([-1 if label is None else label for label in archive.labels])
    answered = certificates.certified((0,) * len(archive.noise.axes))
    abstained = int((~answered).sum())
    facts = []
    if known.any():
        right, base = answered & (certificates.labels == truth), np.array(outcome.base) == truth
        majority = np.bincount(truth[known]).max() / known.sum()
        facts += [
            ("accuracy, smoothed", _share(right[known])),
            ("accuracy, base classifier on clean graphs", _share(base[known])),
            ("share of the majority class", f"{majority:.1%}"),
        ]
        if not known.all():
            facts.append(("graphs without a known class", str(int((~known).sum()))))
    else:
        facts.append(("accuracy", "not known: the data have no classes"))
    facts.append(("abstains", f"{abstained} of {len(archive)}"))
    given = certificates.labels[answered]
    if len(given) > 1 and len(set(given.tolist())) == 1:
        facts.append(
            ("answers", f"class {archive.class_names[given[0]]} for every graph: a constant certifies everything")
        )
    return facts


def _reach(archive: Archive) -> list[RenderableType]:
    """How many graphs are certified against so many flips on one axis, the others untouched."""
    from rich.table import Table  # noqa: PLC0415

    certificates, axes = archive.certificates, archive.noise.axes
    known = np.array([label is not None for label in archive.labels])
    truth = np.array([-1 if label is None else label for label in archive.labels])
    right = certificates.labels == truth if known.any() else np.ones(len(archive), dtype=np.bool_)
    counted = known if known.any() else np.ones(len(archive), dtype=np.bool_)
    what = "answered right and certified" if known.any() else "certified"
    steps = steps_of(archive)
    table = Table(title=f"Graphs {what}, so many flips on one axis", title_justify="left")
    table.add_column("axis")
    for step in steps:
        table.add_column(str(step), justify="right")
    for axis in range(len(axes)):
        cells = []
        for step in steps:
            radius = [0] * len(axes)
            radius[axis] = step
            beyond = archive.max_radius is not None and step > archive.max_radius[axis]
            cells.append("" if beyond else f"{np.mean((certificates.certified(radius) & right)[counted]):.1%}")
        table.add_row(axes[axis], *cells)
    return [table]


def steps_of(archive: Archive) -> list[int]:
    """Some counts of flips, as far as a graph is certified on some axis alone."""
    return steps_to(max((max(radius) for one in archive.certificates for radius in one.frontier.radii), default=0))


def _notes(archive: Archive) -> list[str]:
    reasons = sorted({reason for reason in archive.anchored if reason})
    notes = [text for text in [out_of_reach(archive)] if text]
    notes += [f"Anchored: {reason} The certificates speak of regions frozen at each graph." for reason in reasons]
    notes.append(fails_at_most(archive.alpha, archive.together))
    return notes


def _share(mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
    return f"{mask.mean():.1%}"
