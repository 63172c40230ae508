"""A sweep from its settings to its output folder: load, vote level by level, measure, write."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from starcert.certificates.certify import Certificates
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.objects.noise import Noise
from starcert.runs.forecast import forecast_of_levels
from starcert.runs.grid import Grid, noise_text
from starcert.runs.inputs import RunInputs, TriedModel, check_expected, read_inputs, try_model
from starcert.runs.models import asks_for
from starcert.runs.output_folder import RUN, OutputFolder
from starcert.runs.run_file import RunFile, read_run_file
from starcert.runs.settings import SWEEP_SAMPLES, run_settings
from starcert.runs.sweep_goal import ACCURACY, Goal, marks_of
from starcert.runs.sweep_levels import measure_levels, outcome_of
from starcert.runs.sweep_page import write_sweep_page
from starcert.runs.sweep_result import SweepResult, SweepSettings, sweep_rows, tie_sentence
from starcert.runs.trained_weights import other_noise
from starcert.runs.user_code import voting_workers
from starcert.system.errors import InvalidParameterError, StarcertError, StoreSettingsError
from starcert.system.files import write_whole
from starcert.system.output import csv_lines, duration

__all__ = ["PAGE", "TABLE", "VOTES", "run_sweep", "sweep_settings"]

TABLE, PAGE, VOTES = "sweep.csv", "sweep.html", "votes"

_CERTIFYING_ALONE = ("samples", "selection_samples", "own_samples", "store", "out")
"""What a run file says for `starcert certify` alone, unless it says it in its table [sweep]."""


def sweep_settings(
    file: RunFile, options: Mapping[str, object], grid: Grid | None, best: str | None = None
) -> SweepSettings:
    """The settings of a sweep from a run file and from options, which override it.

    How many samples there are, where the output goes and which part of the data is used, the file says in its table
    [sweep]: what it says elsewhere is for certifying. Data that are divided there, or have parts of their own, are
    divided here, and of them the validation part is used.

    Args:
        file: what the run file says.
        options: further settings by their keys, checked.
        grid: the noise levels; None: those of the file.
        best: what the best level has most of; None: as the file says, if it does.
    """
    grid = grid or file.grid
    if grid is None:
        hint = "For example --grid motif=0.02,0.05,0.1,random=0.2,0.45, or a table [sweep.grid] in a run file."
        raise InvalidParameterError("grid", "be given", None, hint)
    noise = options.get("noise", file.values.get("noise"))
    levels = grid.levels(noise if isinstance(noise, Noise) else None)
    chosen = options.get("split", file.sweep.get("split"))
    if chosen == "test":
        hint = "Levels that are chosen on the graphs they are then judged on look better than they are: use validation."
        raise InvalidParameterError("split", "leave the test part to certification", chosen, hint)
    divided = file.values.get("split", "all") != "all"
    shared = {key: value for key, value in file.values.items() if key not in _CERTIFYING_ALONE}
    values = {**shared, "samples": SWEEP_SAMPLES, "out": file.folder / "sweep", **file.sweep}
    if options.get("evidence", shared.get("evidence", False)):
        values = {"own_samples": 0, **values}
    part = chosen or ("validation" if divided else "all")
    run = run_settings(values, {**options, "noise": levels[0], "split": part})
    has_parts = run.splits is not None or "part" in (run.columns or {})
    if (
        chosen is None
        and not divided
        and (has_parts or any(asks_for(run.model, part) for part in ("train", "validation")))
    ):
        run = replace(run, split="validation")
    own = noise if isinstance(noise, Noise) and noise.axes == levels[0].axes else levels[0]
    certifying = ("samples", "selection_samples", "own_samples", "limit")
    kept = {key: file.values[key] for key in certifying if key in file.values}
    named = "sweep.best" if best is None else "--best"
    wanted = file.best if best is None else best
    goal = Goal.parse(wanted, levels[0], run.max_radius, named) if wanted or best is not None else None
    return SweepSettings(run, grid, own, kept, goal)


def run_sweep(
    settings: SweepSettings,
    *,
    expected: Mapping[str, str] | None = None,
    note: Callable[[str], None] = print,
    before: Callable[..., None] | None = None,
) -> SweepResult:
    """Tries every noise level of a grid on the graphs of a run, and writes the output folder.

    A sweep that was interrupted goes on where it was: its votes are kept, one file for each level. A model function
    with a parameter `noise` is called for each level, and again when a sweep goes on: it must return the same model.

    Args:
        settings: what to try, and on what.
        expected: digests of what the sweep shall be made from; others are refused.
        note: is told what a user may want to know on the way.
        before: is told, in several sentences, what is known before the first vote; None: nobody asks, nothing is
            measured.
    """
    if settings.run.targets == "nodes":
        hint = "Certify the nodes at one level after the other: starcert certify run.toml --noise …"
        raise InvalidParameterError("targets", "be graphs in a sweep", "nodes", hint)
    place = OutputFolder(settings.run.out)
    place.check_place()
    with place.held():
        return _swept(settings, place, expected or {}, note, before)


def _swept(
    settings: SweepSettings,
    place: OutputFolder,
    expected: Mapping[str, str],
    note: Callable[[str], None],
    before: Callable[..., None] | None,
) -> SweepResult:
    inputs, n_unlabelled = _labelled(read_inputs(settings.run))
    for sentence in inputs.said:
        note(sentence)
    one_model = not asks_for(settings.run.model, "noise")
    first = try_model(settings.run, inputs)
    for sentence in other_noise(settings.run.weights, settings.levels):
        note(sentence)
    # Graphs, regions and classifier are checked by the files of votes; a certification may go on from this run file
    # with other graphs.
    digests = {"model": settings.run.model.digest}
    check_expected(digests, {name: each for name, each in expected.items() if name in digests})
    certifying = dict(settings.certifying) | ({} if settings.run.split == "all" else {"split": "test"})
    begun = replace(settings.run, noise=_noise_there(place, settings))
    place.begin(begun, digests, settings.grid, _said(settings), certifying)
    stores = _stores(place, settings)
    if before is not None and not (place.finished and settings.run.plan == "decided"):  # then all was decided
        for sentence in forecast_of_levels(settings.run, first, stores):  # each as soon as it is known
            before(sentence)
    outcomes, marks, anchored = [], [], dict[str, None]()
    for certificates, ready in _levels(settings, inputs, first, one_model, stores, note):
        assert ready.data.labels is not None
        truth = [label for label in ready.data.labels if label is not None]
        problem = ready.problem.under(certificates.noise)
        outcomes.append(outcome_of(certificates, truth, ready.answers, problem.capacities, settings.most_flips))
        marks.append(marks_of(settings.goal or ACCURACY, certificates, outcomes[-1]))
        anchored |= dict.fromkeys(reason for reason in problem.anchored if reason)
    classes, counts = np.unique(outcomes[0].truth, return_counts=True)
    sweep = SweepResult(
        settings=settings,
        levels=measure_levels(outcomes),
        class_names=first.data.class_names,
        majority=int(classes[counts.argmax()]),
        n_unlabelled=n_unlabelled,
        anchored=tuple(anchored),
        one_model=one_model,
        folder=place.final,
        marks=tuple(marks),
        drawn=inputs.drawn,
    )
    _write_run_file(place, sweep, digests, certifying)
    write_whole(place.kept / TABLE, csv_lines(sweep_rows(sweep)))
    write_sweep_page(place.kept / PAGE, sweep)
    place.finish()
    return sweep


def _labelled(inputs: RunInputs) -> tuple[RunInputs, int]:
    """The graphs whose class is known, and how many others there are."""
    chosen = inputs.chosen
    known = [number for number, label in enumerate(chosen.labels or ()) if label is not None]
    if not known:
        raise StarcertError(
            "A sweep weighs certified radii against accuracy, but no class of these graphs is known. Give data with "
            "classes; for graph files that is labels.csv with the columns name and label, in a table of molecules the "
            "column label, or --columns label=COLUMN."
        )
    return replace(inputs, chosen=chosen.select(known)), len(chosen) - len(known)


def _levels(
    settings: SweepSettings,
    inputs: RunInputs,
    first: TriedModel,
    one_model: bool,
    stores: Sequence[Path],
    note: Callable[[str], None],
) -> Iterator[tuple[Certificates, TriedModel]]:
    """The certificates of every level, and what they were made with."""
    once = cache(note)  # what is true of one level need not be said for the next
    with ExitStack() as resources:
        ready, executor, begun = first, None, time.monotonic()
        for number, (noise, store) in enumerate(zip(settings.levels, stores, strict=True), start=1):
            if number > 1 and not one_model:
                ready = try_model(replace(settings.run, noise=noise), inputs, first.problem)
            if number == 1 or not one_model:
                resources.close()  # the workers of the last model
                executor = resources.enter_context(
                    voting_workers(ready.base, settings.run.model.file, settings.run.workers, once)
                )
            left = (len(settings.levels) - number + 1) * (time.monotonic() - begun) / max(1, number - 1)
            whole = f" (all levels: about {duration(left)} left)" if number > 1 else ""
            title = f"level {number} of {len(settings.levels)}{whole}: {noise_text(noise)}"
            try:
                found = _certify(settings, noise, ready, store, executor, title)
            except StoreSettingsError as error:
                differences = "; ".join(error.differences[:5])
                advice = f"Give another --out, or remove {store.parents[1]} first."
                raise StarcertError(f"{store}: holds votes of another sweep ({differences}). {advice}") from error
            yield found, ready


def _stores(place: OutputFolder, settings: SweepSettings) -> list[Path]:
    """The file of votes of each level, in a folder that is made for them."""
    folder, n_levels = place.kept / VOTES, len(settings.levels)
    folder.mkdir(exist_ok=True)
    return [folder / f"level-{number:0{len(str(n_levels))}d}.db" for number in range(1, n_levels + 1)]


def _certify(
    settings: SweepSettings, noise: Noise, ready: TriedModel, store: Path, executor: Executor | None, title: str
) -> Certificates:
    smoothed = SmoothedClassifier(ready.base, noise, ready.rule)
    problem = ready.problem.under(noise)
    return settings.run.certify(smoothed, problem, seed=settings.seed, store=store, executor=executor, title=title)


def _write_run_file(
    place: OutputFolder, sweep: SweepResult, digests: Mapping[str, str], certifying: Mapping[str, object]
) -> None:
    """Writes the run file of a finished sweep: `starcert sweep` repeats it, `starcert certify` does what it advises.

    Its noise is the suggested level's, or else the user's own. Samples and limit outside the table [sweep] are those
    that the user certifies with; where the data are divided, the part is the one that no sweep has seen.
    """
    settings = sweep.settings
    noise = settings.own_noise if sweep.suggested is None else sweep.levels[sweep.suggested].noise
    whose = "your own: no level is suggested" if sweep.suggested is None else f"that of level {sweep.suggested + 1}"
    about = f"starcert certify takes this file too, without its table sweep: the noise is {whose}."
    told = [about, *filter(None, [tie_sentence(sweep)])]
    run = replace(settings.run, noise=noise)
    place.write_run_file(run, digests, settings.grid, _said(settings), certifying, told)


def _said(settings: SweepSettings) -> str:
    return "" if settings.goal is None else str(settings.goal)


def _noise_there(place: OutputFolder, settings: SweepSettings) -> Noise:
    """The noise that the run file of this sweep has, where the folder holds one: any that gives the same levels.

    A sweep that is run again does not know yet what the finished one suggested.
    """
    for folder in (place.final, place.partial):
        try:
            noise = read_run_file(folder / RUN).values.get("noise")
            if isinstance(noise, Noise) and settings.grid.levels(noise) == settings.levels:
                return noise
        except StarcertError:  # there is none, or none that this sweep could go on from, as is said elsewhere
            continue
    return settings.run.noise
