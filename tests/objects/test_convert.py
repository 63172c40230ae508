import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starcert.objects import Graph
from starcert.system.errors import InvalidParameterError, StarcertError, StarcertWarning


@st.composite
def graphs(draw):
    n_nodes = draw(st.integers(0, 6))
    pairs = [(u, v) for u in range(n_nodes) for v in range(u + 1, n_nodes)]
    edges = [pair for pair in pairs if draw(st.booleans())]
    node_data = {}
    if draw(st.booleans()):
        node_data["z"] = draw(st.lists(st.integers(0, 99), min_size=n_nodes, max_size=n_nodes))
    nodes = draw(st.permutations("abcdef"[:n_nodes])) if draw(st.booleans()) else None
    return Graph(n_nodes, edges, nodes=nodes, node_data=node_data)


@given(graphs())
def test_networkx_there_and_back(graph):
    pytest.importorskip("networkx")
    again = Graph.from_networkx(graph.to_networkx())
    if graph.n_nodes:  # without nodes nobody carries an attribute
        assert again == graph
    assert again.edges.tolist() == graph.edges.tolist()


@given(graphs())
def test_numpy_there_and_back(graph):
    matrix = graph.to_numpy()
    assert Graph.from_numpy(matrix, nodes=graph.nodes, node_data=graph.node_data) == graph
    assert Graph.from_numpy(matrix.astype(bool)) == Graph(graph.n_nodes, graph.edges)
    assert Graph.from_numpy(matrix.astype(float)) == Graph(graph.n_nodes, graph.edges)


@given(graphs())
def test_scipy_there_and_back_and_as_numpy(graph):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = graph.to_scipy()
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.dtype == np.int8
    assert np.array_equal(matrix.toarray(), graph.to_numpy())
    assert Graph.from_scipy(matrix, nodes=graph.nodes, node_data=graph.node_data) == graph


@settings(deadline=None)  # the first call imports torch_geometric
@given(graphs())
def test_pyg_there_and_back(graph):
    torch = pytest.importorskip("torch")
    utils = pytest.importorskip("torch_geometric.utils")
    data = graph.to_pyg()
    assert data.num_nodes == graph.n_nodes
    assert data.is_coalesced()
    assert data.is_undirected()
    assert not data.has_self_loops()
    dense = utils.to_dense_adj(data.edge_index, max_num_nodes=graph.n_nodes)[0] if graph.n_nodes else torch.zeros(0, 0)
    assert np.array_equal(dense.numpy(), graph.to_numpy())
    again = Graph.from_pyg(data)
    expected = {name: np.array(values, dtype=int) for name, values in graph.node_data.items()}
    if graph.n_nodes:
        assert again == Graph(graph.n_nodes, graph.edges, node_data=expected)


def test_graphs_without_nodes_pass_through_every_format():
    empty = Graph(0, [])
    assert Graph.from_numpy(np.zeros((0, 0))) == Graph.from_networkx(empty.to_networkx()) == empty
    assert Graph.from_pyg(empty.to_pyg()) == empty


def test_networkx_names_order_and_attributes():
    nx = pytest.importorskip("networkx")
    source = nx.Graph(title="left out")
    source.add_node("b", element="C", rare=1)
    source.add_node(("a", 1), element="N")
    source.add_node(7, element=None)
    source.add_edge(7, "b", weight=1.0, order="double")
    with (
        pytest.warns(StarcertWarning, match="Some nodes have no 'rare': it is left out for all nodes. Give every"),
        pytest.warns(StarcertWarning, match=r"Data of edges are left out: order. .* \(edge_types='order'\)"),
    ):
        graph = Graph.from_networkx(source)
    assert graph.nodes == ("b", ("a", 1), 7)
    assert graph.edges.tolist() == [[0, 2]]
    assert dict(graph.node_data) == {"element": ("C", "N", None)}
    back = graph.to_networkx()
    assert dict(back.nodes(data=True)) == {"b": {"element": "C"}, ("a", 1): {"element": "N"}, 7: {"element": None}}
    assert list(back) == list(source)
    numbers = Graph(2, [], node_data={"z": np.array([6, 7]), "x": np.eye(2)}).to_networkx()
    assert type(numbers.nodes[0]["z"]) is int
    assert numbers.nodes[1]["x"].tolist() == [0, 1]
    assert back.has_edge("b", 7)


