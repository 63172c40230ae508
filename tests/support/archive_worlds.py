"""Archives for the tests, of counts and with evidence; and files in which claims are changed."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
from asking import how_to

import starcert as sc
from starcert.archive import Archive, Verification, verify, write
from starcert.objects import threats


def written(folder: Path, archive: Archive) -> Path:
    path = folder / "certificates.json"
    write(path, archive)
    return path


def tampered(path: Path, graph: int, **changes: object) -> Verification:
    """The verification of a file in which claims about one graph are replaced."""
    content = json.loads(path.read_text())
    assert changes.keys() <= content["graphs"][graph]["claims"].keys()
    content["graphs"][graph]["claims"] |= changes
    other = path.with_name("tampered.json")
    other.write_text(json.dumps(content))
    return verify(other)


def found(result: Verification) -> list[tuple[int, str]]:
    return [(each.graph, each.field) for each in result.mismatches]


FOUR_REGIONS = sc.Noise(a=0.05, b=sc.Flip(delete=0.1, add=0.3), c=0.2, d=0.4)


def two_classes() -> Archive:
    votes = sc.Votes([[9_990, 10], [1_000, 9_000], [5_020, 4_980]], selection=[[99, 1], [10, 90], [60, 40]])
    result = sc.certify(
        sc.clopper_pearson(votes, alpha=0.001),
        sc.Noise(motif=0.1, random=0.3),
        capacity=[(10, 28), (3, 45), (6, 6)],
        anchored=["", "The rule for the regions reads the graph's own edges.", ""],
    )
    return Archive.from_result(
        result,
        names=["benzene", "<b>\x1b[31mnot bold\ud800", "naïve ☃"],
        labels=[0, None, 1],
        class_names=["safe", "toxic"],
        settings={"model": "model.py:load", "samples": 10_000, "nested": {"x": [1.5, None, True]}},
    )


def three_classes(selection: bool = True, **spent: str) -> Archive:
    """The first graph is decided by the multi-class margin, the second by the two-class one."""
    counts = [[6_000, 2_500, 1_500], [9_500, 500, 0]]
    votes = sc.Votes(counts, selection=[[60, 25, 15], [95, 5, 0]] if selection else None)
    bounds = sc.clopper_pearson(votes, **spent)
    return Archive.from_result(sc.certify(bounds, sc.Noise(a=0.4, b=0.45), max_radius=(9, 9)))


def four_regions() -> Archive:
    votes = sc.Votes([[9_999, 1], [9_000, 1_000]], selection=[[100, 0], [90, 10]])
    return Archive.from_result(sc.certify(sc.clopper_pearson(votes), FOUR_REGIONS, max_radius=(3, 3, 3, 4, 6)))


def random_votes(n_graphs: int, n_classes: int, seed: int) -> sc.Votes:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([0.4] * n_classes, n_graphs)
    return sc.Votes(rng.multinomial(1_000, shares), selection=rng.multinomial(100, shares))


FILES = {"certificates.json", "certificates.chunks.npz", "certificates.evidence.npz"}  # of an archive with evidence

COUNTS = [
    two_classes,
    three_classes,
    lambda: three_classes(selection=False),
    lambda: three_classes(family="all"),
    four_regions,
]
"""Archives without evidence."""


def many_edges(graph: nx.Graph) -> int:
    """Almost a count of edges: the pair (0, 1) has a say of its own."""
    return int(graph.number_of_edges() + 3 * graph.has_edge(0, 1) > 7)


def more_than_five(graph: nx.Graph) -> int:
    return int(graph.number_of_edges() > 5)


def sized(graph: nx.Graph) -> int:
    return min(2, graph.number_of_edges() // 4)


def small(function: Callable[[nx.Graph], int], noise: sc.Noise, n_classes: int = 2, **how: object) -> Archive:
    """Graphs of five nodes: a path, one with the pair (0, 1), and a complete one."""
    graphs = [nx.path_graph(5), nx.empty_graph(5), nx.complete_graph(5)]
    graphs[1].add_edges_from([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    base = sc.classifiers.from_callable(function, n_classes=n_classes)
    smoothed = sc.SmoothedClassifier(base, noise)
    how = {"samples": 2_000, "seed": 3, "evidence": True} | how
    return Archive.from_result(smoothed.certify([sc.Graph.from_networkx(g) for g in graphs], **how_to(**how)))


def typed(noise: sc.Noise, **how: object) -> Archive:
    """Three graphs of five nodes with edges of two types: those of the second count, the pair (0, 1) most."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    kinds = [["s", "d", "s", "d"], ["d", "d", "s", "d", "d"], ["d"] * 5]
    names = {"type_names": ("s", "d")}
    graphs = [sc.Graph(5, edges[: len(each)], edge_types=each, **names) for each in kinds]

    def heavy(batch: object) -> np.ndarray:
        values = np.asarray(batch.values)
        return ((values == 2).sum(axis=1) + 2 * (values[:, 0] == 1) > 4).astype(int)

    base = sc.classifiers.from_callable(heavy, on="batch", n_classes=2)
    how = {"samples": 2_000, "seed": 3, "evidence": True, "threat": "flips:2"} | how
    return Archive.from_result(sc.SmoothedClassifier(base, noise).certify(graphs, **how))


