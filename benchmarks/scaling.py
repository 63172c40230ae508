"""The same votes in one process, and by 1, 2 and 4 workers: of a process pool, and of a Dask cluster on this machine.

    python benchmarks/scaling.py [seconds]

Each classifier votes for about so many seconds (4 unless said otherwise) in this process, and then the same votes are
counted by workers that have voted before. Every process works with one thread. `processor` is the time of all
processes together, next to which the votes in one process tell what it costs to spread them: it hardly changes on a
busy machine, where seconds say little.
"""

from __future__ import annotations

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import logging
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
import psutil

import starcert as sc
from starcert.system.files import versions
from starcert.system.processes import available_cores, worker_processes

GRAPHS = 16
NOISE = sc.Noise(motif=0.02, random=0.45)


@cache
def data() -> sc.datasets.Dataset:
    return sc.datasets.motif(seed=0)


def nothing(batch) -> np.ndarray:
    """Class 0 for every copy, without a look at it: what is left is drawing and sending."""
    return np.zeros(len(batch), dtype=np.int64)


def triangles(graph: nx.Graph) -> int:
    """A plain function of one networkx graph."""
    return int(sum(nx.triangles(graph).values()) > 60)


def histogram() -> sc.classifiers.Classifier:
    """A support vector machine on the vertex histogram kernel, fitted on 1,000 graphs."""
    model = sc.models.KernelSVM(sc.kernels.VertexHistogram()).fit(data().train.graphs, data().train.labels)
    return sc.classifiers.from_sklearn(model)


def module() -> sc.classifiers.Classifier:
    """A GCN with 64 units, as PyTorch Geometric makes it, on the degrees of nodes."""
    import torch  # noqa: PLC0415

    from starcert.classifiers.features import degree  # noqa: PLC0415
    from starcert.models.networks import GCN  # noqa: PLC0415

    torch.manual_seed(0)
    return sc.classifiers.from_pyg(GCN(1, 2, hidden=64), n_classes=2, features=degree())


CLASSIFIERS: dict[str, Callable[[], sc.classifiers.Classifier]] = {
    "nothing": lambda: sc.classifiers.from_callable(nothing, on="batch", n_classes=2),
    "vertex histogram, SVM": histogram,
    "GCN of PyG": module,
    "networkx function": lambda: sc.classifiers.from_callable(triangles, n_classes=2),
}


@contextmanager
def pool(workers: int) -> Iterator[Executor]:
    """The process pool of `--workers`."""
    with worker_processes(workers, "") as executor:
        yield executor


@contextmanager
def dask(workers: int) -> Iterator[Executor]:
    """A Dask cluster on this machine, a process for each worker."""
    from dask import config  # noqa: PLC0415
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with (
        config.set(
            {f"distributed.nanny.pre-spawn-environ.MALLOC_{each}_THRESHOLD_": 2**26 for each in ("TRIM", "MMAP")}
        ),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor()


class Scales(Executor):
    """Weighs what goes to another executor and what comes back, as it is pickled."""

    def __init__(self, inner: Executor) -> None:
        self.inner, self.up, self.down, self.spans = inner, 0, 0, 0

    def submit(self, function, /, *arguments) -> Future:
        """Sends work on."""
        self.up += len(pickle.dumps((function, arguments)))
        self.spans += 1
        future = self.inner.submit(function, *arguments)
        future.add_done_callback(self._weigh)
        return future

    def _weigh(self, future: Future) -> None:
        if not future.cancelled() and future.exception() is None:
            self.down += len(pickle.dumps(future.result()))


def processor_seconds() -> float:
    """What this process and all that it began have used so far, as long as they live."""
    here = psutil.Process()
    return sum(sum(each.cpu_times()[:2]) for each in (here, *here.children(recursive=True)))


def voting(base, samples: int, **settings: object) -> tuple[float, float]:
    """Seconds, and seconds of all processors, for so many votes on each graph."""
    graphs = data().test.graphs[:GRAPHS]
    smoothed = sc.SmoothedClassifier(base, NOISE, data().partition)
    start, used = time.perf_counter(), processor_seconds()
    smoothed.vote(graphs, samples=samples, voting=sc.Voting(selection_samples=100), seed=1, **settings)
    return time.perf_counter() - start, processor_seconds() - used


def row(what: str, seconds: float, processor: float, here: tuple[float, float], more: str = "") -> None:
    times = (
        f"{seconds:>9.2f} s {here[0] / seconds:>8.2f} × {processor:>9.2f} s {100 * (processor / here[1] - 1):>+7.1f}%"
    )
    print(f"{what:<40} {times} {more}", flush=True)


def measure(name: str, wanted: float) -> None:
    """One classifier, everywhere."""
    base = CLASSIFIERS[name]()
    voting(base, 1024)
    few, more = voting(base, 1024)[1], voting(base, 9 * 1024)[1]
    samples = 1024 * max(4, round(8 * wanted / (more - few)))
    chunks = GRAPHS * (samples // 1024 + 1)
    here = voting(base, samples)
    row(f"{name}, in this process", *here, here, f"{1e6 * here[0] / (GRAPHS * samples):.3f} µs a vote")
    with TemporaryDirectory() as folder:
        kept = voting(base, samples, store=Path(folder) / "votes.db")
        row("  with a store", *kept, here)
        for place in (pool, dask):
            for workers in (1, 2, 4):
                if workers > available_cores():
                    continue
                began = time.perf_counter()
                with place(workers) as executor:
                    voting(base, 1024 * workers, executor=executor)
                    ready = time.perf_counter() - began
                    found = voting(base, samples, executor=executor)
                    added = 1e6 * (found[1] - here[1]) / chunks
                    row(
                        f"  {place.__name__}, {workers} worker{'s' * (workers != 1)}",
                        *found,
                        here,
                        f"{added:.0f} µs of processor a chunk; ready in {ready:.1f} s",
                    )
                    if workers == 2:
                        store = Path(folder) / f"{place.__name__}.db"
                        row("    with a store", *voting(base, samples, executor=executor, store=store), kept)
                        scales = Scales(executor)
                        voting(base, samples, executor=scales)
                        each = f"{scales.up / chunks:,.0f} bytes up, {scales.down / chunks:,.0f} down a chunk"
                        print(f"    {each}, {chunks / scales.spans:.0f} chunks a span", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")  # of other libraries
    wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    names = sys.argv[2:] or list(CLASSIFIERS)
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    print(f"{available_cores()} cores; {GRAPHS} graphs of 20 nodes, chunks of 1,024 votes")
    print(f"{'':<40} {'wall':>11} {'scaling':>10} {'processor':>11} {'added':>8}")
    for name in names:
        measure(name, wanted)


if __name__ == "__main__":
    main()
