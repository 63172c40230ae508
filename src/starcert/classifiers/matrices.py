"""The adjacency matrices of all copies, and products with them: what layers sum along edges.

With A the adjacency matrix of a copy, targets as rows, a sum over the edges that end at each node is A X. Features X
that all copies share are multiplied with the matrices of all copies in one product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from starcert.classifiers.scaling import can_scale, scaled

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
        self._graphs, self.dtype, self.device = graphs, dtype, device
        self.n_copies, self.n_nodes = len(graphs), graphs.frame.n_nodes
        self._made: dict[str, Tensor] = {}
        self._first_rows: list[Tensor] = []
        self.used = 0

    @property
    def made(self) -> frozenset[str]:
        """What was made of all that does not depend on a layer."""
        return frozenset(self._made).intersection(_MAKERS)

    def make(self, names: Iterable[str]) -> None:
        """Makes what will be asked for: on a device it is on its way then, while the module begins."""
        for name in names:
            self._once(name, partial(_MAKERS[name], self))

    def plain(self) -> Tensor:
        """1 for each edge."""
        return self._once("plain", self._plain)

    def mean(self) -> Tensor:
        """Rows divided by the number of their edges."""
        return self._once("mean", self._mean)

    def normalised(self) -> Tensor:
        """With a loop at each node, and divided by the roots of the degrees of both ends."""
        return self._once("normalised", self._normalised)

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

    def in_doubt(self, found: Tensor) -> Tensor:
        """Numbers that were found with products: themselves, or no numbers, if a product was no sum along edges.

        One feature that is infinite or no number makes such of all entries of its column of the product, edge or not,
        the one in the first row too. Nobody waits for the device to learn that.
        """
        rows = self._first_rows
        return found if not rows else found.add(rows[0] if len(rows) == 1 else torch.stack(rows).sum(), alpha=0)

    def _once(self, name: str, make: Callable[[], Tensor]) -> Tensor:
        if name not in self._made:
            with torch._C.DisableTorchFunction():
                self._made[name] = make()
        return self._made[name]

    def _plain(self) -> Tensor:
        return self._by_target(self._graphs.adjacency_on(self.device)).to(self.dtype)

    def _mean(self) -> Tensor:
        return self.plain() / self._degrees().clamp(min=1).unsqueeze(2)

    def _by_target(self, matrices: Tensor) -> Tensor:
        return matrices.transpose(1, 2).contiguous() if self._graphs.frame.directed else matrices

    def _degrees(self) -> Tensor:
        rows = self.plain().view(-1, self.n_nodes)
        return self._once("degrees", lambda: (rows @ rows.new_ones(self.n_nodes)).view(self.n_copies, self.n_nodes))

    def _normalised(self) -> Tensor:
        if can_scale(self.plain()):
            return scaled(self.plain())
        scale = (self._degrees() + 1).rsqrt()
        found = self.plain() * scale.unsqueeze(1)
        found.diagonal(dim1=1, dim2=2).copy_(scale)
        return found.mul_(scale.unsqueeze(2))

    def _of_types(self, n_types: int) -> Tensor:
        types = self._by_target(self._graphs.typed_adjacency_on(self.device))
        numbers = torch.arange(1, n_types + 1, dtype=types.dtype, device=self.device)
        return (types.unsqueeze(2) == numbers.view(-1, 1)).to(self.dtype).flatten(2)


_MAKERS: dict[str, Callable[[Matrices], Tensor]] = {
    "plain": Matrices._plain,
    "mean": Matrices._mean,
    "normalised": Matrices._normalised,
}
