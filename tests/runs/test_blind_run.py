"""The blind row of whole runs: where it is shown, what it says, and why it may be missing."""

import csv
import io
import json
import sys

import numpy as np
import pytest
from rich.console import Console

import starcert as sc
from starcert.archive import BLIND, Archive, BlindRow
from starcert.baselines import blind_model
from starcert.claims.gains import structure_gains
from starcert.report.blocks import as_terminal, values_of
from starcert.report.comparison import compare
from starcert.report.comparison_report import comparison_notices, write_comparison
from starcert.report.worth import Worth
from starcert.runs import blind_run
from starcert.runs.certification import certify_run, run_sweep
from starcert.runs.declaration import check_values
from starcert.runs.grid import parse_grid, sweep_settings
from starcert.runs.inputs import read_inputs, try_model
from starcert.runs.run_file import RunFile
from starcert.runs.settings import SETTINGS, run_settings
from starcert.runs.sweep_report import sweep_report
from starcert.system.errors import StarcertError

pytest.importorskip("sklearn")

MODEL = """
import numpy as np
import starcert as sc


def many():
    return sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 3), n_classes=2)


def graphs():
    rng, made, labels = np.random.default_rng(0), [], []
    for n in range(60):
        label, edges = n % 2, [(i, i + 1) for i in range(5)][: 2 + 3 * int(rng.integers(2))]
        atoms = [1] * (1 + 2 * label) + [0] * (5 - 2 * label)
        made.append(sc.Graph(6, edges, node_data={"label": atoms}))
        labels.append(label)
    return made, labels


class Nodes(sc.classifiers.Classifier):
    n_classes, description = 2, "degrees"

    def n_targets(self, frame):
        return frame.n_nodes

    def target_nodes(self, frame):
        return np.arange(frame.n_nodes)

    def classify(self, graphs):
        return (graphs.degrees() > 1).astype(int)


def nodes():
    return Nodes()


def papers(masked=True):
    labels = np.arange(12) % 2
    data = {"x": np.eye(2)[labels]} | ({"train_mask": np.arange(12) < 6} if masked else {})
    graph = sc.Graph(12, [(i, i + 1) for i in range(11)], node_data=data)
    return sc.datasets.Dataset(graph, labels, label_names=("even", "odd"), name="papers")


def unmasked():
    return papers(masked=False)
"""
SIMPLE = {"samples": 150, "noise": {"pairs": 0.1}, "data": "model.py:graphs", "model": "model.py:many"}
OF_NODES = {"model": "model.py:nodes", "data": "model.py:papers", "targets": "nodes"}


@pytest.fixture(autouse=True)
def simple(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    every = blind_model.estimators
    monkeypatch.setattr(blind_model, "estimators", lambda seed: dict(list(every(seed).items())[:1]))


@pytest.fixture
def values(tmp_path):
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")

    def given(**changes):
        changes = {**SIMPLE, "out": "out", **changes}
        return check_values(changes, SETTINGS, base=tmp_path)

    return given


def certified(values, **changes):
    return certify_run(run_settings(values(**changes)))


def shown(parts):
    console = Console(width=200, file=io.StringIO())
    for part in parts:
        console.print(part)
    return console.file.getvalue()


def test_a_run_with_a_training_part_has_a_blind_row(values):
    found = certified(values, split="test", threat="flips:1")
    row = BlindRow.of(found.archive)
    assert row.model == "logistic regression on counts of label"
    assert (row.learned_from, row.cross_validated, row.answers) == (48, 1, found.archive.labels)
    with open(found.folder / "results.csv", newline="", encoding="utf-8") as file:
        assert [int(line["blind_class"]) for line in csv.DictReader(file)] == list(row.answers)
    text = shown(as_terminal(found.found))
    assert "a model without edges: 100%" in text
    assert "A model that sees nothing an attack can change is right on 100.0%: against any 1 flip these" in text
    report = found.report.read_text(encoding="utf-8")
    assert "Worth no more than a blind model" in report
    assert '"answers"' not in report.partition('id="origin"')[2].partition("</section>")[0]
    kept = json.loads(json.dumps(values_of(found.found)))
    assert kept["blind"]["accuracy"] == 1
    gains = {each["attacks"]: each for each in kept["structure_gain"]}
    assert list(gains)[:2] == ["no attack", "any 1 flip"]
    accuracy = float(np.mean(sc.metrics.right(found.archive.certificates, found.archive.labels)))
    assert gains["no attack"]["gain"] == pytest.approx(accuracy - 1)
    again = sc.archive.read(found.folder / "certificates.json")
    assert BlindRow.of(again) == row


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "There is no training part to learn from"),
        ({"split": "train"}, "The training part itself is certified"),
        ({**OF_NODES, "data": "model.py:unmasked"}, "The node data train_mask are missing"),
    ],
)
def test_where_nothing_can_be_learned_from_it_says_why(values, changes, why):
    found = certified(values, **changes)
    assert why in BlindRow.of(found.archive).missing
    assert f"blind model: {why}" in shown(as_terminal(found.found))
    assert why in found.report.read_text(encoding="utf-8")
    assert values_of(found.found)["blind"]["missing"].startswith(why)
    assert "blind_class" not in (found.folder / "results.csv").read_text(encoding="utf-8")