def test_networkx_graphs_of_another_kind_are_refused():
    nx = pytest.importorskip("networkx")
    with pytest.raises(InvalidParameterError, match=r"is a multigraph.*with networkx.Graph\(graph\)"):
        Graph.from_networkx(nx.MultiGraph([(0, 1)]))
    arrows = nx.MultiDiGraph([(0, 1), (0, 1), (2, 1)])
    with pytest.raises(InvalidParameterError, match=r"is a multigraph.*networkx.DiGraph\(graph\), which keeps"):
        Graph.from_networkx(arrows)
    assert Graph.from_networkx(nx.DiGraph(arrows)).directed  # as the hint says
    with pytest.raises(InvalidParameterError, match=r"self-loops. Got \('a', 'a'\)"):
        Graph.from_networkx(nx.Graph([("a", "b"), ("a", "a")]))
    with pytest.raises(InvalidParameterError, match=r"unweighted.*\('a', 'b'\) with weight 0.5"):
        Graph.from_networkx(nx.Graph([("a", "b", {"weight": 0.5})]))
    with pytest.raises(InvalidParameterError, match="be a networkx graph"):
        Graph.from_networkx([(0, 1)])


BAD_MATRICES = [
    ([[0, 1, 0], [1, 0, 1], [0, 0, 0]], r"both directions.*\(1, 2\) without \(2, 1\)"),
    ([[0, 1, 0], [1, 1, 0], [0, 0, 0]], r"no self-loops. Got \(1, 1\)"),
    ([[0, 2, 0], [2, 0, 0], [0, 0, 0]], r"only 0 and 1. Got '2 at \(0, 1\)'"),
    ([[0, np.nan], [np.nan, 0]], r"nan at \(0, 1\)"),
    ([[0, 1, 0], [1, 0, 0]], r"square.*\(2, 3\)"),
]


@pytest.mark.parametrize(("matrix", "problem"), BAD_MATRICES)
def test_what_is_no_adjacency_matrix_is_refused(matrix, problem):
    sparse = pytest.importorskip("scipy.sparse")
    for make, convert in ((np.array, Graph.from_numpy), (sparse.csr_array, Graph.from_scipy)):
        with pytest.raises(InvalidParameterError, match=problem) as caught:
            convert(make(matrix))
        assert caught.value.parameter == "adjacency"


def test_matrices_of_another_kind_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InvalidParameterError, match="square"):
        Graph.from_numpy([0, 1])
    with pytest.raises(InvalidParameterError, match="from_scipy"):
        Graph.from_numpy(sparse.csr_array((2, 2)))
    with pytest.raises(InvalidParameterError, match="zeros and ones"):
        Graph.from_numpy([["0", "1"], ["1", "0"]])
    with pytest.raises(InvalidParameterError, match="from_numpy"):
        Graph.from_scipy(np.zeros((2, 2)))


