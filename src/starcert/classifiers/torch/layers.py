"""The layers of the ready networks, in plain torch; and stand-ins for known layers, which add up along edges faster.

PyG takes longer to import than most runs take. Each layer here has the parameters of PyG's layer of the same name, and
gives the same numbers up to rounding; from the same state of torch's generator it begins with the same weights. As
PyG's do, GCN and GIN also take a sparse matrix in place of `edge_index`, with a one in the row of the target and the
column of the source of each edge, and no loops.

A stand-in gives a layer that matrix: it runs the layer's own forward pass, for `GCNConv`, `GINConv`, `SAGEConv` and
`GraphConv` of PyG and the first two of these. Where it does not receive exactly the edges that were drawn, and a plain
row for each node, it hands on what it received. A module as a whole never sees a matrix: it may ask how many edges
there are.
"""

from __future__ import annotations

import math
import sys
from copy import deepcopy
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from starcert.classifiers.torch.inputs import csr_tensor
from starcert.math.arithmetic import compiled
from starcert.system.errors import InvalidParameterError

POOLS = ("max", "mean", "sum")

FREE = {"training", "_parameters", "_buffers", "_modules", "inspector", "in_channels", "out_channels", "initial_eps",
        "normalize", "root_weight", "project"}  # fmt: skip
"""Attributes of a layer that may be anything: they play no part in how it adds up along edges."""


class GCNConv(nn.Module):
    """A graph convolution (Kipf and Welling 2017): D^(−1/2) (A + I) D^(−1/2) X W + b, D the degrees of A + I."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_channels))
        bound = math.sqrt(6 / (in_channels + out_channels))
        nn.init.uniform_(self.lin.weight, -bound, bound)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The units of each node."""
        if edge_index.layout == torch.sparse_csr:
            scale = (1 + edge_index.crow_indices().diff()).to(self.bias.dtype).rsqrt_().unsqueeze(1)
            x = scale * self.lin(x)
            return torch.addcmul(self.bias, scale, edge_index @ x + x)
        source, target = edge_index[0], edge_index[1]
        between = (source != target).to(self.bias.dtype)  # a loop counts as the one that every node has anyway
        scale = self.bias.new_ones(x.shape[0]).scatter_add_(0, target, between).rsqrt_()
        weight = between * scale[source] * scale[target]
        x = self.lin(x)
        own = torch.addcmul(self.bias, (scale * scale).unsqueeze(1), x)
        return _add_along(own, target, weight.unsqueeze(1) * x.index_select(0, source))

    def __repr__(self) -> str:
        return f"GCNConv({self.lin.in_features}, {self.lin.out_features})"

    def to_pyg(self) -> nn.Module:
        """PyG's layer with the same weights."""
        from torch_geometric.nn import GCNConv as PygConv  # noqa: PLC0415

        return _with_state_of(self, PygConv(self.lin.in_features, self.lin.out_features))


class GINConv(nn.Module):
    """The layer of a graph isomorphism network (Xu et al. 2019): nn(A X + (1 + ε) X), ε = 0; draws weights anew."""

    def __init__(self, network: nn.Sequential) -> None:
        super().__init__()
        self.nn = network
        self.register_buffer("eps", torch.zeros(1))
        self.eps: Tensor
        for part in network:
            if isinstance(part, nn.Linear | nn.BatchNorm1d):
                part.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The output of the network for each node's sum."""
        if edge_index.layout == torch.sparse_csr:
            summed: Tensor = self.nn(torch.addcmul(edge_index @ x, 1 + self.eps, x))
            return summed
        return self._summed(x, edge_index, x.index_select(0, edge_index[0]))

    def _summed(self, x: Tensor, edge_index: Tensor, sent: Tensor) -> Tensor:
        summed: Tensor = self.nn(_add_along((1 + self.eps) * x, edge_index[1], sent))
        return summed

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"

    def to_pyg(self) -> nn.Module:
        """PyG's layer with the same weights."""
        from torch_geometric.nn import GINConv as PygConv  # noqa: PLC0415

        return _with_state_of(self, PygConv(deepcopy(self.nn)))


