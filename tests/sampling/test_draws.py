"""Which sites flipped in some copies: their noisy values beside the clean ones, whichever way they were drawn."""

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.math.ballots import Ballots
from starcert.math.flips import ListedFlips
from starcert.sampling.batch import NoisyGraphs, flips_of
from starcert.sampling.draws import FlippedDraw, Method
from starcert.sampling.sampler import sampler, site_sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import view_of

GRAPH = sc.Graph.from_networkx(nx.gnp_random_graph(9, 0.4, seed=3))
SITES = sc.Partition.from_node_sets({"a": range(5), "b": range(5, 8)}, between={"c": ("a", "b")}).sites(GRAPH)
NOISE = sc.Noise(a=0.2, b=sc.Flip(delete=0.5, add=0.1), c=0.05)


def stream() -> WordStream:
    return WordStream.of_chunk(1, GRAPH.key, "estimation", 0)


def unpacked(flips, n_sites: int) -> np.ndarray:
    """Flips as a matrix, whatever their form."""
    if not isinstance(flips, ListedFlips):
        assert flips.shape[1] == -(-n_sites // 8)
        assert not np.unpackbits(flips, axis=1, bitorder="little")[:, n_sites:].any()
        return np.unpackbits(flips, axis=1, bitorder="little", count=n_sites)
    matrix = np.zeros((len(flips.starts) - 1, n_sites), dtype=np.uint8)
    for row, (begin, end) in enumerate(zip(flips.starts[:-1], flips.starts[1:], strict=True)):
        assert (np.diff(flips.positions[begin:end].astype(int)) > 0).all()
        matrix[row, flips.positions[begin:end]] = 1
    return matrix


def check(batch, sites) -> None:
    clean = np.zeros(sites.n_sites, dtype=np.uint8)
    clean[sites.nonzero[0]] = 1
    rng = np.random.default_rng(1)
    for first, last in ((0, len(batch)), (70, 180), (5, 6), (64, 128)):
        some = batch[first:last]
        for number in (0, 1, len(some) // 3, len(some)):
            copies = np.sort(rng.choice(len(some), size=number, replace=False))
            matrix = unpacked(flips_of(some, copies), sites.n_sites)
            np.testing.assert_array_equal(matrix, (some.values ^ clean)[copies])


@pytest.mark.parametrize("noise", [NOISE, sc.Noise(a=0.0, b=1.0, c=sc.Flip(delete=0.3, add=0.0))])
def test_flips_of_packed_bits(noise):
    check(sampler(SITES, noise).draw(stream(), 300), SITES)


def test_flips_of_listed_flips():
    graph = sc.Graph.from_networkx(nx.gnp_random_graph(100, 0.05, seed=1))
    sites = sc.Partition.everything("all").sites(graph)
    noise = sc.Noise(all=sc.Flip(delete=0.02, add=0.001))
    batch = sampler(sites, noise).draw(stream(), 300)
    assert isinstance(flips_of(batch, np.array([0])), ListedFlips)
    check(batch, sites)


@pytest.mark.parametrize(
    ("p", "forms"), [(0.3, {"packed"}), (1e-3, {"listed"}), (1 / 32, {"packed", "listed"})], ids=["many", "few", "some"]
)
def test_flips_of_bits_on_a_device(p, forms):
    pytest.importorskip("torch")
    sites = sc.Partition.everything("all").sites(GRAPH)
    drawn = site_sampler(sites, sc.Noise(all=p), Method.DEVICE_DENSE).draw(stream(), 300)
    batch = view_of(sites, Method.DEVICE_DENSE)(drawn)
    check(batch, sites)
    found = [flips_of(batch, np.arange(start, start + 50)) for start in range(0, 300, 50)]
    assert {"listed" if isinstance(each, ListedFlips) else "packed" for each in found} == forms


def test_flips_of_values_come_with_what_they_show():
    rng = np.random.default_rng(3)
    values, clean = rng.integers(0, 4, (30, 11)).astype(np.uint8), rng.integers(0, 4, 11).astype(np.uint8)
    copies, nonzero = np.array([2, 3, 17, 29]), (np.flatnonzero(clean), clean[clean > 0])
    draw = FlippedDraw.of_values(values, nonzero)
    np.testing.assert_array_equal(draw.values, values)
    flips = draw.flips_of(copies, nonzero)
    flipped = values[copies] != clean
    np.testing.assert_array_equal(unpacked(flips.places, 11), flipped)
    np.testing.assert_array_equal(flips.shown, values[copies][flipped])
    record = Ballots.of_chunk([0], 11, 30, np.ones((4, 1), dtype=int), [flips])
    np.testing.assert_array_equal(record.values(range(11)), np.where(flipped, values[copies].astype(int), -1))


def test_the_sites_of_a_region_alone():
    """As few sites as there may be: none, and one."""
    for graph, n_sites in ((sc.Graph(1, []), 0), (sc.Graph(2, [(0, 1)]), 1)):
        sites = sc.Partition.everything("all").sites(graph)
        batch = sampler(sites, sc.Noise(all=0.3)).draw(stream(), 200)
        assert sites.n_sites == n_sites
        check(batch, sites)


def test_who_is_shown_a_batch_is_not_shown_its_flips():
    assert not any("flip" in name for name in dir(NoisyGraphs))
