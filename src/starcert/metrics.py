"""What certificates of many graphs are worth together: accuracy, certified accuracy and ratio, score, volume.

The share of the most frequent class belongs beside each of them: heavy noise makes any classifier constant, and a
constant classifier certifies everything.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.certificate import Certificates
    from starcert.core.confidence import Votes
    from starcert.noise import RadiusLike

__all__ = ["accuracy", "certified_ratio", "certified_share", "majority_share", "score", "steps_to", "volume"]

MOST_STEPS = 6

Shares = npt.NDArray[np.float64]


def accuracy(votes: Votes, labels: npt.ArrayLike) -> float:
    """The share of graphs whose true class has the most estimation votes.

    Example:
        >>> from starcert.core.confidence import Votes
        >>> accuracy(Votes([[9, 1], [6, 4]]), [0, 1])
        0.5
    """
    return float(np.mean(votes.counts.argmax(axis=1) == _truth(labels, len(votes))))


def majority_share(labels: npt.ArrayLike) -> float:
    """The share of the most frequent class: the accuracy of a constant answer.

    Example:
        >>> majority_share([0, 1, 1, 1])
        0.75
    """
    return float(np.unique(np.asarray(labels), return_counts=True)[1].max() / np.size(labels))


def certified_share(
    certificates: Certificates, labels: npt.ArrayLike | None = None, *, max_radius: RadiusLike
) -> Shares:
    """The share of graphs that are certified (and right, given labels) at every radius up to `max_radius`.

    Returns:
        One axis for each axis of the noise: entry [i, j, …] is the share at the radius (i, j, …).

    Example:
        >>> from starcert.certificate import certify
        >>> from starcert.core.confidence import Bounds
        >>> from starcert.noise import Noise
        >>> certified_share(certify(Bounds.certain([0.9, 0.7]), Noise(all=0.2)), max_radius=2)
        array([1. , 0.5, 0. ])
    """
    right = np.ones(len(certificates), bool) if labels is None else _right(certificates, labels)
    limits = certificates.noise.radius(max_radius, "max_radius")
    share = np.zeros(tuple(limit + 1 for limit in limits))
    for radius in product(*(range(limit + 1) for limit in limits)):
        share[radius] = np.mean(certificates.certified(radius) & right)
    return share


def certified_ratio(certificates: Certificates, labels: npt.ArrayLike, *, max_radius: RadiusLike) -> Shares:
    """Of the graphs that are answered right, the share that is certified at every radius up to `max_radius`.

    NaN where no graph is answered right.
    """
    right = float(np.mean(_right(certificates, labels)))
    share = certified_share(certificates, labels, max_radius=max_radius)
    return share / right if right else np.full_like(share, np.nan)


def score(certificates: Certificates, labels: npt.ArrayLike, *, max_radius: RadiusLike) -> int:
    """How many radii up to `max_radius` hold for strictly more than half of the graphs: right and certified there.

    The paper's score; unlike the mean volume, a constant answer on balanced classes gains nothing by it.
    """
    return int((certified_share(certificates, labels, max_radius=max_radius) > 0.5).sum())


def volume(certificates: Certificates, *, max_radius: RadiusLike) -> Shares:
    """For each graph how many radii up to `max_radius` are certified, the radius 0 included."""
    limits = certificates.noise.radius(max_radius, "max_radius")
    radii = product(*(range(limit + 1) for limit in limits))
    counts: Shares = np.sum([certificates.certified(radius) for radius in radii], axis=0, dtype=np.float64)
    return counts


def steps_to(farthest: int) -> list[int]:
    """Some counts of flips to tell shares at: 1, 2, 5, 10, … as far as anything is certified.

    Example:
        >>> steps_to(60), steps_to(0), steps_to(3000)
        ([1, 2, 5, 10, 20, 50], [1], [1, 2, 5, 10, 20, 2000])
    """
    steps = [first * 10**power for power in range(9) for first in (1, 2, 5)]
    reached = [step for step in steps if step <= farthest] or [1]
    # The first steps tell most, and the last one how far it goes.
    return reached if len(reached) <= MOST_STEPS else [*reached[: MOST_STEPS - 1], reached[-1]]


def _right(certificates: Certificates, labels: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    right: npt.NDArray[np.bool_] = certificates.labels == _truth(labels, len(certificates))
    return right


def _truth(labels: npt.ArrayLike, n_graphs: int) -> npt.NDArray[np.int64]:
    truth = np.asarray(labels)
    if truth.shape != (n_graphs,):
        raise InvalidParameterError("labels", f"have one class for each of {n_graphs} graphs", truth.shape)
    return truth
