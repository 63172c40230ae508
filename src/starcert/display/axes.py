"""What the plots share: a pair of axes to draw on, and a pair of axes to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starcert.errors import InvalidParameterError, StarcertError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from starcert.noise import Noise

__all__ = ["new_axes", "new_figure", "two_axes"]


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
