"""What evidence certifies and what it breaks is so, as often as it promises: the smoothed classifier is enumerated.

Every world here lies at the edge: some attack of the level fails with hardly more than one half. So whatever is
certified there is false, and a promise that is a little too large shows.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from evidence_worlds import (
    OwnValuedVotes,
    OwnVotesOf,
    ValuedWorld,
    World,
    adding,
    deleting,
    near_the_edge,
    symmetric,
    valued_near_the_edge,
)

import starcert as sc
from starcert.math.attacked_sites import SiteLaw
from starcert.math.bets import FRACTIONS, bet_below, capital_of, needed
from starcert.math.evidence import FlipEvidence
from starcert.math.frontier import Frontier
from starcert.methods.evidence import find_verdicts

ALPHA = 0.1
RUNS = 2_000

LAWS = {
    "symmetric": (symmetric(0.2), symmetric(0.4)),
    "delete and add": (deleting(0.3, 0.15), adding(0.3, 0.15)),
    "one way": (deleting(0.3, 0), adding(0.3, 0)),
    "none and half": (symmetric(0.25), symmetric(0.5)),
    "gentle and all": (symmetric(0.1), symmetric(1)),
}
LEVELS = [(1, 0), (2, 0), (1, 1), (0, 2), (2, 2), (3, 1), (0, 3)]


def most_often(alpha, runs):
    """What a rate of `alpha` does not exceed in so many runs, but for once in 100,000 tests."""
    return alpha + 4.3 * math.sqrt(alpha * (1 - alpha) / runs)


@pytest.mark.parametrize("law", LAWS)
def test_what_is_certified_is_so_however_tempting_the_moment(law):
    assert tempted(law, RUNS // 30) <= most_often(ALPHA, RUNS // 30) * (RUNS // 30)


@pytest.mark.slow
def test_what_is_certified_is_so_however_tempting_the_moment_in_two_thousand_runs():
    assert sum(tempted(law, RUNS // len(LAWS), seed=50) for law in LAWS) <= ALPHA * RUNS


@pytest.mark.slow
def test_what_is_certified_is_so_on_five_nodes_under_laws_at_random():
    """Ten sites are the node pairs of five nodes; symmetric laws and delete/add, each probability up to one half."""
    rng = np.random.default_rng(77)
    false = runs = 0
    while runs < 300:
        d, a, p, q = rng.uniform(0.05, 0.5, size=4)
        laws = (deleting(d, a), adding(d, a)) if rng.random() < 0.5 else (symmetric(p), symmetric(q))
        level = LEVELS[rng.integers(4)]
        world = near_the_edge(rng, laws, (4, 6), level)
        if world.failure() <= 0.49 and world.worst(level) >= 0.5:
            runs += 1
            votes = world.votes(rng, 2_048)
            false += any(certifies(world, votes.first(chunks), level) for chunks in (1, 4, 16, 32))
    assert false <= most_often(ALPHA, runs) * runs


def tempted(law, wanted, seed=0):
    """In how many runs something false is certified: all schemes, at every look while votes come in.

    Six sites are the node pairs of four nodes.
    """
    rng = np.random.default_rng(seed + list(LAWS).index(law))
    false = runs = 0
    while runs < wanted:
        level = LEVELS[rng.integers(len(LEVELS))]
        sizes = (3, 3)
        world = near_the_edge(rng, LAWS[law], sizes, level)
        if world.failure() > 0.49 or world.worst(level) < 0.5:
            continue
        runs += 1
        votes = world.votes(rng, 2_048)
        false += any(certifies(world, votes.first(chunks), level) for chunks in (1, 2, 4, 8, 16, 24, 32))
    return false


def certifies(world, votes, level):
    evidence = FlipEvidence(votes, world.axes, alpha=Fraction(ALPHA), failure=0.1, box=level)
    return any(evidence.weighed(level, scheme).proved for scheme in evidence.schemes(level))


def false_verdicts(law, seed, runs):
    """In how many runs anything that was certified or broken is not so: shared and own votes, levels up to (2, 2).

    Counts certify nothing but the clean answer, so that evidence has to do everything.
    """
    rng = np.random.default_rng(seed)
    false = decided = done = 0
    while done < runs:
        level = LEVELS[rng.integers(4)]
        world = near_the_edge(rng, LAWS[law], (3, 3), level)
        if rng.random() < 0.3:
            world = World(LAWS[law], (3, 3), rng.random((2,) * 6) < rng.uniform(0.1, 0.45))
        if world.failure() > 0.45:
            continue
        done += 1
        votes = world.votes(rng, 2_048)
        evidence = FlipEvidence(votes, world.axes, alpha=Fraction(ALPHA) / 2, failure=0.1, box=(2, 2))
        frontier = Frontier(((0, 0),), ((0, 1), (1, 0)), verified=True)
        verdicts = find_verdicts(
            evidence,
            frontier,
            own=OwnVotesOf(world, rng, 30_000),
            label=0,
            alpha=ALPHA,
            broken=Fraction(ALPHA) / 4,
        )
        wrong = [level for level in verdicts.certified if world.worst(level) >= 0.5]
        wrong += [level for level in verdicts.broken if world.failure(verdicts.levels[level].attack.sites) < 0.5]
        false += bool(wrong)
        decided += bool(verdicts.certified) + bool(verdicts.broken)
    return false, decided


@pytest.mark.parametrize("law", LAWS)
def test_what_is_certified_or_broken_is_so(law):
    false, decided = false_verdicts(law, list(LAWS).index(law), 25)
    assert false <= most_often(ALPHA, 25) * 25
    assert decided > 12


@pytest.mark.slow
def test_what_is_certified_or_broken_is_so_in_two_thousand_runs():
    runs = RUNS // len(LAWS)
    false = sum(false_verdicts(law, 100 + i, runs)[0] for i, law in enumerate(LAWS))
    assert false <= ALPHA * RUNS


def test_what_is_robust_is_certified():
    """The tests above would pass if nothing ever were certified."""
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(40):
        world = World(LAWS["symmetric"], (3, 3), rng.random((2,) * 6) < 0.15)
        if world.worst((1, 0)) < 0.35:
            found += 1
            assert certifies(world, world.votes(rng, 8_192), (1, 0))
    assert found > 5


def test_levels_within_one_another_share_alpha_and_others_do_not():
    """Of any levels none of which lies within another, the weights are at most 1 together."""
    from starcert.math.pooling import level_weight  # noqa: PLC0415

    box = (3, 4, 2)
    rng = np.random.default_rng(6)
    levels = [(a, b, c) for a in range(4) for b in range(5) for c in range(3) if a + b + c]
    for _ in range(200):
        chain = []
        for i in rng.permutation(len(levels)):
            if not any(comparable(levels[i], other) for other in chain):
                chain.append(levels[i])
        assert sum(level_weight(level, box) for level in chain) <= 1
    widest = [level for level in levels if sum(level) == 4]
    assert sum(level_weight(level, box) for level in widest) > Fraction(1, 2)


def comparable(one, other):
    pairs = list(zip(one, other, strict=True))
    return all(a <= b for a, b in pairs) or all(a >= b for a, b in pairs)


def test_a_stake_that_is_too_large_breaks_the_promise():
    """A negative control: with g beyond 1/(X_max − θ), capital that was lost is taken for capital that was won."""
    rng = np.random.default_rng(7)
    values = np.array([8.0])
    theta, false, honest = 0.5, 0, 0
    for _ in range(RUNS):
        hits = rng.binomial(400, theta / 8)  # the mean is θ: the claim is false
        bet = bet_below(theta, values)
        honest += capital_of(hits * bet.gains[:, 0] + (400 - hits) * bet.quiet) >= needed(Fraction(ALPHA))
        greedy = FRACTIONS * 40 / (8 - theta)
        logs = hits * np.log(np.abs(1 + greedy * (theta - 8))) + (400 - hits) * np.log1p(greedy * theta)
        false += np.exp(np.clip(logs, None, 600)).mean() >= 1 / ALPHA
    assert honest <= most_often(ALPHA, RUNS) * RUNS
    assert false > 3 * ALPHA * RUNS


def test_limits_chosen_on_the_same_votes_break_the_promise():
    """A negative control: λ must not be chosen on the votes that it is used on.

    In each of 1,000 strata the ratio of the attack is 0 or 2, evenly, and a quarter of the votes fail, where it is 2:
    the attacked object fails with exactly one half. λ = 2 says so. λ = 0 leaves the failing votes of a stratum out, and
    pays the whole mass of it: a loss on average, and a gain where the votes at hand happen to fail more often than not.
    """
    rng = np.random.default_rng(8)
    won = {"same": 0, "others": 0}
    runs = RUNS // 10
    for _ in range(runs):
        counts = rng.multinomial(2_000, np.full(1_000, 1 / 1_000))
        against, others = rng.binomial(counts, 0.25), rng.binomial(counts, 0.25)
        for name, chosen_on in (("same", against), ("others", others)):
            limits = np.where(chosen_on > counts / 2, 0.0, 2.0)
            bet = bet_below(0.5 - float((limits == 0).mean()), limits)
            capital = capital_of(bet.gains @ against + (2_000 - against.sum()) * bet.quiet)
            won[name] += capital >= needed(Fraction(ALPHA))
    assert won["others"] <= most_often(ALPHA, runs) * runs
    assert won["same"] > 0.5 * runs


class Erasing(sc.Law):
    """A value is kept, or it shows as 0, which is what an erased one looks like: two axes on the same sites."""

    alphabet = 3
    moves = (((1, 2), (2, 1)), ((1, 0), (2, 0)), ((0, 1), (0, 2)))
    suffixes = (".swap", ".erase", ".write")

    def transitions(self, value):
        kept = Fraction(1, 2)
        return tuple(kept * (shown == value) + (1 - kept) * (shown == 0) for shown in range(3))


VALUED = {
    "three values": ValuedWorld(sc.Noise(a=sc.Categorical(0.35, 3)), "aaaa", (0, 1, 2, 1)),
    "typed pairs": ValuedWorld(
        sc.Noise(a=sc.Edges(delete=0.2, add=0.25, change=0.2, types=2)), "aaaaa", (1, 2, 0, 0, 1)
    ),
    "typed pairs, three types": ValuedWorld(
        sc.Noise(a=sc.Edges(delete=0.25, add=0.3, change=0.3, types=3)), "aaaa", (1, 3, 0, 2)
    ),
    "values and bits": ValuedWorld(
        sc.Noise(b=sc.Flip(delete=0.3, add=0.2), a=sc.Categorical(0.4, 3)), "aabbb", (2, 0, 1, 0, 0)
    ),
    "erasing": ValuedWorld(sc.Noise(a=Erasing()), "aaaa", (1, 2, 2, 0)),
}


def valued_level(rng, world):
    """A level that some attack has, of one to three sites."""
    while True:
        level = tuple(rng.integers(0, 3, len(world.axes)).tolist())
        if 0 < sum(level) <= 3 and world.attacks(level):
            return level


def valued_runs(name, wanted, seed, axes_of=lambda world: world.axes):
    """In how many runs a level is certified whose worst attack breaks it, by all schemes, at every look."""
    rng = np.random.default_rng([seed, list(VALUED).index(name)])
    false = runs = 0
    while runs < wanted:
        level = valued_level(rng, VALUED[name])
        world = valued_near_the_edge(rng, VALUED[name], level)
        if world.failure() > 0.49 or world.worst(level) < 0.5:
            continue
        runs += 1
        votes = world.votes(rng, 2_048)
        false += any(certifies_valued(axes_of(world), votes.first(chunks), level) for chunks in (1, 4, 16, 32))
    return false


def certifies_valued(axes, votes, level):
    evidence = FlipEvidence(votes, axes, alpha=Fraction(ALPHA), failure=0.1, box=level)
    return any(evidence.weighed(level, scheme).proved for scheme in evidence.schemes(level))


@pytest.mark.parametrize("name", VALUED)
def test_what_is_certified_is_so_where_sites_have_more_values(name):
    assert valued_runs(name, 30, 1) <= most_often(ALPHA, 30) * 30


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUED)
def test_what_is_certified_is_so_where_sites_have_more_values_in_many_runs(name):
    assert valued_runs(name, RUNS // 4, 2) <= most_often(ALPHA, RUNS // 4) * (RUNS // 4)


def valued_verdicts(name, seed, runs):
    """In how many runs anything that was certified or broken is not so, shared and own votes; and how many decide."""
    rng = np.random.default_rng([seed, list(VALUED).index(name)])
    false = decided = done = 0
    while done < runs:
        world = valued_near_the_edge(rng, VALUED[name], valued_level(rng, VALUED[name]))
        if rng.random() < 0.3:
            world = world.being(np.float64(rng.random(len(world.vectors)) < rng.uniform(0.1, 0.45)))
        if world.failure() > 0.45:
            continue
        done += 1
        axes = world.axes
        box = tuple(min(2, len(axis.sites)) for axis in axes)
        evidence = FlipEvidence(world.votes(rng, 2_048), axes, alpha=Fraction(ALPHA) / 2, failure=0.1, box=box)
        units = tuple(tuple(int(i == axis) for i in range(len(box))) for axis in range(len(box)))
        verdicts = find_verdicts(
            evidence,
            Frontier(((0,) * len(box),), units, verified=True),
            own=OwnValuedVotes(world, rng, 20_000),
            label=0,
            alpha=ALPHA,
            broken=Fraction(ALPHA) / 4,
            max_flips=3,
        )
        wrong = [level for level in verdicts.certified if world.worst(level) >= 0.5]
        for level in verdicts.broken:
            attack = verdicts.levels[level].attack
            vector = world.attacked(attack.sites, attack.values)
            assert vector in world.attacks(level)
            wrong += [level] * (world.failure(vector) < 0.5)
        false += bool(wrong)
        decided += bool(verdicts.certified) + bool(verdicts.broken)
    return false, decided


@pytest.mark.parametrize("name", VALUED)
def test_what_is_certified_or_broken_is_so_where_sites_have_more_values(name):
    false, decided = valued_verdicts(name, 3, 10)
    assert false <= most_often(ALPHA, 10) * 10
    assert decided > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUED)
def test_what_is_certified_or_broken_is_so_where_sites_have_more_values_in_many_runs(name):
    false, _ = valued_verdicts(name, 4, 150)
    assert false <= most_often(ALPHA, 150) * 150


@pytest.mark.parametrize("name", VALUED)
def test_what_is_robust_is_certified_where_sites_have_more_values(name):
    """The tests above would pass if nothing ever were certified."""
    rng = np.random.default_rng(5)
    found = 0
    axes = VALUED[name].axes
    seen = next(number for number, axis in enumerate(axes) if not axis.law.unseen)
    level = tuple(int(axis == seen) for axis in range(len(axes)))
    while found < 3:
        world = VALUED[name].being(np.float64(rng.random(len(VALUED[name].vectors)) < 0.12))
        if world.worst(level) < 0.3:
            found += 1
            assert certifies_valued(world.axes, world.votes(rng, 8_192), level)


def test_flips_without_what_they_show_break_the_promise():
    """A negative control: of a flip that shows the attacked value and one that does not, the ratios are not one."""

    def by_bits(world):
        laws = [SiteLaw(axis.law.clean, axis.law.attacked) for axis in world.axes]
        return [axis._replace(law=law, moves=None) for axis, law in zip(world.axes, laws, strict=True)]

    assert valued_runs("three values", 40, 6, by_bits) > 3 * ALPHA * 40


def test_axes_on_the_same_sites_that_are_taken_for_two_pools_break_the_promise():
    """A negative control: what is attacked on one axis changes the flip number that the other one's λ is chosen by."""
    rng = np.random.default_rng(7)
    world, level, false, honest, runs = VALUED["typed pairs"], (2, 0, 1), 0, 0, 60
    for _ in range(runs):
        edge = valued_near_the_edge(rng, world, level)
        votes = edge.votes(rng, 8_192)
        for apart in (False, True):
            evidence = FlipEvidence(votes, edge.axes, alpha=Fraction(ALPHA), failure=0.3, box=level)
            if apart:
                evidence.pools, evidence._numbers = (0, 1, 2), votes.numbers([axis.sites for axis in edge.axes])
            proved = evidence.weighed(level, evidence.schemes(level)[0]).proved
            false, honest = false + proved * apart, honest + proved * (not apart)
    assert honest <= most_often(ALPHA, runs) * runs
    assert false > 3 * ALPHA * runs


