"""Threats: how they are written, what they ask, and what becomes of graphs under them, checked level by level."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from report_worlds import FOUR, ONE, STARS, weighed

import starcert as sc
from starcert.math.frontier import levels_of
from starcert.objects.threats import AnyFlips, Box, Threat, threat_of
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


def test_numbers_of_numpy_are_numbers():
    assert AnyFlips(np.int64(2)) == AnyFlips(2)
    assert Box(np.array([3, 45])) == Box([3.0, 45]) == threat_of("box: 3, 45")
    assert Box(np.int64(3)) == Box((3,))


@pytest.mark.parametrize("given", ["bonds:2", 0, (3, 45), "flips:2 | box:3"])
def test_what_is_no_threat_is_refused_before_the_first_vote(given, monkeypatch):
    monkeypatch.setattr("starcert.methods.smoothed.count_votes", None)
    with pytest.raises(InvalidParameterError, match="threat"):
        SMOOTHED.certify(GRAPHS, **ASKED, threat=given)


@pytest.mark.parametrize("given", [-1, 1.5, (1, None), (), {}, {"core": -1}, "12", None, 10**9 + 1, True])
def test_a_box_has_whole_numbers(given):
    with pytest.raises(InvalidParameterError, match="'radius"):
        Box(given)


@pytest.mark.parametrize(
    ("threat", "words"),
    [
        (Box((1,)), "'threat' must have 2 counts, one for each of core, rest"),
        ("box:core=1", "'threat' must have the axes core, rest.*Missing: rest"),
        ("box:core=1,rest=2,ring=3 & flips:2", "Unknown: ring"),
    ],
)
def test_a_box_of_other_axes_is_refused_before_the_first_vote(threat, words, monkeypatch):
    monkeypatch.setattr("starcert.methods.smoothed.count_votes", None)
    with pytest.raises(InvalidParameterError, match=words):
        SMOOTHED.certify(GRAPHS, **ASKED, threat=threat)


def test_both_of_two_threats_is_the_smaller_of_each_limit():
    both = AnyFlips(3) & Box({"rest": 2, "core": 5}) & Box((4, 4)) & AnyFlips(7)
    assert (both.limits(NOISE), both.flips) == ((4, 2), 3)
    assert (AnyFlips(3).limits(NOISE), AnyFlips(3).flips) == (None, 3)
    assert (Box((1, 2)).limits(NOISE), Box((1, 2)).flips) == ((1, 2), None)
    assert (AnyFlips(3) & AnyFlips(2)).limits(NOISE) is None
    with pytest.raises(TypeError):
        AnyFlips(3) & "flips:2"


def test_a_threat_of_your_own_may_have_radii():
    @dataclass(frozen=True)
    class Rest(Threat):
        most: int
        by_radius = True

        @property
        def label(self):
            return f"at most {self.most} in rest"

        def limits(self, noise):
            return tuple(self.most if axis == "rest" else 0 for axis in noise.axes)

    asked = ASKED | {"evidence": sc.Evidence(own_samples=0)}
    found = SMOOTHED.certify(GRAPHS, **asked, threat=Rest(2) & AnyFlips(1))
    assert found.max_radius == (0, 2)
    assert found.verdicts[0].grounds.max_flips == 1
    assert found.verdicts == SMOOTHED.certify(GRAPHS, **asked, threat=Box((0, 2)) & AnyFlips(1)).verdicts
    with pytest.raises(InvalidParameterError, match=r"must list its attacks\. Got 'at most 2 in rest'"):
        (Rest(2) | AnyFlips(1)).attacks(PARTITION.sites(GRAPHS[0]), 1)


def test_a_threat_without_evidence_is_a_question_to_the_counts():
    """It stops votes early, and the certificate is that of the counts."""
    asked = {"samples": 40 * 1024, "seed": 1, "voting": sc.Voting(plan="decided")}
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
    found = judged.counts(labels, threat="flips:3")
    assert [each.size for each in found] == [1, 2, 3]
    for each in found:
        told = [
            outcome(one, each.size)
            for one, label in zip(judged, labels or [None] * 3, strict=True)
            if sum(one.capacity) >= each.size and (label == one.label or labels is None)
        ]
        assert each.n_graphs == (3 if labels is None else sum(label is not None for label in labels))
        assert each.n_right == len(told)
        assert each.n_by_p_A == told.count("by p_A")
        assert each.n_certified == told.count("by p_A") + told.count("by evidence")
        assert (each.n_broken, each.n_open) == (told.count("broken"), told.count("open"))


def test_something_of_everything_is_there():
    found = [weighed(noise)[0].counts(threat="flips:3") for noise in (STARS, ONE, FOUR)]
    rows = list(itertools.chain(*found))
    assert min(sum(getattr(row, name) for row in rows) for name in ("n_by_p_A", "n_broken", "n_open")) > 0
    assert any(row.n_certified > row.n_by_p_A for row in rows)


def test_graphs_with_fewer_sites_count_and_what_lies_outside_the_box_is_not_known():
    noise = sc.Noise(ring=0.1, rest=0.2)
    bounds = sc.Bounds.certain([0.999] * 4)
    found = sc.certify(bounds, noise, capacity=[(0, 1), (1, 1), (4, 4), None], max_radius=(2, 9))
    assert [one.looked for one in found.outcomes("flips:5")] == [5, 5, 2, 0]  # the third is asked about two in ring
    rows = found.counts(threat="flips:5")
    assert [(row.size, row.n_graphs, row.n_certified) for row in rows] == [(1, 4, 3), (2, 4, 3)] + [
        (size, 4, 2) for size in (3, 4, 5)
    ]
    assert [row.n_certified for row in sc.certify(sc.Bounds.certain([0.999]), noise).counts()] == [None, None]


def test_a_graph_that_abstains_is_neither_certified_nor_open():
    found = sc.certify(sc.Bounds.certain([0.9, 0.5]), sc.Noise(a=0.2), capacity=[(9,), (9,)])
    for labels in (None, [0, 0]):
        assert [(row.n_graphs, row.n_right, row.n_open) for row in found.counts(labels, threat="flips:1")] == [
            (2, 1, 0)
        ]


def test_many_flips_have_few_rows():
    found = sc.certify(sc.Bounds.certain([0.9]), sc.Noise(a=0.3), capacity=[(3_000,)])
    assert [row.size for row in found.counts(threat="flips:6")] == [1, 2, 3, 4, 5, 6]
    assert [row.size for row in found.counts(threat="flips:70")] == [1, 2, 5, 10, 20, 50, 70]
    assert [row.size for row in found.counts(threat=sc.threats.AnyFlips(10**9))] == [1, 2, 5, 10, 20, 5 * 10**8, 10**9]


# Votes of their own -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_votes_that_are_predicted_to_settle_open_graphs_do():
    """The prediction itself: with as many votes of their own, most of these graphs are certified or broken."""
    data = sc.datasets.motif(seed=5)
    estimator = pytest.importorskip("sklearn") and sc.models.vertex_histogram_svm()
    base = sc.classifiers.from_sklearn(estimator.fit(data.train.graphs, data.train.labels))
    smoothed = sc.SmoothedClassifier(base, sc.Noise(motif=0.1, random=0.1), data.partition)
    asked = {"samples": 5_000, "seed": 1, "threat": "flips:1"}

    def verdicts(own_samples):
        found = smoothed.certify(data.test.graphs[:10], **asked, evidence=sc.Evidence(own_samples))
        return found.counts(threat="flips:1")

    (few,) = verdicts(640)
    assert few.n_open >= len(few.own_samples) > 0
    assert list(few.own_samples) == sorted(few.own_samples)
    assert few.own_samples[0] > 640
    enough = few.own_samples[-1] * 3 // 2  # it is right within 50%
    (more,) = verdicts(enough)
    assert few.n_open - more.n_open >= 0.75 * len(few.own_samples)
    (less,) = verdicts(few.own_samples[0] // 2)
    assert few.n_open - less.n_open <= 0.25 * len(few.own_samples)


def test_more_votes_are_predicted_than_there_were():
    for own in (64, 640, 2_000):
        data = SMOOTHED.certify(GRAPHS, samples=300, seed=1, evidence=sc.Evidence(own_samples=own), threat="flips:3")
        for row in data.counts(threat="flips:3"):
            assert all(need > own for need in row.own_samples)
        known = [one.more_votes for one in data.verdicts[0].levels.values() if one.kind == "open"]
        assert all(votes is None or votes + data.verdicts[0].own_votes > own for votes in known)


def test_without_votes_of_their_own_nothing_is_predicted():
    found = weighed(ONE)[0]
    assert all(not row.own_samples for row in found.by_p_A.counts(threat="flips:2"))
