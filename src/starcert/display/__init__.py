"""Plots. Computing and drawing are apart: a map is computed once and drawn on any matplotlib axes."""

from __future__ import annotations

from starcert.display.curves import AccuracyCurves, accuracy_curves
from starcert.display.maps import RadiusMap, SlackMap, VerdictMap, radius_map, slack_map, verdict_map

__all__ = ["AccuracyCurves", "RadiusMap", "SlackMap", "VerdictMap", "accuracy_curves", "radius_map", "slack_map",
           "verdict_map"]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
