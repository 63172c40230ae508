"""The study of what certificates gain: its networks on molecules, its rows and its choices, in small worlds."""

import numpy as np
import pytest

import starcert as sc
from starcert_studies.worth_rows import CLEAN, always, gain_of, joined, mask_of, row_of

pytest.importorskip("matplotlib")
pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
pytest.importorskip("sklearn")

import torch

from starcert.classifiers import from_pyg
from starcert_studies import worth, worth_bonds, worth_methods, worth_nodes
from starcert_studies.benchmark import node_methods, node_smoothing


def molecules(n: int = 12) -> sc.datasets.Dataset:
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(n):
        pairs = [(u, v) for v in range(6) for u in range(v) if rng.random() < 0.4]
        graphs.append(sc.Graph(6, pairs, node_data={"x": np.eye(3, dtype=int)[rng.integers(0, 3, 6)]}))
    return sc.datasets.Dataset(graphs, np.arange(n) % 2)


def wild() -> worth_bonds.Corrections:
    """Networks whose corrections matter: large bounds, and no training."""
    torch.manual_seed(0)
    return worth_bonds.Corrections(3, (8.0, 8.0), hidden=8).eval()


def test_deletions_tried_in_one_pass_are_those_that_the_exact_method_tries():
    data, model, logits = molecules(), wild(), np.linspace(-0.3, 0.3, 12)
    with torch.no_grad():
        model.last.weight.mul_(30)
        model.last.bias.zero_()
    flat = worth_bonds.Molecules.of(data, logits, "cpu")
    clean = worth_bonds.Tried.of(model, flat, torch.arange(12))
    model.last.bias.data -= clean.clean.mul(2 * flat.classes - 1).median(dim=1).values.view(-1, 1, 1)
    tried = worth_bonds.Tried.of(model, flat, torch.arange(12))
    base = from_pyg(model, n_classes=2, features=("x", "blind"), outputs="logit")
    graphs = worth_bonds.with_blind(data.graphs, logits)
    found = sc.ExactClassifier(base).certify(graphs, threat="deletions:1", progress=False)
    right = np.asarray(found.labels) == data.labels
    safe = np.array([one.certified_size >= 1 for one in found])
    assert 0 < (right & safe).sum() < right.sum()
    assert tried.certified([0, 1]) == pytest.approx((right & safe).mean())


def test_a_copy_lacks_the_bond_that_it_is_shown_without():
    data = molecules()
    flat = worth_bonds.Molecules.of(data, np.zeros(12), "cpu")
    ids = torch.tensor([3, 5])
    _, both, owners, _ = flat.shown(ids, torch.tensor([1, -1]))
    first = both[:, (owners[both[0]] == 0)].T.tolist()
    wanted = {tuple(edge) for k, edge in enumerate(data.graphs[3].edges.tolist()) if k != 1}
    assert {tuple(sorted(edge)) for edge in first} == wanted
    of_each = flat.shown(ids, torch.tensor([[1, 0], [0, 0]]))[1]
    assert of_each.shape == (2, 2, 2 * (len(data.graphs[3].edges) + len(data.graphs[5].edges) - 2))


def test_training_keeps_the_best_of_each_network():
    data = molecules(24)
    flat = worth_bonds.Molecules.of(data, np.zeros(24), "cpu")
    model = worth_bonds.train_corrections(flat, flat, 3, epochs=3, seed=0)
    assert tuple(model.chosen) in worth_bonds.TRIES
    assert not model.training


def test_gains_are_paired_and_count_a_node_once():
    right, blind = np.array([1, 1, 0, 1], dtype=bool), np.array([1, 0, 0, 0], dtype=bool)
    row = row_of("votes", right, {"additions:1": np.array([1, 1, 1, 0], dtype=bool)}, tries=3, alpha=0, seconds=1)
    base = row_of("blind", blind, always(blind, ["additions:1"]), tries=1, alpha=0, seconds=1)
    assert mask_of(row, "additions:1").tolist() == [True, True, False, False]
    once = gain_of(row, base, "additions:1", range(4))
    assert once.gain == pytest.approx(25)
    twice = gain_of(joined([row, row]), joined([base, base]), "additions:1", [*range(4)] * 2)
    assert twice.gain == pytest.approx(25)
    difference = np.array([0, 1, 0, 0])
    assert twice.high - twice.gain == pytest.approx(100 * 1.96 * difference.std() / 2)
    assert gain_of(row, base, "deletions:1", range(4)) is None
    assert gain_of(base, base, CLEAN, range(4)).gain == 0


