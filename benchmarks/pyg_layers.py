"""A network with PyTorch Geometric's own layers: what a vectorised loop outside starcert would run."""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

from torch import nn

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def with_pyg_layers(module: AnyModule) -> AnyModule:
    """A copy of a module with PyG's layers in place of starcert's."""
    copied = deepcopy(module)
    for owner in list(copied.modules()):
        for name, part in owner.named_children():
            if hasattr(part, "to_pyg"):
                owner.add_module(name, part.to_pyg())
    return copied
