"""Whole `vote()` calls of PyG modules, next to a vectorised loop, and to another version of starcert if one is given.

The loop is what a good engineer writes: random numbers for all node pairs of a batch at once, one block-diagonal PyG
batch, the module as it is. Calls of all versions are interleaved, one after the other, and medians are taken.

    python benchmarks/layers.py --device cpu --before ../other/src
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from table import RESULTS, Table, Work

ABOUT = "A vote in a whole vote() call, three layers and a sum; the loop is vectorised: one PyG batch."
KINDS = ("GCN", "GIN", "SAGE", "GraphConv", "GINE", "GAT", "own message passing")
NODES = (18, 40, 100, 300, 620)
VOTES = {"cpu": (16_384, 8_192, 4_096, 1_024, 512), "cuda": (100_000, 100_000, 50_000, 10_000, 10_000)}
BATCH = {"cpu": 256, "cuda": 16_384}
"""Copies in a batch of the loop, of 18 nodes; of larger graphs as many fewer."""

FLOOR_NODES = {"cpu": 2**12, "cuda": 2**20}
FLOOR = "the module on copies without edges: its dense layers, which it has to run as it is written"

WIDTH, DEPTH, TYPES = int(os.environ.get("WIDTH", "64")), 3, 3


class Bench:
    """Runs in a process of its own, with one version of starcert."""

    def __init__(self, device: str) -> None:
        import torch  # noqa: PLC0415

        self.device = device
        torch.set_num_threads(1)

    def model(self, kind: str) -> Any:
        """Three layers and a sum over nodes."""
        import torch  # noqa: PLC0415
        from torch import nn  # noqa: PLC0415

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch_geometric.nn as pyg  # noqa: PLC0415

        class Own(pyg.MessagePassing):
            """A layer of a user's own."""

            def __init__(self, a: int, b: int) -> None:
                super().__init__(aggr="sum")
                self.lin = nn.Linear(a, b)

            def forward(self, x: Any, edge_index: Any) -> Any:
                return self.propagate(edge_index, x=self.lin(x))

            def message(self, x_i: Any, x_j: Any) -> Any:
                return x_i.sigmoid() * x_j

        def network(a: int) -> nn.Module:
            return nn.Sequential(nn.Linear(a, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))

        make: dict[str, Callable[[int], nn.Module]] = {
            "GCN": lambda a: pyg.GCNConv(a, WIDTH),
            "GIN": lambda a: pyg.GINConv(network(a)),
            "SAGE": lambda a: pyg.SAGEConv(a, WIDTH),
            "GraphConv": lambda a: pyg.GraphConv(a, WIDTH),
            "GINE": lambda a: pyg.GINEConv(network(a), edge_dim=TYPES),
            "GAT": lambda a: pyg.GATConv(a, WIDTH // 4, heads=4),
            "own message passing": lambda a: Own(a, WIDTH),
        }

        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                torch.manual_seed(0)
                self.convs = nn.ModuleList(make[kind](a) for a in [7] + [WIDTH] * (DEPTH - 1))
                self.linear = nn.Linear(WIDTH, 2)

            def forward(self, x: Any, edge_index: Any, batch: Any, edge_attr: Any = None) -> Any:
                for conv in self.convs:
                    x = (conv(x, edge_index) if edge_attr is None else conv(x, edge_index, edge_attr)).relu()
                return self.linear(pyg.global_add_pool(x, batch))

        return Net().eval().to(self.device)

    def graph(self, kind: str, n: int) -> Any:
        """A chain with rings, seven kinds of nodes."""
        import numpy as np  # noqa: PLC0415

        import starcert as sc  # noqa: PLC0415

        rng = np.random.default_rng(n)
        edges = [(i, i + 1) for i in range(n - 1)] + [(i, i + 5) for i in range(0, n - 5, 6)]
        x = np.eye(7, dtype=np.float32)[rng.integers(7, size=n)]
        types = {"edge_types": rng.integers(TYPES, size=len(edges))} if kind == "GINE" else {}
        return sc.Graph(n, edges, node_data={"x": x}, **types)

    def vote(self, kind: str, n: int, votes: int) -> Callable[[int], Any]:
        """A whole call, by its seed."""
        import starcert as sc  # noqa: PLC0415

        graph = self.graph(kind, n)
        law = sc.Edges(delete=0.1, add=1 / n, change=0.1) if kind == "GINE" else sc.Flip(delete=0.1, add=1 / n)
        smoothed = sc.SmoothedClassifier(sc.classifiers.from_pyg(self.model(kind), n_classes=2), sc.Noise(all=law))
        return lambda seed: smoothed.vote([graph], samples=votes, seed=seed).counts

    def loop(self, kind: str, n: int, votes: int) -> Callable[[int], Any]:
        """The vectorised loop, by its seed."""
        import torch  # noqa: PLC0415

        graph, model, device = self.graph(kind, n), self.model(kind), self.device
        one, other = torch.triu_indices(n, n, 1, device=device)
        clean = torch.as_tensor(graph.to_numpy()).to(device)[one, other]
        shown = clean.long()
        chance = torch.where(shown > 0, 0.1, 1 / n)
        x = torch.as_tensor(graph.node_data["x"].copy()).to(device)
        size = max(16, BATCH[device] * 18 // n)

        def call(seed: int) -> Any:
            generator = torch.Generator(device).manual_seed(seed)
            counts = torch.zeros(2, dtype=torch.int64, device=device)
            with torch.inference_mode():
                for first in range(0, votes, size):
                    copies = min(size, votes - first)
                    flipped = torch.rand((copies, len(one)), generator=generator, device=device) < chance
                    copy, site = ((shown > 0) ^ flipped).nonzero(as_tuple=True)
                    u, v = one[site] + copy * n, other[site] + copy * n
                    given = {}
                    if kind == "GINE":
                        types = torch.where(shown[site] > 0, shown[site] - 1, site % TYPES)
                        given["edge_attr"] = torch.nn.functional.one_hot(torch.cat([types, types]), TYPES).float()
                    edge_index = torch.stack([torch.cat([u, v]), torch.cat([v, u])])
                    batch = torch.arange(copies, device=device).repeat_interleave(n)
                    answers = model(x.repeat(copies, 1), edge_index, batch, **given).argmax(dim=1)
                    counts += torch.bincount(answers, minlength=2)
            return counts.cpu()

        return call

    def floor(self, kind: str, n: int, votes: int) -> Callable[[int], Any]:
        """The module on copies without edges, as many at a time as stay in the cache: its dense layers, and no more."""
        import torch  # noqa: PLC0415

        model, size = self.model(kind), max(16, FLOOR_NODES[self.device] // n)
        x = torch.as_tensor(self.graph(kind, n).node_data["x"].copy()).to(self.device).repeat(size, 1)
        batch = torch.arange(size, device=self.device).repeat_interleave(n)
        given = [x, torch.zeros((2, 0), dtype=torch.int64, device=self.device), batch]
        given += [x.new_zeros((0, TYPES))] if kind == "GINE" else []

        def call(_: int) -> Any:
            with torch.inference_mode():
                return [model(*given).sum() for _ in range(-(-votes // size))][-1].item()

        return call

    def serve(self) -> None:
        """Answers lines of JSON with seconds."""
        calls: dict[tuple[Any, ...], Callable[[int], Any]] = {}
        for line in sys.stdin:
            what, kind, n, votes, seed = json.loads(line)
            key = (what, kind, n)
            if key not in calls:
                calls = {} if len(calls) > 2 else calls
                calls[key] = getattr(self, what)(kind, n, votes)
            start = time.perf_counter()
            calls[key](seed)
            print(json.dumps(time.perf_counter() - start), flush=True)


class Version:
    """A process with one version of starcert."""

    def __init__(self, source: str | None, device: str) -> None:
        env = dict(os.environ)
        if source is not None:
            env["PYTHONPATH"] = os.pathsep.join([source, *filter(None, [env.get("PYTHONPATH")])])
        command = [sys.executable, __file__, "--serve", "--device", device]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def seconds(self, what: str, kind: str, n: int, votes: int, seed: int) -> float:
        """The time of one call."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([what, kind, n, votes, seed]) + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))


def measure(
    device: str, before: str | None, kinds: Sequence[str], nodes: Sequence[int], repeats: int, votes: int | None = None
) -> Table:
    """The time of a vote, by median."""
    versions = {"starcert": Version(None, device)} | ({} if before is None else {"before": Version(before, device)})
    ways = {each: (versions["starcert"], each) for each in ("loop", "floor")} | {
        name: (each, "vote") for name, each in versions.items()
    }
    found = Table("layers", ABOUT, device=device, repeats=repeats, units=WIDTH)
    for n in nodes:
        number = votes or VOTES[device][NODES.index(n)]
        for kind in kinds:
            times: dict[str, list[float]] = {name: [] for name in ways}
            for repeat in range(repeats + 1):
                for name, (version, what) in ways.items():
                    took = version.seconds(what, kind, n, number, repeat)
                    if repeat:  # the first call compiles
                        times[name].append(took / number)
            found.add(work(kind, n, number, {name: statistics.median(each) for name, each in times.items()}))
    return found


def work(kind: str, n: int, votes: int, seconds: dict[str, float]) -> Work:
    """A line of the table."""
    before = seconds.get("before")
    note = "" if before is None else f"{before * 1e6:.3g} µs before, {seconds['starcert'] / before - 1:+.0%}"
    more = {} if before is None else {"before_seconds": before}
    name, floor = f"{kind}, {n} nodes, {votes:,} votes", seconds.get("floor")
    return Work(name, seconds["starcert"], seconds["loop"], floor, FLOOR if floor else "", note=note, more=more)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=sorted(VOTES))
    parser.add_argument("--before", help="the source folder of another version")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--nodes", nargs="+", type=int, default=NODES, choices=NODES)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--votes", type=int, help="as many in every call; by default by the number of nodes")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the results")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        Bench(given.device).serve()
        return
    import torch  # noqa: PLC0415

    if given.device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device here: nothing is measured")
        return
    measure(given.device, given.before, given.kinds, given.nodes, given.repeats, given.votes).write(given.out)


if __name__ == "__main__":
    main()
