from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from starcert.datasets import tu_files
from starcert.datasets.tu_files import read
from starcert.system.errors import StarcertError

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "TU"


def folder_of(name):
    """A data set that lies on this machine, or the test is skipped."""
    if name == "PROTEINS":
        folder = SHARED / "PROTEINS" / "raw"
    else:
        grakel = find_spec("grakel")
        folder = Path(grakel.origin).parent / "tests" / "data" / name if grakel else Path("missing")
    if not (folder / f"{name}_A.txt").is_file():
        pytest.skip(f"{name} is not on this machine")
    return folder


@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS", "Cuneiform"])
def test_graphs_classes_and_node_data_are_those_of_pyg(name):
    folder = folder_of(name)
    reader = pytest.importorskip("torch_geometric.io")
    data, slices, sizes = reader.read_tu_data(str(folder), name)
    graphs, labels, label_names = read(folder, name)
    assert labels.tolist() == data.y.tolist()
    assert len(label_names) == data.y.max() + 1
    nodes, arcs = slices["x"].tolist(), slices["edge_index"].tolist()
    attributes = sizes["num_node_attributes"]
    assert len(graphs) == len(nodes) - 1
    for number, graph in enumerate(graphs):
        theirs = data.edge_index[:, arcs[number] : arcs[number + 1]].T.numpy()
        np.testing.assert_array_equal(graph.edges, theirs[theirs[:, 0] < theirs[:, 1]])
        assert 2 * graph.n_edges == len(theirs)
        x = data.x[nodes[number] : nodes[number + 1]].numpy()
        np.testing.assert_array_equal(graph.node_data["x"], x[:, attributes:])
        assert graph.node_data["x"].dtype == np.float32
        if attributes:
            np.testing.assert_array_equal(graph.node_data["attributes"].astype(np.float32), x[:, :attributes])
        else:
            assert "attributes" not in graph.node_data


SMALL = {
    "A": "1, 2\n2, 1\n2,3\n3,2\n5, 4\n4, 5\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n",
    "graph_labels": "7\n-3\n7\n",
    "node_labels": "4\n2\n2\n5\n4\n2\n",
    "node_attributes": "0.5, 1\n1e-3, 2\n 3, 3\n4, 4\n5, 5\n6, 6\n",
}


def write(folder, **changed):
    for kind, text in {**SMALL, **changed}.items():
        if text is not None:
            (folder / f"TINY_{kind}.txt").write_text(text, encoding="utf-8")
    return folder


def test_a_small_data_set(tmp_path):
    graphs, labels, label_names = read(write(tmp_path), "TINY")
    assert [graph.n_nodes for graph in graphs] == [3, 2, 1]
    assert [graph.edges.tolist() for graph in graphs] == [[[0, 1], [1, 2]], [[0, 1]], []]
    assert labels.tolist() == [1, 0, 1]
    assert label_names == (-3, 7)
    assert graphs[0].node_data["label"].tolist() == [4, 2, 2]
    # labels 2 to 5: the column of 3, which nobody has, is there as it is in PyG
    assert graphs[0].node_data["x"].tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert graphs[1].node_data["x"].tolist() == [[0, 0, 0, 1], [0, 0, 1, 0]]
    assert graphs[0].node_data["attributes"].tolist() == [[0.5, 1], [0.001, 2], [3, 3]]


def test_several_labels_a_node_are_encoded_side_by_side(tmp_path):
    graphs, _, _ = read(write(tmp_path, node_labels="0, 5\n1, 5\n2, 6\n0, 5\n0, 5\n0, 5\n"), "TINY")
    assert graphs[0].node_data["label"].tolist() == [[0, 5], [1, 5], [2, 6]]
    assert graphs[0].node_data["x"].tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1]]