class GINEConv(GINConv):
    """The same on edges with features (Hu et al. 2020): a neighbour sends relu(x + lin(features of the edge))."""

    def __init__(self, network: nn.Sequential, edge_channels: int) -> None:
        first = network[0]
        assert isinstance(first, nn.Linear)
        lin = nn.Linear(edge_channels, first.in_features)  # drawn before the network, as PyG draws it
        super().__init__(network)
        self.lin = lin
        bound = math.sqrt(6 / ((1 + math.sqrt(5) ** 2) * edge_channels))
        nn.init.uniform_(self.lin.weight, -bound, bound)
        nn.init.uniform_(self.lin.bias, -1 / math.sqrt(edge_channels), 1 / math.sqrt(edge_channels))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:  # type: ignore[override]
        """The output of the network for each node's sum."""
        return self._summed(x, edge_index, (x.index_select(0, edge_index[0]) + self.lin(edge_attr)).relu())

    def to_pyg(self) -> nn.Module:
        """PyG's layer with the same weights."""
        from torch_geometric.nn import GINEConv as PygConv  # noqa: PLC0415

        return _with_state_of(self, PygConv(deepcopy(self.nn), edge_dim=self.lin.in_features))


def _add_along(own: Tensor, target: Tensor, sent: Tensor) -> Tensor:
    """The rows of nodes, to each added what its edges bring."""
    return own.scatter_add_(0, target.unsqueeze(1).expand_as(sent), sent)


def _with_state_of(layer: nn.Module, other: nn.Module) -> nn.Module:
    other.load_state_dict(layer.state_dict())
    return other.train(layer.training)


class NodePool(nn.Module):
    """From the rows of nodes, and for each the number of its graph, to a row for each graph, as PyG's pools do."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        if kind not in POOLS:
            raise InvalidParameterError("pooling", f"be one of {', '.join(POOLS)}", kind)
        self.kind = kind

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        """A row for each graph."""
        n_graphs = int(index.max()) + 1 if index.numel() else 0
        pooled, places = x.new_zeros(n_graphs, x.shape[1]), index.unsqueeze(1).expand_as(x)
        if self.kind == "max":
            return pooled.scatter_reduce_(0, places, x, reduce="amax", include_self=False)
        pooled = pooled.scatter_add_(0, places, x)
        if self.kind == "sum":
            return pooled
        sizes = x.new_zeros(n_graphs).scatter_add_(0, index, x.new_ones(x.shape[0]))
        return pooled / sizes.clamp(min=1).unsqueeze(1)

    def __repr__(self) -> str:
        return f"NodePool({self.kind!r})"


class DrawnEdges:
    """The edges that were drawn for a batch of this many nodes, and their matrix: targets are rows, sources columns."""

    def __init__(self, edge_index: Tensor, n_nodes: int, dtype: torch.dtype) -> None:
        # The edges are copied: the module may overwrite its own.
        self._edges, self._n_nodes, self._dtype = edge_index.clone(), n_nodes, dtype

    def fit(self, x: object, edge_index: object) -> bool:
        """True if these are a row of the type of the matrix for each node, and the drawn edges, number by number."""
        if type(x) is not Tensor or x.dim() != 2 or len(x) != self._n_nodes or x.dtype != self._dtype:
            return False
        return type(edge_index) is Tensor and edge_index.dtype == torch.int64 and torch.equal(edge_index, self._edges)

    @cached_property
    def matrix(self) -> Tensor:
        """The matrix A, with a one for each edge."""
        starts, sources = map(torch.from_numpy, _by_target(self._edges.numpy(), self._n_nodes))
        return csr_tensor(starts, sources, torch.ones(len(sources), dtype=self._dtype), self._n_nodes)

    @cached_property
    def normalised(self) -> Tensor:
        """D^(−1/2) (A + I) D^(−1/2), as PyG's `GCNConv` makes it of A, where D has the degrees of A + I."""
        edges = torch.cat([self._edges, torch.arange(self._n_nodes).expand(2, -1)], dim=1)
        starts, sources = map(torch.from_numpy, _by_target(edges.numpy(), self._n_nodes))
        degrees = starts.diff()
        scale = degrees.to(self._dtype).pow_(-0.5)
        return csr_tensor(starts, sources, scale.repeat_interleave(degrees) * scale[sources], self._n_nodes)


