import math
from fractions import Fraction

import numpy as np
import oracles
import pytest

import starcert as sc
from starcert.math import exact
from starcert.math.channels import Product
from starcert.math.margins import Bracket, MultiClass, Slacks, Tradeoff, TwoClass


@pytest.mark.parametrize("seed", range(40))
def test_the_multi_class_margin_against_fractions(seed):
    rng = np.random.default_rng([11, seed])
    n_axes = int(rng.integers(1, 4))
    noise, radius = oracles.random_noise(rng, n_axes), oracles.random_radius(rng, n_axes, most_cells=60)
    failure = float(rng.uniform(0, 0.7))
    other = float(rng.uniform(0, failure))
    cells = oracles.cells(list(noise.product.channels), radius)
    lower = oracles.rho_lower(cells, 1 - Fraction(failure))
    upper = oracles.rho_upper(cells, Fraction(other))
    margin = MultiClass(Tradeoff(noise.product), failure, other)
    assert margin.proves(radius) is (lower > upper)
    assert margin.suggests(radius) is (lower > upper)


@pytest.mark.parametrize("seed", range(20))
def test_with_p_b_at_its_largest_the_two_margins_are_one(seed):
    rng = np.random.default_rng([12, seed])
    noise = oracles.random_noise(rng, 2)
    failure = float(10 ** rng.uniform(-6, math.log10(0.6)))
    two, multi = TwoClass(Slacks(noise.product), failure), MultiClass(Tradeoff(noise.product), failure, failure)
    for radius in [(0, 0), (1, 0), (0, 1), (2, 3), (5, 1)]:
        assert two.proves(radius) is multi.proves(radius)


def test_multi_class_near_ties_are_decided_right():
    """The largest `other` that is certified, found by bisection in fractions, and its neighbours."""
    noise, radius, failure = sc.Noise(a=0.2, b=0.35), (1, 2), 0.125
    cells = oracles.cells(list(noise.product.channels), radius)
    lower = oracles.rho_lower(cells, 1 - Fraction(failure))
    low, high = 0.0, failure
    while math.nextafter(low, 1) < high:
        middle = (low + high) / 2
        if lower > oracles.rho_upper(cells, Fraction(middle)):
            low = middle
        else:
            high = middle
    assert 0 < low < failure
    assert MultiClass(Tradeoff(noise.product), failure, low).proves(radius) is True
    assert MultiClass(Tradeoff(noise.product), failure, high).proves(radius) is False


def test_a_multi_class_tie_is_not_certified():
    """One-way noise gives dyadic bounds: ρ_low(7/8) = 1/2 = ρ_up(1/8)."""
    law = Tradeoff(sc.Noise(a=sc.Flip(delete=0.25, add=0.0)).product)
    assert MultiClass(law, 0.125, 0.125).proves((1, 0)) is False
    assert MultiClass(law, 0.125, math.nextafter(0.125, 0)).proves((1, 0)) is True


def test_radius_zero_compares_the_bounds_themselves():
    law = Tradeoff(sc.Noise(a=0.1).product)
    assert MultiClass(law, 0.6, 0.39).proves((0,)) is True
    assert MultiClass(law, 0.625, 0.375).proves((0,)) is False


CASES = [
    (sc.Noise(motif=0.02, random=0.45), (1, 12)),
    (sc.Noise(motif=0.02, random=0.45), (2, 0)),
    (sc.Noise(a=0.1), (5,)),
    (sc.Noise(a=sc.Flip(delete=0.04, add=0.2)), (3, 2)),
    (sc.Noise(a=0.3, b=sc.Flip(delete=0.01, add=0.0)), (2, 1, 0)),
]


def certified(p_lower: float, noise: sc.Noise, radius: tuple[int, ...]) -> bool:
    return sc.certify(sc.Bounds.certain([p_lower]), noise)[0].certified(radius)


@pytest.mark.parametrize(("noise", "radius"), CASES)
def test_near_ties_are_decided_right(noise, radius):
    """p_lower at the float next to the threshold, and up to three units in the last place to either side."""
    slack = oracles.slack(oracles.cells(list(noise.product.channels), radius))
    nearest = float(1 - slack)
    candidates = {nearest}
    for direction in (0.0, 1.0):
        p = nearest
        for _ in range(3):
            p = math.nextafter(p, direction)
            candidates.add(p)
    verdicts = {certified(p, noise, radius) for p in candidates}
    assert verdicts == {True, False}
    for p in candidates:
        assert certified(p, noise, radius) == (1 - Fraction(p) < slack)


