"""Training of the classifier that votes, on graphs and on nodes."""

import numpy as np
import pytest
import training_worlds

import starcert as sc
from starcert.sampling.sampler import sampler
from starcert.sampling.views import clean_copy
from starcert.system.errors import InvalidParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
copies = pytest.importorskip("starcert.models.copies")
fitting = pytest.importorskip("starcert.models.fitting")

NOISE = sc.Noise(pairs=sc.Flip(delete=0.1, add=0.02))


def dense_or_not(n: int, seed: int) -> tuple[list[sc.Graph], np.ndarray]:
    """Graphs with many edges, and with few."""
    graphs, labels = training_worlds.graphs(n, seed, (0.3, 0.7), 4)
    return graphs, np.array(labels)


def communities(seed: int = 1) -> tuple[sc.Graph, np.ndarray]:
    """Three groups of twenty nodes."""
    labels = np.repeat(np.arange(3), 20)
    pairs, x = training_worlds.grouped(labels, 12, 0.3, (0.4, 0.25), seed)
    return sc.Graph(60, pairs, node_data={"x": x}), labels


def made(model, seed=0, **settings):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return sc.SmoothedClassifier(sc.classifiers.from_pyg(model(), **settings), NOISE)


def graph_gin():
    return made(lambda: sc.models.GIN(4, 2, hidden=8, layers=2), n_classes=2)


def node_gcn(**settings):
    return made(lambda: sc.models.NodeGCN(12, 3, hidden=16), n_classes=3, targets="nodes", **settings)


def trained(noise=NOISE, seed=0):
    """A `GCN` that learned under a noise."""
    model = made(lambda: sc.models.GCN(4, 2, conv="gin", pooling="mean"), seed, n_classes=2).classifier.model
    settings = {"validation": dense_or_not(20, 2), "epochs": 30, "learning_rate": 0.01, "seed": seed}
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_pyg(model, n_classes=2), noise)
    return model, sc.models.fit_with_noise(smoothed, *dense_or_not(40, 1), **settings)


def clean_logits(model, graphs):
    base = sc.classifiers.from_pyg(model, n_classes=2)
    return torch.cat([base.raw(clean_copy(sc.Partition.everything("all").sites(graph))) for graph in graphs])


def test_a_trained_module_answers_clean_graphs_and_follows_from_the_seed():
    state = torch.random.get_rng_state()
    (model, report), (same, _), (other, _) = (trained(seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), state)
    graphs, labels = dense_or_not(60, 3)
    assert np.mean(clean_logits(model, graphs).argmax(dim=1).numpy() == labels) > 0.85
    shares = [each.accuracy for each in report.history]
    assert report.validation_accuracy == max(shares) == shares[report.best_epoch]
    assert not model.training
    assert all(map(torch.equal, model.parameters(), same.parameters()))
    assert not all(map(torch.equal, model.parameters(), other.parameters()))


def test_the_kept_weights_are_those_of_the_best_epoch_and_not_of_the_last():
    model, report = trained(sc.Noise(all=0.0))
    graphs, labels = dense_or_not(20, 2)
    loss = torch.nn.functional.cross_entropy(clean_logits(model, graphs), torch.as_tensor(labels)).item()
    assert loss == pytest.approx(report.history[report.best_epoch].validation_loss, rel=1e-5)
    assert len({round(entry.validation_loss, 6) for entry in report.history}) > 20


def test_training_noise_is_that_of_the_certificate(monkeypatch):
    seen = []

    class Noted(copies.TrainingCopies):
        def __init__(self, base, problem, *rest):
            seen.append(problem.noise)
            super().__init__(base, problem, *rest)

    monkeypatch.setattr(fitting, "TrainingCopies", Noted)
    few = dense_or_not(4, 1)
    sc.models.fit_with_noise(graph_gin(), *few, validation=few, epochs=1)
    assert seen == [NOISE] * 2


