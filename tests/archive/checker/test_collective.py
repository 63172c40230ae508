"""The checker of collective claims beside the engine, vote by vote, and its rule beside rules that would be wrong."""

from fractions import Fraction
from itertools import combinations
from math import inf

import numpy as np
import pytest
from evidence_worlds import ValuedWorld, adding, deleting
from flint import arb, ctx

import starcert as sc
from starcert.archive.checker import collective
from starcert.archive.checker.collective import TargetsChecker, check_claim
from starcert.math.attacked_sites import AttackAxis, group_attacks
from starcert.math.ballots import Ballots
from starcert.math.collective import JointEvidence, changed_at_most
from starcert.math.flips import ShownFlips

AXES = (AttackAxis(deleting(0.4, 0.1), np.arange(3)), AttackAxis(adding(0.4, 0.1), np.arange(3, 5)))
ATTACKS = [
    [np.array([[0], [2], [4]])],
    [np.array([[0, 1], [1, 2], [0, 3], [2, 4], [3, 4]])],
    [np.array([[1], [3]]), np.array([[0, 1, 4]])],
]

SINGLE = ATTACKS[:1]


def votes_of(n_classes, axes=AXES, copies=400, targets=6, seed=1, right=0.7):
    rng = np.random.default_rng(seed)
    others = [(1 - right) / (n_classes - 1)] * (n_classes - 1)
    answers = rng.choice(n_classes, (copies, targets), p=[right, *others])
    if axes is AXES:
        flips = np.packbits(rng.random((copies, 5)) < 0.4, axis=1, bitorder="little")
    else:
        world = ValuedWorld(sc.Noise(all=sc.Categorical(0.4, 3)), ["all"] * 3, (0, 1, 2))
        drawn = world.vectors[rng.choice(len(world.vectors), size=copies, p=world.masses())]
        there = drawn != world.clean
        flips = ShownFlips(np.packbits(there, axis=1, bitorder="little"), drawn[there])
    n_sites = 5 if axes is AXES else 3
    return Ballots.of_chunk(None, n_sites, copies, answers, [flips]).disagreeing_with([0] * targets)


def engine_capitals(votes, axes, attacks, n_classes):
    """By attack, as its sites: capitals of the engine against each target."""
    engine, found = JointEvidence(votes, axes, n_classes), {}
    found[()] = next(iter(engine.capitals(None, inf)))[0]
    for blocks in attacks:
        for group in group_attacks(axes, blocks):
            rows = np.concatenate(list(engine.capitals(group, inf)))
            found |= {group.attack(axes, number): row for number, row in enumerate(rows)}
    return found


def checker_capitals(checker, attacks, enough=inf):
    """The same by the checker, in the order in which it goes through them."""
    every = [(blocks, found) for blocks in (None, *attacks) for found in checker.capitals(blocks, enough)]
    return every, np.concatenate([capitals for _, (_, capitals) in every])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("kind", ["two values", "three values"])
def test_capitals_are_those_of_the_engine(n_classes, kind, monkeypatch):
    axes, attacks = AXES, ATTACKS
    if kind == "three values":
        axes = ValuedWorld(sc.Noise(all=sc.Categorical(0.4, 3)), ["all"] * 3, (0, 1, 2)).axes
        attacks = [[axes[0].attacked(range(6))[:, None]]]
    votes = votes_of(n_classes, axes)
    checker = TargetsChecker(votes, axes, n_classes)
    known = engine_capitals(votes, axes, attacks, n_classes)
    every, capitals = checker_capitals(checker, attacks)
    np.testing.assert_allclose(np.sort(capitals, axis=0), np.sort(list(known.values()), axis=0), rtol=1e-5)
    assert (np.sort(capitals, axis=0) >= np.sort(list(known.values()), axis=0)).all()  # it is rounded less
    row = 0
    for _, (some, block) in every:  # the balls lie just below what floats say
        for attack in range(len(block)):
            exact = [float(each) for each in checker.exact(some, attack)]
            np.testing.assert_allclose(exact, capitals[row], rtol=1e-12)
            row += 1
    monkeypatch.setattr(collective, "MAX_NUMBERS", 2_500)  # blocks of six attacks, and of a few targets
    np.testing.assert_array_equal(checker_capitals(checker, attacks)[1], capitals)
    few = checker_capitals(checker, attacks, enough=50.0)[1]
    assert ((few == capitals) | ((few >= 50) & (few <= capitals))).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_smallest_k_is_that_of_the_engine(n_classes):
    votes, delta, looked = votes_of(n_classes, copies=120), Fraction(1, 10), set()
    checker = TargetsChecker(votes, AXES, n_classes)
    for size in range(4):
        known = engine_capitals(votes, AXES, ATTACKS[:size], n_classes)
        smallest = int(changed_at_most(np.stack(list(known.values())), delta).max())
        for k in range(7):
            found = check_claim([checker], [ATTACKS[:size]], n_targets=6, k=k, delta=delta)
            assert found == (k >= smallest, smallest, len(known) - 1)
        looked.add(smallest)
    assert len(looked) > 1


