"""Compiled functions, kept on disk where there is a place for them.

numba keeps what it has compiled beside the package or in the user's cache folder, and refuses to decorate a function if
neither can be written, as in a container whose package folder is read-only and whose user has no home. There the
functions are compiled anew in every process: the same code, and some seconds more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from multiprocessing import parent_process
from typing import Any

from numba import njit

from starcert.errors import StarcertWarning

__all__ = ["NotKeptWarning", "compiled"]


class NotKeptWarning(StarcertWarning):
    """Compiled code cannot be kept: every process compiles it anew."""


def compiled(function: Callable[..., Any]) -> Any:  # noqa: ANN401  (numba's dispatcher carries no types)
    """The function compiled by numba, for a decorator."""
    try:
        return njit(cache=True)(function)
    except RuntimeError:  # numba: "cannot cache function …: no locator available"
        if parent_process() is None:  # once, and not in every worker again; Python shows equal warnings once
            warnings.warn(
                "Compiled code cannot be kept here, so every start takes some seconds more. To keep it, set the "
                "environment variable NUMBA_CACHE_DIR to a folder that can be written.",
                NotKeptWarning,
                stacklevel=1,
            )
        return njit(function)
