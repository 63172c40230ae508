"""Layers that are known, exactly: what they give, by the sums of `starcert.classifiers.edge_sums`.

| layer | what it gives, for adjacency A with targets as rows, degrees d and features X |
| --- | --- |
| `GCNConv` | S (A + I) S lin(X) + b, where S is diagonal with (d + 1)^(−1/2) |
| `GINConv` | nn(A X + (1 + ε) X) |
| `GINEConv` | nn(Σ over edges of relu(x_source + lin(edge_attr)) + (1 + ε) X) |
| `SAGEConv` | lin_l(M X) + lin_r(X), where M is A, or A with rows divided by d |
| `GraphConv` | lin_rel(M X) + lin_root(X) |
| sum, mean, max aggregations | over the edges of each node, or over the nodes of each copy |

A layer is known if its class is one of these, itself and not derived, if no method of the class was replaced, and if
all that it holds, hooks and masks included, is what a new layer of the same settings holds, except for numbers in
tensors and for the modules inside it that are called as they are. A stand-in for a known layer shares all that it
holds. It checks what it is called with: where it does not receive the drawn edges and plain rows, it runs the layer as
it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import Parameter

from starcert.classifiers import network_layers as own
from starcert.classifiers.edge_sums import EdgeSums

__all__ = ["KnownLayer", "holds_rows_of_edges", "is_known", "known_layer", "known_layers_in", "stand_in"]

FREE = frozenset(["lin", "nn", "lin_l", "lin_r", "lin_rel", "lin_root", "in_channels", "out_channels", "initial_eps"])
"""What may be anything: modules inside a layer that its stand-in calls as they are, and what no forward pass reads."""


class KnownLayer(NamedTuple):
    """What is known of a class of layers.

    Attributes:
        forward: called as the layer is, with the layer and the sums before it; None where it cannot tell.
        per_edge: whether it holds a row of numbers for each edge.
        settings: what `new` needs to make a layer like a given one; None if the settings of that one are not known.
        new: a layer with these settings.
    """

    forward: Callable[..., Tensor | None]
    per_edge: bool
    settings: Callable[[Any], tuple[Any, ...] | None]
    new: Callable[..., nn.Module]


def _gcn(layer: Any, sums: EdgeSums, x: Tensor, edge_index: Tensor, edge_weight: object = None) -> Tensor | None:  # noqa: ANN401
    if edge_weight is not None or not sums.knows(edge_index):
        return None
    mixed = layer.lin(x)
    if not sums.takes(mixed):
        return None
    found = sums.normalised(mixed)
    return found if layer.bias is None else found.add_(layer.bias)


def _gin(layer: Any, sums: EdgeSums, x: Tensor, edge_index: Tensor, size: object = None) -> Tensor | None:  # noqa: ANN401
    if size is not None or not sums.takes(x) or not sums.knows(edge_index):
        return None
    found: Tensor = layer.nn(sums.total(x).addcmul_(x, 1 + layer.eps))
    return found


def _gine(
    layer: Any,  # noqa: ANN401
    sums: EdgeSums,
    x: Tensor,
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    size: object = None,
) -> Tensor | None:
    if size is not None or type(edge_attr) is not Tensor or not sums.takes(x) or not sums.knows(edge_index):
        return None
    carried = edge_attr if layer.lin is None else layer.lin(edge_attr)
    if not sums.takes_messages(carried) or carried.shape[1] != x.shape[1]:
        return None
    messages = x.index_select(0, edge_index[0]).add_(carried).relu_()
    found: Tensor = layer.nn(sums.total_of_messages(messages).addcmul_(x, 1 + layer.eps))
    return found


def _sage(layer: Any, sums: EdgeSums, x: Tensor, edge_index: Tensor, size: object = None) -> Tensor | None:  # noqa: ANN401
    if size is not None or not sums.takes(x) or not sums.knows(edge_index):
        return None
    sent = layer.lin(x).relu() if layer.project else x
    if not sums.takes(sent):
        return None
    found: Tensor = layer.lin_l(_AGGREGATES[layer.aggr](sums, sent))
    if layer.root_weight:
        found = found + layer.lin_r(x)
    return nn.functional.normalize(found, p=2.0, dim=-1) if layer.normalize else found


def _graph(
    layer: Any,  # noqa: ANN401
    sums: EdgeSums,
    x: Tensor,
    edge_index: Tensor,
    edge_weight: object = None,
    size: object = None,
) -> Tensor | None:
    plain = edge_weight is None and size is None
    if not plain or not sums.takes(x) or not sums.knows(edge_index):
        return None
    found: Tensor = layer.lin_rel(_AGGREGATES[layer.aggr](sums, x)) + layer.lin_root(x)
    return found


_AGGREGATES: dict[str, Callable[[EdgeSums, Tensor], Tensor]] = {
    "add": EdgeSums.total,
    "sum": EdgeSums.total,
    "mean": EdgeSums.mean,
}


def _pool(layer: own.NodePool, sums: EdgeSums, x: Tensor, batch: Tensor) -> Tensor | None:
    if not sums.can_pool or not sums.takes(x) or not sums.knows_batch(batch):
        return None
    return sums.pooled(x, layer.kind)


def _aggregation(kind: str) -> Callable[..., Tensor | None]:
    def forward(
        _: nn.Module,
        sums: EdgeSums,
        x: Tensor,
        index: Tensor | None = None,
        ptr: object = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor | None:
        if ptr is not None or dim not in (-2, 0) or type(index) is not Tensor:
            return None
        # By what it aggregates: messages of edges, unless they might be the rows of as many nodes.
        if sums.takes_messages(x) and not sums.takes(x) and dim_size == sums.n_nodes and kind != "max":
            if not sums.knows_targets(index):
                return None
            return sums.total_of_messages(x) if kind == "sum" else sums.mean_of_messages(x)
        if sums.takes(x) and not sums.takes_messages(x) and dim_size in (None, sums.n_copies) and sums.can_pool:
            return sums.pooled(x, kind) if sums.knows_batch(index) else None
        return None

    return forward


def _no_settings(_: nn.Module) -> tuple[Any, ...]:
    return ()


_OWN: Mapping[type, KnownLayer] = {
    own.GCNConv: KnownLayer(_gcn, False, _no_settings, lambda: own.GCNConv(1, 1)),
    own.GINConv: KnownLayer(_gin, False, _no_settings, lambda: own.GINConv(nn.Sequential())),
    own.GINEConv: KnownLayer(_gine, True, _no_settings, lambda: own.GINEConv(nn.Sequential(nn.Linear(1, 1)), 1)),
    own.NodePool: KnownLayer(_pool, False, lambda layer: (layer.kind,), own.NodePool),
}


@cache
def _of_pyg() -> Mapping[type, KnownLayer]:
    from torch_geometric.nn import GCNConv, GINConv, GINEConv, GraphConv, SAGEConv  # noqa: PLC0415
    from torch_geometric.nn.aggr import MaxAggregation, MeanAggregation, SumAggregation  # noqa: PLC0415

    def sums(layer: Any) -> bool:  # noqa: ANN401
        return type(layer.aggr) is str and layer.aggr in _AGGREGATES

    def sage_settings(layer: Any) -> tuple[Any, ...] | None:  # noqa: ANN401
        settings = layer.aggr, layer.normalize, layer.root_weight, layer.project
        return settings if sums(layer) and all(type(each) is bool for each in settings[1:]) else None

    def sage(aggr: str, normalize: bool, root_weight: bool, project: bool) -> Any:  # noqa: ANN401  (PyG has no types)
        return SAGEConv(1, 1, aggr=aggr, normalize=normalize, root_weight=root_weight, project=project)

    def gine(train_eps: bool, carries_more: bool) -> Any:  # noqa: ANN401
        return GINEConv(nn.Sequential(nn.Linear(1, 1)), train_eps=train_eps, edge_dim=1 if carries_more else None)

    def trains_eps(layer: Any) -> bool:  # noqa: ANN401
        return type(layer.eps) is Parameter

    return {
        GCNConv: KnownLayer(
            _gcn, False, lambda layer: (layer.bias is not None,), lambda bias: GCNConv(1, 1, bias=bias)
        ),
        GINConv: KnownLayer(
            _gin,
            False,
            lambda layer: (trains_eps(layer),),
            lambda train_eps: GINConv(nn.Identity(), train_eps=train_eps),
        ),
        GINEConv: KnownLayer(_gine, True, lambda layer: (trains_eps(layer), layer.lin is not None), gine),
        SAGEConv: KnownLayer(_sage, False, sage_settings, sage),
        GraphConv: KnownLayer(
            _graph,
            False,
            lambda layer: (layer.aggr,) if sums(layer) else None,
            lambda aggr: GraphConv(1, 1, aggr=aggr),
        ),
        SumAggregation: KnownLayer(_aggregation("sum"), True, _no_settings, SumAggregation),
        MeanAggregation: KnownLayer(_aggregation("mean"), True, _no_settings, MeanAggregation),
        MaxAggregation: KnownLayer(_aggregation("max"), True, _no_settings, MaxAggregation),
    }


def known_layer(kind: type) -> KnownLayer | None:
    """What is known of a class: those of the ready networks, and those of PyG where it is loaded."""
    if kind in _OWN:
        return _OWN[kind]
    return _of_pyg().get(kind) if kind.__module__.startswith("torch_geometric.nn.") else None


def known_layers_in(module: nn.Module) -> Iterator[nn.Module]:
    """The known layers in a module, the outermost of those that lie in each other; the module is in evaluation mode."""
    return _outermost(module, is_known)


def holds_rows_of_edges(module: nn.Module) -> bool:
    """Whether a module has layers that hold a row of numbers for each edge, or none that is known by its class."""
    known = [known_layer(type(each)) for each in _outermost(module, lambda each: known_layer(type(each)) is not None)]
    return not known or any(each is not None and each.per_edge for each in known)


def _outermost(module: nn.Module, wanted: Callable[[nn.Module], bool]) -> Iterator[nn.Module]:
    pending, seen = [module], set[int]()
    while pending:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if wanted(each):
            yield each
        else:
            pending.extend(each.children())


def is_known(layer: nn.Module) -> bool:
    """Whether a layer, in evaluation mode, does what the table above says."""
    known = known_layer(type(layer))
    if known is None or not _is_as_written(type(layer)):
        return False
    settings, kind = known.settings(layer), cast("Any", type(layer))
    return settings is not None and _alike(vars(layer), vars(_new(kind, settings)))


def stand_in(layer: nn.Module, sums: EdgeSums) -> nn.Module:
    """A layer in the place of a known one: of a class derived from its own, and holding the same."""
    kind: Any = type(layer)  # mypy calls classes of modules unhashable
    found: nn.Module = object.__new__(_stand_in_class(kind))
    vars(found).update(vars(layer))
    vars(found)["edge_sums"] = sums
    return found


@cache
def _stand_in_class(kind: Any) -> type[nn.Module]:  # noqa: ANN401
    known = known_layer(kind)
    assert known is not None

    def forward(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401
        found = known.forward(self, self.edge_sums, *args, **named)
        return kind.forward(self, *args, **named) if found is None else found

    return type(kind.__name__, (kind,), {"forward": forward, "__module__": __name__})


@cache
def _new(kind: Any, settings: tuple[Any, ...]) -> nn.Module:  # noqa: ANN401
    """A layer in evaluation mode that nobody has touched."""
    known = known_layer(kind)
    assert known is not None
    with torch.random.fork_rng(devices=[]):  # its weights are drawn, and nobody shall notice
        return known.new(*settings).eval()


def _alike(value: Any, expected: Any) -> bool:  # noqa: ANN401
    """Whether something that a layer holds is what a new one holds.

    Tensors may have other numbers, and what describes the layer itself (PyG's inspector) is taken by its class.
    """
    if type(value) is not type(expected):
        return False
    if isinstance(value, dict):
        if value.keys() != expected.keys():
            return False
        for name, each in value.items():
            other = expected[name]
            if each is not other and name not in FREE and not _alike(each, other):
                return False
        return True
    if isinstance(value, nn.Module):
        return _is_as_written(type(value)) and _alike(vars(value), vars(expected))
    return isinstance(value, Tensor) or hasattr(value, "__dict__") or bool(value == expected)


def _is_as_written(kind: type) -> bool:
    """Whether all functions of a class, and of what it is derived from, are from the package of the class they are in.

    PyG writes some methods of its layers itself, into modules that it counts as its own.
    """
    return all(vars(base) == _SEEN.get(base) or _is_base_as_written(base) for base in kind.__mro__[:-1])


def _is_base_as_written(base: type) -> bool:
    package = _package(base.__module__)
    for value in vars(base).values():
        function = getattr(value, "__func__", getattr(value, "fget", value))
        while function is not None:
            if isinstance(function, FunctionType):
                if _package(function.__globals__["__name__"]) != package:
                    return False
            elif callable(function) and not isinstance(function, type):
                return False
            function = getattr(function, "__wrapped__", None)
    _SEEN[base] = dict(vars(base))
    return True


_SEEN: dict[type, dict[str, Any]] = {}
"""Classes as they were when they were found to be as written."""


def _package(module: str) -> str:
    return module.partition(".")[0]
