"""Layers of PyG on dense adjacency: what a layer sums along edges is a product with the matrices of all copies.

`converted` puts something in the place of the layers of a module, and takes it away again. It answers where the layer
is one of those below, exactly, set up plainly, and called with the edges that the module was given (a promise, `Given`,
which nothing else has looked at): by a product with the adjacency matrices of all copies. Everywhere else the layer
itself answers, as it is written. So a module may do whatever it likes between its layers.

| layer | what it gives, for adjacency A with targets as rows, degrees d and features X |
| --- | --- |
| `GCNConv` | S (A + c·1) S X W + b, where S is diagonal with (d + c)^(−1/2), and c is 1 with loops, 0 without |
| `GINConv` | h(A X + (1 + ε) X) |
| `GINEConv` | h(Σ_t A_t relu(X + e_t) + (1 + ε) X), where A_t has the edges of type t, which carry e_t |
| `SAGEConv` | M X W + b + X R, where M is A, or A with rows divided by d |
| `GraphConv` | the same |

Features that all copies share are multiplied with weights once, and with the matrices of all copies in one product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from math import isfinite
from threading import Lock
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as modules_of_torch
from torch_geometric.nn import GCNConv, GINConv, GINEConv, GraphConv, MessagePassing, SAGEConv
from torch_geometric.nn.aggr import MeanAggregation, SumAggregation
from torch_geometric.nn.dense.linear import Linear

from starcert.classifiers.promises import Given

if TYPE_CHECKING:
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["Matrices", "converted", "has_layers"]

UNKNOWN = object()
"""What a rule answers that does not apply."""

SLOT = "_compiled_call_impl"
"""Where a module of torch keeps what is called in its place; it goes into no copy, no file and no identity."""

_TURN = Lock()


class Matrices:
    """The adjacency matrices of all copies, targets as rows, and what layers make of them, each made once.

    Args:
        graphs: the copies.
        dtype: of the model.
        device: where it is.

    Attributes:
        used: how many layers multiplied.
    """

    def __init__(self, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> None:
        self._graphs, self.dtype, self._device = graphs, dtype, device
        self.n_copies, self.n_nodes = len(graphs), graphs.frame.n_nodes
        self._made: dict[object, Tensor] = {}
        self._first_rows: list[Tensor] = []
        self.used = 0

    def plain(self) -> Tensor:
        """1 for each edge."""
        return self._once("plain", lambda: self._by_target(self._graphs.adjacency_on(self._device)).to(self.dtype))

    def mean(self) -> Tensor:
        """Rows divided by the number of their edges."""
        return self._once("mean", lambda: self.plain() / self._degrees().clamp(min=1).unsqueeze(2))

    def normalised(self, *, loops: bool) -> Tensor:
        """Divided by the roots of the degrees of both ends, where each node has a loop, or none has."""
        return self._once(("normalised", loops), lambda: self._normalised(loops=loops))

    def of_types(self, n_types: int) -> Tensor:
        """The edges of each type beside each other, shape (copies, nodes, types · nodes)."""
        return self._once("types", lambda: self._of_types(n_types))

    def times(self, matrices: Tensor, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """The products with features of each copy, or with those that all share; shape (copies · nodes, features)."""
        with torch._C.DisableTorchFunction():
            if x.shape[0] == matrices.shape[2]:
                rows = matrices.view(-1, matrices.shape[2])
                found = rows @ x if bias is None else torch.addmm(bias, rows, x)
            else:
                found = torch.bmm(matrices, x.reshape(self.n_copies, -1, x.shape[1])).view(-1, x.shape[1])
                found = found if bias is None else found.add_(bias)
            self._first_rows.append(found.view(self.n_copies, self.n_nodes, -1)[:, 0].sum())
            self.used += 1
            return found

    def are_sums(self) -> bool:
        """Whether all products were sums along edges.

        One feature that is infinite or no number makes such of all entries of its column of the product, edge or not,
        the one in the first row too. Then a product is no sum along edges.
        """
        rows = self._first_rows
        return not rows or isfinite(rows[0] if len(rows) == 1 else torch.stack(rows).sum())

    def _once(self, name: object, make: Callable[[], Tensor]) -> Tensor:
        if name not in self._made:
            with torch._C.DisableTorchFunction():
                self._made[name] = make()
        return self._made[name]

    def _by_target(self, matrices: Tensor) -> Tensor:
        return matrices.transpose(1, 2).contiguous() if self._graphs.frame.directed else matrices

    def _degrees(self) -> Tensor:
        rows = self.plain().view(-1, self.n_nodes)
        return self._once("degrees", lambda: (rows @ rows.new_ones(self.n_nodes)).view(self.n_copies, self.n_nodes))

    def _normalised(self, *, loops: bool) -> Tensor:
        degrees = self._degrees()
        scale = (degrees + 1).rsqrt() if loops else degrees.rsqrt().where(degrees > 0, 0.0)
        found = self.plain() * scale.unsqueeze(1)
        if loops:
            found.diagonal(dim1=1, dim2=2).copy_(scale)
        return found.mul_(scale.unsqueeze(2))

    def _of_types(self, n_types: int) -> Tensor:
        types = self._by_target(torch.from_numpy(self._graphs.adjacency()).to(self._device))
        numbers = torch.arange(1, n_types + 1, dtype=types.dtype, device=self._device)
        return (types.unsqueeze(2) == numbers.view(-1, 1)).to(self.dtype).flatten(2)


class _Converted:
    """What is called in the place of a layer."""

    def __init__(self, layer: MessagePassing) -> None:
        self.layer, self.rule, self.users = layer, _RULES[type(layer)], 0

    def __call__(self, *args: Any, **named: Any) -> Any:  # noqa: ANN401
        found = self.rule(self.layer, *args, **named)
        return self.layer._call_impl(*args, **named) if found is UNKNOWN else found


def has_layers(model: nn.Module) -> bool:
    """Whether a module has layers that can multiply."""
    return any(type(each) in _RULES for each in model.modules())


@contextmanager
def converted(model: nn.Module) -> Iterator[None]:
    """While it is entered, layers that can multiply do, where they are given promises.

    Others who ask the same module meanwhile, with plain tensors, are answered as it is written.
    """
    with _TURN:
        layers = [each for each in model.modules() if type(each) in _RULES and _is_free(each)]
        for layer in layers:
            vars(layer).setdefault(SLOT, _Converted(layer)).users += 1
    try:
        yield
    finally:
        with _TURN:
            for layer in layers:
                vars(layer)[SLOT].users -= 1
                if not vars(layer)[SLOT].users:
                    del vars(layer)[SLOT]


def _is_free(layer: nn.Module) -> bool:
    """Whether nobody else has put something in the place of a layer."""
    return SLOT not in vars(layer) or isinstance(vars(layer)[SLOT], _Converted)


# Rules: what a layer gives, called as it is called, or UNKNOWN.


def _gcn(layer: GCNConv, x: object, edge_index: object, edge_weight: object = None) -> object:
    matrices = _matrices_for(layer, edge_index)
    if matrices is None or edge_weight is not None or type(layer.aggr_module) is not SumAggregation:
        return UNKNOWN
    if layer.improved or layer.cached or layer._cached_edge_index is not None:
        return UNKNOWN
    rows = _rows(x, matrices, layer.lin)
    if rows is None:
        return UNKNOWN
    mixing = matrices.normalised(loops=layer.add_self_loops) if layer.normalize else matrices.plain()
    return matrices.times(mixing, layer.lin(rows), layer.bias)


def _gin(layer: GINConv, x: object, edge_index: object, size: object = None) -> object:
    matrices = _matrices_for(layer, edge_index)
    if matrices is None or size is not None or type(layer.aggr_module) is not SumAggregation:
        return UNKNOWN
    rows = _rows(x, matrices)
    if rows is None:
        return UNKNOWN
    return _isomorphism(layer, rows, matrices.times(matrices.plain(), rows))


def _gine(layer: GINEConv, x: object, edge_index: object, edge_attr: object = None, size: object = None) -> object:
    matrices = _matrices_for(layer, edge_index)
    if matrices is None or size is not None or type(layer.aggr_module) is not SumAggregation:
        return UNKNOWN
    if type(edge_attr) is not Given or edge_attr.seen or not isinstance(edge_attr.content, Tensor):
        return UNKNOWN
    rows, carried = _rows(x, matrices), edge_attr.content
    if rows is None or not (layer.lin is None or _is_linear(layer.lin)):
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
    rows = _rows(x, matrices, *(each for each in (layer.lin_l, own, inner) if each is not None))
    if rows is None:
        return UNKNOWN
    found = _both(layer, rows if inner is None else inner(rows).relu(), rows, layer.lin_l, own, matrices)
    return nn.functional.normalize(found, p=2.0, dim=-1) if layer.normalize else found


def _graph(layer: GraphConv, x: object, edge_index: object, edge_weight: object = None, size: object = None) -> object:
    matrices = _matrices_for(layer, edge_index)
    if matrices is None or edge_weight is not None or size is not None or type(layer.aggr_module) not in _MEANS:
        return UNKNOWN
    rows = _rows(x, matrices, layer.lin_rel, layer.lin_root)
    return UNKNOWN if rows is None else _both(layer, rows, rows, layer.lin_rel, layer.lin_root, matrices)


def _both(
    layer: MessagePassing, sent: Tensor, rows: Tensor, others: nn.Module, own: nn.Module | None, matrices: Matrices
) -> Tensor:
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


_RULES: dict[type, Callable[..., object]] = {
    GCNConv: _gcn,
    GINConv: _gin,
    GINEConv: _gine,
    SAGEConv: _sage,
    GraphConv: _graph,
}

_MEANS = {SumAggregation: False, MeanAggregation: True}


def _matrices_for(layer: MessagePassing, edges: object) -> Matrices | None:
    """The matrices of the edges that a plain layer is called with, if they are those that the module was given."""
    if type(edges) is not Given or edges.seen or not isinstance(edges.content, Matrices):
        return None
    plain = layer.flow == "source_to_target" and layer.node_dim == -2 and layer.decomposed_layers == 1
    plain &= not layer.explain and _is_untouched(layer) and _is_untouched(layer.aggr_module)
    return edges.content if plain and not torch.is_autocast_enabled(edges.device.type) else None


def _rows(x: object, matrices: Matrices, *layers: nn.Module) -> Tensor | None:
    """The features that a layer is called with: those of each copy, or those that all share, if all it does is linear.

    None where they are something else.
    """
    if type(x) is Given:
        shared = not x.seen and isinstance(x.content, Tensor) and all(map(_is_linear, layers))
        x = x.content if shared else x.fetched()
    elif type(x) is not Tensor or len(x) != matrices.n_copies * matrices.n_nodes:
        return None
    return x if x.dim() == 2 and x.dtype == matrices.dtype and x.layout == torch.strided else None


def _is_linear(layer: nn.Module) -> bool:
    return type(layer) in (Linear, nn.Linear) and _is_untouched(layer)


def _is_untouched(module: nn.Module) -> bool:
    """Whether a module does what its class says: no hooks, and no methods of its own."""
    own, kind = vars(module), type(module)
    if kind not in _HOOKS:
        _HOOKS[kind] = tuple(name for name in own if name.endswith(("forward_hooks", "forward_pre_hooks")))
    return not (
        any(own[name] for name in _HOOKS[kind])
        or own.keys() & _methods(kind)
        or modules_of_torch._global_forward_hooks
        or modules_of_torch._global_forward_pre_hooks
    )


_HOOKS: dict[type, tuple[str, ...]] = {}
"""Where modules of some kind keep hooks."""


@cache
def _methods(cls: type) -> frozenset[str]:
    return frozenset(name for name in dir(cls) if callable(getattr(cls, name)))
