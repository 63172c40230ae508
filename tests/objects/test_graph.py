import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcert.objects import Graph, NodeFrame
from starcert.system.errors import InvalidParameterError


@st.composite
def edge_lists(draw):
    n_nodes = draw(st.integers(0, 7))
    pairs = [(u, v) for u in range(n_nodes) for v in range(u + 1, n_nodes)]
    return n_nodes, [pair for pair in pairs if draw(st.booleans())]


@given(edge_lists(), st.randoms(use_true_random=False))
def test_order_and_orientation_play_no_part(edge_list, shuffler):
    n_nodes, pairs = edge_list
    shuffled = [pair[::-1] if shuffler.random() < 0.5 else pair for pair in shuffler.sample(pairs, len(pairs))]
    graph = Graph(n_nodes, shuffled)
    assert graph.edges.tolist() == [list(pair) for pair in pairs]
    assert graph == Graph(n_nodes, pairs)
    assert graph.key == Graph(n_nodes, np.array(pairs).reshape(-1, 2)).key
    assert graph.n_edges == len(pairs)


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1), (2, 1)],
        ((0, 1), (1, 2)),
        [[1, 0], [1, 2]],
        {(0, 1), (1, 2)},
        iter([(0, 1), (1, 2)]),
        np.array([[0, 1], [1, 2]], dtype=np.uint8),
        [(np.int64(0), 1), (1, 2)],
        np.array([[0, 1], [1, 2]], dtype=object),
    ],
)
def test_edges_come_in_many_forms(edges):
    edges = Graph(3, edges).edges
    assert edges.tolist() == [[0, 1], [1, 2]]
    assert edges.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        edges[0, 0] = 2


@pytest.mark.parametrize("edges", [[], (), np.empty((0, 2)), np.array([]), set(), np.empty((0, 2), dtype=np.int64)])
def test_no_edges(edges):
    for n_nodes in (0, 3):
        assert Graph(n_nodes, edges).edges.shape == (0, 2)


@pytest.mark.parametrize(
    ("edges", "problem"),
    [
        ([(0, 1), (2, 2)], r"no self-loops. Got \(2, 2\)"),
        ([(0, 1), (1, 2), (1, 0)], r"each pair once.*\(0, 1\) twice"),
        ([(0, 1), (1, 3)], r"indices below 3.*\(1, 3\)"),
        ([(0, 1), (-1, 2)], r"\(-1, 2\)"),
        ([(0, 1), (1, 2**70)], rf"\(1, {2**70}\)"),
        (np.array([(0, 2**63 + 5)], dtype=np.uint64), rf"\(0, {2**63 + 5}\)"),
        ([(0, 1), (1, 1.5)], r"whole numbers.*\(1, 1.5\)"),
        ([(0, "1")], r"whole numbers.*\(0, '1'\)"),
        ([(False, True)], r"whole numbers.*\(False, True\)"),
        ([(0, 1), (1,)], r"whole numbers.*\(1,\)"),
        ([(0, 1, 2)], r"whole numbers.*\(0, 1, 2\)"),
        (np.array([[0, 1, 2], [1, 2, 0]]), r"\(0, 1, 2\).*Transpose"),
        ([3, 4], "Got 3"),
        (None, "Got None"),
    ],
)
def test_what_is_no_edge_is_refused_by_name(edges, problem):
    with pytest.raises(InvalidParameterError, match=problem) as caught:
        Graph(3, edges)
    assert caught.value.parameter == "edges"


