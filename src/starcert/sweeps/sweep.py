"""A sweep from its settings to its output folder: load, vote level by level, measure, write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from starcert.certificate import Certificates
from starcert.errors import StarcertError, StoreSettingsError
from starcert.noise import Noise
from starcert.runs.grid import noise_text
from starcert.runs.models import asks_for
from starcert.runs.output import RUN, Output
from starcert.runs.prepare import Material, Prepared, check_expected, gather, prepare
from starcert.runs.workers import pool
from starcert.smoothing import SmoothedClassifier
from starcert.sweeps import results
from starcert.sweeps.measures import measured, outcome_of
from starcert.sweeps.result import Sweep
from starcert.sweeps.run_file import noise_there, text_for
from starcert.sweeps.settings import SweepSettings
from starcert.system.files import write_whole

__all__ = ["PAGE", "TABLE", "VOTES", "execute"]

TABLE, PAGE, VOTES = "sweep.csv", "sweep.html", "votes"


def execute(
    settings: SweepSettings, *, expected: Mapping[str, str] | None = None, note: Callable[[str], None] = print
) -> Sweep:
    """Tries every noise level of a grid on the graphs of a run, and writes the output folder.

    A sweep that was interrupted goes on where it was: its votes are kept, one file for each level. A model function
    with a parameter `noise` is called for each level, and again when a sweep goes on: it must return the same model.

    Args:
        settings: what to try, and on what.
        expected: digests of what the sweep shall be made from; others are refused.
        note: is told what a user may want to know on the way.
    """
    place = Output(settings.run.out)
    place.check_place()
    material, n_unlabelled = _labelled(gather(settings.run))
    one_model = not asks_for(settings.run.model, "noise")
    first = prepare(settings.run, material)
    # Graphs, regions and classifier are checked by the files of votes; a certification may go on from this run file
    # with other graphs.
    digests = {"model": settings.run.model.digest}
    check_expected(digests, {name: each for name, each in (expected or {}).items() if name in digests})
    place.begin(replace(settings.run, noise=noise_there(place, settings)), digests, settings.grid)
    outcomes, anchored = [], dict[str, None]()
    for certificates, ready in _levels(settings, material, first, one_model, place, note):
        assert ready.data.labels is not None
        truth = [label for label in ready.data.labels if label is not None]
        problem = ready.problem.under(certificates.noise)
        outcomes.append(outcome_of(certificates, truth, ready.answers, problem.capacities))
        anchored |= dict.fromkeys(reason for reason in problem.anchored if reason)
    classes, counts = np.unique(outcomes[0].truth, return_counts=True)
    sweep = Sweep(
        settings=settings,
        levels=measured(outcomes),
        class_names=first.data.class_names,
        majority=int(classes[counts.argmax()]),
        n_unlabelled=n_unlabelled,
        anchored=tuple(anchored),
        one_model=one_model,
        folder=place.final,
    )
    write_whole(place.kept / RUN, [text_for(sweep, digests)])
    write_whole(place.kept / TABLE, results.lines(sweep))
    _write_page(place.kept / PAGE, sweep)
    place.finish()
    return sweep


def _labelled(material: Material) -> tuple[Material, int]:
    """The graphs whose class is known, and how many others there are."""
    chosen = material.chosen
    known = [number for number, label in enumerate(chosen.labels or ()) if label is not None]
    if not known:
        raise StarcertError(
            "A sweep weighs certified radii against accuracy, but no class of these graphs is known. Give data with "
            "classes; for graph files that is labels.csv with the columns name and label."
        )
    return replace(material, chosen=chosen.select(known)), len(chosen) - len(known)


def _levels(
    settings: SweepSettings,
    material: Material,
    first: Prepared,
    one_model: bool,
    place: Output,
    note: Callable[[str], None],
) -> Iterator[tuple[Certificates, Prepared]]:
    """The certificates of every level, and what they were made with."""
    once = cache(note)  # what is true of one level need not be said for the next
    folder = place.kept / VOTES
    folder.mkdir(exist_ok=True)
    digits = len(str(len(settings.levels)))
    with ExitStack() as resources:
        ready, executor = first, None
        for number, noise in enumerate(settings.levels, start=1):
            if number > 1 and not one_model:
                ready = prepare(replace(settings.run, noise=noise), material, first.problem)
            if number == 1 or not one_model:
                resources.close()  # the workers of the last model
                executor = resources.enter_context(
                    pool(ready.base, settings.run.model.file, settings.run.workers, once)
                )
            store = folder / f"level-{number:0{digits}d}.db"
            title = f"level {number} of {len(settings.levels)}: {noise_text(noise)}"
            try:
                found = _certify(settings, noise, ready, store, executor, title)
            except StoreSettingsError as error:
                differences = "; ".join(error.differences[:5])
                advice = f"Give another --out, or remove {store.parents[1]} first."
                raise StarcertError(f"{store}: holds votes of another sweep ({differences}). {advice}") from error
            yield found, ready


def _certify(
    settings: SweepSettings, noise: Noise, ready: Prepared, store: Path, executor: Executor | None, title: str
) -> Certificates:
    run = settings.run
    return SmoothedClassifier(ready.base, noise, ready.rule).certify(
        ready.problem.under(noise),
        samples=run.samples,
        selection_samples=run.selection_samples,
        alpha=run.alpha,
        family=run.family,
        seed=settings.seed,
        max_radius=run.max_radius,
        store=store,
        executor=executor,
        title=title,
    )


def _write_page(path: Path, sweep: Sweep) -> None:
    from starcert.sweeps.page import write_page  # noqa: PLC0415  (drawing takes its time to load)

    write_page(path, sweep)
