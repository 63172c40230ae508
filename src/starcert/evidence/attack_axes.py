"""The axes of a noise on one object: which sites an attacker finds on each, and how the noise shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from starcert.core.evidence import AttackAxis
from starcert.core.pooling import SiteLaw

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.noise import Noise

__all__ = ["MOST_SITES", "axes_of", "axis_laws", "why_not"]

MOST_SITES = 2**22
"""On an object with more sites, votes are not looked at one by one."""


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


def axis_laws(noise: Noise) -> list[SiteLaw]:
    """The law of a site of each axis, in the order of `noise.axes`."""
    laws = []
    for law in (noise[region] for region in noise):
        for (before, after), *_ in law.moves:
            laws.append(SiteLaw(law.transitions(before)[after], law.transitions(after)[after]))
    return laws
