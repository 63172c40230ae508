"""Levels that votes on the clean object leave open: how votes at attacked ones settle them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from evidence_worlds import Votes, symmetric

from starcert.math.attacked_sites import AttackAxis
from starcert.math.bets import FRACTIONS, RESERVE, SCALE, count_capital
from starcert.math.evidence import FlipEvidence
from starcert.math.frontier import Frontier
from starcert.methods.evidence import find_verdicts
from starcert.methods.own_votes import AttackVotes, OwnTally
from starcert.sampling.attacked import own_chunk


class Own(AttackVotes):
    """Votes at attacked objects that fail so often, independently of which sites flipped."""

    def __init__(self, most, failure, n_axes):
        super().__init__(most, n_classes=2)
        self.failure, self.n_axes = failure, n_axes

    def count(self, attacks, chunk):
        return [self._tally(attack, chunk) for attack in attacks]

    def _tally(self, attack, chunk):
        size = len(own_chunk(chunk))
        lost = np.random.default_rng([*attack, 1_000 + chunk]).binomial(size, self.failure)
        return OwnTally(np.array([size - lost, lost]), np.zeros((lost, self.n_axes), dtype=np.int64))


def judged(own, sizes, ps, **options):
    """The verdicts where all votes on the clean object are for the class."""
    ends = np.cumsum([0, *sizes])
    axes = [AttackAxis(symmetric(p), np.arange(*ends[i : i + 2])) for i, p in enumerate(ps)]
    flips = Votes(np.full(16, 1024), np.zeros(16, dtype=np.int64), np.zeros((0, sum(sizes)), dtype=np.bool_))
    evidence = FlipEvidence(flips, axes, alpha=Fraction(1, 200), failure=0.01, **options.pop("evidence", {}))
    zero = (0,) * len(sizes)
    units = tuple(tuple(int(i == axis) for i in range(len(sizes))) for axis in range(len(sizes)))
    frontier = Frontier((zero,), units, verified=True)
    return find_verdicts(evidence, frontier, own=own, label=0, alpha=0.01, broken=Fraction(1, 400), **options)


def test_many_attacks_near_the_edge_are_settled_while_there_are_votes():
    """Some of 300 bets are behind for long, though not one attack breaks anything."""
    own = Own(2_000_000, 0.45, 1)
    found = judged(own, (300,), (0,), evidence={"box": (1,)})
    assert found.levels[1,].kind == "certified"
    assert found.own_votes == 2_000_000 - own.left < 1_500_000


def test_few_votes_leave_them_open():
    found = judged(Own(100_000, 0.45, 1), (300,), (0,), evidence={"box": (1,)})
    assert found.levels[1,].kind == "open"
    assert "votes" in found.levels[1,].why
    assert found.own_votes <= 100_000


def test_attacks_that_look_harmful_are_given_up():
    own = Own(20_000_000, 0.52, 1)
    found = judged(own, (300,), (0,), evidence={"box": (1,)})
    assert found.levels[1,].kind in {"open", "broken"}
    assert found.own_votes < 10_000_000


def test_levels_that_list_the_same_attacks_share_their_votes():
    """20 attacks have 24 votes each at (1, 0), and none is left for as many more at (1, 1) to (1, 4)."""
    own = Own(20 * 24 + 100, 0.0, 2)
    found = judged(own, (20, 4), (0, Fraction(9, 20)), evidence={"box": (1, 4)})
    assert {level: one.kind for level, one in found.levels.items() if level[0]} == {
        (1, k): "certified" for k in range(5)
    }
    assert found.own_votes == 20 * 24


@pytest.mark.parametrize("most", [1, 2, None])
def test_levels_of_more_flips_are_not_looked_at(most):
    found = judged(None, (3, 3), (Fraction(2, 5), Fraction(2, 5)), max_flips=most)
    assert max(map(sum, found.levels)) == (6 if most is None else most)
    assert {one.kind for one in found.levels.values()} == {"certified"}


class FirstChunk(Own):
    """Votes at attacked objects of which so many of the first 64 are against the class, and all later ones."""

    def _tally(self, attack, chunk):
        lost = 64 if chunk else self.failure
        return OwnTally(np.array([64 - lost, lost]), np.zeros((lost, self.n_axes), dtype=np.int64))


def won(p, votes, against):
    """The capital of two attacks on one site each, by votes of which these are against the class and flip both."""
    if not p:
        return 1.0
    ratio = (1 - p) / p
    return float(
        np.mean(
            [(1 + g * 0.5) ** (votes - against) * (1 + g * (0.5 - ratio)) ** against for g in FRACTIONS / (ratio - 0.5)]
        )
    )


@pytest.mark.parametrize(("p", "against"), [(0, 0), (0.1, 0), (0.1, 3), (0.1, 40), (0.3, 20)])
def test_an_attack_is_settled_when_its_one_capital_is_large_enough(p, against):
    """By the shared votes, or these and a chunk of its own; what was won before is never counted in another way."""
    delta, kinds, two_capitals = Fraction(7, 8 * 10**6), [], []
    for votes in range(60, 300, 10):
        flips = Votes(np.array([votes]), np.array([against]), np.ones((against, 2), dtype=np.bool_))
        axes = [AttackAxis(symmetric(p), np.arange(2))]
        evidence = FlipEvidence(flips, axes, alpha=delta * 8 / 7, failure=0.01, box=(1,))
        shared = won(p, votes, against)
        kept = (1 - RESERVE) * shared + RESERVE
        for lost in (None, *range(16)):
            own = None if lost is None else FirstChunk(10_000, lost, 1)
            frontier = Frontier(((0,),), ((1,),), verified=True)
            found = find_verdicts(evidence, frontier, own=own, label=0, alpha=0.01, broken=Fraction(1, 400))
            kind = found.levels[1,].kind
            gain = 1 if lost is None else math.exp(count_capital(lost, 64) / SCALE)
            assert kind == ("certified" if kept * gain * delta >= 1 else "open"), (votes, lost)
            kinds.append(kind)
            other = shared if lost is None else (1 + shared) / 2 * gain
            two_capitals.append("certified" if other * delta >= 1 else "open")
    assert set(kinds) == {"certified", "open"}
    assert not p or kinds != two_capitals


@pytest.mark.parametrize(("p", "complete", "capital"), [(0, True, 1), (0, False, 1), (0.1, False, RESERVE)])
def test_without_a_bet_on_shared_votes_nothing_was_lost_and_without_their_flips_all_may_have_been(p, complete, capital):
    flips = Votes(np.array([64]), np.array([2]), np.ones((2, 2), dtype=np.bool_), complete=complete)
    evidence = FlipEvidence(flips, [AttackAxis(symmetric(p), np.arange(2))], alpha=Fraction(1, 100), failure=0.01)
    weighed = evidence.weighed((1,), evidence.schemes((1,))[1])
    assert weighed.weights.capital / SCALE == pytest.approx([math.log(capital)] * 2, abs=1e-9)
