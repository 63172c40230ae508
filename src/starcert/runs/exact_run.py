"""A run that tries every attack on the plain model: its results in an output folder of the same form as others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from starcert.certificates.exact import ExactClassifier
from starcert.certificates.result_rows import row_names
from starcert.certificates.trying import Trial
from starcert.files import BlindRow, ExactArchive, Verification, recount, write
from starcert.objects.binding import Problem
from starcert.report.exact_page import write_exact_page
from starcert.runs.inputs import TriedModel, read_inputs, try_model
from starcert.runs.run_file import CERTIFICATES, REPORT, RESULTS, RunFile
from starcert.runs.settings import RunSettings, run_settings
from starcert.runs.threats import without_folders
from starcert.system.files import write_whole
from starcert.system.output import csv_lines, quantity

TRIED = "tried.json"  # what was tried, in the output folder, for a run to go on from


@dataclass(frozen=True)
class ExactRun:
    """What came out of a run that tried attacks."""

    archive: ExactArchive
    folder: Path

    @property
    def report(self) -> Path:
        """The page to show."""
        return self.folder / REPORT


def exact_forecast(settings: RunSettings, ready: TriedModel | None = None) -> str:
    """How many attacks there are, before any is tried; the model is made for it, unless it is ready."""
    ready, threat = ready or try_model(settings, read_inputs(settings)), without_folders(settings.threat)
    assert threat is not None  # it is any one flip by default
    trial = Trial(ready.job, threat, settings.max_attacks)
    every, tried = sum(ends[-1] for ends in trial.ends), sum(trial.limits)
    most = "all of them" if tried == every else f"at most {tried:,} of them, {settings.max_attacks:,} on each"
    objects = quantity(len(trial.ends), ready.problem.kind.word)
    return f"{objects}, {every:,} attacks ({threat.label}): {most} will be tried on the plain model."


def certify_exactly(
    settings: RunSettings,
    ready: TriedModel,
    labels: Sequence[int | None] | None,
    store: Path,
    executor: Executor | None,
    about: Mapping[str, object],
) -> ExactArchive:
    """What trying all attacks of the threat shows; labels are class numbers."""
    threat = without_folders(settings.threat)
    assert threat is not None  # it is any one flip by default
    exact = ExactClassifier(ready.base, ready.problem.noise, ready.rule)
    result = exact.certify(
        ready.problem, threat=threat, max_attacks=settings.max_attacks, store=store, executor=executor
    )
    names = row_names(result.objects.tolist(), result.nodes, ready.data.names)
    numbered = replace(result, classes=None)  # so are labels
    return ExactArchive.from_result(
        numbered, names=names, labels=labels, class_names=ready.data.class_names, settings=about
    )


def write_tried(folder: Path, archive: ExactArchive, problem: Problem, title: str) -> None:
    """Writes what was found, a table of it and a page."""
    write(folder / CERTIFICATES, archive)
    write_whole(folder / RESULTS, csv_lines(exact_rows(archive)))
    write_exact_page(folder / REPORT, archive, problem, title)


def exact_rows(archive: ExactArchive) -> Iterator[dict[str, object]]:
    """The rows of an archive; `blind_class`, if known, is what a model answers that sees nothing attacks change."""
    blind, about = BlindRow.of(archive), ("graph", "name", "true")
    if blind is None or blind.missing:
        return archive.rows()
    names = [archive.class_names[answer] for answer in blind.answers]
    pairs = zip(archive.rows(), names, strict=True)
    return ({key: row[key] for key in about} | {"blind_class": name} | row for row, name in pairs)


def recount_run(path: Path, file: RunFile, *, sample: int) -> Verification:
    """Checks a file of tried attacks with the model and the data of a run file, which made it."""
    settings = run_settings({"out": file.folder / "exact", **file.values}, {"exact": True})
    ready = try_model(settings, read_inputs(settings))
    return recount(
        path,
        classifier=ExactClassifier(ready.base, ready.problem.noise, ready.rule),
        objects=ready.problem,
        threat=without_folders(settings.threat),
        sample=sample,
        progress=None,
    )
