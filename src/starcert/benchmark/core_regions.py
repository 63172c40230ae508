"""Two regions of node pairs for graphs of any size: those within a core, and all others."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

import starcert as sc
from starcert.datasets import Dataset


@dataclass(frozen=True)
class CoreAndRest:
    """A rule for two regions, which reads nodes and their labels and no edge."""

    label: int  # of nodes in the core; −1: the core is made of `nodes`
    nodes: frozenset[Hashable] = frozenset()
    directed: bool = False  # whether its sites are arcs

    @staticmethod
    def fits(train: Dataset) -> bool:
        """Whether graphs can be divided so: they have node labels, or regions of their own."""
        return train.partition is not None or "x" in train.graphs[0].node_data

    @classmethod
    def of(cls, train: Dataset) -> CoreAndRest:
        """The regions that come with the data, the first against the rest; or those by the most frequent label."""
        if train.partition is not None:
            (_, part), *_ = train.partition.parts
            return cls(-1, part.nodes, train.graphs[0].directed)  # type: ignore[attr-defined]  # regions of data are the insides of node sets
        counts = sum(np.sum(graph.node_data["x"], axis=0) for graph in train.graphs)
        return cls(int(np.argmax(counts)), directed=train.graphs[0].directed)

    def __call__(self, graph: sc.Graph) -> sc.Partition:
        """The two regions of a graph: they hold all its node pairs, or arcs."""
        nodes = self.nodes
        if self.label >= 0:
            inside = np.argmax(np.asarray(graph.node_data["x"]), axis=1) == self.label
            nodes = frozenset(node for node, there in zip(graph.nodes, inside.tolist(), strict=True) if there)
        every = (permutations if self.directed else combinations)(graph.nodes, 2)
        pairs: dict[str, list[tuple[Hashable, Hashable]]] = {"core": [], "rest": []}
        for pair in every:
            pairs["core" if nodes.issuperset(pair) else "rest"].append(pair)
        return (sc.Partition.from_arcs if self.directed else sc.Partition.from_pairs)(pairs)
