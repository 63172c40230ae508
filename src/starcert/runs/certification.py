"""A run from its settings to its output folder: load, try, sample, certify, write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starcert import archive as archives
from starcert.archive import Archive
from starcert.runs.inputs import check_expected, describe_rule, read_inputs, try_model
from starcert.runs.output_folder import CERTIFICATES, REPORT, RESULTS, OutputFolder
from starcert.runs.run_file import RunFile
from starcert.runs.settings import RunSettings, run_settings
from starcert.runs.user_code import voting_workers
from starcert.smoothing import SmoothedClassifier
from starcert.system.files import write_whole
from starcert.system.output import csv_lines

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier
    from starcert.graphs import Sites

__all__ = ["CertifiedRun", "certify_run", "certify_settings", "result_rows"]


@dataclass(frozen=True)
class CertifiedRun:
    """What came out of a run.

    Attributes:
        archive: the certificates, and what they are about.
        base: the base classifier's answer on each clean graph.
        fixed: how many node pairs of each graph lie in no region.
        folder: the output folder.
    """

    archive: Archive
    base: tuple[int, ...]
    fixed: tuple[int, ...]
    folder: Path

    @property
    def report(self) -> Path:
        """The page to show."""
        return self.folder / REPORT


def certify_settings(file: RunFile, options: Mapping[str, object]) -> RunSettings:
    """The settings of a certification from a run file and from options, which override it."""
    return run_settings({"out": file.folder / "certified", **file.values}, options)


def certify_run(
    settings: RunSettings, *, expected: Mapping[str, str] | None = None, note: Callable[[str], None] = print
) -> CertifiedRun:
    """Certifies the graphs of a run and writes its output folder.

    A run that was interrupted goes on where it was: its votes are kept. The folder has its name only when everything is
    in it.

    Args:
        settings: what to certify, and how.
        expected: digests of what the run shall be made from, of a run that is repeated; others are refused.
        note: is told what a user may want to know on the way.
    """
    place = OutputFolder(settings.out)
    place.check_place()
    ready = try_model(settings, read_inputs(settings))
    base, digests = ready.base, ready.digests
    check_expected(digests, expected or {})
    place.begin(settings, digests)
    smoothed = SmoothedClassifier(base, settings.noise, ready.rule)
    with voting_workers(base, settings.model.file, settings.workers, note) as executor:
        certificates = smoothed.certify(
            ready.problem,
            samples=settings.samples,
            selection_samples=settings.selection_samples,
            alpha=settings.alpha,
            family=settings.family,
            seed=settings.seed,
            max_radius=settings.max_radius,
            store=settings.store or place.votes,
            executor=executor,
        )
    kept = Archive.from_result(
        certificates,
        names=ready.data.names,
        labels=ready.data.labels,
        class_names=ready.data.class_names,
        settings=_record(settings, describe_rule(ready.rule), base, digests),
    )
    place.write_run_file(settings, digests)
    archives.write(place.kept / CERTIFICATES, kept)
    write_whole(place.kept / RESULTS, csv_lines(result_rows(kept, ready.answers)))
    _write_report(place.kept / REPORT, kept, ready.problem.sites)
    place.finish()
    return CertifiedRun(kept, ready.answers, tuple(each.n_fixed for each in ready.problem.sites), place.final)


def result_rows(archive: Archive, base: Sequence[int]) -> Iterator[dict[str, object]]:
    """The rows of an archive, one for each graph, with one more column.

    `base_class` is the base classifier's answer on the clean graph, beside `class`, the smoothed classifier's.
    """
    for row, answer in zip(archive.rows(), base, strict=True):
        cells: dict[str, object] = {}
        for name, value in row.items():
            if name == "class":
                cells["base_class"] = answer
            cells[name] = value
        yield cells


def _record(settings: RunSettings, regions: str, base: Classifier, digests: Mapping[str, str]) -> dict[str, object]:
    """How the run was made, for its certificates: whatever their content depends on, and no place of any file."""
    data = settings.data
    return {
        "model": str(settings.model),
        "classifier": digests["classifier"],
        "data": data if isinstance(data, str) else data.name,
        "split": settings.split,
        "split_seed": settings.split_seed,
        "limit": settings.limit,
        "regions": regions,
        "noise": settings.noise.to_dict(),
        "samples": settings.samples,
        "selection_samples": settings.selection_samples,
        "seed": settings.seed,
        "chunk_size": base.chunk_size,
        "backend": base.backend,
        "digests": {name: content for name, content in digests.items() if name != "classifier"},
    }


def _write_report(path: Path, kept: Archive, sites: Sequence[Sites]) -> None:
    from starcert.report import write_report  # noqa: PLC0415  (drawing takes its time to load)

    data = kept.settings["data"]
    write_report(path, kept, sites, title=f"Robustness certificates: {data}")
