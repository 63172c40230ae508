"""A blind head with a bounded correction, and filters in front of any module."""

import pickle

import numpy as np
import pytest
import training_worlds

import starcert as sc
from starcert.system.errors import InvalidParameterError

torch = pytest.importorskip("torch")


def gin(layers=2, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return sc.models.GIN(2, 2, hidden=4, layers=layers).eval()


def inputs(graph):
    edges = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    batch = torch.zeros(graph.n_nodes, dtype=torch.int64)
    return torch.tensor(np.asarray(graph.node_data["x"])), torch.tensor(edges.copy()), batch


def test_a_correction_is_bounded_and_the_blind_part_sees_no_edge():
    head = sc.models.BlindHead(gin(), blind=gin(1, seed=1), bound=0.25).eval()
    for graph in training_worlds.graphs(6)[0]:
        x, edges, batch = inputs(graph)
        blind = head.blind(x, edges[:, :0], batch)
        assert torch.allclose(head(x, edges, batch), blind + 0.25 * torch.tanh(head.module(x, edges, batch)))
        assert (head(x, edges, batch) - blind).abs().max() <= 0.25
    fixed = sc.models.BlindHead(gin(), blind=gin(1, seed=1), bound=0).eval()
    base = sc.classifiers.from_pyg(fixed, n_classes=2)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.4))
    votes = smoothed.vote(smoothed.problem(training_worlds.graphs(4)[0]), samples=64, seed=0)
    assert (votes.counts.max(axis=1) == 64).all()  # nothing that edges do shows


def test_a_head_votes_trains_and_travels():
    graphs, labels = training_worlds.graphs(24)
    head = sc.models.BlindHead(gin(), blind=gin(1, seed=1), bound=None)
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_pyg(head, n_classes=2), sc.Noise(all=0.05))
    training = sc.models.fit_with_noise(smoothed, graphs, labels, validation=(graphs, labels), epochs=15,
                                        learning_rate=0.02)  # fmt: skip
    assert training.validation_accuracy > 0.8
    assert head.bound.item() != 1
    again = pickle.loads(pickle.dumps(head))
    assert torch.equal(again(*inputs(graphs[0])), head(*inputs(graphs[0])))
    assert smoothed.certify(graphs[:2], samples=100, seed=0)[0].label in (0, 1)


def test_a_head_of_nodes_rests_on_nearest_neighbours():
    x = (np.random.default_rng(0).random((9, 5)) < 0.5).astype(np.float32)
    head = sc.models.BlindHead(sc.models.NodeGCN(5, 3), blind=sc.models.NodePropagation(x, 3, link_weight=0), bound=1)
    base = sc.classifiers.from_pyg(head, n_classes=3, targets="nodes")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(links=sc.Flip(delete=0.5, add=0.01)))
    graph = sc.Graph(9, [(0, 1), (2, 3)], node_data={"x": x})
    assert len(smoothed.certify([graph], samples=60, seed=0)) == 9


@pytest.mark.parametrize(("keep", "edges", "kept"), [
    (sc.models.MaxDegree(2), [(0, 1), (0, 2), (0, 3), (1, 2)], [(1, 2)]),
    (sc.models.WithinValence((3, 1)), [(0, 1), (0, 3), (1, 2), (2, 3)], [(0, 1), (0, 3)]),  # node 2 has too many
    (sc.models.SimilarEnds(0.5), [(0, 1), (0, 2), (0, 3), (1, 3)], [(0, 1), (0, 3), (1, 3)]),
])  # fmt: skip
def test_filters_let_through_what_they_say(keep, edges, kept):
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    both = torch.tensor(edges + [(v, u) for u, v in edges]).T
    found = [tuple(pair) for pair, let in zip(both.T.tolist(), keep(x, both).tolist(), strict=True) if let]
    assert sorted(found) == sorted(kept + [(v, u) for u, v in kept])


def test_a_filtered_module_answers_as_on_the_edges_that_are_left():
    graph = training_worlds.graphs(2)[0][1]
    x, edges, batch = inputs(graph)
    keep = sc.models.MaxDegree(5)
    module = sc.models.Filtered(gin(), keep)
    assert torch.equal(module(x, edges, batch), module.module(x, edges[:, keep(x, edges)], batch))
    assert not keep(x, edges).all()
    assert pickle.loads(pickle.dumps(module)).keep == keep


@pytest.mark.parametrize("make", [
    lambda: sc.models.BlindHead(gin(), blind=gin(), bound=-1),
    lambda: sc.models.MaxDegree(-1),
    lambda: sc.models.WithinValence((4, -1)),
    lambda: sc.models.SimilarEnds(2),
])  # fmt: skip
def test_bad_settings_are_refused(make):
    with pytest.raises(InvalidParameterError):
        make()
