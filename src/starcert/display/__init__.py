"""Plots. Computing and drawing are apart: a map is computed once and drawn on any matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starcert.display.maps import RadiusMap, SlackMap

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from starcert.certificate import Certificates
    from starcert.noise import Noise, RadiusLike

__all__ = ["RadiusMap", "SlackMap", "radius_map", "slack_map"]


def radius_map(
    certificates: Certificates,
    labels: npt.ArrayLike | None = None,
    *,
    max_radius: RadiusLike,
    ax: Axes | None = None,
) -> Axes:
    """Draws the share of graphs that are certified (and right, given labels) at every radius up to `max_radius`."""
    return RadiusMap.from_certificates(certificates, labels, max_radius=max_radius).plot(ax)


def slack_map(noise: Noise, max_radius: RadiusLike, *, ax: Axes | None = None) -> Axes:
    """Draws the slack of every radius up to `max_radius`, with the frontiers of unanimous votes."""
    return SlackMap.from_noise(noise, max_radius).plot(ax)
