"""What `starcert init --kind` writes: a small project for each kind of object, with a run file that runs at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from starcert.system.output import csv_lines

__all__ = ["KINDS"]

_HEAD = """# The settings of `starcert certify run.toml`. Paths are relative to this file. Options on the command line,
# such as --samples 20000 --out more, override what stands here.

# What is certified: the function `classifier` in model.py returns the model.
model = "model.py:classifier"
"""

_SURE = """
# How sure: noisy copies of each {what}, and the probability that a certificate fails.
samples = {samples}
alpha = 0.01
seed = 0

# Where report.html, certificates.json, results.csv and a run.toml that repeats this run go.
out = "results"
"""

_NODES_RUN = (
    _HEAD
    + """
# One graph, whose nodes are classified, each by itself: the folder has one GraphML file. A PyG file with one Data, or
# arrays in the sparse layout of cora_ml.npz will do as well. The classes are the node data y.
data = "graphs"
targets = "nodes"

# Which nodes: those with a 1 in this node data. Without it, all of them.
nodes = "test_mask"
"""
    + _SURE.format(what="graph", samples=2000)
    + """
# Every friendship is deleted, and every other one added, with these probabilities. Radii count both, anywhere.
[noise]
friendships = { delete = 0.2, add = 0.005 }
"""
)

_NODES_MODEL = '''"""The model to certify. `starcert certify` calls classifier() and lets what it returns vote."""


def classifier():
    """Return the model; here a plain function.

    starcert.classifiers.from_pyg(module, n_classes=2, targets="nodes", nodes="test_mask") makes one of a network.
    """
    return village


def village(graph):
    """The class of each node of a networkx graph: 0 is north, 1 is south (the classes, sorted).

    People speak as most of their friends do: so says the node data `speaks`, which noise leaves alone.
    """
    speaks = dict(graph.nodes(data="speaks"))
    return {node: int(sum(2 * speaks[each] - 1 for each in (node, *graph[node])) > 0) for node in graph}
'''


def _nodes() -> dict[str, str]:
    """Two villages of twenty people: friends are mostly of the same one, and few speak like the other."""
    import networkx as nx  # noqa: PLC0415  (slow to import)

    graph = nx.Graph()
    draw = random.Random(0)
    for node in range(40):
        south = node >= 20
        speaks, test = south != (draw.random() < 0.15), draw.random() < 0.5
        graph.add_node(node, y="south" if south else "north", speaks=int(speaks), test_mask=int(test))
    graph.add_edges_from(nx.planted_partition_graph(2, 20, 0.35, 0.03, seed=4).edges)
    text = "\n".join([*nx.generate_graphml(graph), ""])
    return {"run.toml": _NODES_RUN, "model.py": _NODES_MODEL, "graphs/friends.graphml": text}


_DIRECTED_RUN = (
    _HEAD
    + """
# Directed graphs: a folder of GraphML files whose edges are arcs, with the classes in labels.csv.
data = "graphs"

# Where the regions are: arcs between nodes with the same `part`, either way, are in the region of that name. Those
# between the two parts are in no region: they are fixed, and nothing is certified there.
regions = "node_labels:attribute=part"
"""
    + _SURE.format(what="graph", samples=5000)
    + """
# The probability that an arc goes or comes. motif = { delete = 0.1, add = 0.05 } would count both apart.
[noise]
motif = 0.1
rest = 0.3
"""
)

_DIRECTED_MODEL = '''"""The model to certify. `starcert certify` calls classifier() and lets what it returns vote."""


def classifier():
    """Return the model; here a plain function of a networkx DiGraph."""
    return direction


def direction(graph):
    """Which way a ring of eight nodes runs: 0 is backward, 1 forward (the names in labels.csv, sorted).

    Without directions both are the same graph.
    """
    ring = [node for node, part in graph.nodes(data="part") if part == "motif"]
    pairs = list(zip(ring, ring[1:] + ring[:1]))
    return int(sum(graph.has_edge(u, v) - graph.has_edge(v, u) for u, v in pairs) > 0)
'''


def _directed() -> dict[str, str]:
    """Rings of eight nodes that run one way or the other, each joined to four nodes at random."""
    import networkx as nx  # noqa: PLC0415  (slow to import)

    draw = random.Random(0)
    files, labels = {}, []
    for number in range(1, 13):
        forward = number % 2 == 1
        graph = nx.DiGraph()
        graph.add_nodes_from((node, {"part": "motif" if node < 8 else "rest"}) for node in range(12))
        ends = [(node, (node + 1) % 8) for node in range(8)]
        graph.add_edges_from(ends if forward else [(v, u) for u, v in ends])
        rest = [(u, v) for u in range(8, 12) for v in range(8, 12) if u != v]
        graph.add_edges_from(pair for pair in rest if draw.random() < 0.4)
        graph.add_edge(draw.randrange(8), draw.randrange(8, 12))
        labels.append({"name": f"ring_{number:02d}", "label": "forward" if forward else "backward"})
        files[f"graphs/ring_{number:02d}.graphml"] = "\n".join([*nx.generate_graphml(graph), ""])
    return {
        "run.toml": _DIRECTED_RUN,
        "model.py": _DIRECTED_MODEL,
        "graphs/labels.csv": "".join(csv_lines(labels)),
        **files,
    }


_MOLECULE_RUN = (
    _HEAD
    + """
