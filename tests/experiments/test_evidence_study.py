"""The study of evidence, with few graphs and votes: what it asks, how verdicts are counted, and what it claims."""

import csv
import json
from dataclasses import asdict, replace

import pytest

import starcert as sc
import study_worlds as worlds
from starcert.experiments import evidence_study as study
from starcert.experiments import evidence_votes as votes
from starcert.experiments.levels import ALPHA
from starcert.experiments.parts import StudyParts
from starcert.experiments.reproduce import STUDIES, reproduce

pytest.importorskip("matplotlib")
pytest.importorskip("grakel")

TINY = votes.EvidenceSettings(1_000, 20_000, 3, 0, 0, 1, 1, False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    votes._motif.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(votes, "draw_of_data", worlds.small_data)
        patch.setattr(study, "settings", lambda samples, seed, quick: replace(TINY, seed=seed))
        yield reproduce("evidence", tmp_path_factory.mktemp("evidence"), quick=True).folder
    votes._motif.cache_clear()


def table(folder):
    return list(csv.DictReader((folder / "tables" / "evidence.csv").read_text("utf-8").splitlines()))


def test_settings_of_the_command_line(monkeypatch):
    monkeypatch.setattr(votes, "local_names", lambda: ["MUTAG"])
    assert votes.settings(None, 1, False) == votes.EvidenceSettings(proteins=False)
    assert votes.settings(500, 2, True) == votes.EvidenceSettings(500, 100_000, 10, 0, 2, 20, 10, False, 2)
    monkeypatch.setattr(votes, "local_names", lambda: ["MUTAG", "PROTEINS"])
    assert votes.settings(None, 1, False) == votes.EvidenceSettings()
    assert "evidence" in STUDIES


def test_every_question_has_a_name_of_its_own():
    asked = votes.questions(votes.EvidenceSettings())
    assert len({question.name for question in asked}) == len(asked) == 12
    assert {question.data for question in asked} == {"motif", "MUTAG", "PROTEINS"}
    assert all(question.own_samples + question.samples <= 3_000_000 for question in asked if question.data == "motif")


def test_graphs_are_counted_once(folder):
    rows = table(folder)
    assert [row["radius"] for row in rows[:7]] == [
        "(1, 0)", "(0, 1)", "(2, 0)", "(1, 1)", "(0, 2)", "any flip", "any 2 flips"
    ]  # fmt: skip
    for row in rows:
        right, own, broken, left = (int(row[name]) for name in ("right", "with_own_votes", "broken", "open"))
        assert right == own + broken + left <= int(row["graphs"]) == 3
        assert int(row["by_p_A_at_share"]) <= int(row["by_p_A"])
        assert int(row["by_p_A_at_share"]) <= int(row["by_evidence"]) <= own


def test_verdicts_are_those_of_a_certificate(folder):
    data = worlds.small_data(0)
    base = sc.classifiers.from_sklearn(sc.models.vertex_histogram_svm().fit(data.train.graphs, data.train.labels))
    smoothed = sc.SmoothedClassifier(base, sc.Noise(motif=0.1, random=0.1), data.partition)
    kept = json.loads((folder / "parts" / "motif-histogram-0.1-0.1-0-2-0.json").read_text("utf-8"))
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
    (folder / "parts" / "motif-histogram-0.06-0.06-0-2-0.json").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(votes, "draw_of_data", worlds.small_data)
        found = votes.compute(TINY, StudyParts(folder / "parts"))
    assert {path.name: path.read_bytes() for path in (folder / "parts").iterdir()} == before
    assert all(len(some) == 3 for some in found.values())


def test_what_is_left_out_is_said(folder):
    kept = json.loads((folder / "results.json").read_text("utf-8"))
    assert kept["summary"][-1] == study.NO_PROTEINS
    assert {path.name for path in (folder / "figures").iterdir()} == {"verdicts.svg", "verdicts.png"}
    *undecided, never_less = kept["checks"]
    assert len(undecided) == 12
    assert all(check["holds"] is None for check in undecided)
    assert never_less["holds"]


def entry(**told):
    given = {"truth": 0, "class": 0, "abstained": False, "p_lower": 0.9, "own_votes": 10, "open": {}}
    return (
        given
        | {way: ["certified"] * 2 for way in ("shared", "own")}
        | {way: [True] * 2 for way in ("by_p_A", "by_counts")}
        | told
    )


def test_wrong_answers_and_abstentions_count_for_nothing():
    question = votes.Question("PROTEINS", "gin", (0.05, 0.0025), votes.ONE_FLIP, 10, 10, 1, 4)
    found = [
        entry(),
        entry(truth=1),
        entry(abstained=True),
        entry(own=["certified", "broken"], shared=["open", "open"], by_p_A=[True, False], by_counts=[False, False]),
        entry(own=["open", "certified"], by_counts=[True, True]),
    ]
    deleted, added, anywhere = study.tallies(question, found)
    assert (deleted.graphs, deleted.right, deleted.by_p_A, deleted.own, deleted.broken, deleted.open) == (
        5,
        3,
        3,
        2,
        0,
        1,
    )
    assert (added.own, added.broken, added.open, added.by_p_A) == (2, 1, 0, 2)
    assert (anywhere.radius, anywhere.own, anywhere.broken, anywhere.open) == ("any flip", 1, 1, 1)
    assert (anywhere.lost, anywhere.shared_away) == (1, 1)


def test_claims_fail_where_evidence_is_too_weak():
    settings = votes.EvidenceSettings()
    told = []
    for question in votes.questions(settings):
        some = [entry(own=["certified"] * 5, shared=["certified"] * 5, by_p_A=[True] * 5, by_counts=[True] * 5)] * 100
        told += study.tallies(question, some)
    checks = study.checks(told, settings)
    assert [check.holds for check in checks] == [True] * 13
    weak = [replace(one, shared=10, own=10) for one in told]
    assert [check.holds for check in study.checks(weak, settings)] == [False] * 12 + [True]
    assert study.checks([replace(one, lost=1) for one in told], settings)[-1].holds is False


@pytest.mark.parametrize("part", ["mutag_fold", "protein_block"])
def test_networks_are_judged_too(monkeypatch, part):
    pytest.importorskip("torch_geometric")
    votes._proteins.cache_clear()
    monkeypatch.setattr(votes, "tu", lambda name: sc.datasets.tu("MUTAG"))
    data, model = ("MUTAG", "sum") if part == "mutag_fold" else ("PROTEINS", "gin")
    question = votes.Question(data, model, (0.1, 0.1), votes.ONE_FLIP, 200, 500, 1, 3)
    found = getattr(votes, part)(question, 0, replace(TINY, folds=1))
    votes._proteins.cache_clear()
    assert len(found) == (19 if part == "mutag_fold" else 3)
    assert all({"certified", "broken", "open"} >= {*one["shared"], *one["own"]} for one in found)
    assert asdict(question)["radii"] == votes.ONE_FLIP
