"""The ways of certifying the objects of a run: `certification.py` prepares, and writes what one of these makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from starcert.archive import BLIND, Archive, BlindRow, Verification, rerun
from starcert.archive.files import top_of
from starcert.archive.format import EXACT
from starcert.claims.certificates import Certificates
from starcert.claims.tables import row_names
from starcert.classifiers.functions import nodes_of
from starcert.datasets.parts import MASKS
from starcert.methods.exhaustive import ExactClassifier
from starcert.methods.numbers import SmoothedRegressor
from starcert.methods.preparation import possible_evidence
from starcert.methods.smoothed import SmoothedClassifier
from starcert.methods.trying import Trial
from starcert.models.link_votes import LinkVotes
from starcert.objects.binding import Problem
from starcert.report.blocks import Report
from starcert.report.other_reports import exact_rows
from starcert.report.writing import report_of
from starcert.runs.folder import OutputFolder
from starcert.runs.forecast import forecast_of
from starcert.runs.inputs import TriedModel, read_inputs, try_model
from starcert.runs.link_run import LinkClassifier
from starcert.runs.run_file import RUN, read_run_file
from starcert.runs.setting_values import without_folders
from starcert.runs.settings import run_settings
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.output import quantity
from starcert.voting.plans import Evidence, Voting

TRIED = "tried.json"  # what was tried, in the output folder, for a run to go on from


class RunMethod(ABC):
    """One way to certify the objects of a run; labels in what it makes are class numbers."""

    title: ClassVar[str]  # what the page is called, before the name of the data
    unused: ClassVar[tuple[str, ...]] = ()  # settings, and parts of a record, that mean nothing to it
    blind: ClassVar[bool] = True  # whether a model that sees nothing an attack changes may stand beside it

    @abstractmethod
    def fits(self, ready: TriedModel) -> bool:
        """True if the model is what its settings need."""

    def check(self, ready: TriedModel) -> None:  # noqa: B027  (most refuse nothing)
        """Refuses settings and data that it cannot work with."""

    @abstractmethod
    def estimator(self, ready: TriedModel) -> Any:  # noqa: ANN401  (each is of another type)
        """The method in Python, with the model and the regions of the run."""

    @abstractmethod
    def forecast(self, ready: TriedModel, *, dry: bool) -> Iterator[str]:
        """The forecast before it begins, sentence by sentence; a dry run has notes on what would be left out, too."""

    @abstractmethod
    def certify(
        self, ready: TriedModel, place: OutputFolder, executor: Executor | None, about: Mapping[str, object]
    ) -> Any:  # noqa: ANN401  (each has an archive of its own)
        """Everything that is found, with how the run was made, for a file; work that was interrupted goes on."""

    @abstractmethod
    def rows(self, archive: Any, ready: TriedModel) -> Iterable[dict[str, object]]:  # noqa: ANN401
        """The rows of `results.csv`."""

    def report(self, archive: Archive, ready: TriedModel, title: str) -> Report:
        """The content of a page, a terminal and programs."""
        return report_of(archive, ready.problem.sites, title, ready.answers)


class Smoothed(RunMethod):
    """Votes on noisy copies: the radii that they certify, and by evidence what attacks do."""

    title = "Robustness certificates"

    @override
    def fits(self, ready: TriedModel) -> bool:
        return True

    @override
    def estimator(self, ready: TriedModel) -> SmoothedClassifier:
        return SmoothedClassifier(ready.base, ready.problem.noise, ready.rule, fallback=ready.fallback)

    @override
    def forecast(self, ready: TriedModel, *, dry: bool) -> Iterator[str]:
        if dry and ready.settings.evidence:
            possible_evidence(ready.problem, Evidence(ready.settings.own_samples))
        yield from forecast_of(ready)

    @override
    def certify(
        self, ready: TriedModel, place: OutputFolder, executor: Executor | None, about: Mapping[str, object]
    ) -> Archive:
        settings = ready.settings
        found = certified(ready, ready.problem, store=place.votes(settings.store), executor=executor)
        claims = [found.at_most_changed(settings.threat)] if settings.collective and settings.threat else None
        names = row_names(found.objects.tolist(), found.nodes, ready.data.names)
        classes = ready.data.class_names
        return Archive.from_result(
            found, claims=claims, names=names, labels=ready.labels, class_names=classes, settings=about
        )

    @override
    def rows(self, archive: Archive, ready: TriedModel) -> Iterable[dict[str, object]]:
        return archive.rows(ready.answers)


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


class Exact(RunMethod):
    """Every attack of the threat is tried on the plain model."""

    title = "The plain model, exactly"
    unused = ("samples", "selection_samples", "evidence", "own_samples", "plan", "seed", "chunk_size")

    @override
    def fits(self, ready: TriedModel) -> bool:
        return ready.settings.exact

    @override
    def check(self, ready: TriedModel) -> None:
        if ready.base.values is not None:
            raise InvalidParameterError("exact", "needs a model that answers classes: intervals come from votes.")

    @override
    def estimator(self, ready: TriedModel) -> ExactClassifier:
        return ExactClassifier(ready.base, ready.problem.noise, ready.rule)

    @override
    def forecast(self, ready: TriedModel, *, dry: bool) -> Iterator[str]:
        threat, most_on_each = without_folders(ready.settings.threat), ready.settings.max_attacks
        assert threat is not None  # settings that try attacks have one
        trial = Trial(ready.job, threat, most_on_each)
        every, tried = sum(ends[-1] for ends in trial.ends), sum(trial.limits)
        most = "all of them" if tried == every else f"at most {tried:,} of them, {most_on_each:,} on each"
        objects = quantity(len(trial.ends), ready.problem.kind.word)
        yield f"{objects}, {every:,} attacks ({threat.label}): {most} will be tried on the plain model."

    @override
    def certify(
        self, ready: TriedModel, place: OutputFolder, executor: Executor | None, about: Mapping[str, object]
    ) -> Archive:
        threat = without_folders(ready.settings.threat)
        assert threat is not None
        found = self.estimator(ready).certify(
            ready.problem,
            threat=threat,
            max_attacks=ready.settings.max_attacks,
            store=place.kept / TRIED,
            executor=executor,
        )
        names = row_names(found.objects.tolist(), found.nodes, ready.data.names)
        classes = ready.data.class_names
        return Archive.from_result(
            found.numbered, names=names, labels=ready.labels, class_names=classes, settings=about
        )

    @override
    def rows(self, archive: Archive, ready: TriedModel) -> Iterable[dict[str, object]]:
        return exact_rows(archive)


class LinkVoting(RunMethod):
    """Votes of links on top of a blind model: the worst attack on each node has a closed form."""

    title = "Link votes"
    unused = (*Exact.unused, "noise", "backend", "max_attacks")
    blind = False  # it has one itself: its answers without links

    @override
    def fits(self, ready: TriedModel) -> bool:
        return ready.settings.method == "links"

    @override
    def check(self, ready: TriedModel) -> None:
        if not isinstance(ready.base, LinkClassifier):
            hint = "Leave model out: starcert has its own; or return starcert.models.LinkVotes from yours."
            raise InvalidParameterError("model", "be votes of links", str(ready.settings.model), hint)

    @override
    def estimator(self, ready: TriedModel) -> LinkVotes:
        assert isinstance(ready.base, LinkClassifier)
        return ready.base.votes

    @override
    def forecast(self, ready: TriedModel, *, dry: bool) -> Iterator[str]:
        threat = ready.settings.threat
        assert threat is not None  # the method brings one along
        yield f"{quantity(len(ready.answers), 'node')} under {threat.label}: nothing is sampled, alpha = 0."

    @override
    def certify(
        self, ready: TriedModel, place: OutputFolder, executor: Executor | None, about: Mapping[str, object]
    ) -> Archive:
        model, nodes, graph = self.estimator(ready), ready.job.target_nodes, ready.data.graph
        assert nodes is not None
        assert ready.settings.threat is not None
        found = model.certify(graph, threat=ready.settings.threat, nodes=nodes.index)
        answers = model.own.argmax(axis=1)  # without links
        blind = BlindRow(missing="No class of what is certified is known.")
        if ready.labels is not None and MASKS[0] in graph.node_data:
            train, chosen = (nodes_of(name, graph.frame) for name in MASKS[:2])
            share = float(np.mean(answers[chosen] == np.asarray(ready.data.labels)[chosen]))
            blind = BlindRow("the scores without links", share, len(train), tuple(answers[nodes.index].tolist()))
        names = row_names(found.objects.tolist(), found.nodes, ready.data.names)
        classes, made = ready.data.class_names, {**about, BLIND: blind.to_json(), "link_votes": model.about}
        return Archive.from_result(found, names=names, labels=ready.labels, class_names=classes, settings=made)

    @override
    def rows(self, archive: Archive, ready: TriedModel) -> Iterable[dict[str, object]]:
        return exact_rows(archive)


class Values(RunMethod):
    """Intervals for a model that gives numbers."""

    title, blind = "Certified intervals", False

    @override
    def fits(self, ready: TriedModel) -> bool:
        return ready.base.values is not None

    @override
    def check(self, ready: TriedModel) -> None:
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

    @override
    def estimator(self, ready: TriedModel) -> SmoothedRegressor:
        return SmoothedRegressor(ready.base, ready.problem.noise, ready.rule)

    @override
    def forecast(self, ready: TriedModel, *, dry: bool) -> Iterator[str]:
        yield from forecast_of(ready, classes=False)

    @override
    def certify(
        self, ready: TriedModel, place: OutputFolder, executor: Executor | None, about: Mapping[str, object]
    ) -> Archive:
        settings = ready.settings
        result = self.estimator(ready).certify(
            ready.problem,
            samples=settings.samples,
            seed=settings.seed,
            alpha=settings.alpha,
            family=settings.family,
            threat=without_folders(settings.threat),
            voting=Voting(settings.selection_samples, "fixed", place.votes(settings.store), executor),
        )
        names = row_names(result.objects.tolist(), ready.job.target_nodes, ready.data.names)
        numbers, labels = list(map(float, ready.data.class_names)), ready.labels  # by the names of their classes
        truth = None if labels is None else [None if label is None else numbers[label] for label in labels]
        return Archive.from_result(result, names=names, labels=truth, settings=about)

    @override
    def rows(self, archive: Archive, ready: TriedModel) -> Iterable[dict[str, object]]:
        return archive.rows()


METHODS: tuple[RunMethod, ...] = (LinkVoting(), Exact(), Values(), Smoothed())
"""The ways of certifying: the first that fits is taken."""


def method_of(ready: TriedModel) -> RunMethod:
    """The method that the settings ask for."""
    return next(each for each in METHODS if each.fits(ready))


def rerun_file(path: Path, model: Path | None, n: int, *, seed: int | None, name: str | None) -> Verification:
    """Proves the claims of a file, and does some of the work of its run again; see `starcert.archive.rerun`.

    Without `model`, the run file is the one beside the file.
    """
    place = path.parent / RUN if model is None else model
    if not place.is_file():
        raise StarcertError(f"{place}: no run file is there. Name the one with model and data: --model RUN.TOML.")
    file, exact = read_run_file(place), top_of(path)["format"] == EXACT
    settings = run_settings({"out": file.folder / "again", **file.values}, {"exact": True} if exact else {})
    ready = try_model(settings, read_inputs(settings))
    threat, method = without_folders(settings.threat) if exact else None, method_of(ready).estimator(ready)
    return rerun(path, method, ready.problem, n, seed=seed, name=name, threat=threat, progress=None)
