"""Graphs with their regions, the matrix of flip probabilities, and colours: the same for the same thing."""

import io
from itertools import combinations

import numpy as np
import pytest

import starcert as sc
from starcert.display.drawing import (
    FIXED,
    colour_of,
    layout,
    new_figure,
    region_graph,
    region_matrix,
    style,
)

pytest.importorskip("matplotlib")

GRAPH = sc.Graph(7, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (0, 6)])
SETS = {"core": [0, 1, 2], "rest": [3, 4, 5]}
PARTITIONS = {
    "sets": sc.Partition.from_node_sets(SETS),
    "everything": sc.Partition.everything("all"),
    "pairs": sc.Partition.from_pairs({"b": [(6, 2), (0, 1)], "a": [(3, 4)]}),
    "edges": sc.Partition.from_present_edges(GRAPH, present="bonds", absent="gaps"),
}


@pytest.fixture(params=PARTITIONS)
def sites(request):
    return PARTITIONS[request.param].sites(GRAPH)


def region_of(sites, u, v):
    """The number of the region of a pair, by looking at each of its sites."""
    for i, (offset, size) in enumerate(zip(sites.offsets, sites.sizes, strict=True)):
        for position in range(offset, offset + size):
            a, b = (int(end[0]) for end in sites.coordinates([position]))
            if {a, b} == {u, v}:
                return i
    return -1


def test_the_region_of_every_pair(sites):
    found = region_matrix(sites)
    assert found.shape == (7, 7)
    assert (found == found.T).all()
    assert set(np.diag(found)) == {-1}
    for u, v in combinations(range(7), 2):
        assert found[u, v] == region_of(sites, u, v)


def test_edges_and_nodes_have_the_colours_of_their_regions(sites):
    places = np.random.default_rng(0).random((7, 2))
    ax = region_graph(sites, positions=places)
    shown = [line for line in ax.lines if len(line.get_xdata())]
    edges, nodes = shown[:7], shown[7:]
    for (u, v), line in zip(GRAPH.edges.tolist(), edges, strict=True):
        np.testing.assert_array_equal(np.array(line.get_data()).T, places[[u, v]])
        region = region_of(sites, u, v)
        assert line.get_color() == (FIXED if region < 0 else colour_of(region))
    assert len(nodes) == 7
    for node, line in enumerate(nodes):
        homes = [region_of(sites, node, other) for other in range(7) if other != node]
        counts = [homes.count(i) for i in range(len(sites.regions))]
        expected = colour_of(counts.index(max(counts))) if max(counts) else FIXED
        assert line.get_color() == expected
    labels = [line.get_label() for line in ax.lines if not len(line.get_xdata())]
    assert labels == [*sites.regions, *(["fixed"] if len(sites.fixed_edges) else [])]


def test_a_layout_depends_on_the_seed_alone():
    sites = PARTITIONS["sets"].sites(GRAPH)
    one = layout(sites)
    assert one.shape == (7, 2)
    np.testing.assert_array_equal(one, layout(sites))
    np.testing.assert_array_equal(one, layout(PARTITIONS["everything"].sites(GRAPH)))
    assert len(region_graph(sites).lines) == 7 + 7 + 3


matplotlib = pytest.importorskip("matplotlib")


def test_two_drawings_are_the_same_bytes_and_settings_end_with_the_block():
    before = dict(matplotlib.rcParams)
    files = []
    for _ in range(2):
        with style():
            figure = new_figure(2, 2)
            figure.add_subplot().plot([1, 3, 2], label="words")
            drawn = io.BytesIO()
            figure.savefig(drawn, format="svg", metadata={"Date": None})
            files.append(drawn.getvalue())
    assert files[0] == files[1]
    assert b"<text" in files[0]  # words stay words: they can be searched
    assert dict(matplotlib.rcParams) == before


ARCS = sc.Graph(
    4,
    [(0, 1), (1, 0), (1, 2), (2, 3)],
    directed=True,
    edge_types=["likes", "follows", "likes", "follows"],
    type_names=("follows", "likes"),
    node_data={"x": np.eye(4, dtype=int)},
)


def test_arcs_have_regions_of_their_own():
    sites = sc.Partition.from_arcs({"there": [(0, 1)], "back": [(1, 0), (2, 3)]}).sites(ARCS)
    found = region_matrix(sites)
    assert (found[0, 1], found[1, 0], found[2, 3], found[3, 2]) == (0, 1, 1, -1)


def test_features_of_nodes_are_no_pairs():
    sites = sc.Partition.of_layers(edges="arcs", words="x").sites(ARCS.with_bits("x"))
    assert set(region_matrix(sites)[~np.eye(4, dtype=bool)].tolist()) == {0}
    ax = region_graph(sites)
    labels = [line.get_label() for line in ax.lines if not line.get_label().startswith("_")]
    assert labels == ["edges", "follows", "likes"]
