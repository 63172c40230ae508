"""The guarantee for models that see edges by way of node features, on every graph with four nodes.

For each of the 64 clean graphs the classifier is asked about all 64 noisy copies, so the smoothed classifier is known
exactly, as the votes for that clean graph would estimate it; and so is whether a certificate tells the truth.
"""

import numpy as np
import pytest

import starcert as sc
from starcert.math.confidence import Bounds
from starcert.sampling.draws import FlippedDraw, PackedDraw
from starcert.sampling.views import FlippedGraphs, PackedGraphs

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
gcn = pytest.importorskip("starcert.models.networks")
from validity.test_soundness import CASES, GRAPHS, ONE, SITES, World  # noqa: E402

features = sc.classifiers.features
DATA = {"x": np.array([[1.0], [0.5], [-1.0], [2.0]])}


def sum_over_neighbours(graph):
    """A plain function of the graph: features of the nodes around, and how many there are."""
    adjacency = graph.to_numpy().astype(np.float64)
    return np.hstack([adjacency @ np.asarray(graph.node_data["x"]), adjacency.sum(axis=1, keepdims=True)])


FEATURES = {
    "degree": (features.degree(), 1),
    "log degree": (features.log_degree(), 1),
    "one-hot degree": (features.one_hot_degree(2), 3),
    "node data and degree": (("x", features.degree()), 2),
    "plain function": (sum_over_neighbours, 2),
}


class OfNodes(torch.nn.Module):
    """Sees no edges but by the features: a random network on each node, summed, against what is usual."""

    def __init__(self, columns: int, seed: int, usual: float = 0.0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.net = torch.nn.Sequential(torch.nn.Linear(columns, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
        self.usual = usual

    def forward(self, x, edge_index, batch=None):
        values = self.net(x).squeeze(-1)
        if batch is None:
            total = values.sum(dim=-1).expand(len(edge_index))
        else:
            total = torch.zeros(int(batch.max()) + 1).index_add_(0, batch, values)
        return torch.stack([total - self.usual, self.usual - total], dim=1)


def every_copy(clean: np.ndarray, flipped: bool):
    """All 64 graphs as noisy copies of one of them, kept in the one or the other way."""
    graph = sc.Graph(4, [site for site, bit in zip(SITES, clean, strict=True) if bit], node_data=DATA)
    sites = sc.Partition.everything("all").sites(graph)
    ends = np.array(SITES).T
    assert np.array_equal(np.stack(sites.coordinates(np.arange(6))), ends)
    if flipped:
        copies, positions = np.nonzero(clean != GRAPHS)
        ones = np.flatnonzero(clean)
        drawn = FlippedDraw(6, sites.nonzero, np.searchsorted(copies, np.arange(65)), positions)
        return FlippedGraphs(sites, drawn, ends[:, ones])
    packed = (GRAPHS.T.astype(np.uint64) << np.arange(64, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)[:, None]
    return PackedGraphs(sites, PackedDraw(packed, 0, 64), ends)


def answers(classifier) -> np.ndarray:
    """The answer for each clean graph (a row) and each noisy copy of it (a column)."""
    return np.array([classifier.classify(every_copy(clean, row % 2 == 1)) for row, clean in enumerate(GRAPHS)])


def check(world: World, found: np.ndarray) -> tuple[int, int]:
    """No certificate covers an attack that changes the answer; how many it covers, and how many do change it."""
    votes = np.stack([(world.weights * (found == label)).sum(axis=1) for label in (0, 1)], axis=1)
    labels, most, least = votes.argmax(axis=1), votes.max(axis=1), votes.min(axis=1)
    bounds = Bounds(labels, least / ONE, least / ONE, None, 2)  # the truth: whole numbers over 2³⁶ are floats
    covering = changing = 0
    for x, certificate in enumerate(sc.certify(bounds, world.noise, max_radius=world.limits)):
        maximal = np.array(certificate.frontier.radii, dtype=int).reshape(-1, len(world.noise.axes))
        covered = (world.attacks[x][:, None, :] <= maximal[None]).all(axis=2).any(axis=1) & world.allowed[x]
        wrong = covered & ~((labels == labels[x]) & (most > least))
        assert not wrong.any(), f"graph {x} is certified, but {np.flatnonzero(wrong)[0]} has another label"
        covering += covered.sum()
        changing += (world.allowed[x] & (labels != labels[x])).sum()
    return covering, changing


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    names = ("isotropic", "two regions", "sparsity-aware in two regions", "four regions and fixed sites")
    return [World(*CASES[name]) for name in names]


def classifier_of(name: str, way: str, seed: int):
    """A classifier that answers about as many of the 64 graphs with the one class as with the other."""
    what, columns = FEATURES[name]
    make = getattr(sc.classifiers, way)
    drawn = make(OfNodes(columns, seed), n_classes=2, features=what)
    usual = drawn.logits(every_copy(GRAPHS[0], flipped=False))[:, 0].median()
    return make(OfNodes(columns, seed, float(usual) + 1e-3), n_classes=2, features=what)


@pytest.mark.parametrize("way", ["from_pyg", "from_dense"])
@pytest.mark.parametrize("name", FEATURES)
def test_no_certificate_of_a_model_on_features_of_the_copies_is_false(name, way, worlds):
    covering = changing = 0
    for seed in range(2):
        found = answers(classifier_of(name, way, seed))
        assert (found == found[0]).all(), "the answer on a copy must not depend on the clean graph it was drawn from"
        assert 8 <= found[0].sum() <= 56
        for world in worlds:
            more, other = check(world, found)
            covering, changing = covering + more, changing + other
    assert covering > 2 * 8 * 64  # more than the clean graphs themselves
    assert changing > 0


def test_features_of_the_clean_graph_would_make_false_certificates(worlds):
    """The test can fail: answers as if features were computed once, on the clean graph."""
    net = classifier_of("degree", "from_dense", 0).model
    degrees = np.stack([every_copy(clean, flipped=False).degrees()[row] for row, clean in enumerate(GRAPHS)])
    with torch.inference_mode():
        once = net(torch.as_tensor(degrees, dtype=torch.float32)[..., None], GRAPHS).argmax(dim=1).numpy()
    with pytest.raises(AssertionError, match="is certified, but"):
        check(worlds[0], np.repeat(once[:, None], 64, axis=1))
