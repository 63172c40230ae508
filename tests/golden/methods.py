"""Methods beside plain votes: every attack tried, intervals, hashed and link votes, fallback, all targets together."""

from itertools import product

import networkx as nx
import numpy as np
from asking import how_to
from target_worlds import Busy, FirstNode, named_star
from target_worlds import graphs as small_graphs

import starcert as sc
from golden.pinning import numbers_in, plain, votes_of, weighed
from golden.verdicts import REGIONS, counting, graphs

WHEEL = sc.Graph(9, [(i, i + 1) for i in range(8)] + [(0, 2), (0, 3), (0, 4), (5, 8)])
TYPED = [
    sc.Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)][: len(kinds)], edge_types=list(kinds), type_names=("s", "d"))
    for kinds in ("sdsd", "ddsdd", "dd")
]
WORDS = [sc.Categories(word, values="ACGT") for word in ("GCTATAAAGC", "GCTATCCCGC", "TTTATAATTT")]
ONE_WAY_TWO_WAYS = {"one way": sc.Flip(delete=0.2, add=0.0), "radius": sc.Flip(delete=0.2, add=0.1)}


def heavy(batch) -> np.ndarray:
    """Edges of the second type count, and the pair of nodes 0 and 1 most."""
    types = batch.adjacency()
    return ((types == 2).sum(axis=(1, 2)) + 4 * (types[:, 0, 1] == 1) > 6).astype(int)


def box(rows) -> np.ndarray:
    return (rows[:, 2:8] == [3, 0, 3, 0, 0, 0]).sum(axis=1) // 3


def any_double(batch) -> np.ndarray:
    return (batch.adjacency() == 2).any(axis=(1, 2))


