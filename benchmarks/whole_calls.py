"""Whole calls of `certify` in two source trees, one beside the other: is a redesign as fast as what it replaces?

    python benchmarks/whole_calls.py --before ../other-checkout       # another checkout of this repository
    python benchmarks/whole_calls.py --before ../other-checkout --only evidence exact

One process a tree, both warmed up; then the calls take turns, and the table has medians of processor time with the
ratio of the two. Votes must be the same: the digests of what both trees certify are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
EDGES = 0.12  # of the pairs of a small graph
Prepared = Callable[[], object]
"""A call without arguments; what it returns stands for what it certifies."""


def motif(samples: int, **options: Any) -> Prepared:
    """The paper's synthetic data under its noise, with a kernel classifier."""
    import starcert as sc  # noqa: PLC0415  (of the tree that is measured)

    data = sc.datasets.motif(seed=0)
    model = sc.models.vertex_histogram_svm().fit(data.train.graphs, data.train.labels)
    base = sc.classifiers.from_sklearn(model)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(motif=0.1, random=0.4), regions=data.partition)
    graphs = data.test.graphs[:100]
    return lambda: [one.frontier.radii for one in smoothed.certify(graphs, samples=samples, seed=1, **options)]


def small() -> tuple[Any, Any]:
    """Twenty random graphs of 18 nodes, and a small network on dense matrices."""
    import torch  # noqa: PLC0415

    import starcert as sc  # noqa: PLC0415

    class Paths(torch.nn.Module):
        """Weights on the numbers of paths of two steps."""

        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.randn(18, 18, generator=torch.Generator().manual_seed(0))

        def forward(self, x: torch.Tensor, adjacency: torch.Tensor) -> torch.Tensor:
            """Two logits for each copy."""
            found = (adjacency @ adjacency * self.weights).sum(dim=(1, 2))
            return torch.stack([-found, found], dim=1)

    torch.set_num_threads(1)
    base = sc.classifiers.from_dense(Paths(), n_classes=2, features=sc.classifiers.features.constant())
    rng = np.random.default_rng(0)
    pairs = np.array(np.triu_indices(18, 1)).T
    return base, [sc.Graph(18, pairs[rng.random(len(pairs)) < EDGES]) for _ in range(20)]


def evidence() -> Prepared:
    """Two flips by evidence with votes of their own."""
    import starcert as sc  # noqa: PLC0415

    base, graphs = small()
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(delete=0.05, add=0.01)))
    how = {"samples": 5_000, "seed": 1, "threat": "flips:2", "evidence": sc.Evidence(own_samples=20_000)}
    return lambda: [(one.any_flips, one.broken) for one in smoothed.certify(graphs[:5], **how)]


def listed() -> Prepared:
    """A threat that lists its attacks."""
    import starcert as sc  # noqa: PLC0415

    base, graphs = small()
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(delete=0.05, add=0.01)))
    how = {"samples": 20_000, "seed": 1, "threat": "rewire:1", "evidence": True}
    return lambda: [str(one.verdict("rewire:1")) for one in smoothed.certify(graphs[:10], **how)]


def exact() -> Prepared:
    """All attacks of two flips on 20 graphs of 18 nodes."""
    import starcert as sc  # noqa: PLC0415

    base, graphs = small()
    exactly = sc.ExactClassifier(base)
    return lambda: [one.certified_size for one in exactly.certify(graphs, threat="flips:2")]


def hashed() -> Prepared:
    """Ten voters on hashed node pairs, two flips."""
    import starcert as sc  # noqa: PLC0415

    base, graphs = small()
    voters = sc.HashedVotes(base, groups=10)
    return lambda: [one.certified_size for one in voters.certify(graphs, threat="flips:2")]


def nodes() -> Prepared:
    """All nodes of Cora-ML, 200 votes of two steps of propagation over random scores."""
    import torch  # noqa: PLC0415

    import starcert as sc  # noqa: PLC0415

    graph = sc.datasets.npz(DATA / "CORA_ML" / "cora_ml.npz").graphs[0]

    class Propagation(torch.nn.Module):
        """The scores of a node and of its neighbours, twice."""

        def __init__(self) -> None:
            super().__init__()
            self.scores = torch.randn(graph.n_nodes, 3, generator=torch.Generator().manual_seed(0))

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
            """Three logits for each node of each copy."""
            found = self.scores.repeat(len(x) // len(self.scores), 1)
            for _ in range(2):
                found = found.index_add(0, edge_index[1], found[edge_index[0]])
            return found

    base = sc.classifiers.from_pyg(
        Propagation(), n_classes=3, features=sc.classifiers.features.constant(), targets="nodes"
    )
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(delete=0.1, add=0.0001)))
    return lambda: [one.label for one in smoothed.certify([graph], samples=200, seed=1)]


CALLS: dict[str, Callable[[], Prepared]] = {
    "100 graphs × 20,000 votes": lambda: motif(20_000),
    "100 graphs × 100,000 votes": lambda: motif(100_000),
    "evidence, two flips": evidence,
    "a listed threat": listed,
    "exact, two flips": exact,
    "hashed voters": hashed,
    "nodes of Cora-ML": nodes,
}


def serve() -> None:
    """Runs the calls that are named on standard input, and answers with the time and a digest of what came out."""
    ready: dict[str, Prepared] = {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        try:
            ready[name] = ready.get(name) or CALLS[name]()
            start = time.process_time()
            found = ready[name]()
            answer = {"seconds": time.process_time() - start, "digest": blake2b(repr(found).encode()).hexdigest()[:12]}
        except Exception as error:  # noqa: BLE001  (reported; the other calls are measured)
            answer = {"failed": repr(error)[:300]}
        print(json.dumps(answer), flush=True)


class Tree:
    """A process that measures the calls of one source tree."""

    def __init__(self, path: Path) -> None:
        env = os.environ | {"PYTHONPATH": str(path / "src"), "OMP_NUM_THREADS": "1"}
        words = [sys.executable, __file__, "--serve"]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def call(self, name: str) -> dict[str, Any]:
        """What one call took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(name, file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def main() -> int:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, help="the checkout to compare with")
    parser.add_argument("--runs", type=int, default=7, help="how often each call is measured in each tree")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of the calls to measure")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return 0
    if given.before is None:
        parser.error("--before is missing: another checkout of this repository")
    trees = [Tree(given.before.resolve()), Tree(ROOT)]
    print(f"{'whole call':28} {'before':>9} {'now':>9}  now / before")
    for name in CALLS:
        if given.only and not any(part in name for part in given.only):
            continue
        answers = [[tree.call(name) for tree in trees] for _ in range(given.runs + 1)][1:]  # the first one warms up
        failed = [each["failed"] for each in answers[0] if "failed" in each]
        if failed:
            print(f"{name:28} {failed[0]}")
            continue
        before, now = (statistics.median(each[side]["seconds"] for each in answers) for side in (0, 1))
        same = "" if answers[0][0]["digest"] == answers[0][1]["digest"] else "  (certifies something else)"
        print(f"{name:28} {before:8.2f}s {now:8.2f}s  {now / before:.2f}{same}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
