"""Threats: how they are written, what they ask, and what becomes of graphs under them, checked level by level."""

import itertools

import numpy as np
import pytest
from report_worlds import FOUR, ONE, STARS, weighed

import starcert as sc
from starcert.certificates import metrics
from starcert.math.frontier import levels_of
from starcert.objects.noise import AnyFlips, threat_of
from starcert.system.errors import InvalidParameterError

NOISE = sc.Noise(core=0.1, rest=0.2)
PARTITION = sc.Partition.from_node_sets({"core": range(3), "rest": range(3, 6)})
GRAPHS = [sc.Graph(6, list(itertools.combinations(range(6), 2)))]


def many(batch):
    return (batch.adjacency().sum(axis=(1, 2)) > 10).astype(int)


SMOOTHED = sc.SmoothedClassifier(
    sc.classifiers.from_callable(many, n_classes=2, on="batch", description="many"), NOISE, PARTITION
)
ASKED = {"samples": 2_000, "seed": 1}


def test_a_threat_is_written_as_it_is_read():
    for most in (1, 2, 10, 10**9 - 1):
        assert threat_of(str(AnyFlips(most))) == AnyFlips(most)
    assert threat_of(AnyFlips(2)) is not None
    assert threat_of(" flips:2 ") == AnyFlips(np.int64(2))


@pytest.mark.parametrize(
    "given", ["flips", "flips:0", "flips:-1", "flips:2.0", "flips:1e3", "flips:02", "flips:²", "bonds:2", "", 2, None]
)
def test_what_is_no_threat_is_refused_in_one_sentence(given):
    with pytest.raises(InvalidParameterError) as refused:
        threat_of(given)
    assert str(refused.value).startswith("'threat' must be flips:K, for at most K flips anywhere. Got ")
    with pytest.raises(InvalidParameterError, match="threat"):
        SMOOTHED.certify(GRAPHS, **ASKED, threat=0 if given is None else given)


def test_max_flips_is_the_short_form_of_a_threat():
    asked = ASKED | {"evidence": True, "own_samples": 0}
    short = SMOOTHED.certify(GRAPHS, **asked, max_flips=2)
    for threat in ("flips:2", AnyFlips(2)):
        for also in ({}, {"max_flips": 2}):
            found = SMOOTHED.certify(GRAPHS, **asked, threat=threat, **also)
            assert found.verdicts == short.verdicts
            assert found.verdicts[0].grounds.max_flips == 2
    assert SMOOTHED.certify(GRAPHS, **asked).verdicts != short.verdicts


def test_a_threat_that_max_flips_contradicts_is_refused():
    for evidence in (False, True):
        with pytest.raises(
            InvalidParameterError,
            match=r"^'max_flips' must agree with threat 'flips:2', or be left out\. Got 3 instead\.$",
        ):
            SMOOTHED.certify(GRAPHS, **ASKED, evidence=evidence, threat="flips:2", max_flips=3)
    with pytest.raises(InvalidParameterError, match="'max_flips' must be a whole number, 1 or more"):
        SMOOTHED.certify(GRAPHS, **ASKED, evidence=True, max_flips=0)


def test_a_box_that_cuts_a_threat_is_refused_before_the_first_vote(monkeypatch):
    monkeypatch.setattr("starcert.certificates.smoothing.count_votes", None)
    with pytest.raises(
        InvalidParameterError,
        match=r"'max_radius' must hold any 2 flips, at least 2 on every axis\. Got \(2, 1\) instead\.",
    ):
        SMOOTHED.certify(GRAPHS, **ASKED, threat="flips:2", max_radius=(2, 1))


def test_a_box_that_holds_a_threat_is_looked_at():
    assert SMOOTHED.certify(GRAPHS, **ASKED, threat="flips:5", max_radius=(5, 5))[0].capacity == (3, 3)


def test_a_threat_without_evidence_is_a_question_to_the_counts():
    """It stops votes early, and the certificate is that of the counts."""
    asked = {"samples": 40 * 1024, "seed": 1, "plan": "decided"}
    one = SMOOTHED.certify(GRAPHS, **asked, threat="flips:1")
    assert one.verdicts is None
    assert one[0].any_flips >= 1
    assert one.votes.counts.sum() < SMOOTHED.certify(GRAPHS, **asked).votes.counts.sum()


@pytest.fixture(params=[STARS, ONE, FOUR], ids=["two axes", "one axis", "four axes"])
def judged(request):
    return weighed(request.param)[0]


def outcome(one, flips):
    """What is known about all attacks of at most this many flips, level by level."""
    levels = [level for n in range(flips + 1) for level in levels_of(n, one.capacity)]
    if any(level in one.broken for level in levels):
        return "broken"
    if all(one.verdict(level) == "certified" for level in levels):
        return "by p_A" if all(one.why(level) == "by p_A" for level in levels) else "by evidence"
    return "open"


