"""The device's sampler, run on the CPU and where there is one on a device: the same law as the others, exactly."""

import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from device_worlds import DEVICES, torch

import starcert as sc
from starcert.sampling.draws import Way
from starcert.sampling.sampler import _laws, _pools
from starcert.sampling.streams import WordStream
from starcert.sampling.views import view_of

device = pytest.importorskip("starcert.sampling.device")

CPU = torch.device("cpu")
GRAPH = sc.Graph.from_networkx(nx.gnp_random_graph(9, 0.4, seed=3))
SITES = sc.Partition.from_node_sets({"a": range(5), "b": range(5, 8)}, between={"c": ("a", "b")}).sites(GRAPH)


def draw(noise: sc.Noise, samples: int, chunk: int = 0, place: str = "cpu"):
    drawn = device.DeviceSampler(SITES, *_laws(SITES, _pools(SITES, noise)), place)
    bits = drawn.draw(WordStream.of_chunk(1, GRAPH.key, "estimation", chunk), samples)
    return view_of(SITES, Way.DEVICE, place)(bits)


@pytest.mark.parametrize("place", DEVICES)
def test_all_views_agree_and_fixed_sites_never_move(place):
    batch = draw(sc.Noise(a=0.2, b=sc.Flip(delete=0.5, add=0.1), c=0.05), 300, place=place)
    dense = np.zeros((300, 9, 9), dtype=int)
    u, v = SITES.coordinates(np.arange(SITES.n_sites))
    dense[:, u, v] = dense[:, v, u] = batch.values
    for i, j in SITES.fixed_edges:
        dense[:, i, j] = dense[:, j, i] = 1
    np.testing.assert_array_equal(batch.adjacency(), dense)
    np.testing.assert_array_equal(batch.adjacency_on(CPU).numpy(), dense)
    np.testing.assert_array_equal(batch.degrees(), dense.sum(axis=1))
    np.testing.assert_array_equal(batch.degrees_on(CPU).numpy(), dense.sum(axis=1))
    index, owner = (tensor.numpy() for tensor in batch.edge_index_on(CPU))
    rebuilt = np.zeros_like(dense)
    rebuilt[owner[index[0]], index[0] % 9, index[1] % 9] += 1
    np.testing.assert_array_equal(rebuilt, dense)
    np.testing.assert_array_equal(batch[10:20].values, batch.values[10:20])
    assert (dense[:, 8] == GRAPH.to_numpy()[8]).all()


@pytest.mark.parametrize("place", DEVICES)
def test_flips_follow_the_law_of_their_site(place):
    noise = sc.Noise(a=0.02, b=sc.Flip(delete=0.3, add=0.0), c=1.0)
    samples = 100_000
    batch = draw(noise, samples, place=place)
    clean = np.zeros(SITES.n_sites, dtype=np.uint8)
    for ones in SITES.ones:
        clean[ones] = 1
    share = (batch.values ^ clean).mean(axis=0)
    values, law = _laws(SITES, _pools(SITES, noise))
    expected = values[law]
    assert np.abs(share - expected).max() < 5 * math.sqrt(0.25 / samples)
    assert (share[expected == 1] == 1).all()
    assert (share[expected == 0] == 0).all()


@pytest.mark.parametrize("p", [0.0, 0.2, 0.04, 1 / 3, 1e-7, 0.999, 2.0**-100, 1.0])
def test_the_digits_are_those_of_p(p):
    for chance in (Fraction(p), 1 - Fraction(p)):
        last, second = device._digits(chance)
        assert -1 <= last < 2**63
        assert Fraction(last + 1, 2**63) + Fraction(second, 2**126) == chance


@pytest.mark.parametrize(("clean", "chance"), [(0, Fraction(1e-7)), (1, 1 - Fraction(1e-7))])
def test_ties_go_on_with_the_next_digits(clean, chance, monkeypatch):
    """All first numbers equal the digits of an edge's probability: the second ones decide whether it is there."""
    drawn = device.DeviceSampler(SITES, np.array([1e-7]), np.zeros(SITES.n_sites, dtype=np.uint8), "cpu")
    here = draw_clean() == clean
    last, second = device._digits(chance)
    assert second > 0
    script = [last + 1, second - 1, last + 1, second, last, last + 2]

    def scripted(tensor, generator=None):
        return tensor.fill_(script.pop(0))

    monkeypatch.setattr(torch.Tensor, "random_", scripted)
    for present in (1, 0, 1, 0):
        batch = drawn.draw(WordStream.of_chunk(1, GRAPH.key, "estimation", 0), 2)
        assert (batch.values[:, here] == present).all()


def draw_clean() -> np.ndarray:
    clean = np.zeros(SITES.n_sites, dtype=np.uint8)
    for ones in SITES.ones:
        clean[ones] = 1
    return clean


def test_large_chunks_are_drawn_in_portions_that_follow_one_another(monkeypatch):
    noise = sc.Noise(a=0.2, b=0.3, c=0.4)
    whole = draw(noise, 300).values
    monkeypatch.setattr(device, "NUMBERS", 64 * SITES.n_sites)
    np.testing.assert_array_equal(draw(noise, 300).values, whole)


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize(("held", "wanted"), [(1, 300), (100, 129), (10**9, 200)])
def test_portions_are_the_copies_of_a_chunk(held, wanted, place, monkeypatch):
    noise = sc.Noise(a=0.2, b=0.3, c=0.4)
    monkeypatch.setattr(device, "NUMBERS", 64 * SITES.n_sites)
    monkeypatch.setattr(device, "HELD", held)
    drawn = device.DeviceSampler(SITES, *_laws(SITES, _pools(SITES, noise)), place)
    portions = list(drawn.portions(WordStream.of_chunk(1, GRAPH.key, "estimation", 0), 300, wanted))
    assert len(portions) == (1 if held > 100 else -(-wanted // 64))
    whole = draw(noise, 300, place=place).values
    np.testing.assert_array_equal(np.concatenate([each.values for each in portions]), whole[:wanted])


@pytest.mark.parametrize("place", DEVICES)
def test_a_chunk_is_a_function_of_its_stream(place):
    noise = sc.Noise(a=0.2, b=0.3, c=0.4)
    first = draw(noise, 50, place=place).values
    np.testing.assert_array_equal(draw(noise, 50, place=place).values, first)
    assert (first != draw(noise, 50, chunk=1, place=place).values).any()
    state = torch.random.get_rng_state()
    draw(noise, 50)
    assert (torch.random.get_rng_state() == state).all()
