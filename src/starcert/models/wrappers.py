"""Wrappers around any module on `edge_index`: a blind head with a bounded correction, and filters of edges.

Whatever they look at is the noisy copy and what no attack can change, so a module in a wrapper is a base classifier
like any other. Filters that follow from fixed data alone do more: give the pairs that they never let through the noise
`Flip(delete=1, add=0)`, and any number of flips there is certified (`starcert.regions.similar_features`,
`LikelyEnds.regions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from starcert.classifiers.torch.calling import calling_of
from starcert.objects.laws import real_number
from starcert.system.errors import InvalidParameterError, whole_number


class _Around(nn.Module):
    """A module that gets what its parameters are named after."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self._callings = {"module": calling_of(module, None, of_graphs=False)}

    def _call(self, name: str, kept: Tensor | slice, x: Tensor, edge_index: Tensor, *more: Tensor | None) -> Tensor:
        """What a module gives for these edges; more: batch, edge_attr and edge_weight."""
        batch, *of_edges = more
        attr, weight = (None if each is None else each[kept] for each in of_edges)
        edges = {"edge_index": edge_index[:, kept], "edge_attr": attr, "edge_weight": weight}
        n_copies = 1 if batch is None or not batch.numel() else int(batch.max()) + 1
        found: Tensor = self._callings[name].call(getattr(self, name), {"x": x, "batch": batch, **edges}, n_copies)
        return found


class BlindHead(_Around):
    """The answer of a module that sees no edge, and a bounded correction by one that does.

    Logits are blind + bound · tanh(module): where the blind module is sure by more than 2·bound, no attack on edges
    changes anything; where it is not, edges decide. It can fall back to the blind answer, but never has to.

    Args:
        module: any module on edge_index; its parameters get what they are named after, as in `from_pyg`.
        blind: a module that is called with the same inputs, of which all edges were taken away.
        bound: how far each logit can be moved. It is learned with the rest if it is None, from 1 on.

    Example:
        >>> from starcert.models import GIN
        >>> head = BlindHead(GIN(4, 2, hidden=8), blind=GIN(4, 2, hidden=8, layers=1), bound=0.5)
    """

    def __init__(self, module: nn.Module, *, blind: nn.Module, bound: float | None = 1.0) -> None:
        super().__init__(module)
        if bound is not None and not 0 <= real_number(bound) < float("inf"):
            raise InvalidParameterError("bound", "be a number of 0 or more, or None", bound)
        self.blind = blind
        self._callings["blind"] = calling_of(blind, None, of_graphs=False)
        start = torch.tensor(1.0 if bound is None else float(bound))
        if bound is None:
            self.bound = nn.Parameter(start)
        else:
            self.register_buffer("bound", start)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Logits, as those of the two modules."""
        given = x, edge_index, batch, edge_attr, edge_weight
        blind, seeing = self._call("blind", slice(0), *given), self._call("module", slice(None), *given)
        return blind + self.bound.abs() * seeing.tanh()


Keep = Callable[[Tensor, Tensor], Tensor]
"""From x and edge_index to whether each edge is let through."""


class Filtered(_Around):
    """A module that sees the edges of a copy that a filter lets through.

    Args:
        module: any module on edge_index; its parameters get what they are named after, as in `from_pyg`.
        keep: `MaxDegree`, `WithinValence`, `SimilarEnds`, `LikelyEnds`, or a function from x and edge_index to a truth
            value of each edge.

    Example:
        >>> from starcert.models import GIN
        >>> model = Filtered(GIN(4, 2, hidden=8), keep=MaxDegree(3))
        >>> model(torch.ones(3, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 1])).shape
        torch.Size([2, 2])
    """

    def __init__(self, module: nn.Module, keep: Keep) -> None:
        super().__init__(module)
        self.keep = keep

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """What the module gives for the edges that are let through."""
        return self._call("module", self.keep(x, edge_index), x, edge_index, batch, edge_attr, edge_weight)


@dataclass(frozen=True)
class MaxDegree:
    """Lets an edge through if both ends have at most `limit` edges: a node with more shows none of them.

    Example:
        >>> edge_index = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
        >>> MaxDegree(1)(torch.ones(5, 1), edge_index)
        tensor([False, False, False, False,  True,  True])
    """

    limit: int

    def __post_init__(self) -> None:
        whole_number("limit", self.limit, 0)

    def __call__(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Whether each edge is let through."""
        few = torch.bincount(edge_index[1], minlength=len(x)) <= self.limit
        return few[edge_index].all(dim=0)


@dataclass(frozen=True)
class WithinValence:
    """Lets an edge through if no end has more edges than its element allows; x begins with elements, one-hot.

    Args:
        limits: the most edges of a node of each element, in the order of the columns of x.

    Example:
        >>> elements, edge_index = torch.eye(2)[[0, 1, 1]], torch.tensor([[0, 1, 0, 2], [1, 0, 2, 0]])
        >>> WithinValence([4, 1])(elements, edge_index), WithinValence([1, 1])(elements, edge_index)
        (tensor([True, True, True, True]), tensor([False, False, False, False]))
    """

    limits: Sequence[int]

    def __post_init__(self) -> None:
        for limit in self.limits:
            whole_number("limits", limit, 0)
        object.__setattr__(self, "limits", tuple(self.limits))

    def __call__(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Whether each edge is let through."""
        limits = torch.tensor(self.limits, device=x.device)[x[:, : len(self.limits)].argmax(dim=1)]
        few = torch.bincount(edge_index[1], minlength=len(x)) <= limits
        return few[edge_index].all(dim=0)


@dataclass(frozen=True)
class SimilarEnds:
    """Lets an edge through if the cosine of its ends' features is at least a threshold.

    Example:
        >>> SimilarEnds(0.5)(torch.eye(2)[[0, 0, 1]], torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        tensor([ True,  True, False, False])
    """

    threshold: float

    def __post_init__(self) -> None:
        if not -1 <= real_number(self.threshold) <= 1:
            raise InvalidParameterError("threshold", "be a number from -1 to 1", self.threshold)

    def __call__(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Whether each edge is let through."""
        one, other = (x.to(torch.get_default_dtype())[ends] for ends in edge_index)
        return torch.cosine_similarity(one, other, dim=1) >= self.threshold
