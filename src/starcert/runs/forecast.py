"""What can be said of a run before its first vote: how long it takes, what it can certify at all, and what is fixed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from starcert.classifiers.base import named_classes
from starcert.counting import count_chunk
from starcert.errors import ClassifierError
from starcert.jobs import Chunk, Job, check_memory, fitting_batch_of
from starcert.metrics import votes_needed
from starcert.report.findings import Words, counted, fixed_pairs
from starcert.runs.inputs import TriedModel, read_inputs, try_model
from starcert.runs.settings import RunSettings
from starcert.runs.trained_weights import other_noise
from starcert.runs.user_code import useful_workers
from starcert.store import VoteStore
from starcert.store.file import target_file
from starcert.system.output import duration
from starcert.system.threads import one_thread

__all__ = ["forecast", "forecast_of", "forecast_of_levels"]

ENOUGH = 0.05
"""So many seconds of votes on an object tell how long one takes."""

SLOW = 1.0
"""A first vote that takes so many seconds is no warm-up: it is what a vote takes."""


def forecast(settings: RunSettings) -> Iterator[str]:
    """What is known of a run before its first vote, sentence by sentence; nothing is written anywhere."""
    inputs = read_inputs(settings)
    yield from inputs.said
    ready = try_model(settings, inputs)
    yield from other_noise(settings.weights, [settings.noise])
    yield from forecast_of(settings, ready)


def forecast_of(settings: RunSettings, ready: TriedModel, store: Path | None = None) -> Iterator[str]:
    """What is known of a run whose model was tried; nothing, if all its votes are in the store.

    Args:
        settings: those of the run.
        ready: what it votes with.
        store: where an earlier run kept its votes: they need not be drawn.
    """
    problem = ready.problem
    total, left = _votes(settings, ready), _votes_left(settings, ready, store)
    if not left:
        return
    words = Words.of(problem.sites, nodes=settings.targets == "nodes")
    yield from _classes(ready)
    most = _at_most(settings)
    attacked = ", those at attacked ones included" if _own(settings) else ""
    rest = f", {left:,} of all {total:,} still to be drawn" if left < total else ""
    each = f"{most}{total // len(problem):,} votes each{attacked}{rest}"
    yield f"{counted(len(problem), words.whole)}, {each}{_how_long(settings, ready, left)}."
    yield from _needed(settings, ready)
    for place, axis in enumerate(problem.noise.axes):
        empty = sum(capacity[place] == 0 for capacity in problem.capacities)
        if empty:
            yield f"Empty: {axis} has no sites in {empty:,} of {counted(len(problem), words.whole)}."
    if fixed := fixed_pairs([sites.n_fixed for sites in problem.sites], words):
        yield fixed


def forecast_of_levels(settings: RunSettings, ready: TriedModel, stores: Sequence[Path]) -> Iterator[str]:
    """What is known of a sweep before its first level, measured there; nothing, if all votes are in the stores."""
    total = _votes(settings, ready)
    left = sum(_votes_left(settings, ready, store) for store in stores)
    if not left:
        return
    yield from _classes(ready)
    most = _at_most(settings)
    rest = f", {left:,} of all {total * len(stores):,} still to be drawn" if left < total * len(stores) else ""
    each = f"{most}{total // len(ready.problem):,} votes each{rest}"
    graphs = f"{counted(len(stores), 'level')} on {counted(len(ready.problem), 'graph')}"
    yield f"{graphs}, {each}{_how_long(settings, ready, left)}."


def _classes(ready: TriedModel) -> Iterator[str]:
    """What the answers mean, where classes have names."""
    names = ready.data.class_names
    if names != tuple(map(str, range(len(names)))):
        yield f"Classes: {named_classes(names)}"


def _own(settings: RunSettings) -> int:
    """The most votes at attacked versions of an object, for each of its targets."""
    if not settings.evidence:
        return 0
    return settings.samples if settings.own_samples is None else settings.own_samples


def _votes(settings: RunSettings, ready: TriedModel) -> int:
    """The most votes that a run may draw."""
    assert settings.selection_samples is not None  # settings fill it in
    return (settings.samples + settings.selection_samples) * len(ready.problem) + _own(settings) * len(ready.answers)


def _votes_left(settings: RunSettings, ready: TriedModel, store: Path | None) -> int:
    """How many of them are not in a store yet; none, if those at attacked objects alone may be missing."""
    assert settings.selection_samples is not None
    wanted = {"selection": settings.selection_samples, "estimation": settings.samples}
    left = sum(wanted.values()) * len(ready.problem)
    if store is None or not (file := target_file(store)).exists() or not file.stat().st_size:
        return _votes(settings, ready)
    with VoteStore.read(file) as kept:
        for graph in range(min(len(kept.graphs), len(ready.problem))):
            left -= sum(min(n, sum(kept.done(graph, purpose).values())) for purpose, n in wanted.items())
    return left + _own(settings) * len(ready.answers) if left else 0


def _at_most(settings: RunSettings) -> str:
    """The words before a number of votes that need not all be drawn."""
    return "at most " if settings.plan == "decided" or _own(settings) else ""


def _how_long(settings: RunSettings, ready: TriedModel, n_votes: int) -> str:
    """How long so many votes take; "" where the classifier fails: the votes themselves will tell."""
    workers, _ = useful_workers(ready.base, settings.workers)
    try:
        seconds = _seconds_a_vote(settings, ready) * n_votes / workers
    except ClassifierError:
        return ""
    return f": {_at_most(settings)}about {duration(seconds)} with {counted(workers, 'worker')}"


def _seconds_a_vote(settings: RunSettings, ready: TriedModel) -> float:
    """The mean time of a vote, on the smallest, the middle and the largest object; no store is touched."""
    by_size = sorted(range(len(ready.problem)), key=lambda index: ready.problem.sites[index].n_sites)
    chosen = sorted({by_size[0], by_size[len(by_size) // 2], by_size[-1]})
    job = Job(ready.base, ready.problem, settings.seed, ready.base.chunk_size)
    check_memory(job)
    with one_thread(ready.base.backend):
        times = [_seconds_on(job, graph, min(settings.samples, job.chunk_size)) for graph in chosen]
    return sum(times) / len(times)


def _seconds_on(job: Job, graph: int, most: int) -> float:
    """The time of a vote on one object, in batches as the run will have them; the first vote warms up.

    Two numbers of votes, as many as there is time for, tell what a vote takes and what a batch takes beside them.
    """

    def taken(n_votes: int) -> float:
        begun = time.perf_counter()
        count_chunk(job.classifier, job.sites[graph], job, Chunk(graph, "estimation", 0, n_votes))
        return time.perf_counter() - begun

    if (slow := taken(1)) >= SLOW or most == 1:
        return slow
    few, many = 1, min(2, most)
    before, now = taken(few), taken(many)
    while now < ENOUGH and many < most:
        few, before, many = many, now, min(4 * many, most)
        now = taken(many)
    a_vote = max(0.0, (now - before) / (many - few))
    return a_vote + max(0.0, now - many * a_vote) / max(many, min(most, fitting_batch_of(job, job.sites[graph])))


def _needed(settings: RunSettings, ready: TriedModel) -> Iterator[str]:
    """How many votes one flip needs on each axis where there is something to flip: what the certificates will say."""
    needed = votes_needed(
        ready.problem.noise,
        settings.alpha,
        len(ready.data.class_names),
        together=len(ready.answers) if settings.family == "all" else 1,
        evidence=settings.evidence,
        plan=settings.plan,
    )
    asked = settings.max_radius or (1,) * len(needed)
    sizes = zip(*ready.problem.capacities, strict=True)
    needed = {
        axis: votes
        for (axis, votes), most, of_graphs in zip(needed.items(), asked, sizes, strict=True)
        if most and max(of_graphs)
    }
    if not needed:
        return
    told = ", ".join(f"{axis} {'never' if votes is None else f'{votes:,}'}" for axis, votes in needed.items())
    short = [axis for axis, votes in needed.items() if votes is None or votes > settings.samples]
    enough = f"{settings.samples:,} samples are too few on {', '.join(short)}" if short else "There are enough samples"
    yield f"Votes before one flip can be certified at all{' by p_A' * settings.evidence}: {told}. {enough}."
