"""A run of a model that gives numbers: intervals in place of certificates, in an output folder of the same form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor

from starcert.archive import IntervalArchive
from starcert.claims.columns import row_names
from starcert.methods.numbers import SmoothedRegressor
from starcert.report.blocks import Report
from starcert.report.interval_report import interval_report
from starcert.runs.folder import OutputFolder
from starcert.runs.forecast import forecast_of
from starcert.runs.inputs import TriedModel
from starcert.runs.threats import without_folders
from starcert.system.errors import InvalidParameterError
from starcert.voting.options import Voting


class Values:
    """Intervals for a model that gives numbers, as `RunMethod` says."""

    title, blind = "Certified intervals", False
    unused: tuple[str, ...] = ()

    def fits(self, ready: TriedModel) -> bool:
        """Any model that gives numbers."""
        return ready.base.values is not None

    def check(self, ready: TriedModel) -> None:
        """Refuses settings that mean nothing where the model gives numbers, and labels that are none."""
        settings = ready.settings
        for name, given in {"evidence": settings.evidence, "plan": settings.plan != "fixed"}.items():
            if given:
                hint = "Intervals look at where flips fell in any case, and hold at the number of votes that is fixed."
                raise InvalidParameterError(name, f"needs a model that answers classes, not numbers. {hint}")
        for name in ready.data.class_names:
            try:
                float(name)
            except ValueError:
                hint = "Give data whose labels are numbers, or none; --columns label=COLUMN names another column."
                raise InvalidParameterError("data", "have numbers for labels, as the outputs are", name, hint) from None

    def forecast(self, ready: TriedModel, place: OutputFolder | None) -> Iterator[str]:
        """The number of votes."""
        store = None if place is None else place.votes(ready.settings.store)
        yield from forecast_of(ready, [store], classes=False)

    def certify(
        self, ready: TriedModel, place: OutputFolder, executor: Executor | None, about: Mapping[str, object]
    ) -> IntervalArchive:
        """The intervals without attack and under the threat; labels are numbers by the names of their classes."""
        settings = ready.settings
        smoothed = SmoothedRegressor(ready.base, ready.problem.noise, ready.rule)
        result = smoothed.certify(
            ready.problem,
            samples=settings.samples,
            seed=settings.seed,
            alpha=settings.alpha,
            family=settings.family,
            threat=without_folders(settings.threat),
            voting=Voting(settings.selection_samples, "fixed", place.votes(settings.store), executor),
        )
        names = row_names(result.objects.tolist(), ready.job.target_nodes, ready.data.names)
        numbers, labels = list(map(float, ready.data.class_names)), ready.labels
        truth = None if labels is None else [None if label is None else numbers[label] for label in labels]
        return IntervalArchive.from_result(result, names=names, labels=truth, settings=about)

    def rows(self, archive: IntervalArchive, ready: TriedModel) -> Iterable[dict[str, object]]:
        """The table of the intervals."""
        return archive.rows()

    def report(self, archive: IntervalArchive, ready: TriedModel, title: str) -> Report:
        """The intervals."""
        return interval_report(archive, title)
