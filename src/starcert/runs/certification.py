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
from starcert.runs.inputs import check_expected, describe_rule, read_inputs, try_model
from starcert.runs.output_folder import CERTIFICATES, PROFILE, REPORT, RESULTS, OutputFolder
from starcert.runs.run_file import RunFile
from starcert.runs.settings import RunSettings, run_settings
from starcert.runs.trained_weights import other_noise
from starcert.runs.user_code import voting_workers
from starcert.system.files import write_whole
from starcert.system.output import csv_lines
from starcert.system.provenance import versions
from starcert.system.stages import StageClock, StageTimes, stages, unstaged
from starcert.voting.jobs import Job

if TYPE_CHECKING:
    from starcert.certificates.certificate import Certificates
    from starcert.classifiers.base import Classifier
    from starcert.objects import TargetNodes
    from starcert.runs.graph_files import RunData
    from starcert.runs.inputs import TriedModel

__all__ = ["CertifiedRun", "certify_run", "certify_settings", "result_rows"]


@dataclass(frozen=True)
class CertifiedRun:
    """What came out of a run.

    Attributes:
        archive: the certificates, and what they are about.
        base: the base classifier's answer on each clean graph, or each of its targets.
        fixed: how many sites of each graph, or other object, lie in no region.
        words: what rows and sites are called.
        folder: the output folder.
        times: where the time went, up to the report, if that was asked.
    """

    archive: Archive
    base: tuple[int, ...]
    fixed: tuple[int, ...]
    words: Words
    folder: Path
    times: StageTimes | None = None

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
        expected: digests of what the run shall be made from, of a run that is repeated; others are refused.
        profile: whether to say where the time goes: in `profile.json`, and on the page.
        note: is told what a user may want to know on the way.
        before: is told, in several sentences, what is known before the first vote; None: nobody asks, nothing is
            measured.
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
    for sentence in inputs.said:
        note(sentence)
    ready = try_model(settings, inputs)
    for sentence in other_noise(settings.weights, [settings.noise]):
        note(sentence)
    base, digests = ready.base, ready.digests
    check_expected(digests, expected)
    place.begin(settings, digests)
    smoothed = SmoothedClassifier(base, settings.noise, ready.rule)
    labels = _true_classes(Job(base, ready.problem, settings.seed).target_nodes, ready.data)
    store = settings.store or place.votes
    if before is not None and not (place.finished and settings.plan == "decided"):  # then all was decided
        with unstaged():
            for sentence in forecast_of(settings, ready, store):  # each as soon as it is known
                before(sentence)
    with voting_workers(base, settings.model.file, settings.workers, note) as executor:
        certificates = settings.certify(smoothed, ready.problem, seed=settings.seed, store=store, executor=executor)
    kept = Archive.from_result(
        certificates,
        names=_names(certificates, ready.data),
        labels=labels,
        class_names=ready.data.class_names,
        settings=_record(settings, ready.problem.word, describe_rule(ready.rule), base, digests),
    )
    place.write_run_file(settings, digests)
    archives.write(place.kept / CERTIFICATES, kept)
    write_whole(place.kept / RESULTS, csv_lines(result_rows(kept, ready.answers)))
    times = None if clock is None else clock.times()
    if times is not None:
        write_whole(place.kept / PROFILE, [json.dumps(times.to_dict() | {"versions": versions()}, indent=2), "\n"])
    _write_report(place.kept / REPORT, kept, ready, settings.data_title, times)
    place.finish()
    fixed = tuple(each.n_fixed for each in ready.problem.sites)
    words = Words.of(ready.problem.sites, nodes=kept.nodes is not None)
    return CertifiedRun(kept, ready.answers, fixed, words, place.final, times)


def _true_classes(nodes: TargetNodes | None, data: RunData) -> Sequence[int | None] | None:
    """The true class of each row, or None; checked before the first vote."""
    if nodes is None:
        return data.labels
    return None if data.node_labels is None else nodes.labels(data.node_labels).tolist()


def _names(certificates: Certificates, data: RunData) -> list[str]:
    """What the rows are called: as the data call graphs, and a node after its graph."""
    if certificates.nodes is None:
        return list(data.names)
    graphs = (data.names[each] for each in certificates.objects.tolist())
    return [f"{graph}.{node}" for graph, node in zip(graphs, certificates.nodes.names, strict=True)]


def result_rows(archive: Archive, base: Sequence[int]) -> Iterator[dict[str, object]]:
    """The rows of an archive, one for each graph, with more columns.

    `base_class` is the base classifier's answer on the clean graph, beside `class`, the smoothed classifier's. With
    evidence, `frontier_by_p_A` is what the bounds on the class probabilities certify alone, `broken` are the levels
    with a known attack, and no `any_flips` flips, wherever they are, change the answer. With evidence or a threat,
    `any_1`, `any_2`, … say what is known under so many flips: by p_A, by evidence, broken or open; None where a graph
    has fewer sites.
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


def _record(
    settings: RunSettings, word: str, regions: str, base: Classifier, digests: Mapping[str, str]
) -> dict[str, object]:
    """How the run was made, for its certificates: whatever their content depends on, and no place of any file."""
    data = settings.data
    return {
        "model": str(settings.model),
        "classifier": digests["classifier"],
        "data": data.name if isinstance(data, Path) else str(data),
        **({} if settings.edge_types is None else {"edge_types": settings.edge_types}),
        "split": settings.split,
        "split_seed": settings.split_seed,
        **({} if settings.splits is None else {"splits": settings.splits.name}),
        "limit": settings.limit,
        **({} if word == "graph" else {"objects": f"{word}s"}),
        **({} if settings.targets == "graphs" else {"targets": settings.targets, "nodes": settings.nodes}),
        "regions": regions,
        "noise": settings.noise.to_dict(),
        "samples": settings.samples,
        **({} if settings.selection_samples is None else {"selection_samples": settings.selection_samples}),
        **_beyond_counts(settings),
        "seed": settings.seed,
        "chunk_size": base.chunk_size,
        "backend": base.backend,
        "digests": {name: content for name, content in digests.items() if name != "classifier"},
    }


def _beyond_counts(settings: RunSettings) -> dict[str, object]:
    """What was asked beyond a fixed number of votes that are counted; nothing where nothing was."""
    asked: dict[str, object] = {} if settings.plan == "fixed" else {"plan": settings.plan}
    if settings.threat is not None:
        asked["threat"] = str(settings.threat)
    if not settings.evidence:
        return asked
    own = settings.samples if settings.own_samples is None else settings.own_samples
    return {"evidence": True, "own_samples": own, **asked}


def _write_report(path: Path, kept: Archive, ready: TriedModel, data: str, times: StageTimes | None) -> None:
    from starcert.pages import write_report  # noqa: PLC0415  (drawing takes its time to load)

    title = f"Robustness certificates: {data}"
    write_report(path, kept, ready.problem, title=title, base=ready.answers, times=times)
