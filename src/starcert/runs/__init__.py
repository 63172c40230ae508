"""Runs: certify the graphs of a data set with a model of the user's, from settings to an output folder.

run.toml ─► RunSettings ─► data, model, regions ─► votes ─► certificates ─► report.html, certificates.json, …
"""

from __future__ import annotations

from starcert.runs.reference import Reference
from starcert.runs.run_file import RunFile, read
from starcert.runs.settings import RunSettings, complete, take

__all__ = ["Reference", "RunFile", "RunSettings", "complete", "read", "take"]
