"""Plots. Computing and drawing are apart: a map is computed once and drawn on any matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starcert.pages.plots.maps import RadiusMap, SlackMap, VerdictMap

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from starcert.certificates.certificate import Certificate
    from starcert.certificates.certify import Certificates
    from starcert.objects.noise import Noise, RadiusLike

__all__ = ["RadiusMap", "SlackMap", "VerdictMap", "radius_map", "slack_map", "verdict_map"]


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


def verdict_map(certificate: Certificate, *, max_radius: RadiusLike | None = None, ax: Axes | None = None) -> Axes:
    """Draws what is known of one graph at every radius: certified by p_A, certified by evidence, open, or broken."""
    return VerdictMap.from_certificate(certificate, max_radius=max_radius).plot(ax)


def __dir__() -> list[str]:
    return sorted(__all__)
