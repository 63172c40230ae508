"""The right law, region by region, for both methods of drawing."""

import math
import tracemalloc
from itertools import product

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.objects import Sites
from starcert.objects.binding import sampled_laws
from starcert.sampling import sampler as sampler_module
from starcert.sampling import sparse as sparse_module
from starcert.sampling import streams as streams_module
from starcert.sampling.draws import Method
from starcert.sampling.sampler import draw_each, method_of, sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import FlippedGraphs, PackedGraphs
from starcert.system.errors import InvalidParameterError

GRAPH = sc.Graph.from_networkx(nx.gnp_random_graph(16, 0.4, seed=5))
PARTITION = sc.Partition.from_node_sets({"a": range(8), "b": range(8, 14)})


@pytest.fixture(params=["dense", "sparse"])
def method(request, monkeypatch):
    if request.param == "sparse":
        monkeypatch.setattr(sampler_module, "MAX_DENSE_BITS", 0)
        monkeypatch.setattr(sampler_module, "DENSE_SHARE", 1.0)
    return request.param


def flips(noise: sc.Noise, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which sites flipped in each copy, the region number of each site, and its clean bit."""
    sites = PARTITION.sites(GRAPH)
    batch = sampler(sites, noise).draw(WordStream.of_chunk(2, GRAPH.key, "estimation", 0), samples)
    clean = np.zeros(sites.n_sites, dtype=int)
    clean[sites.nonzero[0]] = 1
    return batch.values ^ clean.astype(np.uint8), np.repeat([0, 1], sites.sizes), clean


@pytest.mark.parametrize("p", [(1e-5, 0.3), (1e-3, 0.99), (0.02, 0.45), (0.5, 0.05)])
def test_each_region_flips_with_its_own_p(method, p):
    samples = 60_000
    flipped, region, _ = flips(sc.Noise(a=p[0], b=p[1]), samples)
    for number in (0, 1):
        total, trials = flipped[:, region == number].sum(), samples * (region == number).sum()
        spread = math.sqrt(trials * p[number] * (1 - p[number]))
        assert abs(total - trials * p[number]) < 5 * spread + 1


def test_delete_and_add_see_the_clean_bit(method):
    samples = 60_000
    flipped, region, clean = flips(sc.Noise(a=sc.Flip(delete=0.3, add=0.02), b=sc.Flip(delete=0.0, add=0.4)), samples)
    expected = np.where(region == 0, np.where(clean == 1, 0.3, 0.02), np.where(clean == 1, 0.0, 0.4))
    assert np.abs(flipped.mean(axis=0) - expected).max() < 5 * math.sqrt(0.25 / samples)
    assert flipped[:, (region == 1) & (clean == 1)].sum() == 0


def test_sites_flip_independently_of_each_other(method):
    samples = 60_000
    flipped, region, _ = flips(sc.Noise(a=0.1, b=0.4), samples)
    p = np.where(region == 0, 0.1, 0.4)
    both = flipped.T.astype(float) @ flipped / samples
    off = ~np.eye(p.size, dtype=bool)
    assert np.abs(both - np.outer(p, p))[off].max() < 5.5 * math.sqrt(0.16 / samples)


def test_the_method_is_chosen_by_the_graph_and_the_noise():
    small, large = sc.Graph(20, []), sc.Graph(3000, [(0, 1)])
    stream = WordStream.of_chunk(1, "00", "selection", 0)
    everything = sc.Partition.everything("all")
    assert isinstance(sampler(everything.sites(small), sc.Noise(all=1e-6)).draw(stream, 64), PackedGraphs)
    assert isinstance(sampler(everything.sites(large), sc.Noise(all=1e-6)).draw(stream, 64), FlippedGraphs)


NOISES = [sc.Noise(a=0.15, b=sc.Flip(delete=0.4, add=0.1)), sc.Noise(a=0.0, b=0.9), sc.Noise(a=0.02, b=0.03)]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("held", "wanted"), [(1, 1000), (1, 65), (2500, 1000), (2500, 1), (2**40, 999)])
def test_portions_are_the_copies_of_a_chunk_however_many_are_held(method, noise, held, wanted, monkeypatch):
    sites = PARTITION.sites(GRAPH)
    drawn, stream = sampler(sites, noise), WordStream.of_chunk(2, GRAPH.key, "estimation", 0)
    whole = drawn.draw(stream.fork(), 1000)[:wanted]
    for module in (streams_module, sparse_module):
        monkeypatch.setattr(module, "MAX_BYTES", held)
    portions = list(drawn.portions(stream, 1000, wanted))
    assert sum(map(len, portions)) == wanted
    assert (len(portions) == 1) == (held > 2500 or wanted < 65)
    np.testing.assert_array_equal(np.concatenate([each.values for each in portions]), whole.values)


@pytest.mark.parametrize("samples", [64, 100, 1024])
def test_several_streams_as_one_batch_are_what_each_draws_alone(method, samples):
    drawn = sampler(PARTITION.sites(GRAPH), NOISES[0])
    streams = [WordStream.of_chunk(1, "2a", "estimation", chunk) for chunk in (5, 2**33, 7)]
    alone = [drawn.draw(stream.fork(), samples).values for stream in streams]
    batch = draw_each(drawn, streams, samples)
    assert (batch is None) == (method == "sparse" or samples == 100)
    if batch is not None:
        np.testing.assert_array_equal(batch.values, np.concatenate(alone))


def test_portions_take_no_more_memory_than_they_may(method, monkeypatch):
    """All at once, the words would take 41 MB, and the positions 250 MB with the random words they are drawn from."""
    graph = sc.Graph(800, [(0, 1)])
    sites, noise = sc.Partition.everything("all").sites(graph), sc.Noise(all=0.04 if method == "dense" else 0.03)
    drawn = sampler(sites, noise)
    for module in (streams_module, sparse_module):
        monkeypatch.setattr(module, "MAX_BYTES", 2**22)
    monkeypatch.setattr(sparse_module, "MAX_PORTION", 2**18)
    tracemalloc.start()
    for batch in drawn.portions(WordStream.of_chunk(2, graph.key, "estimation", 0), 1024, 70):
        assert len(batch) < 1024
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**24


def test_ten_thousand_nodes_are_easy():
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(10_000, size=(31_000, 2)), axis=1), axis=0)
    graph = sc.Graph(10_000, pairs[pairs[:, 0] != pairs[:, 1]][:30_000])
    sites = sc.Partition.everything("all").sites(graph)
    drawn = sampler(sites, sc.Noise(all=sc.Flip(delete=1e-3, add=1e-5)))
    batch = drawn.draw(WordStream.of_chunk(1, graph.key, "estimation", 0), 256)
    added = np.array([len(g) for g in np.split(batch._draw.positions, batch._draw.starts[1:-1])])
    expected = 30 + (49_995_000 - 30_000) * 1e-5
    assert abs(added.mean() - expected) < 5 * math.sqrt(expected / 256)
    edges = np.diff(batch.edges().starts)
    assert abs(edges.mean() - (30_000 - 30 + expected - 30)) < 5 * math.sqrt(expected / 256)


def test_regions_and_noise_must_match():
    with pytest.raises(InvalidParameterError, match="Give every region of the partition a flip law"):
        sampler(PARTITION.sites(GRAPH), sc.Noise(a=0.1))


def test_bits_are_drawn_where_the_model_is_unless_they_are_too_many():
    graph = sc.Graph(200, [(0, 1)], node_data={"x": np.zeros((200, 100), dtype=np.uint8)}).with_bits("x")
    for name in ("pairs", "x"):
        sites, noise = (
            sc.Partition.of_layers({name: name}).sites(graph),
            sc.Noise({name: sc.Flip(delete=0.6, add=0.01)}),
        )
        assert method_of(sites, noise) is Method.SPARSE
        assert method_of(sites, noise, "cuda") is Method.DEVICE_DENSE


@pytest.mark.parametrize(
    ("n_nodes", "flips", "expected"),
    [
        (200, 0, Method.DEVICE_DENSE),  # few pairs
        (300, 180, Method.DEVICE_DENSE),  # few for each flip
        (300, 80, Method.DEVICE_SPARSE),
        (2_890, 20_000, Method.DEVICE_DENSE),
        (2_900, 20_000, Method.DEVICE_SPARSE),  # all of them would take gigabytes
        (2_900, 140_000, Method.DEVICE_DENSE),  # as flips, too
    ],
)
def test_a_device_draws_all_pairs_where_there_are_few_for_each_flip(n_nodes, flips, expected):
    sites = Sites.everything(sc.Graph(n_nodes, [(0, 1)]), "all")
    assert method_of(sites, sc.Noise(all=flips / sites.n_sites), "cuda") is expected


def test_tiny_probabilities_are_drawn_on_a_device_too():
    large, small = (Sites.everything(sc.Graph(n, [(0, 1)]), "all") for n in (10_000, 100))
    for noise in (sc.Noise(all=1e-6), sc.Noise(all=sc.Flip(delete=0.1, add=1e-10))):
        assert method_of(large, noise, "cuda") is Method.DEVICE_SPARSE
        assert method_of(small, noise, "cuda") is Method.DEVICE_DENSE


TYPED = sc.Graph(4, [(0, 1), (1, 2), (0, 3)], edge_types=["s", "d", "s"], type_names=("s", "d"))
ATOMS = sc.Graph(3, [(0, 1)], node_data={"element": list("CNO")}).with_categories("element", tuple("CNO"))
VALUED = {
    "edges": (TYPED, sc.Noise(all=sc.Edges(delete=0.25, add=0.1, change=0.3)), None),
    "flips": (TYPED, sc.Noise(all=sc.Flip(delete=0.25, add=0.2, added=(3.0, 1.0))), None),
    "nodes": (
        ATOMS,
        sc.Noise(bonds=0.2, atoms=sc.Categorical(0.3)),
        sc.Partition.of_layers({"bonds": "pairs", "atoms": "element"}),
    ),
}


@pytest.mark.parametrize("name", VALUED)
def test_values_that_are_drawn_sparsely_follow_the_law(name, monkeypatch):
    """All patterns of six sites, against the transitions of their laws; and every portion is part of the chunk."""
    graph, noise, regions = VALUED[name]
    base = sc.classifiers.from_callable(lambda _: 0, n_classes=2)
    problem = sc.SmoothedClassifier(base, noise, regions).problem([graph])
    sites, noise = problem.sites[0], problem.noise
    monkeypatch.setattr(sampler_module, "MAX_DENSE_VALUES", 0)
    monkeypatch.setattr(sampler_module, "DENSE_SHARE", 1.0)
    assert method_of(sites, noise) is Method.SPARSE
    monkeypatch.setattr(sparse_module, "BLOCK_FLIPS", 10_000)
    drawn, stream, samples = sampler(sites, noise), WordStream.of_chunk(2, graph.key, "estimation", 0), 40_000
    batch = drawn.draw(stream.fork(), samples)
    values = batch.values
    laws = sampled_laws(sites, noise)
    chances = [
        [float(p) for p in law.transitions(value)]
        for law, first, size in zip(laws, sites.offsets, sites.sizes, strict=True)
        for value in sites.values[first : first + size].tolist()
    ]
    patterns, seen = np.unique(values, axis=0, return_counts=True)
    counts = dict(zip(map(tuple, patterns.tolist()), seen.tolist(), strict=True))
    statistic, cells, rest, found = 0.0, 0, 0.0, 0
    for pattern in product(*(range(len(law)) for law in chances)):
        expected = samples * math.prod(law[value] for law, value in zip(chances, pattern, strict=True))
        count = counts.pop(pattern, 0)
        assert expected or not count
        if expected > 5:
            statistic, cells = statistic + (count - expected) ** 2 / expected, cells + 1
        else:
            rest, found = rest + expected, found + count
    assert not counts
    assert statistic < cells + 5 * math.sqrt(2 * cells)
    assert abs(found - rest) < 5 * math.sqrt(rest + 1)
    portions = list(drawn.portions(stream, samples, 30_001))
    assert len(portions) > 2
    np.testing.assert_array_equal(np.concatenate([each.values for each in portions]), values[:30_001])
    first, last = sites.span(sites.clean.layers[0].name)
    for copy, each in enumerate(batch[:200].copies()):
        shown = values[copy, first:last]
        assert sorted(each.nonzero(sites.clean.layers[0].name)[1]) == sorted(shown[shown > 0])


def test_few_flips_of_a_large_typed_graph_are_drawn_by_the_sites_that_flip():
    edges = [(i, i + 1) for i in range(8_999)]
    graph = sc.Graph(9_000, edges, edge_types=["s", "d", "s"] * 2_999 + ["s", "d"], type_names=("s", "d"))
    sites, noise = Sites.everything(graph, "all"), sc.Noise(all=sc.Edges(delete=0.01, add=1e-6, change=0.02, types=2))
    assert method_of(sites, noise) is Method.SPARSE
    assert method_of(Sites.everything(TYPED, "all"), noise) is Method.DENSE
    batch = sampler(sites, noise).draw(WordStream.of_chunk(1, graph.key, "estimation", 0), 128)
    listed = batch.edges()
    added = (sites.n_sites - 8_999) * 1e-6
    sizes = np.diff(listed.starts)
    assert abs(sizes.mean() - (8_999 * 0.99 + added)) < 5 * math.sqrt((90 + added) / 128)
    doubles = 3_000 * 0.97 + 5_999 * 0.02 + added / 2
    assert abs((listed.types == 2).sum() / 128 - doubles) < 5 * math.sqrt((3_000 * 0.03 + 5_999 * 0.02 + added) / 128)
    np.testing.assert_array_equal(batch[:3].degrees().sum(axis=1), 2 * sizes[:3])
