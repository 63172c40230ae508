"""Two regions of node pairs for any graphs with node labels: those within a core, and all others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

import starcert as sc
from starcert.datasets import Dataset


@dataclass(frozen=True)
class CoreAndRest:
    """A rule for two regions, which reads nodes and their labels and no edge."""

    names: ClassVar = ("core", "rest")

    label: int  # of nodes in the core; −1: the core is made of `nodes`
    nodes: frozenset[Any] = frozenset()

    @staticmethod
    def fits(train: Dataset) -> bool:
        """Whether graphs can be divided so: undirected ones with node labels, or with regions of their own."""
        graph = train.graphs[0]
        return not graph.directed and (train.partition is not None or "x" in graph.node_data)

    @classmethod
    def of(cls, train: Dataset) -> CoreAndRest:
        """The regions that come with the data, the first against the rest; or those by the most frequent label."""
        if train.partition is not None:
            (_, part), *_ = train.partition.parts
            return cls(-1, part.nodes)  # type: ignore[attr-defined]  # regions of data are the insides of node sets
        counts = sum(np.sum(graph.node_data["x"], axis=0) for graph in train.graphs)
        return cls(int(np.argmax(counts)))

    def __call__(self, graph: sc.Graph) -> sc.Partition:
        """The two regions of a graph: they hold all its node pairs."""
        nodes = self.nodes
        if self.label >= 0:
            inside = np.argmax(np.asarray(graph.node_data["x"]), axis=1) == self.label
            nodes = frozenset(node for node, there in zip(graph.nodes, inside.tolist(), strict=True) if there)
        pairs: dict[str, list[tuple[Any, Any]]] = {name: [] for name in self.names}
        for u, v in combinations(graph.nodes, 2):
            pairs[self.names[not {u, v} <= nodes]].append((u, v))
        return sc.Partition.from_pairs(pairs)
