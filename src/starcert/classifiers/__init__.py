"""Base classifiers, one file or folder an ecosystem; each is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from starcert.system.errors import needing

if TYPE_CHECKING:
    from starcert.classifiers import features
    from starcert.classifiers.base import Classifier
    from starcert.classifiers.functions import from_callable, from_node_function
    from starcert.classifiers.sklearn import from_sklearn
    from starcert.classifiers.torch import from_dense, from_pyg, from_torch

__all__ = ["Classifier", "features", "from_callable", "from_dense", "from_node_function", "from_pyg", "from_sklearn",
           "from_torch"]  # fmt: skip

_HOME = {
    "base": ("Classifier",),
    "functions": ("from_callable", "from_node_function"),
    "sklearn": ("from_sklearn",),
    "torch": ("from_dense", "from_pyg", "from_torch"),
}


def __getattr__(name: str) -> object:
    if name == "features":
        return import_module("starcert.classifiers.features")
    for module, names in _HOME.items():
        if name in names:
            with needing(f"{name} needs", "torch" if module == "torch" else "kernels"):
                return getattr(import_module(f"starcert.classifiers.{module}"), name)
    raise AttributeError(f"module 'starcert.classifiers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
