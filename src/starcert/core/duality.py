"""Both sides of linear programming duality, at one cut.

ρ_low(p) = min{Σ q·h : Σ r·h = p, 0 ≤ h ≤ 1} lies between

    λp − Σ(λr − q)₊   for *any* λ ≥ 0,     and     Σ q·h   for *any* test h with Σ r·h ≥ p.

With λ the ratio of the cell at which the greedy filling stops, and h the filling, both are ρ_low itself. Floats decide
on which side of the cut a cell lies only where log ratios differ by far more than their rounding errors; in the *band*
around the cut every cell is treated by itself, in balls or fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

import numpy as np
from flint import ctx

from starcert.core.balls import LOCK, Exact, lower_end, midpoint, nearest_float, upper_end
from starcert.core.cells import Floats

__all__ = ["Enclosure", "Half", "enclose"]


class Enclosure(NamedTuple):
    """Two exact numbers (balls without radius, or fractions) with lower ≤ value ≤ upper proved."""

    lower: Exact
    upper: Exact

    def __float__(self) -> float:
        return nearest_float((self.lower + self.upper) / 2)

    def complement(self) -> Enclosure:
        """The enclosure of 1 − value."""
        with LOCK, ctx.workprec(4096):  # whatever precision the ends have: subtract without rounding
            return Enclosure(1 - self.upper, 1 - self.lower)


class Half(NamedTuple):
    """Cells of one half in ascending log ratio, with running sums; entry j of a sum is over the first j."""

    log_ratio: Floats
    clean: list[Exact]
    attacked: list[Exact]
    clean_below: list[Exact]
    attacked_below: list[Exact]
    tail: Exact  # the clean mass outside of the windows


def enclose(first: Half, second: Half, p: Exact, log_ratio: float, scale: float) -> Enclosure | None:
    """Both bounds, from a band of cells around `log_ratio` that is widened until the filling stops in it.

    A sum of two floats of `log_ratio` is within 2⁻⁴⁸·scale of the truth. The filling must stop in the inner
    half of the band, so cells outside lie on the side of λ that their floats say, with a margin 2⁸ as wide.
    """
    if log_ratio == -math.inf:
        finite = (half.log_ratio[np.isfinite(half.log_ratio)] for half in (first, second))
        log_ratio = sum(float(values[0]) if values.size else 0.0 for values in finite)
    width = 2.0**-39 * (1 + scale)
    while width < 1e3 * (1 + scale):
        begin = np.searchsorted(second.log_ratio, log_ratio - width - first.log_ratio, side="left")
        end = np.searchsorted(second.log_ratio, log_ratio + width - first.log_ratio, side="right")
        band = [
            _BandCell(float(first.log_ratio[i] + second.log_ratio[j]), clean, attacked, midpoint(attacked / clean))
            for i in np.flatnonzero((begin < end) & np.isfinite(first.log_ratio)).tolist()
            for j in range(begin[i], end[i])
            for clean, attacked in [(first.clean[i] * second.clean[j], first.attacked[i] * second.attacked[j])]
        ]
        band.sort(key=lambda cell: cell.ratio)
        picks = begin.tolist()
        clean_below = sum(map(mul, first.clean, map(second.clean_below.__getitem__, picks)))
        attacked_below = sum(map(mul, first.attacked, map(second.attacked_below.__getitem__, picks)))
        stop = _stop(band, p - clean_below)
        if stop is not None and abs(band[stop].log_ratio - log_ratio) <= width / 2:
            tail = first.tail + second.tail
            lower = attacked_below + _dual(band, band[stop].ratio, p - clean_below, tail)
            added = _primal(band, p - clean_below)
            if added is not None:
                return Enclosure(max(lower_end(lower), p * 0), upper_end(attacked_below + added))
        width *= 64
    return None


class _BandCell(NamedTuple):
    log_ratio: float
    clean: Exact
    attacked: Exact
    ratio: Exact


def _stop(band: Sequence[_BandCell], missing: Exact) -> int | None:
    """The cell of the band at which the missing clean mass is filled, if it is in the band at all."""
    missing = midpoint(missing)
    if missing < 0:
        return None
    for position, cell in enumerate(band):
        missing = missing - midpoint(cell.clean)
        if missing <= 0:
            return position
    return None


def _dual(band: Sequence[_BandCell], ratio: Exact, missing: Exact, tail: Exact) -> Exact:
    """λ·missing − Σ(λr − q)₊ over the band and over whatever may lie outside of the windows."""
    value = ratio * (missing - tail)
    for cell in band:
        value -= max(upper_end(ratio * cell.clean - cell.attacked), ratio * 0)
    return value


def _primal(band: Sequence[_BandCell], missing: Exact) -> Exact | None:
    """The attacked mass of a filling of the band that certainly holds the missing clean mass."""
    added = missing * 0
    for cell in band:
        part = missing / cell.clean
        if upper_end(part) <= 1:
            return added + max(upper_end(part), part * 0) * cell.attacked
        added += cell.attacked
        missing -= cell.clean
    return None
