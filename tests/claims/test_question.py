"""What a threat asks about one object; and threats of somebody else's, checked before the first vote."""

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import pytest
from asking import how_to

import starcert as sc
from starcert import threats
from starcert.claims.question import Question
from starcert.objects.sites import Sites
from starcert.objects.threats import Attacks, Threat
from starcert.objects.threats.sets import ENOUGH, NumberedAttacks

NOISE = sc.Noise(all=sc.Flip(delete=0.2, add=0.12))
PATH = sc.Graph(5, [(0, 1), (1, 2), (2, 3)])
ONE_AXIS = sc.Noise(all=0.1)
SITES = Sites.everything(PATH, "all")


def question(threat):
    return Question.of(threats.read_threat(threat), SITES, NOISE)


def near(frame, u, v):
    return v - u < 3


def also_near(frame, u, v):
    return v - u < 2


also_near.__name__ = "near"


@dataclass(frozen=True)
class Foreign(Threat):
    """Flips of the first pairs, as many as it has units: what a size lists depends on all of them."""

    most: int = 2
    by_radius = False
    label = "the first pairs"

    def attacks(self, sites, size):
        return Attacks.from_lists([[(site, 1)] for site in range(1, self.most + 1) if size == 1])


@pytest.mark.parametrize(
    ("asked", "other", "size"),
    [
        ("rewire:2", "rewire:2", 2),
        ("rewire:2", "rewire:1", 1),
        ("rewire:2", "rewire:3", None),
        ("rewire:2", "swap:1", None),
        ("local:3,per_node=1", "local:2,per_node=1", 2),
        ("local:3,per_node=1", "local:2,per_node=2", None),
        ("controlled:2,nodes=0|1", "controlled:1,nodes=0", None),
        (threats.InjectNode(nodes=(4,), edges=2), threats.InjectNode(nodes=(4,), edges=1), 1),
        (threats.Where(near, 2), threats.Where(near, 1), 1),
        (threats.Where(near, 2), threats.Where(also_near, 1), None),
        ("rewire:2 | deletions:1", "rewire:2 | deletions:1", 2),
        ("rewire:2 | deletions:1", "rewire:1 | deletions:1", None),
        ("rewire:2 & flips:4", "rewire:1 & flips:4", None),
        ("deletions:1 + additions:1", "deletions:1", None),
        (Foreign(2), Foreign(2), 2),
        (Foreign(2), Foreign(1), None),
    ],
)
def test_only_the_same_threat_with_fewer_units_is_part_of_it(asked, other, size):
    assert question(asked).size_of(threats.read_threat(other)) == size


def test_the_largest_levels_contain_all_others():
    assert question("rewire:1").largest == ((1, 1),)
    assert question("deletions:2 | additions:1").largest == ((0, 1), (2, 0))
    empty = Question.of(threats.Rewire(2), Sites.everything(sc.Graph(4, []), "all"), NOISE)
    assert empty.largest == ()
    assert empty.certified_by(lambda level: False) == 2


def test_a_digest_stands_for_the_attacks_whatever_they_are_called():
    assert question("rewire:1").digest == question("rewire:1 | rewire:1").digest
    texts = ["rewire:1", "rewire:2", "swap:1", "deletions:2", "deletions:1", "additions:1", "flips:2 & deletions:2"]
    digests = [question(text).digest for text in texts]
    assert digests[3] == digests[6]
    assert len(set(digests)) == len(digests) - 1
    assert question(threats.Where(near, 1)).digest != question(threats.Where(also_near, 1)).digest


def test_a_box_in_a_list_has_the_axes_of_the_noise():
    both = threats.Box((1, 1)) & threats.Rewire(1)
    asked = question(both)
    assert asked.levels == (frozenset(), frozenset({(1, 1)}))  # two flips, of one unit of the one and two of the other
    assert asked.size_of(both.for_noise(NOISE)) == 2


def lists(attacks, **more):
    """A threat of somebody else's that returns this for its first size."""
    named = {"most": 1, "by_radius": False, "label": "mine", "attacks": lambda self, sites, size: attacks} | more
    return type("Mine", (Threat,), named)()


