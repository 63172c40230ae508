"""Copies for deep votes: each has exactly the chance that its law gives it."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

import starcert as sc
from starcert.math.deep import UNIT, DeepLaw, Pools, choose_law
from starcert.objects.attack_axes import axes_of
from starcert.sampling import deep
from starcert.sampling.deep import DeepCopies
from starcert.sampling.streams import fill, seeded

NOISE = sc.Noise(all=sc.Flip(delete=0.3, add=0.1))
LAW = DeepLaw(
    np.array([[0, 0], [1, 1], [2, 1]]), np.array([[0, 2], [1, 0], [2, 3]]), np.array([UNIT // 4, UNIT // 2, UNIT // 4])
)


def bound(graph, noise):
    classifier = sc.classifiers.from_callable(lambda _: 0, n_classes=2)
    return sc.SmoothedClassifier(classifier, noise).sites(graph)


@pytest.fixture
def sites():
    return bound(sc.Graph(4, [(0, 1), (1, 2)]), NOISE)


def copies(sites, law=LAW, seed=3):
    return DeepCopies(sites, NOISE, seed, law, Pools(axes_of(sites, NOISE)).sites)


def plainly(choose, law, pools):
    """A copy, as the kernel draws it: `choose(n)` is a number below n, each with the same chance."""
    row = int(np.searchsorted(np.cumsum(law.weights), choose(UNIT), side="right"))
    found = []
    for sites, number in zip(pools, law.drawn[row].tolist(), strict=True):
        for place in range(number):
            chosen = place + choose(len(sites) - place)
            sites[place], sites[chosen] = sites[chosen], sites[place]
            found.append(sites[place])
    return found


def test_the_kernel_draws_as_the_plain_function_does():
    pools, words = [np.arange(3), np.arange(3, 10)], np.empty(10**5, np.uint64)
    fill(seeded([7]), words)
    given = iter(words.tolist())

    def choose(n):
        if n == UNIT:
            return next(given) >> 2
        mask = 1
        while mask < n:
            mask = mask << 1 | 1
        return next(each for each in (word & mask for word in given) if each < n)

    starts, flips = np.zeros(501, np.int64), np.empty(5_000, np.int64)
    deep._draw(seeded([7]), np.cumsum(LAW.weights), LAW.drawn, np.array([0, 3, 10]), np.arange(10), starts, flips)
    lists = [sites.tolist() for sites in pools]
    for copy in range(500):
        assert flips[starts[copy] : starts[copy + 1]].tolist() == plainly(choose, LAW, lists)


def test_the_plain_function_gives_each_copy_its_chance_exactly():
    """All ways to choose are enumerated: of the sets with the same numbers of flips, each comes equally often."""
    pools = [[0, 1, 2], [3, 4, 5, 6]]
    found = Counter()
    for row, law_row in enumerate(LAW.drawn.tolist()):
        word = sum(LAW.weights[:row].tolist())
        limits = [len(sites) - place for sites, number in zip(pools, law_row, strict=True) for place in range(number)]
        for order in ([[0, 1, 2], [3, 4, 5, 6]], [[2, 0, 1], [6, 4, 3, 5]]):  # however the sites lie before
            seen = Counter()
            for choices in product(*map(range, limits)):
                given = iter([word, *choices])
                seen[frozenset(plainly(lambda _n, given=given: next(given), LAW, [list(each) for each in order]))] += 1
            every = [
                frozenset(a + b) for a in combinations(pools[0], law_row[0]) for b in combinations(pools[1], law_row[1])
            ]
            assert set(seen) == set(every)
            assert len(set(seen.values())) == 1
        found[row] += 1
    assert len(found) == 3


def test_the_numbers_of_flips_have_the_chances_of_the_table():
    """A word of 62 digits means the first row whose sum it is less than: exactly as many words as its weight."""
    sums = np.cumsum(LAW.weights)
    for row, (low, high) in enumerate(zip([0, *sums[:-1].tolist()], sums.tolist(), strict=True)):
        for word in (low, high - 1):
            assert np.searchsorted(sums, word, side="right") == row
    assert sums[-1] == UNIT


def test_all_copies_that_are_asked_come_once(sites, monkeypatch):
    monkeypatch.setattr(deep, "DEEP_CHUNK", 4)
    source, pools = copies(sites), Pools(axes_of(sites, NOISE))
    clean = np.isin(np.arange(6), sites.nonzero[0])
    found = []
    for chunk in range(100):
        some = source.asked(chunk)
        if not len(some):
            break
        found += [frozenset(np.flatnonzero(row != clean).tolist()) for row in some.values]
    wanted = [
        frozenset(a + b)
        for first, second in LAW.asked.tolist()
        for a in combinations(pools.sites[0].tolist(), first)
        for b in combinations(pools.sites[1].tolist(), second)
    ]
    assert len(found) == len(wanted) == sum(pools.copies(row) for row in LAW.asked.tolist())
    assert set(found) == set(wanted)


def test_copies_are_a_function_of_seed_law_and_chunk(sites):
    one = copies(sites).draw(2, 100).values
    np.testing.assert_array_equal(one[:40], copies(sites).draw(2, 40).values)
    for other in (copies(sites).draw(3, 100), copies(sites, seed=4).draw(2, 100)):
        assert (one != other.values).any()


def test_what_flips_show_is_as_the_noise_has_it():
    noise = sc.Noise(all=sc.Edges(delete=0.25, add=0.5, change=0.125, types=2))
    typed = bound(sc.Graph(3, [(0, 1), (1, 2)], edge_types=["s", "d"], type_names=("s", "d")), noise)
    axes = axes_of(typed, noise)
    law = choose_law(Pools(axes), [(1, 0, 0)], 1_000, asking=False)
    drawn = DeepCopies(typed, noise, 1, law, Pools(axes).sites)
    values = np.concatenate([drawn.draw(chunk, deep.DEEP_CHUNK).values for chunk in range(10)])
    gone, changed = (values[:, 0] == 0).sum(), (values[:, 0] == 2).sum()  # of type 1: deleted, or of type 2
    assert gone / changed == pytest.approx(2, rel=0.08)
