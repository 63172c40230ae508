import math
from fractions import Fraction

import numpy as np
import oracles
import pytest
from flint import arb, fmpq
from scipy.optimize import linprog

import starcert as sc
from starcert.math import exact
from starcert.math.channels import Product
from starcert.math.exact import Enclosure, Prover
from starcert.math.margins import Tradeoff


def fraction(x: arb | fmpq) -> Fraction:
    x = x if isinstance(x, fmpq) else x.fmpq()
    return Fraction(int(x.p), int(x.q))


def rungs(law: Product, radius: tuple[int, ...], p: Fraction) -> list[Enclosure]:
    start = Tradeoff(law).cut(radius, float(p), float(1 - p)).log_ratio
    return list(Prover(law).enclosures(radius, p, start))


@pytest.mark.parametrize(("n_axes", "seed"), oracles.random_cases(15, 40))
def test_every_rung_encloses_the_truth_and_the_last_one_is_it(n_axes, seed):
    rng = np.random.default_rng([7, n_axes or 22, seed])
    law, radius = oracles.random_case(rng, n_axes, most_cells=150)
    cells = oracles.cells(list(law.channels), radius)
    for p in (Fraction(1, 2), Fraction(rng.uniform()), 1 - Fraction(10 ** rng.uniform(-12, -1)), Fraction(1)):
        truth = oracles.rho_lower(cells, p)
        ends = [tuple(map(fraction, each)) for each in rungs(law, radius, p)]
        assert all(lower <= truth <= upper for lower, upper in ends)
        assert ends[0][1] - ends[0][0] <= truth * Fraction(1, 2**75)
        assert ends[-1] == (truth, truth)


@pytest.mark.parametrize("seed", range(10))
def test_a_wrong_start_costs_time_not_soundness(seed):
    rng = np.random.default_rng([8, seed])
    noise = oracles.random_noise(rng, 2)
    radius = oracles.random_radius(rng, 2)
    truth = oracles.rho_lower(oracles.cells(list(noise.product.channels), radius), Fraction(1, 2))
    for start in (-math.inf, -50.0, -1.0, 0.0, 3.0, 80.0):
        enclosure = next(Prover(noise.product).enclosures(radius, Fraction(1, 2), start))
        assert fraction(enclosure.lower) <= truth <= fraction(enclosure.upper)
        assert fraction(enclosure.upper) - fraction(enclosure.lower) <= truth * Fraction(1, 2**75)


def test_low_precision_widens_the_enclosure_and_fractions_close_it(monkeypatch):
    monkeypatch.setattr(exact, "BITS", (24,))
    noise, p = sc.Noise(a=0.1, b=0.3), Fraction(9, 10)
    truth = oracles.rho_lower(oracles.cells(list(noise.product.channels), (5, 7)), p)
    rough, last = rungs(noise.product, (5, 7), p)
    assert fraction(rough.lower) < truth < fraction(rough.upper)
    assert fraction(last.lower) == fraction(last.upper) == truth


def test_the_bounds_hold_for_the_linear_program_itself():
    """A solver that knows nothing of greedy filling finds the same minimum."""
    noise = sc.Noise(a=0.15, b=sc.Flip(delete=0.3, add=0.05))
    cells = oracles.cells(list(noise.product.channels), (2, 1, 2))
    r, q = (np.array([float(c[side]) for c in cells]) for side in (0, 1))
    for p in (0.2, 0.7, 0.97):
        solved = linprog(q, A_eq=r[None, :], b_eq=[p], bounds=(0, 1)).fun
        (enclosure, *_) = rungs(noise.product, (2, 1, 2), Fraction(p))
        assert float(enclosure) == pytest.approx(solved, abs=1e-9)


def test_mass_outside_of_the_windows_widens_the_enclosure_and_never_moves_it(monkeypatch):
    """Windows far too narrow on purpose: a third of the mass is missing, and the bounds must know."""
    noise = sc.Noise(a=0.3, b=0.4)
    radius = (20, 6)
    cells = oracles.cells(list(noise.product.channels), radius)

    def narrow(n, p, bits=0):
        return max(0, round(n * p) - 2), min(n, round(n * p) + 2)

    monkeypatch.setattr(exact, "window", narrow)
    for p in (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)):
        truth = oracles.rho_lower(cells, p)
        start = Tradeoff(noise.product).cut(radius, float(p), float(1 - p)).log_ratio
        prover = Prover(noise.product)
        with exact.ctx.workprec(128):
            enclosure = prover._enclosure(radius, p, start, 128)
        if enclosure is not None:  # None: there is not enough mass left to fill p at all
            assert fraction(enclosure.lower) < truth < fraction(enclosure.upper)
    assert enclosure is None


def test_large_radii_are_enclosed_within_windows():
    noise = sc.Noise(a=0.4999, b=0.02)
    (enclosure, *_) = rungs(noise.product, (200_000, 3), Fraction(1, 2))
    tradeoff = Tradeoff(noise.product).cut((200_000, 3), 0.5, 0.5)
    assert float(enclosure) == pytest.approx(tradeoff.filled, rel=1e-9)
    assert fraction(enclosure.upper) - fraction(enclosure.lower) < fraction(enclosure.lower) / 2**80


def test_the_working_precision_of_flint_is_left_as_it_was():
    before = exact.ctx.prec
    rungs(sc.Noise(a=0.1).product, (3,), Fraction(1, 2))
    assert exact.ctx.prec == before


def test_a_cell_that_may_not_hold_what_is_missing_is_not_trusted_to():
    """0.55 may or may not fit into a mass of 0.5 ± 0.1, so the next cell, with its larger ratio, must help."""
    balls = [
        exact._BandCell(0.0, arb(0.5, 0.1), arb(0.5, 0.1), arb(1)),
        exact._BandCell(1.0, arb(0.5), arb(2), arb(4)),
    ]
    assert exact._primal(balls, arb(0.55)) >= 0.4 + 4 * 0.15
    assert exact._primal(balls[:1], arb(0.55)) is None
    assert exact._primal(balls, arb(0.2)) < 0.31
