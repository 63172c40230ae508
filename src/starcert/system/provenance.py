"""How a result was made: the versions of what computes.

A run that is repeated gives the same files byte by byte as long as these are the same.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["versions"]

_PACKAGES = (
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
)


def versions() -> dict[str, str]:
    """The versions of Python, of the machine and of the installed packages that compute."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
