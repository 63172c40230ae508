import copy
import dataclasses
import pickle

import numpy as np
import pytest

import starcert as sc
from starcert.objects import NodeFrame
from starcert.objects.rule import EdgesAskedError, without_edges

GRAPH = sc.Graph(4, [(0, 1), (1, 2)], nodes="abcd", node_data={"x": np.eye(4), "element": ["C", "N", "O", "C"]})
FRAME = NodeFrame.of(GRAPH)


def caught(graph):
    try:
        return graph.edges
    except Exception:  # noqa: BLE001
        return None


LOOKING = {
    "edges": lambda graph: graph.edges,
    "n_edges": lambda graph: graph.n_edges,
    "key": lambda graph: graph.key,
    "hash": hash,
    "equality": lambda graph: graph == GRAPH,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "networkx": lambda graph: graph.to_networkx(),
    "numpy": lambda graph: graph.to_numpy(),
    "scipy": lambda graph: graph.to_scipy(),
    "vars": lambda graph: vars(graph)["edges"],
    "vars that has no edges": lambda graph: vars(graph).get("edges"),
    "dictionary": lambda graph: graph.__dict__,
    "fields": dataclasses.astuple,
    "past the watch": lambda graph: object.__getattribute__(graph, "edges"),
    "the method of another": sc.Graph.to_numpy,
    "whether there are any": lambda graph: hasattr(graph, "edges"),
    "with a way out": lambda graph: getattr(graph, "edges", None),
    "caught": caught,
    "something new": lambda graph: graph.weights,
    "its own failure": lambda graph: 1 / 0,
    "other dictionary": lambda graph: graph.__dict__.get("edges"),
    "a field": lambda graph: [getattr(graph, field.name) for field in dataclasses.fields(graph)],
    "another name": sc.Graph.n_edges.fget,
    "key as computed by the class": sc.Graph.key.func,
    "equality turned around": lambda graph: sc.Graph.__eq__(GRAPH, graph),
    "anchored data": lambda graph: graph.anchored_data,
    "reduce": lambda graph: graph.__reduce__(),
}


@pytest.mark.parametrize("how", LOOKING)
def test_whoever_looks_beyond_the_nodes_is_found_out(how):
    with pytest.raises(EdgesAskedError):
        without_edges(LOOKING[how], FRAME)


def test_nodes_and_their_data_may_be_looked_at():
    def seen(graph):
        assert isinstance(graph, sc.Graph)
        assert (type(graph).__name__, *graph.node_data) == ("_Edgeless", "x", "element")
        return graph.n_nodes, graph.nodes, graph.node_data["element"], float(graph.node_data["x"].sum())

    assert without_edges(seen, FRAME) == (4, ("a", "b", "c", "d"), ("C", "N", "O", "C"), 4.0)


def test_who_writes_into_the_data_spoils_nobody_elses():
    torch = pytest.importorskip("torch")
    graph = sc.Graph(2, [], node_data={"x": torch.ones(2)})
    assert without_edges(lambda shown: shown.node_data["x"].add_(1).tolist(), NodeFrame.of(graph)) == [2.0, 2.0]
    assert graph.node_data["x"].tolist() == [1.0, 1.0]


def test_a_message_may_name_the_graph_and_shows_no_edges():
    assert without_edges(repr, FRAME) == "Graph(4 nodes, edges not shown, node data: x, element)"
