"""Devices to run a test on: the CPU everywhere, and CUDA where there is one; networks and graphs for both."""

import numpy as np
import pytest

import starcert as sc

torch = pytest.importorskip("torch")

CUDA = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
DEVICES = ["cpu", pytest.param("cuda", marks=CUDA)]
"""What tests are parametrised by: the same checks on both."""


def chain(n: int) -> sc.Graph:
    """A chain with rings, seven kinds of nodes."""
    rng = np.random.default_rng(n)
    edges = [(i, i + 1) for i in range(n - 1)] + [(i, i + 5) for i in range(0, n - 5, 6)]
    return sc.Graph(n, edges, node_data={"x": np.eye(7, dtype=np.float32)[rng.integers(7, size=n)]})


def web(n: int, n_edges: int) -> sc.Graph:
    """A random graph, seven kinds of nodes."""
    rng = np.random.default_rng(n)
    pairs = np.unique(np.sort(rng.integers(n, size=(2 * n_edges, 2)), axis=1), axis=0)
    chosen = rng.permutation(pairs[pairs[:, 0] != pairs[:, 1]])[:n_edges]
    return sc.Graph(n, chosen, node_data={"x": np.eye(7, dtype=np.float32)[rng.integers(7, size=n)]})


def clean_bits(sites) -> np.ndarray:
    """The clean bit of every site."""
    clean = np.zeros(sites.n_sites, dtype=np.uint8)
    clean[sites.nonzero[0]] = 1
    return clean