@pytest.mark.parametrize("n_nodes", [-1, 1.0, "3", None, True])
def test_the_number_of_nodes_is_a_whole_number(n_nodes):
    with pytest.raises(InvalidParameterError, match="n_nodes"):
        Graph(n_nodes, [])


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [(["a", "b"], "3 names.*2 names"), (["a", "b", "a"], "'a' twice"), (["a", [], "c"], r"hashable.*\[\]")],
)
def test_names_are_hashable_and_differ(nodes, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        Graph(3, [], nodes=nodes)


@pytest.mark.parametrize(
    ("node_data", "problem"),
    [({"z": [1, 2]}, r"node_data\[z\].*3 nodes.*2 entries"), ({1: [1, 2, 3]}, "names of attributes"), ([1], "map")],
)
def test_node_data_have_one_entry_a_node(node_data, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        Graph(3, [], node_data=node_data)


def test_names_default_to_indices():
    assert Graph(3, []).nodes == (0, 1, 2)
    assert Graph(3, []) == Graph(3, [], nodes=range(3)) == Graph(3, [], nodes=np.arange(3))


def test_every_part_counts_in_the_key():
    graphs = [
        Graph(0, []),
        Graph(3, []),
        Graph(4, []),
        Graph(3, [(0, 1)]),
        Graph(3, [(0, 2)]),
        Graph(3, [(0, 1)], nodes="abc"),
        Graph(3, [(0, 1)], nodes="acb"),
        Graph(3, [(0, 1)], node_data={"z": [6, 6, 7]}),
        Graph(3, [(0, 1)], node_data={"z": [6, 7, 6]}),
        Graph(3, [(0, 1)], node_data={"x": [6, 6, 7]}),
        Graph(3, [(0, 1)], node_data={"z": np.array([6, 6, 7])}),
        Graph(3, [(0, 1)], node_data={"z": np.array([6.0, 6, 7])}),
    ]
    assert len({graph.key for graph in graphs}) == len(set(graphs)) == len(graphs)
    assert all((one == other) == (one is other) for one in graphs for other in graphs)
    assert Graph(3, []) != 3


@pytest.mark.parametrize("twin", [lambda graph: pickle.loads(pickle.dumps(graph)), copy.copy, copy.deepcopy])
def test_a_graph_survives_a_trip_between_processes(twin):
    graph = Graph(3, [(0, 1)], nodes="abc", node_data={"x": np.eye(3), "name": ["p", "q", "r"]})
    again = twin(graph)
    assert again == graph
    assert hash(again) == hash(graph)
    assert again.nodes == ("a", "b", "c")
    assert not again.edges.flags.writeable
    assert not again.node_data["x"].flags.writeable


def test_tensors_survive_it_too():
    torch = pytest.importorskip("torch")
    graph = Graph(2, [(0, 1)], node_data={"x": torch.eye(2)})
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph
    assert torch.equal(again.node_data["x"], torch.eye(2))
    given_tensor = torch.arange(2)
    held = Graph(2, [], node_data={"x": given_tensor})
    given_tensor[0] = 9
    assert held.node_data["x"].tolist() == [0, 1]
    assert graph == Graph(2, [(0, 1)], node_data={"x": np.eye(2, dtype=np.float32)})


def test_a_graph_does_not_change():
    given_edges = np.array([[0, 1]])
    graph = Graph(2, given_edges, node_data={"z": [1, 2]})
    given_edges[0] = 0
    assert graph.edges.tolist() == [[0, 1]]
    with pytest.raises(AttributeError):
        graph.n_nodes = 3
    with pytest.raises(TypeError):
        graph.node_data["z"] = 1


def test_data_that_tell_of_edges_are_kept_apart():
    graph = Graph(3, [(0, 1)], node_data={"z": [6, 7, 8]}, anchored_data={"degree": np.array([1, 1, 0])})
    assert repr(graph) == "Graph(3 nodes, 1 edges, node data: z, anchored data: degree)"
    assert list(graph.node_data) == ["z"]
    assert graph.anchored_data["degree"].tolist() == [1, 1, 0]
    with pytest.raises(KeyError, match=r"'degree' reveals the graph's own edges: it is in graph.anchored_data"):
        graph.node_data["degree"]
    with pytest.raises(KeyError, match=r"^'w'$"):
        graph.node_data["w"]
    with pytest.raises(TypeError):
        graph.anchored_data["degree"] = 1
    assert not graph.anchored_data["degree"].flags.writeable


def test_which_data_are_anchored_is_part_of_a_graph_but_not_of_its_key():
    data = {"z": [6, 7], "degree": [1, 1]}
    plain = Graph(2, [(0, 1)], node_data=data)
    apart = Graph(2, [(0, 1)], node_data={"z": data["z"]}, anchored_data={"degree": data["degree"]})
    assert apart.key == plain.key
    assert hash(apart) == hash(plain)
    assert apart != plain
    for twin in (pickle.loads(pickle.dumps(apart)), copy.copy(apart), copy.deepcopy(apart)):
        assert twin == apart
        assert dict(twin.anchored_data) == {"degree": (1, 1)}
    assert apart != Graph(2, [(0, 1)], node_data={"z": data["z"]}, anchored_data={"degree": [1, 2]})


@pytest.mark.parametrize(
    ("anchored_data", "problem"),
    [
        ({"z": [1, 2, 3]}, "'anchored_data' must have other names than the node data. Got 'z'"),
        ({"degree": [1]}, r"'anchored_data\[degree\]' must have one entry for each of the 3 nodes"),
        ([1, 2, 3], "'anchored_data' must map names"),
    ],
)
def test_anchored_data_that_are_none_are_refused(anchored_data, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        Graph(3, [], node_data={"z": [1, 2, 3]}, anchored_data=anchored_data)


ATOMS = Graph(4, [(0, 1), (1, 2)], nodes="abcd", node_data={"x": np.eye(4), "element": ["C", "N", "O", "C"]})
FRAME = NodeFrame.of(ATOMS)


def test_a_frame_is_the_same_for_all_edges_and_another_for_other_nodes():
    attacked = FRAME.with_edges([(0, 3)])
    assert NodeFrame.of(attacked) == FRAME
    assert hash(NodeFrame.of(attacked)) == hash(FRAME)
    assert attacked.edges.tolist() == [[0, 3]]
    assert (attacked.nodes, list(attacked.node_data)) == (("a", "b", "c", "d"), ["x", "element"])
    others = [
        Graph(4, ATOMS.edges, nodes="abcd", node_data={"x": np.eye(4)}),
        Graph(4, ATOMS.edges, node_data=ATOMS.node_data),
        Graph(4, ATOMS.edges, nodes="abcd", node_data={**ATOMS.node_data, "x": 2 * np.eye(4)}),
        Graph(5, ATOMS.edges),
    ]
    assert len({NodeFrame.of(each).key for each in [ATOMS, *others]}) == 5


def test_a_frame_travels_and_keeps_no_edges():
    again = pickle.loads(pickle.dumps(FRAME))
    assert again == FRAME
    assert again.with_edges(ATOMS.edges) == ATOMS
    more = {"directed", "type_names", "edge_data", "node_sites"}
    assert set(vars(NodeFrame.of(ATOMS))) == {"n_nodes", "nodes", "node_data"} | more
    assert repr(FRAME) == "NodeFrame(4 nodes, node data: x, element)"
