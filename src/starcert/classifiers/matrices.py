"""The adjacency matrices of all copies, and products with them: what layers sum along edges.

With A the adjacency matrix of a copy, targets as rows, a sum over the edges that end at each node is A X. Features X
that all copies share are multiplied with the matrices of all copies in one product.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["Matrices"]


class Matrices:
    """The adjacency matrices of all copies, targets as rows, and what layers make of them, each made once.

    Args:
        graphs: the copies.
        dtype: of the model.
        device: where it is.

    Attributes:
        used: how many layers multiplied.
    """

    def __init__(self, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> None:
        self._graphs, self.dtype, self._device = graphs, dtype, device
        self.n_copies, self.n_nodes = len(graphs), graphs.frame.n_nodes
        self._made: dict[object, Tensor] = {}  # without a layer, not made at all
        self._first_rows: list[Tensor] = []
        self.used = 0

    def plain(self) -> Tensor:
        """1 for each edge."""
        return self._once("plain", lambda: self._by_target(self._graphs.adjacency_on(self._device)).to(self.dtype))

    def mean(self) -> Tensor:
        """Rows divided by the number of their edges."""
        return self._once("mean", lambda: self.plain() / self._degrees().clamp(min=1).unsqueeze(2))

    def normalised(self, *, loops: bool) -> Tensor:
        """Divided by the roots of the degrees of both ends, where each node has a loop, or none has."""
        return self._once(("normalised", loops), lambda: self._normalised(loops=loops))

    def of_types(self, n_types: int) -> Tensor:
        """The edges of each type beside each other, shape (copies, nodes, types · nodes)."""
        return self._once("types", lambda: self._of_types(n_types))

    def times(self, matrices: Tensor, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """The products with features of each copy, or with those that all share; shape (copies · nodes, features)."""
        with torch._C.DisableTorchFunction():
            if x.shape[0] == matrices.shape[2]:
                rows = matrices.view(-1, matrices.shape[2])
                found = rows @ x if bias is None else torch.addmm(bias, rows, x)
            else:
                found = torch.bmm(matrices, x.reshape(self.n_copies, -1, x.shape[1])).view(-1, x.shape[1])
                found = found if bias is None else found.add_(bias)
            self._first_rows.append(found.view(self.n_copies, self.n_nodes, -1)[:, 0].sum())
            self.used += 1
            return found

    def are_sums(self) -> bool:
        """Whether all products were sums along edges.

        One feature that is infinite or no number makes such of all entries of its column of the product, edge or not,
        the one in the first row too. Then a product is no sum along edges.
        """
        rows = self._first_rows
        return not rows or isfinite(rows[0] if len(rows) == 1 else torch.stack(rows).sum())

    def _once(self, name: object, make: Callable[[], Tensor]) -> Tensor:
        if name not in self._made:
            with torch._C.DisableTorchFunction():
                self._made[name] = make()
        return self._made[name]

    def _by_target(self, matrices: Tensor) -> Tensor:
        return matrices.transpose(1, 2).contiguous() if self._graphs.frame.directed else matrices

    def _degrees(self) -> Tensor:
        rows = self.plain().view(-1, self.n_nodes)
        return self._once("degrees", lambda: (rows @ rows.new_ones(self.n_nodes)).view(self.n_copies, self.n_nodes))

    def _normalised(self, *, loops: bool) -> Tensor:
        degrees = self._degrees()
        scale = (degrees + 1).rsqrt() if loops else degrees.rsqrt().where(degrees > 0, 0.0)
        found = self.plain() * scale.unsqueeze(1)
        if loops:
            found.diagonal(dim1=1, dim2=2).copy_(scale)
        return found.mul_(scale.unsqueeze(2))

    def _of_types(self, n_types: int) -> Tensor:
        types = self._by_target(self._graphs.typed_adjacency_on(self._device))
        numbers = torch.arange(1, n_types + 1, dtype=types.dtype, device=self._device)
        return (types.unsqueeze(2) == numbers.view(-1, 1)).to(self.dtype).flatten(2)
