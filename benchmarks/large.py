"""Whole `vote()` calls on graphs of 2,000 and 20,000 nodes and on Amazon Photo, next to a vectorised loop; peak memory.

Each way runs in a process of its own, so that its memory is its own. The loop is written with PyG as it should be: the
number of flips from the binomial law, then their places, one copy at a time, and the module on `edge_index`.

    python benchmarks/large.py --photo amazon_photo.npz
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

import starcert as sc
from layers import pyg
from table import RESULTS, Table, Work, peak_megabytes

ABOUT = "A vote in a whole vote() call of a GCN of two layers, one core; the loop is PyG, flips drawn by their number."
CASES = {  # nodes, votes, delete, add per node pair
    "2,000 nodes, both ways": (2_000, 1_000, 0.1, 1e-5),
    "20,000 nodes, both ways": (20_000, 200, 0.1, 1e-6),
    "Amazon Photo, one-way": (0, 1_000, 0.5, 0.0),
}
WIDTH = 64


class Net(nn.Module):
    """Two layers; a class for each node, or by their mean for the graph."""

    def __init__(self, n_inputs: int, n_classes: int, *, nodes: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.one, self.two = pyg.GCNConv(n_inputs, WIDTH), pyg.GCNConv(WIDTH, n_classes)
        self.nodes = nodes

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        """The logits."""
        found: torch.Tensor = self.two(self.one(x, edge_index).relu(), edge_index)
        return found if self.nodes else pyg.global_mean_pool(found, batch)


def read(name: str, photo: Path | None) -> tuple[sc.Graph, int, bool]:
    """The graph, how many classes there are, and whether nodes are classified."""
    n = CASES[name][0]
    if n:
        rng = np.random.default_rng(n)
        pairs = np.sort(rng.integers(n, size=(3 * n, 2)), axis=1)
        pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)
        return sc.Graph(n, pairs, node_data={"x": rng.random((n, 16), dtype=np.float32)}), 2, False
    assert photo is not None
    with np.load(photo, allow_pickle=False) as file:
        ends, columns = file["adj_indptr"], file["adj_indices"]
        rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        pairs = np.unique(np.sort(np.column_stack([rows, columns]), axis=1), axis=0)
        shape = tuple(file["attr_shape"])
        x = np.zeros(shape, dtype=np.float32)
        x[np.repeat(np.arange(shape[0]), np.diff(file["attr_indptr"])), file["attr_indices"]] = 1
        n_classes = int(file["labels"].max()) + 1
    return sc.Graph(shape[0], pairs[pairs[:, 0] < pairs[:, 1]], node_data={"x": x}), n_classes, True


def loop(model: Net, clean: sc.Graph, delete: float, add: float, votes: int) -> Callable[[], object]:
    """The loop."""
    n, edges = clean.n_nodes, torch.as_tensor(np.array(clean.edges))
    x, batch, rng = torch.as_tensor(clean.node_data["x"].copy()), torch.zeros(n, dtype=torch.long), torch.manual_seed(0)
    n_pairs, numpy_rng = n * (n - 1) // 2, np.random.default_rng(0)

    def call() -> object:
        counts = torch.zeros(1)
        with torch.inference_mode():
            for _ in range(votes):
                kept = edges[torch.rand(len(edges), generator=rng) >= delete]
                added = torch.randint(n, (numpy_rng.binomial(n_pairs, add), 2), generator=rng)
                pairs = torch.cat([kept, added[added[:, 0] != added[:, 1]]])
                counts = counts + model(x, torch.cat([pairs, pairs.flip(1)]).t().contiguous(), batch).argmax(1).float()
        return counts

    return call


def run(name: str, way: str, votes: int, photo: Path | None) -> None:
    """Measures one way in this process, and prints it."""
    torch.set_num_threads(1)
    clean, n_classes, nodes = read(name, photo)
    _, _, delete, add = CASES[name]
    model = Net(clean.node_data["x"].shape[1], n_classes, nodes=nodes).eval()
    before = peak_megabytes()
    if way == "loop":
        call = loop(model, clean, delete, add, votes)
    else:
        base = sc.classifiers.from_pyg(model, n_classes=n_classes, targets="nodes" if nodes else "graph")
        smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(delete=delete, add=add)))

        def call() -> object:
            return smoothed.vote([clean], samples=votes, seed=1)

    start = time.process_time()
    call()
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds / votes, "megabytes": round(peak_megabytes()), "before": round(before)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photo", type=Path, help="amazon_photo.npz; without it that graph is left out")
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the votes that are drawn")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the results")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        run(*given.one, int(CASES[given.one[0]][1] * given.scale), given.photo)
        return
    table = Table("large", ABOUT, repeats=given.repeats, units=WIDTH)
    options = ["--scale", str(given.scale), *(["--photo", str(given.photo)] if given.photo else [])]
    for name, (_, votes, *_) in CASES.items():
        if name.startswith("Amazon") and given.photo is None:
            continue
        found: dict[str, list[dict[str, float]]] = {"loop": [], "starcert": []}
        for _ in range(given.repeats):
            for way, results in found.items():
                command = [sys.executable, __file__, "--one", name, way, *options]
                results.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        plain, ours = (
            sorted(each, key=lambda one: one["seconds"])[len(each) // 2] for each in (found["loop"], found["starcert"])
        )
        note = (
            f"peak {ours['megabytes']:,} MB, the loop {plain['megabytes']:,} MB, "
            f"before the first copy {ours['before']:,} MB"
        )
        drawn = f"{int(votes * given.scale):,} votes"
        table.add(Work(f"{name}, {drawn}", ours["seconds"], plain["seconds"], note=note, more={"megabytes": ours}))
    table.write(given.out)


if __name__ == "__main__":
    main()
