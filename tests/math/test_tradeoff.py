import math
from fractions import Fraction

import numpy as np
import oracles
import pytest

import starcert as sc

KNOWN = [
    (sc.Noise(motif=0.02, random=0.45), (1, 45), "0.998124056159"),
    (sc.Noise(motif=0.02, random=0.45), (2, 0), "0.999791753436"),
    (sc.Noise(bonds=sc.Flip(delete=0.04, add=0.2)), (4, 0), "0.9999432"),
    (sc.Noise(bonds=sc.Flip(delete=0.04, add=0.2)), (0, 5), "0.9998037707"),
]


def relative_error(value: float, exact: Fraction) -> float:
    if exact == 0:
        return 0.0 if value == 0 else math.inf
    return abs(float((Fraction(value) - exact) / exact))


@pytest.mark.parametrize(("noise", "radius", "least_p"), KNOWN)
def test_known_values(noise, radius, least_p):
    """Digits as published; what follows them is unknown, hence up to one unit of the last one more."""
    least = 1 - Fraction(sc.slack(noise, radius))
    digits = Fraction(least_p)
    unit = Fraction(1, 10 ** len(least_p.partition(".")[2]))
    assert abs(least - digits) < unit


@pytest.mark.parametrize("n_axes", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(25))
def test_slack_and_both_rhos_against_fractions(n_axes, seed):
    rng = np.random.default_rng([n_axes, seed])
    noise = oracles.random_noise(rng, n_axes)
    radius = oracles.random_radius(rng, n_axes)
    cells = oracles.cells(list(noise.product.channels), radius)
    assert relative_error(sc.slack(noise, radius), oracles.slack(cells)) <= 1e-9
    for p in (0.0, 1.0, 0.5, rng.uniform(), 10 ** rng.uniform(-9, 0), 1 - 10 ** rng.uniform(-9, 0), 1e-20):
        assert relative_error(sc.rho_lower(noise, radius, p), oracles.rho_lower(cells, Fraction(p))) <= 1e-9
        assert relative_error(sc.rho_upper(noise, radius, p), oracles.rho_upper(cells, Fraction(p))) <= 1e-9


def test_slacks_down_to_1e_60_keep_nine_digits():
    smallest = 1.0
    for noise, radii in [
        (sc.Noise(a=0.02), [(r,) for r in range(1, 40, 3)]),
        (sc.Noise(a=0.02, b=0.3), [(r, 10) for r in range(1, 36, 5)]),
        (sc.Noise(a=sc.Flip(delete=0.01, add=0.05)), [(r, r) for r in range(1, 22, 4)]),
        (sc.Noise(a=1e-9, b=0.1), [(1, 3), (3, 3), (6, 3)]),
    ]:
        for radius in radii:
            exact = oracles.slack(oracles.cells(list(noise.product.channels), radius))
            assert relative_error(sc.slack(noise, radius), exact) <= 1e-9
            smallest = min(smallest, float(exact))
    assert 0 < smallest < 1e-54


def test_slack_below_the_range_of_what_floats_can_sum_is_still_right():
    noise = sc.Noise(a=1e-100)
    for radius in (1, 2, 3):
        exact = oracles.slack(oracles.cells(list(noise.product.channels), (radius,)))
        assert relative_error(sc.slack(noise, radius), exact) <= 1e-9


def test_a_cut_where_digits_cancel_is_handed_to_the_proof():
    """Half of the attacked mass, but for 1e-12, is never shown by the clean side: 1/2 − Q loses twelve digits."""
    noise = sc.Noise(a=sc.Flip(delete=0.5 + 1e-12, add=0.0))
    exact = oracles.slack(oracles.cells(list(noise.product.channels), (0, 1)))
    assert 0 < exact < 1e-11
    assert relative_error(sc.slack(noise, (0, 1)), exact) <= 1e-15


@pytest.mark.parametrize(
    ("law", "radius", "expected"),
    [
        (sc.Flip(0.0), (1,), 0.0),  # one flip is always seen
        (sc.Flip(1.0), (1,), 0.0),
        (sc.Flip(0.5), (1000,), 0.5),  # never seen
        (sc.Flip(0.3), (0,), 0.5),
        (sc.Flip(delete=0.25, add=0.0), (1, 0), 0.125),
        (sc.Flip(delete=0.25, add=0.0), (0, 1), 0.0),  # an added edge always shows, unless it is deleted
        (sc.Flip(delete=0.75, add=0.0), (0, 1), 1 / 3),  # it stays in 1/4 of the copies; 1/4 more cost 1/3
        (sc.Flip(delete=0.0, add=0.25), (0, 1), 0.125),
        (sc.Flip(delete=1.0, add=0.0), (3, 4), 0.5),  # everything is deleted: both sides show the empty graph
        (sc.Flip(delete=0.3, add=0.7), (9, 9), 0.5),  # the noisy bit does not depend on the clean one
    ],
)
def test_edges_of_the_law(law, radius, expected):
    assert sc.slack(sc.Noise(a=law), radius) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.49])
