"""Every view of a batch shows the same graphs, whichever way they were drawn."""

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.objects import NodeFrame, Sites
from starcert.sampling import sampler as sampler_module
from starcert.sampling.draws import FlippedDraw, PackedDraw
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import FlippedGraphs, PackedGraphs, clean_copy

GRAPH = sc.Graph.from_networkx(nx.gnp_random_graph(9, 0.4, seed=3))
SETS = sc.Partition.from_node_sets({"a": range(5), "b": range(5, 8)}, between={"c": ("a", "b")})
NOISE = sc.Noise(a=0.2, b=sc.Flip(delete=0.5, add=0.1), c=0.05)


@pytest.fixture(params=["dense", "sparse"])
def batch(request, monkeypatch):
    if request.param == "sparse":
        monkeypatch.setattr(sampler_module, "MAX_DENSE_BITS", 0)
        monkeypatch.setattr(sampler_module, "DENSE_SHARE", 1.0)
    drawn = sampler(SETS.sites(GRAPH), NOISE).draw(WordStream.of_chunk(1, GRAPH.key, "estimation", 0), 300)
    assert isinstance(drawn, PackedGraphs if request.param == "dense" else FlippedGraphs)
    return drawn


def adjacency_from_bits(batch) -> np.ndarray:
    """The oracle: bits and fixed edges, put where their node pairs are, one by one."""
    dense = np.zeros((len(batch), 9, 9), dtype=int)
    u, v = batch._sites.coordinates(np.arange(batch._sites.n_sites))
    for copy, bits in enumerate(batch.values):
        for i, j, bit in zip(u, v, bits, strict=True):
            dense[copy, i, j] = dense[copy, j, i] = bit
        for i, j in batch._sites.fixed_edges:
            dense[copy, i, j] = dense[copy, j, i] = 1
    return dense


