from hypothesis import given
from hypothesis import strategies as st

from down_sets import below, brute_force
from starcert.core.borders import find_borders


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
