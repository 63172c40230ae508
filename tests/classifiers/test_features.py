"""Node features that depend on edges are those of the noisy copy."""

import math
import pickle

import networkx as nx
import numpy as np
import pytest
import worlds

import starcert as sc
from starcert.sampling import sampler as sampler_module
from starcert.sampling.draws import Method
from starcert.sampling.sampler import sampler, site_sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import FlippedGraphs, PackedGraphs, view_of
from starcert.system.errors import ClassifierError, InvalidParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
gcn = pytest.importorskip("starcert.models.networks")
device = pytest.importorskip("starcert.sampling.device")
from_pyg, from_dense, features = sc.classifiers.from_pyg, sc.classifiers.from_dense, sc.classifiers.features

CYCLE = sc.Graph(10, [(i, (i + 1) % 10) for i in range(10)])
PATH = sc.Graph(10, [(i, i + 1) for i in range(9)])
GRAPH = sc.Graph(
    9, sc.Graph.from_networkx(nx.gnp_random_graph(9, 0.4, seed=3)).edges, node_data={"x": np.eye(9)[:, :3]}
)
SITES = sc.Partition.from_node_sets({"a": range(5), "b": range(5, 8)}, between={"c": ("a", "b")}).sites(GRAPH)
NOISE = sc.Noise(a=0.2, b=sc.Flip(delete=0.5, add=0.1), c=0.05)


def features_of(classifier, graphs):
    return classifier._nodes.of(graphs, classifier._dtype, classifier.device)


def degrees_of(graph):
    """The degrees, as a user would write them."""
    return torch.bincount(torch.tensor(graph.edges.ravel().tolist(), dtype=torch.int64), minlength=graph.n_nodes)[
        :, None
    ]


def log_degrees(graph):
    return np.log1p([[degree] for _, degree in graph.to_networkx().degree()])


def one_hot(graph):
    columns = np.zeros((graph.n_nodes, 4), dtype=np.float32)
    for node, degree in enumerate(graph.to_numpy().astype(int).sum(axis=0)):
        columns[node, min(degree, 3)] = 1
    return columns


PAIRS = {
    "degree": (features.degree(), degrees_of),
    "log degree": (features.log_degree(), log_degrees),
    "one-hot degree": (features.one_hot_degree(3), one_hot),
    "constant": (features.constant(2.5), lambda graph: np.full((graph.to_networkx().order(), 1), 2.5)),
}


class HowMany(torch.nn.Module):
    """Answers 1 if the first features of all nodes add up to a threshold: it sees edges by their features alone."""

    def __init__(self, threshold):
        super().__init__()
        self.register_buffer("threshold", torch.tensor(threshold))
        self.seen = worlds.Calls()

    def forward(self, x, edge_index, batch=None):
        self.seen.append(x)
        if batch is None:
            total = x[..., 0].sum(dim=-1).to(torch.float32).expand(len(edge_index))
        else:
            total = torch.zeros(int(batch.max()) + 1).index_add_(0, batch, x[:, 0].to(torch.float32))
        return torch.stack([self.threshold - total, total - self.threshold], dim=1)


def many_edges(edges: int, way, what):
    return way(HowMany(2.0 * edges - 1), n_classes=2, features=what)


def at_least(edges: int, present: int, p: float) -> float:
    """The chance that a graph on 10 nodes with so many edges has at least `edges` after the noise, exactly."""
    return sum(
        math.comb(present, kept) * (1 - p) ** kept * p ** (present - kept)
        * math.comb(45 - present, added) * p**added * (1 - p) ** (45 - present - added)
        for kept in range(present + 1)
        for added in range(45 - present + 1)
        if kept + added >= edges
    )  # fmt: skip


