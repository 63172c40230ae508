"""Votes of a GCN on noisy 18-node graphs, on one CPU core and, where there is one, on a CUDA device.

Next to the obvious loop: one PyG `Data` for each noisy graph, a DataLoader, the model on its batches. Device times are
by device events, after warm-up.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch

import starcert as sc
from starcert.classifiers import features
from starcert.classifiers.torch import TorchClassifier, from_dense, from_pyg
from starcert.voting import Chunk, Job, count_chunk

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader

    from starcert.models.gcn import GCN

VOTES = 100_000


def molecule(n: int = 18) -> sc.Graph:
    """A graph of the size of MUTAG's: a chain with rings, seven kinds of atoms."""
    rng = np.random.default_rng(0)
    edges = [(i, i + 1) for i in range(n - 1)] + [(0, 5), (6, 11)]
    return sc.Graph(n, edges, node_data={"x": np.eye(7, dtype=np.float32)[rng.integers(7, size=n)]})


def milliseconds(work: Callable[[], object], repetitions: int = 10) -> float:
    """The median time by device events."""
    for _ in range(3):
        work()
    times = []
    for _ in range(repetitions):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return float(np.median(times))


def votes(classifier: TorchClassifier, graph: sc.Graph, noise: sc.Noise) -> Callable[[], object]:
    sites = sc.Partition.everything("bonds").sites(graph)
    job = Job(classifier, sc.Problem(noise, (sites,)), seed=1, chunk_size=VOTES, batch_size=classifier.batch_size)
    return lambda: count_chunk(classifier, sites, job, Chunk(0, "estimation", 0, VOTES))


def obvious(model: torch.nn.Module, graph: sc.Graph, samples: int, device: str) -> float:
    """Seconds for one vote: each noisy graph a Data object, batches of 128 from a DataLoader."""
    n, x = graph.n_nodes, torch.as_tensor(np.array(graph.node_data["x"]))
    upper = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
    clean = torch.as_tensor(graph.to_numpy()).bool()
    start = time.perf_counter()
    noisy = []
    for _ in range(samples):
        flip = torch.rand(n, n) < torch.where(clean, 0.04, 0.2)
        present = (clean ^ flip) & upper
        noisy.append(Data(x=x, edge_index=(present | present.T).nonzero().T.contiguous()))
    with torch.inference_mode():
        for loaded in DataLoader(noisy, batch_size=128):
            batch = loaded.to(device)
            model(batch.x, batch.edge_index, batch.batch).argmax(dim=1).cpu()
    return (time.perf_counter() - start) / samples


def a_vote(classifier: TorchClassifier, graph: sc.Graph, noise: sc.Noise) -> float:
    """Seconds for one vote on the CPU."""
    smoothed = sc.SmoothedClassifier(classifier, noise)
    smoothed.vote([graph], samples=2048, seed=1)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        smoothed.vote([graph], samples=20_480, seed=1)
        times.append((time.perf_counter() - start) / 20_480)
    return min(times)


def on_cpu(graph: sc.Graph, noise: sc.Noise) -> None:
    torch.set_num_threads(1)
    model = GCN(7, 2).eval()
    obvious(model, graph, 256, "cpu")
    loop = min(obvious(model, graph, 2048, "cpu") for _ in range(3))
    print(f"one CPU core, a vote on an 18-node graph; obvious loop {1e6 * loop:.1f} µs")
    for name, classifier in (
        ("any PyG module", from_pyg(model, n_classes=2)),
        ("dense adjacency (target 8 ×)", from_dense(model.dense(), n_classes=2)),
    ):
        taken = a_vote(classifier, graph, noise)
        print(f"{name:<28} {1e6 * taken:>10.2f} µs {loop / taken:>9.1f} ×")
    # The same network on as many columns: features of every noisy copy beside node data that all copies share.
    for name, make, net in (("any PyG module", from_pyg, model), ("dense adjacency", from_dense, model.dense())):
        of_copies, shared = (
            a_vote(make(net, n_classes=2, features=what), graph, noise) for what in (features.one_hot_degree(6), "x")
        )
        print(f"{name + ', degrees':<28} {1e6 * of_copies:>10.2f} µs {of_copies / shared:>9.2f} × of node data")
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def on_cuda(graph: sc.Graph, noise: sc.Noise) -> None:
    model = GCN(7, 2).cuda().eval()
    obvious(model, graph, 256, "cuda")
    loop = obvious(model, graph, 4096, "cuda") * VOTES * 1e3
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; {VOTES:,} votes on an 18-node graph")
    print(f"{'obvious loop':<28} {loop:>10.1f} ms (scaled from 4,096)")
    degrees = features.one_hot_degree(6)
    for name, classifier, with_degrees, target in (
        ("any PyG module", from_pyg(model, n_classes=2), from_pyg(model, n_classes=2, features=degrees), 20),
        (
            "dense adjacency",
            from_dense(model.dense(), n_classes=2),
            from_dense(model.dense(), n_classes=2, features=degrees),
            3,
        ),
    ):
        torch.cuda.reset_peak_memory_stats()
        taken = milliseconds(votes(classifier, graph, noise))
        peak = torch.cuda.max_memory_allocated() / 2**30
        print(f"{name:<28} {taken:>10.2f} ms (target {target}) {loop / taken:>9,.0f} ×  {peak:.1f} GiB")
        of_copies = milliseconds(votes(with_degrees, graph, noise))
        print(f"{name + ', degrees':<28} {of_copies:>10.2f} ms {of_copies / taken:>9.2f} × of node data")


def main() -> None:
    graph, noise = molecule(), sc.Noise(bonds=sc.Flip(delete=0.04, add=0.2))
    torch.manual_seed(0)
    on_cpu(graph, noise)
    if torch.cuda.is_available():
        on_cuda(graph, noise)
    else:
        print("no CUDA device here")


if __name__ == "__main__":
    main()
