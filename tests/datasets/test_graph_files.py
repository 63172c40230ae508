from dataclasses import replace

import networkx as nx
import pytest
import runs_worlds as worlds

from starcert.datasets import Dataset
from starcert.datasets.graph_files import read_edge_list, read_folder, read_graphml
from starcert.datasets.parts import part_of
from starcert.objects import Graph
from starcert.runs.sources import load_graphs
from starcert.system.errors import StarcertError, StarcertWarning


def make(n=40):
    graphs = tuple(Graph(size + 1, []) for size in range(n))
    return Dataset(
        graphs, tuple(i % 2 for i in range(n)), names=tuple(f"g{i}" for i in range(n)), label_names=("even", "odd")
    )


def test_a_limit_on_sorted_data_draws_from_every_class():
    data = replace(make(), labels=(0,) * 30 + (1,) * 10)
    drawn = data.limited(8, 3)
    assert tuple(drawn.labels) == (0,) * 6 + (1,) * 2
    assert list(drawn.names) == sorted(drawn.names, key=data.names.index)
    assert drawn.names == data.limited(8, 3).names != data.limited(8, 4).names
    assert set(drawn.names) < set(data.limited(12, 3).names)
    assert data.limited(2, 0).labels.tolist() == [0, 1]
    assert make().limited(5, 3).names == make()[:5].names  # every class has its share already
    assert replace(make(), labels=None).limited(5, 3).names == make()[:5].names
    assert data.limited(None, 0) is data


@pytest.mark.parametrize("labels", [None, (None, *(0,) * 39)])
def test_data_without_classes_have_no_parts(labels):
    with pytest.raises(StarcertError, match="'split' needs data with classes"):
        part_of(replace(make(), labels=labels), "test", 0)


def test_the_digest_is_that_of_the_content():
    data = make()
    assert data.digest == make().digest
    others = [data[:39], replace(data, labels=(1,) * 40), replace(data, names=("x", *data.names[1:]))]
    others.append(replace(data, graphs=(Graph(2, [(0, 1)]), *data.graphs[1:])))
    assert len({data.digest, *(other.digest for other in others)}) == 5


@pytest.fixture
def folder(tmp_path):
    worlds.graphs(tmp_path / "graphs", n=12)
    return tmp_path / "graphs"


def test_a_folder_of_graphml(folder):
    data = read_folder(folder)
    assert data.names == tuple(f"g{number}" for number in range(1, 13))  # g2 before g10
    assert data.class_names == ("clique", "ring", "star")
    assert tuple(data.labels) == (0, 1, 2) * 4
    assert data.graphs[0].node_data["part"] == ("motif",) * 5 + ("rest",) * 3
    assert data.graphs[0].nodes == tuple(range(8))
    assert data.graphs[0].n_edges == 10 + 2 + 1


def test_names_of_nodes_are_kept_and_whole_numbers_are_numbers(tmp_path):
    nx.write_graphml(nx.Graph([("C1", "N"), ("N", "2")]), tmp_path / "a.graphml")
    nx.write_graphml(nx.Graph([(10, 2)]), tmp_path / "b.graphml")
    (tmp_path / "c.edges").write_text("x y # joined\n\n# nothing\ny,z 1\nx y\ny x\nlonely\n")
    (tmp_path / "d.txt").write_text("7 07\n")
    (tmp_path / "e.edgelist").write_text("7\t9\n")
    a, b, c, d, e = read_folder(tmp_path).graphs
    assert a.nodes == ("C1", "N", "2")
    assert b.nodes == (10, 2)
    assert c.nodes == ("x", "y", "z", "lonely")
    assert c.edges.tolist() == [[0, 1], [1, 2]]
    assert d.nodes == ("7", "07")
    assert e.nodes == (7, 9)


def test_without_labels_no_class_is_known(folder):
    (folder / "labels.csv").unlink()
    data = read_folder(folder)
    assert data.known == []
    assert data.class_names == ()


