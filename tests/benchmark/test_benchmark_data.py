"""Data of a benchmark from files and functions."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmark_worlds import LITTLE, OWN
from typer.testing import CliRunner

import starcert as sc

pytest.importorskip("torch_geometric")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

import torch

from starcert.benchmark import data as source
from starcert.benchmark import run
from starcert.benchmark.data import cut_of, fold_splits
from starcert.benchmark.methods import METHODS
from starcert.benchmark.run import run_benchmark
from starcert.benchmark.settings import Benchmark
from starcert.cli import app
from starcert.datasets.parts import split_nodes

TWINS = "24 of 24 graphs have an isomorphic twin with the same node labels; twins are in one fold."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("data")
    (made / "own.py").write_text(OWN)
    return made


@pytest.fixture(autouse=True)
def _here(folder, monkeypatch):
    monkeypatch.chdir(folder)


# Where data come from -----------------------------------------------------------------------------------------------


def test_a_function_gives_graphs_without_types_of_edges():
    found = source.data_of("own.py:rings")
    assert (len(found), found.of_nodes, found.graphs[0].type_names) == (24, False, ())
    assert source.notes_on(Benchmark(), "own.py:rings") == [
        "Types and other data of edges are left out: noise and attacks are on node pairs.", TWINS]  # fmt: skip
    assert source.data_of("own.py:data").labels.tolist() == found.labels.tolist()
    cut = cut_of(Benchmark(graphs=2, twins="apart"), "own.py:rings", 3)
    assert (len(cut.taught), len(cut.held), len(cut.tested)) == (19, 2, 2)
    assert all(graph is found.graphs[number] for graph, number in zip(cut.objects, cut.numbers, strict=True))


def test_large_graphs_are_left_out_and_counted():
    assert source.notes_on(Benchmark(), "own.py:large")[1:] == [
        "1 of 25 graphs have more than 40 nodes (max_nodes): they are left out.", TWINS]  # fmt: skip
    with pytest.raises(sc.StarcertError, match="24 of 24 graphs have more than 4 nodes"):
        source.notes_on(Benchmark(max_nodes=4), "own.py:rings")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("unknown", "1 of 24 graphs have no class"),
        ("few", "class '0' has 5 graphs; the folds need 10 of each"),
        ("one_class", "its 24 graphs are of fewer than two classes"),
        ("mixed", "be graphs of one kind"),
        ("widths", "have one width of node data 'x'"),
        ("bits", "be graphs of one kind"),
    ],
)
def test_data_that_cannot_be_compared_on_are_refused_before_any_work(function, message, tmp_path):
    setting = Benchmark(**LITTLE | {"data": (f"own.py:{function}",)})
    with pytest.raises(sc.StarcertError, match=message):
        run_benchmark(setting, tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_files_of_tables_tensors_and_arrays():
    pytest.importorskip("rdkit")
    lines = [("C" * (2 + n % 5) + ("N" if n % 2 else "O"), "yes" if n % 2 else "no") for n in range(24)]
    Path("sub dir").mkdir()
    Path("sub dir/mols.csv").write_text("mol,active\n" + "\n".join(map(",".join, lines)))
    columns = {"smiles": "mol", "label": "active"}
    setting = Benchmark(data=("sub dir/mols.csv", "MUTAG"), columns=columns)
    assert source.data_of("sub dir/mols.csv", setting.columns).labels.tolist() == [n % 2 for n in range(24)]
    with pytest.raises(sc.InvalidParameterError, match="'columns' needs data in a table"):
        Benchmark(data=("MUTAG", "own.py:rings"), columns=columns)

    links = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = [{"edge_index": links, "num_nodes": 3, "y": torch.tensor([n % 2])} for n in range(20)]
    torch.save(graphs, "graphs.pt")
    assert source.data_of("graphs.pt").labels.tolist() == [0, 1] * 10
    classes = torch.tensor([0, 1, 1])
    torch.save([{"edge_index": links, "num_nodes": 3, "target": classes}], "nodes.pt")
    nodes = source.data_of("nodes.pt", {"label": "target"})
    assert (nodes.of_nodes, nodes.labels.tolist(), list(nodes.graph.node_data)) == (True, [0, 1, 1], [])


def test_an_npz_file_is_a_graph_whose_nodes_are_classified():
    n = 60
    at = np.arange(n)
    np.savez("cycle.npz", adj_data=np.ones(n), adj_indices=(at + 1) % n, adj_indptr=np.arange(n + 1), adj_shape=[n, n],
             attr_data=np.ones(n), attr_indices=at, attr_indptr=np.arange(n + 1), attr_shape=[n, n],
             labels=at % 2)  # fmt: skip
    cut = cut_of(Benchmark(of_a_class=5), "cycle.npz", 0)
    assert (len(cut.taught), len(cut.held), len(cut.tested)) == (10, 10, 40)
    with pytest.raises(sc.StarcertError, match="class '0' has 30 nodes; the folds need 41 of each"):
        source.notes_on(Benchmark(), "cycle.npz")
    with pytest.raises(sc.StarcertError, match="No method fits the data and threats: regions"):
        run_benchmark(Benchmark(data=("cycle.npz",), of_a_class=5, methods=("regions",)), Path("none"), progress=False)
    np.savez("bare.npz", **{name: each for name, each in np.load("cycle.npz").items() if "attr" not in name})
    with pytest.raises(sc.StarcertError, match="its nodes have no data x"):
        run_benchmark(Benchmark(data=("bare.npz",), of_a_class=5), Path("none"), progress=False)


def test_names_are_those_of_data_sets_first_and_nearest():
    assert source.source_of("MUTAG") == "MUTAG"
    for wrong, near in (("mutag", "MUTAG"), ("motiv", "motif"), ("cora-ml", "Cora-ML"), ("own.py:", "file")):
        with pytest.raises(sc.InvalidParameterError, match=near):
            Benchmark(data=(wrong,))
    with pytest.raises(sc.InvalidParameterError, match="names of their own"):
        Benchmark(data=("own.py:rings", "other/own.py:rings"))


def test_paths_of_a_file_begin_at_its_folder(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "run.toml").write_text('data = ["mine.py:rings", "motif"]\nmethods = ["blind", "mine.py:ring"]')
    setting = Benchmark.of(tmp_path / "run.toml", False)
    assert setting.data == (str(tmp_path / "mine.py:rings"), "motif")
    assert setting.methods == ("blind", str(tmp_path / "mine.py:ring"))
    assert run.record_of(setting)["data"] == ["mine-rings", "motif"]


def test_data_that_change_are_refused(tmp_path, monkeypatch):
    shutil.copy("own.py", tmp_path / "own.py")
    monkeypatch.chdir(tmp_path)
    setting = Benchmark(**LITTLE | {"methods": ("blind",), "threats": ("flips:1",), "certificates": False})
    run_benchmark(setting, Path("out"), progress=False)
    with pytest.raises(sc.StarcertError, match="gives other data in another process"):
        run.judge(setting, "own.py:rings", 0, 0, "blind", "gin", "another", None)
    (tmp_path / "own.py").write_text(OWN.replace("5 + number % 4", "6 + number % 4"))
    source._data_of.cache_clear()
    with pytest.raises(sc.InvalidParameterError, match="digests: there"):
        run_benchmark(setting, Path("out"), progress=False)
    source._data_of.cache_clear()


def test_the_command_takes_models_threats_and_columns(tmp_path):
    Path("little.toml").write_text(
        "\n".join(
            f"{key} = {json.dumps(value)}"
            for key, value in LITTLE.items()
            if key not in ("threats", "methods", "graphs")
        )
    )
    words = ["benchmark", "little.toml", "--method", "plain", "--model", "gcn", "--threat", "flips:1", "--graphs", "2",
             "--max-nodes", "20", "--out", str(tmp_path / "out"), "--workers", "1"]  # fmt: skip
    found = CliRunner().invoke(app, words, catch_exceptions=False)
    assert found.exit_code == 0, found.output
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert (settings["models"], settings["threats"], settings["max_nodes"]) == (["gcn"], ["flips:1"], 20)
    assert len(list((tmp_path / "out" / "certificates").iterdir())) == 1
    shown = CliRunner().invoke(app, ["benchmark", "--help"]).output
    assert [group for group in METHODS if group not in shown] == []
    Path("wrong.toml").write_text("fold = 1")
    with pytest.raises(sc.StarcertError, match=r"no setting 'fold'. Did you mean folds\?"):
        CliRunner().invoke(app, ["benchmark", "wrong.toml"], catch_exceptions=False)


@pytest.mark.parametrize("seed", [1, 5])
def test_nothing_that_is_tested_was_taught(seed):
    pytest.importorskip("grakel")  # brings the molecules
    data = sc.datasets.tu("MUTAG")
    tested = []
    for fold in (None, *range(10)):
        taught, held, test, numbers = fold_splits(data, fold, seed)
        groups = [{id(graph) for graph in split.graphs} for split in (taught, held, test)]
        assert [len(group) for group in groups] == [len(taught), len(held), len(test)]
        assert sum(map(len, groups)) == len(set.union(*groups)) == 188
        assert len(held) in (18, 19)
        assert len(test) in (18, 19)
        assert [id(data.graphs[i]) for i in numbers] == [id(graph) for graph in test.graphs]
        assert data.labels[numbers].tolist() == test.labels.tolist()
        tested += numbers if fold is not None else []
    assert sorted(tested) == list(range(188))


def test_a_split_gives_every_node_to_one_part():
    labels = np.random.default_rng(1).integers(4, size=400)
    train, validation, test = split_nodes(labels, seed=2)
    everything = np.concatenate([train, validation, test])
    assert sorted(everything.tolist()) == list(range(400))
    for part in (train, validation):
        assert np.bincount(labels[part]).tolist() == [20] * 4
    assert (split_nodes(labels, seed=3)[0] != train).any()
