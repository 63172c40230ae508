"""The study of evidence, with few graphs and votes: what it asks, how verdicts are counted, and what it claims."""

from dataclasses import replace

import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc
from starcert_studies import evidence, study
from starcert_studies.outcome import Report
from starcert_studies.reproduce import StudyParts
from starcert_studies.study import vote_on_block
from starcert_studies.voted import ALPHA, ONE_FLIP, TWO_FLIPS, Asked, Question, median_range, tallies

pytest.importorskip("matplotlib")
pytest.importorskip("grakel")

TINY = evidence.Evidence(1_000, 5_000, 3, 0, 0, 1, 1, False, draws=4, repeats=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for module in (evidence, study):
            patch.setattr(module, "motif_machine", worlds.small_machine)
        return worlds.tiny_run(TINY, tmp_path_factory.mktemp("evidence"))


def test_settings_of_the_command_line(monkeypatch):
    monkeypatch.setattr(evidence, "local_names", lambda: ["MUTAG"])
    assert evidence.Evidence.from_options(None, 1, False) == evidence.Evidence(proteins=False)
    quick = evidence.Evidence(500, 100_000, 10, 0, 2, 20, 10, False, 2, 3, 1)
    assert evidence.Evidence.from_options(500, 2, True) == quick
    monkeypatch.setattr(evidence, "local_names", lambda: ["MUTAG", "PROTEINS"])
    assert evidence.Evidence.from_options(None, 1, False) == evidence.Evidence()


def test_what_is_asked():
    asked = evidence.Evidence().questions()
    assert len(asked) == 12
    assert {question.data for question in asked} == {"motif", "MUTAG", "PROTEINS"}
    assert all(one.question.own_samples + one.samples <= 3_000_000 for one in asked if one.data == "motif")
    draws = {(one.data, one.rates): one.draws for one in asked}
    assert draws["motif", (0.1, 0.1)] == draws["motif", (0.06, 0.06)] == 20
    assert draws["MUTAG", (0.04, 0.2)] == 2


def test_graphs_are_counted_once_in_every_draw(folder):
    rows = worlds.table(folder, "draws")
    assert [(row["radius"], row["draw"]) for row in rows[:28]] == [
        (radius, str(draw))
        for radius in ("(1, 0)", "(0, 1)", "(2, 0)", "(1, 1)", "(0, 2)", "any flip", "any 2 flips")
        for draw in range(4)
    ]
    assert {row["draw"] for row in rows if row["noise_1"] == "0.02"} == {"0", "1"}
    for row in rows:
        right, own, broken, left = (int(row[name]) for name in ("right", "with_own_votes", "broken", "open"))
        assert right == own + broken + left <= int(row["graphs"]) == 3
        assert int(row["by_p_A_at_share"]) <= int(row["by_p_A"])
        assert int(row["by_p_A_at_share"]) <= int(row["by_evidence"]) <= own


def test_tables_have_median_and_range_of_all_draws(folder):
    every = worlds.table(folder, "draws")
    shown = worlds.table(folder, "evidence")
    assert len(shown) == 18
    for row in shown:
        draws = [one for one in every if all(one[name] == row[name] for name in ("noise_1", "noise_2", "radius"))]
        assert len(draws) == int(row["draws"]) == (2 if row["noise_1"] == "0.02" else 4)
        for name in ("majority", "blind", "right", "by_p_A", "by_evidence", "with_own_votes", "broken", "open"):
            assert row[name] == median_range([int(one[name]) for one in draws])
    assert [(row["noise_1"], row["radius"]) for row in worlds.table(folder, "headline")] == [
        ("0.1", "any flip"), ("0.1", "any 2 flips"), ("0.06", "any flip"), ("0.06", "any 2 flips"), ("0.02", "(2, 45)")
    ]  # fmt: skip


def kept(folder, draw):
    return worlds.part(folder, f"motif-histogram-0.1-0.1-0-2-draw-{draw}-0")["judged"]


def test_every_draw_has_its_own_data_and_machine(folder):
    assert len({tuple(one["p_lower"] for one in kept(folder, draw)) for draw in range(3)}) == 3
    machines = [worlds.small_machine(draw)[0] for draw in range(3)]
    found = [row["support_vectors"] for row in worlds.table(folder, "draws")[:3]]
    assert found == [str(len(machine.svc_.support_)) for machine in machines]


def test_blind_model_sees_nodes_and_no_edge(monkeypatch):
    def split(atoms, edges):
        graphs = [
            sc.Graph(3, [(0, 1)] if label == edges else [], node_data={"x": np.eye(2)[[0, 0, label * atoms]]})
            for label in (0, 1) * 10
        ]
        return sc.datasets.Split(graphs, np.array([0, 1] * 10))

    def blind(taught, tested):
        monkeypatch.setattr(study, "drawn_splits", lambda data, seed, fold: (taught, None, tested, None))
        return study.blind_answers("PROTEINS", 1, None)

    assert len(set(blind(split(0, edges=1), split(0, edges=1)))) == 1  # here the classes differ by an edge alone
    assert blind(split(1, edges=1), split(1, edges=0)) == [0, 1] * 10


def test_verdicts_are_those_of_a_certificate(folder):
    machine, data = worlds.small_machine(0)
    base = sc.classifiers.from_sklearn(machine)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(motif=0.1, random=0.1), data.partition)
    for own, name in ((0, "shared"), (5_000, "own")):
        asked = {"threat": "box:2,2 & flips:2", "evidence": sc.Evidence(own_samples=own)}
        found = smoothed.certify(data.test.graphs[:3], samples=1_000, alpha=ALPHA, seed=1, **asked)
        for one, told in zip(found, kept(folder, 0), strict=True):
            assert (one.label, one.p_lower <= told["p_lower"]) == (told["class"], True)
            assert [kind == "certified" for kind in told[name]] == [one.certified(r) for r in TWO_FLIPS]


