"""Node data that are sites, and degrees of directed graphs, as features: those of the noisy copy."""

import numpy as np
import pytest
from asking import drawn as copies_of
from device_worlds import DEVICES

import starcert as sc
from starcert.sampling.draws import Method
from starcert.sampling.sampler import site_sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import view_of
from starcert.system.errors import ClassifierError, InvalidParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
device = pytest.importorskip("starcert.sampling.device")
features = sc.classifiers.features
from_pyg, from_dense = sc.classifiers.from_pyg, sc.classifiers.from_dense

rng = np.random.default_rng(0)
BITS = (rng.random((8, 5)) < 0.4).astype(np.float32)
KINDS = rng.integers(3, size=8)
ELEMENTS = [("C", "N", "O")[kind] for kind in KINDS]
EDGES = [(i, i + 1) for i in range(7)]


def graph(*left_out, **more):
    data = {
        "x": BITS,
        "flat": BITS[:, 0].astype(np.int64),
        "kind": np.eye(3, dtype=np.float32)[KINDS],
        "element": ELEMENTS,
        "number": np.array([6, 7, 8])[KINDS],
        "fixed": np.arange(8.0),
    }
    kept = {name: values for name, values in data.items() if name not in left_out}
    return sc.Graph(8, EDGES, node_data=kept, **more)


class Seen(torch.nn.Module):
    def forward(self, x, edge_index, batch=None):
        self.x = x
        return torch.zeros(len(edge_index) if batch is None else int(batch.max()) + 1, 2)


def seen(drawn, way, what):
    model = Seen()
    way(model, n_classes=2, features=what).logits(drawn)
    return model.x.reshape(len(drawn), 8, *model.x.shape[1 if way is from_pyg else 2 :])


def as_shown(drawn, name):
    return np.stack([np.asarray(one.node_data[name]) for one in drawn.copies()])


NUMBERS = {"C": 0, "N": 1, "O": 2}
SITES = {
    "bits": (graph().with_bits("x"), "x", sc.Flip(delete=0.5, add=0.1), lambda shown: shown),
    "flat bits": (graph().with_bits("flat"), "flat", sc.Flip(0.2), lambda shown: shown),
    "one-hot": (graph("element", "number").with_categories("kind"), "kind", sc.Categorical(0.3), lambda shown: shown),
    "names": (
        graph("kind", "number").with_categories("element", ("C", "N", "O")),
        "element",
        sc.Categorical(0.3),
        np.vectorize(NUMBERS.get),
    ),
    "numbers": (
        graph("kind", "element").with_categories("number", (6, 7, 8)),
        "number",
        sc.Categorical(0.3),
        lambda shown: shown,
    ),
}


@pytest.mark.parametrize("way", [from_pyg, from_dense], ids=["pyg", "dense"])
@pytest.mark.parametrize("kind", SITES)
def test_sites_are_shown_as_they_came_as_noise_left_them(kind, way):
    clean, name, law, expected = SITES[kind]
    drawn = copies_of(clean, sc.Noise(here=law), 30, {"here": name})
    shown = expected(as_shown(drawn, name))
    x = seen(drawn, way, name)
    np.testing.assert_array_equal(x.numpy(), shown)
    assert x.is_floating_point() == (kind in ("bits", "one-hot"))
    assert (shown != shown[0]).any()


def test_sites_beside_other_features_and_noisy_edges():
    clean = graph("kind", "number").with_bits("x").with_categories("element", ("C", "N", "O"))
    noise = sc.Noise(bonds=0.1, words=0.2, atoms=sc.Categorical(0.3))
    drawn = copies_of(clean, noise, 30, {"bonds": "pairs", "words": "x", "atoms": "element"})
    x = seen(
        drawn, from_pyg, ("x", features.one_hot("element"), features.degree(), "fixed", features.constant())
    ).numpy()
    elements = np.eye(3)[np.vectorize(NUMBERS.get)(as_shown(drawn, "element"))]
    fixed = np.broadcast_to(np.arange(8.0), (30, 8))
    expected = np.dstack([as_shown(drawn, "x"), elements, drawn.degrees(), fixed, np.ones((30, 8))])
    np.testing.assert_allclose(x, expected)


