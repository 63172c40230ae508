"""The axes of a noise on one object, as an attacker finds them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import AttackAxis
from starcert.objects import Sites
from starcert.objects.binding import axes_of_sites, clean_values
from starcert.objects.laws import axis_moves
from starcert.objects.noise import Noise


def axes_of(sites: Sites, noise: Noise) -> tuple[AttackAxis, ...]:
    """The axes of a noise on these sites, in the order of `noise.axes`."""
    return axes_from(noise, axes_of_sites(sites, noise), clean_values(sites))


def axes_from(
    noise: Noise, numbers: npt.NDArray[np.uint16], values: npt.NDArray[np.uint8] | None
) -> tuple[AttackAxis, ...]:
    """The axes of a noise, from the number of the first axis of every site (`axes_of_sites`) and its clean value.

    No values are needed where no law has more than two.
    """
    found: list[AttackAxis] = []
    axes = [axis for region in noise for axis in axis_moves(noise[region])]
    for first, axis in zip(first_axes(noise), axes, strict=True):
        there = np.flatnonzero(numbers == first)
        if axis.alphabet == 2:
            found.append(AttackAxis(axis.law, there))
            continue
        assert values is not None
        found.append(AttackAxis(axis.law, there, axis, values[there], len(numbers)))
    return tuple(found)


def first_axes(noise: Noise) -> tuple[int, ...]:
    """For each axis of a noise the number of the first one that has the same sites."""
    found: list[int] = []
    for region in noise:
        starts = [frozenset(axis.starts) for axis in axis_moves(noise[region])]
        found += [len(found) + starts.index(one) for one in starts]
    return tuple(found)
