"""Sums along edges as products: the same logits as PyG's own way, for any module, or that way itself."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

import starcert as sc
from starcert.classifiers import from_pyg, products
from starcert.classifiers.products import Products, Rows, can_watch
from starcert.classifiers.torch import LARGER_BATCH, MOST_DENSE_NODES, Asking
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric.nn import (
        ChebConv,
        GATConv,
        GCNConv,
        GINConv,
        GraphConv,
        SAGEConv,
        TAGConv,
        global_add_pool,
        global_max_pool,
        global_mean_pool,
    )

COPIES = 40
POOLS = {"sum": global_add_pool, "max": global_max_pool, "mean": global_mean_pool}


@pytest.fixture(autouse=True)
def _no_matrices(monkeypatch):
    """Layers on dense adjacency have tests of their own."""
    monkeypatch.setitem(MOST_DENSE_NODES, "cpu", 0)


def gin(a: int, b: int) -> GINConv:
    return GINConv(nn.Sequential(nn.Linear(a, b), nn.ReLU(inplace=True), nn.Linear(b, b)))


CONVS = {
    "gin": (gin, 2),
    "gcn": (GCNConv, 2),
    "sage": (SAGEConv, 2),
    "sage of the largest": (lambda a, b: SAGEConv(a, b, aggr="max"), 0),
    "graph": (GraphConv, 2),
    "tag": (lambda a, b: TAGConv(a, b, K=2), 4),
    "cheb": (lambda a, b: ChebConv(a, b, K=2), 2),
    "gat": (GATConv, 0),
}
"""Layers, and how many sums along edges two of them have that are products."""


class Net(nn.Module):
    def __init__(self, conv: str, pool: str = "sum") -> None:
        super().__init__()
        torch.manual_seed(3)
        make, _ = CONVS[conv]
        self.convs = nn.ModuleList([make(4, 16), make(16, 16)])
        self.linear, self.pool = nn.Linear(16, 3), POOLS[pool]

    def forward(self, x, edge_index, batch):
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.linear(self.pool(x, batch))


def graph(n: int = 12) -> sc.Graph:
    rng = np.random.default_rng(n)
    edges = [(i, i + 1) for i in range(n - 1)]
    return sc.Graph(n, edges, node_data={"x": rng.normal(size=(n, 4)).astype(np.float32)})


def copies(clean: sc.Graph, count: int = COPIES, add: float = 0.2):
    sites = sc.Partition.everything("all").sites(clean)
    draws = sampler(sites, sc.Noise(all=sc.Flip(delete=0.3, add=add)))
    return draws.draw(WordStream.of_chunk(1, clean.key, "estimation", 0), count)


def inputs(batch, dtype=torch.float32):
    edge_index, owner = batch.edge_index_on(torch.device("cpu"))
    x = torch.as_tensor(np.array(batch.frame.node_data["x"]), dtype=dtype).repeat(len(batch), 1)
    return x, edge_index, owner


def both(module, x, edge_index, owner, n_nodes: int, **more):
    n_copies = len(owner) // n_nodes
    with torch.inference_mode():
        plain = module(x, edge_index, owner.clone())
        with Products(owner, (n_copies, n_nodes), **more) as found:
            other = module(x, edge_index, owner)
    return plain, other, found.used


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("conv", CONVS)
def test_logits_are_those_of_the_plain_call(conv, pool, dtype):
    module = Net(conv, pool).eval().to(dtype)
    plain, other, used = both(module, *inputs(copies(graph()), dtype), 12)
    torch.testing.assert_close(other, plain)
    assert used == CONVS[conv][1] + 1 + (pool == "mean")  # sums along edges; over nodes, and how many there are


def test_copies_without_edges():
    clean = sc.Graph(3, [], node_data={"x": np.eye(3, 4, dtype=np.float32)})
    plain, other, used = both(Net("gcn").eval(), *inputs(copies(clean, 8, add=0.0)), 3)
    torch.testing.assert_close(other, plain)
    assert used == 3


def test_nothing_is_gathered_row_by_row(monkeypatch):
    """The test above would pass as well if all rows were taken."""
    module, given = Net("gcn").eval(), inputs(copies(graph()))
    monkeypatch.setattr(Rows, "fetched", lambda self: pytest.fail("rows were taken"))
    with torch.inference_mode(), Products(given[2], (COPIES, 12)):
        module(*given)


def test_targets_that_are_known_to_ascend_are_not_sorted(monkeypatch):
    x, edge_index, owner = inputs(copies(graph()))
    edge_index = edge_index[:, edge_index[1].argsort(stable=True)].contiguous()
    monkeypatch.setattr(products, "_by_target", lambda *_: pytest.fail("they were sorted"))
    plain, other, _ = both(Net("gin").eval(), x, edge_index, owner, 12, ascending=edge_index[1])
    torch.testing.assert_close(other, plain)


def test_targets_that_are_overwritten_are_sorted_again():
    class Reversed(Net):
        def forward(self, x, edge_index, batch):
            edge_index.copy_(edge_index.flip(1))
            return super().forward(x, edge_index, batch)

    x, edge_index, owner = inputs(copies(graph()), torch.float64)
    edge_index = edge_index[:, edge_index[1].argsort(stable=True)].contiguous()
    module = Reversed("gin").eval().double()
    with torch.inference_mode():
        plain = module(x, edge_index.clone(), owner)
        with Products(owner, (COPIES, 12), ascending=edge_index[1]):
            other = module(x, edge_index, owner)
    torch.testing.assert_close(other, plain)


class Overwritten(nn.Module):
    """Rows are taken, then what they are made of is changed: the rows are those from before."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what, self.scale = what, nn.Parameter(torch.ones(1))

    def forward(self, x, edge_index, batch):
        x, source, target = x * self.scale, edge_index[0].clone(), edge_index[1].clone()
        weight = torch.linspace(1, 2, len(source), dtype=x.dtype).view(-1, 1)
        rows = weight * x.index_select(0, source)
        if self.what == "features":
            x.mul_(0)
        elif self.what == "functional":
            nn.functional.relu(x, inplace=True)
        elif self.what == "by place":
            nn.functional.relu(x, True)
        elif self.what == "items":
            x[0:5] = 7.0
        elif self.what == "weights":
            weight += 3
        elif self.what == "sources":
            source.zero_()
        elif self.what == "out":
            torch.neg(x, out=x)
        elif self.what == "batch":
            batch = batch.copy_(batch.flip(0))  # the first copy is the last now
        index = target.view(-1, 1).expand_as(rows)
        first = x.new_zeros(x.shape).scatter_add_(0, index, rows)
        if self.what == "targets":  # the matrix of the first sum is of no use for the second
            target.zero_()
        rows = x.index_select(0, source) * weight * (weight + 1)
        second = x.new_zeros(x.shape).scatter_add_(0, index, rows)
        return global_add_pool(first + 2 * second, batch)


