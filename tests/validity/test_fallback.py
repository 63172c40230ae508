"""The smoothed classifier with a blind default, in small worlds where all of its answers are known exactly.

Four or five bits make 16 or 32 objects. With flip probabilities k/64, the chance of each of them after the noise is a
whole number over a power of two, so F_t is known exactly, ties included, and so is whether a claim is true. The three
controls are rules that answer by certificates; each of them lies close at hand, and claims something false.
"""

import math
from fractions import Fraction
from functools import partial, reduce
from itertools import product

import numpy as np
import oracles
import pytest
from margin_worlds import ClassWorld, OwnClassVotes

import starcert as sc
from starcert.math.confidence import Bounds, clopper_pearson
from starcert.math.evidence import FlipEvidence
from starcert.math.fallback import BlindAnswers, Contest
from starcert.math.frontier import Frontier
from starcert.math.margins import Slacks
from starcert.math.pooling import level_weight
from starcert.math.votes import Votes
from starcert.methods.evidence import find_verdicts

ALPHA = Fraction(1, 5)
LAWS = {"symmetric": (7, 7), "strong": (26, 26), "one way": (40, 0), "sparse": (20, 5)}  # delete and add, in 64ths


class World:
    """All rows of `n` bits under one law: chances after the noise, and how many flips lead from one to another."""

    def __init__(self, law, n):
        delete, add = law
        self.n, self.one = n, 64**n
        self.rows = np.array(list(product([0, 1], repeat=n)))
        step = np.array([[64 - add, add], [delete, 64 - delete]])  # from, to
        self.weights = reduce(np.kron, [step] * n)
        self.deleted, self.added = (
            ((before[:, None, :] == 1 - after) & (before[None, :, :] == after)).sum(axis=2)
            for before, after in ((self.rows, 0), (self.rows, 1))
        )
        same = delete == add
        self.noise = sc.Noise(all=delete / 64) if same else sc.Noise(all=sc.Flip(delete=delete / 64, add=add / 64))
        self.attacks = np.stack([self.deleted + self.added] if same else [self.deleted, self.added], axis=2)

    def chances(self, answers, n_classes):
        """The chance of each class at each object, times `one`."""
        return self.weights @ (answers[:, None] == np.arange(n_classes))

    def classifiers(self, rng, n_classes, how_many):
        """Random base classifiers, and ones that give a class to what an attack makes likelier."""
        for number in range(how_many):
            answers = rng.choice(n_classes, size=len(self.rows), p=rng.dirichlet(np.full(n_classes, 0.5)))
            if number % 2:
                clean, attacked = rng.integers(len(self.rows), size=2)
                order = np.argsort(-(self.weights[attacked] + 1e-9) / (self.weights[clean] + 1e-9))
                answers[order[: rng.integers(1, len(order))]] = rng.integers(n_classes)
            yield answers


def answers_of(chances, blind, threshold, one):
    """F_t of each object, in whole numbers: the class above the threshold, else the blind one."""
    above = np.array([[Fraction(int(each), one) > Fraction(threshold) for each in row] for row in chances])
    above[:, blind] = False
    return np.where(above.any(axis=1), above.argmax(axis=1), blind)


def thresholds(rng, chances, one):
    """Some thresholds; the last ones are exactly the chance of a class somewhere: a tie."""
    exact = [each / one for each in chances.ravel().tolist() if one <= 2 * each < 2 * one]
    return [0.5, 0.6, 0.85, *rng.choice(exact, size=min(2, len(exact)), replace=False).tolist()]


@pytest.mark.parametrize(("law", "n_classes"), list(zip(LAWS, (2, 5, 3, 5), strict=True)))
def test_no_claim_by_counts_is_false_where_all_probabilities_are_known(law, n_classes):
    rng, world = np.random.default_rng(n_classes), World(LAWS[law], 4)
    claimed = {"blind": 0, "other": 0}
    changed = ties = 0
    for answers in world.classifiers(rng, n_classes, 6):
        chances, blind = world.chances(answers, n_classes), int(rng.integers(n_classes))
        for threshold in thresholds(rng, np.delete(chances, blind, axis=1), world.one):
            labels = answers_of(chances, blind, threshold, world.one)
            rows = np.arange(len(labels))
            rivals = chances.copy()
            rivals[rows, labels] = 0
            # Whole numbers over a power of two are floats: these bounds are the truth, not estimates of it.
            failure, other = (world.one - chances[rows, labels]) / world.one, rivals.max(axis=1) / world.one
            fallback = BlindAnswers(threshold, np.full(len(labels), blind))
            bounds = Bounds(labels, failure, other, None, n_classes, blind=fallback)
            tied = (labels == blind) & (other == threshold)
            ties += tied.sum()
            for x, one in enumerate(sc.certify(bounds, world.noise, max_radius=[world.n] * world.attacks.shape[2])):
                assert one.abstained == tied[x]
                assert one.frontier.verified
                maximal = np.array(one.frontier.radii, dtype=int).reshape(-1, world.attacks.shape[2])
                covered = (world.attacks[x][:, None, :] <= maximal).all(axis=2).any(axis=1)
                assert (labels[covered] == labels[x]).all()
                claimed["blind" if labels[x] == blind else "other"] += covered.sum() - covered[x]
                changed += (~covered & (labels != labels[x])).sum()
    assert min(claimed.values()) > 10
    assert changed > 10
    assert ties > 0


