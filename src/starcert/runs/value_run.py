"""A run of a model that gives numbers: intervals in place of certificates, in an output folder of the same form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from starcert.certificates.regression import SmoothedRegressor
from starcert.certificates.result_rows import row_names
from starcert.files import IntervalArchive, write
from starcert.report.interval_page import write_interval_page
from starcert.runs.inputs import TriedModel
from starcert.runs.run_file import CERTIFICATES, REPORT, RESULTS
from starcert.runs.settings import RunSettings
from starcert.runs.threats import without_folders
from starcert.system.errors import InvalidParameterError
from starcert.system.files import write_whole
from starcert.system.output import csv_lines
from starcert.voting.options import Voting


@dataclass(frozen=True)
class ValueRun:
    """What came out of a run of a model that gives numbers."""

    archive: IntervalArchive
    folder: Path

    @property
    def report(self) -> Path:
        """The page to show."""
        return self.folder / REPORT


def check_value_settings(settings: RunSettings, labels: Sequence[str]) -> None:
    """Refuses settings that mean nothing where the model gives numbers, and labels that are none."""
    unfit = {"evidence": settings.evidence, "plan": settings.plan != "fixed"}
    for name in (name for name, given in unfit.items() if given):
        hint = "Intervals look at where flips fell in any case, and hold at the number of votes that is fixed."
        raise InvalidParameterError(name, "be left out where outputs are numbers", getattr(settings, name), hint)
    for name in labels:
        try:
            float(name)
        except ValueError:
            hint = "Give data whose labels are numbers, or none; --columns label=COLUMN names another column."
            raise InvalidParameterError("data", "have numbers for labels, as the outputs are", name, hint) from None


def certify_values(
    settings: RunSettings,
    ready: TriedModel,
    labels: Sequence[int | None] | None,
    store: Path,
    executor: Executor | None,
    about: Mapping[str, object],
) -> IntervalArchive:
    """The intervals of a run, without attack and under its threat; labels are numbers by the names of their classes."""
    smoothed = SmoothedRegressor(ready.base, ready.problem.noise, ready.rule)
    result = smoothed.certify(
        ready.problem,
        samples=settings.samples,
        seed=settings.seed,
        alpha=settings.alpha,
        family=settings.family,
        threat=without_folders(settings.threat),
        voting=Voting(settings.selection_samples, "fixed", store, executor),
    )
    names = row_names(result.votes.objects.tolist(), ready.job.target_nodes, ready.data.names)
    numbers = list(map(float, ready.data.class_names))
    truth = None if labels is None else [None if label is None else numbers[label] for label in labels]
    return IntervalArchive.from_result(result, names=names, labels=truth, settings=about)


def write_values(folder: Path, archive: IntervalArchive, title: str) -> None:
    """Writes the intervals, a table of them and a page."""
    write(folder / CERTIFICATES, archive)
    write_whole(folder / RESULTS, csv_lines(archive.rows()))
    write_interval_page(folder / REPORT, archive, title)


def value_figures(archive: IntervalArchive) -> list[tuple[str, float, float | None, float | None]]:
    """Of each claim its title, the mean width of its intervals and, where true numbers are known, how these lie to it.

    That is the share of them inside, and how far an interval reaches from the true number, on average.
    """
    found: list[tuple[str, float, float | None, float | None]] = []
    known = [row for row, label in enumerate(archive.labels) if label is not None]
    truth = np.array([archive.labels[row] for row in known], dtype=float)
    for claim, ends in zip(archive.claims, np.array(archive.intervals).transpose(1, 2, 0), strict=True):
        inside = reach = None
        if known and claim.above is None:
            low, high = ends[:, known]
            inside = float(((low <= truth) & (truth <= high)).mean())
            reach = float(np.maximum(high - truth, truth - low).mean())
        found.append((archive.title(claim), float((ends[1] - ends[0]).mean()), inside, reach))
    return found