@compiled
def _by_target(edges, n_nodes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Where the row of each target begins, and the sources in each row, by counting."""
    starts, sources = np.zeros(n_nodes + 1, np.int64), np.empty(edges.shape[1], np.int64)
    for edge in range(edges.shape[1]):
        starts[edges[1, edge] + 1] += 1
    for node in range(n_nodes):
        starts[node + 1] += starts[node]
    places = starts[:-1].copy()
    for edge in range(edges.shape[1]):
        sources[places[edges[1, edge]]] = edges[0, edge]
        places[edges[1, edge]] += 1
    return starts, sources


@cache
def _new_layers(pyg: Any) -> list[nn.Module]:  # noqa: ANN401  (PyG's module of layers, or None where it is not loaded)
    """A new layer of each class and aggregation that is known."""
    with torch.random.fork_rng(devices=[]):  # weights are drawn, which must not advance the caller's generator
        found: list[nn.Module] = [GCNConv(1, 1), GINConv(nn.Sequential())]
        if pyg is not None:
            found += [pyg.GCNConv(1, 1), pyg.GINConv(nn.Identity())]
            found += [kind(1, 1, aggr) for kind in (pyg.SAGEConv, pyg.GraphConv) for aggr in ("add", "sum", "mean")]
    return found


def is_known(layer: nn.Module) -> bool:
    """True if a layer is of a known class, itself and not derived, and holds what a new one holds, `FREE` aside."""
    return any(_is_like(layer, new) for new in _new_layers(sys.modules.get("torch_geometric.nn")))


def _is_like(layer: Any, new: nn.Module) -> bool:  # noqa: ANN401
    if type(layer) is not type(new) or vars(layer).keys() != vars(new).keys():
        return False
    pairs = [(vars(layer)[name], value) for name, value in vars(new).items() if name not in FREE]
    if not all(type(one) is type(other) and one == other for one, other in pairs):
        return False
    adds_up = new._modules.get("aggr_module")
    same_sum = adds_up is None or _is_like(layer._modules.get("aggr_module"), adds_up)
    return same_sum and all(map(_is_as_written, type(new).__mro__[:-1]))


def _is_as_written(kind: Any) -> bool:  # noqa: ANN401  (mypy calls classes of modules unhashable)
    """True if all functions of a class are from its own package: PyG writes some of them itself, and counts as that."""
    if vars(kind) != _SEEN.get(kind):
        for value in vars(kind).values():
            function = getattr(value, "__func__", getattr(value, "fget", value))
            while callable(function) and not isinstance(function, type):
                module = getattr(function, "__globals__", {}).get("__name__", "")
                if module.partition(".")[0] != kind.__module__.partition(".")[0]:
                    return False
                function = getattr(function, "__wrapped__", None)
        _SEEN[kind] = dict(vars(kind))
    return True


_SEEN: dict[Any, dict[str, Any]] = {}  # classes as they were when they were found to be as written


def with_stand_ins(module: nn.Module, edges: DrawnEdges) -> nn.Module:
    """The shadow of a module, for one call: its weights, and stand-ins for known layers; itself where it has none."""
    made: dict[int, Any] = {}

    def shadow_of(module: Any) -> Any:  # noqa: ANN401
        if id(module) not in made:
            made[id(module)] = module  # where it holds itself
            kind: Any = type(module)
            changed: dict[str, Any] = {}
            if is_known(module):
                kind, changed = _stand_in(kind), {"drawn_edges": edges}
            # All that the module is must lie in its attributes.
            elif kind.__new__ is object.__new__ and not any(getattr(each, "__slots__", ()) for each in kind.__mro__):
                parts = {name: each if each is None else shadow_of(each) for name, each in module._modules.items()}
                if any(parts[name] is not each for name, each in module._modules.items()):
                    changed = {"_modules": parts}
            if changed:
                made[id(module)] = object.__new__(kind)
                vars(made[id(module)]).update(vars(module) | changed)
        return made[id(module)]

    return shadow_of(module)  # type: ignore[no-any-return]


@cache
def _stand_in(kind: Any) -> Any:  # noqa: ANN401  (a class of layers, and one derived from it)
    def forward(self: Any, x: Any, edge_index: Any, *more: Any, **named: Any) -> Any:  # noqa: ANN401
        edges, others = self.drawn_edges, (*more, *named.values())
        fits = all(each is None for each in others) and edges.fit(x, edge_index)
        if "_cached_edge_index" in vars(self):  # where PyG's `GCNConv` keeps what it has normalised
            self._cached_edge_index = (edges.normalised, None) if fits else None
        elif fits:
            edge_index = edges.matrix
        return kind.forward(self, x, edge_index, *more, **named)

    return type(kind.__name__, (kind,), {"forward": forward, "__module__": __name__})
