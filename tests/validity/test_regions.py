"""The guarantee on every road by which regions come in: rules that remember, and partitions that anybody may make.

On four nodes the smoothed classifier is known exactly: its answer at a graph is a sum over all 64 noisy copies.
"""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import starcert as sc
from starcert.objects.binding import bind
from starcert.objects.site_sets import Across, Inside, Outside, Pairs, Within
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.system.errors import InvalidParameterError

PAIRS = list(combinations(range(4), 2))
BITS = np.array(list(product((0, 1), repeat=6)))
NOISE = sc.Noise(a=0.05, b=0.3)


def graph_of(bits) -> sc.Graph:
    return sc.Graph(4, [pair for pair, bit in zip(PAIRS, bits, strict=True) if bit])


def answers(batch) -> np.ndarray:
    """Whether there is a triangle on the first three nodes, or else five edges."""
    adjacency = batch.adjacency()
    triangle = adjacency[:, 0, 1] & adjacency[:, 0, 2] & adjacency[:, 1, 2]
    return (triangle | (adjacency.sum(axis=(1, 2)) >= 10)).astype(int)


ANSWERS = np.array([int(bits[0] & bits[1] & bits[3] or bits.sum() >= 5) for bits in BITS])


def smoothed_labels(sites: sc.objects.Sites) -> np.ndarray:
    """The smoothed answer at every graph, the regions as they are in these sites."""
    flips = np.zeros(6)
    for number, (u, v) in enumerate(PAIRS):
        position = int(sites.locate([u], [v])[0])
        if position >= 0:
            region = int(np.searchsorted(sites.offsets, position, side="right")) - 1
            flips[number] = NOISE[sites.regions[region]].add
    moved = BITS[:, None, :] != BITS[None, :, :]
    weights = np.where(moved, flips, 1 - flips).prod(axis=2)
    return (weights @ ANSWERS > 0.5).astype(int)


def hold_to_the_truth(one, sites, clean) -> int:
    """Every graph within the certified radii has the certified label; how many there are."""
    labels = smoothed_labels(sites)
    region_of = {pair: int(sites.locate([pair[0]], [pair[1]])[0]) for pair in PAIRS}
    ends = np.append(sites.offsets, sites.n_sites)
    reached = 0
    for bits, label in zip(BITS, labels, strict=True):
        moved = [pair for pair, now, then in zip(PAIRS, bits, clean, strict=True) if now != then]
        if any(region_of[pair] < 0 for pair in moved):
            continue
        counts = [sum(ends[k] <= region_of[pair] < ends[k + 1] for pair in moved) for k in range(2)]
        if one.certified(tuple(counts)):
            assert label == one.label, (bits, counts)
            reached += 1
    return reached


class Memoised:
    """Reads the regions off the first graph with these nodes, and never looks again."""

    def __init__(self):
        self.known = {}

    def __call__(self, graph):
        if graph.nodes not in self.known:
            ends = sorted({int(end) for end in graph.edges.ravel()})[:3]
            self.known[graph.nodes] = sc.Partition.from_pairs(
                {"a": list(combinations(ends, 2)), "b": [p for p in PAIRS if p not in list(combinations(ends, 2))]}
            )
        return self.known[graph.nodes]


@pytest.mark.parametrize("number", [7, 11, 28, 56, 63])
def test_a_rule_that_remembers_is_certified_for_the_regions_it_had_and_says_so(number):
    clean = BITS[number]
    base = sc.classifiers.from_callable(answers, on="batch")
    smoothed = sc.SmoothedClassifier(base, NOISE, Memoised())
    for _ in range(2):
        problem = smoothed.problem([graph_of(clean)])
        (one,) = smoothed.certify(problem, samples=4000, alpha=1e-6, seed=5)
        (again,) = smoothed.certify([graph_of(clean)], samples=4000, alpha=1e-6, seed=5)
        assert one.anchored
        assert str(again) == str(one)
        assert "anchored" in str(one)
        assert one.capacity == problem.sites[0].sizes
        if not one.abstained:
            assert hold_to_the_truth(one, problem.sites[0], clean) >= 1


node_sets = st.frozensets(st.integers(0, 3))
name_pairs = st.frozensets(st.sampled_from([frozenset(pair) for pair in PAIRS]))
kinds = st.one_of(
    st.builds(Inside, node_sets, name_pairs),
    st.builds(Outside, node_sets),
    st.builds(Pairs, name_pairs),
    st.builds(lambda one, other: Across((one, other)), node_sets, node_sets),
    st.builds(lambda one, other: Within((one, other)), node_sets, node_sets),
)


@given(kinds, kinds, st.sampled_from(range(64)))
@settings(max_examples=150, deadline=None)
def test_partitions_made_by_hand_are_refused_or_certified_truly(one_part, other_part, number):
    clean = BITS[number]
    graph = graph_of(clean)
    try:
        sites = bind(graph, NOISE, sc.Partition((("a", one_part), ("b", other_part))))
    except InvalidParameterError:  # whether with good reason: see tests/graphs/test_disjoint.py
        return
    copies = sampler(sites, NOISE).draw(WordStream.of_chunk(1, graph.key, "estimation", 0), 64).edges()
    for begin, end in zip(copies.starts[:-1], copies.starts[1:], strict=True):
        listed = list(zip(copies.u[begin:end].tolist(), copies.v[begin:end].tolist(), strict=True))
        assert len(set(listed)) == len(listed)  # no edge twice
    base = sc.classifiers.from_callable(answers, on="batch")
    smoothed = sc.SmoothedClassifier(base, NOISE, sc.Partition((("a", one_part), ("b", other_part))))
    (one,) = smoothed.certify([graph], samples=1000, alpha=1e-6, seed=number)
    if not one.abstained:
        hold_to_the_truth(one, sites, clean)


def test_the_overlap_that_gave_a_false_certificate_is_refused():
    twice = sc.Partition((("a", Inside(frozenset({0, 1, 2}))), ("b", Outside())))
    base = sc.classifiers.from_callable(answers, on="batch")
    with pytest.raises(InvalidParameterError, match="in both 'a' and 'b'"):
        sc.SmoothedClassifier(base, NOISE, twice).certify([graph_of(BITS[63])], samples=100, seed=1)
