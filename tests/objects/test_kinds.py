"""Graphs of every kind: arcs, types and numbers of edges, node data that are sites; how they come and are refused."""

import pickle
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.objects import NodeFrame, Sites
from starcert.objects.binding import acting_laws, bind
from starcert.sampling.views import clean_copy
from starcert.system.errors import InvalidParameterError, StarcertWarning

BONDS = ("single", "double", "triple", "aromatic")


def propanal() -> sc.Graph:
    return sc.Graph(4, [(2, 3), (0, 1), (2, 1)], edge_types=["double", "single", "single"], type_names=BONDS)


def test_types_and_numbers_follow_their_edges_into_order():
    graph = sc.Graph(
        3, [(2, 1), (1, 0)], edge_types=["b", "a"], edge_data={"length": [5.0, 7.0], "rgb": [[1, 2, 3], [4, 5, 6]]}
    )
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_types.tolist() == [1, 2]
    assert graph.edge_data["length"].tolist() == [7, 5]
    assert graph.added_edge_data["length"] == 6
    assert graph.added_edge_data["rgb"].tolist() == [2.5, 3.5, 4.5]
    with pytest.raises(ValueError, match="read-only"):
        graph.edge_types[0] = 2


@pytest.mark.parametrize(
    "graph",
    [
        propanal(),
        sc.Graph(3, [(0, 1), (1, 0), (2, 0)], directed=True),
        sc.Graph(2, [(0, 1)], edge_data={"w": [0.5]}, added_edge_data={"w": 2.0}),
        sc.Graph(2, [], node_data={"x": [[0, 1], [1, 1]]}).with_bits("x"),
        sc.Graph(2, [], node_data={"e": ["C", "N"], "z": [1, 2]}).with_categories("e", ("C", "N", "O")),
        sc.Graph(0, [], node_data={"x": np.empty((0, 2))}).with_bits("x"),
    ],
    ids=repr,
)
def test_a_graph_travels_and_has_a_key_of_its_own(graph):
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph
    assert repr(again) == repr(graph)
    assert [layer.alphabet for layer in again.layers] == [layer.alphabet for layer in graph.layers]
    plain = sc.Graph(graph.n_nodes, () if graph.directed else graph.edges)
    assert graph.key != plain.key
    assert graph.frame.key != plain.frame.key or graph.n_nodes == 0
    assert pickle.loads(pickle.dumps(graph.frame)) == graph.frame == NodeFrame.of(again)


def test_what_changes_changes_the_key():
    one = propanal()
    other = sc.Graph(4, one.edges, edge_types=["single", "double", "single"], type_names=BONDS)
    fewer = sc.Graph(4, one.edges, edge_types=["single", "single", "double"], type_names=BONDS[:2])
    assert len({one.key, other.key, fewer.key}) == 3
    assert one.frame.key == other.frame.key != fewer.frame.key
    bits = [sc.Graph(1, [], node_data={"x": [[a]]}).with_bits("x") for a in (0, 1)]
    assert bits[0].key != bits[1].key
    assert bits[0].frame.key == bits[1].frame.key


def test_node_data_that_are_sites_are_no_node_data():
    graph = sc.Graph(2, [], node_data={"x": np.eye(2), "y": [1, 2]}).with_categories("x")
    assert list(graph.node_data) == list(graph.frame.node_data) == ["y"]
    with pytest.raises(KeyError, match=r"may be changed by noise and attacks: it is in graph.node_sites"):
        graph.node_data["x"]
    assert clean_copy(Sites(graph, (), ())).node_values("x").tolist() == [[[0], [1]]]
    (copy,) = clean_copy(Sites(graph, (), ())).copies()
    assert copy.node_data["x"].tolist() == np.eye(2).tolist()
    assert graph.to_networkx().nodes[1]["x"].tolist() == [0, 1]


def test_categories_may_be_numbers_in_a_list():
    graph = sc.Graph(3, [(0, 1)], node_data={"number": [6, 7, 6]}).with_categories("number", (6, 7, 8))
    assert graph.node_sites["number"].values.tolist() == [[0], [1], [0]]
    assert graph.node_sites["number"].shown(graph.node_sites["number"].values) == (6, 7, 6)


