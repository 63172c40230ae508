"""The study of evidence, with few graphs and votes: what it asks, how verdicts are counted, and what it claims."""

import csv
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import study_worlds as worlds
from starcert_studies.evidence_tallies import spread, tallies
from starcert_studies.levels import ALPHA

import starcert as sc
from starcert_studies import evidence_study as study
from starcert_studies import evidence_votes as votes
from starcert_studies.parts import StudyParts
from starcert_studies.reproduce import STUDIES, reproduce

pytest.importorskip("matplotlib")
pytest.importorskip("grakel")

TINY = votes.EvidenceSettings(1_000, 20_000, 3, 0, 0, 1, 1, False, draws=4, repeats=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    votes._motif.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(votes, "draw_of_data", worlds.small_data)
        patch.setattr(study, "settings", lambda samples, seed, quick: replace(TINY, seed=seed))
        yield reproduce("evidence", tmp_path_factory.mktemp("evidence"), quick=True).folder
    votes._motif.cache_clear()


def table(folder, name):
    return list(csv.DictReader((folder / "tables" / f"{name}.csv").read_text("utf-8").splitlines()))


def test_settings_of_the_command_line(monkeypatch):
    monkeypatch.setattr(votes, "local_names", lambda: ["MUTAG"])
    assert votes.settings(None, 1, False) == votes.EvidenceSettings(proteins=False)
    assert votes.settings(500, 2, True) == votes.EvidenceSettings(500, 100_000, 10, 0, 2, 20, 10, False, 2, 3, 1)
    monkeypatch.setattr(votes, "local_names", lambda: ["MUTAG", "PROTEINS"])
    assert votes.settings(None, 1, False) == votes.EvidenceSettings()
    assert "evidence" in STUDIES


def test_every_question_has_a_name_of_its_own():
    asked = votes.questions(votes.EvidenceSettings())
    assert len({question.name for question in asked}) == len(asked) == 12
    assert {question.data for question in asked} == {"motif", "MUTAG", "PROTEINS"}
    assert all(question.own_samples + question.samples <= 3_000_000 for question in asked if question.data == "motif")


def test_headline_noises_have_twenty_draws_and_mutag_two_cross_validations():
    draws = {(one.data, one.noise): one.draws for one in votes.questions(votes.EvidenceSettings())}
    assert draws["motif", (0.1, 0.1)] == draws["motif", (0.06, 0.06)] == 20
    assert draws["MUTAG", (0.04, 0.2)] == 2


def test_graphs_are_counted_once_in_every_draw(folder):
    rows = table(folder, "draws")
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
    every = table(folder, "draws")
    shown = table(folder, "evidence")
    assert len(shown) == 18
    for row in shown:
        draws = [one for one in every if all(one[name] == row[name] for name in ("noise_1", "noise_2", "radius"))]
        assert len(draws) == int(row["draws"]) == (2 if row["noise_1"] == "0.02" else 4)
        for name in ("majority", "blind", "right", "by_p_A", "by_evidence", "with_own_votes", "broken", "open"):
            assert row[name] == spread([int(one[name]) for one in draws])
    assert [(row["noise_1"], row["radius"]) for row in table(folder, "headline")] == [
        ("0.1", "any flip"), ("0.1", "any 2 flips"), ("0.06", "any flip"), ("0.06", "any 2 flips"), ("0.02", "(2, 45)")
    ]  # fmt: skip


def test_every_draw_has_its_own_data_and_machine(folder):
    parts = [folder / "parts" / f"motif-histogram-0.1-0.1-0-2-draw-{draw}-0.json" for draw in range(3)]
    bounds = [[one["p_lower"] for one in json.loads(path.read_text("utf-8"))] for path in parts]
    assert len({tuple(some) for some in bounds}) == 3
    machines = [votes.vertex_histogram_svm() for _ in range(3)]
    for draw, machine in enumerate(machines):
        train = worlds.small_data(draw).train
        machine.fit(train.graphs, train.labels)
    found = [row["support_vectors"] for row in table(folder, "draws")[:3]]
    assert found == [str(len(machine.svc_.support_)) for machine in machines]


def test_blind_model_sees_nodes_and_no_edge():
    def split(atoms, edges):
        graphs = [
            sc.Graph(3, [(0, 1)] if label == edges else [], node_data={"x": np.eye(2)[[0, 0, label * atoms]]})
            for label in (0, 1) * 10
        ]
        return sc.datasets.Split(graphs, np.array([0, 1] * 10))

    def blind(taught, tested):
        return [one["blind"] for one in votes.with_blind([{}] * 20, taught, tested)]

    assert len(set(blind(split(0, edges=1), split(0, edges=1)))) == 1  # here the classes differ by an edge alone
    assert blind(split(1, edges=1), split(1, edges=0)) == [0, 1] * 10


def test_verdicts_are_those_of_a_certificate(folder):
    data = worlds.small_data(0)
    base = sc.classifiers.from_sklearn(sc.models.vertex_histogram_svm().fit(data.train.graphs, data.train.labels))
    smoothed = sc.SmoothedClassifier(base, sc.Noise(motif=0.1, random=0.1), data.partition)
    kept = json.loads((folder / "parts" / "motif-histogram-0.1-0.1-0-2-draw-0-0.json").read_text("utf-8"))
    for own, name in ((0, "shared"), (20_000, "own")):
        found = smoothed.certify(
            data.test.graphs[:3], samples=1_000, alpha=ALPHA, seed=1, max_radius=(2, 2), max_flips=2, evidence=True,
            own_samples=own,
        )  # fmt: skip
        for one, told in zip(found, kept, strict=True):
            assert (one.label, one.p_lower <= told["p_lower"]) == (told["class"], True)
            assert [kind == "certified" for kind in told[name]] == [one.certified(r) for r in votes.TWO_FLIPS]


def test_it_goes_on_where_it_was(folder):
    before = {path.name: path.read_bytes() for path in (folder / "parts").iterdir()}
    (folder / "parts" / "motif-histogram-0.06-0.06-0-2-draw-1-0.json").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(votes, "draw_of_data", worlds.small_data)
        found = votes.compute(TINY, StudyParts(folder / "parts"))
    assert {path.name: path.read_bytes() for path in (folder / "parts").iterdir()} == before
    assert all(len(some) == 3 for draws in found.values() for some in draws)


def test_what_is_left_out_is_said(folder):
    kept = json.loads((folder / "results.json").read_text("utf-8"))
    assert kept["summary"][-1] == study.NO_PROTEINS
    assert {path.name for path in (folder / "figures").iterdir()} == {
        f"{name}.{ending}" for name in ("headline", "verdicts") for ending in ("svg", "png")
    }
    *undecided, never_less = kept["checks"]
    assert len(undecided) == 12
    assert all(check["holds"] is None for check in undecided)
    assert never_less["holds"]


def test_claims_are_about_the_median_of_the_draws():
    settings = votes.EvidenceSettings()
    told = []
    for question in votes.questions(settings):
        some = [
            worlds.judged_entry(
                own=["certified"] * 5, shared=["certified"] * 5, by_p_A=[True] * 5, by_counts=[True] * 5
            )
        ] * 100
        told += [[one] * 3 for one in tallies(question, some)]

    def held(*changes):
        changed = [[replace(one, **change) for one, change in zip(draws, changes, strict=True)] for draws in told]
        return [check.holds for check in study.checks(changed, settings)]

    weak = {"shared": 10, "own": 10}
    assert held({}, {}, {}) == [True] * 13
    assert held({}, weak, weak) == [False] * 12 + [True]
    assert held({}, weak, {}) == [True] * 13
    assert held({"lost": 1}, {}, {})[-1] is False
    assert [check.holds for check in study.checks(told, replace(settings, draws=3))] == [None] * 12 + [True]


@pytest.mark.parametrize("part", ["mutag_fold", "protein_block"])
def test_networks_are_judged_too(monkeypatch, part):
    pytest.importorskip("torch_geometric")
    votes._proteins.cache_clear()
    monkeypatch.setattr(votes, "tu", lambda name: sc.datasets.tu("MUTAG"))
    data, model = ("MUTAG", "sum") if part == "mutag_fold" else ("PROTEINS", "gin")
    question = votes.Question(data, model, (0.1, 0.1), votes.ONE_FLIP, 200, 500, 1, 3)
    found, other = (getattr(votes, part)(question, draw, 0, replace(TINY, folds=1)) for draw in (0, 1))
    votes._proteins.cache_clear()
    assert len(found) == (19 if part == "mutag_fold" else 3)
    assert all({"certified", "broken", "open"} >= {*one["shared"], *one["own"]} for one in found)
    assert found != other  # another split
    assert {one["blind"] for one in found} <= {0, 1}
    assert asdict(question)["radii"] == votes.ONE_FLIP