@pytest.mark.parametrize("law", LAWS)
def test_slack_is_the_least_clean_mass_that_holds_the_limit(law):
    world, rng = World(LAWS[law], 4), np.random.default_rng(3)
    for limit in (0.5, 0.15, 0.7, 1 - 0.7, 1 - 2**-20):
        slacks = Slacks(world.noise.product, limit)
        for clean, attacked in rng.integers(len(world.rows), size=(12, 2)).tolist():
            pairs = zip(world.weights[clean].tolist(), world.weights[attacked].tolist(), strict=True)
            left, least = Fraction(limit), Fraction(0)
            for q, p in oracles.ascending([(Fraction(q, world.one), Fraction(p, world.one)) for p, q in pairs]):
                part = min(left, q)
                left, least = left - part, least + (p * part / q if q else 0)
            radius = tuple(world.attacks[clean, attacked].tolist())
            bracket = slacks.bracket(radius)
            assert Fraction(bracket.below) < least <= Fraction(bracket.at_least) or least == 0 >= bracket.below
            assert slacks.value(radius) == pytest.approx(float(least), rel=1e-9)


def within(world, radius, *, additions=True):
    """Whether each object (columns) is one that the attacker makes of each object (rows)."""
    close = world.deleted + world.added <= radius
    return close if additions else close & (world.added == 0)


def keeps(table, labels):
    """For which objects all that the attacker makes of them have the same label."""
    return (~table | (labels[None, :] == labels[:, None])).all(axis=1)


def false_claims(world, claims, answers, table):
    """How many objects there are where it is claimed that the answer stays, and it does not."""
    return int((claims & ~keeps(table, answers)).sum())


def counted(world, rule, how_many=60, seed=4):
    """What a rule claims falsely, over base classifiers with two classes and both blind answers."""
    rng, found = np.random.default_rng(seed), 0
    for answers in world.classifiers(rng, 2, how_many):
        chances = world.chances(answers, 2)
        smoothed = (2 * chances[:, 1] > world.one).astype(int)
        found += sum(rule(world, chances, smoothed, blind) for blind in (0, 1))
    return found


def certified_by_counts(world, chances, smoothed, radius):
    slack = Slacks(world.noise.product).value((radius,))
    return (world.one - chances[np.arange(len(smoothed)), smoothed]) / world.one < slack * (1 - 1e-6)


def test_the_smoothed_answer_where_it_is_certified_is_no_robust_answer():
    """A control: the certificate need not be found at the attacked object."""

    def rule(world, chances, smoothed, blind, *, claim):
        table = within(world, 1)
        answers = np.where(keeps(table, smoothed), smoothed, blind)
        return false_claims(world, keeps(within(world, claim), smoothed), answers, table)

    world = World(LAWS["symmetric"], 4)
    assert counted(world, partial(rule, claim=1)) > 20
    assert counted(world, partial(rule, claim=2)) == 0  # exact certificates at twice the radius would do


def test_twice_the_radius_is_not_enough():
    """A control: by p_A, what is certified at 2 leaves an object at 1 that is not certified at 1."""

    def rule(world, chances, smoothed, blind):
        found, twice = (certified_by_counts(world, chances, smoothed, radius) for radius in (1, 2))
        return false_claims(world, twice, np.where(found, smoothed, blind), within(world, 1))

    assert counted(World(LAWS["strong"], 4), rule) > 5


def test_a_blind_answer_by_certificates_needs_the_reversed_threat():
    """A control: the smoothed answer is b, so nothing that x is an attack on is certified; deletions are not undone."""

    def rule(world, chances, smoothed, blind, *, additions):
        table = within(world, 2, additions=additions)
        answers = np.where(keeps(table, smoothed), smoothed, blind)
        return false_claims(world, smoothed == blind, answers, table)

    world = World(LAWS["symmetric"], 4)
    assert counted(world, partial(rule, additions=False)) > 20
    assert counted(world, partial(rule, additions=True)) == 0