@pytest.mark.parametrize(
    "what", ["nothing", "features", "functional", "by place", "items", "weights", "sources", "out", "targets", "batch"]
)
def test_rows_are_those_that_were_there_when_they_were_taken(what):
    plain, other, _ = both(Overwritten(what).eval(), *inputs(copies(graph()), torch.float64), 12)
    torch.testing.assert_close(other, plain)


class Kept(nn.Module):
    """What is summed into has numbers already, and is not what is returned."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x, edge_index, batch):
        rows = (x * self.scale)[edge_index[0]]
        total = torch.ones_like(x)
        total.scatter_add_(0, edge_index[1].view(-1, 1).expand_as(rows), rows)
        pooled = torch.ones(int(batch.max()) + 1, x.shape[1])
        pooled.scatter_add_(0, batch.view(-1, 1).expand_as(total), total)
        return pooled + rows.sum() * 1e-3 + rows.shape[0] + torch.cat([rows, rows]).mean()


def test_sums_are_added_to_what_is_there():
    plain, other, used = both(Kept().eval(), *inputs(copies(graph())), 12)
    torch.testing.assert_close(other, plain)
    assert used == 2


def test_rows_that_leave_the_module_are_rows():
    x, edge_index, owner = inputs(copies(graph()))
    with torch.inference_mode(), Products(owner, (COPIES, 12)):
        rows = x.index_select(0, edge_index[0])
    assert isinstance(rows, Rows)
    torch.testing.assert_close(rows + 0, x[edge_index[0]])


def test_a_classifier_multiplies_where_logits_are_the_same():
    classifier = from_pyg(Net("gcn"), n_classes=3)
    assert classifier.batch_size < LARGER_BATCH
    classifier.logits(copies(graph()))
    assert classifier._agrees[Asking.PRODUCTS]
    assert classifier.batch_size == LARGER_BATCH


class Watched(Net):
    """It answers differently where it is watched."""

    def forward(self, x, edge_index, batch):
        found = super().forward(x, edge_index, batch)
        watched = isinstance(x.index_select(0, edge_index[0]), Rows)
        return found + (1.0 if watched else 0.0)


class Failing(Net):
    def forward(self, x, edge_index, batch):
        if isinstance(x.index_select(0, edge_index[0]), Rows):
            raise TypeError("no promises")
        return super().forward(x, edge_index, batch)


@pytest.mark.parametrize("kind", [Watched, Failing, lambda conv: torch.compile(Net(conv), backend="eager")])
def test_the_plain_way_is_taken_where_they_are_not(kind):
    classifier = from_pyg(kind("gin"), n_classes=3)
    drawn = copies(graph())
    with torch.inference_mode():
        expected = Net("gin").eval()(*inputs(drawn))
    torch.testing.assert_close(classifier.logits(drawn), expected, rtol=1e-6, atol=1e-6)
    assert not classifier._agrees[Asking.PRODUCTS]


def test_what_works_below_python_is_not_watched():
    class Scripted(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    assert can_watch(Net("gin"))
    assert not can_watch(torch.compile(Net("gin"), backend="eager"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not can_watch(torch.jit.script(Scripted()))


def test_votes_are_those_of_the_plain_way(monkeypatch):
    clean = graph(20)
    smoothed = sc.SmoothedClassifier(from_pyg(Net("sage"), n_classes=3), sc.Noise(all=sc.Flip(delete=0.3, add=0.1)))
    votes = smoothed.vote([clean], samples=2_000, seed=1)
    monkeypatch.setattr("starcert.classifiers.torch.can_watch", lambda _: False)
    plain = sc.SmoothedClassifier(from_pyg(Net("sage"), n_classes=3), sc.Noise(all=sc.Flip(delete=0.3, add=0.1)))
    np.testing.assert_array_equal(votes.counts, plain.vote([clean], samples=2_000, seed=1).counts)
