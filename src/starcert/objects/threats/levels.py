"""The levels of attacks: how many of their changes each axis of a noise counts."""

from __future__ import annotations

import numpy as np

from starcert.math.listed import row_numbers
from starcert.objects.binding import noise_for_sites
from starcert.objects.layers import Indices
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import VALUES, Attacks, Rows, attackable, ground_of
from starcert.system.errors import InvalidParameterError


def by_level(attacks: Attacks, sites: Sites, noise: Noise) -> dict[tuple[int, ...], Rows]:
    """Attacks at `attackable` sites by their level, how many changes each axis of the noise counts; in their order."""
    table, seen = axis_table(sites, noise), attackable(sites, noise)
    ground, found = ground_of(seen), dict[tuple[int, ...], Rows]()
    for block in attacks.check(seen).blocks:
        positions, values = np.divmod(block, VALUES)
        axes = np.sort(check_axes(table[ground.regions[positions], ground.values[positions], values]), axis=1)
        numbers = row_numbers(axes)
        for number in np.unique(numbers):
            here = numbers == number
            level = np.bincount(axes[here.argmax()], minlength=len(noise.axes))
            found[tuple(level.tolist())] = block[here]
    return found


def axis_table(sites: Sites, noise: Noise) -> Indices:
    """For each region, clean value and new value the number of the axis that counts it; −1 for none."""
    bound = noise_for_sites(noise, [sites])
    width = max(bound[region].alphabet for region in bound)
    table = np.full((len(sites.regions), width, width), -1, dtype=np.int64)
    first = 0
    for region in bound:
        for number, moves in enumerate(bound[region].moves):
            for before, then in moves:
                table[sites.regions.index(region), before, then] = first + number
        first += len(bound[region].moves)
    return table


def check_axes(axes: Indices) -> Indices:
    """Refuses changes that no axis of the noise counts."""
    if (axes < 0).any():
        requirement, hint = "have an axis for every change that the threat makes", "Choose a law with such moves."
        raise InvalidParameterError("noise", requirement, "changes on no axis", hint)
    return axes
