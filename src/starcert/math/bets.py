"""The bet: from votes to the proof that a mean lies below a limit, valid at any time.

Votes X₁, X₂, … ≥ 0 have a mean that is claimed to be less than θ. To test the claim, start with capital 1 and multiply
it by 1 + g·(θ − X) with every vote. If the mean is θ or more, no g makes the capital grow on average, and it ever
reaches 1/δ with probability at most δ (Ville's inequality). So a capital of 1/δ proves the claim up to δ, and looking
repeatedly costs nothing. g may depend on earlier votes, and capitals of several g may be averaged.

Here the capital is shared between the `FRACTIONS` of the largest g that cannot lose everything. With a fixed g the
capital depends on how often each value was seen, not on the order: a few whole numbers, each times a logarithm. The
logarithms are rounded down to multiples of 1/`SCALE`, so that sums are exact and never too large.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

from starcert.math.arithmetic import LOCK, Floats, Whole, compiled, float_below
from starcert.math.fallback import PLAIN, Contest
from starcert.math.limits import mixture

FRACTIONS = np.array([0.95, 0.6, 0.37, 0.23, 0.14, 0.08, 0.04])  # the capital is shared evenly between these stakes
SCALE = 2**32  # logarithms of capital are counted in whole multiples of 1/SCALE
MAX_VOTES = 2**28  # with at most this many votes, sums of logarithms stay within 64 bits
NO_CAPITAL = -(2**50)  # the logarithm of a capital of nothing, in 1/SCALE
RESERVE = Fraction(1, 20)  # of the capital against an attack is not bet on the shared votes but kept for its own
_MARGIN = 1e-12  # more than the rounding errors of a logarithm here: its argument is at least 1/20


class Bet(NamedTuple):
    """A bet on a mean, with stakes chosen: how the logarithm of the capital changes with a vote, rounded down."""

    gains: Whole  # with a vote of each value, shape (fractions, *values)
    quiet: Whole  # with a vote of value 0, shape (fractions,)
    values: Floats  # what the votes may say about the mean


def bet_below(theta: float, values: Floats) -> Bet | None:
    """A bet that a mean is below θ, for votes that are 0 or one of `values`.

    None where none can be won: θ ≤ 0, or a value is beyond floats.
    """
    largest = _largest(theta, values)
    if not (theta > 0 and largest < math.inf):
        return None  # smaller θ and larger values than the true ones only make the capital smaller
    parts = FRACTIONS.reshape(-1, *[1] * values.ndim)
    gains = np.log1p(parts * ((theta - values) / (largest - theta)))
    return Bet(_whole(gains), _whole(np.log1p(FRACTIONS * (theta / (largest - theta)))), values)


def centred_bet(odds: Floats, values: Floats, low: Floats, high: Floats, unseen: Fraction) -> Bet:
    """A bet that the mean of a function f of outputs is below θ: see `math/values.py`.

    `odds` are (θ − f)/(1 − θ) for each output, −1 or more, and `values` are f; `low` and `high` are bounds on the
    likelihood ratios. Gains have the shape (fractions, *ratios, outputs).
    """
    never = math.nextafter(float(unseen), math.inf) if unseen else 0.0
    won = np.where(odds > 0, np.multiply.outer(low, odds), np.multiply.outer(high, odds)) - never
    sizes = centred_stakes(float(high.max(initial=0.0)), unseen)
    gains = _whole(np.log1p(sizes.reshape(-1, *[1] * won.ndim) * won))
    return Bet(gains, np.zeros(len(sizes), dtype=np.int64), np.multiply.outer(high, values))


def centred_stakes(largest: float, unseen: Fraction) -> Floats:
    """The stake g of `centred_bet` for each of the fractions, with the largest likelihood ratio."""
    return FRACTIONS / (largest + float(unseen) + math.ulp(0.0))


def stakes_below(theta: float, values: Floats) -> Floats:
    """The stake g of `bet_below` for each of the fractions."""
    return FRACTIONS / (_largest(theta, values) - theta)


def _largest(theta: float, values: Floats) -> float:
    """The value at which a stake may not lose everything; at least 1.5 θ, so that stakes stay bounded."""
    return max(float(values.max(initial=0.0)), 1.5 * theta)


def _whole(logarithms: Floats) -> Whole:
    return np.floor((logarithms - _MARGIN) * SCALE).astype(np.int64)


def needed(delta: Fraction) -> int:
    """The logarithm of the capital that proves a claim up to `delta`, in 1/SCALE."""
    return math.ceil((math.log(delta.denominator) - math.log(delta.numerator) + _MARGIN) * SCALE)


@compiled
def capital_of(logarithms):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """The logarithm of the mean of capitals with these logarithms, at least; all in 1/SCALE."""
    largest = logarithms[0]
    for logarithm in logarithms:
        largest = max(largest, logarithm)
    total = 0.0
    for logarithm in logarithms:
        total += math.exp((logarithm - largest) / SCALE)
    return largest + np.int64(math.floor((math.log(total / logarithms.size) - 1e-12) * SCALE))


def with_reserve(capital: Whole) -> Whole:
    """The logarithm of (1 − RESERVE)·M + RESERVE, at least, from those of M, won on the shared votes; in 1/SCALE."""
    largest = np.maximum(capital, 0)
    staked = float(1 - RESERVE) * np.exp((capital - largest) / SCALE)
    return largest + _whole(np.log(staked + float(RESERVE) * np.exp(-largest / SCALE)))


def growth(theta: float, values: Floats, masses: Floats) -> float:
    """A forecast: the mean growth of the logarithm of the capital with a vote, for the best fraction.

    A vote is 0, or one of `values` with the probabilities `masses`.
    """
    if not theta > 0:
        return -math.inf
    largest = _largest(theta, values)
    seen = np.log1p(np.multiply.outer(FRACTIONS, ((theta - values) / (largest - theta)).ravel())) @ masses.ravel()
    quiet = np.log1p(FRACTIONS * (theta / (largest - theta))) * (1 - masses.sum())
    return float((seen + quiet).max())


@lru_cache(maxsize=2**16)
def count_capital(count: int, total: int, limit: float = 0.5) -> int:
    """The logarithm of a capital against "at least `limit`": `count` votes of 1 in `total` that are 0 or 1; in 1/SCALE.

    Capital is shared between all probabilities v below the limit u by the law of arcsine: the mean over v of
    (v/u)ᵐ((1−v)/(1−u))ⁿ⁻ᵐ. It is proved in ball arithmetic, and rounded down.
    """
    more = 128 + math.ceil(-total * math.log2(min(limit, 1 - limit)))
    for bits in (128, more):  # thousands of votes that are all 0 take more
        with LOCK, ctx.workprec(bits):
            logarithm = mixture(count, total, arb(limit))
            if logarithm.is_finite():
                return math.floor(float_below((logarithm * SCALE).lower()))
    return NO_CAPITAL


def class_and_rival(counts: Whole, label: int) -> tuple[int, int]:
    """The votes for a class, and for the strongest other one."""
    votes: list[int] = counts.tolist()
    return votes[label], max(votes[:label] + votes[label + 1 :], default=0)


class Wager(NamedTuple):
    """The choices before a stage of a bet: λ in each bin, and g for each of the fractions (0: nothing staked)."""

    limits: Floats
    sizes: Floats


class OwnBet(NamedTuple):
    """The bet on votes at objects that are attacked on the listed axes: the mean of X = Y·λ(K) is below θ."""

    axes: tuple[int, ...]  # those that are pooled
    limits: Floats  # λ in each bin of their flip counts
    theta: float
    bet: Bet | None  # of X = λ, and of λ times `contest.third`; None where each vote is 0 or 1, nothing pooled
    contest: Contest = PLAIN

    def capital(self, votes: int, against: Whole, rival: int) -> int:
        """The logarithm of the capital after this many votes, at least, against the strongest other class.

        `against` has the number of votes against the class in each bin, and `rival` of them are for that class. Others
        count as in the contest. In which bins the rival's are is not known: those where they cost most are presumed.
        """
        lost = int(against.sum())
        if self.bet is None:
            return count_capital(*self.contest.score(votes - lost, rival, votes), self.contest.limit)
        order = np.argsort(-self.limits, kind="stable")
        worse = np.cumsum(against[order]) - against[order]
        whole = np.empty_like(against)
        whole[order] = np.clip(rival - worse, 0, against[order])
        full, third = self.bet.gains.transpose(1, 0, 2)
        return int(capital_of(self.bet.quiet * (votes - lost) + full @ whole + third @ (against - whole)))

    def speed(self, failure: float) -> float:
        """The growth of the logarithm of the capital with a vote at this failure rate, the same in all bins."""
        shares = np.full(len(self.limits), failure / len(self.limits))
        return growth(self.theta, self.limits, shares)
