"""What layers of PyG give, by products with the adjacency matrices of all copies.

| layer | what it gives, for adjacency A with targets as rows, degrees d and features X |
| --- | --- |
| `GCNConv`, `GINConv`, `GINEConv` | as in `starcert.classifiers.own_layers` |
| `SAGEConv` | M X W + b + X R, where M is A, or A with rows divided by d |
| `GraphConv` | the same |

Each function is called as the layer is, and answers UNKNOWN where it is not surely that.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv, GINEConv, GraphConv, MessagePassing, SAGEConv
from torch_geometric.nn.aggr import MeanAggregation, SumAggregation

from starcert.classifiers.matrices import Matrices
from starcert.classifiers.own_layers import convolution, edge_isomorphism, isomorphism
from starcert.classifiers.plain_layers import UNKNOWN, Rule, is_linear, is_untouched, matrices_of, rows_of

__all__ = ["RULES"]


def _gcn(layer: GCNConv, x: object, edge_index: object, edge_weight: object = None) -> object:
    known = layer.normalize and layer.add_self_loops and not (layer.improved or layer.cached)
    if not known or layer._cached_edge_index is not None or edge_weight is not None or not _is_plain(layer, sums=True):
        return UNKNOWN
    return convolution(layer, x, edge_index)


def _gin(layer: GINConv, x: object, edge_index: object, size: object = None) -> object:
    return isomorphism(layer, x, edge_index) if size is None and _is_plain(layer, sums=True) else UNKNOWN


def _gine(layer: GINEConv, x: object, edge_index: object, edge_attr: object = None, size: object = None) -> object:
    plain = size is None and _is_plain(layer, sums=True)
    return edge_isomorphism(layer, x, edge_index, edge_attr) if plain else UNKNOWN


def _sage(layer: SAGEConv, x: object, edge_index: object, size: object = None) -> object:
    matrices = matrices_of(layer, edge_index)
    if matrices is None or size is not None or not _is_plain(layer):
        return UNKNOWN
    own = layer.lin_r if layer.root_weight else None
    inner = layer.lin if layer.project else None
    rows = rows_of(x, matrices, shared=all(is_linear(each) for each in (layer.lin_l, own, inner) if each is not None))
    if rows is None:
        return UNKNOWN
    found = _both(layer, rows if inner is None else inner(rows).relu(), rows, layer.lin_l, own, matrices)
    return nn.functional.normalize(found, p=2.0, dim=-1) if layer.normalize else found


def _graph(layer: GraphConv, x: object, edge_index: object, edge_weight: object = None, size: object = None) -> object:
    matrices = matrices_of(layer, edge_index)
    if matrices is None or edge_weight is not None or size is not None or not _is_plain(layer):
        return UNKNOWN
    rows = rows_of(x, matrices, shared=is_linear(layer.lin_rel) and is_linear(layer.lin_root))
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


def _is_plain(layer: MessagePassing, *, sums: bool = False) -> bool:
    """Whether a layer adds up what comes along edges, from source to target; or takes the mean, if that will do."""
    known = (SumAggregation,) if sums else tuple(_MEANS)
    plain = layer.flow == "source_to_target" and layer.node_dim == -2
    return plain and type(layer.aggr_module) in known and is_untouched(layer.aggr_module)


RULES: dict[type, Rule] = {
    GCNConv: _gcn,
    GINConv: _gin,
    GINEConv: _gine,
    SAGEConv: _sage,
    GraphConv: _graph,
}

_MEANS = {SumAggregation: False, MeanAggregation: True}