def test_node_data_that_say_the_same_as_sites_are_found():
    data = {"element": ["C", "N", "O", "C"], "number": np.array([6, 7, 8, 6]), "charge": [0, 0, 1, 0]}
    graph = sc.Graph(4, [(0, 1)], node_data=data | {"names": [{}, [], (), 1]})
    with pytest.warns(StarcertWarning, match=r"'number' say the same as 'element'.*graph.without\('number'\)"):
        graph.with_categories("element", ("C", "N", "O"))
    graph.without("number").with_categories("element", ("C", "N", "O"))  # a warning would be an error


def test_networkx_digraphs_and_data_of_edges_come_and_go():
    source = nx.DiGraph()
    source.add_edge("a", "b", kind="cites", weight=0.5)
    source.add_edge("b", "a", kind="mocks", weight=2.0)
    graph = sc.Graph.from_networkx(source, edge_types="kind", type_names=("mocks", "cites"), edge_data=["weight"])
    assert graph.directed
    assert graph.edge_types.tolist() == [2, 1]
    back = graph.to_networkx()
    assert back.is_directed()
    assert back.edges["b", "a"] == {"type": "mocks", "weight": 2.0}
    assert sc.Graph.from_networkx(back, edge_types="type", type_names=("mocks", "cites"), edge_data=["weight"]) == graph


def test_pyg_data_with_types_and_numbers_come_and_go():
    torch = pytest.importorskip("torch")
    pyg = pytest.importorskip("torch_geometric.data")
    index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    one_hot = torch.tensor([[0.0, 1.0, 0.0]] * 2 + [[1.0, 0.0, 0.0]] * 2)
    data = pyg.Data(edge_index=index, edge_attr=one_hot, edge_weight=torch.tensor([2.0, 2.0, 3.0, 3.0]), num_nodes=3)
    graph = sc.Graph.from_pyg(data, edge_types="edge_attr", type_names=BONDS[:3], edge_data=["edge_weight"])
    assert graph.edge_types.tolist() == [2, 1]
    assert graph.edge_data["edge_weight"].tolist() == [2, 3]
    back = graph.to_pyg()
    assert torch.equal(back.edge_index, index)
    assert torch.equal(back.edge_attr, one_hot)
    assert torch.equal(back.edge_weight, data.edge_weight)
    data.edge_attr[0] = one_hot[2]
    with pytest.raises(InvalidParameterError, match=r"have the same edge_attr both ways. Got \'\(0, 1\) differs\'"):
        sc.Graph.from_pyg(data, edge_types="edge_attr", edge_data=["edge_weight"])
    arcs = sc.Graph.from_pyg(data, directed=True, edge_types="edge_attr", edge_data=["edge_weight"])
    assert arcs.edge_types.tolist() == [1, 2, 1, 1]
    assert arcs.type_names == (0, 1, 2)


def test_arcs_of_pyg_numpy_and_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    graph = sc.Graph(3, [(0, 1), (1, 2), (2, 0)], directed=True)
    assert sc.Graph.from_numpy(matrix, directed=True) == graph
    assert sc.Graph.from_scipy(sparse.csr_array(matrix), directed=True) == graph
    assert graph.to_numpy().tolist() == graph.to_scipy().toarray().tolist() == matrix.tolist()
    with pytest.raises(InvalidParameterError, match=r"Give directed=True to keep directions"):
        sc.Graph.from_numpy(matrix)


def test_bonds_of_smiles_are_types():
    pytest.importorskip("rdkit")
    graph = sc.Graph.from_smiles("C#CC=O", bond_types=True)
    assert graph.type_names == BONDS
    assert [BONDS[each - 1] for each in graph.edge_types] == ["triple", "single", "double"]
    assert sc.Graph.from_smiles("C#CC=O").edge_types is None


def test_added_edges_draw_types_as_the_whole_graph_has_them():
    graph = sc.Graph(5, [(0, 1), (1, 2), (2, 3)], edge_types=list("bba"), type_names=("a", "b"))
    noise = sc.Noise(tail=sc.Flip(0.1, added="graph"), head=sc.Flip(0.1))
    sites = bind(graph, noise, sc.Partition.from_node_sets({"tail": [3, 4], "head": [0, 1, 2]}))
    tail, head = acting_laws(sites, noise)
    assert (tail.shares, head.shares) == ((Fraction(1, 3), Fraction(2, 3)), (Fraction(1, 2),) * 2)