def test_every_method_has_three_tries():
    assert (
        len(worth_bonds.TRIES) == len(node_smoothing.OneWayNodes.settings) == len(node_methods.OverLinks.settings) == 3
    )
    assert all(len(node_methods.weights_and_bonuses(asked)) == 3 for asked in worth_nodes.ASKED)


def test_settings_of_the_command_line(monkeypatch, tmp_path):
    monkeypatch.setenv("STARCERT_DATA", str(tmp_path / "TU"))
    monkeypatch.setattr(worth, "local_names", lambda: ["MUTAG"])
    (tmp_path / "CITESEER").mkdir()
    (tmp_path / "CITESEER" / "citeseer.npz").touch()
    found = worth.Worth.from_options(None, 2, True)
    assert (found.graphs, found.nci1, found.samples) == (("Citeseer",), False, 0)
    assert found.missing == ("NCI1", "Cora-ML")
    assert (found.methods.data, found.methods.seed) == (("MUTAG", "motif"), 2)
    assert found.parts()[0].name == "Citeseer-50-21"
    assert len(found.parts()) == 1 + 2 * 4
    full = worth.Worth.from_options(500, 1, False)
    assert full.missing == ("NCI1", "Cora-ML", "PROTEINS")
    assert (full.methods.data, full.methods.samples) == (("MUTAG", "motif", "arcs"), 500)


def of_split(gained: int) -> dict[str, object]:
    """A split with 40 nodes: the blind model has the first 20 right, link votes some more."""
    blind, votes = np.arange(40) < 20, np.arange(40) < 20 + gained
    names = [f"{method}, for {attack}, exact" for method, attacks in worth.METHODS.items() for attack in attacks]
    rows = [row_of(name, right, always(right, list(worth_nodes.ATTACKS)), tries=1, alpha=0, seconds=0)
            for name, right in [("blind", blind), *((each, votes) for each in names)]]  # fmt: skip
    return {"rows": rows, "numbers": list(range(40)), "device": "CPU"}


def test_claims_rest_on_splits_that_were_not_looked_at():
    none = worth_methods.GraphRows(data=())
    study = worth.Worth(nci1=False, graphs=("Cora-ML",), samples=0, methods=none, missing=("NCI1", "Citeseer"))
    gained = {11: 0, 12: 10, 13: 10}
    report = study.report({}, {worth.part_name(each): of_split(gained[each.seed]) for each in study.nodes})
    assert "+25.00" in report.summary[0]
    assert [sentence.split()[0] for sentence in report.summary] == ["Cora-ML,", "Cora-ML,", "NCI1", "Citeseer"]
    assert all(check.holds for check in report.checks)
    assert [check.documented for check in report.checks] == [True, False, False, True] + [True] * 4
    tables = {table.name: table for table in report.tables}
    assert set(tables) == {"nodes", "splits", "published"}
    assert [row[2] for row in tables["splits"].rows] == [11, 12, 13] * 2
    quick = worth.Worth(nci1=False, graphs=("Cora-ML",), samples=0, methods=none, splits=1)
    report = quick.report({}, {worth.part_name(each): of_split(10) for each in quick.nodes})
    assert {check.holds for check in report.checks} == {None}


def test_every_method_has_a_row_in_the_table_of_graphs():
    graphs = [{"name": 0, "truth": 1, "answer": 1, "broken": None, "certified": {"flips": 1, "delete": 1, "add": 1}}]
    about = {"data": "motif", "fold": 0, "tries": {"a": 1.0}, "chosen": "a", "train_seconds": 1, "seconds": 1}
    study = worth.Worth(nci1=False, graphs=(), methods=worth_methods.GraphRows(data=("motif",), folds=1))
    results = {part.name: [about | {"method": group, "graphs": graphs}]
               for part, group in zip(study.parts(), worth_methods.GROUPS, strict=True)}  # fmt: skip
    table = study.report({}, results).tables[0]
    first = dict(zip(table.columns, table.rows[0], strict=True))
    assert (table.name, len(table.rows)) == ("graphs", 4)
    assert (first["method"], first["certified_1"], first["certified_2"], first["chosen"]) == (
        "two-way",
        100,
        0,
        "a (1)",
    )
