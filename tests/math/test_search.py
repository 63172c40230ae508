import pytest
from down_sets import below, brute_force
from hypothesis import given
from hypothesis import strategies as st

import starcert as sc
from starcert.math import search as searching
from starcert.math.channels import MAX_RADIUS
from starcert.math.margins import Slacks, TwoClass
from starcert.math.search import climb, find_borders, find_reaches, search, staircase


def borders(certified, limits):
    """Maximal certified and minimal other radii of a box, as the search finds them."""
    found = search(certified, limits, reaches=find_reaches(certified, limits), cells=lambda _: 0)
    assert not found.incomplete
    return sorted(found.maximal), sorted(found.minimal)


@given(st.data())
def test_the_search_finds_any_down_set(data):
    n_axes = data.draw(st.integers(1, 4))
    limits = data.draw(st.tuples(*[st.integers(0, 5)] * n_axes))
    corners = data.draw(st.lists(st.tuples(*[st.integers(0, 6)] * n_axes), min_size=1, max_size=5))

    def certified(radius):
        return any(below(radius, corner) for corner in corners)

    assert borders(certified, limits) == brute_force(certified, limits)


@given(st.lists(st.tuples(st.integers(0, 45), st.integers(0, 45)), min_size=1, max_size=6), st.integers(1, 45))
def test_a_staircase_costs_about_the_sum_of_both_sides(corners, limit):
    asked = set()

    def certified(radius):
        asked.add(radius)
        return any(below(radius, corner) for corner in corners)

    borders(certified, (limit, limit))
    assert len(asked) <= 2 * (2 * limit + 1) + 14  # galloping doubles a step at worst; 14 for the two reaches


def test_fifty_million_sites_are_not_walked():
    asked = []
    slacks = Slacks(sc.Noise(a=0.02, b=0.499).product)

    def certified(radius):
        asked.append(radius)
        return TwoClass(slacks, 1e-3).suggests(radius)

    maximal, _ = borders(certified, (50_000_000, 50_000_000))
    assert 10_000 < max(r[1] for r in maximal) < 1_000_000
    assert len(set(asked)) < 200


def in_a_ball(radius):
    return sum(count * count for count in radius) <= 50


def test_a_search_that_costs_too_much_ends_with_what_it_has(monkeypatch):
    """Whatever the budget: all that was found is true, more of it costs more, and in the end it is everything."""
    maximal, minimal = brute_force(in_a_ball, (8, 8, 8))
    sizes = []
    for most in (0, 10**5, 3 * 10**5, 10**6, 10**9):
        monkeypatch.setattr(searching, "MAX_WORK", most)
        found = search(in_a_ball, (8, 8, 8), reaches=(7, 7, 7), cells=lambda radius: 50 * sum(radius))
        assert set(found.maximal) <= set(maximal)
        assert set(found.minimal) <= set(minimal)
        assert found.maximal
        sizes.append(len(found.maximal))
        assert bool(found.incomplete) == ((sorted(found.maximal), sorted(found.minimal)) != (maximal, minimal))
        assert not found.incomplete or found.incomplete == f"the search ended after {most:,} cells"
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2] < sizes[-1] == len(maximal)


def test_an_evaluation_by_proof_costs_more(monkeypatch):
    monkeypatch.setattr(searching, "MAX_WORK", 2 * 10**5)
    quick, slow = (
        search(in_a_ball, (8, 8, 8), reaches=(7, 7, 7), cells=sum, by_proof=by_proof)
        for by_proof in (lambda _: False, lambda _: True)
    )
    assert len(slow.maximal) < len(quick.maximal)


def test_what_is_too_large_to_be_evaluated_never_is(monkeypatch):
    monkeypatch.setattr(searching, "MAX_CELLS", searching.FLAT + 9)
    asked = []

    def certified(radius):
        asked.append(radius)
        return in_a_ball(radius)

    found = search(certified, (8, 8, 8), reaches=(7, 7, 7), cells=sum)
    assert max(map(sum, asked)) == 9
    assert found.incomplete == f"radii with more than {searching.MAX_CELLS:,} cells are not looked at"
    # They are maximal among those that can be looked at, and what lies beyond them is either refuted or too large.
    assert set(found.maximal) == set(brute_force(lambda radius: in_a_ball(radius) and sum(radius) <= 9, (8, 8, 8))[0])
    assert all(not in_a_ball(radius) for radius in found.minimal)