def test_edge_labels_of_a_tu_data_set_are_types():
    data = sc.datasets.tu("MUTAG", edge_types=True)
    assert data.graphs[0].type_names == (0, 1, 2, 3)
    assert data.said == ()
    assert sc.datasets.tu("MUTAG").said == (
        "Labels of edges are left out. They are types with tu('MUTAG', edge_types=True), in a run with --edge-types "
        "edge_labels.",
    )
    labels = sc.datasets.tu("MUTAG", edge_labels=True)
    for typed, other in zip(data.graphs[:5], labels.graphs[:5], strict=True):
        for (u, v), kind in zip(typed.edges.tolist(), typed.edge_types.tolist(), strict=True):
            assert (v, typed.type_names[kind - 1]) in other.anchored_data["edge_labels"][u]


class TestPartitions:
    directed = sc.Graph(4, [(0, 1), (1, 0), (2, 3)], directed=True)

    def test_pairs_are_both_arcs(self):
        sites = sc.Partition.from_node_sets({"a": [0, 1], "b": [2, 3]}, between={"c": ("a", "b")}).sites(self.directed)
        assert sites.sizes == (2, 2, 8)
        assert sites.counts == ((0, 2), (1, 1), (8, 0))
        everything = np.arange(12)
        np.testing.assert_array_equal(sites.locate(*sites.coordinates(everything)), everything)

    def test_arcs_one_by_one_lie_in_one_region(self):
        with pytest.raises(InvalidParameterError, match=r"\(0, 1\) in both 'a' and 'b'"):
            sc.Partition.from_arcs({"a": [(0, 1)], "b": [(0, 1)]}).sites(self.directed)
        both = sc.Partition.from_node_sets({"a": [0, 1]}) | sc.Partition.from_arcs({"b": [(1, 0)]})
        with pytest.raises(InvalidParameterError, match=r"\(1, 0\) in both 'a' and 'b'"):
            both.sites(self.directed)
        assert sc.Partition.from_arcs({"a": [(0, 1)], "b": [(1, 0)]}, anchored=False).sites(self.directed).sizes == (
            1,
            1,
        )

    def test_arcs_that_are_the_edges_look_read_off(self):
        read_off = sc.Partition.from_arcs({"a": [(0, 1), (1, 0), (2, 3)]}).sites(self.directed)
        assert read_off.anchored
        assert "The arcs of the region a are edges of the clean graph" in read_off.reason
        sites = sc.Partition.from_present_edges(self.directed, present="on", absent="off").sites(self.directed)
        assert sites.anchored
        assert sites.counts == ((0, 3), (9, 0))

    def test_arcs_need_a_directed_graph(self):
        with pytest.raises(InvalidParameterError, match=r"lie in a layer of pairs. Got 'arcs'"):
            sc.Partition.from_arcs({"a": [(0, 1)]}).sites(sc.Graph(2, []))

    @pytest.mark.parametrize(
        "partition",
        [
            sc.Partition.of_layers(a="x"),
            sc.Partition.from_nodes("x", {"a": [2, 0], "b": [1, 3]}),
            sc.Partition.from_columns("x", {"a": [4, 1], "b": [0, 2]}),
        ],
    )
    def test_sites_of_nodes_are_found_by_their_coordinates(self, partition):
        values = np.random.default_rng(0).integers(2, size=(4, 5))
        sites = partition.sites(sc.Graph(4, [], node_data={"x": values}).with_bits("x"))
        everything = np.arange(sites.n_sites)
        nodes, columns = sites.coordinates(everything)
        np.testing.assert_array_equal(sites.locate(nodes, columns, layer="x"), everything)
        assert set(sites.nonzero[0].tolist()) == set(everything[values[nodes, columns] == 1].tolist())
        left = {*np.ndindex(4, 5)} - set(zip(nodes.tolist(), columns.tolist(), strict=True))
        assert len(left) + 6 == sites.n_fixed  # and the node pairs
        assert all(sites.locate([node], [column], layer="x") == -1 for node, column in left)

    def test_regions_come_layer_after_layer(self):
        graph = sc.Graph(3, [(0, 1)], node_data={"x": [[0, 1], [1, 0], [1, 1]]}).with_bits("x")
        partition = sc.Partition.from_columns("x", {"first": [0]}) | sc.Partition.everything("bonds")
        partition = partition | sc.Partition.of_layers() | sc.Partition.from_columns("x", {"second": [1]})
        sites = partition.sites(graph)
        assert sites.regions == ("bonds", "first", "second")
        assert (sites.span("pairs"), sites.span("x")) == ((0, 3), (3, 9))
        assert sites.nonzero[0].tolist() == [0, 4, 5, 6, 8]
        with pytest.raises(InvalidParameterError, match="node 0, column 0 of x in both 'first' and 'again'"):
            (sc.Partition.from_columns("x", {"first": [0]}) | sc.Partition.from_nodes("x", {"again": [0]})).sites(graph)

    @pytest.mark.parametrize(
        ("make", "named"),
        [
            (lambda: sc.Partition.of_layers(a="y"), "name layers of the graph, pairs, x. Got 'y'.*with_bits"),
            (lambda: sc.Partition.from_columns("x", {"a": [2]}), "'columns' must be below 2, those of x. Got 2"),
            (lambda: sc.Partition.from_columns("x", {"a": [0, 0]}), "be numbers of columns, each once"),
            (lambda: sc.Partition.from_nodes("x", {"a": [7]}), "without a node 7"),
            (lambda: sc.Partition.from_nodes("pairs", {"a": [1]}), "take nodes or columns of data of nodes"),
            (lambda: sc.Partition.of_layers(a=3), "be the name of a layer"),
            (lambda: sc.Partition.of_layers(a="x") | sc.Partition.everything("a"), "have different names"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, make, named):
        graph = sc.Graph(3, [(0, 1)], node_data={"x": [[0, 1], [1, 0], [1, 1]]}).with_bits("x")
        with pytest.raises(InvalidParameterError, match=named):
            make().sites(graph)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: sc.Graph(2, [(0, 1)], directed=1), "'directed' must be True or False"),
        (lambda: sc.Graph(2, [(0, 1), (0, 1)], directed=True), "hold each arc once. Got .*twice"),
        (lambda: sc.Graph(2, [(1, 1)], directed=True), "have no self-loops"),
        (lambda: sc.Graph(2, [(0, 1)], edge_types=["a", "b"]), "name the type of each of the 1 edges. Got '2 types'"),
        (lambda: sc.Graph(2, [(0, 1)], edge_types="a"), "name the type of each of the 1 edges"),
        (lambda: sc.Graph(2, [(0, 1)], edge_types=["c"], type_names=("a", "b")), "be among 'a', 'b'. Got 'c'"),
        (lambda: sc.Graph(2, [(0, 1)], edge_types=["a"], type_names=("a", "a")), "different names"),
        (lambda: sc.Graph(2, [(0, 1)], type_names=("a",)), "come with edge_types"),
        (lambda: sc.Graph(2, [], edge_types=[]), "'type_names' must be 1 to 255 different names"),
        (lambda: sc.Graph(2, [(0, 1)], edge_data={"w": [1, 2]}), "for each of the 1 edges. Got .*shape"),
        (lambda: sc.Graph(2, [(0, 1)], edge_data={"w": ["x"]}), "be finite numbers"),
        (lambda: sc.Graph(2, [(0, 1)], edge_data={"w": [np.nan]}), "be finite numbers"),
        (lambda: sc.Graph(2, [(0, 1)], edge_data=[1]), "map names to numbers of the edges"),
        (
            lambda: sc.Graph(2, [(0, 1)], added_edge_data={"w": 1}),
            "name edge data of the graph, which has none. Got 'w'",
        ),
        (
            lambda: sc.Graph(2, [(0, 1)], edge_data={"w": [1]}, added_edge_data={"w": [1, 2]}),
            r"be a number. Got 'shape \(2,\)'",
        ),
        (lambda: sc.Graph(1, [], node_data={"x": [2]}).with_bits("x"), "hold only 0 and 1 to become bits"),
        (lambda: sc.Graph(1, [], node_data={"x": ["a"]}).with_bits("x"), "hold only 0 and 1 to become bits"),
        (lambda: sc.Graph(1, [], node_data={"x": [[[1]]]}).with_bits("x"), "have a value or a row for each node"),
        (lambda: sc.Graph(1, []).with_bits("x"), "be node data of the graph, which has none. Got 'x'"),
        (lambda: sc.Graph(1, [], node_data={"pairs": [1]}).with_bits("pairs"), "be no name of another layer"),
        (lambda: sc.Graph(1, [], node_data={"x": [[1, 1]]}).with_categories("x"), "hold one-hot rows where no categor"),
        (lambda: sc.Graph(1, [], node_data={"x": ["C"]}).with_categories("x", ("N", "O")), "that are named. Got 'C'"),
        (lambda: sc.Graph(1, [], node_data={"x": ["C"]}).with_categories("x", ("C",)), "be 2 to 256 different names"),
        (lambda: sc.Graph(1, [], node_data={"x": [[1, 0]]}).with_categories("x", ("C", "N")), "one category for each"),
        (
            lambda: sc.Graph.from_networkx(nx.path_graph(2), edge_types="kind"),
            "have the attribute 'kind' on every edge",
        ),
        (lambda: sc.Graph.from_networkx(nx.path_graph(2), edge_data="kind"), "be a list of names of edge attributes"),
    ],
)
def test_bad_input_has_one_clear_message(make, named):
    with pytest.raises(InvalidParameterError, match=named):
        make()


