"""A project whose module is still to be trained: graphs with many edges and with few, and one graph of nodes."""

from pathlib import Path

import numpy as np

import starcert as sc

MODEL = """
import starcert as sc
from sklearn.dummy import DummyClassifier

def module():
    return sc.models.GIN(2, 2, hidden=8, layers=2)

def wider():
    return sc.models.GIN(2, 2, hidden=9, layers=2)

def described():
    return sc.classifiers.from_pyg(module(), n_classes=2, description="mine")

def of_nodes():
    return sc.models.NodeGCN(3, 2, hidden=8)

def function():
    return lambda graph: int(graph.number_of_edges() > 14)

def estimator():
    return DummyClassifier()

def frozen():
    return module().requires_grad_(False)

def dense():
    return sc.classifiers.from_dense(module(), n_classes=2)
"""

RUN = """
model = "model.py:module"
data = "data.pt"
split = "test"
samples = 200
weights = "weights/model.pt"

[noise]
all = { delete = 0.1, add = 0.05 }

[train]
epochs = 12
learning_rate = 0.01
"""

NODES_RUN = """
model = "model.py:of_nodes"
data = "nodes.pt"
targets = "nodes"
nodes = "test_mask"
samples = 200
weights = "weights/model.pt"

[noise]
all = { delete = 0.1, add = 0.01 }

[train]
epochs = 40
"""


def graphs(
    n: int = 40, seed: int = 0, shares: tuple[float, float] = (0.25, 0.8), features: int = 2
) -> tuple[list[sc.Graph], list[int]]:
    """Graphs of eight nodes, every other one with many edges."""
    rng = np.random.default_rng(seed)
    made, labels = [], [i % 2 for i in range(n)]
    for label in labels:
        pairs = [(u, v) for v in range(8) for u in range(v) if rng.random() < shares[label]]
        x = np.eye(features, dtype=np.float32)[rng.integers(features, size=8)]
        made.append(sc.Graph(8, pairs, node_data={"x": x}))
    return made, labels


def grouped(group: np.ndarray, features: int, inside: float, words: tuple[float, float], seed: int = 1):
    """Edges between nodes, most of them inside a group, and features that tell little of the group."""
    rng, n = np.random.default_rng(seed), len(group)
    pairs = [(u, v) for v in range(n) for u in range(v) if rng.random() < (inside if group[u] == group[v] else 0.03)]
    own = group[:, None] == np.arange(features) % (group.max() + 1)
    return pairs, (rng.random((n, features)) < np.where(own, *words)).astype(np.float32)


def nodes(masks: bool = True) -> sc.Graph:
    """Two groups of fifteen nodes."""
    group = np.repeat([0, 1], 15)
    pairs, x = grouped(group, 3, 0.4, (0.7, 0.3))
    turn = np.arange(30) % 3
    said = {"train_mask": turn == 0, "val_mask": turn == 1, "test_mask": turn == 2} if masks else {}
    return sc.Graph(30, pairs, node_data={"x": x, "y": group, **said})


def project(folder: Path, run: str = RUN) -> Path:
    """The whole project in a folder; the path of its run file."""
    import torch  # noqa: PLC0415  (only where it is there)

    (folder / "weights").mkdir(parents=True)
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / "run.toml").write_text(run, encoding="utf-8")
    records = [{**graph.to_pyg().to_dict(), "y": torch.tensor([label])} for graph, label in zip(*graphs(), strict=True)]
    torch.save(records, folder / "data.pt")
    for name, masks in (("nodes.pt", True), ("maskless.pt", False)):
        graph = nodes(masks)
        record = {key: torch.as_tensor(np.array(value)) for key, value in graph.node_data.items()}
        torch.save([{**record, "edge_index": graph.to_pyg().edge_index}], folder / name)
    return folder / "run.toml"