def vectors(**how: object) -> Archive:
    """Rows of six values from 0 to 2 and two bits: whether there are many 2s."""
    rows = [(0, 1, 2, 2, 1, 0), (2, 2, 2, 1, 2, 2), (0, 0, 1, 0, 1, 1)]
    objects = [sc.Categories(row, values=3) for row in rows]

    def many(batch: object) -> np.ndarray:
        return ((np.asarray(batch.values) == 2).sum(axis=1) > 3).astype(int)

    base = sc.classifiers.from_callable(many, on="batch", n_classes=2)
    noise = sc.Noise(left=sc.Categorical(0.2, 3), right=sc.Categorical(0.3, 3))
    smoothed = sc.SmoothedClassifier(base, noise, {"left": [0, 1, 2], "right": [3, 4, 5]})
    how = {"samples": 3_000, "seed": 3, "evidence": True} | how
    return Archive.from_result(smoothed.certify(objects, **how))


class _Degrees(sc.classifiers.Classifier):
    """Of the first three nodes whether they have more than one neighbour."""

    n_classes, description = 2, "degrees"

    def n_targets(self, frame: object) -> int:
        return 3

    def classify(self, graphs: object) -> np.ndarray:
        return (graphs.degrees()[:, :3] > 1).astype(int)


def nodes(**how: object) -> Archive:
    """Three targets: a node of degree 4, one of degree 1 and one of degree 2."""
    smoothed = sc.SmoothedClassifier(_Degrees(), sc.Noise(all=sc.Flip(delete=0.2, add=0.1)))
    graph = sc.Graph(6, [(0, 1), (0, 2), (0, 3), (0, 4), (2, 5)])
    how = {"samples": 3_000, "seed": 3, "evidence": True, "threat": "flips:2", "own_samples": 9_000} | how
    return Archive.from_result(smoothed.certify([graph], **how_to(**how)))


def motif() -> Archive:
    """Three graphs of the motif data."""
    data = sc.datasets.motif(seed=0)
    base = sc.classifiers.from_sklearn(sc.models.vertex_histogram_svm().fit(data.train.graphs, data.train.labels))
    smoothed = sc.SmoothedClassifier(base, sc.Noise(motif=0.1, random=0.3), regions=data.partition)
    graphs = [data.test.graphs[i] for i in (0, 1, 50)]
    result = smoothed.certify(
        graphs, samples=2_000, seed=1, threat=sc.threats.Box((1, 3)), evidence=sc.Evidence(own_samples=20_000)
    )
    return Archive.from_result(result)


