"""Smoothed classifiers that fall back to a blind answer: what they take, answer, say and refuse."""

import networkx as nx
import numpy as np
import pytest
from asking import how_to
from target_worlds import WANTED, graphs, nodes

import starcert as sc
from starcert.math.confidence import anytime_bounds, clopper_pearson
from starcert.math.fallback import BlindAnswers
from starcert.math.votes import Votes

CLIQUE, RING = (sc.Graph.from_networkx(g) for g in (nx.complete_graph(6), nx.cycle_graph(6)))
BASE = sc.classifiers.from_callable(lambda graphs: graphs.degrees().sum(axis=1) > 14, n_classes=2, on="batch")
ASKED = {"samples": 2_000, "seed": 1}


def smoothed(blind, threshold=0.8, base=BASE, **given):
    return sc.SmoothedClassifier(base, sc.Noise(all=0.1), fallback=sc.Fallback(blind, threshold), **given)


class Sizes:
    """A model that sees how many nodes there are."""

    def predict(self, objects):
        return [int(each.n_nodes > 8) for each in objects]


class Edges:
    """A model that is not blind."""

    def predict(self, objects):
        return [int(each.n_edges % 2) for each in objects]


def test_another_class_needs_more_than_the_threshold():
    result = smoothed([0, 1]).certify([CLIQUE, RING], **ASKED)
    assert result.labels.tolist() == [1, 0]
    assert [one.blind_answer for one in result] == [0, 1]
    assert not result.abstained.any()
    share = result.votes.counts[0, 1] / 2_000
    (below,) = smoothed([0], np.nextafter(share, 0)).certify([CLIQUE], **ASKED)
    assert below.abstained  # votes cannot tell on which side of its share a threshold lies
    (blind,) = smoothed([0], 0.999).certify([RING], **ASKED)
    assert (blind.label, blind.answers_blind, blind.abstained) == (0, True, False)
    assert smoothed([0, 0]).predict([CLIQUE, RING], **ASKED).tolist() == [1, 0]


def test_a_larger_threshold_certifies_the_blind_answer_further_and_others_less_far():
    reaches = {}
    for blind in (0, 1):
        for threshold in (0.5, 0.8, 0.95):
            (one,) = smoothed([blind], threshold).certify([CLIQUE], **ASKED)
            reaches[blind, threshold] = one.frontier.radii[0][0]
    assert reaches[0, 0.5] >= reaches[0, 0.8] >= reaches[0, 0.95]
    assert reaches[1, 0.5] <= reaches[1, 0.8] <= reaches[1, 0.95]
    assert reaches[0, 0.5] > reaches[0, 0.95]
    assert reaches[1, 0.5] < reaches[1, 0.95]


@pytest.mark.parametrize("evidence", [False, sc.Evidence(own_samples=4_000)], ids=["counts", "evidence"])
def test_at_one_half_two_classes_are_certified_as_by_plain_smoothing(evidence):
    plain = sc.SmoothedClassifier(BASE, sc.Noise(all=0.1)).certify([CLIQUE, RING], **ASKED, evidence=evidence)
    for blind in ([0, 0], [1, 1], [0, 1]):
        leaning = smoothed(blind, 0.5).certify([CLIQUE, RING], **ASKED, evidence=evidence)
        assert leaning.labels.tolist() == plain.labels.tolist()
        assert [one.frontier for one in leaning] == [one.frontier for one in plain]
        assert [one.verdicts and one.verdicts.levels for one in leaning] == [
            one.verdicts and one.verdicts.levels for one in plain
        ]


def test_evidence_certifies_more_and_names_what_breaks():
    counts = smoothed([0, 1]).certify([CLIQUE, RING], **ASKED)
    result = smoothed([0, 1]).certify([CLIQUE, RING], **ASKED, evidence=sc.Evidence(own_samples=10_000))
    assert [one.label for one in result] == [1, 0]
    for one, by_counts in zip(result, counts, strict=True):
        assert all(one.certified(radius) for radius in by_counts.frontier.radii if radius[0] < 2)
    (broken,) = smoothed([1], 0.9).certify([RING], **ASKED, evidence=sc.Evidence(own_samples=10_000))
    assert broken.answers_blind
    assert broken.verdict((1,)) == "broken"  # without another edge, class 0 is likelier than 0.9
    votes = broken.attack((1,)).votes
    assert votes[0] > 0.9 * sum(votes)


def test_every_class_by_itself_with_more_than_two():
    """Against a blind answer, the limit is that of the strongest other class, with all of alpha."""
    votes = Votes([[10, 60, 30], [60, 30, 10]], [[10, 60, 30], [90, 5, 5]], blind=BlindAnswers(0.7, np.array([0, 1])))
    assert votes.labels.tolist() == [0, 0]
    for bounds in (clopper_pearson(votes), anytime_bounds(votes, alpha=0.01)):
        plain = Votes([[40, 60], [60, 40]], [[1, 0], [1, 0]])
        one = clopper_pearson(plain) if bounds.bound == "clopper-pearson" else anytime_bounds(plain, alpha=0.01)
        assert bounds.other.tolist() == one.failure.tolist()
        assert bounds.failure.tolist() == [1.0, one.failure[1]]
    (first, second) = sc.certify(clopper_pearson(votes), sc.Noise(all=0.1), max_radius=3)
    assert first.abstained  # 60 of 100 votes may be those of a class above 0.7
    assert first.margin(0) == pytest.approx(0.7 - first.bounds.other[0])
    assert second.abstained
    assert second.margin(0) == pytest.approx(second.p_lower - 0.7)


