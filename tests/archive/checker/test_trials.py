"""Bounds on how many attacks there are: none refuses what a threat lists, and each is the best for what is known."""

from itertools import combinations, product
from math import comb, prod

import numpy as np
import pytest

import starcert as sc
from starcert.archive.checker.trials import (
    _even,
    _set_counts,
    _uneven,
    check_capacity,
    check_counts,
    check_listed,
    rank_of,
)
from starcert.claims.question import Question
from starcert.methods.exhaustive import any_changes
from starcert.objects import Bits, Categories
from starcert.objects.binding import bind_all
from starcert.objects.threats import AnyFlips, read_threat
from starcert.objects.threats.sets import NumberedAttacks


def typed(rng, n=5):
    pairs = [pair for pair in combinations(range(n), 2) if rng.random() < 0.4]
    return sc.Graph(n, pairs, edge_types=rng.choice(["s", "d", "t"], len(pairs)), type_names=("s", "d", "t"))


OBJECTS = {
    "bits": lambda rng: sc.Graph(5, [pair for pair in combinations(range(5), 2) if rng.random() < 0.4]),
    "types": typed,
    "a row of bits": lambda rng: Bits(rng.integers(2, size=7)),
    "categories": lambda rng: Categories(rng.integers(4, size=5), values=4),
}
THREATS = ("flips:3", "deletions:3", "additions:2", "changes:3", "local:2,per_node=1", "rewire:1", "box:all=2",
           "swap:1 | deletions:2", "controlled:2,nodes=0|1", "flips:2 & deletions:3")  # fmt: skip


@pytest.mark.parametrize("what", OBJECTS)
def test_what_a_threat_lists_is_never_refused(what):
    rng, some = np.random.default_rng(1), 0
    for number in range(12):
        clean = OBJECTS[what](rng)
        problem = any_changes([clean], None)
        if what in ("bits", "a row of bits") and number % 2:
            problem = bind_all([clean], sc.Noise(all=sc.Flip(delete=0.1, add=0.2)), None)
        sites, axes, capacity = problem.sites[0], problem.noise.axes, problem.capacities[0]
        assert check_capacity(axes, capacity, sites.n_sites) == ""
        for text in THREATS:
            try:
                threat = read_threat(text).for_noise(problem.noise)
                counts = NumberedAttacks(threat, sites, problem.noise).counts
            except sc.InvalidParameterError:  # a threat for other objects
                continue
            some += 1
            assert check_counts(threat, counts, axes, capacity, sites.n_sites) == "", (text, counts, capacity)
    assert some > 20


FLIPS = (sc.Flip(0.2), sc.Flip(delete=0.3, add=0.1), sc.Flip(delete=0.4, add=0), sc.Flip(0.0))
LAWS = {
    "bits": FLIPS,
    "types": (*FLIPS, sc.Edges(delete=0.1, add=0.05, change=0.15)),
    "a row of bits": FLIPS,
    "categories": (sc.Categorical(0.2),),
}


@pytest.mark.parametrize("what", LAWS)
def test_what_a_threat_lists_for_votes_is_never_refused(what):
    rng, some = np.random.default_rng(2), 0
    for _ in range(12):
        clean, (one, other) = OBJECTS[what](rng), rng.choice(len(LAWS[what]), 2)
        regions, noise = None, sc.Noise(all=LAWS[what][one])
        if isinstance(clean, sc.Graph) and rng.random() < 0.6:
            pairs = [pair for pair in combinations(range(5), 2) if rng.random() < 0.8]
            regions = sc.Partition.from_pairs({"near": pairs[:3], "far": pairs[3:]})
            noise = sc.Noise({"near": LAWS[what][one], "far": LAWS[what][other]})
        problem = bind_all([clean], noise, regions)
        for text in THREATS:
            try:
                asked = Question.of(read_threat(text), problem.sites[0], problem.noise)
            except sc.InvalidParameterError:  # a threat for other objects, or other laws
                continue
            some += 1
            capacity = problem.capacities[0]
            assert check_listed(asked.threat, asked.counts, problem.noise, capacity) == "", (text, asked, capacity)
    assert some > 20


