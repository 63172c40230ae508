"""The example that `starcert init` writes: small graphs, a model, and a run file that says what every line is for."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starcert.runs.example_kinds import KINDS
from starcert.system.errors import InvalidParameterError
from starcert.system.files import write_whole
from starcert.system.output import csv_lines

__all__ = ["EXAMPLES", "files_of", "write_example"]

MOTIF, RANDOM = 8, 8
CLASSES = ("clique", "ring", "star")

_FUNCTION = '''"""The model to certify. `starcert certify` calls classifier() and lets what it returns vote."""


def classifier():
    """Return the model; here a plain function.

    A PyG module with its weights, a fitted scikit-learn estimator on graphs, or one of starcert.classifiers will do.
    """
    return shape


def shape(graph):
    """The class of a networkx graph: 0 is a clique, 1 a ring, 2 a star (the names in labels.csv, sorted).

    Only the nodes of the motif count. The thresholds leave room for a few wrong edges.
    """
    motif = graph.subgraph([node for node, part in graph.nodes(data="part") if part == "motif"])
    degrees = [degree for _, degree in motif.degree]
    if sum(degrees) > 36:
        return 0
    return 2 if max(degrees) >= 5 else 1
'''

_SKLEARN = '''"""The model to certify. `starcert certify` calls classifier() and lets what it returns vote."""

from starcert.models import vertex_histogram_svm


def classifier(train):
    """Fit a support vector machine on degree histograms, and return it.

    A parameter called `train` is given the training part of the data, because run.toml says split = "test". A model
    that was trained before needs no parameters: load it from its file, and return it.
    """
    return vertex_histogram_svm().fit(train.graphs, train.labels)
'''

_PYG = '''"""The model to train and to certify. `starcert train` and `starcert certify` call classifier()."""

import numpy as np
import torch
from torch_geometric.nn import GINConv, global_add_pool

import starcert as sc


class Net(torch.nn.Module):
    """Two layers of messages, the sum over all nodes, and a logit for each class."""

    def __init__(self):
        super().__init__()
        self.first = GINConv(torch.nn.Linear(2, 32))
        self.second = GINConv(torch.nn.Linear(32, 32))
        self.last = torch.nn.Linear(32, 3)

    def forward(self, x, edge_index, batch):
        h = self.first(x, edge_index).relu()
        h = self.second(h, edge_index).relu()
        return self.last(global_add_pool(h, batch))


def classifier():
    """Return the module, not trained: its weights come from the file that run.toml names.

    Data that have features x need no more than the module itself: return Net().
    """
    return sc.classifiers.from_pyg(Net(), n_classes=3, features=parts)


def parts(graph):
    """The features of each node: whether it is in the motif, and whether it is not."""
    motif = np.array(graph.node_data["part"]) == "motif"
    return np.stack([motif, ~motif], axis=1).astype(np.float32)
'''

_RUN = """# The settings of `starcert certify run.toml`. Paths are relative to this file. Options on the command line,
# such as --samples 20000 --out more, override what stands here.

# What is certified: the function `classifier` in model.py returns the model.
model = "model.py:classifier"

# The graphs: here a folder of GraphML files with the classes in labels.csv. It may also be a folder of edge lists, the
# name or the folder of a TU data set ("MUTAG"), or a PyG file of tensors ("data.pt").
data = "graphs"
{split}
# Where the regions are: pairs of nodes with the same `part` are in the region of that name. The pairs between the two
# parts are in no region: they are fixed, and nothing is certified there. Instead of a builder, file.py:function may
# name a function from a starcert Graph to its Partition.
regions = "node_labels:attribute=part"

# How sure: noisy copies of each graph, and the probability that its certificate fails. With family = "all" it is the
# probability that any certificate fails.
samples = {samples}
alpha = 0.01
seed = 0

# With evidence = true, where the flips of the votes fell counts too: far more is certified, and attacks are found.
# own_samples (by default as many as samples) are noisy copies of attacked versions of a graph, which settle what its
# own copies leave open. With plan = "decided" a graph gets no more votes than it takes to answer whether max_radius is
# certified: samples are then an upper limit.
# evidence = true
# threat = "flips:2"  # any two flips, wherever they are
# own_samples = 5000
# plan = "decided"

