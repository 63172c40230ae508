"""Verdicts of the counts of votes on radii, proved once more by listing cells, where they are few enough."""

from __future__ import annotations

from typing import TypeAlias

from starcert.files.checker.arithmetic import CellListing, can_list
from starcert.math.frontier import Radius
from starcert.objects.noise import Noise
from starcert.system.output import progress_bar

CountBounds: TypeAlias = tuple[float, float, float]
"""Upper bounds on 1 − p_A and on any other class, and the limit of the contest: see `CellListing.certifies`."""

CountVerdicts: TypeAlias = dict[tuple[Radius, bool], set[CountBounds]]
"""By radius, and by whether counts certify it, the bounds of the graphs concerned."""


def list_cells(noise: Noise, verdicts: CountVerdicts, progress: bool | None) -> tuple[int, int]:
    """Proves verdicts by listing cells; how many radii have few enough for that, and how many have not."""
    channels, radii = noise.product.channels, {radius for radius, _ in verdicts}
    listed = sorted(radius for radius in radii if can_list(channels, radius))
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
                    raise ArithmeticError(f"two proofs disagree at radius {radius}: please report this as a bug")
            advance(1)
    return len(listed), len(radii) - len(listed)