@pytest.mark.parametrize("way", [from_pyg, from_dense])
@pytest.mark.parametrize("what", [features.degree(), degrees_of], ids=["ready-made", "function"])
def test_a_cycle_is_not_certified_where_one_edge_less_changes_the_answer(way, what):
    """With degrees of the clean graph all votes agreed, and two flips were certified."""
    smoothed = sc.SmoothedClassifier(many_edges(11, way, what), sc.Noise(all=0.05))
    whole, without = at_least(11, 10, 0.05), at_least(11, 9, 0.05)
    assert without < 0.5 < whole
    result = smoothed.certify([CYCLE, PATH], samples=20_000 if what is not degrees_of else 2_000, seed=1)
    shares = result.votes.counts[:, 1] / result.votes.counts.sum(axis=1)
    assert np.abs(shares - [whole, without]).max() < 5 * math.sqrt(0.25 / result.votes.counts.sum(axis=1).min())
    assert max(result[0].frontier.radii, default=(0,)) <= (0,)
    assert result[1].label == 0


def batches(noise=NOISE, sites=SITES, samples=70):
    """The same chunk drawn in all ways: bit-sliced, as lists of flips, and by the device's sampler on the CPU."""
    stream = lambda: WordStream.of_chunk(1, sites.graph.key, "estimation", 0)  # noqa: E731
    yield sampler(sites, noise).draw(stream(), samples)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sampler_module, "MAX_DENSE_BITS", 0)
        patched.setattr(sampler_module, "DENSE_SHARE", 1.0)
        yield sampler(sites, noise).draw(stream(), samples)
    bits = site_sampler(sites, noise, Method.DEVICE_DENSE).draw(stream(), samples)
    yield view_of(sites, Method.DEVICE_DENSE, "cpu")(bits)


def test_all_ways_to_draw_are_tried():
    assert [type(batch) for batch in batches()] == [PackedGraphs, FlippedGraphs, device.DeviceGraphs]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", PAIRS)
def test_ready_made_features_are_those_of_the_plain_function(name, dtype):
    for batch in batches():
        for part in (batch, batch[3:41], batch[66:]):
            seen = []
            for what in PAIRS[name]:
                for way, shape in ((from_pyg, (len(part) * 9, -1)), (from_dense, (len(part), 9, -1))):
                    net = gcn.GCN(1, 2).to(dtype)
                    classifier = way(net, n_classes=2, features=what)
                    x, of_copies = features_of(classifier, part)
                    seen.append(
                        (x if of_copies else x.expand(len(part), *x.shape)).reshape(shape).reshape(len(part), 9, -1)
                    )
            by_hand = np.stack([np.asarray(PAIRS[name][1](copy)) for copy in part.copies()])
            for x in seen:
                torch.testing.assert_close(x.to(dtype), torch.as_tensor(by_hand).to(dtype), rtol=0, atol=0)
            for copy, graph in enumerate(part.copies()):
                np.testing.assert_allclose(PAIRS[name][0](graph), by_hand[copy], rtol=1e-7)


def x_of(batch, what, way=from_pyg):
    classifier = way(HowMany(1.0), n_classes=2, features=what)
    classifier.raw(batch)
    return classifier.model.seen[0]


def test_features_stand_side_by_side():
    graph = sc.Graph(3, [(0, 1)], node_data={"kind": [4, 5, 6], "x": np.array([[0.5, 1], [2, 3], [4, 5]])})
    batch = sampler(sc.Partition.everything("all").sites(graph), sc.Noise(all=0.0)).draw(
        WordStream.of_chunk(1, graph.key, "selection", 0), 2
    )
    wanted = torch.tensor([[4, 0.5, 1, 1, 7], [5, 2, 3, 1, 7], [6, 4, 5, 0, 7]])
    what = ["kind", "x", features.degree(), lambda graph: [7] * graph.n_nodes]
    torch.testing.assert_close(x_of(batch, what), wanted.repeat(2, 1))
    torch.testing.assert_close(x_of(batch, what, from_dense), wanted.expand(2, 3, 5))
    torch.testing.assert_close(x_of(batch, ("kind", "x"), from_dense), wanted[:, :3])
    whole = features_of(from_pyg(HowMany(1.0), n_classes=2, features="kind"), batch)[0]
    assert (whole.dtype, whole.tolist()) == (torch.int64, [4, 5, 6])  # they stay what they are, for an embedding
    assert x_of(batch, lambda graph: degrees_of(graph)[:, 0], from_dense).shape == (2, 3)
    with pytest.raises(ValueError, match="must be rows of numbers"):
        x_of(batch, ("x", lambda graph: np.zeros((3, 2, 2))))


