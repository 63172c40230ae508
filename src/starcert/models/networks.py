"""Graph neural networks: `GCN`, the paper's, with its variants; `GIN` and `GINE`; and `NodeGCN`, which answers nodes.

A `GCN` runs in two ways with the same weights: on PyG's `edge_index`, and on dense adjacency, where the noisy copies of
one small graph share their node features and become a few large matrix products.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal

import torch
from torch import nn

from starcert.classifiers.torch.layers import GCNConv, GINConv, GINEConv, NodePool
from starcert.system.errors import InvalidParameterError, whole_number


class _Network(nn.Module):
    """Layers along edges, a pooling over nodes, and a linear layer."""

    def __init__(self, convs: Iterable[nn.Module], pooling: str, hidden: int, n_classes: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(convs)
        self.pool = NodePool(pooling)
        self.linear = nn.Linear(hidden, n_classes)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        """Logits of each graph of a block-diagonal batch."""
        return self._logits(x, batch, edge_index)

    def _logits(self, x: torch.Tensor, batch: torch.Tensor, *edges: torch.Tensor) -> torch.Tensor:
        for conv in self.convs:
            x = conv(x, *edges).relu()
        return self.linear(self.pool(x, batch))  # type: ignore[no-any-return]


class GCN(_Network):
    """Graph convolutions, a pooling over nodes, and a linear layer.

    The defaults are the paper's: one GCN layer with 64 units, max pooling.

    Args:
        in_channels: features of a node.
        n_classes: how many classes there are.
        hidden: units of each layer.
        layers: how many layers.
        conv: "gcn" or "gin".
        pooling: "max", "mean" or "sum".

    Example:
        >>> model = GCN(in_channels=4, n_classes=2, hidden=8)
        >>> model(torch.ones(3, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 1])).shape
        torch.Size([2, 2])
    """

    def __init__(
        self,
        in_channels: int,
        n_classes: int,
        *,
        hidden: int = 64,
        layers: int = 1,
        conv: Literal["gcn", "gin"] = "gcn",
        pooling: Literal["max", "mean", "sum"] = "max",
    ) -> None:
        _check(in_channels=in_channels, hidden=hidden, layers=layers)
        if conv not in ("gcn", "gin"):
            raise InvalidParameterError("conv", "be 'gcn' or 'gin'", conv)
        widths = pairwise([in_channels] + [hidden] * layers)
        convs = (GCNConv(a, b) if conv == "gcn" else GINConv(_mlp(a, b)) for a, b in widths)
        super().__init__(convs, pooling, hidden, n_classes)
        self.settings: dict[str, Any] = {"in_channels": in_channels, "n_classes": n_classes, "hidden": hidden,
                                         "layers": layers, "conv": conv, "pooling": pooling}  # fmt: skip

    def dense(self) -> DenseGCN:
        """The same network on dense adjacency, sharing its weights."""
        return DenseGCN(self)


class DenseGCN(nn.Module):
    """A `GCN` called as `model(x, adjacency)`, adjacency (copies, nodes, nodes).

    x is shared by all copies, shape (nodes, features), or each has its own, shape (copies, nodes, features).
    """

    def __init__(self, model: GCN) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, adjacency: torch.Tensor) -> torch.Tensor:
        """Logits of each copy."""
        settings = self.model.settings
        conv: Any
        gcn, maximum = settings["conv"] == "gcn", settings["pooling"] == "max"
        if gcn:  # D^(−1/2) (A + I) D^(−1/2), once for all layers
            degrees = adjacency.view(-1, adjacency.shape[2]) @ adjacency.new_ones(adjacency.shape[2])
            scale = (degrees.view(adjacency.shape[:2]) + 1).rsqrt()
            adjacency = (adjacency * scale.unsqueeze(1)).mul_(scale.unsqueeze(2))
            adjacency.diagonal(dim1=1, dim2=2).copy_(scale * scale)
        for number, conv in enumerate(self.model.convs, start=1):
            # Features that all copies share are multiplied with the weights once, and with all matrices in one product.
            x = _mix(adjacency, conv.lin(x), conv.bias) if gcn else conv.nn(_mix(adjacency, x) + (1 + conv.eps) * x)
            if not (maximum and number == settings["layers"]):  # the largest of relus is the relu of the largest
                x = x.relu()
        pooled = x.amax(dim=1).relu() if maximum else x.sum(dim=1)
        if settings["pooling"] == "mean":
            pooled = pooled / adjacency.shape[1]
        return self.model.linear(pooled)  # type: ignore[no-any-return]


def _mix(adjacency: torch.Tensor, x: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """The product adjacency @ x + bias, for x of each copy or shared by all of them."""
    if x.dim() == 2:
        rows = adjacency.reshape(-1, adjacency.shape[2])
        mixed = rows @ x if bias is None else torch.addmm(bias, rows, x)
        return mixed.view(*adjacency.shape[:2], -1)
    return torch.matmul(adjacency, x) if bias is None else torch.matmul(adjacency, x) + bias


def _mlp(in_channels: int, out_channels: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(in_channels, out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels))


class GIN(_Network):
    """Layers that add up neighbours and pass the sum through a small network; a sum over nodes; a linear layer.

    Args: as for `GCN`.

    Example:
        >>> model = GIN(in_channels=4, n_classes=2, hidden=8, layers=2)
        >>> model(torch.ones(3, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 1])).shape
        torch.Size([2, 2])
    """

    def __init__(self, in_channels: int, n_classes: int, *, hidden: int = 64, layers: int = 3) -> None:
        _check(in_channels=in_channels, n_classes=n_classes, hidden=hidden, layers=layers)
        widths = pairwise([in_channels] + [hidden] * layers)
        super().__init__((GINConv(_mlp_with_norm(a, b)) for a, b in widths), "sum", hidden, n_classes)


class GINE(_Network):
    """The same on edges with features: what a neighbour sends is added to what the edge to it carries.

    Args: as for `GCN`, and `edge_channels`, the features of an edge; of one-hot types, how many there are.

    Example:
        >>> model = GINE(in_channels=4, edge_channels=3, n_classes=2, hidden=8, layers=2)
        >>> model(torch.ones(3, 4), torch.tensor([[0, 1], [1, 0]]), torch.eye(3)[[2, 2]], torch.tensor([0, 0, 1])).shape
        torch.Size([2, 2])
    """

    def __init__(
        self, in_channels: int, edge_channels: int, n_classes: int, *, hidden: int = 64, layers: int = 3
    ) -> None:
        _check(in_channels=in_channels, edge_channels=edge_channels, n_classes=n_classes, hidden=hidden, layers=layers)
        widths = pairwise([in_channels] + [hidden] * layers)
        super().__init__((GINEConv(_mlp_with_norm(a, b), edge_channels) for a, b in widths), "sum", hidden, n_classes)

    def forward(  # type: ignore[override]  # edges carry something
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor, batch: torch.Tensor
    ) -> torch.Tensor:
        """Logits of each graph of a block-diagonal batch."""
        return self._logits(x, batch, edge_index, edge_attr)


class NodeGCN(nn.Module):
    """Two graph convolutions with a ReLU and dropout between them; logits for every node.

    Args:
        in_channels: features of a node.
        n_classes: how many classes there are.
        hidden: units of the first layer.
        dropout: the share of them that is dropped in training.

    Example:
        >>> model = NodeGCN(in_channels=4, n_classes=2, hidden=8)
        >>> model(torch.ones(3, 4), torch.tensor([[0, 1], [1, 0]])).shape
        torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, n_classes: int, *, hidden: int = 64, dropout: float = 0.5) -> None:
        super().__init__()
        _check(in_channels=in_channels, n_classes=n_classes, hidden=hidden)
        self.first = GCNConv(in_channels, hidden)
        self.dropout = nn.Dropout(dropout)
        self.second = GCNConv(hidden, n_classes)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        """Logits of each node, shape (nodes, classes)."""
        hidden = self.first(x.to(self.first.bias.dtype), edge_index).relu()  # bits may come as such
        return self.second(self.dropout(hidden), edge_index)  # type: ignore[no-any-return]


def _mlp_with_norm(in_channels: int, out_channels: int) -> nn.Sequential:
    layers = nn.Linear(in_channels, out_channels), nn.BatchNorm1d(out_channels), nn.ReLU()
    return nn.Sequential(*layers, nn.Linear(out_channels, out_channels))


def _check(**sizes: int) -> None:
    for name, value in sizes.items():
        whole_number(name, value, 1)
