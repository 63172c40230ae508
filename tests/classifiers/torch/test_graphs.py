import pickle

import numpy as np
import pytest
from asking import drawn

import starcert as sc
from starcert.system.errors import ClassifierError, InvalidParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
gcn = pytest.importorskip("starcert.models.networks")
torch_worlds = pytest.importorskip("torch_worlds")

from_pyg, from_dense = sc.classifiers.from_pyg, sc.classifiers.from_dense


def model(**settings):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return gcn.GCN(4, 3, **settings).eval()


def one_by_one(net, graph: sc.Graph, copies) -> np.ndarray:
    """The module run graph by graph, each as a PyG Data object."""
    x = torch.as_tensor(np.array(graph.node_data["x"]))
    rows = []
    with torch.inference_mode():
        for copy in copies.adjacency():
            edges = torch.as_tensor(np.stack(np.nonzero(copy)))
            rows.append(net(x, edges, torch.zeros(len(x), dtype=torch.int64)))
    return torch.cat(rows).numpy()


@pytest.mark.parametrize("settings", [{}, {"layers": 2, "pooling": "mean"}, {"conv": "gin", "pooling": "sum"}], ids=str)
def test_batches_answer_as_the_module_does_graph_by_graph(settings):
    net = model(**settings)
    for graph in torch_worlds.molecules(3):
        copies = drawn(graph, torch_worlds.NOISE, 50)
        alone = one_by_one(net, graph, copies)
        scale = 1e-5 * (1 + np.abs(alone).max())
        np.testing.assert_allclose(from_pyg(net, n_classes=3).logits(copies).numpy(), alone, atol=scale)
        np.testing.assert_allclose(from_dense(net.dense(), n_classes=3).logits(copies).numpy(), alone, atol=scale)


@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS"])
def test_batches_answer_as_the_module_does_on_real_graphs(name, request):
    pytest.importorskip("grakel")
    root = request.config.rootpath.parent / "shared" / "data" / "TU"
    if name == "PROTEINS" and not root.exists():
        pytest.skip("PROTEINS is not here")
    data = sc.datasets.tu(name, root=root if name == "PROTEINS" else None)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = gcn.GCN(np.asarray(data.graphs[0].node_data["x"]).shape[1], 2).eval()
    largest = 0.0
    for graph in [g for g in data.graphs if g.n_nodes < 150][:: 4 if name == "MUTAG" else 12]:
        copies = drawn(graph, torch_worlds.NOISE, 4)
        alone = one_by_one(net, graph, copies)
        for classifier in (from_pyg(net, n_classes=2), from_dense(net.dense(), n_classes=2)):
            largest = max(largest, float(np.abs(classifier.logits(copies).numpy() - alone).max()))
    assert largest < 1e-5


def test_votes_do_not_depend_on_the_batch_size_or_the_way():
    votes = [
        sc.SmoothedClassifier(classifier, torch_worlds.NOISE).vote(
            torch_worlds.molecules(2), samples=1500, seed=1, voting=sc.Voting(batch_size=batch_size)
        )
        for classifier in (from_pyg(model(), n_classes=3), from_dense(model().dense(), n_classes=3))
        for batch_size in (None, 37)
    ]
    for each in votes[1:]:
        np.testing.assert_array_equal(each.counts, votes[0].counts)


class Dropping(torch.nn.Module):
    """Drops out in evaluation mode too: it answers differently twice."""

    def __init__(self):
        super().__init__()
        self.inner = model()

    def forward(self, x, edge_index, batch):
        return torch.nn.functional.dropout(self.inner(x, edge_index, batch), 0.5, training=True)


def test_a_model_that_answers_differently_twice_is_refused():
    with pytest.raises(ClassifierError, match="answers differently when it is asked twice"):
        sc.SmoothedClassifier(from_pyg(Dropping(), n_classes=3), torch_worlds.NOISE).vote(
            torch_worlds.molecules(1), samples=100, seed=1
        )


class Centred(torch.nn.Module):
    """Subtracts the mean over all nodes of a batch; whether or not an answer changes, the logits do."""

    def __init__(self, shift=0.0):
        super().__init__()
        self.inner, self.shift = model(layers=2), torch.tensor([shift, 0.0, 0.0])

    def forward(self, x, edge_index, batch):
        logits = self.inner(x, edge_index, batch)
        return logits - logits.mean(dim=0) + self.shift


class TrainingNorm(torch.nn.Module):
    """Normalises by the batch in evaluation mode too."""

    def __init__(self):
        super().__init__()
        self.inner, self.norm = model(), torch.nn.BatchNorm1d(3)

    def forward(self, x, edge_index, batch):
        return self.norm.train()(self.inner(x, edge_index, batch))


@pytest.mark.parametrize(
    ("net", "problem"),
    [
        (Centred, "graph 0 with class .* in a batch of 96, but with class .* alone.*batch_size=1"),
        (lambda: Centred(3.0), "graph 0 with class 0 .* in a batch of 96, but with class 0 .* alone"),
        (TrainingNorm, "graph 0 in a batch of 96, but fails on it alone: ValueError: Expected more than 1 value"),
    ],
    ids=["centred", "centred, one answer", "norm"],
)
def test_batch_statistics_are_refused_even_where_answers_agree(net, problem):
    with pytest.raises(ClassifierError, match=problem):
        sc.SmoothedClassifier(from_pyg(net(), n_classes=3), torch_worlds.NOISE).vote(
            torch_worlds.molecules(1), samples=100, voting=sc.Voting(selection_samples=96), seed=1
        )


