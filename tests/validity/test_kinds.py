"""The guarantee for every kind of graph, by enumeration: typed pairs, arcs, feature bits beside edges, two targets.

Every object of a small world is made, bound and smoothed as a user would; the views of its noisy copies name the object
that each copy is. What an attack counts is told from the two objects themselves, by plain comparison.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations, product

import numpy as np
import pytest
from enumerated import check_every_certificate, check_rho_is_attained, check_slack_is_attained

import starcert as sc
from starcert.classifiers import Classifier
from starcert.objects.binding import bind_all, sampled_laws
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream

HALF = Fraction(1, 2)


@dataclass
class Kind:
    """A kind of graph on few nodes: all of them, a noise with chances in 64ths, and where it acts.

    Attributes:
        graphs: every graph.
        given: the noise, as a user gives it.
        regions: where the regions are.
        code: of a batch, the number of the graph that each copy is.
        flips: how many flips lead from one graph to another, on each axis; None: no attack does.
    """

    graphs: list
    given: sc.Noise
    regions: object
    code: object
    flips: object

    @cached_property
    def problem(self):
        return bind_all(self.graphs, self.given, self.regions)

    @property
    def noise(self) -> sc.Noise:
        return self.problem.noise

    @cached_property
    def weights(self) -> np.ndarray:
        """With which chance each graph becomes each other one, from the laws and the values of sites alone."""
        values = np.zeros((len(self.graphs), self.problem.sites[0].n_sites), dtype=int)
        for row, sites in zip(values, self.problem.sites, strict=True):
            row[sites.nonzero[0]] = sites.nonzero[1]
        found = np.ones((len(values), len(values)), dtype=np.int64)
        for x, sites in enumerate(self.problem.sites):
            for law, first, size in zip(
                sampled_laws(sites, self.problem.noise), sites.offsets, sites.sizes, strict=True
            ):
                for site in range(first, first + size):
                    chances = np.array([int(64 * p) for p in law.transitions(values[x, site])])
                    assert chances.sum() == 64
                    found[x] *= chances[values[:, site]]
        assert (found.sum(axis=1) == self.one).all()
        return found

    @property
    def one(self) -> int:
        return 64 ** self.problem.sites[0].n_sites

    @cached_property
    def _flips(self):
        return [[self.flips(x, y) for y in self.graphs] for x in self.graphs]

    @property
    def allowed(self) -> np.ndarray:
        return np.array([[each is not None for each in row] for row in self._flips])

    @cached_property
    def attacks(self) -> np.ndarray:
        none = (0,) * len(self.noise.axes)
        return np.array([[none if each is None else each for each in row] for row in self._flips])

    @property
    def capacities(self) -> np.ndarray:
        return np.array(self.problem.capacities)


PAIRS = list(combinations(range(3), 2))
ARCS = list(permutations(range(3), 2))


def typed(values) -> sc.Graph:
    edges = [(pair, "ab"[value - 1]) for pair, value in zip(PAIRS, values, strict=True) if value]
    return sc.Graph(3, [pair for pair, _ in edges], edge_types=[kind for _, kind in edges], type_names=("a", "b"))


def edges_of(graph: sc.Graph) -> dict:
    types = [1] * graph.n_edges if graph.edge_types is None else graph.edge_types.tolist()
    return dict(zip(map(tuple, graph.edges.tolist()), types, strict=True))


def changed_edges(one: sc.Graph, other: sc.Graph) -> tuple[int, int, int]:
    before, after = edges_of(one), edges_of(other)
    both = before.keys() & after.keys()
    return len(before.keys() - both), len(after.keys() - both), sum(before[pair] != after[pair] for pair in both)


def typed_code(batch) -> np.ndarray:
    adjacency = batch.adjacency()
    return sum(adjacency[:, u, v].astype(int) * 3 ** (2 - place) for place, (u, v) in enumerate(PAIRS))


def arcs_code(batch) -> np.ndarray:
    adjacency = batch.adjacency()
    return sum(adjacency[:, u, v].astype(int) << (5 - place) for place, (u, v) in enumerate(ARCS))


def featured(bits) -> sc.Graph:
    edges = [pair for pair, bit in zip(PAIRS[:2], bits, strict=False) if bit]
    return sc.Graph(3, edges, node_data={"x": np.array(bits[2:])[:, None]}).with_bits("x")


def featured_code(batch) -> np.ndarray:
    adjacency, x = batch.adjacency(), batch.node_values("x")[:, :, 0].astype(int)
    return sum(adjacency[:, u, v].astype(int) << (4 - place) for place, (u, v) in enumerate(PAIRS[:2])) + x @ [4, 2, 1]


def featured_flips(one: sc.Graph, other: sc.Graph) -> tuple[int, int, int]:
    deleted, added, _ = changed_edges(one, other)
    return deleted, added, int((one.node_sites["x"].values != other.node_sites["x"].values).sum())


def molecule(values) -> sc.Graph:
    edges = [pair for pair, value in zip(PAIRS[:2], values, strict=False) if value]
    names = [("C", "N", "O")[value] for value in values[2:]] + ["C"]
    return sc.Graph(3, edges, node_data={"element": names}).with_categories("element", ("C", "N", "O"))


def molecule_code(batch) -> np.ndarray:
    adjacency, atoms = batch.adjacency().astype(int), batch.node_values("element")[:, :, 0].astype(int)
    return adjacency[:, 0, 1] * 18 + adjacency[:, 0, 2] * 9 + atoms[:, 0] * 3 + atoms[:, 1]


def molecule_flips(one: sc.Graph, other: sc.Graph) -> tuple[int, int]:
    atoms = one.node_sites["element"].values != other.node_sites["element"].values
    return sum(changed_edges(one, other)), int(atoms.sum())


TWO_PAIRS = sc.Partition.from_pairs({"edges": PAIRS[:2]}, anchored=False)

KINDS = {
    "typed pairs": Kind(
        [typed(values) for values in product(range(3), repeat=3)],
        sc.Noise(bonds=sc.Edges(delete=12 / 64, add=10 / 64, change=9 / 64)),
        {"bonds": "pairs"},
        typed_code,
        changed_edges,
    ),
    "arcs": Kind(
        [
            sc.Graph(3, [arc for arc, bit in zip(ARCS, bits, strict=True) if bit], directed=True)
            for bits in product(range(2), repeat=6)
        ],
        sc.Noise(all=sc.Flip(delete=20 / 64, add=12 / 64)),
        None,
        arcs_code,
        lambda one, other: changed_edges(one, other)[:2],
    ),
    "arcs forth and back": Kind(
        [
            sc.Graph(3, [arc for arc, bit in zip(ARCS, bits, strict=True) if bit], directed=True)
            for bits in product(range(2), repeat=6)
        ],
        sc.Noise(forth=10 / 64, back=24 / 64),
        sc.Partition.from_arcs(
            {"forth": [arc for arc in ARCS if arc[0] < arc[1]], "back": [arc for arc in ARCS if arc[0] > arc[1]]},
            anchored=False,
        ),
        arcs_code,
        lambda one, other: tuple(
            sum((u < v) == forth for u, v in edges_of(one).keys() ^ edges_of(other).keys()) for forth in (True, False)
        ),
    ),
    "feature bits and edges": Kind(
        [featured(bits) for bits in product(range(2), repeat=5)],
        sc.Noise(edges=sc.Flip(delete=20 / 64, add=8 / 64), bits=16 / 64),
        TWO_PAIRS | sc.Partition.of_layers(bits="x"),
        featured_code,
        featured_flips,
    ),
    "categories and edges": Kind(
        [molecule(values) for values in product(range(2), range(2), range(3), range(3))],
        sc.Noise(bonds=sc.Flip(14 / 64), atoms=sc.Categorical(24 / 64)),
        sc.Partition.from_pairs({"bonds": PAIRS[:2]}, anchored=False)
        | sc.Partition.from_nodes("element", {"atoms": [0, 1]}),
        molecule_code,
        molecule_flips,
    ),
}


@pytest.fixture(params=KINDS, scope="module")
def kind(request) -> Kind:
    return KINDS[request.param]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_certificate_covers_a_graph_with_another_answer(kind, n_classes):
    check_every_certificate(kind, n_classes, how_many=4)


def test_slack_is_attained_by_the_worst_classifier(kind):
    check_slack_is_attained(kind)


def test_the_worst_classifier_attains_rho_lower(kind):
    check_rho_is_attained(kind)


def test_capacity_is_the_largest_attack(kind):
    assert (np.where(kind.allowed[:, :, None], kind.attacks, 0).max(axis=1) == kind.capacities).all()


def test_the_views_of_noisy_copies_follow_the_laws(kind):
    """Each graph that a copy may be is seen as often as the laws say."""
    n = 20_000
    for x in (0, 1, len(kind.graphs) // 3 + 1, len(kind.graphs) - 2):  # some whose sites differ
        stream = WordStream.of_chunk(5, kind.graphs[x].key, "estimation", 0)
        batch = sampler(kind.problem.sites[x], kind.problem.noise).draw(stream, n)
        seen = np.bincount(kind.code(batch), minlength=len(kind.graphs))
        expected = n * kind.weights[x] / kind.one
        assert (seen[expected == 0] == 0).all()
        there = expected > 0
        surprise = ((seen - expected)[there] ** 2 / expected[there]).sum()
        assert surprise < there.sum() + 6 * np.sqrt(2 * there.sum()) + 10


def by_table(kind: Kind, answers: np.ndarray):
    return sc.classifiers.from_callable(
        lambda batch: answers[kind.code(batch)], on="batch", description=f"table {answers.tolist()}"
    )


def test_votes_are_certified_and_the_certificates_hold(kind):
    """From the objects to the certificates by votes, as a user does it; every attack is tried on the exact shares."""
    rng = np.random.default_rng(4)
    sizes = np.array([graph.n_edges for graph in kind.graphs])
    answers = np.where(rng.random(len(sizes)) < 0.1, rng.integers(2, size=len(sizes)), sizes > np.median(sizes))
    shares = kind.weights @ answers.astype(np.int64) / kind.one
    chosen = list(range(0, len(kind.graphs), max(1, len(kind.graphs) // 8)))
    smoothed = sc.SmoothedClassifier(by_table(kind, answers), kind.given, kind.regions)
    result = smoothed.certify([kind.graphs[x] for x in chosen], samples=8000, seed=6)
    covered = 0
    for x, one in zip(chosen, result, strict=True):
        for y in range(len(kind.graphs)):
            if kind.allowed[x, y] and one.certified(tuple(kind.attacks[x, y].tolist())):
                assert one.label == (shares[y] > 0.5)
                covered += x != y
    assert covered > 0


class TwoNodes(Classifier):
    """A table of answers for two nodes of each graph."""

    n_classes = 2

    def __init__(self, answers: np.ndarray) -> None:
        self.answers = answers

    @property
    def description(self) -> str:
        return f"two tables {self.answers.tolist()}"

    def n_targets(self, frame):
        return 2

    def classify(self, graphs):
        return self.answers[KINDS["feature bits and edges"].code(graphs)]


def test_two_targets_have_a_certificate_each_and_both_hold():
    kind = KINDS["feature bits and edges"]
    rng = np.random.default_rng(8)
    bits = np.array([graph.node_sites["x"].values[:, 0] for graph in kind.graphs])
    clear = np.stack([bits[:, 0], bits[:, 1] | bits[:, 2]], axis=1)
    answers = np.where(rng.random(clear.shape) < 0.1, 1 - clear, clear).astype(np.int64)
    shares = np.stack([kind.weights @ column / kind.one for column in answers.T], axis=1)
    result = sc.SmoothedClassifier(TwoNodes(answers), kind.given, kind.regions).certify(
        kind.graphs, samples=4000, seed=2, family="all"
    )
    assert [(one.object, one.target) for one in result][:4] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    covered = [0, 0]
    for one in result:
        for y in range(len(kind.graphs)):
            if one.certified(tuple(kind.attacks[one.object, y].tolist())):
                assert one.label == (shares[y, one.target] > 0.5)
                covered[one.target] += y != one.object
    assert min(covered) > 0


class TestFlipsOnTypedEdges:
    """Types are not attacked: each pair keeps the type that it has in the clean graph, or draws one by the rule."""

    noise = sc.Noise(all=sc.Flip(delete=16 / 64, add=24 / 64, added=(0.25, 0.75)))

    def frozen_weights(self, clean, present) -> np.ndarray:
        """The law of the noisy graph where these edges are present, and types are frozen at the clean graph."""
        found = np.ones(27, dtype=np.int64)
        for site in range(3):
            shares = np.array([16, 48]) if not clean[site] else 64 * (np.arange(1, 3) == clean[site])
            there = 48 if present[site] else 24
            chances = np.array([64 * (64 - there), *(there * shares)])
            found *= chances[np.array(list(product(range(3), repeat=3)))[:, site]]
        assert found.sum() == 64**6
        return found

    def test_the_noise_draws_that_law(self):
        for clean in ((0, 1, 2), (2, 2, 0), (0, 0, 0)):
            graph = typed(clean)
            sites = bind_all([graph], self.noise, None).sites[0]
            batch = sampler(sites, self.noise).draw(WordStream.of_chunk(1, graph.key, "estimation", 0), 20_000)
            seen = np.bincount(typed_code(batch), minlength=27)
            expected = 20_000 * self.frozen_weights(clean, [value > 0 for value in clean]) / 64**6
            assert (seen[expected == 0] == 0).all()
            assert (np.abs(seen - expected) < 6 * np.sqrt(expected + 1)).all()

    def test_no_certificate_covers_a_graph_with_another_answer(self):
        rng = np.random.default_rng(3)
        covered = refused = 0
        slacks = sc.slack_table(self.noise, (3, 3))
        for clean in product(range(3), repeat=3):
            present = [value > 0 for value in clean]
            for _ in range(4):
                answers = rng.integers(2, size=27) if rng.random() < 0.3 else (np.arange(27) % 3 > 0).astype(int)
                share = Fraction(int(self.frozen_weights(clean, present) @ answers), 64**6)
                label = share > HALF
                for attacked in product((False, True), repeat=3):
                    other = Fraction(int(self.frozen_weights(clean, attacked) @ answers), 64**6)
                    deleted = sum(a and not b for a, b in zip(present, attacked, strict=True))
                    added = sum(b and not a for a, b in zip(present, attacked, strict=True))
                    if float(min(share, 1 - share)) < slacks[deleted, added] * (1 - 1e-9):
                        assert (other > HALF) == label
                        covered += deleted + added > 0
                    else:
                        refused += (other > HALF) != label
        assert covered > 30
        assert refused > 10

    def test_certificates_say_so(self):
        smoothed = sc.SmoothedClassifier(
            sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 1)), self.noise
        )
        problem = smoothed.problem([typed((1, 0, 2))])
        assert "Types of edges are not attacked" in problem.anchored[0]
        assert "with given shares" in problem.anchored[0]
        assert problem.capacities == ((2, 1),)
        assert smoothed.certify(problem, samples=500, seed=1)[0].anchored