def test_a_long_staircase_is_spread_over_its_whole_length():
    """Two axes of a billion: a few radii all along, not the first few steps."""
    half = MAX_RADIUS // 2

    def certified(radius):
        return radius[0] + radius[1] <= half

    found = search(certified, (MAX_RADIUS, MAX_RADIUS), reaches=(half, half), cells=lambda _: 10**5)
    assert "the search ended after" in found.incomplete
    assert all(sum(radius) == half for radius in found.maximal)
    assert {(half, 0), (0, half)} <= set(found.maximal)
    assert any(min(radius) > half // 5 for radius in found.maximal)


@pytest.mark.parametrize("limit", [None, 2 * MAX_RADIUS])
def test_nothing_is_said_beyond_the_largest_radius(limit):
    assert find_reaches(lambda _: True, (limit,)) == (MAX_RADIUS,)
    found = search(lambda _: True, (limit,), reaches=(MAX_RADIUS,), cells=lambda _: 0)
    assert (found.maximal, found.minimal) == ([(MAX_RADIUS,)], [])
    assert "flips under one law" in found.incomplete


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=2, max_size=8))
def test_both_borders_of_any_staircase(corners):
    def certified(radius):
        return any(below(radius, corner) for corner in corners)

    reaches = tuple(map(max, zip(*corners, strict=True)))
    maximal, minimal = staircase(certified, reaches)
    assert (sorted(maximal), sorted(minimal)) == brute_force(certified, reaches)


@pytest.mark.parametrize("slope", [(1, 1), (1, 3), (3, 1), (2, 5), (7, 2)])
def test_slopes_in_either_direction(slope):
    def certified(radius):
        return slope[0] * radius[0] + slope[1] * radius[1] <= 30

    reaches = (30 // slope[0], 30 // slope[1])
    maximal, minimal = staircase(certified, reaches)
    assert (sorted(maximal), sorted(minimal)) == brute_force(certified, reaches)
    assert len(maximal) > 4


def test_one_axis_or_none_has_nothing_to_walk():
    assert staircase(lambda _: True, ()) == ([()], [])
    assert staircase(lambda _: True, (5,)) == ([(5,)], [])


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_an_axis_is_climbed_in_few_questions(end, limit):
    asked = []

    def certified(count):
        asked.append(count)
        return count <= end

    assert climb(certified, limit) == min(end, limit)
    assert len(asked) <= 42


@st.composite
def down_sets(draw):
    """The corners of a down-set, and how far each axis goes alone."""
    n_axes = draw(st.integers(1, 5))
    corners = draw(st.lists(st.tuples(*[st.integers(0, 4)] * n_axes), min_size=1, max_size=8))
    return corners, tuple(map(max, zip(*corners, strict=True)))


@given(down_sets())
def test_both_borders_of_any_down_set(world):
    corners, reaches = world
    asked = []

    def certified(radius):
        asked.append(radius)
        return any(below(radius, corner) for corner in corners)

    found = list(find_borders(certified, reaches))
    assert len({radius for radius, _ in found}) == len(found)
    maximal, minimal = (sorted(radius for radius, side in found if side is which) for which in (True, False))
    assert (maximal, minimal) == brute_force(certified, reaches)


@given(down_sets(), st.integers(0, 20))
def test_what_was_found_before_the_end_is_true(world, stop):
    corners, reaches = world

    def certified(radius):
        return any(below(radius, corner) for corner in corners)

    maximal, minimal = brute_force(certified, reaches)
    for (radius, side), _ in zip(find_borders(certified, reaches), range(stop), strict=False):
        assert radius in (maximal if side else minimal)


def test_a_few_questions_for_each_radius_of_the_borders():
    """A simplex in six axes: 462 radii sum to 6, and 792 to 7, of which 6 are beyond the box."""
    asked = []

    def certified(radius):
        asked.append(radius)
        return sum(radius) <= 6

    found = list(find_borders(certified, (6,) * 6))
    assert len(found) == 462 + 792 - 6
    assert len(asked) < 3 * len(found)


def test_large_boxes_are_not_walked():
    asked = []

    def certified(radius):
        asked.append(radius)
        return max(radius) <= 10**8 or (min(radius) <= 10**3 and max(radius) <= 10**9)

    found = list(find_borders(certified, (10**9,) * 3))
    assert len(found) == 3 + 1 + 3
    assert len(asked) < 1000


def test_the_first_radii_reach_as_far_as_each_axis_goes_alone():
    reaches = (900, 700, 500)
    found = find_borders(lambda radius: sum(r / m for r, m in zip(radius, reaches, strict=True)) <= 1, reaches)
    first = [next(found) for _ in range(3)]
    assert first == [((900, 0, 0), True), ((0, 700, 0), True), ((0, 0, 500), True)]
    assert any(min(next(found)[0]) > 50 for _ in range(20))  # and then they are spread
