"""A run from its settings to its output folder: load, try, sample, certify, write."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starcert import files as archives
from starcert.certificates.metrics import flip_outcomes, flip_steps
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.files import Archive
from starcert.pages.findings import Words, flips_asked
from starcert.runs.forecast import forecast_of
from starcert.runs.inputs import TriedModel, check_expected, describe_rule, read_inputs, try_model
from starcert.runs.models import other_noise
from starcert.runs.run_file import CERTIFICATES, PROFILE, REPORT, RESULTS, VOTES, OutputFolder, RunFile, RunRecord
from starcert.runs.settings import RunSettings, run_settings
from starcert.runs.user_code import voting_workers
from starcert.system.files import versions, write_whole
from starcert.system.output import csv_lines
from starcert.system.stages import StageClock, StageTimes, stages, unstaged

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from starcert.certificates.certify import Certificates
    from starcert.datasets.dataset import Dataset
    from starcert.objects import TargetNodes
    from starcert.objects.binding import Problem


@dataclass(frozen=True)
class CertifiedRun:
    """What came out of a run."""

    archive: Archive  # the certificates, and what they are about
    base: tuple[int, ...]  # the base classifier's answer on each clean graph, or each of its targets
    fixed: tuple[int, ...]  # how many sites of each graph, or other object, lie in no region
    words: Words  # what rows and sites are called
    folder: Path  # the output folder
    times: StageTimes | None = None  # where the time went, up to the report, of a run with a profile

    @property
    def report(self) -> Path:
        """The page to show."""
        return self.folder / REPORT


def certify_settings(file: RunFile, options: Mapping[str, object]) -> RunSettings:
    """The settings of a certification from a run file and from options, which override it."""
    return run_settings({"out": file.folder / "certified", **file.values}, options)


def certify_run(
    settings: RunSettings,
    *,
    expected: Mapping[str, str] | None = None,
    profile: bool = False,
    note: Callable[[str], None] = print,
    before: Callable[..., None] | None = None,
) -> CertifiedRun:
    """Certifies the graphs of a run and writes its output folder.

    A run that was interrupted goes on where it was: its votes are kept. The folder has its name only when everything is
    in it.

    Args:
        settings: what to certify, and how.
        expected: digests of what a repeated run was made from; others are refused.
        profile: whether to report where the time goes: in `profile.json`, and on the page.
        note: receives what a user may want to know on the way.
        before: receives, sentence by sentence, what is known before the first vote; None: nothing is measured.
    """
    place = OutputFolder(settings.out)
    place.check_place()
    with place.held(), stages() if profile else nullcontext() as clock:
        return _certified(settings, place, expected or {}, clock, note, before)


def _certified(
    settings: RunSettings,
    place: OutputFolder,
    expected: Mapping[str, str],
    clock: StageClock | None,
    note: Callable[[str], None],
    before: Callable[..., None] | None,
) -> CertifiedRun:
    inputs = read_inputs(settings)
    for sentence in inputs.notes:
        note(sentence)
    ready = try_model(settings, inputs)
    for sentence in other_noise(settings.weights, [settings.noise]):
        note(sentence)
    base, digests = ready.base, ready.digests
    check_expected(digests, expected)
    record = RunRecord(settings, digests)
    place.begin(record)
    labels = _true_classes(ready.job.target_nodes, ready.data)
    store = settings.store or place.kept / VOTES
    if before is not None and not (place.finished and settings.plan == "decided"):  # then all was decided
        with unstaged():
            for sentence in forecast_of(settings, ready, store):  # each as soon as it is known
                before(sentence)
    with voting_workers(base, settings.model.file, settings.workers, note) as executor:
        certificates = certified(settings, ready, ready.problem, seed=settings.seed, store=store, executor=executor)
    kept = Archive.from_result(
        certificates,
        names=_names(certificates, ready.data),
        labels=labels,
        class_names=ready.data.class_names,
        settings=_provenance(settings, ready),
    )
    place.write_run_file(record)
    archives.write(place.kept / CERTIFICATES, kept)
    write_whole(place.kept / RESULTS, csv_lines(result_rows(kept, ready.answers)))
    times = None if clock is None else clock.times()
    if times is not None:
        write_whole(place.kept / PROFILE, [json.dumps(times.to_dict() | {"versions": versions()}, indent=2), "\n"])
    from starcert.pages import write_report  # noqa: PLC0415  (drawing takes its time to load)

    title = f"Robustness certificates: {settings.data_title}"
    write_report(place.kept / REPORT, kept, ready.problem, title=title, base=ready.answers, times=times)
    place.finish()
    fixed = tuple(each.n_fixed for each in ready.problem.sites)
    words = Words.of(ready.problem.sites, nodes=kept.nodes is not None)
    return CertifiedRun(kept, ready.answers, fixed, words, place.final, times)


def certified(
    settings: RunSettings,
    ready: TriedModel,
    problem: Problem,
    *,
    seed: int,
    store: Path,
    executor: Executor | None,
    title: str = "votes",
) -> Certificates:
    """The certificates that the settings ask for, of a problem with the model of a run; labels are class numbers."""
    return (
        SmoothedClassifier(ready.base, problem.noise, ready.rule)
        .certify(
            problem,
            samples=settings.samples,
            selection_samples=settings.selection_samples,
            alpha=settings.alpha,
            family=settings.family,
            seed=seed,
            max_radius=settings.max_radius,
            evidence=settings.evidence,
            own_samples=settings.own_samples,
            threat=settings.threat,
            plan=settings.plan,
            store=store,
            executor=executor,
            title=title,
        )
        .numbered
    )


def _true_classes(nodes: TargetNodes | None, data: Dataset) -> Sequence[int | None] | None:
    """The true class of each row; None if none is known. Checked before the first vote."""
    if not data.known:
        return None
    labels: list[int | None] = (data.labels if nodes is None else nodes.labels(data.labels)).tolist()
    return labels


def _names(certificates: Certificates, data: Dataset) -> list[str]:
    """What the rows are called: a graph by its own name, a node after its graph."""
    if certificates.nodes is None:
        return list(data.names)
    graphs = (data.names[each] for each in certificates.objects.tolist())
    return [f"{graph}.{node}" for graph, node in zip(graphs, certificates.nodes.names, strict=True)]


def result_rows(archive: Archive, base: Sequence[int]) -> Iterator[dict[str, object]]:
    """The rows of an archive, one for each graph, with more columns.

    `base_class` is the base classifier's answer on the clean graph, beside `class`, the smoothed classifier's. With
    evidence, `frontier_by_p_A` is what the bounds on the class probabilities certify alone, `broken` are the levels
    with a known attack, and no `any_flips` flips, wherever they are, change the answer. With evidence or a threat,
    `any_1`, `any_2`, … say what is known under any 1, any 2, … flips: by p_A, by evidence, broken or open; None where a
    graph has fewer sites.
    """
    certificates = archive.certificates
    outcomes = flip_outcomes(certificates, flips_asked(archive))
    steps = flip_steps(outcomes)
    for row, answer, one, outcome in zip(archive.rows(), base, certificates, outcomes, strict=True):
        cells: dict[str, object] = {}
        for name, value in row.items():
            if name == "class":
                cells["base_class"] = answer
            cells[name] = value
            if name == "frontier" and certificates.verdicts is not None:
                cells["frontier_by_p_A"] = json.dumps(one.counted.radii)
                cells["broken"] = json.dumps(one.broken)
                cells["any_flips"] = one.any_flips
            for flips in steps if name == "frontier" else ():
                known = "abstains" if one.abstained else outcome.under(flips)
                cells[f"any_{flips}"] = known if flips <= outcome.asked else None
        yield cells


def _provenance(settings: RunSettings, ready: TriedModel) -> dict[str, object]:
    """How the run was made, for its certificates: whatever their content depends on, but no place of any file."""
    of_nodes, word, digests = settings.targets == "nodes", ready.problem.word, ready.digests
    values = {
        "model": str(settings.model),
        "classifier": digests["classifier"],
        "data": settings.data.name if isinstance(settings.data, Path) else str(settings.data),
        "edge_types": settings.edge_types,
        "split": settings.split,
        "split_seed": settings.split_seed,
        "splits": settings.splits and settings.splits.name,
        "limit": settings.limit,
        "objects": None if word == "graph" else f"{word}s",
        "targets": "nodes" if of_nodes else None,
        "nodes": settings.nodes,
        "regions": describe_rule(ready.rule),
        "noise": settings.noise.to_dict(),
        "samples": settings.samples,
        "selection_samples": settings.selection_samples,
        "evidence": settings.evidence or None,
        "own_samples": settings.max_own_votes if settings.evidence else None,
        "plan": None if settings.plan == "fixed" else settings.plan,
        "threat": None if settings.threat is None else str(settings.threat),
        "seed": settings.seed,
        "chunk_size": ready.base.chunk_size,
        "backend": ready.base.backend,
        "digests": {name: content for name, content in digests.items() if name != "classifier"},
    }
    always = {"limit", "nodes"} if of_nodes else {"limit"}
    return {key: value for key, value in values.items() if value is not None or key in always}
