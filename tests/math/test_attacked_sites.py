"""Attacks on sites: listed in order, no site twice; described by sites and values; a list weighs what a level does."""

from fractions import Fraction
from itertools import product
from math import inf, prod

import numpy as np
import pytest

import starcert as sc
from starcert import Categorical
from starcert.math.attacked_sites import (
    AttackAxis,
    ListedAxis,
    SiteLaw,
    attacks_of,
    describe_attack,
    group_attacks,
    n_attacks,
    number_attack,
    ratio_of,
    row_numbers,
    shares_of,
)
from starcert.math.pooling import Scheme
from starcert.methods.evidence import evidence_of
from starcert.objects.binding import attack_axes
from starcert.objects.laws import axis_moves
from starcert.system.errors import InvalidParameterError


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


GRAPH = sc.Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
ROW = sc.Categories([0, 2, 1, 0, 1], values=3)
NOISES = {
    "two axes": (GRAPH, sc.Noise(all=sc.Flip(delete=0.3, add=0.1))),
    "one axis": (GRAPH, sc.Noise(all=0.2)),
    "three values": (ROW, sc.Noise(all=sc.Categorical(0.3, 3))),
}


def ready(name):
    clean, noise = NOISES[name]
    on = "vectors" if clean is ROW else "batch"
    count = (lambda rows: rows.sum(axis=1) > 5) if clean is ROW else lambda batch: batch.values.sum(axis=1) > 6
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_callable(count, on=on), noise)
    problem = smoothed.problem([clean])
    votes = smoothed.vote(problem, samples=3_000, seed=2, record=True)
    axes = attack_axes(problem.sites[0], problem.noise)
    return evidence_of(votes.row(0), axes, alpha=Fraction(1, 20), box=None), axes


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("flips", [1, 2, 3])
def test_attacks_of_a_list_weigh_what_those_of_a_level_do(name, flips):
    evidence, axes = ready(name)
    levels = [(flips,)] if len(axes) == 1 else [(flips - 1, 1), (0, flips)]
    rng = np.random.default_rng(flips)
    for level in levels:
        scheme = Scheme(tuple(axis for axis, n in enumerate(level) if n), 0, Fraction(1))
        listed = evidence.listed(level, scheme.listed)
        every = [
            sorted(site for axis, c in zip(scheme.listed, chosen, strict=True) for site in axes[axis].attacked(c))
            for chosen in attacks_of(listed)
        ]
        scheme = scheme._replace(n_attacks=len(every))
        whole = evidence.weights(level, scheme)
        some = rng.permutation(len(every))[: max(1, len(every) // 2)]
        for chosen in (np.arange(len(every)), some):
            (group,) = group_attacks(axes, [np.array([every[i] for i in chosen])])
            assert group.level == level
            again = evidence.weights(level, scheme._replace(n_attacks=len(group.rows)), group.rows)
            attacks = (group.attack(axes, row) for row in range(len(group.rows)))
            found = {attack: (c, e) for attack, c, e in zip(attacks, *again, strict=True)}
            for i in chosen:
                assert found[tuple(every[i])] == (whole.capital[i], whole.estimate[i])


def test_a_size_holds_attacks_of_several_levels_and_leaves_out_what_is_harmless():
    evidence, axes = ready("two axes")
    one, other = axes[0].sites[:2], axes[1].sites[:3]
    first = [np.array([[one[0]], [other[0]]]), np.array([[one[0], other[1]], [one[1], other[2]]])]
    parts = [part for part in group_attacks(axes, first) if part.level != (1, 0)]
    weighed = evidence.weighed_list(parts)
    assert weighed.scheme.n_attacks == len(weighed.weights.capital) == 3
    assert [evidence.attack(weighed, i) for i in range(3)] == [
        (int(other[0]),), *(tuple(sorted((int(a), int(b)))) for a, b in ((one[0], other[1]), (one[1], other[2])))
    ]  # fmt: skip


@pytest.mark.parametrize("attack", [[[99]], [[0, 0]]])
def test_what_is_no_attack_is_refused(attack):
    _, axes = ready("one axis")
    with pytest.raises(InvalidParameterError, match="'attacks' must change"):
        group_attacks(axes, [np.array(attack)])


@pytest.mark.parametrize("width", [3, 10**7])
def test_rows_are_numbered_in_their_order_however_many_values_there_are(width):
    rows = np.random.default_rng(0).integers(width, size=(200, 9))
    rows = np.concatenate([rows, rows[:50]])
    numbers = row_numbers(rows)
    listed = sorted(set(map(tuple, rows.tolist())))
    places = {row: place for place, row in enumerate(listed)}
    ranks = np.unique(numbers, return_inverse=True)[1]
    assert ranks.tolist() == [places[tuple(row)] for row in rows.tolist()]
