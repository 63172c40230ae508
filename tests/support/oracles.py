"""The mathematics again, as plainly as possible: exact fractions, every cell listed, nothing clever.

What the tests compare with. Nothing here imports the code under test but the descriptions (`Channel`, `Noise`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

import starcert as sc
from starcert.math.channels import Channel, Product

HALF = Fraction(1, 2)


def bit_channel(clean: Fraction, attacked: Fraction) -> Channel:
    """The channel of a bit that agrees with the attacked graph with these probabilities, one on either side."""
    return Channel([(1 - clean, 1 - attacked), (clean, attacked)])


def cells(channels: list[Channel], radius: tuple[int, ...]) -> list[tuple[Fraction, Fraction]]:
    """Clean and attacked mass of every cell of the product, none merged (Proposition 3 of the paper)."""

    def ways(counts: tuple[int, ...]) -> int:
        return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))

    def mass(counts: tuple[int, ...], masses: list[Fraction]) -> Fraction:
        return ways(counts) * math.prod((p**k for p, k in zip(masses, counts, strict=True)), start=Fraction(1))

    axes = []
    for channel, n in zip(channels, radius, strict=True):
        sides = [[masses[side] for masses in channel.outcomes] for side in (0, 1)]
        axes.append([tuple(mass(counts, side) for side in sides) for counts in shared(n, len(channel.outcomes))])
    return [
        (
            math.prod((r for r, _ in combination), start=Fraction(1)),
            math.prod((q for _, q in combination), start=Fraction(1)),
        )
        for combination in product(*axes)
    ]


def shared(total: int, among: int) -> list[tuple[int, ...]]:
    """Every way to share a total."""
    if among == 1:
        return [(total,)]
    return [(first, *others) for first in range(total + 1) for others in shared(total - first, among - 1)]


def ascending(listed: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """In ascending order of the ratio attacked / clean; empty cells left out."""
    return sorted((c for c in listed if c != (0, 0)), key=lambda c: (c[0] == 0, c[1] / c[0] if c[0] else 0))


def rho_lower(listed: list[tuple[Fraction, Fraction]], p: Fraction) -> Fraction:
    """min Σ q·h subject to Σ r·h = p, filled greedily."""
    filled = Fraction(0)
    for r, q in ascending(listed):
        if r >= p and r > 0:
            return filled + q * p / r
        filled, p = filled + q, p - r
    return filled


def rho_upper(listed: list[tuple[Fraction, Fraction]], p: Fraction) -> Fraction:
    """max Σ q·h subject to Σ r·h = p, filled greedily from the other end."""
    filled = Fraction(0)
    for r, q in reversed(ascending(listed)):
        if r > 0 and r >= p:
            return filled + q * p / r
        filled, p = filled + q, p - r
    return filled


def slack(listed: list[tuple[Fraction, Fraction]]) -> Fraction:
    """1 − (least p with ρ_low(p) ≥ 1/2); 0 if there is none."""
    p = filled = Fraction(0)
    for r, q in ascending(listed):
        if r > 0 and filled + q >= HALF:
            return 1 - p - r * (HALF - filled) / q
        p, filled = p + r, filled + q
    return Fraction(0)


def binomial_tail(count: int, total: int, p: Fraction) -> Fraction:
    """P(Bin(total, p) ≤ count)."""
    return sum((math.comb(total, j) * p**j * (1 - p) ** (total - j) for j in range(count + 1)), Fraction(0))


def random_noise(rng: np.random.Generator, n_axes: int) -> sc.Noise:
    """A noise with so many axes: moderate, small, large and extreme probabilities, both kinds of law."""

    def probability() -> float:
        kind = rng.integers(8)
        if kind == 0:
            return float(rng.choice([0.0, 0.5, 1.0]))
        if kind == 1:
            return float(10 ** rng.uniform(-6, -1))
        return float(rng.uniform(0.01, 0.99))

    laws: dict[str, sc.Flip] = {}
    axes = 0
    while axes < n_axes:
        two = n_axes - axes >= 2 and rng.random() < 0.4
        laws[f"region{axes}"] = sc.Flip(delete=probability(), add=probability()) if two else sc.Flip(probability())
        axes += 1 + two
    return sc.Noise(laws)


def random_radius(rng: np.random.Generator, n_axes: int, most_cells: int = 400) -> tuple[int, ...]:
    """A radius whose product has few enough cells to be listed in fractions."""
    while True:
        radius = tuple(int(r) for r in rng.integers(0, 14 if n_axes <= 2 else 7, size=n_axes))
        if math.prod(r + 1 for r in radius) <= most_cells:
            return radius


def one_layer_regions(added: int, deleted: int, plus: Fraction, minus: Fraction) -> list[tuple[Fraction, Fraction]]:
    """The regions of Bojchevski, Klicpera and Günnemann (2020) for binary data, by their generating function.

    The number q of flips among the attacked sites decides the ratio: (plus/(1−minus))^(q−deleted) ·
    (minus/(1−plus))^(q−added) is clean to attacked mass. On the clean side q is Poisson-binomial: `added` sites flip
    with plus, `deleted` ones with minus, and the masses are the coefficients of Π(1−p + p·x).
    """
    masses = [Fraction(1)]
    for p in [plus] * added + [minus] * deleted:
        masses = [(1 - p) * a + p * b for a, b in zip([*masses, Fraction(0)], [Fraction(0), *masses], strict=True)]
    ratios = [
        (plus / (1 - minus)) ** (q - deleted) * (minus / (1 - plus)) ** (q - added) for q in range(added + deleted + 1)
    ]
    return [(mass, mass / ratio) for mass, ratio in zip(masses, ratios, strict=True)]


def symmetric(p: Fraction, k: int) -> Channel:
    """A site of k values that moves to each other one with p / (k − 1)."""
    other = p / (k - 1)
    return Channel([(1 - p, other), (other, 1 - p), *[(other, other)] * (k - 2)])


def random_channel(rng: np.random.Generator, n_outcomes: int) -> Channel:
    """Masses that are whole numbers over a thousand; some of them zero on one side or on both."""

    def side() -> list[Fraction]:
        weights = rng.integers(0, 20, size=n_outcomes) * (rng.random(n_outcomes) < 0.85)
        weights[rng.integers(n_outcomes)] += 1
        return [Fraction(int(w), int(weights.sum())) for w in weights]

    return Channel(zip(side(), side(), strict=True))


def random_product(rng: np.random.Generator) -> Product:
    """One to three channels with two to five outcomes."""
    kinds = rng.integers(4, size=rng.integers(1, 4))
    found = [
        symmetric(Fraction(rng.uniform(0.01, 0.9)), int(rng.integers(3, 7))) if kind == 0 else None for kind in kinds
    ]
    return Product(each or random_channel(rng, int(kind) + 2) for each, kind in zip(found, kinds, strict=True))


def random_radius_of(rng: np.random.Generator, law: Product, most_cells: int = 600) -> tuple[int, ...]:
    """A small radius of a product, with at most this many cells."""
    while True:
        radius = tuple(int(r) for r in rng.integers(0, 7, size=len(law.channels)))
        sizes = [math.comb(r + len(c.outcomes) - 1, r) for c, r in zip(law.channels, radius, strict=True)]
        if math.prod(sizes) <= most_cells:
            return radius


def random_cases(flips: int, others: int) -> list[tuple[int | None, int]]:
    """Seeds of `random_case`: so many for flips on one to five axes each, and so many for other laws (None)."""
    return [(n, seed) for n in range(1, 6) for seed in range(flips)] + [(None, seed) for seed in range(others)]


def random_case(rng: np.random.Generator, n_axes: int | None, most_cells: int = 400) -> tuple[Product, tuple[int, ...]]:
    """A product and a radius of it: of flips on so many axes, or of laws of two to five outcomes."""
    law = random_product(rng) if n_axes is None else random_noise(rng, n_axes).product
    return law, random_radius_of(rng, law, most_cells) if n_axes is None else random_radius(rng, n_axes, most_cells)


def relative_error(value: float, truth: Fraction) -> float:
    """How far a float is from a fraction, relative to it."""
    if truth == 0:
        return 0.0 if value == 0 else math.inf
    return abs(float((Fraction(value) - truth) / truth))