def test_what_is_left_out_is_said():
    source = nx.path_graph(3)
    nx.set_edge_attributes(source, "single", "order")
    with pytest.warns(StarcertWarning, match=r"left out: order. Name them to keep them.*edge_data=\['order'\]"):
        sc.Graph.from_networkx(source)


class TestNoiseAndLayers:
    graph = sc.Graph(2, [(0, 1)], node_data={"e": ["C", "N"]}).with_categories("e", ("C", "N", "O"))
    base = sc.classifiers.from_callable(lambda batch: np.zeros(len(batch), int), on="batch", description="zero")

    def problem(self, noise, regions=None, graph=None):
        return sc.SmoothedClassifier(self.base, noise, regions).problem([graph or self.graph])

    def test_categories_are_counted_by_the_layer(self):
        problem = self.problem(sc.Noise(bonds=0.1, atoms=sc.Categorical(0.05)), {"bonds": "pairs", "atoms": "e"})
        assert problem.noise["atoms"] == sc.Categorical(0.05, 3)
        assert problem.capacities == ((1, 2),)

    @pytest.mark.parametrize(
        ("noise", "regions", "named"),
        [
            (sc.Noise(all=0.1), None, "say where the regions are in the layers pairs, e"),
            (sc.Noise(a=0.1), {"a": "e"}, "'noise.a.' must be a law on the 3 values of e. Got .*Flip"),
            (sc.Noise(a=sc.Categorical(0.1, 4)), {"a": "e"}, "be a law on the 3 values of e"),
            (
                sc.Noise(a=sc.Edges(delete=0.1, add=0.1, change=0.1)),
                {"a": "pairs"},
                "the 2 values of pairs.*edge_types",
            ),
            (sc.Noise(a=0.1, b=0.1), {"a": "pairs"}, "be those of the noise, a, b. Got 'a'"),
        ],
    )
    def test_laws_that_do_not_fit_are_refused(self, noise, regions, named):
        with pytest.raises(InvalidParameterError, match=named):
            self.problem(noise, regions)

    def test_a_law_without_a_number_of_values_certifies_nothing_by_itself(self):
        with pytest.raises(InvalidParameterError, match=r"say how many values a site has.*Categorical\(0.05, 4\)"):
            sc.slack(sc.Noise(a=sc.Categorical(0.05)), 1)
        with pytest.raises(InvalidParameterError, match="say how many types an edge may have"):
            sc.slack(sc.Noise(a=sc.Edges(delete=0.1, add=0.1, change=0.1)), (1, 0, 0))

    def test_shares_are_as_many_as_types(self):
        noise = sc.Noise(all=sc.Flip(0.1, added=(0.5, 0.5)))
        with pytest.raises(InvalidParameterError, match="have a share for each of the 4 types of pairs"):
            self.problem(noise, graph=propanal())

    def test_numbers_of_edges_are_not_attacked_and_that_is_said(self):
        graph = sc.Graph(2, [(0, 1)], edge_data={"w": [0.5]})
        assert "The numbers of edges (w) are not attacked" in self.problem(sc.Noise(all=0.1), graph=graph).anchored[0]
        bits = sc.Graph(2, [(0, 1)], edge_data={"w": [0.5]}, node_data={"x": [0, 1]}).with_bits("x")
        assert self.problem(sc.Noise(a=0.1), {"a": "x"}, graph=bits).anchored == ("",)