# The molecules: the function `molecules` in data.py makes them of the SMILES strings in molecules.csv. A function may
# return starcert objects of any kind, their classes and their names.
data = "data.py:molecules"
"""
    + _SURE.format(what="molecule", samples=5000)
    + """
# Bonds have types: they go, come, and change their type. Atoms are of one of several elements, and change it.
[noise]
bonds = { delete = 0.04, add = 0.02, change = 0.08 }
atoms = { categorical = 0.05 }

# Where the regions are: each is a whole layer of sites. "pairs" are all pairs of atoms.
[regions]
bonds = "pairs"
atoms = "atomic_number"
"""
)

_MOLECULE_DATA = '''"""The data to certify. `starcert certify` calls molecules()."""

import csv
from pathlib import Path

from starcert import Graph

ELEMENTS = (6, 7, 8, 9, 17)  # C, N, O, F, Cl


def molecules():
    """Molecules whose bonds have types, from single to aromatic, and whose atoms are sites; their classes and names."""
    with open(Path(__file__).with_name("molecules.csv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    graphs = [Graph.from_smiles(row["smiles"], bond_types=True) for row in rows]
    graphs = [graph.with_categories("atomic_number", ELEMENTS) for graph in graphs]
    return graphs, [row["label"] for row in rows], [row["name"] for row in rows]
'''

_MOLECULE_MODEL = '''"""The model to certify. `starcert certify` calls classifier() and lets what it returns vote."""


def classifier():
    """Return the model; here a plain function of a networkx graph.

    starcert.classifiers.from_pyg takes a module with edge_attr, the type of each bond, and x, the element of each atom.
    """
    return kind


def kind(graph):
    """The class of a molecule: 0 is aliphatic, 1 aromatic (the classes in molecules.csv, sorted).

    Aromatic bonds between atoms that can be in such a ring speak for it, single bonds speak against it.
    """
    atoms = dict(graph.nodes(data="atomic_number"))
    score = 0
    for u, v, order in graph.edges(data="type"):
        if order == "aromatic" and {atoms[u], atoms[v]} <= {6, 7, 8}:
            score += 2
        elif order == "single":
            score -= 1
    return int(score > 0)
'''

_MOLECULES = """smiles,name,label
c1ccccc1O,phenol,aromatic
c1ccccc1N,aniline,aromatic
Cc1ccccc1,toluene,aromatic
Clc1ccccc1,chlorobenzene,aromatic
c1ccncc1,pyridine,aromatic
Oc1ccc(Cl)cc1,4-chlorophenol,aromatic
CCCCCO,pentanol,aliphatic
CC(C)CC(=O)O,isovaleric acid,aliphatic
NCCCCN,putrescine,aliphatic
CCOCC,diethyl ether,aliphatic
OC1CCCCC1,cyclohexanol,aliphatic
CC(=O)CCl,chloroacetone,aliphatic
"""


def _molecule() -> dict[str, str]:
    files = {"data.py": _MOLECULE_DATA, "molecules.csv": _MOLECULES}
    return {"run.toml": _MOLECULE_RUN, "model.py": _MOLECULE_MODEL, **files}


def _cells(rows: range, columns: range) -> list[int]:
    return [8 * row + column for row in rows for column in columns]


_CENTRE = _cells(range(2, 6), range(2, 6))
_BORDER = [cell for cell in _cells(range(8), range(8)) if cell not in _CENTRE]

_VECTOR_RUN = (
    _HEAD
    + """
# The rows: the function `digits` in data.py returns them, and their classes.
data = "data.py:digits"

# Which part of them: of every class 80% are for training, 10% for validation, 10% for testing; and of these some.
split = "test"
limit = 20
"""
    + _SURE.format(what="row", samples=2000)
    + f"""
# The flip probability of every pixel in each region: little noise where the digit is, much where it is not.
[noise]
centre = 0.05
border = 0.15

# Where the regions are: the columns of each, numbered from 0, row after row of the image.
[regions]
centre = {_CENTRE}
border = {_BORDER}
"""
)

_VECTOR_DATA = '''"""The data to certify. `starcert certify` calls digits()."""

from sklearn.datasets import load_digits

from starcert import Bits


def digits():
    """Images of 8 x 8 pixels of the digits 0 and 1, each pixel black or white, and their classes."""
    images, classes = load_digits(n_class=2, return_X_y=True)
    return Bits.rows(images > 7), classes.tolist()
'''

_VECTOR_MODEL = '''"""The model to certify. `starcert certify` calls classifier() and lets what it returns vote."""

import numpy as np
from sklearn.svm import SVC


def classifier(train):
    """Fit a support vector machine on rows of zeros and ones, and return it.

    A parameter called `train` is given the training part of the data, because run.toml says split = "test". A function
    from rows, an array of shape (copies, columns), to their classes would do as well.
    """
    return SVC().fit(np.array([bits.row for bits in train.graphs]), train.labels)
'''


def _vector() -> dict[str, str]:
    return {"run.toml": _VECTOR_RUN, "model.py": _VECTOR_MODEL, "data.py": _VECTOR_DATA}


KINDS: dict[str, Callable[[], dict[str, Any]]] = {
    "molecule": _molecule,
    "directed": _directed,
    "nodes": _nodes,
    "vector": _vector,
}
"""The files of each kind, by their names in the folder."""