def test_files_that_need_not_be_there_and_graphs_without_edges(tmp_path):
    graphs, _, _ = read(write(tmp_path, A="\n", node_labels=None, node_attributes=None), "TINY")
    assert [graph.n_nodes for graph in graphs] == [3, 2, 1]
    assert all(graph.n_edges == 0 and not graph.node_data for graph in graphs)


ENDS = (-(2**63), 2**63 - 1)


def test_labels_that_lie_near_keep_the_columns_of_pyg_and_so_do_many_without_a_gap(tmp_path):
    graphs, _, _ = read(write(tmp_path, node_labels="0\n999\n0\n5\n0\n0\n"), "TINY")
    assert graphs[0].node_data["x"].shape == (3, 1000)
    assert graphs[0].node_data["x"][1].argmax() == 999
    many = "\n".join(map(str, range(1500)))
    indicator, arcs = "1\n" * 1500, "1, 2\n2, 1\n"
    files = {"graph_indicator": indicator, "graph_labels": "0\n", "A": arcs, "node_attributes": None}
    (tmp_path / "many").mkdir()
    graphs, _, _ = read(write(tmp_path / "many", node_labels=many, **files), "TINY")
    np.testing.assert_array_equal(graphs[0].node_data["x"], np.eye(1500))


def test_labels_at_both_ends_of_the_whole_numbers(tmp_path):
    low, high = ENDS
    rows = f"{low}, 4\n{high}, 2\n{low}, 2\n0, 4\n{low}, 4\n{low}, 2\n"
    graphs, _, _ = read(write(tmp_path, node_labels=rows, graph_labels=f"{low}\n{high}\n0\n"), "TINY")
    assert graphs[0].node_data["x"].tolist() == [[1, 0, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0], [1, 0, 0, 1, 0, 0]]


def test_one_hot_labels_that_would_not_fit_are_refused_with_their_size(tmp_path, monkeypatch):
    monkeypatch.setattr(tu_files, "_MAX_BYTES", 71)
    with pytest.raises(StarcertError, match=r"labels of 6 nodes would take 72 bytes as 3 columns.*fewer different"):
        read(write(tmp_path, node_labels="0\n2\n0\n0\n0\n0\n"), "TINY")


def test_a_repeated_line_is_the_same_edge_and_line_ends_do_not_matter(tmp_path):
    graphs, _, _ = read(write(tmp_path, A=(SMALL["A"] + "2, 1\n1, 2\n").replace("\n", "\r\n") + "\n \n"), "TINY")
    assert graphs[0].edges.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        ("A", "1, 2\n2, 1\n6, 7\n7, 6\n", "A.txt, line 3: 6, 7 is no pair of nodes from 1 to 6"),
        ("A", "1, 2\n2, 1\n3, 3\n", "A.txt, line 3: 3, 3 is a self-loop"),
        ("A", "1, 2\n2, 1\n3, 4\n4, 3\n", "A.txt, line 3: 3, 4 joins nodes of different graphs"),
        ("A", "1, 2\n2, 1\n2, 3\n", "A.txt, line 3: 2, 3 without its other direction"),
        ("A", "1, 2\n2, x\n", "A.txt, line 2: 'x' is no whole number"),
        ("A", "1, 2\n2, 99999999999999999999\n", "A.txt, line 2: '99999999999999999999' is no whole number"),
        ("A", "1, 2\n\n2, 1\n", "A.txt, line 2: '' is not 2 whole numbers separated by commas"),
        ("A", None, "A.txt: is missing; TINY needs it"),
        ("graph_indicator", "1\n1\n1\n2\n2\n4\n", "graph_indicator.txt, line 6: graph 4 is none of the 3 that"),
        ("graph_indicator", "1\n1\n1\n2\n1\n3\n", "graph_indicator.txt, line 5: graph 1 comes after a later one"),
        ("graph_indicator", "", "graph_indicator.txt: is empty"),
        (
            "graph_labels",
            "1\n2\n1\n2\n",
            r"graph_labels.txt, line 4: the class of a graph \(label 2\) that has no node",
        ),
        ("graph_labels", None, "graph_labels.txt: is missing.*without classes are not covered"),
        ("node_labels", "0\n1\n", "node_labels.txt: must have a line for each of the 6 nodes, has 2"),
        ("A", "", "A.txt: has 0 bytes. Fetch it again; if no graph has any edge, let it hold one empty line."),
        ("node_attributes", "1, 2\n3\n", "node_attributes.txt, line 2: '3' is not 2 numbers"),
        ("node_attributes", "1\n2\n?\n", r"node_attributes.txt, line 3: '\?' is no number"),
    ],
)
def test_malformed_files_are_refused_with_file_and_line(tmp_path, kind, text, problem):
    with pytest.raises(StarcertError, match=f"TINY_{problem}") as error:
        read(write(tmp_path, **{kind: text}), "TINY")
    assert str(tmp_path) in str(error.value)


