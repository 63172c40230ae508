"""Copies of several graphs as one batch: the same answers as graph by graph, from one call of the module."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from asking import drawn
from torch import nn

import starcert as sc
from starcert.classifiers import from_dense, from_pyg
from starcert.classifiers.torch.graphs import MAX_BATCH_NODES, NODE_BYTES, TorchClassifier
from starcert.classifiers.torch.inputs import join_inputs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric.nn import (
        GCNConv,
        GINConv,
        GINEConv,
        SAGEConv,
        global_add_pool,
        global_max_pool,
        global_mean_pool,
    )

POOLS = {"sum": global_add_pool, "max": global_max_pool, "mean": global_mean_pool}
CONVS = {"gcn": GCNConv, "sage": SAGEConv, "gin": lambda a, b: GINConv(nn.Linear(a, b))}


class Net(nn.Module):
    def __init__(self, conv: str, pool: str) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.convs = nn.ModuleList([CONVS[conv](4, 16), CONVS[conv](16, 16)])
        self.linear, self.pool, self.calls = nn.Linear(16, 3), POOLS[pool], []

    def forward(self, x, edge_index, batch):
        self.calls.append(1)
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.linear(self.pool(x, batch))


class OfTypes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.conv, self.linear = GINEConv(nn.Linear(4, 4), edge_dim=2), nn.Linear(4, 2)

    def forward(self, x, edge_index, edge_attr, batch):
        return self.linear(global_add_pool(self.conv(x, edge_index, edge_attr), batch))


def graph(n: int, *, types: bool = False) -> sc.Graph:
    rng = np.random.default_rng(n)
    edges = [(i, i + 1) for i in range(n - 1)]
    more = {"edge_types": rng.integers(2, size=len(edges))} if types else {}
    return sc.Graph(n, edges, node_data={"x": rng.normal(size=(n, 4)).astype(np.float32)}, **more)


NOISE = sc.Noise(all=sc.Flip(delete=0.3, add=0.2))
BATCHES = [(12, 40), (5, 1), (30, 7), (12, 3)]
"""Nodes and copies; of one graph twice, of another one copy."""


def batches() -> list:
    return [drawn(graph(n), NOISE, count) for n, count in BATCHES]


@pytest.mark.parametrize(("conv", "pool"), [*zip(CONVS, POOLS, strict=True)])
def test_answers_are_those_of_each_graph_alone(conv, pool):
    base = from_pyg(Net(conv, pool), n_classes=3)
    some = batches()
    alone = [base.scored(each) for each in some]
    assert np.concatenate([each.numbers for each in alone]).std(axis=0).min() > 1e-3  # copies and graphs differ
    base.model.calls.clear()
    found = base.scored_each(some)
    assert len(base.model.calls) == 1
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_allclose(one.numbers, other.numbers, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(one.answers, other.answers)
        assert one.rounding == other.rounding


def test_data_of_edges_come_along():
    noise = sc.Noise(all=sc.Edges(delete=0.3, add=0.2, change=0.1))
    some = [drawn(graph(n, types=True), noise, count) for n, count in BATCHES]
    base = from_pyg(OfTypes(), n_classes=2)
    for one, other in zip(base.scored_each(some), map(base.scored, some), strict=True):
        np.testing.assert_allclose(one.numbers, other.numbers, rtol=1e-4, atol=1e-5)


def test_nodes_and_copies_are_numbered_on():
    first = {"edge_index": torch.tensor([[0, 1], [1, 0]]), "batch": torch.tensor([0, 0])}
    second = {"edge_index": torch.tensor([[0, 4], [2, 3]]), "batch": torch.tensor([0, 0, 0, 1, 1, 1])}
    found = join_inputs([first, second, first], [(1, 2), (2, 3), (1, 2)])
    assert found["edge_index"].tolist() == [[0, 1, 2, 6, 8, 9], [1, 0, 4, 5, 9, 8]]
    assert found["batch"].tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3]


class TakesData(nn.Module):
    def forward(self, data):
        return data.x


@pytest.mark.parametrize(
    ("base", "device", "joins_graphs"),
    [
        (from_pyg(Net("gcn", "sum"), n_classes=3), "cuda", True),
        (from_pyg(Net("gcn", "sum"), n_classes=3), "cpu", False),
        (from_pyg(Net("gcn", "sum"), n_classes=3, targets="nodes"), "cuda", False),
        (from_dense(nn.Linear(4, 4), n_classes=4), "cuda", False),
        (from_pyg(TakesData(), n_classes=3), "cuda", False),
    ],
)
def test_which_classifiers_take_several_graphs_at_once(base, device, joins_graphs, monkeypatch):
    """A module that takes `data` could ask where each copy begins, as if all had as many nodes."""
    monkeypatch.setattr(TorchClassifier, "device", torch.device(device))
    for memory, most in ((10**12, MAX_BATCH_NODES), (10**9, 10**9 // NODE_BYTES)):
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _, m=memory: SimpleNamespace(total_memory=m))
        assert base.max_batch_nodes == (most if joins_graphs else 0)
