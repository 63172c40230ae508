"""PyG's layers are the oracle: the same first weights, the same names, the same numbers up to rounding."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import starcert as sc
from pyg_layers import with_pyg_layers
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")
torch_worlds = pytest.importorskip("torch_worlds")
layers = pytest.importorskip("starcert.classifiers.torch.layers")


def network(a: int = 4, b: int = 8):
    return torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.BatchNorm1d(b), torch.nn.ReLU(), torch.nn.Linear(b, b))


KINDS = {
    "gcn": (lambda: layers.GCNConv(4, 8), lambda: pyg.GCNConv(4, 8)),
    "gin": (lambda: layers.GINConv(network()), lambda: pyg.GINConv(network())),
    "gine": (lambda: layers.GINEConv(network(), 3), lambda: pyg.GINEConv(network(), edge_dim=3)),
}


def seeded(make):
    torch.manual_seed(5)
    return make(), torch.rand(3)


@pytest.fixture(autouse=True)
def _own_generator():
    with torch.random.fork_rng(devices=[]):
        yield


def edges_of(*, loops: bool):
    generator = torch.Generator().manual_seed(1)
    edge_index = torch.randint(20, (2, 70), generator=generator)
    return edge_index if loops else edge_index[:, edge_index[0] != edge_index[1]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_begins_with_the_weights_of_pyg_and_they_load_both_ways(kind):
    (ours, after), (theirs, after_too) = map(seeded, KINDS[kind])
    assert torch.equal(after, after_too)  # and leaves the generator as PyG does
    mine, others = ours.state_dict(), theirs.state_dict()
    assert list(mine) == list(others)
    assert all(torch.equal(mine[name], others[name]) for name in mine)
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    ours.load_state_dict(KINDS[kind][1]().state_dict())
    theirs.load_state_dict(mine)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_gives_the_numbers_and_gradients_of_pyg(kind, training, loops):
    ours, _ = seeded(KINDS[kind][0])
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(torch.randn_like(parameter) / 3)
        if "eps" in ours.state_dict():
            ours.eps.fill_(0.25)
    theirs = ours.double().to_pyg().double().train(training)
    ours.train(training)
    edge_index = edges_of(loops=loops)
    x = torch.randn(20, 4, dtype=torch.float64)
    more = (torch.randn(edge_index.shape[1], 3, dtype=torch.float64),) if kind == "gine" else ()
    found = []
    for layer in (ours, theirs):
        layer.zero_grad()
        out = layer(x, edge_index, *more)
        out.square().sum().backward()
        found.append((out, [parameter.grad for parameter in layer.parameters()]))
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(found[0][1], found[1][1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "theirs"), [("max", pyg.global_max_pool), ("mean", pyg.global_mean_pool), ("sum", pyg.global_add_pool)]
)
@pytest.mark.parametrize("owners", [[0, 0, 1, 3, 3, 3], [0] * 6])
def test_pools_are_those_of_pyg(name, theirs, owners):
    x, batch = torch.randn(6, 3), torch.tensor(owners)
    assert torch.equal(layers.NodePool(name)(x, batch), theirs(x, batch))
    assert torch.equal(layers.NodePool(name)(x[:0], batch[:0]), theirs(x[:0], batch[:0]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: sc.models.GCN(4, 2),
        lambda: sc.models.GCN(4, 2, layers=2, pooling="mean"),
        lambda: sc.models.GCN(4, 2, layers=3, conv="gin", pooling="sum"),
        lambda: sc.models.GIN(4, 2, hidden=16),
    ],
)
def test_networks_answer_noisy_copies_as_with_layers_of_pyg(make):
    torch.manual_seed(2)
    model = make().eval()
    graph = torch_worlds.molecules(1)[0]
    ours, theirs = (sc.classifiers.from_pyg(each, n_classes=2) for each in (model, with_pyg_layers(model)))
    sites = sc.Partition.everything("bonds").sites(graph)
    copies = sampler(sites, torch_worlds.NOISE).draw(WordStream.of_chunk(1, graph.key, "estimation", 0), 256)
    found, wanted = ours.logits(copies).numpy(), theirs.logits(copies).numpy()
    assert any(type(part).__module__.startswith("torch_geometric") for part in theirs.model.modules())
    assert len(np.unique(found.round(4), axis=0)) > 100
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


def test_a_run_with_an_own_network_does_not_import_pyg():
    code = """
        import sys
        import numpy as np
        import starcert as sc
        from starcert.models import GCN, GIN, GINE, NodeGCN

        graph = sc.Graph(4, [(0, 1), (1, 2), (2, 3)], node_data={"x": np.eye(4, dtype=np.float32)})
        for base in (
            sc.classifiers.from_pyg(GCN(4, 2), n_classes=2),
            sc.classifiers.from_dense(GCN(4, 2).dense(), n_classes=2),
            sc.classifiers.from_pyg(GIN(4, 2), n_classes=2),
            sc.classifiers.from_pyg(NodeGCN(4, 2), n_classes=2, targets="nodes"),
        ):
            sc.SmoothedClassifier(base, sc.Noise(bonds=0.1)).certify([graph], samples=200, seed=1)
        slow = ("torch_geometric", "torch._dynamo", "sympy", "matplotlib", "sklearn", "pandas")
        print([name for name in slow if name in sys.modules])
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
