"""The setting `edge_types`: types of edges from every kind of data, the same in all graphs; and what helps without."""

import json
from pathlib import Path

import networkx as nx
import pytest
import runs_worlds as worlds

import starcert as sc
from starcert.archive import read
from starcert.datasets.tensor_files import read_tensors
from starcert.runs.declaration import check_values
from starcert.runs.settings import SETTINGS
from starcert.runs.sources import load_graphs
from starcert.system.errors import StarcertError, StarcertWarning

ORDERS = ("single", "double", "triple", "aromatic")
TABLE = "id,structure,verdict\na,CCO,good\nb,CC#N,bad\nc,CC(=O)O,good\nd,c1ccccc1N,bad\n"
COLUMNS = "smiles=structure,label=verdict,name=id"

NET = """
import torch
from torch_geometric.nn import GINEConv, global_add_pool

class Net(torch.nn.Module):
    def __init__(self, edge_dim=4):
        super().__init__()
        torch.manual_seed(0)
        self.conv = GINEConv(torch.nn.Linear(3, 16), edge_dim=edge_dim)
        self.linear = torch.nn.Linear(16, 2)

    def forward(self, data):
        h = self.conv(data.x, data.edge_index, data.edge_attr).relu()
        return self.linear(global_add_pool(h, data.batch))

net, narrow = Net(), Net(edge_dim=3)

def many(graph):
    return int(graph.number_of_edges() > 3)

def function():
    return many
"""


@pytest.fixture
def molecules(tmp_path, monkeypatch):
    pytest.importorskip("rdkit")
    pytest.importorskip("torch_geometric")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "molecules.csv").write_text(TABLE)
    (tmp_path / "net.py").write_text(NET)
    said = ("--data", "molecules.csv", "--columns", COLUMNS, "--samples", "100", "--noise")
    return lambda noise, model="net", more=(): ("certify", "--model", f"net.py:{model}", *said, noise, *more)


def test_a_table_of_molecules_and_a_module_that_asks_for_bonds_reach_a_report(here, molecules):
    status, _, err = here(*molecules("bonds=0.1/0.05/0.1", more=("--edge-types", "bond", "--out", "out")))
    assert status == 0, err
    assert "<title>Robustness certificates: molecules</title>" in Path("out/report.html").read_text(encoding="utf-8")
    assert 'edge_types = "bond"' in Path("out/run.toml").read_text()
    assert json.loads(Path("out/certificates.json").read_text())["settings"]["edge_types"] == "bond"
    status, _, err = here("certify", "out/run.toml", "--out", "again")
    assert status == 0, err
    assert read("again/certificates.json") == read("out/certificates.json")
    # Without types it is other data, which the run file does not expect; an option may say otherwise.
    text = Path("out/run.toml").read_text().replace('edge_types = "bond"\n', "")
    Path("out/other.toml").write_text(text.replace("net.py:net", "net.py:function").replace(", change = 0.1", ""))
    status, _, err = here("certify", "out/other.toml", "--out", "third")
    assert (status, "Changed since this run was recorded: " in err, "data" in err) == (2, True, True)
    assert here("certify", "out/other.toml", "--out", "third", "--edge-types", "bond")[0] == 0


def test_a_module_is_trained_on_types_too(here, molecules):
    head, *rows = TABLE.splitlines(keepends=True)
    Path("molecules.csv").write_text(head + "".join(rows * 5))
    said = (*molecules("bonds=0.1/0.05/0.1", "Net")[1:], "--edge-types", "bond", "--weights", "net.pt")
    place = said.index("--samples")
    status, out, err = here("train", *said[:place], *said[place + 2 :], "--epochs", "2")
    assert status == 0, err
    assert "under Noise(bonds=Edges(delete=0.1, add=0.05, change=0.1))" in " ".join(out.split())
    status, _, err = here("certify", *said, "--split", "test")
    assert (status, "trained" in err) == (0, False), err


