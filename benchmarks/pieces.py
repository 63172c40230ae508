"""Where the microseconds of a vote go: a GIN with three layers of 32 units on one core, next to a vectorised loop.

The pieces are measured each by itself, again and again on the same copies, so that all they touch is in the cache.
Their sum is the floor: what is left of a vote if nothing else took any time, neither looking at the layers, nor the
audit, nor memory. What the module itself computes is the largest piece, and the same for every loop that runs it as it
is written.

    WIDTH=32 python benchmarks/pieces.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ.setdefault("WIDTH", "32")

import torch

import starcert as sc
from layers import WIDTH, Bench
from starcert.classifiers.torch import from_pyg
from starcert.classifiers.torch.edge_sums import EdgeSums
from starcert.classifiers.torch.graphs import CACHED_NODES
from starcert.classifiers.torch.known_layers import known_layers_in, replace_layers
from starcert.sampling.streams import WordStream
from table import Table, Work, shown

VOTES, CHUNK, REPEATS = 65_536, 1024, 5
FLOOR = "drawing, lists of edges with features, and the module with its sums, each by itself in the cache"


def shortest(work: Callable[[], object], votes: int, repeats: int) -> float:
    """The shortest processor time of some work, for one vote."""
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times[1:]) / votes


@torch.inference_mode()
def pieces(bench: Bench, n: int) -> dict[str, float]:
    """Seconds of a vote by piece."""
    model, noise = bench.model("GIN"), sc.Noise(all=sc.Flip(delete=0.1, add=1 / n))
    base = from_pyg(model, n_classes=2)
    problem = sc.SmoothedClassifier(base, noise).problem([bench.graph("GIN", n)])
    sampler = base.sampler(problem.sites[0], problem.noise)
    copies = sampler.draw(WordStream(1), CHUNK)[: CACHED_NODES // n]
    given = base.inputs(copies)
    x, edge_index, batch = (given[name] for name in ("x", "edge_index", "batch"))
    assert edge_index is not None
    nothing, known = edge_index[:, :0], list(known_layers_in(model))

    def forward() -> torch.Tensor:
        sums = EdgeSums(edge_index, [(len(copies), n)], torch.float32, sorted_by_target=False)
        found: torch.Tensor = replace_layers(model, known, sums)(x, edge_index, batch)
        return found

    module = shortest(lambda: model(x, nothing, batch), len(copies), 200)
    return {
        "drawing": shortest(lambda: sampler.draw(WordStream(1), CHUNK), CHUNK, 50),
        "edges and features": shortest(lambda: base.inputs(copies), len(copies), 200),
        "dense layers": module,
        "sums along edges": shortest(forward, len(copies), 200) - module,
    }


def main() -> None:
    bench = Bench("cpu")
    about = (
        "A vote of a GIN with three layers, whole calls; the loop is vectorised: one PyG batch of 256 18-node graphs."
    )
    table = Table("pieces", about, votes=VOTES, units=WIDTH)
    for n in (20, 40, 71):
        call, loop = bench.vote("GIN", n, VOTES), bench.loop("GIN", n, VOTES)
        found = pieces(bench, n)
        whole, other = (shortest(lambda work=work: work(1), VOTES, REPEATS) for work in (call, loop))
        note = ", ".join(f"{name} {shown(seconds)}" for name, seconds in found.items())
        table.add(Work(f"GIN, {n} nodes", whole, other, sum(found.values()), FLOOR, note=note))
    table.write()


if __name__ == "__main__":
    main()
