"""The layers of the ready networks, in plain torch: PyG takes longer to import than most runs take.

Each has the parameters of PyG's layer of the same name, and gives the same numbers up to rounding; from the same state
of torch's generator it begins with the same weights. As PyG's do, GCN and GIN also take a sparse matrix in place of
`edge_index`, with a one in the row of the target and the column of the source of each edge, and no loops.
"""

from __future__ import annotations

import math
from copy import deepcopy

import torch
from torch import Tensor, nn

from starcert.system.errors import InvalidParameterError


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


POOLS = ("max", "mean", "sum")
