"""Nodes by their words first, and by their links on top: predict, then propagate.

A classifier that never looks at edges survives every attack on them. `NodePropagation` begins there: a small network
answers each node from its features, and the answers spread along *nearest neighbours* by features, which no attack on
links can change. Links add to it: under one-way noise (`Flip(delete=0.8, add=0)`) every copy shows a fifth of them.
With `link_weight=0` it is the blind model itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from starcert.objects import Graph
from starcert.objects.laws import real_number
from starcert.objects.neighbours import nearest_neighbours
from starcert.system.errors import InvalidParameterError, whole_number


class NodePropagation(nn.Module):
    """Logits of nodes from their features, propagated along nearest neighbours and along links.

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
