"""Base classifiers, one file or folder an ecosystem; those of torch and scikit-learn are imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from starcert.classifiers import features
from starcert.classifiers.base import Classifier
from starcert.classifiers.functions import from_callable, from_node_function
from starcert.system.errors import needing

if TYPE_CHECKING:
    from starcert.classifiers.sklearn import from_sklearn
    from starcert.classifiers.torch import from_dense, from_pyg, from_torch

__all__ = ["Classifier", "features", "from_callable", "from_dense", "from_node_function", "from_pyg", "from_sklearn",
           "from_torch"]  # fmt: skip

_HOME = {"from_sklearn": "sklearn", "from_dense": "torch", "from_pyg": "torch", "from_torch": "torch"}


def __getattr__(name: str) -> object:
    if (module := _HOME.get(name)) is None:
        raise AttributeError(f"module 'starcert.classifiers' has no attribute {name!r}")
    with needing(f"{name} needs", "torch" if module == "torch" else "kernels"):
        return getattr(import_module(f"starcert.classifiers.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
