"""What deep votes say about every attack is so, by enumeration of all copies; and as often as it promises, at the edge.

Sites are the node pairs of small graphs, with two values or more, and every attack of a level is looked at. The laws of
deep votes are chosen as for large objects, or at random: the promise must hold for any law that is fixed in advance.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from deep_worlds import any_law, asked_by, chances, deep_votes, numbers_of
from evidence_worlds import OwnValuedVotes, ValuedWorld, valued_near_the_edge

import starcert as sc
from starcert.certificates.evidence import find_verdicts
from starcert.math import deep_votes as weighing
from starcert.math.attacked_sites import attack_number, describe_attack
from starcert.math.bets import capital_of, needed, stakes
from starcert.math.deep import UNIT, DeepLaw, Pools, choose_law, covered
from starcert.math.evidence import FlipEvidence
from starcert.math.frontier import Frontier
from starcert.math.pooling import level_weight

ALPHA = 0.2
BITS = {
    "few flips": ValuedWorld(sc.Noise(a=0.2), "aaaaa", (0, 1, 0, 0, 1)),
    "many flips": ValuedWorld(sc.Noise(a=0.3), "aaaaa", (0, 1, 0, 0, 1)),
    "delete and add": ValuedWorld(sc.Noise(a=sc.Flip(delete=0.3, add=0.1)), "aaaaaa", (0, 1, 0, 0, 1, 1)),
    "two regions": ValuedWorld(sc.Noise(a=0.2, b=0.4), "aaabb", (0, 1, 0, 0, 1)),
    "one way": ValuedWorld(sc.Noise(a=sc.Flip(delete=0.4, add=0)), "aaaaa", (0, 1, 1, 1, 1)),
}
WORLDS = {
    **BITS,
    "three values": ValuedWorld(sc.Noise(a=sc.Categorical(0.35, 3)), "aaaa", (0, 1, 2, 1)),
    "typed pairs": ValuedWorld(
        sc.Noise(a=sc.Edges(delete=0.2, add=0.25, change=0.2, types=2)), "aaaaa", (1, 2, 0, 0, 1)
    ),
    "values and bits": ValuedWorld(
        sc.Noise(b=sc.Flip(delete=0.3, add=0.2), a=sc.Categorical(0.4, 3)), "aabbb", (2, 0, 1, 0, 0)
    ),
}


def most_often(runs):
    """The number of false certificates that a rate of ALPHA exceeds once in 100,000 tests."""
    return runs * ALPHA + 4.3 * math.sqrt(runs * ALPHA * (1 - ALPHA))


def some_level(rng, world):
    """A level that some attack has, of one to three sites."""
    while True:
        level = tuple(rng.integers(0, 3, len(world.axes)).tolist())
        if 0 < sum(level) <= 3 and world.attacks(level):
            return level


def evidence_of(world, level, votes, alpha=ALPHA):
    """Evidence whose full scheme proves an attack of a level up to alpha, and that scheme; None: there is none."""
    evidence = FlipEvidence(votes, world.axes, alpha=Fraction(1, 2), failure=0.1, box=level)
    attacked = {axis for axis, number in enumerate(level) if number}
    scheme = next((each for each in evidence.schemes(level) if set(each.listed) == attacked), None)
    if scheme is None:
        return None
    evidence.alpha = Fraction(alpha) / (level_weight(level, level) * scheme.share)
    return evidence, scheme


def attacks_of(evidence, level, scheme, world):
    """The vector that each attack of a scheme makes of the clean one, in the order in which they are weighed."""
    listed = evidence.listed(level, scheme)
    found = []
    for number in range(scheme.n_attacks):
        chosen = zip(scheme.listed, attack_number(listed, number), strict=True)
        attack = sorted(site for axis, some in chosen for site in evidence.axes[axis].attacked(some).tolist())
        found.append(world.attacked(*describe_attack(evidence.axes, attack)))
    return found


def weights(evidence, level, scheme, votes):
    """What each attack weighs by deep votes."""
    ratios, listed = evidence.ratios(level, scheme.listed), evidence.listed(level, scheme)
    return votes.weights(level, scheme.listed, listed, ratios)


@pytest.mark.parametrize("name", WORLDS)
def test_the_mean_of_deep_votes_is_the_failure_rate_of_every_attack(name):
    """A_S + E[X] + e_S is at least the failure rate, and no more than that if all that is left out fails."""
    rng = np.random.default_rng(1)
    looked = 0
    while looked < 8:
        world = WORLDS[name].being(np.float64(rng.random(len(WORLDS[name].vectors)) < rng.uniform(0.1, 0.9)))
        level = some_level(rng, world)
        found = evidence_of(world, level, world.votes(rng, 1))
        if found is None:
            continue
        evidence, scheme = found
        law = any_law(rng, world, asking=name in BITS)
        chance, pools = chances(world, law), Pools(world.axes)
        assert np.isclose(chance.sum(), 1)
        asked, left = asked_by(world, law), 1 - covered(pools, level, law.asked, law.drawn)
        attacked = attacks_of(evidence, level, scheme, world)
        total = np.full(len(attacked), left)
        failing = np.flatnonzero((chance > 0) & (world.wrong > 0))

        alone = weights(evidence, level, scheme, deep_votes(world, law, failing[:0]))
        truth = np.array([world.masses(each)[asked] @ world.wrong[asked] for each in attacked])
        np.testing.assert_allclose(alone.estimate, truth, rtol=1e-8, atol=1e-12)
        assert (alone.least <= truth + 1e-15).all()
        total += alone.estimate
        for each in failing:
            found = weights(evidence, level, scheme, deep_votes(world, law, np.array([each])))
            total += chance[each] * (found.estimate - alone.estimate)
        known = (chance > 0) | np.isin(np.arange(len(chance)), asked)
        worst = [float(world.masses(each) @ np.where(known, world.wrong, 1)) for each in attacked]
        assert (total >= np.array([world.failure(each) for each in attacked]) - 1e-12).all()
        np.testing.assert_allclose(total, worst, atol=1e-8)
        looked += 1


def at_the_edge(rng, world, level, law):
    """A base classifier that one attack of a level breaks with exactly one half, and how often it fails on each copy.

    It answers one of the copies that are drawn at random: those that are asked have one answer. None: there is none.
    """
    attacked = world.masses(world.attacks(level)[rng.integers(len(world.attacks(level)))])
    ratio = attacked / np.maximum(world.masses(), 1e-12)
    order = np.argsort(-ratio * rng.uniform(0.2, 1, len(ratio)))
    mass = attacked * (chances(world, law) > 0)
    if not mass.any():
        return None
    last = rng.choice(len(mass), p=mass / mass.sum())
    wrong, left = np.zeros(len(attacked)), 0.5
    for vector in order:
        if vector != last and attacked[vector] <= left:
            wrong[vector], left = 1, left - attacked[vector]
    if not 0 < left < attacked[last] or wrong.all():
        return None
    wrong[last] = left / attacked[last]
    return world.being(wrong)


def answered(rng, world, drawn):
    """The vectors drawn; one that is answered at random this way and that is replaced by one that is answered right."""
    right = rng.random(len(drawn)) >= world.wrong[drawn]
    return np.where(right, np.flatnonzero(world.wrong == 0)[0], drawn)


def false_certificates(names, runs, seed, *, law_of=None, votes_of=deep_votes, drawn=400):
    """In how many worlds at the edge a level is certified that one of its attacks breaks, by shared and deep votes."""
    rng = np.random.default_rng([seed, len(names)])
    false = done = tried = 0
    while done < runs:
        tried += 1
        assert tried < 100 * runs
        name = names[done % len(names)]
        world, level = WORLDS[name], some_level(rng, WORLDS[name])
        if law_of is not None:
            law = law_of(rng, world, level)
        elif done % 2:
            law = any_law(rng, world, asking=name in BITS)
        else:
            law = choose_law(Pools(world.axes), [level], 24, asking=name in BITS)
        if not len(law.drawn) or (edge := at_the_edge(rng, world, level, law)) is None:
            continue
        assert edge.worst(level) >= 0.5 - 1e-9
        found = evidence_of(edge, level, edge.record(answered(rng, edge, edge.drawn(rng, 64))))
        if found is None:
            continue
        evidence, scheme = found
        chance = chances(edge, law)
        sample = rng.choice(len(chance), size=drawn, p=chance / chance.sum())
        evidence.deep = votes_of(edge, law, answered(rng, edge, sample))
        done += 1
        false += evidence.weighed(level, scheme).proved
    return false


@pytest.mark.parametrize("name", WORLDS)
def test_shared_and_deep_votes_keep_the_promise(name):
    assert false_certificates([name], 40, 1) <= most_often(40)


@pytest.mark.slow
def test_shared_and_deep_votes_keep_the_promise_in_four_thousand_worlds():
    assert false_certificates(list(WORLDS), 4_000, 2) <= ALPHA * 4_000


class DeepOf:
    """Deep votes in a world, as `find_verdicts` draws them."""

    two_classes, most = True, 400

    def __init__(self, world, rng, *, asking):
        self.world, self.rng, self.asking = world, rng, asking

    def wanted(self, levels):
        law = choose_law(Pools(self.world.axes), levels, 24, asking=self.asking)
        if law is None:
            return None
        chance = chances(self.world, law)
        drawn = (
            self.rng.choice(len(chance), size=self.most, p=chance / chance.sum()) if len(law.drawn) else np.array([])
        )
        return deep_votes(self.world, law, drawn)


def false_verdicts(name, runs, seed):
    """In how many runs anything certified or broken is not so: shared, deep and own votes; and how many verdicts."""
    rng = np.random.default_rng([seed, list(WORLDS).index(name)])
    false = decided = done = 0
    while done < runs:
        world = valued_near_the_edge(rng, WORLDS[name], some_level(rng, WORLDS[name]))
        if world.failure() > 0.45:
            continue
        done += 1
        axes = world.axes
        box = tuple(min(2, len(axis.sites)) for axis in axes)
        units = tuple(tuple(int(i == axis) for i in range(len(box))) for axis in range(len(box)))
        verdicts = find_verdicts(
            FlipEvidence(world.votes(rng, 256), axes, alpha=Fraction(ALPHA) / 2, failure=0.1, box=box),
            Frontier(((0,) * len(box),), units, verified=True),
            own=OwnValuedVotes(world, rng, 8_000),
            deep=DeepOf(world, rng, asking=name in BITS),
            label=0,
            alpha=ALPHA,
            broken=Fraction(ALPHA) / 4,
            max_flips=2,
        )
        wrong = [level for level in verdicts.certified if world.worst(level) >= 0.5]
        for level in verdicts.broken:
            attack = verdicts.levels[level].attack
            wrong += [level] * (world.failure(world.attacked(attack.sites, attack.values)) < 0.5)
        false += bool(wrong)
        decided += bool(verdicts.certified) + bool(verdicts.broken)
    return false, decided


@pytest.mark.parametrize("name", WORLDS)
def test_shared_deep_and_own_votes_keep_the_promise(name):
    false, decided = false_verdicts(name, 15, 9)
    assert false <= most_often(15)
    assert decided > 5


@pytest.mark.slow
def test_shared_deep_and_own_votes_keep_the_promise_in_two_thousand_worlds():
    assert sum(false_verdicts(name, 2_000 // len(WORLDS), 10)[0] for name in WORLDS) <= ALPHA * 2_000


def up_to_two(rng, world, level):
    """A law that asks all copies with at most two flips."""
    numbers = np.unique(numbers_of(world)[world.masses() > 0], axis=0)
    few = numbers.sum(axis=1) <= 2
    pools = Pools(world.axes)
    return DeepLaw(numbers[few], *without(choose_law(pools, [level], 1_000, asking=False), lambda row: row.sum() <= 2))


def without(law, leaves_out):
    """The numbers that a law draws without some of them, and their chances."""
    kept = [not leaves_out(row) for row in law.drawn]
    weights = [int(weight) for weight in law.weights[kept]]
    weights = [weight * UNIT // sum(weights) for weight in weights]
    weights[-1] += UNIT - sum(weights)
    return law.drawn[kept], np.array(weights)


def without_what_was_asked(world, law, drawn):
    """A negative control: A_S is left out."""
    return weighing.DeepVotes(world.axes, law, None, world.record(drawn))


def test_leaving_out_what_was_asked_breaks_the_promise():
    names = ["few flips", "many flips", "delete and add"]
    assert false_certificates(names, 60, 3, law_of=up_to_two) <= most_often(60)
    found = false_certificates(names, 60, 3, law_of=up_to_two, votes_of=without_what_was_asked)
    assert found > 2 * ALPHA * 60


def test_a_law_that_is_not_normalised_breaks_the_promise(monkeypatch):
    """A negative control: numbers that are asked are not drawn, so the chances of the others are larger by 1/Z."""
    names = ["few flips", "many flips", "delete and add"]
    weights_of = weighing.weights_of
    monkeypatch.setattr(weighing, "weights_of", lambda *of: weights_of(*of) / 2)
    assert false_certificates(names, 60, 4, law_of=up_to_two) > 2 * ALPHA * 60


def test_leaving_out_what_no_copy_shows_breaks_the_promise(monkeypatch):
    """A negative control: e_S is left out."""
    rng = np.random.default_rng(5)

    def half_a_law(_, world, level):
        law = choose_law(Pools(world.axes), [level], 1_000, asking=False)
        left_out = {tuple(law.drawn[law.weights.argmax()]), tuple(law.drawn[rng.integers(len(law.drawn))])}
        return DeepLaw(law.asked, *without(law, lambda row: tuple(row) in left_out))

    names = ["few flips", "many flips", "two regions"]
    assert false_certificates(names, 60, 5, law_of=half_a_law) <= most_often(60)
    monkeypatch.setattr(weighing, "covered", lambda *of: 1.0 if len(of) == 4 else covered(*of))
    assert false_certificates(names, 60, 5, law_of=half_a_law) > 2 * ALPHA * 60


def test_a_law_chosen_on_the_deep_votes_breaks_the_promise():
    """A negative control: of the votes by a hundred laws, each of them honest, those that look best are weighed."""
    rng, runs, honest, tempted = np.random.default_rng(6), 100, 0, 0
    for _ in range(runs):
        capitals = []
        for weight in np.geomspace(2, 8, 100):  # X is 0 or w, and its mean is 1/2: the attack breaks the class
            bet, lost = stakes(0.5, np.array([weight])), rng.binomial(400, 0.5 / weight)
            capitals.append(capital_of((400 - lost) * bet.quiet + lost * bet.seen[:, 0]))
        honest += capitals[0] >= needed(Fraction(ALPHA))
        tempted += max(capitals) >= needed(Fraction(ALPHA))
    assert honest <= most_often(runs)
    assert tempted > most_often(runs)


def test_what_is_robust_is_certified():
    """The tests above would pass if nothing ever were certified."""
    rng = np.random.default_rng(7)
    found = 0
    while found < 10:
        world = WORLDS["few flips"].being(np.float64(rng.random(32) < 0.15))
        if world.worst((2,)) >= 0.35:
            continue
        found += 1
        law = choose_law(Pools(world.axes), [(2,)], 24)
        chance = chances(world, law)
        evidence, scheme = evidence_of(world, (2,), world.votes(rng, 64), alpha=0.01)
        assert not evidence.weighed((2,), scheme).proved
        evidence.deep = deep_votes(world, law, rng.choice(len(chance), size=380, p=chance / chance.sum()))
        assert evidence.weighed((2,), scheme).proved


def test_what_was_asked_proves_by_itself_where_hardly_any_noise_is_left():
    """With alpha 0, that is: no capital proves anything."""
    world = ValuedWorld(sc.Noise(a=0.02), "aaaaa", (0, 1, 0, 0, 1))
    numbers = np.arange(3)[:, None]
    law = DeepLaw(numbers, np.array([[3]]), np.array([UNIT]))
    pair = (world.vectors != np.array(world.clean)).sum(axis=1) == 2
    flipped = pair & (world.vectors[:, 0] == 1) & (world.vectors[:, 1] == 0)
    world = world.being(np.float64(flipped))
    evidence, scheme = evidence_of(world, (2,), world.votes(np.random.default_rng(8), 64))
    evidence.deep = deep_votes(world, law, np.array([], dtype=int))
    weighed = evidence.weighed((2,), scheme)
    certain = weighed.weights.capital >= needed(Fraction(1, 10**9))
    assert certain.tolist() == [False] + 9 * [True]
    assert (weighed.least >= 0.5).tolist() == [True] + 9 * [False]