@pytest.mark.parametrize(
    ("noise", "radius", "threshold"),
    [
        (sc.Noise(a=0.1), (0,), 0.5),
        (sc.Noise(a=0.5), (9,), 0.5),
        (sc.Noise(a=sc.Flip(delete=0.25, add=0.0)), (1, 0), 0.875),
        (sc.Noise(a=sc.Flip(delete=0.25, add=0.0)), (4, 0), 1 - 2.0**-9),
        (sc.Noise(a=sc.Flip(delete=0.125, add=0.0), b=sc.Flip(delete=0.0, add=0.5)), (2, 0, 0, 3), 1 - 2.0**-10),
    ],
)
def test_a_bound_exactly_at_the_threshold_is_not_certified(noise, radius, threshold):
    assert not certified(threshold, noise, radius)
    assert not certified(math.nextafter(threshold, 0), noise, radius)
    assert certified(math.nextafter(threshold, 1), noise, radius)


def test_ties_that_balls_cannot_settle_are_settled_by_fractions(monkeypatch):
    """With 30 bits the slack 2⁻⁹ cannot be told from its neighbours unless its sums happen to be exact."""
    monkeypatch.setattr(exact, "BITS", (30,))
    noise, radius = sc.Noise(a=0.1, b=0.3), (2, 3)
    slack = oracles.slack(oracles.cells(list(noise.product.channels), radius))
    bracket = Slacks(noise.product).bracket(radius)
    assert Fraction(bracket.below) < slack <= Fraction(bracket.at_least)
    assert math.nextafter(bracket.below, 1) == bracket.at_least


def test_what_no_precision_settles_is_not_certified(monkeypatch):
    """Without fractions to fall back on, a bracket stays open, and open means no."""
    monkeypatch.setattr(exact, "BITS", (30,))
    monkeypatch.setattr(exact, "MAX_EXACT_RADIUS", 0)
    bracket = Slacks(sc.Noise(a=0.1, b=0.3).product).bracket((2, 3))
    middle = (bracket.below + bracket.at_least) / 2
    assert bracket.below < middle < bracket.at_least
    assert bracket.certifies(middle) is None
    assert bracket.certifies(bracket.below) is True
    assert bracket.certifies(bracket.at_least) is False


@pytest.mark.parametrize("seed", range(30))
def test_brackets_hold_no_float_inside(seed):
    rng = np.random.default_rng([9, seed])
    n_axes = int(rng.integers(1, 5))
    noise, radius = oracles.random_noise(rng, n_axes), oracles.random_radius(rng, n_axes)
    slack = oracles.slack(oracles.cells(list(noise.product.channels), radius))
    below, at_least = Slacks(noise.product).bracket(radius)
    assert Fraction(below) < slack <= Fraction(at_least)
    assert math.nextafter(below, math.inf) == at_least


def test_a_proof_is_made_once():
    slacks = Slacks(sc.Noise(a=0.1).product)
    first = slacks.bracket((3,))
    slacks._tradeoff.prover = None  # a second proof would fail
    assert slacks.bracket((3,)) is first


@pytest.mark.parametrize("failure", [0.0, 1e-300, 1e-9, 0.3])
def test_suggestions_agree_with_proofs(failure):
    slacks = Slacks(sc.Noise(a=0.2, b=1e-5).product)
    for radius in [(0, 0), (1, 0), (3, 1), (0, 60), (400, 0)]:
        assert TwoClass(slacks, failure).suggests(radius) == slacks.bracket(radius).certifies(failure)


def test_an_open_question_reads_as_none():
    assert Bracket(0.1, 0.3).certifies(0.2) is None


def test_a_proof_is_needed_at_the_slack_itself_and_not_far_from_it():
    slacks = Slacks(sc.Noise(a=0.02, b=0.3).product)
    slack = slacks.value((2, 3))
    assert TwoClass(slacks, slack).needs_proof((2, 3))
    assert not any(TwoClass(slacks, slack * factor).needs_proof((2, 3)) for factor in (1 - 1e-6, 1 + 1e-6))


KNOWN = [
    (sc.Noise(motif=0.02, random=0.45), (1, 45), "0.998124056159"),
    (sc.Noise(motif=0.02, random=0.45), (2, 0), "0.999791753436"),
    (sc.Noise(bonds=sc.Flip(delete=0.04, add=0.2)), (4, 0), "0.9999432"),
    (sc.Noise(bonds=sc.Flip(delete=0.04, add=0.2)), (0, 5), "0.9998037707"),
]


@pytest.mark.parametrize(("noise", "radius", "least_p"), KNOWN)
def test_known_values(noise, radius, least_p):
    """Digits as published; what follows them is unknown, hence up to one unit of the last one more."""
    least = 1 - Fraction(sc.slack(noise, radius))
    digits = Fraction(least_p)
    unit = Fraction(1, 10 ** len(least_p.partition(".")[2]))
    assert abs(least - digits) < unit


