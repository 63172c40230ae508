"""Whole `vote()` calls of PyG modules, next to a vectorised loop, and to the module without stand-ins for its layers.

The loop is what a good engineer writes: random numbers for all node pairs of a batch at once, one block-diagonal PyG
batch, the module as it is. All ways are called in turn, and medians are taken.

    python benchmarks/layers.py --kinds GCN GIN
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

import starcert as sc
from table import RESULTS, Table, Work

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_geometric.nn as pyg

ABOUT = "A vote in a whole vote() call, three layers and a sum; the loop is vectorised: one PyG batch."
VOTES = {"cpu": {40: 8_192, 300: 1_024, 620: 512}, "cuda": {40: 100_000, 300: 10_000, 620: 10_000}}
BATCH = {"cpu": 4_608, "cuda": 294_912}  # nodes in a batch of the loop
ADDED = (1, 6)  # edges that noise adds, for every two nodes
WIDTH, DEPTH, TYPES = 64, 3, 3

Call = Callable[[int], object]


class Own(pyg.MessagePassing):
    """A layer of a user's own."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(aggr="sum")
        self.lin = nn.Linear(a, b)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        """The sums of messages."""
        return self.propagate(edge_index, x=self.lin(x))  # type: ignore[no-any-return]

    def message(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """What a neighbour sends."""
        return x_i.sigmoid() * x_j


def network(a: int) -> nn.Module:
    return nn.Sequential(nn.Linear(a, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))


LAYERS: dict[str, Callable[[int], nn.Module]] = {
    "GCN": lambda a: pyg.GCNConv(a, WIDTH),
    "GIN": lambda a: pyg.GINConv(network(a)),
    "SAGE": lambda a: pyg.SAGEConv(a, WIDTH),
    "GraphConv": lambda a: pyg.GraphConv(a, WIDTH),
    "GINE": lambda a: pyg.GINEConv(network(a), edge_dim=TYPES),
    "GAT": lambda a: pyg.GATConv(a, WIDTH // 4, heads=4),
    "own message passing": lambda a: Own(a, WIDTH),
}


class Net(nn.Module):
    """Three layers and a sum over nodes."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.convs = nn.ModuleList(LAYERS[kind](a) for a in [7] + [WIDTH] * (DEPTH - 1))
        self.linear = nn.Linear(WIDTH, 2)

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor, edge_attr: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The logits of each copy."""
        for conv in self.convs:
            x = (conv(x, edge_index) if edge_attr is None else conv(x, edge_index, edge_attr)).relu()
        return self.linear(pyg.global_add_pool(x, batch))  # type: ignore[no-any-return]


def graph(kind: str, n: int) -> sc.Graph:
    """A chain with rings, seven kinds of nodes."""
    rng = np.random.default_rng(n)
    edges = [(i, i + 1) for i in range(n - 1)] + [(i, i + 5) for i in range(0, n - 5, 6)]
    x = np.eye(7, dtype=np.float32)[rng.integers(7, size=n)]
    types = rng.integers(TYPES, size=len(edges)) if kind == "GINE" else None
    return sc.Graph(n, edges, node_data={"x": x}, edge_types=types)


def vote(model: Net, clean: sc.Graph, added: int, votes: int, *, as_written: bool) -> Call:
    """A whole call, by its seed."""
    law: sc.Flip | sc.Edges = sc.Flip(delete=0.1, add=added / clean.n_nodes)
    if clean.type_names:
        law = sc.Edges(delete=0.1, add=added / clean.n_nodes, change=0.1)
    base = sc.classifiers.from_pyg(model, n_classes=2)
    smoothed = sc.SmoothedClassifier(base.as_written if as_written else base, sc.Noise(all=law))
    return lambda seed: smoothed.vote([clean], samples=votes, seed=seed).counts


def loop(model: Net, clean: sc.Graph, added: int, votes: int, device: str) -> Call:
    """The vectorised loop, by its seed."""
    n = clean.n_nodes
    one, other = torch.triu_indices(n, n, 1, device=device)
    shown = torch.as_tensor(clean.to_numpy()).to(device)[one, other].long()
    chance = torch.where(shown > 0, 0.1, added / n)
    x = torch.as_tensor(clean.node_data["x"].copy()).to(device)
    size = max(16, BATCH[device] // n)

    def call(seed: int) -> object:
        generator = torch.Generator(device).manual_seed(seed)
        counts = torch.zeros(2, dtype=torch.int64, device=device)
        with torch.inference_mode():
            for first in range(0, votes, size):
                copies = min(size, votes - first)
                flipped = torch.rand((copies, len(one)), generator=generator, device=device) < chance
                copy, site = ((shown > 0) ^ flipped).nonzero(as_tuple=True)
                u, v = one[site] + copy * n, other[site] + copy * n
                given = {}
                if clean.type_names:
                    types = torch.where(shown[site] > 0, shown[site] - 1, site % TYPES)
                    given["edge_attr"] = nn.functional.one_hot(torch.cat([types, types]), TYPES).float()
                edge_index = torch.stack([torch.cat([u, v]), torch.cat([v, u])])
                batch = torch.arange(copies, device=device).repeat_interleave(n)
                answers = model(x.repeat(copies, 1), edge_index, batch, **given).argmax(dim=1)
                counts += torch.bincount(answers, minlength=2)
        return counts.cpu()

    return call


def measure(kind: str, n: int, added: int, device: str, repeats: int) -> Work:
    """A line of the table."""
    model, clean, votes = Net(kind).eval().to(device), graph(kind, n), VOTES[device][n]
    ways = [
        loop(model, clean, added, votes, device),
        vote(model, clean, added, votes, as_written=False),
        vote(model, clean, added, votes, as_written=True),
    ]
    times: list[list[float]] = [[] for _ in ways]
    for seed in range(repeats + 1):
        for way, seconds in zip(ways, times, strict=True):
            start = time.perf_counter()
            way(seed)
            seconds.append((time.perf_counter() - start) / votes)
    plain, found, written = (statistics.median(each[1:]) for each in times)  # the first call compiles
    note = f"{written / found:.2f} × next to the module as it is written"
    return Work(f"{kind}, {n} nodes, {added}/n added", found, plain, note=note, more={"as_written_seconds": written})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=sorted(VOTES))
    parser.add_argument("--kinds", nargs="+", default=list(LAYERS), choices=list(LAYERS))
    parser.add_argument("--nodes", nargs="+", type=int, default=list(VOTES["cpu"]), choices=list(VOTES["cpu"]))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the results")
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device here: nothing is measured")
        return
    torch.set_num_threads(1)
    table = Table("layers", ABOUT, device=given.device, repeats=given.repeats, units=WIDTH)
    for n in given.nodes:
        for added in ADDED:
            for kind in given.kinds:
                table.add(measure(kind, n, added, given.device, given.repeats))
    table.write(given.out)


if __name__ == "__main__":
    main()
