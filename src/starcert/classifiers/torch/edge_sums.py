"""Sums along the edges of a batch, in a fixed order, without a row of numbers for every edge.

PyG takes a row for every edge and adds it to its target, by atomic operations on a GPU. Here the edges of each target
are listed once for a batch, and one call of `torch.nn.functional.embedding_bag` adds the rows of each list in its
order: the same numbers in every run. On a GPU, dense adjacency matrices serve copies of a small graph.

A sum is right only for the edges that were drawn. So the edges that a layer receives are compared, number by number
and at that moment, with a copy of the drawn edges that no module can reach. On a CPU the result is known at once. On a
GPU the layer does not wait for it: the comparison is collected in `in_doubt`, and read with the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from starcert.math.arithmetic import compiled

MAX_DENSE_NODES = 160
"""On a GPU, copies of graphs with at most this many nodes are multiplied with dense adjacency, graph by graph.

Measured on an H200, a sum of 64 columns over 4 edges a node, dense / listed: 18 nodes 0.007 / 0.018 µs a copy, 100
nodes 0.049 / 0.10, 300 nodes 0.30 / 0.30. On a CPU lists are faster at every size.
"""

MAX_DENSE_GRAPHS = 32  # copies of more graphs are too few of each: one list of all their edges takes fewer calls


class _EdgeLists(NamedTuple):
    """The edges of each target in their order: where its list starts, their numbers, and their sources."""

    starts: Tensor
    order: Tensor
    sources: Tensor


class EdgeSums:
    """The edges that were drawn for a batch, and sums of rows of one `dtype` along them.

    `blocks` says how many copies of each graph there are, and how many nodes each has, one graph after the other;
    `sorted_by_target`, whether the targets of the edges ascend.
    """

    def __init__(
        self, edge_index: Tensor, blocks: Sequence[tuple[int, int]], dtype: torch.dtype, *, sorted_by_target: bool
    ) -> None:
        # The edges are copied: the module may overwrite its own.
        self._edges, self._dtype, self._sorted = edge_index.clone(), dtype, sorted_by_target
        self._blocks = [(sum(n for n, _ in same), nodes) for nodes, same in groupby(blocks, key=lambda block: block[1])]
        self.n_nodes = sum(copies * nodes for copies, nodes in blocks)
        self.n_copies = sum(copies for copies, _ in blocks)
        self._doubts: list[Tensor] = []

    def knows(self, edge_index: object) -> bool:
        """Whether these are the drawn edges, as far as that is known at once; see `in_doubt`."""
        return self._is(edge_index, self._edges)

    def knows_targets(self, index: object) -> bool:
        """Whether these are the targets of the drawn edges, likewise."""
        return self._is(index, self._edges[1])

    def knows_batch(self, batch: object) -> bool:
        """Whether this is the number of the copy of each node, and every copy has one."""
        return all(nodes for _, nodes in self._blocks) and self._is(batch, self._batch)

    def takes(self, x: object) -> bool:
        """Whether these are rows that can be summed: plain floats, one row for each node."""
        return self._are_rows(x, self.n_nodes)

    def takes_messages(self, messages: object) -> bool:
        """Whether these are plain floats, one row for each edge."""
        return self._are_rows(messages, self._edges.shape[1])

    @property
    def is_on_gpu(self) -> bool:
        """Whether the edges are on a GPU, where sums are made in any order unless it is fixed."""
        return self._edges.device.type == "cuda"

    def in_doubt(self) -> Tensor | None:
        """Whether a layer received other edges than were drawn, or a product is not the sum; None: certainly not."""
        return torch.stack(self._doubts).any() if self._doubts else None

    def total(self, x: Tensor) -> Tensor:
        """For each node the sum over the edges that end there of the rows of their sources."""
        if self._is_dense:
            return self._product(self._matrices, x)
        return embedding_bag(self._lists.sources, x, self._lists.starts, mode="sum", include_last_offset=True)

    def mean(self, x: Tensor) -> Tensor:
        """The same as a mean; zeros where no edge ends."""
        return self.total(x).div_(self._counts)

    def normalised(self, x: Tensor) -> Tensor:
        """The rows of D^(−1/2) (A + I) D^(−1/2) X, where D has the degrees of A + I."""
        if self._is_dense:
            return self._product(self._normalised_matrices, x)
        lists, weights = self._lists, self._weights
        sums = embedding_bag(
            lists.sources, x, lists.starts, mode="sum", include_last_offset=True, per_sample_weights=weights
        )
        return sums.addcmul_(x, self._scale * self._scale)

    def total_of_messages(self, messages: Tensor) -> Tensor:
        """For each node the sum of the rows of the edges that end there."""
        return embedding_bag(self._lists.order, messages, self._lists.starts, mode="sum", include_last_offset=True)

    def mean_of_messages(self, messages: Tensor) -> Tensor:
        """The same as a mean; zeros where no edge ends."""
        return self.total_of_messages(messages).div_(self._counts)

    def pooled(self, x: Tensor, kind: str) -> Tensor:
        """For each copy the sum, the mean or the max of the rows of its nodes."""
        reduce: Any = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[kind]
        rows = torch.split(x, [copies * nodes for copies, nodes in self._blocks])
        shapes = [(*block, *x.shape[1:]) for block in self._blocks]
        parts = [reduce(part.reshape(shape), dim=1) for part, shape in zip(rows, shapes, strict=True)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _is(self, given: object, drawn: Tensor) -> bool:
        if type(given) is not Tensor or given.shape != drawn.shape or given.dtype != drawn.dtype:
            return False
        if given.device != drawn.device or given.layout != torch.strided:
            return False
        if drawn.device.type == "cpu":
            return torch.equal(given, drawn)
        self._doubts.append((given != drawn).any())
        return True

    def _are_rows(self, x: object, n_rows: int) -> bool:
        known = type(x) is Tensor and x.dim() == 2 and x.shape[0] == n_rows and x.device == self._edges.device
        return known and x.dtype == self._dtype and x.layout == torch.strided  # type: ignore[attr-defined]

    @cached_property
    def _is_dense(self) -> bool:
        small = all(0 < nodes <= MAX_DENSE_NODES for _, nodes in self._blocks)
        few = 0 < len(self._blocks) <= MAX_DENSE_GRAPHS
        exact = self._dtype == torch.float64 or _multiplies_exactly()
        return few and small and exact and self.is_on_gpu

    def _product(self, matrices: Sequence[Tensor], x: Tensor) -> Tensor:
        product = torch.empty_like(x)
        sizes = [copies * nodes for copies, nodes in self._blocks]
        for matrix, rows, out in zip(matrices, torch.split(x, sizes), torch.split(product, sizes), strict=True):
            shape = (*matrix.shape[:2], -1)
            torch.bmm(matrix, rows.view(shape), out=out.view(shape))
            # One entry that is infinite or NaN makes such of its whole column, the first row too, edge or not.
            self._doubts.append(~out.view(shape)[:, 0].sum().isfinite())
        return product

    @cached_property
    def _matrices(self) -> list[Tensor]:
        """The adjacency matrices of all copies of each graph, targets as rows."""
        source, target = self._edges
        sizes = [copies * nodes * nodes for copies, nodes in self._blocks]
        filled = torch.zeros(sum(sizes), dtype=self._dtype, device=source.device)
        rows, columns, first = [], [], 0
        for (copies, nodes), size in zip(self._blocks, sizes, strict=True):
            rows.append(torch.arange(first, first + size, nodes, device=source.device))
            columns.append(torch.arange(nodes, device=source.device).repeat(copies))
            first += size
        filled.index_fill_(0, torch.cat(rows)[target].add_(torch.cat(columns)[source]), 1)
        return [
            each.view(copies, nodes, nodes)
            for each, (copies, nodes) in zip(torch.split(filled, sizes), self._blocks, strict=True)
        ]

    @cached_property
    def _normalised_matrices(self) -> list[Tensor]:
        scaled = []
        scales = torch.split(self._scale, [copies * nodes for copies, nodes in self._blocks])
        for matrix, scale in zip(self._matrices, scales, strict=True):
            by_row, by_column = scale.view(*matrix.shape[:2], 1), scale.view(len(matrix), 1, -1)
            normalised = matrix * by_row
            normalised.diagonal(dim1=1, dim2=2).copy_(by_row[:, :, 0])
            scaled.append(normalised.mul_(by_column))
        return scaled

    @cached_property
    def _batch(self) -> Tensor:
        """For each node the number of its copy."""
        sizes = torch.tensor([nodes for copies, nodes in self._blocks for _ in range(copies)])
        return torch.arange(len(sizes)).repeat_interleave(sizes).to(self._edges.device)

    @cached_property
    def _lists(self) -> _EdgeLists:
        source, target = self._edges
        if source.device.type == "cpu":
            return _EdgeLists(*map(torch.from_numpy, _listed(self._edges.numpy(), self.n_nodes)))
        order = torch.arange(len(target), device=target.device)
        if not self._sorted:
            target, order = target.sort(stable=True)
            source = source[order]
        nodes = torch.arange(self.n_nodes + 1, device=target.device)
        return _EdgeLists(torch.searchsorted(target, nodes), order, source)

    @cached_property
    def _degrees(self) -> Tensor:
        """How many edges end at each node."""
        if self._is_dense:
            return torch.cat([matrix.sum(dim=2).view(-1) for matrix in self._matrices])
        return self._lists.starts.diff().to(self._dtype)

    @cached_property
    def _counts(self) -> Tensor:
        """The degrees, at least 1, as a column."""
        return self._degrees.clamp(min=1).unsqueeze(1)

    @cached_property
    def _scale(self) -> Tensor:
        """(degree + 1)^(−1/2) of each node, as a column."""
        return (self._degrees + 1).rsqrt().unsqueeze(1)

    @cached_property
    def _weights(self) -> Tensor:
        """The product of the scales of both ends of each edge."""
        scale = self._scale[:, 0]
        n_edges = len(self._lists.sources)
        return scale[self._lists.sources] * scale.repeat_interleave(self._lists.starts.diff(), output_size=n_edges)


def _multiplies_exactly() -> bool:
    """Whether products of single floats keep all their digits on a GPU."""
    settings: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends)
    return all(each.fp32_precision in ("none", "ieee") for each in settings)


@compiled
def _listed(edges, n_nodes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The edges of each target in their order, by counting: where each list starts, their numbers, their sources."""
    n_edges = edges.shape[1]
    starts = np.zeros(n_nodes + 1, np.int64)
    for edge in range(n_edges):
        starts[edges[1, edge] + 1] += 1
    for node in range(n_nodes):
        starts[node + 1] += starts[node]
    places, order, sources = starts[:-1].copy(), np.empty(n_edges, np.int64), np.empty(n_edges, np.int64)
    for edge in range(n_edges):
        place = places[edges[1, edge]]
        order[place], sources[place] = edge, edges[0, edge]
        places[edges[1, edge]] = place + 1
    return starts, order, sources
