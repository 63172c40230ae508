"""Votes of graph neural networks on a CUDA device, next to the obvious loop and to a roofline.

    python benchmarks/gpu.py        # make bench-gpu; says so and ends where there is no CUDA device

- a GCN with 64 units on 18 nodes, as any PyG module and on dense adjacency;
- a GIN of three layers with 64 units, any PyG module, sparse noise (add = 1/n), on 40 to 620 nodes;
- the same votes with their flips recorded where they are against the class, one in ten;
- a graph of 10,000 nodes and 30,000 edges.

Times are by device events, the median of several runs after warm-up. The roofline: bytes and multiply-adds of a vote by
hand formula (`floors.py`), at the bandwidth of a plain copy and the rate of a matrix product in the same run.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

import starcert as sc
from floors import Load, Rates, dense_gcn, edges_left, gin, sparse_gcn
from gnn import molecule, obvious, vectorised
from pyg_layers import with_pyg_layers
from starcert.classifiers import features
from starcert.classifiers.torch import TorchClassifier, from_dense, from_pyg
from starcert.models.networks import GCN
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.voting.counting import tallies
from starcert.voting.plans import Chunk, Job, Recorded
from table import Table, Work, shown

MAX_RUNS, MAX_SECONDS = 9, 3.0
"""A piece of work is repeated so often at most, and for so long."""

TRIED = 1024
"""So many copies tell how often a network answers what."""

FLOOR = "bytes by the bandwidth of a copy, or multiply-adds by the rate of a matrix product, whichever takes longer"
COUNTED = "the same votes counted, no flips recorded"


@dataclass(frozen=True)
class Timing:
    """Seconds of some work: the median of its runs, the shortest and the longest of them."""

    median: float
    shortest: float
    longest: float
    runs: int

    def more(self, votes: int) -> dict[str, object]:
        """What a file keeps beside the median, for one vote."""
        return {"shortest_seconds": self.shortest / votes, "longest_seconds": self.longest / votes, "runs": self.runs}


def timed(work: Callable[[], object], device: str) -> Timing:
    """The time of some work by device events, after warm-up; by the clock where there are none."""
    for _ in range(2):
        work()
    times: list[float] = []
    while len(times) < 3 or (len(times) < MAX_RUNS and sum(times) < MAX_SECONDS):
        if device == "cuda":
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            work()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / 1e3)
        else:
            begin = time.perf_counter()
            work()
            times.append(time.perf_counter() - begin)
    return Timing(float(np.median(times)), min(times), max(times), len(times))


@torch.inference_mode()
def wavering(model: GCN, graph: sc.Graph, noise: sc.Noise) -> GCN:
    """The network with another bias: it answers class 0 on nine noisy copies in ten."""
    classifier, sites = from_pyg(model, n_classes=2), sc.Partition.everything("bonds").sites(graph)
    copies = sampler(sites, noise, str(classifier.device)).draw(
        WordStream.of_chunk(1, graph.key, "selection", 0), TRIED
    )
    logits = classifier.logits(copies)
    model.linear.bias[0] -= (logits[:, 0] - logits[:, 1]).quantile(0.1)
    return model


def votes(
    classifier: TorchClassifier, graph: sc.Graph, noise: sc.Noise, n_votes: int, recorded: Recorded | None = None
) -> Callable[[], object]:
    """Votes as one chunk; with the flips of those against a class."""
    sites = sc.Partition.everything("bonds").sites(graph)
    job = Job(classifier, sc.Problem(noise, (sites,)), seed=1, chunk_size=n_votes, batch_size=classifier.batch_size)
    return lambda: next(tallies(job, [Chunk(0, "estimation", 0, n_votes, recorded)]))


def chain(n: int) -> sc.Graph:
    """A chain with rings, seven kinds of nodes."""
    rng = np.random.default_rng(0)
    edges = [(i, i + 1) for i in range(n - 1)] + [(i, i + 5) for i in range(0, n - 5, 6)]
    return sc.Graph(n, edges, node_data={"x": np.eye(7, dtype=np.float32)[rng.integers(7, size=n)]})


def web(n: int, n_edges: int) -> sc.Graph:
    """A random graph of so many edges, seven kinds of nodes."""
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(n, size=(n_edges + n_edges // 10, 2)), axis=1), axis=0)
    chosen = rng.permutation(pairs[pairs[:, 0] != pairs[:, 1]])[:n_edges]
    return sc.Graph(n, chosen, node_data={"x": np.eye(7, dtype=np.float32)[rng.integers(7, size=n)]})


@dataclass(frozen=True)
class Bench:
    """What all parts share: the table, the device and its rates."""

    table: Table
    device: str
    rates: Rates

    def add(
        self,
        name: str,
        n_votes: int,
        timing: Timing,
        loop: float | None,
        load: Load,
        target: str = "",
        *,
        batched: float | None = None,
    ) -> float:
        """A line with a roofline, and the vectorised loop where there is one; seconds for one vote."""
        a_vote = timing.median / n_votes
        moving, multiplying = load.bytes / self.rates.bytes, load.multiply_adds / self.rates.multiply_adds
        more = {
            **timing.more(n_votes),
            "bytes": load.bytes,
            "bytes_seconds": moving,
            "multiply_adds": load.multiply_adds,
            "multiply_adds_seconds": multiplying,
            "peak_gibibytes": self.peak(),
        }
        note = f"moving {shown(moving)}, multiplying {shown(multiplying)}"
        if batched is not None:
            note += f"; {batched / a_vote:.3g} × next to a vectorised loop, {shown(batched)}"
        name = f"{name}, {n_votes:,} votes"
        self.table.add(Work(name, a_vote, loop, self.rates.floor(load), FLOOR, target, note, more))
        return a_vote

    def add_recorded(self, name: str, n_votes: int, work: Callable[[], object], counted: float) -> None:
        """A line about recording flips, next to the same votes without."""
        timing = timed(work, self.device)
        name = f"{name}, {n_votes:,} votes, flips recorded"
        self.table.add(Work(name, timing.median / n_votes, None, counted, COUNTED, more=timing.more(n_votes)))

    def vectorised(self, model: torch.nn.Module, graph: sc.Graph, loop_votes: int, delete: float, add: float) -> float:
        """Seconds for one vote of a loop over large batches, at best."""
        size = max(16, 64 * loop_votes // graph.n_nodes)
        return min(vectorised(model, graph, size, self.device, delete=delete, add=add, size=size) for _ in range(3))

    def peak(self) -> float:
        """The most memory of the device that was in use since this was asked last, in GiB."""
        if self.device != "cuda":
            return 0.0
        found = torch.cuda.max_memory_allocated() / 2**30
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        return found


def small(bench: Bench, sizes: tuple[int, ...], loop_votes: int) -> None:
    """A GCN on the paper's kind of molecule."""
    graph, noise = molecule(), sc.Noise(bonds=sc.Flip(delete=0.04, add=0.2))
    model = wavering(GCN(7, 2).to(bench.device).eval(), graph, noise)
    layered = with_pyg_layers(model).to(bench.device)
    obvious(layered, graph, 128, bench.device)
    loop = obvious(layered, graph, loop_votes, bench.device)
    batched = bench.vectorised(layered, graph, loop_votes, 0.04, 0.2)
    edges = edges_left(153, graph.n_edges, 0.04, 0.2)
    for name, make, net, load, most in (
        ("any PyG module", from_pyg, layered, sparse_gcn(18, 153, edges), "6 ms"),
        ("dense", from_dense, model.dense(), dense_gcn(18, 153), "1.2 ms"),
    ):
        for n in sizes:
            counted = timed(votes(make(net, n_classes=2), graph, noise, n), bench.device)
            target = f"{most} for all" if n == 100_000 else ""
            a_vote = bench.add(f"GCN-64, 18 nodes, {name}", n, counted, loop, load, target, batched=batched)
            recorded = votes(make(net, n_classes=2), graph, noise, n, Recorded((0,)))
            bench.add_recorded(f"GCN-64, 18 nodes, {name}", n, recorded, a_vote)
        with_degrees = make(net, n_classes=2, features=features.one_hot_degree(6))
        taken = timed(votes(with_degrees, graph, noise, sizes[-1]), bench.device)
        bench.add(f"GCN-64, 18 nodes, {name}, degrees as features", sizes[-1], taken, loop, load, batched=batched)


