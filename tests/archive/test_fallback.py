"""Archives of certificates with a fallback: proved again from threshold, blind answers and votes, or refused."""

import json
from fractions import Fraction
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.math import confidence
from starcert.math import votes as counted
from starcert.math.fallback import Contest

GRAPHS = [sc.Graph.from_networkx(g) for g in (nx.complete_graph(6), nx.cycle_graph(6), nx.path_graph(6))]
REGIONS = sc.Partition.from_node_sets({"core": range(4), "rest": range(4, 6)})
FLIP = sc.Noise(all=sc.Flip(delete=0.1, add=0.05))


def certified(threshold=0.6, blind=(0, 1, 2), *, noise=FLIP, regions=None, plan="fixed", threat="flips:1", own=4_000):
    base = sc.classifiers.from_callable(
        lambda graphs: np.digitize(graphs.degrees().sum(axis=1) / 2, [5, 8]), n_classes=3, on="batch", description="m"
    )
    evidence = False if own is None else sc.Evidence(own_samples=own)
    return sc.SmoothedClassifier(base, noise, regions, fallback=sc.Fallback(blind, threshold)).certify(
        GRAPHS, samples=1_500, seed=3, threat=threat, voting=sc.Voting(plan=plan), evidence=evidence
    )


def written(result, folder):
    path = folder / "certificates.json"
    sc.archive.write(path, sc.archive.Archive.from_result(result, labels=[2, 1, 0]))
    return path


ASKED = {
    "counts": {"own": None, "threat": None},
    "counts, stopped": {"own": None, "plan": "decided"},
    "own votes": {},
    "a high threshold": {"threshold": 0.9},
    "shared votes": {"own": 0, "threshold": 0.5},
    "stopped": {"plan": "decided", "threshold": 0.75},
    "a list": {"threat": "rewire:1"},
    "listed and pooled": {"noise": sc.Noise(core=0.1, rest=0.45), "regions": REGIONS, "threat": "box:1,1"},
}


@pytest.mark.parametrize("asked", ASKED)
def test_what_is_written_is_read_and_proved(asked, tmp_path):
    result = certified(**ASKED[asked])
    path = written(result, tmp_path)
    kept = sc.archive.Archive.from_result(result, labels=[2, 1, 0])
    checked = sc.archive.verify(path)
    assert checked.verdict == "proved"
    assert checked.archive == kept == sc.archive.read(path)
    again = checked.archive.certificates
    assert [str(one) for one in again] == [str(one) for one in result]
    assert [one.threshold for one in again] == [result[0].threshold] * 3
    assert [one.blind_answer for one in again] == [0, 1, 2]
    if result.verdicts is not None:
        assert sum(each.levels + each.broken for each in checked.evidence) > 0
    data = json.loads(path.read_text())
    assert [each["blind"] for each in data["graphs"]] == [0, 1, 2]
    assert data["fallback"]["threshold"] == result[0].threshold
    assert "is taken as stated" in data["says"]
    assert {each["claims"]["margin"] for each in data["graphs"]} == {"fallback"}


def changed(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    return path


def test_a_lower_threshold_than_that_of_the_claims_refutes_them(tmp_path):
    """The path has the blind answer at 0.9; class 1 is likelier than 0.6."""
    path = written(certified(0.9, own=None), tmp_path)
    assert sc.archive.verify(path).verdict == "proved"
    changed(path, lambda data: data["fallback"].update(threshold=0.6, exact=str(Fraction(0.6))))
    assert sc.archive.verify(path).verdict == "refuted"


def test_another_blind_answer_refutes_what_was_claimed_of_the_first(tmp_path):
    path = written(certified(0.9, own=None), tmp_path)
    changed(path, lambda data: data["graphs"][2].update(blind=0))
    found = sc.archive.verify(path)
    assert found.verdict == "refuted"
    assert {each.graph for each in found.refuted} == {2}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda data: data["graphs"][1].pop("blind"), "'graphs\\[1\\].blind' is missing"),
        (lambda data: data.pop("fallback"), "'fallback' must come with"),
        (lambda data: data["fallback"].update(exact="3/5"), "be the fraction that 0.6 is"),
        (lambda data: data["fallback"].update(threshold=0.4), "at least 0.5"),
        (lambda data: data["graphs"][1].update(blind=3), "blind"),
        (lambda data: [each.pop("blind") for each in data["graphs"]], "'fallback' must come with"),
    ],
)
def test_what_does_not_belong_together_is_refused(change, complaint, tmp_path):
    path = changed(written(certified(own=None), tmp_path), change)
    with pytest.raises(sc.ArchiveError, match=complaint):
        sc.archive.read(path)


@pytest.mark.parametrize("mistake", ["the limit of a blind answer for another", "third classes that count nothing"])
@pytest.mark.parametrize("own", [None, 0])
def test_an_engine_that_is_too_generous_is_found(mistake, own, tmp_path):
    """The checker has its own idea of what an answer has to withstand."""

    def generous(blind, labels):
        return [Contest(blind.threshold, 1.0 if mistake.startswith("the limit") else 0.0)] * len(labels)

    with patch.object(confidence, "contests_of", generous), patch.object(counted, "contests_of", generous):
        path = written(certified(0.8, own=own), tmp_path)
        with pytest.raises(ArithmeticError, match="two proofs disagree"):
            sc.archive.verify(path)
