"""Graphs that are alike: where one is learned from and another tested, a model need only remember."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from starcert.objects import Graph

ROUNDS = 5  # of colour refinement


def twin_groups(graphs: Sequence[Graph]) -> npt.NDArray[np.int64]:
    """The number of each graph's group: isomorphic graphs with the same node labels are in one group.

    By colour refinement, which a few graphs that are not isomorphic pass as well: they are in one group, too.

    Example:
        >>> ring, line = [(0, 1), (1, 2), (2, 3), (0, 3)], [(0, 1), (1, 2), (2, 3)]
        >>> turned = [(1, 2), (0, 2), (0, 3)]
        >>> twin_groups([Graph(4, ring), Graph(4, line), Graph(4, turned)]).tolist()
        [0, 1, 1]
    """
    colours: dict[Hashable, int] = {}
    groups: dict[Hashable, int] = {}
    return np.array([groups.setdefault(_signature(each, colours), len(groups)) for each in graphs], dtype=np.int64)


def _signature(graph: Graph, colours: dict[Hashable, int]) -> Hashable:
    linked: list[list[int]] = [[] for _ in range(graph.n_nodes)]
    for u, v in graph.edges.tolist():
        linked[u].append(v)
        linked[v].append(u)
    shown = next((graph.node_data[name] for name in ("label", "x") if name in graph.node_data), None)
    first = [b""] * graph.n_nodes if shown is None else [row.tobytes() for row in np.asarray(shown)]
    seen = [colours.setdefault(each, len(colours)) for each in first]
    for _ in range(ROUNDS):
        around = (tuple(sorted(seen[each] for each in some)) for some in linked)
        seen = [colours.setdefault(each, len(colours)) for each in zip(seen, around, strict=True)]
    return graph.directed, tuple(sorted(seen))
