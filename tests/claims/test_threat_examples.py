"""A classifier that counts edges: what it withstands and what breaks it is known without any votes."""

import pytest

import starcert as sc
from starcert.objects.threats import Additions, AnyFlips, Deletions, Rewire, Swap

THRESHOLD = 7
EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3), (1, 4), (0, 2), (3, 5), (2, 5), (1, 5)]
"""Edges of graphs with 6 nodes: the first 8 are one more than the threshold."""


@pytest.fixture(scope="module")
def counter():
    base = sc.classifiers.from_callable(
        lambda batch: (batch.values.sum(axis=1) > THRESHOLD).astype(int), on="batch", n_classes=2
    )
    return sc.SmoothedClassifier(base, sc.Noise(all=0.05))


def ask(counter, threat, n_edges=8, own=20_000):
    graph = sc.Graph(6, EDGES[:n_edges])
    voting = sc.Voting(progress=False)
    asked = {"samples": 4_000, "seed": 1, "threat": threat, "evidence": sc.Evidence(own_samples=own), "voting": voting}
    return counter.certify([graph], **asked)[0]


@pytest.mark.parametrize("threat", [Rewire(1), Swap(1), Swap(2), Rewire(1) | Swap(1)])
def test_attacks_that_keep_the_number_of_edges_change_nothing(counter, threat):
    one = ask(counter, threat)
    assert (one.label, one.verdict(threat)) == (1, "certified")
    assert one.certified(threat)
    assert one.attack(threat) is None


@pytest.mark.parametrize("threat", [Deletions(1), Deletions(2), AnyFlips(1), Rewire(1) | Deletions(1)])
def test_one_deletion_near_the_threshold_breaks_it(counter, threat):
    one = ask(counter, threat)
    assert one.verdict(threat) == "broken"
    assert not one.certified(threat)
    found = one.attack(threat)
    u, v = counter.sites(sc.Graph(6, EDGES[:8])).coordinates(list(found.sites))
    assert {*zip(u.tolist(), v.tolist(), strict=True)} & {tuple(sorted(pair)) for pair in EDGES[:8]}
    assert found.votes[0] > found.votes[1]


@pytest.mark.parametrize(("n_edges", "threat"), [(7, Deletions(2)), (8, Additions(2)), (12, Deletions(1))])
def test_attacks_away_from_the_threshold_change_nothing(counter, n_edges, threat):
    assert ask(counter, threat, n_edges).verdict(threat) == "certified"