class Counting:
    """Counts how often it is asked, and about what."""

    def __init__(self, function):
        self.function, self.asked = function, []

    def __call__(self, graph):
        value = self.function(graph)
        self.asked.append(type(graph))
        return value


def test_a_function_of_the_nodes_is_called_once_a_graph_and_shared():
    of_nodes = Counting(lambda graph: 2 * np.asarray(graph.node_data["x"], dtype=np.float32))
    classifier = from_dense(HowMany(1.0), n_classes=2, features=of_nodes)
    for batch in batches():
        for part in batch.split(20):
            classifier.raw(part)
    assert len(of_nodes.asked) == 2  # asked again, to see that it answers the same
    assert not any(issubclass(kind, sc.Graph) and kind is sc.Graph for kind in of_nodes.asked)  # never with edges
    assert {tuple(x.shape) for x in classifier.model.seen} == {(9, 3)}
    torch.testing.assert_close(classifier.model.seen[0], 2 * torch.eye(9)[:, :3])


def hiding(graph):
    try:
        return degrees_of(graph)
    except Exception:  # noqa: BLE001
        return torch.zeros((graph.n_nodes, 1), dtype=torch.int64)


def peeking(graph):
    return degrees_of(graph) if "edges" in vars(graph) else torch.zeros((graph.n_nodes, 1), dtype=torch.int64)


def reusing(graph, buffer=torch.zeros((9, 1), dtype=torch.int64)):  # noqa: B008  (that is what it does)
    return buffer.copy_(degrees_of(graph))


@pytest.mark.parametrize("function", [degrees_of, hiding, peeking, reusing], ids=lambda function: function.__name__)
def test_a_function_of_edges_is_called_for_every_copy(function):
    for batch in batches():
        asked = Counting(function)
        x = x_of(batch, asked)
        assert asked.asked[-len(batch) :] == [sc.Graph] * len(batch)
        torch.testing.assert_close(x, torch.as_tensor(batch.degrees()).to(torch.int64).reshape(-1, 1))


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda graph: graph.edges, r"has the shape \(\d+, 2\); it must have a row for each of the 10 nodes"),
        (lambda graph: 3, r"has the shape \(\)"),
        (lambda graph: ["C"] * 10, "no array of numbers, but list"),
        (lambda graph: [[1], [1, 2]], "no array of numbers"),
        (lambda graph: None, "no array of numbers, but NoneType"),
        (lambda graph: 1j * np.ones(10), "complex numbers"),
        (lambda graph: np.zeros((10, graph.n_edges)), "differs from copy to copy: shape"),
        (lambda graph: np.zeros(10, dtype=[np.int64, np.float64][graph.n_edges % 2]), "differs from copy to copy"),
        (lambda graph: graph.edges.no_such_thing, "no_such_thing"),
    ],
)
def test_features_that_make_no_sense_are_named(function, problem):
    smoothed = sc.SmoothedClassifier(from_pyg(HowMany(1.0), n_classes=2, features=function), sc.Noise(all=0.2))
    with pytest.raises(ClassifierError, match=problem) as caught:
        smoothed.vote([CYCLE], samples=100, seed=1)
    if "no_such" not in problem:
        assert "<lambda> gave" in str(caught.value)


def test_features_with_noise_of_their_own_are_refused():
    drawn = np.random.default_rng(0)
    smoothed = sc.SmoothedClassifier(
        from_pyg(HowMany(1.0), n_classes=2, features=lambda graph: drawn.random((graph.n_nodes, 2))), sc.Noise(all=0.2)
    )
    with pytest.raises(ClassifierError, match="answers differently when it is asked twice"):
        smoothed.vote([CYCLE], samples=100, seed=1)