def test_what_is_no_text_is_refused_with_its_line(tmp_path):
    write(tmp_path)
    (tmp_path / "TINY_A.txt").write_bytes(b"1, 2\n2, \xff\n")
    with pytest.raises(StarcertError, match="line 2"):
        read(tmp_path, "TINY")


def test_edge_labels_are_those_of_pyg():
    folder = folder_of("MUTAG")
    reader = pytest.importorskip("torch_geometric.io")
    data, slices, _ = reader.read_tu_data(str(folder), "MUTAG")
    arcs = slices["edge_index"].tolist()
    graphs, plain = read(folder, "MUTAG", edge_labels=True)[0], read(folder, "MUTAG")[0]
    for number, graph in enumerate(graphs):
        ours = {(u, v, label) for u, ends in enumerate(graph.anchored_data["edge_labels"]) for v, label in ends}
        part = slice(arcs[number], arcs[number + 1])
        labels = data.edge_attr[part].argmax(dim=1).tolist()
        theirs = {(u, v, label) for (u, v), label in zip(data.edge_index[:, part].T.tolist(), labels, strict=True)}
        assert ours == theirs
        assert not plain[number].anchored_data
        assert "edge_labels" not in graph.node_data
        assert np.array_equal(plain[number].edges, graph.edges)


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (None, "T_edge_labels.txt: is missing"),
        ("1\n1\n2", "T_edge_labels.txt: must have a line for each of the 4 lines of T_A.txt, has 3"),
        ("1\n2\n1\n1", "T_edge_labels.txt, line 2: the edge of this line has another label elsewhere"),
        ("1\nx\n1\n1", "T_edge_labels.txt, line 2: 'x' is no whole number"),
    ],
)
def test_edge_labels_that_do_not_fit_are_refused(tmp_path, labels, problem):
    files = {"A": "1, 2\n2, 1\n3, 4\n4, 3", "graph_indicator": "1\n1\n2\n2", "graph_labels": "0\n1"}
    for kind, text in (files | ({} if labels is None else {"edge_labels": labels})).items():
        (tmp_path / f"T_{kind}.txt").write_text(text, encoding="utf-8")
    read(tmp_path, "T")
    with pytest.raises(StarcertError, match=problem):
        read(tmp_path, "T", edge_labels=True)


def test_edge_labels_count_neighbours_from_each_graphs_first_node(tmp_path):
    files = {
        "A": "1, 2\n2, 1\n3, 4\n4, 3\n4, 3",
        "graph_indicator": "1\n1\n2\n2",
        "graph_labels": "0\n1",
        "edge_labels": "5\n5\n7\n7\n7",
    }
    for kind, text in files.items():
        (tmp_path / f"T_{kind}.txt").write_text(text, encoding="utf-8")
    one, other = read(tmp_path, "T", edge_labels=True)[0]
    assert one.anchored_data["edge_labels"] == (frozenset({(1, 5)}), frozenset({(0, 5)}))
    assert other.anchored_data["edge_labels"] == (frozenset({(1, 7)}), frozenset({(0, 7)}))
