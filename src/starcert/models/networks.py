"""Graph neural networks: `GCN`, the paper's, `GIN` and `GINE`; and `NodeGCN` and `NodePropagation`, which answer nodes.

A `GCN` runs in two ways with the same weights: on PyG's `edge_index`, and on dense adjacency, where the noisy copies of
one small graph share their node features and become a few large matrix products.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from starcert.classifiers.torch.layers import GCNConv, GINConv, GINEConv, NodePool
from starcert.objects import Graph
from starcert.objects.laws import real_number
from starcert.objects.neighbours import nearest_neighbours
from starcert.system.errors import InvalidParameterError, whole_number


class _Network(nn.Module):
    """Layers along edges, a pooling over nodes, and a linear layer."""

    def __init__(self, convs: Iterable[nn.Module], pooling: str, hidden: int, n_classes: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(convs)
        self.pool = NodePool(pooling)
        self.linear = nn.Linear(hidden, n_classes)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """Logits of each graph of a block-diagonal batch."""
        return self._logits(x, batch, edge_index)

    def _logits(self, x: Tensor, batch: Tensor, *edges: Tensor) -> Tensor:
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

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
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


def _mix(adjacency: Tensor, x: Tensor, bias: Tensor | None = None) -> Tensor:
    """The product adjacency @ x + bias, for x of each copy or shared by all of them."""
    if x.dim() == 2:
        rows = adjacency.reshape(-1, adjacency.shape[2])
        mixed = rows @ x if bias is None else torch.addmm(bias, rows, x)
        return mixed.view(*adjacency.shape[:2], -1)
    return torch.matmul(adjacency, x) if bias is None else torch.matmul(adjacency, x) + bias


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
    """GIN on edges with features: the features of the edge are added to those of the neighbour.

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
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor
    ) -> Tensor:
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

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits of each node, shape (nodes, classes)."""
        hidden = self.first(x.to(self.first.bias.dtype), edge_index).relu()  # bits may come as such
        return self.second(self.dropout(hidden), edge_index)  # type: ignore[no-any-return]


class NodePropagation(nn.Module):
    """Logits of nodes from their features, propagated along nearest neighbours and along links.

    A classifier that never looks at edges survives every attack on them. This one begins there: a small network answers
    each node from its features, and the answers spread along *nearest neighbours* by features, which no attack on links
    can change. Links add to it: under one-way noise (`Flip(delete=0.8, add=0)`) every copy shows a fifth of them. With
    `link_weight=0` it is the blind model itself.

    With H the answers of a network with one hidden layer, N the pairs of nearest neighbours, A the links of the copy
    and Â = D^(−1/2) (I + N + w·A) D^(−1/2), D the sums of its rows, it computes Z ← (1 − t)·Â Z + t·H, from Z = H on
    (Gasteiger et al. 2019; there N is missing).

    Args:
        features: those of the nodes of the graph, numbers of 0 or more, a row each: `graph.node_data["x"]`. They say
            which nodes are neighbours and how many columns x has; they are not kept.
        n_classes: how many classes there are.
        neighbours: how many nearest neighbours each node chooses; 0: none.
        link_weight: w, what a link counts beside a nearest neighbour; 0: links are not looked at.
        steps: how often answers are passed on.
        teleport: t, how much of its own answer a node keeps at each step.
        hidden: units of the hidden layer.
        dropout: the share of features and of units that is dropped in training.

    Example:
        >>> model = NodePropagation([[1, 0], [1, 1], [0, 1]], n_classes=2, neighbours=1, hidden=8)
        >>> model(torch.tensor([[1.0, 0], [1, 1], [0, 1]]), torch.tensor([[0, 1], [1, 0]])).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        features: npt.ArrayLike,
        n_classes: int,
        *,
        neighbours: int = 10,
        link_weight: float = 1.0,
        steps: int = 10,
        teleport: float = 0.1,
        hidden: int = 64,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        for name, value in (("n_classes", n_classes), ("steps", steps), ("hidden", hidden)):
            whole_number(name, value, 1)
        if not 0 <= real_number(link_weight) < float("inf"):
            raise InvalidParameterError("link_weight", "be a number of 0 or more", link_weight)
        if not 0 < real_number(teleport) <= 1:
            raise InvalidParameterError("teleport", "be above 0 and at most 1", teleport)
        whole_number("neighbours", neighbours, 0)
        rows = np.asarray(features)
        if rows.ndim != 2:
            raise InvalidParameterError("features", "be a row of numbers for each node", rows.shape)
        self.n_nodes, self.steps, self.teleport, self.link_weight = len(rows), steps, teleport, link_weight
        pairs = nearest_neighbours(rows, neighbours) if neighbours else np.empty((0, 2), dtype=np.int64)
        one_way = torch.from_numpy(pairs).T
        self.register_buffer("neighbours", torch.cat([one_way, one_way.flip(0)], dim=1))  # both directions
        self.neighbours: Tensor
        self.first = nn.Linear(rows.shape[1], hidden)
        self.dropout = nn.Dropout(dropout)
        self.second = nn.Linear(hidden, n_classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits of each node of one or several copies, shape (copies · nodes, classes)."""
        return self.propagate(self.answers(x), edge_index)

    def answers(self, x: Tensor) -> Tensor:
        """The logits of each node from its features alone."""
        hidden = self.first(self.dropout(x.to(self.first.bias.dtype))).relu()  # bits may come as such
        return self.second(self.dropout(hidden))  # type: ignore[no-any-return]

    def for_votes(self) -> dict[str, Any]:
        """The arguments of `from_pyg` in place of model and features to vote: `from_pyg(**model.for_votes(), …)`.

        The answers are the same. Those from the features are computed once, where features are the same in all noisy
        copies, and each copy passes them on.
        """
        return {"model": _Passing(self), "features": _Answers(self)}

    def propagate(self, answers: Tensor, edge_index: Tensor) -> Tensor:
        """The answers after they were passed on."""
        copies, rest = divmod(len(answers), self.n_nodes)
        if rest:
            hint = "Nearest neighbours were found in the features of one graph: make a module for each."
            raise InvalidParameterError("graph", f"have {self.n_nodes} nodes", len(answers), hint)
        first = torch.arange(copies, device=answers.device).mul_(self.n_nodes)
        fixed = (self.neighbours.unsqueeze(1) + first[:, None]).flatten(1)
        sources, targets = fixed if self.link_weight == 0 else torch.cat([fixed, edge_index], dim=1)
        weights = answers.new_ones(len(sources))
        weights[fixed.shape[1] :] = self.link_weight
        scale = answers.new_ones(len(answers)).index_add_(0, targets, weights).rsqrt_()
        weights = (1 - self.teleport) * weights * scale[sources] * scale[targets]
        kept = (1 - self.teleport) * (scale * scale).unsqueeze(1)
        found, start = answers, self.teleport * answers
        places = targets.unsqueeze(1).expand(-1, answers.shape[1])
        for _ in range(self.steps):
            sent = weights.unsqueeze(1) * found.index_select(0, sources)
            found = (start + kept * found).scatter_add(0, places, sent)
        return found


class _Passing(nn.Module):
    """A network whose x are answers that are to be passed on."""

    def __init__(self, network: NodePropagation) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.network.propagate(x, edge_index)


@dataclass(frozen=True)
class _Answers:
    """The answers of a network from the features x of a graph."""

    network: NodePropagation

    def __call__(self, graph: Graph) -> Tensor:
        weights = self.network.first.weight
        with torch.no_grad():
            x = torch.tensor(np.asarray(graph.node_data["x"]), dtype=weights.dtype, device=weights.device)
            return self.network.eval().answers(x)


def _mlp(in_channels: int, out_channels: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(in_channels, out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels))


def _mlp_with_norm(in_channels: int, out_channels: int) -> nn.Sequential:
    layers = nn.Linear(in_channels, out_channels), nn.BatchNorm1d(out_channels), nn.ReLU()
    return nn.Sequential(*layers, nn.Linear(out_channels, out_channels))


def _check(**sizes: int) -> None:
    for name, value in sizes.items():
        whole_number(name, value, 1)
