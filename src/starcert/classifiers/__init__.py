"""Base classifiers, one file or folder an ecosystem; each is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from starcert.system.errors import StarcertError

if TYPE_CHECKING:
    from starcert.classifiers import features
    from starcert.classifiers.base import Classifier
    from starcert.classifiers.functions import from_callable, from_node_function
    from starcert.classifiers.sklearn import from_sklearn
    from starcert.classifiers.torch import from_dense, from_pyg, from_torch

__all__ = [
    "Classifier",
    "features",
    "from_callable",
    "from_dense",
    "from_node_function",
    "from_pyg",
    "from_sklearn",
    "from_torch",
]

_HOME = {
    "Classifier": ("base", ""),
    "features": ("features", ""),
    "from_callable": ("functions", ""),
    "from_dense": ("torch", "torch"),
    "from_node_function": ("functions", ""),
    "from_pyg": ("torch", "torch"),
    "from_sklearn": ("sklearn", "kernels"),
    "from_torch": ("torch", "torch"),
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'starcert.classifiers' has no attribute {name!r}")
    module, extra = _HOME[name]
    try:
        found = import_module(f"starcert.classifiers.{module}")
        return found if name == module else getattr(found, name)
    except ModuleNotFoundError as error:
        if not extra or (error.name or "").startswith("starcert"):
            raise
        raise StarcertError(f"{name} needs {error.name}: pip install 'starcert[{extra}]'") from error


def __dir__() -> list[str]:
    return sorted(__all__)