def test_all_views_agree(batch):
    dense = adjacency_from_bits(batch)
    np.testing.assert_array_equal(batch.adjacency(), dense)
    np.testing.assert_array_equal(batch.degrees(), dense.sum(axis=1))
    index, owner = batch.edge_index()
    np.testing.assert_array_equal(owner, np.repeat(np.arange(300), 9))
    rebuilt = np.zeros_like(dense)
    rebuilt[owner[index[0]], index[0] % 9, index[1] % 9] += 1
    np.testing.assert_array_equal(rebuilt, dense)
    assert (index[0] // 9 == index[1] // 9).all()
    assert len(set(zip(*index.tolist(), strict=True))) == index.shape[1]  # no edge twice
    for copy, graph in enumerate(batch.networkx()):
        np.testing.assert_array_equal(nx.to_numpy_array(graph, nodelist=range(9)), dense[copy])


def test_graphs_are_the_same_copies_with_the_frame_of_the_clean_graph(batch):
    for copy, graph in zip(batch.adjacency(), batch.copies(), strict=True):
        np.testing.assert_array_equal(graph.to_numpy(), copy)
        assert NodeFrame.of(graph) == batch.frame == NodeFrame.of(GRAPH)


@pytest.mark.parametrize("name", ["clean", "graph", "sites"])
def test_the_clean_graph_is_shown_to_nobody(batch, name):
    with pytest.raises(
        ValueError, match=r"^An answer that looks at the clean graph is not a function of the noisy copy"
    ):
        getattr(batch, name)
    shown = [value for name, value in vars(batch).items() if not name.startswith("_")]
    assert not any(isinstance(value, sc.Graph | Sites) for value in shown)


def test_the_order_of_edges_tells_nothing_of_the_clean_graph():
    """One noisy graph, reached from every clean one, lists its edges in one order, however it is kept."""
    copy = nx.gnp_random_graph(9, 0.5, seed=8)
    orders = []
    for seed in range(6):
        clean = nx.gnp_random_graph(9, 0.4, seed=seed)
        clean.remove_node(8)
        clean.add_edges_from([(0, 8), (3, 8)])  # fixed, and the same in all
        sites = SETS.sites(sc.Graph.from_networkx(clean))
        ends = np.stack(sites.coordinates(np.arange(sites.n_sites)))
        target = np.array([copy.has_edge(u, v) for u, v in ends.T])
        ones = sites.nonzero[0]
        flips = np.setxor1d(ones, np.flatnonzero(target))[::-1].astype(np.int64)
        drawn = FlippedDraw(sites.n_sites, sites.nonzero, np.array([0, flips.size]), flips)
        flipped = FlippedGraphs(sites, drawn, ends[:, ones])
        packed = np.where(target[:, None], np.uint64(1), np.uint64(0))
        orders += [batch.edges() for batch in (flipped, PackedGraphs(sites, PackedDraw(packed, 0, 1), ends))]
    for order in orders[1:]:
        for one, other in zip(order, orders[0], strict=True):
            np.testing.assert_array_equal(one, other)


def test_copies_are_simple_and_fixed_sites_never_move(batch):
    dense, clean = batch.adjacency().astype(int), GRAPH.to_numpy()
    assert (dense == dense.transpose(0, 2, 1)).all()
    assert (dense[:, range(9), range(9)] == 0).all()
    assert set(np.unique(dense)) <= {0, 1}
    assert (dense[:, 8, :] == clean[8]).all()  # node 8 is in no set


def test_slices_are_the_same_copies(batch):
    whole = batch.values
    for part in (slice(0, 64), slice(10, 75), slice(64, 128), slice(250, 400), slice(5, 5)):
        np.testing.assert_array_equal(batch[part].values, whole[part])
        np.testing.assert_array_equal(batch[part].degrees(), batch.degrees()[part])
        np.testing.assert_array_equal(batch[part].adjacency(), batch.adjacency()[part])
        np.testing.assert_array_equal(batch[part][3:40].values, whole[part][3:40])
    np.testing.assert_array_equal(np.concatenate([p.values for p in batch.split(77)]), whole)
    with pytest.raises(IndexError):
        batch[::2]


def test_networkx_copies_carry_names_and_data():
    named = nx.Graph([("C1", "O2"), ("O2", "C3")])
    nx.set_node_attributes(named, {"C1": 6, "O2": 8, "C3": 6}, "z")
    graph = sc.Graph.from_networkx(named)
    drawn = sampler(sc.Partition.everything("all").sites(graph), sc.Noise(all=0.5))
    for copy in drawn.draw(WordStream.of_chunk(1, graph.key, "selection", 0), 5).networkx():
        assert list(copy.nodes(data="z")) == [("C1", 6), ("O2", 8), ("C3", 6)]


@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_tiny_graphs(nodes):
    graph = sc.Graph(nodes, [(0, 1)] if nodes == 2 else [])
    drawn = sampler(sc.Partition.everything("all").sites(graph), sc.Noise(all=0.5))
    batch = drawn.draw(WordStream.of_chunk(1, graph.key, "selection", 0), 100)
    assert batch.adjacency().shape == (100, nodes, nodes)
    assert batch.degrees().shape == (100, nodes)
    assert batch.edge_index()[1].size == 100 * nodes
    assert 20 < batch.degrees().sum() < 180 if nodes == 2 else batch.edge_index()[0].shape == (2, 0)


def test_noisy_copies_come_without_data_that_tell_of_the_clean_edges():
    graph = sc.Graph(3, [(0, 1)], node_data={"z": [6, 7, 8]}, anchored_data={"degree": [1, 1, 0]})
    drawn = sampler(sc.Partition.everything("all").sites(graph), sc.Noise(all=0.5))
    for copy in drawn.draw(WordStream.of_chunk(1, graph.key, "estimation", 0), 3).networkx():
        assert dict(copy.nodes(data=True)) == {0: {"z": 6}, 1: {"z": 7}, 2: {"z": 8}}


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
@pytest.mark.parametrize("p", [0.2, 1e-4])
def test_types_of_edges_stay_where_noise_changes_bits_of_nodes_alone(p, device):
    if device != "cpu":
        pytest.importorskip("torch")
    data = {"x": np.zeros((80, 80), dtype=np.uint8)}
    graph = sc.Graph(80, [(0, 1), (1, 2), (3, 4)], edge_types=["s", "d", "d"], node_data=data).with_bits("x")
    drawn = sampler(sc.Partition.of_layers(bits="x").sites(graph), sc.Noise(bits=p), device)
    batch = drawn.draw(WordStream.of_chunk(1, graph.key, "estimation", 0), 4)
    clean = clean_copy(sc.Partition.of_layers(bits="x").sites(graph))
    assert batch.edges().types.tolist() == clean.edges().types.tolist() * 4
    np.testing.assert_array_equal(batch.adjacency(), np.repeat(clean.adjacency(), 4, axis=0))


def test_the_clean_graph_as_its_own_copy():
    sites = SETS.sites(GRAPH)
    batch = clean_copy(sites)
    np.testing.assert_array_equal(batch.adjacency(), GRAPH.to_numpy()[None])
    np.testing.assert_array_equal(batch.degrees(), GRAPH.to_numpy().sum(axis=0, dtype=int)[None])
    assert list(batch.copies()) == [GRAPH]
    assert np.flatnonzero(batch.values[0]).tolist() == sites.nonzero[0].tolist()