@pytest.mark.parametrize(("n_axes", "seed"), oracles.random_cases(25, 80))
def test_slack_and_both_rhos_against_fractions(n_axes, seed):
    law, radius = oracles.random_case(rng := np.random.default_rng([n_axes or 21, seed]), n_axes)
    cells = oracles.cells(list(law.channels), radius)
    assert oracles.relative_error(Slacks(law).value(radius), oracles.slack(cells)) <= 1e-9
    tradeoffs = Tradeoff(law)
    for p in (0.0, 1.0, 0.5, rng.uniform(), 10 ** rng.uniform(-9, 0), 1 - 10 ** rng.uniform(-9, 0), 1e-20):
        for ours, oracle in ((tradeoffs.lower, oracles.rho_lower), (tradeoffs.upper, oracles.rho_upper)):
            assert oracles.relative_error(ours(radius, p, 1 - p), oracle(cells, Fraction(p))) <= 1e-9


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
            assert oracles.relative_error(sc.slack(noise, radius), exact) <= 1e-9
            smallest = min(smallest, float(exact))
    assert 0 < smallest < 1e-54


def test_slack_below_the_range_of_what_floats_can_sum_is_still_right():
    noise = sc.Noise(a=1e-100)
    for radius in (1, 2, 3):
        exact = oracles.slack(oracles.cells(list(noise.product.channels), (radius,)))
        assert oracles.relative_error(sc.slack(noise, radius), exact) <= 1e-9


def test_a_cut_where_digits_cancel_is_handed_to_the_proof():
    """Half of the attacked mass, but for 1e-12, is never shown by the clean side: 1/2 − Q loses twelve digits."""
    noise = sc.Noise(a=sc.Flip(delete=0.5 + 1e-12, add=0.0))
    exact = oracles.slack(oracles.cells(list(noise.product.channels), (0, 1)))
    assert 0 < exact < 1e-11
    assert oracles.relative_error(sc.slack(noise, (0, 1)), exact) <= 1e-15


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
    ("lower", sc.Noise(a=sc.Flip(delete=1e-100, add=0.5)), (4, 0), 1.0),
    ("lower", sc.Noise(a=sc.Flip(delete=1e-40, add=0.0)), (9, 0), 1.0),
    # the filling stops at the very edge of a cell, and the next one has another ratio by far
    ("slack", sc.Noise(a=sc.Flip(delete=1.336753856493478e-22, add=0.5)), (1, 1), None),
    ("slack", sc.Noise(a=sc.Flip(delete=0.0, add=math.sqrt(0.5))), (2, 0), None),
    ("lower", sc.Noise(a=sc.Flip(delete=0.001, add=0.9999999999999997)), (9, 4), 0.008964083874125905),
    # the first enclosure is too wide to be read
    ("upper", sc.Noise(a=1e-38), (1,), 1e-38),
    ("slack", sc.Noise(a=sc.Flip(delete=0.5, add=1e-100), b=0.5231808214422967), (3, 1, 6), None),
    # ratios within 1e-30 of one
    ("slack", sc.Noise(a=sc.Flip(delete=1e-40, add=1.0)), (1, 1), None),
    ("slack", sc.Noise(a=sc.Flip(delete=1.0, add=1e-30)), (1, 1), None),
]


@pytest.mark.parametrize(("what", "noise", "radius", "p"), ODD)
def test_odd_laws_keep_nine_digits_too(what, noise, radius, p):
    cells = oracles.cells(list(noise.product.channels), radius)
    ours, oracle = {"lower": (sc.rho_lower, oracles.rho_lower), "upper": (sc.rho_upper, oracles.rho_upper)}.get(
        what, (sc.slack, oracles.slack)
    )
    found, exact = (
        (ours(noise, radius), oracle(cells)) if p is None else (ours(noise, radius, p), oracle(cells, Fraction(p)))
    )
    assert oracles.relative_error(found, exact) <= 1e-9


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


def test_values_that_never_stay_have_ratios_without_end():
    """p = 1 on four values: a site never shows its own value, and two of four tell nothing."""
    law = Product([oracles.symmetric(Fraction(1), 4)])
    assert law.channels[0].log_ratios == (-math.inf, 0.0, math.inf)
    for radius in ((1,), (2,), (5,)):
        cells = oracles.cells(list(law.channels), radius)
        assert Slacks(law).value(radius) == pytest.approx(float(oracles.slack(cells)), rel=1e-12)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.55, 0.665])
@pytest.mark.parametrize("radius", [300, 3000])
def test_large_radii_keep_their_digits(p, radius):
    """The recurrence in balls knows nothing of the sums in floats."""
    law = Product([oracles.symmetric(Fraction(p), 3)])
    slacks = Slacks(law)
    bracket = slacks.bracket((radius,))
    assert math.nextafter(bracket.below, 1) == bracket.at_least
    assert slacks.value((radius,)) == pytest.approx(bracket.at_least, rel=1e-9)
    assert slacks.cut((radius,)).filled == pytest.approx(bracket.at_least, rel=1e-9)