def test_more_than_one_half_mirrors_less(p):
    mirrored = 1 - p
    assert sc.slack(sc.Noise(a=mirrored, b=0.2), (4, 3)) == pytest.approx(
        sc.slack(sc.Noise(a=p, b=0.2), (4, 3)), rel=1e-12
    )


def test_regions_with_one_law_act_as_one_region():
    assert sc.slack(sc.Noise(a=0.1, b=0.1), (3, 4)) == sc.slack(sc.Noise(all=0.1), 7)


ODD = [
    # p or 1 − p is 0, and masses that underflow must not be taken for cells that are missing
    ("upper", sc.Noise(a=1e-30), (11,), 0.0),
    ("lower", sc.Noise(a=sc.Flip(delete=1e-300, add=0.5)), (2, 0), 1.0),
    ("lower", sc.Noise(a=sc.Flip(delete=1e-40, add=0.0)), (9, 0), 1.0),
    # the filling stops at the very edge of a cell, and the next one has another ratio by far
    ("slack", sc.Noise(a=sc.Flip(delete=1.336753856493478e-22, add=0.5)), (1, 1), None),
    ("slack", sc.Noise(a=sc.Flip(delete=0.0, add=math.sqrt(0.5))), (2, 0), None),
    ("lower", sc.Noise(a=sc.Flip(delete=0.001, add=0.9999999999999997)), (9, 4), 0.008964083874125905),
    # the first enclosure is too wide to be read
    ("upper", sc.Noise(a=1e-38), (1,), 1e-38),
    ("slack", sc.Noise(a=sc.Flip(delete=0.5, add=1e-300), b=0.5231808214422967), (3, 1, 6), None),
    # ratios within 1e-30 of one
    ("slack", sc.Noise(a=sc.Flip(delete=1e-40, add=1.0)), (1, 1), None),
    ("slack", sc.Noise(a=sc.Flip(delete=1.0, add=1e-30)), (1, 1), None),
]


@pytest.mark.parametrize(("what", "noise", "radius", "p"), ODD)
def test_odd_laws_keep_nine_digits_too(what, noise, radius, p):
    cells = oracles.cells(list(noise.product.channels), radius)
    if what == "slack":
        found, exact = sc.slack(noise, radius), oracles.slack(cells)
    elif what == "lower":
        found, exact = sc.rho_lower(noise, radius, p), oracles.rho_lower(cells, Fraction(p))
    else:
        found, exact = sc.rho_upper(noise, radius, p), oracles.rho_upper(cells, Fraction(p))
    assert relative_error(found, exact) <= 1e-9


def test_tiny_probabilities_at_large_radii():
    """Radius 3000 is beyond fractions: windows and precision must grow with the smallness of p."""
    tiny, smaller = (sc.rho_upper(sc.Noise(a=0.45), 3000, p) for p in (1e-200, 1e-300))
    assert 1e-154 < smaller < tiny < 1e-83
    assert sc.rho_upper(sc.Noise(a=0.45), 3000, 0.0) == 0.0


def test_near_equal_ratios_do_not_chain_into_one():
    """32,001 ratios, each within rounding of the next but not of the last, must not merge into one cell."""
    d = 1.5e-15
    with_near_free_axis = sc.rho_upper(
        sc.Noise(a=0.5 - 1.2e-16, b=0.5 - 1450 * d, c=0.5 - d), (32000, 16000, 16000), 1e-3
    )
    assert with_near_free_axis == pytest.approx(
        sc.rho_upper(sc.Noise(b=0.5 - 1450 * d, c=0.5 - d), (16000, 16000), 1e-3), rel=1e-11
    )


@pytest.mark.parametrize("radius", [10**4, 10**6, 10**8])
def test_large_radii_follow_the_normal_limit(radius):
    """For p near 1/2 the log ratio is nearly normal: slack ≈ Φ(−μ) with μ = 2·√R·(1 − 2p)."""
    p = 0.5 - 1 / math.sqrt(radius)
    normal = 0.5 * math.erfc(2 * math.sqrt(radius) * (1 - 2 * p) / math.sqrt(2))
    assert sc.slack(sc.Noise(a=p), radius) == pytest.approx(normal, rel=20 / math.sqrt(radius))
