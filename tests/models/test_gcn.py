import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
gcn = pytest.importorskip("starcert.models.gcn")
training = pytest.importorskip("starcert.models.training")
torch_worlds = pytest.importorskip("torch_worlds")

SMOOTHED = sc.SmoothedClassifier(sc.classifiers.from_callable(lambda g: 0), torch_worlds.NOISE)


def dense_or_not(n: int, seed: int) -> tuple[list[sc.Graph], np.ndarray]:
    """A task that a GCN with features can learn: is the first kind of atom well connected?"""
    rng = np.random.default_rng(seed)
    graphs, labels = [], np.arange(n) % 2
    for label in labels:
        size = 10
        pairs = [(u, v) for v in range(size) for u in range(v) if rng.random() < (0.7 if label else 0.15)]
        x = np.eye(4, dtype=np.float32)[rng.integers(4, size=size)]
        graphs.append(sc.Graph(size, pairs, node_data={"x": x}))
    return graphs, labels


def trained(seed: int = 0, **settings):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = gcn.GCN(4, 2, conv="gin", pooling="mean")
    graphs, labels = dense_or_not(40, 1)
    report = training.train(
        net, graphs, labels, validation=dense_or_not(20, 2), epochs=30, seed=seed, learning_rate=0.01, **settings
    )
    return net, report


def test_training_learns_and_keeps_the_best_epoch():
    net, report = trained()
    graphs, labels = dense_or_not(60, 3)
    assert training.accuracy(net, graphs, labels) > 0.9
    shares = [share for _, _, share in report.history]
    assert report.validation_accuracy == max(shares)
    assert report.history[report.best_epoch][2] == max(shares)
    assert not net.training


def test_the_best_model_is_a_copy_and_not_the_last_one():
    """The kept weights give the best epoch's validation loss again, not that of the last one."""
    net, report = trained()
    graphs, labels = dense_or_not(20, 2)
    copies = training._Copies(graphs, labels, "x", None, 1, torch.device("cpu"))
    _, loss = training._evaluate(net, copies)
    assert loss == pytest.approx(report.history[report.best_epoch][1], rel=1e-5)
    assert len({round(entry[1], 6) for entry in report.history}) > 20


def test_training_never_sees_the_copies_that_vote():
    """With the same seed as the votes, on the same graphs: its streams are others."""
    (graph, *_), labels = dense_or_not(1, 1)
    drawn = (torch_worlds.NOISE, SMOOTHED.sites)
    taught = training._Copies([graph], labels, "x", drawn, 0, torch.device("cpu"))
    draw = training.sampler(SMOOTHED.sites(graph), torch_worlds.NOISE).draw
    for purpose in ("selection", "estimation"):
        voting = training._split(draw(training.WordStream.of_chunk(0, graph.key, purpose, 0), training.COPIES).edges())
        assert not any(map(torch.equal, (taught._edges(epoch)[0] for epoch in range(training.COPIES)), voting))


def test_training_is_a_function_of_its_seed_and_touches_no_global_generator():
    noisy = {"smoothed": SMOOTHED}
    (one, _), (same, _), (other, _) = trained(1, **noisy), trained(1, **noisy), trained(2, **noisy)
    for a, b in zip(one.parameters(), same.parameters(), strict=True):
        assert torch.equal(a, b)
    assert any(not torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    state = torch.random.get_rng_state()
    graphs, labels = dense_or_not(10, 1)
    training.train(one, graphs, labels, validation=(graphs, labels), epochs=1, **noisy)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_every_epoch_sees_fresh_noise_of_the_right_strength():
    graph = torch_worlds.molecules(1)[0]
    copies = training._Copies([graph], [0], "x", (torch_worlds.NOISE, SMOOTHED.sites), 5, torch.device("cpu"))
    counts = [copies.batch(np.array([0]), epoch)[1].shape[1] // 2 for epoch in range(200)]
    pairs = graph.n_nodes * (graph.n_nodes - 1) // 2
    expected = 0.9 * graph.n_edges + 0.2 * (pairs - graph.n_edges)
    assert abs(np.mean(counts) - expected) < 5 * np.std(counts) / np.sqrt(200)
    assert len(set(counts)) > 5


def test_weights_are_saved_and_loaded_without_running_anything(tmp_path):
    net = gcn.GCN(4, 3, layers=2, conv="gin", pooling="sum").eval()
    net.save(tmp_path / "net.pt")
    again = gcn.GCN.load(tmp_path / "net.pt").eval()
    graph = torch_worlds.molecules(1)[0]
    x, edges = torch.as_tensor(np.array(graph.node_data["x"])), torch.as_tensor(graph.edges.T.copy())
    owner = torch.zeros(graph.n_nodes, dtype=torch.int64)
    assert torch.equal(net(x, edges, owner), again(x, edges, owner))

    class Hostile:
        def __reduce__(self):
            return print, ("this must never be printed",)

    torch.save({"settings": Hostile(), "weights": {}}, tmp_path / "hostile.pt")
    with pytest.raises(Exception, match=r"[Ww]eights"):
        gcn.GCN.load(tmp_path / "hostile.pt")


@pytest.mark.parametrize("arguments", [{"hidden": 0}, {"layers": 0}, {"conv": "gat"}, {"pooling": "min"}])
def test_bad_settings_are_refused(arguments):
    with pytest.raises(InvalidParameterError, match=next(iter(arguments))):
        gcn.GCN(4, 2, **arguments)


def test_training_noise_is_the_certification_noise_unless_said_otherwise(monkeypatch):
    seen = []
    copies = training._Copies

    def spy(graphs, labels, features, drawn, *rest):
        seen.append(drawn[0])
        return copies(graphs, labels, features, drawn, *rest)

    monkeypatch.setattr(training, "_Copies", spy)
    graphs, labels = dense_or_not(4, 1)
    other = sc.Noise(bonds=0.01)
    for said in (None, other):
        training.train(
            gcn.GCN(4, 2), graphs, labels, validation=(graphs, labels), smoothed=SMOOTHED, noise=said, epochs=1
        )
    assert seen == [torch_worlds.NOISE] * 2 + [other] * 2


def test_noise_needs_regions():
    graphs, labels = dense_or_not(4, 1)
    with pytest.raises(InvalidParameterError, match="smoothed"):
        training.train(gcn.GCN(4, 2), graphs, labels, validation=(graphs, labels), noise=torch_worlds.NOISE)
