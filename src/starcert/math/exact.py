"""ρ_low enclosed between two proved bounds, in ball and rational arithmetic (python-flint).

Floating point only points at a place to look: `tradeoff` finds the cell at which the greedy filling stops. What is
claimed there is proved by both sides of linear programming duality:
ρ_low(p) = min{Σ q·h : Σ r·h = p, 0 ≤ h ≤ 1} lies between

    λp − Σ(λr − q)₊   for *any* λ ≥ 0,     and     Σ q·h   for *any* test h with Σ r·h ≥ p.

With λ the ratio of that cell, and h the filling, both are ρ_low itself. The sums run over pairs from two halves of the
axes, as in `cells`, with balls for masses. Floats decide on which side of the cut a cell lies only where log ratios
differ by far more than their rounding errors; in the *band* around the cut every cell is treated by itself.

Balls of 128 bits settle almost everything. Where they don't (ρ_low is itself a float, say), 512 bits are tried, then
fractions, which have no radius at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

from starcert.math.arithmetic import (
    LOCK,
    Exact,
    Floats,
    binomial_masses,
    exact_number,
    lower_end,
    midpoint,
    nearest_float,
    upper_end,
)
from starcert.math.cells import HalfKey, count_cells, evenly_spaced_log_ratios, halve, log_ratio_of_count, window
from starcert.math.channels import Channel, Outcome, Product
from starcert.system.errors import PrecisionError

BITS = (128, 512)
MAX_EXACT_RADIUS = 2000  # up to this many attacked sites, fractions settle what 512 bits leave open
MAX_EXACT_CELLS = 2**12  # the same limit in cells, where a channel has three outcomes or more
MAX_STORED = 2**18  # the most cells that are kept for the next radius; a ball takes some hundred bytes


class Prover:
    """Proves enclosures of ρ_low for one product of channels. Tables are shared between radii."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self._tables: dict[tuple[int | None, HalfKey], _Half] = {}
        self._stored = 0
        self._scales = [_largest_log_ratio(channel) for channel in product.factors]

    def enclosures(self, radius: tuple[int, ...], p: Fraction, log_ratio: float) -> Iterator[Enclosure]:
        """Ever tighter enclosures of ρ_low(p), the last one exact if the radius allows. Stop when one serves.

        `log_ratio` is where the filling stops, to within rounding errors, as `Tradeoff.cut` finds it.
        """
        powers = self.product.powers(radius)
        # Tiny masses lie far out and are small: windows and precision grow by as many bits as they are smaller than 1.
        wider = 0
        if not 1e-6 < p < 1 - 1e-6:
            rare = min(p, 1 - p)
            wider = 64 * ((rare.denominator.bit_length() - rare.numerator.bit_length()) // 64 + 1) if rare else 0
        few = self.product.binary or count_cells(self.product, powers) <= MAX_EXACT_CELLS
        for bits in (*BITS, None) if few and sum(powers) <= MAX_EXACT_RADIUS else BITS:
            with LOCK, ctx.workprec(bits + wider if bits else 64):
                enclosure = self._enclosure(powers, p, log_ratio, bits and bits + wider)
            if enclosure is not None:
                yield enclosure

    def value(self, radius: tuple[int, ...], p: Fraction, log_ratio: float, *, complement: bool = False) -> float:
        """ρ_low(p), or 1 − ρ_low(p), from the first enclosure that knows more digits than a float has."""
        for found in self.enclosures(radius, p, log_ratio):
            enclosure = found.complement() if complement else found
            with LOCK, ctx.workprec(4096):
                settled = (enclosure.upper - enclosure.lower) * 2**60 <= enclosure.lower
            if settled:
                return float(enclosure)
        raise PrecisionError(
            f"The probability {float(p)!r} at radius {radius} is too close to 0 or 1 to be worked with. "
            f"Lower the radius, or ask about a probability further from 0 and 1."
        )

    def _enclosure(self, powers: tuple[int, ...], p: Fraction, log_ratio: float, bits: int | None) -> Enclosure | None:
        mass = exact_number(p, bits)
        if p == 1:
            shown = self._shown_by_both(powers, bits, "clean")
            return Enclosure(lower_end(shown), upper_end(shown))
        if upper_end(mass) <= lower_end(1 - self._shown_by_both(powers, bits, "attacked")):
            return Enclosure(mass * 0, mass * 0)
        first, second = (self._half(half, bits) for half in halve(self.product, powers))
        if len(first.clean) > len(second.clean):
            first, second = second, first
        return _enclose(first, second, mass, log_ratio, sum(map(mul, self._scales, powers)))

    def _shown_by_both(self, powers: tuple[int, ...], bits: int | None, side: str) -> Exact:
        """The mass, seen from the other side, of the cells that `side` shows at all (less than 1 for one-way noise)."""
        shown = exact_number(Fraction(1), bits)
        for channel, power in zip(self.product.factors, powers, strict=True):
            own, other = (0, 1) if side == "clean" else (1, 0)
            hidden = sum((masses[other] for masses in channel.outcomes if masses[own] == 0), Fraction(0))
            if hidden:  # one such site is enough to tell the sides apart
                shown *= exact_number(1 - hidden, bits) ** power
        return shown

    def _half(self, half: HalfKey, bits: int | None) -> _Half:
        key = (bits, half)
        if key not in self._tables:
            if len(half) > 1:
                table = _multiply(self._half(half[:-1], bits), self._half(half[-1:], bits))
            elif half:
                table = _power(self.product.factors[half[0][0]], half[0][1], bits)
            else:
                one = exact_number(Fraction(1), bits)
                table = _with_sums(np.zeros(1), [one], [one], one - one)
            if self._stored > MAX_STORED:
                self._tables, self._stored = {}, 0
            self._tables[key] = table
            self._stored += len(table.clean)
        return self._tables[key]


def _largest_log_ratio(channel: Channel) -> float:
    """The largest finite |log ratio| of one site, once its floats are proved right to a relative 2⁻⁵⁰."""
    with LOCK, ctx.workprec(128):
        for (bottom, top), rounded in zip(channel.outcomes, channel.log_ratios, strict=True):
            if top and bottom:
                near_one = abs(top - bottom) * 2 < bottom
                true = exact_number((top - bottom) / bottom).log1p() if near_one else exact_number(top / bottom).log()
                if not abs(true - rounded) <= abs(true) * arb(2) ** -50:
                    raise ArithmeticError(f"log({top}/{bottom}) came out as {rounded}: this platform's log is off")
    return max((abs(x) for x in channel.log_ratios if math.isfinite(x)), default=0.0)


def _power(channel: Channel, radius: int, bits: int | None) -> _Half:
    """The cells of `radius` attacked sites with one channel."""
    if channel.binary:
        return _binomial_half(channel, radius, bits)
    if channel.evenly_spaced:
        clean, attacked = (_trinomial(radius, side, bits) for side in zip(*channel.outcomes, strict=True))
        return _with_sums(evenly_spaced_log_ratios(channel, radius), clean, attacked, clean[0] * 0)
    zero, one = (exact_number(Fraction(x), bits) for x in (0, 1))
    finite = [x for x in channel.log_ratios if math.isfinite(x)]
    cells = _multinomial(radius, channel.shared, finite, bits)
    seen = [exact_number(sum((m[side] for m in channel.shared), Fraction(0)), bits) ** radius for side in (0, 1)]
    cells = [(log_ratio, clean * seen[0], attacked * seen[1]) for log_ratio, clean, attacked in cells]
    if channel.outcomes[0][1] == 0:
        cells.append((-math.inf, one - seen[0], zero))
    if channel.outcomes[-1][0] == 0:
        cells.append((math.inf, zero, one - seen[1]))
    cells.sort(key=lambda cell: cell[0])
    log_ratios, cleans, attackeds = map(list, zip(*cells, strict=True))
    return _with_sums(np.array(log_ratios), cleans, attackeds, zero)


def _binomial_half(channel: Channel, radius: int, bits: int | None) -> _Half:
    sides = channel.outcomes[1]
    blocks = [(0, radius)]
    if bits is not None:  # the windows of both sides, joined where they touch
        (low, high), (low2, high2) = sorted(window(radius, float(p), bits) for p in sides)
        blocks = [(low, max(high, high2))] if low2 <= high + 1 else [(low, high), (low2, high2)]
    ratios = channel.log_ratios
    counts = (k for low, high in blocks for k in range(low, high + 1))
    log_ratio = np.array([log_ratio_of_count(k, radius, *ratios) for k in counts])
    clean, attacked = ([x for low, high in blocks for x in binomial_masses(radius, p, low, high, bits)] for p in sides)
    tail = clean[0] * 0 if blocks == [(0, radius)] else upper_end(1 - sum(clean))
    # Cells with neither mass (one-way noise) have no ratio either: they are left out.
    keep = [i for i in range(len(clean)) if not (clean[i] == 0 and attacked[i] == 0)]
    return _with_sums(log_ratio[keep], [clean[i] for i in keep], [attacked[i] for i in keep], tail)


def _trinomial(radius: int, masses: Sequence[Fraction], bits: int | None) -> list[Exact]:
    """The mass of each of 2R + 1 sums, where a site adds 0, 1 or 2 with these masses: (x + y·t + z·t²)^R.

    As f = gᴿ has g·f′ = R·g′·f, its coefficients have (n+1)·x·f(n+1) = (R−n)·y·f(n) + (2R−n+1)·z·f(n−1). Up to R all
    of it is positive, so that no digits are lost; the other half is the same, seen from its own end.
    """
    x, y, z = (exact_number(mass, bits) for mass in masses)

    def from_below(x: Exact, z: Exact) -> list[Exact]:
        found = [x * 0, x**radius]
        for n in range(radius):
            found.append(((radius - n) * y * found[-1] + (2 * radius - n + 1) * z * found[-2]) / ((n + 1) * x))
        return found[1:]

    return from_below(x, z) + from_below(z, x)[-2::-1]


def _multinomial(
    radius: int, outcomes: Sequence[Outcome], log_ratios: Sequence[float], bits: int | None
) -> list[tuple[float, Exact, Exact]]:
    """Log ratio, clean and attacked mass of every way to share `radius` sites among outcomes: see `cells`."""
    if len(outcomes) == 1:
        one = exact_number(Fraction(1), bits)
        return [(radius * log_ratios[0], one, one)]
    shares = [side[0] / sum(side, Fraction(0)) for side in zip(*outcomes, strict=True)]
    rows = zip(*(binomial_masses(radius, share, 0, radius, bits) for share in shares), strict=True)
    return [
        (count * log_ratios[0] + log_ratio, row[0] * clean, row[1] * attacked)
        for count, row in enumerate(rows)
        for log_ratio, clean, attacked in _multinomial(radius - count, outcomes[1:], log_ratios[1:], bits)
    ]


def _multiply(left: _Half, right: _Half) -> _Half:
    with np.errstate(invalid="ignore"):  # ∞ − ∞ belongs to a cell without mass
        log_ratio = np.add.outer(left.log_ratio, right.log_ratio).reshape(-1)
    order = np.argsort(log_ratio, kind="stable")
    order = order[~np.isnan(log_ratio[order])]
    clean = [x * y for x in left.clean for y in right.clean]
    attacked = [x * y for x in left.attacked for y in right.attacked]
    kept_clean, kept_attacked = ([masses[i] for i in order.tolist()] for masses in (clean, attacked))
    return _with_sums(log_ratio[order], kept_clean, kept_attacked, left.tail + right.tail)


def _with_sums(log_ratio: Floats, clean: list[Exact], attacked: list[Exact], tail: Exact) -> _Half:
    clean_below, attacked_below = (list(accumulate(masses, initial=masses[0] * 0)) for masses in (clean, attacked))
    return _Half(log_ratio, clean, attacked, clean_below, attacked_below, tail)


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


class _Half(NamedTuple):
    """Cells of one half in ascending log ratio, with running sums; entry j of a sum is over the first j."""

    log_ratio: Floats
    clean: list[Exact]
    attacked: list[Exact]
    clean_below: list[Exact]
    attacked_below: list[Exact]
    tail: Exact  # the clean mass outside of the windows


def _enclose(first: _Half, second: _Half, p: Exact, log_ratio: float, scale: float) -> Enclosure | None:
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
