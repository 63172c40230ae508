"""The threshold of a fallback, chosen on validation objects: the one with the most that is right and certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.certificates.certify import Certificates
from starcert.certificates.estimator import GraphLike
from starcert.certificates.fallback import Fallback
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.math.fallback import check_threshold
from starcert.objects.binding import Problem
from starcert.objects.threats import Threat
from starcert.system.errors import InvalidParameterError
from starcert.voting.options import Evidence, Voting

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Those that are tried by default."""


class ChosenThreshold(NamedTuple):
    """What was tried, and the best of it; of several that are as good, the smallest."""

    threshold: float
    right: dict[float, float]  # for each threshold the share of objects that are right and certified

    def __str__(self) -> str:
        tried = ", ".join(f"{share:.1%} at {each}" for each, share in self.right.items())
        return f"threshold {self.threshold}: right and certified are {tried}"


def choose_threshold(
    smoothed: SmoothedClassifier,
    objects: Sequence[GraphLike] | Problem,
    labels: npt.ArrayLike,
    *,
    threat: Threat | str,
    samples: int,
    seed: int,
    thresholds: Sequence[float] = THRESHOLDS,
    evidence: bool | Evidence = False,
    voting: Voting | None = None,
) -> ChosenThreshold:
    """The threshold with the most validation objects that are right and certified under a threat.

    Noisy copies, and so votes, are the same for all thresholds. Nothing is claimed about validation objects: what is
    certified with the threshold must be other objects, whose votes have not been looked at.

    Args:
        smoothed: a classifier with a fallback; its threshold makes no difference.
        objects: validation objects, or the problem that they make; none of them may be certified later.
        labels: their classes, as `Certificates.truth` takes them.
        threat: what will be asked about, such as "flips:1".
        samples: estimation votes for each object.
        seed: a whole number, 0 or more.
        thresholds: what to try, fixed in advance.
        evidence: whether to look at where flips fell, as in `certify`.
        voting: how votes are drawn, as in `certify`; not from a store, which would refuse the second threshold.

    Example:
        >>> import starcert as sc
        >>> most = sc.classifiers.from_callable(lambda rows: rows.mean(axis=1) > 0.5, on="vectors")
        >>> rows = sc.Bits.rows([[0] * 9, [1] * 5 + [0] * 4, [1] * 9])
        >>> smoothed = sc.SmoothedClassifier(most, sc.Noise(all=0.2), fallback=sc.Fallback([0, 0, 0], 0.5))
        >>> how = {"threat": "flips:1", "samples": 2_000, "seed": 1, "evidence": True, "thresholds": (0.5, 0.7, 0.9)}
        >>> print(sc.choose_threshold(smoothed, rows, [0, 0, 1], **how))
        threshold 0.9: right and certified are 66.7% at 0.5, 66.7% at 0.7, 100.0% at 0.9
    """
    if smoothed.fallback is None:
        raise InvalidParameterError("smoothed", "have a fallback", smoothed, "Give it one: Fallback(blind, 0.7).")
    if voting is not None and voting.store is not None:
        hint = "A store refuses a second threshold: leave it out."
        raise InvalidParameterError("voting", "have no store where thresholds are tried", voting.store, hint)
    tried = [check_threshold(each) for each in thresholds]
    if not tried:
        raise InvalidParameterError("thresholds", "have at least one threshold", tried)
    problem = smoothed.problem(objects)
    shares = {}
    for threshold in tried:
        fallback: Fallback = replace(smoothed.fallback, threshold=threshold)
        found = SmoothedClassifier(smoothed.classifier, smoothed.noise, smoothed.regions, fallback=fallback).certify(
            problem, samples=samples, seed=seed, alpha=smoothed.alpha, threat=threat, evidence=evidence, voting=voting
        )
        shares[threshold] = _right_and_certified(found, labels, threat)
    return ChosenThreshold(max(tried, key=lambda each: (shares[each], -each)), shares)


def _right_and_certified(found: Certificates, labels: npt.ArrayLike, threat: Threat | str) -> float:
    right = found.labels == found.truth(labels)
    return float(np.mean([right[row] and one.certified(threat) for row, one in enumerate(found)]))
