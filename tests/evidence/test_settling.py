"""Levels that votes on the clean object leave open: how votes at attacked ones settle them."""

from fractions import Fraction

import numpy as np
import pytest

from evidence_worlds import Votes, symmetric
from starcert.core.evidence import AttackAxis, Evidence
from starcert.core.frontier import Frontier
from starcert.evidence import judge
from starcert.evidence.own_votes import OwnTally
from starcert.sampling.attacked import OWN_CHUNK


class Own:
    """Votes at attacked objects that fail so often, independently of which sites flipped."""

    n_classes = 2

    def __init__(self, most, failure, n_axes):
        self.most = self.left = most
        self.failure, self.n_axes = failure, n_axes

    def count(self, attacks, chunk):
        self.left -= OWN_CHUNK * len(attacks)
        return [self._tally(attack, chunk) for attack in attacks]

    def _tally(self, attack, chunk):
        lost = np.random.default_rng([*attack, 1_000 + chunk]).binomial(OWN_CHUNK, self.failure)
        return OwnTally(np.array([OWN_CHUNK - lost, lost]), np.zeros((lost, self.n_axes), dtype=np.int64))


def judged(own, sizes, ps, **options):
    """The verdicts where all votes on the clean object are for the class."""
    ends = np.cumsum([0, *sizes])
    axes = [AttackAxis(symmetric(p), np.arange(*ends[i : i + 2])) for i, p in enumerate(ps)]
    flips = Votes(np.full(16, 1024), np.zeros(16, dtype=np.int64), np.zeros((0, sum(sizes)), dtype=np.bool_))
    evidence = Evidence(flips, axes, alpha=Fraction(1, 200), failure=0.01, **options.pop("evidence", {}))
    zero = (0,) * len(sizes)
    units = tuple(tuple(int(i == axis) for i in range(len(sizes))) for axis in range(len(sizes)))
    frontier = Frontier((zero,), units, verified=True)
    return judge(evidence, frontier, own=own, label=0, alpha=0.01, alpha_broken=Fraction(1, 400), **options)


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
    """20 attacks have a chunk each at (1, 0), and none is left for as many more at (1, 1) to (1, 4)."""
    own = Own(20 * OWN_CHUNK + 100, 0.0, 2)
    found = judged(own, (20, 4), (0, Fraction(9, 20)), evidence={"box": (1, 4)})
    assert {level: one.kind for level, one in found.levels.items() if level[0]} == {
        (1, k): "certified" for k in range(5)
    }
    assert found.own_votes == 20 * OWN_CHUNK


@pytest.mark.parametrize("most", [1, 2, None])
def test_levels_of_more_flips_are_not_looked_at(most):
    found = judged(None, (3, 3), (Fraction(2, 5), Fraction(2, 5)), max_flips=most)
    assert max(map(sum, found.levels)) == (6 if most is None else most)
    assert {one.kind for one in found.levels.values()} == {"certified"}
