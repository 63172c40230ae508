"""The guarantee itself, under laws on more than two values: every vector of a few sites is listed.

With transitions in 64ths, the chance of each vector after the noise is a whole number over a power of two, so the
smoothed classifier is known exactly, and so is whether a certificate tells the truth.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from enumerated import check_every_certificate, check_rho_is_attained, check_slack_is_attained

import starcert as sc
from starcert.system.errors import InvalidParameterError


class Toy(sc.Law):
    """Three values, no two of which the noise treats alike: an axis for every move."""

    chances = ((40, 16, 8), (6, 48, 10), (3, 1, 60))
    alphabet = 3
    moves = tuple((move,) for move in ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)))
    suffixes = tuple(f".{before}{after}" for ((before, after),) in moves)

    def transitions(self, value: int) -> tuple[Fraction, ...]:
        return tuple(Fraction(chance, 64) for chance in self.chances[value])


class Erasing(Toy):
    """A value is kept, or it shows as 0, which is what an erased one looks like: two ways to be attacked."""

    chances = ((64, 0, 0), (40, 24, 0), (40, 0, 24))
    moves = (((1, 2), (2, 1)), ((1, 0), (2, 0)), ((0, 1), (0, 2)))
    suffixes = (".swap", ".erase", ".write")


CASES = {
    "categorical": ({"all": sc.Categorical(24 / 64, 3)}, ["all"] * 4),
    "categorical with four values": ({"all": sc.Categorical(24 / 64, 4)}, ["all"] * 3),
    "categorical and bits": ({"a": sc.Categorical(20 / 64, 3), "b": sc.Flip(20 / 64)}, ["a", "a", "b", "b", "b"]),
    "two categorical regions": (
        {"a": sc.Categorical(8 / 64, 3), "b": sc.Categorical(34 / 64, 3)},
        ["a", "a", "b", "b"],
    ),
    "categorical, never staying": ({"all": sc.Categorical(1.0, 5)}, ["all"] * 2),
    "categorical, free": ({"a": sc.Categorical(48 / 64, 4), "b": sc.Flip(0.25)}, ["a", "b", "b", "b"]),
    "edges of two types": ({"all": sc.Edges(delete=12 / 64, add=10 / 64, change=9 / 64, types=2)}, ["all"] * 3),
    "edges of three types": ({"a": sc.Edges(delete=4 / 64, add=12 / 64, change=22 / 64, types=3)}, ["a"] * 2),
    "edges and atoms": (
        {"a": sc.Edges(delete=12 / 64, add=20 / 64, change=0.0, types=2), "b": sc.Categorical(30 / 64, 3)},
        ["a", "a", "b"],
    ),
    "not symmetric": ({"all": Toy()}, ["all"] * 2),
    "not symmetric, three sites": ({"all": Toy()}, ["all"] * 3),
    "not symmetric and fixed sites": ({"a": Toy(), "b": sc.Categorical(40 / 64, 3)}, ["a", "b", None]),
    "erasing": ({"all": Erasing()}, ["all"] * 4),
}


class World:
    """One noise on a few sites: every vector, every chance and every attack, exactly."""

    def __init__(self, laws: dict, regions: list) -> None:
        self.noise = sc.Noise(laws)
        alphabets = [laws[region].alphabet if region else 2 for region in regions]
        self.vectors = np.array(list(product(*map(range, alphabets))))
        n = len(self.vectors)
        self.one = 64 ** sum(region is not None for region in regions)
        self.weights = np.ones((n, n), dtype=np.int64)
        self.attacks = np.zeros((n, n, len(self.noise.axes)), dtype=int)
        self.allowed = np.ones((n, n), dtype=bool)
        self.capacities = np.zeros((n, len(self.noise.axes)), dtype=int)
        for site, region in enumerate(regions):
            before, after = self.vectors[:, None, site], self.vectors[None, :, site]
            if region is None:
                self.weights *= before == after
                self.allowed &= before == after
                continue
            law = laws[region]
            chances = np.array([[int(64 * p) for p in law.transitions(value)] for value in range(law.alphabet)])
            assert (chances.sum(axis=1) == 64).all()
            self.weights *= chances[before, after]
            counted = before == after
            for suffix, moves in zip(law.suffixes, law.moves, strict=True):
                moved = sum((before == x) & (after == y) for x, y in moves)
                self.attacks[:, :, self.noise.axes.index(region + suffix)] += moved
                counted = counted | (moved > 0)
            self.allowed &= counted
        for x, vector in enumerate(self.vectors):
            counts = {
                r: [sum(vector[s] == v for s, each in enumerate(regions) if each == r) for v in range(5)] for r in laws
            }
            self.capacities[x] = [c for r, law in laws.items() for c in law.capacity(counts[r][: law.alphabet])]
        assert (self.weights.sum(axis=1) == self.one).all()


@pytest.fixture(params=CASES, scope="module")
def world(request) -> World:
    return World(*CASES[request.param])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_certified_box_holds_a_vector_with_another_label(world, n_classes):
    check_every_certificate(world, n_classes, how_many=12 if world.one * len(world.noise.axes) < 2**20 else 2)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_no_certified_box_holds_a_vector_with_another_label_at_length(world, n_classes):
    check_every_certificate(world, n_classes, how_many=60)


def test_slack_is_attained_by_the_worst_classifier(world):
    check_slack_is_attained(world)


def test_the_worst_classifier_attains_rho_lower(world):
    check_rho_is_attained(world)


def test_capacity_is_the_largest_attack(world):
    reached = np.where(world.allowed[:, :, None], world.attacks, 0).max(axis=1)
    assert (reached == world.capacities).all()


class Boastful(sc.Categorical):
    """Certified as if there were more noise than there is."""

    @property
    def channels(self):
        return sc.Categorical(44 / 64, self.values).channels


class Pooled(Toy):
    """All moves on one axis, with the channel of one of them."""

    moves = (tuple(move for (move,) in Toy.moves),)
    suffixes = ("",)

    @property
    def channels(self):
        return Toy().channels[1:2]


@pytest.mark.parametrize("law", [Boastful(24 / 64, 3), Pooled()])
def test_a_law_that_lies_about_its_channel_is_refused_and_would_be_found_out(law, monkeypatch):
    with pytest.raises(InvalidParameterError, match=r"channels are those of their transitions|one channel for all"):
        _ = sc.Noise(all=law).product
    monkeypatch.setattr("starcert.objects.noise.LAWS", (type(law),))  # as if it were starcert's own
    with pytest.raises(AssertionError, match="has another label"):
        check_every_certificate(World({"all": law}, ["all"] * 4), 2, how_many=12)


def test_moves_with_several_channels_cannot_share_an_axis():
    class Mixed(Pooled):
        channels = sc.Law.channels

    with pytest.raises(InvalidParameterError, match="one channel for all moves of an axis"):
        sc.slack(sc.Noise(all=Mixed()), 1)