def relabelled(folder, labels):
    rows = [f"g{number + 1},{label}" for number, label in enumerate(labels)]
    (folder / "labels.csv").write_text("\n".join(["name,label", *rows]) + "\n", encoding="utf-8-sig")
    return read_folder(folder)


def test_whole_numbers_from_zero_are_class_numbers(folder):
    data = relabelled(folder, [0, 2, ""] * 4)
    assert tuple(data.labels) == (0, 2, None) * 4
    assert data.class_names == ("0", "1", "2")
    assert data.numbered


def test_whole_numbers_with_a_point_are_class_numbers_too(folder):
    data = relabelled(folder, ["0.0", "2.0", "1."] * 4)
    assert (tuple(data.labels), data.class_names, data.numbered) == ((0, 2, 1) * 4, ("0", "1", "2"), True)
    relabelled(folder, ["0.5", "2.0", ""] * 4)
    with pytest.raises(StarcertError, match=r"0.5 is a measurement, not a class; .*give them names"):
        load_graphs(folder)
    assert load_graphs(folder, numbers=True).class_names == ("0.5", "2.0")


def test_labels_in_columns_of_other_names(folder):
    rows = [f"{number},g{number + 1},{'AB'[number % 2]}" for number in range(12)]
    (folder / "labels.csv").write_text("\n".join(["index,Graph,kind of it", *rows]))
    data = read_folder(folder, {"name": "graph", "label": "kind of it"})
    assert (tuple(data.labels), data.class_names) == ((0, 1) * 6, ("A", "B"))
    with pytest.raises(StarcertError, match=r"It has index, Graph, kind of it\. Say which .*--columns label="):
        read_folder(folder, {"name": "graph"})
    with pytest.raises(StarcertError, match=r"'columns' cannot be smiles=x: .*labels.csv has no use for it"):
        read_folder(folder, {"smiles": "x"})


def test_other_labels_are_numbered_in_their_order(folder):
    data = relabelled(folder, [10, 9, -1] * 4)
    assert tuple(data.labels) == (2, 1, 0) * 4
    assert data.class_names == ("-1", "9", "10")
    assert not data.numbered


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        (
            "labels.csv",
            "graph,class\ng1,0\n",
            "labels.csv, line 1: must name the columns name and label. It has graph, class.",
        ),
        ("labels.csv", "", "line 1: must name the columns"),
        ("labels.csv", "name,label\ng1,0\n\ngg2,1\n", "labels.csv, line 4: no graph is called 'gg2'. Did you mean g2?"),
        ("labels.csv", "name,label\ng1,0\ng1,1\n", "line 3: 'g1' has a label already"),
        ("labels.csv", "name,label\ng1\n", "line 2: has 1 cells, the first line 2"),
        ("labels.csv", "name,label\ng1,0\n", "has no line for 'g2' and 10 more. Where a class is not known"),
        ("g1.graphml", "<graphml>", "g1.graphml: is not GraphML"),
        ("g1.graphml", "nothing of the kind", "g1.graphml: is not GraphML: syntax error: line 1, column 0"),
        ("g1.edges", "a b\n", "has the same name as g1.edges"),
        ("h.edges", "a b\na a\n", "h.edges, line 2: 'a a' is a self-loop"),
        ("h.edges", "a b 0.5\n", "h.edges, line 1: 'a b 0.5' is not a pair of nodes; weights"),
        ("h.edges", b"\xff\xfe", "h.edges: is not text in UTF-8"),
    ],
)
def test_bad_files_are_named_with_their_line(folder, file, text, words):
    (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StarcertError) as caught:
        read_folder(folder)
    assert words in str(caught.value)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (nx.Graph([(0, 0)]), "no self-loops"),
        (nx.MultiGraph([(0, 1), (0, 1)]), "is a multigraph"),
        (nx.Graph([(0, 1, {"weight": 2.5})]), "be unweighted"),
    ],
)
def test_what_is_no_simple_graph_is_refused_by_file(tmp_path, graph, words):
    nx.write_graphml(graph, tmp_path / "g.graphml")
    with pytest.raises(StarcertError, match=words) as caught:
        read_graphml(tmp_path / "g.graphml")
    assert str(tmp_path / "g.graphml") in str(caught.value)


