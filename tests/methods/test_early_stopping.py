"""Stopping early: fewer votes, the same verdicts, and bounds that may be looked at."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from asking import how_to
from decided_plan_worlds import SLACK, drawn, plan_for_one_flip

import starcert as sc
from starcert.math.confidence import anytime_bounds
from starcert.math.evidence import FlipEvidence
from starcert.math.limits import AlphaShares, anytime_limit
from starcert.methods.early_stopping import MAX_LEVELS, DecidedPlan, radius_questions
from starcert.voting.counting import tallies
from starcert.voting.plans import Chunk, Job, SoFar, Wanted

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
    early = SMOOTHED.certify(GRAPHS, **how_to(**ASKED, **own, plan="decided"))
    fixed = SMOOTHED.certify(GRAPHS, **how_to(**ASKED, **own))
    votes = early.votes.counts.sum(axis=1)
    assert votes[0] <= 4096  # far from the border
    assert early.votes.history == "stopped"
    assert (votes <= ASKED["samples"]).all()
    assert (early.certified(2) <= fixed.certified(2)).all()
    assert early[0].certified(2)
    assert early.bounds.agrees_with(anytime_bounds(early.votes, alpha=0.01 / 4 if evidence else 0.01))


def test_evidence_may_say_yes_where_p_a_alone_says_no():
    asked = {"samples": 40 * 1024, "seed": 1, "max_radius": 1, "plan": "decided"}
    plain = SMOOTHED.certify(GRAPHS[1:], **how_to(**asked))
    evidence = SMOOTHED.certify(GRAPHS[1:], **how_to(**asked, evidence=sc.Evidence(own_samples=0)))
    assert not plain.certified(1).any()
    assert evidence.certified(1).all()
    assert plain.votes.counts.sum() <= 1024
    assert evidence.votes.counts.sum() <= 20 * 1024


def test_each_chunk_has_its_own_stream():
    """Votes are a function of seed, graph and chunk numbers: the first copies of each chunk, as any plan has them."""
    votes = SMOOTHED.certify(GRAPHS[1:], **how_to(**ASKED, plan="decided", evidence=sc.Evidence(own_samples=0))).votes
    job = Job(SMOOTHED.classifier, SMOOTHED.problem(GRAPHS[1:]), seed=1)
    sizes = [64, 64, 128, 256, 512] + [1024] * 39
    chunks = [Chunk(0, "estimation", number, size) for number, size in enumerate(sizes)]
    totals = np.cumsum(sizes).tolist()
    n_chunks = totals.index(votes.counts.sum()) + 1
    assert n_chunks > 5
    np.testing.assert_array_equal(votes.counts, sum(tally.counts for tally in tallies(job, chunks[:n_chunks])))


def test_stopping_depends_neither_on_workers_nor_on_interruptions(tmp_path):
    asked = {**ASKED, "evidence": True, "own_samples": 0, "plan": "decided"}
    expected = SMOOTHED.certify(GRAPHS, **how_to(**asked))
    SMOOTHED.vote(
        GRAPHS, samples=3 * 1024, voting=sc.Voting(selection_samples=409, store=tmp_path / "votes.db"), seed=1
    )
    with ThreadPoolExecutor(3) as executor:
        again = SMOOTHED.certify(GRAPHS, **how_to(**asked, store=tmp_path / "votes.db", executor=executor))
    np.testing.assert_array_equal(expected.votes.counts, again.votes.counts)
    assert [one.verdicts for one in again] == [one.verdicts for one in expected]


def test_what_will_abstain_is_not_voted_on_for_long():
    """The class that few selection votes chose is not the likeliest one."""
    problem = SMOOTHED.problem(GRAPHS[1:])
    plan = DecidedPlan(Wanted(100, 10**6), problem, AlphaShares.of(Fraction(1, 100), evidence=False))
    so_far = SoFar(np.array([[51, 49]]), np.array([[2000, 6192]]), 1024)
    assert plan.wanted(so_far) == so_far.wanted
    close = SoFar(np.array([[51, 49]]), np.array([[4000, 4192]]), 1024)
    assert plan.wanted(close).estimation == 8192 + 1024


def test_without_a_question_all_votes_are_drawn():
    votes = SMOOTHED.certify(GRAPHS, samples=3000, seed=1, voting=sc.Voting(plan="decided")).votes
    assert votes.counts.sum(axis=1).tolist() == [3000, 3000]


@pytest.mark.parametrize("chunk_size", [50, 64, 1000, 1024])
def test_what_cannot_be_certified_takes_one_chunk(chunk_size):
    asked = {"samples": 10_000, "seed": 1, "plan": "decided", "chunk_size": chunk_size}
    votes = SMOOTHED.certify(GRAPHS[:1], **how_to(**asked, threat=sc.threats.Box(28))).votes
    assert votes.counts.sum() == min(64, chunk_size)
    assert votes.history == "stopped"


def test_small_questions_take_few_selection_votes():
    def selection(threat=None, samples=100_000, given=None, evidence=False):
        shares, problem = AlphaShares.of(Fraction(1, 100), evidence=evidence), SMOOTHED.problem(GRAPHS)
        questions = radius_questions(threat, problem)
        return DecidedPlan.of(samples, given, problem, shares, questions).most.selection

    assert selection(threat=sc.threats.Box((1,))) == 64  # p_A > 0.94
    assert selection(threat=sc.threats.Box((0,))) == selection() == 1000  # p_A > 1/2
    assert selection(threat=sc.threats.Box((1,)), evidence=True) == 1000  # with evidence as well
    assert selection(threat=sc.threats.Box((0,)), samples=2000) == 100
    assert selection(threat=sc.threats.Box((1,)), given=300) == 300
    votes = SMOOTHED.certify(
        GRAPHS, samples=100_000, seed=1, threat=sc.threats.Box(1), voting=sc.Voting(plan="decided")
    ).votes
    assert votes.selection.sum(axis=1).tolist() == [64, 64]


# Of 2,016 pairs there are 2,016 single attacks, and too many larger ones to list: those are pooled, one attack each.
LARGE, GRAPH = sc.SmoothedClassifier(ByEdges(208), NOISE), sc.Graph(64, [])


@pytest.mark.parametrize(
    ("world", "asked", "first"),
    [
        ((SMOOTHED, GRAPHS[1]), {"samples": 40 * 1024, "threat": "flips:2"}, (2,)),
        ((SMOOTHED, GRAPHS[1]), {"samples": 40 * 1024, "max_radius": 2}, (2,)),
        ((SMOOTHED, GRAPHS[1]), {"samples": 400, "threat": "flips:2"}, None),  # 406 attacks cost more than 300 votes
        ((LARGE, GRAPH), {"samples": 16 * 1024, "max_radius": MAX_LEVELS}, (MAX_LEVELS,)),
        ((LARGE, GRAPH), {"samples": 16 * 1024, "max_radius": MAX_LEVELS + 1}, None),
    ],
)
def test_the_cost_of_looks_at_evidence_is_bounded(world, asked, first, monkeypatch):
    """Evidence is weighed once at most, at a quarter of the votes; the first level that is not proved ends the look."""
    looked = []

    def proves(evidence, level):
        looked.append(level)
        assert 4 * evidence.n_votes >= asked["samples"] > 2 * evidence.n_votes
        return False

    monkeypatch.setattr(FlipEvidence, "proves", proves)
    smoothed, graph = world
    votes = smoothed.certify(
        [graph], **how_to(**asked, seed=1, evidence=sc.Evidence(own_samples=0), plan="decided")
    ).votes
    assert votes.counts.sum() == asked["samples"]
    assert looked == ([] if first is None else [first])


def test_with_evidence_a_yes_by_counts_needs_their_quarter_of_alpha():
    """The certificate bounds p_A with a quarter of alpha: a plan that stopped by all of it would stop too early."""
    rng, plan = np.random.default_rng(0), plan_for_one_flip(evidence=True)
    for _ in range(50):
        _, votes = drawn(plan, 0.95, rng)
        assert anytime_limit(int(votes[1]), int(votes.sum()), Fraction(1, 400)) < SLACK


def test_any_flips_are_a_question_of_their_own():
    asked = {"samples": 40 * 1024, "seed": 1, "evidence": True, "own_samples": 0, "plan": "decided"}
    one = SMOOTHED.certify(GRAPHS[:1], **how_to(**asked, threat="flips:1"))
    two = SMOOTHED.certify(GRAPHS[:1], **how_to(**asked, threat="flips:3"))
    assert one[0].any_flips >= 1
    assert one.votes.counts.sum() <= two.votes.counts.sum()


def test_plans_that_are_none_are_refused():
    with pytest.raises(sc.InvalidParameterError, match="plan"):
        SMOOTHED.certify(GRAPHS, **ASKED, voting=sc.Voting(plan="lucky"))


def test_bounds_for_any_time_need_votes_that_chose_the_class():
    with pytest.raises(sc.InvalidParameterError, match="selection"):
        anytime_bounds(sc.Votes([[9, 1]]), alpha=0.01)


RS_CONF_SEQ = {0.55: 16, 0.8: 335, 0.865: 18_350, 0.885: 14_408, 0.9: 2_898, 0.95: 192, 0.999: 52}
"""Its mean votes for "p_A > 0.875?" at alpha 0.01, by p_A. A word of our sampler has 64 copies: no look is earlier."""


@pytest.mark.parametrize(("p", "reference"), RS_CONF_SEQ.items())
def test_a_question_takes_few_votes_whether_the_answer_is_yes_or_no(p, reference):
    rng, plan = np.random.default_rng(0), plan_for_one_flip()
    found = np.array([drawn(plan, p, rng) for _ in range(300)])
    selection, estimation = found.sum(axis=2).mean(axis=0)
    assert selection == 64
    assert estimation <= max(1.5 * reference, 65)
    yes = [anytime_limit(int(lost), int(mine + lost), Fraction(1, 100)) < SLACK for mine, lost in found[:, 1]]
    assert np.mean(yes) >= 0.99 if p > 0.88 else not any(yes)


@pytest.mark.parametrize("evidence", [False, True])
@pytest.mark.parametrize("threat", ["deletions:2", "additions:1", "flips:3 & controlled:3,nodes=0"])
def test_a_listed_threat_is_decided_with_fewer_votes_and_the_same_verdict(threat, evidence):
    asked = {"samples": 40 * 1024, "seed": 1, "threat": threat} | ({"evidence": True} if evidence else {})
    early, fixed = (SMOOTHED.certify(GRAPHS, **how_to(**asked, plan=plan)) for plan in ("decided", "fixed"))
    votes = early.votes.counts.sum(axis=1)
    assert 3 * votes[0] <= asked["samples"]
    assert [one.verdict(threat) for one in early] == [one.verdict(threat) for one in fixed]
    assert early[0].verdict(threat) == "certified"


def test_a_list_asks_less_than_the_flips_that_hold_it():
    """One deletion at the centre of a star is far from ten edges, any two flips are not; evidence settles the first."""
    asked = {"samples": 40 * 1024, "seed": 1, "evidence": True, "own_samples": 0, "plan": "decided"}
    listed = SMOOTHED.certify(GRAPHS[1:], **how_to(**asked, threat="deletions:2"))
    flips = SMOOTHED.certify(GRAPHS[1:], **how_to(**asked, threat="flips:2"))
    assert 2 * listed.votes.counts.sum() < flips.votes.counts.sum()
    assert listed[0].verdict("deletions:2") == "certified"
    assert "by weighing" in listed[0].why("deletions:2")


def test_a_threat_without_attacks_asks_about_the_clean_answer_alone():
    votes = SMOOTHED.certify(GRAPHS[:1], **how_to(samples=40 * 1024, seed=1, threat="rewire:2", plan="decided")).votes
    assert votes.counts.sum() == 64


def test_a_hopeless_list_is_given_up():
    """Without evidence every level of the list must be certified by p_A: seven edges, ten are the border."""
    early = SMOOTHED.certify(
        GRAPHS[1:], **how_to(samples=40 * 1024, seed=1, threat="flips:4 & controlled:4,nodes=0", plan="decided")
    )
    assert early[0].verdict("flips:4 & controlled:4,nodes=0") == "open"
    assert early.votes.counts.sum() < 4096


@pytest.mark.parametrize(("samples", "looks"), [(40 * 1024, 1), (64 * 7, 0)])
def test_a_list_is_weighed_once_and_only_if_that_is_cheap(samples, looks, monkeypatch):
    looked, plain = [], FlipEvidence.weighed_list

    def weighed(evidence, parts):
        looked.append(evidence.n_votes)
        return plain(evidence, parts)._replace(needed=2**60)  # nothing is proved

    monkeypatch.setattr(FlipEvidence, "weighed_list", weighed)
    asked = {"samples": samples, "seed": 1, "threat": "flips:2 & controlled:2,nodes=0|1|2|3|4|5"}
    votes = SMOOTHED.certify(GRAPHS[1:], **how_to(**asked, evidence=sc.Evidence(own_samples=0), plan="decided")).votes
    assert votes.counts.sum() == samples
    assert sum(votes < samples for votes in looked) == looks


@pytest.mark.parametrize("threat", ["flips:1", "deletions:1", "flips:2"])
def test_evidence_gives_up_where_an_attack_on_one_site_clearly_changes_the_answer(threat):
    graph = sc.Graph(10, [(0, 1), (2, 3), (4, 5), (5, 6)])
    first_pair = sc.classifiers.from_callable(
        lambda batch: batch.adjacency()[:, 0, 1].astype(int), on="batch", n_classes=2
    )
    smoothed = sc.SmoothedClassifier(first_pair, sc.Noise(all=sc.Flip(delete=0.1, add=0.05)))
    how = {"samples": 20_000, "seed": 1, "evidence": True, "voting": sc.Voting(plan="decided")}
    found = smoothed.certify([graph], threat=threat, **how)
    assert found.bounds.votes.counts.sum() <= 1_024
    assert found[0].verdict(threat) == "broken"
    certified = smoothed.certify([graph], threat="additions:1", **how)
    assert certified[0].verdict("additions:1") == "certified"


def test_an_answer_that_stands_against_each_other_class_is_not_given_up():
    """Attacked at the pair 0–1, class 0 has less than half of the votes, and no other class more than 0.3."""
    graph = sc.Graph(6, [])
    salt = np.random.default_rng(1).integers(1, 1_000, (6, 6))

    def answers(batch):
        adjacency = batch.adjacency()
        mixed = (adjacency * salt).sum(axis=(1, 2)) % 100
        lost = mixed < np.where(adjacency[:, 0, 1], 60, 35)
        return lost * (1 + mixed % 2)

    classifier = sc.classifiers.from_callable(answers, on="batch", n_classes=3)
    smoothed = sc.SmoothedClassifier(classifier, sc.Noise(all=0.3))
    asked = {"samples": 4_000, "seed": 1, "threat": "flips:1", "evidence": sc.Evidence(own_samples=0)}
    (one,) = smoothed.certify([graph], **how_to(**asked, plan="decided"))
    assert one.verdict("flips:1") == "certified"
