from itertools import product

import numpy as np
import pytest
from report_worlds import DELETE_ADD, FOUR, ONE, TWO, ragged, random_counts, world

import starcert as sc
from starcert.claims import metrics
from starcert.report import radius_tables
from starcert.report.radius_tables import Slices, clip, pairs_of, slack_tables, surfaces, ticks


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


@pytest.mark.parametrize(("end", "most"), [(0, 5), (1, 5), (5, 5), (6, 5), (1000, 7)])
def test_ticks_are_few_and_regular(end, most):
    found = ticks(end, most)
    assert found[0] == 0
    assert len(found) <= most + 1
    (step,) = set(np.diff(found).tolist()) or {1}
    assert found[-1] <= end < found[-1] + step
    assert end > most or step == 1


def placed(pair, counts, n_axes):
    radius = [0] * n_axes
    for axis, count in zip(pair, counts, strict=True):
        radius[axis] = count
    return tuple(radius)


@pytest.mark.parametrize("noise", [ONE, TWO, DELETE_ADD, FOUR], ids=lambda each: getattr(each, "__name__", repr(each)))
def test_a_slack_decides_as_the_library_does(noise):
    archive, _ = world(noise, random_counts(5, 2, seed=1))
    slices = Slices(archive)
    found = slack_tables(archive, slices)
    for pair, rows in zip(slices.pairs, found.rows, strict=True):
        firsts = [None] if len(pair) == 1 else found.ticks[pair[0]]
        for up, row in zip(firsts, rows, strict=False):
            for across, below in zip(found.ticks[pair[-1]], row, strict=False):
                radius = placed(pair, (across,) if up is None else (up, across), len(noise.axes))
                # The largest failure probability that is certified: the next one is not. Both are decided by proof.
                for failure, expected in ((below, True), (np.nextafter(below, 1), False)):
                    bounds = sc.Bounds(np.array([0]), np.array([failure]), np.array([failure]), None, 2)
                    assert sc.certify(bounds, noise)[0].certified(radius) is expected


def test_a_row_ends_where_no_failure_probability_of_the_slider_is_certified():
    archive, _ = world(TWO, [[10**6, 0]], known_capacity=False)
    found = slack_tables(archive, Slices(archive))
    assert found.least == 1e-6
    for up, row in zip(found.ticks[0], found.rows[0], strict=True):
        assert min(row) >= found.least
        assert sc.slack(TWO, (up, found.ticks[1][len(row) - 1] + 1)) < found.least
    assert sc.slack(TWO, (found.ticks[0][-1] + 1, 0)) < found.least


def test_the_slider_reaches_the_surest_graph():
    archive, _ = world(ONE, [[10**9, 0], [90, 10]], known_capacity=False)
    assert slack_tables(archive, Slices(archive)).least == 1e-9


def test_long_axes_are_tabulated_in_steps():
    noise = sc.Noise(core=0.05, rest=0.49)
    partition = sc.Partition.from_node_sets({"core": range(6), "rest": range(6, 12)})
    archive, _ = world(
        noise, [[5000, 0]], partition=lambda graph: partition, known_capacity=False, max_radius=(5, 10**6)
    )
    found = slack_tables(archive, Slices(archive))
    step = found.ticks[1][1]
    assert step > 1
    assert len(found.ticks[1]) <= radius_tables.MAX_TICKS + 1
    # The axis reaches as far as the engine says, whatever the region's size.
    assert sc.slack(noise, (0, found.ticks[1][-1])) > 1e-6 > sc.slack(noise, (0, found.ticks[1][-1] + step))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("noise", "partition"),
    [(ONE, None), (TWO, None), (TWO, ragged), (DELETE_ADD, None), (FOUR, None)],
    ids=lambda each: getattr(each, "__name__", repr(each)),
)
def test_a_surface_counts_what_the_certificates_say(noise, partition, classes):
    rng = np.random.default_rng(5)
    labels = [None if label < 0 else int(label) for label in rng.integers(-1, classes, 25)]
    archive, _ = world(noise, random_counts(25, classes, seed=2), labels=labels, partition=partition)
    slices = Slices(archive)
    found = surfaces(archive, slices)
    right = metrics.right(archive.certificates, labels)
    for pair, certified, both in zip(slices.pairs, found.certified, found.right, strict=True):
        axes = [range(1)] * (2 - len(pair)) + [found.ticks[axis] for axis in pair]
        assert certified.shape == both.shape == tuple(map(len, axes))
        for i, j in product(*map(range, certified.shape)):
            counts = (axes[1][j],) if len(pair) == 1 else (axes[0][i], axes[1][j])
            verdicts = archive.certificates.certified(placed(pair, counts, len(noise.axes)))
            assert certified[i, j] == verdicts.sum()
            assert both[i, j] == (verdicts & right).sum()


@pytest.mark.parametrize("noise", [TWO, FOUR], ids=repr)
def test_a_surface_leaves_out_graphs_with_nothing_to_flip_on_its_axes(noise):
    def hollow(graph):
        sets = {axis: range(4 * i, 4 * i + (4 if (graph.n_edges >> i) % 2 else 1)) for i, axis in enumerate("abc")}
        if noise is TWO:
            return sc.Partition.from_node_sets({"core": sets["a"], "rest": sets["b"]})
        return sc.Partition.from_node_sets(sets, between={"d": ("a", "b")})

    rng = np.random.default_rng(3)
    labels = [None if label < 0 else int(label) for label in rng.integers(-1, 2, 60)]
    archive, _ = world(noise, random_counts(60, 2, seed=4), labels=labels, partition=hollow)
    slices = Slices(archive)
    found = surfaces(archive, slices)
    there = metrics.has_sites(archive.certificates)
    right = metrics.right(archive.certificates, labels)
    known = np.array([label is not None for label in labels])
    for p, pair in enumerate(slices.pairs):
        among = there[:, list(pair)].all(axis=1)
        assert 0 < among.sum() < 60
        assert (found.graphs[p], found.labelled[p]) == (among.sum(), (among & known).sum())
        classes = [label for label, here in zip(labels, among, strict=True) if here and label is not None]
        assert found.majority[p][1] == max(map(classes.count, classes)) == classes.count(found.majority[p][0])
        for i, j in product(*map(range, found.certified[p].shape)):
            counts = found.ticks[pair[0]][i], found.ticks[pair[1]][j]
            verdicts = archive.certificates.certified(placed(pair, counts, len(noise.axes))) & among
            assert found.certified[p][i, j] == verdicts.sum()
            assert found.right[p][i, j] == (verdicts & right).sum()


def test_an_abstention_is_right_nowhere():
    archive, _ = world(TWO, [[510, 490], [990, 10]], labels=[0, 0])
    assert archive.certificates[0].abstained
    found = surfaces(archive, Slices(archive))
    assert found.labelled == [2]
    assert found.right[0][0, 0] == found.certified[0][0, 0] == 1


def test_a_surface_ends_one_count_beyond_what_any_graph_reaches():
    archive, _ = world(TWO, [[1000, 0], [940, 60]])
    slices = Slices(archive)
    found = surfaces(archive, slices)
    for axis, ends in enumerate(found.ticks):
        furthest = max(radius[axis] for graph in range(2) for radius in slices.of(graph, (0, 1)))
        assert ends[-1] == min(furthest + 1, 15)
    assert found.certified[0][0, 0] == 2
    assert found.certified[0][-1, -1] == 0
