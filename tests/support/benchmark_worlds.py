"""Data of one's own for the benchmark, from functions in a file, and settings that take a moment."""

OWN = """
import starcert as sc

def ring(n, kind, number=0):
    edges = [(node, (node + 1) % n) for node in range(n - 1 + kind)]
    names = [f"{number}.{node}" for node in range(n)]  # no graph is there twice
    return sc.Graph(n, edges, nodes=names, edge_types=["a"] * len(edges), type_names=("a", "b"))

def rings():
    kinds = [number % 2 for number in range(24)]
    return [ring(5 + number % 4, kind, number) for number, kind in enumerate(kinds)], kinds

def data():
    graphs, kinds = rings()
    return sc.datasets.Dataset(graphs, kinds, label_names=("path", "ring"))

def third():
    graphs, kinds = rings()
    return [*graphs, ring(41, 1)], [*("ab"[kind] for kind in kinds), "c"]

def large():
    graphs, kinds = rings()
    return [*graphs, ring(41, 1)], [*kinds, 1]

def unknown():
    graphs, kinds = rings()
    return graphs, [None, *kinds[1:]]

def few():
    graphs, kinds = rings()
    return graphs[:10], kinds[:10]

def one_class():
    return rings()[0], [0] * 24

def mixed():
    graphs, kinds = rings()
    return [sc.Graph(3, [], directed=True), *graphs[1:]], kinds

def widths():
    graphs, kinds = rings()
    return [sc.Graph(3, [], node_data={"x": [[1.0]] * 3}), *graphs[1:]], kinds

def bits():
    return [sc.Bits([0, 1, 1])] * 24, rings()[1]

def two():
    return [sc.Graph(4, [(0, 1)]), sc.Graph(4, [(0, 1), (1, 2), (2, 3)])], [0, 1]
"""
LITTLE = {
    "data": ("own.py:rings",), "folds": 1, "graphs": 4, "held": 2, "samples": 200, "own_samples": 60,
    "choosing_samples": 60, "max_attacks": 60, "max_epochs": 2, "hidden": 4, "threats": ("flips:3", "deletions:2"),
    "methods": ("two-way", "one-way", "plain"), "certificates": True, "twins": "apart",
}  # fmt: skip
