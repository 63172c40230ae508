"""Every pair of flips tried on a GIN: attacked graphs a second, beside the vectorised loop that one writes by hand.

    python benchmarks/exact.py [--device cuda] [--graphs 400]

Chains of 14 to 22 nodes with rings, as large as molecules. The model never changes its answer here, so that no attack
is spared. The loop makes the attacked graphs of a batch on the device, by one index into a matrix of node pairs, and
asks the model as it is written. Both answer the same number of attacks.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import torch

import starcert as sc
from pyg_layers import with_pyg_layers
from starcert.classifiers.torch import from_pyg
from starcert.models.networks import GCN
from table import Table, Work

BATCH = {"cpu": 1024, "cuda": 2**16}  # attacked graphs that the loop asks about at once


def chain(n: int) -> sc.Graph:
    edges = [(i, i + 1) for i in range(n - 1)] + [(i, i + 5) for i in range(0, n - 5, 6)]
    kinds = np.random.default_rng(n).integers(7, size=n)
    return sc.Graph(n, edges, node_data={"x": np.eye(7, dtype=np.float32)[kinds]})


def network(device: str) -> torch.nn.Module:
    torch.manual_seed(1)
    model = GCN(7, 2, layers=3, conv="gin", pooling="sum").eval()
    with torch.no_grad():
        model.linear.bias[0] += 1e6
    return model.to(device)


def loop(model: torch.nn.Module, graphs: Sequence[sc.Graph], device: str) -> int:
    """All single flips and pairs of flips, by hand; returns how many there were."""
    tried = 0
    with torch.inference_mode():
        for graph in graphs:
            n = graph.n_nodes
            u, v = torch.triu_indices(n, n, 1, device=device)
            number = torch.zeros((n, n), dtype=torch.int64, device=device)
            number[u, v] = torch.arange(len(u), device=device)
            clean = torch.zeros(len(u), dtype=torch.bool, device=device)
            edges = torch.tensor(graph.edges, device=device)
            clean[number[edges[:, 0], edges[:, 1]]] = True
            x = torch.tensor(graph.node_data["x"], device=device)
            one = torch.arange(len(u), device=device)[:, None].expand(-1, 2)
            flips = torch.cat([one, torch.triu_indices(len(u), len(u), 1, device=device).T])
            answer = None
            for some in flips.split(BATCH[device]):
                there = clean.repeat(len(some), 1)
                rows = torch.arange(len(some), device=device)
                there[rows, some[:, 0]] ^= True
                pairs = some[:, 0] != some[:, 1]
                there[rows[pairs], some[pairs, 1]] ^= True
                copy, pair = there.nonzero(as_tuple=True)
                a, b = u[pair] + n * copy, v[pair] + n * copy
                index = torch.stack([torch.cat([a, b]), torch.cat([b, a])])
                batch = rows.repeat_interleave(n)
                answers = model(x.repeat(len(some), 1), index, batch).argmax(dim=1)
                answer = answers[0] if answer is None else answer
                assert bool((answers == answer).all())
                tried += len(some)
    return tried


def main() -> None:
    """Measures both."""
    given = argparse.ArgumentParser()
    given.add_argument("--device", default="cpu", choices=sorted(BATCH))
    given.add_argument("--graphs", type=int, default=0)
    options = given.parse_args()
    device = options.device
    graphs = [chain(14 + i % 9) for i in range(options.graphs or (4 if device == "cpu" else 400))]
    model = with_pyg_layers(network(device)).to(device)
    exact = sc.ExactClassifier(from_pyg(model, n_classes=2))
    about = f"Every attack of at most two flips on {len(graphs)} graphs of 14 to 22 nodes, by a GIN of three layers."
    table = Table("exact", about, graphs=len(graphs), **({} if device == "cpu" else {"device": device}))
    exact.certify(graphs[:1], threat="flips:1")  # loads what is compiled
    loop(model, graphs[:1], device)
    begun = time.perf_counter()
    found = exact.certify(graphs, threat="flips:2", progress=False)
    mine = time.perf_counter() - begun
    begun = time.perf_counter()
    tried = loop(model, graphs, device)
    by_hand = time.perf_counter() - begun
    assert tried == sum(found.tried)
    note = f"{tried / mine:,.0f} attacked graphs a second; by hand {tried / by_hand:,.0f}"
    table.add(Work(f"{tried:,} attacked graphs", mine, by_hand, note=note))
    table.write()


if __name__ == "__main__":
    main()
