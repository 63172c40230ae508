"""Whole `certify()` calls that ask about each distinct noisy copy once, next to those that ask about every copy.

The obvious loop is vectorised: numpy draws all node pairs of a batch at once, and the module sees one block-diagonal
PyG batch. Beside it stands the same loop with `np.unique` over a chunk, which is the first thing to write once copies
are known to repeat. All ways are called in turn; times are processor times, and medians.

    python benchmarks/distinct.py --kinds GIN --nodes 18 --votes 10000
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

import starcert as sc
from layers import Net, graph
from starcert.voting import distinct
from table import RESULTS, Table, Work

ABOUT = "A vote in a whole certify() call of three layers and a sum, one core; the loop is one PyG batch at a time."
NOISES = {
    ".04/.004": sc.Flip(delete=0.04, add=0.004),
    ".01/.01": sc.Flip(0.01),
    "one-way .9": sc.Flip(delete=0.9, add=0),
    "one-way .97": sc.Flip(delete=0.97, add=0),
    ".1/.02": sc.Flip(delete=0.1, add=0.02),
}
CASES = (  # votes, nodes, noises
    (10_000, 18, tuple(NOISES)),
    (100_000, 18, tuple(NOISES)),
    (10_000, 30, tuple(NOISES)),
    (100_000, 30, (".04/.004", "one-way .97")),
)
BATCH = 256  # copies in a batch of the loop; the fastest of 64 to 2,048
CHUNK = 10_000  # copies that np.unique looks at

Call = Callable[[int], object]
Bits = npt.NDArray[np.bool_]


def certifying(model: Net, clean: sc.Graph, law: sc.Flip, votes: int, rare: float) -> Call:
    """A whole call, by its seed; no table is used where `rare` is more than 1."""
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_pyg(model, n_classes=2), sc.Noise(all=law))

    def call(seed: int) -> object:
        before, distinct.RARE = distinct.RARE, rare
        try:
            return smoothed.certify([clean], samples=votes, seed=seed)
        finally:
            distinct.RARE = before

    return call


def loop(model: Net, clean: sc.Graph, law: sc.Flip, votes: int, *, unique: bool) -> Call:
    """The loop, by its seed."""
    n = clean.n_nodes
    one, other = np.triu_indices(n, 1)
    shown = clean.to_numpy()[one, other] > 0
    chance = np.where(shown, law.delete, law.add).astype(np.float32)
    x = torch.as_tensor(clean.node_data["x"].copy())

    def answers(copies: Bits) -> npt.NDArray[np.int64]:
        copy, site = np.nonzero(copies)
        u, v = one[site] + copy * n, other[site] + copy * n
        edge_index = torch.from_numpy(np.stack([np.concatenate([u, v]), np.concatenate([v, u])]))
        batch = torch.arange(len(copies)).repeat_interleave(n)
        found: npt.NDArray[np.int64] = model(x.repeat(len(copies), 1), edge_index, batch).argmax(dim=1).numpy()
        return found

    def call(seed: int) -> object:
        rng, counts, size = np.random.default_rng(seed), np.zeros(2, dtype=np.int64), CHUNK if unique else BATCH
        with torch.inference_mode():
            for first in range(0, votes, size):
                flips = rng.random((min(size, votes - first), len(one)), dtype=np.float32) < chance
                if not unique:
                    counts += np.bincount(answers(shown ^ flips), minlength=2)
                    continue
                rows = np.packbits(flips, axis=1)
                _, firsts, number = np.unique(
                    rows.view(f"V{rows.shape[1]}")[:, 0], return_index=True, return_counts=True
                )
                for start in range(0, len(firsts), BATCH):
                    some = slice(start, start + BATCH)
                    counts += np.bincount(answers(shown ^ flips[firsts[some]]), number[some], 2).astype(np.int64)
        return counts

    return call


def measure(kind: str, n: int, name: str, votes: int, repeats: int) -> Work:
    """A line of the table."""
    model, clean, law = Net(kind).eval(), graph(kind, n), NOISES[name]
    ways = [
        certifying(model, clean, law, votes, distinct.RARE),
        certifying(model, clean, law, votes, 2),
        loop(model, clean, law, votes, unique=False),
        loop(model, clean, law, votes, unique=True),
    ]
    times: list[list[float]] = [[] for _ in ways]
    for seed in range(repeats + 1):
        for way, seconds in zip(ways, times, strict=True):
            start = time.process_time()
            way(seed)
            seconds.append((time.process_time() - start) / votes)
    found, every, plain, unique = (statistics.median(each[1:]) for each in times)  # the first call compiles
    note = f"{every / found:.2f} × every copy asked, {unique / found:.2f} × the loop with np.unique"
    more = {"every_copy_seconds": every, "unique_loop_seconds": unique}
    return Work(f"{kind}, {n} nodes, {name}, {votes:,} votes", found, plain, note=note, more=more)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=["GIN", "GCN"], choices=["GIN", "GCN"])
    parser.add_argument("--nodes", nargs="+", type=int, default=[18, 30], choices=[18, 30])
    parser.add_argument("--noises", nargs="+", default=list(NOISES), choices=list(NOISES))
    parser.add_argument("--votes", nargs="+", type=int, default=[10_000, 100_000], choices=[10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the results")
    given = parser.parse_args()
    torch.set_num_threads(1)
    table = Table("distinct", ABOUT, repeats=given.repeats)
    for votes, n, noises in CASES:
        if votes in given.votes and n in given.nodes:
            for name in (each for each in noises if each in given.noises):
                for kind in given.kinds:
                    table.add(measure(kind, n, name, votes, given.repeats))
    table.write(given.out)


if __name__ == "__main__":
    main()