# How many processes count votes. It makes no difference to the result.
workers = 1

# Where report.html, certificates.json, results.csv and a run.toml that repeats this run go.
out = "results"
{weights}
# The flip probability of every node pair in each region: little noise where the answer lies, much where it does not.
# bonds = {{ delete = 0.04, add = 0.2 }} would count deletions and additions apart.
[noise]
motif = 0.05
random = 0.4

# The noise levels that `starcert sweep run.toml` tries, all combinations, to choose between them. A table [sweep] with
# best = "accuracy@motif=1,random=3" looks for the level with most graphs right and certified against these flips.
[sweep.grid]
motif = [0.02, 0.05, 0.1]
random = [0.2, 0.4]
{train}"""

_SPLIT = """
# Which part of them: of every class 80% are for training, 10% for validation, 10% for testing.
split = "test"
"""

_WEIGHTS = """
# The weights of the module: `starcert train run.toml` writes this file, `starcert certify run.toml` reads it.
weights = "model.pt"
"""

_TRAIN = """
# How `starcert train run.toml` trains, with the noise above: each epoch sees fresh noisy copies of the training part.
# The epoch that answers most noisy copies of the validation part right is kept.
[train]
epochs = 60
learning_rate = 0.01
seed = 0
"""

EXAMPLES = {
    "function": (_FUNCTION, 12, _RUN.format(split="", samples=5000, weights="", train="")),
    "sklearn": (_SKLEARN, 60, _RUN.format(split=_SPLIT, samples=5000, weights="", train="")),
    "pyg": (_PYG, 60, _RUN.format(split=_SPLIT, samples=2000, weights=_WEIGHTS, train=_TRAIN)),
}
"""The examples by name: the model, how many graphs, the run file."""


def files_of(example: str) -> dict[str, str]:
    """The files of an example, or of a kind of objects, by their names in the folder.

    Example:
        >>> list(files_of("function"))[:3]
        ['run.toml', 'model.py', 'graphs/labels.csv']
    """
    if example in KINDS:
        return KINDS[example]()
    if example not in EXAMPLES:
        raise InvalidParameterError("--example", f"be one of {', '.join(EXAMPLES)}", example)
    import networkx as nx  # noqa: PLC0415  (slow to import)

    model, n_graphs, run = EXAMPLES[example]
    made = list(_graphs(n_graphs))
    labels = "".join(csv_lines({"name": name, "label": label} for name, label, _ in made))
    graphs = {f"graphs/{name}.graphml": "\n".join([*nx.generate_graphml(graph), ""]) for name, _, graph in made}
    return {"run.toml": run, "model.py": model, "graphs/labels.csv": labels, **graphs}


def write_example(folder: Path, example: str = "function") -> list[Path]:
    """Writes an example into a folder, and nothing if any of its files is there already; the paths it wrote."""
    files = {Path(os.path.abspath(folder / name)): text for name, text in files_of(example).items()}
    there = [path for path in files if path.exists()]
    if there:
        hint = f"Nothing was written. Give another folder, or remove {there[0].name} first."
        raise InvalidParameterError("folder", "not hold files of the example", str(there[0]), hint)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [text])
    return list(files)


def _graphs(n: int) -> Iterator[tuple[str, str, Any]]:
    """Motifs of eight nodes, each joined by one edge to eight nodes of a random graph."""
    import networkx as nx  # noqa: PLC0415

    motifs = {
        "clique": nx.complete_graph(MOTIF),
        "ring": nx.cycle_graph(MOTIF),
        "star": nx.star_graph(MOTIF - 1),
    }
    draw = random.Random(0)
    for number in range(n):
        label = CLASSES[number % len(CLASSES)]
        pairs = [(u, v) for u in range(RANDOM) for v in range(u)]
        graph = nx.disjoint_union(motifs[label], nx.empty_graph(RANDOM))
        graph.add_edges_from((MOTIF + u, MOTIF + v) for u, v in pairs if draw.random() < 0.5)
        graph.add_edge(draw.randrange(MOTIF), MOTIF + draw.randrange(RANDOM))
        nx.set_node_attributes(graph, {node: "motif" if node < MOTIF else "random" for node in graph}, "part")
        yield f"graph_{number + 1:02d}", label, graph
