"""Intervals for outputs that are numbers: they miss a mean no more often than alpha, at any look.

First the argument itself, in worlds where every copy and every attack is enumerated: a bet on a mean that is not below
its limit does not grow, whatever the outputs are, and ρ bounds what an attack can make of them. Then real votes at the
edge, beside rules that must fail.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from evidence_worlds import ValuedWorld, adding, deleting, symmetric
from value_worlds import ValueWorld, attacks_of, bits, largest_ratio, levels_up_to, random_outputs

import starcert as sc
from starcert.math.bets import FRACTIONS, needed
from starcert.math.choices import RecordedCopies
from starcert.math.limits import upper_limit
from starcert.math.values import ENDS, bounds_of_steps, thresholds_of

ALPHA = 0.2
WORLDS = {
    "bits": lambda: bits((symmetric(0.3),), (3,)),
    "delete and add": lambda: bits((deleting(0.4, 0.1),), (3,)),
    "one way": lambda: bits((deleting(0.3, 0),), (3,)),
    "one way, seen at attacked objects alone": lambda: bits((adding(0.7, 0),), (3,)),
    "two regions": lambda: bits((symmetric(0.2), symmetric(0.4)), (2, 2)),
    "types": lambda: ValuedWorld(sc.Noise(all=sc.Categorical(0.5, 3)), ["all"] * 2, (0, 1)),
    "edges": lambda: ValuedWorld(NOISES["edges"], ["all"] * 2, (0, 1)),
}


NOISES = {
    "bits": sc.Noise(all=0.3),
    "one way": sc.Noise(all=sc.Flip(delete=0.3, add=0.0)),
    "two regions": sc.Noise(a=0.2, b=0.4),
    "edges": sc.Noise(all=sc.Edges(delete=0.3, add=0.2, change=0.3, types=2)),
}


def world_of(name, rng, n=8):
    plain = WORLDS[name]()
    copies = plain.vectors if isinstance(plain, ValuedWorld) else plain.patterns
    return ValueWorld(plain, random_outputs(rng, len(copies), n), n)


def mean_factor(world, masses, level, theta, values, *, unseen=True):
    """What a vote multiplies the capital by on average, with the largest stake there is."""
    clean = world.clean
    ratio = np.divide(masses, clean, out=np.zeros_like(clean), where=clean > 0)
    never = masses[clean == 0].sum() if unseen else 0.0
    won = (theta - values) / (1 - theta) * ratio - never
    return clean @ (1 + won / (largest_ratio(world, level) + never))


@pytest.mark.parametrize("name", WORLDS)
def test_a_bet_on_a_mean_that_is_not_below_its_limit_does_not_grow(name):
    """For every attack, whatever the outputs; and it does grow where the mean is below, but for what is never seen."""
    rng, tight = np.random.default_rng(1), 0
    for _ in range(20):
        world = world_of(name, rng)
        for level in levels_up_to(2, len(world.axes)):
            for masses in world.masses(level):
                mean = masses @ world.outputs
                if mean < 1 - 1e-9:
                    assert mean_factor(world, masses, level, mean, world.outputs) <= 1 + 1e-12
                    tight += mean_factor(world, masses, level, mean + 1e-6, world.outputs) > 1
    assert tight > 0


def test_forgetting_what_the_clean_object_never_shows_errs():
    """A negative control: the same inequality without e."""
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(20):
        world = world_of("one way, seen at attacked objects alone", rng)
        masses = world.masses((1,))[0]
        wrong += mean_factor(world, masses, (1,), masses @ world.outputs, world.outputs, unseen=False) > 1 + 1e-9
    assert wrong


@pytest.mark.parametrize("name", NOISES)
def test_rho_over_all_thresholds_bounds_the_mean_at_every_attacked_object(name):
    """With known probabilities. It is no wider than ρ of the mean, by Jensen's inequality, and often far narrower."""
    rng, gained = np.random.default_rng(2), []
    for _ in range(10):
        world = world_of(name, rng)
        noise = NOISES[name]
        for level in levels_up_to(2, len(world.axes)):
            radius = (*level, *[0] * (len(noise.axes) - len(level)))
            bound = sum(
                (threshold - before)
                / world.n
                * sc.rho_upper(noise, radius, min(1.0, world.clean @ (tops >= threshold)))
                for tops in [np.ceil(world.outputs * world.n)]
                for threshold, before in [(1, 0), *thresholds_of(np.arange(1, world.n + 1))]
            )
            rounded = np.ceil(world.outputs * world.n) / world.n
            whole = sc.rho_upper(noise, radius, min(1.0, world.clean @ rounded))
            assert (world.means([level], rounded) <= bound + 1e-9).all()
            assert bound <= whole + 1e-9
            gained.append(whole - bound)
    assert max(gained) > 0.05


