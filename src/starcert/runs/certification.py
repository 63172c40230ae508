"""A certification from its settings to its output folder: load, try, certify by a method, write; and sweeps of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from starcert.archive import BLIND, Archive, write
from starcert.claims.certificates import Certificates
from starcert.objects.noise import Noise
from starcert.report.blocks import Report
from starcert.report.document import write_page
from starcert.runs.blind_run import blind_row, with_fallback
from starcert.runs.folder import OutputFolder, RunRecord, plain_value
from starcert.runs.forecast import forecast_of
from starcert.runs.grid import SweepSettings, noise_text
from starcert.runs.inputs import WHERE_CLASSES_ARE, RunInputs, TriedModel, describe_rule, read_inputs, try_model
from starcert.runs.models import other_noise
from starcert.runs.run_file import CERTIFICATES, REPORT, RESULTS
from starcert.runs.run_methods import RunMethod, certified, method_of
from starcert.runs.settings import SETTINGS, RunSettings
from starcert.runs.sweep_levels import SweepResult, measure_level
from starcert.runs.sweep_report import PAGE, TABLE, sweep_report, sweep_rows, tie_sentence
from starcert.runs.user_code import voting_workers
from starcert.system.errors import InvalidParameterError, StarcertError, StoreSettingsError
from starcert.system.files import write_whole
from starcert.system.output import csv_lines, duration
from starcert.voting.store.file import target_file

Say = Callable[[str], None]  # receives a sentence


@dataclass(frozen=True)
class FinishedRun:
    """The result of a run."""

    archive: Archive
    found: Report  # what it shows
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
) -> FinishedRun:
    """Certifies the graphs of a run and writes its output folder.

    A run that was interrupted goes on where it was: its votes are kept.

    Args:
        settings: what to certify, and how.
        expected: digests of what a repeated run was made from; others are refused.
        note: receives what a user may want to know on the way.
        before: receives, sentence by sentence, what is known before the first vote; None: not reported.
    """
    place = OutputFolder(settings.out)
    with place.held():
        inputs = read_inputs(settings)
        ready = tried_model(settings, inputs, [settings.noise], note)
        method = _checked_method(ready)
        check_expected(ready.digests, expected or {})
        record = RunRecord(settings, ready.digests)
        place.begin(record)
        about = _provenance(ready, method)
        if method.blind:
            about[BLIND] = blind_row(inputs, ready, place.blind_row(settings.store)).to_json()
        if settings.store is not None:
            target_file(settings.store)  # a folder that is missing is reported before the forecast
        if before is not None and not place.finished:
            for sentence in method.forecast(ready, dry=False):
                before(sentence)
        with voting_workers(ready.base, settings.model, settings.workers, note, ready.sent) as executor:
            archive = method.certify(ready, place, executor, about)
        place.write_run_file(record)
        write(place.kept / CERTIFICATES, archive)
        write_whole(place.kept / RESULTS, csv_lines(method.rows(archive, ready)))
        found = method.report(archive, ready, f"{method.title}: {settings.data_title}")
        write_page(place.kept / REPORT, found)
        place.finish()
    return FinishedRun(archive, found, place.final)


def forecast(settings: RunSettings) -> Iterator[str]:
    """The forecast of a run before it begins, sentence by sentence; nothing is written anywhere."""
    inputs = read_inputs(settings)
    yield from inputs.notes
    ready = try_model(settings, inputs)
    yield from other_noise(settings.weights, [settings.noise])
    yield from _checked_method(ready).forecast(ready, dry=True)


def _checked_method(ready: TriedModel) -> RunMethod:
    """The method that the settings ask for, which accepts them."""
    method = method_of(ready)
    method.check(ready)
    return method


def tried_model(settings: RunSettings, inputs: RunInputs, noises: Sequence[Noise], note: Say) -> TriedModel:
    """The model of a run, tried on its graphs; notes what there is to know about data and weights."""
    for sentence in inputs.notes:
        note(sentence)
    ready = with_fallback(inputs, try_model(settings, inputs))
    for sentence in other_noise(settings.weights, noises):
        note(sentence)
    return ready


def check_expected(digests: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Refuses to repeat a run from something else than it was made from."""
    changed = [name for name, content in expected.items() if digests.get(name) != content]
    if changed:
        raise StarcertError(
            f"Changed since this run was recorded: {', '.join(changed)}. Restore it, or delete [expected] in the run "
            "file to certify what is there now."
        )


def _provenance(ready: TriedModel, method: RunMethod) -> dict[str, object]:
    """The provenance of the run's certificates: whatever their content depends on, but no place of any file."""
    settings = ready.settings
    word, always = ready.problem.kind.word, {"limit", "nodes"} if settings.targets == "nodes" else {"limit"}
    used: dict[str, object] = {
        "noise": settings.noise.to_dict(),
        "own_samples": settings.max_own_votes if settings.evidence else None,
        "max_attacks": settings.max_attacks if settings.exact else None,
    }
    beside: dict[str, dict[str, object]] = {
        "model": {"classifier": ready.digests["classifier"]},
        "limit": {"objects": None if word == "graph" else f"{word}s"},
        "regions": {"regions": describe_rule(ready.rule)},
        "seed": {"chunk_size": ready.base.chunk_size, "backend": ready.base.backend},
    }
    found: dict[str, object] = {}
    for key, each in SETTINGS.items():
        if each.recorded:
            value = plain_value(getattr(settings, key), lambda file: file.name)
            found[key] = used.get(key, None if each.implied and value == each.default else value)
        found |= beside.get(key, {})
    found["digests"] = {name: content for name, content in ready.digests.items() if name != "classifier"}
    said = {key: each for key, each in found.items() if each is not None or key in always}
    return {key: each for key, each in said.items() if key not in method.unused}


