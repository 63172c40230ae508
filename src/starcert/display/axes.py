"""What the plots share: a pair of axes to draw on, and a pair of axes to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starcert.errors import InvalidParameterError, StarcertError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from starcert.noise import Noise

__all__ = ["new_axes", "two_axes"]


def two_axes(noise: Noise) -> tuple[str, str]:
    """The names of the axes of a noise that has two."""
    if len(noise.axes) != 2:
        raise InvalidParameterError("noise", "have two axes to be drawn as a map", noise, f"It has {len(noise.axes)}.")
    return noise.axes[0], noise.axes[1]


def new_axes(ax: Axes | None) -> Axes:
    """The axes that were given, or those of a new figure that no window belongs to."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (only where something is drawn)
    except ModuleNotFoundError as error:
        raise StarcertError("Plots need matplotlib: pip install 'starcert[plots]'") from error
    return Figure(figsize=(6.4, 3.6), dpi=150, layout="constrained").add_subplot()
