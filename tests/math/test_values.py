"""The ends of intervals: counted by bits and searched, compared with one vote at a time and with all ends."""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from evidence_worlds import ValuedWorld, adding, deleting, symmetric
from scipy.stats import beta
from value_worlds import ValueWorld, attacks_of, bits, largest_ratio, levels_up_to, random_outputs

import starcert as sc
from starcert.math import values
from starcert.math.attacked_sites import LevelAttacks
from starcert.math.bets import SCALE, centred_bet, needed
from starcert.math.choices import RecordedCopies
from starcert.math.margins import Tradeoff
from starcert.math.values import ENDS, _Outputs, thresholds_of, upper_by_radius

WORLDS = {
    "bits": bits((symmetric(0.2),), (4,)),
    "one way": bits((deleting(0.3, 0), adding(0.625, 0)), (2, 2)),
    "two regions": bits((symmetric(0.1), symmetric(0.4)), (2, 3)),
    "types": ValuedWorld(sc.Noise(all=sc.Categorical(0.3, 3)), ["all"] * 3, (0, 1, 2)),
    "edges": ValuedWorld(sc.Noise(all=sc.Edges(delete=0.2, add=0.1, change=0.2, types=2)), ["all"] * 3, (0, 1, 2)),
}


def world_of(name, rng, n=16):
    plain = WORLDS[name]
    n_copies = len(plain.vectors if isinstance(plain, ValuedWorld) else plain.patterns)
    return ValueWorld(plain, random_outputs(rng, n_copies, n), n)


@pytest.mark.parametrize("name", WORLDS)
def test_capitals_are_those_of_one_vote_at_a_time(name):
    rng = np.random.default_rng(1)
    world = world_of(name, rng)
    drawn = rng.choice(len(world.copies), size=200, p=world.clean)
    evidence, tops = world.evidence(drawn), np.arange(1, world.n + 1)
    answers, groups = np.unique(world.steps[drawn], return_inverse=True)
    for level in levels_up_to(2, len(world.axes)):
        for at in (ENDS // 3, ENDS // 2, 7 * ENDS // 8):
            weights = evidence._weights(_Outputs(groups, tops[answers], world.n), LevelAttacks(level), at)
            theta = at / ENDS
            plain = [
                world.capital(drawn, masses, theta, tops / world.n, largest_ratio(world, level))
                for masses in world.masses(level)
            ]
            found = np.exp(weights.capital / SCALE)
            assert len(found) == len(plain)
            assert sorted(found) == pytest.approx(sorted(plain), rel=1e-3)
            assert all(a <= b for a, b in zip(sorted(found), sorted(plain), strict=True))


@pytest.mark.parametrize("few", [1, 64])
@pytest.mark.parametrize("name", WORLDS)
def test_the_end_is_the_least_at_which_all_attacks_pass(name, few, monkeypatch):
    """However many attacks an end is searched for at once."""
    monkeypatch.setattr(values, "FEW", few)
    rng = np.random.default_rng(2)
    world = world_of(name, rng)
    drawn = rng.choice(len(world.copies), size=2000, p=world.clean)
    evidence, tops, goal = world.evidence(drawn), np.arange(1, world.n + 1), needed(Fraction(1, 20))
    attacks = attacks_of(levels_up_to(1, len(world.axes)))
    end = evidence.upper(0, tops, world.n, attacks, goal)
    answers, groups = np.unique(world.steps[drawn], return_inverse=True)
    outputs = _Outputs(groups, tops[answers], world.n)

    def all_pass(at):
        return all((evidence._weights(outputs, each, at).capital >= goal).all() for each in attacks)

    assert all_pass(end)
    assert not all_pass(end - 1)
    rows = [LevelAttacks(level, evidence._rows(LevelAttacks(level), np.arange(len(world.masses(level))))) for level in
            levels_up_to(1, len(world.axes)) if any(level)]  # fmt: skip
    assert evidence.upper(0, tops, world.n, [attacks[0], *rows], goal) == end
    assert evidence.upper(0, tops, world.n, attacks, 2**60) == ENDS


def test_stakes_grow_with_theta_and_never_lose_everything():
    """What the argument rests on: with θ, no factor falls; and rounding is against the claim."""
    ratios, tops, n = np.array([0.1, 1.0, 7.0]), np.arange(1, 9), 8
    for unseen in (Fraction(0), Fraction(3, 10)):
        before = None
        for at in range(0, ENDS, 997):
            odds = (at * n - tops * ENDS) / ((ENDS - at) * n)
            stakes = centred_bet(odds, np.ones_like(odds), ratios * (1 - 2.0**-20), ratios, unseen).gains
            assert (np.exp(stakes / SCALE) > 0.0499).all()
            assert before is None or (stakes >= before).all()
            before = stakes
            exact = np.log1p(0.95 / (7 + float(unseen)) * (np.multiply.outer(ratios, odds) - float(unseen)))
            assert (stakes[0] <= exact * SCALE).all()
            assert np.allclose(stakes[0] / SCALE, exact, atol=1e-4)


def test_what_the_clean_object_never_shows():
    world = WORLDS["one way"]
    copies = RecordedCopies(world.votes(np.random.default_rng(0), 8), world.axes)
    assert [copies.unseen(level, range(2)) for level in ((0, 0), (1, 0), (0, 1), (1, 2))] == [
        0,
        0,
        Fraction(3, 8),
        Fraction(39, 64),
    ]


def test_ratios_beyond_floats_prove_nothing():
    """Four flips under such noise have a likelihood ratio of 1e400: no bet can be won."""
    world = ValueWorld(bits((symmetric(1e-100),), (4,)), np.ones(16, dtype=np.int64), 2)
    evidence, tops = world.evidence(np.zeros(1000, dtype=np.int64)), np.arange(1, 3)
    assert evidence.upper(0, tops, 2, [LevelAttacks((4,))], needed(Fraction(1, 100))) == ENDS


def test_by_radius_it_is_the_sum_of_rho_over_thresholds():
    """The bound is the integral of ρ_up of Clopper–Pearson limits, each with its part of alpha; here in fractions."""
    noise, rng = sc.Noise(motif=0.125, rest=0.25), np.random.default_rng(3)
    channels = [oracles.symmetric(Fraction(p), 2) for p in (0.125, 0.25)]
    tops, n, radius, share = np.arange(1, 9), 8, (1, 2), Fraction(1, 100)
    counts = rng.multinomial(5_000, rng.dirichlet(np.ones(n)))
    found, total = upper_by_radius(counts, tops, n, share, Tradeoff(noise.product), radius), Fraction(1, n)
    for threshold, before in thresholds_of(tops):
        limit = Fraction(float(beta.ppf(1 - float(share) / 7, m := counts[threshold - 1 :].sum() + 1, 5_001 - m)))
        total += Fraction(threshold - before, n) * oracles.rho_upper(oracles.cells(channels, radius), limit)
    assert float(total) <= found / ENDS + 1e-9
    assert found / ENDS == pytest.approx(float(total), abs=1.1 / ENDS)
    assert thresholds_of(n * (tops > 4)) == [(8, 0)]
    assert upper_by_radius(counts, n * (tops > 99), n, share, Tradeoff(noise.product), radius) == 0