def ends(world, drawn, levels, above=None, alpha=ALPHA):
    """The ends of an interval from these copies, as `ValueCertificates` has them."""
    outputs = sc.ValueRange(0, 1, world.n)
    bottoms, tops = bounds_of_steps(outputs.edges, above)
    evidence, attacks, goal = world.evidence(drawn), attacks_of(levels), needed(Fraction(alpha) / 2)
    low, high = (evidence.upper(0, each, world.n, attacks, goal) for each in (world.n - bottoms, tops))
    return 1 - low / ENDS, high / ENDS


def misses(world, drawn, levels, looks, above=None):
    """Whether an interval misses the least or the largest mean, at any look."""
    means = world.means(levels, None if above is None else world.outputs > above)
    found = (ends(world, drawn[:look], levels, above) for look in looks)
    return any(low > means.min() + 1e-9 or high < means.max() - 1e-9 for low, high in found)


def most_often(runs, rate=ALPHA):
    """The number of misses that a rate of ALPHA exceeds once in 100,000 tests."""
    return runs * rate + 4.3 * math.sqrt(runs * rate * (1 - rate))


@pytest.mark.parametrize("name", WORLDS)
def test_intervals_miss_no_more_often_than_alpha(name):
    rng, missed = np.random.default_rng(3), 0
    for run in range(15):
        world = world_of(name, rng)
        drawn = rng.choice(len(world.copies), size=400, p=world.clean)
        above = None if run % 3 else rng.random()
        missed += misses(world, drawn, levels_up_to(1 + run % 2, len(world.axes)), (50, 400), above)
    assert missed <= most_often(15)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_intervals_miss_no_more_often_than_alpha_in_many_worlds(name):
    rng, missed = np.random.default_rng(4), 0
    for run in range(300):
        world = world_of(name, rng)
        drawn = rng.choice(len(world.copies), size=800, p=world.clean)
        above = None if run % 3 else rng.random()
        missed += misses(world, drawn, levels_up_to(1, len(world.axes)), (50, 200, 800), above)
    assert missed <= 300 * ALPHA


def test_intervals_are_no_wider_than_they_must_be():
    """The tests above would pass if every interval were the whole range."""
    rng = np.random.default_rng(5)
    world = world_of("bits", rng, n=64)
    drawn = rng.choice(len(world.copies), size=20_000, p=world.clean)
    levels = levels_up_to(1, 1)
    low, high = ends(world, drawn, levels)
    means = world.means(levels)
    assert means.min() - 0.06 < low < means.min() < means.max() < high < means.max() + 0.06


def test_forgetting_half_a_step_errs():
    """A negative control: outputs lie at upper edges, and all of a step is taken for its middle."""
    rng = np.random.default_rng(6)
    world = world_of("bits", rng)
    world.outputs = np.ceil(world.outputs * world.n) / world.n
    drawn = rng.choice(len(world.copies), size=50_000, p=world.clean)
    evidence, goal, levels = world.evidence(drawn), needed(Fraction(1, 10)), levels_up_to(1, 1)
    middles = 2 * np.arange(world.n) + 1
    wrong = evidence.upper(0, middles, 2 * world.n, attacks_of(levels), goal) / ENDS
    right = evidence.upper(0, middles + 1, 2 * world.n, attacks_of(levels), goal) / ENDS
    assert wrong < world.means(levels).max() < right


def test_forgetting_what_is_never_seen_errs_on_real_votes(monkeypatch):
    """A negative control: only attacked objects show the outputs that are large."""
    rng = np.random.default_rng(7)
    plain = WORLDS["one way, seen at attacked objects alone"]()
    world = ValueWorld(plain, np.where(plain.patterns.any(axis=1), 1.0, 0.1), 8)
    drawn = rng.choice(len(world.copies), size=2_000, p=world.clean)
    assert not misses(world, drawn, levels_up_to(1, 1), (2_000,))
    monkeypatch.setattr(RecordedCopies, "unseen", lambda *_: Fraction(0))
    assert misses(world, drawn, levels_up_to(1, 1), (2_000,))


