from fractions import Fraction
from itertools import product

import numpy as np
import oracles
import pytest
from down_sets import brute_force
from hypothesis import given
from hypothesis import strategies as st
from oracles import cells, random_product, rho_lower, rho_upper, slack, symmetric

import starcert as sc
from starcert.math.cells import count_cells
from starcert.math.channels import Product
from starcert.math.frontier import Alike, Frontiers, find_frontier, flips_covered, levels_of
from starcert.math.margins import MultiClass, Slacks, Tradeoff, TwoClass
from starcert.system.errors import InvalidParameterError


@pytest.mark.parametrize(
    ("noise", "limits"),
    [
        (sc.Noise(a=0.02, b=0.45), (4, 20)),
        (sc.Noise(a=sc.Flip(delete=0.04, add=0.2)), (5, 9)),
        (sc.Noise(a=0.1, b=0.2, c=0.4), (3, 4, 9)),
        (sc.Noise(a=sc.Flip(delete=0.1, add=0.0), b=0.3), (3, 3, 4)),
        (sc.Noise(a=0.0, b=0.5, c=0.3), (2, 3, 4)),
        (sc.Noise(a=0.2), (0,)),
    ],
)
@pytest.mark.parametrize("failure", [0.0, 1e-6, 3e-3, 0.2, 0.5])
def test_frontiers_are_those_of_the_whole_table(noise, limits, failure):
    slacks = Slacks(noise.product)
    frontier = find_frontier(TwoClass(slacks, failure), limits)
    maximal, minimal = brute_force(lambda radius: slacks.bracket(radius).certifies(failure), limits)
    assert (list(frontier.radii), list(frontier.beyond)) == (maximal, minimal)
    assert frontier.verified


def test_multi_class_frontiers_too():
    noise, limits = sc.Noise(a=0.1, b=0.35), (4, 8)
    margin = MultiClass(Tradeoff(noise.product), 0.05, 0.001)
    frontier = find_frontier(margin, limits)
    assert (list(frontier.radii), list(frontier.beyond)) == brute_force(margin.proves, limits)
    assert len(frontier.radii) > 1
    two_class = find_frontier(TwoClass(Slacks(noise.product), 0.05), limits)
    assert all(frontier.covers(radius) for radius in two_class.radii)
    assert frontier != two_class


def test_shared_frontiers_equal_single_ones():
    """Ten thousand failure probabilities at random, and those on either side of every proved slack."""
    noise, limits = sc.Noise(a=0.05, b=0.4), (3, 12)
    slacks = Slacks(noise.product)
    shared = Frontiers(slacks, limits)
    rng = np.random.default_rng(0)
    failures = [float(f) for f in 10 ** rng.uniform(-8, 0, size=2000)]
    for radius in product(range(4), range(13)):
        failures += list(slacks.bracket(radius))
    for failure in failures:
        assert shared.at(failure) == find_frontier(TwoClass(slacks, failure), limits)
    assert len(shared._known) < 60  # one for each of the 52 radii that can drop out


def test_without_limits_every_axis_goes_as_far_as_it_can():
    margin = TwoClass(Slacks(sc.Noise(a=0.02, b=0.45).product), 0.0005)
    unbounded = find_frontier(margin, (None, None))
    assert unbounded.radii == ((0, 269), (1, 98))
    assert unbounded.beyond == ((0, 270), (1, 99), (2, 0))


def test_an_axis_without_end_asks_for_a_limit():
    margin = TwoClass(Slacks(sc.Noise(a=0.02, free=0.5).product), 0.0005)
    with pytest.raises(InvalidParameterError, match="Give max_radius"):
        find_frontier(margin, (None, None))
    assert find_frontier(margin, (None, 1000)).radii == ((1, 1000),)


ALIKE = [
    (sc.Noise(a=0.1, b=0.1, c=0.1), (2, 3, 1)),
    (sc.Noise(a=0.3, b=0.5, c=0.3, d=0.7), (2, 2, 1, 2)),
    (sc.Noise(a=sc.Flip(delete=0.1, add=0.3), b=sc.Flip(delete=0.1, add=0.3)), (2, 2, 1, 2)),
    (sc.Noise(a=sc.Flip(delete=0.0, add=0.3), b=0.4, c=0.4), (1, 2, 3, 1)),
    (sc.Noise(a=0.0, b=0.45, c=0.45, d=0.2), (2, 3, 2, 1)),
]


