"""How far votes reach: the slack of every radius, with the frontiers that unanimous votes attain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.attacks import slack_table
from starcert.core.confidence import Votes, clopper_pearson
from starcert.display.axes import new_axes, two_axes
from starcert.display.style import SHADES
from starcert.system.words import at_most

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from starcert.noise import Noise, RadiusLike

__all__ = ["SlackMap"]


@dataclass(frozen=True)
class SlackMap:
    """The slack of every radius on two axes, and the failure bounds of unanimous votes.

    Attributes:
        axes: the names of the two axes.
        slack: shape (first axis, second axis).
        failures: for each number of votes, the bound on 1 − p_A if all of them agree.
        alpha: the failure probability of those bounds.
    """

    axes: tuple[str, str]
    slack: npt.NDArray[np.float64]
    failures: dict[int, float]
    alpha: float

    @classmethod
    def from_noise(
        cls,
        noise: Noise,
        max_radius: RadiusLike,
        *,
        votes: Sequence[int] = (100, 1_000, 10_000, 100_000),
        alpha: float = 0.01,
    ) -> SlackMap:
        """Computes the map of a noise with two axes.

        Example:
            >>> from starcert.noise import Noise
            >>> SlackMap.from_noise(Noise(motif=0.02, random=0.45), (8, 45)).slack.shape
            (9, 46)
        """
        axes = two_axes(noise)
        bounds = clopper_pearson(Votes([[n, 0] for n in votes], selection=[[1, 0]] * len(votes)), alpha=alpha)
        return cls(axes, slack_table(noise, max_radius), dict(zip(votes, bounds.failure.tolist(), strict=True)), alpha)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it: dark where there is little slack; a line is the frontier of so many unanimous votes."""
        ax = new_axes(ax)
        from matplotlib import colors  # noqa: PLC0415  (only where something is drawn)

        shown = np.maximum(self.slack, self.slack[self.slack > 0].min())
        edges = (np.arange(size + 1) - 0.5 for size in reversed(shown.shape))  # a radius is the middle of its cell
        image = ax.pcolormesh(*edges, shown, cmap=SHADES, norm=colors.LogNorm(), edgecolors="none", rasterized=True)
        ax.figure.colorbar(image, ax=ax, label="slack: certified iff 1 − p_A is below")
        for n, failure in self.failures.items():
            reach = (self.slack > failure).sum(axis=1)
            reach = reach[reach > 0]
            if not reach.size:
                continue
            across = np.append(np.repeat(reach, 2), 0) - 0.5
            up = np.append(np.repeat(np.arange(reach.size + 1), 2)[1:-1], reach.size) - 0.5
            ax.plot(across, up, color="white", lw=3, solid_joinstyle="miter")
            ax.plot(across, up, color="black", lw=1.4, solid_joinstyle="miter")
            # The label stands inside its line, in the highest row that is wide enough for it.
            row = max(np.flatnonzero(reach >= 0.3 * shown.shape[1]), default=0)
            ax.annotate(
                f"{n:,} votes ", (reach[row] - 0.5, row + 0.45), ha="right", va="top", fontsize=8, fontweight="bold"
            )
        ax.set(xlabel=f"flips in {self.axes[1]}", ylabel=f"flips in {self.axes[0]}")
        ax.set_title(f"What unanimous votes certify (alpha = {at_most(self.alpha)})")
        return ax
