"""A certification from its settings to its output folder: load, try, vote, certify, write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import astuple, dataclass
from pathlib import Path

from starcert import files as archives
from starcert.certificates.certify import Certificates
from starcert.certificates.result_rows import row_names
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.files import BLIND, Archive
from starcert.objects.binding import Problem
from starcert.objects.noise import Noise
from starcert.objects.words import Words
from starcert.report import write_report
from starcert.runs.blind_run import blind_row
from starcert.runs.exact_run import TRIED, ExactRun, certify_exactly, exact_forecast, write_tried
from starcert.runs.fallback_run import with_fallback
from starcert.runs.forecast import forecast_of
from starcert.runs.inputs import RunInputs, TriedModel, describe_rule, read_inputs, try_model
from starcert.runs.models import other_noise
from starcert.runs.run_file import (
    CERTIFICATES,
    REPORT,
    RESULTS,
    VOTES,
    OutputFolder,
    RunRecord,
)
from starcert.runs.settings import RunSettings
from starcert.runs.threats import without_folders
from starcert.runs.user_code import voting_workers
from starcert.runs.value_run import ValueRun, certify_values, check_value_settings, write_values
from starcert.system.errors import StarcertError
from starcert.system.files import write_whole
from starcert.system.output import csv_lines
from starcert.voting.options import Evidence, Voting

Say = Callable[[str], None]  # receives a sentence
VOTED = ("samples", "selection_samples", "evidence", "own_samples", "plan", "seed", "chunk_size")
"""Settings of votes: a run that tries every attack draws none."""


@dataclass(frozen=True)
class CertifiedRun:
    """What came out of a run."""

    archive: Archive  # the certificates, and what they are about
    base: tuple[int, ...]  # the base classifier's answer on each clean graph, or each of its targets
    fixed: tuple[int, ...]  # how many sites of each graph, or other object, lie in no region
    words: Words  # what rows and sites are called
    folder: Path  # the output folder

    @property
    def report(self) -> Path:
        """The page to show."""
        return self.folder / REPORT


def certify_run(
    settings: RunSettings,
    *,
    expected: Mapping[str, str] | None = None,
    note: Say = print,
    before: Say | None = None,
) -> CertifiedRun | ValueRun | ExactRun:
    """Certifies the graphs of a run and writes its output folder.

    A run that was interrupted goes on where it was: its votes are kept.

    Args:
        settings: what to certify, and how.
        expected: digests of what a repeated run was made from; others are refused.
        note: receives what a user may want to know on the way.
        before: receives, sentence by sentence, what is known before the first vote; None: nobody asks.
    """
    place = OutputFolder(settings.out)
    with place.held():
        inputs = read_inputs(settings)
        ready = tried_model(settings, inputs, [settings.noise], note)
        data, problem = ready.data, ready.problem
        if ready.base.values is not None:
            check_value_settings(settings, data.class_names)
        check_expected(ready.digests, expected or {})
        record = RunRecord(settings, ready.digests)
        place.begin(record)
        store, nodes = settings.store or place.kept / VOTES, ready.job.target_nodes
        about = _provenance(settings, ready)
        if ready.base.values is None:
            about[BLIND] = blind_row(settings, inputs, ready, place.blind_row(settings.store)).to_json()
        labels = None if not data.known else (data.labels if nodes is None else nodes.labels(data.labels)).tolist()
        decided = place.finished and settings.plan == "decided"  # then there are no votes to come
        if before is not None and settings.exact:
            before(exact_forecast(settings, ready))
        elif before is not None and not decided:
            for sentence in forecast_of(settings, ready, [store]):
                before(sentence)
        with voting_workers(ready.base, settings.model, settings.workers, note, ready.sent) as executor:
            if settings.exact:
                tried = certify_exactly(settings, ready, labels, place.kept / TRIED, executor, about)
                place.write_run_file(record)
                write_tried(place.kept, tried, problem, f"The plain model, exactly: {settings.data_title}")
                place.finish()
                return ExactRun(tried, place.final)
            if ready.base.values is not None:
                intervals = certify_values(settings, ready, labels, store, executor, about)
                place.write_run_file(record)
                write_values(place.kept, intervals, f"Certified intervals: {settings.data_title}")
                place.finish()
                return ValueRun(intervals, place.final)
            certificates = certified(settings, ready, problem, store=store, executor=executor)
        kept = Archive.from_result(
            certificates,
            names=row_names(certificates.objects.tolist(), certificates.nodes, data.names),
            labels=labels,
            class_names=data.class_names,
            settings=about,
        )
        place.write_run_file(record)
        archives.write(place.kept / CERTIFICATES, kept)
        write_whole(place.kept / RESULTS, csv_lines(kept.rows(ready.answers)))
        title = f"Robustness certificates: {settings.data_title}"
        write_report(place.kept / REPORT, kept, problem, title=title, base=ready.answers)
        place.finish()
        fixed = tuple(each.n_fixed for each in problem.sites)
        words = Words.of(problem.sites, nodes=kept.nodes is not None)
        return CertifiedRun(kept, ready.answers, fixed, words, place.final)


def tried_model(settings: RunSettings, inputs: RunInputs, noises: Sequence[Noise], note: Say) -> TriedModel:
    """The model of a run, tried on its graphs; notes what there is to know about data and weights."""
    for sentence in inputs.notes:
        note(sentence)
    ready = with_fallback(settings, inputs, try_model(settings, inputs))
    for sentence in other_noise(settings.weights, noises):
        note(sentence)
    return ready


def check_expected(digests: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Refuses to repeat a run from something else than it was made from."""
    changed = [name for name, content in expected.items() if digests.get(name) != content]
    if changed:
        raise StarcertError(
            f"This run repeats another, but not everything is as it was: {', '.join(changed)}. "
            "Bring it back, or take the table [expected] out of the run file to certify what is there now."
        )