@pytest.mark.parametrize(("noise", "limits"), ALIKE)
@pytest.mark.parametrize("failure", [1e-3, 0.02, 0.1, 0.3])
def test_axes_that_are_alike_against_exact_fractions(noise, limits, failure):
    channels = list(noise.product.channels)
    exact = {r: slack(cells(channels, r)) for r in product(*(range(limit + 1) for limit in limits))}
    frontier = find_frontier(TwoClass(Slacks(noise.product), failure), limits)
    assert (list(frontier.radii), list(frontier.beyond)) == brute_force(lambda r: failure < exact[r], limits)
    assert (frontier.verified, frontier.incomplete) == (True, "")


@pytest.mark.parametrize(("noise", "limits"), ALIKE)
def test_axes_that_are_alike_under_several_classes(noise, limits):
    failure, other = 0.2, 0.05
    channels = list(noise.product.channels)

    def certified(radius):
        listed = cells(channels, radius)
        return rho_lower(listed, 1 - Fraction(failure)) > rho_upper(listed, Fraction(other))

    frontier = find_frontier(MultiClass(Tradeoff(noise.product), failure, other), limits)
    assert (list(frontier.radii), list(frontier.beyond)) == brute_force(certified, limits)
    assert (frontier.verified, frontier.incomplete) == (True, "")


def test_alike_axes_cost_as_much_as_one():
    slacks = Slacks(sc.Noise({f"r{i}": 0.4 for i in range(7)}).product)
    frontier = find_frontier(TwoClass(slacks, 1e-3), (10,) * 7)
    one = find_frontier(TwoClass(Slacks(sc.Noise(r=0.4).product), 1e-3), (70,))
    assert {sum(radius) for radius in frontier.radii} == {one.radii[0][0]}
    assert len(slacks._cuts) < 20


def test_six_different_axes_are_not_walked():
    slacks = Slacks(sc.Noise(a=0.02, b=0.1, c=0.2, d=0.3, e=0.4, f=0.45).product)
    frontier = find_frontier(TwoClass(slacks, 1e-6), (10,) * 6)
    assert (len(frontier.radii), len(frontier.beyond), frontier.incomplete) == (489, 518, "")
    assert len(slacks._cuts) < 4 * (489 + 518)


MIXED = sc.Noise(a=sc.Flip(delete=0.4, add=0.02), b=sc.Flip(delete=0.2, add=0.02), c=0.1)


@pytest.mark.parametrize("noise", [sc.Noise(a=0.02, b=0.2, c=0.45), sc.Noise(a=0.1, b=0.2, c=0.3), MIXED])
def test_regions_with_a_hundred_thousand_sites(noise):
    """What is certified in the whole of them is what is certified in the box that it reaches."""
    margin = TwoClass(Slacks(noise.product), 4.6e-5)
    frontier = find_frontier(margin, (100_000,) * len(noise.axes))
    assert frontier.verified
    assert not frontier.incomplete
    reaches = tuple(map(max, zip(*frontier.radii, strict=True)))
    assert frontier == find_frontier(margin, tuple(reach + 1 for reach in reaches))
    assert all(margin.proves(radius) for radius in frontier.radii)


LARGE = [
    (sc.Noise(a=0.43, b=0.44, c=0.45), (100_000, None, 100_000), 4.6e-5),
    (sc.Noise(a=0.499, b=0.4985), (10**9, 10**9), 1e-9),
    (sc.Noise(a=sc.Flip(delete=0.4, add=0.3), b=sc.Flip(delete=0.3, add=0.44)), (100_000,) * 4, 4.6e-5),
]


@pytest.mark.parametrize(("noise", "limits", "failure"), LARGE)
def test_frontiers_too_large_to_be_complete_say_so(noise, limits, failure, monkeypatch):
    monkeypatch.setattr("starcert.math.search.MAX_WORK", 2**22)
    margin = TwoClass(Slacks(noise.product), failure)
    frontier = find_frontier(margin, limits)
    assert frontier.incomplete == "the search ended after 4,194,304 cells"
    assert not frontier.verified
    assert frontier.radii
    assert all(margin.proves(radius) is True for radius in frontier.radii)
    assert all(margin.proves(radius) is False for radius in frontier.beyond)
    for maximal in frontier.radii:
        steps = [tuple(count + (i == axis) for i, count in enumerate(maximal)) for axis in range(len(maximal))]
        assert not any(map(margin.suggests, steps))
    for axis, reach in enumerate(map(max, zip(*frontier.radii, strict=True))):
        assert not margin.suggests(tuple((reach + 1) * (i == axis) for i in range(len(limits))))


