import numpy as np
import pytest
from block_worlds import from_json
from report_worlds import graphs

import starcert as sc
from starcert.objects.graph_kind import DRAWN_NODES
from starcert.objects.site_sets import Across, Within
from starcert.report import page_data as module
from starcert.report.page_data import Drawings

GROUPS = (frozenset([0, 4, 5]), frozenset([1]), frozenset([2, 3, 9, 11]))


def pairs_of(block):
    return set(zip(*(side.tolist() for side in block.coordinates(np.arange(block.size))), strict=True))


@pytest.mark.parametrize(
    "partition",
    [
        lambda graph: sc.Partition.everything("x"),
        lambda graph: sc.Partition.from_node_sets({"x": [7, 2, 5], "y": [1, 9, 11]}, between={"z": ("x", "y")}),
        lambda graph: sc.Partition.from_node_labels([i % 3 for i in range(12)], between="mixed"),
        lambda graph: sc.Partition((("x", Within(GROUPS)), ("y", Across(GROUPS)))),
        lambda graph: sc.Partition.from_pairs({"x": [(3, 1), (0, 5)], "y": []}),
        lambda graph: sc.Partition.from_present_edges(graph, present="bonds", absent="gaps"),
    ],
)
def test_edges_and_regions_can_be_read_back(partition):
    sites = [partition(graph).sites(graph) for graph in graphs(4)]
    regions = tuple(reversed(sites[0].regions))
    found = Drawings(sites, regions)
    for each, drawing in zip(sites, found.graphs, strict=True):
        assert drawing["n"] == each.graph.n_nodes
        assert pairs_of(from_json(drawing["edges"])) == set(map(tuple, each.graph.edges.tolist()))
        for region, number in zip(regions, drawing["blocks"], strict=True):
            block = each.blocks[each.regions.index(region)]
            assert pairs_of(from_json(found.blocks[number])) == pairs_of(block)
        assert "names" not in drawing


def test_what_graphs_share_is_written_once():
    partition = sc.Partition.from_node_sets({"x": range(6), "y": range(6, 12)})
    assert len(Drawings([partition.sites(graph) for graph in graphs(50)], ("x", "y")).blocks) == 2


def test_names_of_nodes_are_kept_where_there_are_any():
    graph = sc.Graph(2, [(0, 1)], nodes=["</script>", ("C", 1)])
    found = Drawings([sc.Partition.everything("x").sites(graph)] * 2, ("x",))
    assert found.names == [["</script>", "('C', 1)"]]
    assert [drawing["names"] for drawing in found.graphs] == [0, 0]


def test_large_graphs_and_too_many_are_not_drawn(monkeypatch):
    large = sc.Graph(DRAWN_NODES + 1, [(0, 1)])
    assert Drawings([sc.Partition.everything("x").sites(large)], ("x",)).graphs == [None]
    monkeypatch.setattr(module, "MAX_NUMBERS", 40)
    sites = [sc.Partition.everything("x").sites(graph) for graph in graphs(6)]
    drawn = [drawing is not None for drawing in Drawings(sites, ("x",)).graphs]
    assert drawn[0]
    assert not drawn[-1]