@pytest.mark.parametrize("labels", [None, [1, 0, 1], [1, None, 0]])
def test_every_graph_is_certified_broken_or_open_under_any_number_of_flips(judged, labels):
    found = metrics.flip_verdicts(judged, labels, most=3)
    assert [each.flips for each in found] == [1, 2, 3]
    for each in found:
        told = [
            outcome(one, each.flips)
            for one, label in zip(judged, labels or [None] * 3, strict=True)
            if sum(one.capacity) >= each.flips and (label == one.label or labels is None)
        ]
        assert each.n_graphs == (3 if labels is None else sum(label is not None for label in labels))
        assert each.n_right == len(told)
        assert each.n_by_p_A == told.count("by p_A")
        assert each.n_certified == told.count("by p_A") + told.count("by evidence")
        assert (each.n_broken, each.n_open) == (told.count("broken"), told.count("open"))


def test_something_of_everything_is_there():
    found = [metrics.flip_verdicts(weighed(noise)[0], most=3) for noise in (STARS, ONE, FOUR)]
    rows = list(itertools.chain(*found))
    assert min(sum(getattr(row, name) for row in rows) for name in ("n_by_p_A", "n_broken", "n_open")) > 0
    assert any(row.n_certified > row.n_by_p_A for row in rows)


def test_graphs_with_fewer_sites_or_outside_the_box_are_left_out():
    noise = sc.Noise(ring=0.1, rest=0.2)
    bounds = sc.Bounds.certain([0.999] * 4)
    found = sc.certify(bounds, noise, capacity=[(0, 1), (1, 1), (4, 4), None], max_radius=(2, 9))
    rows = metrics.flip_verdicts(found, most=5)
    assert [(row.flips, row.n_graphs) for row in rows] == [(1, 3), (2, 2)]  # the third is asked about two in ring


def test_a_graph_that_abstains_is_neither_certified_nor_open():
    found = sc.certify(sc.Bounds.certain([0.9, 0.5]), sc.Noise(a=0.2), capacity=[(9,), (9,)])
    for labels in (None, [0, 0]):
        assert [(row.n_graphs, row.n_right, row.n_open) for row in metrics.flip_verdicts(found, labels, most=1)] == [
            (2, 1, 0)
        ]


def test_many_flips_have_few_rows():
    found = sc.certify(sc.Bounds.certain([0.9]), sc.Noise(a=0.3), capacity=[(3_000,)])
    assert [row.flips for row in metrics.flip_verdicts(found, most=6)] == [1, 2, 3, 4, 5, 6]
    assert [row.flips for row in metrics.flip_verdicts(found, most=70)] == [1, 2, 5, 10, 20, 50, 70]
    assert [row.flips for row in metrics.flip_verdicts(found, most=10**9)][-1] <= 3_000


# Votes of their own -------------------------------------------------------------------------------------------------


def test_votes_that_are_predicted_to_settle_open_graphs_do():
    """The prediction itself: with as many votes of their own, most of these graphs are certified or broken."""
    data = sc.datasets.motif(seed=5)
    estimator = pytest.importorskip("sklearn") and sc.models.vertex_histogram_svm()
    base = sc.classifiers.from_sklearn(estimator.fit(data.train.graphs, data.train.labels))
    smoothed = sc.SmoothedClassifier(base, sc.Noise(motif=0.1, random=0.1), data.partition)
    asked = {"samples": 5_000, "seed": 1, "evidence": True, "threat": "flips:1"}
    (few,) = metrics.flip_verdicts(smoothed.certify(data.test.graphs[:10], **asked, own_samples=640), most=1)
    assert few.n_open >= len(few.own_samples) > 0
    assert list(few.own_samples) == sorted(few.own_samples)
    assert few.own_samples[0] > 640
    enough = few.own_samples[-1] * 3 // 2  # it is right within 50%
    (more,) = metrics.flip_verdicts(smoothed.certify(data.test.graphs[:10], **asked, own_samples=enough), most=1)
    assert few.n_open - more.n_open >= 0.75 * len(few.own_samples)
    (less,) = metrics.flip_verdicts(
        smoothed.certify(data.test.graphs[:10], **asked, own_samples=few.own_samples[0] // 2), most=1
    )
    assert few.n_open - less.n_open <= 0.25 * len(few.own_samples)


def test_more_votes_are_predicted_than_there_were():
    for own in (64, 640, 2_000, 5_000):
        data = SMOOTHED.certify(GRAPHS, samples=300, seed=1, evidence=True, own_samples=own, threat="flips:3")
        for row in metrics.flip_verdicts(data, most=3):
            assert all(need > own for need in row.own_samples)
        known = [one.more_votes for one in data.verdicts[0].levels.values() if one.kind == "open"]
        assert all(votes is None or votes + data.verdicts[0].own_votes > own for votes in known)


def test_without_votes_of_their_own_nothing_is_predicted():
    found = weighed(ONE)[0]
    assert all(not row.own_samples for row in metrics.flip_verdicts(found.counted, most=2))
