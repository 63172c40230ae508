"""Votes of a GCN on noisy 18-node graphs, on one CPU core.

Next to the obvious loop: one PyG `Data` for each noisy graph, a DataLoader, the model on its batches. And next to the
loop of a good engineer: random numbers for a whole batch, one block-diagonal PyG batch. `gpu.py` has the same on a
device.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import torch

import starcert as sc
from floors import Rates, dense_gcn, edges_left, random_word, sparse_gcn
from pyg_layers import with_pyg_layers
from starcert.classifiers import features
from starcert.classifiers.torch import TorchClassifier, from_dense, from_pyg
from starcert.models.networks import GCN
from table import Table, Work, best, shown

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader

VOTES = 20_480
EDGES = edges_left(153, 19, 0.04, 0.2)
WORDS = 18
"""Random words of a vote: 153 bits, 64 copies at a time, some 7.3 digits each until all of the 64 are decided."""

FLOOR = "the random words, and bytes by the bandwidth of a copy or multiply-adds by the rate of a matrix product"


def molecule(n: int = 18) -> sc.Graph:
    """A graph of the size of MUTAG's: a chain with rings, seven kinds of atoms."""
    rng = np.random.default_rng(0)
    edges = [(i, i + 1) for i in range(n - 1)] + [(0, 5), (6, 11)]
    return sc.Graph(n, edges, node_data={"x": np.eye(7, dtype=np.float32)[rng.integers(7, size=n)]})


def obvious(
    model: torch.nn.Module, graph: sc.Graph, samples: int, device: str, *, delete: float = 0.04, add: float = 0.2
) -> float:
    """Seconds for one vote: each noisy graph a Data object, batches of 128 from a DataLoader."""
    n, x = graph.n_nodes, torch.as_tensor(np.array(graph.node_data["x"]))
    upper = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
    clean = torch.as_tensor(graph.to_numpy()).bool()
    start = time.perf_counter()
    noisy = []
    for _ in range(samples):
        flip = torch.rand(n, n) < torch.where(clean, delete, add)
        present = (clean ^ flip) & upper
        noisy.append(Data(x=x, edge_index=(present | present.T).nonzero().T.contiguous()))
    with torch.inference_mode():
        for loaded in DataLoader(noisy, batch_size=128):
            batch = loaded.to(device)
            model(batch.x, batch.edge_index, batch.batch).argmax(dim=1).cpu()
    return (time.perf_counter() - start) / samples


def vectorised(
    model: torch.nn.Module,
    graph: sc.Graph,
    samples: int,
    device: str,
    *,
    delete: float = 0.04,
    add: float = 0.2,
    size: int = 256,
) -> float:
    """Seconds for one vote: all copies of a batch drawn at once, and asked about as one PyG batch."""
    n = graph.n_nodes
    one, other = torch.triu_indices(n, n, 1, device=device)
    clean = torch.as_tensor(graph.to_numpy()).bool().to(device)[one, other]
    chance = torch.where(clean, delete, add)
    x = torch.as_tensor(np.array(graph.node_data["x"])).to(device).repeat(size, 1)
    batch = torch.arange(size, device=device).repeat_interleave(n)
    start = time.perf_counter()
    with torch.inference_mode():
        for _ in range(samples // size):
            copy, pair = (clean ^ (torch.rand((size, len(one)), device=device) < chance)).nonzero(as_tuple=True)
            u, v = one[pair] + copy * n, other[pair] + copy * n
            edge_index = torch.stack([torch.cat([u, v]), torch.cat([v, u])])
            model(x, edge_index, batch).argmax(dim=1).cpu()
    return (time.perf_counter() - start) / (samples // size * size)


def a_vote(classifier: TorchClassifier, graph: sc.Graph, noise: sc.Noise) -> float:
    """Seconds for one vote on the CPU."""
    smoothed = sc.SmoothedClassifier(classifier, noise)
    return best(lambda: smoothed.vote([graph], samples=VOTES, seed=1), VOTES, 3)


def on_cpu(graph: sc.Graph, noise: sc.Noise) -> Table:
    torch.set_num_threads(1)
    rates = Rates.measured("cpu", size=1024)
    about = "A vote of a GCN with 64 units on an 18-node graph, on one core; the loop is a PyG DataLoader."
    table = Table("gnn", about, votes=VOTES, noise=str(noise), **rates.words())
    model = GCN(7, 2).eval()
    layered = with_pyg_layers(model)
    obvious(layered, graph, 256, "cpu")
    loop = min(obvious(layered, graph, 2048, "cpu") for _ in range(3))
    batched = min(vectorised(layered, graph, 8192, "cpu") for _ in range(5))
    words = WORDS * random_word()
    ways = (
        ("any PyG module", from_pyg, layered, sparse_gcn(18, 153, EDGES), "8 ×"),
        ("starcert.models.GCN on edges", from_pyg, model, sparse_gcn(18, 153, EDGES), ""),
        ("dense adjacency", from_dense, model.dense(), dense_gcn(18, 153), "8 ×"),
    )
    for name, make, net, load, target in ways:
        floor = rates.floor(load) + words
        shared = a_vote(make(net, n_classes=2), graph, noise)
        note = f"{batched / shared:.3g} × next to a vectorised loop, {shown(batched)}"
        table.add(Work(name, shared, loop, floor, FLOOR, target, note))
        # The same network on as many columns: features of every noisy copy beside node data that all copies share.
        of_copies = a_vote(make(net, n_classes=2, features=features.one_hot_degree(6)), graph, noise)
        note = f"{of_copies / shared:.2f} × of node data"
        table.add(Work(f"{name}, degrees of each copy as features", of_copies, loop, floor, FLOOR, note=note))
    return table


def main() -> None:
    graph, noise = molecule(), sc.Noise(bonds=sc.Flip(delete=0.04, add=0.2))
    torch.manual_seed(0)
    on_cpu(graph, noise).write()


if __name__ == "__main__":
    main()
