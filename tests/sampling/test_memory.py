"""What cannot fit is refused before the first vote, with what would fit."""

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.sampling.sampler import check_fits, expected_edges, fitting_batch
from starcert.system.errors import StarcertError

EVERYTHING = sc.Partition.everything("all")
LARGE = sc.Graph(20_000, [(i, i + 1) for i in range(19_999)])
GIGABYTE = 10**9


def nothing_more(_nodes: int, _edges: float) -> float:
    return 0


def refusal(noise: sc.Noise, free: int, **more: object) -> str:
    with pytest.raises(StarcertError) as caught:
        check_fits(EVERYTHING.sites(LARGE), noise, name="graph 0", free=free, **{"copy_bytes": nothing_more, **more})
    return str(caught.value)


def test_edges_of_a_copy_are_those_that_stay_and_those_that_come():
    graph = sc.Graph.from_networkx(nx.path_graph(6))
    sites = sc.Partition.from_node_sets({"a": range(4)}).sites(graph)
    noise = sc.Noise(a=sc.Flip(delete=0.5, add=0.25))
    assert expected_edges(sites, noise) == 2 + 3 * 0.5 + 3 * 0.25


def test_twenty_thousand_nodes_with_a_tenth_of_all_pairs():
    noise = sc.Noise(all=0.1)
    check_fits(EVERYTHING.sites(LARGE), noise, name="graph 0", free=4 * GIGABYTE, copy_bytes=nothing_more)
    said = refusal(noise, 2 * GIGABYTE)
    assert "graph 0" in said
    assert "199,990,000 sites" in said
    assert "20,014,999 edges in a copy" in said
    assert "takes 3.7 GB, and there are 2.0 GB" in said
    assert "Let the noise add fewer edges" in said


def test_whole_matrices_are_counted():
    said = refusal(sc.Noise(all=1e-6), GIGABYTE, copy_bytes=lambda nodes, _edges: 5 * nodes**2)
    assert "takes 2.0 GB" in said


def test_a_device_holds_more_for_each_site():
    noise = sc.Noise(all=0.1)
    assert "takes 1" in refusal(noise, 100 * GIGABYTE, device="torch cuda")


def test_voting_refuses_before_the_first_vote(monkeypatch):
    monkeypatch.setattr("starcert.classifiers.base.available_bytes", lambda: 2 * GIGABYTE)
    seen = []
    base = sc.classifiers.from_callable(seen.append, on="batch")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.1))
    with pytest.raises(StarcertError, match=r"graph 1 do not fit.*fewer edges"):
        smoothed.vote([sc.Graph(3, []), LARGE], samples=100, seed=0)
    assert not seen


def gcn(width: int):
    """A PyG module whose messages have so many columns, as a base classifier."""
    torch = pytest.importorskip("torch")
    nn = pytest.importorskip("torch_geometric.nn")

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(100_000, 3)  # its entries are no columns
            self.conv = nn.GCNConv(3, width)
            self.linear = torch.nn.Linear(width, 2)

        def forward(self, x, edge_index, batch):
            return self.linear(nn.global_add_pool(self.conv(self.table(x), edge_index).relu(), batch))

    return sc.classifiers.from_pyg(Net(), n_classes=2)


def test_the_messages_of_a_pyg_module_are_counted():
    narrow, wide = gcn(8), gcn(64)
    assert wide.copy_bytes(0, 1) - narrow.copy_bytes(0, 1) == 2 * 2 * 4 * (64 - 8)  # directions, twice, of floats
    assert narrow.copy_bytes(0, 1000) == 1000 * narrow.copy_bytes(0, 1)


def test_batches_shrink_with_the_width_of_a_module():
    graph = sc.Graph(1000, [(0, 1)])
    sites, noise = EVERYTHING.sites(graph), sc.Noise(all=0.1)

    def fitting(width: int) -> int:
        return fitting_batch(sites, noise, wanted=96, device="cpu", copy_bytes=gcn(width).copy_bytes)

    widths = (8, 64, 256)
    assert [fitting(width) for width in widths] == sorted(map(fitting, widths), reverse=True)
    assert fitting(256) * 50_000 * 2 * 2 * 4 * 256 <= 2**30 < 96 * 50_000 * 2 * 2 * 4 * 256


def test_where_memory_is_not_known_nothing_is_refused(monkeypatch):
    monkeypatch.setattr("starcert.classifiers.base.available_bytes", lambda: None)
    base = sc.classifiers.from_callable(lambda batch: np.zeros(len(batch)), on="batch")
    votes = sc.SmoothedClassifier(base, sc.Noise(all=0.1)).vote([sc.Graph(3, [])], samples=10, seed=0)
    assert votes.counts.tolist() == [[10, 0]]


def test_batches_shrink_where_noise_adds_many_edges():
    def fitting(graph: sc.Graph, p: float) -> int:
        sites, noise = EVERYTHING.sites(graph), sc.Noise(all=p)
        return fitting_batch(sites, noise, wanted=1024, device="cpu", copy_bytes=nothing_more)

    assert [fitting(LARGE, p) for p in (1e-6, 0.1)] == [12, 3]
    assert fitting(sc.Graph(20, [(0, 1)]), 0.4) == 1024


def test_batches_shrink_where_node_data_are_sites():
    data = {"x": np.zeros((1000, 2000), dtype=np.uint8)}
    graph = sc.Graph(1000, [(0, 1)], node_data=data).with_bits("x")
    sites, noise = sc.Partition.of_layers(words="x").sites(graph), sc.Noise(words=sc.Flip(delete=0.6, add=0.01))
    fitting = fitting_batch(sites, noise, wanted=1024, device="cpu", copy_bytes=nothing_more)
    assert fitting * 16 * 2_000_000 <= 2**30 < (fitting + 1) * 17 * 2_000_000
    free = 100 * 2**20
    check_fits(sites, noise, name="it", free=free, copy_bytes=nothing_more)
    with pytest.raises(StarcertError, match=r"The noisy copies of it do not fit: 1,000 nodes have 2,000,000 sites"):
        check_fits(sites, noise, name="it", free=free // 4, copy_bytes=nothing_more)
