"""Which nodes rows are about, where the nodes of graphs are classified: their indices, names and labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starcert.objects.graph import Frame
from starcert.objects.layers import Indices
from starcert.system.errors import InvalidParameterError

__all__ = ["TargetNodes"]


@dataclass(frozen=True, eq=False, slots=True)
class TargetNodes:
    """The node of each row: those of the first graph come first, then those of the next.

    Attributes:
        index: for each row, the index of its node in its graph.
        names: for each row, the name of its node.
        n_nodes: for each graph, how many nodes it has.

    Example:
        >>> from starcert.objects import Graph
        >>> nodes = TargetNodes.of([Graph(4, [(0, 1)], nodes="abcd").frame], [np.array([1, 3])])
        >>> nodes.index, nodes.names, nodes.labels([5, 6, 7, 8])
        (array([1, 3]), ('b', 'd'), array([6, 8]))
    """

    index: Indices
    names: tuple[Hashable, ...]
    n_nodes: tuple[int, ...]

    @classmethod
    def of(cls, frames: Sequence[Frame], nodes: Sequence[npt.ArrayLike]) -> TargetNodes:
        """The rows of graphs with these frames, given the node indices of the targets of each."""
        parts = [_checked(number, frame, each) for number, (frame, each) in enumerate(zip(frames, nodes, strict=True))]
        names = tuple(frame.nodes[node] for frame, part in zip(frames, parts, strict=True) for node in part.tolist())
        index = np.concatenate([np.empty(0, dtype=np.int64), *parts])
        index.setflags(write=False)
        return cls(index, names, tuple(frame.n_nodes for frame in frames))

    def __len__(self) -> int:
        return len(self.index)

    def labels(self, labels: npt.ArrayLike | Sequence[int | None]) -> npt.NDArray[np.generic]:
        """One label a row: as they are given, or, of one graph, picked from the labels of all its nodes."""
        given: npt.NDArray[np.generic] = np.asarray(labels)
        if given.shape == (len(self),):
            if self.n_nodes == given.shape and not np.array_equal(self.index, np.arange(len(self))):
                hint = "Let target_nodes name them in ascending order."
                raise InvalidParameterError("labels", "tell rows from nodes, which are in another order", "both", hint)
            return given
        if len(self.n_nodes) == 1 and given.shape == self.n_nodes:
            return given[self.index]
        all_nodes = f", or for each of all {self.n_nodes[0]} nodes" if len(self.n_nodes) == 1 else ""
        raise InvalidParameterError("labels", f"have one class for each of {len(self)} nodes{all_nodes}", given.shape)


def _checked(number: int, frame: Frame, nodes: npt.ArrayLike) -> Indices:
    given = np.asarray(nodes)
    fits = given.ndim == 1 and given.dtype.kind in "iu" and (given.size == 0 or given.min() >= 0)
    if not fits or (given.size and given.max() >= frame.n_nodes) or len(np.unique(given)) < len(given):
        wanted = f"be indices of the {frame.n_nodes} nodes of graph {number}, each once"
        raise InvalidParameterError("target_nodes", wanted, given.tolist()[:8] if given.ndim == 1 else given.shape)
    return given.astype(np.int64)
