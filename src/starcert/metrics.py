"""What certificates of many graphs are worth together: accuracy, certified accuracy and ratio, score, volume.

The share of the most frequent class belongs beside each of them: heavy noise makes any classifier constant, and a
constant classifier certifies everything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.attacks import slacks_of
from starcert.core.confidence import check_alpha, share_of_alpha, upper_limit
from starcert.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.certificate import Certificates
    from starcert.core.confidence import Margins, Votes
    from starcert.noise import Noise, RadiusLike

__all__ = [
    "accuracy",
    "certified_ratio",
    "certified_share",
    "majority_share",
    "score",
    "steps_to",
    "too_few_votes",
    "volume",
    "votes_needed",
]

MOST_STEPS = 6
MOST_VOTES = 2**53
"""More votes cannot be counted."""

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
    truth = np.asarray(labels)
    if truth.ndim != 1 or not truth.size:
        raise InvalidParameterError("labels", "be a row of classes, one or more", f"an array of shape {truth.shape}")
    return float(np.unique(truth, return_counts=True)[1].max() / truth.size)


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


def votes_needed(
    noise: Noise,
    alpha: float,
    n_classes: int,
    *,
    selected_apart: bool = True,
    together: int = 1,
    margins: Margins = "chosen",
) -> dict[str, int | None]:
    """For each axis the fewest estimation votes that certify one flip there and none elsewhere, if all votes agree.

    No fewer votes do, however they fall. None where no number does: sites that never flip, or always do, give every
    attack away.

    Args:
        noise: the noise that the votes are drawn with.
        alpha: the failure probability of a certificate.
        n_classes: how many classes there are: with more than two, each bound may have a smaller share of alpha.
        selected_apart: whether the class is chosen on votes of its own.
        together: alpha is the failure probability of so many certificates together.
        margins: how the margin is settled on with more than two classes; see `clopper_pearson`.

    Example:
        >>> from starcert.noise import Noise
        >>> votes_needed(Noise(motif=0.02, random=0.45, frozen=0.0), 0.01, 2)
        {'motif': 450, 'random': 9, 'frozen': None}
    """
    # Votes that all agree choose the two-class margin.
    share = share_of_alpha(
        check_alpha(alpha),
        n_classes,
        selected_apart=selected_apart,
        all_classes=margins == "multi-class",
        together=together,
    )
    slacks = slacks_of(noise.product)
    found: dict[str, int | None] = {}
    for place, axis in enumerate(noise.axes):
        bracket = slacks.bracket(tuple(int(other == place) for other in range(len(noise.axes))))
        # n votes that all agree leave a failure probability u with (1 − u)^n = share.
        guess = math.log(share) / math.log1p(-bracket.below) if bracket.below > 0 else -math.inf
        if not 0 <= guess < MOST_VOTES / 2:
            found[axis] = None
            continue
        n = max(1, round(guess))
        while n > 1 and bracket.certifies(upper_limit(0, n - 1, share)) is True:
            n -= 1
        while bracket.certifies(upper_limit(0, n, share)) is not True:
            n += 1
        found[axis] = n
    return found


def too_few_votes(samples: int, needed: Mapping[str, int | None]) -> str:
    """Says on which axes not even votes that all agree would certify one flip, and how many would; "" if on none.

    Args:
        samples: how many estimation votes there are for each graph.
        needed: what `votes_needed` found, for the axes that matter.

    Example:
        >>> too_few_votes(100, {"motif": 450, "random": 9, "frozen": None})
        'Even if all 100 votes agreed, no flip would be certified in motif (450 votes could), frozen (none ever could).'
    """
    short = [
        f"{axis} ({'none ever' if votes is None else f'{votes:,} votes'} could)"
        for axis, votes in needed.items()
        if votes is None or votes > samples
    ]
    return f"Even if all {samples:,} votes agreed, no flip would be certified in {', '.join(short)}." if short else ""


def _right(certificates: Certificates, labels: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    right: npt.NDArray[np.bool_] = certificates.labels == _truth(labels, len(certificates))
    return right


def _truth(labels: npt.ArrayLike, n_graphs: int) -> npt.NDArray[np.int64]:
    truth = np.asarray(labels)
    if truth.shape != (n_graphs,):
        raise InvalidParameterError("labels", f"have one class for each of {n_graphs} graphs", truth.shape)
    return truth
