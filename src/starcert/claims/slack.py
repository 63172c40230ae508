"""The power of an attack of a given radius under a noise: slack, ρ_low, ρ_up, and the votes needed to certify it.

They depend on the noise alone, not on a graph or a classifier. What is computed for a noise is remembered.
"""

from __future__ import annotations

import math
import numbers
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from typing import TypedDict, Unpack, get_args, overload

import numpy as np
import numpy.typing as npt

from starcert.math.channels import Product
from starcert.math.confidence import check_alpha
from starcert.math.limits import anytime_limit, counts_alpha, share_of_alpha, upper_limit
from starcert.math.margins import Slacks, Tradeoff
from starcert.objects.noise import Noise, RadiusLike
from starcert.system.errors import InvalidParameterError
from starcert.voting.plans import StoppingPlan

MAX_VOTES = 2**53  # more cannot be counted
MAX_TABLE = 10**8  # entries of a table of slacks


@lru_cache(maxsize=32)
def slacks_of(law: Product, limit: float = 0.5) -> Slacks:
    """The slacks of a product of channels: one object for each, so that proofs are shared."""
    return Slacks(law, limit)


@lru_cache(maxsize=32)
def tradeoffs_of(law: Product) -> Tradeoff:
    """ρ_low and ρ_up of a product of channels, shared likewise."""
    return Tradeoff(law)


def slack(noise: Noise, radius: RadiusLike) -> float:
    """The failure probability that a radius tolerates: it is certified iff 1 − p_A < slack.

    slack(R) = 1 − (least p_A that certifies R in the two-class margin), with a relative error of at most 1e-9.
    It is 1/2 for radius 0 and falls as the radius grows.

    Example:
        >>> slack(Noise(motif=0.02, random=0.45), {"motif": 1, "random": 45})  # doctest: +ELLIPSIS
        0.0018759438408...
    """
    return slacks_of(_checked(noise).product).value(noise.radius(radius))


def slack_table(noise: Noise, max_radius: RadiusLike) -> npt.NDArray[np.float64]:
    """The slack of every radius up to `max_radius`, as an array with one dimension per axis.

    Example:
        >>> slack_table(Noise(motif=0.02, random=0.45), (35, 45)).shape
        (36, 46)
    """
    limits = _checked(noise).radius(max_radius, "max_radius")
    table = tuple(limit + 1 for limit in limits)
    if math.prod(table) > MAX_TABLE:
        hint = "A frontier needs no table: use certify."
        raise InvalidParameterError("max_radius", f"leave at most {MAX_TABLE:,} radii in a table", limits, hint)
    values = map(slacks_of(noise.product).value, np.ndindex(table))
    return np.fromiter(values, dtype=float, count=math.prod(table)).reshape(table)


def rho_lower(noise: Noise, radius: RadiusLike, p: float) -> float:
    """ρ_low(p): the least probability that an attacked graph may have for an event of clean probability p.

    The paper's lower program, with a relative error of at most 1e-9.

    Example:
        >>> round(rho_lower(Noise(motif=0.02, random=0.45), (1, 45), 0.9995), 6)
        0.739178
    """
    p, rest = _complements(p)
    return tradeoffs_of(_checked(noise).product).lower(noise.radius(radius), p, rest)


def rho_upper(noise: Noise, radius: RadiusLike, p: float) -> float:
    """ρ_up(p): the largest probability that an attacked graph may have for an event of clean probability p.

    Example:
        >>> round(rho_upper(Noise(motif=0.02, random=0.45), (1, 45), 0.0005), 6)
        0.260822
    """
    p, rest = _complements(p)
    return tradeoffs_of(_checked(noise).product).upper(noise.radius(radius), p, rest)


def _checked(noise: Noise) -> Noise:
    if not isinstance(noise, Noise):
        raise InvalidParameterError("noise", "be a Noise", noise, "Write for instance Noise(motif=0.02, random=0.45).")
    return noise


