"""Controls: a published reach to the last digit, and accuracies that are compared with a published spread."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import oracles
import pytest
import study_worlds as worlds

import starcert as sc

pytest.importorskip("matplotlib")
pytest.importorskip("torch_geometric")
pytest.importorskip("sklearn")
pytest.importorskip("grakel")

from starcert_studies import controls
from starcert_studies.benchmark.pages import published
from starcert_studies.outcome import Report

MUTAG = {"MUTAG": {"blind": (0.8, 0.1), "GIN": (0.8, 0.1)}}
TINY = replace(controls.Controls(**controls.Controls.quick), data=("MUTAG",), sizes=((4, 1), (8, 2)), graphs=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controls, "FAIR", MUTAG)
        return worlds.tiny_run(TINY, tmp_path_factory.mktemp("controls"))


def test_the_published_reach_follows_from_noise_and_votes():
    """In fractions: the rates of the notebook, 100,000 votes for one class, alpha = 0.01."""
    delete, add, votes, alpha = Fraction("0.6"), Fraction("0.01"), 100_000, Fraction("0.01")

    def certified(deleted, added):  # 1 − p_A < slack, and p_A^votes = alpha where all votes agree
        slack = oracles.slack(oracles.one_layer_regions(added, deleted, add, delete))
        return slack > 0 and np.log1p(-float(slack)) * votes < np.log(float(alpha))

    assert [max(n for n in range(30) if certified(n, 0)), max(n for n in range(30) if certified(0, n))] == [18, 6]
    thresholds = [1 - oracles.slack(oracles.one_layer_regions(*change, add, delete)) for change in ((1, 0), (0, 1))]
    assert thresholds == [Fraction(33, 40), Fraction(23, 33)]
    found = controls.reach_of("words", sc.Flip(delete=0.6, add=0.01), votes)
    assert (found["additions"], found["deletions"]) == (6, 18)
    assert found["needed"] == pytest.approx(23 / 33, rel=1e-9)


def test_links_do_not_have_that_reach(folder):
    words, *links = worlds.table(folder, "reach")
    assert (words["additions"], words["deletions"]) == ("6", "18")
    assert {(row["additions"], row["deletions"]) for row in links} == {("2", "10")}
    checks = {check["claim"]: check["holds"] for check in worlds.results(folder)["checks"]}
    assert [holds for claim, holds in checks.items() if "6 additions" in claim] == [True]
    assert [holds for claim, holds in checks.items() if "spread" in claim] == [None, None]  # one fold cannot tell


def test_validation_chooses_a_network_on_each_fold(folder):
    rows = {row["model"]: row for row in worlds.table(folder, "folds")}
    tries = {size: json.loads((folder / "parts" / f"{TINY.network('MUTAG', 0, size)}.json").read_text())
             for size in TINY.sizes}  # fmt: skip
    best = max(tries, key=lambda size: tries[size]["validation"])
    assert rows["GIN"]["chosen"] == f"{best[1]} layers of {best[0]} units"
    assert float(rows["GIN"]["accuracy"]) == tries[best]["accuracy"]
    assert (rows["GIN"]["tries"], rows["GIN"]["fold"]) == ("2", "0")
    assert "counts" in rows["blind"]["chosen"]


def test_a_mean_outside_the_published_spread_fails():
    study = controls.Controls()
    for share, holds in ((0.785, False), (0.787, True), (0.813, True), (0.815, False)):
        report = Report(study.texts)
        folds = [{"fold": fold, "chosen": "", "tries": 2, "accuracy": share, "seconds": 1.0, "device": ""}
                 for fold in range(10)]  # fmt: skip
        study.report_model(report, "NCI1", "GIN", folds)
        assert report.checks[0].holds is holds


def test_of_nodes_labels_alone_are_seen(monkeypatch):
    attributed = [sc.Graph(3, [(0, 1)], node_data={"x": np.eye(3), "attributes": np.ones((3, 1))}) for _ in range(40)]
    monkeypatch.setattr(controls, "tu", lambda _: sc.datasets.Dataset(attributed, np.arange(40) % 2))
    cut = controls.fold_of(replace(TINY, graphs=None), "some", 3)
    assert [len(part) for part in cut] == [32, 4, 4]
    assert all(set(graph.node_data) == {"x"} for part in cut for graph in part.graphs)


def test_data_sets_without_a_copy_are_left_out_and_named(monkeypatch):
    monkeypatch.setattr(controls, "local_names", lambda: ["NCI1"])
    study = controls.Controls.from_options(None, 2, False)
    assert (study.data, study.seed, study.folds) == (("NCI1",), 2, 10)
    assert len(study.parts()) == 30
    report = replace(study, data=()).report({}, {})
    assert report.summary[-1].startswith("Without NCI1, PROTEINS:")


def test_published_figures_say_where_they_are_from_and_agree_with_the_controls():
    rows = published()
    for row in rows:
        assert set(row) == {"data", "method", "figure", "standing", "source", "protocol", "doubts"}
        assert all(row.values())
        assert row["standing"].startswith(("as published", "their code, run here"))
    (fair,) = [row for row in rows if "no certificate" in row["method"]]
    order = fair["data"].split(", ")
    of_model = dict(zip(("blind", "GIN"), fair["figure"].removesuffix(" percent right").split("; "), strict=True))
    for data, models in controls.FAIR.items():
        for model, (mean, spread) in models.items():
            figure = of_model[model].removeprefix(f"{model} ").split(" / ")[order.index(data)]
            assert figure == f"{100 * mean:.1f} ± {100 * spread:.1f}"
    (reach,) = [row for row in rows if row["method"] == "sparse_smoothing"]
    assert reach["figure"] == "reaches 6 additions and 18 deletions of words, p_A > .697"
