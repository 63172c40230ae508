"""A table of numbers as a heatmap: one cell a pair of settings, its number written into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.display.axes import new_axes
from starcert.display.style import SHADES
from starcert.errors import InvalidParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["NumberGrid"]


@dataclass(frozen=True)
class NumberGrid:
    """Numbers by row and column.

    Attributes:
        values: shape (rows, columns); NaN where there is none.
        rows: what each row is called.
        columns: what each column is called.
        row_name: what the rows are.
        column_name: what the columns are.
        value_name: what the numbers are.
        limits: the numbers at the dark and at the light end; None: the least and the greatest.
        digits: after the point.
    """

    values: npt.NDArray[np.float64]
    rows: Sequence[object]
    columns: Sequence[object]
    row_name: str
    column_name: str
    value_name: str
    limits: tuple[float, float] | None = None
    digits: int = 0

    def __post_init__(self) -> None:
        if np.shape(self.values) != (len(self.rows), len(self.columns)):
            shape = (len(self.rows), len(self.columns))
            raise InvalidParameterError("values", f"have the shape {shape}", np.shape(self.values))

    def plot(self, ax: Axes | None = None, *, bar: bool = True, font_size: float = 6) -> Axes:
        """Draws it: the first row at the top; a number is black on light cells and white on dark ones."""
        ax = new_axes(ax)
        low, high = self.limits or (float(np.nanmin(self.values)), float(np.nanmax(self.values)))
        image = ax.imshow(self.values, cmap=SHADES, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
        for (i, j), value in np.ndenumerate(self.values):
            if np.isfinite(value):
                light = value - low > 0.5 * (high - low)
                ax.text(
                    j, i, f"{value:.{self.digits}f}", ha="center", va="center", fontsize=font_size,
                    color="black" if light else "white",
                )  # fmt: skip
        ax.set_xticks(range(len(self.columns)), [str(column) for column in self.columns])
        ax.set_yticks(range(len(self.rows)), [str(row) for row in self.rows])
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set(xlabel=self.column_name, ylabel=self.row_name)
        if bar:
            ax.figure.colorbar(image, ax=ax, label=self.value_name)
        return ax