TARGETS = ("three values", "typed pairs")


def target_runs(name, seed, runs):
    """Two targets on the same copies: how often the one, the other, and any of both is certified falsely."""
    rng = np.random.default_rng([seed, list(VALUED).index(name)])
    each, either = np.zeros(2, dtype=int), 0
    done = 0
    while done < runs:
        level = valued_level(rng, VALUED[name])
        worlds = [valued_near_the_edge(rng, VALUED[name], level) for _ in range(2)]
        if any(world.failure() > 0.49 or world.worst(level) < 0.5 for world in worlds):
            continue
        done += 1
        drawn = worlds[0].drawn(rng, 2_048)
        records = [world.record(drawn) for world in worlds]
        each += [certifies_valued(world.axes, record, level) for world, record in zip(worlds, records, strict=True)]
        evidence = [
            FlipEvidence(each, worlds[0].axes, alpha=Fraction(ALPHA) / 2, failure=0.1, box=level) for each in records
        ]
        either += any(one.weighed(level, scheme).proved for one in evidence for scheme in one.schemes(level))
    return each, either


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_certified_of_two_targets_is_so_for_each_and_for_both(name):
    each, either = target_runs(name, 8, 30)
    assert max(*each, either) <= most_often(ALPHA, 30) * 30


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_what_is_certified_of_two_targets_is_so_for_each_and_for_both_in_many_runs(name):
    each, either = target_runs(name, 9, 400)
    assert max(*each, either) <= most_often(ALPHA, 400) * 400