def test_node_data_that_are_missing_are_named_and_degrees_offered():
    graph = sc.Graph(2, [(0, 1)], node_data={"z": [1, 2]})
    smoothed = sc.SmoothedClassifier(from_pyg(HowMany(1.0), n_classes=2, features="hydrogens"), sc.Noise(all=0.2))
    with pytest.raises(ClassifierError, match=r"no node data 'hydrogens'; it has \['z'\].*features\.degree\(\)"):
        smoothed.vote([graph], samples=10, seed=1)


@pytest.mark.parametrize("bad", [3, None, (), ("x", 3), {"x": 1}], ids=str)
def test_bad_features_are_refused(bad):
    with pytest.raises(InvalidParameterError, match="'features' must be the name of node data"):
        from_pyg(HowMany(1.0), n_classes=2, features=bad)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: features.one_hot_degree(0), "largest"),
        (lambda: features.one_hot_degree(2.5), "largest"),
        (lambda: features.constant("one"), "value"),
        (lambda: features.constant(float("nan")), "value"),
    ],
)
def test_bad_settings_of_ready_made_features_are_refused(call, named):
    with pytest.raises(InvalidParameterError, match=f"'{named}'"):
        call()


@pytest.mark.parametrize("nodes", [0, 1])
def test_features_of_next_to_nothing(nodes):
    graph = sc.Graph(nodes, [])
    batch = sampler(sc.Partition.everything("all").sites(graph), sc.Noise(all=0.5)).draw(
        WordStream.of_chunk(1, graph.key, "selection", 0), 5
    )
    for what in (features.one_hot_degree(np.int64(3)), one_hot):
        x, of_copies = features_of(from_pyg(HowMany(1.0), n_classes=2, features=what), batch)
        assert (of_copies, tuple(x.shape)) == (True, (5, nodes, 4))


def test_ready_made_features_are_descriptions_that_travel():
    what = ("x", features.one_hot_degree(3), features.constant(), features.log_degree())
    classifier = from_dense(HowMany(1.0), n_classes=2, features=what)
    again = pickle.loads(pickle.dumps(classifier))
    assert again.features == what
    assert repr(features.degree()) == repr(pickle.loads(pickle.dumps(features.degree())))
    for batch in batches():
        torch.testing.assert_close(features_of(again, batch)[0], features_of(classifier, batch)[0])


@pytest.mark.parametrize("what", [features.degree(), degrees_of], ids=["ready-made", "function"])
def test_votes_do_not_depend_on_the_batch_size(what):
    votes = [
        sc.SmoothedClassifier(many_edges(11, way, what), sc.Noise(all=0.1)).vote(
            [CYCLE, PATH], samples=150, seed=1, voting=sc.Voting(batch_size=batch_size)
        )
        for way in (from_pyg, from_dense)
        for batch_size in (None, 1, 37)
    ]
    assert len({each.counts.tobytes() + each.selection.tobytes() for each in votes}) == 1
    assert votes[0].counts.min() > 0


@pytest.mark.parametrize(
    "read", [lambda batch: batch.graph.edges, lambda batch: batch.sites.graph, lambda batch: getattr(batch, "graph", 0)]
)
def test_a_function_of_batches_that_looks_at_the_clean_graph_ends_the_voting(read):
    base = sc.classifiers.from_callable(lambda batch: [len(read(batch))] * len(batch), on="batch")
    with pytest.raises(
        ClassifierError, match=r"graph 0.*chunk 0: An answer that looks at the clean graph is not a func"
    ):
        sc.SmoothedClassifier(base, sc.Noise(all=0.2)).vote([CYCLE], samples=100, seed=1)


def test_a_function_of_batches_may_look_at_the_frame():
    base = sc.classifiers.from_callable(lambda batch: [batch.frame.n_nodes % 2] * len(batch), on="batch")
    votes = sc.SmoothedClassifier(base, sc.Noise(all=0.2)).vote([CYCLE], samples=100, seed=1)
    assert votes.counts.tolist() == [[100, 0]]
