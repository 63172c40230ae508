"""Evidence, plans that stop when the question is decided, and bounds: what votes prove."""

from functools import partial

import networkx as nx
from asking import how_to

import starcert as sc
from golden.pinning import plain, votes_of, weighed


def graphs() -> list[sc.Graph]:
    """Six graphs of six nodes, between two and thirteen edges."""
    return [sc.Graph.from_networkx(nx.gnm_random_graph(6, edges, seed=edges)) for edges in (2, 5, 7, 8, 10, 13)]


REGIONS = sc.Partition.from_node_sets({"core": range(4), "rest": range(4, 6)})
"""Six pairs and one; the pairs between both sets are fixed."""


def counting(noise, regions=None, *, limits: tuple[int, ...] = (7,), classes: int = 2):
    """Edges are counted, the pair of nodes 0 and 1 three times over; each limit that is exceeded is a class more."""

    def answers(batch):
        count = batch.adjacency().sum(axis=(1, 2)) // 2 + 2 * batch.adjacency()[:, 0, 1]
        return sum((count > limit).astype(int) for limit in limits)

    base = sc.classifiers.from_callable(answers, on="batch", n_classes=classes, description="many edges")
    return sc.SmoothedClassifier(base, noise, regions)


def evidence() -> dict[str, object]:
    """Verdicts by the shared votes alone and by votes at attacked graphs, under laws of every sort."""
    all_pairs = counting(sc.Noise(all=0.1))
    apart = counting(sc.Noise(core=0.1, rest=0.4), REGIONS)
    ways = counting(sc.Noise(all=sc.Flip(delete=0.2, add=0.05)))
    one_way = counting(sc.Noise(all=sc.Flip(delete=0.3, add=0)))
    still = counting(sc.Noise(core=0.1, rest=0), REGIONS)
    three = counting(sc.Noise(all=0.1), limits=(4, 9), classes=3)
    found = {}
    for name, smoothed, changes in (
        ("shared", all_pairs, {"own_samples": 0}),
        ("own", all_pairs, {}),
        ("few own", all_pairs, {"own_samples": 1_000, "seed": 2}),
        ("regions", apart, {"max_flips": 4}),
        ("in a box", apart, {"max_radius": (2, 1), "max_flips": 3}),
        ("together", apart, {"family": "all"}),
        ("deletions and additions", ways, {}),
        ("one way", one_way, {}),
        ("no noise in a region", still, {}),
        ("three classes", three, {}),
    ):
        how = {"samples": 2_000, "seed": 1, "evidence": True, "max_flips": 2, "own_samples": 8_000} | changes
        found[name] = weighed(smoothed.certify(graphs(), **how_to(**how)), how["max_flips"])
    alone = sc.ExactClassifier(all_pairs.base, all_pairs.noise).certify(graphs(), threat="flips:1")
    found["undefended"] = [one.verdict() for one in alone]
    return found


def decided() -> dict[str, object]:
    """Votes of a plan that stops, and bounds that hold at any time."""
    apart = counting(sc.Noise(core=0.1, rest=0.4), REGIONS)
    three = counting(sc.Noise(all=0.1), limits=(4, 9), classes=3)
    found: dict[str, object] = {}
    for name, smoothed, asked in (
        ("radius", apart, {"max_radius": (1, 1)}),
        ("together", apart, {"max_radius": (1, 1), "family": "all"}),
        ("no question", apart, {}),
        ("three classes", three, {"max_radius": 1}),
        ("small chunks", apart, {"max_radius": (2, 0), "chunk_size": 64}),
    ):
        result = smoothed.certify(graphs(), **how_to(samples=4_000, seed=6, plan="decided", **asked))
        found[name] = {"votes": votes_of(result.votes), "certificates": plain(result)}
    how = partial(how_to, samples=4_000, seed=6, plan="decided", evidence=True, own_samples=3_000)
    found["evidence"] = weighed(apart.certify(graphs(), **how(max_flips=1)), 1)
    found["evidence in a box"] = weighed(apart.certify(graphs(), **how(max_radius=(2, 1))), 3)
    found["evidence in small chunks"] = weighed(apart.certify(graphs(), **how(max_flips=2, chunk_size=64)), 2)
    return found


def bounds() -> dict[str, object]:
    """Bounds of given votes, with the class chosen on them or on others, for each and for all; their frontiers."""
    counts = [[980, 15, 5], [600, 250, 150], [400, 390, 210], [1_000, 0, 0], [3, 995, 2]]
    chosen = [[98, 1, 1], [60, 30, 10], [40, 39, 21], [100, 0, 0], [0, 99, 1]]
    noise = sc.Noise(a=0.1, b=sc.Flip(delete=0.3, add=0.2), c=0.45)
    found = {}
    for name, votes, family in (
        ("each", sc.Votes(counts, selection=chosen), "each"),
        ("all", sc.Votes(counts, selection=chosen), "all"),
        ("same votes", sc.Votes(counts), "each"),
        ("two classes", sc.Votes([[900, 100], [999, 1]], selection=[[90, 10], [99, 1]]), "each"),
    ):
        capacity = [(6, 4, 4, 10)] * len(votes)
        found[name] = plain(sc.certify(sc.clopper_pearson(votes, alpha=0.001, family=family), noise, capacity=capacity))
    return found


PARTS = {"evidence": evidence, "decided": decided, "bounds": bounds}