BAD = [
    (lists([(0, 1)]), r"'threat' must return Attacks for size 1: mine. Got \[\(0, 1\)\]"),
    (lists(None), "must return Attacks"),
    (lists(Attacks((np.array([256.0]),))), "must return Attacks"),
    (lists(Attacks((np.array([[256.5]]),))), "must return Attacks"),
    (lists(Attacks((np.empty((1, 0), dtype=np.int64),))), "changes nothing"),
    (lists(Attacks.from_lists([[(99, 1)]])), "'attacks' must give sites of the object other values"),
    (lists(Attacks.from_lists([[(0, 1)]])), "other values"),  # it is there already
    (lists(Attacks.from_lists([[(1, 2)]])), "other values"),
    (lists(Attacks((np.array([[257 + 255, 257 + 256]]),))), "each site once"),
    (lists(Attacks(), most=0), "'threat.most' must be a whole number from 1"),
    (lists(Attacks(), most=1.5), "'threat.most' must be a whole number from 1"),
    (lists(Attacks(), most=10**6), "'threat.most' must be a whole number from 1 to 4,096"),
    (lists(Attacks(), label=7), "'threat.label' must be a text"),
    (lists(Attacks((np.full((2**21 + 1, 1), 256),))), "at most 2,097,152 attacks of one size"),
]


@pytest.mark.parametrize(("threat", "message"), BAD)
@pytest.mark.parametrize("plan", ["fixed", "decided"])
def test_what_can_fail_fails_before_the_first_vote(threat, message, plan):
    def classify(batch):
        raise AssertionError("a vote was drawn")

    base = sc.classifiers.from_callable(classify, on="batch", n_classes=2, description="none")
    smoothed = sc.SmoothedClassifier(base, NOISE)
    large = sc.Graph(60, [(i, i + 1) for i in range(50)])
    for evidence in (False, True):
        with pytest.raises(sc.InvalidParameterError, match=message):
            smoothed.certify([PATH, large], **how_to(samples=100, seed=1, threat=threat, plan=plan, evidence=evidence))
    with pytest.raises(sc.InvalidParameterError, match=message):
        sc.ExactClassifier(base, NOISE).certify([PATH, large], threat=threat)


def test_sizes_are_certified_by_levels_from_below():
    asked = question("deletions:2 + additions:1")  # (deletions, additions)
    assert [sorted(levels) for levels in asked.levels] == [[(0, 1), (1, 0)], [(1, 1), (2, 0)], [(2, 1)]]
    assert asked.certified_by(lambda level: True) == 3
    assert asked.certified_by(lambda level: level != (2, 0)) == 1
    assert asked.certified_by(lambda level: level != (0, 1)) == 0


TYPED = sc.Graph(4, [(0, 1), (1, 2), (2, 3)], edge_types=["s", "d", "s"], type_names=("s", "d"))


@pytest.mark.parametrize(
    "text", ["flips:3", "deletions:2", "additions:3", "rewire:2", "swap:1 | flips:1", "flips:1 + deletions:1"]
)
@pytest.mark.parametrize(
    ("graph", "noise"),
    [
        (sc.Graph(5, [(0, 1), (1, 2), (3, 4)]), ONE_AXIS),
        (TYPED, sc.Noise(all=sc.Edges(delete=0.1, add=0.1, change=0.1))),
        (sc.Graph(3, [(0, 1)], directed=True), ONE_AXIS),
        (sc.Graph(1, []), ONE_AXIS),
    ],
)
def test_every_attack_of_a_threat_has_one_number(graph, noise, text):
    sites, threat = Sites.everything(graph, "all"), threats.read_threat(text)
    found, start = NumberedAttacks(threat, sites, noise), 0
    for size, end in enumerate(found.ends, start=1):
        of_size = list(found.run(start, end))
        assert sorted(of_size) == sorted(threat.attacks(sites, size))
        start = end
    every = list(found.run(0, start))
    for step in (1, 4, 7):
        parts = [list(found.run(at, min(at + step, start))) for at in range(0, start, step)]
        assert [attack for part in parts for attack in part] == every


def test_sets_among_millions_of_sites_are_found_without_the_others():
    row = sc.Bits(np.zeros(2**16, dtype=np.uint8))
    found = NumberedAttacks(threats.read_threat("flips:9"), Sites.everything(row, "all"), ONE_AXIS)
    assert found.counts == tuple(comb(2**16, size) for size in range(1, 10))
    first = found.ends[4]
    assert first > ENOUGH
    assert [site for site, _ in next(iter(found.run(2**16, 2**16 + 1)))] == [0, 1]
    some = list(found.run(found.ends[1], found.ends[1] + 20))
    assert [tuple(site for site, _ in each) for each in some] == sorted(
        combinations(range(6), 3), key=lambda each: each[::-1]
    )
    (last,) = found.run(found.ends[1] - 1, found.ends[1])
    assert [site for site, _ in last] == [2**16 - 2, 2**16 - 1]
