"""The guarantee on small worlds in which everything is listed: every object, every noisy copy, every attack.

A world knows, of all its objects, `weights` (with which chance each becomes each other one by noise, whole numbers over
`one`), `attacks` (how many flips lead from one to the other, on each axis), `allowed` (whether any do), `capacities`
and `noise`. With whole numbers over a power of two the smoothed classifier is known exactly, and so is whether a
certificate tells the truth.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np
import oracles
import pytest

import starcert as sc
from starcert.claims.slack import slacks_of
from starcert.math.confidence import Bounds


class Listed(Protocol):
    """A world in which everything is listed."""

    noise: sc.Noise
    one: int
    weights: np.ndarray
    attacks: np.ndarray
    allowed: np.ndarray
    capacities: np.ndarray


def cells(world: Listed, clean: int, attacked: int) -> list[tuple[Fraction, Fraction]]:
    """Every noisy object by itself, with its mass on either side."""
    pairs = zip(world.weights[clean].tolist(), world.weights[attacked].tolist(), strict=True)
    return [(Fraction(p, world.one), Fraction(q, world.one)) for p, q in pairs]


def classifiers(world: Listed, rng: np.random.Generator, n_classes: int, how_many: int) -> Iterator[np.ndarray]:
    """Random ones, and the worst ones: those that put the likeliest objects after an attack, just enough, elsewhere."""
    n = len(world.weights)
    for i in range(how_many):
        answers = rng.choice(n_classes, size=n, p=rng.dirichlet(np.full(n_classes, 0.5)))
        if i % 2:
            clean, attacked = rng.integers(n, size=2)
            ratio = (world.weights[attacked] + 1e-9) / (world.weights[clean] + 1e-9)
            likeliest = np.argsort(ratio)[::-1]
            enough = np.searchsorted(np.cumsum(world.weights[attacked][likeliest]), world.one * rng.uniform(0.5, 0.7))
            answers[answers < 2] = 0
            answers[likeliest[: enough + 1]] = 1
        yield answers


def check_every_certificate(world: Listed, n_classes: int, how_many: int) -> None:
    rng = np.random.default_rng(n_classes)
    limits = tuple(world.capacities.max(axis=0).tolist())
    certified_attacks = tight = 0
    for answers in classifiers(world, rng, n_classes, how_many):
        votes = world.weights @ (answers[:, None] == np.arange(n_classes))
        ranked = np.sort(votes, axis=1)
        labels = votes.argmax(axis=1)
        # Whole numbers over a power of two are floats: these bounds are the truth, not estimates of it.
        bounds = Bounds(labels, (world.one - ranked[:, -1]) / world.one, ranked[:, -2] / world.one, None, n_classes)
        unique = ranked[:, -1] > ranked[:, -2]
        for x, certificate in enumerate(sc.certify(bounds, world.noise, max_radius=limits)):
            assert certificate.abstained != unique[x]
            assert certificate.frontier.verified
            maximal = np.array(certificate.frontier.radii, dtype=int).reshape(-1, len(world.noise.axes))
            covered = (world.attacks[x][:, None, :] <= maximal[None]).all(axis=2).any(axis=1) & world.allowed[x]
            wrong = covered & ~(unique & (labels == labels[x]))
            assert not wrong.any(), f"object {x} is certified, but {np.flatnonzero(wrong)[0]} has another label"
            certified_attacks += covered.sum() - covered[x]
            tight += (~covered & world.allowed[x] & (labels != labels[x])).sum()
    assert certified_attacks > how_many  # clean objects alone would be trivial
    assert tight > 0  # some attacks do change the answer, and are not certified


def attacks(world: Listed, seed: int, how_many: int = 25) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(len(world.weights), size=(how_many, 2)).tolist()
    return [(clean, attacked) for clean, attacked in pairs if world.allowed[clean, attacked]]


def check_slack_is_attained(world: Listed) -> None:
    """With less than slack against it, a class keeps its majority under every test; with slack, it can lose it."""
    slacks = slacks_of(world.noise.product)
    for clean, attacked in attacks(world, 1):
        truth = oracles.slack(cells(world, clean, attacked))
        radius = tuple(world.attacks[clean, attacked].tolist())
        bracket = slacks.bracket(radius)
        assert Fraction(bracket.below) < truth <= Fraction(bracket.at_least) or truth == 0 >= bracket.below
        assert slacks.value(radius) == pytest.approx(float(truth), rel=1e-9)


def check_rho_is_attained(world: Listed) -> None:
    """Fill object by object in ascending ratio; where that stops, ρ_low must stand, neither above nor below."""
    rng = np.random.default_rng(2)
    for clean, attacked in attacks(world, 3):
        radius = tuple(world.attacks[clean, attacked].tolist())
        filled = oracles.ascending(cells(world, clean, attacked))
        for size in rng.integers(1, len(filled) + 1, size=6):
            if filled[size - 1][0]:
                p, q = (float(sum(cell[side] for cell in filled[:size])) for side in (0, 1))
                assert sc.rho_lower(world.noise, radius, p) == pytest.approx(q, abs=1e-12)
                assert sc.rho_upper(world.noise, radius, 1 - p) == pytest.approx(1 - q, abs=1e-12)


@cache
def worst_steps(cells: tuple[tuple[int, int], ...], one: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Of the worst classifiers of an attack, the last that loses its majority and the first that keeps it.

    They answer A on the objects of smallest ratio attacked/clean, one object more each. For both the chances of A at
    the clean and at the attacked object, times `one`.
    """
    loses = (0, 0)
    for p, q in oracles.ascending([(Fraction(p), Fraction(q)) for p, q in cells]):
        keeps = (loses[0] + int(p), loses[1] + int(q))
        if 2 * keeps[1] > one:
            return loses, keeps
        loses = keeps
    raise AssertionError("all objects together have every chance")


def check_the_bound_is_attained(world: Listed) -> None:
    """Every object, every attack: the certificate begins at the first worst classifier that withstands the attack.

    The one before it, which answers A on one noisy object less, is a counterexample: it has the class A at the clean
    object, and not at the attacked one. So no smaller p_A could have been enough.
    """
    weights = world.weights.tolist()
    found = set()
    for clean, attacked in np.argwhere(world.allowed).tolist():
        if attacked != clean:  # many attacks have the same cells, and are looked at once
            cells = tuple(sorted(zip(weights[clean], weights[attacked], strict=True)))
            found.add((tuple(world.attacks[clean, attacked].tolist()), *worst_steps(cells, world.one)))
    failures = {p: 1 - p / world.one for _, loses, keeps in found for p in (loses[0], keeps[0])}
    told = np.array(list(failures.values()))
    limits = tuple(world.capacities.max(axis=0).tolist())
    certificates = sc.certify(Bounds(np.zeros(len(told), int), told, told, None, 2), world.noise, max_radius=limits)
    of_chance = dict(zip(failures, certificates, strict=True))
    for radius, loses, keeps in found:
        assert 2 * loses[1] <= world.one < 2 * keeps[1]
        assert not of_chance[loses[0]].certified(radius)
        # An object that the noise never makes of the clean one adds nothing to p_A: no p_A is enough then.
        assert of_chance[keeps[0]].certified(radius) == (keeps[0] > loses[0])
    assert len({radius for radius, *_ in found}) >= 5
    changed = sum(2 * loses[0] > world.one for _, loses, _ in found)
    assert changed > len(found) / 2  # as a rule A is the answer at the clean object
