"""Whether a layer is called plainly: with the edges that its module was given, and doing what its class says.

A rule is called as a layer is, with the layer first, and gives what that gives, by products with the adjacency matrices
of all copies; or `UNKNOWN`, where it is not sure that this is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.modules import module as modules_of_torch

from starcert.classifiers.matrices import Matrices
from starcert.classifiers.promises import Given

__all__ = ["UNKNOWN", "Rule", "edges_of_types", "is_linear", "is_untouched", "matrices_of", "rows_of"]

Rule: TypeAlias = "Callable[..., object]"

UNKNOWN = object()
"""What a rule answers that does not apply."""


def matrices_of(layer: nn.Module, edges: object) -> Matrices | None:
    """The matrices of the edges that a layer is called with, if those were given to the module and stand as they were.

    None too where the layer is not what its class says, or works with fewer digits.
    """
    if type(edges) is not Given or edges.seen or not isinstance(edges.content, Matrices):
        return None
    return edges.content if is_untouched(layer) and not torch.is_autocast_enabled(edges.content.device.type) else None


def rows_of(x: object, matrices: Matrices, *, shared: bool = True) -> Tensor | None:
    """The features that a layer is called with: those of each copy, or, if it can use them, those that all share.

    None where they are something else.
    """
    use_shared = type(x) is Given and shared and not x.seen and isinstance(x.content, Tensor)
    found = (x.content if use_shared else x.fetched()) if type(x) is Given else x
    if type(found) is not Tensor:
        return None
    with torch._C.DisableTorchFunction():
        known = found.dim() == 2 and found.dtype == matrices.dtype and found.layout == torch.strided
        n_rows = matrices.n_nodes if use_shared else matrices.n_copies * matrices.n_nodes
        return found if known and len(found) == n_rows else None


def edges_of_types(edge_attr: object) -> Tensor | None:
    """What an edge of each type carries, if that is what the module was given and it stands as it was."""
    known = type(edge_attr) is Given and not edge_attr.seen and isinstance(edge_attr.content, Tensor)
    return edge_attr.content if known else None  # type: ignore[attr-defined]  # it is a Given


def is_linear(layer: nn.Module) -> bool:
    """Whether a layer is a linear map and nothing else; PyG has one of its own, with the same parts."""
    kind = type(layer)
    pyg = kind.__name__ == "Linear" and kind.__module__ == "torch_geometric.nn.dense.linear"
    return (kind is nn.Linear or pyg) and is_untouched(layer)


def is_untouched(module: nn.Module) -> bool:
    """Whether a module does what its class says: no hooks, and no methods of its own."""
    own, kind = vars(module), type(module)
    if kind not in _NAMES:
        hooks = tuple(name for name in own if name.endswith(("forward_hooks", "forward_pre_hooks")))
        _NAMES[kind] = hooks, frozenset(name for name in dir(kind) if callable(getattr(kind, name)))
    hooks, methods = _NAMES[kind]
    return not (
        any(own[name] for name in hooks)
        or own.keys() & methods
        or modules_of_torch._global_forward_hooks
        or modules_of_torch._global_forward_pre_hooks
    )


_NAMES: dict[type[nn.Module], tuple[tuple[str, ...], frozenset[str]]] = {}
"""Where modules of some kind keep hooks, and what their methods are called."""