@pytest.mark.parametrize("keep", ["accuracy", "loss"])
def test_the_epoch_is_kept_by_what_was_asked(keep):
    graphs, labels = training_worlds.graphs(16)
    smoothed = made(lambda: sc.models.GIN(2, 2, hidden=8, layers=1), n_classes=2)
    how = {"validation": (graphs, labels), "epochs": 12, "learning_rate": 0.05, "keep": keep}
    training = sc.models.fit_with_noise(smoothed, graphs, labels, **how)
    kept = training.history[training.best_epoch]
    assert training.validation_accuracy == kept.accuracy == kept.score
    assert kept.validation_loss == min(each.validation_loss for each in training.history) or keep == "accuracy"
    assert kept.score == max(each.score for each in training.history) or keep == "loss"
    with pytest.raises(InvalidParameterError, match="keep"):
        sc.models.fit_with_noise(smoothed, graphs, labels, **how | {"keep": "best"})


def test_graphs_are_learned_from_the_worst_of_several_copies_the_same_way_twice():
    graphs, labels = training_worlds.graphs(24)
    how = {"validation": (graphs, labels), "epochs": 10, "learning_rate": 0.01, "copies": 3}
    found = []
    for worst in (0.5, 0.5, 0.0):
        smoothed = made(lambda: sc.models.GIN(2, 2, hidden=8, layers=2), n_classes=2)
        training = sc.models.fit_with_noise(smoothed, graphs, labels, **how, worst=worst)
        assert training.validation_accuracy > 0.7
        found.append(torch.cat([each.detach().flatten() for each in smoothed.classifier.model.parameters()]))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_nodes_are_learned_from_some_and_asked_about_others():
    graph, labels = communities()
    order = np.random.default_rng(0).permutation(60)
    smoothed = node_gcn(nodes=order[30:])
    before = smoothed.vote([graph], samples=200, seed=1)  # what it keeps of the graph serves training too
    report = sc.models.fit_nodes_with_noise(
        smoothed, graph, labels, train=order[:15], validation=order[15:30], epochs=60, copies=2, worst=0.5
    )
    votes = smoothed.vote([graph], samples=200, seed=1)
    right = np.mean(votes.counts.argmax(axis=1) == labels[order[30:]])
    assert right > 0.8 > np.mean(before.counts.argmax(axis=1) == labels[order[30:]])
    assert len(report.history) == 6
    assert report.best_epoch % 10 == 9


def test_nodes_are_learned_under_noise_on_features_and_edges_at_once():
    graph, labels = communities()
    featured = graph.with_bits("x")
    noise = sc.Noise(links=sc.Flip(delete=0.1, add=0.01), words=sc.Flip(delete=0.2, add=0.05))
    smoothed = sc.SmoothedClassifier(node_gcn().classifier, noise, {"links": "pairs", "words": "x"})
    order = np.random.default_rng(0).permutation(60)
    report = sc.models.fit_nodes_with_noise(
        smoothed, featured, labels, train=order[:30], validation=order[30:], epochs=60
    )
    assert report.validation_accuracy > 0.6  # of single copies; a third is chance
    votes = smoothed.vote([featured], samples=100, seed=1)
    assert np.mean(votes.counts.argmax(axis=1) == labels) > 0.7
    drawn = copies.TrainingCopies(smoothed.classifier, smoothed.problem([featured]), 0, 64)
    seen = drawn.block(0, 0)[0].node_values("x")
    clean = np.asarray(graph.node_data["x"]) == 1
    assert abs(seen[:, clean].mean() - 0.8) < 0.02
    assert abs(seen[:, ~clean].mean() - 0.05) < 0.01


