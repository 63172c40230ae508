import pickle

import numpy as np

import starcert as sc
from starcert.objects import NodeFrame

GRAPH = sc.Graph(4, [(0, 1), (1, 2)], nodes="abcd", node_data={"x": np.eye(4), "element": ["C", "N", "O", "C"]})
FRAME = NodeFrame.of(GRAPH)


def test_a_frame_is_the_same_for_all_edges_and_another_for_other_nodes():
    attacked = FRAME.with_edges([(0, 3)])
    assert NodeFrame.of(attacked) == FRAME
    assert hash(NodeFrame.of(attacked)) == hash(FRAME)
    assert attacked.edges.tolist() == [[0, 3]]
    assert (attacked.nodes, list(attacked.node_data)) == (("a", "b", "c", "d"), ["x", "element"])
    others = [
        sc.Graph(4, GRAPH.edges, nodes="abcd", node_data={"x": np.eye(4)}),
        sc.Graph(4, GRAPH.edges, node_data=GRAPH.node_data),
        sc.Graph(4, GRAPH.edges, nodes="abcd", node_data={**GRAPH.node_data, "x": 2 * np.eye(4)}),
        sc.Graph(5, GRAPH.edges),
    ]
    assert len({NodeFrame.of(each).key for each in [GRAPH, *others]}) == 5


def test_a_frame_travels_and_keeps_no_edges():
    again = pickle.loads(pickle.dumps(FRAME))
    assert again == FRAME
    assert again.with_edges(GRAPH.edges) == GRAPH
    more = {"directed", "type_names", "edge_data", "node_sites"}
    assert set(vars(NodeFrame.of(GRAPH))) == {"n_nodes", "nodes", "node_data"} | more
    assert repr(FRAME) == "NodeFrame(4 nodes, node data: x, element)"