def test_scipy_entries_that_add_up_or_vanish():
    sparse = pytest.importorskip("scipy.sparse")
    rows, columns = [0, 0, 1, 1], [1, 1, 0, 0]
    with pytest.raises(InvalidParameterError, match=r"2 at \(0, 1\)"):
        Graph.from_scipy(sparse.coo_array(([1, 1, 1, 1], (rows, columns)), shape=(3, 3)))
    matrix = sparse.coo_array(([0, 1, 1, 0], (rows, columns)), shape=(3, 3))
    assert Graph.from_scipy(matrix) == Graph(3, [(0, 1)])
    assert matrix.nnz == 4  # what was given is not touched
    twice = sparse.csr_array((np.ones(4), [1, 1, 0, 0], [0, 2, 4]), shape=(2, 2))
    with pytest.raises(InvalidParameterError, match=r"2.0 at \(0, 1\)"):
        Graph.from_scipy(twice)
    assert twice.nnz == 4
    stored_zero = sparse.coo_array(([0], ([2], [2])), shape=(3, 3))
    assert Graph.from_scipy(stored_zero) == Graph(3, [])


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_matrix", "lil_array", "dok_array", "bsr_array"])
def test_all_kinds_of_sparse_matrices(kind):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = getattr(sparse, kind)(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    assert Graph.from_scipy(matrix) == Graph(3, [(0, 1), (1, 2)])


def test_scipy_stays_sparse():
    pytest.importorskip("scipy.sparse")
    n_nodes = 10_000
    ring = Graph(n_nodes, [(node, (node + 1) % n_nodes) for node in range(n_nodes)])
    tracemalloc.start()
    matrix = ring.to_scipy()
    again = Graph.from_scipy(matrix)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert again == ring
    assert peak < 10_000_000  # a dense matrix of bytes would take ten times that


def pyg_data(rows, columns, **attributes):
    torch = pytest.importorskip("torch")
    pyg = pytest.importorskip("torch_geometric.data")
    return pyg.Data(edge_index=torch.tensor([rows, columns], dtype=torch.long), **attributes)


def test_pyg_node_attributes_become_node_data():
    torch = pytest.importorskip("torch")
    data = pyg_data(
        [1, 0, 2, 1],
        [0, 1, 1, 2],
        x=torch.eye(3),
        z=torch.tensor([6, 7, 8]),
        pos=torch.zeros(3, 2),
        element=["C", "N", "O"],
        edge_attr=torch.zeros(4, 2),
        y=torch.tensor([1]),
        name="left out",
    )
    with pytest.warns(StarcertWarning, match="Data of edges are left out: edge_attr"):
        graph = Graph.from_pyg(data)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert set(graph.node_data) == {"x", "z", "pos", "element"}
    data.x[0, 0] = 9
    assert torch.equal(graph.node_data["x"], torch.eye(3))
    back = graph.to_pyg()
    back.x[0, 0] = 9
    assert torch.equal(graph.node_data["x"], torch.eye(3))
    assert back.z.tolist() == [6, 7, 8]
    assert back.element == ["C", "N", "O"]
    assert back.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert "edge_attr" not in back


def test_pyg_with_as_many_arcs_as_nodes():
    torch = pytest.importorskip("torch")
    data = pyg_data([0, 1, 1, 2], [1, 0, 2, 1], x=torch.zeros(4, 1), edge_attr=torch.zeros(4, 1))
    data.face = torch.zeros(3, 4, dtype=torch.long)  # runs over four things in its last dimension
    with pytest.warns(StarcertWarning, match="edge_attr"):
        assert set(Graph.from_pyg(data).node_data) == {"x"}


def test_pyg_without_edges_keeps_the_columns_of_their_types():
    bare = Graph(3, [], edge_types=[], type_names=[0, 1, 2])
    assert Graph.from_pyg(bare.to_pyg(), edge_types="edge_attr") == bare


def test_pyg_gets_tensors_from_arrays_and_numbers():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    graph = Graph(2, [(0, 1)], node_data={"x": np.eye(2), "z": [6, 7], "mask": [True, False], "ragged": [[1], [1, 2]]})
    data = graph.to_pyg()
    assert torch.equal(data.x, torch.eye(2, dtype=torch.float64))
    assert data.z.dtype == torch.int64
    assert data.mask.dtype == torch.bool
    assert data.ragged == [[1], [1, 2]]
    with pytest.raises(InvalidParameterError, match="cannot be called 'edge_index'"):
        Graph(2, [], node_data={"edge_index": [1, 2]}).to_pyg()


@pytest.mark.parametrize(
    ("rows", "columns", "problem"),
    [
        ([0, 1, 1], [1, 0, 2], r"both directions.*\(1, 2\) without \(2, 1\)"),
        ([0, 1, 2], [1, 0, 2], r"self-loops. Got \(2, 2\)"),
        ([0, 1, 0, 1], [1, 0, 1, 0], r"once. Got '\(0, 1\) twice'"),
        ([0, 1, 1, 3], [1, 0, 3, 1], r"below 3.*\(1, 3\)"),
        ([0, -1], [-1, 0], r"below 3.*\(0, -1\)"),
    ],
)
def test_pyg_edges_that_are_not_undirected_are_refused(rows, columns, problem):
    with pytest.raises(InvalidParameterError, match=problem) as caught:
        Graph.from_pyg(pyg_data(rows, columns, num_nodes=3))
    assert caught.value.parameter == "edge_index"


def test_pyg_weights_and_missing_edges_are_refused():
    torch = pytest.importorskip("torch")
    pyg = pytest.importorskip("torch_geometric.data")
    weighted = pyg_data([0, 1], [1, 0], num_nodes=2, edge_weight=torch.tensor([1.0, 0.5]))
    with pytest.raises(InvalidParameterError, match=r"unweighted.*\(1, 0\) with weight 0.5.*data\.edge_weight = None"):
        Graph.from_pyg(weighted)
    weighted.edge_weight = torch.ones(2)
    assert Graph.from_pyg(weighted) == Graph(2, [(0, 1)])
    for source in (pyg.Data(num_nodes=3), pyg.HeteroData(), None):
        with pytest.raises(InvalidParameterError, match="an edge_index of two rows"):
            Graph.from_pyg(source)


@pytest.mark.parametrize(("module", "advice"), [("networkx", "networkx"), ("torch_geometric", "starcert.torch.")])
def test_a_missing_package_is_named(monkeypatch, module, advice):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, f"{module}.data", None)
    convert = {"networkx": Graph.to_networkx, "torch_geometric": Graph.to_pyg}[module]
    with pytest.raises(StarcertError, match=f"needs {module}.*pip install .*{advice}"):
        convert(Graph(1, []))
