"""What the layers of the ready networks give, by products with the adjacency matrices of all copies.

| layer | what it gives, for adjacency A with targets as rows, degrees d and features X |
| --- | --- |
| `GCNConv` | S (A + 1) S X W + b, where S is diagonal with (d + 1)^(−1/2) |
| `GINConv` | h(A X + (1 + ε) X) |
| `GINEConv` | h(Σ_t A_t relu(X + e_t) + (1 + ε) X), where A_t has the edges of type t, which carry e_t |

Each function is called as the layer is, and answers UNKNOWN where it is not surely that. Features that all copies share
are multiplied with weights once.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from starcert.classifiers.plain_layers import UNKNOWN, Rule, edges_of_types, is_linear, matrices_of, rows_of
from starcert.models.layers import GCNConv, GINConv, GINEConv

__all__ = ["RULES", "convolution", "edge_isomorphism", "isomorphism"]


def convolution(layer: Any, x: object, edge_index: object) -> object:  # noqa: ANN401  (PyG's has the same parts)
    """A graph convolution."""
    matrices = matrices_of(layer, edge_index)
    rows = None if matrices is None else rows_of(x, matrices, shared=is_linear(layer.lin))
    if matrices is None or rows is None:
        return UNKNOWN
    return matrices.times(matrices.normalised(), layer.lin(rows), layer.bias)


def isomorphism(layer: Any, x: object, edge_index: object) -> object:  # noqa: ANN401
    """A layer of a graph isomorphism network."""
    matrices = matrices_of(layer, edge_index)
    rows = None if matrices is None else rows_of(x, matrices)
    if matrices is None or rows is None:
        return UNKNOWN
    return _with_own(layer, rows, matrices.times(matrices.plain(), rows))


def edge_isomorphism(layer: Any, x: object, edge_index: object, edge_attr: object) -> object:  # noqa: ANN401
    """One on edges that carry something: what a neighbour sends depends on its features and on the type of the edge."""
    matrices = matrices_of(layer, edge_index)
    rows = None if matrices is None else rows_of(x, matrices)
    carried = edges_of_types(edge_attr)
    if matrices is None or rows is None or carried is None or not (layer.lin is None or is_linear(layer.lin)):
        return UNKNOWN
    carried = carried if layer.lin is None else layer.lin(carried)
    n_types, width = carried.shape
    if width != rows.shape[1]:
        return UNKNOWN  # it says so itself
    sent = (rows.view(-1, 1, matrices.n_nodes, width) + carried.unsqueeze(1)).relu_()
    return _with_own(layer, rows, matrices.times(matrices.of_types(n_types), sent.view(-1, width)))


def _with_own(layer: Any, rows: Tensor, summed: Tensor) -> object:  # noqa: ANN401
    with torch._C.DisableTorchFunction():
        summed.view(-1, *rows.shape).addcmul_(rows, 1 + layer.eps)
    return layer.nn(summed)


RULES: dict[type, Rule] = {GCNConv: convolution, GINConv: isomorphism, GINEConv: edge_isomorphism}
