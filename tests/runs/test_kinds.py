"""Runs on nodes, directed graphs, molecules and vectors: what `init --kind` writes runs at once, and every mistake."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import starcert as sc
from starcert.archive import read
from starcert.datasets import Dataset
from starcert.runs.example import KINDS
from starcert.runs.sources import load_graphs, with_node_labels
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, StarcertError

NEEDS = {"molecule": "rdkit", "vector": "sklearn", "table": "sklearn", "text": "sklearn"}


@pytest.fixture(params=KINDS)
def kind(request):
    if request.param in NEEDS:
        pytest.importorskip(NEEDS[request.param])
    return request.param


def changed(file: Path, old: str, new: str) -> Path:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    return file


def test_what_init_writes_runs_at_once_and_its_output_repeats_it(here, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    status, out, err = here("init", "new", "--kind", kind)
    assert (status, err) == (0, "")
    assert "Next: starcert certify new/run.toml" in out
    status, out, err = here("certify", "new/run.toml", "--samples", "300")
    assert status == 0, err
    results = tmp_path / "new" / "results"
    archive = read(results / "certificates.json")
    assert sc.metrics.accuracy(archive.certificates, archive.labels) > 0.8
    many = {"nodes": "nodes", "vector": "rows", "table": "rows", "text": "texts"}.get(kind, "graphs")
    assert re.search(rf"│ {many} +│ {len(archive)} ", out)
    assert f"{many.capitalize()} answered right and certified" in out
    assert "<h2" in (results / "report.html").read_text(encoding="utf-8")
    assert here("verify", results / "certificates.json")[0] == 0
    status, _, err = here("certify", results / "run.toml", "--out", "again")
    assert status == 0, err
    assert read(tmp_path / "again" / "certificates.json") == archive


def test_nodes_are_named_after_their_graph_and_have_their_own_classes(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here("init", "--kind", "nodes")
    assert here("certify", "run.toml", "--samples", "300")[0] == 0
    archive = read("results/certificates.json")
    data = with_node_labels(load_graphs(Path("graphs")))
    chosen = np.flatnonzero(data.graphs[0].node_data["test_mask"])
    assert archive.names == tuple(f"friends.{node}" for node in chosen)
    assert archive.nodes == tuple(chosen.tolist())
    assert archive.labels == tuple(data.labels[node] for node in chosen)
    assert archive.class_names == ("north", "south")
    assert "y" not in data.graphs[0].node_data
    with open("results/results.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["node"] for row in rows] == [str(node) for node in chosen]
    assert {row["base_class"] for row in rows} == {"0", "1"}
    assert json.loads(Path("results/certificates.json").read_text())["settings"]["nodes"] == "test_mask"


@pytest.mark.parametrize(
    ("kind", "old", "new", "words"),
    [
        ("nodes", 'targets = "nodes"', 'targets = "edges"', "'targets' must be one of graphs, nodes. Got 'edges'"),
        ("nodes", 'targets = "nodes"', 'split = "all"', "'nodes' needs targets"),
        ("nodes", 'targets = "nodes"', 'targets = "nodes"\nsplit = "test"', "'split' divides graphs, not nodes"),
        (
            "nodes",
            'nodes = "test_mask"',
            'nodes = "mask"',
            "'nodes' must name node data of the graph, speaks, test_mask",
        ),
        ("nodes", 'nodes = "test_mask"', "nodes = 3", "'nodes' must be text. Got 3"),
        ("nodes", 'targets = "nodes"', 'target = "nodes"', "There is no setting 'target'. Did you mean targets?"),
        ("directed", 'data = "graphs"', 'data = "graphs"\ntargets = "nodes"', "be graphs for data of 12 graphs"),
        ("directed", "motif = 0.1", "motif = { gone = 0.1 }", "'noise.motif' must be a probability, or the named"),
        ("vector", "centre = [18", "centre = [64, 18", "'regions[centre]' must hold numbers from 0 to 63"),
        ("vector", "centre = [18", "centre = [0, 18", "be disjoint"),
        ("vector", "centre = [18", "middle = [18", "have a flip law for every region"),
        ("vector", "centre = 0.05", "centre = { categorical = 0.05, values = 3 }", "'noise[centre]' must be a law on"),
        ("vector", '"data.py:digits"', '"data.py:digit"', "defines no 'digit'. Did you mean digits?"),
        ("vector", '"data.py:digits"', '"rows.py:digits"', "'data' must name a Python file that exists"),
        ("molecule", 'atoms = "atomic_number"', "atoms = 7", "'regions.atoms' must name a region builder"),
        ("molecule", 'atoms = "atomic_number"', 'atoms = "element"', "element"),
        ("molecule", "{ categorical = 0.05 }", "{ categorical = 2.0 }", "'noise.atoms' must be a probability"),
    ],
)
def test_mistakes_have_one_message_and_the_status_2(here, tmp_path, monkeypatch, kind, old, new, words):
    if kind in NEEDS:
        pytest.importorskip(NEEDS[kind])
    monkeypatch.chdir(tmp_path)
    here("init", "--kind", kind)
    changed(tmp_path / "run.toml", old, new)
    status, _, err = here("certify", "run.toml", "--samples", "100")
    plain = " ".join(err.split())
    assert status == 2
    assert words in plain
    assert "Traceback" not in err


def test_init_refuses_other_kinds(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, err = here("init", "--kind", "tensor")
    assert (status, "'--kind' must be one of molecule, directed, nodes, vector" in err) == (2, True)
    status, _, err = here("init", "--kind", "nodes", "--example", "sklearn")
    assert (status, "cannot be combined with --kind" in err) == (2, True)
    assert list(tmp_path.iterdir()) == []


class TestDataOfFunctions:
    def load(self, tmp_path, body):
        file = tmp_path / "data.py"
        file.write_text(f"import starcert as sc\n\ndef make():\n    return {body}\n", encoding="utf-8")
        return load_graphs(Reference(file, "make"))

    def test_objects_alone_or_with_their_classes(self, tmp_path):
        data = self.load(tmp_path, "[sc.Graph(2, [(0, 1)]), sc.Graph(3, [])]")
        assert (len(data), data.names, data.known) == (2, ("make 1", "make 2"), [])
        data = self.load(tmp_path, "sc.Bits.rows([[0, 1], [1, 1]]), ['b', None]")
        assert (tuple(data.labels), data.class_names) == ((0, None), ("b",))
        data = self.load(tmp_path, "sc.Bits.rows([[0, 1], [1, 1]]), [0, 1], ['one', 'two']")
        assert data.names == ("one", "two")

    def test_data_sets(self, tmp_path):
        data = self.load(tmp_path, "sc.datasets.motif(seed=0, train=2, validation=2, test=2)")
        assert (len(data.labels), data.class_names) == (6, ("negative", "positive"))
        body = "sc.datasets.Dataset(sc.Graph(2, [(0, 1)]), [1, 0], label_names=('a', 'b'), name='path')"
        data = self.load(tmp_path, body)
        assert (data.labels.tolist(), data.class_names, data.names) == ([1, 0], ("a", "b"), ("path",))
        assert with_node_labels(data).labels.tolist() == [1, 0]

    def test_graphs_of_networkx_are_read(self, tmp_path):
        body = "[__import__('networkx').path_graph(4), sc.Graph(2, [])], ['a', 'b']"
        data = self.load(tmp_path, body)
        assert ([each.n_edges for each in data.graphs], data.labels.tolist()) == ([3, 0], [0, 1])

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ("None", "a list of objects. Got 'NoneType'"),
            ("[]", "a list of objects"),
            ("sc.Graph(2, [])", "a list of objects. Got 'Graph'"),
            ("[1, 2]", r"'data\[0\]' must be a starcert Graph, a PyG Data or a networkx graph. Got 'int'"),
            ("[sc.Graph(2, [])], [1, 0]", "have a class for each of 1 objects. Got 2"),
            ("[sc.Graph(2, [])], [1], []", "have a name for each of 1 objects. Got 0"),
            ("1 / 0", "data.py, line 4: ZeroDivisionError"),
        ],
    )
    def test_what_is_no_data(self, tmp_path, body, words):
        with pytest.raises(StarcertError, match=words):
            self.load(tmp_path, body)


def test_an_npz_file_is_one_graph_of_labelled_nodes(tmp_path):
    ring = {"adj_data": [1, 1, 1], "adj_indices": [1, 2, 0], "adj_indptr": [0, 1, 2, 3], "adj_shape": [3, 3]}
    np.savez(tmp_path / "ring.npz", labels=[0, 1, 1], class_names=["a", "b"], test_mask=[True, False, True], **ring)
    data = with_node_labels(load_graphs(tmp_path / "ring.npz"))
    assert (data.labels.tolist(), data.class_names, data.of_nodes) == ([0, 1, 1], ("a", "b"), True)
    assert data.graphs[0].node_data["test_mask"].tolist() == [True, False, True]


def test_a_pyg_file_with_one_data_may_have_a_class_for_each_node(tmp_path):
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    mask = torch.tensor([True, False, True])
    one = data.Data(x=torch.zeros(3, 2), edge_index=edges, y=torch.tensor([0, 2, 0]), test_mask=mask)
    torch.save(one.to_dict() and [one.to_dict()], tmp_path / "one.pt")
    found = with_node_labels(load_graphs(tmp_path / "one.pt", of_nodes=True))
    assert (found.labels.tolist(), found.class_names) == ([0, 2, 0], ("0", "1", "2"))
    assert sorted(found.graphs[0].node_data) == ["test_mask", "x"]
    with pytest.raises(StarcertError, match="its y must be one class"):
        load_graphs(tmp_path / "one.pt")


def test_classes_of_nodes_belong_to_one_graph():
    graph = sc.Graph(2, [(0, 1)])
    with pytest.raises(InvalidParameterError, match=r"be graphs for data of 2 graphs. Got 'nodes'"):
        with_node_labels(Dataset((graph, graph), names=("a", "b")))
    assert with_node_labels(Dataset((graph,), names=("a",))).known == []


def test_data_without_classes_of_nodes_certify_too(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here("init", "--kind", "nodes")
    changed(tmp_path / "graphs" / "friends.graphml", 'attr.name="y"', 'attr.name="village"')
    status, _, err = here("certify", "run.toml", "--samples", "100")
    assert (status, "has an unknown number of classes, as the data have no labels" in " ".join(err.split())) == (
        2,
        True,
    )
    model = "import starcert as sc\n\ndef classifier():\n    return sc.classifiers.from_node_function(village"
    changed(tmp_path / "model.py", "def classifier():", f"{model})\n\n\ndef other():")
    status, _, err = here("certify", "run.toml", "--samples", "100")
    assert (status, "is set by the model itself" in " ".join(err.split())) == (2, True)
    changed(tmp_path / "run.toml", 'nodes = "test_mask"', "")
    status, out, err = here("certify", "run.toml", "--samples", "100")
    assert (status, bool(re.search(r"│ nodes +│ 40 ", out))) == (0, True), err


def test_a_sweep_is_of_graphs(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here("init", "--kind", "nodes")
    status, _, err = here("sweep", "run.toml", "--grid", "friendships=0.1,0.2")
    assert (status, "'targets' must be graphs in a sweep. Got 'nodes'" in " ".join(err.split())) == (2, True)
