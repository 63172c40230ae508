"""The axes of a noise on one object: which sites an attacker finds on each, and how the noise shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.math.attack_axis import AttackAxis, Moves
from starcert.math.evidence import shown_outcomes
from starcert.objects.binding import axes_of_sites, clean_values
from starcert.objects.laws import axis_moves

if TYPE_CHECKING:
    from starcert.math.flips import FlipRecord
    from starcert.objects import Sites
    from starcert.objects.noise import Noise

__all__ = ["axes_from", "axes_of", "first_axes", "influences"]

MOST_AT_ONCE = 2**24
"""So many flips are looked at together."""


def axes_of(sites: Sites, noise: Noise) -> tuple[AttackAxis, ...]:
    """The axes of a noise on these sites, in the order of `noise.axes`.

    Example:
        >>> from starcert import Flip, Graph, Noise
        >>> from starcert.objects import Sites
        >>> noise = Noise(all=Flip(delete=0.25, add=0.125))
        >>> sites = Sites.everything(Graph(4, [(0, 1)]), "all")
        >>> [(len(axis.sites), *map(float, axis.law[:2])) for axis in axes_of(sites, noise)]
        [(1, 0.25, 0.875), (5, 0.125, 0.75)]
    """
    return axes_from(noise, axes_of_sites(sites, noise), clean_values(sites))


def axes_from(
    noise: Noise, numbers: npt.NDArray[np.uint16], values: npt.NDArray[np.uint8] | None
) -> tuple[AttackAxis, ...]:
    """The axes of a noise, from the number of the first axis and the clean value of every site.

    Args:
        noise: the noise.
        numbers: as `axes_of_sites` has them.
        values: the clean values; None where no law has more than two.
    """
    found: list[AttackAxis] = []
    axes = [axis for region in noise for axis in axis_moves(noise[region])]
    for first, axis in zip(first_axes(noise), axes, strict=True):
        there = np.flatnonzero(numbers == first)
        moves = None
        if axis.alphabet > 2:
            assert values is not None
            moves = Moves(values[there], axis.ranks, axis.outcomes, len(numbers))
        found.append(AttackAxis(axis.law, there, moves))
    return tuple(found)


def first_axes(noise: Noise) -> tuple[int, ...]:
    """For each axis of a noise the number of the first one that has the same sites."""
    found: list[int] = []
    for region in noise:
        starts = [frozenset(axis.starts) for axis in axis_moves(noise[region])]
        found += [len(found) + starts.index(one) for one in starts]
    return tuple(found)


def influences(record: FlipRecord, sites: Sites, noise: Noise) -> npt.NDArray[np.float64]:
    """For each site how much likelier the class loses where that site is attacked at worst: E[Y·L] − E[Y], estimated.

    0 where that is less than twice its standard error, and where the record does not tell which sites flipped.
    """
    found = np.zeros(sites.n_sites)
    n_votes, against = int(record.samples.sum()), int(record.against.sum())
    if not record.complete or not against:
        return found
    for axis in axes_of(sites, noise):
        step = max(1, MOST_AT_ONCE // (against * axis.law.moves * len(axis.law.outcomes)))
        for start in range(0, len(axis.sites), step):
            some = axis.sites[start : start + step]
            moves = axis.moves and axis.moves._replace(values=axis.moves.values[start : start + step])
            shown = shown_outcomes(record, axis._replace(sites=some, moves=moves)).sum(axis=0)
            flips = shown.reshape(len(some), axis.law.moves, -1)
            stayed, ratios = against - flips.sum(axis=2), np.array(axis.law.shown)
            gain = (flips @ ratios + stayed * axis.law.stayed - against) / n_votes
            error = np.sqrt(flips @ (ratios - 1) ** 2 + stayed * (axis.law.stayed - 1) ** 2) / n_votes
            found[some] = np.maximum(found[some], np.where(gain > 2 * error, gain, 0.0).max(axis=1))
    return found