def test_too_many_ways_to_share_are_thinned_out():
    noise = sc.Noise({f"r{i}": 0.4 for i in range(6)})
    margin = TwoClass(Slacks(noise.product), 1e-6)
    frontier = find_frontier(margin, (100,) * 6)
    assert "more than 100,000 ways" in frontier.incomplete
    assert not frontier.verified
    assert 10_000 < len(frontier.radii) <= 100_000
    (total,) = {sum(radius) for radius in frontier.radii}
    assert (margin.proves((total, 0, 0, 0, 0, 0)), margin.proves((total + 1, 0, 0, 0, 0, 0))) == (True, False)
    assert all(max(radius[axis] for radius in frontier.radii) == min(total, 100) for axis in range(6))


def test_incomplete_frontiers_are_not_handed_to_others(monkeypatch):
    """What one search has found depends on its bound; each bound has the same frontier whoever asked before."""
    monkeypatch.setattr("starcert.math.search.MAX_WORK", 2**18)
    noise, limits = sc.Noise(a=0.3, b=0.35, c=0.4), (40, 40, 40)
    failures = [1e-4, 1.1e-4, 0.9e-4, 1e-4, 0.3, 0.2, 1.05e-4]
    slacks = Slacks(noise.product)
    shared = Frontiers(slacks, limits)
    found = [shared.at(failure) for failure in failures]
    assert found == [find_frontier(TwoClass(slacks, failure), limits) for failure in failures]
    assert found[0].incomplete
    assert found[0] is found[3]
    assert not found[4].incomplete


def test_disagreement_between_floats_and_proof_is_never_swallowed():
    class Liar(TwoClass):
        __slots__ = ()

        def suggests(self, radius):
            return sum(radius) <= 3

    with pytest.raises(ArithmeticError, match="disagree at radius"):
        find_frontier(Liar(Slacks(sc.Noise(a=0.02, b=0.1).product), 0.0005), (9, 9))


LAWS = [oracles.bit_channel(Fraction(p, 10), 1 - Fraction(p, 10)) for p in (1, 3, 5)]


@st.composite
def boxes(draw):
    channels = draw(st.lists(st.sampled_from(LAWS), min_size=0, max_size=5))
    return Product(channels), tuple(draw(st.integers(0, 4)) for _ in channels)


@given(boxes())
def test_every_radius_of_a_box_belongs_to_its_sums(box):
    law, limits = box
    axes = Alike(law, limits)
    radii = list(product(*(range(limit + 1) for limit in limits)))
    by_sums = {}
    for radius in radii:
        by_sums.setdefault(law.powers(radius), []).append(radius)
    assert set(by_sums) == set(product(*(range(limit + 1) for limit in axes.sums)))
    for powers, expected in by_sums.items():
        assert law.powers(axes.radius(powers)) == powers
        assert axes.radius(powers) in expected
        for at_their_end in (True, False):
            free = [limits[axis] if at_their_end else 0 for axis in axes.free]
            chosen = [radius for radius in expected if [radius[axis] for axis in axes.free] == free]
            assert axes.radii_of([powers], most=10**6, free=at_their_end) == (chosen, True)


