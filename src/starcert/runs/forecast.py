"""What can be said of a run before its first vote: how long it takes, what it can certify at all, and what is fixed."""

from __future__ import annotations

import time
from collections.abc import Iterator

from starcert.binding import Problem
from starcert.metrics import votes_needed
from starcert.report.findings import Words, counted, fixed_pairs
from starcert.runs.inputs import TriedModel, read_inputs, try_model
from starcert.runs.settings import RunSettings
from starcert.runs.trained_weights import other_noise
from starcert.smoothing import SmoothedClassifier
from starcert.system.output import duration
from starcert.system.processes import available_cores
from starcert.system.threads import one_thread

__all__ = ["forecast"]

MEASURED = 100
"""So many votes are counted to measure how long one takes."""


def forecast(settings: RunSettings) -> Iterator[str]:
    """What is known of a run before its first vote, sentence by sentence; nothing is written anywhere."""
    inputs = read_inputs(settings)
    yield from inputs.said
    ready = try_model(settings, inputs)
    yield from other_noise(settings.weights, [settings.noise])
    problem = ready.problem
    words = Words.of(problem.sites, nodes=settings.targets == "nodes")
    assert settings.selection_samples is not None  # settings fill it in
    each = settings.samples + settings.selection_samples
    workers = min(settings.workers, available_cores())
    seconds = _seconds_a_vote(settings, ready) * each * len(problem) / workers
    most = "at most " if settings.plan == "decided" else ""
    more = ", evidence not counted" if settings.evidence else ""
    yield (
        f"{counted(len(problem), words.whole)}, {most}{each:,} votes each: about {duration(seconds)} with "
        f"{counted(workers, 'worker')}{more}."
    )
    yield _needed(settings, problem, len(ready.data.class_names), len(ready.answers))
    for place, axis in enumerate(problem.noise.axes):
        empty = sum(capacity[place] == 0 for capacity in problem.capacities)
        if empty:
            yield f"Empty: {axis} has no sites in {empty:,} of {counted(len(problem), words.whole)}."
    if fixed := fixed_pairs([sites.n_fixed for sites in problem.sites], words):
        yield fixed


def _seconds_a_vote(settings: RunSettings, ready: TriedModel) -> float:
    """The mean time of a vote, on the smallest, the middle and the largest object; the first votes only warm up."""
    by_size = sorted(range(len(ready.problem)), key=lambda index: ready.problem.sites[index].n_sites)
    chosen = sorted({by_size[0], by_size[len(by_size) // 2], by_size[-1]})
    some = Problem(ready.problem.noise, tuple(ready.problem.sites[index] for index in chosen))
    smoothed = SmoothedClassifier(ready.base, settings.noise, ready.rule)
    with one_thread(ready.base.backend):
        smoothed.vote(some, samples=1, selection_samples=1, seed=settings.seed, progress=False)
        begun = time.perf_counter()
        smoothed.vote(some, samples=MEASURED, selection_samples=1, seed=settings.seed, progress=False)
    return (time.perf_counter() - begun) / (len(chosen) * (MEASURED + 1))


def _needed(settings: RunSettings, problem: Problem, n_classes: int, n_rows: int) -> str:
    together = n_rows if settings.family == "all" else 1
    needed = votes_needed(problem.noise, settings.alpha, n_classes, together=together)
    told = ", ".join(f"{axis} {'never' if votes is None else f'{votes:,}'}" for axis, votes in needed.items())
    short = [axis for axis, votes in needed.items() if votes is None or votes > settings.samples]
    enough = f"{settings.samples:,} samples are too few on {', '.join(short)}" if short else "There are enough samples"
    return f"Votes before one flip can be certified at all{' by p_A' * settings.evidence}: {told}. {enough}."
