from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcert.core.alike import Alike
from starcert.core.channels import Channel, Product

LAWS = [Channel.of_bit(Fraction(p, 10), 1 - Fraction(p, 10)) for p in (1, 3, 5)]


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
            assert axes.spread([powers], most=10**6, free=at_their_end) == (chosen, True)


@given(boxes(), st.integers(2, 40))
def test_what_is_thinned_out_is_a_part_of_it(box, most):
    axes = Alike(*box)
    powers = tuple(limit // 2 for limit in axes.sums)
    everything, _ = axes.spread([powers], most=10**6, free=True)
    radii, all_of_them = axes.spread([powers], most=most, free=True)
    assert len(radii) <= most
    assert set(radii) <= set(everything)
    assert radii == sorted(radii)
    assert all_of_them == (len(everything) <= most) == (radii == everything)


def test_many_axes_of_a_billion_are_shared_evenly():
    axes = Alike(Product([LAWS[0]] * 4), (None, 10**9, None, 10**9))
    radii, all_of_them = axes.spread([(10**9,)], most=1000, free=True)
    assert not all_of_them
    assert 100 < len(radii) <= 1000
    assert {tuple(10**9 * (i == axis) for i in range(4)) for axis in range(4)} <= set(radii)
    assert any(min(radius) > 10**8 for radius in radii)
    assert all(sum(radius) == 10**9 for radius in radii)


@pytest.mark.parametrize("limits", [(None, 3, 3), (3, None, 3)])
def test_axes_without_end_are_named(limits):
    axes = Alike(Product([LAWS[0], LAWS[0], LAWS[2]]), limits)
    assert axes.sums == (None,)
    assert axes.endless_axis(0) == limits.index(None)
    assert axes.endless == ()
    assert Alike(Product([LAWS[0], LAWS[2]]), (3, None)).endless == (1,)
