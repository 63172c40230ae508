"""Archives with deep votes, and side files in which their arrays are changed."""

import io
import json
import zipfile
from functools import cache
from hashlib import sha256
from pathlib import Path

import networkx as nx
import numpy as np
from archive_worlds import nodes, sized, small, typed, vectors

import starcert as sc
from starcert.files import Archive

RING = sc.Graph.from_networkx(nx.cycle_graph(9))


def ring(
    limit: int = 40, noise: object = 0.01, *, own: int = 0, deep: int = 10_000, threat: object = "flips:2"
) -> Archive:
    """A ring of nine nodes: whether the squares of the degrees add up to more than its own, and this."""
    base = sc.classifiers.from_callable(
        lambda batch: ((batch.degrees().astype(int) ** 2).sum(axis=1) > 36 + limit).astype(int), n_classes=2, on="batch"
    )
    smoothed, evidence = sc.SmoothedClassifier(base, sc.Noise(all=noise)), sc.Evidence(own, deep_samples=deep)
    return Archive.from_result(smoothed.certify([RING], samples=2_000, seed=1, threat=threat, evidence=evidence))


DEEP = sc.Evidence(0, deep_samples=2_000)
DEEP_WORLDS = {
    "two flips": ring,
    "a bet": lambda: ring(60, 0.07),
    "too few": lambda: ring(deep=300),
    "for certain": lambda: ring(21, 0.005),
    "own votes": lambda: ring(deep=300, own=80_000),
    "rewire": lambda: ring(threat="rewire:1"),
    "delete and add": lambda: ring(30, sc.Flip(delete=0.05, add=0.004)),
    "one-way": lambda: ring(30, sc.Flip(delete=0.05, add=0), threat="deletions:2"),
    "three classes": lambda: small(sized, sc.Noise(all=0.03), 3, evidence=DEEP, threat="flips:2", samples=500),
    "typed edges": lambda: typed(
        sc.Noise(all=sc.Edges(delete=0.1, add=0.1, change=0.1)),
        evidence=sc.Evidence(0, deep_samples=6_000),
        samples=300,
    ),
    "three values": lambda: vectors(evidence=DEEP, samples=300, threat="flips:2"),
    "nodes": lambda: nodes(evidence=sc.Evidence(0, deep_samples=6_000), samples=300),
}


@cache
def deep_world(name: str) -> Archive:
    return DEEP_WORLDS[name]()


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    with np.load(path.with_name("certificates.evidence.npz"), allow_pickle=False) as file:
        return dict(file)


def replaced(path: Path, arrays: dict[str, np.ndarray], *, deep_votes: int | None = None, **changes: object) -> None:
    """Another side file, which the JSON file vouches for: whoever can change one can change both."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, np.asarray(changes.get(name, array)).astype(array.dtype))
            file.writestr(f"{name}.npy", content.getvalue())
    told = json.loads(path.read_text())
    told["evidence"] |= {"bytes": len(packed.getvalue()), "sha256": sha256(packed.getvalue()).hexdigest()}
    told |= {} if deep_votes is None else {"deep_votes": deep_votes}
    path.write_text(json.dumps(told))
    path.with_name("certificates.evidence.npz").write_bytes(packed.getvalue())
