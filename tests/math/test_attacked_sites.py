"""Attacks on sites: listed in order, no site twice; and described by their sites and values, there and back."""

from fractions import Fraction
from itertools import product
from math import inf, prod

import numpy as np
import pytest

from starcert import Categorical
from starcert.math.attacked_sites import (
    AttackAxis,
    ListedAxis,
    SiteLaw,
    attacks_of,
    describe_attack,
    n_attacks,
    number_attack,
    ratio_of,
    shares_of,
)
from starcert.objects.laws import axis_moves


def test_attacks_come_in_the_order_of_combinations():
    assert list(attacks_of([ListedAxis(3, 2), ListedAxis(2, 1)])) == list(
        product([(0, 1), (0, 2), (1, 2)], [(0,), (1,)])
    )


def test_no_attack_takes_a_site_twice():
    axes = [ListedAxis(3, 1, pool=4), ListedAxis(3, 2, moves=2, pool=4)]
    assert n_attacks(axes) == 3 * 1 * 4
    for first, second in attacks_of(axes):
        assert len({*first, *(choice // 2 for choice in second)}) == 3
    assert n_attacks([ListedAxis(3, 2, pool=4), ListedAxis(3, 2, moves=2, pool=4)]) == 0


@pytest.mark.parametrize("n_attacked", [0, 1, 2])
def test_attacks_are_described_by_sites_and_values_and_numbered_again(n_attacked):
    """Sites 1, 2 and 4 have three values, site 5 has two; an attack gives each of them another value."""
    clean = {1: 0, 2: 2, 4: 1}
    (moves,) = axis_moves(Categorical(0.3, 3))
    valued = AttackAxis(moves.law, np.array([*clean]), moves, np.array([*clean.values()], dtype=np.uint8), 6)
    axes = [AttackAxis(moves.law._replace(parts=(), moves=1), np.array([5])), valued]
    found = set()
    for chosen in attacks_of([ListedAxis(3, n_attacked, moves=2)]):
        attack = tuple(sorted([5, *valued.attacked(chosen[0]).tolist()]))
        sites, values = describe_attack(axes, attack)
        assert len(sites) == len(set(sites)) == n_attacked + 1
        for site, value in zip(sites, values, strict=True):
            assert value is None if site == 5 else value in {0, 1, 2} - {clean[site]}
        assert number_attack(axes, sites, values) == attack
        found.add((sites, values))
    assert len(found) == n_attacks([ListedAxis(3, n_attacked, moves=2)])
    assert describe_attack(axes[:1], (5,)) == ((5,), ())


@pytest.mark.parametrize(("attacked", "clean", "after"), [(3, 0.01, 0.99), (200, 0.01, 0.99), (170, 1e-100, 0.2)])
def test_likelihood_ratios_of_many_sites_are_not_below_the_true_ones(attacked, clean, after):
    """Powers that floats do not hold: 99 to the 200th, and a hundredth to the 200th, which must not become 0."""
    law = SiteLaw(Fraction(clean), Fraction(after))
    factors = Fraction(law.shown[0]), Fraction(law.stayed)
    for (flips,) in shares_of(law, attacked):
        exact = prod(one**number for one, number in zip(factors, (flips, attacked - flips), strict=True))
        found = ratio_of(law, attacked, (flips,))
        assert found >= exact * (1 - Fraction(1, 2**40)) if found < inf else exact > Fraction(2) ** 1023
        assert exact > Fraction(2) ** 1023 or found <= exact * (1 + Fraction(1, 2**40)) + Fraction(1e-320)