def certified(
    settings: RunSettings,
    ready: TriedModel,
    problem: Problem,
    *,
    store: Path,
    executor: Executor | None,
    title: str = "votes",
) -> Certificates:
    """The certificates that the settings ask for, of a problem with the model of a run; labels are class numbers."""
    smoothed = SmoothedClassifier(ready.base, problem.noise, ready.rule, fallback=ready.fallback)
    return smoothed.certify(
        problem,
        samples=settings.samples,
        seed=settings.seed,
        alpha=settings.alpha,
        family=settings.family,
        threat=without_folders(settings.threat),
        evidence=settings.evidence and Evidence(settings.own_samples, settings.collective),
        voting=Voting(settings.selection_samples, settings.plan, store, executor, progress=title),
    ).numbered


def _provenance(settings: RunSettings, ready: TriedModel) -> dict[str, object]:
    """How the run was made, for its certificates: whatever their content depends on, but no place of any file."""
    of_nodes, word, digests = settings.targets == "nodes", ready.problem.kind.word, ready.digests
    values = {
        "model": str(settings.model),
        "classifier": digests["classifier"],
        "data": settings.data.name if isinstance(settings.data, Path) else str(settings.data),
        "edge_types": settings.edge_types,
        "split": settings.split,
        "split_seed": settings.split_seed,
        "splits": settings.splits and settings.splits.name,
        "fractions": settings.fractions,
        "node_sites": settings.node_sites,
        "limit": settings.limit,
        "objects": None if word == "graph" else f"{word}s",
        "targets": "nodes" if of_nodes else None,
        "nodes": settings.nodes,
        "outputs": None if settings.outputs is None else list(astuple(settings.outputs)),
        "regions": describe_rule(ready.rule),
        "noise": settings.noise.to_dict(),
        "samples": settings.samples,
        "selection_samples": settings.selection_samples,
        "evidence": settings.evidence or None,
        "own_samples": settings.max_own_votes if settings.evidence else None,
        "collective": settings.collective or None,
        "plan": None if settings.plan == "fixed" else settings.plan,
        "fallback": None if settings.fallback is None else str(settings.fallback),
        "threshold": settings.threshold,
        "threat": None if settings.threat is None else str(without_folders(settings.threat)),
        "seed": settings.seed,
        "chunk_size": ready.base.chunk_size,
        "backend": ready.base.backend,
        "exact": settings.exact or None,
        "max_attacks": settings.max_attacks if settings.exact else None,
        "digests": {name: content for name, content in digests.items() if name != "classifier"},
    }
    always = {"limit", "nodes"} if of_nodes else {"limit"}
    without = VOTED if settings.exact else ()
    return {key: value for key, value in values.items() if (value is not None or key in always) and key not in without}
