"""STructure-Aware Robustness CERTificates for graph classifiers: the catalogue of public names."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING

from starcert import system  # noqa: F401  (first: it may end the command before numpy is imported)

if TYPE_CHECKING:
    from starcert import archive, baselines, classifiers, datasets, display, models, report, transforms
    from starcert.claims import metrics
    from starcert.claims.certificate import Certificate
    from starcert.claims.certificates import Certificates
    from starcert.claims.collective import CollectiveClaim
    from starcert.claims.from_bounds import certify
    from starcert.claims.intervals import ValueInterval
    from starcert.claims.slack import rho_lower, rho_upper, slack, slack_table
    from starcert.classifiers import kernels
    from starcert.classifiers.base import Classifier
    from starcert.classifiers.values import ValueRange
    from starcert.math.confidence import Bounds, clopper_pearson
    from starcert.math.frontier import Frontier
    from starcert.math.votes import Votes
    from starcert.methods.estimator import ABSTAIN
    from starcert.methods.exhaustive import ExactClassifier
    from starcert.methods.hashed import HashedVotes
    from starcert.methods.numbers import SmoothedRegressor
    from starcert.methods.preparation import Fallback
    from starcert.methods.smoothed import SmoothedClassifier
    from starcert.objects import (
        Bits,
        Categories,
        CleanObject,
        Graph,
        Kind,
        Layer,
        Partition,
        Region,
        TableRow,
        Tokens,
        regions,
        threats,
    )
    from starcert.objects.binding import Problem
    from starcert.objects.laws import Categorical, Edges, Flip, Law, Mask
    from starcert.objects.noise import Noise
    from starcert.objects.threats import Threat
    from starcert.system.errors import ArchiveError, ClassifierError, InvalidParameterError, StarcertError, StoreError
    from starcert.voting.plans import Evidence, Plan, Voting

__version__ = "0.2.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless an application wants to hear

__all__ = ["ABSTAIN", "ArchiveError", "Bits", "Bounds", "Categorical", "Categories", "Certificate", "Certificates",
           "Classifier", "ClassifierError", "CleanObject", "CollectiveClaim", "Edges", "Evidence",
           "ExactClassifier", "Fallback", "Flip", "Frontier", "Graph", "HashedVotes", "InvalidParameterError",
           "Kind", "Law", "Layer", "Mask", "Noise", "Partition", "Plan", "Problem", "Region", "SmoothedClassifier",
           "SmoothedRegressor", "StarcertError", "StoreError", "TableRow", "Threat", "Tokens", "ValueInterval",
           "ValueRange", "Votes", "Voting", "archive", "baselines", "certify", "classifiers", "clopper_pearson",
           "datasets", "display", "kernels", "metrics", "models", "regions", "report", "rho_lower", "rho_upper",
           "slack", "slack_table", "threats", "transforms"]  # fmt: skip

_MODULES = {"kernels": "classifiers.kernels", "metrics": "claims.metrics",
            "regions": "objects.regions", "threats": "objects.threats"}  # fmt: skip
"""Modules of the catalogue under another name than their own."""

_PLACES = {
    "claims.certificate": "Certificate",
    "claims.certificates": "Certificates",
    "claims.from_bounds": "certify",
    "claims.collective": "CollectiveClaim",
    "methods.estimator": "ABSTAIN",
    "methods.exhaustive": "ExactClassifier",
    "methods.hashed": "HashedVotes",
    "methods.numbers": "SmoothedRegressor",
    "methods.preparation": "Fallback",
    "claims.slack": "rho_lower rho_upper slack slack_table",
    "methods.smoothed": "SmoothedClassifier",
    "claims.intervals": "ValueInterval",
    "classifiers.base": "Classifier",
    "classifiers.values": "ValueRange",
    "math.confidence": "Bounds Votes clopper_pearson",
    "math.frontier": "Frontier",
    "objects": "Bits Categories CleanObject Graph Kind Layer Partition Region TableRow Tokens",
    "objects.binding": "Problem",
    "objects.laws": "Categorical Edges Flip Law Mask",
    "objects.noise": "Noise",
    "objects.threats": "Threat",
    "system.errors": "ArchiveError ClassifierError InvalidParameterError StarcertError StoreError",
    "voting.plans": "Evidence Plan Voting",
}
"""Where the other names come from."""


def __getattr__(name: str) -> object:
    """A name of the catalogue, imported when it is first used: `import starcert` imports nothing by itself."""
    if name not in __all__:
        raise AttributeError(f"module 'starcert' has no attribute {name!r}")
    place = next((module for module, names in _PLACES.items() if name in names.split()), None)
    if place is None:
        found: object = import_module(f"starcert.{_MODULES.get(name, name)}")
    else:
        found = getattr(import_module(f"starcert.{place}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
