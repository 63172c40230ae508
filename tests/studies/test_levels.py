"""Votes at a noise level, and what they would be with more of them or with other luck."""

from itertools import pairwise

import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc
from starcert.objects.binding import bind_all
from starcert_studies.levels import (
    ALPHA,
    Level,
    answers,
    as_if,
    draw_of_data,
    level_part,
    name_of,
    read_votes,
    vote,
)

NOISE = sc.Noise(motif=0.3, random=0.45)


@pytest.fixture(scope="module")
def data():
    return worlds.small_data(0)


@pytest.fixture(scope="module")
def base():
    return sc.classifiers.from_callable(worlds.more_than_half, n_classes=2, on="batch", description="more than half")


@pytest.mark.parametrize("counts", [[[99, 1]], [[50, 50], [33, 67]], [[1, 1]], [[7, 0, 3], [1, 8, 1]]])
@pytest.mark.parametrize("samples", [3, 55, 1000, 100_000])
def test_as_if_keeps_the_shares_and_has_exactly_so_many_votes(counts, samples):
    votes = sc.Votes(counts, selection=counts)
    found = as_if(votes, samples)
    assert (found.counts.sum(axis=1) == samples).all()
    before = votes.counts / votes.counts.sum(axis=1, keepdims=True)
    assert np.abs(found.counts / samples - before).max() <= 1 / samples
    assert found.selection.tolist() == counts


def test_as_if_with_a_multiple_of_the_votes_is_exact():
    assert as_if(sc.Votes([[97, 3], [0, 100]]), 100_000).counts.tolist() == [[97_000, 3_000], [0, 100_000]]


def test_votes_are_those_of_the_smoothed_classifier(data, base):
    smoothed = sc.SmoothedClassifier(base, NOISE, data.partition)
    problem = smoothed.problem(data.test.graphs)
    found = vote(smoothed, problem, 200, 7)
    expected = smoothed.vote(data.test.graphs, samples=200, seed=7)
    votes = read_votes(found)
    assert votes.counts.tolist() == expected.counts.tolist() == found["estimation"]
    assert votes.selection.tolist() == expected.selection.tolist() == found["selection"]
    assert (votes.counts.sum(axis=1) == 200).all()
    assert found != vote(smoothed, problem, 200, 8)


def test_a_level_is_the_smoothed_classifiers_certificates(data, base):
    smoothed = sc.SmoothedClassifier(base, NOISE, data.partition)
    problem = smoothed.problem(data.test.graphs)
    level = Level.of(problem, read_votes(vote(smoothed, problem, 500, 7)))
    expected = smoothed.certify(data.test.graphs, samples=500, alpha=ALPHA, seed=7)
    assert [one.frontier.radii for one in level.certificates] == [one.frontier.radii for one in expected]
    assert level.certificates.capacity == [(45, 45)] * 6
    assert level.smallest_p_lower == min(one.p_lower for one in expected)
    assert not any(level.certificates.anchored)


def test_anchored_regions_stay_anchored():
    graph = sc.Graph(4, [(0, 1), (1, 2)])
    regions = sc.Partition.from_present_edges(graph, present="bonds", absent="gaps")
    problem = bind_all([graph], sc.Noise(bonds=0.1, gaps=0.2), regions)
    level = Level.of(problem, sc.Votes([[99, 1]], selection=[[9, 1]]))
    assert level.certificates.anchored[0]
    assert level.certificates.capacity == [(2, 4)]


def test_shifted_by_nothing_is_the_same_and_otherwise_monotone(data):
    rng = np.random.default_rng(2)
    wins = rng.integers(520, 1001, size=6)
    classes = np.array([0, 1, 0, 1, 0, 1])
    counts = np.where(classes[:, None] == np.arange(2), wins[:, None], 1000 - wins[:, None])
    votes = sc.Votes(counts, selection=counts)
    level = Level.of(bind_all(data.test.graphs, NOISE, data.partition), votes)
    assert level.shifted(0).bounds.failure.tolist() == level.certificates.bounds.failure.tolist()
    bounds = [level.shifted(errors).bounds for errors in (-30, -3, -1, 0, 1, 3, 30)]
    for below, above in pairwise(bounds):
        assert (below.labels == classes).all()
        assert (below.p_lower <= above.p_lower).all()
        assert (below.p_lower < above.p_lower).any() or above is bounds[-1]
    # Three standard errors of a binomial count, by hand.
    share = wins / 1000
    moved = np.clip(np.rint(wins - 3 * np.sqrt(1000 * share * (1 - share))), 0, 1000)
    expected = sc.clopper_pearson(sc.Votes(np.stack([moved, 1000 - moved], 1), selection=[[1, 0]] * 6), alpha=ALPHA)
    assert level.shifted(-3).bounds.failure.tolist() == expected.failure.tolist()
    assert level.shifted(3).capacity == level.certificates.capacity


def test_answers_are_the_models_own(data):
    pytest.importorskip("grakel")
    model = sc.models.vertex_histogram_svm().fit(data.train.graphs, data.train.labels)
    base = sc.classifiers.from_sklearn(model)
    noisy = [sc.Graph(20, graph.edges[::2]) for graph in data.validation.graphs]  # so that not all are right
    for graphs in (data.test.graphs, noisy):
        assert answers(base, graphs) == model.predict(list(graphs)).tolist()
    assert len(set(answers(base, data.test.graphs))) == 2


def test_parts_are_named_by_what_they_depend_on(data, base):
    smoothed = sc.SmoothedClassifier(base, NOISE, data.partition)
    problem = smoothed.problem(data.test.graphs)
    part = level_part(smoothed, problem, 50, 1)
    assert (part.name, part.weight) == ("level-motif-0.3-random-0.45-50", 300)
    assert part.function(*part.arguments) == vote(smoothed, problem, 50, 1)
    assert name_of(sc.Noise(all=0.02)) == "all-0.02"


def test_the_data_of_the_studies_have_the_papers_sizes():
    data = draw_of_data(3)
    assert [len(split) for split in (data.train, data.validation, data.test)] == [1000, 1000, 100]
    assert data.test.graphs[0].key == sc.datasets.motif(seed=3).test.graphs[0].key != draw_of_data(4).test.graphs[0].key
