"""How long a run takes: some of its votes are timed before it begins, and extrapolated to all of them.

Votes are drawn, counted and thrown away, once to compile and to fill caches and then on the clock, on the smallest, the
middle and the largest object. What evidence takes depends on what the votes show: some rows are judged on few votes,
and the range is wide. The answer is a range, for no two runs take the same time.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from starcert.certificates.auditing import SHARE
from starcert.certificates.certify import certify
from starcert.certificates.evidence import with_evidence
from starcert.math.confidence import clopper_pearson
from starcert.math.evidence import counts_alpha
from starcert.objects.binding import Problem
from starcert.system.threads import one_thread
from starcert.voting.jobs import check_memory
from starcert.voting.plans import FixedPlan, Wanted
from starcert.voting.vote_loop import count_votes

if TYPE_CHECKING:
    from starcert.voting.jobs import Job

__all__ = ["EvidenceTime", "RunWork", "Timings", "VoteTime", "measure_run", "seconds_a_vote", "seconds_of_run"]

ENOUGH, LONG = 0.05, 0.5
"""Seconds of votes that tell how long one takes, if twice as many take twice as long; and those that do in any case."""

PILOT_SECONDS, PILOT_ROWS = 0.25, 2
"""Evidence is timed on the votes that take this many seconds, on at most this many rows of an object."""

SPREAD = 1.25
"""By how much the pace of a machine differs from one minute to the next."""

FINISH = (0.3, 2.0)
"""Seconds that certificates, files and the report of a small run take, at least and at most."""

WORKER_START = 5.0
"""Seconds that worker processes take to start, at most."""


class VoteTime(NamedTuple):
    """How long votes on one object take.

    Attributes:
        size: how many sites the object has.
        fastest: seconds a vote, in the fastest measurement.
        slowest: the same in the slowest.
    """

    size: int
    fastest: float
    slowest: float


class EvidenceTime(NamedTuple):
    """How long evidence takes.

    Attributes:
        samples: votes that there were on each row, and at most on attacked versions of its object.
        seconds: what a row took, on average.
    """

    samples: int
    seconds: float


class Timings(NamedTuple):
    """What was measured before a run.

    Attributes:
        votes: on objects of different sizes, ascending.
        evidence: None without evidence.
    """

    votes: tuple[VoteTime, ...]
    evidence: EvidenceTime | None = None


class RunWork(NamedTuple):
    """How much a run has to do.

    Attributes:
        sizes: how many sites each object has.
        votes: the votes on clean objects that are still to be drawn, at least and at most.
        own: the votes at attacked objects, at most.
        rows: how many certificates there are.
        samples: estimation votes on each of them.
        workers: how many processes count votes.
    """

    sizes: tuple[int, ...]
    votes: tuple[int, int]
    own: int = 0
    rows: int = 1
    samples: int = 1
    workers: int = 1


def seconds_of_run(work: RunWork, timings: Timings) -> tuple[float, float]:
    """The seconds that a run takes, at least and at most, if its pace stays about what was measured.

    The time of a vote on an object lies between those on the measured objects of the next sizes. The audit takes up to
    one in `SHARE` votes. With n times the votes that were timed, judging a row with evidence takes √n to n times as
    long, or as long as all votes at attacked objects.

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
    return least / SPREAD + FINISH[0], most * SPREAD + FINISH[1] + starting


def measure_run(job: Job, samples: int, *, alpha: float | None = None, own: int = 0) -> Timings:
    """Times some votes of a job, and leaves no trace of them.

    Args:
        job: what all votes have in common.
        samples: estimation votes on each object.
        alpha: the failure probability of certificates with evidence; None: there is no evidence.
        own: the most votes at attacked versions of an object.
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

    The number of votes grows until they take long enough for the clock, and until more of them take longer in
    proportion: what a call takes beside its votes is shared by as many as the run has in a call.

    Args:
        taken: the seconds that a number of votes takes.
        most: how many votes an object has in the run.
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
    count_votes(job, FixedPlan(Wanted(0, n_votes)), advance=_nobody)
    return time.perf_counter() - begun


def _judging_times(job: Job, samples: int, alpha: float, own: int) -> list[float]:
    """The seconds that evidence takes on some rows of the one object of a job, on few votes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run itself will warn
        votes = count_votes(job, FixedPlan(Wanted(min(100, samples), samples)), record=True, advance=_nobody)
    bounds = clopper_pearson(votes, alpha=counts_alpha(alpha, evidence=True))
    times = []
    for row in np.unique(np.linspace(0, len(votes) - 1, PILOT_ROWS, dtype=int)).tolist():
        begun = time.perf_counter()
        certificates = certify(bounds[row], job.noise, capacity=job.problem.capacities)
        with_evidence(certificates, job, alpha=alpha, most=own, advance=_nobody)
        times.append(time.perf_counter() - begun)
    return times


def _nobody(_units: int) -> None:
    """Shows no progress."""
