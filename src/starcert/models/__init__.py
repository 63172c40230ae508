"""Ready models, the paper's among them, and their training with noise; each is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from starcert.system.errors import needing

if TYPE_CHECKING:
    from starcert.classifiers.sklearn import KernelSVM, graphlet_svm, nspd_svm, vertex_histogram_svm
    from starcert.models.files import TrainingCheckpoint, how_made, load_weights, save_weights
    from starcert.models.fitting import FitOptions, Training, fit_nodes_with_noise, fit_with_noise
    from starcert.models.judging import Epoch, Weighting
    from starcert.models.link_propagation import LinkPropagation
    from starcert.models.link_votes import LinkVotes
    from starcert.models.networks import GCN, GIN, GINE, NodeGCN, NodePropagation
    from starcert.models.statistics import Statistics

_HOME = {
    "starcert.classifiers.sklearn": ("KernelSVM", "graphlet_svm", "nspd_svm", "vertex_histogram_svm"),
    "starcert.models.files": ("TrainingCheckpoint", "how_made", "load_weights", "save_weights"),
    "starcert.models.fitting": ("FitOptions", "Training", "fit_nodes_with_noise", "fit_with_noise"),
    "starcert.models.judging": ("Epoch", "Weighting"),
    "starcert.models.link_propagation": ("LinkPropagation",),
    "starcert.models.link_votes": ("LinkVotes",),
    "starcert.models.networks": ("GCN", "GIN", "GINE", "NodeGCN", "NodePropagation"),
    "starcert.models.statistics": ("Statistics",),
}

__all__ = ["GCN", "GIN", "GINE", "Epoch", "FitOptions", "KernelSVM", "LinkPropagation", "LinkVotes", "NodeGCN",
           "NodePropagation", "Statistics", "Training", "TrainingCheckpoint", "Weighting", "fit_nodes_with_noise",
           "fit_with_noise", "graphlet_svm", "how_made", "load_weights", "nspd_svm", "save_weights",
           "vertex_histogram_svm"]  # fmt: skip


def __getattr__(name: str) -> object:
    for module, names in _HOME.items():
        if name in names:
            with needing(f"{name} needs", "kernels" if module.endswith("sklearn") else "torch"):
                return getattr(import_module(module), name)
    raise AttributeError(f"module 'starcert.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