def test_several_objects_are_attacked_each_by_itself():
    """Also one of which no flips are known: it counts as changed."""
    votes, delta = [votes_of(2, copies=n, targets=1, right=0.9) for n in (20, 400, 900)], Fraction(1, 10)
    checkers = [TargetsChecker(each, AXES, 2) for each in votes]
    worst = [min(each[0] for each in engine_capitals(one, AXES, SINGLE, 2).values()) for one in votes]
    smallest = int(changed_at_most(np.array([worst]), delta)[0])
    assert 0 < smallest < 3
    for k in range(4):
        found = check_claim(checkers, [SINGLE] * 3, n_targets=3, k=k, delta=delta)
        assert (found.proved, found.smallest) == (k >= smallest, smallest)
    without = check_claim([*checkers, None], [*[SINGLE] * 3, []], n_targets=4, k=smallest, delta=delta)
    assert (without.proved, without.smallest >= smallest + 1) == (False, True)
    assert check_claim([None], [[]], n_targets=6, k=5, delta=delta) == (False, 6, 0)
    assert check_claim([None], [[]], n_targets=6, k=6, delta=delta).proved


def claim_of(k):
    return collective._Claim(k, Fraction(1, 100), inf)


def test_the_rule_is_that_of_all_subsets_and_no_other():
    rng, differs = np.random.default_rng(5), set()
    for _ in range(300):
        row = np.exp(rng.normal(4.6, 1, (1, 5)))
        ordered = np.sort(row[0])
        for k in range(5):
            passes = all(sum(some) >= (k + 1) * 100 for some in combinations(row[0], k + 1))
            assert claim_of(k).judge(row, None)[0] is passes
            wrong = {"the (k + 1)-th alone": ordered[k] >= 100, "the mean of all": row.mean() >= 100,
                     "the k smallest": ordered[:k].sum() >= 100 * k}  # fmt: skip
            differs.update(name for name, verdict in wrong.items() if verdict and not passes)
    assert len(differs) == 3


def test_what_floats_leave_open_is_decided_in_balls():
    """Two capitals of 127.5 and 128.5, up to what a float cannot tell."""
    claim = collective._Claim(1, Fraction(1, 128), inf)
    for shift, holds in ((0, True), (1, True), (-1, False)):
        with ctx.workprec(128):
            exact = [arb(127.5), arb(128.5) + shift * arb(2) ** -70, arb(1000)]
        assert claim.judge(np.array([[127.5, 128.5, 1e3]]), lambda _, exact=exact: exact)[0] is holds


@pytest.mark.parametrize("number", ["one", "several"])
def test_a_claim_that_is_decided_in_balls_altogether(monkeypatch, number):
    monkeypatch.setattr(collective, "ROUNDED", 0.999)
    votes, delta = votes_of(3, copies=120, targets=1 if number == "several" else 6), Fraction(1, 10)
    checker = TargetsChecker(votes, AXES, 3)
    checkers = [checker] * 3 if number == "several" else [checker]
    n_targets = 3 if number == "several" else 6
    for k in range(n_targets + 1):
        found = check_claim(checkers, [ATTACKS] * len(checkers), n_targets=n_targets, k=k, delta=delta)
        assert found.proved is (k >= found.smallest)
