"""What layers of PyG give, by products with the adjacency matrices of all copies.

| layer | what it gives, for adjacency A with targets as rows, degrees d and features X |
| --- | --- |
| `GCNConv` | S (A + c·1) S X W + b, where S is diagonal with (d + c)^(−1/2), and c is 1 with loops, 0 without |
| `GINConv` | h(A X + (1 + ε) X) |
| `GINEConv` | h(Σ_t A_t relu(X + e_t) + (1 + ε) X), where A_t has the edges of type t, which carry e_t |
| `SAGEConv` | M X W + b + X R, where M is A, or A with rows divided by d |
| `GraphConv` | the same |

Each function is called as the layer is, and answers UNKNOWN where it is not surely that. Features that all copies share
are multiplied with weights once.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv, GINEConv, GraphConv, MessagePassing, SAGEConv
from torch_geometric.nn.aggr import MeanAggregation, SumAggregation
from torch_geometric.nn.dense.linear import Linear

from starcert.classifiers.matrices import Matrices
from starcert.classifiers.plain_layers import UNKNOWN, Rule, edges_of_types, is_untouched, matrices_of, rows_of

__all__ = ["RULES"]

LINEAR = (Linear, nn.Linear)


def _gcn(layer: GCNConv, x: object, edge_index: object, edge_weight: object = None) -> object:
    matrices = _matrices_for(layer, edge_index)
    if matrices is None or edge_weight is not None or type(layer.aggr_module) is not SumAggregation:
        return UNKNOWN
    if layer.improved or layer.cached or layer._cached_edge_index is not None:
        return UNKNOWN
    rows = rows_of(x, matrices, shared=_is_linear(layer.lin))
    if rows is None:
        return UNKNOWN
    mixing = matrices.normalised(loops=layer.add_self_loops) if layer.normalize else matrices.plain()
    return matrices.times(mixing, layer.lin(rows), layer.bias)


def _gin(layer: GINConv, x: object, edge_index: object, size: object = None) -> object:
    matrices = _matrices_for(layer, edge_index)
    if matrices is None or size is not None or type(layer.aggr_module) is not SumAggregation:
        return UNKNOWN
    rows = rows_of(x, matrices)
    if rows is None:
        return UNKNOWN
    return _isomorphism(layer, rows, matrices.times(matrices.plain(), rows))


def _gine(layer: GINEConv, x: object, edge_index: object, edge_attr: object = None, size: object = None) -> object:
    matrices = _matrices_for(layer, edge_index)
    if matrices is None or size is not None or type(layer.aggr_module) is not SumAggregation:
        return UNKNOWN
    rows, carried = rows_of(x, matrices), edges_of_types(edge_attr)
    if rows is None or carried is None or not (layer.lin is None or _is_linear(layer.lin)):
        return UNKNOWN
    carried = carried if layer.lin is None else layer.lin(carried)
    if carried.shape[1] != rows.shape[1]:
        return UNKNOWN  # it says so itself
    sent = (rows.view(-1, 1, matrices.n_nodes, rows.shape[1]) + carried.unsqueeze(1)).relu_()
    found = matrices.times(matrices.of_types(len(carried)), sent.view(-1, rows.shape[1]))
    return _isomorphism(layer, rows, found)


def _isomorphism(layer: GINConv | GINEConv, rows: Tensor, found: Tensor) -> object:
    with torch._C.DisableTorchFunction():
        found.view(-1, *rows.shape).addcmul_(rows, 1 + layer.eps)
    return layer.nn(found)


def _sage(layer: SAGEConv, x: object, edge_index: object, size: object = None) -> object:
    matrices = _matrices_for(layer, edge_index)
    if matrices is None or size is not None or type(layer.aggr_module) not in _MEANS:
        return UNKNOWN
    own = layer.lin_r if layer.root_weight else None
    inner = layer.lin if layer.project else None
    rows = rows_of(x, matrices, shared=all(_is_linear(each) for each in (layer.lin_l, own, inner) if each is not None))
    if rows is None:
        return UNKNOWN
    found = _both(layer, rows if inner is None else inner(rows).relu(), rows, layer.lin_l, own, matrices)
    return nn.functional.normalize(found, p=2.0, dim=-1) if layer.normalize else found


def _graph(layer: GraphConv, x: object, edge_index: object, edge_weight: object = None, size: object = None) -> object:
    matrices = _matrices_for(layer, edge_index)
    if matrices is None or edge_weight is not None or size is not None or type(layer.aggr_module) not in _MEANS:
        return UNKNOWN
    rows = rows_of(x, matrices, shared=_is_linear(layer.lin_rel) and _is_linear(layer.lin_root))
    return UNKNOWN if rows is None else _both(layer, rows, rows, layer.lin_rel, layer.lin_root, matrices)


def _both(layer: Any, sent: Tensor, rows: Tensor, others: Any, own: Any, matrices: Matrices) -> Any:  # noqa: ANN401
    """What neighbours send, by one linear layer, and the nodes' own, by another."""
    summed = matrices.mean() if _MEANS[type(layer.aggr_module)] else matrices.plain()
    if len(rows) > matrices.n_nodes:
        found = others(matrices.times(summed, sent))
        return found if own is None else found + own(rows)
    weight, bias = others.weight, others.bias
    found = matrices.times(summed, nn.functional.linear(sent, weight))
    of_all = bias if own is None else own(rows) if bias is None else own(rows) + bias
    if of_all is not None:
        found.view(matrices.n_copies, matrices.n_nodes, -1).add_(of_all)
    return found


def _matrices_for(layer: MessagePassing, edges: object) -> Matrices | None:
    """The matrices of the edges that a layer is called with, if it is set up plainly and nobody has looked at them."""
    plain = layer.flow == "source_to_target" and layer.node_dim == -2 and layer.decomposed_layers == 1
    plain &= not layer.explain and is_untouched(layer.aggr_module)
    return matrices_of(layer, edges) if plain else None


def _is_linear(layer: nn.Module) -> bool:
    return type(layer) in LINEAR and is_untouched(layer)


RULES: dict[type, Rule] = {
    GCNConv: _gcn,
    GINConv: _gin,
    GINEConv: _gine,
    SAGEConv: _sage,
    GraphConv: _graph,
}

_MEANS = {SumAggregation: False, MeanAggregation: True}
