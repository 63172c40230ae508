"""Nodes of one large graph: votes of starcert, and the loop over copies that one would write instead, in turns.

    STARCERT_DATA=… python benchmarks/nodes.py

Cora-ML (2,810 nodes, 7,981 links, 2,879 words), a network of two graph convolutions with 64 units, its words noisy, or
its links, or both. The loop draws a dense copy with torch, calls the network and counts its answers. Both run on the
GPU where there is one, after a warm-up; otherwise on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import torch

import starcert as sc
from floors import FLOAT, Load, Rates, edges_left
from starcert.benchmark.data import nodes_of
from starcert.objects.laws import Flip
from starcert.voting.counting import tallies
from starcert.voting.plans import Chunk, Job
from starcert_studies.kinds.cora import NOISES, Cora
from table import Table, Work


def seconds(work: Callable[[], object]) -> float:
    """The time of some work, with all that it left on the device."""
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def noisy(clean: torch.Tensor, law: Flip) -> torch.Tensor:
    """A dense copy of bits."""
    flips = torch.rand(clean.shape, device=clean.device) < torch.where(clean, law.delete, law.add)
    return clean ^ flips


@torch.inference_mode()
def loop(smoothed: sc.SmoothedClassifier, graph: sc.Graph, noise: sc.Noise, copies: int) -> torch.Tensor:
    """What one would write: copy by copy."""
    model = smoothed.classifier.model
    device = next(model.parameters()).device
    x = torch.from_numpy(nodes_of("Cora-ML").graph.node_data["x"].astype(bool)).to(device)
    upper = torch.zeros(graph.n_nodes, graph.n_nodes, dtype=torch.bool, device=device)
    upper[tuple(torch.from_numpy(graph.edges.T.copy()).to(device))] = True
    counts = torch.zeros(graph.n_nodes, nodes_of("Cora-ML").n_classes, dtype=torch.int64, device=device)
    for _ in range(copies):
        words = noisy(x, noise["words"]) if "words" in noise else x
        links = torch.triu(noisy(upper, noise["links"]), 1) if "links" in noise else upper
        edges = links.nonzero().T
        answers = model(words.float(), torch.cat([edges, edges.flip(0)], dim=1)).argmax(dim=1)
        counts[torch.arange(graph.n_nodes, device=device), answers] += 1
    return counts


def load(graph: sc.Graph, noise: sc.Noise, hidden: int = 64) -> Load:
    """Two convolutions whose first layer multiplies the words that are there: products read and write once."""
    n, n_words = graph.n_nodes, nodes_of("Cora-ML").graph.node_data["x"].shape[1]
    words, edges = int(nodes_of("Cora-ML").graph.node_data["x"].sum()), graph.n_edges
    present = edges_left(n * n_words, words, noise["words"].delete, noise["words"].add) if "words" in noise else words
    if "links" in noise:
        edges = edges_left(n * (n - 1) // 2, edges, noise["links"].delete, noise["links"].add)
    arcs = 2 * edges + n
    classes = nodes_of("Cora-ML").n_classes
    return Load(
        bytes=FLOAT * (2 * present + 2 * arcs + n * (3 * hidden + 2 * classes)),
        multiply_adds=present * hidden + arcs * (hidden + classes) + n * hidden * classes,
    )


FLOOR = "bytes of words, links and layers by the bandwidth of a copy, or multiply-adds by the rate of a matrix product"


def main() -> None:
    on_gpu = torch.cuda.is_available()
    torch.set_num_threads(1)
    copies, few = (4096, 256) if on_gpu else (64, 8)
    device = "cuda" if on_gpu else "cpu"
    rates = Rates.measured(device, size=4096 if on_gpu else 1024)
    about = "A vote on all nodes of Cora-ML; the loop draws a dense copy with torch, asks the network and counts."
    table = Table("nodes", about, device=device, copies=copies, copies_of_the_loop=few, **rates.words())
    for name, noise in NOISES.items():
        smoothed, graph = Cora(epochs=20).smoothed(name)
        problem = smoothed.problem([graph])
        job = Job(smoothed.classifier, problem, seed=1, chunk_size=copies)
        chunks = [Chunk(0, "estimation", number, copies) for number in range(3)]
        loop(smoothed, graph, noise, 2)
        list(tallies(job, chunks[:1]))
        ours = min(seconds(partial(list, tallies(job, [chunk]))) for chunk in chunks[1:])
        theirs = min(seconds(partial(loop, smoothed, graph, noise, few)) for _ in range(2))
        floor = rates.floor(load(graph, noise))
        table.add(Work(f"noisy: {name}", ours / copies, theirs / few, floor, FLOOR))
    table.write()


if __name__ == "__main__":
    main()
