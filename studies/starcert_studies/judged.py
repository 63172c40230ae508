"""What evidence shows of each object: by p_A, by evidence from the same votes, and with votes at attacked objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from starcert.claims.certificate import Certificate
from starcert.claims.certificates import certify
from starcert.math.confidence import clopper_pearson
from starcert.math.limits import counts_alpha
from starcert.math.votes import Votes
from starcert.methods.evidence import with_evidence
from starcert.methods.smoothed import SmoothedClassifier
from starcert.objects.binding import Problem
from starcert.voting.plans import Job
from starcert_studies.voted import ALPHA, Judged

Radius = tuple[int, int]
TWO_FLIPS: tuple[Radius, ...] = ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))


class Question(NamedTuple):
    """What evidence is asked about each object."""

    radii: tuple[Radius, ...]  # about which radii
    own_samples: int  # the maximal number of votes at attacked versions of an object; 0: none
    max_flips: int | None  # attacks of more flips in all are not considered; None: all within the radii


class Tally(NamedTuple):
    """How many objects are answered right, and of these certified by each argument, broken or open."""

    right: int
    by_p_A: int  # noqa: N815  (the paper's symbol): by p_A alone, at the whole alpha
    by_evidence: int  # by p_A or by evidence from the same votes
    with_own_votes: int  # the same with votes at attacked objects
    broken: int  # an attack is known
    open: int  # neither certified nor broken


def judge(
    smoothed: SmoothedClassifier, problem: Problem, votes: Votes, truth: Sequence[int], question: Question, seed: int
) -> list[Judged]:
    """The verdicts on the objects of a problem at each radius, from votes with their flips recorded."""
    job, radii = Job.of(smoothed.classifier, problem, seed), question.radii
    within: dict[str, Any] = {"max_radius": tuple(map(max, zip(*radii, strict=True))), "capacity": problem.capacities}
    paper, counts = (
        certify(clopper_pearson(votes, alpha=share), smoothed.noise, **within)
        for share in (ALPHA, counts_alpha(ALPHA, evidence=True))
    )
    judging = partial(with_evidence, counts, job, alpha=ALPHA, max_flips=question.max_flips, advance=lambda _: None)
    shared = judging(most=0)
    own = judging(most=question.own_samples) if question.own_samples else shared
    return [
        {
            "right": not one.abstained and one.label == label,
            "by_p_A": [one.certified(radius) for radius in radii],
            "by_evidence": [same.certified(radius) for radius in radii],
            "with_own_votes": [more.certified(radius) for radius in radii],
            "broken": [_is_broken(more, radius) for radius in radii],
            "own_votes": more.verdicts.own_votes if more.verdicts else 0,
        }
        for label, one, same, more in zip(truth, paper, shared, own, strict=True)
    ]


def _is_broken(one: Certificate, radius: Radius) -> bool:
    """Whether an attack within a radius is known to change the answer."""
    return any(all(map(int.__le__, level, radius)) for level in one.broken)


def tallies(question: Question, found: Sequence[Judged]) -> dict[str, Tally]:
    """A tally for each radius of a question, and for any flips anywhere, by the radius in words."""
    groups = {str(radius): [i] for i, radius in enumerate(question.radii)}
    for flips in range(1, (question.max_flips or 0) + 1):
        name = "any flip" if flips == 1 else f"any {flips} flips"
        groups[name] = [i for i, radius in enumerate(question.radii) if sum(radius) == flips]
    right, made = [one for one in found if one["right"]], {}
    for name, places in groups.items():
        certified = (
            sum(all(one[argument][i] for i in places) for one in right)
            for argument in ("by_p_A", "by_evidence", "with_own_votes")
        )
        by_p, shared, own = certified
        broken = sum(any(one["broken"][i] for i in places) for one in right)
        made[name] = Tally(len(right), by_p, shared, own, broken, len(right) - own - broken)
    return made


def median_range(values: Sequence[float]) -> str:
    """The median of a figure over the draws, and its range where the draws differ.

    Example:
        >>> median_range([95, 50, 100]), median_range([50, 50]), median_range([3, 4])
        ('95 (50–100)', '50', '3.5 (3–4)')
    """
    median, least, greatest = (f"{value:.9g}" for value in (np.median(values), min(values), max(values)))
    return median if least == greatest else f"{median} ({least}–{greatest})"