def test_bits_drawn_on_a_device_are_shown_where_they_are(monkeypatch):
    """The device's sampler, run on the CPU; nothing is brought to numpy on the way."""
    clean = graph().with_bits("x")
    noise = sc.Noise(bonds=0.1, words=sc.Flip(delete=0.5, add=0.1))
    sites = sc.Partition.of_layers(bonds="pairs", words="x").sites(clean)
    drawing = site_sampler(sites, noise, Method.DEVICE_DENSE)
    bits = drawing.draw(WordStream.of_chunk(3, clean.key, "estimation", 0), 30)
    drawn = view_of(sites, Method.DEVICE_DENSE, "cpu")(bits)
    shown, degrees = as_shown(drawn, "x"), drawn.degrees()
    monkeypatch.setattr(device.DeviceDraw, "values", property(lambda _: pytest.fail("the bits travelled")))
    x = seen(drawn, from_pyg, ("x", features.degree()))
    np.testing.assert_array_equal(x.numpy(), np.dstack([shown, degrees]))
    part = sc.Partition.from_columns("x", {"words": [0, 3]}).sites(clean)
    some = site_sampler(part, sc.Noise(words=0.5), Method.DEVICE_DENSE)
    few = view_of(part, Method.DEVICE_DENSE, "cpu")(some.draw(WordStream.of_chunk(3, clean.key, "estimation", 0), 30))
    x = seen(few, from_pyg, "x").numpy()
    np.testing.assert_array_equal(x[..., [1, 2, 4]], np.broadcast_to(BITS[:, [1, 2, 4]], (30, 8, 3)))
    assert (x[..., [0, 3]] != BITS[:, [0, 3]]).any()


def test_copies_are_asked_for_in_portions(monkeypatch):
    clean = graph().with_bits("x")
    drawn = copies_of(clean, sc.Noise(words=0.3), 30, {"words": "x"})
    sizes = []

    class Sizes(torch.nn.Module):
        def forward(self, x, edge_index):
            sizes.append(len(x) // 8)
            return x[:, :2]

    whole = from_pyg(Sizes(), n_classes=2, targets="nodes").logits(drawn)
    monkeypatch.setattr("starcert.classifiers.torch.graphs.CACHED_NODES", 7 * 8)
    parts = from_pyg(Sizes(), n_classes=2, targets="nodes").logits(drawn)
    assert torch.equal(whole, parts)
    assert sizes == [30, 7, 7, 7, 7, 2]


def test_a_function_of_the_copy_sees_its_noisy_values():
    clean = graph().with_bits("x")
    drawn = copies_of(clean, sc.Noise(words=0.3), 30, {"words": "x"})

    def total(one):
        return np.asarray(one.node_data.get("x", BITS)).sum(axis=1, keepdims=True)

    np.testing.assert_allclose(seen(drawn, from_pyg, total).numpy()[..., 0], as_shown(drawn, "x").sum(axis=2))


def test_one_hot_of_data_that_noise_leaves_alone():
    drawn = copies_of(graph(), sc.Noise(all=0.1), 30)
    expected = np.broadcast_to(np.eye(3)[KINDS], (30, 8, 3))
    np.testing.assert_array_equal(seen(drawn, from_pyg, features.one_hot("element", "CNO")).numpy(), expected)
    np.testing.assert_array_equal(seen(drawn, from_pyg, features.one_hot("number", (6, 7, 8))).numpy(), expected)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (features.one_hot("element"), r"'element' are not sites: name all categories, one_hot\('element', "),
        (features.one_hot("element", "CN"), "the node data 'element' has 'O', which is not among one_hot's categories"),
        (features.one_hot("x"), "'x' has 5 columns; one_hot is for one category a node"),
        ("y", "the graph has no node data 'y'; it has"),
        (features.one_hot("y", "ab"), "the graph has no node data 'y'; it has"),
    ],
)
def test_what_cannot_be_shown_is_said(what, words):
    clean = graph().with_bits("x")
    smoothed = sc.SmoothedClassifier(from_pyg(Seen(), n_classes=2, features=what), sc.Noise(w=0.1), {"w": "x"})
    with pytest.raises(ClassifierError, match=words):
        smoothed.vote([clean], samples=9, seed=1)


