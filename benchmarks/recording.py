"""What recording flips costs: voting with and without it, in turns, in one process.

    python benchmarks/recording.py

One core. The graphs are the paper's synthetic ones, the machine is the vertex-histogram one; the noise differs. Every
chunk is counted both ways in turn; its times are the shortest of several. Where there is a CUDA device, the same for a
network on a molecule, drawn there.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

import starcert as sc
from starcert.classifiers import Classifier
from starcert.objects import Sites
from starcert.voting.counting import tallies
from starcert.voting.plans import Chunk, Job
from table import Table, Work

VOTES = 100 * 1024
REPETITIONS = 7
ABOUT = "A vote with its flips recorded where it is against the class; the floor is the same vote without."


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def votes(job: Job, chunks: list[Chunk]) -> None:
    for _ in tallies(job, chunks):
        pass


def compare(table: Table, name: str, base: Classifier, sites: Sites, noise: sc.Noise, chunk_size: int) -> None:
    """A line of the table: the time of a vote with its flips recorded, next to the same without."""
    job = Job(base, sc.Problem(noise, (sites,)), seed=1, chunk_size=chunk_size)
    label = int(next(tallies(job, [Chunk(0, "selection", 0, chunk_size)])).counts[0].argmax())
    chunks = [Chunk(0, "estimation", i, chunk_size) for i in range(max(1, VOTES // chunk_size))]
    share = sum(tally.counts[0, label] for tally in tallies(job, chunks)) / len(chunks) / chunk_size
    times = np.zeros((REPETITIONS, 2))
    for turn in range(REPETITIONS):
        for way, against in enumerate((None, label)):
            times[turn, way] = seconds(partial(votes, job, [chunk._replace(against=against) for chunk in chunks]))
    plain, recorded = (times.min(axis=0) / VOTES).tolist()
    table.add(Work(name, recorded, None, plain, "the same votes counted, no flips recorded", note=f"p_A {share:.4f}"))


def machines(table: Table) -> None:
    data = sc.datasets.motif(seed=0)
    machine = sc.models.vertex_histogram_svm().fit(data.train.graphs, data.train.labels)
    base = sc.classifiers.from_sklearn(machine)
    for p in ((0.02, 0.45), (0.06, 0.06), (0.1, 0.1)):
        noise = sc.Noise(motif=p[0], random=p[1])
        for kind in (0, 1):
            clean = next(g for g, label in zip(data.test.graphs, data.test.labels, strict=True) if label == kind)
            what = f"vertex histogram, {('cycle', 'clique')[kind]}, p = {p}"
            compare(table, what, base, data.partition.sites(clean), noise, 1024)


def networks() -> Table | None:
    import torch  # noqa: PLC0415

    from starcert.classifiers.torch import from_dense  # noqa: PLC0415
    from starcert.models.networks import GCN  # noqa: PLC0415

    if not torch.cuda.is_available():
        return None
    table = Table("recording", ABOUT, device="cuda", votes=VOTES, repetitions=REPETITIONS)

    class Shifted(torch.nn.Module):
        """A network that answers class 0 on nine copies in ten."""

        def __init__(self, net: torch.nn.Module) -> None:
            super().__init__()
            self.net, self.shift, self.margins = net, 0.0, torch.empty(0)

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            scores = self.net(*inputs)
            self.margins = scores[:, 0] - scores[:, 1]
            return torch.stack([self.margins - self.shift, torch.zeros_like(self.margins)], dim=1)

    rng = np.random.default_rng(0)
    edges = [(i, i + 1) for i in range(17)] + [(0, 5), (6, 11)]
    clean = sc.Graph(18, edges, node_data={"x": np.eye(7, dtype=np.float32)[rng.integers(7, size=18)]})
    sites = sc.Partition.everything("bonds").sites(clean)
    torch.manual_seed(0)
    for p in (0.02, 0.1):
        noise = sc.Noise(bonds=p)
        net = Shifted(GCN(7, 2).cuda().eval().dense())
        base = from_dense(net, n_classes=2)
        next(tallies(Job(base, sc.Problem(noise, (sites,)), 1, 4096), [Chunk(0, "estimation", 0, 4096)]))
        net.shift = float(net.margins.quantile(0.1))
        compare(table, f"GCN on 18 nodes, dense, p = {p}", from_dense(net, n_classes=2), sites, noise, VOTES)
    return table


def main() -> None:
    warnings.simplefilter("ignore")  # of other libraries
    table = Table("recording", ABOUT, votes=VOTES, repetitions=REPETITIONS)
    machines(table)
    table.write()
    try:
        on_device = networks()
    except ImportError:
        print("without torch: no device")
    else:
        if on_device is not None:
            on_device.write()


if __name__ == "__main__":
    main()
