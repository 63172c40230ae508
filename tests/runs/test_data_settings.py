from pathlib import Path

import numpy as np
import pytest

import starcert as sc
from starcert.datasets import Dataset
from starcert.datasets.node_sites import with_node_sites
from starcert.datasets.parts import part_of, with_fractions, with_node_parts
from starcert.runs.declaration import check_options, check_values
from starcert.runs.settings import SETTINGS
from starcert.runs.sources import load_graphs, with_node_labels
from starcert.system.errors import InvalidParameterError, StarcertError


def given(text, option):
    return check_options({option: text}, SETTINGS)[option]


def held(value, key):
    return check_values({key: value}, SETTINGS, base=Path())[key]


@pytest.mark.parametrize(
    "shares", [[0.5, 0.1], [0.5, 0.5, 0.5], {"tran": 1.0}, {"train": "1"}, {"train": True}, 0.8, [1.5, -0.5, 0]]
)
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(InvalidParameterError, match=r"'fractions.* must .*(Write fractions|Did you mean)"):
        held(shares, "fractions")


def test_options_say_the_same_as_run_files():
    assert given("0.6/0.2/0.2", "fractions") == held([0.6, 0.2, 0.2], "fractions")
    assert given("test=1", "fractions") == {"train": 0.0, "validation": 0.0, "test": 1.0}
    assert given("a=x/y,b=3", "alphabets") == held({"a": ["x", "y"], "b": 3}, "alphabets")
    for wrong in ({"a": 1}, {"a": ["x"]}, {"a": ["x", "x"]}, {"a": "xy"}, ["a"]):
        with pytest.raises(InvalidParameterError, match="alphabets"):
            held(wrong, "alphabets")
    with pytest.raises(InvalidParameterError, match=r"node_sites\.x"):
        held({"x": "bit"}, "node_sites")


def test_shares_are_of_every_class_and_follow_from_the_seed():
    data = Dataset([sc.Graph(2, [])] * 40, [0] * 20 + [1] * 20, names=[str(n) for n in range(40)])
    found = with_fractions(data, {"train": 0.5, "validation": 0.25, "test": 0.25}, 3)
    assert [len(part_of(found, part, 3)) for part in ("train", "validation", "test")] == [20, 10, 10]
    assert sorted(part_of(found, "test", 3).labels.tolist()) == [0] * 5 + [1] * 5
    assert found.parts == with_fractions(data, {"train": 0.5, "validation": 0.25, "test": 0.25}, 3).parts
    assert sorted(data.split((0.5, 0.25, 0.25), seed=3)[2].names) == sorted(part_of(found, "test", 3).names)
    default = with_fractions(data, {"train": 0.8, "validation": 0.1, "test": 0.1}, 0)
    assert part_of(default, "test", 0).names == part_of(data, "test", 0).names
    with pytest.raises(InvalidParameterError, match=r"fractions.*Drop one of them"):
        with_fractions(found, {"train": 1.0}, 0)
    with pytest.raises(InvalidParameterError, match=r"fractions.*data with classes"):
        with_fractions(Dataset([sc.Graph(2, [])]), {"train": 1.0}, 0)


def test_atoms_are_sites_beside_functional_groups(capsys):
    pytest.importorskip("rdkit")
    smiles = ["O=[N+]([O-])c1ccc(N)cc1", "CCCC"]
    graphs = [sc.Graph.from_smiles(each, elements=("C", "N", "O"), bond_types=True) for each in smiles]
    data = with_node_sites(Dataset(graphs, [0, 1], names=["a", "b"]), {"x": "categories"})
    assert "atomic_number says the same as x" in capsys.readouterr().err
    for graph in data.graphs:
        assert "atomic_number" in graph.anchored_data
        assert "atomic_number" not in graph.frame.node_data  # no model sees it, in a molecule of one element too
        assert graph.layers[1].alphabet == 3
    rule = sc.regions.build("functional_groups:groups=nitro | layers:atoms=x")
    noise = sc.Noise(nitro=0.1, rest=0.1, between=0.1, atoms=sc.Categorical(0.1))
    base = sc.classifiers.from_callable(
        lambda batch: (batch.node_values("x")[..., 0] == 2).any(axis=1), on="batch", n_classes=2, description="oxygen"
    )
    problem = sc.SmoothedClassifier(base, noise, rule).problem(data.graphs)
    assert [each.sizes[-1] for each in problem.sites] == [10, 4]
    assert all("bonds and atoms" in each for each in problem.anchored)
    for wrong, words in (({"y": "bits"}, "'node_sites' must name node data"), ({"formal_charge": "bits"}, "graph 'a'")):
        with pytest.raises(StarcertError, match=words):
            with_node_sites(Dataset(graphs, names=["a", "b"]), wrong)


def test_labels_of_a_tensor_file_and_of_nodes_may_have_another_name(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    edges = torch.tensor([[0, 1], [1, 0]])
    rows = [{"edge_index": edges, "num_nodes": 2, "y": torch.tensor([[n, 1.0 - n, float("nan")]]),
             "target": torch.tensor([2 * n - 1])} for n in (0, 1)]  # fmt: skip
    torch.save(rows, tmp_path / "d.pt")
    named = load_graphs(tmp_path / "d.pt", columns={"label": "target"})
    assert (named.class_names, named.labels.tolist()) == (("-1", "1"), [0, 1])
    assert load_graphs(tmp_path / "d.pt", columns={"label": "y:1"}).labels.tolist() == [1, 0]
    assert load_graphs(tmp_path / "d.pt", columns={"label": "y:2"}).known == []
    for wrong, words in (("goal", "name what .* has, .*target"), ("y:3", "be y:0 to y:2")):
        with pytest.raises(StarcertError, match=words):
            load_graphs(tmp_path / "d.pt", columns={"label": wrong})
    graph = sc.Graph(3, [(0, 1)], node_data={"club": ["b", "a", "b"]})
    nodes = with_node_labels(Dataset([graph], names=["karate"]), "club")
    assert (nodes.labels.tolist(), nodes.class_names) == ([1, 0, 1], ("a", "b"))
    assert "club" not in nodes.graph.node_data
    with pytest.raises(InvalidParameterError, match=r"columns\.label.*club"):
        with_node_labels(Dataset([graph], names=["karate"]), "clubs")


def test_fractions_of_nodes_are_masks():
    data = Dataset(sc.Graph(20, [(0, 1)], node_data={"x": np.eye(20)}), [0, 1] * 10)
    masks = with_fractions(data, {"test": 0.4, "train": 0.6}, 0).graph.node_data
    assert [int(np.sum(masks[name])) for name in ("train_mask", "val_mask", "test_mask")] == [12, 0, 8]
    assert not (np.asarray(masks["train_mask"]) & np.asarray(masks["test_mask"])).any()
    with pytest.raises(InvalidParameterError, match="no node in val_mask"):
        with_node_parts(with_fractions(data, {"train": 0.6, "test": 0.4}, 0), 2, 0)
    with pytest.raises(InvalidParameterError, match="class for every node"):
        with_node_parts(Dataset(data.graph, [None] + [1] * 19), 2, 0)
    said = with_node_parts(data, 3, 0)[1]
    assert said == "6 nodes to learn from and 6 to choose by (3 nodes a class each, drawn by --split-seed); 8 to test."
