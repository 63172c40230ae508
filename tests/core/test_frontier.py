from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import starcert as sc
from starcert.core.frontier import Frontiers, find_frontier
from starcert.core.margins import MultiClass, Tradeoffs, TwoClass
from starcert.core.search import find_reaches, search
from starcert.core.slacks import Slacks
from starcert.errors import InvalidParameterError


def below(radius, maximal):
    return all(r <= m for r, m in zip(radius, maximal, strict=True))


def brute_force(certified, limits):
    """Maximal certified and minimal other radii of a box, by looking at all of it."""
    box = list(product(*(range(limit + 1) for limit in limits)))
    good = {radius for radius in box if certified(radius)}
    bad = [radius for radius in box if radius not in good]
    maximal = [r for r in good if not any(r != s and below(r, s) for s in good)]
    minimal = [r for r in bad if not any(r != s and below(s, r) for s in bad)]
    return sorted(maximal), sorted(minimal)


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
        return slacks.suggests(radius, 1e-3)

    maximal, _ = borders(certified, (50_000_000, 50_000_000))
    assert 10_000 < max(r[1] for r in maximal) < 1_000_000
    assert len(set(asked)) < 200


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
    margin = MultiClass(Tradeoffs(noise.product), 0.05, 0.001)
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


def test_disagreement_between_floats_and_proof_is_never_swallowed():
    class Liar(TwoClass):
        __slots__ = ()

        def suggests(self, radius):
            return sum(radius) <= 3

    with pytest.raises(ArithmeticError, match="disagree at radius"):
        find_frontier(Liar(Slacks(sc.Noise(a=0.02, b=0.1).product), 0.0005), (9, 9))
