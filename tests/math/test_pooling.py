"""Pooled axes: masses, ratios and the penalty against plain enumeration in fractions."""

from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np
import pytest

from starcert.math.attacked_sites import SiteLaw
from starcert.math.pooling import bins_of, choose_limits, penalty, pool_of

LAWS = {
    "symmetric": SiteLaw(Fraction(1, 5), Fraction(4, 5)),
    "deleted": SiteLaw(Fraction(3, 10), Fraction(17, 20)),
    "never": SiteLaw(Fraction(0), Fraction(1)),
    "always": SiteLaw(Fraction(1), Fraction(1, 4)),
    "one way": SiteLaw(Fraction(3, 10), Fraction(1)),
    "free": SiteLaw(Fraction(1, 2), Fraction(1, 2)),
}


def plain(law, n, r):
    """(J, K) → probability in the clean object, and J → ratio, both as fractions."""
    p = law.clean
    masses = {}
    for j in range(r + 1):
        for rest in range(n - r + 1):
            mass = comb(r, j) * p**j * (1 - p) ** (r - j) * comb(n - r, rest) * p**rest * (1 - p) ** (n - r - rest)
            masses[j, j + rest] = mass
    flipped = law.attacked / p if p else Fraction(0)
    stayed = (1 - law.attacked) / (1 - p) if p < 1 else Fraction(0)
    return masses, [flipped**j * stayed ** (r - j) for j in range(r + 1)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "r"), [(1, 1), (6, 2), (9, 9), (12, 5)])
def test_the_penalty_is_that_of_the_definition_rounded_up(law, n, r):
    pool = pool_of(((LAWS[law], n, r),))
    starts = bins_of(n, LAWS[law].clean)
    rng = np.random.default_rng(n)
    limits = rng.choice([0.0, 0.3, 1.0, 3.0], size=len(starts))
    masses, ratios = plain(LAWS[law], n, r)
    exact = sum(
        mass * max(Fraction(0), ratios[j] - Fraction(limits[np.searchsorted(starts, k, side="right") - 1]))
        for (j, k), mass in masses.items()
    )
    assert float(exact) <= penalty(pool, limits) <= float(exact) + 1e-8 * (1 + max(map(float, ratios)))


def test_two_axes_are_one_product():
    one, other = (LAWS["symmetric"], 4, 2), (LAWS["deleted"], 3, 1)
    pool = pool_of((one, other))
    assert pool.masses.sum() == pytest.approx(1)
    mean = (pool.masses * pool.ratios[:, None]).sum()
    assert mean == pytest.approx(1)
    assert len(pool.ratios) == 3 * 2


@pytest.mark.parametrize("law", ["symmetric", "deleted"])
def test_good_limits_are_better_than_a_constant(law):
    """Where votes fail in a few strata only, E[Y·λ] + π of the chosen λ is below that of any constant one."""
    pool = pool_of(((LAWS[law], 40, 10),))
    bins = pool.masses.sum(axis=0)
    rates = np.where(np.arange(len(bins)) < 3, 0.3, 0.001)
    limits, cost = choose_limits(pool, rates, 0.5, [(1.0, 1.0)])
    chosen = (bins * rates * limits).sum() + cost
    constant = min(
        (bins * rates).sum() * c + penalty(pool, np.full(len(bins), c)) for c in np.geomspace(0.01, 100, 200)
    )
    assert chosen < constant


def values(transitions, before, after):
    """The law of a site of three values or more, from what each of them shows."""
    return SiteLaw.of(transitions[before], transitions[after], before)


def fractions(*rows):
    return [[Fraction(number, 20) for number in row] for row in rows]


CATEGORICAL = fractions((14, 3, 3), (3, 14, 3), (3, 3, 14))
EDGES = fractions((16, 2, 2), (3, 12, 5), (3, 5, 12))  # absent and two types
ERASING = fractions((20, 0, 0), (8, 12, 0), (8, 0, 12))
POOLS = {
    "three values": (CATEGORICAL, 5, [(0, 1, 2)]),
    "an edge goes": (EDGES, 5, [(1, 0, 2)]),
    "an edge comes": (EDGES, 4, [(0, 2, 3)]),
    "edges go and change": (EDGES, 5, [(1, 0, 2), (1, 2, 1)]),
    "all go or change": (EDGES, 3, [(1, 0, 1), (1, 2, 2)]),
    "erased": (ERASING, 4, [(1, 0, 2)]),
    "never shown": (ERASING, 4, [(1, 2, 1), (1, 0, 1)]),
}


@pytest.mark.parametrize("name", POOLS)
def test_the_penalty_of_a_pool_is_that_of_the_definition(name):
    """Every vector of n sites that have one clean value is listed, the first of them being attacked."""
    transitions, n, attacks = POOLS[name]
    (before,) = {start for start, _, _ in attacks}
    laws = [values(transitions, start, after) for start, after, _ in attacks]
    pool = pool_of(tuple((law, n, r) for law, (_, _, r) in zip(laws, attacks, strict=True)), (0,) * len(attacks))
    starts = bins_of(n, 1 - transitions[before][before])
    limits = np.random.default_rng(n).choice([0.0, 0.3, 1.0, 3.0], size=len(starts))
    attacked = [after for _, after, r in attacks for _ in range(r)]
    exact = unseen = Fraction(0)
    for shown in product(range(len(transitions)), repeat=n):
        mass = prod((transitions[before][z] for z in shown), start=Fraction(1))
        there = prod((transitions[w][z] for w, z in zip(attacked, shown, strict=False)), start=Fraction(1))
        here = prod((transitions[before][z] for z in shown[: len(attacked)]), start=Fraction(1))
        if mass:
            limit = Fraction(limits[np.searchsorted(starts, sum(z != before for z in shown), side="right") - 1])
            exact += mass * max(Fraction(0), there / here - limit)
        elif not here:
            unseen += there * prod((transitions[before][z] for z in shown[len(attacked) :]), start=Fraction(1))
    assert float(exact) <= penalty(pool, limits) <= float(exact) + 1e-7
    told = 1 - prod(((1 - law.unseen) ** r for law, (_, _, r) in zip(laws, attacks, strict=True)), start=Fraction(1))
    assert told == unseen


def test_axes_of_one_pool_are_not_those_of_two():
    law, other = values(EDGES, 1, 0), values(EDGES, 1, 2)
    together, apart = (pool_of(((law, 5, 2), (other, 5, 1)), pools) for pools in ((3, 3), None))
    n_bins = len(bins_of(5, law.clean))
    assert (together.masses.shape[1], apart.masses.shape[1]) == (n_bins, n_bins**2)
    for pool in (together, apart):
        assert pool.masses.sum() == pytest.approx(1)
        assert (pool.masses * pool.ratios[:, None]).sum() == pytest.approx(1)


def test_what_the_clean_object_never_shows_is_told():
    assert LAWS["never"].unseen == 1
    assert LAWS["always"].unseen == Fraction(3, 4)
    assert LAWS["symmetric"].unseen == 0


def test_rare_flip_numbers_share_a_bin():
    assert bins_of(45, Fraction(9, 20))[0] == 0
    assert len(bins_of(45, Fraction(9, 20))) < 20
    assert bins_of(7, Fraction(0)) == (0,)
