"""Small classifiers and graphs for the tests, importable by worker processes."""

import os
import random
import time

import networkx as nx
import numpy as np

import starcert as sc

NOISE = sc.Noise(core=0.1, rest=0.4)
PARTITION = sc.Partition.from_node_sets({"core": range(6), "rest": range(6, 12)})


def graphs(n: int = 3) -> list[sc.Graph]:
    return [sc.Graph.from_networkx(nx.gnp_random_graph(12, 0.4, seed=seed)) for seed in range(n)]


def parity(graph: nx.Graph) -> int:
    """The parity of the number of edges: under noise, its law is known in closed form."""
    return graph.number_of_edges() % 2


def dense_core(batch) -> np.ndarray:
    """Whether the first six nodes have more than 20 ends of edges: a function of a whole batch."""
    return (batch.degrees()[:, :6].sum(axis=1) > 20).astype(int)


def slow_dense_core(batch) -> np.ndarray:
    time.sleep(0.02)
    return dense_core(batch)


class Calls(list):
    """What a test notes of the calls of a classifier; it travels empty, and noting changes no classifier."""

    def __reduce_ex__(self, protocol):
        return type(self), ()


class Suicidal:
    """Kills the process of a worker once: a file is its memory."""

    def __init__(self, marker: str) -> None:
        self.marker = marker
        self.home = os.getpid()

    def __call__(self, batch) -> np.ndarray:
        if os.getpid() != self.home and not os.path.exists(self.marker):
            with open(self.marker, "w", encoding="utf-8"):
                pass
            os._exit(1)
        return dense_core(batch)


class Heavy(Suicidal):
    """Notes every process that unpickles it, and is too large to travel every time; does not die unless it shall."""

    def __init__(self, folder: str, *, dies: bool = False) -> None:
        super().__init__(os.path.join(folder, "died") if dies else folder)
        self.notes = os.path.join(folder, "unpickled")
        self.ballast = random.Random(0).randbytes(100_000)

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        with open(self.notes, "a", encoding="utf-8") as notes:
            notes.write(f"{os.getpid()}\n")

    def unpickled(self) -> list[str]:
        """The processes, each as often as it did."""
        with open(self.notes, encoding="utf-8") as notes:
            return notes.read().split()


def smoothed(function=dense_core, on: str = "batch", description: str | None = None) -> sc.SmoothedClassifier:
    base = sc.classifiers.from_callable(function, on=on, description=description)
    return sc.SmoothedClassifier(base, NOISE, PARTITION)
