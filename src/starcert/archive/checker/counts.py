"""Verdicts of the counts of votes on radii, proved once more by listing cells, where they are few enough."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from starcert.archive.checker.arithmetic import MAX_BITS, CellListing, listing_bits
from starcert.archive.untrusted import DisagreementError, MalformedError
from starcert.math.frontier import Radius
from starcert.objects.noise import Noise
from starcert.system.output import progress_bar

CountBounds: TypeAlias = tuple[float, float, float]
"""Upper bounds on 1 − p_A and on any other class, and the limit of the contest: see `CellListing.certifies`."""

CountVerdicts: TypeAlias = dict[tuple[Radius, bool], set[CountBounds]]
"""By radius, and by whether counts certify it, the bounds of the graphs concerned."""


MAX_BITS_IN_ALL = 2**29  # the most bits in the masses of all cells that are listed for a file: seconds
MAX_COMPARED = 2**31  # the most counts of radii that are compared for one graph


class Radii:
    """Radii that others are compared with, as far as that is not too much work.

    Example:
        >>> radii = Radii([(3, 0), (1, 2)])
        >>> radii.hold((1, 1)), radii.hold((2, 1)), radii.reach((2, 3)), radii.reach((2, 1))
        (True, False, True, False)
    """

    def __init__(self, radii: Collection[Radius]) -> None:
        self._known, self._left = set(radii), MAX_COMPARED
        self._rows = np.array(list(radii), dtype=np.int64)

    def hold(self, radius: Radius) -> bool:
        """True if a radius lies below one of them."""
        return radius in self._known or self._any(np.greater_equal, radius)

    def reach(self, radius: Radius) -> bool:
        """True if one of them lies below a radius."""
        return radius in self._known or self._any(np.less_equal, radius)

    def _any(self, compare: np.ufunc, radius: Radius) -> bool:
        self._left -= self._rows.size
        if self._left < 0:
            raise MalformedError(f"more than {MAX_COMPARED:,} counts of its radii would have to be compared.")
        return bool(self._known) and bool(compare(self._rows, radius).all(axis=1).any())


def list_cells(noise: Noise, verdicts: CountVerdicts, progress: bool | None) -> tuple[int, int]:
    """Proves verdicts by listing cells; of how many radii, and of how many not, as they have too many in all.

    Those with the fewest cells come first, until the work is done that `MAX_BITS_IN_ALL` allows.
    """
    channels = noise.product.channels
    bits = listing_bits(channels)
    radii = {radius: bits(radius) for radius, _ in verdicts}
    few = sorted((each for each in radii if radii[each] <= MAX_BITS), key=lambda each: (radii[each], each))
    listed = few[: bisect_right(list(accumulate(map(radii.__getitem__, few))), MAX_BITS_IN_ALL)]
    with progress_bar("radii", len(listed), shown=progress) as advance:
        for radius in listed:
            cells = CellListing(channels, radius)
            for certified, boldest in ((True, max), (False, min)):
                bounds = verdicts.get((radius, certified), set())
                # More failure is harder to withstand: of two-class verdicts on a radius, the boldest is enough.
                for limit in {limit for failure, other, limit in bounds if failure == other}:
                    alike = {each for each in bounds if each[0] == each[1] and each[2] == limit}
                    bounds = bounds - alike | {boldest(alike)}
                if any(cells.certifies(*each) is not certified for each in bounds):
                    raise DisagreementError(f"at radius {radius}")
            advance(1)
    return len(listed), len(radii) - len(listed)