def _complements(p: float) -> tuple[float, float]:
    if not (isinstance(p, numbers.Real) and 0 <= p <= 1):
        raise InvalidParameterError("p", "be a probability from 0 to 1", p)
    return float(p), 1 - float(p)


class _Spending(TypedDict, total=False):
    selected_apart: bool
    together: int
    evidence: bool
    plan: StoppingPlan


@overload
def votes_needed(
    noise: Noise, alpha: float, n_classes: int, *, radius: None = None, **spending: Unpack[_Spending]
) -> dict[str, int | None]: ...


@overload
def votes_needed(
    noise: Noise, alpha: float, n_classes: int, *, radius: RadiusLike, **spending: Unpack[_Spending]
) -> int | None: ...


def votes_needed(
    noise: Noise,
    alpha: float,
    n_classes: int,
    *,
    radius: RadiusLike | None = None,
    selected_apart: bool = True,
    together: int = 1,
    evidence: bool = False,
    plan: StoppingPlan = "fixed",
) -> dict[str, int | None] | int | None:
    """The fewest estimation votes that can certify a radius by p_A, which they do if all of them agree.

    Without a radius, for each axis those that certify one flip there and none elsewhere. None where no number does:
    sites that never flip, or always do, give every attack away.

    Args:
        noise: the noise that the votes are drawn with.
        alpha: the failure probability of a certificate.
        n_classes: how many classes there are.
        radius: the number of flips on each axis; None: one flip, on each axis by itself.
        selected_apart: whether the class is chosen on votes of its own.
        together: how many certificates share alpha.
        evidence: whether alpha is shared with evidence, which leaves the counts of votes a quarter of it.
        plan: "decided" if the plan may stop early: bounds that hold at any time take more votes.

    Example:
        >>> votes_needed(Noise(motif=0.02, random=0.45, frozen=0.0), 0.01, 2)
        {'motif': 450, 'random': 9, 'frozen': None}
        >>> votes_needed(Noise(motif=0.02, random=0.45), 0.01, 2, radius={"motif": 1, "random": 45})
        2453
    """
    if plan not in get_args(StoppingPlan):
        raise InvalidParameterError("plan", 'be "fixed" or "decided"', plan)
    limit = upper_limit if plan == "fixed" else anytime_limit
    alpha = counts_alpha(check_alpha(alpha), evidence=evidence)
    # Votes that all agree choose the two-class margin.
    share = share_of_alpha(alpha, n_classes, selected_apart=selected_apart, all_classes=False, family_size=together)

    def fewest(counts: tuple[int, ...]) -> int | None:
        bracket = slacks_of(noise.product).bracket(counts)

        def certify(votes: int) -> bool:
            return bracket.certifies(limit(0, votes, share)) is True

        if bracket.below <= 0 or not certify(MAX_VOTES):
            return None
        return 1 + bisect_left(range(1, MAX_VOTES), True, key=certify)

    if radius is not None:
        return fewest(noise.radius(radius))
    return {axis: fewest(tuple(int(other == axis) for other in noise.axes)) for axis in noise.axes}


def too_few_votes(samples: int, needed: Mapping[str, int | None], how: str = "") -> str:
    """A sentence about the axes on which even unanimous votes would not certify one flip; "" if there are none.

    `needed` is what `votes_needed` found for the axes that matter, `how` the argument, where there are others.

    Example:
        >>> too_few_votes(100, {"motif": 173, "random": 12})
        'Even if all 100 votes agreed, no flip would be certified in motif (173 votes could).'
    """
    short = [
        f"{axis} ({'none ever' if votes is None else f'{votes:,} votes'} could)"
        for axis, votes in needed.items()
        if votes is None or votes > samples
    ]
    certified = f"certified {how}".rstrip()
    return f"Even if all {samples:,} votes agreed, no flip would be {certified} in {', '.join(short)}." if short else ""