def test_it_says_what_it_falls_back_to():
    one, blind = smoothed([0, 0], 0.8).certify([CLIQUE, RING], **ASKED)
    assert "falls back to class 0 unless another class is likelier than 0.8, answers class 1" in str(one)
    assert "That class 0 is a blind answer, the same whatever is attacked, is taken as stated." in str(one)
    assert "answers class 0 for" in str(blind)
    assert one.margin_kind == "fallback"
    result = smoothed([0], 0.98).certify([CLIQUE], samples=60, seed=1)
    assert result.abstained.all()
    assert "it cannot be shown that" in str(result[0])
    row = smoothed([0, 0]).certify([CLIQUE, RING], **ASKED).rows()[1]
    assert (row["class"], row["blind"], row["threshold"], row["margin"]) == (0, 0, 0.8, "fallback")


def test_a_model_answers_unless_it_sees_what_is_attacked():
    large = sc.Graph.from_networkx(nx.complete_graph(9))
    result = smoothed(Sizes()).certify([CLIQUE, large], **ASKED)
    assert [one.blind_answer for one in result] == [0, 1]
    with pytest.raises(sc.InvalidParameterError, match="'blind' must give the same answer whatever is attacked"):
        smoothed(Edges()).certify([CLIQUE, large, *[RING] * 6], **ASKED)


def test_the_nodes_of_a_graph_fall_back_one_by_one():
    some = graphs()
    n_nodes = sum(each.n_nodes for each in some)
    plain = nodes()
    leaning = sc.SmoothedClassifier(plain.base, plain.noise, plain.regions, fallback=sc.Fallback([1] * n_nodes, 0.9))
    result = leaning.certify(some, **WANTED, evidence=sc.Evidence(own_samples=2_000))
    assert {one.blind_answer for one in result} == {1}
    assert set(result.labels.tolist()) == {0, 1}
    assert (result.labels[result.votes.selection[:, 0] <= 0.9 * 200] == 1).all()
    with pytest.raises(sc.InvalidParameterError, match="have one class for each of 14 nodes"):
        sc.SmoothedClassifier(plain.base, plain.noise, plain.regions, fallback=sc.Fallback([1], 0.9)).certify(
            some, **WANTED
        )


def test_stopping_early_asks_about_the_fallback():
    given = {"threat": "flips:1", "voting": sc.Voting(plan="decided")}
    for blind in (0, 1):
        one, fixed = (
            smoothed([blind]).certify([RING], samples=20_000, seed=1, **how)[0]
            for how in (given, {"threat": "flips:1"})
        )
        assert one.label == fixed.label
        assert one.certified((1,)) == fixed.certified((1,))
        assert one.bounds.votes.counts.sum() < 20_000


def test_a_store_refuses_another_fallback_after_a_look(tmp_path):
    file = tmp_path / "votes.db"
    again = smoothed([0, 1]).certify([CLIQUE, RING], **how_to(store=file, **ASKED))
    assert smoothed([0, 1]).certify([CLIQUE, RING], **how_to(store=file, **ASKED)).labels.tolist() == [1, 0]
    assert again.labels.tolist() == [1, 0]
    for other in (smoothed([0, 1], 0.7), smoothed([1, 1]), sc.SmoothedClassifier(BASE, sc.Noise(all=0.1))):
        with pytest.raises(sc.InvalidParameterError, match="'fallback' must be"):
            other.certify([CLIQUE, RING], **how_to(store=file, **ASKED))


@pytest.mark.parametrize("threshold", [0.49, 1, "high", None, float("nan")])
def test_the_threshold_is_at_least_one_half(threshold):
    with pytest.raises(sc.InvalidParameterError, match="'threshold' must be"):
        sc.Fallback([0], threshold)


def test_what_is_refused():
    with pytest.raises(sc.InvalidParameterError, match="'blind' must have a method predict"):
        sc.Fallback(3, 0.7)
    with pytest.raises(sc.InvalidParameterError, match="'fallback' must be a Fallback"):
        sc.SmoothedClassifier(BASE, sc.Noise(all=0.1), fallback=[0])
    with pytest.raises(sc.InvalidParameterError, match="one answer for each of 2 objects"):
        smoothed([0]).certify([CLIQUE, RING], **ASKED)
    with pytest.raises(sc.InvalidParameterError, match="must be a class number from 0 to 1"):
        smoothed([0, 2]).certify([CLIQUE, RING], **ASKED)
    with pytest.raises(sc.InvalidParameterError, match="'selection' is missing"):
        Votes([[1, 2]], blind=BlindAnswers(0.7, np.array([0])))


def test_scikit_learn_clones_it():
    sklearn = pytest.importorskip("sklearn.base")
    one = sklearn.clone(smoothed([0, 1], 0.75))
    assert one.fallback.threshold == 0.75
    assert one.set_params(fallback=None).fallback is None
