"""The axes of a noise on one object: which sites an attacker finds on each, and how the noise shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from starcert.core.evidence import AttackAxis
from starcert.core.pooling import SiteLaw

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.noise import Noise

__all__ = ["MOST_SITES", "axes_of", "why_not"]

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
    found = []
    places = {region: i for i, region in enumerate(sites.regions)}
    for region in noise:
        law, place = noise[region], places[region]
        everything = np.arange(sites.offsets[place], sites.offsets[place] + sites.sizes[place])
        present = np.isin(everything, sites.ones[place], assume_unique=True)
        for moves in law.moves:
            (before, after), befores = moves[0], {move[0] for move in moves}
            there = np.zeros(len(everything), dtype=np.bool_)
            for value in befores:
                there |= present == bool(value)
            shown = SiteLaw(law.transitions(before)[after], law.transitions(after)[after])
            found.append(AttackAxis(shown, everything[there]))
    return tuple(found)
