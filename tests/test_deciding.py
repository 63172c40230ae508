"""Stopping early: fewer votes, the same verdicts, and bounds that may be looked at."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import starcert as sc
from starcert.core.confidence import anytime_bounds
from starcert.deciding import DecidedPlan
from starcert.plans import SoFar, Wanted

NOISE = sc.Noise(all=0.1)


class ByEdges(sc.classifiers.Classifier):
    """Graphs with more than so many edges."""

    n_classes = 2

    def __init__(self, most):
        self.most = most

    @property
    def description(self):
        return f"more than {self.most} edges"

    def classify(self, graphs):
        return graphs.degrees().sum(axis=1) > 2 * self.most


SMOOTHED = sc.SmoothedClassifier(ByEdges(10), NOISE)
GRAPHS = [sc.Graph(8, []), sc.Graph(8, [(0, i) for i in range(1, 8)])]
ASKED = {"samples": 40 * 1024, "seed": 1, "max_radius": 2}


@pytest.mark.parametrize("evidence", [False, True])
def test_a_graph_has_no_more_votes_than_it_takes(evidence):
    own = {"evidence": True, "own_samples": 0} if evidence else {}
    early = SMOOTHED.certify(GRAPHS, **ASKED, **own, plan="decided")
    fixed = SMOOTHED.certify(GRAPHS, **ASKED, **own)
    votes = early.votes.counts.sum(axis=1)
    assert votes[0] <= 4096  # far from the border
    assert early.votes.stopped
    assert (votes <= ASKED["samples"]).all()
    assert (early.certified(2) <= fixed.certified(2)).all()
    assert early[0].certified(2)
    assert early.bounds.agrees_with(anytime_bounds(early.votes, alpha=0.01 / 4 if evidence else 0.01))


def test_evidence_decides_sooner():
    plain = SMOOTHED.certify(GRAPHS[1:], samples=40 * 1024, seed=1, max_radius=1, plan="decided")
    evidence = SMOOTHED.certify(
        GRAPHS[1:], samples=40 * 1024, seed=1, max_radius=1, plan="decided", evidence=True, own_samples=0
    )
    assert evidence.certified(1).all()
    assert evidence.votes.counts.sum() <= plain.votes.counts.sum()


def test_the_votes_are_the_first_of_those_that_are_always_drawn():
    early = SMOOTHED.certify(GRAPHS[:1], **ASKED, plan="decided", selection_samples=409).votes
    fixed = SMOOTHED.vote(GRAPHS[:1], samples=int(early.counts.sum()), selection_samples=409, seed=1)
    np.testing.assert_array_equal(early.counts, fixed.counts)


def test_stopping_depends_neither_on_workers_nor_on_interruptions(tmp_path):
    asked = {**ASKED, "evidence": True, "own_samples": 0, "plan": "decided"}
    expected = SMOOTHED.certify(GRAPHS, **asked)
    SMOOTHED.vote(GRAPHS, samples=3 * 1024, selection_samples=409, seed=1, store=tmp_path / "votes.db")
    with ThreadPoolExecutor(3) as executor:
        again = SMOOTHED.certify(GRAPHS, **asked, store=tmp_path / "votes.db", executor=executor)
    np.testing.assert_array_equal(expected.votes.counts, again.votes.counts)
    assert [one.verdicts for one in again] == [one.verdicts for one in expected]


def test_what_will_abstain_is_not_voted_on_for_long():
    """The class that few selection votes chose is not the likeliest one."""
    problem = SMOOTHED.problem(GRAPHS[1:])
    plan = DecidedPlan(Wanted(100, 10**6), problem, 0.01, 1, (1,), evidence=False)
    so_far = SoFar(np.array([[51, 49]]), np.array([[2000, 6192]]), 1024)
    assert plan.wanted(so_far) == so_far.wanted
    close = SoFar(np.array([[51, 49]]), np.array([[4000, 4192]]), 1024)
    assert plan.wanted(close).estimation == 8192 + 4 * 1024


def test_any_flips_are_a_question_of_their_own():
    asked = {"samples": 40 * 1024, "seed": 1, "evidence": True, "own_samples": 0, "plan": "decided"}
    one = SMOOTHED.certify(GRAPHS[:1], **asked, max_flips=1)
    two = SMOOTHED.certify(GRAPHS[:1], **asked, max_flips=3)
    assert one[0].any_flips >= 1
    assert one.votes.counts.sum() <= two.votes.counts.sum()


def test_plans_that_are_none_are_refused():
    with pytest.raises(sc.errors.InvalidParameterError, match="plan"):
        SMOOTHED.certify(GRAPHS, **ASKED, plan="lucky")


def test_bounds_for_any_time_need_votes_that_chose_the_class():
    with pytest.raises(sc.errors.InvalidParameterError, match="selection"):
        anytime_bounds(sc.Votes([[9, 1]]), alpha=0.01)
