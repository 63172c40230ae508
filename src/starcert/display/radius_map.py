"""The share of graphs that are answered right and certified, radius by radius."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.display.axes import new_axes, two_axes
from starcert.errors import InvalidParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from starcert.certificate import Certificates
    from starcert.noise import RadiusLike

__all__ = ["RadiusMap"]


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
        limits = certificates.noise.radius(max_radius, "max_radius")
        right = np.ones(len(certificates), dtype=bool)
        majority = None
        if labels is not None:
            truth = np.asarray(labels)
            if truth.shape != (len(certificates),):
                raise InvalidParameterError(
                    "labels", f"have one class for each of {len(certificates)} graphs", truth.shape
                )
            right = certificates.labels == truth
            majority = float(np.unique(truth, return_counts=True)[1].max() / truth.size)
        share = np.zeros(tuple(limit + 1 for limit in limits))
        for radius in product(*(range(limit + 1) for limit in limits)):
            share[radius] = (certificates.certified(radius) & right).mean()
        return cls(axes, share, majority, any(certificates.anchored))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it: one cell a radius, light where every graph is certified."""
        ax = new_axes(ax)
        edges = (np.arange(size + 1) - 0.5 for size in reversed(self.share.shape))  # a radius is the middle of its cell
        image = ax.pcolormesh(*edges, self.share, cmap="cividis", vmin=0, vmax=1, edgecolors="none", rasterized=True)
        meaning = "certified" if self.majority_share is None else "right and certified"
        bar = ax.figure.colorbar(image, ax=ax, label=f"share of graphs {meaning}")
        if self.majority_share is not None:  # a constant answer would be right this often
            bar.ax.axhline(self.majority_share, color="red", lw=2)
            bar.ax.annotate(
                "majority class", (0.5, self.majority_share), ha="center", va="bottom", fontsize=6, color="red"
            )
        ax.set(xlabel=f"flips in {self.axes[1]}", ylabel=f"flips in {self.axes[0]}")
        ax.set_title("Certified at each radius" + (" (anchored regions)" if self.anchored else ""))
        return ax
