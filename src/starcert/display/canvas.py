"""What the plots share: a figure to draw on, and how they look.

The same colour for the same thing, legible to the colour-blind, readable at column width.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from starcert.errors import InvalidParameterError, StarcertError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from starcert.noise import Noise

__all__ = [
    "COLOURS",
    "COLUMN",
    "FIXED",
    "MAJORITY",
    "PAGE",
    "SHADES",
    "colour_of",
    "new_axes",
    "new_figure",
    "style",
    "two_axes",
]

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Okabe and Ito's palette: regions, classes and curves take these in their order."""

FIXED = "#999999"
"""What lies in no region."""

MAJORITY = "#D55E00"
"""The share of the most frequent class, in every plot that has an accuracy."""

SHADES = "cividis"
"""The colour map of every number from low (dark) to high (light)."""

COLUMN, PAGE = 3.4, 7.0
"""Widths of a column and of a page, in inches."""


def colour_of(number: int) -> str:
    """The colour of the region, class or curve with this number."""
    return COLOURS[number % len(COLOURS)]


@contextmanager
def style() -> Iterator[None]:
    """Small clean type, vector text that can be searched, and files that do not depend on when they were made."""
    from matplotlib import rc_context  # noqa: PLC0415  (only where something is drawn)

    settings: dict[Any, Any] = {
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "legend.fontsize": 7,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "savefig.dpi": 200,
        "svg.fonttype": "none",
        "svg.hashsalt": "starcert",
    }
    with rc_context(settings):
        yield


def two_axes(noise: Noise) -> tuple[str, str]:
    """The names of the axes of a noise that has two."""
    if len(noise.axes) != 2:
        raise InvalidParameterError("noise", "have two axes to be drawn as a map", noise, f"It has {len(noise.axes)}.")
    return noise.axes[0], noise.axes[1]


def new_figure(width: float, height: float, *, dpi: float = 150) -> Figure:
    """A figure that no window belongs to, its size in inches."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (only where something is drawn)
    except ModuleNotFoundError as error:
        raise StarcertError("Plots need matplotlib: pip install 'starcert[plots]'") from error
    return Figure(figsize=(width, height), dpi=dpi, layout="constrained")


def new_axes(ax: Axes | None) -> Axes:
    """The axes that were given, or those of a new figure."""
    return new_figure(6.4, 3.6).add_subplot() if ax is None else ax
