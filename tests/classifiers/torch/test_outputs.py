"""What a module gives, as logits of graphs and of nodes."""

import numpy as np
import pytest
from asking import drawn, how_to

import starcert as sc
from starcert.system.errors import ClassifierError, InvalidParameterError

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")
torch_worlds = pytest.importorskip("torch_worlds")

from_pyg, from_dense = sc.classifiers.from_pyg, sc.classifiers.from_dense
MASK = np.array([0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1])
GRAPH = sc.Graph(
    12,
    torch_worlds.molecules(1)[0].edges,
    node_data={"x": np.eye(12, dtype=np.float32), "test_mask": MASK, "empty": 0 * MASK, "names": list("abcdefghijkl")},
)


COPIES = drawn(GRAPH, torch_worlds.NOISE, 20)


def vote(base, **settings):
    return sc.SmoothedClassifier(base, torch_worlds.NOISE).vote([GRAPH], **how_to(samples=300, seed=1, **settings))


class Edges(torch.nn.Module):
    """More than so many edges: by one logit, in the shape that is asked for, or by two."""

    def __init__(self, shape="row", limit=20.5):
        super().__init__()
        self.shape, self.limit = shape, limit

    def forward(self, x, edge_index, batch):
        count = torch.bincount(batch[edge_index[0]], minlength=int(batch.max()) + 1) / 2
        logit = count - self.limit
        match self.shape:
            case "row":
                return logit
            case "column":
                return logit[:, None]
            case "dict":
                return {"hidden": x, "logits": torch.stack([-logit, logit], dim=1)}
            case "tuple":
                return x, torch.stack([-logit, logit], dim=1)
            case "nothing":
                return None
        return torch.stack([-logit, logit], dim=1)


@pytest.mark.parametrize(
    ("shape", "said"),
    [("row", {}), ("column", {}), ("dict", {"output": "logits"}), ("tuple", {"output": 1})],
    ids=["row", "column", "dict", "tuple"],
)
def test_one_logit_and_one_entry_of_several_vote_as_two_columns_do(shape, said):
    votes = vote(from_pyg(Edges(shape), n_classes=2, **said))
    np.testing.assert_array_equal(votes.counts, vote(from_pyg(Edges("two"), n_classes=2)).counts)
    assert 0 < votes.counts[0, 1] < 300


@pytest.mark.parametrize(
    ("base", "words"),
    [
        (
            lambda: from_pyg(Edges("dict"), n_classes=2),
            r"'logits' \(96, 2\): say which the logits are, output=",
        ),
        (lambda: from_pyg(Edges("tuple"), n_classes=2, output=2), r"a tuple of 0 \(1152, 12\), 1 \(96, 2\): say"),
        (lambda: from_pyg(Edges("row"), n_classes=2, output="logits"), "it gave one tensor, and none has the name 'lo"),
        (lambda: from_pyg(Edges("nothing"), n_classes=2), "it gave no tensor of logits, but NoneType"),
        (
            lambda: from_pyg(Edges("two"), n_classes=5),
            r"\(96, 2\) for 96 graphs and 5 classes: set n_classes=2, or",
        ),
        (lambda: from_pyg(Edges("column"), n_classes=3), r"\(96, 1\) for 96 graphs and 3 classes: set n_classes=2"),
        (
            lambda: from_pyg(PooledDegrees(), n_classes=2),
            r"it answers every node\. Let it pool .*, or say targets=",
        ),
        (lambda: from_pyg(Edges("two"), n_classes=2, targets="nodes"), r"it answers the whole graph\. Leave targets="),
        (lambda: NODES["pyg"](nodes="train_mask"), "must name node data of the graph, .* Got 'train_mask'"),
        (lambda: NODES["pyg"](nodes="empty"), "chooses no node"),
        (lambda: NODES["pyg"](nodes="x"), "must have a 0 or a 1 for each of .* Got 'x'"),
        (lambda: NODES["pyg"](nodes="names"), "must have a 0 or a 1 for each of .* Got 'names'"),
        (lambda: NODES["pyg"](nodes=[3, 12]), "must be indices of 12 nodes, from 0 on. Got 12"),
        (lambda: NODES["pyg"](nodes=[True]), "'nodes' must have a 0 or a 1 for each of"),
    ],
)
def test_outputs_that_do_not_fit_are_told_what_would(base, words):
    with pytest.raises((ClassifierError, ValueError), match=words):
        vote(base(), selection_samples=96)


