"""The study of digits, with few images and votes: its regions, its models, and how verdicts are counted."""

import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
pytest.importorskip("torch_geometric")

from starcert_studies.kinds import digits
from starcert_studies.voted import ALPHA, TWO_FLIPS

TINY = digits.Digits(100, 12, 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return worlds.tiny_run(TINY, tmp_path_factory.mktemp("digits"))


def test_the_border_is_the_outer_ring():
    assert [len(columns) for columns in digits.REGIONS.values()] == [36, 28]
    row, column = np.divmod(digits.REGIONS["border"], 8)
    assert (np.isin(row, [0, 7]) | np.isin(column, [0, 7])).all()


def test_the_split_is_decided_by_the_seed():
    (one, labels), (same, _), (other, _) = (digits.digits(seed) for seed in (1, 1, 2))
    assert (len(one[: digits.TAUGHT]), len(one[digits.TAUGHT :])) == (1297, 500)
    assert one == same != other
    assert set(labels[digits.TAUGHT :].tolist()) == set(range(10))
    assert {row.row.max() for row in one} == {1}


def test_images_are_counted_once(folder):
    rows = worlds.table(folder, "radii")
    assert [row["radius"] for row in rows[:7]] == [
        "(1, 0)", "(0, 1)", "(2, 0)", "(1, 1)", "(0, 2)", "any flip", "any 2 flips"
    ]  # fmt: skip
    assert [row["model"] for row in rows] == ["svc"] * 7 + ["network"] * 7
    for row in rows:
        right, own, broken, left = (int(row[name]) for name in ("right", "with_own_votes", "broken", "open"))
        assert right == own + broken + left <= 12
        assert int(row["by_evidence"]) <= own


def test_verdicts_are_those_of_a_certificate(folder):
    rows = digits.digits(1)[0][digits.TAUGHT :][10:12]
    smoothed = sc.SmoothedClassifier(TINY.model("network"), digits.NOISE, digits.REGIONS)
    kept = worlds.part(folder, "network-10")
    assert len(kept["judged"]) == 2
    found = smoothed.certify(
        rows, samples=1_000, alpha=ALPHA, seed=1, evidence=sc.Evidence(own_samples=1_000), threat="flips:2"
    )
    for one, told in zip(found, kept["judged"], strict=True):
        assert told["with_own_votes"] == [one.certified(r) for r in TWO_FLIPS]
    counts = smoothed.certify(rows, samples=1_000, alpha=ALPHA, seed=1)
    assert counts.votes.counts.tolist() == kept["estimation"]
    assert [[one.certified(r) for r in TWO_FLIPS] for one in counts] == [t["by_p_A"] for t in kept["judged"]]


def test_models_are_taught_with_noise_and_beat_a_constant_answer(folder):
    svc, network = worlds.table(folder, "models")
    for row in (svc, network):
        assert row["images"] == "12"
        assert float(row["majority"]) < 0.4 < float(row["smoothed"])
        assert float(row["certified_at_0_28"]) <= float(row["certified_at_0_1"]) <= float(row["smoothed"])


def test_claims_fail_where_they_are_not_so():
    labels = np.arange(100) % 10

    def checked(answers, **told):
        entry = {"right": True, "own_votes": 1, "by_p_A": [False] * 5, "by_evidence": [True] * 5,
                 "with_own_votes": [False] * 5, "broken": [True] * 5} | told  # fmt: skip
        found = {"svc": worlds.voted(digits.NOISE, labels, answers, 80_000, judged=[entry] * len(labels))}
        return worlds.claims(digits.Digits(), found)

    assert checked(labels) == [True, True, True]
    assert checked((labels + 1) % 10) == [False, True, True]
    assert checked(labels, by_evidence=[False] * 5, broken=[False] * 5) == [True, False, False]
