"""Graph isomorphism networks: GIN on edges, and GINE on edges that carry something, such as the type of a bond."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

from starcert.classifiers.torch.layers import GINConv, GINEConv, NodePool
from starcert.system.errors import whole_number

__all__ = ["GIN", "GINE"]


class GIN(nn.Module):
    """Layers that add up neighbours and pass the sum through a small network; a sum over nodes; a linear layer.

    Args:
        in_channels: features of a node.
        n_classes: how many classes there are.
        hidden: units of each layer.
        layers: how many layers.
    """

    def __init__(self, in_channels: int, n_classes: int, *, hidden: int = 64, layers: int = 3) -> None:
        super().__init__()
        _check(in_channels=in_channels, n_classes=n_classes, hidden=hidden, layers=layers)
        self.convs = nn.ModuleList(GINConv(_network(a, b)) for a, b in pairwise([in_channels] + [hidden] * layers))
        self.pool = NodePool("sum")
        self.linear = nn.Linear(hidden, n_classes)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        """Logits of each graph of a block-diagonal batch."""
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        logits: torch.Tensor = self.linear(self.pool(x, batch))
        return logits


class GINE(nn.Module):
    """The same on edges with features: what a neighbour sends is added to what the edge to it carries.

    Args:
        in_channels: features of a node.
        edge_channels: features of an edge; of one-hot types, how many there are.
        n_classes: how many classes there are.
        hidden: units of each layer.
        layers: how many layers.
    """

    def __init__(
        self, in_channels: int, edge_channels: int, n_classes: int, *, hidden: int = 64, layers: int = 3
    ) -> None:
        super().__init__()
        _check(in_channels=in_channels, edge_channels=edge_channels, n_classes=n_classes, hidden=hidden, layers=layers)
        self.convs = nn.ModuleList(
            GINEConv(_network(a, b), edge_channels) for a, b in pairwise([in_channels] + [hidden] * layers)
        )
        self.pool = NodePool("sum")
        self.linear = nn.Linear(hidden, n_classes)

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor, batch: torch.Tensor
    ) -> torch.Tensor:
        """Logits of each graph of a block-diagonal batch."""
        for conv in self.convs:
            x = conv(x, edge_index, edge_attr).relu()
        logits: torch.Tensor = self.linear(self.pool(x, batch))
        return logits


def _network(in_channels: int, out_channels: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_channels, out_channels),
        nn.BatchNorm1d(out_channels),
        nn.ReLU(),
        nn.Linear(out_channels, out_channels),
    )


def _check(**sizes: int) -> None:
    for name, value in sizes.items():
        whole_number(name, value, 1)