def test_a_run_that_tries_every_attack_shows_it_too(values, tmp_path):
    found = certified(values, split="test", threat="flips:2", exact=True)
    archive, row = found.archive, BlindRow.of(found.archive)
    with open(found.folder / "results.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0])[:5] == ["graph", "name", "true", "blind_class", "answer"]
    assert [line["blind_class"] for line in lines] == [archive.class_names[each] for each in row.answers]
    right = np.array(archive.labels) == archive.result.labels
    assert "a model without edges" in shown(as_terminal(found.found))
    assert "Worth no more than a blind model" in found.report.read_text(encoding="utf-8")
    kept = json.loads(json.dumps(values_of(found.found)))
    assert (kept["blind"]["accuracy"], kept["accuracy"]) == (1, right.mean())
    assert [each["blind_class"] for each in kept["graphs"]] == [line["blind_class"] for line in lines]
    gains = {each["attacks"]: each for each in kept["structure_gain"]}
    assert list(gains) == ["no attack", "any 1 flip", "any 2 flips"]
    for size, gain in enumerate(gains.values()):
        safe = right & (archive.result.certified_sizes >= size)
        assert (gain["n_graphs"], gain["gain"]) == (6, pytest.approx(safe.mean() - 1))
    compared = compare(dict.fromkeys("ab", archive))
    same = [vars(each) | {"attacks": ""} for run, each in compared.gains if run == "a"]
    assert same == [gain | {"attacks": "", "why": ""} for gain in gains.values()]


@pytest.mark.parametrize("threat", ["rewire:1", "deletions:1"])
def test_a_graph_without_attacks_counts_for_no_gain_by_size(threat):
    graphs = [sc.Graph(4, edges) for edges in ([], [(0, 1)], [(0, 1), (1, 2)])]
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 1), n_classes=2)
    result = sc.ExactClassifier(base, sc.Noise(all=0.1)).certify(graphs, threat=threat)
    clean, attacked = structure_gains(result, [0, 0, None], [1, 0, 1], result.threat)
    assert (clean.n_graphs, clean.certified, clean.blind) == (2, 1, 0.5)
    assert (attacked.n_graphs, attacked.certified, attacked.blind) == (1, 1, 1)