def test_counts_of_sets_are_elementary_symmetric_polynomials_between_the_most_and_least_even_ones():
    for n in range(1, 5):
        for total in range(n, 4 * n + 1):
            every = [ways for ways in product(range(1, 5), repeat=n) if sum(ways) == total]
            found = [[sum(map(prod, combinations(ways, size))) for size in range(1, n + 1)] for ways in every]
            assert list(_set_counts(_even(n, total))) == np.max(found, axis=0).tolist()
            assert list(_set_counts(_uneven(n, total, 4))) == np.min(found, axis=0).tolist()


BITS = ("all",), (56,), 56
APART = ("all.delete", "all.add"), (20, 36), 56
TYPES = ("all.delete", "all.add", "all.change"), (20, 36, 20), 56


@pytest.mark.parametrize(
    ("threat", "counts", "where", "must"),
    [
        ("flips:2", [57, 0], BITS, "of size 2"),
        ("flips:2", [55, 0], BITS, "be 56 to 14,280 of size 1"),
        ("flips:2", [56, 1_539], BITS, "be 1,540 of size 2"),
        ("flips:2", [57, 1_541], BITS, "of size 2"),
        ("flips:2", [57, 1_595], APART, "be 56 of size 1"),
        ("flips:1", [14_281], BITS, "be 56 to 14,280 of size 1"),
        ("deletions:2", [20, 0], BITS, "be 190 of size 2"),
        ("deletions:1", [19], APART, "be 20 of size 1"),
        ("deletions:1", [57], BITS, "be 0 to 56 of size 1"),
        ("additions:2", [36, 1], APART, "of size 2"),
        ("additions:1", [35], TYPES, "be 36 to"),
        ("changes:1", [19], TYPES, "be 20 to"),
        ("changes:2", [20, 0], TYPES, "be 190 of size 2"),
        ("local:2,per_node=1", [56, 10**9], BITS, "0 to 100,138,500 of size 2"),
        ("rewire:1", [1], (("all",), (0,), 0), r"256^0 − 1 in all"),
        ("rewire:1", [256], (("all",), (1,), 1), r"256^1 − 1 in all"),
        ("local:2,per_node=1", [3, 1], (("all",), (1,), 1), "be 0 of more than 1 sites"),
    ],
)
def test_counts_that_cannot_be_are_refused(threat, counts, where, must):
    assert must in check_counts(read_threat(threat), counts, *where)


@pytest.mark.parametrize(
    ("axes", "capacity", "n_sites", "must"),
    [
        (("all",), (55,), 56, "56 sites"),
        (("all",), (57,), 56, "56 sites"),
        (("a", "b"), (28, 29), 56, "56 sites"),
        (("all.delete", "all.add"), (20, 35), 56, "56 sites"),
        (("all.delete", "all.add", "all.change"), (20, 36, 19), 56, "the same for all.change"),
        (("all.known", "all.unknown"), (57, 3), 56, "56 sites"),
    ],
)
def test_capacities_that_cannot_be_are_refused(axes, capacity, n_sites, must):
    assert must in check_capacity(axes, capacity, n_sites)
    assert check_capacity(("all.known", "all.unknown"), (50, 30), 56) == ""


def test_the_work_is_bounded_whatever_the_numbers_are():
    counts = [comb(100_000, size) for size in range(1, 60)] + [0] * 100_000
    assert "of size 60" in check_counts(AnyFlips(len(counts)), counts, ("all",), (100_000,), 100_000)
    local = read_threat("local:100000,per_node=1")
    assert check_counts(local, [1] * 100_000, ("all",), (10**18,), 10**18) == ""
    assert rank_of(range(2**60, 2**60 + 100_000), 2**62) == 2**62 + 1
    for sites in combinations(range(8), 3):
        assert rank_of(sites, 100) == sum(comb(site, place) for place, site in enumerate(sites, start=1))