def test_the_rule_of_the_theorem_claims_what_these_controls_do_not():
    """F_t by exact probabilities, where the attacker deletes: nothing false, and much is claimed."""
    claims = 0

    def rule(world, chances, _smoothed, blind):
        nonlocal claims
        answers = answers_of(chances, blind, 0.7, world.one)
        table, wrong = within(world, 2, additions=False), 0
        limit = Fraction(0.7)
        for x in range(len(answers)):
            if answers[x] == blind:  # no other class can rise above t, by P(c) at all attacked objects
                holds = all(Fraction(int(chances[y, 1 - blind]), world.one) < limit for y in np.flatnonzero(table[x]))
            else:
                mine = chances[:, answers[x]]
                holds = all(Fraction(int(mine[y]), world.one) > limit for y in np.flatnonzero(table[x]))
            claims += holds
            wrong += holds and not keeps(table, answers)[x]
        return wrong

    assert counted(World(LAWS["symmetric"], 4), rule, how_many=20) == 0
    assert claims > 100


def most_often(runs, alpha=float(ALPHA)):
    """What a rate of `alpha` exceeds in this many runs once in 100,000 tests."""
    return alpha * runs + 4.3 * math.sqrt(runs * alpha * (1 - alpha))


def chance_of_a_false_claim(shares, votes, limit, count):
    """With which probability the limit of a count of votes is below `limit`; other classes have these shares each."""
    found, masses = 0.0, {(0,) * len(shares): 1.0}
    rest = 1 - sum(shares)
    for _ in range(votes):
        following = {}
        for counts, mass in masses.items():
            for label, share in enumerate([*shares, rest]):
                more = counts if label == len(shares) else (*counts[:label], counts[label] + 1, *counts[label + 1 :])
                following[more] = following.get(more, 0.0) + mass * share
        masses = following
    for counts, mass in masses.items():
        row = [votes - sum(counts), *counts]
        given = Votes([row], [[100] + [0] * len(counts)], blind=BlindAnswers(0.6, np.array([0])))
        (other,) = clopper_pearson(given, alpha=float(ALPHA)).other
        if count is not None:
            row = [votes - count(counts), count(counts)]
            (other,) = clopper_pearson(Votes([row], [[1, 0]]), alpha=float(ALPHA)).other
        found += mass * (other < limit)
    return found


@pytest.mark.parametrize("shares", [(0.3,), (0.3, 0.3), (0.3, 0.1), (0.3, 0.25, 0.3)])
def test_one_limit_bounds_every_other_class_with_all_of_alpha(shares):
    """The limit of the largest count, enumerated: too small, if it is below the largest share."""
    votes = 24 if len(shares) < 3 else 14
    found = chance_of_a_false_claim(shares, votes, max(shares), None)
    assert found <= ALPHA
    assert found > ALPHA / 2 or len(shares) > 1
    if len(shares) > 1:  # a control: the limit of some other class, the one with the fewest votes
        assert chance_of_a_false_claim(shares, votes, max(shares), min) > ALPHA


WORLDS = {
    "bits": (sc.Noise(a=0.3), "aaaaaa", (0, 1, 0, 0, 1, 0), (1,)),
    "one way, unseen": (sc.Noise(a=sc.Flip(delete=0.7, add=0)), "aaaaa", (1, 1, 1, 0, 0), (0, 1)),
    "three values": (sc.Noise(a=sc.Categorical(0.5, 3)), "aaaa", (0, 1, 2, 1), (1,)),
    "listed and pooled": (sc.Noise(a=0.3, b=0.45), "aaabbb", (0, 1, 0, 1, 0, 0), (1, 2)),
}
CONTESTS = {"blind": Contest(0.7, 0.0), "another": Contest(1 - 0.7, 1.0), "half": Contest(0.5, 0.0)}


def at_the_limit(rng, world, level, contest, n_classes):
    """A base classifier for which class 0 just fails its contest at one attack: E[f] is the limit, and 0 is claimed.

    What counts against class 0 is given often where all sites of the attack show its values, seldom elsewhere.
    """
    attacks = world.attacks(level)
    attack = attacks[rng.integers(len(attacks))]
    moved = np.flatnonzero(np.array(attack) != world.clean)
    shows = (world.vectors[:, moved] == np.array(attack)[moved]).all(axis=1)
    share = float(world.masses(attack) @ shows)
    seldom = max(0.0, contest.limit - share) / max(1 - share, 1e-12)
    seldom += rng.uniform(0, 0.1) * (contest.limit - seldom)
    against = np.where(shows, (contest.limit - seldom * (1 - share)) / share, seldom)
    answers = np.zeros((len(shows), n_classes))
    if contest.third:  # all other classes count
        answers[:, 1:] = against[:, None] * rng.dirichlet(np.ones(n_classes - 1))
    else:  # class 1 does; the others have a part of what is left
        answers[:, 1] = against
        answers[:, 2:] = ((1 - against) * rng.uniform(0, 0.5))[:, None] * rng.dirichlet(np.ones(n_classes - 2))
    answers[:, 0] = 1 - answers[:, 1:].sum(axis=1)
    return world.answering(answers)


