"""Copies taken from a batch, and copies with other values at some sites: the same for every method of drawing."""

import numpy as np
import pytest
from device_worlds import DEVICES

import starcert as sc
from starcert.sampling import sampler as samplers
from starcert.sampling.attacked import values_at_attacks
from starcert.sampling.batch import replace_sites, select_copies
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (5, 6)]
BITS = sc.Graph(7, EDGES)
TYPED = sc.Graph(7, EDGES, edge_types=["s", "d", "s", "s", "d", "d"], type_names=("s", "d"))
FLIPS = sc.Noise(all=sc.Flip(delete=0.3, add=0.05))
TYPES = sc.Noise(all=sc.Edges(delete=0.25, add=0.125, change=0.125))
LIMITS = ("MAX_DENSE_BITS", "MAX_DENSE_VALUES", "MAX_DENSE_ON_DEVICE", "MAX_OTHERS_ON_DEVICE", "DEVICE_SITES_PER_FLIP")
LISTED = dict.fromkeys(LIMITS, 0) | {"DENSE_SHARE": 1.0}

METHODS = {
    "packed": (BITS, FLIPS, {}),
    "flips": (BITS, FLIPS, LISTED),
    "values": (TYPED, TYPES, {}),
    "flipped values": (TYPED, TYPES, LISTED),
}


@pytest.fixture(params=METHODS)
def method(request, monkeypatch):
    graph, noise, limits = METHODS[request.param]
    for name, limit in limits.items():
        monkeypatch.setattr(samplers, name, limit)
    return graph, noise


def problem(graph, noise):
    return sc.SmoothedClassifier(sc.classifiers.from_callable(lambda _: 0, n_classes=2), noise).problem([graph])


@pytest.mark.parametrize("place", [*DEVICES, "cpu:0"])
def test_copies_are_taken_and_sites_replaced_whatever_draws_them(method, place):
    """On cpu:0 it is the code for devices, on the CPU."""
    graph, noise = method
    bound = problem(graph, noise)
    drawn = sampler(bound.sites[0], bound.noise, place).draw(WordStream(7), 100)[5:95]
    before = drawn.values
    order = np.array([3, 89, 0, 64, 63, 3])
    np.testing.assert_array_equal(select_copies(drawn, order).values, before[order])
    assert select_copies(drawn, order).edges().starts[-1] == np.count_nonzero(before[order])
    assert len(select_copies(drawn, order[:0])) == 0
    copies, positions = np.array([0, 0, 0, 62, 89]), np.array([0, 20, 3, 1, 20])
    for values in ([0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 1, 0, 1, 0]):
        expected = before.copy()
        expected[copies, positions] = values
        other = replace_sites(drawn, copies, positions, np.array(values, dtype=np.uint8))
        np.testing.assert_array_equal(other.values, expected)
        assert other.edges().starts[-1] == np.count_nonzero(expected)
    np.testing.assert_array_equal(drawn.values, before)


@pytest.mark.parametrize("name", ["packed", "values"])
def test_attacked_sites_show_what_noise_shows_there(name):
    graph, noise, _ = METHODS[name]
    bound = problem(graph, noise)
    sites = bound.sites[0]
    n, trials = sites.n_sites, 20_000
    here, there = int(sites.nonzero[0][0]), next(i for i in range(n) if i not in sites.nonzero[0])
    rank = n if name == "values" else 0  # the second other value
    copies, positions, values = values_at_attacks(
        [(), *[(here, there + rank)] * trials, ()], sites, bound.noise, WordStream(3)
    )
    assert copies.tolist() == np.repeat(np.arange(1, trials + 1), 2).tolist()
    laws = {"packed": ([0.95, 0.05], [0.3, 0.7]), "values": ([0.875, 0.0625, 0.0625], [0.25, 0.125, 0.625])}[name]
    for position, law in zip((here, there), laws, strict=True):
        shown = np.bincount(values[positions == position], minlength=len(law)) / trials
        np.testing.assert_allclose(shown, law, atol=0.02)


def test_what_has_probability_0_is_never_shown_at_an_attack():
    """An edge that was deleted keeps its type where noise adds it again."""
    bound = problem(TYPED, sc.Noise(all=sc.Flip(delete=0.25, add=0.5, added=(3.0, 1.0))))
    sites = bound.sites[0]
    position = int(sites.nonzero[0][sites.nonzero[1] == 2][0])
    _, _, values = values_at_attacks([(position,)] * 500, sites, bound.noise, WordStream(3))
    assert set(values.tolist()) == {0, 2}


def test_no_attack_replaces_nothing():
    bound = problem(BITS, FLIPS)
    assert [len(each) for each in values_at_attacks([(), ()], bound.sites[0], bound.noise, WordStream(1))] == [0] * 3