def weighty(batch) -> np.ndarray:
    """Each node pair has a weight of its own, so that the first attack that breaks depends on the order of attacks."""
    return ((batch.values > 0) @ np.arange(1, 16) ** 2 // 300).clip(0, 3)


def on_batch(answers, classes: int = 2):
    return sc.classifiers.from_callable(answers, on="batch", n_classes=classes, description="counts")


def atoms() -> sc.Graph:
    """A ring of five nodes whose categories are sites beside its node pairs."""
    rows = np.eye(3, dtype=np.int64)[[0, 0, 1, 2, 0]]
    return sc.Graph(5, nx.cycle_graph(5).edges, node_data={"x": rows}).with_categories("x")


COUNTED = ("n_certified", "n_broken", "n_open", "n_attacks", "n_left")
EXACT = {
    "bits": (lambda: (on_batch(weighty, 4), graphs()), "flips:2", {}),
    "deletions": (lambda: (on_batch(weighty, 4), graphs()), "deletions:2", {}),
    "listed": (lambda: (on_batch(weighty, 4), graphs()), "rewire:1 | deletions:1", {}),
    "budget": (lambda: (on_batch(weighty, 4), graphs()), "flips:3", {"max_attacks": 60}),
    "types": (lambda: (on_batch(heavy), TYPED), "changes:2", {}),
    "values": (lambda: (sc.classifiers.from_callable(box, on="vectors", n_classes=3), WORDS), "flips:2", {}),
    "nodes": (lambda: (Busy(), [named_star(), WHEEL]), "flips:2", {}),
    "bonds and atoms": (
        lambda: (on_batch(lambda batch: batch.degrees()[:, 0] + (batch.node_values("x")[:, 1, 0] == 1) > 2), [atoms()]),
        "flips:2",
        {"regions": {"bonds": "pairs", "atoms": "x"}},
    ),
    "regions": (
        lambda: (counting(sc.Noise(all=0.1)).base, graphs()),
        "box:core=2,rest=1",
        {"regions": REGIONS, "noise": sc.Noise(core=0.1, rest=0.2)},
    ),
}
"""Classifier and objects, the threat, and how it is asked about, by name."""


def exact_result(name: str) -> sc.Certificates:
    make, threat, how = EXACT[name]
    base, objects = make()
    where = {key: how[key] for key in ("noise", "regions") if key in how}
    asked = {key: value for key, value in how.items() if key not in where}
    return sc.ExactClassifier(base, **where).certify(objects, threat=threat, **asked)


def _sizes(one, most: int) -> list[object]:
    """The verdict at every size."""
    return [one.verdict(size) for size in range(1, most + 1)]


def _found(attack) -> list[object]:
    return [list(attack.sites), list(attack.values), list(attack.votes)]


def exact() -> dict[str, object]:
    """What trying every attack shows; `order` has what follows from the order in which attacks are tried."""
    found = {}
    for name in EXACT:
        result = exact_result(name)
        found[name] = {
            "rows": [
                [one.object, one.target, one.label, one.certified_size, one.broken_size, result.proof.left(one.row) > 0]
                for one in result
            ],
            "verdicts": [_sizes(one, result.threat.most) for one in result],
            "by_size": [
                [each.size, each.n_graphs, each.n_right, *(getattr(each, name) for name in COUNTED)]
                for each in result.counts()
            ],
            "accuracy": [result.certified_accuracy([0] * len(result), n) for n in range(result.threat.most + 1)],
            "attacks": [list(each) for each in result.proof.ends],
            "order": [
                [result.proof.tried_for(row), result.proof.left(row), first and _found(first)]
                for row, first in enumerate(result.proof.attacks)
            ],
            "passes": result.proof.forward_passes,
        }
    return found


OUTPUTS = sc.ValueRange(0, 1, 64)
RING, STAR = sc.Graph(4, nx.cycle_graph(4).edges), sc.Graph(4, [(0, 1), (0, 2), (0, 3)])


def _density(batch) -> np.ndarray:
    return batch.degrees().sum(axis=1) / batch.frame.n_nodes / 4


def interval_result(kind: str) -> sc.Certificates:
    how = {"samples": 800, "seed": 1}
    if kind == "nodes":
        base = sc.classifiers.from_node_function(lambda g: [degree / 4 for _, degree in g.degree], outputs=OUTPUTS)
        return sc.SmoothedRegressor(base, sc.Noise(all=0.1)).certify([STAR], threat="flips:1", **how)
    if kind == "rows":
        base = sc.classifiers.from_callable(lambda rows: rows.sum(axis=1) / 8, on="vectors", outputs=OUTPUTS)
        rows = sc.Bits.rows([[1, 1, 0, 1, 0, 0, 1, 0], [0] * 8])
        smoothed = sc.SmoothedRegressor(base, sc.Noise(left=0.1, right=0.3), {"left": range(4), "right": range(4, 8)})
        return smoothed.certify(rows, threat="box:left=1,right=2", **how)
    base = sc.classifiers.from_callable(_density, on="batch", outputs=OUTPUTS)
    if kind == "typed":
        law = sc.Edges(delete=0.2, add=0.1, change=0.2)
        return sc.SmoothedRegressor(base, sc.Noise(all=law)).certify(TYPED, threat="changes:1", **how)
    smoothed = sc.SmoothedRegressor(base, sc.Noise(all=ONE_WAY_TWO_WAYS.get(kind, ONE_WAY_TWO_WAYS["radius"])))
    how |= {"family": "all"} if kind == "listed" else {}
    return smoothed.certify([RING, STAR], threat="deletions:2" if kind == "listed" else "flips:1", **how)


INTERVALS = {
    "listed": [("deletions:1", None), ("deletions:1", 0.3), ("flips:2", None)],
    "radius": [((1, 0), 0.4), ((3, 4), None)],
    "one way": [("flips:1", 0.5)],
    "typed": [],
    "nodes": [("flips:2", 0.5)],
    "rows": [("flips:1", None), ((0, 0), 0.25), ((4, 4), 0.5)],
}
"""What is asked beside the mean without attack and under the threat, each with the number that outputs are above."""


def intervals() -> dict[str, object]:
    """Outputs on noisy copies, and the intervals that they prove: their ends as whole multiples, and as floats."""
    found = {}
    for kind, more in INTERVALS.items():
        result = interval_result(kind)
        found[kind] = {
            "counts": result.proof.votes.counts.tolist(),
            "estimates": [one.estimate.hex() for one in result],
            "ends": [
                [
                    [*each.ends, each.low.hex(), each.high.hex(), each.how.partition(" ")[2][:8], numbers_in(each.how)]
                    for each in (
                        one.clean,
                        one.interval(),
                        *(one.interval(threat, above=above) for threat, above in more),
                    )
                ]
                for one in result
            ],
        }
    return found


def hashed() -> dict[str, object]:
    """Hashed votes by both rules: what voters see and answer, and what is certified, broken and tried."""
    bits, typed = on_batch(lambda batch: batch.degrees()[:, :4].sum(axis=1) > 1), on_batch(any_double)
    threes = on_batch(lambda batch: np.minimum(batch.degrees().sum(axis=1) // 2, 2), classes=3)
    found: dict[str, object] = {}
    for name, base, objects, threats in (
        ("bits", bits, graphs(), ("flips:3", "deletions:2", "additions:1 + deletions:1", "rewire:1")),
        ("three classes", threes, graphs(), ("flips:2",)),
        ("typed", typed, TYPED, ("changes:3",)),
        ("nodes", Busy(), [WHEEL], ("flips:2",)),
    ):
        voting = sc.HashedVotes(base, groups=3, seed=2)
        found[name] = entry = {"seen": [[copy.edges.tolist() for copy in each] for each in voting.copies(objects)]}
        for threat, rule in product(threats, ("counting", "exact")):
            result = voting.certify(objects, threat=threat, rule=rule)
            entry["votes"] = result.proof.votes.tolist()
            entry[f"{threat}, {rule}"] = {
                "rows": [[one.label, one.certified_size, one.broken_size] for one in result],
                "verdicts": [_sizes(one, result.threat.most) for one in result],
                "attacks": [result.proof.attacks, result.proof.forward_passes, result.proof.tried],
            }
    return found


def fallback() -> dict[str, object]:
    """A blind answer where no other class is likely enough: counts, evidence, votes that stop, and nodes."""
    base = counting(sc.Noise(all=0.1)).base
    found: dict[str, object] = {}
    for threshold in (0.5, 0.8, 0.95):
        smoothed = sc.SmoothedClassifier(
            base, sc.Noise(all=0.1), fallback=sc.Fallback([0, 1, 0, 1, 0, 1], threshold=threshold)
        )
        counts = smoothed.certify(graphs(), samples=1_500, seed=4)
        shown = smoothed.certify(
            graphs(), samples=1_500, seed=4, threat="flips:2", evidence=sc.Evidence(own_samples=3_000)
        )
        found[f"{threshold}"] = {
            "votes": votes_of(counts.votes),
            "certificates": plain(counts),
            "blind": [[one.blind_answer, one.answers_blind, one.abstained] for one in counts],
            "evidence": weighed(shown, 2),
        }
    stops = smoothed.certify(graphs(), **how_to(samples=4_000, seed=6, plan="decided", max_radius=1))
    found["stopped"] = {"votes": votes_of(stops.votes), "certificates": plain(stops)}
    leaning = sc.SmoothedClassifier(Busy(), sc.Noise(all=0.2), fallback=sc.Fallback([0] * 9, threshold=0.7))
    of_nodes = leaning.certify([WHEEL], samples=800, seed=3)
    found["nodes"] = {"votes": votes_of(of_nodes.votes), "certificates": plain(of_nodes)}
    return found


TOGETHER = sc.Evidence(own_samples=0)
COLLECTIVE = {
    "nodes": (Busy(), [WHEEL], "deletions:2", sc.Flip(delete=0.3, add=0.03)),
    "graphs": (FirstNode(), small_graphs(), "flips:1", sc.Flip(delete=0.3, add=0.1)),
    "one way": (Busy(), [WHEEL], "deletions:1", sc.Flip(delete=0.3, add=0.0)),
}


def collective_result(kind: str, samples: int = 2_000) -> sc.Certificates:
    base, objects, threat, law = COLLECTIVE[kind]
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=law))
    return smoothed.certify(objects, samples=samples, seed=1, threat=threat, evidence=TOGETHER)


def collective() -> dict[str, object]:
    """Claims about all targets at once, with the smallest number of answers that may differ and with others."""
    found = {}
    for kind in COLLECTIVE:
        result = collective_result(kind)
        smallest = result.at_most_changed(COLLECTIVE[kind][2])
        asked = [(smallest.threat, k, alpha) for k in (None, smallest.k - 1, smallest.k + 1) for alpha in (None, 1e-4)]
        if kind == "nodes":
            asked.append(("deletions:1", None, None))
        claims = [result.at_most_changed(threat, k=k, alpha=alpha) for threat, k, alpha in asked]
        found[kind] = {
            "votes": votes_of(result.votes),
            "claims": [
                [one.k, one.n_targets, one.alpha.hex(), list(one.n_attacks), one.size, one.several] for one in claims
            ],
        }
    return found


def links() -> dict[str, object]:
    """Link votes of whole-number scores: answers, and what survives attacks; a weight and a bonus that are fitted."""
    rng = np.random.Generator(np.random.PCG64(5))
    graph = sc.Graph(14, nx.gnm_random_graph(14, 26, seed=3).edges)
    given = rng.integers(0, 6, (14, 3)), rng.integers(-1, 3, (14, 3))
    labels, logits = rng.integers(0, 3, 14), rng.integers(-8, 8, (14, 3)) * 1.0
    how = {"train": range(5), "validation": range(5, 14), "threat": "additions:1"}
    chosen = sc.models.LinkVotes.fit(graph, logits, labels, **how)
    found = {}
    for name, votes in {"given": sc.models.LinkVotes(*given), "fitted": chosen}.items():
        survives = {
            f"{added} added, {deleted} deleted": votes.survives(graph, additions=added, deletions=deleted).tolist()
            for added, deleted in product(range(3), repeat=2)
        }
        found[name] = {"scores": votes.scores(graph).tolist(), "answers": votes.answers(graph).tolist()} | survives
    return found


LISTED = {
    "rewire": (counting(sc.Noise(all=0.1)), graphs(), "rewire:2"),
    "deletions": (counting(sc.Noise(all=sc.Flip(delete=0.2, add=0.05))), graphs(), "deletions:2"),
    "either": (counting(sc.Noise(all=0.1), limits=(4, 9), classes=3), graphs(), "swap:1 | additions:1"),
    "typed": (
        sc.SmoothedClassifier(on_batch(heavy), sc.Noise(all=sc.Edges(delete=0.1, add=0.05, change=0.15))),
        TYPED,
        "changes:2",
    ),
    "nodes": (sc.SmoothedClassifier(Busy(), sc.Noise(all=0.15)), [named_star()], "rewire:1"),
}


def listed() -> dict[str, object]:
    """Threats that list their attacks, decided by evidence: verdicts by size, and the attacks that are found."""
    found = {}
    for name, (smoothed, objects, threat) in LISTED.items():
        result = smoothed.certify(
            objects, samples=2_000, seed=1, threat=threat, evidence=sc.Evidence(own_samples=9_000)
        )
        most = result.asked[0].threat.most
        found[name] = {
            "votes": votes_of(result.votes),
            "frontiers": [[list(radius) for radius in one.frontier.radii] for one in result],
            "attacks": [list(one.asked.counts) for one in result],
            "certified": [one.certified_size for one in result],
            "own_votes": [one.verdicts.own_votes for one in result],
            "sizes": [
                [
                    [verdict.kind, numbers_in(verdict.why), verdict.attack and _found(verdict.attack)]
                    for verdict in (one.verdicts.sizes.get(size) for size in range(1, most + 1))
                    if verdict is not None
                ]
                for one in result
            ],
        }
    return found


PARTS = {
    "exact": exact,
    "intervals": intervals,
    "hashed": hashed,
    "fallback": fallback,
    "collective": collective,
    "links": links,
    "listed": listed,
}