class NodeDegrees(torch.nn.Module):
    """Of every node, whether it has more than three neighbours."""

    def forward(self, x, edge_index, batch=None):
        degrees = torch.bincount(edge_index[0], minlength=len(x))
        return torch.stack([3.5 - degrees, degrees - 3.5], dim=1)


class PooledDegrees(NodeDegrees):
    def forward(self, x, edge_index, batch):
        return super().forward(x, edge_index)


class DenseDegrees(torch.nn.Module):
    def forward(self, x, adjacency):
        degrees = adjacency.sum(dim=2)
        return torch.stack([3.5 - degrees, degrees - 3.5], dim=2)


class OneLogit(NodeDegrees):
    def forward(self, x, edge_index):
        return super().forward(x, edge_index)[:, 1:]


NODES = {
    "pyg": lambda **said: from_pyg(NodeDegrees(), n_classes=2, targets="nodes", **said),
    "dense": lambda **said: from_dense(DenseDegrees(), n_classes=2, targets="nodes", **said),
    "one logit": lambda **said: from_pyg(OneLogit(), n_classes=2, targets="nodes", **said),
}


@pytest.mark.parametrize("way", NODES)
@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (None, list(range(12))),
        ("test_mask", [1, 4, 5, 11]),
        ([7, 2], [7, 2]),
        (list(range(11, -1, -1)), list(range(11, -1, -1))),
        (MASK == 1, [1, 4, 5, 11]),
    ],
    ids=["all", "mask", "indices", "turned", "truth"],
)
def test_nodes_are_answered_each_by_itself(way, nodes, expected):
    base = NODES[way](nodes=nodes)
    degrees = COPIES.degrees()[:, expected] > 3
    np.testing.assert_array_equal(base.classify(COPIES), degrees)
    assert base.n_targets(GRAPH.frame) == len(expected)
    np.testing.assert_array_equal(base.target_nodes(GRAPH.frame), expected)
    assert base.scored(COPIES).numbers.shape == (20, len(expected), 2)


def test_votes_and_certificates_of_nodes():
    base = NODES["pyg"](nodes="test_mask")
    votes = vote(base)
    assert votes.targets.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(votes.counts, vote(NODES["pyg"]()).counts[[1, 4, 5, 11]])
    np.testing.assert_array_equal(votes.counts, vote(base, batch_size=7).counts)
    result = sc.SmoothedClassifier(base, torch_worlds.NOISE).certify([GRAPH], samples=300, seed=1)
    assert [one.target for one in result] == [0, 1, 2, 3]


def test_target_nodes_of_any_classifier():
    class Every(sc.classifiers.Classifier):
        n_classes, description = 2, "every node"

        def __init__(self, targets):
            self.targets = targets

        def n_targets(self, frame):
            return self.targets

        def classify(self, graphs):
            return graphs.degrees() > 2

    assert Every(None).target_nodes(GRAPH.frame) is None
    assert from_pyg(Edges(), n_classes=2).n_targets(GRAPH.frame) is None
    assert Every(4).target_nodes(GRAPH.frame) is None
    np.testing.assert_array_equal(Every(12).target_nodes(GRAPH.frame), np.arange(12))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"targets": "edges"}, "'targets' must be 'graph' or 'nodes'"),
        ({"nodes": [1]}, "'nodes' needs targets="),
        ({"targets": "nodes", "nodes": []}, "'nodes' must be node indices, a truth value for each node, or the name"),
        (
            {"targets": "nodes", "nodes": [0.5]},
            "'nodes' must be node indices, a truth value for each node, or the name",
        ),
        ({"targets": "nodes", "nodes": [1, 1]}, "'nodes' must be node indices, 0 or more, each once"),
        ({"targets": "nodes", "nodes": [-1]}, "'nodes' must be node indices, 0 or more, each once"),
    ],
)
def test_bad_targets_are_refused(said, words):
    with pytest.raises(InvalidParameterError, match=words):
        from_pyg(NodeDegrees(), n_classes=2, **said)


@pytest.mark.parametrize("shift", [9.0, 0.1], ids=["another class", "another logit"])
def test_a_target_that_looks_at_other_copies_is_named(shift):
    words = r"classes \[\d.*\] from target 7 on in a batch of 96, but with classes \[\d.*\] from target 7 on alone"

    class Peeking(NodeDegrees):
        def forward(self, x, edge_index, batch):
            logits = super().forward(x, edge_index)
            logits[7::12] += shift * (len(x) > 12) * torch.tensor([1.0, -1.0])
            return logits

    with pytest.raises(ClassifierError, match=words):
        vote(from_pyg(Peeking(), n_classes=2, targets="nodes"), selection_samples=96)
