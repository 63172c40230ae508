from itertools import product

import pytest

from report_worlds import DELETE_ADD, FOUR, ONE, TWO, ragged, random_counts, world
from starcert.report.slices import Slices, clip, pairs_of


def maximal_by_hand(radii, limits):
    """The maximal points of what lies below the radii and inside the limits, all listed."""
    below = {
        point
        for radius in radii
        for point in product(*(range(r + 1) for r in radius))
        if all(limit is None or x <= limit for x, limit in zip(point, limits, strict=True))
    }
    return tuple(
        sorted(p for p in below if not any(q != p and all(x <= y for x, y in zip(p, q, strict=True)) for q in below))
    )


@pytest.mark.parametrize("limits", [(None, None), (2, 6), (0, 3), (None, 0), (9, 9), (0, 0)])
@pytest.mark.parametrize("radii", [(), ((0, 0),), ((0, 9), (1, 5), (3, 2)), ((0, 5), (1, 4), (2, 3), (7, 0))])
def test_clipping_keeps_the_maximal_radii_inside(radii, limits):
    assert clip(radii, limits) == maximal_by_hand(radii, limits)


@pytest.mark.parametrize("limit", [None, 0, 3, 9])
def test_one_axis_is_clipped_too(limit):
    assert clip(((5,),), (limit,)) == ((5 if limit is None else min(5, limit),),)
    assert clip((), (limit,)) == ()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("noise", [ONE, TWO, DELETE_ADD], ids=repr)
@pytest.mark.parametrize("max_radius", [None, 2])
def test_with_one_or_two_axes_a_slice_is_the_frontier(noise, classes, max_radius):
    asked = None if max_radius is None else (max_radius,) * len(noise.axes)
    tied = [1000, 1000, *[0] * (classes - 2)]
    archive, _ = world(noise, [*random_counts(39, classes, seed=7), tied], max_radius=asked)
    slices = Slices(archive)
    (pair,) = slices.pairs
    frontiers = [one.frontier.radii for one in archive.certificates]
    assert [slices.of(graph, pair) for graph in range(40)] == frontiers
    assert frontiers[-1] == ()  # an abstention
    assert len(set(frontiers)) > 2
    if classes > 2:
        assert any(one.margin_kind == "multi-class" for one in archive.certificates)


def test_graphs_of_different_sizes_have_their_own_ends():
    archive, _ = world(TWO, random_counts(40, 2, seed=7), partition=ragged)
    slices = Slices(archive)
    frontiers = [one.frontier.radii for one in archive.certificates]
    assert [slices.of(graph, (0, 1)) for graph in range(40)] == frontiers
    # Some are certified up to all that there is to flip on an axis.
    ends = [[r[1] for r in radii] for radii in frontiers]
    assert len({size for end, (_, size) in zip(ends, archive.capacities, strict=True) if size in end}) > 2


def test_multi_class_frontiers_between_two_equal_ones_are_equal():
    # The same share of other answers, split evenly or not: one bound stays, the other one moves.
    counts = [[2000 - wrong, wrong - part, part] for wrong in range(10, 700, 30) for part in range(0, wrong // 2, 9)]
    archive, _ = world(TWO, counts)
    slices = Slices(archive)
    frontiers = [one.frontier.radii for one in archive.certificates]
    assert [slices.of(graph, (0, 1)) for graph in range(len(counts))] == frontiers
    assert len(set(frontiers)) > 5


@pytest.mark.parametrize("classes", [2, 3])
def test_with_more_axes_a_slice_is_what_is_certified_on_two_of_them(classes):
    archive, _ = world(FOUR, random_counts(6, classes, seed=3))
    slices = Slices(archive)
    assert slices.pairs == pairs_of(FOUR)
    assert len(slices.pairs) == 6
    for graph, one in enumerate(archive.certificates):
        for pair in slices.pairs:
            radii = slices.of(graph, pair)
            for counts in product(range(4), repeat=2):
                radius = [0] * 4
                for axis, count in zip(pair, counts, strict=True):
                    radius[axis] = count
                if all(r <= c for r, c in zip(radius, one.capacity, strict=True)):
                    covered = any(all(x <= y for x, y in zip(counts, r, strict=True)) for r in radii)
                    assert covered == one.certified(radius), (graph, pair, counts)