def test_fitting_is_a_function_of_its_seed_and_touches_no_global_generator():
    graph, labels = communities()
    state = torch.random.get_rng_state()
    weights = []
    for seed in (1, 1, 2):
        smoothed = node_gcn()
        sc.models.fit_nodes_with_noise(
            smoothed, graph, labels, train=range(30), validation=range(30, 60), epochs=3, seed=seed
        )
        weights.append(torch.cat([each.detach().flatten() for each in smoothed.classifier.model.parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert torch.equal(torch.random.get_rng_state(), state)


def test_nodes_are_named_by_indices_or_by_a_mask():
    graph, labels = communities()
    first = np.arange(60) < 30
    reports = [
        sc.models.fit_nodes_with_noise(node_gcn(), graph, labels, train=train, validation=rest, epochs=2)
        for train, rest in ((np.arange(30), np.arange(30, 60)), (first, ~first))
    ]
    assert reports[0].history == reports[1].history


def test_every_step_sees_fresh_noise_that_no_vote_sees():
    graph, _ = communities()
    smoothed = node_gcn()
    drawn = copies.TrainingCopies(smoothed.classifier, smoothed.problem([graph]), 5, 8)
    counts = [edges for block in range(8) for edges in np.diff(drawn.block(0, 8 * block)[0].edges().starts)]
    assert len(set(counts)) > 10
    expected = 0.9 * graph.n_edges + 0.02 * (60 * 59 // 2 - graph.n_edges)
    assert abs(np.mean(counts) - expected) < 5 * np.std(counts) / 8
    stream = copies.WordStream.of_chunk(5, graph.key, "estimation", 0)
    voting = sampler(smoothed.sites(graph), NOISE).draw(stream, 8)
    taught, place = drawn.block(0, 5)
    assert place == 5
    for number in range(8):
        one, other = (each[number : number + 1].edges() for each in (taught, voting))
        assert one.u.tolist() != other.u.tolist()


def test_graphs_put_together_are_answered_as_each_alone():
    smoothed = graph_gin()
    graphs, _ = dense_or_not(5, 4)
    graphs[2] = sc.Graph(3, [(0, 2)], node_data={"x": np.eye(4, dtype=np.float32)[:3]})
    drawn = copies.TrainingCopies(smoothed.classifier, smoothed.problem(graphs), 1)
    with torch.no_grad():
        inputs = copies.block_diagonal([drawn.copy(i, 7) for i in range(5)])
        joined = smoothed.classifier.logits_from(inputs, 5, 0)
    alone = torch.cat([smoothed.classifier.logits(drawn.block(i, 7)[0][7:8]) for i in range(5)])
    torch.testing.assert_close(joined, alone)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"train": [60]}, "'train' must be indices of nodes, from 0 to 59"),
        ({"train": [True] * 59}, "'train' must be indices of nodes, from 0 to 59"),
        ({"validation": []}, "'validation' must be indices of nodes, from 0 to 59"),
        ({"labels": [0, 1]}, "'labels' must have one class for each of 60, a whole number"),
        ({"labels": ["a", "b"] * 30}, "'labels' must be classes, whole numbers from 0.* Number names first"),
        ({"copies": 0}, "'copies' must be a whole number, 1 or more"),
        ({"worst": 1.5}, "'worst' must be a number from 0 to 1"),
        ({"epochs": 0}, "'epochs' must be a whole number, 1 or more"),
        ({"smoothed": graph_gin}, "'smoothed' must smooth a classifier of .*from_pyg with targets='nodes'"),
    ],
)
def test_bad_arguments_are_refused(arguments, words):
    graph, labels = communities()
    given = {"labels": labels, "train": [0, 1], "validation": [2], "epochs": 1} | arguments
    smoothed = given.pop("smoothed", node_gcn)()
    with pytest.raises(InvalidParameterError, match=words):
        sc.models.fit_nodes_with_noise(smoothed, graph, given.pop("labels"), **given)


def test_what_cannot_be_trained_is_refused():
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_callable(lambda graph: 0), NOISE)
    with pytest.raises(InvalidParameterError, match=r"from_pyg with targets='graph'. Got 'CallableClassifier' instead"):
        sc.models.fit_with_noise(smoothed, *dense_or_not(2, 1), validation=dense_or_not(2, 2))


def test_what_only_some_graphs_have_is_refused():
    one = {"edge_index": torch.tensor([[0, 1], [1, 0]]), "batch": torch.zeros(2, dtype=torch.int64)}
    with_features, without = one | {"edge_attr": torch.ones(2, 3)}, one | {"edge_attr": None}
    assert copies._split(without, 1, 2)[0]["edge_attr"] is None
    assert copies.block_diagonal([without, without])["edge_attr"] is None
    with pytest.raises(ValueError, match="some graphs have edge_attr, and others have none"):
        copies.block_diagonal([without, with_features])
