import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from region_worlds import all_pairs, covers_everything, named_pairs, shuffled

import starcert as sc
from starcert.objects.regions import scores, similar_features
from starcert.system.errors import InvalidParameterError, StarcertError


def by_hand(graph, x, threshold):
    sets = [{column for column, value in enumerate(row) if value} for row in x.tolist()]
    alike = set()
    for u, one in enumerate(sets):
        for v, other in enumerate(sets[:u]):
            jaccard = len(one & other) / len(one | other) if one | other else 1.0
            if jaccard >= threshold:
                alike.add(frozenset((graph.nodes[u], graph.nodes[v])))
    return {"alike": alike, "unlike": all_pairs(graph) - alike}


@given(
    arrays(np.int8, st.tuples(st.integers(0, 9), st.integers(1, 5)), elements=st.integers(0, 1)),
    st.sampled_from([0.0, 0.01, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1.0]),
)
def test_pairs_are_compared_as_sets(x, threshold):
    graph = sc.Graph(len(x), [], node_data={"x": x})
    rule = similar_features(threshold)
    assert named_pairs(rule, graph) == by_hand(graph, x, threshold)
    assert named_pairs(rule, shuffled(graph)) == named_pairs(rule, graph)
    assert covers_everything(rule, graph) or graph.n_nodes < 2


def test_bags_of_words_in_several_chunks(monkeypatch):
    monkeypatch.setattr(scores, "_CHUNK", 100)
    x = (np.random.default_rng(0).random((60, 30)) < 0.15).astype(np.float32)
    graph = sc.Graph(60, [(0, 1)], node_data={"words": x}, nodes=[f"page{i}" for i in range(60)])
    for threshold in (0.01, 0.1, 0.3):
        assert named_pairs(similar_features(threshold, attribute="words"), graph) == by_hand(graph, x, threshold)


def test_labels_are_described_by_their_nodes_however_many():
    graph = sc.Graph(20_000, [], node_data={"x": np.eye(7, dtype=np.float32)[np.arange(20_000) % 7]})
    sites = similar_features(0.5)(graph).sites(graph)
    sizes = np.bincount(np.arange(20_000) % 7)
    assert sites.sizes[0] == int((sizes * (sizes - 1) // 2).sum())
    assert sites.n_sites == 20_000 * 19_999 // 2


@pytest.mark.parametrize("threshold", [0.2, 0.9])
def test_too_many_pairs_to_list_are_refused(monkeypatch, threshold):
    x = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 0]] * 5)
    graph = sc.Graph(20, [], node_data={"x": x})
    named_pairs(similar_features(threshold), graph)
    for most in (1, 20):
        monkeypatch.setattr(scores, "MAX_LISTED", most)
        if threshold == 0.9:  # equal features only: no listing needed
            assert len(named_pairs(similar_features(threshold), graph)["alike"]) == 40
        else:
            with pytest.raises(StarcertError, match="alike and unlike both have more than"):
                similar_features(threshold)(graph)


def test_it_does_not_read_edges():
    x = np.eye(3)
    one, other = (sc.Graph(3, edges, node_data={"x": x}) for edges in ([], [(0, 1), (1, 2)]))
    assert similar_features(0.5)(one) == similar_features(0.5)(other)
    assert not similar_features(0.5)(one).anchored


@pytest.mark.parametrize(
    ("x", "problem"),
    [
        (np.array([[0, 1], [0.5, 1]]), "zeros and ones, as the Jaccard.* Got \"0.5 at node 'v'\""),
        (np.array([[0, 1], [np.nan, 1]]), "nan at node 'v'"),
        (np.array([0, 1]), "row of zeros and ones for each node. Got '1 dimension of int64'.*node_labels"),
        ([(0, 1), (1,)], "row of zeros and ones"),
        (["a", "b"], "row of zeros and ones"),
    ],
)
def test_what_is_no_set_of_features_is_named(x, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        similar_features()(sc.Graph(2, [], nodes="uv", node_data={"x": x}))