def test_one_copy_at_a_time_makes_batch_statistics_those_of_a_graph():
    base = from_pyg(Centred(), n_classes=3)
    votes = sc.SmoothedClassifier(base, torch_worlds.NOISE).vote(
        torch_worlds.molecules(1), samples=100, seed=1, voting=sc.Voting(batch_size=1)
    )
    assert votes.counts.tolist() == [[100, 0, 0]]  # alone, all logits are zero


class Tie(torch.nn.Module):
    """Two logits that are equal but for rounding, which changes with the size of the batch."""

    def forward(self, x, edge_index, batch):
        zero = torch.zeros(int(batch.max()) + 1)
        return torch.stack([zero + 1, zero + 1 + 1e-7 * (-1) ** len(zero), zero], dim=1)


def test_rounding_at_a_tie_is_no_batch_statistic():
    votes = sc.SmoothedClassifier(from_pyg(Tie(), n_classes=3), torch_worlds.NOISE).vote(
        torch_worlds.molecules(1), samples=100, seed=1
    )
    assert votes.counts.sum() == 100


class Constant(torch.nn.Module):
    def __init__(self, logits):
        super().__init__()
        self.logits = logits

    def forward(self, x, edge_index, batch):
        return torch.tensor(self.logits).repeat(int(batch.max()) + 1, 1)


@pytest.mark.parametrize(
    ("net", "problem"),
    [
        (Constant([0.0, 1.0]), r"logits of shape \(100, 2\) for 100 graphs and 3 classes"),
        (Constant([0.0, float("nan"), 1.0]), "NaN"),
    ],
)
def test_answers_that_make_no_sense_are_named(net, problem):
    with pytest.raises(ClassifierError, match=problem):
        sc.SmoothedClassifier(from_pyg(net, n_classes=3), torch_worlds.NOISE).vote(
            torch_worlds.molecules(1), samples=500, voting=sc.Voting(selection_samples=100), seed=1
        )


def test_evaluation_mode_and_no_gradients_come_by_themselves():
    net = model().train()
    classifier = from_pyg(net, n_classes=3)
    assert not net.training
    assert not classifier.logits(drawn(torch_worlds.molecules(1)[0], torch_worlds.NOISE, 50)).requires_grad


def test_memory_that_runs_out_halves_the_batch():
    class Greedy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.seen = model(), []

        def forward(self, x, edge_index, batch):
            self.seen.append(int(batch.max()) + 1)
            if self.seen[-1] > 10:
                raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: not enough memory: you tried")
            return self.inner(x, edge_index, batch)

    greedy = Greedy()
    classifier = from_pyg(greedy, n_classes=3)
    copies = drawn(torch_worlds.molecules(1)[0], torch_worlds.NOISE, 40)
    expected = from_pyg(greedy.inner, n_classes=3).logits(copies)
    torch.testing.assert_close(classifier.logits(copies), expected)
    assert greedy.seen == [40, 20, 10, 10, 10, 10]
    assert classifier.batch_size == 10


def test_features_by_name_and_by_a_function():
    graph = torch_worlds.molecules(1)[0]
    doubled = sc.Graph(graph.n_nodes, graph.edges, node_data={"z": 2 * np.asarray(graph.node_data["x"])})
    net = model()
    by_name = from_pyg(net, n_classes=3, features="z")
    by_function = from_pyg(net, n_classes=3, features=lambda g: torch.as_tensor(np.array(g.node_data["z"])))
    copies = drawn(doubled, torch_worlds.NOISE, 50)
    torch.testing.assert_close(by_name.logits(copies), by_function.logits(copies))


def test_descriptions_know_the_weights():
    one, same, other = (
        from_pyg(model(), n_classes=3),
        from_pyg(model(), n_classes=3),
        from_pyg(model(hidden=8), n_classes=3),
    )
    assert one.description == same.description != other.description
    with torch.no_grad():
        same.model.linear.bias += 1  # trained a little further: another classifier
    assert one.description != same.description
    assert pickle.loads(pickle.dumps(one)).description == one.description


class Doubled(gcn.GCN):
    def forward(self, x, edge_index, batch):
        return 2 * super().forward(x, edge_index, batch)


def test_descriptions_know_the_code_the_features_and_the_way():
    doubled = Doubled(4, 3)
    doubled.load_state_dict(model().state_dict())
    doubled.__class__.__name__ = "GCN"
    described = [
        from_pyg(model(), n_classes=3),
        from_pyg(doubled, n_classes=3),
        from_pyg(model(), n_classes=3, features="z"),
        from_pyg(model(), n_classes=3, features=lambda graph: graph.node_data["x"]),
        from_pyg(model(), n_classes=3, features=lambda graph: graph.node_data["z"]),
        from_dense(model(), n_classes=3),
    ]
    assert len({each.description for each in described}) == 6
    training = from_pyg(model(), n_classes=3)
    training.model.train()
    assert training.description == described[0].description


@pytest.mark.parametrize(
    ("arguments", "named"), [({"model": 3, "n_classes": 2}, "model"), ({"n_classes": 1}, "n_classes")]
)
def test_bad_arguments_are_refused(arguments, named):
    with pytest.raises(InvalidParameterError, match=f"'{named}'"):
        from_pyg(arguments.get("model", model()), n_classes=arguments["n_classes"])


def test_a_graph_without_nodes_is_answered():
    class Empty(torch.nn.Module):
        def forward(self, x, adjacency):
            return torch.tensor([0.0, 1.0]).repeat(len(adjacency), 1)

    empty = sc.Graph(0, [], node_data={"x": np.zeros((0, 2), dtype=np.float32)})
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_dense(Empty(), n_classes=2), sc.Noise(all=0.1))
    assert smoothed.vote([empty], samples=100, seed=1).counts.tolist() == [[0, 100]]
