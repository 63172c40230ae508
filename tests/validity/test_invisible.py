"""The guarantee where noisy copies show nothing: any number of flips there changes nothing, if regions do not change.

On four nodes the smoothed classifier is known exactly at every graph. A filter that follows from fixed data decides
which pairs are visible; the control is one that looks at edges.
"""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

import starcert as sc
from starcert.sampling.draws import Method
from starcert.sampling.sampler import site_sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import view_of

PAIRS = list(combinations(range(4), 2))
BITS = np.array(list(product((0, 1), repeat=6)))
SEEN, HIDDEN = sc.Flip(delete=0.25, add=0.125), sc.Flip(delete=1, add=0)
NOISE, LEARNED = sc.Noise(alike=SEEN, unlike=HIDDEN), sc.Noise(likely=SEEN, unlikely=HIDDEN)
X = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]])  # the pairs (0, 1), (0, 2), (1, 2) and (2, 3) are alike
FILTER = sc.regions.similar_features(0.3)


def graph_of(bits) -> sc.Graph:
    return sc.Graph(4, [pair for pair, bit in zip(PAIRS, bits, strict=True) if bit], node_data={"x": X})


def by_degree(graph: sc.Graph) -> sc.Partition:
    """The control: pairs are visible where their first node has an edge."""
    ends = {int(end) for end in graph.edges.ravel()}
    alike = [pair for pair in PAIRS if pair[0] in ends]
    return sc.Partition.from_pairs({"alike": alike, "unlike": [pair for pair in PAIRS if pair not in alike]})


def smoothed_chances(rule, answers, noise) -> np.ndarray:
    """P(class 1) at every graph, whose regions the rule finds anew."""
    found = []
    for bits in BITS:
        sites = rule(graph_of(bits)).sites(graph_of(bits))
        laws = [noise[sites.regions[int(sites.locate([u], [v])[0] >= sites.offsets[1])]] for u, v in PAIRS]
        p = np.array([law.change(int(bit)) for law, bit in zip(laws, bits, strict=True)])
        found.append(np.where(bits != BITS, p, 1 - p).prod(axis=1) @ answers)
    return np.array(found)


def false_claims(rule, seed, noise=NOISE) -> tuple[int, int]:
    """How many graphs within what is certified have another answer, and how many there are."""
    answers = np.random.default_rng(seed).integers(0, 2, size=len(BITS))
    chances = smoothed_chances(rule, answers, noise)
    wrong = claimed = 0
    for bits, p in zip(BITS, chances, strict=True):
        if p == 0.5:
            continue
        sites = rule(graph_of(bits)).sites(graph_of(bits))
        failure = np.array([min(p, 1 - p)])  # exact: chances are whole numbers over a power of two
        bounds = sc.Bounds(np.array([int(p > 0.5)]), failure, failure, None, 2)
        (one,) = sc.certify(bounds, noise, capacity=[sites.capacity(noise)])
        place = sites.locate(*np.array(PAIRS).T)
        for other, q in zip(BITS, chances, strict=True):
            moved = np.flatnonzero(bits != other)
            seen = [number for number in moved if place[number] < sites.offsets[1]]
            deleted = sum(int(bits[number]) for number in seen)
            rest = sites.capacity(noise)[2:]  # any number there
            if one.certified((deleted, len(seen) - deleted, *rest)):
                claimed += 1
                wrong += (q > 0.5) != (p > 0.5)
    return wrong, claimed


@pytest.mark.parametrize("seed", range(6))
def test_any_number_of_flips_among_invisible_pairs_changes_nothing(seed):
    wrong, claimed = false_claims(FILTER, seed)
    assert wrong == 0
    assert claimed >= 4 * 50  # at least the four graphs that differ in nothing visible, nearly everywhere


def fitted(graph: sc.Graph):
    """A learned filter: pairs whose ends share a feature that the ends of an edge of this graph share are likely."""
    x = np.asarray(graph.node_data["x"])
    shared = (x[graph.edges[:, 0]] & x[graph.edges[:, 1]]).any(axis=0)

    def divide(other: sc.Graph) -> sc.Partition:
        rows = np.asarray(other.node_data["x"])
        likely = [(u, v) for u, v in PAIRS if (rows[u] & rows[v] & shared).any()]
        return sc.Partition.from_pairs({"likely": likely, "unlikely": [each for each in PAIRS if each not in likely]})

    return divide


@pytest.fixture(scope="module")
def learned():
    """Fitted once, on another graph: nodes that share their second feature are linked there, and no others."""
    x = np.array([[0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 0, 1]])
    return fitted(sc.Graph(6, [(0, 1), (0, 2), (1, 2)], node_data={"x": x}))


@pytest.mark.parametrize("seed", range(2))
def test_any_number_of_flips_among_pairs_that_a_fitted_filter_hides_changes_nothing(learned, seed):
    assert learned(graph_of([0] * 6)).sites(graph_of([0] * 6)).sizes == (3, 3)
    wrong, claimed = false_claims(learned, seed, LEARNED)
    assert wrong == 0
    assert claimed >= 8 * 50


@cache
def refitted(graph: sc.Graph) -> sc.Partition:
    """The control: a filter that is fitted on the very graph that is certified."""
    return fitted(graph)(graph)


def test_a_filter_that_is_fitted_on_what_is_certified_makes_false_claims_and_is_marked(learned):
    assert sum(false_claims(refitted, seed, LEARNED)[0] for seed in range(2)) > 0
    base = sc.classifiers.from_callable(lambda batch: (batch.degrees()[:, 0] > 0).astype(int), n_classes=2, on="batch")
    graph = graph_of([1, 0, 0, 1, 1, 0])
    marked, fixed = (
        str(sc.SmoothedClassifier(base, LEARNED, rule).certify([graph], samples=2000, seed=0)[0])
        for rule in (refitted, learned)
    )
    assert "anchored" in marked
    assert "any number" not in marked
    assert "any number of flips among the 3 sites of unlikely changes nothing" in fixed


def test_a_filter_that_looks_at_edges_makes_false_claims_and_is_marked():
    assert sum(false_claims(by_degree, seed)[0] for seed in range(6)) > 0
    base = sc.classifiers.from_callable(lambda batch: (batch.degrees()[:, 0] > 0).astype(int), n_classes=2, on="batch")
    graph = graph_of([1, 0, 0, 1, 1, 0])
    (seen,) = sc.SmoothedClassifier(base, NOISE, by_degree).certify([graph], samples=2000, seed=0)
    assert "anchored" in str(seen)
    assert "Any number" not in str(seen).title()
    (fixed,) = sc.SmoothedClassifier(base, NOISE, FILTER).certify([graph], samples=2000, seed=0)
    assert "any number of flips among the 2 sites of unlike changes nothing" in str(fixed)
    assert "unlike.add" not in str(fixed)


@pytest.mark.parametrize("method", [Method.DENSE, Method.SPARSE])
def test_sampled_copies_show_no_invisible_edge(method):
    noise = sc.Noise(alike=sc.Flip(delete=0.1, add=0), unlike=HIDDEN)
    sites = FILTER(graph_of([1] * 6)).sites(graph_of([1] * 6))
    drawn = site_sampler(sites, noise, method).draw(WordStream.of_chunk(0, sites.clean.key, "estimation", 0), 640)
    copies = view_of(sites, method)(drawn).adjacency()
    assert not copies[:, [0, 1], 3].any()
    assert copies[:, 2, 3].mean() == pytest.approx(0.9, abs=0.05)