def certified_at_the_limit(name, contest, n_classes, runs, seed, *, used=None, own=True):
    """In how many runs a level that is just broken is certified: by shared votes at any look, and by own votes."""
    rng = np.random.default_rng([seed, n_classes, list(WORLDS).index(name)])
    *parts, level = WORLDS[name]
    world, found = ClassWorld(*parts), 0
    start = Frontier(((0,) * len(level),), (level,), verified=True)
    how = {"label": 0, "alpha": float(ALPHA), "broken": Fraction(1, 1000)}
    for _ in range(runs):
        edge = at_the_limit(rng, world, level, contest, n_classes)
        votes = edge.votes(rng, 1_024)
        source = OwnClassVotes(edge, rng, 12_000) if own else None
        alpha = ALPHA / level_weight(level, level)
        found += any(
            find_verdicts(
                FlipEvidence(
                    votes.first(look), edge.axes, alpha=alpha, failure=0.1, box=level, contest=used or contest
                ),
                start,
                own=given,
                **how,
            ).certified
            for look, given in ((2, None), (8, None), (16, source))
        )
    return found


@pytest.mark.parametrize("contest", CONTESTS)
@pytest.mark.parametrize("name", WORLDS)
def test_what_is_just_broken_is_not_certified_more_often_than_alpha(name, contest):
    assert certified_at_the_limit(name, CONTESTS[contest], 3, 8, 5) <= most_often(8)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("contest", CONTESTS)
@pytest.mark.parametrize("name", WORLDS)
def test_what_is_just_broken_is_not_certified_more_often_than_alpha_in_many_runs(name, contest, n_classes):
    assert certified_at_the_limit(name, CONTESTS[contest], n_classes, 150, 6) <= ALPHA * 150


def test_the_limit_of_the_blind_answer_is_not_that_of_another():
    """A control: c must stay above t, not merely the others below it."""
    wrong = partial(certified_at_the_limit, "bits", CONTESTS["another"], 3, 12, 7, own=False)
    assert wrong() <= most_often(12)
    assert wrong(used=Contest(0.7, 1.0)) > most_often(12)


def test_another_class_is_not_above_t_because_each_other_one_is_below():
    """A control: that each other class stays below 1 − t is not enough where there are several."""
    wrong = partial(certified_at_the_limit, "bits", CONTESTS["another"], 5, 12, 8, own=False)
    assert wrong(used=Contest(1 - 0.7, 0.0)) > most_often(12)


@pytest.mark.parametrize("evidence", [False, sc.Evidence(own_samples=2_000)], ids=["counts", "evidence"])
def test_whole_certificates_are_false_no_more_often_than_alpha(evidence):
    """All objects of a world, certified from votes: what is claimed of F_t, enumerated."""
    world, rng, threshold = World(LAWS["symmetric"], 4), np.random.default_rng(9), 0.7
    false = claims = abstained = 0
    for seed, answers in enumerate(world.classifiers(rng, 3, 4)):
        chances, blind = world.chances(answers, 3), int(rng.integers(3))
        truth = answers_of(chances, blind, threshold, world.one)
        base = sc.classifiers.from_callable(
            lambda rows, answers=answers: answers[rows @ (1 << np.arange(3, -1, -1))], on="vectors", n_classes=3
        )
        fallback = sc.Fallback([blind] * len(world.rows), threshold)
        smoothed = sc.SmoothedClassifier(base, world.noise, fallback=fallback)
        given = {"samples": 300, "seed": seed, "alpha": float(ALPHA), "evidence": evidence}
        certificates = smoothed.certify(sc.Bits.rows(world.rows), **given)
        for x, one in enumerate(certificates):
            abstained += one.abstained
            if not one.abstained:
                claims += 1
                maximal = np.array(one.frontier.radii, dtype=int)
                covered = (world.attacks[x][:, None, :] <= maximal).all(axis=2).any(axis=1)
                false += bool((truth[covered] != one.label).any())
                for level in one.broken:
                    (place,) = np.flatnonzero((world.rows == _attacked(world.rows[x], one.attack(level))).all(axis=1))
                    false += truth[place] == one.label
    assert false <= most_often(claims)
    assert claims > 3 * abstained


def _attacked(row, attack):
    changed = row.copy()
    changed[list(attack.sites)] ^= 1
    return changed