def test_without_scikit_learn_a_run_ends_all_the_same(values, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    missing = BlindRow.of(certified(values, split="test").archive).missing
    assert missing == "It could not be fitted. The blind model needs sklearn: pip install 'starcert[kernels]'"


def test_nodes_learn_from_the_mask_that_trains(values):
    found = certified(values, **OF_NODES)
    row = BlindRow.of(found.archive)
    assert (row.learned_from, row.answers) == (6, found.archive.labels)


def test_comparisons_and_sweeps_show_it_too(values, tmp_path):
    runs = {name: certified(values, split="test", out=name, seed=seed).archive for seed, name in enumerate("ab")}
    compared = compare(runs)
    write_comparison(tmp_path / "compare.html", runs)
    assert [(run, each.attacks, each.blind) for run, each in compared.gains[:2]] == [
        ("a", "no flip", 1),
        ("b", "no flip", 1),
    ]
    assert [notice.head for notice in comparison_notices(compared)] == [
        f"{run}: worth no more than a blind model" for run in "ab"
    ]
    assert "Beside a blind model" in (tmp_path / "compare.html").read_text(encoding="utf-8")
    file = RunFile(values=values(split="validation"))
    found = run_sweep(sweep_settings(file, {"out": tmp_path / "sweep"}, parse_grid(["pairs=0.05,0.1"])))
    assert "A blind model is right on 100.0%: logistic regression on counts of label." in shown(
        as_terminal(sweep_report(found))
    )
    with open(found.folder / "sweep.csv", newline="", encoding="utf-8") as table:
        lines = list(csv.DictReader(table))
    assert [float(line["blind_accuracy"]) for line in lines] == [1, 1]
    assert all(float(line["structure_gain_1_flip_in_pairs"]) <= 0 for line in lines)
    assert "right, blind model" in (found.folder / "sweep.html").read_text(encoding="utf-8")


@pytest.fixture
def learned(monkeypatch):
    """What a blind model was learned from, each time that one was."""
    every, learn = [], sc.baselines.blind

    def counted(train, **given):
        every.append(len(train))
        return learn(train, **given)

    monkeypatch.setattr(sc.baselines, "blind", counted)
    return every


def test_it_is_learned_once_for_runs_that_share_a_store(values, tmp_path, learned):
    given = {"split": "test", "store": tmp_path / "votes.db"}
    first, second = (certified(values, out=name, **given) for name in "ab")
    assert learned == [48]
    assert BlindRow.of(first.archive) == BlindRow.of(second.archive)
    files = [(found.folder / "certificates.json").read_bytes() for found in (first, second)]
    assert files[0] == files[1]
    assert (tmp_path / "votes.blind.json").exists()


@pytest.mark.parametrize("changes", [{}, {"threat": "flips:1", "exact": True}])
def test_a_run_that_goes_on_does_not_learn_again(values, learned, changes):
    first, second = (certified(values, split="test", **changes) for _ in range(2))
    assert learned == [48]
    assert BlindRow.of(first.archive) == BlindRow.of(second.archive)
    assert (first.folder / "blind.json").exists()


@pytest.fixture
def row_of(values):
    """The row of a run with these settings, read from a file or kept in it."""

    def given(kept, **changes):
        settings = run_settings(values(split="test", **changes))
        inputs = read_inputs(settings)
        return blind_run.blind_row(inputs, try_model(settings, inputs), kept)

    return given


def forged(text):
    """Another answer, under the digest of the first."""
    whole = json.loads(text)
    whole["row"]["answers"][0] ^= 1
    return json.dumps(whole)


@pytest.mark.parametrize(
    "spoil",
    [
        forged,
        lambda text: text[:-10],
        lambda text: json.dumps(json.loads(text) | {"digest": "0" * 32}),
        lambda text: json.dumps({"row": json.loads(text)["row"]}),
        lambda _text: "[" * 100_000,
        lambda _text: "[1]",
        lambda _text: "\ud800".encode("utf-8", "surrogatepass"),
    ],
    ids=["answer", "cut", "digest", "no digest", "deep", "list", "no text"],
)
def test_a_kept_row_that_is_not_whole_is_learned_again(row_of, tmp_path, learned, spoil):
    kept = tmp_path / "blind.json"
    row, text = row_of(kept), kept.read_text(encoding="utf-8")
    spoilt = spoil(text)
    kept.write_bytes(spoilt if isinstance(spoilt, bytes) else spoilt.encode())
    assert row_of(kept) == row
    assert kept.read_text(encoding="utf-8") == text
    assert row_of(kept) == row
    assert learned == [48, 48]


@pytest.mark.parametrize(
    "changes",
    [
        {"noise": {"pairs": 0.2}},
        {"threat": "additions:1"},
        {"split_seed": 1},
        {"limit": 4},
        {"noise": {"a": 0.1}, "regions": "model.py:half"},
    ],
    ids=["noise", "threat", "split", "limit", "regions"],
)
def test_a_kept_row_of_something_else_is_learned_again(row_of, tmp_path, learned, changes):
    kept = tmp_path / "blind.json"
    model = (tmp_path / "model.py").read_text(encoding="utf-8")
    (tmp_path / "model.py").write_text(f"{model}\n\n{HALF}", encoding="utf-8")
    row_of(kept)
    assert row_of(kept, **changes) == row_of(None, **changes)
    assert learned == [48] * 3


HALF = """
def half(graph):
    return sc.Partition.from_node_sets({"a": [0, 1, 2]})
"""


def test_a_kept_row_of_other_code_or_other_training_data_is_learned_again(row_of, tmp_path, learned, monkeypatch):
    kept = tmp_path / "blind.json"
    row_of(kept)
    monkeypatch.setattr(blind_run, "versions", lambda: {"starcert": "another"})
    row_of(kept)
    assert len(learned) == 2
    (tmp_path / "code").mkdir()
    monkeypatch.setattr(sc.baselines, "__file__", str(tmp_path / "code" / "__init__.py"))
    row_of(kept)
    assert len(learned) == 3
    monkeypatch.setattr(blind_run, "MAX_TRAINING", 20)
    assert row_of(kept).learned_from == 20
    assert learned[3:] == [20]


def test_a_run_without_a_vote_leaves_no_folder(values, tmp_path):
    other = run_settings(values(split="test", store=tmp_path / "votes.db", seed=5, out="other"))
    certify_run(other)
    with pytest.raises(StarcertError, match="votes of another run"):
        certify_run(other.changed(seed=6, out=tmp_path / "out"))
    with pytest.raises(StarcertError, match="does not exist"):
        certify_run(other.changed(store=tmp_path / "no" / "votes.db", out=tmp_path / "out"))
    assert not (tmp_path / "out.partial").exists()


def test_no_row_is_kept_in_the_folder_of_a_run_without_a_vote(values, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise StarcertError("no votes today")

    monkeypatch.setattr("starcert.runs.run_methods.certified", fail)
    with pytest.raises(StarcertError, match="no votes today"):
        certified(values, split="test")
    assert not (tmp_path / "out.partial").exists()


def test_learning_is_in_progress(values, monkeypatch, capsys, learned):
    monkeypatch.setattr("starcert.system.output.PROGRESS_SECONDS", 0)
    certify_run(run_settings(values(split="test")))
    assert len(learned) == 1
    assert "blind model: 5 of 11 (45%), about " in capsys.readouterr().err


def test_a_file_may_say_anything_about_a_blind_model():
    votes = sc.Votes([[90, 10]], selection=[[9, 1]])
    result = sc.certify(sc.clopper_pearson(votes), sc.Noise(all=0.2))
    good = {"model": "m", "cross_validated": 0.5, "learned_from": 3, "answers": [1]}

    def kept(settings):
        return BlindRow.of(Archive.from_result(result, labels=[0], settings={BLIND: settings}))

    assert kept(good) == BlindRow("m", 0.5, 3, (1,))
    assert kept({"missing": "No."}) == BlindRow(missing="No.")
    for wrong in ({"answers": [2]}, {"answers": [True]}, {"answers": [0, 1]}, {"answers": "1"}, {"model": 3}):
        assert kept({**good, **wrong}) is None
    assert kept([1]) is None
    assert kept({**good, "cross_validated": "high"}) is None
    assert Worth.of(Archive.from_result(result, labels=[None], settings={BLIND: good})).to_json() == {}
