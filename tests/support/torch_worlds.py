"""Graphs with features, for the tests that need torch."""

import networkx as nx
import numpy as np

import starcert as sc

NOISE = sc.Noise(bonds=sc.Flip(delete=0.1, add=0.2))


def molecules(n: int = 6, size: int = 12) -> list[sc.Graph]:
    rng = np.random.default_rng(n)
    return [
        sc.Graph(
            size + i,
            sc.Graph.from_networkx(nx.gnp_random_graph(size + i, 0.2, seed=i)).edges,
            node_data={"x": np.eye(4, dtype=np.float32)[rng.integers(4, size=size + i)]},
        )
        for i in range(n)
    ]
