"""A run that tries every attack on the plain model: its results in an output folder of the same form as others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor

from starcert.archive import ExactArchive
from starcert.claims.columns import row_names
from starcert.methods.exhaustive import ExactClassifier
from starcert.methods.trying import Trial
from starcert.objects.threats import Threat
from starcert.report.blocks import Report
from starcert.report.exact_report import exact_report, exact_rows
from starcert.runs.folder import OutputFolder
from starcert.runs.inputs import TriedModel
from starcert.runs.threats import without_folders
from starcert.system.errors import InvalidParameterError
from starcert.system.output import quantity

TRIED = "tried.json"  # what was tried, in the output folder, for a run to go on from


class Exact:
    """Every attack of the threat is tried on the plain model, as `RunMethod` says."""

    title, blind = "The plain model, exactly", True
    unused: tuple[str, ...] = ("samples", "selection_samples", "evidence", "own_samples", "plan", "seed", "chunk_size")

    def fits(self, ready: TriedModel) -> bool:
        """Where it is asked for."""
        return ready.settings.exact

    def check(self, ready: TriedModel) -> None:
        """Refuses models that give numbers."""
        if ready.base.values is not None:
            raise InvalidParameterError("exact", "needs a model that answers classes: intervals come from votes.")

    def forecast(self, ready: TriedModel, place: OutputFolder | None) -> Iterator[str]:
        """The number of attacks."""
        threat, most_on_each = _threat_of(ready), ready.settings.max_attacks
        trial = Trial(ready.job, threat, most_on_each)
        every, tried = sum(ends[-1] for ends in trial.ends), sum(trial.limits)
        most = "all of them" if tried == every else f"at most {tried:,} of them, {most_on_each:,} on each"
        objects = quantity(len(trial.ends), ready.problem.kind.word)
        yield f"{objects}, {every:,} attacks ({threat.label}): {most} will be tried on the plain model."

    def certify(
        self, ready: TriedModel, place: OutputFolder, executor: Executor | None, about: Mapping[str, object]
    ) -> ExactArchive:
        """The result of trying all attacks of the threat; labels are numbers."""
        found = ExactClassifier(ready.base, ready.problem.noise, ready.rule).certify(
            ready.problem,
            threat=_threat_of(ready),
            max_attacks=ready.settings.max_attacks,
            store=place.kept / TRIED,
            executor=executor,
        )
        return ExactArchive.from_result(
            found.numbered,  # so are labels
            names=row_names(found.objects.tolist(), found.nodes, ready.data.names),
            labels=ready.labels,
            class_names=ready.data.class_names,
            settings=about,
        )

    def rows(self, archive: ExactArchive, ready: TriedModel) -> Iterable[dict[str, object]]:
        """The table of what was found."""
        return exact_rows(archive)

    def report(self, archive: ExactArchive, ready: TriedModel, title: str) -> Report:
        """The report on the result."""
        return exact_report(archive, ready.problem.sites, title)


def _threat_of(ready: TriedModel) -> Threat:
    threat = without_folders(ready.settings.threat)
    assert threat is not None  # settings that try attacks have one
    return threat
