"""A run from its settings to its output folder: load, try, sample, certify, write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starcert import archive as archives
from starcert.archive import Archive
from starcert.runs import output as outputs
from starcert.runs import results
from starcert.runs.output import Output
from starcert.runs.prepare import check_expected, gather, prepare
from starcert.runs.rules import describe
from starcert.runs.settings import RunSettings
from starcert.runs.workers import pool
from starcert.smoothing import SmoothedClassifier
from starcert.system.files import write_whole

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier
    from starcert.graphs import Sites

__all__ = ["Outcome", "execute"]


@dataclass(frozen=True)
class Outcome:
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
        return self.folder / outputs.REPORT


def execute(
    settings: RunSettings, *, expected: Mapping[str, str] | None = None, note: Callable[[str], None] = print
) -> Outcome:
    """Certifies the graphs of a run and writes its output folder.

    A run that was interrupted goes on where it was: its votes are kept. The folder has its name only when everything is
    in it.

    Args:
        settings: what to certify, and how.
        expected: digests of what the run shall be made from, of a run that is repeated; others are refused.
        note: is told what a user may want to know on the way.
    """
    place = Output(settings.out)
    place.check_place()
    ready = prepare(settings, gather(settings))
    base, digests = ready.base, ready.digests
    check_expected(digests, expected or {})
    place.begin(settings, digests)
    smoothed = SmoothedClassifier(base, settings.noise, ready.rule)
    with pool(base, settings.model.file, settings.workers, note) as executor:
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
        settings=_record(settings, describe(ready.rule), base, digests),
    )
    write_whole(place.kept / outputs.RUN, [place.text(settings, digests)])
    archives.write(place.kept / outputs.CERTIFICATES, kept)
    write_whole(place.kept / outputs.RESULTS, results.lines(kept, ready.answers))
    _write_report(place.kept / outputs.REPORT, kept, ready.problem.sites)
    place.finish()
    return Outcome(kept, ready.answers, tuple(each.n_fixed for each in ready.problem.sites), place.final)


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