def running_capitals(votes, theta, ratio, largest):
    """The capital after each vote of many runs, shape (runs, votes); votes are outputs, each with a ratio."""
    won = (theta - votes) / (1 - theta) * ratio / largest
    return np.mean([np.exp(np.cumsum(np.log1p(fraction * won), axis=1)) for fraction in FRACTIONS], axis=0)


def test_alpha_must_be_halved_between_the_ends():
    """A negative control beside what is honest: outputs 0 or 1, both ends at the edge, looked at all the time."""
    rng = np.random.default_rng(8)
    votes = rng.integers(2, size=(2_000, 400)).astype(float)
    up, down = (running_capitals(each, 0.5, 1.0, 1.0).max(axis=1) for each in (votes, 1 - votes))
    halved, whole = (np.mean((up >= 1 / delta) | (down >= 1 / delta)) for delta in (ALPHA / 2, ALPHA))
    assert halved <= ALPHA
    assert whole * 2_000 > most_often(2_000)


def test_the_better_of_both_arguments_errs():
    """A negative control: one attacked site, and outputs that another site decides where that one does not flip.

    Both arguments are at the edge here, as ρ is attained, and they look at nearly independent numbers.
    """
    rng, runs, n, p, q, delta = np.random.default_rng(9), 4_000, 600, 0.1, 0.5, ALPHA / 2
    flips = rng.random((runs, n), dtype=np.float32) < p
    outputs = np.where(flips, 1.0, rng.random((runs, n), dtype=np.float32) < q)
    clean, attacked = p + (1 - p) * q, (1 - p) + p * q
    assert sc.rho_upper(sc.Noise(all=p), 1, clean) == pytest.approx(attacked)
    ratio = np.where(flips, (1 - p) / p, p / (1 - p))
    by_weighing = np.array([
        running_capitals(outputs[i : i + 500], attacked, ratio[i : i + 500], (1 - p) / p).max(axis=1) >= 1 / delta
        for i in range(0, runs, 500)
    ]).ravel()  # fmt: skip
    by_radius = np.array([upper_limit(int(count), n, Fraction(delta)) < clean for count in outputs.sum(axis=1)])
    assert by_weighing.sum() <= most_often(runs, delta)
    assert by_radius.sum() <= most_often(runs, delta)
    assert (by_weighing | by_radius).sum() > most_often(runs, delta)


def test_each_attack_at_its_own_best_time_costs_nothing():
    """Of one worst attack it is Ville's inequality: so the ends of several looks may be intersected."""
    rng = np.random.default_rng(10)
    votes = rng.integers(2, size=(2_000, 400)).astype(float)
    best = running_capitals(votes, 0.5, 1.0, 1.0).max(axis=1)
    assert np.mean(best >= 2 / ALPHA) <= ALPHA / 2


@pytest.mark.parametrize("seed", range(3))
def test_a_smoothed_regressor_tells_the_truth_about_every_attacked_object(seed):
    """End to end: 6 bits, every mean by enumeration; weighed and by ρ, means and probabilities."""
    rng = np.random.default_rng(seed)
    table = rng.random(64)
    base = sc.classifiers.from_callable(
        lambda rows: table[rows @ 2 ** np.arange(6)], on="vectors", outputs=sc.ValueRange(0, 1)
    )
    row = rng.integers(2, size=6)
    noise, copies = sc.Noise(all=0.25), (np.arange(64)[:, None] >> np.arange(6)) & 1
    one = sc.SmoothedRegressor(base, noise).certify(sc.Bits.rows([row]), samples=3_000, seed=seed, alpha=0.01)[0]
    for flips in (0, 1, 2):
        objects = copies[(copies != row).sum(axis=1) <= flips]
        chances = 0.25 ** (copies[:, None] != objects).sum(axis=2) * 0.75 ** (copies[:, None] == objects).sum(axis=2)
        for above in (None, 0.5):
            means = (table if above is None else table > above) @ chances
            found = one.clean if not flips and above is None else one.interval(flips, above=above)
            assert found.low <= means.min() <= means.max() <= found.high
            assert found.width < 1