def test_a_folder_without_graphs_says_what_is_wanted(tmp_path):
    (tmp_path / "notes.md").touch()
    with pytest.raises(StarcertError, match=r"folder with graphs.*\*\.graphml.*_A\.txt"):
        read_folder(tmp_path)


def test_an_empty_edge_list_is_the_empty_graph(tmp_path):
    (tmp_path / "g.edges").touch()
    assert read_edge_list(tmp_path / "g.edges").n_nodes == 0


GRAPHML = """<?xml version="1.0" encoding="{encoding}"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="part" attr.type="string"/>
<graph edgedefault="undirected"><node id="a"><data key="d0">left</data></node><node id="b"/>{more}
<edge source="a" target="b"/></graph>{after}</graphml>"""


def graphml(path, *, encoding="utf-8", more="", after=""):
    path.write_text(GRAPHML.format(encoding=encoding, more=more, after=after))
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"encoding": "nonsense"}, "is not GraphML: unknown encoding"),
        ({"encoding": "utf-7"}, "is not GraphML:"),
        ({"more": '<edge source="a" target="c"/>'}, "has an edge between 'a' and 'c', but no node 'c'"),
        ({"more": '<edge source="a"/>'}, "has an edge between 'a' and None, but no node None"),
        ({"more": '<node id="a"/>'}, "declares the node 'a' twice"),
        ({"after": '<graph edgedefault="undirected"><node id="z"/></graph>'}, "holds 2 graphs"),
        ({"more": '<node id="n"><graph edgedefault="undirected"/></node>'}, "holds 2 graphs"),
    ],
)
def test_what_networkx_would_pass_over_is_said(tmp_path, change, words):
    with pytest.raises(StarcertError) as caught:
        read_graphml(graphml(tmp_path / "g.graphml", **change))
    assert f"g.graphml: {words}" in str(caught.value)


def test_data_that_some_nodes_lack_are_left_out_aloud(tmp_path):
    with pytest.warns(StarcertWarning, match="Some nodes have no 'part': it is left out for all nodes. Give every"):
        graph = read_graphml(graphml(tmp_path / "g.graphml"))
    assert not graph.node_data


def test_a_cell_over_two_lines_is_named(folder):
    text = (folder / "labels.csv").read_text().replace("g3,star", '"g3\n",star')
    (folder / "labels.csv").write_text(text)
    with pytest.raises(StarcertError, match=r"labels.csv, line 4: a cell in quotes goes on in the next line"):
        read_folder(folder)


def test_lines_keep_their_numbers_after_empty_ones(folder):
    text = (folder / "labels.csv").read_text().replace("g3,star", "\n\ng99,star")
    (folder / "labels.csv").write_text(text)
    with pytest.raises(StarcertError, match=r"labels.csv, line 6: no graph is called 'g99'"):
        read_folder(folder)


LONG = "7" * 5000


def test_numbers_of_many_digits_are_names(tmp_path):
    (tmp_path / "a.edges").write_text(f"{LONG} 2\n")
    (tmp_path / "b.edges").write_text("1 2\n")
    (tmp_path / "labels.csv").write_text(f"name,label\na,0\nb,{LONG}\n")
    data = read_folder(tmp_path)
    assert data.graphs[0].nodes == (LONG, "2")
    assert (tuple(data.labels), data.class_names) == ((1, 0), (LONG, "0"))


def test_classes_that_lie_far_apart_are_the_labels_that_there_are(tmp_path):
    (tmp_path / "a.edges").write_text("1 2\n")
    (tmp_path / "b.edges").write_text("1 2\n")
    (tmp_path / "labels.csv").write_text("name,label\na,0\nb,99999999999\n")
    data = read_folder(tmp_path)
    assert (tuple(data.labels), data.class_names, data.numbered) == ((0, 1), ("0", "99999999999"), False)
