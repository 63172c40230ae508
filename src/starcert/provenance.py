"""How a result was made: versions and the commit of the work it belongs to."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version

__all__ = ["provenance"]


def provenance() -> dict[str, str]:
    """Versions of what computes, and the commit of the folder that the run was started in ("" if there is none)."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in (
        "starcert",
        "numpy",
        "scipy",
        "numba",
        "python-flint",
        "networkx",
        "torch",
        "torch-geometric",
        "grakel",
        "scikit-learn",
    ):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found | {"commit": _commit()}


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
