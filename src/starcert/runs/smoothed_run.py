"""Runs by votes on noisy copies: the radii that they certify, and by evidence what attacks do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path

from starcert.archive import Archive
from starcert.claims.certificates import Certificates
from starcert.claims.columns import row_names
from starcert.methods.preparation import possible_evidence
from starcert.methods.smoothed import SmoothedClassifier
from starcert.objects.binding import Problem
from starcert.report.blocks import Report
from starcert.report.certificate_report import certificate_report
from starcert.runs.folder import OutputFolder
from starcert.runs.forecast import forecast_of
from starcert.runs.inputs import TriedModel
from starcert.runs.threats import without_folders
from starcert.voting.options import Evidence, Voting


class Smoothed:
    """Certificates of a smoothed classifier, as `RunMethod` says."""

    title, blind = "Robustness certificates", True
    unused: tuple[str, ...] = ()

    def fits(self, ready: TriedModel) -> bool:
        """Any model that answers classes."""
        return True

    def check(self, ready: TriedModel) -> None:
        """Its settings were checked when they were made."""

    def forecast(self, ready: TriedModel, place: OutputFolder | None) -> Iterator[str]:
        """The number of votes, and what they can certify."""
        settings = ready.settings
        if place is None and settings.evidence:  # its sentences may be of what was left out
            possible_evidence(ready.problem, Evidence(settings.own_samples))
        if place is None or not (place.finished and settings.plan == "decided"):  # then there are no votes to come
            yield from forecast_of(ready, [None if place is None else place.votes(settings.store)])

    def certify(
        self, ready: TriedModel, place: OutputFolder, executor: Executor | None, about: Mapping[str, object]
    ) -> Archive:
        """The certificates; labels are class numbers."""
        settings = ready.settings
        found = certified(ready, ready.problem, store=place.votes(settings.store), executor=executor)
        claims = [found.at_most_changed(settings.threat)] if settings.collective and settings.threat else None
        return Archive.from_result(
            found,
            claims=claims,
            names=row_names(found.objects.tolist(), found.nodes, ready.data.names),
            labels=ready.labels,
            class_names=ready.data.class_names,
            settings=about,
        )

    def rows(self, archive: Archive, ready: TriedModel) -> Iterable[dict[str, object]]:
        """The table of the certificates."""
        return archive.rows(ready.answers)

    def report(self, archive: Archive, ready: TriedModel, title: str) -> Report:
        """The certificates."""
        return certificate_report(archive, ready.problem.sites, title, ready.answers)


def certified(
    ready: TriedModel, problem: Problem, *, store: Path, executor: Executor | None, title: str = "votes"
) -> Certificates:
    """The certificates that the settings ask for, of a problem with the model of a run; labels are class numbers."""
    settings = ready.settings
    smoothed = SmoothedClassifier(ready.base, problem.noise, ready.rule, fallback=ready.fallback)
    return smoothed.certify(
        problem,
        samples=settings.samples,
        seed=settings.seed,
        alpha=settings.alpha,
        family=settings.family,
        threat=without_folders(settings.threat),
        evidence=settings.evidence and Evidence(settings.own_samples),
        voting=Voting(settings.selection_samples, settings.plan, store, executor, progress=title),
    ).numbered
