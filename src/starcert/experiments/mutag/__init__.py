"""The study of molecules: settings → results → figures, checks."""

from __future__ import annotations

from starcert.experiments.mutag.checks import checks, summary
from starcert.experiments.mutag.figures import pictures, tables
from starcert.experiments.mutag.results import Settings, compute, settings
from starcert.experiments.outcome import Outcome
from starcert.experiments.parts import Parts

__all__ = ["TITLE", "Settings", "run", "settings"]

TITLE = "MUTAG: bonds that break and bonds that form"


def run(settings: Settings, parts: Parts) -> Outcome:
    """The whole study."""
    found = compute(settings, parts)
    values = {"majority_share": found.majority_share, "graphs": len(found.every.labels)}
    return Outcome(summary(found), pictures(found), tables(found), checks(found), values)
