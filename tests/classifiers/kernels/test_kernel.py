from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from asking import drawn
from kernel_worlds import NOISE, PARTITION, listed, motif_graph, random_graph

import starcert as sc
from starcert import kernels
from starcert.classifiers.kernels.kernel import collect, count_hashes, join, look_up, mix, neighbours, node_labels_of


def test_a_batch_is_the_list_of_its_copies():
    graph = random_graph(9, 0.4, 1, element=["C", "N", "O"] * 3)
    part = sc.Partition.from_node_sets({"some": range(5)})
    batch = drawn(graph, sc.Noise(some=0.3), 20, part)
    for labels in ("degree", "element", None):
        one, other = collect(batch, labels), collect(listed(batch), labels)
        np.testing.assert_array_equal(one.nodes, other.nodes)
        np.testing.assert_array_equal(one.starts, other.starts)
        np.testing.assert_array_equal(one.labels, other.labels)
        for i in range(20):
            edges = slice(one.starts[i], one.starts[i + 1])
            pairs = [sorted(zip(each.u[edges].tolist(), each.v[edges].tolist(), strict=True)) for each in (one, other)]
            assert pairs[0] == pairs[1]


def test_labels_are_equal_as_python_has_it():
    def words(*labels):
        return collect([sc.Graph(len(labels), [], node_data={"x": labels})], "x").labels.tolist()

    assert words(1, 2) == words(1.0, 2.0) == words(True, np.int64(2))
    assert len(set(words(1, "1", (1,), 1.5, None, b"1"))) == 6


def test_neighbours_of_every_node():
    graphs = [random_graph(12, 0.4, 3), random_graph(7, 0.4, 3), random_graph(1, 0.4, 3)]
    for number, graph in enumerate(graphs):
        begin, near = neighbours(collect(graphs, None), number)
        assert [sorted(near[a:b].tolist()) for a, b in pairwise(begin)] == [
            np.flatnonzero(row).tolist() for row in graph.to_numpy()
        ]


def test_a_missing_attribute_is_named_with_those_there_are():
    assert node_labels_of(sc.Graph(2, [], node_data={"x": np.array([5, 6])}), "x") == [5, 6]
    with pytest.raises(sc.InvalidParameterError, match=r"Got 'y' instead\. .* has 'x'"):
        node_labels_of(sc.Graph(1, [], node_data={"x": [1]}), "y")
    with pytest.raises(
        sc.InvalidParameterError, match="'y' is anchored data, which tell of the clean graph's own edges"
    ):
        node_labels_of(sc.Graph(1, [], node_data={"x": [1]}, anchored_data={"y": [1]}), "y")


def test_features_of_rows_are_counted_each_once():
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 30, size=500).astype(np.uint64) * np.uint64(1 << 40)
    starts, ends = np.array([0, 0, 7, 300]), np.array([0, 5, 300, 500])  # an empty row, and a gap
    counts = count_hashes(starts, ends, hashes)
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        found = slice(counts.starts[row], counts.starts[row + 1])
        want = Counter(hashes[start:end].tolist())
        assert dict(zip(counts.hashes[found].tolist(), counts.values[found].tolist(), strict=True)) == want
        assert np.linalg.norm(counts.normalised().values[found]) == pytest.approx(1.0 if end > start else 0.0)


def test_unknown_features_have_no_column():
    known = np.unique(np.random.default_rng(1).integers(1 << 62, size=1_000).astype(np.uint64))
    hashes = np.concatenate([known[::-1], known + np.uint64(1)])
    starts = np.array([0, 10, 10, 2 * len(known)])
    begins, columns, values = look_up(starts, hashes, np.arange(len(hashes)) * 1.0, known)
    assert begins.tolist() == [0, 10, 10, len(known)]
    assert columns.tolist() == list(range(len(known)))[::-1]
    assert values.tolist() == list(range(len(known)))


def test_no_features_at_all():
    nothing = np.empty(0, np.uint64)
    assert count_hashes(np.zeros(3, int), np.zeros(3, int), nothing).starts.tolist() == [0, 0, 0, 0]
    assert look_up(np.array([0, 1]), np.ones(1, np.uint64), np.ones(1), nothing)[0].tolist() == [
        0,
        0,
    ]


def test_hashes_of_small_numbers_have_no_pattern():
    numbers = np.arange(300, dtype=np.uint64)
    mixed = {int(mix(number)) for number in numbers}
    assert len(mixed) == 300
    joined = {int(join(one, other)) for one in numbers for other in numbers}
    assert len(joined) == 300**2
    bits = np.array([[(each >> bit) & 1 for bit in range(64)] for each in mixed])
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.15


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.VertexHistogram(),
        kernels.VertexHistogram(normalize=True),
        kernels.WeisfeilerLehman(normalize=True),
        kernels.ShortestPath(),
        kernels.NeighbourhoodPairs(1, 2, normalize=True),
        kernels.Graphlets(),
    ],
    ids=str,
)
def test_noisy_copies_count_as_graphs_do(kernel):
    kernel.fit([motif_graph(i % 2, i) for i in range(4)])
    batch = drawn(motif_graph(1, 30), NOISE, 70, PARTITION)[3:60]
    whole = kernel.transform(batch).toarray()
    np.testing.assert_array_equal(whole, kernel.transform(listed(batch)).toarray())
    for i in (0, 20):
        np.testing.assert_array_equal(kernel.transform(batch[i : i + 1]).toarray()[0], whole[i])
