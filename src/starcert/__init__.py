"""STructure-Aware Robustness CERTificates for graph classifiers.

The public names, each imported when it is first used: numba and scipy take their time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starcert import archive, classifiers, datasets, display, kernels, metrics, models, regions, report, transforms
    from starcert.attacks import rho_lower, rho_upper, slack, slack_table
    from starcert.binding import Problem
    from starcert.certificate import Certificate, Certificates, certify
    from starcert.core.confidence import Bounds, Votes, clopper_pearson
    from starcert.core.frontier import Frontier
    from starcert.errors import ArchiveError, ClassifierError, InvalidParameterError, StarcertError, StoreError
    from starcert.graphs import Bits, Categories, Graph, Partition
    from starcert.laws import Categorical, Edges, Flip, Law
    from starcert.noise import Noise
    from starcert.smoothing import ABSTAIN, SmoothedClassifier
    from starcert.system.stages import stages

__version__ = "0.1.0"

_HOME = {
    "starcert.attacks": ("rho_lower", "rho_upper", "slack", "slack_table"),
    "starcert.binding": ("Problem",),
    "starcert.certificate": ("Certificate", "Certificates", "certify"),
    "starcert.core.confidence": ("Bounds", "Votes", "clopper_pearson"),
    "starcert.core.frontier": ("Frontier",),
    "starcert.errors": ("ArchiveError", "ClassifierError", "InvalidParameterError", "StarcertError", "StoreError"),
    "starcert.graphs": ("Bits", "Categories", "Graph", "Partition"),
    "starcert.laws": ("Categorical", "Edges", "Flip", "Law"),
    "starcert.noise": ("Noise",),
    "starcert.smoothing": ("ABSTAIN", "SmoothedClassifier"),
    "starcert.system.stages": ("stages",),
}

_PACKAGES = (
    "archive",
    "classifiers",
    "datasets",
    "display",
    "kernels",
    "metrics",
    "models",
    "regions",
    "report",
    "transforms",
)

__all__ = [
    "ABSTAIN",
    "ArchiveError",
    "Bits",
    "Bounds",
    "Categorical",
    "Categories",
    "Certificate",
    "Certificates",
    "ClassifierError",
    "Edges",
    "Flip",
    "Frontier",
    "Graph",
    "InvalidParameterError",
    "Law",
    "Noise",
    "Partition",
    "Problem",
    "SmoothedClassifier",
    "StarcertError",
    "StoreError",
    "Votes",
    "archive",
    "certify",
    "classifiers",
    "clopper_pearson",
    "datasets",
    "display",
    "kernels",
    "metrics",
    "models",
    "regions",
    "report",
    "rho_lower",
    "rho_upper",
    "slack",
    "slack_table",
    "stages",
    "transforms",
]


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"starcert.{name}")
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'starcert' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
