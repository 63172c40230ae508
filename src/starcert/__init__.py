"""STructure-Aware Robustness CERTificates for graph classifiers.

The public names, each imported when it is first used: numba and scipy take their time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starcert import classifiers, datasets, models, transforms
    from starcert import files as archive
    from starcert import pages as report
    from starcert.certificates import metrics
    from starcert.certificates.certificate import Certificate
    from starcert.certificates.certify import Certificates, certify
    from starcert.certificates.estimator import ABSTAIN
    from starcert.certificates.slack import rho_lower, rho_upper, slack, slack_table
    from starcert.certificates.smoothing import SmoothedClassifier
    from starcert.classifiers import kernels
    from starcert.math.bounds import Anytime, Bound, ClopperPearson
    from starcert.math.confidence import Bounds, Votes, clopper_pearson
    from starcert.math.frontier import Frontier
    from starcert.objects import Bits, Categories, Graph, Partition, regions
    from starcert.objects.binding import Problem
    from starcert.objects.laws import Categorical, Edges, Flip, Law
    from starcert.objects.noise import Noise
    from starcert.pages import plots as display
    from starcert.system.errors import ArchiveError, ClassifierError, InvalidParameterError, StarcertError, StoreError
    from starcert.system.stages import stages

__version__ = "0.1.0"

_HOME = {
    "starcert.certificates.slack": ("rho_lower", "rho_upper", "slack", "slack_table"),
    "starcert.objects.binding": ("Problem",),
    "starcert.certificates.certificate": ("Certificate",),
    "starcert.certificates.certify": ("Certificates", "certify"),
    "starcert.math.bounds": ("Anytime", "Bound", "ClopperPearson"),
    "starcert.math.confidence": ("Bounds", "Votes", "clopper_pearson"),
    "starcert.math.frontier": ("Frontier",),
    "starcert.system.errors": (
        "ArchiveError",
        "ClassifierError",
        "InvalidParameterError",
        "StarcertError",
        "StoreError",
    ),
    "starcert.objects": ("Bits", "Categories", "Graph", "Partition"),
    "starcert.objects.laws": ("Categorical", "Edges", "Flip", "Law"),
    "starcert.objects.noise": ("Noise",),
    "starcert.certificates.smoothing": ("ABSTAIN", "SmoothedClassifier"),
    "starcert.system.stages": ("stages",),
}

_MODULES = {
    "archive": "starcert.files",
    "classifiers": "starcert.classifiers",
    "datasets": "starcert.datasets",
    "display": "starcert.pages.plots",
    "kernels": "starcert.classifiers.kernels",
    "metrics": "starcert.certificates.metrics",
    "models": "starcert.models",
    "regions": "starcert.objects.regions",
    "report": "starcert.pages",
    "transforms": "starcert.transforms",
}

__all__ = [
    "ABSTAIN",
    "Anytime",
    "ArchiveError",
    "Bits",
    "Bound",
    "Bounds",
    "Categorical",
    "Categories",
    "Certificate",
    "Certificates",
    "ClassifierError",
    "ClopperPearson",
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
    if name in _MODULES:
        return import_module(_MODULES[name])
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'starcert' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
