"""What an attack of a given radius can do under a noise: slack, ρ_low, ρ_up.

They depend on the noise alone, not on a graph or a classifier. What is computed for a noise is remembered.
"""

from __future__ import annotations

import math
import numbers
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt

from starcert.math.channels import Product
from starcert.math.margins import Slacks, Tradeoffs
from starcert.objects.noise import Noise, RadiusLike
from starcert.system.errors import InvalidParameterError

__all__ = ["rho_lower", "rho_upper", "slack", "slack_table", "slacks_of", "tradeoffs_of"]


MAX_TABLE = 10**8
"""The most entries of a table of slacks."""


@lru_cache(maxsize=32)
def slacks_of(law: Product) -> Slacks:
    """The slacks of a product of channels: one object for each, so that proofs are shared."""
    return Slacks(law)


@lru_cache(maxsize=32)
def tradeoffs_of(law: Product) -> Tradeoffs:
    """ρ_low and ρ_up of a product of channels, shared likewise."""
    return Tradeoffs(law)


def slack(noise: Noise, radius: RadiusLike) -> float:
    """How much failure probability a radius forgives: it is certified iff 1 − p_A < slack.

    slack(R) = 1 − (least p_A that certifies R in the two-class margin), with a relative error of at most 1e-9.
    It is 1/2 for radius 0 and falls as the radius grows.

    Example:
        >>> slack(Noise(motif=0.02, random=0.45), {"motif": 1, "random": 45})  # doctest: +ELLIPSIS
        0.0018759438408...
    """
    return slacks_of(_checked(noise).product).value(noise.radius(radius))


def slack_table(noise: Noise, max_radius: RadiusLike) -> npt.NDArray[np.float64]:
    """The slack of every radius up to `max_radius`, as an array with one dimension an axis.

    Example:
        >>> slack_table(Noise(motif=0.02, random=0.45), (35, 45)).shape
        (36, 46)
    """
    limits = _checked(noise).radius(max_radius, "max_radius")
    shape = tuple(limit + 1 for limit in limits)
    if math.prod(shape) > MAX_TABLE:
        raise InvalidParameterError(
            "max_radius",
            f"leave at most {MAX_TABLE:,} radii in a table",
            limits,
            "A frontier needs no table: use certify.",
        )
    value = slacks_of(noise.product).value
    radii = product(*(range(limit + 1) for limit in limits))
    return np.fromiter(map(value, radii), dtype=float, count=math.prod(shape)).reshape(shape)


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
