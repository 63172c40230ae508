import pytest
from hypothesis import given
from hypothesis import strategies as st

from down_sets import below, brute_force
from starcert.core.staircase import climb, staircase


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
