"""A graph neural network that answers every node: the two-layer GCN of the literature on node classification."""

from __future__ import annotations

import torch
from torch import nn

from starcert.classifiers.torch.layers import GCNConv
from starcert.system.errors import whole_number

__all__ = ["NodeGCN"]


class NodeGCN(nn.Module):
    """Two graph convolutions with a ReLU and dropout between them; logits for every node.

    Args:
        in_channels: features of a node.
        n_classes: how many classes there are.
        hidden: units of the first layer.
        dropout: the share of them that is dropped in training.
    """

    def __init__(self, in_channels: int, n_classes: int, *, hidden: int = 64, dropout: float = 0.5) -> None:
        super().__init__()
        for name, value in (("in_channels", in_channels), ("n_classes", n_classes), ("hidden", hidden)):
            whole_number(name, value, 1)
        self.first = GCNConv(in_channels, hidden)
        self.dropout = nn.Dropout(dropout)
        self.second = GCNConv(hidden, n_classes)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        """Logits of each node, shape (nodes, classes)."""
        hidden = self.first(x.to(self.first.bias.dtype), edge_index).relu()  # bits may come as such
        logits: torch.Tensor = self.second(self.dropout(hidden), edge_index)
        return logits
