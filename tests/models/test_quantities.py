"""Boxes and points hold what attacks make of quantities: all graphs of five nodes, up to three changes."""

from itertools import combinations

import numpy as np
import pytest

from starcert.models.quantities import (
    QUANTITIES,
    DegreeCounts,
    EdgeCount,
    EdgesByLabel,
    TriangleCount,
    quantities_named,
)
from starcert.objects import Graph
from starcert.system.errors import InvalidParameterError

N = 5
PAIRS = list(combinations(range(N), 2))
LABELS = [0, 0, 1, 1, 2]


def graph_of(bits: int) -> Graph:
    edges = [pair for place, pair in enumerate(PAIRS) if bits >> place & 1]
    return Graph(N, edges, node_data={"label": LABELS})


@pytest.fixture(scope="module")
def graphs():
    return [graph_of(bits) for bits in range(2 ** len(PAIRS))]


def changes(bits: int, most: int):
    for size in range(most + 1):
        for flipped in combinations(range(len(PAIRS)), size):
            mask = sum(1 << place for place in flipped)
            yield bits ^ mask, (mask & bits).bit_count(), (mask & ~bits).bit_count()


@pytest.mark.parametrize("name", QUANTITIES)
def test_boxes_hold_every_attacked_graph(graphs, name):
    (quantity,) = quantities_named([name], graphs)
    values = np.array([quantity.values(graph) for graph in graphs])
    step = 1 if quantity.moves else 37
    for bits in range(0, len(graphs), step * 3):
        boxes = {}
        for attacked, deleted, added in changes(bits, 3):
            key = deleted, added
            if key not in boxes:
                boxes[key] = quantity.box(graphs[bits], *key)
            low, high = boxes[key]
            assert (low <= values[attacked]).all(), (name, bits, attacked)
            assert (values[attacked] <= high).all(), (name, bits, attacked)


@pytest.mark.parametrize("name", [EdgeCount.name, EdgesByLabel.name])
def test_points_are_exactly_what_attacks_make(graphs, name):
    (quantity,) = quantities_named([name], graphs)
    for bits in range(0, len(graphs), 11):
        for deletions, additions in ((1, 0), (0, 1), (2, 1), (1, 2)):
            made = {
                tuple(quantity.values(graphs[attacked]).tolist())
                for attacked, deleted, added in changes(bits, 3)
                if deleted <= deletions and added <= additions
            }
            points = quantity.points(graphs[bits], deletions, additions, 10_000)
            assert set(map(tuple, points.tolist())) == made


def test_too_many_points_are_not_listed():
    graph = Graph(40, [], node_data={"label": list(range(10)) * 4})
    (quantity,) = quantities_named([EdgesByLabel.name], [graph])
    assert quantity.points(graph, 0, 6, 1_000) is None
    (degrees,) = quantities_named([DegreeCounts.name], [graph])
    assert degrees.points(graph, 0, 6, 1_000) is None


@pytest.mark.parametrize(
    ("quantity", "forget"),
    [
        (
            DegreeCounts,
            lambda box, now: (np.maximum(box.low, now - 1), np.minimum(box.high, now + 1)),
        ),  # 2 cells, not 4
        (TriangleCount, lambda box, now: (box.low, np.minimum(box.high, now))),  # added edges close none
        (EdgeCount, lambda box, now: (box.low, now)),  # a forgotten addition
    ],
)
def test_boxes_that_are_too_small_are_caught(graphs, quantity, forget):
    one = quantity()
    outside = 0
    for bits in range(0, len(graphs), 29):
        for attacked, deleted, added in changes(bits, 2):
            low, high = forget(one.box(graphs[bits], deleted, added), one.values(graphs[bits]))
            value = one.values(graphs[attacked])
            outside += bool((value < low).any() or (value > high).any())
    assert outside


def test_labels_that_training_did_not_show_count_as_one():
    train = [Graph(3, [(0, 1)], node_data={"label": ["C", "C", "N"]})]
    counts, edges = quantities_named(["labels", "edges by label"], train)
    other = Graph(3, [(0, 1), (1, 2)], node_data={"label": ["C", "O", "S"]})
    assert counts.values(other).tolist() == [1, 0, 2]
    assert edges.values(other).sum() == 2
    assert edges.values(Graph(3, [(0, 1)])).sum() == 1


def test_unknown_names_are_refused():
    with pytest.raises(InvalidParameterError, match="edges by label"):
        quantities_named(["motifs"], [])
