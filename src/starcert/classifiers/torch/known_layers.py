"""Layers whose exact type is known, replaced for one call by layers that use `starcert.classifiers.torch.edge_sums`.

| layer | what it gives, for adjacency A with targets as rows, degrees d and features X |
| --- | --- |
| `GCNConv` | S (A + I) S lin(X) + b, where S is diagonal with (d + 1)^(−1/2) |
| `GINConv` | nn(A X + (1 + ε) X) |
| `GINEConv` | nn(Σ over edges of relu(x_source + lin(edge_attr)) + (1 + ε) X) |
| `SAGEConv` | lin_l(M X) + lin_r(X), where M is A, or A with rows divided by d |
| `GraphConv` | lin_rel(M X) + lin_root(X) |
| `SumAggregation`, `MeanAggregation`, `MaxAggregation` | over the nodes of each copy; on a GPU also over messages |

A layer is known if its class is one of these, itself and not derived, if no method of the class was replaced, and if
all that it holds, hooks and masks included, is what a new layer of known settings holds, except for numbers in tensors
and for the modules inside it that are called as they are. Its replacement shares all that it holds, and checks what it
is called with: where it does not receive the drawn edges and plain rows, it runs the layer as it is written.

The module itself is not touched. Its shadow is made for one call, and shares the parameters: only the modules on the
way to a replaced layer are copied, and the tables in which they hold each other. Layers that are held in any other way
than in a table of modules are not replaced.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from starcert.classifiers.torch import layers as own
from starcert.classifiers.torch.edge_sums import EdgeSums

Layer: TypeAlias = Any
"""A layer, whose attributes PyG has no types for."""

FREE = frozenset(["lin", "nn", "lin_l", "lin_r", "lin_rel", "lin_root", "in_channels", "out_channels", "initial_eps"])
"""Attributes that may be anything: modules that the replacement calls as they are, and what no forward pass reads."""


class KnownLayer(NamedTuple):
    """What is known of a class of layers; `forward` gets the layer, the sums, and what the layer is called with."""

    forward: Callable[..., Tensor | None]  # None where the layer itself must run
    variants: Callable[[], list[nn.Module]]  # makes a layer of each setting that is known


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


def _aggregate(
    layer: Layer,
    sums: EdgeSums,
    x: Tensor,
    index: Tensor | None = None,
    ptr: object = None,
    dim_size: int | None = None,
    dim: int = -2,
) -> Tensor | None:
    if ptr is not None or dim not in (-2, 0):
        return None
    kind = layer.kind if isinstance(layer, own.NodePool) else type(layer).__name__.removesuffix("Aggregation").lower()
    # In a layer of a user's own it adds messages: in a fixed order where PyG adds them in any. A CPU keeps its order.
    if dim_size == sums.n_nodes and kind != "max" and sums.is_on_gpu and sums.takes_messages(x):
        if not sums.knows_targets(index):
            return None
        return sums.total_of_messages(x) if kind == "sum" else sums.mean_of_messages(x)
    if dim_size not in (None, sums.n_copies) or not sums.takes(x) or not sums.knows_batch(index):
        return None
    return sums.pooled(x, kind)


_OWN: Mapping[type, KnownLayer] = {
    own.GCNConv: KnownLayer(_gcn, lambda: [own.GCNConv(1, 1)]),
    own.GINConv: KnownLayer(_gin, lambda: [own.GINConv(nn.Sequential())]),
    own.GINEConv: KnownLayer(_gine, lambda: [own.GINEConv(nn.Sequential(nn.Linear(1, 1)), 1)]),
    own.NodePool: KnownLayer(_aggregate, lambda: [own.NodePool(kind) for kind in own.POOLS]),
}


@cache
def _of_pyg() -> Mapping[type, KnownLayer]:
    from torch_geometric.nn import GCNConv, GINConv, GINEConv, GraphConv, SAGEConv  # noqa: PLC0415
    from torch_geometric.nn.aggr import MaxAggregation, MeanAggregation, SumAggregation  # noqa: PLC0415

    either = True, False

    def gine_variants() -> list[nn.Module]:
        net = nn.Sequential(nn.Linear(1, 1))
        return [GINEConv(net, train_eps=eps, edge_dim=width) for eps, width in product(either, (1, None))]

    def sage_variants() -> list[nn.Module]:
        settings = product(_AGGREGATES, either, either, either)
        return [SAGEConv(1, 1, aggr, normalize=n, root_weight=r, project=p) for aggr, n, r, p in settings]

    return {
        GCNConv: KnownLayer(_gcn, lambda: [GCNConv(1, 1, bias=bias) for bias in either]),
        GINConv: KnownLayer(_gin, lambda: [GINConv(nn.Identity(), train_eps=eps) for eps in either]),
        GINEConv: KnownLayer(_gine, gine_variants),
        SAGEConv: KnownLayer(_sage, sage_variants),
        GraphConv: KnownLayer(_graph, lambda: [GraphConv(1, 1, aggr) for aggr in _AGGREGATES]),
        SumAggregation: KnownLayer(_aggregate, lambda: [SumAggregation()]),
        MeanAggregation: KnownLayer(_aggregate, lambda: [MeanAggregation()]),
        MaxAggregation: KnownLayer(_aggregate, lambda: [MaxAggregation()]),
    }


def _known(kind: type) -> KnownLayer | None:
    """What is known of a class: those of the ready networks, and those of PyG where it is loaded."""
    if kind in _OWN:
        return _OWN[kind]
    return _of_pyg().get(kind) if kind.__module__.startswith("torch_geometric.nn.") else None


def known_layers_in(module: nn.Module) -> Iterator[nn.Module]:
    """The known layers in a module in evaluation mode; where they lie in each other, the outermost."""
    pending, seen = [module], set[int]()
    while pending:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if is_known(each):
            yield each
        else:
            pending.extend(each.children())


def is_known(layer: nn.Module) -> bool:
    """Whether a layer, in evaluation mode, does what the table above says."""
    kind: Any = type(layer)  # mypy calls classes of modules unhashable
    if _known(kind) is None or not _is_as_written(kind):
        return False
    return any(_alike(vars(layer), vars(each)) for each in _variants(kind))


@cache
def _variants(kind: Any) -> list[nn.Module]:  # noqa: ANN401
    """Untouched layers in evaluation mode."""
    known = _known(kind)
    assert known is not None
    with torch.random.fork_rng(devices=[]):  # weights are drawn, which must not advance the caller's generator
        return [each.eval() for each in known.variants()]


def _alike(value: Any, expected: Any) -> bool:  # noqa: ANN401
    """Whether something that a layer holds is what a new one holds.

    Tensors may have other numbers, and what describes the layer itself (PyG's inspector) counts by its class.
    """
    if type(value) is not type(expected):
        return False
    if isinstance(value, dict):
        return value.keys() == expected.keys() and all(
            each is expected[name] or name in FREE or _alike(each, expected[name]) for name, each in value.items()
        )
    if isinstance(value, nn.Module):
        return _is_as_written(type(value)) and _alike(vars(value), vars(expected))
    return isinstance(value, Tensor) or hasattr(value, "__dict__") or bool(value == expected)


def _is_as_written(kind: type) -> bool:
    """Whether all functions of a class, and of its bases, are from the package of the class that they are in.

    PyG writes some methods of its layers itself, into modules that it counts as its own.
    """
    return all(vars(base) == _SEEN.get(base) or _is_base_as_written(base) for base in kind.__mro__[:-1])


def _is_base_as_written(base: type) -> bool:
    package = base.__module__.partition(".")[0]
    for value in vars(base).values():
        function = getattr(value, "__func__", getattr(value, "fget", value))
        while function is not None:
            if isinstance(function, FunctionType):
                if function.__globals__["__name__"].partition(".")[0] != package:
                    return False
            elif callable(function) and not isinstance(function, type):
                return False
            function = getattr(function, "__wrapped__", None)
    _SEEN[base] = dict(vars(base))
    return True


_SEEN: dict[type, dict[str, Any]] = {}  # classes as they were when they were found to be as written


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
    vars(found).update(vars(layer), edge_sums=sums)
    return found


@cache
def _replacement_class(kind: Any) -> type[nn.Module]:  # noqa: ANN401
    known = _known(kind)
    assert known is not None

    def forward(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401
        found = known.forward(self, self.edge_sums, *args, **named)
        return kind.forward(self, *args, **named) if found is None else found

    return type(kind.__name__, (kind,), {"forward": forward, "__module__": __name__})