_ONE_BY_ONE = "Certify at one level after the other: starcert certify run.toml --noise …"


def run_sweep(
    settings: SweepSettings, *, expected: Mapping[str, str] | None = None, note: Say = print, before: Say | None = None
) -> SweepResult:
    """Tries every noise level of a grid on the graphs of a run, and writes the output folder.

    A sweep that was interrupted goes on where it was: its votes are kept, one file for each level. A model function
    with a parameter `noise` is called for each level, and again when a sweep goes on: it must return the same model.
    Arguments as in `certify_run`.
    """
    if settings.run.outputs is not None:
        raise InvalidParameterError("outputs", f"has no sweep, which compares accuracies. {_ONE_BY_ONE}")
    if settings.run.targets == "nodes":
        raise InvalidParameterError("targets", "be graphs in a sweep", "nodes", _ONE_BY_ONE)
    place = OutputFolder(settings.run.out)
    with place.held():
        inputs = read_inputs(settings.run)
        n_chosen = len(inputs.chosen)
        inputs = replace(inputs, chosen=inputs.chosen.labelled)
        if not len(inputs.chosen):
            unknown = "A sweep weighs certified radii against accuracy, but no class of these graphs is known."
            raise StarcertError(f"{unknown} Give data with classes. {WHERE_CLASSES_ARE}")
        one_model = not settings.run.model.asks_for("noise")
        first = tried_model(settings.run, inputs, settings.levels, note)
        # Graphs, regions and classifier are checked by the files of votes; a certification may go on from this run file
        # with other graphs.
        digests = {"model": settings.run.model.digest}
        check_expected(digests, {name: each for name, each in (expected or {}).items() if name in digests})
        certifying = dict(settings.certifying) | ({} if settings.run.split == "all" else {"split": "test"})
        record = RunRecord(settings.run, digests, settings.grid, certifying)
        place.begin(record)
        folder, n_levels = place.kept / "votes", len(settings.levels)
        folder.mkdir(exist_ok=True)
        stores = [folder / f"level-{number + 1:0{len(str(n_levels))}d}.db" for number in range(n_levels)]
        blind = blind_row(inputs, first, place.blind_row(None))
        if before is not None and not place.finished:
            for sentence in forecast_of(first, n_levels):  # each as soon as it is known
                before(sentence)
        levels, anchored = [], dict[str, None]()
        for certificates, ready in _levels(settings, inputs, first, one_model, stores, note):
            problem, truth = ready.problem.under(certificates.noise), ready.data.known
            measures = partial(measure_level, certificates, truth, ready.answers, problem.capacities)
            levels.append(measures(threat=settings.run.threat, counted=settings.counted, blind=blind.answers))
            anchored |= dict.fromkeys(reason for reason in problem.anchored if reason)
        classes, counts = np.unique(truth, return_counts=True)
        sweep = SweepResult(
            settings=settings,
            levels=tuple(levels),
            class_names=first.data.class_names,
            majority=int(classes[counts.argmax()]),
            n_unlabelled=n_chosen - len(inputs.chosen),
            anchored=tuple(anchored),
            one_model=one_model,
            folder=place.final,
            drawn=inputs.drawn,
            blind=blind,
        )
        _write_run_file(place, sweep, record)
        write_whole(place.kept / TABLE, csv_lines(sweep_rows(sweep)))
        write_page(place.kept / PAGE, sweep_report(sweep))
        place.finish()
        return sweep


def _levels(
    settings: SweepSettings, inputs: RunInputs, first: TriedModel, one_model: bool, stores: Sequence[Path], note: Say
) -> Iterator[tuple[Certificates, TriedModel]]:
    """The certificates of every level, and what they were made with."""
    once = cache(note)  # what is true of one level is not repeated for the next
    run = settings.run.changed(seed=settings.seed)
    with ExitStack() as resources:
        ready, executor, begun = first, None, time.monotonic()
        for number, (noise, store) in enumerate(zip(settings.levels, stores, strict=True), start=1):
            if number > 1 and not one_model:
                ready = try_model(settings.run.changed(noise=noise), inputs, first.problem)
                ready = replace(ready, fallback=first.fallback)
            if number == 1 or not one_model:
                resources.close()  # the workers of the last model
                workers = voting_workers(ready.base, settings.run.model, settings.run.workers, once, ready.sent)
                executor = resources.enter_context(workers)
            left = (len(stores) - number + 1) * (time.monotonic() - begun) / max(1, number - 1)
            whole = f" (all levels: about {duration(left)} left)" if number > 1 else ""
            title = f"level {number} of {len(stores)}{whole}: {noise_text(noise)}"
            problem = ready.problem.under(noise)
            try:
                found = certified(replace(ready, settings=run), problem, store=store, executor=executor, title=title)
            except StoreSettingsError as error:
                differences = "; ".join(error.differences[:5])
                advice = f"Give another --out, or remove {store.parents[1]} first."
                raise StarcertError(f"{store}: holds votes of another sweep ({differences}). {advice}") from error
            yield found, ready


def _write_run_file(place: OutputFolder, sweep: SweepResult, record: RunRecord) -> None:
    """Writes the run file of a finished sweep: `starcert sweep` repeats it, `starcert certify` does what it advises.

    Its noise is the suggested level's, or else the user's own.
    """
    settings = sweep.settings
    noise = settings.own_noise if sweep.suggested is None else sweep.levels[sweep.suggested].noise
    whose = "your own: no level is suggested" if sweep.suggested is None else f"that of level {sweep.suggested + 1}"
    about = f"starcert certify takes this file too, without its table sweep: the noise is {whose}."
    comments = [about, *filter(None, [tie_sentence(sweep)])]
    place.write_run_file(replace(record, settings=settings.run.changed(noise=noise), comments=comments))
