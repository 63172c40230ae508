"""The arithmetic of the engine: exact numbers of python-flint, and functions that numba compiles.

A ball (`arb`) is a midpoint with a radius that encloses every rounding error; a fraction (`fmpq`) has none. The code
that proves things is written once and runs with either.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache, update_wrapper
from multiprocessing import parent_process
from threading import RLock
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import arb, ctx, fmpq, fmpz

from starcert.system.errors import StarcertWarning

Exact: TypeAlias = Any  # an `arb` or an `fmpq`
Whole: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

LOCK = RLock()  # the working precision of flint belongs to the process: one thread at a time


def exact_number(x: Fraction, bits: int | None = 128) -> Exact:
    """A number as a fraction of flint's (`bits` None) or as a ball of the working precision."""
    fraction = fmpq(x.numerator, x.denominator)
    return fraction if bits is None else arb(fraction)


def binomial_masses(n: int, p: Fraction, low: int, high: int, bits: int | None = 128) -> list[Exact]:
    """The masses of Bin(n, p) on [low, high], by the recurrence from the lower end; `bits` as in `exact_number`."""
    if p in (0, 1):
        return [exact_number(Fraction(int(k == n * p)), bits) for k in range(low, high + 1)]
    yes, no = (exact_number(x, bits) for x in (p, 1 - p))
    if bits is None or n <= 5000:
        start = exact_number(Fraction(int(fmpz.bin_uiui(n, low))), bits) * yes**low * no ** (n - low)
    else:  # the logs are large, and their leading digits cancel
        with ctx.extraprec(2 * n.bit_length()):
            choose = arb(n + 1).lgamma() - arb(low + 1).lgamma() - arb(n - low + 1).lgamma()
            yes_log, no_log = (exact_number(x).log() for x in (p, 1 - p))
            start = (choose + yes_log * low + no_log * (n - low)).exp()
    masses, odds = [start], yes / no
    for k in range(low, high):
        masses.append(masses[-1] * (n - k) * odds / (k + 1))
    return masses


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


class Compiled:
    """A function that numba compiles; numba itself is imported when the first of them is called.

    Compiled code calls other compiled functions through its globals, and cannot call a `Compiled`. So numba receives a
    copy of the function, in whose globals there is what numba has made of them.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401
        """Calls the compiled function."""
        return (self._made or self.made())(*arguments)

    def made(self) -> Any:  # noqa: ANN401  (numba's dispatcher carries no types)
        """The function as numba compiled it."""
        with LOCK:
            if self._made is None:
                whole: dict[Compiled, Any] = {}
                _make(self, whole)
                for each, made in whole.items():  # none is called before all know each other
                    each._made = made
        return self._made

    @property
    def targetoptions(self) -> object:
        """The options that numba compiles it with, under the name that it has in what numba makes."""
        return self.made().targetoptions

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # found by its name, as functions are


compiled = Compiled
"""For a decorator: the function compiled by numba."""


def _make(one: Compiled, whole: dict[Compiled, Any]) -> Any:  # noqa: ANN401
    """The compiled form of a function, with all that it may call; `whole` gets each of them."""
    if one._made is not None:
        return one._made
    if one not in whole:
        function = one.py_func
        names = dict(function.__globals__)
        copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        whole[one] = _kept_or_not(update_wrapper(copy, function))
        names |= {name: _make(value, whole) for name, value in names.items() if isinstance(value, Compiled)}
    return whole[one]


def _kept_or_not(function: Callable[..., Any]) -> Any:  # noqa: ANN401
    """The function for numba to compile.

    numba keeps compiled code beside the package or in the user's cache folder, and refuses where neither can be
    written, as in a read-only container without a home: there every process compiles the same code anew.
    """
    from numba import njit  # noqa: PLC0415  (a fifth of a second)

    try:
        return njit(cache=True)(function)
    except RuntimeError:  # numba: "cannot cache function …: no locator available"
        _say_that_code_is_not_kept()
        return njit(function)


@cache
def _say_that_code_is_not_kept() -> None:
    if parent_process() is None:  # once, and not in every worker again
        warnings.warn(
            "Compiled code cannot be kept here, so every start takes some seconds more. To keep it, set the "
            "environment variable NUMBA_CACHE_DIR to a folder that you, and only you, can write.",
            StarcertWarning,
            stacklevel=1,
        )
