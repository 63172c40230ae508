"""Summaries of the certificates of many graphs: accuracy, certified accuracy and ratio, score.

An answer is `right` if it is given and is the true class; an abstention is not. The share of the most frequent class
belongs beside each of them: heavy noise makes any classifier constant, and a constant classifier certifies everything.
So does an axis without sites, or a threat without attacks: `SizeCounts` are of the graphs that can be attacked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from starcert.claims.answers import accuracy, known_classes, majority_share, right
from starcert.claims.certificates import Certificates
from starcert.claims.gains import structure_gain
from starcert.claims.outcomes import Labels, Mask, Outcome, Outcomes, SizeCounts
from starcert.claims.paired import StructureGain
from starcert.claims.radii import Radii, certified_counts, open_ended
from starcert.claims.slack import too_few_votes, votes_needed
from starcert.claims.unknown import unknown_at
from starcert.claims.verdict import lies_within
from starcert.math.copies import Level
from starcert.math.frontier import levels_of
from starcert.objects.noise import RadiusLike

__all__ = [
    "Outcome",
    "Outcomes",
    "Radii",
    "SizeCounts",
    "StructureGain",
    "accuracy",
    "certified_counts",
    "certified_ratio",
    "certified_share",
    "has_sites",
    "majority_share",
    "open_ended",
    "radii_of_flips",
    "right",
    "score",
    "structure_gain",
    "too_few_votes",
    "votes_needed",
]  # fmt: skip

Shares = npt.NDArray[np.float64]


def certified_share(certificates: Certificates, labels: Labels | None = None, *, max_radius: RadiusLike) -> Shares:
    """The share of graphs that are certified (and right, given labels) at every radius up to `max_radius`.

    Entry [i, j, …] is the share at the radius (i, j, …): with labels, of the graphs whose class is known. A graph
    without sites on an axis counts as certified there: `has_sites` tells such graphs apart. Beyond the threat, and
    where no number of votes certifies anything, it is NaN instead of 0.

    Example:
        >>> import starcert as sc
        >>> certified_share(sc.certify(sc.Bounds.certain([0.9, 0.7]), sc.Noise(all=0.2)), max_radius=2)
        array([1. , 0.5, 0. ])
    """
    answered, among = _answered_of(certificates, labels)
    frontiers: Counter[Radii] = Counter()
    for radii, hit in zip(certificates.radii_within(max_radius), answered & among, strict=True):
        frontiers[radii] += int(hit)
    counts = certified_counts(frontiers, certificates.grid(max_radius))
    if not among.any():
        return np.full(counts.shape, np.nan)
    found: Shares = counts / among.sum()
    found[is_unknown(certificates, counts)] = np.nan
    return found


def is_unknown(
    certificates: Certificates, counts: npt.NDArray[np.int64], at: Callable[[Level], Level] = tuple
) -> npt.NDArray[np.bool_]:
    """At which places of a grid a count of 0 certified graphs says nothing; `at` makes a radius of a place."""
    why_unknown = unknown_at(certificates)
    found: Mask = counts == 0
    for place in np.argwhere(found).tolist():
        found[tuple(place)] = bool(why_unknown(at(tuple(place))))
    return found


def certified_ratio(certificates: Certificates, labels: Labels, *, max_radius: RadiusLike) -> Shares:
    """Of the graphs that are answered `right`, the share that is certified at every radius up to `max_radius`."""
    whole = accuracy(certificates, labels)
    share = certified_share(certificates, labels, max_radius=max_radius)
    return share / whole if whole else np.full_like(share, np.nan)


def score(certificates: Certificates, labels: Labels, *, max_radius: RadiusLike) -> int:
    """The paper's score: at how many radii up to `max_radius` more than half of the graphs are right and certified."""
    return int((certified_share(certificates, labels, max_radius=max_radius) > 0.5).sum())


def has_sites(certificates: Certificates) -> Mask:
    """Which graphs (rows) have sites on which axes (columns); those of unknown capacity are taken to have some."""
    unknown = (1,) * len(certificates.noise.axes)
    sizes = np.array([unknown if each is None else each for each in certificates.capacity], dtype=np.int64)
    return sizes.reshape(-1, len(unknown)) > 0


def radii_of_flips(certificates: Certificates, most: int) -> list[tuple[int, ...]]:
    """Every radius of 1 to `most` flips in all that lies in the box and that some graph has sites for."""
    anywhere = (most,) * len(certificates.noise.axes)
    sizes = [anywhere if each is None else each for each in certificates.capacity]
    limits = anywhere if certificates.max_radius is None else certificates.max_radius
    radii = (radius for flips in range(1, most + 1) for radius in levels_of(flips, limits))
    return [radius for radius in radii if any(lies_within(radius, size) for size in sizes)]


def _answered_of(certificates: Certificates, labels: Labels | None) -> tuple[Mask, Mask]:
    """Which graphs are answered (right, given labels), and which are eligible: with labels, those of a known class."""
    if labels is None:
        return ~certificates.abstained, np.ones(len(certificates), dtype=np.bool_)
    return right(certificates, labels), known_classes(certificates, labels)


def __dir__() -> list[str]:
    return sorted(__all__)