@pytest.mark.parametrize("arguments", [(3,), ("element", "C"), ("element", "CC")])
def test_bad_one_hot_is_refused(arguments):
    with pytest.raises(InvalidParameterError, match=r"'name'|'categories'"):
        features.one_hot(*arguments)


def test_degrees_of_directed_graphs():
    clean = sc.Graph(8, [(0, v) for v in range(1, 8)] + [(v, 0) for v in range(1, 8)] + [(3, 4)], directed=True)
    drawn = copies_of(clean, sc.Noise(all=0.2), 30)
    arcs = drawn.adjacency().astype(int)
    arriving, leaving = arcs.sum(axis=1), arcs.sum(axis=2)
    for what, expected in (
        (features.in_degree(), arriving),
        (features.out_degree(), leaving),
        (features.degree(), arriving + leaving),
        (features.log_degree(), np.log1p(arriving + leaving)),
    ):
        np.testing.assert_allclose(seen(drawn, from_pyg, what).numpy()[..., 0], expected, rtol=1e-6)
        np.testing.assert_allclose(np.stack([what(one) for one in drawn.copies()])[..., 0], expected, rtol=1e-6)
    assert (arriving + leaving).max() > 8


def test_in_and_out_degrees_of_undirected_graphs_are_degrees():
    drawn = copies_of(graph(), sc.Noise(all=0.2), 30)
    for what in (features.in_degree(), features.out_degree()):
        np.testing.assert_array_equal(seen(drawn, from_pyg, what).numpy()[..., 0], drawn.degrees())
        np.testing.assert_array_equal(np.stack([what(one) for one in drawn.copies()])[..., 0], drawn.degrees())


def test_an_arc_comes_in_one_direction_only():
    clean = sc.Graph(8, EDGES, directed=True)
    drawn = copies_of(clean, sc.Noise(all=0.0), 2)
    edge_index, _ = drawn.edge_index_on(torch.device("cpu"))
    assert edge_index.T.tolist() == [[u + shift, v + shift] for shift in (0, 8) for u, v in EDGES]


class WritesX(torch.nn.Module):
    """It writes into the features that it is given."""

    def forward(self, x, adjacency):
        found = x.sum() + adjacency.sum(dim=(1, 2))
        x.zero_()
        return torch.stack([found, -found], dim=1)


def test_features_on_dense_adjacency_are_those_of_the_graph_in_every_batch():
    classifier = from_dense(WritesX(), n_classes=2)
    drawn = copies_of(graph(), sc.Noise(all=0.2), 30)
    first = classifier.logits(drawn).clone()
    assert torch.equal(classifier.logits(drawn), first)


class WritesSites(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(1))  # it says on which device it is

    def forward(self, x, edge_index, batch):
        found = torch.zeros(int(batch.max()) + 1, device=x.device).index_add_(0, batch, x.float().sum(dim=1))
        x.zero_()
        return torch.stack([found, 30 - found], dim=1) * self.factor


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_])
@pytest.mark.parametrize("device", DEVICES)
def test_sites_that_a_module_overwrites_stay_as_they_were_drawn(dtype, device):
    bits = np.random.default_rng(0).integers(2, size=(5, 6)).astype(dtype)
    clean = sc.Graph(5, [(0, 1)], node_data={"x": bits}).with_bits("x")
    module = WritesSites().to(device)
    smoothed = sc.SmoothedClassifier(from_pyg(module, n_classes=2), sc.Noise(words=0.2), {"words": "x"})
    drawn = copies_of(clean, smoothed.noise, 50, {"words": "x"}, device=device)
    before = drawn.node_values("x").copy()
    smoothed.classifier.logits(drawn)
    np.testing.assert_array_equal(drawn.node_values("x"), before)
