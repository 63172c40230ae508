"""Attacks by number: every one of a threat, each once, smallest sizes first."""

from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest

import starcert as sc
from starcert.certificates.ordered_attacks import ENOUGH, AttackRun, OrderedAttacks
from starcert.objects.sites import Sites
from starcert.objects.threats import read_threat

NOISE = sc.Noise(all=0.1)
TYPED = sc.Graph(4, [(0, 1), (1, 2), (2, 3)], edge_types=["s", "d", "s"], type_names=("s", "d"))


def listed(run: AttackRun):
    pairs = list(zip(run.positions.tolist(), run.values.tolist(), strict=True))
    return [tuple(pairs[start:stop]) for start, stop in pairwise(run.starts.tolist())]


@pytest.mark.parametrize(
    "text", ["flips:3", "deletions:2", "additions:3", "rewire:2", "swap:1 | flips:1", "flips:1 + deletions:1"]
)
@pytest.mark.parametrize(
    ("graph", "noise"),
    [
        (sc.Graph(5, [(0, 1), (1, 2), (3, 4)]), NOISE),
        (TYPED, sc.Noise(all=sc.Edges(delete=0.1, add=0.1, change=0.1))),
        (sc.Graph(3, [(0, 1)], directed=True), NOISE),
        (sc.Graph(1, []), NOISE),
    ],
)
def test_every_attack_of_a_threat_has_one_number(graph, noise, text):
    sites, threat = Sites.everything(graph, "all"), read_threat(text)
    found, start = OrderedAttacks(threat, sites, noise), 0
    for size, end in enumerate(found.ends, start=1):
        of_size = listed(found.run(start, end))
        assert sorted(of_size) == sorted(threat.attacks(sites, size))
        start = end
    every = listed(found.run(0, start))
    for step in (1, 4, 7):
        parts = [listed(found.run(at, min(at + step, start))) for at in range(0, start, step)]
        assert [attack for part in parts for attack in part] == every


def test_sets_among_millions_of_sites_are_found_without_the_others():
    row = sc.Bits(np.zeros(2**16, dtype=np.uint8))
    found = OrderedAttacks(read_threat("flips:9"), Sites.everything(row, "all"), NOISE)
    assert found.counts == tuple(comb(2**16, size) for size in range(1, 10))
    first = found.ends[4]
    assert first > ENOUGH
    assert [site for site, _ in listed(found.run(2**16, 2**16 + 1))[0]] == [0, 1]
    some = listed(found.run(found.ends[1], found.ends[1] + 20))
    assert [tuple(site for site, _ in each) for each in some] == sorted(
        combinations(range(6), 3), key=lambda each: each[::-1]
    )
    last = listed(found.run(found.ends[1] - 1, found.ends[1]))[0]
    assert [site for site, _ in last] == [2**16 - 2, 2**16 - 1]
