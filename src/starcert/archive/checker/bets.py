"""The capital of bets in balls: what attacked sites may show, with likelihood ratios and masses, and what stakes gain.

All bets of the checker are one type (`CheckedBet`): on votes on the clean object or at an attacked one, on classes, on
all targets at once, or on outputs that are numbers. A vote adds to the logarithm of the capital by its *cell*, which is
what it shows at the attacked sites, and by its *group*: its stage and bin, or what it answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, factorial, prod
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import acb, arb, ctx

from starcert.math.arithmetic import exact_number, float_below
from starcert.math.attacked_sites import AttackAxis, SiteLaw
from starcert.math.ballots import Ballots
from starcert.math.choices import Level
from starcert.math.pooling import bins_of

PRECISION = 96
SCALE = 2**32  # logarithms are rounded down to multiples of 1/SCALE, and then added as whole numbers

Whole = npt.NDArray[np.int64]
Ball: TypeAlias = arb
Attacked: TypeAlias = tuple[tuple[SiteLaw, int], ...]
"""For each axis of a pool the law, and how many sites are attacked."""


@lru_cache(maxsize=64)
def pooled_outcomes(pools: tuple[tuple[Attacked, int], ...]) -> list[tuple[Ball, list[Ball]]]:
    """For everything that attacked sites may show: the likelihood ratio, and its mass in each bin."""
    found = [(arb(1), [arb(1)])]
    for pool in pools:
        found = [(r * s, [x * y for x in left for y in right]) for r, left in found for s, right in _pool(*pool)]
    return found


@lru_cache(maxsize=1024)
def _pool(axes: Attacked, n_sites: int) -> list[tuple[Ball, list[Ball]]]:
    """The same for one pool: with j flips at attacked sites, K is j plus the flips of the others."""
    clean = axes[0][0].clean
    starts = bins_of(n_sites, clean)
    ends, n_others = [*starts[1:], n_sites + 1], n_sites - sum(attacked for _, attacked in axes)
    yes, no = exact_number(clean), exact_number(1 - clean)
    others = [arb(comb(n_others, k)) * yes**k * no ** (n_others - k) for k in range(n_others + 1)]
    shown = [(arb(1), 0, arb(1))]
    for law, attacked in axes:
        own = flip_outcomes(law, attacked)
        shown = [(r * ratio, i + j, x * mass) for r, i, x in shown for ratio, j, mass in own]

    def in_bins(j: int) -> list[Ball]:
        if len(starts) == 1:
            return [arb(1)]
        bins = zip(starts, ends, strict=True)
        return [sum(others[max(start - j, 0) : max(end - j, 0)], arb(0)) for start, end in bins]

    return [(ratio, [mass * share for share in in_bins(j)]) for ratio, j, mass in shown]


def flip_outcomes(law: SiteLaw, number: int) -> list[tuple[Ball, int, Ball]]:
    """For all counts of each outcome of a flip at `number` attacked sites: likelihood ratio, flips, probability."""
    ratios = [exact_number(attacked / clean if clean else Fraction(0)) for clean, attacked in law.outcomes]
    chances = [exact_number(clean) for clean, _ in law.outcomes]
    stayed = exact_number((1 - law.attacked) / (1 - law.clean) if law.clean < 1 else Fraction(0))
    stays, found = exact_number(1 - law.clean), []
    for shares in product(range(number + 1), repeat=len(law.outcomes)):
        flips, left = sum(shares), number - sum(shares)
        if left < 0:  # more than there are sites: a place with zeros
            found.append((arb(0), flips, arb(0)))
            continue
        ways = factorial(number) // prod(map(factorial, (*shares, left)))
        ratio = prod((each**j for each, j in zip(ratios, shares, strict=True)), start=stayed**left)
        mass = prod((each**j for each, j in zip(chances, shares, strict=True)), start=arb(ways) * stays**left)
        found.append((ratio, flips, mass))
    return found


def log_gains(sizes: npt.NDArray[np.float64], theta: Ball, values: Sequence[Ball]) -> Whole:
    """At most log(1 + g·(θ − X)), for each g and X, in 1/SCALE."""
    found = np.zeros((len(sizes), len(values)), dtype=np.int64)
    for i, size in enumerate(sizes.tolist()):
        for k, value in enumerate(values if size else ()):
            logarithm = ((1 + arb(size) * (theta - value)).lower()).log()
            found[i, k] = math.floor(float_below((logarithm * SCALE).lower()))
    return found


def mean_of_exponentials(logarithms: Whole) -> Ball:
    """The mean of what these are logarithms of, in 1/SCALE."""
    return sum(((arb(each) / SCALE).exp() for each in logarithms.tolist()), arb(0)) / len(logarithms)


@lru_cache(maxsize=2**14)
def mixture(count: int, total: int, limit: float = 0.5) -> Ball:
    """The capital against "at least `limit`" after `count` of `total` votes, as an integral.

    With v = sin²t and u the limit, the mean of (v/u)ᵐ((1 − v)/(1 − u))ⁿ⁻ᵐ over the arcsine law below u is that over t
    from 0 to arcsin √u, evenly.
    """
    with ctx.workprec(64):
        yes, no = 1 / arb(limit), 1 / (1 - arb(limit))
        end = arb(limit).sqrt().asin()

        def capital(t: acb, _: bool) -> acb:  # flint asks whether it is analytic: it is
            return (yes * t.sin() ** 2) ** count * (no * t.cos() ** 2) ** (total - count)

        whole = acb.integral(capital, acb(0), acb(end), rel_tol=arb(2) ** -50)
        return whole.real / end


def shown_outcomes_of(record: Ballots, axis: AttackAxis) -> npt.NDArray[np.uint8]:
    """The outcome that each vote shows at each choice of an axis, 0 where it did not flip, shape (choices, votes)."""
    if axis.moves is None:
        return np.ascontiguousarray(record.matrix(axis.sites).T).view(np.uint8)
    found = np.zeros((axis.n_choices, len(record)), dtype=np.uint8)
    values = record.values(axis.sites)
    for site, clean in enumerate(axis.values.tolist()):
        shown = np.where(values[:, site] < 0, clean, values[:, site])
        for move in range(axis.law.moves):
            found[axis.law.moves * site + move] = axis.moves.outcomes[clean, move][shown]
    return found


def ratios_of(axes: Sequence[AttackAxis], level: Level, listed: Sequence[int]) -> list[Ball]:
    """The likelihood ratio of each cell of the listed axes, in the order of `Cells`."""
    own = [[ratio for ratio, _, _ in flip_outcomes(axes[axis].law, level[axis])] for axis in listed]
    return [prod(parts, start=arb(1)) for parts in product(*own)]


def seen_on(axes: Sequence[AttackAxis], level: Level, attacked: Iterable[int]) -> Fraction:
    """The probability that an object attacked on these axes shows nothing there that the clean one never shows."""
    return prod(((1 - axes[axis].law.unseen) ** level[axis] for axis in attacked), start=Fraction(1))


class CheckedBet(NamedTuple):
    """The term that a vote adds to the logarithm of the capital, by its cell, for each stake."""

    rival: Whole  # if it is for the rival, shape (stakes, cells)
    other: Whole  # if it is for a third class
    quiet: Whole  # if it is for the class

    @classmethod
    def of(cls, sizes: npt.NDArray[np.float64], theta: Ball, values: Sequence[Ball], part: float) -> CheckedBet:
        """X is one of these values where a vote is for the rival, that part of it for a third class, else 0."""
        rival, other = (log_gains(sizes, theta, [value * share for value in values]) for share in (1.0, part))
        return cls(rival, other, log_gains(sizes, theta, [arb(0)])[:, 0])

    def capital(self, rival: Whole, other: Whole, quiet: int) -> Ball:
        """At least the capital after so many votes for the rival, for third classes, by cell, and for the class."""
        return mean_of_exponentials(self.quiet * quiet + self.rival @ rival + self.other @ other)


class Cells(NamedTuple):
    """The numbers of cells: what is shown at the attacked sites of the listed axes, and below that the group."""

    steps: Mapping[int, Whole]  # for each listed axis and outcome the distance between numbers
    number: int  # how many there are

    @classmethod
    def of(cls, axes: Sequence[AttackAxis], level: Level, listed: Sequence[int], groups: int = 1) -> Cells:
        """The cells of attacks on these axes, for votes of this many groups."""
        steps, step = dict[int, Whole](), groups
        for axis in reversed(listed):
            lengths = [step * (level[axis] + 1) ** i for i in range(len(axes[axis].law.outcomes))]
            steps[axis], step = np.array([0, *reversed(lengths)], dtype=np.int64), lengths[-1] * (level[axis] + 1)
        return cls(steps, step)

    def of_votes(
        self, groups: Whole, shown: Sequence[npt.NDArray[np.uint8]], attack: Mapping[int, Sequence[int]]
    ) -> Whole:
        """The cell of each vote at one attack: for each listed axis the numbers of its choices."""
        cells = groups.copy()
        for axis, chosen in attack.items():
            for number in chosen:
                cells += self.steps[axis][shown[axis][number]]
        return cells