def sparse_noise(bench: Bench, n: int, sizes: tuple[int, ...], loop_votes: int) -> None:
    """A GIN with as much noise as edges, whatever the size of the graph."""
    targets = {40: "0.3 µs", 100: "0.8 µs", 300: "3 µs", 620: "8 µs"}
    graph, noise = chain(n), sc.Noise(bonds=sc.Flip(delete=0.04, add=1 / n))
    pairs = n * (n - 1) // 2
    load = gin(n, pairs, edges_left(pairs, graph.n_edges, 0.04, 1 / n))
    own = wavering(GCN(7, 2, layers=3, conv="gin", pooling="sum").to(bench.device).eval(), graph, noise)
    model = with_pyg_layers(own).to(bench.device)
    loop = obvious(model, graph, max(2, loop_votes // n), bench.device, delete=0.04, add=1 / n)
    batched = bench.vectorised(model, graph, loop_votes, 0.04, 1 / n)
    for n_votes in sizes if n <= 100 else sizes[:1]:
        name = f"GIN 3 × 64, {n} nodes, add 1/{n}"
        counted = timed(votes(from_pyg(model, n_classes=2), graph, noise, n_votes), bench.device)
        a_vote = bench.add(name, n_votes, counted, loop, load, targets.get(n, ""), batched=batched)
        if n_votes == sizes[0]:
            recorded = votes(from_pyg(model, n_classes=2), graph, noise, n_votes, Recorded((0,)))
            bench.add_recorded(name, n_votes, recorded, a_vote)


@torch.inference_mode()
def copy_by_copy(model: torch.nn.Module, graph: sc.Graph, copies: int, device: str, delete: float, add: float) -> float:
    """Seconds for one vote on a large graph: a dense copy after the other, drawn on the device."""
    n, x = graph.n_nodes, torch.as_tensor(np.array(graph.node_data["x"]), device=device)
    clean = torch.zeros((n, n), dtype=torch.bool, device=device)
    clean[tuple(torch.as_tensor(graph.edges.T.copy(), device=device))] = True
    batch = torch.zeros(n, dtype=torch.int64, device=device)
    start = time.perf_counter()
    for _ in range(copies):
        flip = torch.rand((n, n), device=device) < torch.where(clean, delete, add)
        edges = torch.triu(clean ^ flip, 1).nonzero().T
        model(x, torch.cat([edges, edges.flip(0)], dim=1), batch).argmax(dim=1).cpu()
    return (time.perf_counter() - start) / copies


def large(bench: Bench, nodes: int, n_votes: int) -> None:
    """A graph whose pairs nobody draws one by one."""
    graph, delete, add = web(nodes, 3 * nodes), 0.04, 1e-7
    noise, pairs = sc.Noise(bonds=sc.Flip(delete=delete, add=add)), nodes * (nodes - 1) // 2
    model = with_pyg_layers(GCN(7, 2)).to(bench.device).eval()
    copy_by_copy(model, graph, 1, bench.device, delete, add)
    loop = copy_by_copy(model, graph, 4, bench.device, delete, add)
    load = sparse_gcn(nodes, 0, edges_left(pairs, graph.n_edges, delete, add))
    name = f"GCN-64, {nodes:,} nodes, {graph.n_edges:,} edges, delete {delete}, add {add:g}"
    counted = timed(votes(from_pyg(model, n_classes=2), graph, noise, n_votes), bench.device)
    bench.add(name, n_votes, counted, loop, load)


def measure(
    device: str,
    *,
    sizes: tuple[int, ...] = (10_000, 100_000),
    nodes: tuple[int, ...] = (40, 100, 300, 620),
    large_nodes: int = 10_000,
    large_votes: int = 1_024,
    loop_votes: int = 4_096,
    matrix: int = 8_192,
) -> Table:
    """Measures everything; the arguments are what a quick try makes smaller."""
    torch.manual_seed(0)
    rates = Rates.measured(device, size=matrix)
    about = "A vote on a device: the loop is a PyG DataLoader, on the large graph a dense copy after the other."
    table = Table("gpu", about, device=device, **rates.words())
    bench = Bench(table, device, rates)
    parts: dict[str, Callable[[], None]] = {
        "GCN-64 on 18 nodes": lambda: small(bench, sizes, loop_votes),
        **{f"GIN 3 × 64 on {n} nodes": partial(sparse_noise, bench, n, sizes, loop_votes) for n in nodes},
        f"GCN-64 on {large_nodes:,} nodes": lambda: large(bench, large_nodes, large_votes),
    }
    for name, part in parts.items():
        try:
            part()
        except (RuntimeError, ValueError, MemoryError, sc.StarcertError) as error:  # the others are measured still
            table.fail(name, error)
    return table


def main() -> None:
    warnings.simplefilter("ignore")  # of other libraries
    if not torch.cuda.is_available():
        print("no CUDA device here: nothing is measured")
        return
    table = measure("cuda")
    table.write()
    if table.failures:
        sys.exit(1)


if __name__ == "__main__":
    main()
