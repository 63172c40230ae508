"""The share of graphs that are answered right and certified, radius by radius."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.display.axes import new_axes, new_figure, two_axes
from starcert.display.style import MAJORITY, PAGE, SHADES
from starcert.metrics import certified_share, majority_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

    from starcert.certificate import Certificates
    from starcert.noise import RadiusLike

__all__ = ["RadiusMap", "stacked"]


@dataclass(frozen=True)
class RadiusMap:
    """Certified accuracy on two axes.

    Attributes:
        axes: the names of the two axes.
        share: the share of graphs certified (and answered right, if labels were given), shape (first, second axis).
        majority_share: the share of the most frequent class among the labels; None without labels.
        anchored: whether any of the certificates is anchored.
    """

    axes: tuple[str, str]
    share: npt.NDArray[np.float64]
    majority_share: float | None
    anchored: bool

    @classmethod
    def from_certificates(
        cls, certificates: Certificates, labels: npt.ArrayLike | None = None, *, max_radius: RadiusLike
    ) -> RadiusMap:
        """Computes the map of all radii up to `max_radius`, for a noise with two axes."""
        axes = two_axes(certificates.noise)
        share = certified_share(certificates, labels, max_radius=max_radius)
        majority = None if labels is None else majority_share(labels)
        return cls(axes, share, majority, any(certificates.anchored))

    def plot(self, ax: Axes | None = None, *, bar: bool = True) -> Axes:
        """Draws it: one cell a radius, light where every graph is certified; `bar`: with the scale beside it."""
        ax = new_axes(ax)
        edges = (np.arange(size + 1) - 0.5 for size in reversed(self.share.shape))  # a radius is the middle of its cell
        image = ax.pcolormesh(*edges, self.share, cmap=SHADES, vmin=0, vmax=1, edgecolors="none", rasterized=True)
        if bar:
            self.bar(image, [ax])
        ax.set(xlabel=f"flips in {self.axes[1]}", ylabel=f"flips in {self.axes[0]}")
        ax.set_title("Certified at each radius" + self._anchor)
        return ax

    @property
    def _anchor(self) -> str:
        return " (anchored regions)" if self.anchored else ""

    def bar(self, image: ScalarMappable, axes: Sequence[Axes]) -> None:
        """Draws the scale beside one map or several, with a mark where a constant answer would be."""
        meaning = "certified" if self.majority_share is None else "right and certified"
        bar = axes[0].figure.colorbar(image, ax=list(axes), label=f"share of graphs\n{meaning}", pad=0.02)
        if self.majority_share is not None:
            bar.ax.axhline(self.majority_share, color=MAJORITY, lw=2)
            bar.ax.set_title("― majority\nclass", color=MAJORITY, fontsize="x-small")


def stacked(maps: Mapping[str, RadiusMap], height: float) -> Figure:
    """Several maps of one box above each other, with one scale; `height` of each in inches."""
    figure = new_figure(PAGE, height * len(maps) + 0.5)
    axes = np.atleast_1d(figure.subplots(len(maps), 1, sharex=True)).tolist()
    for ax, (title, each) in zip(axes, maps.items(), strict=True):
        each.plot(ax, bar=False).set(title=title + each._anchor, yticks=range(each.share.shape[0]))
        if ax is not axes[-1]:
            ax.set_xlabel("")
    each.bar(axes[0].collections[0], axes)
    return figure
