"""What is known about a run before its first vote: how long it takes, what it can certify at all, and what is fixed.

Some votes are drawn, timed and thrown away, on the smallest, the middle and the largest object, and some rows are
judged with evidence on few votes; a dry run also learns the blind model, which a run has done by then. The answer is a
range, as no two runs take the same time.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from starcert.certificates.auditing import SHARE
from starcert.certificates.certify import certify
from starcert.certificates.evidence import with_evidence
from starcert.certificates.metrics import votes_needed
from starcert.certificates.smoothing import possible_evidence
from starcert.classifiers.base import named_classes
from starcert.math.confidence import clopper_pearson
from starcert.math.limits import counts_alpha
from starcert.objects.binding import Problem
from starcert.objects.threats import attackable
from starcert.objects.threats.attacks import MAX_ATTACKS
from starcert.objects.threats.base import refuse_many
from starcert.objects.words import Words
from starcert.pages.findings import fixed_pairs, invisible_sites
from starcert.runs.blind_run import blind_row
from starcert.runs.inputs import TriedModel, read_inputs, try_model
from starcert.runs.models import other_noise
from starcert.runs.settings import RunSettings
from starcert.runs.user_code import useful_workers
from starcert.system.errors import ClassifierError, StoreError
from starcert.system.output import duration_range, quantity
from starcert.system.processes import one_thread
from starcert.voting.options import Evidence
from starcert.voting.plans import FixedPlan, Job, Wanted, check_memory, default_selection
from starcert.voting.store import VoteStore
from starcert.voting.store.file import target_file
from starcert.voting.vote_loop import count_votes

ENOUGH, LONG = 0.05, 0.5  # seconds that time a vote, if twice as many take twice as long; seconds that always do
PILOT_SECONDS, PILOT_ROWS = (
    0.25,
    2,
)  # evidence is timed on the votes of this time, on this many rows of an object
PACE = 1.25  # by how much the pace of a machine differs from one minute to the next
FINISH = (0.3, 2.0)  # seconds that certificates, files and the report of a small run take, at least and at most
MAX_NEEDED = 8  # kinds of attacks whose votes are computed and written out
WORKER_START = 5.0  # seconds that worker processes take to start, at most


class RunWork(NamedTuple):
    """How much a run, or a sweep, has to do."""

    sizes: tuple[int, ...]  # how many sites each object has
    votes: tuple[int, int]  # the votes on clean objects that are still to be drawn, at least and at most
    own: int = 0  # the votes at attacked objects, at most
    rows: int = 1  # how many certificates there are
    samples: int = 1  # estimation votes on each of them
    workers: int = 1  # how many processes count votes


class VoteTime(NamedTuple):
    """How many sites an object has, and the seconds of a vote on it in the fastest and the slowest measurement."""

    size: int
    fastest: float
    slowest: float


class EvidenceTime(NamedTuple):
    """The votes on each row, and at most on attacked versions of its object; and the seconds a row took, on average."""

    samples: int
    seconds: float


class Timings(NamedTuple):
    """What was measured before a run: votes on objects of ascending sizes, and evidence if it is asked for."""

    votes: tuple[VoteTime, ...]
    evidence: EvidenceTime | None = None
    learning: float = 0.0  # the seconds that the blind model took, where the run is still to learn it


def forecast(settings: RunSettings) -> Iterator[str]:
    """What is known about a run before its first vote, sentence by sentence; nothing is written anywhere."""
    inputs = read_inputs(settings)
    yield from inputs.notes
    ready = try_model(settings, inputs)
    yield from other_noise(settings.weights, [settings.noise])
    if settings.evidence:  # as the run itself does, whose sentences may be of what was measured
        possible_evidence(ready.problem, Evidence(settings.own_samples, settings.collective))
    begun = time.perf_counter()
    if ready.base.values is None:
        blind_row(settings, inputs, ready)
    yield from forecast_of(settings, ready, [None], learning=time.perf_counter() - begun)


def forecast_of(
    settings: RunSettings,
    ready: TriedModel,
    stores: Sequence[Path | None],
    *,
    levels: bool = False,
    learning: float = 0.0,
) -> Iterator[str]:
    """What is known about a run whose model was tried, or about the `levels` of a sweep, measured at the first.

    Nothing is said if all votes are in the stores, one for the run or for each level.
    """
    problem = ready.problem
    if settings.evidence and all(problem.without_evidence):
        settings = replace(settings, evidence=False, own_samples=None, collective=False)
    work = _work_left(settings, ready, stores)
    if work is None:
        return
    names = ready.data.class_names
    if names != tuple(map(str, range(len(names)))) and ready.base.values is None:
        yield f"Classes: {named_classes(names)}"
    words = Words.of(problem.sites, nodes=settings.targets == "nodes")
    listed = () if levels else tuple(_listed(settings, ready, words))  # refused before anything is measured
    objects = quantity(len(problem), words.whole)
    further = settings.max_own_votes
    each = settings.samples + _selection(settings) + further
    total, left = each * len(problem) * len(stores), work.votes[1] + work.own
    on = f"{quantity(len(stores), 'level')} on " if levels else ""
    most = "at most " if settings.plan == "decided" or further else ""
    attacked = ", those at attacked ones included" if settings.max_own_votes and not levels else ""
    rest = f", {left:,} of all {total:,} still to be drawn" if left < total else ""
    alpha, takes = settings.alpha if settings.evidence else None, ""
    with suppress(ClassifierError):  # the votes will say why it fails
        timings = measure_run(ready.job, settings.samples, alpha=alpha, own=settings.max_own_votes)
        seconds = seconds_of_run(work, timings._replace(learning=learning))
        takes = f": about {duration_range(*seconds)} with {quantity(work.workers, 'worker')}"
    yield f"{on}{objects}, {most}{each:,} votes each{attacked}{rest}{takes}."
    if levels:
        return
    yield from listed
    yield from _needed(settings, ready, words) if ready.base.values is None else ()
    for place, axis in enumerate(problem.noise.axes):
        empty = sum(capacity[place] == 0 for capacity in problem.capacities)
        if empty:
            yield f"Empty: {axis} has no sites in {empty:,} of {objects}."
    fixed = fixed_pairs([sites.n_fixed for sites in problem.sites], words)
    yield from filter(None, (fixed, invisible_sites(problem.noise, problem.capacities, problem.anchored)))


def _selection(settings: RunSettings) -> int:
    """The most selection votes on each object."""
    return settings.selection_samples or default_selection(settings.samples)


def _work_left(settings: RunSettings, ready: TriedModel, stores: Sequence[Path | None]) -> RunWork | None:
    """What is left to do of a run, or of the levels of a sweep, each with its store; None: at most votes at attacks."""
    begun = [left for store in stores if any(left := _clean_votes_left(settings, ready, store))]
    if not begun:
        return None
    selection, estimation = map(sum, zip(*begun, strict=True))
    return RunWork(
        tuple(each.n_sites for each in ready.problem.sites),
        (selection if settings.plan == "decided" else selection + estimation, selection + estimation),
        settings.max_own_votes * len(ready.problem) * len(begun),
        len(ready.answers) * len(begun),
        settings.samples,
        useful_workers(ready.base, settings.workers)[0],
    )


def _clean_votes_left(settings: RunSettings, ready: TriedModel, store: Path | None) -> tuple[int, int]:
    """How many selection and estimation votes on the objects themselves are not in a store yet."""
    wanted = {"selection": _selection(settings), "estimation": settings.samples}
    left = {purpose: n * len(ready.problem) for purpose, n in wanted.items()}
    if store is not None and (file := target_file(store)).exists() and file.stat().st_size:
        # Who opens it for writing says what is wrong with it. One that was killed as it was made has nothing in it.
        with suppress(StoreError), VoteStore.read(file) as kept:
            for graph in range(min(len(kept.graphs), len(ready.problem))):
                for purpose, n in wanted.items():
                    left[purpose] -= min(n, sum(samples for _, samples, _ in kept.tallies(graph, purpose)))
    return left["selection"], left["estimation"]


def _listed(settings: RunSettings, ready: TriedModel, words: Words) -> Iterator[str]:
    """How many attacks a threat lists that is not about radii; too many are refused here."""
    threat, noise = settings.threat, ready.problem.noise
    if threat is None or threat.by_radius:
        return
    seen = [attackable(each, noise) for each in ready.problem.sites]
    sizes = range(1, threat.most + 1)
    of_sizes = [[threat.count(each, size) for size in sizes] for each in seen]
    for size in sizes:
        if (most := max(each[size - 1] for each in of_sizes)) > MAX_ATTACKS:
            refuse_many(threat, size, most)
    numbers = [sum(each) for each in of_sizes]
    none = f"; none on {quantity(numbers.count(0), words.whole)}" if 0 in numbers else ""
    each = f"{min(numbers):,} to {max(numbers):,} on a {words.whole}"
    yield f"Attacks to list ({threat.label}): {sum(numbers):,}, {each}{none}."


def _needed(settings: RunSettings, ready: TriedModel, words: Words) -> Iterator[str]:
    """How many votes the smallest attacks need, by the axes that they are on, and what no certificate can say then."""
    problem, threat, n_axes = ready.problem, settings.threat, len(ready.problem.noise.axes)
    listed = threat is not None and not threat.by_radius
    if threat is not None and listed:
        levels = [threat.levels(each, problem.noise, 1) for each in problem.sites]
    else:
        box = settings.limits or (1,) * n_axes
        units = [tuple(int(other == axis) for other in range(n_axes)) for axis in range(n_axes)]
        levels = [
            {unit for unit, most, size in zip(units, box, sizes, strict=True) if most and size}
            for sizes in problem.capacities
        ]
    every = sorted(set().union(*levels), key=lambda level: (sum(level), [-flips for flips in level]))
    if not every:
        return
    needed = {
        level: votes_needed(
            problem.noise,
            settings.alpha,
            len(ready.data.class_names),
            radius=level,
            together=len(ready.answers) if settings.family == "all" else 1,
            evidence=settings.evidence,
            plan=settings.plan,
        )
        for level in every[:MAX_NEEDED]
    }
    axes = problem.noise.axes
    names = {level: _name_of_level(level, axes) for level in needed}
    shown = [f"{names[level]} {'never' if n is None else f'{n:,}'}" for level, n in needed.items()]
    more = f" and {len(every) - len(needed):,} further kinds" * (len(every) > len(needed))
    short = [level for level, votes in needed.items() if votes is not None and votes > settings.samples]
    never = [level for level, votes in needed.items() if votes is None]
    what, by_votes = threat.label_of(1) if threat is not None and listed else "one flip", " by p_A" * settings.evidence
    text = f"Votes before {what} can be certified at all{by_votes}: {', '.join(shown)}{more}."
    if short:
        text += f" {settings.samples:,} samples are too few on {', '.join(names[level] for level in short)}."
    if never:
        text += f" No number of samples is enough on {', '.join(names[level] for level in never)}."
    out_of_reach = sum(not each.isdisjoint({*short, *never}) for each in levels)
    if not (out_of_reach or more):
        text += " There are enough samples."
    elif out_of_reach and threat is not None:
        left = len(levels) - out_of_reach
        which = f"at most {left:,} of {quantity(len(levels), words.whole)}" if left else "nothing"
        text += (
            f" So{by_votes} {which} can be certified under {threat.label if settings.limits else threat.label_of(1)}."
        )
    yield text


def _name_of_level(level: tuple[int, ...], axes: Sequence[str]) -> str:
    """What stands for a level: an axis, or how many flips there are on each."""
    flips = [(number, axis) for number, axis in zip(level, axes, strict=True) if number]
    return " + ".join(axis if number == 1 else f"{number:,} {axis}" for number, axis in flips)


def seconds_of_run(work: RunWork, timings: Timings) -> tuple[float, float]:
    """The seconds that a run takes, at least and at most, if its pace stays about what was measured.

    The time of a vote is interpolated by size. The audit takes up to one in `SHARE` votes. With n times the votes that
    were timed, judging a row with evidence takes √n to n times as long, or as long as all votes at attacked objects.

    Example:
        >>> seconds_of_run(RunWork((10, 20), (8_000, 8_000)), Timings((VoteTime(10, 0.001, 0.001),)))
        (6.7, 14.0)
    """
    sizes, *times = zip(*timings.votes, strict=True)
    fastest, slowest = (float(np.interp(work.sizes, sizes, each).mean()) / work.workers for each in times)
    least, most = (votes * pace for votes, pace in zip(work.votes, (fastest, slowest * (1 + 1 / SHARE)), strict=True))
    if timings.evidence is not None:
        judging = work.rows * timings.evidence.seconds
        more = max(1.0, work.samples / timings.evidence.samples)
        least += judging * math.sqrt(more)
        most += max(judging * more, work.own * slowest)
    starting = WORKER_START if work.workers > 1 else 0.0
    least, most = least + timings.learning, most + timings.learning
    return least / PACE + FINISH[0], most * PACE + FINISH[1] + starting


def measure_run(job: Job, samples: int, *, alpha: float | None = None, own: int = 0) -> Timings:
    """Times some votes of a job, and with `alpha` some evidence too; leaves no trace of them.

    Each object has `samples` estimation votes, and at most `own` votes at attacked versions.
    """
    check_memory(job)
    by_size = sorted(range(len(job.sites)), key=lambda graph: job.sites[graph].n_sites)
    chosen = dict.fromkeys((by_size[0], by_size[len(by_size) // 2], by_size[-1]))
    alone = [replace(job, problem=Problem(job.noise, job.sites[graph : graph + 1])) for graph in chosen]
    with one_thread(job.classifier.backend):
        votes = tuple(
            VoteTime(each.sites[0].n_sites, *seconds_a_vote(partial(_taken, each), samples)) for each in alone
        )
        if alpha is None:
            return Timings(votes)
        n = min(samples, job.chunk_size, max(16, int(PILOT_SECONDS / max(each.slowest for each in votes))))
        _judging_times(alone[0], n, alpha, min(own, n))  # compiles
        times = [taken for each in alone for taken in _judging_times(each, n, alpha, min(own, n))]
    return Timings(votes, EvidenceTime(n, sum(times) / len(times)))


def seconds_a_vote(taken: Callable[[int], float], most: int) -> tuple[float, float]:
    """The time of a vote in the fastest and in the slowest of two measurements, after one that does not count.

    The number of votes grows up to `most`, until they take long enough for the clock, and until more of them take
    longer in proportion: what a call takes beside its votes is shared by as many as the run has in a call.
    """
    n_votes, before = 1, math.inf
    while True:
        taken(n_votes)  # compiles, and fills caches
        now = taken(n_votes)
        in_proportion = now >= 3 * before
        if n_votes >= most or now >= LONG or (now >= ENOUGH and in_proportion):
            break
        n_votes, before = min(4 * n_votes, most), now
    again = taken(n_votes)
    return min(now, again) / n_votes, max(now, again) / n_votes


def _taken(job: Job, n_votes: int) -> float:
    """The seconds that votes on all objects of a job take."""
    begun = time.perf_counter()
    count_votes(job, FixedPlan(Wanted(0, n_votes)), advance=_silent)
    return time.perf_counter() - begun


def _judging_times(job: Job, samples: int, alpha: float, own: int) -> list[float]:
    """The seconds that evidence takes on some rows of the one object of a job, on few votes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run itself will warn
        votes = count_votes(job, FixedPlan(Wanted(min(100, samples), samples)), record=True, advance=_silent)
    bounds = clopper_pearson(votes, alpha=counts_alpha(alpha, evidence=True))
    times = []
    for row in np.unique(np.linspace(0, len(votes) - 1, PILOT_ROWS, dtype=int)).tolist():
        begun = time.perf_counter()
        certificates = certify(bounds[row], job.noise, capacity=job.problem.capacities)
        with_evidence(certificates, job, alpha=alpha, most=own, advance=_silent)
        times.append(time.perf_counter() - begun)
    return times


def _silent(_units: int) -> None:
    pass