EVIDENCE = {
    "edges": lambda: small(many_edges, sc.Noise(all=0.1)),
    "by region": lambda: small(many_edges, sc.Noise(all=sc.Flip(delete=0.1, add=0.2))),
    "one-way": lambda: small(many_edges, sc.Noise(all=sc.Flip(delete=0.25, add=0.0))),
    "no own votes": lambda: small(many_edges, sc.Noise(all=sc.Flip(delete=0.1, add=0.2)), own_samples=0),
    "three classes": lambda: small(sized, sc.Noise(all=0.1), 3),
    "together": lambda: small(many_edges, sc.Noise(all=0.1), family="all"),
    "stopped": lambda: small(many_edges, sc.Noise(all=0.1), plan="decided", samples=5_000, chunk_size=256),
    "typed edges": lambda: typed(sc.Noise(all=sc.Edges(delete=0.1, add=0.05, change=0.15))),
    "flips of typed edges": lambda: typed(sc.Noise(all=sc.Flip(delete=0.1, add=0.05))),
    "three values": vectors,
    "nodes": nodes,
    "motif": motif,
    "a box": lambda: small(many_edges, sc.Noise(all=sc.Flip(delete=0.1, add=0.2)), max_radius=(1, 2)),
}
_made: dict[str, Archive] = {}


def evidence_world(name: str) -> Archive:
    if name not in _made:
        _made[name] = EVIDENCE[name]()
    return _made[name]


@dataclasses.dataclass(frozen=True)
class AtNodeZero(sc.Threat):
    """A threat of somebody else's: one pair of node 0 is added or deleted."""

    most: int = 1
    label = "a flip at node 0"
    by_radius = False

    def attacks(self, sites: object, size: int) -> object:
        pairs = [(site, 1 - int(value)) for site, value in enumerate(sites.values[:4])]  # (0, 1) to (0, 4)
        return threats.Attacks.from_lists([[pair] for pair in pairs] if size == 1 else [])


def low(frame: object, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return u + v < 4


def _asking(make: Callable[..., Archive], *world: object, **default: object) -> Callable[..., Archive]:
    return lambda **how: make(*world, **default | how)


EVEN, APART, TYPES = (
    sc.Noise(all=law) for law in (0.1, sc.Flip(delete=0.1, add=0.2), sc.Edges(delete=0.1, add=0.05, change=0.15))
)
LISTED = {
    "rewire": _asking(small, many_edges, EVEN, threat="rewire:2", own_samples=30_000),
    "deletions": _asking(small, many_edges, APART, threat="deletions:2", own_samples=40_000),
    "either": _asking(small, many_edges, APART, threat="swap:1 | additions:1"),
    "changed types": _asking(typed, TYPES, threat="changes:2"),
    "three values": _asking(vectors, threat="changes:2", evidence=sc.Evidence(own_samples=40_000)),
    "nodes": _asking(nodes, threat="rewire:1", own_samples=30_000),
    "together": _asking(small, many_edges, EVEN, threat="rewire:1", family="all"),
    "stopped": _asking(small, many_edges, EVEN, threat="rewire:1", plan="decided", samples=5_000),
    "from outside": _asking(small, many_edges, EVEN, threat=AtNodeZero()),
    "by a function": _asking(small, many_edges, EVEN, threat=threats.Where(low, 2)),
}
"""Archives of threats that list their attacks, with evidence by default."""


def listed_world(name: str) -> Archive:
    if f"listed {name}" not in _made:
        _made[f"listed {name}"] = LISTED[name]()
    return _made[f"listed {name}"]


def with_records(archive: Archive, change: Callable) -> Archive:
    """The same archive with its flips in another form."""
    evidence = tuple(
        type(graph)(change(graph), graph.sites, graph.most, graph.own)
        for graph in archive.evidence
        if graph is not None
    )
    return dataclasses.replace(archive, evidence=evidence)


def by_numbers(archive: Archive) -> Archive:
    """The same archive with nothing but the numbers of flips by axis."""
    return with_records(archive, lambda graph: graph.record.by_numbers(graph.sites))