@given(boxes(), st.integers(2, 40))
def test_what_is_thinned_out_is_a_part_of_it(box, most):
    axes = Alike(*box)
    powers = tuple(limit // 2 for limit in axes.sums)
    everything, _ = axes.radii_of([powers], most=10**6, free=True)
    radii, all_of_them = axes.radii_of([powers], most=most, free=True)
    assert len(radii) <= most
    assert set(radii) <= set(everything)
    assert radii == sorted(radii)
    assert all_of_them == (len(everything) <= most) == (radii == everything)


def test_many_axes_of_a_billion_are_shared_evenly():
    axes = Alike(Product([LAWS[0]] * 4), (None, 10**9, None, 10**9))
    radii, all_of_them = axes.radii_of([(10**9,)], most=1000, free=True)
    assert not all_of_them
    assert 100 < len(radii) <= 1000
    assert {tuple(10**9 * (i == axis) for i in range(4)) for axis in range(4)} <= set(radii)
    assert any(min(radius) > 10**8 for radius in radii)
    assert all(sum(radius) == 10**9 for radius in radii)


@pytest.mark.parametrize("limits", [(None, 3, 3), (3, None, 3)])
def test_axes_without_end_are_named(limits):
    axes = Alike(Product([LAWS[0], LAWS[0], LAWS[2]]), limits)
    assert axes.sums == (None,)
    assert axes.endless == ()
    assert Alike(Product([LAWS[0], LAWS[2]]), (3, None)).endless == (1,)


@pytest.mark.parametrize("p", [0.5 - 1e-7, 0.5])
def test_the_first_axis_that_is_certified_without_end_is_named(p):
    with pytest.raises(InvalidParameterError, match="axis number 2 is certified beyond 1,000,000,000 flips"):
        sc.certify(sc.Bounds.certain([0.9]), sc.Noise(first=0.1, second=p, third=p)).frontiers()


def test_bounds_between_two_that_share_a_multi_class_frontier_have_it_and_are_not_searched(monkeypatch):
    from starcert.math import frontier as module  # noqa: PLC0415

    noise, limits = sc.Noise(a=sc.Flip(delete=0.4, add=0.001)), (6, 4)
    tradeoffs, shared = Tradeoff(noise.product), Frontiers(Slacks(noise.product), limits)
    searched = []

    def search(margin, box):
        searched.append(margin)
        return find_frontier(margin, box)

    monkeypatch.setattr(module, "find_frontier", search)
    rng = np.random.default_rng(0)
    failures = 10 ** -rng.uniform(0.3, 3, 150)
    for failure, share in zip(failures.tolist(), rng.uniform(0.1, 0.95, 150).tolist(), strict=True):
        margin = MultiClass(tradeoffs, failure, failure * share)
        assert shared.of(margin) == find_frontier(margin, limits)
        assert shared.of(margin) is shared.of(margin)
    assert len(searched) < 110


@pytest.mark.parametrize("seed", range(30))
def test_the_frontier_is_what_comparing_exact_slacks_gives(seed):
    rng = np.random.default_rng([23, seed])
    law = random_product(rng)
    limits = (3,) * len(law.channels) if len(law.channels) < 3 else (2, 1, 2)
    failure = float(10 ** rng.uniform(-3, -0.31))
    frontier = find_frontier(TwoClass(Slacks(law), failure), limits)
    assert frontier.verified
    for radius in np.ndindex(*(limit + 1 for limit in limits)):
        assert frontier.covers(radius) == (Fraction(failure) < slack(cells(list(law.channels), radius)))


def test_both_margins_take_them():
    law, bounds = Product([symmetric(Fraction(2, 5), 4)]), (0.3, 0.05)
    frontier = find_frontier(MultiClass(Tradeoff(law), *bounds), (9,))
    (reach,) = frontier.radii[0]
    sides = [cells(list(law.channels), (count,)) for count in (reach, reach + 1)]
    certified = [rho_lower(side, 1 - Fraction(bounds[0])) > rho_upper(side, Fraction(bounds[1])) for side in sides]
    assert 0 < reach < 9
    assert certified == [True, False]


def test_a_frontier_ends_where_cells_are_too_many_and_says_so(monkeypatch):
    for module in ("frontier", "search"):
        monkeypatch.setattr(f"starcert.math.{module}.MAX_CELLS", 2**14)
    near_uniform = Product([symmetric(Fraction(2, 3) - Fraction(1, 10**9), 3)])
    frontier = find_frontier(TwoClass(Slacks(near_uniform), 0.4), (10**8,))
    assert not frontier.verified
    assert "cells are not looked at" in frontier.incomplete
    ((reach,),) = frontier.radii
    assert count_cells(near_uniform, (reach,)) <= 2**14 < count_cells(near_uniform, (reach + 1,))


@given(
    limits=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    radii=st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), max_size=6),
    most=st.none() | st.integers(0, 12),
)
def test_flips_covered_is_what_listing_all_levels_says(limits, radii, most):
    radii = [tuple(each[: len(limits)]) for each in radii]
    end = sum(limits) if most is None else min(most, sum(limits))

    def covered(flips):
        return all(any(all(map(int.__le__, level, r)) for r in radii) for level in levels_of(flips, tuple(limits)))

    expected = next((k - 1 for k in range(end + 1) if not covered(k)), end)
    assert flips_covered(radii, tuple(limits), most) == max(0, expected)
