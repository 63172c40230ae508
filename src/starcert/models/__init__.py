"""The paper's classifiers as ready models, each imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from starcert.errors import StarcertError

if TYPE_CHECKING:
    from starcert.models.gcn import GCN
    from starcert.models.kernel_svm import KernelSVM, graphlet_svm, nspd_svm, vertex_histogram_svm
    from starcert.models.training import Training, accuracy, train

_HOME = {
    "starcert.models.gcn": ("GCN",),
    "starcert.models.kernel_svm": ("KernelSVM", "graphlet_svm", "nspd_svm", "vertex_histogram_svm"),
    "starcert.models.training": ("Training", "accuracy", "train"),
}

__all__ = [
    "GCN",
    "KernelSVM",
    "Training",
    "accuracy",
    "graphlet_svm",
    "nspd_svm",
    "train",
    "vertex_histogram_svm",
]


def __getattr__(name: str) -> object:
    for module, names in _HOME.items():
        if name in names:
            try:
                return getattr(import_module(module), name)
            except ModuleNotFoundError as error:
                if (error.name or "").startswith("starcert"):
                    raise
                extra = "kernels" if module.endswith("kernel_svm") else "torch"
                raise StarcertError(f"{name} needs {error.name}: pip install 'starcert[{extra}]'") from error
    raise AttributeError(f"module 'starcert.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
