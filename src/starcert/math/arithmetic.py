"""What the engine computes with: exact numbers of python-flint, and functions that numba compiles.

A ball (`arb`) is a midpoint with a radius that encloses every rounding error; a fraction (`fmpq`) has none. The code
that proves things is written once and runs with either.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from multiprocessing import parent_process
from threading import RLock
from typing import Any, TypeAlias

from flint import arb, fmpq
from numba import njit

from starcert.system.errors import StarcertWarning

Exact: TypeAlias = Any  # an `arb` or an `fmpq`

LOCK = RLock()  # the working precision of flint belongs to the process: one thread at a time


def exact_number(x: Fraction, bits: int | None = 128) -> Exact:
    """A number as a fraction of flint's (`bits` None) or as a ball of the working precision."""
    fraction = fmpq(x.numerator, x.denominator)
    return fraction if bits is None else arb(fraction)


def float_below(x: Exact) -> float:
    """The largest float strictly below an exact number."""
    nearest = nearest_float(x)
    while not _of_float(nearest, x) < x:
        nearest = math.nextafter(nearest, -math.inf)
    return nearest


def float_at_least(x: Exact) -> float:
    """The smallest float that is at least an exact number."""
    nearest = nearest_float(x)
    while _of_float(nearest, x) < x:
        nearest = math.nextafter(nearest, math.inf)
    return nearest


def nearest_float(x: Exact) -> float:
    """The nearest float, or one of its neighbours."""
    return int(x.p) / int(x.q) if isinstance(x, fmpq) else float(x)


def _of_float(x: float, like: Exact) -> Exact:
    return fmpq(*x.as_integer_ratio()) if isinstance(like, fmpq) else arb(x)


def lower_end(x: Exact) -> Exact:
    """The lower end, as a number without radius."""
    return x if isinstance(x, fmpq) else x.lower()


def upper_end(x: Exact) -> Exact:
    """The upper end, as a number without radius."""
    return x if isinstance(x, fmpq) else x.upper()


def midpoint(x: Exact) -> Exact:
    """The midpoint, as a number without radius."""
    return x if isinstance(x, fmpq) else x.mid()


def compiled(function: Callable[..., Any]) -> Any:  # noqa: ANN401  (numba's dispatcher carries no types)
    """The function compiled by numba, for a decorator.

    numba keeps compiled code beside the package or in the user's cache folder, and refuses where neither can be
    written, as in a read-only container without a home: there every process compiles the same code anew.
    """
    try:
        return njit(cache=True)(function)
    except RuntimeError:  # numba: "cannot cache function …: no locator available"
        if parent_process() is None:  # once, and not in every worker again; Python shows equal warnings once
            warnings.warn(
                "Compiled code cannot be kept here, so every start takes some seconds more. To keep it, set the "
                "environment variable NUMBA_CACHE_DIR to a folder that you, and only you, can write.",
                StarcertWarning,
                stacklevel=1,
            )
        return njit(function)
