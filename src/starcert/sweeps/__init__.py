"""Sweeps: many noise levels on validation graphs with few samples, to choose the noise of a certification.

run.toml + grid ─► SweepSettings ─► votes, level by level ─► measures ─► unbeaten levels ─► sweep.csv, sweep.html
"""

from __future__ import annotations

from starcert.sweeps.result import Sweep
from starcert.sweeps.settings import SweepSettings, complete
from starcert.sweeps.sweep import execute

__all__ = ["Sweep", "SweepSettings", "complete", "execute"]
