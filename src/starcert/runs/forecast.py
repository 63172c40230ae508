"""What can be said of a run before its first vote: how long it takes, what it can certify at all, and what is fixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from starcert.certificates.metrics import votes_needed
from starcert.classifiers.base import named_classes
from starcert.pages.findings import Words, counted, fixed_pairs
from starcert.runs.inputs import TriedModel, read_inputs, try_model
from starcert.runs.run_time import RunWork, measure_run, seconds_of_run
from starcert.runs.settings import RunSettings
from starcert.runs.trained_weights import other_noise
from starcert.runs.user_code import useful_workers
from starcert.system.errors import ClassifierError
from starcert.system.output import duration_range
from starcert.voting.jobs import Job
from starcert.voting.plans import default_selection
from starcert.voting.store import VoteStore
from starcert.voting.store.file import target_file

__all__ = ["forecast", "forecast_of", "forecast_of_levels"]


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
    work = _work_left(settings, ready, [store])
    if work is None:
        return
    total, left = _votes(settings, ready), work.votes[1] + work.own
    words = Words.of(problem.sites, nodes=settings.targets == "nodes")
    yield from _classes(ready)
    most = _at_most(settings)
    attacked = ", those at attacked ones included" if _own(settings) else ""
    rest = f", {left:,} of all {total:,} still to be drawn" if left < total else ""
    each = f"{most}{total // len(problem):,} votes each{attacked}{rest}"
    yield f"{counted(len(problem), words.whole)}, {each}{_how_long(settings, ready, work)}."
    yield from _needed(settings, ready)
    for place, axis in enumerate(problem.noise.axes):
        empty = sum(capacity[place] == 0 for capacity in problem.capacities)
        if empty:
            yield f"Empty: {axis} has no sites in {empty:,} of {counted(len(problem), words.whole)}."
    if fixed := fixed_pairs([sites.n_fixed for sites in problem.sites], words):
        yield fixed


def forecast_of_levels(settings: RunSettings, ready: TriedModel, stores: Sequence[Path]) -> Iterator[str]:
    """What is known of a sweep before its first level, measured there; nothing, if all votes are in the stores."""
    work = _work_left(settings, ready, stores)
    if work is None:
        return
    total, left = _votes(settings, ready) * len(stores), work.votes[1] + work.own
    yield from _classes(ready)
    most = _at_most(settings)
    rest = f", {left:,} of all {total:,} still to be drawn" if left < total else ""
    each = f"{most}{_votes(settings, ready) // len(ready.problem):,} votes each{rest}"
    graphs = f"{counted(len(stores), 'level')} on {counted(len(ready.problem), 'graph')}"
    yield f"{graphs}, {each}{_how_long(settings, ready, work)}."


def _classes(ready: TriedModel) -> Iterator[str]:
    """What the answers mean, where classes have names."""
    names = ready.data.class_names
    if names != tuple(map(str, range(len(names)))):
        yield f"Classes: {named_classes(names)}"


def _own(settings: RunSettings) -> int:
    """The most votes at attacked versions of an object; its targets share them."""
    if not settings.evidence:
        return 0
    return settings.samples if settings.own_samples is None else settings.own_samples


def _votes(settings: RunSettings, ready: TriedModel) -> int:
    """The most votes that a run may draw."""
    return (settings.samples + _selection(settings) + _own(settings)) * len(ready.problem)


def _selection(settings: RunSettings) -> int:
    """The most selection votes on each object."""
    return settings.selection_samples or default_selection(settings.samples)


def _work_left(settings: RunSettings, ready: TriedModel, stores: Sequence[Path | None]) -> RunWork | None:
    """What is left to do of a run, or of the levels of a sweep, each with its store; None: nothing is.

    Nothing is left of a level if votes at attacked objects alone may be missing.
    """
    begun = [left for store in stores if any(left := _clean_votes_left(settings, ready, store))]
    if not begun:
        return None
    selection, estimation = map(sum, zip(*begun, strict=True))
    workers, _ = useful_workers(ready.base, settings.workers)
    return RunWork(
        tuple(each.n_sites for each in ready.problem.sites),
        (selection if settings.plan == "decided" else selection + estimation, selection + estimation),
        _own(settings) * len(ready.problem) * len(begun),
        len(ready.answers) * len(begun),
        settings.samples,
        workers,
    )


def _clean_votes_left(settings: RunSettings, ready: TriedModel, store: Path | None) -> tuple[int, int]:
    """How many selection and estimation votes on the objects themselves are not in a store yet."""
    wanted = {"selection": _selection(settings), "estimation": settings.samples}
    left = {purpose: n * len(ready.problem) for purpose, n in wanted.items()}
    if store is not None and (file := target_file(store)).exists() and file.stat().st_size:
        with VoteStore.read(file) as kept:
            for graph in range(min(len(kept.graphs), len(ready.problem))):
                for purpose, n in wanted.items():
                    left[purpose] -= min(n, sum(kept.done(graph, purpose).values()))
    return left["selection"], left["estimation"]


def _at_most(settings: RunSettings) -> str:
    """The words before a number of votes that need not all be drawn."""
    return "at most " if settings.plan == "decided" or _own(settings) else ""


def _how_long(settings: RunSettings, ready: TriedModel, work: RunWork) -> str:
    """How long the work takes; "" where the classifier fails: the votes will say why."""
    job = Job.of(ready.base, ready.problem, settings.seed)
    alpha = settings.alpha if settings.evidence else None
    try:
        timings = measure_run(job, settings.samples, alpha=alpha, own=_own(settings))
    except ClassifierError:
        return ""
    return f": about {duration_range(*seconds_of_run(work, timings))} with {counted(work.workers, 'worker')}"


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
