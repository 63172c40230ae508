"""The axes of a noise on one object: which sites an attacker finds on each, and how the noise shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.core.evidence import AttackAxis
from starcert.core.pooling import SiteLaw

if TYPE_CHECKING:
    from starcert.core.flips import FlipRecord
    from starcert.graphs import Sites
    from starcert.noise import Noise

__all__ = ["MOST_SITES", "axes_of", "axis_laws", "influences", "why_not"]

MOST_SITES = 2**22
"""On an object with more sites, votes are not looked at one by one."""

MOST_AT_ONCE = 2**24
"""So many flips are looked at together."""


def why_not(sites: Sites, noise: Noise, n_targets: int) -> str:
    """Why there is no evidence for an object beyond the counts of its votes; "" if there is."""
    if any(noise[region].alphabet != 2 for region in noise):
        return "evidence knows laws on two values alone"
    if sites.n_sites > MOST_SITES:
        return f"evidence looks at objects of at most {MOST_SITES:,} sites"
    if n_targets != 1:
        return "evidence looks at objects with one target alone"
    return ""


def axes_of(sites: Sites, noise: Noise) -> tuple[AttackAxis, ...]:
    """The axes of a noise on these sites, in the order of `noise.axes`.

    Example:
        >>> from starcert import Flip, Graph, Noise
        >>> from starcert.graphs import Sites
        >>> noise = Noise(all=Flip(delete=0.25, add=0.125))
        >>> sites = Sites.everything(Graph(4, [(0, 1)]), "all")
        >>> [(len(axis.sites), *map(float, axis.law)) for axis in axes_of(sites, noise)]
        [(1, 0.25, 0.875), (5, 0.125, 0.75)]
    """
    found: list[AttackAxis] = []
    laws = axis_laws(noise)
    places = {region: i for i, region in enumerate(sites.regions)}
    for region in noise:
        law, place = noise[region], places[region]
        everything = np.arange(sites.offsets[place], sites.offsets[place] + sites.sizes[place])
        present = np.isin(everything, sites.ones[place], assume_unique=True)
        for moves in law.moves:
            there = np.zeros(len(everything), dtype=np.bool_)
            for value in {move[0] for move in moves}:
                there |= present == bool(value)
            found.append(AttackAxis(laws[len(found)], everything[there]))
    return tuple(found)


def influences(record: FlipRecord, sites: Sites, noise: Noise) -> npt.NDArray[np.float64]:
    """For each site how much likelier the class loses where that site is attacked: E[Y·L] − E[Y], estimated.

    0 where that is less than twice its standard error, and where the record does not tell which sites flipped.
    """
    found = np.zeros(sites.n_sites)
    n_votes, against = int(record.samples.sum()), int(record.against.sum())
    if not record.complete or not against:
        return found
    step = max(1, MOST_AT_ONCE // against)
    for axis in axes_of(sites, noise):
        for start in range(0, len(axis.sites), step):
            some = axis.sites[start : start + step]
            flipped = record.matrix(some).sum(axis=0)
            stayed = against - flipped
            gain = (flipped * axis.law.flipped + stayed * axis.law.stayed - against) / n_votes
            error = np.sqrt(flipped * (axis.law.flipped - 1) ** 2 + stayed * (axis.law.stayed - 1) ** 2) / n_votes
            found[some] = np.where(gain > 2 * error, gain, 0.0)
    return found


def axis_laws(noise: Noise) -> list[SiteLaw]:
    """The law of a site of each axis, in the order of `noise.axes`."""
    laws = []
    for law in (noise[region] for region in noise):
        for (before, after), *_ in law.moves:
            laws.append(SiteLaw(law.transitions(before)[after], law.transitions(after)[after]))
    return laws
