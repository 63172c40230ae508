"""Layers whose exact type is known, replaced for one call by layers that use `starcert.classifiers.torch.edge_sums`.

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
tensors and for the modules inside it that are called as they are. Its replacement shares all that it holds, and checks
what it is called with: where it does not receive the drawn edges and plain rows, it runs the layer as it is written.

The module itself is not touched, so that other threads that use it get answers as it is written. Its shadow is made for
one call, and shares the parameters: only the modules on the way to a replaced layer are copied, each with all its
attributes, and the tables in which they hold each other. Layers that are held in any other way than in a table of
modules are not replaced.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import Parameter

from starcert.classifiers.torch import layers as own
from starcert.classifiers.torch.edge_sums import EdgeSums

__all__ = ["holds_rows_of_edges", "is_known", "known_layers_in", "replace_layers"]

Layer: TypeAlias = Any
"""A layer, whose attributes PyG has no types for."""

FREE = frozenset(["lin", "nn", "lin_l", "lin_r", "lin_rel", "lin_root", "in_channels", "out_channels", "initial_eps"])
"""Attributes that may be anything: modules that the replacement calls as they are, and what no forward pass reads."""


class KnownLayer(NamedTuple):
    """What is known of a class of layers.

    Attributes:
        forward: called as the layer is, with the layer and the sums before it; None where the layer itself must run.
        per_edge: whether it holds a row of numbers for each edge.
        settings: the arguments of `new` for a layer like a given one; None if the settings of that one are not known.
        new: makes a layer with these settings.
    """

    forward: Callable[..., Tensor | None]
    per_edge: bool = False
    settings: Callable[[Any], tuple[Any, ...] | None] = lambda _: ()
    new: Callable[..., nn.Module] = nn.Module


def _gcn(layer: Layer, sums: EdgeSums, x: Tensor, edge_index: Tensor, edge_weight: object = None) -> Tensor | None:
    if edge_weight is not None or not sums.knows(edge_index):
        return None
    mixed = layer.lin(x)
    if not sums.takes(mixed):
        return None
    found = sums.normalised(mixed)
    return found if layer.bias is None else found.add_(layer.bias)


def _gin(layer: Layer, sums: EdgeSums, x: Tensor, edge_index: Tensor, size: object = None) -> Tensor | None:
    if size is not None or not sums.takes(x) or not sums.knows(edge_index):
        return None
    found: Tensor = layer.nn(sums.total(x).addcmul_(x, 1 + layer.eps))
    return found


def _gine(
    layer: Layer, sums: EdgeSums, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, size: object = None
) -> Tensor | None:
    if size is not None or type(edge_attr) is not Tensor or not sums.takes(x) or not sums.knows(edge_index):
        return None
    carried = edge_attr if layer.lin is None else layer.lin(edge_attr)
    if not sums.takes_messages(carried) or carried.shape[1] != x.shape[1]:
        return None
    messages = x.index_select(0, edge_index[0]).add_(carried).relu_()
    found: Tensor = layer.nn(sums.total_of_messages(messages).addcmul_(x, 1 + layer.eps))
    return found


def _sage(layer: Layer, sums: EdgeSums, x: Tensor, edge_index: Tensor, size: object = None) -> Tensor | None:
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
    layer: Layer, sums: EdgeSums, x: Tensor, edge_index: Tensor, edge_weight: object = None, size: object = None
) -> Tensor | None:
    if edge_weight is not None or size is not None or not sums.takes(x) or not sums.knows(edge_index):
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
        _: Layer,
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


_OWN: Mapping[type, KnownLayer] = {
    own.GCNConv: KnownLayer(_gcn, new=lambda: own.GCNConv(1, 1)),
    own.GINConv: KnownLayer(_gin, new=lambda: own.GINConv(nn.Sequential())),
    own.GINEConv: KnownLayer(_gine, per_edge=True, new=lambda: own.GINEConv(nn.Sequential(nn.Linear(1, 1)), 1)),
    own.NodePool: KnownLayer(_pool, settings=lambda layer: (layer.kind,), new=own.NodePool),
}


@cache
def _of_pyg() -> Mapping[type, KnownLayer]:
    from torch_geometric.nn import GCNConv, GINConv, GINEConv, GraphConv, SAGEConv  # noqa: PLC0415
    from torch_geometric.nn.aggr import MaxAggregation, MeanAggregation, SumAggregation  # noqa: PLC0415

    def sums(layer: Layer) -> bool:
        return type(layer.aggr) is str and layer.aggr in _AGGREGATES

    def sage_settings(layer: Layer) -> tuple[Any, ...] | None:
        settings = layer.aggr, layer.normalize, layer.root_weight, layer.project
        return settings if sums(layer) and all(type(each) is bool for each in settings[1:]) else None

    def sage(aggr: str, normalize: bool, root_weight: bool, project: bool) -> Any:  # noqa: ANN401  (PyG has no types)
        return SAGEConv(1, 1, aggr=aggr, normalize=normalize, root_weight=root_weight, project=project)

    def gine(train_eps: bool, has_lin: bool) -> Any:  # noqa: ANN401
        return GINEConv(nn.Sequential(nn.Linear(1, 1)), train_eps=train_eps, edge_dim=1 if has_lin else None)

    def trains_eps(layer: Layer) -> bool:
        return type(layer.eps) is Parameter

    return {
        GCNConv: KnownLayer(
            _gcn, settings=lambda layer: (layer.bias is not None,), new=lambda bias: GCNConv(1, 1, bias=bias)
        ),
        GINConv: KnownLayer(
            _gin, settings=lambda layer: (trains_eps(layer),), new=lambda eps: GINConv(nn.Identity(), train_eps=eps)
        ),
        GINEConv: KnownLayer(_gine, True, lambda layer: (trains_eps(layer), layer.lin is not None), gine),
        SAGEConv: KnownLayer(_sage, False, sage_settings, sage),
        GraphConv: KnownLayer(
            _graph,
            settings=lambda layer: (layer.aggr,) if sums(layer) else None,
            new=lambda aggr: GraphConv(1, 1, aggr=aggr),
        ),
        SumAggregation: KnownLayer(_aggregation("sum"), per_edge=True, new=SumAggregation),
        MeanAggregation: KnownLayer(_aggregation("mean"), per_edge=True, new=MeanAggregation),
        MaxAggregation: KnownLayer(_aggregation("max"), per_edge=True, new=MaxAggregation),
    }


def _known(kind: type) -> KnownLayer | None:
    """What is known of a class: those of the ready networks, and those of PyG where it is loaded."""
    if kind in _OWN:
        return _OWN[kind]
    return _of_pyg().get(kind) if kind.__module__.startswith("torch_geometric.nn.") else None


def known_layers_in(module: nn.Module) -> Iterator[nn.Module]:
    """The known layers in a module in evaluation mode; where they lie in each other, the outermost."""
    return _outermost(module, is_known)


def holds_rows_of_edges(module: nn.Module) -> bool:
    """Whether a module has layers that hold a row of numbers for each edge, or none that is known by its class."""
    known = [_known(type(each)) for each in _outermost(module, lambda each: _known(type(each)) is not None)]
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
    known = _known(type(layer))
    if known is None or not _is_as_written(type(layer)):
        return False
    settings, kind = known.settings(layer), cast("Any", type(layer))
    return settings is not None and _alike(vars(layer), vars(_new(kind, settings)))


@cache
def _new(kind: Any, settings: tuple[Any, ...]) -> nn.Module:  # noqa: ANN401
    """An untouched layer in evaluation mode."""
    known = _known(kind)
    assert known is not None
    with torch.random.fork_rng(devices=[]):  # its weights are drawn, which must not advance the caller's generator
        return known.new(*settings).eval()


def _alike(value: Any, expected: Any) -> bool:  # noqa: ANN401
    """Whether something that a layer holds is what a new one holds.

    Tensors may have other numbers, and what describes the layer itself (PyG's inspector) counts by its class.
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
    """Whether all functions of a class, and of its bases, are from the package of the class that they are in.

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


def replace_layers(module: nn.Module, layers: Sequence[nn.Module], sums: EdgeSums) -> nn.Module:
    """The shadow of a module, for one call: the same parameters and the same code, with these layers replaced."""
    made: dict[int, Any] = {id(layer): _replacement(layer, sums) for layer in layers}

    def shadow_of(module: Any) -> Any:  # noqa: ANN401
        if id(module) not in made:
            made[id(module)] = module  # where it holds itself
            kind: Any = type(module)
            # All that the module is must lie in its attributes.
            if kind.__new__ is object.__new__ and not any(getattr(each, "__slots__", ()) for each in kind.__mro__):
                tables = {name: table_of(value) for name, value in vars(module).items()}
                changed = {name: table for name, table in tables.items() if table is not None}
                if changed:
                    shadow = made[id(module)] = object.__new__(kind)
                    vars(shadow).update(vars(module) | changed)
        return made[id(module)]

    def table_of(value: Any) -> Any:  # noqa: ANN401
        """A table of modules with the shadows of those that have one; None if nothing changes."""
        if type(value) not in (dict, OrderedDict):
            return None
        shadows = {name: shadow_of(each) for name, each in value.items() if isinstance(each, nn.Module)}
        if all(shadows[name] is value[name] for name in shadows):
            return None
        return type(value)((name, shadows.get(name, each)) for name, each in value.items())

    shadow: nn.Module = shadow_of(module)
    return shadow


def _replacement(layer: nn.Module, sums: EdgeSums) -> nn.Module:
    """A layer of a class derived from that of a known one, which holds the same."""
    kind: Any = type(layer)  # mypy calls classes of modules unhashable
    found: nn.Module = object.__new__(_replacement_class(kind))
    vars(found).update(vars(layer))
    vars(found)["edge_sums"] = sums
    return found


@cache
def _replacement_class(kind: Any) -> type[nn.Module]:  # noqa: ANN401
    known = _known(kind)
    assert known is not None

    def forward(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401
        found = known.forward(self, self.edge_sums, *args, **named)
        return kind.forward(self, *args, **named) if found is None else found

    return type(kind.__name__, (kind,), {"forward": forward, "__module__": __name__})
