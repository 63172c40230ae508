"""Capitals of all targets are those of the votes one by one, and k is that of all subsets of targets."""

from fractions import Fraction
from itertools import combinations
from math import inf

import numpy as np
import pytest
from evidence_worlds import ValuedWorld, adding, deleting

import starcert as sc
from starcert.math import collective
from starcert.math.attacked_sites import AttackAxis, describe_attack, group_attacks
from starcert.math.ballots import Ballots
from starcert.math.bets import FRACTIONS
from starcert.math.collective import JointEvidence, changed_at_most
from starcert.math.flips import ShownFlips

SITES = np.array([2, 3, 5, 8, 9])
AXES = (AttackAxis(deleting(0.4, 0.1), SITES[:3]), AttackAxis(adding(0.4, 0.1), SITES[3:]))
ATTACKS = [
    [np.array([[2], [5], [9]])],
    [np.array([[2, 3], [3, 5], [2, 8], [5, 9], [8, 9]])],
    [np.array([[3], [8]]), np.array([[2, 3, 9]])],
]


def ballots(flips, answers, labels):
    packed = np.packbits(flips, axis=1, bitorder="little")
    every = Ballots.of_chunk(None, flips.shape[1], len(flips), answers, [packed])
    return every.at(SITES).disagreeing_with(labels)


def plain_capital(ratio, theta, answers, label, n_classes):
    """The smallest capital against any rival, vote by vote; `ratio` is what each copy weighs, at most its largest."""
    largest, found = max(ratio[1], 1.5 * theta), []
    for rival in set(range(n_classes)) - {label}:
        x = ratio[0] * ((answers != label) + 1.0 * (answers == rival)) / 2
        sizes = FRACTIONS / (largest - theta)
        found.append(np.mean(np.prod(1 + sizes[:, None] * (theta - x), axis=1)))
    return min(found)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_capitals_are_those_of_the_votes_one_by_one(n_classes):
    rng = np.random.default_rng(n_classes)
    flips, answers = (
        rng.random((150, 11)) < 0.4,
        rng.choice(n_classes, (150, 5), p=[0.8, *[0.2 / (n_classes - 1)] * (n_classes - 1)]),
    )
    labels = np.array([0, 0, 0, 1, 0])
    evidence = JointEvidence(ballots(flips, answers, labels.tolist()), AXES, n_classes)
    looked = 0
    for blocks in ATTACKS:
        for group in group_attacks(AXES, blocks):
            found = np.concatenate(list(evidence.capitals(group, inf)))
            for row, capitals in enumerate(found):
                ratio, largest = np.ones(150), 1.0
                for site in group.attack(AXES, row):
                    law = AXES[site > 5].law
                    ratio = ratio * np.where(flips[:, site], law.shown[0], law.stayed)
                    largest *= max(law.shown[0], law.stayed)
                for target, capital in enumerate(capitals):
                    plain = plain_capital((ratio, largest), 0.5, answers[:, target], labels[target], n_classes)
                    assert capital == pytest.approx(plain, rel=1e-4)
                    looked += 1
    assert looked == 5 * 11
    (clean,) = evidence.capitals(None, inf)
    for target, capital in enumerate(clean[0]):
        plain = plain_capital((np.ones(150), 1.0), 0.5, answers[:, target], labels[target], n_classes)
        assert capital == pytest.approx(plain, rel=1e-4)


def test_capitals_of_typed_sites_are_those_of_the_votes_one_by_one():
    """Three sites with three values: an attack gives one of them another value."""
    noise = sc.Noise(all=sc.Categorical(0.4, 3))
    world = ValuedWorld(noise, ["all"] * 3, (0, 1, 2))
    rng = np.random.default_rng(1)
    drawn = world.vectors[rng.choice(len(world.vectors), size=200, p=world.masses())]
    flipped, answers = drawn != world.clean, rng.choice(3, (200, 2), p=[0.7, 0.2, 0.1])
    shown = ShownFlips(np.packbits(flipped, axis=1, bitorder="little"), drawn[flipped])
    kept = Ballots.of_chunk(None, 3, 200, answers, [shown]).disagreeing_with([0, 0])
    axes = world.axes
    evidence = JointEvidence(kept, axes, 3)
    (group,) = group_attacks(axes, [axes[0].attacked(range(6))[:, None]])
    (found,) = evidence.capitals(group, inf)
    for row, capitals in enumerate(found):
        vector = world.attacked(*describe_attack(axes, group.attack(axes, row)))
        ratios = world.masses(vector) / world.masses()
        numbers = drawn @ [9, 3, 1]
        for target, capital in enumerate(capitals):
            plain = plain_capital((ratios[numbers], ratios.max()), 0.5, answers[:, target], 0, 3)
            assert capital == pytest.approx(plain, rel=1e-4)


def test_blocks_and_capitals_that_are_enough_change_no_k(monkeypatch):
    rng = np.random.default_rng(3)
    flips, answers = rng.random((400, 11)) < 0.4, rng.choice(3, (400, 6), p=[0.66, 0.2, 0.14])
    evidence = JointEvidence(ballots(flips, answers, [0] * 6), AXES, 3)
    groups = [group for blocks in ATTACKS for group in group_attacks(AXES, blocks)]
    delta = Fraction(1, 10)
    whole = [changed_at_most(next(evidence.capitals(group, inf)), delta).tolist() for group in groups]
    monkeypatch.setattr(collective, "MAX_CAPITALS", 7)
    for enough in (inf, 6 / float(delta)):
        parts = [
            [k for block in evidence.capitals(group, enough) for k in changed_at_most(block, delta).tolist()]
            for group in groups
        ]
        assert parts == whole
    assert len({k for each in whole for k in each}) > 1


def test_k_is_that_of_all_subsets():
    rng = np.random.default_rng(4)
    seen = set()
    for _ in range(300):
        capitals = np.exp(rng.normal(2, 2, (1, 5)))
        passes = [all(sum(some) >= (k + 1) * 10 for some in combinations(capitals[0], k + 1)) for k in range(5)]
        (k,) = changed_at_most(capitals, Fraction(1, 10))
        assert k == (passes.index(True) if any(passes) else 5)
        assert all(passes[k:])
        seen.add(int(k))
    assert seen == {0, 1, 2, 3, 4, 5}


def test_targets_without_capital_count_as_changed():
    assert changed_at_most(np.array([[0, 0, 1e9, 1e9]]), Fraction(1, 100)).tolist() == [2]
    assert changed_at_most(np.zeros((2, 3)), Fraction(1, 100)).tolist() == [3, 3]
    assert changed_at_most(np.full((1, 3), 99.9), Fraction(1, 100)).tolist() == [3]
    assert changed_at_most(np.full((1, 3), 100.1), Fraction(1, 100)).tolist() == [0]
