import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import starcert as sc
from starcert.claims import metrics
from starcert.math.confidence import clopper_pearson
from starcert.math.votes import Votes
from starcert.report.findings import short_axes
from starcert.runs.sweep_levels import beaten_by, measure_level

TRUTH = [0, 1, 2, 0, 1, 0, 0]
CAPACITY = [(4, 9), (1, 9), (4, 2), (4, 9), (4, 3), (0, 5), (4, 9)]


def certificates(noise, counts):
    counts = np.asarray(counts)
    votes = Votes(counts, selection=counts)
    return sc.certify(clopper_pearson(votes, alpha=0.01), noise, capacity=CAPACITY)


def votes_of(seed, samples=2000):
    """Three classes, most graphs answered right, one hopeless, one wrong."""
    rng = np.random.default_rng(seed)
    rows = []
    for graph, label in enumerate(TRUTH):
        own = samples // 2 if graph == 2 else samples - int(samples * 10 ** -rng.uniform(1, 4))
        row = [0, 0, 0]
        row[1 if graph == 3 else label] = own
        row[(label + 2) % 3] += samples - own
        rows.append(row)
    return rows


@pytest.fixture(scope="module")
def worlds():
    noises = [sc.Noise(a=0.1, b=0.3), sc.Noise(a=0.2, b=0.45), sc.Noise(a=0.05, b=0.05)]
    found = [certificates(noise, votes_of(seed)) for seed, noise in enumerate(noises)]
    return found, [measure_level(each, TRUTH, [0] * 7, CAPACITY) for each in found]


def test_the_measures_are_those_of_the_metrics(worlds):
    for found, level in zip(*worlds, strict=True):
        assert level.accuracy == pytest.approx(found.certified_accuracy(TRUTH, (0, 0)))
        for axis, mean in enumerate(level.mean_radii):
            reaches = [row[f"reach_{'ab'[axis]}"] or 0 for row in found.rows()]
            assert mean == pytest.approx(np.sum(reaches, where=found.labels == TRUTH) / (6, 7)[axis])
        assert level.n_without == (1, 0)
        assert level.majority_share == metrics.majority_share(TRUTH) == 4 / 7


def test_an_axis_without_sites_gains_nothing():
    """Empty regions neither raise a share nor lower a mean radius: those graphs do not count there."""
    noise, counts = sc.Noise(a=0.1, b=0.3), votes_of(1)
    levels = []
    for sizes in ((0, 9), (4, 9)):
        some = [sizes if graph % 2 else (4, 9) for graph in range(7)]
        bounds = clopper_pearson(Votes(counts, selection=counts), alpha=0.01)
        found = sc.certify(bounds, noise, capacity=some)
        levels.append(measure_level(found, TRUTH, TRUTH, some))
    half, whole = levels
    assert (half.n_without, whole.n_without) == ((3, 0), (0, 0))
    assert half.mean_radii[0] > 0
    even = sc.certify(clopper_pearson(Votes(counts[::2], selection=counts[::2]), alpha=0.01), noise, capacity=some[::2])
    alone = measure_level(even, TRUTH[::2], TRUTH[::2], some[::2])
    assert half.mean_radii[0] == alone.mean_radii[0]
    assert half.mean_radii[1] == whole.mean_radii[1]


def test_an_axis_that_is_empty_everywhere_has_no_mean():
    noise, counts, none = sc.Noise(a=0.1, b=0.3), votes_of(1), [(0, 9)] * 7
    bounds = clopper_pearson(Votes(counts, selection=counts), alpha=0.01)
    level = measure_level(sc.certify(bounds, noise, capacity=none), TRUTH, TRUTH, none)
    assert (level.n_without, level.mean_radii[0]) == ((7, 0), None)
    assert level.mean_radii[1] > 0


def test_more_votes_for_the_right_class_are_never_worse():
    noise = sc.Noise(a=0.1, b=0.3)
    before, after = np.array(votes_of(1)), np.array(votes_of(1))
    for row, label in zip(after, TRUTH, strict=True):
        other = (label + 2) % 3
        moved = row[other] // 2
        row[label] += moved
        row[other] -= moved
    worse, better = (measure_level(certificates(noise, counts), TRUTH, TRUTH, CAPACITY) for counts in (before, after))
    assert all(x <= y for x, y in zip(worse.criteria, better.criteria, strict=True))
    assert worse.criteria != better.criteria


def test_the_axes_with_too_few_votes_for_a_flip_are_found():
    def short(samples, capacity=(9, 9), **laws):
        votes = Votes([[samples, 0, 0]], selection=[[10, 0, 0]])
        return short_axes(sc.Noise(**laws), votes, 0.01, 1, [n > 0 for n in capacity])

    least = short(5, a=0.01, b=0.4)["a"]
    for n, wanted in ((least - 1, False), (least, True)):
        bounds = clopper_pearson(Votes([[n, 0, 0]], selection=[[10, 0, 0]]), alpha=0.01)
        assert sc.certify(bounds, sc.Noise(a=0.01, b=0.4)).certified((1, 0)).tolist() == [wanted]
        assert short(n, a=0.01, b=0.4) == ({} if wanted else {"a": least})
    assert short(5, a=0.01, b=0.4).keys() == {"a", "b"}
    assert short(5, a=0.01, b=0.4, capacity=(9, 0)) == {"a": least}
    assert short(10_000, a=0.0, b=0.4) == {"a": None}


few = st.integers(0, 3)  # so that there are ties


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[few] * n), max_size=12)))
def test_the_front_is_what_brute_force_finds(rows):
    found = beaten_by(rows)
    for me, row in enumerate(rows):
        beaters = [
            other
            for other, values in enumerate(rows)
            if all(theirs >= mine for theirs, mine in zip(values, row, strict=True)) and values != row
        ]
        assert found[me] == next((other for other in beaters if found[other] is None), None)
        assert (found[me] is None) == (not beaters)
    if rows:
        assert None in found  # somebody is always unbeaten
        for criterion in range(len(rows[0])):  # and the best by one criterion is, or equals in it one that is
            best = max(row[criterion] for row in rows)
            assert best in [row[criterion] for row, by in zip(rows, found, strict=True) if by is None]