def test_it_continues_where_it_was(folder):
    before = {path.name: path.read_bytes() for path in (folder / "parts").iterdir()}
    (folder / "parts" / "motif-histogram-0.06-0.06-0-2-draw-1-0.json").unlink()
    with pytest.MonkeyPatch.context() as patch:
        for module in (evidence, study):
            patch.setattr(module, "motif_machine", worlds.small_machine)
        TINY.votes(StudyParts(folder / "parts"))
    assert {path.name: path.read_bytes() for path in (folder / "parts").iterdir()} == before


def test_what_is_left_out_is_said(folder):
    kept = worlds.results(folder)
    assert kept["summary"][-1].startswith("PROTEINS was left out")
    assert {path.name for path in (folder / "figures").iterdir()} == {
        f"{name}.{ending}" for name in ("headline", "verdicts") for ending in ("svg", "png")
    }
    *undecided, never_less = kept["checks"]
    assert len(undecided) == 12
    assert all(check["holds"] is None for check in undecided)
    assert never_less["holds"]


def test_claims_are_about_the_median_of_the_draws():
    study = evidence.Evidence()
    all_certified = {
        "own": ["certified"] * 5,
        "shared": ["certified"] * 5,
        "by_p_A": [True] * 5,
        "by_counts": [True] * 5,
    }
    some = [worlds.judged_entry(**all_certified)] * 100
    counted = {
        (asked, radius): [one] * 3
        for asked in study.questions()
        for radius, one in tallies(asked.question, some).items()
    }

    def held(*changes, study=study):
        changed = {
            at: [replace(one, **change) for one, change in zip(draws, changes, strict=True)]
            for at, draws in counted.items()
        }
        report = Report(study.texts)
        study.check_claims(report, changed)
        return [check.holds for check in report.checks]

    weak = {"shared": 10, "own": 10}
    assert held({}, {}, {}) == [True] * 13
    assert held({}, weak, weak) == [False] * 12 + [True]
    assert held({}, weak, {}) == [True] * 13
    assert held({"lost": 1}, {}, {})[-1] is False
    assert held({}, {}, {}, study=replace(study, draws=3)) == [None] * 12 + [True]


@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS"])
def test_networks_are_judged_too(monkeypatch, name):
    pytest.importorskip("torch_geometric")
    study.protein_splits.cache_clear()
    monkeypatch.setattr(study, "tu", lambda name: sc.datasets.tu("MUTAG"))
    model = "sum" if name == "MUTAG" else "gin"
    asked = Asked(name, model, (0.1, 0.1), 200, Question(ONE_FLIP, 500, 1), 1 if name == "MUTAG" else 3)
    trials = [TINY._trials(asked, draw)[0] for draw in (0, 1)]
    found, other = (vote_on_block(TINY, trial, 0) for trial in trials)
    blind = TINY.facts(trials[0].key)
    study.protein_splits.cache_clear()
    assert len(found["judged"]) == (19 if name == "MUTAG" else 3)
    assert all({"certified", "broken", "open"} >= {*one["shared"], *one["own"]} for one in found["judged"])
    assert found["judged"] != other["judged"]  # another split
    assert set(blind) <= {0, 1}
    assert len(blind) >= len(found["judged"])
