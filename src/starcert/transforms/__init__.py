"""The noise, for training on copies like those that smoothing will ask about; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starcert.transforms.graphs import AddNoise
    from starcert.transforms.rows import noisy_rows

__all__ = ["AddNoise", "noisy_rows"]

_HOME = {"AddNoise": "graphs", "noisy_rows": "rows"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'starcert.transforms' has no attribute {name!r}")
    return getattr(import_module(f"starcert.transforms.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
