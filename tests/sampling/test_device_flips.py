"""Flips on a device: the same law as here, edges that are those of the flips, blocks of pairs numbered alike."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from device_worlds import DEVICES, torch
from scipy import stats

import starcert as sc
from starcert.math.flips import ListedFlips
from starcert.objects import Sites, blocks
from starcert.sampling.batch import flips_of
from starcert.sampling.draws import Method
from starcert.sampling.sampler import site_sampler
from starcert.sampling.sparse import Pool, drawn_counts
from starcert.sampling.streams import WordStream
from starcert.sampling.views import view_of

device_flips = pytest.importorskip("starcert.sampling.device_flips")

GRAPH = sc.Graph.from_networkx(nx.gnp_random_graph(14, 0.3, seed=3))
SETS = {"a": range(6), "b": range(6, 11)}
PARTITIONS = {
    "everything": sc.Partition.everything("all"),
    "sets": sc.Partition.from_node_sets(SETS, between={"c": ("a", "b")}),
    "pairs": sc.Partition.from_pairs({"a": [(0, 1), (2, 5), (3, 4)], "b": [(0, 5), (1, 13)]}),
}
CPU = torch.device("cpu")


def stream(chunk: int = 0) -> WordStream:
    return WordStream.of_chunk(1, GRAPH.key, "estimation", chunk)


def sampler(sites, noise, place: str = "cpu"):
    return site_sampler(sites, noise, Method.DEVICE_SPARSE, place)


def drawn(sites, noise, samples: int, place: str = "cpu"):
    return view_of(sites, Method.DEVICE_SPARSE, place)(sampler(sites, noise, place).draw(stream(), samples))


def noise_for(partition, *laws):
    return sc.Noise(dict(zip(partition.regions, laws, strict=False)))


LAWS = (sc.Flip(delete=0.3, add=0.05), 0.1, sc.Flip(delete=0.0, add=0.4))


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("name", PARTITIONS)
def test_edges_are_those_of_the_values(name, place):
    """Every view of the copies, next to the values of their sites, which are made of the flips here."""
    sites = PARTITIONS[name].sites(GRAPH)
    batch = drawn(sites, noise_for(PARTITIONS[name], *LAWS), 50, place)
    values = batch.values
    for some in (batch, batch[7:31], batch[49:], batch[3:3]):
        first = 0 if some is batch else {24: 7, 1: 49, 0: 3}[len(some)]
        pairs = np.stack(sites.coordinates(np.arange(sites.n_sites)), axis=1)
        for copy, listed in enumerate(some.edges().pairs()):
            wanted = {*map(tuple, pairs[values[first + copy] == 1].tolist()), *map(tuple, sites.fixed_edges.tolist())}
            assert sorted(map(tuple, listed.tolist())) == sorted(wanted)
    index, owner = (tensor.numpy() for tensor in batch.edge_index_on(CPU))
    adjacency = np.zeros((50 * 14, 50 * 14), dtype=int)
    np.add.at(adjacency, tuple(index), 1)
    blocks = adjacency.reshape(50, 14, 50, 14)[np.arange(50), :, np.arange(50)]
    np.testing.assert_array_equal(blocks, batch.adjacency())
    assert adjacency.sum() == blocks.sum()
    np.testing.assert_array_equal(batch.degrees(), batch.adjacency().sum(axis=2))
    np.testing.assert_array_equal(batch.degrees_on(CPU).numpy(), batch.degrees())
    np.testing.assert_array_equal(owner, np.repeat(np.arange(50), 14))


def test_blocks_with_holes_are_numbered_alike():
    block = blocks.without(blocks.inside(np.arange(2, 12)), np.array([[2, 3], [4, 9], [10, 11]]))
    rest = blocks.outside(np.arange(2, 12), np.array([0, 1, 12, 13]))
    for some in ((block,), (rest, block), (rest,)):
        sites = Sites(GRAPH, tuple("ab"[: len(some)]), some)
        found = device_flips.CleanEdges(sites, "cpu").pairs(torch.arange(sites.n_sites)).numpy()
        np.testing.assert_array_equal(np.sort(found, axis=0), np.stack(sites.coordinates(np.arange(sites.n_sites))))


@pytest.mark.parametrize("place", DEVICES)
def test_flips_come_back_for_the_copies_that_are_asked_for(place):
    sites = PARTITIONS["sets"].sites(GRAPH)
    batch = drawn(sites, noise_for(PARTITIONS["sets"], *LAWS), 60, place)[5:55]
    copies = np.array([0, 3, 4, 49])
    found = flips_of(batch, copies)
    assert isinstance(found, ListedFlips)
    clean = np.zeros(sites.n_sites, dtype=np.uint8)
    clean[sites.nonzero[0]] = 1
    for row, copy in enumerate(copies):
        flips = found.positions[found.starts[row] : found.starts[row + 1]]
        np.testing.assert_array_equal(flips, np.flatnonzero(batch.values[copy] != clean))
    part = batch._draw.part(3, 17)
    np.testing.assert_array_equal(part.values, batch.values[:, 3:17])


@pytest.mark.parametrize(("n_sites", "p"), [(7, 0.3), (40, 0.02), (5, 0.9)])
def test_counts_are_binomial(n_sites, p):
    counts = drawn_counts(stream(), 20_000, n_sites, p)
    expected = stats.binom.pmf(np.arange(n_sites + 1), n_sites, p)
    seen = np.bincount(counts, minlength=n_sites + 1)
    few = expected * 20_000 < 5
    cells = np.append(expected[~few], expected[few].sum())
    found = np.append(seen[~few], seen[few].sum())
    used = cells > 0
    assert stats.chisquare(found[used], 20_000 * cells[used]).pvalue > 1e-4


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("often", [0.0, 1.0], ids=["each site", "those that flip"])
@pytest.mark.parametrize("listed", [False, True])
def test_every_set_of_flips_has_its_probability(listed, often, place, monkeypatch):
    """All 2⁵ sets of flips of a pool of five sites among eight, against the law."""
    monkeypatch.setattr(device_flips, "MAX_SHARE", often)
    if listed:
        pool = Pool(first=2, size=8, p=0.3, only=np.array([2, 4, 5, 7, 9]))
        monkeypatch.setattr(device_flips, "MAX_LISTED", 0)
    else:
        pool = Pool(first=2, size=8, p=0.3, but=np.array([3, 6, 8]))
    there = device_flips._DevicePool(pool, torch.device(place))
    generator = torch.Generator(device=place).manual_seed(5)
    copies = 60_000
    copy, position = (each.cpu() for each in there.draw(stream(), generator, copies))
    sites = np.array([2, 4, 5, 7, 9])
    assert set(position.tolist()) == set(sites.tolist())
    codes = np.zeros(copies, dtype=int)
    np.add.at(codes, copy.numpy(), 1 << np.searchsorted(sites, position.numpy()))
    subsets = [sum(1 << i for i in chosen) for size in range(6) for chosen in combinations(range(5), size)]
    expected = [0.3 ** code.bit_count() * 0.7 ** (5 - code.bit_count()) for code in subsets]
    seen = np.bincount(codes, minlength=32)[subsets]
    assert stats.chisquare(seen, copies * np.array(expected)).pvalue > 1e-4


def test_numbers_beyond_the_last_multiple_are_drawn_again(monkeypatch):
    """A remainder alone would make the first sites of a range likelier than the last."""
    there = device_flips._DevicePool(Pool(first=0, size=3, p=0.5), CPU)
    limit = 2**63 // 3 * 3
    script = [[limit, 1, limit + 1], [5, 4], [0]]

    def scripted(tensor, generator=None):
        return tensor.copy_(torch.tensor(script.pop(0)))

    monkeypatch.setattr(torch.Tensor, "random_", scripted)
    found = there._chosen(None, torch.tensor([0, 0, 1]))
    assert found.tolist() == [2, 1, 1]
    assert script == [[0]]


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize(("held", "wanted"), [(1, 70), (10**9, 70), (40, 63)])
def test_portions_are_the_copies_of_a_chunk(held, wanted, place, monkeypatch):
    sites = PARTITIONS["sets"].sites(GRAPH)
    noise = noise_for(PARTITIONS["sets"], *LAWS)
    monkeypatch.setattr(device_flips, "MAX_NUMBERS", 400)
    whole = sampler(sites, noise, place).draw(stream(), 70).values
    monkeypatch.setattr(device_flips, "MAX_FLIPS", held)
    portions = list(sampler(sites, noise, place).portions(stream(), 70, wanted))
    assert len(portions) > 1 or held > 1000
    np.testing.assert_array_equal(np.concatenate([each.values for each in portions]), whole[:wanted])
    assert (sampler(sites, noise, place).draw(stream(1), 70).values != whole).any()


@pytest.mark.parametrize("place", DEVICES)
def test_a_large_pool_that_flips_nearly_always_is_drawn_at_once(place, monkeypatch):
    """Drawn one by one, the last of its sites would take as many rounds as there are sites."""
    pool = Pool(first=5, size=200_000, p=1 - 2**-30, but=np.array([7, 9]))
    there = device_flips._DevicePool(pool, torch.device(place))
    monkeypatch.setattr(there, "_chosen", lambda *_: pytest.fail("they were drawn one by one"))
    copy, position = there.draw(stream(), torch.Generator(device=place).manual_seed(1), 2)
    assert len(copy) >= 2 * (200_000 - 2) - 50
    assert set(np.unique(position.cpu().numpy())) <= set(range(5, 200_005)) - {7, 9}


def test_nothing_and_everything_flips():
    sites = PARTITIONS["everything"].sites(GRAPH)
    clean = np.zeros(sites.n_sites, dtype=np.uint8)
    clean[sites.nonzero[0]] = 1
    assert (drawn(sites, sc.Noise(all=0.0), 3).values == clean).all()
    assert (drawn(sites, sc.Noise(all=1.0), 3).values == 1 - clean).all()
    empty = sc.Graph(5, [])
    bare = sc.Partition.everything("all").sites(empty)
    batch = view_of(bare, Method.DEVICE_SPARSE, "cpu")(sampler(bare, sc.Noise(all=0.2)).draw(stream(), 40))
    np.testing.assert_array_equal(batch.adjacency().sum(axis=(1, 2)), 2 * batch.values.sum(axis=1))