@pytest.mark.parametrize(
    ("noise", "model", "words"),
    [
        (
            "bonds=0.1/0.05/0.1",
            "function",
            "'noise[bonds]' must be a law on the 2 values of pairs. Got Edges(delete=0.1, add=0.05, change=0.1) "
            "instead. Write Flip(delete=…, add=…), or give the graph edge_types. In a run, write --edge-types bond for "
            "molecules, --edge-types edge_labels for TU data",
        ),
        (
            "bonds=0.1/0.05",
            "net",
            "net.py, line 13) cannot answer graph 'a': its forward uses edge_attr, and the graph has none, as its "
            "edges have no types (TypeError: ",
        ),
        ("bonds=0.1/0.05", "net", "edge_types=True)). In a run, write --edge-types bond for molecules"),
        (
            "bonds=0.1/0.05 --edge-types bond",
            "narrow",
            "Its edges have 4 types, the columns of edge_attr: single, double",
        ),
    ],
)
def test_who_wants_types_and_has_none_is_told_what_to_write(here, molecules, noise, model, words):
    noise, *more = noise.split()
    status, _, err = here(*molecules(noise, model, more))
    assert status == 2
    assert words in " ".join(err.split())


@pytest.mark.parametrize("name", ["m.smi", "m.csv"])
def test_bonds_of_molecules(tmp_path, name):
    pytest.importorskip("rdkit")
    (tmp_path / name).write_text("smiles\n"[: 7 * (name == "m.csv")] + "CC=O\nC\n")
    typed, plain = (load_graphs(tmp_path / name, edge_types=each) for each in ("bond", None))
    assert [graph.type_names for graph in typed.graphs] == [ORDERS, ORDERS]
    assert typed.graphs[0].edge_types.tolist() == [1, 2]
    assert plain.graphs[0].edge_types is None
    assert typed.digest != plain.digest
    with pytest.raises(
        StarcertError, match=rf"'edge_types' must name what the edges of {name} carry, bond. Got 'order'"
    ):
        load_graphs(tmp_path / name, edge_types="order")


def test_labels_of_edges_in_the_tu_collection(tmp_path):
    tiny = {"A": "1, 2\n2, 1\n3, 4\n4, 3", "graph_indicator": "1\n1\n2\n2", "graph_labels": "5\n-1"}
    for kind, text in tiny.items():
        (tmp_path / f"TINY_{kind}.txt").write_text(text)
    with pytest.raises(StarcertError, match=r"TINY_edge_labels.txt: is missing; the edges of TINY have no labels"):
        load_graphs(tmp_path, edge_types="edge_labels")
    (tmp_path / "TINY_edge_labels.txt").write_text("7\n7\n2\n2")
    data = load_graphs(tmp_path, edge_types="edge_labels")
    assert [graph.type_names for graph in data.graphs] == [(2, 7), (2, 7)]
    assert [graph.edge_types.tolist() for graph in data.graphs] == [[2], [1]]
    with pytest.raises(StarcertError, match=r"edges of TINY carry, edge_labels. Got 'edge_label'.*Did you mean edge_l"):
        load_graphs(tmp_path, edge_types="edge_label")


def written(folder, kinds, **more):
    for name, kind in kinds.items():
        graph = nx.path_graph(3)
        nx.set_edge_attributes(graph, dict(zip(graph.edges, kind, strict=True)), "kind")
        nx.set_edge_attributes(graph, more)
        nx.write_graphml(graph, folder / f"{name}.graphml")


def test_attributes_of_edges_in_graphml_files(tmp_path):
    written(tmp_path, {"a": ["road", "rail"], "b": ["sea", "road"]})
    data = load_graphs(tmp_path, edge_types="kind")
    assert [graph.type_names for graph in data.graphs] == [("rail", "road", "sea")] * 2
    assert [graph.edge_types.tolist() for graph in data.graphs] == [[2, 1], [3, 2]]
    assert data.graphs[0].nodes == (0, 1, 2)
    with pytest.raises(
        StarcertError, match=r"must name what the edges of .* carry, kind. Got 'kinds'.*Did you mean kind"
    ):
        load_graphs(tmp_path, edge_types="kinds")
    graph = nx.path_graph(2)
    nx.write_graphml(graph, tmp_path / "c.graphml")
    with pytest.raises(
        StarcertError, match=r"c.graphml: .*have the attribute 'kind' on every edge.*It has no attributes"
    ):
        load_graphs(tmp_path, edge_types="kind")


