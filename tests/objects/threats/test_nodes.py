"""Spare nodes."""

import numpy as np
import pytest

import starcert as sc
from starcert.objects.threats import (
    InjectNode,
    after,
    with_spare_nodes,
)
from starcert.system.errors import InvalidParameterError


def test_spare_nodes_have_no_edges_and_stated_data():
    graph = sc.Graph(
        3,
        [(0, 1), (1, 2)],
        node_data={"x": np.eye(3, dtype=np.float32), "element": ["C", "N", "C"], "bit": [0, 1, 1]},
        anchored_data={"degree": [1, 2, 1]},
        edge_types=["single", "double"],
    ).with_bits("bit")
    data = {"x": [[1, 0, 0], [0, 1, 0]], "element": ["O", "O"], "bit": [0, 1]}
    more = with_spare_nodes(graph, data, names=("s", "t"))
    assert more.nodes == (0, 1, 2, "s", "t")
    assert more.edges.tolist() == graph.edges.tolist()
    assert more.edge_types.tolist() == graph.edge_types.tolist()
    assert more.node_data["x"].dtype == np.float32
    assert more.node_data["x"][3:].tolist() == data["x"]
    assert more.node_sites["bit"].values.ravel().tolist() == [0, 1, 1, 0, 1]
    assert not more.anchored_data
    sites = sc.Partition.of_layers(bonds="pairs", bits="bit").sites(more)
    threat = InjectNode(edges=1, nodes=("s", "t"))
    assert threat.count(sites, 1) == 7 * 2  # of either type
    back = after(sites, threat.attacks(sites, 1).blocks[0][0])
    assert threat.reverse.count(back, 1) == 1


@pytest.mark.parametrize("data", [None, {"x": []}, {"x": [1], "y": [1]}, {"x": [1, 2]}])
def test_data_of_spare_nodes_must_be_stated(data):
    with pytest.raises(InvalidParameterError, match="node_data"):
        with_spare_nodes(sc.Graph(2, [], node_data={"x": [0, 1]}), data)