def test_lists_of_edges_and_functions_have_no_use_for_it(tmp_path):
    (tmp_path / "graphs").mkdir()
    (tmp_path / "graphs" / "a.edges").write_text("a b\n")
    with pytest.raises(StarcertError, match=r"'edge_types' cannot be kind: a.edges is a list of edges. *which carry"):
        load_graphs(tmp_path / "graphs", edge_types="kind")
    project = worlds.project(tmp_path / "project").parent
    made = check_values({"data": "model.py:make"}, SETTINGS, base=project)["data"]
    with pytest.raises(StarcertError, match=r"'edge_types' cannot be kind: model.py:make makes graphs with the types"):
        load_graphs(made, edge_types="kind")
    (tmp_path / "one.npz").touch()
    with pytest.raises(StarcertError, match=r"'edge_types' cannot be kind: the edges of one.npz carry nothing"):
        load_graphs(tmp_path / "one.npz", edge_types="kind")


def saved(path, *attributes):
    """A path of two edges for each of the attributes, which has a row for both directions of both."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    torch.save(
        [{"edge_index": edge_index, "edge_attr": torch.tensor(each), "num_nodes": 3} for each in attributes], path
    )
    return path


def test_attributes_of_edges_in_files_of_tensors(tmp_path):
    numbers = read_tensors(saved(tmp_path / "n.pt", [5, 5, 2, 2], [9, 9, 5, 5]), edge_types="edge_attr")
    assert [graph.type_names for graph in numbers.graphs] == [(2, 5, 9)] * 2
    assert [graph.edge_types.tolist() for graph in numbers.graphs] == [[2, 1], [3, 2]]
    one_hot = saved(tmp_path / "o.pt", [[1, 0, 0]] * 4, [[0, 0, 1]] * 2 + [[1, 0, 0]] * 2)
    data = load_graphs(one_hot, edge_types="edge_attr")
    assert [graph.type_names for graph in data.graphs] == [(0, 1, 2)] * 2
    assert [graph.edge_types.tolist() for graph in data.graphs] == [[1, 1], [3, 1]]


@pytest.mark.parametrize(
    ("attributes", "name", "words"),
    [
        (
            [[1, 1, 2, 2]],
            "edge_type",
            "edges of d.pt carry, edge_attr. Got 'edge_type' instead. Did you mean edge_attr?",
        ),
        ([[1, 1, 2, 2]], "num_nodes", "edges of d.pt carry, edge_attr. Got 'num_nodes' instead."),
        ([[[1, 0]] * 4, [[1, 0, 0]] * 4], "edge_attr", "d.pt, graph 1: has 3 columns for edge_attr, but "),
        ([[[1, 0]] * 4, [3, 3, 4, 4]], "edge_attr", "d.pt, graph 1: has numbers for edge_attr, but "),
        (
            [[[1, 2]] * 4],
            "edge_attr",
            "have one-hot rows, or one number an edge, as edge_attr. Got 'shape (4, 2)' inst",
        ),
        (
            [[n / 7, n / 7, n / 3, n / 3] for n in range(1, 300)],
            "edge_attr",
            "'edge_types' must name what has at most 255 values: a type, not a measurement. Got 'edge_attr, which has",
        ),
    ],
)
def test_attributes_that_are_no_types(tmp_path, attributes, name, words):
    path = saved(tmp_path / "d.pt", *attributes)
    with pytest.raises(StarcertError) as caught:
        load_graphs(path, edge_types=name)
    assert words in str(caught.value)


def test_graphs_without_edges_have_the_types_of_the_others(tmp_path):
    written(tmp_path, {"a": ["road", "rail"]})
    nx.write_graphml(nx.empty_graph(2), tmp_path / "b.graphml")
    assert [graph.type_names for graph in load_graphs(tmp_path, edge_types="kind").graphs] == [("rail", "road")] * 2


def test_what_certify_leaves_out_of_data_of_pyg_can_be_kept_as_its_warning_says(tmp_path):
    torch = pytest.importorskip("torch")
    pyg = pytest.importorskip("torch_geometric.data")
    data = pyg.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2, edge_attr=torch.eye(2)[[0, 0]])
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_callable(lambda graph: graph.size()), sc.Noise(all=0.1))
    with pytest.warns(
        StarcertWarning, match=r"Graph.from_pyg\(data, …\) takes types of edges \(edge_types='edge_attr'\)"
    ):
        smoothed.vote([data], samples=10, seed=1)
    assert sc.Graph.from_pyg(data, edge_types="edge_attr").type_names == (0, 1)
